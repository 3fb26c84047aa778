/* How tables start: texts, and values that depend on nothing but seed and place. */

#include "table/init.h"

#include "base/hash.h"
#include "table/testing.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

enum { MANY = 200000 };

static struct table_init parse(const char *in)
{
    struct table_init init;
    struct err_text text = {""};

    if (table_init_parse(in, &init, &text) != OK) {
        fail_msg("'%s': %s", in, text.text);
    }
    return init;
}

static void test_what_people_write_is_understood(void **state)
{
    struct table_init i = parse("zeros");

    (void)state;
    assert_true(i.kind == TABLE_INIT_ZEROS && i.value == 0 && i.seed == 0);
    i = parse("constant -0.5");
    assert_true(i.kind == TABLE_INIT_CONSTANT && i.value == -0.5F);
    i = parse(" uniform  0.1 seed=18446744073709551615");
    assert_true(i.kind == TABLE_INIT_UNIFORM && i.value == 0.1F && i.seed == UINT64_MAX);
    i = parse("normal 1e30 seed=7");
    assert_true(i.kind == TABLE_INIT_NORMAL && i.value == 1e30F && i.seed == 7);
    assert_true(parse("zeros seed=3").seed == 3);
}

static void test_what_is_wrong_is_named_with_what_is_allowed(void **state)
{
    static const struct {
        const char *in;
        const char *text;
    } rows[] = {
        {"", "write zeros, constant VALUE, uniform HALF-WIDTH or normal DEVIATION"},
        {"ones", "'ones' is unknown; there are zeros, constant VALUE, uniform HALF-WIDTH or normal "
                 "DEVIATION"},
        {"constant", "constant needs a number: write constant 0.1"},
        {"constant x", "'x' must be a number"},
        {"constant 1e39", "'1e39' must be a number"},
        {"uniform 0", "'0' must be a number above 0, at most 1e30"},
        {"uniform seed=1", "'seed=1' must be a number above 0, at most 1e30"},
        {"normal -1", "'-1' must be a number above 0, at most 1e30"},
        {"normal 2e30", "'2e30' must be a number above 0, at most 1e30"},
        {"normal 1 2", "'2' is not understood; only seed=NUMBER may follow"},
        {"zeros 1", "'1' is not understood; only seed=NUMBER may follow"},
        {"normal 1 seed=0", "'seed=0' must be a whole number, at least 1"},
        {"normal 1 seed=x", "'seed=x' must be a whole number, at least 1"},
        {"normal 1 seed=18446744073709551616",
         "'seed=18446744073709551616' must be a whole number, at least 1"},
        {"normal 1 seed=1 seed=1", "'seed=1' is not understood; only seed=NUMBER may follow"},
    };
    struct table_init out = {.seed = 42};
    char expected[ERR_TEXT_BYTES];
    struct err_text text;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        (void)snprintf(expected, sizeof(expected), "init '%s': %s", rows[i].in, rows[i].text);
        assert_int_equal(table_init_parse(rows[i].in, &out, &text), ERR_INVALID);
        assert_string_equal(text.text, expected);
        assert_int_equal(table_init_parse(rows[i].in, &out, NULL), ERR_INVALID);
    }
    assert_int_equal(out.seed, 42);
}

static void test_a_printed_init_parses_to_the_same(void **state)
{
    static const char *const texts[] = {
        "zeros",         "zeros seed=9",
        "constant -0",   "constant -3.4028235e+38 seed=18446744073709551615",
        "uniform 1e-45", "normal 0.02 seed=7"};
    char chars[TABLE_INIT_TEXT_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct table_init a = parse(texts[i]), b;

        table_init_print(&a, chars, sizeof(chars));
        assert_string_equal(chars, texts[i]);
        b = parse(chars);
        assert_true(table_init_equal(&a, &b));
        b.seed++;
        assert_false(table_init_equal(&a, &b));
    }
}

static void test_two_inits_differ_in_any_field(void **state)
{
    struct table_init a = parse("constant 0 seed=1");
    struct table_init others[] = {parse("constant -0 seed=1"), parse("constant 1 seed=1"),
                                  parse("zeros seed=1"), parse("constant 0")};

    (void)state;
    assert_true(table_init_equal(&a, &a));
    for (uint32_t i = 0; i < 4; i++) {
        assert_false(table_init_equal(&a, &others[i]));
    }
}

static void test_every_part_has_the_values_of_the_whole(void **state)
{
    static const char *const texts[] = {"zeros", "constant 3", "uniform 0.1", "normal 0.02 seed=7"};
    const uint64_t start = (UINT64_C(1) << 35) - 50;
    float whole[200], part[200];
    struct rng r;

    (void)state;
    rng_init(&r, 3);
    for (uint32_t k = 0; k < 4; k++) {
        struct table_init init = parse(texts[k]);

        table_init_fill(&init, 12345, start, whole, 200);
        for (uint32_t i = 0; i < 300; i++) {
            uint32_t first = (uint32_t)rng_below(&r, 200);
            uint32_t count = (uint32_t)rng_below(&r, 201 - first);

            memset(part, 0xff, sizeof(part));
            table_init_fill(&init, 12345, start + first, part, count);
            testing_alike(part, whole + first, count);
            assert_true(count == 200 || testing_bits(part[count]) == UINT32_MAX);
        }
    }
}

static void test_seed_and_name_make_the_values(void **state)
{
    struct table_init named = parse("normal 1"), seeded = parse("normal 1 seed=5");
    float a[64], b[64];

    (void)state;
    table_init_fill(&named, hash_text("a"), 0, a, 64);
    table_init_fill(&named, hash_text("b"), 0, b, 64);
    assert_memory_not_equal(a, b, sizeof(a));
    table_init_fill(&seeded, hash_text("a"), 0, a, 64);
    table_init_fill(&seeded, hash_text("b"), 0, b, 64);
    assert_memory_equal(a, b, sizeof(a));
    seeded.seed = 6;
    table_init_fill(&seeded, 0, 0, b, 64);
    assert_memory_not_equal(a, b, sizeof(a));
}

static void test_uniform_values_are_spread_evenly_within_their_width(void **state)
{
    struct table_init init = parse("uniform 0.5 seed=1");
    float *x = testing_array(0, MANY);
    uint32_t bins[16] = {0};
    double sum = 0;

    (void)state;
    table_init_fill(&init, 0, 0, x, MANY);
    for (uint32_t i = 0; i < MANY; i++) {
        assert_true(x[i] >= -0.5F && x[i] <= 0.5F);
        bins[x[i] >= 0.5F ? 15 : (uint32_t)((x[i] + 0.5F) * 16)]++;
        sum += (double)x[i];
    }
    /* Five deviations: of the mean, 0.289 / sqrt(MANY); of a bin, sqrt(MANY / 16). */
    assert_true(fabs(sum / MANY) < 5 * 0.2887 / sqrt(MANY));
    for (uint32_t i = 0; i < 16; i++) {
        assert_true(fabs(bins[i] - MANY / 16.0) < 5 * sqrt(MANY / 16.0));
    }
    testing_array_free(x, 0);
}

/* The part of a normal distribution below @z. */
static double below(double z)
{
    return 0.5 * erfc(-z / sqrt(2));
}

static void test_normal_values_have_the_shape_and_no_memory(void **state)
{
    struct table_init init = parse("normal 2 seed=1");
    float *x = testing_array(0, MANY);
    uint32_t bins[42] = {0};
    double sum = 0, squares = 0, neighbours = 0;

    (void)state;
    table_init_fill(&init, 0, 0, x, MANY);
    for (uint32_t i = 0; i < MANY; i++) {
        double z = (double)x[i] / 2;
        double bin = floor(z * 5) + 21;

        bins[bin < 0 ? 0 : bin > 41 ? 41 : (uint32_t)bin]++;
        sum += z;
        squares += z * z;
        neighbours += i == 0 ? 0 : z * (double)x[i - 1] / 2;
    }
    assert_true(fabs(sum / MANY) < 5 / sqrt(MANY));
    assert_true(fabs(squares / MANY - 1) < 5 * sqrt(2.0 / MANY));
    assert_true(fabs(neighbours / MANY) < 5 / sqrt(MANY));
    for (uint32_t i = 0; i < 42; i++) {
        double low = i == 0 ? 0 : below((i - 21.0) / 5);
        double high = i == 41 ? 1 : below((i - 20.0) / 5);
        double expected = MANY * (high - low);

        assert_true(fabs(bins[i] - expected) < 5 * sqrt(expected) + 3);
    }
    testing_array_free(x, 0);
}

static void test_the_values_have_these_bits(void **state)
{
    static const struct {
        const char *init;
        uint64_t hash;
    } rows[] = {{"uniform 0.1 seed=7", UINT64_C(0x1c7180630a367243)},
                {"normal 0.02", UINT64_C(0x0338e1c287047113)}};
    float x[5000];

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        struct table_init init = parse(rows[i].init);

        table_init_fill(&init, hash_text("model"), 999, x, 5000);
        assert_int_equal(hash_bytes(x, sizeof(x)), rows[i].hash);
#if defined(__x86_64__)
        {
            unsigned before = _mm_getcsr();

            memset(x, 0, sizeof(x));
            _mm_setcsr(0xdfc0);
            table_init_fill(&init, hash_text("model"), 999, x, 5000);
            _mm_setcsr(before);
            assert_int_equal(hash_bytes(x, sizeof(x)), rows[i].hash);
        }
#endif
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_people_write_is_understood),
        cmocka_unit_test(test_what_is_wrong_is_named_with_what_is_allowed),
        cmocka_unit_test(test_a_printed_init_parses_to_the_same),
        cmocka_unit_test(test_two_inits_differ_in_any_field),
        cmocka_unit_test(test_every_part_has_the_values_of_the_whole),
        cmocka_unit_test(test_seed_and_name_make_the_values),
        cmocka_unit_test(test_uniform_values_are_spread_evenly_within_their_width),
        cmocka_unit_test(test_normal_values_have_the_shape_and_no_memory),
        cmocka_unit_test(test_the_values_have_these_bits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
