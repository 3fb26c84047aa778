/* Checkpoints under damage: 10,000 damaged files, a disk that fails at every operation, memory that
 * ends at every allocation, and a store that hesitates. Each time the one before is found. */

#include "store/checkpoint.h"

#include "store/checkpoint_testing.h"

#include <stdlib.h>

enum { DAMAGES = 10000, BLOCK_BYTES_MAX = 4096 };

enum damage {
    DAMAGE_BIT,
    DAMAGE_BYTE,
    DAMAGE_CUT,
    DAMAGE_EXTEND,
    DAMAGE_SWAP,
    DAMAGE_ZERO,
    DAMAGE_DUPLICATE,
    DAMAGE_KINDS,
};

/* Up to twice as many bytes as a file has. */
struct bytes {
    uint8_t *at;
    size_t size;
};

/* Blocks are those of disks, or of the format. */
static size_t random_block(struct rng *rng, size_t size)
{
    size_t block = (size_t)64 << rng_below(rng, 7);

    while (block > 64 && block * 2 > size) {
        block /= 2;
    }
    return block;
}

static void swap_blocks(struct bytes *b, struct rng *rng)
{
    size_t block = random_block(rng, b->size);
    uint8_t *one = b->at + rng_below(rng, b->size / block) * block;
    uint8_t *two = b->at + rng_below(rng, b->size / block) * block;
    uint8_t copy[BLOCK_BYTES_MAX];

    memcpy(copy, one, block);
    memmove(one, two, block);
    memcpy(two, copy, block);
}

/* A block appears twice, over the next one or before it. */
static void duplicate_block(struct bytes *b, struct rng *rng)
{
    size_t block = random_block(rng, b->size);
    uint64_t index = rng_below(rng, b->size / block);
    uint8_t *one = b->at + index * block;
    uint8_t *end = b->at + b->size;

    if (rng_below(rng, 2) == 0) {
        memmove(one + block, one, (size_t)(end - one));
        b->size += block;
    } else if (one + 2 * block <= end) {
        memcpy(one + block, one, block);
    }
}

static void damage_bytes(struct bytes *b, enum damage kind, struct rng *rng)
{
    size_t at = (size_t)rng_below(rng, b->size);
    size_t block = random_block(rng, b->size);
    size_t more;

    switch (kind) {
    case DAMAGE_BIT:
        b->at[at] ^= (uint8_t)(1u << rng_below(rng, 8));
        break;
    case DAMAGE_BYTE:
        b->at[at] = (uint8_t)rng_next(rng);
        break;
    case DAMAGE_CUT:
        b->size = at;
        break;
    case DAMAGE_EXTEND:
        more = 1 + (size_t)rng_below(rng, 500);
        memset(b->at + b->size, rng_below(rng, 2) == 0 ? 0 : (int)rng_below(rng, 256), more);
        b->size += more;
        break;
    case DAMAGE_SWAP:
        swap_blocks(b, rng);
        break;
    case DAMAGE_ZERO:
        memset(b->at + at / block * block, 0,
               b->size - at / block * block < block ? b->size - at / block * block : block);
        break;
    default:
        duplicate_block(b, rng);
        break;
    }
}

/* Whole checkpoints, of which @good is the newest; @name is a place for a damaged one. */
struct victim {
    struct sample sample;
    uint8_t *bytes;
    size_t size;
};

static void victim_init(struct victim *v, struct place *p, uint64_t seed)
{
    static const char name[] = "eu/shard-0003/00000000000000000042.ckpt";

    sample_init(&v->sample, 42, seed, seed % 5 == 0 ? 4000 : 100);
    assert_int_equal(sample_write(p->loop, p->store, &v->sample), OK);
    v->bytes = object_bytes(p->store, name, &v->size);
}

static void victim_deinit(struct victim *v)
{
    sample_deinit(&v->sample);
    mem_free(v->bytes);
}

/* Damage it once in a way that changes something, and look for the newest. */
static bool strike(struct place *p, const struct victim *v, enum damage kind, struct rng *rng)
{
    static const char name[] = "eu/shard-0003/00000000000000000042.ckpt";
    struct bytes b = {mem_zalloc(2 * v->size + 2 * BLOCK_BYTES_MAX), v->size};
    bool changed;

    assert_non_null(b.at);
    memcpy(b.at, v->bytes, v->size);
    damage_bytes(&b, kind, rng);
    changed = b.size != v->size || memcmp(b.at, v->bytes, v->size) != 0;
    if (changed) {
        struct sample_reader reader = {&v->sample, 0, 0};
        struct err_text text = {""};

        assert_int_equal(store_put(p->loop, p->store, name, b.at, b.size), OK);
        assert_int_equal(checkpoint_read(p->store, name, &sample_events, &reader, &text),
                         ERR_CORRUPT);
        assert_int_equal(reader.heads + reader.chunks, 0);
        assert_non_null(strstr(text.text, "is damaged"));
        assert_newest(p->store, 41, 1);
    }
    mem_free(b.at);
    return changed;
}

static void test_ten_thousand_damages_are_all_seen(void **state)
{
    struct place *p = *state;
    uint32_t struck[DAMAGE_KINDS] = {0};
    uint32_t goal = getenv("STRAIT_VALGRIND") != NULL ? DAMAGES / 50 : DAMAGES;
    uint32_t total = 0;
    struct sample before;
    struct rng rng;

    rng_init(&rng, 2026);
    sample_init(&before, 41, 1, 100);
    assert_int_equal(sample_write(p->loop, p->store, &before), OK);
    for (uint64_t seed = 0; total < goal; seed++) {
        struct victim v;

        victim_init(&v, p, seed);
        assert_newest(p->store, 42, 0);
        for (uint32_t i = 0; i < 50 && total < goal; i++) {
            enum damage kind = (enum damage)rng_below(&rng, DAMAGE_KINDS);
            bool changed = strike(p, &v, kind, &rng);

            struck[kind] += changed;
            total += changed;
        }
        victim_deinit(&v);
    }
    for (uint32_t i = 0; i < DAMAGE_KINDS; i++) {
        assert_true(struck[i] >= goal / 20);
    }
    assert_sample(p->store, &before);
    sample_deinit(&before);
}

/* Not at random: each single bit of a small one. */
static void test_every_flipped_bit_and_every_cut_is_seen(void **state)
{
    static const char name[] = "eu/shard-0003/00000000000000000042.ckpt";
    const struct checkpoint_member members[] = {{7, 1, 41}};
    const float values[] = {0.0f, 1.0f};
    const struct sample s = {
        .head = {42, 3, 8, 40, 0, "eu", "{}"},
        .chunk_count = 1,
        .chunks = {{0, 0, 0, 42, 1, members, 2, values}},
    };
    struct place *p = *state;
    size_t size = 0;
    uint8_t *bytes;

    assert_int_equal(sample_write(p->loop, p->store, &s), OK);
    bytes = object_bytes(p->store, name, &size);
    for (size_t bit = 0; bit < size * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(store_put(p->loop, p->store, name, bytes, size), OK);
        assert_int_equal(checkpoint_check(p->store, name, NULL), ERR_CORRUPT);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t cut = 0; cut < size; cut++) {
        assert_int_equal(store_put(p->loop, p->store, name, bytes, cut), OK);
        assert_int_equal(checkpoint_check(p->store, name, NULL), ERR_CORRUPT);
    }
    assert_int_equal(store_put(p->loop, p->store, name, bytes, size), OK);
    assert_int_equal(checkpoint_check(p->store, name, NULL), OK);
    mem_free(bytes);
}

static void test_a_disk_that_fails_at_any_operation_leaves_the_old_one(void **state)
{
    struct place *p = *state;
    struct sample old, new;

    sample_init(&old, 41, 1, 100);
    sample_init(&new, 42, 7, 100);
    assert_true(new.chunk_count > 2);
    assert_int_equal(sample_write(p->loop, p->store, &old), OK);
    for (uint32_t fault = 0; fault < STORE_FAULTS; fault++) {
        bool commits = fault == STORE_FAULT_SYNC || fault == STORE_FAULT_RENAME;
        uint64_t met = 0;
        enum err rc;

        for (uint64_t k = 1;; k++) {
            store_memory_fault_at(p->store, fault, k);
            rc = sample_write(p->loop, p->store, &new);
            if (store_memory_fault_count(p->store, fault) == met) {
                break;
            }
            met++;
            assert_int_equal(rc, fault == STORE_FAULT_FULL ? ERR_FULL : ERR_IO);
            assert_newest(p->store, 41, 0);
            assert_sample(p->store, &old);
        }
        assert_int_equal(rc, OK);
        assert_int_equal(met, commits ? 1 : new.chunk_count + 2);
        assert_newest(p->store, 42, 0);
        store_memory_fault_at(p->store, fault, 0);
        assert_int_equal(store_remove(p->store, "eu/shard-0003/00000000000000000042.ckpt"), OK);
    }
    sample_deinit(&old);
    sample_deinit(&new);
}

/* Whoever ignores the error of an added chunk is told by committed(). */
static void test_a_checkpoint_with_a_hole_is_not_committed(void **state)
{
    struct place *p = *state;
    struct store_result result = {0};
    struct checkpoint_writer *w = NULL;
    struct sample s;

    sample_init(&s, 42, 7, 100);
    assert_int_equal(checkpoint_begin(p->store, "x", &s.head, &w), OK);
    assert_int_equal(checkpoint_add(w, &s.chunks[0]), OK);
    store_memory_fault_at(p->store, STORE_FAULT_FULL, 1);
    assert_int_equal(checkpoint_add(w, &s.chunks[1]), ERR_FULL);
    assert_int_equal(checkpoint_add(w, &s.chunks[2]), ERR_FULL);
    assert_int_equal(checkpoint_commit(w, store_result_set, &result), OK);
    STORE_TURN_UNTIL(p->loop, result.calls > 0);
    assert_int_equal(result.rc, ERR_FULL);
    assert_no_object(p->store, "x");
    sample_deinit(&s);
}

static enum err write_and_read(struct place *p, const struct sample *new)
{
    struct sample_reader reader = {new, 0, 0};
    enum err rc = sample_write_as(p->loop, p->store, new, "new");
    char name[STORE_NAME_BYTES];
    uint64_t number;
    uint32_t skipped;

    if (rc == OK) {
        rc = checkpoint_read(p->store, "new", &sample_events, &reader, NULL);
    }
    if (rc == OK) {
        rc = checkpoint_newest(p->store, "eu", 3, name, sizeof(name), &number, &skipped, NULL);
    }
    return rc == OK ? checkpoint_prune(p->store, "eu", 3, &number, 1) : rc;
}

static void test_every_failed_allocation_is_survived(void **state)
{
    struct place *p = *state;
    struct sample old, new;
    uint64_t k = 0;
    enum err rc;

    sample_init(&old, 41, 1, 100);
    sample_init(&new, 42, 7, 100);
    assert_int_equal(sample_write(p->loop, p->store, &old), OK);
    do {
        mem_fail_at(++k, 1);
        rc = write_and_read(p, &new);
        mem_fail_at(0, 0);
        assert_true(rc == OK || rc == ERR_NOMEM);
        assert_sample(p->store, &old);
        assert_newest(p->store, 41, 0);
        (void)!store_remove(p->store, "new");
        assert_true(k < 1000);
    } while (rc != OK);
    assert_true(k > 8);
    sample_deinit(&old);
    sample_deinit(&new);
}

/* A store before a store: it takes some appends only the second time, and its reads can fail. */
struct hesitant {
    struct store base;
    struct store *inner;
    struct rng rng;
    uint32_t hesitated;
    uint64_t reads; /* Until one fails; zero: never. */
    enum err read_rc;
};

struct hesitant_writer {
    struct store_writer base;
    struct store_writer *inner;
};

static enum err hesitant_begin(struct store *s, const char *name, struct store_writer **writer_out)
{
    struct hesitant_writer *w = mem_zalloc(sizeof(*w));

    assert_non_null(w);
    assert_int_equal(store_begin(((struct hesitant *)s)->inner, name, &w->inner), OK);
    *writer_out = &w->base;
    return OK;
}

static enum err hesitant_append(struct store_writer *w, const void *bytes, size_t size)
{
    struct hesitant *h = (struct hesitant *)w->store;

    if (rng_below(&h->rng, 2) == 0) {
        h->hesitated++;
        return ERR_AGAIN;
    }
    return store_append(((struct hesitant_writer *)w)->inner, bytes, size);
}

static void hesitant_commit(struct store_writer *w, void (*committed)(enum err rc, void *user),
                            void *user)
{
    store_commit(((struct hesitant_writer *)w)->inner, committed, user);
    mem_free(w);
}

static void hesitant_abort(struct store_writer *w)
{
    store_abort(((struct hesitant_writer *)w)->inner);
    mem_free(w);
}

static enum err hesitant_read(struct store *s, const char *name, uint64_t offset, void *bytes,
                              size_t size, size_t *done_out)
{
    struct hesitant *h = (struct hesitant *)s;

    if (h->reads > 0 && --h->reads == 0) {
        return h->read_rc;
    }
    return store_read(h->inner, name, offset, bytes, size, done_out);
}

static enum err hesitant_size(struct store *s, const char *name, uint64_t *size_out)
{
    return store_size(((struct hesitant *)s)->inner, name, size_out);
}

static enum err hesitant_list(struct store *s, const char *prefix,
                              void (*object)(const char *name, uint64_t size, void *user),
                              void *user)
{
    return store_list(((struct hesitant *)s)->inner, prefix, object, user);
}

static const struct store_ops hesitant_ops = {
    .begin = hesitant_begin,
    .append = hesitant_append,
    .commit = hesitant_commit,
    .abort = hesitant_abort,
    .read = hesitant_read,
    .size = hesitant_size,
    .list = hesitant_list,
};

/* Add all, again and again; the loop need not turn for this store. */
static void write_patiently(struct store *s, const struct sample *in, struct store_result *result)
{
    char name[STORE_NAME_BYTES];
    struct checkpoint_writer *w = NULL;
    enum err rc;

    checkpoint_name("eu", 3, in->head.number, name, sizeof(name));
    assert_int_equal(checkpoint_begin(s, name, &in->head, &w), OK);
    for (uint32_t i = 0; i < in->chunk_count; i++) {
        while ((rc = checkpoint_add(w, &in->chunks[i])) == ERR_AGAIN) {
        }
        assert_int_equal(rc, OK);
    }
    while ((rc = checkpoint_commit(w, store_result_set, result)) == ERR_AGAIN) {
    }
    assert_int_equal(rc, OK);
}

static void test_a_store_that_hesitates_gets_every_chunk_once(void **state)
{
    struct place *p = *state;
    struct hesitant h = {.base = {.ops = &hesitant_ops}, .inner = p->store};

    rng_init(&h.rng, 3);
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct store_result result = {0};
        struct sample s;

        sample_init(&s, seed, seed, 50);
        write_patiently(&h.base, &s, &result);
        STORE_TURN_UNTIL(p->loop, result.calls > 0);
        assert_int_equal(result.rc, OK);
        assert_sample(p->store, &s);
        sample_deinit(&s);
    }
    assert_true(h.hesitated > 100);
}

/* The planes of a chunk must be of one moment. */
static void test_three_chunks_are_taken_once_it_is_ready(void **state)
{
    struct place *p = *state;
    struct hesitant h = {.base = {.ops = &hesitant_ops}, .inner = p->store};
    static float values[LIMIT_CHUNK_ELEMENTS];
    static struct checkpoint_member members[CHECKPOINT_MEMBERS_MAX];
    const struct checkpoint_chunk chunks[3] = {
        {0, 2, 0, 1, 0, NULL, LIMIT_CHUNK_ELEMENTS, values},
        {0, 1, 0, 1, 0, NULL, LIMIT_CHUNK_ELEMENTS, values},
        {0, 0, 0, 1, CHECKPOINT_MEMBERS_MAX, members, LIMIT_CHUNK_ELEMENTS, values}};
    const struct sample s = {.head = {42, 3, 4, 0, 0, "eu", "{}"}};
    struct store_result result = {0};
    struct checkpoint_writer *w = NULL;
    enum err rc;

    rng_init(&h.rng, 4);
    for (uint32_t i = 0; i < CHECKPOINT_MEMBERS_MAX; i++) {
        members[i].rank = i;
    }
    assert_int_equal(checkpoint_begin(&h.base, "x", &s.head, &w), OK);
    for (uint32_t i = 0; i < 100; i++) {
        while ((rc = checkpoint_ready(w)) == ERR_AGAIN) {
        }
        assert_int_equal(rc, OK);
        for (uint32_t k = 0; k < 3; k++) {
            assert_int_equal(checkpoint_add(w, &chunks[k]), OK);
        }
    }
    while ((rc = checkpoint_commit(w, store_result_set, &result)) == ERR_AGAIN) {
    }
    assert_int_equal(rc, OK);
    STORE_TURN_UNTIL(p->loop, result.calls > 0);
    assert_int_equal(result.rc, OK);
    assert_int_equal(checkpoint_read(p->store, "x", NULL, NULL, NULL), OK);
    assert_true(h.hesitated > 50);
}

static void test_bytes_that_the_disk_lost_are_damage_and_other_errors_are_not(void **state)
{
    struct place *p = *state;
    struct hesitant h = {.base = {.ops = &hesitant_ops}, .inner = p->store};
    char name[STORE_NAME_BYTES];
    struct err_text text;
    uint64_t number = 0;
    uint32_t skipped = 0;

    for (uint64_t i = 41; i <= 42; i++) {
        struct sample s;

        sample_init(&s, i, i, 50);
        assert_int_equal(sample_write(p->loop, p->store, &s), OK);
        sample_deinit(&s);
    }
    for (uint64_t k = 1; k <= 2; k++) {
        h.reads = k;
        h.read_rc = ERR_CORRUPT;
        assert_newest(&h.base, 41, 1);
        h.reads = k;
        h.read_rc = ERR_IO;
        assert_int_equal(
            checkpoint_newest(&h.base, "eu", 3, name, sizeof(name), &number, &skipped, &text),
            ERR_IO);
        assert_string_equal(text.text,
                            "cannot read the checkpoint eu/shard-0003/00000000000000000042.ckpt: "
                            "input/output error");
    }
    assert_newest(&h.base, 42, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE(test_ten_thousand_damages_are_all_seen),
        PLACE(test_every_flipped_bit_and_every_cut_is_seen),
        PLACE(test_a_disk_that_fails_at_any_operation_leaves_the_old_one),
        PLACE(test_a_checkpoint_with_a_hole_is_not_committed),
        PLACE(test_every_failed_allocation_is_survived),
        PLACE(test_a_store_that_hesitates_gets_every_chunk_once),
        PLACE(test_three_chunks_are_taken_once_it_is_ready),
        PLACE(test_bytes_that_the_disk_lost_are_damage_and_other_errors_are_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
