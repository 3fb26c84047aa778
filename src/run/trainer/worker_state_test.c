/* A job's own state on disk: saved, found again, chosen by where the site is, and refused when it
 * is damaged or somebody else's. Whole lives with kills are in sim_test.c and tests/e2e. */

#include "run/trainer/worker_state.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/rng.h"
#include "store/memory.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { SMALL = 40, BLOCKS = 3 * RUN_STATE_BLOCK_BYTES + 20, LARGE = 9 << 20 };

/* A job that is nothing but its state. */
struct keeping {
    struct app app;
    struct app_ops ops;
    struct app_state_ops state;
    uint64_t about;
    bool picky; /* A state that begins with 255 is none. */
    size_t size;
    uint8_t *bytes;
};

static uint64_t keeping_size(const struct app *a)
{
    return ((const struct keeping *)a)->size;
}

static uint64_t keeping_about(const struct app *a)
{
    return ((const struct keeping *)a)->about;
}

static void keeping_save(const struct app *a, uint64_t offset, uint8_t *out, size_t size)
{
    const struct keeping *k = (const struct keeping *)a;

    assert_true(offset % 4 == 0 && (size % 4 == 0 || offset + size == k->size));
    memcpy(out, k->bytes + offset, size);
}

static enum err keeping_load(struct app *a, uint64_t offset, const uint8_t *bytes, size_t size)
{
    struct keeping *k = (struct keeping *)a;

    assert_true(offset + size <= k->size);
    memcpy(k->bytes + offset, bytes, size);
    return k->picky && k->bytes[0] == 255 ? ERR_CORRUPT : OK;
}

/* One life after the other, in a folder. */
struct bench {
    char dir[32];
    struct loop *loop;
    struct keeping job;
    struct run_state *state; /* NULL: it is dead. */
    struct store *store;     /* The state's own. */
    uint32_t saves;
    enum err rc; /* Of the last one. */
    uint32_t rank;
    uint32_t workers;
    struct err_text text;
};

static void bench_fill(struct bench *b, uint8_t value)
{
    memset(b->job.bytes, value, b->job.size);
    if (b->job.size > 5) {
        b->job.bytes[b->job.size - 5] = (uint8_t)(value + 1);
    }
}

static void bench_open(struct bench *b, size_t size, bool exact)
{
    *b = (struct bench){.dir = "/tmp/strait-state-XXXXXX", .rank = 1, .workers = 3};
    b->job.ops = (struct app_ops){.name = "keeping", .state = &b->job.state};
    b->job.state = (struct app_state_ops){.exact = exact,
                                          .size = keeping_size,
                                          .about = keeping_about,
                                          .save = keeping_save,
                                          .load = keeping_load};
    b->job.app.ops = &b->job.ops;
    b->job.about = 77;
    b->job.size = size;
    b->job.bytes = calloc(size + 1, 1);
    assert_non_null(b->job.bytes);
    assert_non_null(mkdtemp(b->dir));
    assert_int_equal(loop_create_manual(0, &b->loop), OK);
}

static void bench_die(struct bench *b)
{
    run_state_destroy(b->state);
    b->state = NULL;
}

static void bench_path(const struct bench *b, char slot, char out[64])
{
    (void)snprintf(out, 64, "%s/worker-%u-%c", b->dir, b->rank, slot);
}

static void bench_close(struct bench *b)
{
    char path[64];

    bench_die(b);
    for (uint32_t i = 0; i < 4; i++) {
        (void)snprintf(path, sizeof(path), "%s/worker-%u-%c", b->dir, i / 2,
                       i % 2 == 0 ? 'a' : 'b');
        (void)unlink(path);
    }
    assert_int_equal(rmdir(b->dir), 0);
    loop_destroy(b->loop);
    free(b->job.bytes);
}

static enum err bench_create(struct bench *b, struct store *store)
{
    struct run_state_config config = {.loop = b->loop,
                                      .store = store,
                                      .place = b->dir,
                                      .app = &b->job.app,
                                      .rank = b->rank,
                                      .workers = b->workers};
    enum err rc;

    b->text = (struct err_text){""};
    rc = run_state_create(&config, &b->state, &b->text);
    b->store = rc == OK ? store : NULL;
    if (rc != OK) {
        store_destroy(store);
    }
    return rc;
}

/* A new life: of a process, whose job is fresh. */
static enum err bench_start(struct bench *b)
{
    struct store *store = NULL;

    bench_die(b);
    bench_fill(b, 0);
    assert_int_equal(store_dir_create(b->dir, b->loop, &store, &b->text), OK);
    return bench_create(b, store);
}

static void bench_saved(enum err rc, void *user)
{
    struct bench *b = user;

    b->saves++;
    b->rc = rc;
}

static void bench_turn(struct bench *b)
{
    assert_true(loop_manual_next_ns(b->loop) != LOOP_NEVER);
    loop_manual_advance(b->loop, loop_manual_next_ns(b->loop));
}

static enum err bench_save(struct bench *b, uint64_t clock)
{
    uint32_t before = b->saves;

    run_state_save(b->state, clock, bench_saved, b);
    assert_int_equal(b->saves, before); /* Not from inside. */
    while (b->saves == before) {
        bench_turn(b);
    }
    assert_int_equal(b->saves, before + 1);
    return b->rc;
}

/* What a life that is let in at @entry goes on from: the clock, and that all bytes are its own. */
static uint64_t bench_load(struct bench *b, uint64_t entry)
{
    uint64_t clock = 99;
    size_t wrong = 0;

    assert_int_equal(run_state_load(b->state, entry, &clock, &b->text), OK);
    for (size_t i = 0; i < b->job.size; i++) {
        wrong += b->job.bytes[i] != (uint8_t)(clock + (i + 5 == b->job.size));
    }
    assert_int_equal(wrong, 0);
    return clock;
}

/* Fill with the clock and save. */
static void bench_step(struct bench *b, uint64_t clock)
{
    bench_fill(b, (uint8_t)clock);
    assert_int_equal(bench_save(b, clock), OK);
}

static void test_the_first_life_begins_anew(void **state)
{
    struct bench b;

    (void)state;
    bench_open(&b, SMALL, true);
    assert_int_equal(bench_start(&b), OK);
    assert_int_equal(bench_load(&b, 1), 0);
    assert_string_equal(b.text.text, "");
    bench_close(&b);
}

static void test_what_was_saved_is_loaded_by_the_next_life(void **state)
{
    static const size_t sizes[] = {0, 2, SMALL, RUN_STATE_BLOCK_BYTES, BLOCKS, LARGE};
    struct bench b;

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        bench_open(&b, sizes[i], true);
        assert_int_equal(bench_start(&b), OK);
        assert_int_equal(bench_load(&b, 1), 0);
        for (uint64_t clock = 1; clock <= 4; clock++) {
            bench_step(&b, clock);
        }
        assert_int_equal(bench_start(&b), OK);
        assert_int_equal(bench_load(&b, 7), 4); /* The others are ahead. */
        assert_string_equal(b.text.text, "");
        bench_close(&b);
    }
}

static void test_a_clock_that_nobody_counted_is_taken_back(void **state)
{
    struct bench b;

    (void)state;
    bench_open(&b, BLOCKS, true);
    assert_int_equal(bench_start(&b), OK);
    assert_int_equal(bench_load(&b, 1), 0);
    bench_step(&b, 1);
    assert_int_equal(bench_start(&b), OK);
    assert_int_equal(bench_load(&b, 1), 0); /* Before the first save there was a fresh job. */
    assert_string_equal(b.text.text, "clock 1 was not counted: begins with a fresh state");
    for (uint64_t clock = 1; clock <= 6; clock++) {
        bench_step(&b, clock);
    }
    assert_int_equal(bench_start(&b), OK);
    assert_int_equal(bench_load(&b, 6), 5);
    assert_string_equal(b.text.text, "clock 6 was not counted: goes on from the state of clock 5");
    bench_step(&b, 6); /* In the place of the one that did not count. */
    assert_int_equal(bench_start(&b), OK);
    assert_int_equal(bench_load(&b, 6), 5);
    assert_int_equal(bench_start(&b), OK);
    assert_int_equal(bench_load(&b, 7), 6);
    bench_close(&b);
}

static void test_a_site_behind_the_state_is_told(void **state)
{
    uint64_t clock = 0;
    struct bench b;

    (void)state;
    bench_open(&b, SMALL, true);
    assert_int_equal(bench_start(&b), OK);
    assert_int_equal(bench_load(&b, 1), 0);
    for (uint64_t c = 1; c <= 9; c++) {
        bench_step(&b, c);
    }
    assert_int_equal(bench_start(&b), OK);
    assert_int_equal(run_state_load(b.state, 5, &clock, &b.text), ERR_INVALID);
    assert_non_null(strstr(b.text.text, "is of clock 9, and the site is at clock 5"));
    assert_non_null(strstr(b.text.text, "remove worker-1-* there"));
    b.job.state.exact = false; /* Then it is no harm. */
    assert_int_equal(bench_start(&b), OK);
    assert_int_equal(bench_load(&b, 5), 8);
    assert_non_null(strstr(b.text.text, "is ahead of the site, which is at clock 5"));
    bench_step(&b, 5);
    assert_int_equal(bench_start(&b), OK);
    assert_int_equal(bench_load(&b, 6), 5); /* The newest is not the one of the largest clock. */
    bench_step(&b, 6);
    bench_step(&b, 7);
    assert_null(strstr(b.text.text, "another run"));
    assert_int_equal(bench_start(&b), OK); /* All was lost, or it is another run. */
    assert_int_equal(bench_load(&b, 1), 6);
    assert_non_null(strstr(b.text.text, "goes on from it (if this is another run, name another"));
    b.job.state.exact = true;
    assert_int_equal(bench_start(&b), OK);
    assert_int_equal(run_state_load(b.state, 1, &clock, &b.text), ERR_INVALID);
    bench_close(&b);
}

static void test_a_state_of_somebody_else_is_refused(void **state)
{
    struct bench b;
    char one[64], two[64];

    (void)state;
    bench_open(&b, SMALL, true);
    assert_int_equal(bench_start(&b), OK);
    assert_int_equal(bench_load(&b, 1), 0);
    bench_step(&b, 1);
    b.workers = 4;
    assert_int_equal(bench_start(&b), ERR_INVALID);
    assert_non_null(strstr(b.text.text, "worker-1-a is the state of worker 1 of 3, and this is "
                                        "worker 1 of 4"));
    b.workers = 3;
    b.job.about++;
    assert_int_equal(bench_start(&b), ERR_INVALID);
    assert_non_null(strstr(b.text.text, "other data, or with other options"));
    b.job.about--;
    b.job.size--;
    assert_int_equal(bench_start(&b), ERR_INVALID);
    assert_non_null(strstr(b.text.text, "other data, or with other options"));
    b.job.size++;
    b.job.ops.name = "other";
    assert_int_equal(bench_start(&b), ERR_INVALID);
    assert_non_null(strstr(b.text.text, "is the state of job keeping, and this is job other"));
    b.job.ops.name = "keeping";
    bench_path(&b, 'a', one);
    b.rank = 0;
    bench_path(&b, 'a', two);
    assert_int_equal(rename(one, two), 0);
    assert_int_equal(bench_start(&b), ERR_INVALID);
    assert_non_null(strstr(b.text.text, "of worker 1 of 3, and this is worker 0 of 3"));
    bench_close(&b);
}

static size_t file_read(const char *path, uint8_t *bytes, size_t size)
{
    FILE *file = fopen(path, "rb");
    size_t n;

    assert_non_null(file);
    n = fread(bytes, 1, size, file);
    assert_int_equal(fclose(file), 0);
    return n;
}

static void file_write(const char *path, const uint8_t *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* Every byte, every length: never taken for whole, never a fresh start. */
static void test_damage_is_found_wherever_it_is(void **state)
{
    uint8_t bytes[512];
    char path[64];
    struct bench b;
    size_t size;

    (void)state;
    bench_open(&b, SMALL, true);
    assert_int_equal(bench_start(&b), OK);
    assert_int_equal(bench_load(&b, 1), 0);
    bench_step(&b, 1);
    bench_die(&b);
    bench_path(&b, 'a', path);
    size = file_read(path, bytes, sizeof(bytes));
    assert_int_equal(size, RUN_STATE_HEAD_BYTES + SMALL + RUN_STATE_END_BYTES);
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= (uint8_t)(1u << i % 8);
        file_write(path, bytes, size);
        bytes[i] ^= (uint8_t)(1u << i % 8);
        assert_int_equal(bench_start(&b), i >= 8 && i < 12 ? ERR_VERSION : ERR_CORRUPT);
        assert_non_null(strstr(b.text.text, "worker-1-a cannot be used: "));
    }
    for (size_t i = 0; i < size; i++) {
        file_write(path, bytes, i);
        assert_int_equal(bench_start(&b), ERR_CORRUPT);
    }
    bytes[size] = 0;
    file_write(path, bytes, size + 1);
    assert_int_equal(bench_start(&b), ERR_CORRUPT);
    assert_non_null(strstr(b.text.text, "there are bytes behind its end"));
    file_write(path, bytes, size);
    assert_int_equal(bench_start(&b), OK);
    assert_int_equal(bench_load(&b, 2), 1);
    bench_close(&b);
}

static void test_what_the_job_does_not_know_is_refused(void **state)
{
    uint64_t clock = 0;
    struct bench b;

    (void)state;
    bench_open(&b, SMALL, true);
    assert_int_equal(bench_start(&b), OK);
    assert_int_equal(bench_load(&b, 1), 0);
    b.job.picky = true;
    bench_fill(&b, 255);
    assert_int_equal(bench_save(&b, 1), OK);
    assert_int_equal(bench_start(&b), OK);
    assert_int_equal(run_state_load(b.state, 2, &clock, &b.text), ERR_CORRUPT);
    assert_non_null(strstr(b.text.text, "the job does not know what is in it"));
    bench_close(&b);
}

/* The clock that the object of that name holds, or zero. */
static uint64_t stored_clock(struct store *store, const char *name)
{
    uint8_t bytes[RUN_STATE_HEAD_BYTES];
    struct run_state_head head;
    const char *why = "";
    size_t done = 0;

    if (store_read(store, name, 0, bytes, sizeof(bytes), &done) != OK) {
        return 0;
    }
    assert_int_equal(run_state_head_decode(bytes, &head, &why), OK);
    return head.clock;
}

static void test_a_failed_save_leaves_what_was_there(void **state)
{
    const struct store_memory_config config = {64 << 20, 1000};

    (void)state;
    for (uint32_t fault = 0; fault < STORE_FAULTS; fault++) {
        struct store *store = NULL;
        struct bench b;

        bench_open(&b, BLOCKS, true);
        bench_fill(&b, 0);
        assert_int_equal(store_memory_create(&config, b.loop, &store), OK);
        assert_int_equal(bench_create(&b, store), OK);
        assert_int_equal(bench_load(&b, 1), 0);
        bench_step(&b, 1);
        bench_step(&b, 2);
        store_memory_fault_at(store, fault, 1);
        assert_int_equal(bench_save(&b, 3), fault == STORE_FAULT_FULL ? ERR_FULL : ERR_IO);
        assert_int_equal(stored_clock(store, "worker-1-a"), 1);
        assert_int_equal(stored_clock(store, "worker-1-b"), 2);
        bench_step(&b, 4);
        assert_int_equal(stored_clock(store, "worker-1-a"), 4);
        assert_int_equal(stored_clock(store, "worker-1-b"), 2);
        bench_close(&b);
    }
}

/* At every k, in a life that finds something and saves something. */
static void test_no_memory_is_told(void **state)
{
    struct bench b;
    uint64_t k, failures = 1, told = 0;

    (void)state;
    bench_open(&b, BLOCKS, true);
    assert_int_equal(bench_start(&b), OK);
    assert_int_equal(bench_load(&b, 1), 0);
    bench_step(&b, 1);
    for (k = 1; failures > 0 && k < 100; k++) {
        struct store *store = NULL;
        uint64_t before = mem_failures();
        enum err rc;

        bench_die(&b);
        assert_int_equal(store_dir_create(b.dir, b.loop, &store, &b.text), OK);
        mem_fail_at(k, 1);
        rc = bench_create(&b, store);
        if (rc == OK) {
            assert_int_equal(bench_load(&b, 2), 1);
            rc = bench_save(&b, 1);
        }
        mem_fail_at(0, 0);
        failures = mem_failures() - before;
        assert_true(rc == OK || (rc == ERR_NOMEM && failures > 0));
        told += rc == ERR_NOMEM;
        if (b.state == NULL) {
            assert_non_null(strstr(b.text.text, "no memory"));
        } else {
            assert_int_equal(bench_save(&b, 1), OK); /* The second time it goes. */
        }
    }
    assert_true(told >= 2);
    bench_close(&b);
}

/* Random lives and deaths. A life is let in where the site is: at the clock that was saved last, if
 * its update did not get out, or later. It must go on from the last state that counts. */
static void test_random_deaths_cost_nothing(void **state)
{
    struct rng r;
    struct bench b;
    uint64_t counted = 0, died = 0, back = 0; /* The last clock that was saved and counted. */

    (void)state;
    rng_init(&r, 7);
    bench_open(&b, SMALL, true);
    for (uint32_t life = 0; life < 100; life++) {
        uint64_t entry = counted + 1 + (died == 0 && rng_below(&r, 3) == 0 ? 2 : 0);
        uint64_t steps = rng_below(&r, 5), clock;

        assert_int_equal(bench_start(&b), OK);
        clock = bench_load(&b, entry);
        assert_int_equal(clock, counted);
        back += died;
        died = 0;
        for (clock = entry; clock < entry + steps; clock++) {
            bench_step(&b, clock);
            counted = clock;
        }
        if (counted < clock - 1) {
            continue; /* It was let in later and died before it did anything. */
        }
        bench_fill(&b, (uint8_t)clock);
        run_state_save(b.state, clock, bench_saved, &b);
        while (rng_below(&r, 3) > 0 && loop_manual_next_ns(b.loop) != LOOP_NEVER) {
            bench_turn(&b);
        }
        died = 1; /* Saved or not, its update did not get out. */
    }
    assert_true(back > 40);
    bench_close(&b);
}

static void test_how_often_follows_from_the_size(void **state)
{
    struct bench b;

    (void)state;
    bench_open(&b, SMALL, false);
    assert_int_equal(run_state_every(&b.job.app, 0), 1);
    assert_int_equal(run_state_every(&b.job.app, 12), 12);
    b.job.size = (size_t)400 << 20;
    assert_int_equal(run_state_every(&b.job.app, 0), 100);
    b.job.state.exact = true;
    assert_int_equal(run_state_every(&b.job.app, 0), 1);
    assert_int_equal(run_state_every(&b.job.app, 12), 12);
    b.job.size = SMALL;
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first_life_begins_anew),
        cmocka_unit_test(test_what_was_saved_is_loaded_by_the_next_life),
        cmocka_unit_test(test_a_clock_that_nobody_counted_is_taken_back),
        cmocka_unit_test(test_a_site_behind_the_state_is_told),
        cmocka_unit_test(test_a_state_of_somebody_else_is_refused),
        cmocka_unit_test(test_damage_is_found_wherever_it_is),
        cmocka_unit_test(test_what_the_job_does_not_know_is_refused),
        cmocka_unit_test(test_a_failed_save_leaves_what_was_there),
        cmocka_unit_test(test_no_memory_is_told),
        cmocka_unit_test(test_random_deaths_cost_nothing),
        cmocka_unit_test(test_how_often_follows_from_the_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
