/* Reading certificates and keys, telling what they say, and the joiner's request. What arrives here
 * may come from a stranger: sizes are bounded and nothing is believed but what a signature proves.
 */

#include "net/pki/pki.h"

#include "net/pki/file.h"
#include "net/pki/x509.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>

void pki_pem_wipe(struct pki_pem *pem)
{
    OPENSSL_cleanse(pem, sizeof(*pem));
}

void pki_bundle_wipe(struct pki_bundle *bundle)
{
    OPENSSL_cleanse(bundle, sizeof(*bundle));
}

/* Reading. */

static X509 *pki_cert_from_pem(const void *bytes, size_t size)
{
    BIO *bio = BIO_new_mem_buf(bytes, (int)size);
    X509 *cert = bio == NULL ? NULL : PEM_read_bio_X509(bio, NULL, pki_x509_no_passphrase, NULL);

    BIO_free(bio);
    return cert;
}

enum err pki_cert_decode(const void *bytes, size_t size, X509 **cert_out, struct err_text *text)
{
    const unsigned char *at = bytes;
    X509 *cert = NULL;

    if (size == 0 || size > PKI_FILE_BYTES_MAX) {
        return err_text_set(text, ERR_MALFORMED, "a certificate has 1 to %d bytes, not %zu",
                            PKI_FILE_BYTES_MAX, size);
    }
    if (at[0] == 0x30) { /* A DER sequence; PEM is text. */
        cert = d2i_X509(NULL, &at, (long)size);
        if (cert != NULL && at != (const unsigned char *)bytes + size) {
            X509_free(cert);
            return err_text_set(text, ERR_MALFORMED, "bytes follow the certificate");
        }
    } else {
        cert = pki_cert_from_pem(bytes, size);
    }
    if (cert == NULL) {
        return pki_x509_fault(text, ERR_MALFORMED, "not a certificate in PEM or DER");
    }
    *cert_out = cert;
    return OK;
}

enum err pki_cert_read(const char *path, X509 **cert_out, struct err_text *text)
{
    struct pki_bytes bytes = {0};
    struct err_text why = {0};
    enum err rc = pki_file_read(path, PKI_FILE_BYTES_MAX, &bytes, text);

    if (rc != OK) {
        return rc;
    }
    rc = pki_cert_decode(bytes.chars, bytes.size, cert_out, &why);
    pki_bytes_deinit(&bytes);
    if (rc != OK) {
        return err_text_set(text, rc, "cannot read %.300s: %.160s", path, why.text);
    }
    return OK;
}

/* Telling. */

/* Write a name as printable ASCII, cut to @size. */
static enum err pki_subject(const X509_NAME *name, char *out, size_t size)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *chars = NULL;
    long length = 0;

    if (bio == NULL || X509_NAME_print_ex(bio, name, 0, XN_FLAG_RFC2253) < 0) {
        BIO_free(bio);
        ERR_clear_error();
        return ERR_NOMEM;
    }
    length = BIO_get_mem_data(bio, &chars);
    if ((size_t)length >= size) {
        length = (long)size - 1;
    }
    memcpy(out, chars, (size_t)length);
    out[length] = '\0';
    BIO_free(bio);
    return OK;
}

enum err pki_cert_describe(const X509 *cert, struct pki_description *out, struct err_text *text)
{
    struct pki_description description = {0};
    uint8_t digest[PKI_SHA256_BYTES];

    if (pki_x509_serial_format(X509_get0_serialNumber(cert), description.serial) != OK ||
        pki_x509_time(X509_get0_notBefore(cert), &description.not_before_s) != OK ||
        pki_x509_time(X509_get0_notAfter(cert), &description.not_after_s) != OK) {
        return err_text_set(text, ERR_MALFORMED,
                            "the certificate's serial number or dates make no sense");
    }
    if (pki_subject(X509_get_subject_name(cert), description.subject,
                    sizeof(description.subject)) != OK ||
        pki_subject(X509_get_issuer_name(cert), description.issuer, sizeof(description.issuer)) !=
            OK ||
        pki_x509_digest(cert, digest) != OK) {
        return err_text_set(text, ERR_NOMEM, "out of memory");
    }
    pki_hex(digest, sizeof(digest), description.fingerprint);
    /* OpenSSL caches the extensions in the certificate, hence its missing const. */
    description.ca = X509_check_ca((X509 *)(uintptr_t)cert) == 1;
    description.identified = pki_identity_from_cert(cert, &description.identity, NULL) == OK;
    ERR_clear_error();
    *out = description;
    return OK;
}

bool pki_pin_matches(const X509 *ca, const uint8_t pin[PKI_PIN_BYTES])
{
    uint8_t digest[PKI_SHA256_BYTES];

    return pki_x509_digest(ca, digest) == OK && CRYPTO_memcmp(digest, pin, PKI_PIN_BYTES) == 0;
}

/* Joining. */

enum err pki_request_create(struct pki_pem *key_out, struct pki_pem *request_out,
                            struct err_text *text)
{
    EVP_PKEY *key = NULL;
    X509_REQ *request = NULL;
    struct pki_pem pem;
    enum err rc = pki_x509_key(&key, text);

    if (rc != OK) {
        return rc;
    }
    request = X509_REQ_new();
    /* No subject: the authority decides who we are. */
    if (request == NULL || X509_REQ_set_version(request, X509_REQ_VERSION_1) != 1 ||
        X509_REQ_set_pubkey(request, key) != 1 || X509_REQ_sign(request, key, NULL) <= 0) {
        rc = pki_x509_fault(text, ERR_NOMEM, "cannot make a signing request");
        goto out_free;
    }
    rc = pki_x509_request_pem(request, &pem, text);
    if (rc == OK) {
        rc = pki_x509_key_pem(key, key_out, text);
    }
    if (rc == OK) {
        *request_out = pem;
    }
out_free:
    X509_REQ_free(request);
    EVP_PKEY_free(key);
    return rc;
}
