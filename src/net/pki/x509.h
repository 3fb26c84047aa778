/* Building and writing certificates, keys and revocation lists with OpenSSL. No files, no policy.
 * For src/net/pki* and src/net/enrol* only. */

#ifndef NET_PKI_X509_H
#define NET_PKI_X509_H

#include "net/pki/ca.h"

#include <openssl/x509.h>

enum {
    PKI_SERIAL_BYTES = 12, /* A counter (4), then random (8). */
    PKI_SHA256_BYTES = 32,
    PKI_CLOCK_SKEW_S = 5 * 60, /* A certificate is valid this long before it was made. */
};

/* What the caller of pki_x509_leaf() decides beside the order. */
struct pki_x509_issue {
    X509 *ca;
    EVP_PKEY *ca_key;
    EVP_PKEY *subject_key; /* Only its public half is used. */
    uint8_t serial[PKI_SERIAL_BYTES];
    int64_t not_after_s;
};

/* Fill @text with "@what: reason from OpenSSL's queue", empty the queue and return @rc. */
enum err pki_x509_fault(struct err_text *text, enum err rc, const char *what);

/* Private keys are in pki/key.c. */
MUST_USE enum err pki_x509_key(EVP_PKEY **key_out, struct err_text *text);

/* A self-signed authority. */
MUST_USE enum err pki_x509_ca(const char *name, EVP_PKEY *key,
                              const uint8_t serial[PKI_SERIAL_BYTES], int64_t now_s,
                              int64_t not_after_s, X509 **cert_out, struct err_text *text);

/* A member's certificate. */
MUST_USE enum err pki_x509_leaf(const struct pki_x509_issue *issue, const struct pki_order *order,
                                X509 **cert_out, struct err_text *text);

MUST_USE enum err pki_x509_cert_pem(X509 *cert, struct pki_pem *out, struct err_text *text);
MUST_USE enum err pki_x509_key_pem(EVP_PKEY *key, struct pki_pem *out, struct err_text *text);
MUST_USE enum err pki_x509_request_pem(X509_REQ *request, struct pki_pem *out,
                                       struct err_text *text);

/* Move what was written to the memory @bio to @out. */
MUST_USE enum err pki_x509_pem_take(BIO *bio, struct pki_pem *out, struct err_text *text);

/* Write a serial as even hexadecimal digits, or bring the text of one into that form (colons and
 * any case are read). */
MUST_USE enum err pki_x509_serial_format(const ASN1_INTEGER *serial, char *out);
MUST_USE enum err pki_x509_serial_parse(const char *chars, char *out, struct err_text *text);

MUST_USE enum err pki_x509_time(const ASN1_TIME *time, int64_t *seconds_out);

MUST_USE enum err pki_x509_digest(const X509 *cert, uint8_t out[PKI_SHA256_BYTES]);

/* Read a key; the caller frees it. ERR_REFUSED unless it is Ed25519. */
MUST_USE enum err pki_key_decode(const char *chars, size_t size, EVP_PKEY **key_out,
                                 struct err_text *text);

/* A PEM passphrase callback that has none: OpenSSL's own would ask on the terminal. */
int pki_x509_no_passphrase(char *buf, int size, int rwflag, void *user);

/* Lower-case hexadecimal and a terminator: @size * 2 + 1 characters. */
void pki_hex(const uint8_t *bytes, size_t size, char *out);

#endif
