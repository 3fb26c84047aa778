/* Fuzz the reader of journals: with the input as it is, and with head and check put right. */

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "store/journal.h"
#include "store/memory.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_committed(enum err rc, void *user)
{
    (void)user;
    CHECK(rc == OK);
}

static enum err fuzz_record(uint64_t number, uint32_t type, const uint8_t *bytes, size_t size,
                            void *user)
{
    uint64_t *sum = user;

    *sum += number + type;
    for (size_t i = 0; i < size; i++) {
        *sum += bytes[i];
    }
    return OK;
}

static void fuzz_read(struct loop *loop, struct store *store, const uint8_t *bytes, size_t size)
{
    struct store_writer *w;
    struct err_text text;
    uint64_t next, sum = 0;

    CHECK(store_begin(store, "a/j/00000000000000000001.journal", &w) == OK);
    if (size > 0) {
        CHECK(store_append(w, bytes, size) == OK);
    }
    store_commit(w, fuzz_committed, NULL);
    loop_manual_advance(loop, loop_manual_next_ns(loop));
    (void)journal_read(store, "a/j", fuzz_record, &sum, &next, &text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct store_memory_config config = {(uint64_t)16 << 20, 0};
    static struct loop *loop;
    static struct store *store;
    uint8_t *bytes;

    if (loop == NULL) {
        CHECK(loop_create_manual(0, &loop) == OK);
        CHECK(store_memory_create(&config, loop, &store) == OK);
    }
    if (size > STORE_APPEND_BYTES_MAX / 2) {
        return 0;
    }
    fuzz_read(loop, store, data, size);
    bytes = mem_calloc(JOURNAL_HEAD_BYTES + size, 1);
    CHECK(bytes != NULL);
    memcpy(bytes, "strait-journal-1", 16);
    bytes_store64(bytes + 16, 1);
    bytes_store64(bytes + 24, size);
    bytes_store64(bytes + 32, hash_bytes(data, size));
    if (size > 0) {
        memcpy(bytes + JOURNAL_HEAD_BYTES, data, size);
    }
    fuzz_read(loop, store, bytes, JOURNAL_HEAD_BYTES + size);
    mem_free(bytes);
    return 0;
}
