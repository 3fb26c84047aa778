/* What pki/ca.c, pki/revoke.c and pki/token.c share. Private to src/net/pki/. */

#ifndef NET_PKI_CA_INNER_H
#define NET_PKI_CA_INNER_H

#include "net/pki/ca.h"
#include "net/pki/file.h"

struct pki_ca {
    X509 *cert;
    EVP_PKEY *key;
    int64_t not_after_s;
    struct pki_pem cert_pem;
    char dir[PKI_PATH_BYTES];
    char lock[PKI_PATH_BYTES];
    char serial[PKI_PATH_BYTES];
    char issued[PKI_PATH_BYTES];
    char crl[PKI_PATH_BYTES];
    char tokens[PKI_PATH_BYTES];
};

/* Dates that a certificate can hold, with room for its validity. */
static inline bool pki_now_valid(int64_t now_s)
{
    return now_s >= 1 << 20 && now_s < 200000000000; /* 1970 to 8307. */
}

/* Read a signing request as pki_ca_sign_request() does and return its proven public key, which the
 * caller frees. */
MUST_USE enum err pki_request_key(const void *request, size_t size, EVP_PKEY **key_out,
                                  struct err_text *text);

/* Sign a certificate for @key, of which only the public half is used, and put it on record. */
MUST_USE enum err pki_ca_issue_key(struct pki_ca *ca, const struct pki_order *order, EVP_PKEY *key,
                                   struct pki_pem *cert_out, struct err_text *text);

/* Tell whether @identity has a certificate that is neither expired at @now_s nor revoked. */
MUST_USE enum err pki_ca_active(struct pki_ca *ca, const struct pki_identity *identity,
                                int64_t now_s, bool *active_out, struct err_text *text);

#endif
