/* Fuzz topology files: what is read well is read the same once printed; what is not is refused with
 * a place. */

#include "base/mem.h"
#include "topo/file.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_again(const struct topo *t)
{
    struct topo *again = NULL;
    struct err_text why = {""};
    struct text text;

    CHECK(text_init(&text, TOPO_PRINT_BYTES_MAX) == OK);
    topo_print(t, 0, &text);
    CHECK(!text.failed);
    CHECK(topo_file_parse("again", text.chars, text.size, &again, &why) == OK);
    CHECK(topo_equal(t, again));
    topo_destroy(again);
    text_deinit(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct topo *t = NULL;
    struct err_text why = {""};

    if (topo_file_parse("fuzz", (const char *)data, size, &t, &why) == OK) {
        fuzz_again(t);
        topo_destroy(t);
    } else {
        CHECK(t == NULL);
        CHECK(strncmp(why.text, "fuzz:", 5) == 0);
        CHECK(why.text[5] >= '0' && why.text[5] <= '9');
        CHECK(strpbrk(why.text, "\n\033") == NULL);
    }
    return 0;
}
