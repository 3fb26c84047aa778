/* The authority's folder: making it, opening it, issuing from it. Revoking is in pki/revoke.c.
 *
 * An issue takes the next serial, signs, and puts the certificate on record before anybody gets to
 * see it; a crash in between leaves a gap in the numbers or a record of a certificate that nobody
 * has. Serials end in 64 random bits, so that a folder restored from an old backup does not issue
 * the same serial twice. */

#include "net/pki/ca.h"

#include "base/mem.h"
#include "net/entropy.h"
#include "net/pki/bundle.h"
#include "net/pki/ca_inner.h"
#include "net/pki/crl.h"
#include "net/pki/record.h"
#include "net/pki/x509.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CA_DAY_S = 24 * 3600 };

/* Files. In the order of creation: the first is the claim on the folder, the last completes it. */
static const char *const ca_files[] = {"ca.key", "serial", "issued.jsonl", "revoked.crl", "ca.crt"};

enum { CA_KEY, CA_SERIAL, CA_ISSUED, CA_CRL, CA_CERT, CA_FILES_COUNT };

_Static_assert(sizeof(ca_files) / sizeof(*ca_files) == CA_FILES_COUNT, "one name each");

/* Making. */

/* Everything a new authority consists of. */
struct ca_new {
    EVP_PKEY *key;
    X509 *cert;
    X509_CRL *crl;
    struct pki_pem key_pem;
    struct pki_pem cert_pem;
};

static void ca_new_deinit(struct ca_new *new)
{
    pki_pem_wipe(&new->key_pem);
    X509_CRL_free(new->crl);
    X509_free(new->cert);
    EVP_PKEY_free(new->key);
}

static enum err ca_new_init(struct ca_new *new, const char *name, int64_t now_s, uint32_t days,
                            struct err_text *text)
{
    uint8_t serial[PKI_SERIAL_BYTES] = {0, 0, 0, 1};
    enum err rc = entropy_bytes(serial + 4, sizeof(serial) - 4);

    memset(new, 0, sizeof(*new));
    if (rc != OK) {
        return err_text_set(text, rc, "the system has no randomness");
    }
    rc = pki_x509_key(&new->key, text);
    if (rc == OK) {
        rc = pki_x509_ca(name, new->key, serial, now_s, now_s + (int64_t)days * CA_DAY_S,
                         &new->cert, text);
    }
    if (rc == OK) {
        new->crl = X509_CRL_new();
        rc = new->crl == NULL ? err_text_set(text, ERR_NOMEM, "out of memory")
                              : pki_crl_sign(new->crl, new->cert, new->key, now_s, text);
    }
    if (rc == OK) {
        rc = pki_x509_key_pem(new->key, &new->key_pem, text);
    }
    if (rc == OK) {
        rc = pki_x509_cert_pem(new->cert, &new->cert_pem, text);
    }
    if (rc != OK) {
        ca_new_deinit(new);
    }
    return rc;
}

static enum err ca_write_file(const struct ca_new *new, int which, const char *path,
                              struct err_text *text)
{
    switch (which) {
    case CA_KEY:
        return pki_file_write(path, new->key_pem.chars, new->key_pem.size, 0600, false, text);
    case CA_SERIAL:
        return pki_file_write(path, "2\n", 2, 0644, false, text);
    case CA_ISSUED:
        return pki_file_write(path, "", 0, 0644, false, text);
    case CA_CRL:
        return pki_crl_write(new->crl, path, false, text);
    default:
        return pki_file_write(path, new->cert_pem.chars, new->cert_pem.size, 0644, false, text);
    }
}

/* Write all files, or none. Each is created only if absent, so of two processes that try at once
 * the one that wrote the key goes on. */
static enum err ca_write(const struct ca_new *new, const char *dir, struct err_text *text)
{
    char path[PKI_PATH_BYTES];
    enum err rc = OK;
    int done = 0;

    for (; done < CA_FILES_COUNT && rc == OK; done++) {
        rc = pki_path(dir, ca_files[done], path, text);
        if (rc == OK) {
            rc = ca_write_file(new, done, path, text);
        }
    }
    if (rc == OK) {
        rc = pki_path(dir, "tokens", path, text);
        if (rc == OK) {
            rc = pki_dir_make(path, text);
        }
    } else {
        done--; /* That one failed: it is not ours to remove. */
    }
    for (int i = 0; rc != OK && i < done; i++) {
        if (pki_path(dir, ca_files[i], path, NULL) == OK) {
            (void)unlink(path);
        }
    }
    return rc;
}

static enum err ca_create_check(const char *dir, const char *name, int64_t now_s, uint32_t days,
                                struct err_text *text)
{
    char path[PKI_PATH_BYTES];

    if (!pki_name_valid(name)) {
        return err_text_set(text, ERR_INVALID,
                            "the name of an authority must be 1 to %d of the characters "
                            "A-Z a-z 0-9 . _ -",
                            LIMIT_NAME_BYTES);
    }
    if (!pki_now_valid(now_s) || days > PKI_DAYS_MAX) {
        return err_text_set(text, ERR_INVALID,
                            "the validity must be 1 to %d days from now, and the clock right",
                            PKI_DAYS_MAX);
    }
    for (int i = 0; i < CA_FILES_COUNT; i++) {
        enum err rc = pki_path(dir, ca_files[i], path, text);

        if (rc != OK) {
            return rc;
        }
        if (access(path, F_OK) == 0) {
            return err_text_set(text, ERR_EXISTS,
                                "%s already holds an authority (%s): use it, or name another "
                                "folder",
                                dir, ca_files[i]);
        }
    }
    return OK;
}

enum err pki_ca_create(const char *dir, const char *name, int64_t now_s, uint32_t days,
                       struct err_text *text)
{
    struct ca_new new;
    enum err rc = ca_create_check(dir, name, now_s, days, text);

    if (rc == OK) {
        rc = pki_dir_make(dir, text);
    }
    if (rc == OK) {
        rc = ca_new_init(&new, name, now_s, days == 0 ? PKI_CA_DAYS : days, text);
    }
    if (rc != OK) {
        return rc;
    }
    rc = ca_write(&new, dir, text);
    ca_new_deinit(&new);
    return rc;
}

/* Opening. */

static enum err ca_paths(struct pki_ca *ca, const char *dir, struct err_text *text)
{
    int n = snprintf(ca->dir, sizeof(ca->dir), "%s", dir);
    enum err rc = pki_path(dir, "lock", ca->lock, text);

    CHECK(n >= 0);
    if (rc == OK) {
        rc = pki_path(dir, ca_files[CA_SERIAL], ca->serial, text);
    }
    if (rc == OK) {
        rc = pki_path(dir, ca_files[CA_ISSUED], ca->issued, text);
    }
    if (rc == OK) {
        rc = pki_path(dir, ca_files[CA_CRL], ca->crl, text);
    }
    if (rc == OK) {
        rc = pki_path(dir, "tokens", ca->tokens, text);
    }
    return rc;
}

static enum err ca_load(struct pki_ca *ca, struct err_text *text)
{
    char path[PKI_PATH_BYTES];
    struct pki_description description;
    enum err rc = pki_path(ca->dir, ca_files[CA_CERT], path, text);

    if (rc == OK) {
        rc = pki_cert_read(path, &ca->cert, text);
        if (rc == ERR_NOT_FOUND) {
            return err_text_set(text, rc,
                                "no authority in %s (ca.crt is missing): make one with `strait "
                                "cert`, or name its folder",
                                ca->dir);
        }
    }
    if (rc == OK) {
        rc = pki_path(ca->dir, ca_files[CA_KEY], path, text);
    }
    if (rc == OK) {
        rc = pki_key_read(path, &ca->key, text);
    }
    if (rc == OK) {
        rc = pki_cert_describe(ca->cert, &description, text);
    }
    if (rc != OK) {
        return rc;
    }
    ca->not_after_s = description.not_after_s;
    if (!description.ca || X509_check_private_key(ca->cert, ca->key) != 1) {
        ERR_clear_error();
        return err_text_set(text, ERR_INVALID,
                            "ca.crt and ca.key in %s are not an authority and its key: restore "
                            "both from a backup",
                            ca->dir);
    }
    return pki_x509_cert_pem(ca->cert, &ca->cert_pem, text);
}

enum err pki_ca_open(const char *dir, struct pki_ca **ca_out, struct err_text *text)
{
    struct pki_ca *ca = mem_zalloc(sizeof(*ca));
    enum err rc;

    if (ca == NULL) {
        return err_text_set(text, ERR_NOMEM, "out of memory");
    }
    rc = ca_paths(ca, dir, text);
    if (rc == OK) {
        rc = ca_load(ca, text);
    }
    if (rc != OK) {
        pki_ca_close(ca);
        return rc;
    }
    *ca_out = ca;
    return OK;
}

void pki_ca_close(struct pki_ca *ca)
{
    if (ca != NULL) {
        EVP_PKEY_free(ca->key);
        X509_free(ca->cert);
        mem_free(ca);
    }
}

X509 *pki_ca_cert(const struct pki_ca *ca)
{
    return ca->cert;
}

const char *pki_ca_dir(const struct pki_ca *ca)
{
    return ca->dir;
}

/* Issuing. */

/* Take the next serial; the lock is held. */
static enum err ca_next_serial(struct pki_ca *ca, uint8_t out[PKI_SERIAL_BYTES],
                               struct err_text *text)
{
    struct pki_bytes bytes = {0};
    char line[16];
    char *end = NULL;
    uint64_t counter;
    int size;
    enum err rc = pki_file_read(ca->serial, sizeof(line) - 1, &bytes, text);

    if (rc != OK) {
        return rc;
    }
    errno = 0;
    counter = strtoull(bytes.chars, &end, 10);
    if (errno != 0 || end == bytes.chars || *end != '\n' || counter < 2 || counter >= UINT32_MAX) {
        rc = err_text_set(text, ERR_MALFORMED,
                          "%s does not hold the next serial number: write one that is larger than "
                          "the number of lines of issued.jsonl",
                          ca->serial);
    }
    pki_bytes_deinit(&bytes);
    if (rc == OK) {
        size = snprintf(line, sizeof(line), "%" PRIu64 "\n", counter + 1);
        rc = pki_file_write(ca->serial, line, (size_t)size, 0644, true, text);
    }
    if (rc == OK) {
        rc = entropy_bytes(out + 4, PKI_SERIAL_BYTES - 4);
    }
    for (int i = 0; i < 4 && rc == OK; i++) {
        out[i] = (uint8_t)(counter >> (24 - 8 * i));
    }
    return rc;
}

/* Check an order and find the end of its certificate. */
static enum err ca_order_check(const struct pki_ca *ca, const struct pki_order *order,
                               int64_t *not_after_s_out, struct err_text *text)
{
    struct pki_identity identity;
    uint32_t days = order->days == 0 ? PKI_LEAF_DAYS : order->days;
    enum err rc = pki_identity_make(order->identity.role, order->identity.site,
                                    order->identity.name, &identity, text);

    if (rc != OK) {
        return rc;
    }
    if (strcmp(identity.name, "ca") == 0) {
        return err_text_set(text, ERR_INVALID,
                            "a member called \"ca\" would have the files of the authority: "
                            "choose another name");
    }
    if (!pki_now_valid(order->now_s) || days > PKI_DAYS_MAX) {
        return err_text_set(text, ERR_INVALID,
                            "the validity must be 1 to %d days from now, and the clock right",
                            PKI_DAYS_MAX);
    }
    if (order->sans_count > PKI_SANS_MAX) {
        return err_text_set(text, ERR_TOO_BIG, "a certificate has at most %d names and addresses",
                            PKI_SANS_MAX);
    }
    if (order->now_s >= ca->not_after_s) {
        return err_text_set(text, ERR_REFUSED,
                            "the authority in %s has expired: make a new one in another folder, "
                            "or set the clock right",
                            ca->dir);
    }
    *not_after_s_out = order->now_s + (int64_t)days * CA_DAY_S;
    if (*not_after_s_out > ca->not_after_s) {
        *not_after_s_out = ca->not_after_s;
    }
    return OK;
}

/* Refuse a newcomer whose name is taken; the lock is held. */
static enum err ca_newcomer_check(struct pki_ca *ca, const struct pki_order *order,
                                  struct err_text *text)
{
    char identity[PKI_IDENTITY_TEXT_BYTES];
    bool active = false;
    enum err rc = OK;

    if (order->newcomer) {
        rc = pki_ca_active(ca, &order->identity, order->now_s, &active, text);
    }
    if (rc == OK && active) {
        rc = err_text_set(text, ERR_EXISTS,
                          "%s has a certificate already: choose another name, or revoke it first",
                          pki_identity_format(&order->identity, identity));
    }
    return rc;
}

enum err pki_ca_issue_key(struct pki_ca *ca, const struct pki_order *order, EVP_PKEY *key,
                          struct pki_pem *cert_out, struct err_text *text)
{
    struct pki_x509_issue issue = {.ca = ca->cert, .ca_key = ca->key, .subject_key = key};
    struct pki_record record;
    struct pki_pem pem;
    X509 *cert = NULL;
    int lock;
    enum err rc = ca_order_check(ca, order, &issue.not_after_s, text);

    if (rc != OK) {
        return rc;
    }
    rc = pki_file_lock(ca->lock, &lock, text);
    if (rc != OK) {
        return rc;
    }
    rc = ca_newcomer_check(ca, order, text);
    if (rc == OK) {
        rc = ca_next_serial(ca, issue.serial, text);
    }
    if (rc == OK) {
        rc = pki_x509_leaf(&issue, order, &cert, text);
    }
    if (rc == OK) {
        rc = pki_x509_cert_pem(cert, &pem, text);
    }
    if (rc == OK) {
        rc = pki_record_from_cert(cert, &record, text);
    }
    if (rc == OK) {
        rc = pki_record_append(ca->issued, &record, text);
    }
    if (rc == OK) {
        *cert_out = pem;
    }
    X509_free(cert);
    pki_file_unlock(lock);
    return rc;
}

enum err pki_ca_issue(struct pki_ca *ca, const struct pki_order *order,
                      struct pki_bundle *bundle_out, struct err_text *text)
{
    struct pki_bundle bundle = {.ca = ca->cert_pem};
    EVP_PKEY *key = NULL;
    enum err rc = pki_x509_key(&key, text);

    if (rc == OK) {
        rc = pki_x509_key_pem(key, &bundle.key, text);
    }
    if (rc == OK) {
        rc = pki_ca_issue_key(ca, order, key, &bundle.cert, text);
    }
    if (rc == OK) {
        *bundle_out = bundle;
    }
    EVP_PKEY_free(key);
    pki_bundle_wipe(&bundle);
    return rc;
}

enum err pki_ca_issue_to(struct pki_ca *ca, const struct pki_order *order, const char *dir,
                         bool replace, struct err_text *text)
{
    struct pki_bundle bundle;
    int64_t not_after_s;
    enum err rc = ca_order_check(ca, order, &not_after_s, text);

    if (rc == OK) {
        rc = pki_dir_make(dir, text);
    }
    if (rc == OK) {
        rc = pki_bundle_check(&order->identity, &ca->cert_pem, dir, replace, text);
    }
    if (rc == OK) {
        rc = pki_ca_issue(ca, order, &bundle, text);
    }
    if (rc != OK) {
        return rc;
    }
    rc = pki_bundle_write(&bundle, &order->identity, dir, replace, text);
    pki_bundle_wipe(&bundle);
    return rc;
}

/* Requests. */

static X509_REQ *ca_request_decode(const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    X509_REQ *request;
    BIO *bio;

    if (size == 0 || size > PKI_PEM_BYTES) {
        return NULL;
    }
    if (at[0] == 0x30) { /* A DER sequence; PEM is text. */
        request = d2i_X509_REQ(NULL, &at, (long)size);
        if (request != NULL && at != (const unsigned char *)bytes + size) {
            X509_REQ_free(request);
            request = NULL;
        }
        return request;
    }
    bio = BIO_new_mem_buf(bytes, (int)size);
    request = bio == NULL ? NULL : PEM_read_bio_X509_REQ(bio, NULL, pki_x509_no_passphrase, NULL);
    BIO_free(bio);
    return request;
}

enum err pki_request_key(const void *request, size_t size, EVP_PKEY **key_out,
                         struct err_text *text)
{
    X509_REQ *req = ca_request_decode(request, size);
    EVP_PKEY *key = req == NULL ? NULL : X509_REQ_get0_pubkey(req);
    enum err rc = OK;

    if (req == NULL) {
        return pki_x509_fault(text, ERR_MALFORMED,
                              "the signing request is not PKCS #10 in PEM or DER");
    }
    if (key == NULL || EVP_PKEY_is_a(key, "ED25519") != 1) {
        rc = err_text_set(text, ERR_REFUSED,
                          "the signing request is not for an Ed25519 key: make such a key");
    } else if (X509_REQ_verify(req, key) != 1) {
        rc = err_text_set(text, ERR_REFUSED,
                          "the signing request is not signed by its own key: make a new request");
    } else if (EVP_PKEY_up_ref(key) != 1) {
        rc = err_text_set(text, ERR_NOMEM, "out of memory");
    } else {
        *key_out = key;
    }
    ERR_clear_error();
    X509_REQ_free(req);
    return rc;
}

enum err pki_ca_sign_request(struct pki_ca *ca, const struct pki_order *order, const void *request,
                             size_t size, struct pki_pem *cert_out, struct err_text *text)
{
    EVP_PKEY *key = NULL;
    enum err rc = pki_request_key(request, size, &key, text);

    if (rc == OK) {
        rc = pki_ca_issue_key(ca, order, key, cert_out, text);
    }
    EVP_PKEY_free(key);
    return rc;
}
