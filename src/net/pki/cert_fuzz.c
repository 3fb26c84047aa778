/* Fuzz certificates: what a stranger may show us. What decodes can be described, says who it is in
 * one spelling or not at all, and is the same once written. Nothing is left in OpenSSL's queue. */

#include "net/pki/x509.h"

#include <openssl/err.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_identity(X509 *cert)
{
    char chars[PKI_IDENTITY_TEXT_BYTES];
    struct pki_identity identity, again;
    struct err_text text = {""};

    if (pki_identity_from_cert(cert, &identity, &text) != OK) {
        CHECK(text.text[0] != '\0');
        return;
    }
    CHECK(identity.role != WIRE_ROLE_STRANGER);
    CHECK(pki_name_valid(identity.site) && pki_name_valid(identity.name));
    CHECK(pki_identity_parse(pki_identity_format(&identity, chars), &again, NULL) == OK);
    CHECK(pki_identity_equal(&identity, &again));
}

static void fuzz_printable(const char *text, size_t size)
{
    CHECK(strnlen(text, size) < size);
    for (; *text != '\0'; text++) {
        CHECK(*text >= 0x20 && *text < 0x7f);
    }
}

static void fuzz_describe(X509 *cert)
{
    struct pki_description d;
    struct err_text text = {""};

    if (pki_cert_describe(cert, &d, &text) != OK) {
        CHECK(text.text[0] != '\0');
        return;
    }
    fuzz_printable(d.subject, sizeof(d.subject));
    fuzz_printable(d.issuer, sizeof(d.issuer));
    fuzz_printable(d.serial, sizeof(d.serial));
    CHECK(strlen(d.serial) > 0 && strlen(d.serial) % 2 == 0);
    CHECK(strlen(d.fingerprint) == PKI_FINGERPRINT_TEXT_BYTES - 1);
}

static void fuzz_written(X509 *cert)
{
    struct pki_pem pem;
    X509 *again = NULL;

    if (pki_x509_cert_pem(cert, &pem, NULL) == OK) {
        CHECK(strlen(pem.chars) == pem.size);
        CHECK(pki_cert_decode(pem.chars, pem.size, &again, NULL) == OK);
        CHECK(ERR_peek_error() == 0);
        CHECK(X509_cmp(cert, again) == 0);
        ERR_clear_error(); /* Comparing looks at extensions too. */
        X509_free(again);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err_text text = {""};
    X509 *cert = NULL;

    if (pki_cert_decode(data, size, &cert, &text) != OK) {
        CHECK(cert == NULL && text.text[0] != '\0');
    } else {
        const uint8_t pin[PKI_PIN_BYTES] = {0};

        fuzz_identity(cert);
        fuzz_describe(cert);
        fuzz_written(cert);
        CHECK(!pki_pin_matches(cert, pin));
        X509_free(cert);
    }
    CHECK(ERR_peek_error() == 0);
    return 0;
}
