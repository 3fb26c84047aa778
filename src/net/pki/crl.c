/* Revocation lists: read, extend, sign again. The list on the disk is the only memory of what was
 * revoked: one that is missing or damaged is never replaced by an empty one. */

#include "net/pki/crl.h"

#include "net/pki/file.h"
#include "net/pki/x509.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <time.h>

enum err pki_crl_decode(const void *bytes, size_t size, X509_CRL **crl_out, struct err_text *text)
{
    BIO *bio = size > PKI_CRL_BYTES_MAX ? NULL : BIO_new_mem_buf(bytes, (int)size);
    X509_CRL *crl =
        bio == NULL ? NULL : PEM_read_bio_X509_CRL(bio, NULL, pki_x509_no_passphrase, NULL);

    BIO_free(bio);
    if (crl == NULL) {
        return pki_x509_fault(text, ERR_MALFORMED, "not a revocation list in PEM");
    }
    ERR_clear_error(); /* A malformed extension leaves its complaint there. */
    *crl_out = crl;
    return OK;
}

enum err pki_crl_read(const char *path, X509 *ca, X509_CRL **crl_out, struct err_text *text)
{
    struct pki_bytes bytes = {0};
    X509_CRL *crl = NULL;
    EVP_PKEY *key = X509_get0_pubkey(ca);
    enum err rc = pki_file_read(path, PKI_CRL_BYTES_MAX, &bytes, text);

    if (rc != OK) {
        return rc;
    }
    rc = pki_crl_decode(bytes.chars, bytes.size, &crl, NULL);
    pki_bytes_deinit(&bytes);
    if (rc != OK) {
        return err_text_set(text, rc,
                            "%s is not a revocation list in PEM: copy it again from the "
                            "authority, or restore it from a backup",
                            path);
    }
    if (key == NULL || X509_CRL_verify(crl, key) != 1 ||
        X509_NAME_cmp(X509_CRL_get_issuer(crl), X509_get_subject_name(ca)) != 0) {
        X509_CRL_free(crl);
        ERR_clear_error();
        return err_text_set(text, ERR_REFUSED,
                            "the revocation list %s was not signed by this "
                            "authority: copy it again from the authority",
                            path);
    }
    *crl_out = crl;
    return OK;
}

bool pki_crl_is_older(const X509_CRL *a, const X509_CRL *b)
{
    ASN1_INTEGER *a_number = X509_CRL_get_ext_d2i(a, NID_crl_number, NULL, NULL);
    ASN1_INTEGER *b_number = X509_CRL_get_ext_d2i(b, NID_crl_number, NULL, NULL);
    int order = a_number == NULL || b_number == NULL ? 0 : ASN1_INTEGER_cmp(a_number, b_number);

    ASN1_INTEGER_free(a_number);
    ASN1_INTEGER_free(b_number);
    if (order == 0) {
        /* -2: a date makes no sense; such a list is not called older. */
        return ASN1_TIME_compare(X509_CRL_get0_lastUpdate(a), X509_CRL_get0_lastUpdate(b)) == -1;
    }
    return order < 0;
}

enum err pki_crl_write(X509_CRL *crl, const char *path, bool replace, struct err_text *text)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *chars = NULL;
    long size;
    enum err rc;

    if (bio == NULL || PEM_write_bio_X509_CRL(bio, crl) != 1) {
        BIO_free(bio);
        return pki_x509_fault(text, ERR_NOMEM, "cannot write the revocation list");
    }
    size = BIO_get_mem_data(bio, &chars);
    rc = size > PKI_CRL_BYTES_MAX
             ? err_text_set(text, ERR_TOO_BIG,
                            "%s would be larger than %d bytes: make a new authority", path,
                            PKI_CRL_BYTES_MAX)
             : pki_file_write(path, chars, (size_t)size, 0644, replace, text);
    BIO_free(bio);
    return rc;
}

static ASN1_INTEGER *crl_serial(const char *chars)
{
    BIGNUM *number = NULL;
    ASN1_INTEGER *integer = NULL;

    if (BN_hex2bn(&number, chars) > 0) {
        integer = BN_to_ASN1_INTEGER(number, NULL);
    }
    BN_free(number);
    return integer;
}

/* Give @crl the number after its own, or one. */
static bool crl_number(X509_CRL *crl)
{
    ASN1_INTEGER *number = X509_CRL_get_ext_d2i(crl, NID_crl_number, NULL, NULL);
    int64_t value = 0;
    bool done;

    if (number == NULL) {
        number = ASN1_INTEGER_new();
    } else if (ASN1_INTEGER_get_int64(&value, number) != 1 || value < 0 || value == INT64_MAX) {
        ASN1_INTEGER_free(number);
        return false;
    }
    done = number != NULL && ASN1_INTEGER_set_int64(number, value + 1) == 1 &&
           X509_CRL_add1_ext_i2d(crl, NID_crl_number, number, 0, X509V3_ADD_REPLACE) == 1;
    ASN1_INTEGER_free(number);
    return done;
}

/* Name the key that signs, so that two authorities of one name are told apart. */
static bool crl_authority(X509_CRL *crl, X509 *ca)
{
    X509V3_CTX context;
    X509_EXTENSION *extension;
    bool done;

    if (X509_CRL_get_ext_by_NID(crl, NID_authority_key_identifier, -1) >= 0) {
        return true;
    }
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, ca, NULL, NULL, crl, 0);
    extension = X509V3_EXT_conf_nid(NULL, &context, NID_authority_key_identifier, "keyid:always");
    done = extension != NULL && X509_CRL_add_ext(crl, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return done;
}

enum err pki_crl_sign(X509_CRL *crl, X509 *ca, EVP_PKEY *ca_key, int64_t now_s,
                      struct err_text *text)
{
    ASN1_TIME *from = ASN1_TIME_set(NULL, (time_t)(now_s - PKI_CLOCK_SKEW_S));
    enum err rc = OK;

    /* A list that runs out would cut off every member at once; ours is as good as the authority,
     * and its number tells the newer of two. */
    if (from == NULL || X509_CRL_set_version(crl, X509_CRL_VERSION_2) != 1 ||
        X509_CRL_set_issuer_name(crl, X509_get_subject_name(ca)) != 1 ||
        X509_CRL_set1_lastUpdate(crl, from) != 1 ||
        X509_CRL_set1_nextUpdate(crl, X509_get0_notAfter(ca)) != 1 || !crl_authority(crl, ca) ||
        !crl_number(crl) || X509_CRL_sort(crl) != 1 || X509_CRL_sign(crl, ca_key, NULL) <= 0) {
        rc = pki_x509_fault(text, ERR_IO, "cannot sign the revocation list");
    }
    ASN1_TIME_free(from);
    return rc;
}

enum err pki_crl_has(X509_CRL *crl, const char *serial, bool *has_out, struct err_text *text)
{
    ASN1_INTEGER *number = crl_serial(serial);
    X509_REVOKED *found = NULL;

    if (number == NULL) {
        return pki_x509_fault(text, ERR_NOMEM, "cannot look up a serial number");
    }
    *has_out = X509_CRL_get0_by_serial(crl, &found, number) != 0;
    ASN1_INTEGER_free(number);
    return OK;
}

enum err pki_crl_add(X509_CRL *crl, const char *serial, int64_t now_s, bool *added_out,
                     struct err_text *text)
{
    ASN1_INTEGER *number = NULL;
    ASN1_TIME *when = NULL;
    X509_REVOKED *entry = NULL;
    bool has = false;
    enum err rc = pki_crl_has(crl, serial, &has, text);

    if (rc != OK || has) {
        *added_out = false;
        return rc;
    }
    number = crl_serial(serial);
    when = ASN1_TIME_set(NULL, (time_t)now_s);
    entry = X509_REVOKED_new();
    if (number == NULL || when == NULL || entry == NULL ||
        X509_REVOKED_set_serialNumber(entry, number) != 1 ||
        X509_REVOKED_set_revocationDate(entry, when) != 1 ||
        X509_CRL_add0_revoked(crl, entry) != 1) {
        X509_REVOKED_free(entry);
        rc = pki_x509_fault(text, ERR_NOMEM, "cannot add to the revocation list");
    } else {
        *added_out = true;
    }
    ASN1_INTEGER_free(number);
    ASN1_TIME_free(when);
    return rc;
}
