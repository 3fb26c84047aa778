/* strait doctor --peer: reach a running member as an operator, say who is there and how it is
 * carried, and measure the way to it. */

#include "cli/doctor/doctor.h"
#include "cli/member/member.h"
#include "cli/member/security.h"
#include "net/entropy.h"
#include "net/probe/link.h"
#include "net/probe/probe.h"

#include <inttypes.h>

enum { CALL_BYE_MS = 500 };

/* One conversation. */
struct call {
    struct doctor *d;
    const char *address; /* As given. */
    struct cli_member member;
    struct net_peer *peer;
    struct loop_timer limit;
    bool over;
    bool up;
    bool probed;
    enum err why; /* Why it was not reached. */
    struct err_text text;
    enum err probe_rc;
    struct net_probe_result probe;
    struct pki_identity who;
    struct net_link_carrier carrier;
};

static void call_over(struct call *c)
{
    c->over = true;
    loop_stop(c->member.loop);
}

static void call_failed(struct call *c, enum err why, const char *text)
{
    if (!c->over && !c->up) {
        c->why = why;
        (void)err_text_set(&c->text, why, "%s", text);
    }
    call_over(c);
}

/* Say good-bye, so that the other side need not wait for us to come back; lost() follows. */
static void call_leave(struct call *c)
{
    net_peer_close(c->peer, "the doctor is done");
    loop_timer_start_in(&c->limit, CALL_BYE_MS * INT64_C(1000000));
}

static void call_probed(struct net_peer *peer, enum err rc, const struct net_probe_result *result,
                        void *user)
{
    struct call *c = user;

    (void)peer;
    if (c->over) {
        return; /* The session ended by itself. */
    }
    c->probed = true;
    c->probe_rc = rc;
    c->probe = *result;
    call_leave(c);
}

static void call_up(struct net_peer *peer, bool restarted, void *user)
{
    struct call *c = user;
    enum err rc;

    (void)restarted;
    if (c->up) {
        return; /* It came back while we were leaving. */
    }
    c->up = true;
    c->peer = peer;
    c->who = *net_peer_identity(peer);
    loop_timer_stop(&c->limit);
    rc = net_link_carrier(peer, &c->carrier);
    if (rc == OK) {
        rc = net_probe_start(peer, NULL, call_probed, c);
    }
    if (rc != OK) {
        c->probe_rc = rc;
        call_leave(c);
        return;
    }
    cli_note(c->d->ctx, "measuring the way to it: 5 to 20 seconds, at most 50 MB");
}

static enum err call_frame(struct net_peer *peer, const struct net_frame *frame, void *user)
{
    (void)peer;
    (void)frame;
    (void)user;
    return OK; /* Whatever a server tells operators. */
}

static void call_connect_failed(struct net_peer *peer, enum err why, const char *text, void *user)
{
    (void)peer;
    call_failed(user, why, text);
}

static const struct net_endpoint_events call_events = {
    .up = call_up,
    .frame = call_frame,
    .connect_failed = call_connect_failed,
    .lost = call_connect_failed,
};

static void call_too_long(struct loop_timer *timer, void *user)
{
    (void)timer;
    call_failed(user, ERR_TIMEOUT, "no answer in time");
}

/* What we were told, as an error. */
static enum cli_exit call_report_failure(struct call *c)
{
    struct cli_context *ctx = c->d->ctx;
    const char *text = c->text.text;

    switch (c->why) {
    case ERR_TLS:
        return cli_error(ctx, CLI_ERROR_PEER_REFUSED, NULL, "%s: TLS failed: %s", c->address, text);
    case ERR_REFUSED:
    case ERR_VERSION:
        return cli_error(ctx, CLI_ERROR_PEER_REFUSED, NULL, "%s: refused: %s", c->address, text);
    case ERR_TIMEOUT:
        return cli_error(ctx, CLI_ERROR_UNREACHABLE, NULL, "%s: timed out: %s", c->address, text);
    default:
        return cli_error(ctx, CLI_ERROR_UNREACHABLE, NULL, "%s: not reached: %s", c->address, text);
    }
}

static void call_report_carrier(struct call *c)
{
    const struct net_link_carrier *k = &c->carrier;
    char who[PKI_IDENTITY_TEXT_BYTES];

    doctor_report(c->d, DOCTOR_OK, "reached", NULL, "%s", c->address);
    if (k->tls_version != NULL) {
        doctor_report(c->d, DOCTOR_OK, "encryption", NULL, "%s, %s, %s", k->tls_version,
                      k->tls_cipher, k->info.ktls ? "in the kernel (kTLS)" : "in the process");
        doctor_report(c->d, DOCTOR_OK, "peer", NULL, "%s, by its certificate",
                      pki_identity_format(&c->who, who));
    } else {
        doctor_report(c->d, DOCTOR_WARN, "encryption", "use tls:// and certificates: strait cert",
                      "none: anybody on the way can read and change what is sent");
        doctor_report(c->d, DOCTOR_WARN, "peer", NULL, "%s, as it says itself",
                      pki_identity_format(&c->who, who));
    }
    doctor_report(c->d, DOCTOR_OK, "wire version", NULL, "%u", k->wire_version);
}

static void call_report_probe(struct call *c)
{
    const struct net_probe_result *r = &c->probe;

    if (r->rtt_ns > 0) {
        doctor_report(c->d, DOCTOR_OK, "round trip", NULL, "%.2f ms (median of %d)",
                      (double)r->rtt_ns / 1e6, NET_PROBE_PINGS);
    }
    if (c->probed && c->probe_rc == OK && r->at_least && r->low == 0) {
        doctor_report(c->d, DOCTOR_WARN, "bandwidth", "try again when less is going on",
                      "not measured: the trains disagree at all rates");
    } else if (!c->probed || c->probe_rc != OK) {
        doctor_report(c->d, DOCTOR_WARN, "bandwidth", "try again later", "not measured: %s",
                      c->probed && c->probe_rc == ERR_TIMEOUT
                          ? "it does not answer (so many) probes"
                          : err_string(c->probe_rc));
    } else if (r->at_least) {
        doctor_report(c->d, DOCTOR_OK, "bandwidth", NULL,
                      "at least %.1f Mbit/s free: as fast as probes go", (double)r->low / 125e3);
    } else {
        doctor_report(
            c->d, DOCTOR_OK, "bandwidth", NULL, "%.1f Mbit/s free (%.1f to %.1f) for one stream%s",
            (double)(r->low + r->high) / 2 / 125e3, (double)r->low / 125e3, (double)r->high / 125e3,
            r->held ? "; its window was the limit, or a queue on this machine: several "
                      "streams may get more"
                    : "");
    }
}

/* The same in numbers. */
static json_t *call_json(struct call *c)
{
    const struct net_link_carrier *k = &c->carrier;
    const struct net_probe_result *r = &c->probe;
    char who[PKI_IDENTITY_TEXT_BYTES];
    json_t *bandwidth = json_null();

    if (c->probed && c->probe_rc == OK) {
        bandwidth = json_pack("{s:I, s:I, s:b, s:b, s:I, s:I, s:f}", "low_bits_per_s",
                              (json_int_t)r->low * 8, "high_bits_per_s", (json_int_t)r->high * 8,
                              "at_least", (int)r->at_least, "held", (int)r->held, "trains",
                              (json_int_t)r->trains, "sent_bytes", (json_int_t)r->bytes, "seconds",
                              (double)r->duration_ns / 1e9);
    }
    return json_pack("{s:s, s:s, s:b, s:i, s:s?, s:s?, s:b, s:f, s:o}", "address", c->address,
                     "identity", pki_identity_format(&c->who, who), "authenticated",
                     (int)(k->tls_version != NULL), "wire_version", (int)k->wire_version,
                     "tls_version", k->tls_version, "tls_cipher", k->tls_cipher, "ktls",
                     (int)k->info.ktls, "rtt_ms", (double)r->rtt_ns / 1e6, "bandwidth", bandwidth);
}

/* A worker's session must not be taken over by a doctor that shows the worker's certificate. */
static enum cli_exit call_check_role(struct call *c)
{
    char who[PKI_IDENTITY_TEXT_BYTES];

    if (c->member.identity.role == WIRE_ROLE_OPERATOR) {
        return CLI_DONE;
    }
    return cli_error(c->d->ctx, CLI_ERROR_BAD_IDENTITY, "strait cert issue CA operator/SITE/NAME",
                     "--peer: the certificate is that of %s, which may be at work with it: an "
                     "operator's is needed",
                     pki_identity_format(&c->member.identity, who));
}

static enum cli_exit call_run(struct call *c, const struct net_address *to)
{
    enum err rc = loop_timer_init(&c->limit, c->member.loop, call_too_long, c);

    if (rc == OK) {
        rc = net_endpoint_dial(c->member.endpoint, c->member.transport, to, 1, &c->peer);
    }
    if (rc != OK) {
        return cli_error(c->d->ctx, CLI_ERROR_NO_MEMORY, NULL, "cannot start: %s",
                         cli_error_start(rc));
    }
    loop_timer_start_in(&c->limit, cli_number(c->d->ctx, "timeout") * 1000);
    while (!c->over) {
        loop_run(c->member.loop);
    }
    if (!c->up) {
        return call_report_failure(c);
    }
    call_report_carrier(c);
    call_report_probe(c);
    return CLI_DONE;
}

enum cli_exit doctor_peer(struct doctor *d, const char *address, json_t **peer_out)
{
    struct call c = {.d = d, .address = address};
    struct net_address to;
    uint32_t number = 0;
    char name[32];
    struct cli_member_config config = {.address = &to,
                                       .role = WIRE_ROLE_OPERATOR,
                                       .name = name,
                                       .events = &call_events,
                                       .user = &c};
    enum cli_exit status = security_address(d->ctx, "peer", address, &to);

    if (status != CLI_DONE) {
        return status;
    }
    (void)!entropy_bytes(&number, sizeof(number)); /* Zero will do too. */
    (void)snprintf(name, sizeof(name), "doctor-%08" PRIx32, number);
    status = cli_member_open(d->ctx, &c.member, &config);
    if (status == CLI_DONE) {
        status = call_check_role(&c);
    }
    if (status == CLI_DONE) {
        status = call_run(&c, &to);
    }
    if (status == CLI_DONE) {
        *peer_out = d->ctx->json ? call_json(&c) : NULL;
    }
    loop_timer_deinit(&c.limit);
    cli_member_close(&c.member);
    return status;
}
