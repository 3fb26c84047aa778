/* Likeness of words: against the definition written down plainly, and by example. */

#include "base/nearest.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* The definition, without a table: exponential, so for short words only. */
static uint32_t naive(const char *a, size_t a_size, const char *b, size_t b_size)
{
    uint32_t best, other;

    if (a_size == 0 || b_size == 0) {
        return (uint32_t)(a_size + b_size);
    }
    best = naive(a, a_size - 1, b, b_size - 1) + (a[a_size - 1] != b[b_size - 1]);
    other = naive(a, a_size - 1, b, b_size) + 1;
    best = other < best ? other : best;
    other = naive(a, a_size, b, b_size - 1) + 1;
    best = other < best ? other : best;
    if (a_size > 1 && b_size > 1 && a[a_size - 1] == b[b_size - 2] &&
        a[a_size - 2] == b[b_size - 1]) {
        other = naive(a, a_size - 2, b, b_size - 2) + 1;
        best = other < best ? other : best;
    }
    return best;
}

static void test_distances_are_those_of_the_definition(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 3);
    for (uint32_t i = 0; i < 3000; i++) {
        char a[8] = "", b[8] = "";
        size_t a_size = rng_below(&rng, 6), b_size = rng_below(&rng, 6);

        for (size_t k = 0; k < a_size; k++) {
            a[k] = (char)('a' + rng_below(&rng, 3));
        }
        for (size_t k = 0; k < b_size; k++) {
            b[k] = (char)('a' + rng_below(&rng, 3));
        }
        assert_int_equal(nearest_distance(a, b), naive(a, a_size, b, b_size));
    }
}

static void test_each_slip_counts_one(void **state)
{
    (void)state;
    assert_int_equal(nearest_distance("bench", "bench"), 0);
    assert_int_equal(nearest_distance("bnech", "bench"), 1);
    assert_int_equal(nearest_distance("bech", "bench"), 1);
    assert_int_equal(nearest_distance("benchh", "bench"), 1);
    assert_int_equal(nearest_distance("bensh", "bench"), 1);
    assert_int_equal(nearest_distance("", "bench"), 5);
    assert_int_equal(nearest_distance("bench", ""), 5);
    assert_int_equal(nearest_distance("kitten", "sitting"), 3);
}

static const char *best(const char *wanted)
{
    static const char *const words[] = {"rate", "delay", "rtt", "jitter", "staleness", NULL};
    struct nearest n;

    nearest_init(&n, wanted);
    for (const char *const *w = words; *w != NULL; w++) {
        nearest_offer(&n, *w);
    }
    return n.best == NULL ? "-" : n.best;
}

static void test_slips_are_understood_and_other_words_are_not(void **state)
{
    (void)state;
    assert_string_equal(best("raet"), "rate");
    assert_string_equal(best("dealy"), "delay");
    assert_string_equal(best("stale"), "staleness");
    assert_string_equal(best("Jitter"), "jitter");
    assert_string_equal(best("bandwidth"), "-");
    assert_string_equal(best("x"), "-");
    assert_string_equal(best(""), "-");
}

static void test_long_words_are_like_nothing(void **state)
{
    char word[NEAREST_WORD_BYTES + 2];

    (void)state;
    memset(word, 'x', sizeof(word) - 1);
    word[sizeof(word) - 1] = '\0';
    assert_int_equal(nearest_distance(word, word), UINT32_MAX);
    assert_int_equal(nearest_distance(word + 1, word + 1), 0);
    assert_string_equal(best(word), "-");
}

static void test_a_hint_names_the_word_or_all_of_them(void **state)
{
    char long_word[60];
    struct nearest n;

    (void)state;
    nearest_init(&n, "dely");
    nearest_offer(&n, "rate");
    nearest_offer(&n, "delay");
    assert_string_equal(nearest_hint(&n, "there are"), "did you mean 'delay'?");
    nearest_init(&n, "speed");
    nearest_offer(&n, "rate");
    nearest_offer(&n, "delay");
    assert_string_equal(nearest_hint(&n, "there are"), "there are rate, delay");
    memset(long_word, 'x', sizeof(long_word) - 1);
    long_word[sizeof(long_word) - 1] = '\0';
    for (int i = 0; i < 10; i++) {
        nearest_offer(&n, long_word);
    }
    nearest_offer(&n, "end");
    assert_int_equal((strlen(n.list) - 4 - 7 - 5) % 61, 0);
    assert_in_range(strlen(n.list), NEAREST_LIST_BYTES - 61, NEAREST_LIST_BYTES - 1);
    assert_string_equal(n.list + strlen(n.list) - 6, "x, ...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distances_are_those_of_the_definition),
        cmocka_unit_test(test_each_slip_counts_one),
        cmocka_unit_test(test_slips_are_understood_and_other_words_are_not),
        cmocka_unit_test(test_long_words_are_like_nothing),
        cmocka_unit_test(test_a_hint_names_the_word_or_all_of_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
