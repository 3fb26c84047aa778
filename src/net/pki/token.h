/* One-time tokens with which a stranger gets a certificate.
 *
 *     strait1.<id, 40 bit>.<secret, 128 bit>.<first 160 bits of the SHA-256 of the authority>
 *
 * in base32 (RFC 4648, lower case, no padding). The joiner compares the pin with the certificate it
 * is shown before it sends the secret. The authority keeps only the SHA-256 of the secret, in
 * DIR/tokens/<id>.json, which becomes <id>.used when the token is redeemed. */

#ifndef NET_PKI_TOKEN_H
#define NET_PKI_TOKEN_H

#include "net/pki/ca.h"

enum {
    PKI_TOKEN_LIFETIME_S = 15 * 60, /* Default. */
    PKI_TOKEN_LIFETIME_S_MAX = 7 * 24 * 3600,
    PKI_TOKEN_ID_CHARS = 8,
    PKI_TOKEN_SECRET_BYTES = 16,
    PKI_TOKEN_TEXT_BYTES = 8 + PKI_TOKEN_ID_CHARS + 1 + 26 + 1 + 32 + 1, /* Terminated. */
};

/* A token as the joiner sees it. Wipe after use. */
struct pki_token {
    char id[PKI_TOKEN_ID_CHARS + 1];
    uint8_t secret[PKI_TOKEN_SECRET_BYTES];
    uint8_t pin[PKI_PIN_BYTES];
};

/* What a new token is good for. */
struct pki_token_grant {
    struct pki_identity identity; /* .name may be "*": the joiner chooses one that is not taken. */
    int64_t now_s;
    uint32_t lifetime_s; /* Zero: PKI_TOKEN_LIFETIME_S. */
    uint32_t days;       /* Of the certificate; zero: PKI_LEAF_DAYS. */
};

/* Why a token was refused, for our log and counters. The stranger gets pki_token_answer(). */
enum pki_token_reason {
    PKI_TOKEN_GOOD,
    PKI_TOKEN_MALFORMED,
    PKI_TOKEN_UNKNOWN,
    PKI_TOKEN_SECRET, /* Wrong secret. */
    PKI_TOKEN_EXPIRED,
    PKI_TOKEN_USED,
    PKI_TOKEN_NAME,    /* The token is good, but not for that name. */
    PKI_TOKEN_REQUEST, /* The token is good, the signing request is not. */
    PKI_TOKEN_FAULT,   /* Our own trouble: disk or memory. */
    PKI_TOKEN_REASON_COUNT,
};

/* What a stranger asks for; borrowed for the call. */
struct pki_token_claim {
    const char *id;        /* As in struct pki_token. */
    const uint8_t *secret; /* PKI_TOKEN_SECRET_BYTES. */
    const char *name;      /* The wanted name; NULL or empty: the one in the token. */
    const void *request;   /* Signing request, PEM or DER. */
    size_t request_bytes;
    int64_t now_s;
};

struct pki_token_result {
    struct pki_identity identity;
    struct pki_pem cert;
};

/* Make a token; its text goes to @out, PKI_TOKEN_TEXT_BYTES long, and nowhere else. Tokens that
 * expired more than a day ago are removed from the folder. */
MUST_USE enum err pki_token_create(struct pki_ca *ca, const struct pki_token_grant *grant,
                                   char *out, struct err_text *text);

/* Trade a token for a certificate, at most once even if several processes try. A refused claim
 * leaves the token as it was; so does a fault of ours after which no certificate is handed out.
 * *@reason_out is always written. @text is for the operator only. ERR_REFUSED, or ERR_INVALID for
 * the name and the request. */
MUST_USE enum err pki_token_redeem(struct pki_ca *ca, const struct pki_token_claim *claim,
                                   struct pki_token_result *out, enum pki_token_reason *reason_out,
                                   struct err_text *text);

/* Read the text of a token. ERR_INVALID with @text, which does not repeat the secret. */
MUST_USE enum err pki_token_parse(const char *chars, struct pki_token *out, struct err_text *text);

void pki_token_wipe(struct pki_token *token);

/* A word for logs and counters. */
const char *pki_token_reason_name(enum pki_token_reason reason);

/* The sentence for the stranger: the same for all that it must not tell apart. */
const char *pki_token_answer(enum pki_token_reason reason);

#endif
