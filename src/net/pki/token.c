/* Join tokens. What makes a token good once is a rename: <id>.json becomes <id>.used, and of
 * several processes that try, the file system lets one succeed. Only who knows the secret gets that
 * far. */

#include "net/pki/token.h"

#include "net/entropy.h"
#include "net/pki/ca_inner.h"
#include "net/pki/x509.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    TOKEN_ID_BYTES = 5,
    TOKEN_SECRET_CHARS = 26,
    TOKEN_PIN_CHARS = 32,
    TOKEN_KEEP_S = 24 * 3600, /* After its end a token is still told from an unknown one. */
    TOKEN_LEAF_BYTES = PKI_TOKEN_ID_CHARS + 8,
};

static const char token_prefix[] = "strait1.";

_Static_assert(sizeof(token_prefix) - 1 + PKI_TOKEN_ID_CHARS + 1 + TOKEN_SECRET_CHARS + 1 +
                       TOKEN_PIN_CHARS + 1 ==
                   PKI_TOKEN_TEXT_BYTES,
               "the header counts as we do");

/* A token as the authority keeps it. */
struct token_file {
    char secret_sha256[2 * PKI_SHA256_BYTES + 1];
    struct pki_identity identity; /* .name may be "*". */
    int64_t expires_s;
    uint32_t days;
};

/* Base32 (RFC 4648) without padding, lower case; both cases are read. */

static const char token_base32[] = "abcdefghijklmnopqrstuvwxyz234567";

/* Write (size * 8 + 4) / 5 characters and a terminator. */
static void token_encode(const uint8_t *bytes, size_t size, char *out)
{
    uint32_t bits = 0;
    unsigned int have = 0;

    for (size_t i = 0; i < size; i++) {
        bits = ((bits << 8) | bytes[i]) & 0xfff;
        for (have += 8; have >= 5; have -= 5) {
            *out++ = token_base32[(bits >> (have - 5)) & 31];
        }
    }
    if (have > 0) {
        *out++ = token_base32[(bits << (5 - have)) & 31];
    }
    *out = '\0';
}

/* Return the value of a character, or -1. */
static int token_digit(char c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a';
    }
    return c >= '2' && c <= '7' ? c - '2' + 26 : -1;
}

/* Read exactly @size bytes from @chars_count characters. False unless that is what they are: spare
 * bits must be zero, so that a token has one spelling but for its case. */
static bool token_decode(const char *chars, size_t chars_count, uint8_t *out, size_t size)
{
    uint32_t bits = 0;
    unsigned int have = 0;
    size_t done = 0;

    if (chars_count != (size * 8 + 4) / 5) {
        return false;
    }
    for (size_t i = 0; i < chars_count; i++) {
        int digit = token_digit(chars[i]);

        if (digit < 0) {
            return false;
        }
        bits = ((bits << 5) | (uint32_t)digit) & 0xfff;
        have += 5;
        if (have >= 8) {
            have -= 8;
            out[done++] = (uint8_t)(bits >> have);
        }
    }
    return done == size && (bits & ((1u << have) - 1)) == 0;
}

/* Files. */

/* Find the file of a token; @id must be checked. */
static enum err token_path(const struct pki_ca *ca, const char *id, const char *suffix, char *out,
                           struct err_text *text)
{
    char leaf[TOKEN_LEAF_BYTES];

    (void)snprintf(leaf, sizeof(leaf), "%.*s%s", PKI_TOKEN_ID_CHARS, id, suffix);
    return pki_path(ca->tokens, leaf, out, text);
}

static enum err token_hash(const uint8_t secret[PKI_TOKEN_SECRET_BYTES],
                           char out[2 * PKI_SHA256_BYTES + 1])
{
    uint8_t digest[PKI_SHA256_BYTES];
    unsigned int size = 0;

    if (EVP_Digest(secret, PKI_TOKEN_SECRET_BYTES, digest, &size, EVP_sha256(), NULL) != 1 ||
        size != sizeof(digest)) {
        ERR_clear_error();
        return ERR_NOMEM;
    }
    pki_hex(digest, sizeof(digest), out);
    return OK;
}

static enum err token_file_write(const char *path, const struct token_file *file,
                                 struct err_text *text)
{
    char line[512];
    /* No field has a character that JSON would escape. */
    int size =
        snprintf(line, sizeof(line),
                 "{\"version\":1,\"role\":\"%s\",\"site\":\"%s\",\"name\":\"%s\","
                 "\"expires\":%lld,\"days\":%u,\"secret_sha256\":\"%s\"}\n",
                 wire_role_name(file->identity.role), file->identity.site, file->identity.name,
                 (long long)file->expires_s, file->days, file->secret_sha256);

    CHECK(size > 0 && size < (int)sizeof(line));
    return pki_file_write(path, line, (size_t)size, 0600, false, text);
}

/* Make the identity of a token, whose name may be "*". */
static enum err token_identity(enum wire_role role, const char *site, const char *name,
                               struct pki_identity *out, struct err_text *text)
{
    bool any = strcmp(name, "*") == 0;
    enum err rc = pki_identity_make(role, site, any ? "any" : name, out, text);

    if (rc == OK && any) {
        (void)strcpy(out->name, "*");
    }
    return rc;
}

static bool token_file_parse(const char *chars, size_t size, struct token_file *out)
{
    struct token_file file = {0};
    const char *role, *site, *name, *hash;
    json_int_t version, expires, days;
    json_t *root = json_loadb(chars, size, JSON_REJECT_DUPLICATES, NULL);
    bool good = root != NULL &&
                json_unpack(root, "{s:I, s:s, s:s, s:s, s:I, s:I, s:s}", "version", &version,
                            "role", &role, "site", &site, "name", &name, "expires", &expires,
                            "days", &days, "secret_sha256", &hash) == 0 &&
                version == 1 && days >= 0 && days <= PKI_DAYS_MAX &&
                strlen(hash) == sizeof(file.secret_sha256) - 1 &&
                token_identity(wire_role_parse(role), site, name, &file.identity, NULL) == OK;

    if (good) {
        (void)strcpy(file.secret_sha256, hash);
        file.expires_s = expires;
        file.days = (uint32_t)days;
        *out = file;
    }
    json_decref(root);
    return good;
}

static enum err token_file_read(const char *path, struct token_file *out, struct err_text *text)
{
    struct pki_bytes bytes = {0};
    enum err rc = pki_file_read(path, PKI_FILE_BYTES_MAX, &bytes, text);

    if (rc == OK && !token_file_parse(bytes.chars, bytes.size, out)) {
        rc = err_text_set(text, ERR_MALFORMED, "the token %s is damaged: remove it", path);
    }
    pki_bytes_deinit(&bytes);
    return rc;
}

/* Remove the files of tokens that ended long ago. What cannot be read or removed stays. */
static void token_prune(const struct pki_ca *ca, int64_t now_s)
{
    DIR *dir = opendir(ca->tokens);
    const struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        const char *dot = strchr(entry->d_name, '.');
        char path[PKI_PATH_BYTES];
        struct token_file file;

        if (dot == NULL || (strcmp(dot, ".json") != 0 && strcmp(dot, ".used") != 0)) {
            continue;
        }
        if (pki_path(ca->tokens, entry->d_name, path, NULL) == OK &&
            token_file_read(path, &file, NULL) == OK && file.expires_s < now_s - TOKEN_KEEP_S) {
            (void)unlink(path);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
}

/* Making. */

static enum err token_grant_check(const struct pki_token_grant *grant, struct token_file *out,
                                  struct err_text *text)
{
    uint32_t lifetime_s = grant->lifetime_s == 0 ? PKI_TOKEN_LIFETIME_S : grant->lifetime_s;
    enum err rc = token_identity(grant->identity.role, grant->identity.site, grant->identity.name,
                                 &out->identity, text);

    if (rc != OK) {
        return rc;
    }
    if (!pki_now_valid(grant->now_s) || lifetime_s > PKI_TOKEN_LIFETIME_S_MAX ||
        grant->days > PKI_DAYS_MAX) {
        return err_text_set(text, ERR_INVALID,
                            "a token lives 1 to %d seconds, its certificate 1 to %d days, and the "
                            "clock must be right",
                            PKI_TOKEN_LIFETIME_S_MAX, PKI_DAYS_MAX);
    }
    out->expires_s = grant->now_s + lifetime_s;
    out->days = grant->days == 0 ? PKI_LEAF_DAYS : grant->days;
    return OK;
}

static enum err token_draw(const struct pki_ca *ca, struct pki_token *out, struct err_text *text)
{
    uint8_t id[TOKEN_ID_BYTES];
    uint8_t digest[PKI_SHA256_BYTES];

    if (entropy_bytes(id, sizeof(id)) != OK ||
        entropy_bytes(out->secret, sizeof(out->secret)) != OK) {
        return err_text_set(text, ERR_IO, "the system has no randomness");
    }
    if (pki_x509_digest(ca->cert, digest) != OK) {
        return err_text_set(text, ERR_NOMEM, "out of memory");
    }
    token_encode(id, sizeof(id), out->id);
    memcpy(out->pin, digest, sizeof(out->pin));
    return OK;
}

static void token_format(const struct pki_token *token, char *out)
{
    char secret[TOKEN_SECRET_CHARS + 1];
    char pin[TOKEN_PIN_CHARS + 1];

    token_encode(token->secret, sizeof(token->secret), secret);
    token_encode(token->pin, sizeof(token->pin), pin);
    (void)snprintf(out, PKI_TOKEN_TEXT_BYTES, "%s%s.%s.%s", token_prefix, token->id, secret, pin);
    OPENSSL_cleanse(secret, sizeof(secret));
}

enum err pki_token_create(struct pki_ca *ca, const struct pki_token_grant *grant, char *out,
                          struct err_text *text)
{
    char path[PKI_PATH_BYTES];
    struct pki_token token = {0};
    struct token_file file = {0};
    enum err rc = token_grant_check(grant, &file, text);

    if (rc == OK) {
        rc = pki_dir_make(ca->tokens, text);
    }
    if (rc != OK) {
        return rc;
    }
    token_prune(ca, grant->now_s);
    rc = token_draw(ca, &token, text);
    if (rc == OK && token_hash(token.secret, file.secret_sha256) != OK) {
        rc = err_text_set(text, ERR_NOMEM, "out of memory");
    }
    /* An id that was used before is so improbable that failing is good enough. */
    if (rc == OK) {
        rc = token_path(ca, token.id, ".used", path, text);
    }
    if (rc == OK && pki_file_exists(path)) {
        rc = err_text_set(text, ERR_EXISTS, "%s is in the way: try again", path);
    }
    if (rc == OK) {
        rc = token_path(ca, token.id, ".json", path, text);
    }
    if (rc == OK) {
        rc = token_file_write(path, &file, text);
    }
    if (rc == OK) {
        token_format(&token, out);
    }
    pki_token_wipe(&token);
    return rc;
}

/* Redeeming. */

/* What becomes of one claim. */
struct token_redeem {
    const struct pki_token_claim *claim;
    char open[PKI_PATH_BYTES];
    char used[PKI_PATH_BYTES];
    struct token_file file;
    enum pki_token_reason reason;
    struct err_text *text;
};

static enum err token_refuse(struct token_redeem *redeem, enum err rc, enum pki_token_reason reason)
{
    redeem->reason = reason;
    return err_text_set(redeem->text, rc, "token %.8s: %s", redeem->claim->id,
                        pki_token_reason_name(reason));
}

/* Find the token's file. The id is a stranger's: it becomes a file name only in its exact form. */
static enum err token_lookup(const struct pki_ca *ca, struct token_redeem *redeem)
{
    const char *given = redeem->claim->id;
    uint8_t bytes[TOKEN_ID_BYTES];
    char id[PKI_TOKEN_ID_CHARS + 1];
    enum err rc;

    if (!token_decode(given, strnlen(given, PKI_TOKEN_ID_CHARS + 1), bytes, sizeof(bytes))) {
        redeem->reason = PKI_TOKEN_MALFORMED;
        return err_text_set(redeem->text, ERR_REFUSED, "the id of the token is malformed");
    }
    token_encode(bytes, sizeof(bytes), id);
    rc = token_path(ca, id, ".json", redeem->open, redeem->text);
    if (rc == OK) {
        rc = token_path(ca, id, ".used", redeem->used, redeem->text);
    }
    if (rc == OK) {
        rc = token_file_read(redeem->open, &redeem->file, redeem->text);
    }
    if (rc == ERR_NOT_FOUND) {
        return token_refuse(redeem, ERR_REFUSED,
                            pki_file_exists(redeem->used) ? PKI_TOKEN_USED : PKI_TOKEN_UNKNOWN);
    }
    return rc;
}

static enum err token_judge(struct token_redeem *redeem)
{
    char hash[2 * PKI_SHA256_BYTES + 1];

    if (token_hash(redeem->claim->secret, hash) != OK) {
        return err_text_set(redeem->text, ERR_NOMEM, "out of memory");
    }
    if (CRYPTO_memcmp(hash, redeem->file.secret_sha256, sizeof(hash)) != 0) {
        return token_refuse(redeem, ERR_REFUSED, PKI_TOKEN_SECRET);
    }
    if (redeem->claim->now_s >= redeem->file.expires_s) {
        return token_refuse(redeem, ERR_REFUSED, PKI_TOKEN_EXPIRED);
    }
    return OK;
}

/* Make the order from what the token grants and what the joiner wants. */
static enum err token_order(struct token_redeem *redeem, struct pki_order *out)
{
    const struct pki_identity *granted = &redeem->file.identity;
    const char *wanted = redeem->claim->name;
    bool any = strcmp(granted->name, "*") == 0;
    enum err rc = OK;

    *out = (struct pki_order){.now_s = redeem->claim->now_s, .days = redeem->file.days};
    if (wanted == NULL || wanted[0] == '\0') {
        wanted = granted->name;
    }
    if (!any && strcmp(wanted, granted->name) != 0) {
        return token_refuse(redeem, ERR_INVALID, PKI_TOKEN_NAME);
    }
    rc = pki_identity_make(granted->role, granted->site, wanted, &out->identity, redeem->text);
    if (rc != OK || strcmp(wanted, "ca") == 0) {
        return token_refuse(redeem, ERR_INVALID, PKI_TOKEN_NAME);
    }
    /* Who may choose a name must not become a member that is there already. */
    out->newcomer = any;
    return OK;
}

/* Use the token up and issue. */
static enum err token_spend(struct pki_ca *ca, struct token_redeem *redeem,
                            const struct pki_order *order, EVP_PKEY *key, struct pki_pem *cert_out)
{
    enum err rc;

    if (rename(redeem->open, redeem->used) != 0) {
        return errno == ENOENT ? token_refuse(redeem, ERR_REFUSED, PKI_TOKEN_USED)
                               : pki_file_fault(redeem->text, "mark as used", redeem->open);
    }
    rc = pki_ca_issue_key(ca, order, key, cert_out, redeem->text);
    if (rc != OK) {
        /* Nobody got a certificate. If this fails too, the token is lost, never doubled. */
        (void)rename(redeem->used, redeem->open);
    }
    if (rc == ERR_EXISTS && order->newcomer) {
        redeem->reason = PKI_TOKEN_NAME;
        rc = ERR_INVALID;
    }
    return rc;
}

enum err pki_token_redeem(struct pki_ca *ca, const struct pki_token_claim *claim,
                          struct pki_token_result *out, enum pki_token_reason *reason_out,
                          struct err_text *text)
{
    struct token_redeem redeem = {.claim = claim, .reason = PKI_TOKEN_FAULT, .text = text};
    struct pki_order order;
    struct pki_pem cert;
    EVP_PKEY *key = NULL;
    enum err rc = token_lookup(ca, &redeem);

    if (rc == OK) {
        rc = token_judge(&redeem);
    }
    if (rc == OK) {
        rc = token_order(&redeem, &order);
    }
    if (rc == OK && pki_request_key(claim->request, claim->request_bytes, &key, text) != OK) {
        redeem.reason = PKI_TOKEN_REQUEST;
        rc = ERR_INVALID;
    }
    if (rc == OK) {
        rc = token_spend(ca, &redeem, &order, key, &cert);
    }
    if (rc == OK) {
        redeem.reason = PKI_TOKEN_GOOD;
        out->identity = order.identity;
        out->cert = cert;
    }
    EVP_PKEY_free(key);
    *reason_out = redeem.reason;
    return rc;
}

/* The joiner's side. */

enum err pki_token_parse(const char *chars, struct pki_token *out, struct err_text *text)
{
    const char *at = chars + sizeof(token_prefix) - 1;
    struct pki_token token = {0};
    uint8_t id[TOKEN_ID_BYTES];
    size_t size = strnlen(chars, PKI_TOKEN_TEXT_BYTES);

    if (size != PKI_TOKEN_TEXT_BYTES - 1 ||
        strncmp(chars, token_prefix, sizeof(token_prefix) - 1) != 0 ||
        at[PKI_TOKEN_ID_CHARS] != '.' || at[PKI_TOKEN_ID_CHARS + 1 + TOKEN_SECRET_CHARS] != '.' ||
        !token_decode(at, PKI_TOKEN_ID_CHARS, id, sizeof(id)) ||
        !token_decode(at + PKI_TOKEN_ID_CHARS + 1, TOKEN_SECRET_CHARS, token.secret,
                      sizeof(token.secret)) ||
        !token_decode(at + PKI_TOKEN_ID_CHARS + 1 + TOKEN_SECRET_CHARS + 1, TOKEN_PIN_CHARS,
                      token.pin, sizeof(token.pin))) {
        pki_token_wipe(&token);
        return err_text_set(text, ERR_INVALID,
                            "the token is not complete: it begins with \"%s\" and has %d "
                            "characters; copy all of it",
                            token_prefix, PKI_TOKEN_TEXT_BYTES - 1);
    }
    token_encode(id, sizeof(id), token.id);
    *out = token;
    pki_token_wipe(&token);
    return OK;
}

void pki_token_wipe(struct pki_token *token)
{
    OPENSSL_cleanse(token, sizeof(*token));
}

const char *pki_token_reason_name(enum pki_token_reason reason)
{
    static const char *const names[PKI_TOKEN_REASON_COUNT] = {
        [PKI_TOKEN_GOOD] = "good",       [PKI_TOKEN_MALFORMED] = "malformed",
        [PKI_TOKEN_UNKNOWN] = "unknown", [PKI_TOKEN_SECRET] = "wrong_secret",
        [PKI_TOKEN_EXPIRED] = "expired", [PKI_TOKEN_USED] = "used",
        [PKI_TOKEN_NAME] = "name",       [PKI_TOKEN_REQUEST] = "request",
        [PKI_TOKEN_FAULT] = "fault",
    };

    return reason < PKI_TOKEN_REASON_COUNT ? names[reason] : "unknown";
}

const char *pki_token_answer(enum pki_token_reason reason)
{
    switch (reason) {
    case PKI_TOKEN_GOOD:
        return "certificate issued";
    case PKI_TOKEN_NAME:
        return "the token is not for that name, or the name is taken";
    case PKI_TOKEN_REQUEST:
        return "the signing request was refused";
    case PKI_TOKEN_FAULT:
        return "the authority cannot issue certificates now: try again later";
    default:
        return "token refused";
    }
}
