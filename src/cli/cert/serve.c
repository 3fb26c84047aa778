/* strait cert serve: hand out certificates over the network to who has a token. An endpoint that
 * lets strangers in, and no members; the work is done in net/pki/enrol.c. */

#include "base/buf.h"
#include "cli/cert/cert.h"
#include "cli/command/commands.h"
#include "cli/member/advertise.h"
#include "loop/clock.h"
#include "loop/loop.h"
#include "net/entropy.h"
#include "net/pki/enrol.h"
#include "net/session/endpoint.h"
#include "net/stream/tls.h"
#include "obs/metric.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
    SERVE_POOL_BYTES = 32 * 1024 * 1024, /* All strangers at once, each with its first frame. */
    SERVE_SERIES_MAX = 256,
};

struct serve {
    struct cli_context *ctx;
    struct pki_ca *ca;
    struct loop *loop;
    struct buf_pool *pool;
    struct obs_registry *registry;
    struct net_tls_transport *tls;
    struct net_endpoint *endpoint;
    struct net_enroller enroller;
    struct loop_signal *signals[2];
    struct loop_timer end;
    bool once;
    struct net_conn *last; /* The one has been served; only its connection is waited for. */
    const struct net_source *source; /* Of the request that is being answered. */
    uint32_t enrolled;
    uint32_t refused;
};

/* Telling. */

/* Print an event as one line of JSON. @object gets a "schema" and is released. */
static void serve_json(struct serve *serve, json_t *object)
{
    struct cli_context *ctx = serve->ctx;
    json_t *whole = json_pack("{s:i}", "schema", CLI_JSON_SCHEMA);
    char *text = NULL;

    if (whole != NULL && object != NULL && json_object_update_missing(whole, object) == 0) {
        text = json_dumps(whole, JSON_COMPACT);
    }
    cli_out(ctx, "%s\n", text != NULL ? text : "{\"schema\":1,\"event\":\"no_memory\"}");
    free(text);
    json_decref(object);
    json_decref(whole);
    cli_flush(ctx);
    if (ctx->out_errno != 0) {
        loop_stop(serve->loop); /* Nobody reads any more. */
    }
}

static void serve_tell_enrolled(struct serve *serve, const struct net_enrolment *e,
                                const char *source)
{
    char identity[PKI_IDENTITY_TEXT_BYTES], date[CERT_DATE_BYTES];

    pki_identity_format(&e->identity, identity);
    cli_note(serve->ctx, "enrolled %s from %s: serial %s, valid until %s", identity, source,
             e->serial, cert_date(e->not_after_s, false, date));
    if (serve->ctx->json) {
        serve_json(serve, json_pack("{s:s, s:s, s:s, s:s, s:s}", "event", "enrolled", "identity",
                                    identity, "serial", e->serial, "not_after",
                                    cert_date(e->not_after_s, true, date), "source", source));
    }
}

static void serve_tell_refused(struct serve *serve, const struct net_enrolment *e,
                               const char *source)
{
    cli_note(serve->ctx, "refused a request from %s: %s", source, e->text);
    if (serve->ctx->json) {
        serve_json(serve, json_pack("{s:s, s:s, s:s}", "event", "refused", "reason",
                                    pki_token_reason_name(e->reason), "source", source));
    }
}

static void serve_answered(struct net_conn *conn, const struct net_enrolment *e, void *user)
{
    struct serve *serve = user;

    if (e->reason != PKI_TOKEN_GOOD) {
        serve->refused++;
        serve_tell_refused(serve, e, serve->source->text);
        return;
    }
    serve->enrolled++;
    net_endpoint_credit(serve->endpoint, serve->source);
    serve_tell_enrolled(serve, e, serve->source->text);
    if (serve->once) {
        serve->last = conn;
    }
}

/* The endpoint: strangers may enrol, and nobody else gets past the handshake. */

static enum err serve_enrol(struct net_conn *conn, const struct net_source *source,
                            const struct net_frame *frame, void *user)
{
    struct serve *serve = user;

    if (serve->last != NULL) {
        return ERR_REFUSED;
    }
    serve->source = source;
    return net_enroller_frame(&serve->enroller, conn, frame);
}

static void serve_enrol_ended(struct net_conn *conn, void *user)
{
    struct serve *serve = user;

    if (conn == serve->last) {
        loop_stop(serve->loop);
    }
}

static void serve_up(struct net_peer *peer, bool restarted, void *user)
{
    (void)restarted;
    (void)user;
    net_peer_close(peer, "there is nothing here but enrolment");
}

static enum err serve_frame(struct net_peer *peer, const struct net_frame *frame, void *user)
{
    (void)peer;
    (void)frame;
    (void)user;
    return ERR_REFUSED;
}

static void serve_lost(struct net_peer *peer, enum err why, const char *text, void *user)
{
    (void)peer;
    (void)why;
    (void)text;
    (void)user;
}

static const struct net_endpoint_events serve_events = {
    .up = serve_up,
    .frame = serve_frame,
    .lost = serve_lost,
    .enrol = serve_enrol,
    .enrol_ended = serve_enrol_ended,
};

static int64_t serve_wall_us(void *user)
{
    (void)user;
    return clock_wall_us();
}

static void serve_caught(int signum, void *user)
{
    (void)signum;
    loop_stop(((struct serve *)user)->loop);
}

static void serve_ended(struct loop_timer *timer, void *user)
{
    (void)timer;
    loop_stop(((struct serve *)user)->loop);
}

/* Beginning and end. */

static enum err serve_open_loop(struct serve *serve)
{
    enum err rc = loop_create(&serve->loop);

    if (rc == OK) {
        rc = buf_pool_create(SERVE_POOL_BYTES, &serve->pool);
    }
    if (rc == OK) {
        rc = obs_registry_create(SERVE_SERIES_MAX, &serve->registry);
    }
    if (rc == OK) {
        rc = loop_timer_init(&serve->end, serve->loop, serve_ended, serve);
    }
    if (rc == OK) {
        rc = loop_signal_create(serve->loop, SIGINT, serve_caught, serve, &serve->signals[0]);
    }
    if (rc == OK) {
        rc = loop_signal_create(serve->loop, SIGTERM, serve_caught, serve, &serve->signals[1]);
    }
    return rc;
}

static enum err serve_open_net(struct serve *serve, struct err_text *text)
{
    struct net_enroller_config enroller = {.ca = serve->ca,
                                           .pool = serve->pool,
                                           .wall_us = serve_wall_us,
                                           .answered = serve_answered,
                                           .user = serve};
    struct net_enrol_files files;
    struct net_tls_config tls = {
        .cert_path = files.cert, .key_path = files.key, .ca_path = files.ca, .enrol = true};
    struct net_endpoint_config endpoint = {.loop = serve->loop,
                                           .pool = serve->pool,
                                           .registry = serve->registry,
                                           .events = &serve_events,
                                           .user = serve};
    enum err rc = net_enrol_files_prepare(serve->ca, cert_now_s(), &files, text);

    if (rc == OK) {
        rc = net_enroller_init(&serve->enroller, &enroller, text);
    }
    if (rc == OK) {
        rc = net_tls_transport_create(serve->loop, &tls, &serve->tls, text);
    }
    if (rc == OK) {
        rc = entropy_u64(&endpoint.incarnation);
        endpoint.incarnation |= 1; /* Not zero. */
    }
    if (rc == OK) {
        endpoint.identity = *net_tls_identity(serve->tls);
        rc = net_endpoint_create(&endpoint, &serve->endpoint);
    }
    return rc;
}

static void serve_close(struct serve *serve)
{
    net_endpoint_destroy(serve->endpoint);
    net_tls_transport_destroy(serve->tls);
    loop_timer_deinit(&serve->end);
    for (size_t i = 0; i < 2; i++) {
        if (serve->signals[i] != NULL) {
            loop_signal_destroy(serve->signals[i]);
        }
    }
    loop_destroy(serve->loop);
    obs_registry_destroy(serve->registry);
    buf_pool_destroy(serve->pool);
    pki_ca_close(serve->ca);
}

/* Say how to join. */
static enum cli_exit serve_announce(struct serve *serve, const struct net_address *bound)
{
    struct cli_context *ctx = serve->ctx;
    char at[NET_ADDRESS_BYTES], to[NET_ADDRESS_BYTES] = "tls://HOST:PORT";
    char join[NET_ADDRESS_BYTES + 64];
    struct net_address address;
    struct err_text text = {""};
    enum err rc = advertise_choose(bound, cli_text(ctx, "advertise"), &address, &text);

    if (rc == ERR_INVALID) {
        return cli_error(ctx, CLI_ERROR_BAD_VALUE, NULL, "cert serve: --advertise: %s", text.text);
    }
    if (rc == OK) {
        net_address_format(&address, to);
    }
    (void)snprintf(join, sizeof(join), "strait cert join %s --token-file FILE", to);
    net_address_format(bound, at);
    if (ctx->json) {
        serve_json(serve,
                   json_pack("{s:s, s:s, s:s?, s:s?}", "event", "listening", "address", at,
                             "advertised", rc == OK ? to : NULL, "join", rc == OK ? join : NULL));
    } else {
        cert_row(ctx, "listening", at);
        cert_row(ctx, "join with", join);
        cli_flush(ctx);
    }
    if (rc != OK) {
        cli_note(ctx, "Replace HOST and PORT: %s.", text.text);
    } else if (advertise_is_loopback(address.host)) {
        cli_note(ctx, "Only this machine can reach that address.");
    }
    cli_note(ctx, "FILE holds a token, one for each member. Ctrl-C ends this.");
    cli_next(ctx, "strait cert token %s 'worker/SITE/*' -o FILE", cli_argument(ctx, 0));
    return CLI_DONE;
}

static enum cli_exit serve_work(struct serve *serve, const struct net_address *at)
{
    struct cli_context *ctx = serve->ctx;
    struct net_address bound;
    struct err_text text = {""};
    enum err rc = serve_open_loop(serve);
    enum cli_exit status;

    if (rc == OK) {
        rc = serve_open_net(serve, &text);
    }
    if (rc != OK) {
        return cert_error(ctx, rc, &text);
    }
    rc =
        net_endpoint_listen(serve->endpoint, net_tls_transport_base(serve->tls), at, &bound, &text);
    if (rc != OK) {
        return cli_error(ctx, CLI_ERROR_LISTEN, NULL, "cert serve: %s",
                         text.text[0] != '\0' ? text.text : err_string(rc));
    }
    status = serve_announce(serve, &bound);
    if (status != CLI_DONE) {
        return status;
    }
    if (cli_given(ctx, "for")) {
        loop_timer_start_in(&serve->end, cli_number(ctx, "for") * 1000);
    }
    loop_run(serve->loop);
    cli_note(ctx, "stopped: %" PRIu32 " enrolled, %" PRIu32 " refused", serve->enrolled,
             serve->refused);
    if (ctx->json) {
        serve_json(serve,
                   json_pack("{s:s, s:I, s:I}", "event", "stopped", "enrolled",
                             (json_int_t)serve->enrolled, "refused", (json_int_t)serve->refused));
    }
    return CLI_DONE;
}

static enum cli_exit serve_run(struct cli_context *ctx)
{
    struct serve serve = {.ctx = ctx, .once = cli_flag(ctx, "once")};
    struct net_address at;
    struct err_text text = {""};
    enum err rc = net_address_parse(cli_text(ctx, "listen"), &at, &text);
    enum cli_exit status;

    if (rc == OK && at.scheme != NET_SCHEME_TLS) {
        rc = err_text_set(&text, ERR_INVALID, "certificates are handed out over tls:// only");
    }
    if (rc != OK) {
        return cli_error(ctx, CLI_ERROR_BAD_VALUE, NULL, "cert serve: --listen: %s", text.text);
    }
    status = cert_open(ctx, &serve.ca);
    if (status == CLI_DONE) {
        status = serve_work(&serve, &at);
    }
    serve_close(&serve);
    return status;
}

const struct cli_command cli_command_cert_serve = {
    .path = "cert serve",
    .summary = "hand out certificates over the network, for tokens",
    .paragraphs =
        (const char *const[]){
            "Members that have a token (strait cert token) get their certificate from here with "
            "strait cert join; the command for that is printed. Run it on the machine that holds "
            "the authority, and only while members join: nothing else needs it.",
            "It serves with a certificate of its own, server/ca/enrol, which it keeps in the "
            "folder enrol of DIR. With --json each event is one line: listening, enrolled, "
            "refused, stopped.",
            NULL},
    .arguments =
        (const struct cli_argument[]){
            {.placeholder = "DIR", .help = "the folder of the authority", .kind = CLI_DIR}, {0}},
    .options =
        (const struct cli_option[]){
            {.name = "listen",
             .placeholder = "ADDRESS",
             .fallback = "tls://0.0.0.0:7443",
             .help = "where to listen; with port 0 the system chooses one"},
            {.name = "advertise",
             .placeholder = "HOST",
             .help = "the name or address that others reach this machine by"},
            {.name = "once", .help = "stop after the first certificate"},
            {.name = "for",
             .placeholder = "TIME",
             .kind = CLI_DURATION,
             .min = 1000,
             .max = INT64_C(365) * 24 * 3600 * 1000000,
             .help = "stop after that time"},
            {0}},
    .examples =
        (const struct cli_example[]){
            {"strait cert serve ca --for 1h", "let members join for an hour"},
            {"strait cert serve ca --advertise ca.example.org", "behind a name of its own"},
            {0}},
    .run = serve_run,
};
