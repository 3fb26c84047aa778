/* The authority: a folder that issues and revokes certificates.
 *
 *     DIR/ca.crt  DIR/ca.key (0600)  DIR/serial  DIR/issued.jsonl  DIR/revoked.crl  DIR/tokens/
 *
 * Several processes may use one folder at a time: DIR/lock is held (flock) while something changes.
 * What a crash leaves behind is either the old or the new state; a certificate that was handed out
 * is always on record. */

#ifndef NET_PKI_CA_H
#define NET_PKI_CA_H

#include "net/pki/pki.h"

struct pki_ca;

/* What a certificate shall say. Borrowed for the call. The name "ca" is refused: its files would be
 * the authority's. */
struct pki_order {
    struct pki_identity identity;
    const char *const *sans; /* DNS names and IP addresses, for people's tools; NULL: none. */
    uint32_t sans_count;     /* At most PKI_SANS_MAX. */
    int64_t now_s;
    uint32_t days; /* Zero: PKI_LEAF_DAYS. Cut at the end of the authority. */
    bool newcomer; /* ERR_EXISTS if the identity has a certificate, not expired nor revoked. */
};

/* A line of issued.jsonl. May be copied. */
struct pki_record {
    struct pki_identity identity;
    char serial[PKI_SERIAL_TEXT_BYTES];
    char fingerprint[PKI_FINGERPRINT_TEXT_BYTES];
    int64_t not_before_s;
    int64_t not_after_s;
    bool revoked;
};

/* Make a new authority called @name in @dir (made with mode 0700 if missing). Zero @days:
 * PKI_CA_DAYS. ERR_EXISTS if any file of an authority is there: nothing is overwritten. */
MUST_USE enum err pki_ca_create(const char *dir, const char *name, int64_t now_s, uint32_t days,
                                struct err_text *text);

/* Open the authority in @dir. ERR_NOT_FOUND if there is none, ERR_REFUSED if its key can be read by
 * others, ERR_INVALID if key and certificate are no pair. */
MUST_USE enum err pki_ca_open(const char *dir, struct pki_ca **ca_out, struct err_text *text);

/* NULL is allowed. */
void pki_ca_close(struct pki_ca *ca);

/* Borrowed until close. */
X509 *pki_ca_cert(const struct pki_ca *ca);
const char *pki_ca_dir(const struct pki_ca *ca);

/* Issue a certificate and a new key. The caller wipes the bundle. */
MUST_USE enum err pki_ca_issue(struct pki_ca *ca, const struct pki_order *order,
                               struct pki_bundle *bundle_out, struct err_text *text);

/* The same, written to @dir as pki_bundle_write() does; what stands in the way is found before
 * anything is issued. */
MUST_USE enum err pki_ca_issue_to(struct pki_ca *ca, const struct pki_order *order, const char *dir,
                                  bool replace, struct err_text *text);

/* Issue a certificate for the key of a request (PEM or DER, at most PKI_PEM_BYTES). Only the key is
 * taken from it: names and extensions of the request are ignored. ERR_MALFORMED if it is none,
 * ERR_REFUSED if its key is not Ed25519 or its signature does not prove possession. */
MUST_USE enum err pki_ca_sign_request(struct pki_ca *ca, const struct pki_order *order,
                                      const void *request, size_t size, struct pki_pem *cert_out,
                                      struct err_text *text);

/* Revoke, and rewrite the revocation list; *@count_out is how many were not revoked before. By
 * serial: ERR_NOT_FOUND unless on record. By identity: all certificates of it that have not expired
 * at @now_s; ERR_NOT_FOUND if none is on record. By file: ERR_REFUSED unless this authority signed
 * it; it need not be on record. */
MUST_USE enum err pki_ca_revoke_serial(struct pki_ca *ca, const char *serial, int64_t now_s,
                                       uint32_t *count_out, struct err_text *text);
MUST_USE enum err pki_ca_revoke_identity(struct pki_ca *ca, const struct pki_identity *identity,
                                         int64_t now_s, uint32_t *count_out, struct err_text *text);
MUST_USE enum err pki_ca_revoke_cert(struct pki_ca *ca, const char *path, int64_t now_s,
                                     uint32_t *count_out, struct err_text *text);

/* Call @each for every certificate on record, oldest first. The record is borrowed for the call.
 * Anything but OK from @each ends the walk and is returned. */
MUST_USE enum err pki_ca_list(struct pki_ca *ca,
                              enum err (*each)(const struct pki_record *record, void *user),
                              void *user, struct err_text *text);

#endif
