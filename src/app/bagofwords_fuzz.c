/* Fuzz target: UCI bag-of-words files. What is read well must be a whole: words within their
 * bounds, and the parts of three workers add up to that of one. */

#include "app/bagofwords.h"

#include <stdbool.h>

enum { FUZZ_TOKENS_MAX = 100000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t fuzz_part(const uint8_t *data, size_t size, uint32_t rank, uint32_t workers,
                          const struct bagofwords *whole)
{
    struct bagofwords part;
    uint32_t tokens;

    CHECK(bagofwords_parse("fuzz", data, size, FUZZ_TOKENS_MAX, rank, workers, &part, NULL) == OK);
    CHECK(part.documents == whole->documents && part.words == whole->words);
    CHECK(part.first + part.count <= part.documents && part.starts[0] == 0);
    for (uint32_t d = 0; d < part.count; d++) {
        CHECK(part.starts[d] <= part.starts[d + 1]);
    }
    tokens = part.starts[part.count];
    for (uint32_t i = 0; i < tokens; i++) {
        CHECK(part.tokens[i] < part.words);
        CHECK(part.tokens[i] == whole->tokens[whole->starts[part.first] + i]);
    }
    bagofwords_deinit(&part);
    return tokens;
}

/* Millions of empty documents cost much time and find nothing. */
static bool fuzz_is_short(const uint8_t *data, size_t size)
{
    size_t first_line = 0;

    while (first_line < size && data[first_line] != '\n') {
        first_line++;
    }
    return first_line < 6;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bagofwords whole;
    struct err_text text;

    if (fuzz_is_short(data, size) &&
        bagofwords_parse("fuzz", data, size, FUZZ_TOKENS_MAX, 0, 1, &whole, &text) == OK) {
        CHECK(whole.count == whole.documents);
        CHECK(fuzz_part(data, size, 0, 3, &whole) + fuzz_part(data, size, 1, 3, &whole) +
                  fuzz_part(data, size, 2, 3, &whole) ==
              whole.starts[whole.count]);
        bagofwords_deinit(&whole);
    }
    return 0;
}
