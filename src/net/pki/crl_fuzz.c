/* Fuzz revocation lists: any list that decodes can be asked, and takes one more entry. Lists are
 * PEM; an input in DER is written as PEM first, so that a mutation reaches what is inside. */

#include "net/pki/crl.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_pem(const uint8_t *pem, size_t size)
{
    static const char serial[] = "0102030405060708090a0b0c";
    struct err_text text = {""};
    X509_CRL *crl = NULL;
    bool before = false, added = false, after = false;

    if (pki_crl_decode(pem, size, &crl, &text) != OK) {
        CHECK(crl == NULL && text.text[0] != '\0');
    } else {
        if (pki_crl_has(crl, serial, &before, &text) == OK &&
            pki_crl_add(crl, serial, 1748779200, &added, &text) == OK) {
            CHECK(added == !before);
            CHECK(pki_crl_has(crl, serial, &after, &text) == OK && after);
        }
        X509_CRL_free(crl);
    }
    CHECK(ERR_peek_error() == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    BIO *bio;
    char *pem = NULL;
    long used;

    if (size == 0 || data[0] != 0x30) {
        fuzz_pem(data, size);
        return 0;
    }
    bio = BIO_new(BIO_s_mem());
    CHECK(bio != NULL && PEM_write_bio(bio, "X509 CRL", "", data, (long)size) > 0);
    used = BIO_get_mem_data(bio, &pem);
    fuzz_pem((const uint8_t *)pem, (size_t)used);
    BIO_free(bio);
    return 0;
}
