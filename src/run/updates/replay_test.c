/* Replays, by hand on small updates, and on random ones against plain sums. */

#include "run/updates/replay.h"

#include "run/testing.h"
#include "store/npy.h"

#include <math.h>
#include <stdlib.h>

static int64_t fake_ns;

static int64_t fake_now(void)
{
    return fake_ns += 1000;
}

/* An array of updates in memory. */
struct bench {
    uint8_t *bytes;
    struct run_updates *u;
    struct run_replay *r;
    struct err_text text;
};

static void bench_open(struct bench *b, const float *values, uint64_t clocks, uint32_t elements)
{
    size_t size = NPY_HEADER_BYTES + clocks * elements * 4;
    FILE *file;

    *b = (struct bench){.bytes = calloc(1, size)};
    npy_header(clocks, elements, b->bytes);
    memcpy(b->bytes + NPY_HEADER_BYTES, values, clocks * elements * 4);
    file = fmemopen(b->bytes, size, "r");
    assert_non_null(file);
    assert_int_equal(run_updates_open_stream(file, "memory", size, &b->u, &b->text), OK);
}

static void bench_chain(struct bench *b, const char *chain, bool up, uint32_t chunk)
{
    struct run_replay_config config = {
        .up = up, .chunk = chunk, .link_rate = 1000000, .mono_ns = fake_now};

    assert_int_equal(codec_chain_parse(chain, &config.chain, &b->text), OK);
    assert_int_equal(run_replay_create(&config, b->u, &b->r, &b->text), OK);
}

static struct run_replay_clock bench_step(struct bench *b)
{
    struct run_replay_clock c;
    uint64_t clock;

    assert_int_equal(run_updates_next(b->u, &clock, &b->text), OK);
    assert_true(clock > 0);
    if (run_replay_step(b->r, b->u, clock, &c, &b->text) != OK) {
        fail_msg("%s", b->text.text);
    }
    assert_int_equal(c.clock, clock);
    return c;
}

static void bench_close(struct bench *b)
{
    run_replay_destroy(b->r);
    run_updates_close(b->u);
    free(b->bytes);
}

static void near(double a, double b)
{
    assert_true(fabs(a - b) <= 1e-6 * (1 + fabs(b)));
}

/* Four elements, delta 1: thresholds are 1, 1 / sqrt(2), 1 / sqrt(3). */
static void test_figures_are_those_by_hand(void **state)
{
    static const float made[3][4] = {{3.5F, 0.5F, -1, 0}, {0, 0.25F, -0.5F, 0}, {4.5F, 0, 0, 0.5F}};
    struct run_replay_clock c, total = {.clock = 0};
    struct bench b;

    (void)state;
    bench_open(&b, made[0], 3, 4);
    bench_chain(&b, "dvf:delta=1 | sparse", false, LIMIT_CHUNK_ELEMENTS);
    c = bench_step(&b); /* Held 3.5, 0.5, -1, 0: only what is above 1 goes. */
    assert_int_equal(c.elements, 4);
    assert_int_equal(c.sent_elements, 1);
    assert_int_equal(c.bytes, 4 + 4 + 4);
    assert_int_equal(c.chunks, 1);
    assert_int_equal(c.ways[CODEC_LIST][CODEC_PLAIN], 1);
    near(c.threshold, 1);
    near(c.bound, 2);
    near(c.update_norm, sqrt(12.25 + 0.25 + 1));
    near(c.sum_norm, sqrt(12.25 + 0.25 + 1));
    near(c.error_norm, sqrt(0.25 + 1));
    near(c.residual_norm, sqrt(0.25 + 1));
    assert_int_equal(c.encode_ns, 1000);
    assert_int_equal(c.decode_ns, 1000);
    run_replay_add(&total, &c);
    c = bench_step(&b); /* Held 0, 0.75, -1.5, 0: both are above 0.707. */
    assert_int_equal(c.sent_elements, 2);
    assert_int_equal(c.bytes, 4 + 4 + 8);
    near(c.threshold, 1 / sqrt(2));
    near(c.error_norm, sqrt(0.5 * 0.5 + 1));
    near(c.residual_norm, 0);
    near(c.sum_norm, sqrt(12.25 + 0.75 * 0.75 + 1.5 * 1.5));
    run_replay_add(&total, &c);
    c = bench_step(&b); /* Held 4.5, 0, 0, 0.5: the last is below 0.577. */
    assert_int_equal(c.sent_elements, 1);
    near(c.bound, 2 / sqrt(3));
    near(c.error_norm, 0.5);
    near(c.residual_norm, 0.5);
    run_replay_add(&total, &c);
    assert_int_equal(total.clock, 3);
    assert_int_equal(total.sent_elements, 4);
    assert_int_equal(total.elements, 12);
    assert_int_equal(total.bytes, 12 + 16 + 12);
    assert_int_equal(total.ways[CODEC_LIST][CODEC_PLAIN], 3);
    assert_int_equal(total.encode_ns, 3000);
    near(total.residual_norm, 0.5);
    bench_close(&b);
}

static void test_the_upper_threshold_holds_more(void **state)
{
    static const float made[1][4] = {{3, 0.5F, -1, 0}};
    struct run_replay_clock c;
    struct bench b;

    (void)state;
    bench_open(&b, made[0], 1, 4);
    bench_chain(&b, "dvf:low=0.75,up=3 | bitmap", true, LIMIT_CHUNK_ELEMENTS);
    c = bench_step(&b);
    assert_int_equal(c.sent_elements, 0);
    assert_int_equal(c.bytes, 0);
    near(c.bound, 6);
    near(c.residual_norm, c.update_norm);
    bench_close(&b);
    bench_open(&b, made[0], 1, 4);
    bench_chain(&b, "dvf:low=0.75,up=3 | bitmap", false, LIMIT_CHUNK_ELEMENTS);
    c = bench_step(&b);
    assert_int_equal(c.sent_elements, 2);
    near(c.bound, 1.5);
    bench_close(&b);
}

static void test_without_a_cut_nothing_is_held(void **state)
{
    static const float made[1][5] = {{3, 0.5F, -1, 0, -0.0F}};
    struct run_replay_clock c;
    struct bench b;

    (void)state;
    bench_open(&b, made[0], 1, 5);
    bench_chain(&b, "dense", false, 2);
    c = bench_step(&b);
    assert_int_equal(c.chunks, 3);
    near(c.error_norm, 0);
    near(c.residual_norm, 0);
    near(c.bound, 0);
    bench_close(&b);
}

static void test_sums_beyond_floats_are_refused(void **state)
{
    static const float made[2][2] = {{1, 3e38F}, {1, 3e38F}};
    struct run_replay_clock c;
    struct bench b;
    uint64_t clock;

    (void)state;
    bench_open(&b, made[0], 2, 2);
    bench_chain(&b, "all", false, LIMIT_CHUNK_ELEMENTS);
    (void)bench_step(&b);
    assert_int_equal(run_updates_next(b.u, &clock, &b.text), OK);
    assert_int_equal(run_replay_step(b.r, b.u, clock, &c, &b.text), ERR_INVALID);
    assert_non_null(strstr(b.text.text, "clock 2: a sum of updates of elements 0 to 1 is beyond"));
    bench_close(&b);
}

/* Whatever the chain: what is held keeps the bound, and all that is not held was sent. */
static void test_bounds_hold_for_all_chains(void **state)
{
    static const char *const chains[] = {
        "all",
        "dvf:delta=0.5",
        "dvf:delta=0.5 | dense",
        "dvf:delta=0.5 | sparse | snappy",
        "dvf:delta=0.5 | bitmap | f16 | lz4",
        "dvf:delta=0.5 | gaps | zstd",
        "dvf:delta=0.5 | paper",
        "norm:delta=0.5",
        "norm:delta=0.5 | auto | f16",
    };
    enum { CLOCKS = 20, ELEMENTS = 1000 };
    float *made = calloc(CLOCKS * ELEMENTS, sizeof(float));
    struct rng rng;

    (void)state;
    rng_init(&rng, 3);
    for (size_t i = 0; i < CLOCKS * ELEMENTS; i++) {
        made[i] = (float)((double)rng_below(&rng, 20001) / 10000 - 1);
    }
    for (size_t i = 0; i < sizeof(chains) / sizeof(chains[0]); i++) {
        struct bench b;

        bench_open(&b, made, CLOCKS, ELEMENTS);
        bench_chain(&b, chains[i], false, 300);
        for (uint32_t k = 0; k < CLOCKS; k++) {
            struct run_replay_clock c = bench_step(&b);

            assert_int_equal(c.chunks, 4);
            assert_true(c.residual_norm <= c.bound * (1 + 1e-6));
            assert_true(c.sent_elements > 0 && c.bytes > 0 && c.bytes <= c.elements * 4);
        }
        bench_close(&b);
    }
    free(made);
}

static void test_memory_may_run_out(void **state)
{
    static const float made[1][4] = {{3, 0.5F, -1, 0}};
    struct run_replay_config config = {.chunk = 4, .mono_ns = fake_now};
    enum err rc = ERR_NOMEM;
    struct bench b;
    uint64_t k;

    (void)state;
    bench_open(&b, made[0], 1, 4);
    assert_int_equal(codec_chain_parse("auto", &config.chain, &b.text), OK);
    for (k = 1; rc != OK; k++) {
        mem_fail_at(k, 1);
        rc = run_replay_create(&config, b.u, &b.r, &b.text);
        mem_fail_at(0, 0);
        assert_true(rc == OK || (rc == ERR_NOMEM && strstr(b.text.text, "no memory") != NULL));
    }
    assert_true(k > 6);
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures_are_those_by_hand),
        cmocka_unit_test(test_the_upper_threshold_holds_more),
        cmocka_unit_test(test_without_a_cut_nothing_is_held),
        cmocka_unit_test(test_sums_beyond_floats_are_refused),
        cmocka_unit_test(test_bounds_hold_for_all_chains),
        cmocka_unit_test(test_memory_may_run_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
