/* Draws of other people's traffic: the same for the same seed, the right lengths, fair pairs. */

#include "run/background.h"

#include "run/testing.h"

#include <math.h>
#include <stdlib.h>

#define SECOND INT64_C(1000000000)

static struct run_file *file_of(const char *seed, const char *entries)
{
    char yaml[1024];

    (void)snprintf(yaml, sizeof(yaml),
                   "run: r\nseed: %s\ntopology: {regions: [eu]}\nservers: [{region: eu}, {region: "
                   "eu}]\nworkers: [{region: eu, count: 3}]\nbackground:\n%sjob: {name: mf}\nstop: "
                   "{clocks: 1}\n",
                   seed, entries);
    return testing_parse(yaml);
}

static void test_steady_phases_are_exact_and_end_in_time(void **state)
{
    static const int64_t ends[] = {7, 17, 22, 32, 35};
    struct run_file *f =
        file_of("1", "  - {flows: 2, on: 5s, off: 10s, steady: true, after: 2s, until: 35s}\n");
    struct run_draw d;
    int64_t from_ns = 2 * SECOND;

    (void)state;
    run_draw_open(&d, f, 0);
    for (uint32_t i = 0; i < 5; i++) {
        assert_true(run_draw_next(&d));
        assert_int_equal(d.on, i % 2 == 0);
        assert_int_equal(d.from_ns, from_ns);
        assert_int_equal(d.to_ns, ends[i] * SECOND);
        from_ns = d.to_ns;
    }
    assert_false(run_draw_next(&d));
    assert_false(run_draw_next(&d));
    run_file_free(f);
}

/* Means as they are said, and as many above ln 2 of them as below. */
static void test_other_phases_are_exponential(void **state)
{
    enum { PHASES = 20000 };
    struct run_file *f = file_of("3", "  - {flows: 1, on: 10s, off: 20s}\n");
    double sums[2] = {0, 0};
    uint32_t below[2] = {0, 0};
    struct run_draw d;

    (void)state;
    run_draw_open(&d, f, 0);
    for (uint32_t i = 0; i < PHASES; i++) {
        double length_s;

        assert_true(run_draw_next(&d));
        length_s = (double)(d.to_ns - d.from_ns) * 1e-9;
        sums[d.on] += length_s;
        below[d.on] += length_s < (d.on ? 10 : 20) * log(2);
    }
    assert_true(fabs(sums[1] / (PHASES / 2) - 10) < 0.3);
    assert_true(fabs(sums[0] / (PHASES / 2) - 20) < 0.6);
    for (int i = 0; i < 2; i++) {
        assert_in_range(below[i], PHASES / 4 - 200, PHASES / 4 + 200);
    }
    run_file_free(f);
}

static void test_pairs_are_of_different_hosts_and_each_as_often(void **state)
{
    static const struct {
        const char *among;
        uint32_t first, count;
    } cases[] = {{"all", 0, 5}, {"workers", 2, 3}, {"servers", 0, 2}};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        uint32_t seen[5][5] = {{0}}, count = cases[i].count;
        struct run_pair pairs[4000];
        char entry[128];
        struct run_file *f;
        struct run_draw d;

        (void)snprintf(entry, sizeof(entry), "  - {flows: 4000, on: 1s, among: %s}\n",
                       cases[i].among);
        f = file_of("5", entry);
        run_draw_open(&d, f, 0);
        assert_true(run_draw_next(&d));
        run_draw_pairs(&d, pairs);
        for (uint32_t k = 0; k < 4000; k++) {
            assert_true(pairs[k].from < 5 && pairs[k].to < 5);
            seen[pairs[k].from][pairs[k].to]++;
        }
        for (uint32_t k = 0; k < 25; k++) {
            uint32_t from = k / 5 - cases[i].first, to = k % 5 - cases[i].first;
            uint32_t mean = 4000 / (count * (count - 1));

            if (from >= count || to >= count || from == to) {
                assert_int_equal(seen[k / 5][k % 5], 0);
            } else {
                assert_in_range(seen[k / 5][k % 5], mean * 7 / 10, mean * 13 / 10);
            }
        }
        run_file_free(f);
    }
}

/* The second phase that is on of an entry, as one number. */
static uint64_t draw_of(const char *seed, uint32_t index, bool ask)
{
    struct run_file *f = file_of(seed, "  - {flows: 9, on: 1s, off: 1s}\n"
                                       "  - {name: two, flows: 9, on: 1s, off: 1s}\n");
    struct run_pair pairs[9];
    struct run_draw d;
    uint64_t sum = 0;

    run_draw_open(&d, f, index);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(run_draw_next(&d));
        if (ask && d.on) {
            run_draw_pairs(&d, pairs);
        }
    }
    run_draw_pairs(&d, pairs);
    for (uint32_t i = 0; i < 9; i++) {
        sum = sum * 31 + pairs[i].from * 5 + pairs[i].to;
    }
    run_file_free(f);
    return sum * 31 + (uint64_t)d.to_ns;
}

static void test_draws_depend_on_seed_and_place_and_nothing_else(void **state)
{
    (void)state;
    assert_int_equal(draw_of("1", 0, false), draw_of("1", 0, false));
    assert_int_equal(draw_of("1", 0, false), draw_of("1", 0, true));
    assert_true(draw_of("1", 0, false) != draw_of("2", 0, false));
    assert_true(draw_of("1", 0, false) != draw_of("1", 1, false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steady_phases_are_exact_and_end_in_time),
        cmocka_unit_test(test_other_phases_are_exponential),
        cmocka_unit_test(test_pairs_are_of_different_hosts_and_each_as_often),
        cmocka_unit_test(test_draws_depend_on_seed_and_place_and_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
