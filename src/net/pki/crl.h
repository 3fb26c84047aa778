/* Revocation lists of the authority. Private to src/net/pki*; pki_crl_read() is in pki.h. */

#ifndef NET_PKI_CRL_H
#define NET_PKI_CRL_H

#include "net/pki/pki.h"

/* Read a list without asking who signed it; the caller frees it. */
MUST_USE enum err pki_crl_decode(const void *bytes, size_t size, X509_CRL **crl_out,
                                 struct err_text *text);

MUST_USE enum err pki_crl_write(X509_CRL *crl, const char *path, bool replace,
                                struct err_text *text);

/* Sign the list @crl again as of @now_s, with the next number; valid as long as the authority. */
MUST_USE enum err pki_crl_sign(X509_CRL *crl, X509 *ca, EVP_PKEY *ca_key, int64_t now_s,
                               struct err_text *text);

/* Mark @serial (as in struct pki_record) as revoked at @now_s; *@added_out is false if it was. */
MUST_USE enum err pki_crl_add(X509_CRL *crl, const char *serial, int64_t now_s, bool *added_out,
                              struct err_text *text);
MUST_USE enum err pki_crl_has(X509_CRL *crl, const char *serial, bool *has_out,
                              struct err_text *text);

#endif
