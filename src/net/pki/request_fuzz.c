/* Fuzz signing requests, which come from strangers: what is accepted holds an Ed25519 key. */

#include "net/pki/ca_inner.h"

#include <openssl/err.h>
#include <openssl/evp.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err_text text = {""};
    EVP_PKEY *key = NULL;
    enum err rc = pki_request_key(data, size, &key, &text);

    CHECK((rc == OK) == (key != NULL));
    CHECK((rc == OK) == (text.text[0] == '\0'));
    CHECK(rc != OK || EVP_PKEY_is_a(key, "ED25519") == 1);
    CHECK(rc != OK || size <= PKI_PEM_BYTES);
    EVP_PKEY_free(key);
    CHECK(ERR_peek_error() == 0);
    return 0;
}
