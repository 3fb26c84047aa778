/* Fuzz the text of a chain. What is understood is understood the same once printed; what is not has
 * a reason. */

#include "codec/chain.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_chain(const struct codec_chain *chain)
{
    char chars[CODEC_CHAIN_TEXT_BYTES];
    struct codec_chain again;

    CHECK(chain->cut < CODEC_CUTS && chain->form < CODEC_FORMS &&
          chain->squeeze <= CODEC_SQUEEZE_AUTO);
    CHECK(chain->low >= 0 && chain->low <= chain->up && chain->up <= 1e6F);
    CHECK(chain->cut != CODEC_CUT_NONE || chain->up == 0);
    CHECK(chain->squeeze != CODEC_SQUEEZE_AUTO || chain->form == CODEC_FORM_AUTO);
    codec_chain_print(chain, chars, sizeof(chars));
    CHECK(codec_chain_parse(chars, &again, NULL) == OK);
    CHECK(codec_chain_equal(chain, &again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err_text text = {""};
    struct codec_chain chain;
    char *chars = malloc(size + 1);

    CHECK(chars != NULL);
    if (size > 0) {
        memcpy(chars, data, size);
    }
    chars[size] = '\0';
    if (codec_chain_parse(chars, &chain, &text) == OK) {
        check_chain(&chain);
    } else {
        CHECK(text.text[0] != '\0');
    }
    free(chars);
    return 0;
}
