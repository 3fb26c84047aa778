/* Fuzz the reader of manifests: what it takes is written as the same bytes, also with a check that
 * was put right. */

#include "store/manifest.h"

#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_one(const char *text, size_t size)
{
    char again[MANIFEST_BYTES_MAX + 1];
    struct manifest m;

    if (manifest_decode(text, size, &m) == OK) {
        CHECK(manifest_encode(&m, again) == size);
        CHECK(memcmp(again, text, size) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char sealed[MANIFEST_BYTES_MAX + 64];

    fuzz_one((const char *)data, size);
    if (size < MANIFEST_BYTES_MAX - 32) {
        memcpy(sealed, data, size);
        size +=
            (size_t)snprintf(sealed + size, 32, "check %016" PRIx64 "\n", hash_bytes(data, size));
        fuzz_one(sealed, size);
    }
    return 0;
}
