/* Helpers of the tests of pki: a temporary folder with an authority in it, and a strict verifier.
 * Not part of the product. */

#ifndef NET_PKI_TESTING_H
#define NET_PKI_TESTING_H

#include "net/pki/token.h"

#include <fcntl.h>
#include <ftw.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { DAY_S = 24 * 3600 };

/* Noon of 2025-06-01. */
#define NOW_S INT64_C(1748779200)

/* A fresh authority "test" in DIR/ca. */
struct testing {
    char dir[128];
    char ca_dir[160];
    struct pki_ca *ca;
    struct err_text text;
};

#define OK_OR_TEXT(expr, t)                                                                        \
    do {                                                                                           \
        enum err testing_rc = (expr);                                                              \
        if (testing_rc != OK) {                                                                    \
            fail_msg("%s: %s: %s", #expr, err_string(testing_rc), (t)->text.text);                 \
        }                                                                                          \
    } while (0)

/* The call fails with that code and says why. */
#define FAILS(expr, code, t)                                                                       \
    do {                                                                                           \
        (t)->text.text[0] = '\0';                                                                  \
        assert_int_equal((expr), (code));                                                          \
        assert_true((t)->text.text[0] != '\0');                                                    \
    } while (0)

static inline int testing_setup(void **state)
{
    struct testing *t = calloc(1, sizeof(*t));

    (void)snprintf(t->dir, sizeof(t->dir), "/tmp/strait-pki-XXXXXX");
    assert_non_null(mkdtemp(t->dir));
    (void)snprintf(t->ca_dir, sizeof(t->ca_dir), "%s/ca", t->dir);
    OK_OR_TEXT(pki_ca_create(t->ca_dir, "test", NOW_S, 0, &t->text), t);
    OK_OR_TEXT(pki_ca_open(t->ca_dir, &t->ca, &t->text), t);
    *state = t;
    return 0;
}

static inline int testing_remove(const char *path, const struct stat *status, int type,
                                 struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

static inline int testing_teardown(void **state)
{
    struct testing *t = *state;

    pki_ca_close(t->ca);
    assert_int_equal(nftw(t->dir, testing_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
    free(t);
    assert_int_equal(ERR_peek_error(), 0); /* Nothing may be left for the next SSL call to find. */
    return 0;
}

/* Return DIR/LEAF; good until the sixteenth next call. */
static inline const char *testing_path(const struct testing *t, const char *leaf)
{
    static char paths[16][512];
    static unsigned int next;
    char *path = paths[next++ % 16];

    (void)snprintf(path, sizeof(paths[0]), "%s/%s", t->dir, leaf);
    return path;
}

/* Return the file's content, terminated; the caller frees it. NULL: no such file. */
static inline char *testing_read(const char *path, size_t *size_out)
{
    FILE *file = fopen(path, "rb");
    char *chars = calloc(1, 1 << 20);
    size_t size;

    if (file == NULL) {
        free(chars);
        return NULL;
    }
    size = fread(chars, 1, (1 << 20) - 1, file);
    (void)fclose(file);
    if (size_out != NULL) {
        *size_out = size;
    }
    return chars;
}

static inline void testing_write(const char *path, const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), (ssize_t)size);
    assert_int_equal(close(fd), 0);
}

static inline unsigned int testing_mode(const char *path)
{
    struct stat status;

    assert_int_equal(stat(path, &status), 0);
    return status.st_mode & 07777;
}

static inline struct pki_order testing_order(const char *identity)
{
    struct pki_order order = {.now_s = NOW_S};

    assert_int_equal(pki_identity_parse(identity, &order.identity, NULL), OK);
    return order;
}

static inline X509 *testing_cert(const struct pki_pem *pem)
{
    X509 *cert = NULL;

    assert_int_equal(pki_cert_decode(pem->chars, pem->size, &cert, NULL), OK);
    return cert;
}

/* Verify as a TLS peer would, strictly and with the revocation list (if not NULL), at a time.
 * Returns X509_V_OK or the error. */
static inline int testing_verify(X509 *cert, X509 *ca, X509_CRL *crl, int64_t at_s, int purpose)
{
    X509_STORE *store = X509_STORE_new();
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    X509_VERIFY_PARAM *param;
    int error;

    assert_int_equal(X509_STORE_add_cert(store, ca), 1);
    if (crl != NULL) {
        assert_int_equal(X509_STORE_add_crl(store, crl), 1);
    }
    assert_int_equal(X509_STORE_CTX_init(context, store, cert, NULL), 1);
    param = X509_STORE_CTX_get0_param(context);
    X509_VERIFY_PARAM_set_time(param, (time_t)at_s);
    X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_X509_STRICT | (crl ? X509_V_FLAG_CRL_CHECK : 0));
    X509_VERIFY_PARAM_set_purpose(param, purpose);
    error = X509_verify_cert(context) == 1 ? X509_V_OK : X509_STORE_CTX_get_error(context);
    X509_STORE_CTX_free(context);
    X509_STORE_free(store);
    ERR_clear_error();
    return error;
}

/* The revocation list as it is on the disk. */
static inline X509_CRL *testing_crl(const struct testing *t)
{
    X509_CRL *crl = NULL;

    assert_int_equal(
        pki_crl_read(testing_path(t, "ca/revoked.crl"), pki_ca_cert(t->ca), &crl, NULL), OK);
    return crl;
}

static inline enum err testing_count_record(const struct pki_record *record, void *user)
{
    (void)record;
    ++*(uint32_t *)user;
    return OK;
}

/* How many certificates are on record. */
static inline uint32_t testing_issued(struct testing *t)
{
    uint32_t count = 0;

    OK_OR_TEXT(pki_ca_list(t->ca, testing_count_record, &count, &t->text), t);
    return count;
}

#endif
