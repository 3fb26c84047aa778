/* Revoking, listing, and who is active. Each revocation reads the list, adds, signs it again and
 * replaces the file, all under the folder's lock: two revocations at once both count. */

#include "net/pki/ca.h"
#include "net/pki/ca_inner.h"
#include "net/pki/crl.h"
#include "net/pki/record.h"
#include "net/pki/x509.h"

#include <openssl/err.h>
#include <openssl/x509.h>
#include <string.h>

/* What is to be revoked, and how far we are. */
struct revoke {
    X509_CRL *crl;
    const char *serial;                  /* One of the two is set, */
    const struct pki_identity *identity; /* or none: everything matches. */
    int64_t now_s;
    uint32_t matched;
    uint32_t added;
    struct err_text *text;
};

static enum err revoke_add(struct revoke *revoke, const char *serial)
{
    bool added;
    enum err rc = pki_crl_add(revoke->crl, serial, revoke->now_s, &added, revoke->text);

    if (rc == OK && added) {
        revoke->added++;
    }
    return rc;
}

static enum err revoke_record(const struct pki_record *record, void *user)
{
    struct revoke *revoke = user;

    if (revoke->serial != NULL && strcmp(revoke->serial, record->serial) != 0) {
        return OK;
    }
    if (revoke->identity != NULL && !pki_identity_equal(revoke->identity, &record->identity)) {
        return OK;
    }
    revoke->matched++;
    /* What has run out needs no revocation, unless it was asked for by number. */
    if (revoke->serial == NULL && record->not_after_s < revoke->now_s) {
        return OK;
    }
    return revoke_add(revoke, record->serial);
}

/* Find the certificates that match. */
static enum err revoke_select(struct pki_ca *ca, struct revoke *revoke)
{
    char identity[PKI_IDENTITY_TEXT_BYTES];
    enum err rc = pki_record_walk(ca->issued, revoke_record, revoke, revoke->text);

    if (rc != OK || revoke->matched > 0) {
        return rc;
    }
    return err_text_set(revoke->text, ERR_NOT_FOUND,
                        "the authority in %s has issued no certificate to %s: list them with "
                        "`strait cert`",
                        ca->dir,
                        revoke->serial != NULL ? revoke->serial
                                               : pki_identity_format(revoke->identity, identity));
}

/* Revoke @serial if that is not NULL, or else what @revoke selects. */
static enum err revoke_run(struct pki_ca *ca, struct revoke *revoke, const char *serial,
                           uint32_t *count_out)
{
    struct err_text *text = revoke->text;
    int lock;
    enum err rc;

    if (!pki_now_valid(revoke->now_s)) {
        return err_text_set(text, ERR_INVALID, "the clock is not right");
    }
    rc = pki_file_lock(ca->lock, &lock, text);
    if (rc != OK) {
        return rc;
    }
    rc = pki_crl_read(ca->crl, ca->cert, &revoke->crl, text);
    if (rc == OK) {
        rc = serial != NULL ? revoke_add(revoke, serial) : revoke_select(ca, revoke);
    }
    if (rc == OK && revoke->added > 0) {
        rc = pki_crl_sign(revoke->crl, ca->cert, ca->key, revoke->now_s, text);
        if (rc == OK) {
            rc = pki_crl_write(revoke->crl, ca->crl, true, text);
        }
    }
    if (rc == OK) {
        *count_out = revoke->added;
    }
    X509_CRL_free(revoke->crl);
    pki_file_unlock(lock);
    return rc;
}

enum err pki_ca_revoke_serial(struct pki_ca *ca, const char *serial, int64_t now_s,
                              uint32_t *count_out, struct err_text *text)
{
    char canonical[PKI_SERIAL_TEXT_BYTES];
    struct revoke revoke = {.serial = canonical, .now_s = now_s, .text = text};
    enum err rc = pki_x509_serial_parse(serial, canonical, text);

    return rc != OK ? rc : revoke_run(ca, &revoke, NULL, count_out);
}

enum err pki_ca_revoke_identity(struct pki_ca *ca, const struct pki_identity *identity,
                                int64_t now_s, uint32_t *count_out, struct err_text *text)
{
    struct revoke revoke = {.identity = identity, .now_s = now_s, .text = text};

    return revoke_run(ca, &revoke, NULL, count_out);
}

enum err pki_ca_revoke_cert(struct pki_ca *ca, const char *path, int64_t now_s, uint32_t *count_out,
                            struct err_text *text)
{
    char serial[PKI_SERIAL_TEXT_BYTES];
    struct revoke revoke = {.now_s = now_s, .text = text};
    X509 *cert = NULL;
    bool ours;
    enum err rc = pki_cert_read(path, &cert, text);

    if (rc != OK) {
        return rc;
    }
    /* The authority itself is signed by its own key, but cannot be on its own list. */
    ours = X509_verify(cert, X509_get0_pubkey(ca->cert)) == 1 && X509_cmp(cert, ca->cert) != 0;
    rc = pki_x509_serial_format(X509_get0_serialNumber(cert), serial);
    X509_free(cert);
    ERR_clear_error();
    if (!ours || rc != OK) {
        return err_text_set(text, ERR_REFUSED,
                            "%s was not issued by the authority in %.200s: revoke it at the one "
                            "that did",
                            path, ca->dir);
    }
    return revoke_run(ca, &revoke, serial, count_out);
}

/* Listing. */

struct revoke_walk {
    X509_CRL *crl;
    enum err (*each)(const struct pki_record *record, void *user);
    void *user;
    struct err_text *text;
};

static enum err list_record(const struct pki_record *record, void *user)
{
    struct revoke_walk *walk = user;
    struct pki_record copy = *record;
    enum err rc = pki_crl_has(walk->crl, record->serial, &copy.revoked, walk->text);

    return rc != OK ? rc : walk->each(&copy, walk->user);
}

enum err pki_ca_list(struct pki_ca *ca,
                     enum err (*each)(const struct pki_record *record, void *user), void *user,
                     struct err_text *text)
{
    struct revoke_walk walk = {.each = each, .user = user, .text = text};
    enum err rc = pki_crl_read(ca->crl, ca->cert, &walk.crl, text);

    if (rc == OK) {
        rc = pki_record_walk(ca->issued, list_record, &walk, text);
    }
    X509_CRL_free(walk.crl);
    return rc;
}

/* Asking. */

struct active_walk {
    X509_CRL *crl;
    const struct pki_identity *identity;
    int64_t now_s;
    bool active;
    struct err_text *text;
};

static enum err active_record(const struct pki_record *record, void *user)
{
    struct active_walk *walk = user;
    bool revoked = false;
    enum err rc;

    if (record->not_after_s < walk->now_s ||
        !pki_identity_equal(walk->identity, &record->identity)) {
        return OK;
    }
    rc = pki_crl_has(walk->crl, record->serial, &revoked, walk->text);
    if (rc == OK && !revoked) {
        walk->active = true;
    }
    return rc;
}

enum err pki_ca_active(struct pki_ca *ca, const struct pki_identity *identity, int64_t now_s,
                       bool *active_out, struct err_text *text)
{
    struct active_walk walk = {.identity = identity, .now_s = now_s, .text = text};
    enum err rc = pki_crl_read(ca->crl, ca->cert, &walk.crl, text);

    if (rc == OK) {
        rc = pki_record_walk(ca->issued, active_record, &walk, text);
    }
    if (rc == OK) {
        *active_out = walk.active;
    }
    X509_CRL_free(walk.crl);
    return rc;
}
