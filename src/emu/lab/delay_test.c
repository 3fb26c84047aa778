/* Tests of the delay of links: by hand, and against a model that sorts a list. */

#include "emu/lab/delay.h"

#include "base/mem.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS INT64_C(1000000)

static struct delay *make(uint32_t ends, uint32_t items_max)
{
    const struct delay_config config = {.ends = ends, .items_max = items_max, .seed = 7};
    struct delay *d = NULL;

    assert_int_equal(delay_create(&config, &d), OK);
    return d;
}

static void set(struct delay *d, uint32_t from, uint32_t to, int64_t delay_ns, int64_t jitter_ns,
                uint64_t bytes_per_s)
{
    const struct delay_link link = {
        .delay_ns = delay_ns, .jitter_ns = jitter_ns, .bytes_per_s = bytes_per_s};

    delay_link_set(d, from, to, &link);
}

static enum err push(struct delay *d, uint32_t from, uint32_t to, uintptr_t what, int64_t now_ns)
{
    const struct delay_item item = {.from = from, .to = to, .what = (void *)what, .bytes = 1000};

    return delay_push(d, &item, now_ns);
}

/* The next one that is due, or zero. */
static uintptr_t pop(struct delay *d, int64_t now_ns)
{
    struct delay_item item;

    return delay_pop(d, now_ns, &item) ? (uintptr_t)item.what : 0;
}

static void test_an_item_comes_out_when_it_is_due_and_not_before(void **state)
{
    struct delay *d = make(2, 4);

    (void)state;
    set(d, 0, 1, 40 * MS, 0, 0);
    assert_true(delay_next_ns(d) == DELAY_NEVER);
    assert_int_equal(push(d, 0, 1, 1, 5 * MS), OK);
    assert_true(delay_next_ns(d) == 45 * MS);
    assert_int_equal(pop(d, 45 * MS - 1), 0);
    assert_int_equal(delay_count(d), 1);
    assert_int_equal(pop(d, 45 * MS), 1);
    assert_int_equal(delay_count(d), 0);
    assert_int_equal(pop(d, DELAY_NEVER), 0);
    delay_destroy(d);
}

static void test_sending_takes_its_time(void **state)
{
    struct delay *d = make(2, 4);

    (void)state;
    set(d, 0, 1, 0, 0, 1000 * 1000);
    assert_int_equal(push(d, 0, 1, 1, 0), OK); /* 1000 bytes at 1 MB/s. */
    assert_true(delay_next_ns(d) == MS);
    assert_int_equal(pop(d, MS), 1);
    set(d, 0, 1, 0, 0, 1);
    assert_int_equal(push(d, 0, 1, 2, 0), OK);
    assert_true(delay_next_ns(d) == INT64_C(1000000000000));
    delay_destroy(d);
}

static void test_directions_are_apart(void **state)
{
    struct delay *d = make(3, 8);

    (void)state;
    set(d, 0, 1, 30 * MS, 0, 0);
    set(d, 1, 0, 10 * MS, 0, 0);
    set(d, 2, 1, 20 * MS, 0, 0);
    assert_int_equal(push(d, 0, 1, 1, 0), OK);
    assert_int_equal(push(d, 1, 0, 2, 0), OK);
    assert_int_equal(push(d, 2, 1, 3, 0), OK);
    assert_int_equal(push(d, 0, 2, 4, 0), OK); /* No delay at all. */
    assert_int_equal(pop(d, 100 * MS), 4);
    assert_int_equal(pop(d, 100 * MS), 2);
    assert_int_equal(pop(d, 100 * MS), 3);
    assert_int_equal(pop(d, 100 * MS), 1);
    delay_destroy(d);
}

static void test_a_shorter_delay_overtakes_nothing_that_is_on_its_way(void **state)
{
    struct delay *d = make(2, 4);

    (void)state;
    set(d, 0, 1, 100 * MS, 0, 0);
    assert_int_equal(push(d, 0, 1, 1, 0), OK);
    set(d, 0, 1, 0, 0, 0);
    assert_int_equal(push(d, 0, 1, 2, 10 * MS), OK);
    assert_int_equal(pop(d, 99 * MS), 0);
    assert_int_equal(pop(d, 100 * MS), 1);
    assert_int_equal(pop(d, 100 * MS), 2);
    assert_int_equal(push(d, 0, 1, 3, 101 * MS), OK);
    assert_int_equal(pop(d, 101 * MS), 3);
    delay_destroy(d);
}

static void test_jitter_is_on_top_and_keeps_the_order(void **state)
{
    struct delay *d = make(2, 1024);
    int64_t last_ns = 0, low_ns = INT64_MAX, high_ns = 0;

    (void)state;
    set(d, 0, 1, 10 * MS, 4 * MS, 0);
    for (uintptr_t i = 0; i < 1000; i++) {
        assert_int_equal(push(d, 0, 1, i + 1, (int64_t)i * 10 * MS), OK);
    }
    for (uintptr_t i = 0; i < 1000; i++) {
        struct delay_item item;
        int64_t took_ns;

        assert_true(delay_pop(d, DELAY_NEVER, &item));
        assert_int_equal((uintptr_t)item.what, i + 1);
        assert_true(item.due_ns >= last_ns);
        last_ns = item.due_ns;
        took_ns = item.due_ns - (int64_t)i * 10 * MS;
        assert_true(took_ns >= 10 * MS && took_ns <= 14 * MS);
        low_ns = took_ns < low_ns ? took_ns : low_ns;
        high_ns = took_ns > high_ns ? took_ns : high_ns;
    }
    assert_true(low_ns < 11 * MS && high_ns > 13 * MS);
    delay_destroy(d);
}

static void test_what_does_not_fit_is_refused_and_room_comes_back(void **state)
{
    struct delay *d = make(2, 3);

    (void)state;
    for (int round = 0; round < 5; round++) {
        assert_int_equal(push(d, 0, 1, 1, 0), OK);
        assert_int_equal(push(d, 1, 0, 2, 0), OK);
        assert_int_equal(push(d, 0, 1, 3, 0), OK);
        assert_int_equal(push(d, 0, 1, 4, 0), ERR_AGAIN);
        assert_int_equal(delay_count(d), 3);
        assert_int_equal(pop(d, 0), 1);
        assert_int_equal(pop(d, 0) + pop(d, 0), 5);
        assert_int_equal(pop(d, 0), 0);
    }
    delay_destroy(d);
}

static void test_lateness_counts_from_when_it_was_due_and_what_it_waited(void **state)
{
    const struct delay_item item = {.due_ns = 100, .waited_ns = 7};

    (void)state;
    assert_true(delay_item_late_ns(&item, 90) == 7);
    assert_true(delay_item_late_ns(&item, 100) == 7);
    assert_true(delay_item_late_ns(&item, 130) == 37);
}

static struct delay_report report_of(const int64_t *late_ns, size_t count)
{
    static struct obs_histogram h;
    struct obs_distribution d;

    obs_histogram_init(&h);
    for (size_t i = 0; i < count; i++) {
        obs_histogram_record(&h, late_ns[i]);
    }
    obs_histogram_read(&h, &d);
    return delay_report_of(&d);
}

static void test_a_mean_above_a_millisecond_is_not_valid(void **state)
{
    const int64_t good[] = {0, 2 * MS, MS, MS}, bad[] = {0, 2 * MS, MS, MS + 4};
    struct delay_report r = report_of(NULL, 0);

    (void)state;
    assert_true(r.valid && r.count == 0 && r.mean_us == 0);
    r = report_of(good, 4);
    assert_true(r.valid && r.count == 4);
    assert_true(r.mean_us == 1000 && r.max_us == 2000);
    assert_true(r.p99_us >= 1800 && r.p99_us <= 2200);
    r = report_of(bad, 4);
    assert_false(r.valid);
}

static void test_what_cannot_be_is_refused(void **state)
{
    const struct delay_config none = {.ends = 0, .items_max = 1};
    const struct delay_config empty = {.ends = 1, .items_max = 0};
    struct delay *d = NULL;

    (void)state;
    assert_int_equal(delay_create(&none, &d), ERR_INVALID);
    assert_int_equal(delay_create(&empty, &d), ERR_INVALID);
    assert_null(d);
    delay_destroy(NULL);
}

static void test_every_failing_allocation_is_survived(void **state)
{
    const struct delay_config config = {.ends = 3, .items_max = 5};
    enum err rc = ERR_NOMEM;
    uint64_t k = 1;

    (void)state;
    for (; rc != OK; k++) {
        struct delay *d = NULL;

        mem_fail_at(k, 1);
        rc = delay_create(&config, &d);
        mem_fail_at(0, 0);
        assert_true(rc == OK || (rc == ERR_NOMEM && d == NULL));
        delay_destroy(d);
    }
    assert_true(k > 3);
}

/* The model: everything in a list; the earliest comes out, of equals the first of the line that has
 * waited longest at its front. Only what must hold is compared. */

enum { MODEL_ENDS = 5, MODEL_MAX = 64, MODEL_STEPS = 20000 };

struct model_entry {
    uint32_t from, to;
    uintptr_t what;
    int64_t due_ns;
};

struct model {
    struct model_entry list[MODEL_MAX]; /* In the order in which they came. */
    uint32_t count;
    int64_t delay_ns[MODEL_ENDS][MODEL_ENDS];
    int64_t last_ns[MODEL_ENDS][MODEL_ENDS];
};

static void model_push(struct model *m, uint32_t from, uint32_t to, uintptr_t what, int64_t now_ns)
{
    int64_t due_ns = now_ns + m->delay_ns[from][to];

    due_ns = due_ns < m->last_ns[from][to] ? m->last_ns[from][to] : due_ns;
    m->last_ns[from][to] = due_ns;
    m->list[m->count++] =
        (struct model_entry){.from = from, .to = to, .what = what, .due_ns = due_ns};
}

/* Take @what out: it must be the first of its line, due, and none must be due earlier. */
static void model_pop(struct model *m, const struct delay_item *item, int64_t now_ns)
{
    uint32_t at = m->count;

    for (uint32_t i = 0; i < m->count && at == m->count; i++) {
        if (m->list[i].from == item->from && m->list[i].to == item->to) {
            at = i;
        }
    }
    assert_true(at < m->count);
    assert_int_equal(m->list[at].what, (uintptr_t)item->what);
    assert_true(m->list[at].due_ns == item->due_ns && item->due_ns <= now_ns);
    for (uint32_t i = 0; i < m->count; i++) {
        assert_true(m->list[i].due_ns >= item->due_ns);
    }
    memmove(&m->list[at], &m->list[at + 1], (m->count - at - 1) * sizeof(m->list[0]));
    m->count--;
}

static void test_random_traffic_is_as_the_model_says(void **state)
{
    static struct model m;
    struct rng rng;

    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct delay *d = make(MODEL_ENDS, MODEL_MAX);
        int64_t now_ns = 0;

        m = (struct model){0};
        rng_init(&rng, seed);
        for (uintptr_t step = 1; step <= MODEL_STEPS; step++) {
            uint32_t from = (uint32_t)rng_below(&rng, MODEL_ENDS);
            uint32_t to = (uint32_t)rng_below(&rng, MODEL_ENDS);
            struct delay_item item;

            now_ns += rng_between(&rng, 0, 3);
            if (rng_chance(&rng, 20000)) {
                m.delay_ns[from][to] = rng_between(&rng, 0, 100);
                set(d, from, to, m.delay_ns[from][to], 0, 0);
            } else if (rng_chance(&rng, 500000)) {
                enum err rc = push(d, from, to, step, now_ns);

                assert_int_equal(rc, m.count == MODEL_MAX ? ERR_AGAIN : OK);
                if (rc == OK) {
                    model_push(&m, from, to, step, now_ns);
                }
            } else if (delay_pop(d, now_ns, &item)) {
                model_pop(&m, &item, now_ns);
            } else {
                assert_true(delay_next_ns(d) > now_ns);
            }
            assert_int_equal(delay_count(d), m.count);
        }
        delay_destroy(d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_item_comes_out_when_it_is_due_and_not_before),
        cmocka_unit_test(test_sending_takes_its_time),
        cmocka_unit_test(test_directions_are_apart),
        cmocka_unit_test(test_a_shorter_delay_overtakes_nothing_that_is_on_its_way),
        cmocka_unit_test(test_jitter_is_on_top_and_keeps_the_order),
        cmocka_unit_test(test_what_does_not_fit_is_refused_and_room_comes_back),
        cmocka_unit_test(test_lateness_counts_from_when_it_was_due_and_what_it_waited),
        cmocka_unit_test(test_a_mean_above_a_millisecond_is_not_valid),
        cmocka_unit_test(test_what_cannot_be_is_refused),
        cmocka_unit_test(test_every_failing_allocation_is_survived),
        cmocka_unit_test(test_random_traffic_is_as_the_model_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
