/* Opening and closing. */

#include "base/buf.h"
#include "base/mem.h"
#include "client/client.h"
#include "client/op.h"
#include "client/option.h"
#include "loop/clock.h"
#include "net/entropy.h"
#include "net/pki/member.h"
#include "obs/metric.h"

#include <inttypes.h>
#include <stdio.h>

enum { OPEN_SERIES = 256 };

/* Pools belong to a thread: the one that has the loop. */
static void open_moved(void *user)
{
    node_worker_adopt(((struct client *)user)->worker);
}

/* Everything but the handle. What is on the loop goes while we own it. */
static void open_free(struct client *c)
{
    if (c->driver != NULL) {
        loop_driver_enter(c->driver);
        loop_driver_on_move(c->driver, NULL, NULL);
        node_worker_destroy(c->worker);
        net_tls_transport_destroy(c->tls);
        loop_driver_leave(c->driver, false);
        loop_driver_destroy(c->driver);
    }
    for (uint32_t i = 0; i < c->ops_count; i++) {
        client_op_destroy(atomic_load_explicit(&c->ops[i], memory_order_relaxed));
    }
    obs_registry_destroy(c->registry);
    buf_pool_destroy(c->pool);
    mem_free(c);
}

/* The member's files; @text says what to do if they cannot be found. */
static enum err open_find(const struct client_options *o, struct pki_member_files *out,
                          struct err_text *text)
{
    struct err_text why = {""};
    enum err rc = pki_member_find(o->cert, o->name, out, &why);
    const char *next = rc == ERR_NOT_FOUND ? "; strait cert issue makes one"
                       : rc == ERR_INVALID ? "; say which with \"name\""
                                           : "";

    return rc == OK ? OK : err_text_set(text, rc, "cert %.400s%s", why.text, next);
}

static enum err open_tls(struct client *c, const struct client_options *o,
                         struct node_worker_config *config, struct err_text *text)
{
    struct pki_member_files files;
    struct net_tls_config tls = {.cert_path = files.cert,
                                 .key_path = files.key,
                                 .ca_path = files.ca,
                                 .crl_path = files.crl,
                                 /* Workers too: in a tree they pass sums on to each other. */
                                 .roles_accepted = WIRE_ROLE_WORKER,
                                 .roles_dialled = WIRE_ROLE_SERVER | WIRE_ROLE_WORKER};
    enum err rc = open_find(o, &files, text);

    if (rc != OK) {
        return rc;
    }
    rc = net_tls_transport_create(config->loop, &tls, &c->tls, text);
    if (rc != OK) {
        return rc;
    }
    config->transport = net_tls_transport_base(c->tls);
    config->identity = *net_tls_identity(c->tls);
    if (config->identity.role != WIRE_ROLE_WORKER) {
        return err_text_set(text, ERR_REFUSED,
                            "cert %s: that certificate is not a worker's: strait cert issue "
                            "worker/SITE/NAME makes one",
                            files.cert);
    }
    return OK;
}

/* Without certificates we are who we say. A name makes two workers one, so each gets its own. */
static enum err open_plain(struct client *c, const struct client_options *o,
                           struct node_worker_config *config, struct err_text *text)
{
    char name[LIMIT_NAME_BYTES + 1];

    net_socket_transport_init(&c->plain, config->loop, NULL);
    config->transport = &c->plain.base;
    config->insecure = true;
    if (o->name[0] != '\0') {
        (void)snprintf(name, sizeof(name), "%s", o->name);
    } else if (o->rank != NODE_RANK_ANY) {
        (void)snprintf(name, sizeof(name), "w%" PRIu32, o->rank);
    } else {
        (void)snprintf(name, sizeof(name), "w-%016" PRIx64, config->incarnation);
    }
    return pki_identity_make(WIRE_ROLE_WORKER, o->site[0] != '\0' ? o->site : "local", name,
                             &config->identity, text);
}

/* What lives on the loop; the caller owns it. */
static enum err open_worker(struct client *c, const struct client_options *o, struct err_text *text)
{
    struct node_worker_config config = {
        .loop = loop_driver_loop(c->driver),
        .pool = c->pool,
        .registry = c->registry,
        .rank = o->rank,
        .streams = o->streams,
        .first = o->join,
        .cache_bytes = o->cache_bytes,
        .pace_bytes_per_s = o->pace_bytes_per_s,
        .relay = o->relay,
        .relay_off = o->relay_off,
        .agg = o->agg[0] != '\0' ? o->agg : NULL,
        .edge = o->edge[0] != '\0' ? o->edge : NULL,
        .mono_ns = clock_mono_ns,
    };
    enum err rc = entropy_u64(&config.seed);

    if (rc != OK) {
        return err_text_set(text, rc, "the system has no randomness to give");
    }
    config.incarnation = config.seed | 1;
    rc = o->join.scheme == NET_SCHEME_TLS ? open_tls(c, o, &config, text)
                                          : open_plain(c, o, &config, text);
    if (rc == OK) {
        rc = node_worker_create(&config, &c->worker);
    }
    return rc;
}

static enum err open_parts(struct client *c, const struct client_options *o, struct err_text *text)
{
    enum err rc = buf_pool_create(o->pool_bytes, &c->pool);

    if (rc == OK) {
        rc = obs_registry_create(OPEN_SERIES, &c->registry);
    }
    if (rc == OK) {
        rc = loop_driver_create("strait", &c->driver);
    }
    if (rc == OK) {
        loop_driver_enter(c->driver);
        rc = open_worker(c, o, text);
        if (rc == OK) {
            loop_driver_on_move(c->driver, open_moved, c);
        }
        loop_driver_leave(c->driver, true);
    }
    return rc;
}

/* Certificates that are not there or not right are a matter of their own. */
static int open_failed(const struct client_options *o, enum err rc, const char *text)
{
    int code = client_error_code(rc);
    bool cert = o->cert[0] != '\0' && text[0] != '\0' && rc != ERR_NOMEM;

    return client_error(NULL, cert ? STRAIT_E_CERT : code, "%s",
                        text[0] != '\0' ? text : err_string(rc));
}

int strait_open(const char *options, strait **out)
{
    struct err_text text = {""};
    struct client_options o;
    struct client *c;
    enum err rc;

    if (out == NULL) {
        return client_error(NULL, STRAIT_E_INVALID, "there is no place for the handle");
    }
    rc = client_option_parse(options, &o, &text);
    if (rc != OK) {
        return client_error_pass(NULL, rc, text.text);
    }
    c = mem_zalloc(sizeof(*c));
    if (c == NULL) {
        return client_error_pass(NULL, ERR_NOMEM, NULL);
    }
    list_init(&c->live);
    list_init(&c->idle);
    rc = open_parts(c, &o, &text);
    if (rc != OK) {
        open_free(c);
        return open_failed(&o, rc, text.text);
    }
    if (!client_handle_open(c, &c->handle)) {
        open_free(c);
        return client_error(NULL, STRAIT_E_TOO_BIG, "%d handles are open already: close some",
                            CLIENT_HANDLE_PLACES);
    }
    *out = client_handle_pack(c->handle);
    return STRAIT_OK;
}

/* The memory stays: the parent's threads may have been in the middle of changing it. */
static int open_disown(const strait *s)
{
    struct client *c = client_handle_disown(client_handle_unpack(s));

    if (c != NULL) {
        loop_driver_forget(c->driver);
    }
    return STRAIT_OK;
}

int strait_close(strait *s)
{
    struct client_handle handle = client_handle_unpack(s);
    struct client_call call;
    struct client *c;
    int code;

    if (s == NULL) {
        return STRAIT_OK;
    }
    code = client_begin(s, &call);
    if (code == STRAIT_E_FORKED) {
        return open_disown(s);
    }
    if (code != STRAIT_OK) {
        return code;
    }
    c = call.client;
    c->closing = true;
    c->alone = client_handle_close(handle.place);
    client_op_end_all(c, NULL, "the handle was closed");
    /* Those who are on their way in or out. */
    CHECK(loop_driver_wait(c->driver, &c->alone, LOOP_NEVER, NULL, NULL) == OK);
    loop_driver_leave(c->driver, false);
    open_free(c);
    client_handle_release(handle.place);
    return STRAIT_OK;
}

void strait_interrupt(strait *s)
{
    struct client_handle handle = client_handle_unpack(s);

    if (s == NULL || handle.kind == CLIENT_HANDLE_KIND_WORKER) {
        client_handle_interrupt(handle);
    }
}
