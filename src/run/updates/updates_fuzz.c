/* Fuzz files of recorded updates: lines and arrays as a whole; behind an 'm' what stands beside
 * them. What is read is in order and finite, and what is not has a place. */

#include "run/updates/file.h"

#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_meta(const char *chars, size_t size)
{
    struct err_text text = {""};
    struct updates_meta meta;

    if (updates_meta_parse("fuzz", chars, size, &meta, &text) == OK) {
        CHECK(meta.count >= 1 && meta.every >= 1 && meta.every <= RUN_UPDATES_EVERY_MAX);
        updates_meta_free(&meta);
    } else {
        CHECK(strncmp(text.text, "fuzz:", 5) == 0);
    }
}

static enum err fuzz_next(struct run_updates *u, uint64_t *clock, struct err_text *text)
{
    uint64_t before = *clock;
    enum err rc = run_updates_next(u, clock, text);
    const struct run_updates_part *part = run_updates_part(u, 0);

    CHECK(rc != OK || *clock == 0 || *clock > before);
    for (uint64_t i = 0; rc == OK && *clock != 0 && i < part->elements; i++) {
        CHECK(isfinite(part->values[i]));
    }
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run_updates *u = NULL;
    struct err_text text = {""};
    uint64_t clock = 0;
    FILE *file;
    enum err rc;

    if (size > 0 && data[0] == 'm') {
        fuzz_meta((const char *)data + 1, size - 1);
        return 0;
    }
    file = fmemopen((void *)(uintptr_t)data, size, "r");
    if (file == NULL) {
        return 0;
    }
    rc = run_updates_open_stream(file, "fuzz", size, &u, &text);
    if (rc == OK) {
        do {
            rc = fuzz_next(u, &clock, &text);
        } while (rc == OK && clock != 0);
    }
    run_updates_close(u);
    CHECK(rc == OK ||
          (strncmp(text.text, "fuzz:", 5) == 0 && strpbrk(text.text, "\n\033") == NULL));
    CHECK(rc == OK || rc == ERR_INVALID || rc == ERR_TOO_BIG);
    return 0;
}
