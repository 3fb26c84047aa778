/* Checks of a member's certificates: dates, who signed them, and that the key belongs to them and
 * is kept from others. */

#include "cli/cert/cert.h"
#include "cli/doctor/doctor.h"
#include "cli/member/security.h"
#include "net/pki/member.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CERT_WARN_DAYS = 14, CERT_PATH_BYTES = 1024, CERT_DAY_S = 24 * 3600 };

/* The files of one member. */
struct member {
    struct doctor *d;
    const char *dir;
    char check[48]; /* The name of its certificate. */
    char path[CERT_PATH_BYTES];
    X509 *cert;
    X509 *ca;
};

static void member_fail(struct member *m, const char *what)
{
    doctor_report(m->d, DOCTOR_FAIL, m->check, "strait cert issue makes a new one", "%s", what);
}

/* True if the dates are good; a warning or failure is reported. */
static bool member_dates(struct member *m, const struct pki_description *d)
{
    char date[CERT_DATE_BYTES];
    int64_t now_s = cert_now_s();
    int64_t days = (d->not_after_s - now_s) / CERT_DAY_S;

    if (now_s < d->not_before_s || now_s > d->not_after_s) {
        bool early = now_s < d->not_before_s;

        doctor_report(m->d, DOCTOR_FAIL, m->check,
                      early ? "is the clock of this machine right?"
                            : "strait cert issue makes a new one",
                      early ? "not valid before %s" : "expired on %s",
                      cert_date(early ? d->not_before_s : d->not_after_s, false, date));
        return false;
    }
    if (days < CERT_WARN_DAYS) {
        doctor_report(m->d, DOCTOR_WARN, m->check, "strait cert issue --replace makes a new one",
                      "expires in %" PRId64 " days, on %s", days,
                      cert_date(d->not_after_s, false, date));
        return false;
    }
    return true;
}

/* True if the revocation list in the folder, if there is one, does not name the certificate. */
static bool member_not_revoked(struct member *m)
{
    char path[CERT_PATH_BYTES];
    struct err_text text = {""};
    X509_CRL *crl = NULL;
    X509_REVOKED *entry = NULL;
    bool revoked;

    (void)snprintf(path, sizeof(path), "%s/revoked.crl", m->dir);
    if (access(path, F_OK) != 0) {
        return true;
    }
    if (pki_crl_read(path, m->ca, &crl, &text) != OK) {
        member_fail(m, text.text);
        return false;
    }
    revoked = X509_CRL_get0_by_cert(crl, &entry, m->cert) == 1;
    X509_CRL_free(crl);
    if (revoked) {
        member_fail(m, "revoked");
    }
    return !revoked;
}

/* True if the key beside the certificate is there, private, and belongs to it. */
static bool member_key(struct member *m)
{
    char path[CERT_PATH_BYTES];
    struct err_text text = {""};
    EVP_PKEY *key = NULL;
    size_t size = strlen(m->path);
    bool pair;

    (void)snprintf(path, sizeof(path), "%.*skey", (int)(size - 3), m->path);
    if (pki_key_read(path, &key, &text) != OK) {
        member_fail(m, text.text);
        return false;
    }
    pair = X509_check_private_key(m->cert, key) == 1;
    EVP_PKEY_free(key);
    ERR_clear_error();
    if (!pair) {
        member_fail(m, "the key beside it belongs to another certificate");
    }
    return pair;
}

static void member_judge(struct member *m)
{
    char identity[PKI_IDENTITY_TEXT_BYTES], date[CERT_DATE_BYTES];
    struct pki_description d;
    struct err_text text = {""};

    if (pki_cert_describe(m->cert, &d, &text) != OK) {
        member_fail(m, text.text);
        return;
    }
    if (!d.identified) {
        member_fail(m, "names no member");
        return;
    }
    if (X509_verify(m->cert, X509_get0_pubkey(m->ca)) != 1) {
        ERR_clear_error();
        member_fail(m, "not signed by the authority in ca.crt");
        return;
    }
    if (member_not_revoked(m) && member_key(m) && member_dates(m, &d)) {
        doctor_report(m->d, DOCTOR_OK, m->check, NULL, "%s, until %s",
                      pki_identity_format(&d.identity, identity),
                      cert_date(d.not_after_s, false, date));
    }
}

static int member_filter(const struct dirent *entry)
{
    return pki_member_is_cert(entry->d_name);
}

static void doctor_member(struct doctor *d, const char *dir, const char *name, X509 *ca)
{
    struct member m = {.d = d, .dir = dir, .ca = ca};
    struct err_text text = {""};

    (void)snprintf(m.check, sizeof(m.check), "%.40s", name);
    if ((size_t)snprintf(m.path, sizeof(m.path), "%s/%s", dir, name) >= sizeof(m.path)) {
        member_fail(&m, "its path is too long");
        return;
    }
    if (pki_cert_read(m.path, &m.cert, &text) != OK) {
        member_fail(&m, text.text);
        return;
    }
    member_judge(&m);
    X509_free(m.cert);
}

void doctor_certs(struct doctor *d, const char *dir)
{
    char path[CERT_PATH_BYTES];
    struct dirent **names = NULL;
    struct err_text text = {""};
    X509 *ca = NULL;
    int count;

    security_hold_keys();
    (void)snprintf(path, sizeof(path), "%s/ca.crt", dir);
    if (pki_cert_read(path, &ca, &text) != OK) {
        doctor_report(d, DOCTOR_FAIL, "certificates", "strait cert issue writes all that is needed",
                      "%s", text.text);
        return;
    }
    count = scandir(dir, &names, member_filter, alphasort);
    if (count <= 0) {
        doctor_report(d, DOCTOR_FAIL, "certificates", "strait cert issue DIR ROLE/SITE/NAME -o OUT",
                      "no certificate of a member in %s%s%s", dir, count < 0 ? ": " : "",
                      count < 0 ? strerror(errno) : "");
    }
    for (int i = 0; i < count; i++) {
        doctor_member(d, dir, names[i]->d_name, ca);
        free(names[i]);
    }
    free(names);
    X509_free(ca);
}
