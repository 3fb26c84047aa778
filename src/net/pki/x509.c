/* Certificates as OpenSSL objects. The profile is here and nowhere else: Ed25519, version 3, the
 * extensions of RFC 5280 that strict verification asks for. */

#include "net/pki/x509.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum err pki_x509_fault(struct err_text *text, enum err rc, const char *what)
{
    const char *why = ERR_reason_error_string(ERR_peek_last_error());

    ERR_clear_error();
    return err_text_set(text, rc, "%s: %s", what, why != NULL ? why : "no reason given");
}

int pki_x509_no_passphrase(char *buf, int size, int rwflag, void *user)
{
    (void)buf;
    (void)size;
    (void)rwflag;
    (void)user;
    return -1;
}

void pki_hex(const uint8_t *bytes, size_t size, char *out)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < size; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * size] = '\0';
}

/* Dates. */

static enum err x509_set_time(ASN1_TIME *time, int64_t seconds)
{
    return time != NULL && ASN1_TIME_set(time, (time_t)seconds) != NULL ? OK : ERR_INVALID;
}

enum err pki_x509_time(const ASN1_TIME *time, int64_t *seconds_out)
{
    struct tm tm;

    if (time == NULL || ASN1_TIME_to_tm(time, &tm) != 1) {
        ERR_clear_error();
        return ERR_MALFORMED;
    }
    *seconds_out = (int64_t)timegm(&tm);
    return OK;
}

/* Serials. */

static ASN1_INTEGER *x509_serial_from_bytes(const uint8_t serial[PKI_SERIAL_BYTES])
{
    BIGNUM *number = BN_bin2bn(serial, PKI_SERIAL_BYTES, NULL);
    ASN1_INTEGER *integer = number == NULL ? NULL : BN_to_ASN1_INTEGER(number, NULL);

    BN_free(number);
    return integer;
}

/* Write @number in lower-case hexadecimal. */
static enum err x509_number_format(const BIGNUM *number, char *out)
{
    uint8_t bytes[(PKI_SERIAL_TEXT_BYTES - 1) / 2];
    int size = BN_num_bytes(number);

    if (BN_is_negative(number) || size > (int)sizeof(bytes)) {
        return ERR_MALFORMED;
    }
    if (size == 0) {
        size = 1; /* Zero is "00". */
    }
    if (BN_bn2binpad(number, bytes, size) != size) {
        return ERR_MALFORMED;
    }
    pki_hex(bytes, (size_t)size, out);
    return OK;
}

enum err pki_x509_serial_format(const ASN1_INTEGER *serial, char *out)
{
    BIGNUM *number = ASN1_INTEGER_to_BN(serial, NULL);
    enum err rc = number == NULL ? ERR_MALFORMED : x509_number_format(number, out);

    BN_free(number);
    ERR_clear_error();
    return rc;
}

enum err pki_x509_serial_parse(const char *chars, char *out, struct err_text *text)
{
    char digits[PKI_SERIAL_TEXT_BYTES];
    size_t size = 0;
    BIGNUM *number = NULL;
    enum err rc = ERR_INVALID;

    for (; *chars != '\0'; chars++) {
        if (*chars == ':') {
            continue;
        }
        if (strchr("0123456789abcdefABCDEF", *chars) == NULL || size + 1 >= sizeof(digits)) {
            goto bad;
        }
        digits[size++] = *chars;
    }
    digits[size] = '\0';
    if (size > 0 && BN_hex2bn(&number, digits) == (int)size) {
        rc = x509_number_format(number, out);
    }
    BN_free(number);
    if (rc == OK) {
        return OK;
    }
bad:
    ERR_clear_error();
    return err_text_set(text, ERR_INVALID,
                        "a serial number is 1 to %d hexadecimal digits, as `strait cert` lists it",
                        PKI_SERIAL_TEXT_BYTES - 1);
}

/* Names. */

static bool x509_add_name(X509_NAME *name, const char *field, const char *value)
{
    return X509_NAME_add_entry_by_txt(name, field, MBSTRING_ASC, (const unsigned char *)value, -1,
                                      -1, 0) == 1;
}

/* Give @name, of the type and string class told, to @names. */
static bool x509_add_general(GENERAL_NAMES *names, int type, ASN1_STRING *value)
{
    GENERAL_NAME *name = GENERAL_NAME_new();

    if (name == NULL || value == NULL) {
        GENERAL_NAME_free(name);
        ASN1_STRING_free(value);
        return false;
    }
    GENERAL_NAME_set0_value(name, type, value);
    if (sk_GENERAL_NAME_push(names, name) == 0) {
        GENERAL_NAME_free(name);
        return false;
    }
    return true;
}

static ASN1_STRING *x509_ia5(const char *chars)
{
    ASN1_IA5STRING *string = ASN1_IA5STRING_new();

    if (string != NULL && ASN1_STRING_set(string, chars, -1) != 1) {
        ASN1_IA5STRING_free(string);
        return NULL;
    }
    return string;
}

/* True if @host can be a DNS name. What looks like an address is none: it was misspelt. */
static bool x509_dns_valid(const char *host)
{
    size_t size = strnlen(host, 254);

    return size > 0 && size <= 253 && host[0] != '.' && host[0] != '-' &&
           strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-") ==
               size &&
           strspn(host, "0123456789.") != size;
}

static enum err x509_add_san(GENERAL_NAMES *names, const char *san, struct err_text *text)
{
    ASN1_OCTET_STRING *address = a2i_IPADDRESS(san);
    bool done;

    ERR_clear_error();
    if (address == NULL && !x509_dns_valid(san)) {
        return err_text_set(text, ERR_INVALID, "\"%.64s\" is neither a host name nor an IP address",
                            san);
    }
    done = address != NULL ? x509_add_general(names, GEN_IPADD, address)
                           : x509_add_general(names, GEN_DNS, x509_ia5(san));
    return done ? OK : err_text_set(text, ERR_NOMEM, "out of memory");
}

static enum err x509_add_sans(X509 *cert, const struct pki_order *order, struct err_text *text)
{
    char identity[PKI_IDENTITY_TEXT_BYTES];
    char uri[PKI_IDENTITY_TEXT_BYTES + 16];
    GENERAL_NAMES *names = GENERAL_NAMES_new();
    enum err rc = OK;

    (void)snprintf(uri, sizeof(uri), "strait://%s",
                   pki_identity_format(&order->identity, identity));
    if (names == NULL || !x509_add_general(names, GEN_URI, x509_ia5(uri))) {
        rc = err_text_set(text, ERR_NOMEM, "out of memory");
    }
    for (uint32_t i = 0; i < order->sans_count && rc == OK; i++) {
        rc = x509_add_san(names, order->sans[i], text);
    }
    if (rc == OK && X509_add1_ext_i2d(cert, NID_subject_alt_name, names, 0, 0) != 1) {
        rc = pki_x509_fault(text, ERR_NOMEM, "cannot add the alternative names");
    }
    GENERAL_NAMES_free(names);
    return rc;
}

/* Certificates. */

struct x509_extension {
    int nid;
    const char *value;
};

static bool x509_add_extensions(X509 *cert, X509 *issuer, const struct x509_extension *list,
                                size_t count)
{
    X509V3_CTX context;

    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
    for (size_t i = 0; i < count; i++) {
        X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, list[i].nid, list[i].value);
        bool added = extension != NULL && X509_add_ext(cert, extension, -1) == 1;

        X509_EXTENSION_free(extension);
        if (!added) {
            return false;
        }
    }
    return true;
}

/* Fill in what authorities and members have in common. */
static bool x509_fill(X509 *cert, EVP_PKEY *key, const uint8_t serial[PKI_SERIAL_BYTES],
                      int64_t now_s, int64_t not_after_s)
{
    ASN1_INTEGER *number = x509_serial_from_bytes(serial);
    bool done = number != NULL && X509_set_version(cert, X509_VERSION_3) == 1 &&
                X509_set_serialNumber(cert, number) == 1 && X509_set_pubkey(cert, key) == 1 &&
                x509_set_time(X509_getm_notBefore(cert), now_s - PKI_CLOCK_SKEW_S) == OK &&
                x509_set_time(X509_getm_notAfter(cert), not_after_s) == OK;

    ASN1_INTEGER_free(number);
    return done;
}

enum err pki_x509_ca(const char *name, EVP_PKEY *key, const uint8_t serial[PKI_SERIAL_BYTES],
                     int64_t now_s, int64_t not_after_s, X509 **cert_out, struct err_text *text)
{
    static const struct x509_extension extensions[] = {
        {NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
        {NID_key_usage, "critical,keyCertSign,cRLSign"},
        {NID_subject_key_identifier, "hash"},
        {NID_authority_key_identifier, "keyid:always"},
    };
    X509 *cert = X509_new();
    X509_NAME *subject = cert == NULL ? NULL : X509_get_subject_name(cert);

    if (subject == NULL || !x509_fill(cert, key, serial, now_s, not_after_s) ||
        !x509_add_name(subject, "O", "Strait") || !x509_add_name(subject, "CN", name) ||
        X509_set_issuer_name(cert, subject) != 1 ||
        !x509_add_extensions(cert, cert, extensions, sizeof(extensions) / sizeof(*extensions)) ||
        X509_sign(cert, key, NULL) <= 0) {
        X509_free(cert);
        return pki_x509_fault(text, ERR_IO, "cannot make the authority's certificate");
    }
    *cert_out = cert;
    return OK;
}

enum err pki_x509_leaf(const struct pki_x509_issue *issue, const struct pki_order *order,
                       X509 **cert_out, struct err_text *text)
{
    static const struct x509_extension extensions[] = {
        {NID_basic_constraints, "critical,CA:FALSE"},
        {NID_key_usage, "critical,digitalSignature"},
        {NID_ext_key_usage, "serverAuth,clientAuth"},
        {NID_subject_key_identifier, "hash"},
        {NID_authority_key_identifier, "keyid:always"},
    };
    X509 *cert = X509_new();
    X509_NAME *subject = cert == NULL ? NULL : X509_get_subject_name(cert);
    enum err rc;

    if (subject == NULL ||
        !x509_fill(cert, issue->subject_key, issue->serial, order->now_s, issue->not_after_s) ||
        !x509_add_name(subject, "O", order->identity.site) ||
        !x509_add_name(subject, "CN", order->identity.name) ||
        X509_set_issuer_name(cert, X509_get_subject_name(issue->ca)) != 1 ||
        !x509_add_extensions(cert, issue->ca, extensions,
                             sizeof(extensions) / sizeof(*extensions))) {
        rc = pki_x509_fault(text, ERR_IO, "cannot make a certificate");
        goto err_free;
    }
    rc = x509_add_sans(cert, order, text);
    if (rc != OK) {
        goto err_free;
    }
    if (X509_sign(cert, issue->ca_key, NULL) <= 0) {
        rc = pki_x509_fault(text, ERR_IO, "cannot sign a certificate");
        goto err_free;
    }
    *cert_out = cert;
    return OK;
err_free:
    X509_free(cert);
    return rc;
}

enum err pki_x509_digest(const X509 *cert, uint8_t out[PKI_SHA256_BYTES])
{
    unsigned int size = 0;

    if (X509_digest(cert, EVP_sha256(), out, &size) != 1 || size != PKI_SHA256_BYTES) {
        ERR_clear_error();
        return ERR_NOMEM;
    }
    return OK;
}

/* Texts. */

enum err pki_x509_pem_take(BIO *bio, struct pki_pem *out, struct err_text *text)
{
    char *chars = NULL;
    long size = BIO_get_mem_data(bio, &chars);

    if (size <= 0 || size >= PKI_PEM_BYTES) {
        return err_text_set(text, ERR_TOO_BIG,
                            "a certificate would be longer than %d bytes: give it fewer names",
                            PKI_PEM_BYTES - 1);
    }
    memset(out, 0, sizeof(*out));
    memcpy(out->chars, chars, (size_t)size);
    out->size = (size_t)size;
    return OK;
}

enum err pki_x509_cert_pem(X509 *cert, struct pki_pem *out, struct err_text *text)
{
    BIO *bio = BIO_new(BIO_s_mem());
    enum err rc = bio != NULL && PEM_write_bio_X509(bio, cert) == 1
                      ? pki_x509_pem_take(bio, out, text)
                      : pki_x509_fault(text, ERR_NOMEM, "cannot write a certificate");

    BIO_free(bio);
    return rc;
}

enum err pki_x509_request_pem(X509_REQ *request, struct pki_pem *out, struct err_text *text)
{
    BIO *bio = BIO_new(BIO_s_mem());
    enum err rc = bio != NULL && PEM_write_bio_X509_REQ(bio, request) == 1
                      ? pki_x509_pem_take(bio, out, text)
                      : pki_x509_fault(text, ERR_NOMEM, "cannot write a signing request");

    BIO_free(bio);
    return rc;
}
