/* Fuzz target: LIBSVM files. What is read well must be a whole: features ascend within their
 * bounds, and the parts of three workers add up to that of one. */

#include "app/libsvm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t fuzz_part(const uint8_t *data, size_t size, uint32_t rank, uint32_t workers,
                          const struct libsvm *whole)
{
    struct libsvm part;
    uint64_t entries;

    CHECK(libsvm_parse("fuzz", data, size, 0, rank, workers, &part, NULL) == OK);
    CHECK(part.features == whole->features && part.samples == whole->samples);
    CHECK(part.first + part.count <= part.samples && part.starts[0] == 0);
    for (uint32_t i = 0; i < part.count; i++) {
        uint32_t last = 0;

        CHECK(part.positive[i] == whole->positive[part.first + i]);
        for (uint64_t k = part.starts[i]; k < part.starts[i + 1]; k++) {
            CHECK(part.entries[k].feature > last && part.entries[k].feature <= part.features);
            CHECK(part.entries[k].value - part.entries[k].value == 0); /* Finite. */
            last = part.entries[k].feature;
        }
    }
    entries = part.starts[part.count];
    libsvm_deinit(&part);
    return entries;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err_text text;
    struct libsvm whole;

    if (libsvm_parse("fuzz", data, size, 0, 0, 1, &whole, &text) == OK) {
        CHECK(whole.count == whole.samples);
        CHECK(fuzz_part(data, size, 0, 3, &whole) + fuzz_part(data, size, 1, 3, &whole) +
                  fuzz_part(data, size, 2, 3, &whole) ==
              whole.starts[whole.count]);
        CHECK(fuzz_part(data, size, 0, 1, &whole) == whole.starts[whole.count]);
        libsvm_deinit(&whole);
    }
    return 0;
}
