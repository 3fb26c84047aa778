/* The receive window against a naive set. */

#include "base/rng.h"
#include "net/session/window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { SEEDS = 6, CIRCLES = 24, NAIVE = (CIRCLES + 3) * LIMIT_WINDOW_FRAMES };

/* Every number that was seen, counted from .origin. */
struct naive {
    uint64_t origin;
    uint64_t base;
    bool seen[NAIVE];
};

static struct naive naive;

static bool *naive_at(uint64_t sequence)
{
    assert_true(sequence > naive.origin && sequence - naive.origin < NAIVE);
    return &naive.seen[sequence - naive.origin];
}

static enum net_window_verdict naive_judge(uint64_t sequence)
{
    if (sequence <= naive.base) {
        return NET_WINDOW_DUPLICATE;
    }
    if (sequence > naive.base + LIMIT_WINDOW_FRAMES) {
        return NET_WINDOW_BEYOND;
    }
    return *naive_at(sequence) ? NET_WINDOW_DUPLICATE : NET_WINDOW_NEW;
}

static void naive_close_up(void)
{
    while (*naive_at(naive.base + 1)) {
        naive.base++;
    }
}

static void naive_add(uint64_t sequence)
{
    if (naive_judge(sequence) == NET_WINDOW_NEW) {
        *naive_at(sequence) = true;
        naive_close_up();
    }
}

static void naive_advance(uint64_t base)
{
    while (naive.base < base) {
        naive.base++;
        *naive_at(naive.base) = true;
    }
    naive_close_up();
}

static void compare(const struct net_window *w)
{
    struct wire_window wire;

    assert_int_equal(net_window_base(w), naive.base);
    net_window_to_wire(w, &wire);
    assert_int_equal(wire.base, naive.base);
    for (uint64_t i = 0; i < LIMIT_WINDOW_FRAMES; i++) {
        bool bit = (wire.bits[i / 64] >> (i % 64)) & 1;

        assert_int_equal(bit, *naive_at(naive.base + 1 + i));
    }
}

/* Mostly near the base, sometimes anywhere that matters, both borders included. */
static uint64_t pick(struct rng *r)
{
    if (rng_chance(r, 900000)) {
        return naive.base + 1 + rng_below(r, 8);
    }
    if (rng_chance(r, 500000)) {
        return naive.base + 1 + rng_below(r, LIMIT_WINDOW_FRAMES + 4);
    }
    return naive.base - naive.origin < 100 ? naive.base : naive.base - rng_below(r, 100);
}

static void step(struct net_window *w, struct rng *r)
{
    uint64_t sequence = pick(r);
    struct wire_window wire;

    if (rng_chance(r, 2000)) {
        sequence = naive.base + rng_below(r, LIMIT_WINDOW_FRAMES / 4);
        net_window_advance(w, sequence);
        naive_advance(sequence);
    } else if (rng_chance(r, 1000)) {
        net_window_to_wire(w, &wire);
        memset(w, 0xff, sizeof(*w));
        net_window_from_wire(w, &wire);
    } else {
        enum net_window_verdict expected = naive_judge(sequence);

        assert_int_equal(net_window_judge(w, sequence), expected);
        assert_int_equal(net_window_add(w, sequence), expected);
        naive_add(sequence);
    }
    assert_int_equal(net_window_base(w), naive.base);
}

static void test_random_sequences_agree_with_a_naive_set(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct net_window w;
        struct rng r;

        rng_init(&r, seed);
        memset(&naive, 0, sizeof(naive));
        naive.origin = naive.base = seed == 1 ? 0 : rng_below(&r, UINT64_MAX / 2);
        net_window_init(&w, naive.base);
        for (int i = 0; naive.base - naive.origin < (uint64_t)CIRCLES * LIMIT_WINDOW_FRAMES; i++) {
            step(&w, &r);
            if (i % 512 == 0) {
                compare(&w);
            }
        }
        compare(&w);
    }
}

static void test_numbers_in_order_only_move_the_base(void **state)
{
    struct net_window w, empty;

    (void)state;
    net_window_init(&w, 0);
    for (uint64_t s = 1; s <= 5 * LIMIT_WINDOW_FRAMES; s++) {
        assert_int_equal(net_window_add(&w, s), NET_WINDOW_NEW);
        assert_int_equal(net_window_add(&w, s), NET_WINDOW_DUPLICATE);
        assert_int_equal(net_window_base(&w), s);
    }
    net_window_init(&empty, (uint64_t)5 * LIMIT_WINDOW_FRAMES);
    assert_memory_equal(&w, &empty, sizeof(w));
}

static void test_zero_is_never_new(void **state)
{
    struct net_window w;

    (void)state;
    net_window_init(&w, 0);
    assert_int_equal(net_window_add(&w, 0), NET_WINDOW_DUPLICATE);
}

static void test_the_window_ends_exactly_at_its_size(void **state)
{
    (void)state;
    for (uint64_t base = 0; base < 3 * LIMIT_WINDOW_FRAMES; base += 777) {
        struct net_window w;

        net_window_init(&w, base);
        assert_int_equal(net_window_judge(&w, base + LIMIT_WINDOW_FRAMES + 1), NET_WINDOW_BEYOND);
        assert_int_equal(net_window_add(&w, base + LIMIT_WINDOW_FRAMES + 1), NET_WINDOW_BEYOND);
        assert_int_equal(net_window_add(&w, UINT64_MAX), NET_WINDOW_BEYOND);
        assert_int_equal(net_window_add(&w, base + LIMIT_WINDOW_FRAMES), NET_WINDOW_NEW);
        assert_int_equal(net_window_add(&w, base + LIMIT_WINDOW_FRAMES), NET_WINDOW_DUPLICATE);
        assert_int_equal(net_window_base(&w), base);
        assert_int_equal(net_window_add(&w, base + 1), NET_WINDOW_NEW);
        assert_int_equal(net_window_add(&w, base + LIMIT_WINDOW_FRAMES + 2), NET_WINDOW_BEYOND);
        assert_int_equal(net_window_add(&w, base + LIMIT_WINDOW_FRAMES + 1), NET_WINDOW_NEW);
    }
}

static void test_a_gap_that_is_filled_lets_the_base_jump(void **state)
{
    struct net_window w;

    (void)state;
    net_window_init(&w, 10);
    for (uint64_t s = 10 + LIMIT_WINDOW_FRAMES; s > 11; s--) {
        assert_int_equal(net_window_add(&w, s), NET_WINDOW_NEW);
        assert_int_equal(net_window_base(&w), 10);
    }
    assert_int_equal(net_window_add(&w, 11), NET_WINDOW_NEW);
    assert_int_equal(net_window_base(&w), 10 + LIMIT_WINDOW_FRAMES);
}

static void test_advance_counts_everything_before_as_seen(void **state)
{
    struct net_window w;

    (void)state;
    net_window_init(&w, 0);
    assert_int_equal(net_window_add(&w, 7), NET_WINDOW_NEW);
    assert_int_equal(net_window_add(&w, 8), NET_WINDOW_NEW);
    assert_int_equal(net_window_add(&w, 20), NET_WINDOW_NEW);
    net_window_advance(&w, 5);
    assert_int_equal(net_window_base(&w), 5);
    net_window_advance(&w, 3);
    assert_int_equal(net_window_base(&w), 5);
    net_window_advance(&w, 6);
    assert_int_equal(net_window_base(&w), 8);
    assert_int_equal(net_window_judge(&w, 20), NET_WINDOW_DUPLICATE);
    net_window_advance(&w, 1000000);
    assert_int_equal(net_window_base(&w), 1000000);
    for (uint64_t s = 1000001; s <= 1000000 + LIMIT_WINDOW_FRAMES; s++) {
        assert_int_equal(net_window_judge(&w, s), NET_WINDOW_NEW);
    }
}

static void test_a_window_from_the_wire_closes_up(void **state)
{
    struct wire_window wire = {.base = 40, .bits = {0x17}};
    struct net_window w;

    (void)state;
    net_window_from_wire(&w, &wire);
    assert_int_equal(net_window_base(&w), 43);
    assert_int_equal(net_window_judge(&w, 44), NET_WINDOW_NEW);
    assert_int_equal(net_window_judge(&w, 45), NET_WINDOW_DUPLICATE);
    memset(wire.bits, 0xff, sizeof(wire.bits));
    net_window_from_wire(&w, &wire);
    assert_int_equal(net_window_base(&w), 40 + LIMIT_WINDOW_FRAMES);
    net_window_to_wire(&w, &wire);
    for (int i = 0; i < WIRE_WINDOW_WORDS; i++) {
        assert_int_equal(wire.bits[i], 0);
    }
}

static void test_the_last_numbers_of_all_are_numbers_too(void **state)
{
    struct net_window w;

    (void)state;
    net_window_init(&w, UINT64_MAX - 10);
    for (uint64_t s = UINT64_MAX; s > UINT64_MAX - 10; s--) {
        assert_int_equal(net_window_add(&w, s), NET_WINDOW_NEW);
        assert_int_equal(net_window_add(&w, s), NET_WINDOW_DUPLICATE);
    }
    assert_true(net_window_base(&w) == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_sequences_agree_with_a_naive_set),
        cmocka_unit_test(test_numbers_in_order_only_move_the_base),
        cmocka_unit_test(test_zero_is_never_new),
        cmocka_unit_test(test_the_window_ends_exactly_at_its_size),
        cmocka_unit_test(test_a_gap_that_is_filled_lets_the_base_jump),
        cmocka_unit_test(test_advance_counts_everything_before_as_seen),
        cmocka_unit_test(test_a_window_from_the_wire_closes_up),
        cmocka_unit_test(test_the_last_numbers_of_all_are_numbers_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
