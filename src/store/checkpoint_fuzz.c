/* Fuzz the reader of checkpoints: with the input as it is, and with its numbers, counts and checks
 * put right. What is read well is written again and must be the same bytes. */

#include "store/checkpoint.h"

#include "base/mem.h"
#include "loop/loop.h"
#include "store/memory.h"
#include "store/seal_testing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_BYTES_MAX = STORE_APPEND_BYTES_MAX };

struct fuzz {
    struct loop *loop;
    struct store *store;
    struct checkpoint_writer *writer;
};

static struct fuzz *fuzz_start(void)
{
    static struct fuzz f;
    const struct store_memory_config config = {(uint64_t)64 << 20, 0};

    if (f.loop == NULL) {
        CHECK(loop_create_manual(0, &f.loop) == OK);
        CHECK(store_memory_create(&config, f.loop, &f.store) == OK);
    }
    return &f;
}

static void fuzz_committed(enum err rc, void *user)
{
    (void)user;
    CHECK(rc == OK);
}

static void fuzz_put(struct fuzz *f, const uint8_t *bytes, size_t size)
{
    struct store_writer *w;

    CHECK(store_begin(f->store, "in", &w) == OK);
    CHECK(store_append(w, bytes, size) == OK);
    store_commit(w, fuzz_committed, NULL);
    loop_manual_advance(f->loop, loop_manual_next_ns(f->loop));
}

static enum err fuzz_head(const struct checkpoint_head *head, void *user)
{
    struct fuzz *f = user;

    CHECK(checkpoint_begin(f->store, "out", head, &f->writer) == OK);
    return OK;
}

static enum err fuzz_chunk(const struct checkpoint_chunk *chunk, void *user)
{
    struct fuzz *f = user;

    CHECK(checkpoint_add(f->writer, chunk) == OK);
    return OK;
}

/* What was read and written again is the input. */
static void fuzz_same(struct fuzz *f, const uint8_t *bytes, size_t size)
{
    uint8_t *again = mem_zalloc(size + 1);
    size_t done;

    CHECK(again != NULL);
    CHECK(checkpoint_commit(f->writer, fuzz_committed, NULL) == OK);
    loop_manual_advance(f->loop, loop_manual_next_ns(f->loop));
    CHECK(store_read(f->store, "out", 0, again, size + 1, &done) == OK);
    CHECK(done == size && memcmp(again, bytes, size) == 0);
    mem_free(again);
}

static void fuzz_read(struct fuzz *f, const uint8_t *bytes, size_t size)
{
    const struct checkpoint_reader_events events = {fuzz_head, fuzz_chunk};
    struct err_text text;
    enum err rc;

    fuzz_put(f, bytes, size);
    rc = checkpoint_read(f->store, "in", &events, f, &text);
    CHECK(rc == OK || rc == ERR_CORRUPT || rc == ERR_VERSION);
    if (rc == OK) {
        fuzz_same(f, bytes, size);
    }
}

/* Numbers and counts as the records have them. */
static void fuzz_repair(uint8_t *bytes, size_t size)
{
    uint8_t *end = bytes + size - FORMAT_END_BYTES;
    uint64_t elements = 0;
    uint32_t index = 0;
    uint8_t *record = bytes;

    memcpy(bytes, "STRAITCP\1", 10);
    while (record < end) {
        if (index > 0) {
            memcpy(record, "chunk\0\0", 8);
            bytes_store32(record + 8, index);
            bytes_store64(record + 40, bytes_load64(bytes + 16));
            elements += bytes_load32(record + 20);
        }
        record += FORMAT_HEADER_BYTES;
        record += seal_body(record - FORMAT_HEADER_BYTES, index == 0, (size_t)(end - record));
        index++;
    }
    memset(end, 0, FORMAT_END_BYTES);
    memcpy(end, "end", 3);
    bytes_store32(end + 8, index);
    bytes_store64(end + 16, bytes_load64(bytes + 16));
    bytes_store64(end + 24, size);
    bytes_store64(end + 32, index - 1);
    bytes_store64(end + 40, elements);
    seal_checks(bytes, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz *f = fuzz_start();
    uint8_t *copy;

    if (size > INPUT_BYTES_MAX) {
        return 0;
    }
    fuzz_read(f, data, size);
    size -= size % FORMAT_ALIGN;
    if (size < FORMAT_HEADER_BYTES + FORMAT_END_BYTES) {
        return 0;
    }
    copy = mem_zalloc(size);
    CHECK(copy != NULL);
    memcpy(copy, data, size);
    fuzz_repair(copy, size);
    fuzz_read(f, copy, size);
    mem_free(copy);
    return 0;
}
