/* strait doctor --listen: a member that only answers, so that reachability can be checked both ways
 * before anything is trained. */

#include "cli/doctor/doctor.h"
#include "cli/member/advertise.h"
#include "cli/member/member.h"
#include "cli/member/security.h"
#include "net/entropy.h"

#include <inttypes.h>
#include <signal.h>

struct watch {
    struct cli_context *ctx;
    struct cli_member member;
    struct loop_timer end;
    struct loop_signal *interrupted;
    struct loop_signal *terminated;
};

static void watch_up(struct net_peer *peer, bool restarted, void *user)
{
    struct watch *w = user;
    char who[PKI_IDENTITY_TEXT_BYTES];

    (void)restarted;
    cli_note(w->ctx, "%s is here", pki_identity_format(net_peer_identity(peer), who));
}

/* Nobody has anything to say to a doctor. */
static enum err watch_frame(struct net_peer *peer, const struct net_frame *frame, void *user)
{
    (void)peer;
    (void)frame;
    (void)user;
    return OK;
}

static void watch_lost(struct net_peer *peer, enum err why, const char *text, void *user)
{
    struct watch *w = user;
    char who[PKI_IDENTITY_TEXT_BYTES];

    (void)why;
    cli_note(w->ctx, "%s is gone: %s", pki_identity_format(net_peer_identity(peer), who), text);
}

static const struct net_endpoint_events watch_events = {
    .up = watch_up, .frame = watch_frame, .lost = watch_lost};

static void watch_end(struct loop_timer *timer, void *user)
{
    struct watch *w = user;

    (void)timer;
    loop_stop(w->member.loop);
}

static void watch_signal(int signum, void *user)
{
    struct watch *w = user;

    (void)signum;
    loop_stop(w->member.loop);
}

/* Say where we are, and what to type at the other side. */
static enum cli_exit watch_announce(struct watch *w, const struct net_address *bound)
{
    char at[NET_ADDRESS_BYTES], here[NET_ADDRESS_BYTES], who[PKI_IDENTITY_TEXT_BYTES];
    struct net_address to = *bound;
    struct err_text command, text = {""};
    bool tls = bound->scheme == NET_SCHEME_TLS;

    if (bound->scheme != NET_SCHEME_UNIX &&
        advertise_choose(bound, cli_text(w->ctx, "address"), &to, &text) != OK) {
        return cli_error(w->ctx, CLI_ERROR_LISTEN, NULL, "--listen: %s", text.text);
    }
    (void)err_text_set(&command, OK, "strait doctor --peer %s %s%s", net_address_format(&to, at),
                       tls ? "--cert " : "--insecure",
                       tls                      ? cli_text_at(w->ctx, "cert", 0)
                       : security_is_local(&to) ? ""
                                                : " --insecure");
    net_address_format(bound, here);
    pki_identity_format(&w->member.identity, who);
    if (w->ctx->json) {
        (void)cli_json(w->ctx, json_pack("{s:s, s:s, s:s}", "listening", here, "identity", who,
                                         "command", command.text));
    } else {
        cli_out(w->ctx, "%s listens at %s\n", who, here);
        cli_out(w->ctx, "on another machine: %s\n", command.text);
    }
    cli_note(w->ctx, "answers until Ctrl-C%s",
             cli_given(w->ctx, "for") ? ", or the given time" : "");
    cli_flush(w->ctx);
    return CLI_DONE;
}

static enum cli_exit watch_start(struct watch *w, const struct net_address *at)
{
    struct net_address bound;
    struct err_text text = {""};
    struct loop *loop = w->member.loop;
    enum err rc = loop_timer_init(&w->end, loop, watch_end, w);

    if (rc == OK) {
        rc = loop_signal_create(loop, SIGINT, watch_signal, w, &w->interrupted);
    }
    if (rc == OK) {
        rc = loop_signal_create(loop, SIGTERM, watch_signal, w, &w->terminated);
    }
    if (rc != OK) {
        return cli_error(w->ctx, CLI_ERROR_NO_MEMORY, NULL, "cannot start: %s",
                         cli_error_start(rc));
    }
    rc = net_endpoint_listen(w->member.endpoint, w->member.transport, at, &bound, &text);
    if (rc != OK) {
        return cli_error(w->ctx, CLI_ERROR_LISTEN, NULL, "--listen: %s",
                         text.text[0] != '\0' ? text.text : err_string(rc));
    }
    if (cli_given(w->ctx, "for")) {
        loop_timer_start_in(&w->end, cli_number(w->ctx, "for") * 1000);
    }
    return watch_announce(w, &bound);
}

enum cli_exit doctor_listen(struct cli_context *ctx, const char *address)
{
    struct watch w = {.ctx = ctx};
    struct net_address at;
    uint32_t number = 0;
    char name[32];
    struct cli_member_config config = {.address = &at,
                                       .role = WIRE_ROLE_SERVER,
                                       .name = name,
                                       .events = &watch_events,
                                       .user = &w};
    enum cli_exit status = security_address(ctx, "listen", address, &at);

    if (status != CLI_DONE) {
        return status;
    }
    (void)!entropy_bytes(&number, sizeof(number)); /* Zero will do too. */
    (void)snprintf(name, sizeof(name), "doctor-%08" PRIx32, number);
    status = cli_member_open(ctx, &w.member, &config);
    if (status == CLI_DONE && w.member.identity.role == WIRE_ROLE_OPERATOR) {
        status = cli_error(ctx, CLI_ERROR_BAD_IDENTITY, "strait cert issue CA server/SITE/NAME",
                           "--listen: an operator is never dialled: the certificate of a server, "
                           "relay or worker is needed");
    }
    if (status == CLI_DONE) {
        status = watch_start(&w, &at);
    }
    if (status == CLI_DONE) {
        loop_run(w.member.loop);
    }
    loop_signal_destroy(w.interrupted);
    loop_signal_destroy(w.terminated);
    loop_timer_deinit(&w.end);
    cli_member_close(&w.member);
    return status;
}
