/* Fuzz the text of tokens: it has one spelling but for the case, and an error repeats none of it.
 */

#include "net/pki/token.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_good(char *chars, const struct pki_token *token)
{
    struct pki_token again;
    size_t prefix = strlen("strait1.");

    CHECK(strlen(chars) == PKI_TOKEN_TEXT_BYTES - 1);
    CHECK(strlen(token->id) == PKI_TOKEN_ID_CHARS);
    CHECK(strspn(token->id, "abcdefghijklmnopqrstuvwxyz234567") == PKI_TOKEN_ID_CHARS);
    for (char *at = chars + prefix; *at != '\0'; at++) {
        *at = (char)toupper((unsigned char)*at);
    }
    CHECK(pki_token_parse(chars, &again, NULL) == OK);
    CHECK(memcmp(token, &again, sizeof(again)) == 0);
    chars[prefix] = chars[prefix] == 'A' ? 'B' : 'A';
    CHECK(pki_token_parse(chars, &again, NULL) == OK);
    CHECK(memcmp(token, &again, sizeof(again)) != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err_text text = {""};
    struct pki_token token;
    char *chars = malloc(size + 1);

    CHECK(chars != NULL);
    if (size > 0) {
        memcpy(chars, data, size);
    }
    chars[size] = '\0';
    if (pki_token_parse(chars, &token, &text) == OK) {
        fuzz_good(chars, &token);
    } else {
        struct err_text other = {""};

        CHECK(pki_token_parse("", &token, &other) == ERR_INVALID);
        CHECK(strcmp(text.text, other.text) == 0);
    }
    free(chars);
    return 0;
}
