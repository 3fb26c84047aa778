/* Fuzz target: files of ratings. What is read well must be a whole: every part of it is within its
 * bounds, and the parts of three workers add up to that of one. */

#include "app/ratings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t fuzz_part(const uint8_t *data, size_t size, uint32_t rank, uint32_t workers,
                          const struct ratings *whole)
{
    struct ratings part;
    uint32_t count;

    CHECK(ratings_parse("fuzz", data, size, rank, workers, &part, NULL) == OK);
    CHECK(part.users == whole->users && part.items == whole->items);
    CHECK(part.user_first + part.user_count <= part.users);
    for (uint32_t i = 0; i < part.count; i++) {
        CHECK(part.list[i].user < part.user_count && part.list[i].item < part.items);
        CHECK(part.list[i].value - part.list[i].value == 0); /* Finite. */
    }
    count = part.count;
    ratings_deinit(&part);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err_text text;
    struct ratings whole;

    if (ratings_parse("fuzz", data, size, 0, 1, &whole, &text) == OK) {
        CHECK(fuzz_part(data, size, 0, 3, &whole) + fuzz_part(data, size, 1, 3, &whole) +
                  fuzz_part(data, size, 2, 3, &whole) ==
              whole.count);
        CHECK(fuzz_part(data, size, 0, 1, &whole) == whole.count);
        ratings_deinit(&whole);
    }
    return 0;
}
