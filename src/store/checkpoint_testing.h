/* For tests of checkpoints: random ones, that a seed makes again for comparing. */

#ifndef STORE_CHECKPOINT_TESTING_H
#define STORE_CHECKPOINT_TESTING_H

#include "base/rng.h"
#include "base/text.h"
#include "store/checkpoint.h"
#include "store/memory.h"
#include "store/testing.h"

enum { SAMPLE_CHUNKS_MAX = 8 };

/* A checkpoint in memory. */
struct sample {
    struct checkpoint_head head;
    uint32_t chunk_count;
    struct checkpoint_chunk chunks[SAMPLE_CHUNKS_MAX];
    struct checkpoint_member *members[SAMPLE_CHUNKS_MAX];
    float *values[SAMPLE_CHUNKS_MAX];
    char describe[256];
};

static inline void sample_chunk(struct sample *s, uint32_t i, struct rng *rng, uint32_t count,
                                uint32_t member_count)
{
    struct checkpoint_chunk *c = &s->chunks[i];
    uint32_t rank = 0;

    s->values[i] = mem_calloc(count, sizeof(float));
    s->members[i] = mem_calloc(member_count + 1, sizeof(struct checkpoint_member));
    assert_non_null(s->values[i]);
    assert_non_null(s->members[i]);
    for (uint32_t k = 0; k < count; k++) {
        s->values[i][k] = (float)rng_unit(rng);
    }
    for (uint32_t k = 0; k < member_count; k++) {
        rank += 1 + (uint32_t)rng_below(rng, 3);
        s->members[i][k] = (struct checkpoint_member){rank, rng_next(rng), rng_next(rng)};
    }
    *c = (struct checkpoint_chunk){
        .table = (uint16_t)rng_next(rng),
        .plane = member_count > 0 ? 0 : (uint16_t)rng_below(rng, 2),
        .chunk = i,
        .version = rng_next(rng),
        .member_count = member_count,
        .members = s->members[i],
        .count = count,
        .values = s->values[i],
    };
}

/* Random, but the same for each seed: at most @count_max values in a chunk. */
static inline void sample_init(struct sample *s, uint64_t number, uint64_t seed, uint32_t count_max)
{
    struct rng rng;
    int n;

    *s = (struct sample){0};
    rng_init(&rng, seed);
    s->chunk_count = (uint32_t)rng_below(&rng, SAMPLE_CHUNKS_MAX + 1);
    n = snprintf(s->describe, sizeof(s->describe), "{\"seed\":%llu,\"text\":\"%.*s\"}",
                 (unsigned long long)seed, (int)rng_below(&rng, 120),
                 "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9 lorem ipsum dolor sit amet, consetetur "
                 "sadipscing elitr, sed diam nonumy eirmod tempor invidunt ut labore et dolore");
    assert_true(n > 0 && n < (int)sizeof(s->describe));
    if (!text_is_utf8(s->describe)) { /* Cut within a character. */
        (void)snprintf(s->describe, sizeof(s->describe), "{}");
    }
    s->head = (struct checkpoint_head){
        .number = number,
        .shard = 3,
        .shards = 4 + (uint32_t)rng_below(&rng, 10),
        .clock = rng_next(&rng),
        .wall_us = (int64_t)rng_next(&rng),
        .site = "eu",
        .describe = s->describe,
    };
    for (uint32_t i = 0; i < s->chunk_count; i++) {
        uint32_t count = 1 + (uint32_t)rng_below(&rng, count_max);

        sample_chunk(s, i, &rng, count, (uint32_t)rng_below(&rng, 6));
    }
}

static inline void sample_deinit(struct sample *s)
{
    for (uint32_t i = 0; i < SAMPLE_CHUNKS_MAX; i++) {
        mem_free(s->values[i]);
        mem_free(s->members[i]);
    }
}

/* Write it; the first error, and nothing is left then. */
static inline enum err sample_write_as(struct loop *loop, struct store *s, const struct sample *in,
                                       const char *name)
{
    struct store_result result = {0};
    struct checkpoint_writer *w = NULL;
    enum err rc = checkpoint_begin(s, name, &in->head, &w);

    if (rc != OK) {
        return rc;
    }
    for (uint32_t i = 0; i < in->chunk_count;) {
        rc = checkpoint_add(w, &in->chunks[i]);
        if (rc == ERR_AGAIN) {
            store_turn(loop);
        } else if (rc != OK) {
            checkpoint_abort(w);
            return rc;
        } else {
            i++;
        }
    }
    while ((rc = checkpoint_commit(w, store_result_set, &result)) == ERR_AGAIN) {
        store_turn(loop);
    }
    assert_int_equal(rc, OK);
    STORE_TURN_UNTIL(loop, result.calls > 0);
    return result.rc;
}

static inline enum err sample_write(struct loop *loop, struct store *s, const struct sample *in)
{
    char name[STORE_NAME_BYTES];

    checkpoint_name(in->head.site, in->head.shard, in->head.number, name, sizeof(name));
    return sample_write_as(loop, s, in, name);
}

/* Compares what is read with a sample. */
struct sample_reader {
    const struct sample *want;
    uint32_t heads;
    uint32_t chunks;
};

static inline enum err sample_head_equal(const struct checkpoint_head *head, void *user)
{
    struct sample_reader *r = user;
    const struct checkpoint_head *want = &r->want->head;

    assert_int_equal(r->chunks, 0);
    assert_int_equal(head->number, want->number);
    assert_int_equal(head->shard, want->shard);
    assert_int_equal(head->shards, want->shards);
    assert_int_equal(head->clock, want->clock);
    assert_int_equal(head->wall_us, want->wall_us);
    assert_string_equal(head->site, want->site);
    assert_string_equal(head->describe, want->describe);
    r->heads++;
    return OK;
}

static inline enum err sample_chunk_equal(const struct checkpoint_chunk *chunk, void *user)
{
    struct sample_reader *r = user;
    const struct checkpoint_chunk *want = &r->want->chunks[r->chunks];

    assert_int_equal(r->heads, 1);
    assert_true(r->chunks < r->want->chunk_count);
    assert_int_equal(chunk->table, want->table);
    assert_int_equal(chunk->plane, want->plane);
    assert_int_equal(chunk->chunk, want->chunk);
    assert_int_equal(chunk->version, want->version);
    assert_int_equal(chunk->count, want->count);
    assert_memory_equal(chunk->values, want->values, want->count * sizeof(float));
    assert_int_equal(chunk->member_count, want->member_count);
    for (uint32_t i = 0; i < want->member_count; i++) {
        assert_int_equal(chunk->members[i].rank, want->members[i].rank);
        assert_int_equal(chunk->members[i].incarnation, want->members[i].incarnation);
        assert_int_equal(chunk->members[i].clock, want->members[i].clock);
    }
    r->chunks++;
    return OK;
}

static const struct checkpoint_reader_events sample_events = {sample_head_equal,
                                                              sample_chunk_equal};

/* The object is exactly that checkpoint. */
static inline void assert_sample_as(struct store *s, const struct sample *want, const char *name)
{
    struct sample_reader reader = {want, 0, 0};
    struct err_text text = {""};
    enum err rc = checkpoint_read(s, name, &sample_events, &reader, &text);

    assert_string_equal(text.text, "");
    assert_int_equal(rc, OK);
    assert_int_equal(reader.heads, 1);
    assert_int_equal(reader.chunks, want->chunk_count);
}

static inline void assert_sample(struct store *s, const struct sample *want)
{
    char name[STORE_NAME_BYTES];

    checkpoint_name(want->head.site, want->head.shard, want->head.number, name, sizeof(name));
    assert_sample_as(s, want, name);
}

/* The newest whole one has that number, and so many newer ones were skipped. */
static inline void assert_newest(struct store *s, uint64_t number, uint32_t skipped)
{
    char name[STORE_NAME_BYTES] = "";
    char want[STORE_NAME_BYTES];
    struct err_text text;
    uint64_t got = 0;
    uint32_t got_skipped = 99;

    assert_int_equal(checkpoint_newest(s, "eu", 3, name, sizeof(name), &got, &got_skipped, &text),
                     OK);
    assert_int_equal(got, number);
    assert_int_equal(got_skipped, skipped);
    assert_int_equal(text.text[0] != '\0', skipped > 0);
    checkpoint_name("eu", 3, number, want, sizeof(want));
    assert_string_equal(name, want);
}

/* A memory store on a manual loop. */
struct place {
    struct loop *loop;
    struct store *store;
};

static inline int place_setup(void **state)
{
    const struct store_memory_config config = {(uint64_t)1 << 30, 1000};
    struct place *p = mem_zalloc(sizeof(*p));

    assert_non_null(p);
    assert_int_equal(loop_create_manual(0, &p->loop), OK);
    assert_int_equal(store_memory_create(&config, p->loop, &p->store), OK);
    *state = p;
    return 0;
}

static inline int place_teardown(void **state)
{
    struct place *p = *state;

    store_destroy(p->store);
    loop_destroy(p->loop);
    mem_free(p);
    return 0;
}

#define PLACE(test) cmocka_unit_test_setup_teardown((test), place_setup, place_teardown)

/* The bytes of an object, to be freed. */
static inline uint8_t *object_bytes(struct store *s, const char *name, size_t *size_out)
{
    uint64_t size = 0;
    uint8_t *bytes;

    assert_int_equal(store_size(s, name, &size), OK);
    bytes = mem_zalloc((size_t)size + 1);
    assert_non_null(bytes);
    assert_int_equal(store_read(s, name, 0, bytes, (size_t)size, size_out), OK);
    assert_int_equal(*size_out, size);
    return bytes;
}

#endif
