#include "net/pki/enrol.h"

#include "base/buf.h"
#include "base/log.h"
#include "net/pki/file.h"
#include "net/pki/x509.h"
#include "net/session/conn.h"
#include "wire/control.h"
#include "wire/hello.h"

#include <openssl/err.h>
#include <string.h>

enum {
    ENROL_RENEW_S = 30 * 24 * 3600, /* The server's own certificate is replaced this early. */
    ENROL_TOKEN_BYTES = PKI_TOKEN_ID_CHARS + PKI_TOKEN_SECRET_BYTES,
};

_Static_assert(ENROL_TOKEN_BYTES <= (int)WIRE_ENROLL_TOKEN_BYTES_MAX, "a token fits its field");
_Static_assert(PKI_PEM_BYTES <= (int)WIRE_ENROLLED_CERT_BYTES_MAX, "a certificate fits the answer");
_Static_assert(NET_ENROL_PATH_BYTES == (int)PKI_PATH_BYTES, "paths are as long as those of pki");

enum err net_enroller_init(struct net_enroller *e, const struct net_enroller_config *config,
                           struct err_text *text)
{
    *e = (struct net_enroller){.config = *config};
    return pki_x509_cert_pem(pki_ca_cert(config->ca), &e->ca, text);
}

/* A token must not be spent on an answer for which there is no buffer. The pool is ours alone until
 * the answer is made, so what it has now it will have then. */
static enum err enrol_reserve(struct net_enroller *e)
{
    struct buf *frame;
    enum err rc = wire_frame_take(e->config.pool, WIRE_ENROLLED_BODY_BYTES_MAX, &frame);

    if (rc == OK) {
        buf_unref(frame);
    }
    return rc;
}

/* Trade the token in. Fills @enrolment, whatever comes of it. */
static void enrol_redeem(struct net_enroller *e, const struct wire_enroll *enroll,
                         struct pki_token_result *result, struct net_enrolment *enrolment,
                         struct err_text *text)
{
    char id[PKI_TOKEN_ID_CHARS + 1] = "";
    char name[LIMIT_NAME_BYTES + 1] = "";
    struct pki_token_claim claim = {
        .id = id,
        .secret = enroll->token + PKI_TOKEN_ID_CHARS,
        .name = name,
        .request = enroll->request,
        .request_bytes = enroll->request_bytes,
        .now_s = e->config.wall_us(e->config.user) / 1000000,
    };

    *enrolment = (struct net_enrolment){.reason = PKI_TOKEN_MALFORMED, .text = text->text};
    if (enroll->token_bytes != ENROL_TOKEN_BYTES) {
        (void)err_text_set(text, ERR_REFUSED, "the token has %u bytes instead of %d",
                           enroll->token_bytes, ENROL_TOKEN_BYTES);
        return;
    }
    memcpy(id, enroll->token, PKI_TOKEN_ID_CHARS);
    memcpy(name, enroll->name, enroll->name_bytes);
    if (pki_token_redeem(e->config.ca, &claim, result, &enrolment->reason, text) == OK) {
        enrolment->identity = result->identity;
    }
}

/* Note what the new certificate says, for the record of the owner. */
static void enrol_describe(const struct pki_pem *pem, struct net_enrolment *enrolment)
{
    struct pki_description d;
    X509 *cert = NULL;

    if (pki_cert_decode(pem->chars, pem->size, &cert, NULL) == OK &&
        pki_cert_describe(cert, &d, NULL) == OK) {
        memcpy(enrolment->serial, d.serial, sizeof(enrolment->serial));
        enrolment->not_after_s = d.not_after_s;
    }
    X509_free(cert);
}

/* The code tells no more than the text: all that a stranger must not tell apart has one. */
static uint32_t enrol_code(enum pki_token_reason reason)
{
    switch (reason) {
    case PKI_TOKEN_GOOD:
        return 0;
    case PKI_TOKEN_FAULT:
        return WIRE_REFUSAL_BUSY;
    default:
        return WIRE_REFUSAL_TOKEN;
    }
}

static enum err enrol_answer(struct net_enroller *e, struct net_conn *conn,
                             enum pki_token_reason reason, const struct pki_pem *cert)
{
    struct wire_enrolled enrolled = {.code = enrol_code(reason)};
    struct buf *frame;
    enum err rc;

    if (reason == PKI_TOKEN_GOOD) {
        enrolled.chain = (const uint8_t *)cert->chars;
        enrolled.chain_bytes = (uint32_t)cert->size;
        enrolled.authority = (const uint8_t *)e->ca.chars;
        enrolled.authority_bytes = (uint32_t)e->ca.size;
    } else {
        enrolled.text = pki_token_answer(reason);
        enrolled.text_bytes = (uint32_t)strlen(enrolled.text);
    }
    rc = wire_enrolled_encode(e->config.pool, &enrolled, &frame);
    if (rc != OK) {
        return rc;
    }
    rc = net_conn_send_sealed(conn, NET_CONTROL, frame);
    if (rc != OK) {
        buf_unref(frame);
    }
    return rc;
}

enum err net_enroller_frame(struct net_enroller *e, struct net_conn *conn,
                            const struct net_frame *frame)
{
    struct pki_token_result result;
    struct net_enrolment enrolment;
    struct wire_enroll enroll;
    struct err_text text = {""};
    enum err rc = wire_enroll_decode(frame->body, frame->header.body_bytes, &enroll);

    if (rc == OK) {
        rc = enrol_reserve(e);
    }
    if (rc != OK) {
        return rc;
    }
    enrol_redeem(e, &enroll, &result, &enrolment, &text);
    if (enrolment.reason == PKI_TOKEN_GOOD) {
        enrol_describe(&result.cert, &enrolment);
    }
    rc = enrol_answer(e, conn, enrolment.reason, &result.cert);
    if (rc == OK) {
        net_conn_close_soft(conn);
    } else if (enrolment.reason == PKI_TOKEN_GOOD) {
        LOG_ERR("net", "certificate %s was issued, but could not be sent: %s", enrolment.serial,
                err_string(rc));
    }
    if (e->config.answered != NULL) {
        e->config.answered(conn, &enrolment, e->config.user);
    }
    return rc;
}

/* The server's own certificate. */

static enum err enrol_paths(const struct pki_ca *ca, char *dir, struct net_enrol_files *out,
                            struct err_text *text)
{
    enum err rc = pki_path(pki_ca_dir(ca), "enrol", dir, text);

    if (rc == OK) {
        rc = pki_path(dir, "enrol.crt", out->cert, text);
    }
    if (rc == OK) {
        rc = pki_path(dir, "enrol.key", out->key, text);
    }
    if (rc == OK) {
        rc = pki_path(dir, "ca.crt", out->ca, text);
    }
    return rc;
}

static bool enrol_revoked(const struct pki_ca *ca, X509 *cert)
{
    char path[PKI_PATH_BYTES];
    X509_CRL *crl = NULL;
    X509_REVOKED *entry = NULL;
    bool revoked = pki_path(pki_ca_dir(ca), "revoked.crl", path, NULL) != OK ||
                   pki_crl_read(path, pki_ca_cert(ca), &crl, NULL) != OK ||
                   X509_CRL_get0_by_cert(crl, &entry, cert) == 1;

    X509_CRL_free(crl);
    return revoked;
}

/* True if what is in the folder will do. */
static bool enrol_files_good(const struct pki_ca *ca, const struct net_enrol_files *files,
                             const struct pki_identity *identity, int64_t now_s)
{
    struct pki_description d;
    X509 *cert = NULL, *authority = NULL;
    EVP_PKEY *key = NULL;
    bool good = pki_cert_read(files->cert, &cert, NULL) == OK &&
                pki_key_read(files->key, &key, NULL) == OK &&
                pki_cert_read(files->ca, &authority, NULL) == OK &&
                pki_cert_describe(cert, &d, NULL) == OK && d.identified &&
                pki_identity_equal(&d.identity, identity) && d.not_before_s <= now_s &&
                d.not_after_s - now_s >= ENROL_RENEW_S && X509_check_private_key(cert, key) == 1 &&
                X509_cmp(authority, pki_ca_cert(ca)) == 0 &&
                X509_verify(cert, X509_get0_pubkey(authority)) == 1 && !enrol_revoked(ca, cert);

    ERR_clear_error();
    EVP_PKEY_free(key);
    X509_free(authority);
    X509_free(cert);
    return good;
}

enum err net_enrol_files_prepare(struct pki_ca *ca, int64_t now_s, struct net_enrol_files *out,
                                 struct err_text *text)
{
    struct pki_order order = {.now_s = now_s};
    char dir[PKI_PATH_BYTES];
    enum err rc = pki_identity_make(WIRE_ROLE_SERVER, "ca", "enrol", &order.identity, text);

    if (rc == OK) {
        rc = enrol_paths(ca, dir, out, text);
    }
    if (rc != OK || enrol_files_good(ca, out, &order.identity, now_s)) {
        return rc;
    }
    return pki_ca_issue_to(ca, &order, dir, true, text);
}
