/* Certificates: who a member is, and the values that the rest of pki works with. Identities are in
 * pki/name.c, the rest in pki.c; the authority is in pki/ca.h, joining by token in pki/token.h.
 *
 * All of pki is for the control path: it touches files and may block on them. It reads no clock
 * (time is a parameter, seconds since 1970 UTC), prints nothing and asks nobody for a passphrase.
 * Every function that takes a struct err_text fills it on failure (it may be NULL). No function
 * leaves anything in OpenSSL's error queue. Keys are Ed25519 and nothing else. */

#ifndef NET_PKI_PKI_H
#define NET_PKI_PKI_H

#include "base/err.h"
#include "base/limits.h"
#include "wire/frame.h"

#include <openssl/types.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    PKI_CA_DAYS = 3650, /* Default validity of an authority. */
    PKI_LEAF_DAYS = 90, /* Default validity of a member's certificate. */
    PKI_DAYS_MAX = 36500,
    PKI_SANS_MAX = 16,               /* DNS names and addresses in one certificate. */
    PKI_PATH_BYTES = 1024,           /* Of a file, terminated. */
    PKI_PEM_BYTES = 8192,            /* The longest text of a certificate, key or request. */
    PKI_IDENTITY_TEXT_BYTES = 160,   /* "operator/" + two names, terminated. */
    PKI_SERIAL_TEXT_BYTES = 41,      /* Twenty bytes in hexadecimal, terminated. */
    PKI_FINGERPRINT_TEXT_BYTES = 65, /* SHA-256 in hexadecimal, terminated. */
    PKI_PIN_BYTES = 20,              /* First 160 bits of the SHA-256 of an authority. */
};

/* In the certificate as the one URI "strait://ROLE/SITE/NAME" of the subject alternative names. May
 * be copied. Names are [A-Za-z0-9._-]{1,64}, but not "." or "..". */
struct pki_identity {
    enum wire_role role; /* Never the stranger. */
    char site[LIMIT_NAME_BYTES + 1];
    char name[LIMIT_NAME_BYTES + 1];
};

/* A terminated PEM text. May be copied; a copy of a key must be wiped too. */
struct pki_pem {
    char chars[PKI_PEM_BYTES];
    size_t size; /* Without the terminator. */
};

/* All that a member needs to prove who it is. */
struct pki_bundle {
    struct pki_pem cert; /* The member's certificate and nothing else. */
    struct pki_pem key;
    struct pki_pem ca; /* The authority's certificate. */
};

/* What `strait cert show` tells. Text fields are terminated and printable ASCII. */
struct pki_description {
    bool ca;
    bool identified; /* .identity is valid. */
    struct pki_identity identity;
    char subject[256]; /* For people; an attacker chooses it. */
    char issuer[256];
    char serial[PKI_SERIAL_TEXT_BYTES];
    char fingerprint[PKI_FINGERPRINT_TEXT_BYTES];
    int64_t not_before_s;
    int64_t not_after_s;
};

/* True if @name may be a site or a member. */
bool pki_name_valid(const char *name);

/* Make an identity of its parts. ERR_INVALID with @text. */
MUST_USE enum err pki_identity_make(enum wire_role role, const char *site, const char *name,
                                    struct pki_identity *out, struct err_text *text);

/* Read "worker/eu/w1". ERR_INVALID with @text. */
MUST_USE enum err pki_identity_parse(const char *chars, struct pki_identity *out,
                                     struct err_text *text);

/* Write "worker/eu/w1" and a terminator to @out, PKI_IDENTITY_TEXT_BYTES long. Returns @out. */
char *pki_identity_format(const struct pki_identity *identity, char *out);

bool pki_identity_equal(const struct pki_identity *a, const struct pki_identity *b);

/* Take the identity from a certificate, whose signature the caller has checked. URIs of other
 * schemes are ignored. ERR_NOT_FOUND if it has none, ERR_INVALID if it has several or a malformed
 * one: either way the certificate names nobody. */
MUST_USE enum err pki_identity_from_cert(const X509 *cert, struct pki_identity *out,
                                         struct err_text *text);

/* Overwrite with zeros, in a way the compiler keeps. */
void pki_pem_wipe(struct pki_pem *pem);
void pki_bundle_wipe(struct pki_bundle *bundle);

/* Read one certificate; the caller frees it with X509_free(). The second reads the first PEM block
 * of @size bytes, or DER. */
MUST_USE enum err pki_cert_read(const char *path, X509 **cert_out, struct err_text *text);
MUST_USE enum err pki_cert_decode(const void *bytes, size_t size, X509 **cert_out,
                                  struct err_text *text);

/* Read a private key; the caller frees it with EVP_PKEY_free(). ERR_REFUSED if the file can be read
 * by others than its owner. */
MUST_USE enum err pki_key_read(const char *path, EVP_PKEY **key_out, struct err_text *text);

/* Read a revocation list and check that @ca signed it; the caller frees it with X509_CRL_free(). */
MUST_USE enum err pki_crl_read(const char *path, X509 *ca, X509_CRL **crl_out,
                               struct err_text *text);

/* True if the authority made the list @a before @b: by their numbers; if these are equal, or
 * missing in one, by their dates. */
bool pki_crl_is_older(const X509_CRL *a, const X509_CRL *b);

/* ERR_MALFORMED if a date or the serial makes no sense. */
MUST_USE enum err pki_cert_describe(const X509 *cert, struct pki_description *out,
                                    struct err_text *text);

/* True if @ca is the authority that a token names: compare before trusting it. */
MUST_USE bool pki_pin_matches(const X509 *ca, const uint8_t pin[PKI_PIN_BYTES]);

/* The joiner's side: make a key, which never leaves the joiner, and a signing request for it. The
 * caller wipes the key. */
MUST_USE enum err pki_request_create(struct pki_pem *key_out, struct pki_pem *request_out,
                                     struct err_text *text);

/* Write DIR/NAME.crt, DIR/NAME.key (0600) and DIR/ca.crt; the folder is made (0700) if missing.
 * Each file is whole or absent whatever happens. First checks that the certificate is @identity's,
 * signed by the authority, and belongs to the key: ERR_INVALID. Without @replace, a NAME.crt or
 * NAME.key that is there, or a ca.crt with other content, is ERR_EXISTS and nothing is changed. */
MUST_USE enum err pki_bundle_write(const struct pki_bundle *bundle,
                                   const struct pki_identity *identity, const char *dir,
                                   bool replace, struct err_text *text);

#endif
