/* The joiner: one connection, one request, one answer. The answer is believed only as far as the
 * pin and our own key prove it. */

#include "base/buf.h"
#include "base/mem.h"
#include "net/counters.h"
#include "net/pki/enrol.h"
#include "net/pki/file.h"
#include "net/pki/x509.h"
#include "net/session/conn.h"
#include "net/stream/tls.h"
#include "wire/control.h"
#include "wire/hello.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

enum { JOINER_TIMEOUT_MS = 15000 };

struct net_joiner {
    struct net_joiner_config config; /* The texts in it are gone: see below. */
    struct pki_token token;
    char name[LIMIT_NAME_BYTES + 1];
    char dir[PKI_PATH_BYTES];
    struct pki_bundle bundle; /* Our key from the start, the certificates at the end. */
    struct pki_pem request;
    struct pki_identity identity;
    struct net_tls_transport *tls;
    struct net_counters counters;
    struct net_conn *conn;
    bool answered;
    enum err rc; /* What the answer came to. */
    struct err_text text;
};

/* Asking. */

static void joiner_opened(struct net_conn *conn, void *user)
{
    struct net_joiner *j = user;
    uint8_t token[PKI_TOKEN_ID_CHARS + PKI_TOKEN_SECRET_BYTES];
    struct wire_enroll enroll = {
        .token = token,
        .token_bytes = sizeof(token),
        .name = j->name,
        .name_bytes = (uint32_t)strlen(j->name),
        .request = (const uint8_t *)j->request.chars,
        .request_bytes = (uint32_t)j->request.size,
    };
    struct buf *frame;
    enum err rc;

    memcpy(token, j->token.id, PKI_TOKEN_ID_CHARS);
    memcpy(token + PKI_TOKEN_ID_CHARS, j->token.secret, PKI_TOKEN_SECRET_BYTES);
    rc = wire_enroll_encode(j->config.pool, &enroll, &frame);
    OPENSSL_cleanse(token, sizeof(token));
    if (rc == OK) {
        rc = net_conn_send_sealed(conn, NET_CONTROL, frame);
        if (rc != OK) {
            buf_unref(frame);
        }
    }
    if (rc != OK) {
        net_conn_close(conn, rc, NULL);
    }
}

/* Judging the answer. */

/* Read the first certificate of @bytes, and keep nothing but that. */
static enum err joiner_take_cert(const uint8_t *bytes, size_t size, struct pki_pem *pem_out,
                                 X509 **cert_out, struct err_text *text)
{
    enum err rc = pki_cert_decode(bytes, size, cert_out, text);

    return rc == OK ? pki_x509_cert_pem(*cert_out, pem_out, text) : rc;
}

static enum err joiner_check(struct net_joiner *j, const struct wire_enrolled *enrolled)
{
    struct err_text why = {""};
    X509 *cert = NULL, *ca = NULL;
    enum err rc =
        joiner_take_cert(enrolled->chain, enrolled->chain_bytes, &j->bundle.cert, &cert, &why);

    if (rc == OK) {
        rc = joiner_take_cert(enrolled->authority, enrolled->authority_bytes, &j->bundle.ca, &ca,
                              &why);
    }
    if (rc == OK && !pki_pin_matches(ca, j->token.pin)) {
        rc = err_text_set(&why, ERR_TLS, "it handed out the certificate of another authority");
    }
    if (rc == OK) {
        rc = pki_identity_from_cert(cert, &j->identity, &why);
    }
    if (rc == OK && j->name[0] != '\0' && strcmp(j->name, j->identity.name) != 0) {
        rc = err_text_set(&why, ERR_PEER, "it issued a certificate for another name");
    }
    X509_free(ca);
    X509_free(cert);
    if (rc != OK) {
        rc = rc == ERR_TLS || rc == ERR_NOMEM ? rc : ERR_PEER;
        return err_text_set(&j->text, rc, "the answer of the authority cannot be used: %.300s",
                            why.text);
    }
    return OK;
}

/* The certificate is on record by now: if its files cannot be written, the token is lost. */
static enum err joiner_write(struct net_joiner *j)
{
    struct err_text why = {""};
    enum err rc = pki_bundle_write(&j->bundle, &j->identity, j->dir, j->config.replace, &why);

    if (rc == ERR_INVALID) { /* Not signed by that authority, or not for our key. */
        rc = ERR_PEER;
    }
    return rc == OK ? OK : err_text_set(&j->text, rc, "%.400s; the token is used up", why.text);
}

static enum err joiner_refused(struct net_joiner *j, const struct wire_enrolled *enrolled)
{
    return err_text_set(&j->text, enrolled->code == WIRE_REFUSAL_BUSY ? ERR_AGAIN : ERR_REFUSED,
                        "the authority says: %.*s", (int)enrolled->text_bytes, enrolled->text);
}

static enum err joiner_judge(struct net_joiner *j, const struct net_frame *frame)
{
    struct wire_enrolled enrolled;
    enum err rc;

    if (wire_enrolled_decode(frame->body, frame->header.body_bytes, &enrolled) != OK) {
        return err_text_set(&j->text, ERR_PEER, "the answer of the authority makes no sense");
    }
    if (enrolled.code != 0) {
        return joiner_refused(j, &enrolled);
    }
    rc = joiner_check(j, &enrolled);
    return rc == OK ? joiner_write(j) : rc;
}

static enum err joiner_frame(struct net_conn *conn, const struct net_frame *frame, void *user)
{
    struct net_joiner *j = user;

    if (frame->header.type != WIRE_ENROLLED || j->answered) {
        return ERR_PEER;
    }
    j->answered = true;
    j->rc = joiner_judge(j, frame);
    net_conn_close(conn, OK, NULL);
    return OK;
}

/* The connection ended without an answer: say why. */
static enum err joiner_unanswered(struct net_joiner *j, enum err why, const char *text)
{
    char address[NET_ADDRESS_BYTES];

    net_address_format(&j->config.address, address);
    if (why == OK || why == ERR_CLOSED) {
        why = ERR_CLOSED;
        return err_text_set(&j->text, why, "%s: the connection was closed without an answer",
                            address);
    }
    if (why == ERR_TIMEOUT) {
        return err_text_set(&j->text, why, "%s: no answer within %lld ms", address,
                            (long long)(j->config.timeout_ns / 1000000));
    }
    return err_text_set(&j->text, why, "%s: %.200s", address, text);
}

static void joiner_closed(struct net_conn *conn, enum err why, const char *text, void *user)
{
    struct net_joiner *j = user;

    (void)conn;
    j->conn = NULL;
    if (!j->answered) {
        j->rc = joiner_unanswered(j, why, text);
    }
    j->config.done(j->rc, j->rc == OK ? "" : j->text.text, j->config.user);
}

static const struct net_conn_events joiner_events = {
    .opened = joiner_opened,
    .frame = joiner_frame,
    .closed = joiner_closed,
};

/* Beginning. */

static enum err joiner_in_the_way(const char *dir, const char *name, const char *suffix,
                                  struct err_text *text)
{
    char leaf[LIMIT_NAME_BYTES + 8];
    char path[PKI_PATH_BYTES];
    enum err rc;

    (void)snprintf(leaf, sizeof(leaf), "%s%s", name, suffix);
    rc = pki_path(dir, leaf, path, text);
    if (rc == OK && pki_file_exists(path)) {
        rc = err_text_set(text, ERR_EXISTS,
                          "%s is there already: use another folder, or say that it may be replaced",
                          path);
    }
    return rc;
}

/* Find what would keep us from writing the files while the token is still good. */
static enum err joiner_check_dir(const struct net_joiner *j, struct err_text *text)
{
    char path[PKI_PATH_BYTES];
    X509 *ca = NULL;
    enum err rc = pki_dir_make(j->dir, text);

    if (rc == OK) {
        rc = pki_path(j->dir, "ca.crt", path, text);
    }
    if (rc != OK || j->config.replace) {
        return rc;
    }
    if (pki_file_exists(path)) {
        rc = pki_cert_read(path, &ca, text);
        if (rc == OK && !pki_pin_matches(ca, j->token.pin)) {
            rc = err_text_set(text, ERR_EXISTS,
                              "%s is the certificate of another authority than the token's: use "
                              "another folder",
                              path);
        }
        X509_free(ca);
    }
    if (rc == OK && j->name[0] != '\0') {
        rc = joiner_in_the_way(j->dir, j->name, ".crt", text);
        if (rc == OK) {
            rc = joiner_in_the_way(j->dir, j->name, ".key", text);
        }
    }
    return rc;
}

static enum err joiner_init(struct net_joiner *j, struct err_text *text)
{
    const char *name = j->config.name == NULL ? "" : j->config.name;
    enum err rc;

    if (j->config.address.scheme != NET_SCHEME_TLS) {
        return err_text_set(text, ERR_INVALID, "certificates are handed out over tls:// only");
    }
    if (name[0] != '\0' && !pki_name_valid(name)) {
        return err_text_set(text, ERR_INVALID,
                            "a name has 1 to %d of the characters A-Z a-z 0-9 . _ -",
                            LIMIT_NAME_BYTES);
    }
    (void)snprintf(j->name, sizeof(j->name), "%s", name);
    if ((size_t)snprintf(j->dir, sizeof(j->dir), "%s", j->config.dir) >= sizeof(j->dir)) {
        return err_text_set(text, ERR_INVALID, "the path of the folder is too long");
    }
    rc = pki_token_parse(j->config.token, &j->token, text);
    if (rc == OK) {
        rc = joiner_check_dir(j, text);
    }
    if (rc == OK) {
        rc = pki_request_create(&j->bundle.key, &j->request, text);
    }
    if (rc == OK) {
        rc = net_counters_init(&j->counters, j->config.registry);
    }
    if (rc == OK) {
        struct net_tls_joiner_config tls = {
            .pin = j->token.pin, .wall_us = j->config.wall_us, .user = j->config.user};

        rc = net_tls_joiner_create(j->config.loop, &tls, &j->tls, text);
    }
    return rc;
}

/* The limits for strangers hold for the authority's side too: one small answer, and in time. */
static enum err joiner_dial(struct net_joiner *j)
{
    struct net_transport *transport = net_tls_transport_base(j->tls);
    struct net_conn_config config = {
        .loop = j->config.loop,
        .pool = j->config.pool,
        .counters = &j->counters,
        .stranger_ns = j->config.timeout_ns,
        .events = &joiner_events,
        .user = j,
    };
    struct net_stream *stream;
    enum err rc = transport->ops->dial(transport, &j->config.address, &stream);

    if (rc != OK) {
        return rc;
    }
    rc = net_conn_create(&config, stream, &j->conn);
    if (rc != OK) {
        stream->ops->destroy(stream, true);
    }
    return rc;
}

enum err net_joiner_create(const struct net_joiner_config *config, struct net_joiner **joiner_out,
                           struct err_text *text)
{
    struct net_joiner *j = mem_zalloc(sizeof(*j));
    enum err rc;

    if (j == NULL) {
        return err_text_set(text, ERR_NOMEM, "out of memory");
    }
    j->config = *config;
    if (j->config.timeout_ns == 0) {
        j->config.timeout_ns = (int64_t)JOINER_TIMEOUT_MS * 1000000;
    }
    rc = joiner_init(j, text);
    if (rc == OK) {
        rc = joiner_dial(j);
        if (rc != OK) {
            (void)err_text_set(text, rc, "cannot dial: %s", err_string(rc));
        }
    }
    if (rc != OK) {
        net_joiner_destroy(j);
        return rc;
    }
    j->config.token = j->config.name = j->config.dir = NULL;
    *joiner_out = j;
    return OK;
}

void net_joiner_destroy(struct net_joiner *j)
{
    if (j == NULL) {
        return;
    }
    net_conn_abandon(j->conn);
    net_tls_transport_destroy(j->tls);
    OPENSSL_cleanse(j, sizeof(*j));
    mem_free(j);
}

const struct pki_identity *net_joiner_identity(const struct net_joiner *j)
{
    return &j->identity;
}
