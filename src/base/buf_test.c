/* Buffers and pools: classes, limits, references, threads, failing memory. */

#include "base/buf.h"
#include "base/mem.h"
#include "base/rng.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { KIB = 1024, MIB = 1024 * 1024, HELD_MAX = 4096 };

static struct buf_pool *pool_create(uint64_t limit)
{
    struct buf_pool *pool;

    assert_int_equal(buf_pool_create(limit, &pool), OK);
    return pool;
}

static struct buf *take(struct buf_pool *pool, size_t headroom, size_t size)
{
    struct buf *b;

    assert_int_equal(buf_take(pool, headroom, size, &b), OK);
    return b;
}

/* Take buffers until the pool refuses; returns how many. */
static size_t take_all(struct buf_pool *pool, size_t size, struct buf **held)
{
    size_t count = 0;
    enum err rc;

    while ((rc = buf_take(pool, 0, size, &held[count])) == OK) {
        count++;
        assert_true(count < HELD_MAX);
    }
    assert_int_equal(rc, ERR_AGAIN);
    return count;
}

static void give_all(struct buf **held, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        buf_unref(held[i]);
    }
}

static void test_each_size_fits_its_class_and_wastes_little(void **state)
{
    static const size_t sizes[] = {0,
                                   1,
                                   256,
                                   257,
                                   2048,
                                   2049,
                                   16 * KIB,
                                   64 * KIB,
                                   64 * KIB + 64,
                                   256 * KIB + 64,
                                   MIB + 64,
                                   4 * MIB + 64,
                                   BUF_BYTES_MAX};
    struct buf_pool *pool = pool_create(32 * MIB);

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct buf *b = take(pool, 0, sizes[i]);

        assert_int_equal(buf_size(b), 0);
        assert_true(buf_tailroom(b) >= sizes[i]);
        assert_true(buf_tailroom(b) <= (sizes[i] < 32 ? 256 : 8 * sizes[i]));
        memset(buf_append(b, buf_tailroom(b)), 0x5a, buf_tailroom(b));
        assert_int_equal(buf_tailroom(b), 0);
        buf_unref(b);
    }
    buf_pool_destroy(pool);
    buf_pool_destroy(NULL);
}

static void test_storage_is_aligned_and_so_is_the_body_behind_a_header(void **state)
{
    static const size_t sizes[] = {10, 1000, 10000, 65536, 262144, 1048576, 4194304};
    struct buf_pool *pool = pool_create(32 * MIB);
    struct buf *held[7];

    (void)state;
    for (size_t i = 0; i < 7; i++) {
        held[i] = take(pool, i % 2 == 0 ? 0 : BUF_ALIGN, sizes[i]);
        assert_int_equal((uintptr_t)buf_bytes(held[i]) % BUF_ALIGN, 0);
    }
    give_all(held, 7);
    buf_pool_destroy(pool);
}

static void test_headroom_takes_a_header_without_moving_the_body(void **state)
{
    struct buf_pool *pool = pool_create(MIB);
    struct buf *b = take(pool, 64, 4);
    uint8_t *body;

    (void)state;
    assert_int_equal(buf_headroom(b), 64);
    body = buf_append(b, 4);
    memcpy(body, "body", 4);
    memcpy(buf_prepend(b, 6), "header", 6);
    assert_int_equal(buf_headroom(b), 58);
    assert_int_equal(buf_size(b), 10);
    assert_memory_equal(buf_bytes(b), "headerbody", 10);
    buf_trim_front(b, 6);
    assert_ptr_equal(buf_bytes(b), body);
    buf_truncate(b, 2);
    assert_int_equal(buf_size(b), 2);
    assert_memory_equal(buf_bytes(b), "bo", 2);
    buf_unref(b);
    buf_pool_destroy(pool);
}

static void test_too_big_is_told_from_not_now(void **state)
{
    struct buf_pool *pool = pool_create(128 * KIB);
    struct buf *b = NULL;

    (void)state;
    assert_int_equal(buf_take(pool, 0, BUF_BYTES_MAX + 1, &b), ERR_TOO_BIG);
    assert_int_equal(buf_take(pool, 1, BUF_BYTES_MAX, &b), ERR_TOO_BIG);
    assert_int_equal(buf_take(pool, SIZE_MAX, 2, &b), ERR_TOO_BIG);
    assert_int_equal(buf_take(pool, 2, SIZE_MAX, &b), ERR_TOO_BIG);
    assert_int_equal(buf_take(pool, 0, 256 * KIB, &b), ERR_TOO_BIG); /* Never fits this pool. */
    assert_null(b);
    buf_pool_destroy(pool);
}

static void test_at_the_limit_a_pool_says_again_and_recovers(void **state)
{
    static struct buf *held[HELD_MAX];
    struct buf_pool *pool = pool_create(256 * KIB);
    struct buf_pool_stats stats;
    size_t count = take_all(pool, 2048, held);

    (void)state;
    assert_int_equal(count, 128);
    buf_pool_stats(pool, &stats);
    assert_int_equal(stats.bytes_limit, 256 * KIB);
    assert_int_equal(stats.bytes_reserved, 256 * KIB);
    assert_int_equal(stats.bytes_used, 256 * KIB);
    assert_int_equal(stats.buffers_used, 128);
    buf_unref(held[--count]);
    held[count++] = take(pool, 0, 2048);
    give_all(held, count);
    buf_pool_stats(pool, &stats);
    assert_int_equal(stats.bytes_used, 0);
    assert_int_equal(stats.buffers_used, 0);
    assert_int_equal(stats.bytes_used_max, 256 * KIB);
    assert_int_equal(take_all(pool, 2048, held), 128);
    give_all(held, 128);
    buf_pool_destroy(pool);
}

static void test_at_the_limit_a_larger_free_buffer_will_do(void **state)
{
    struct buf_pool *pool = pool_create(256 * KIB + 4096);
    struct buf *large = take(pool, 0, 256 * KIB);
    struct buf *small;

    (void)state;
    assert_int_equal(buf_take(pool, 0, 100, &small), ERR_AGAIN);
    buf_unref(large);
    small = take(pool, 0, 100);
    assert_true(buf_tailroom(small) > 256 * KIB);
    assert_int_equal(buf_take(pool, 0, 100, &large), ERR_AGAIN);
    buf_unref(small);
    buf_pool_destroy(pool);
}

static void test_memory_cut_small_can_become_large_again(void **state)
{
    static struct buf *held[HELD_MAX];
    struct buf_pool *pool = pool_create(MIB);
    struct buf_pool_stats stats;
    struct buf *large;
    size_t count = take_all(pool, 2048, held);

    (void)state;
    /* One small buffer in each slab is held: nothing can be given back. */
    for (size_t i = 0; i < count; i++) {
        if (i % 128 != 0) {
            buf_unref(held[i]);
        }
    }
    assert_int_equal(buf_take(pool, 0, 256 * KIB, &large), ERR_AGAIN);
    for (size_t i = 0; i < count; i += 128) {
        buf_unref(held[i]);
    }
    large = take(pool, 0, 256 * KIB);
    memset(buf_append(large, 256 * KIB), 1, 256 * KIB);
    buf_pool_stats(pool, &stats);
    assert_true(stats.bytes_reserved <= stats.bytes_limit);
    count = take_all(pool, 2048, held);
    assert_true(count >= 256);
    give_all(held, count);
    buf_unref(large);
    buf_pool_destroy(pool);
}

static void test_the_last_reference_gives_the_buffer_back(void **state)
{
    struct buf_pool *pool = pool_create(MIB);
    struct buf *b = take(pool, 0, 100);
    struct buf_pool_stats stats;

    (void)state;
    assert_true(buf_unique(b));
    assert_ptr_equal(buf_ref(b), b);
    assert_ptr_equal(buf_ref(b), b);
    assert_false(buf_unique(b));
    buf_unref(b);
    buf_unref(b);
    assert_true(buf_unique(b));
    buf_pool_stats(pool, &stats);
    assert_int_equal(stats.buffers_used, 1);
    buf_unref(b);
    buf_pool_stats(pool, &stats);
    assert_int_equal(stats.buffers_used, 0);
    buf_unref(NULL);
    buf_pool_destroy(pool);
}

struct handover {
    struct buf **held;
    size_t count;
    uint32_t sum;
};

static void *release_all(void *arg)
{
    struct handover *h = arg;

    for (size_t i = 0; i < h->count; i++) {
        h->sum += buf_bytes(h->held[i])[0];
        buf_unref(h->held[i]);
    }
    return NULL;
}

static void test_buffers_come_back_from_other_threads(void **state)
{
    enum { THREADS = 4, COUNT = 128, ROUNDS = 50 };
    static struct buf *held[HELD_MAX];
    struct buf_pool *pool = pool_create(256 * KIB);
    struct buf_pool_stats stats;

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        struct handover handovers[THREADS];
        pthread_t threads[THREADS];

        assert_int_equal(take_all(pool, 2048, held), COUNT);
        for (size_t i = 0; i < COUNT; i++) {
            *buf_append(held[i], 1) = (uint8_t)round;
            for (int t = 1; t < THREADS; t++) {
                (void)buf_ref(held[i]);
            }
        }
        for (int t = 0; t < THREADS; t++) {
            handovers[t] = (struct handover){.held = held, .count = COUNT};
            assert_int_equal(pthread_create(&threads[t], NULL, release_all, &handovers[t]), 0);
        }
        for (int t = 0; t < THREADS; t++) {
            assert_int_equal(pthread_join(threads[t], NULL), 0);
            assert_int_equal(handovers[t].sum, COUNT * round);
        }
    }
    buf_pool_stats(pool, &stats);
    assert_int_equal(stats.buffers_used, 0);
    assert_int_equal(stats.bytes_reserved, 256 * KIB);
    buf_pool_destroy(pool);
}

/* The owner takes while another thread gives back. */
static void test_taking_goes_on_while_others_give_back(void **state)
{
    enum { COUNT = 64, ROUNDS = 200 };
    static struct buf *held[HELD_MAX];
    struct buf_pool *pool = pool_create(256 * KIB);

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        struct handover handover = {.held = held, .count = COUNT};
        pthread_t thread;

        for (size_t i = 0; i < COUNT; i++) {
            held[i] = take(pool, 0, 2048);
            *buf_append(held[i], 1) = 1;
        }
        assert_int_equal(pthread_create(&thread, NULL, release_all, &handover), 0);
        for (int i = 0; i < COUNT; i++) {
            buf_unref(take(pool, 0, 2048));
        }
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(handover.sum, COUNT);
    }
    buf_pool_destroy(pool);
}

static void *adopt_and_take(void *arg)
{
    struct buf_pool *pool = arg;
    struct buf *b = NULL;

    buf_pool_adopt(pool);
    return buf_take(pool, 0, 100, &b) == OK ? b : NULL;
}

static void test_a_pool_moves_to_the_thread_that_adopts_it(void **state)
{
    struct buf_pool *pool = pool_create(MIB);
    struct buf_pool_stats stats;
    pthread_t thread;
    void *b = NULL;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, adopt_and_take, pool), 0);
    assert_int_equal(pthread_join(thread, &b), 0);
    assert_non_null(b);
    buf_unref(b); /* From a foreign thread now. */
    buf_pool_adopt(pool);
    buf_pool_stats(pool, &stats);
    assert_int_equal(stats.buffers_used, 0);
    buf_pool_destroy(pool);
}

static void test_allocation_k_fails_for_every_k(void **state)
{
    bool failed = true;

    (void)state;
    for (uint64_t k = 1; failed; k++) {
        uint64_t before = mem_failures();
        struct buf_pool *pool = NULL;
        struct buf *b = NULL;
        enum err rc;

        mem_fail_at(k, 1);
        rc = buf_pool_create(MIB, &pool);
        if (rc == OK) {
            rc = buf_take(pool, 0, 100, &b);
        }
        mem_fail_at(0, 0);
        failed = mem_failures() != before;
        assert_int_equal(rc, failed ? ERR_NOMEM : OK);
        if (pool != NULL && failed) {
            b = take(pool, 0, 100);
        }
        buf_unref(b);
        buf_pool_destroy(pool);
    }
}

static void test_random_takes_and_gives_keep_the_books(void **state)
{
    enum { SLOTS = 64, STEPS = 20000 };
    struct buf *held[SLOTS] = {0};
    struct buf_pool *pool = pool_create(8 * MIB);
    uint64_t used = 0, buffers = 0;
    struct buf_pool_stats stats;
    struct rng r;

    (void)state;
    rng_init(&r, 1);
    for (int step = 0; step < STEPS; step++) {
        uint64_t slot = rng_below(&r, SLOTS);

        if (held[slot] != NULL) {
            used -= buf_size(held[slot]) + buf_tailroom(held[slot]);
            buffers--;
            buf_unref(held[slot]);
            held[slot] = NULL;
        } else if (buf_take(pool, 0, (size_t)1 << rng_below(&r, 21), &held[slot]) == OK) {
            used += buf_tailroom(held[slot]);
            buffers++;
            *buf_append(held[slot], 1) = 1;
        }
        buf_pool_stats(pool, &stats);
        assert_int_equal(stats.bytes_used, used);
        assert_int_equal(stats.buffers_used, buffers);
        assert_true(stats.bytes_used <= stats.bytes_reserved);
        assert_true(stats.bytes_reserved <= stats.bytes_limit);
    }
    give_all(held, SLOTS);
    buf_pool_destroy(pool);
}

static void test_what_is_reserved_is_there_when_it_is_taken(void **state)
{
    enum { COUNT = 6, BYTES = 200 * 1024 };
    struct buf_pool_stats before, after;
    struct buf *held[COUNT];
    struct buf_pool *pool;

    (void)state;
    assert_int_equal(buf_pool_create(1 << 20, &pool), OK);
    assert_int_equal(buf_pool_reserve(pool, BYTES, COUNT, 4 << 20), OK);
    buf_pool_stats(pool, &before);
    assert_int_equal(before.bytes_limit, 5 << 20);
    assert_true(before.bytes_reserved >= COUNT * BYTES);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(buf_take(pool, 0, BYTES, &held[i]), OK);
    }
    buf_pool_stats(pool, &after);
    assert_int_equal(after.bytes_reserved, before.bytes_reserved);
    buf_pool_lower(pool, 4 << 20); /* All of it is in use: it stays. */
    buf_pool_stats(pool, &after);
    assert_int_equal(after.bytes_limit, before.bytes_reserved);
    give_all(held, COUNT);
    buf_pool_lower(pool, 1 << 20);
    buf_pool_stats(pool, &after);
    assert_true(after.bytes_reserved <= after.bytes_limit && after.bytes_limit < 1 << 20);
    assert_int_equal(buf_take(pool, 0, 100, &held[0]), OK);
    buf_unref(held[0]);
    buf_pool_destroy(pool);
}

static void test_a_reserve_that_fails_changes_nothing(void **state)
{
    struct buf_pool_stats before, after;
    struct buf_pool *pool;
    struct buf *b;

    (void)state;
    assert_int_equal(buf_pool_create(1 << 20, &pool), OK);
    assert_int_equal(buf_take(pool, 0, 200 * 1024, &b), OK);
    buf_pool_stats(pool, &before);
    for (uint64_t k = 1; k <= 6; k++) { /* Two for each buffer. */
        mem_fail_at(k, 1);
        assert_int_equal(buf_pool_reserve(pool, 200 * 1024, 3, 2 << 20), ERR_NOMEM);
        mem_fail_at(0, 0);
        buf_pool_stats(pool, &after);
        assert_memory_equal(&before, &after, sizeof(before));
    }
    assert_int_equal(buf_pool_reserve(pool, BUF_BYTES_MAX + 1, 1, 0), ERR_TOO_BIG);
    buf_unref(b);
    buf_pool_destroy(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_size_fits_its_class_and_wastes_little),
        cmocka_unit_test(test_storage_is_aligned_and_so_is_the_body_behind_a_header),
        cmocka_unit_test(test_headroom_takes_a_header_without_moving_the_body),
        cmocka_unit_test(test_too_big_is_told_from_not_now),
        cmocka_unit_test(test_at_the_limit_a_pool_says_again_and_recovers),
        cmocka_unit_test(test_at_the_limit_a_larger_free_buffer_will_do),
        cmocka_unit_test(test_memory_cut_small_can_become_large_again),
        cmocka_unit_test(test_the_last_reference_gives_the_buffer_back),
        cmocka_unit_test(test_buffers_come_back_from_other_threads),
        cmocka_unit_test(test_taking_goes_on_while_others_give_back),
        cmocka_unit_test(test_a_pool_moves_to_the_thread_that_adopts_it),
        cmocka_unit_test(test_allocation_k_fails_for_every_k),
        cmocka_unit_test(test_random_takes_and_gives_keep_the_books),
        cmocka_unit_test(test_what_is_reserved_is_there_when_it_is_taken),
        cmocka_unit_test(test_a_reserve_that_fails_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
