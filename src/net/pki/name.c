/* Identities: their names, their text, and their URI in a certificate. Only the exact form is read
 * back: a member has one spelling. */

#include "net/pki/pki.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char name_scheme[] = "strait://";

static bool name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

bool pki_name_valid(const char *name)
{
    size_t size = strnlen(name, LIMIT_NAME_BYTES + 1);

    if (size == 0 || size > LIMIT_NAME_BYTES) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        if (!name_char(name[i])) {
            return false;
        }
    }
    /* In a URI and in a path these two mean something else. */
    return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* True for a role that a certificate may carry. */
static bool name_role_valid(enum wire_role role)
{
    return role == WIRE_ROLE_WORKER || role == WIRE_ROLE_SERVER || role == WIRE_ROLE_RELAY ||
           role == WIRE_ROLE_OPERATOR;
}

static enum err name_bad(struct err_text *text, const char *what)
{
    return err_text_set(text, ERR_INVALID,
                        "the %s of an identity must be 1 to %d of the characters A-Z a-z 0-9 . _ - "
                        "and not \".\" or \"..\"",
                        what, LIMIT_NAME_BYTES);
}

enum err pki_identity_make(enum wire_role role, const char *site, const char *name,
                           struct pki_identity *out, struct err_text *text)
{
    struct pki_identity identity = {.role = role};

    if (!name_role_valid(role)) {
        return err_text_set(text, ERR_INVALID,
                            "not a role of a member: use worker, server, relay or operator");
    }
    if (!pki_name_valid(site)) {
        return name_bad(text, "site");
    }
    if (!pki_name_valid(name)) {
        return name_bad(text, "name");
    }
    (void)strcpy(identity.site, site);
    (void)strcpy(identity.name, name);
    *out = identity;
    return OK;
}

enum err pki_identity_parse(const char *chars, struct pki_identity *out, struct err_text *text)
{
    char copy[PKI_IDENTITY_TEXT_BYTES];
    size_t size = strnlen(chars, sizeof(copy));
    char *site, *name;

    if (size < sizeof(copy)) {
        memcpy(copy, chars, size + 1);
        site = strchr(copy, '/');
        name = site == NULL ? NULL : strchr(site + 1, '/');
        if (name != NULL && strchr(name + 1, '/') == NULL) {
            *site = '\0';
            *name = '\0';
            return pki_identity_make(wire_role_parse(copy), site + 1, name + 1, out, text);
        }
    }
    return err_text_set(text, ERR_INVALID,
                        "an identity is written role/site/name, for example worker/eu/w1");
}

char *pki_identity_format(const struct pki_identity *identity, char *out)
{
    (void)snprintf(out, PKI_IDENTITY_TEXT_BYTES, "%s/%s/%s", wire_role_name(identity->role),
                   identity->site, identity->name);
    return out;
}

bool pki_identity_equal(const struct pki_identity *a, const struct pki_identity *b)
{
    return a->role == b->role && strcmp(a->site, b->site) == 0 && strcmp(a->name, b->name) == 0;
}

/* True if a name is a URI of our scheme, in whatever case: then it must be exact. */
static bool name_is_ours(const GENERAL_NAME *name)
{
    int size;

    if (name->type != GEN_URI) {
        return false;
    }
    size = ASN1_STRING_length(name->d.uniformResourceIdentifier);
    return size >= (int)strlen("strait:") &&
           strncasecmp((const char *)ASN1_STRING_get0_data(name->d.uniformResourceIdentifier),
                       "strait:", strlen("strait:")) == 0;
}

static enum err name_from_uri(const ASN1_STRING *uri, struct pki_identity *out,
                              struct err_text *text)
{
    const char *chars = (const char *)ASN1_STRING_get0_data(uri);
    size_t size = (size_t)ASN1_STRING_length(uri);
    size_t scheme = strlen(name_scheme);
    char copy[PKI_IDENTITY_TEXT_BYTES + sizeof(name_scheme)];

    /* A zero byte inside would hide what follows it. */
    if (size >= sizeof(copy) || size <= scheme || memcmp(chars, name_scheme, scheme) != 0 ||
        memchr(chars, '\0', size) != NULL) {
        return err_text_set(text, ERR_INVALID,
                            "the certificate's strait: URI is not strait://ROLE/SITE/NAME");
    }
    memcpy(copy, chars, size);
    copy[size] = '\0';
    return pki_identity_parse(copy + scheme, out, text);
}

enum err pki_identity_from_cert(const X509 *cert, struct pki_identity *out, struct err_text *text)
{
    int critical = 0;
    GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, &critical, NULL);
    const ASN1_STRING *ours = NULL;
    enum err rc = OK;

    if (names == NULL) {
        ERR_clear_error();
        /* -1: absent; -2: twice; otherwise it does not decode. */
        return critical == -1 ? err_text_set(text, ERR_NOT_FOUND,
                                             "the certificate has no alternative names, so it "
                                             "names no member: issue one with `strait cert`")
                              : err_text_set(text, ERR_INVALID,
                                             "the certificate's alternative names are malformed");
    }
    for (int i = 0; i < sk_GENERAL_NAME_num(names) && rc == OK; i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);

        if (!name_is_ours(name)) {
            continue;
        }
        if (ours != NULL) {
            rc = err_text_set(text, ERR_INVALID, "the certificate names more than one member");
        }
        ours = name->d.uniformResourceIdentifier;
    }
    if (rc == OK && ours == NULL) {
        rc = err_text_set(text, ERR_NOT_FOUND,
                          "the certificate has no strait://ROLE/SITE/NAME, so it names no member: "
                          "issue one with `strait cert`");
    }
    if (rc == OK) {
        rc = name_from_uri(ours, out, text);
    }
    GENERAL_NAMES_free(names);
    return rc;
}
