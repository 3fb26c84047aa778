/* Filters as people write them, and thresholds. */

#include "codec/filter.h"

#include "codec/testing.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

static struct codec_filter parse(const char *measure, const char *grain)
{
    struct codec_filter filter;
    struct err_text text = {""};

    if (codec_filter_parse(measure, grain, &filter, &text) != OK) {
        fail_msg("%s", text.text);
    }
    return filter;
}

static void test_what_people_write_is_understood(void **state)
{
    struct codec_filter f = parse(NULL, NULL);

    (void)state;
    assert_true(f.measure == CODEC_RELATIVE && f.grain == CODEC_ELEMENT && f.tables_count == 0);
    f = parse("relative", "row");
    assert_true(f.measure == CODEC_RELATIVE && f.grain == CODEC_ROW);
    f = parse(" absolute ", "element");
    assert_true(f.measure == CODEC_ABSOLUTE && f.grain == CODEC_ELEMENT);
    f = parse("row-norm", NULL);
    assert_true(f.measure == CODEC_ROW_NORM && f.grain == CODEC_ROW);
    f = parse("row-norm", "row");
    assert_true(f.measure == CODEC_ROW_NORM && f.grain == CODEC_ROW);
    f = parse("product left  right row x.1-2_3", NULL);
    assert_true(f.measure == CODEC_PRODUCT && f.grain == CODEC_ELEMENT && f.tables_count == 4);
    assert_string_equal(f.tables[0], "left");
    assert_string_equal(f.tables[2], "row");
    assert_string_equal(f.tables[3], "x.1-2_3");
    assert_int_equal(codec_filter_find(&f, "right"), 1);
    assert_int_equal(codec_filter_find(&f, "none"), 4);
}

static void test_what_is_wrong_is_named_with_what_is_allowed(void **state)
{
    static const struct {
        const char *measure, *grain, *text;
    } rows[] = {
        {"", NULL,
         "significance '': write relative, absolute, row-norm, product TABLE TABLE or custom NAME"},
        {"  ", NULL,
         "significance '  ': write relative, absolute, row-norm, product TABLE TABLE or custom "
         "NAME"},
        {"relativ", NULL,
         "significance 'relativ': 'relativ' is unknown; there are relative, absolute, row-norm, "
         "product TABLE TABLE and custom NAME"},
        {"custom", NULL, "significance 'custom': write the name of your function behind it"},
        {"custom a b", NULL,
         "significance 'custom a b': custom is followed by one name of 1 to 31 lower-case letters, "
         "digits and '_', which starts with no digit"},
        {"custom 1a", NULL,
         "significance 'custom 1a': custom is followed by one name of 1 to 31 lower-case letters, "
         "digits and '_', which starts with no digit"},
        {"custom a-b", NULL,
         "significance 'custom a-b': custom is followed by one name of 1 to 31 lower-case letters, "
         "digits and '_', which starts with no digit"},
        {"relative a", NULL,
         "significance 'relative a': 'a' does not belong there; only product is followed by names "
         "of tables"},
        {"product", NULL, "significance 'product': a product has 2 to 4 tables"},
        {"product a", NULL, "significance 'product a': a product has 2 to 4 tables"},
        {"product a b c d e", NULL,
         "significance 'product a b c d e': a product has 2 to 4 tables"},
        {"product a b a", NULL, "significance 'product a b a': table 'a' is there twice"},
        {"product a B", NULL,
         "significance 'product a B': 'B' is no name of a table: it has 1 to 31 lower-case "
         "letters, digits, '-', '_' and '.', and starts with one of the first two"},
        {"product a -b", NULL,
         "significance 'product a -b': '-b' is no name of a table: it has 1 to 31 lower-case "
         "letters, digits, '-', '_' and '.', and starts with one of the first two"},
        {"relative", "column", "granularity 'column' is unknown; there are element and row"},
        {"relative", "", "granularity '' is unknown; there are element and row"},
        {"row-norm", "element",
         "granularity 'element': row-norm judges whole rows; write row, or leave it out"},
    };
    struct codec_filter out = {.tables_count = 42};
    struct err_text text;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(codec_filter_parse(rows[i].measure, rows[i].grain, &out, &text),
                         ERR_INVALID);
        assert_string_equal(text.text, rows[i].text);
        assert_int_equal(codec_filter_parse(rows[i].measure, rows[i].grain, &out, NULL),
                         ERR_INVALID);
    }
    assert_int_equal(out.tables_count, 42);
}

static void test_a_text_without_end_is_refused(void **state)
{
    char chars[600];
    struct codec_filter out;

    (void)state;
    memset(chars, 'a', sizeof(chars) - 1);
    chars[sizeof(chars) - 1] = '\0';
    assert_int_equal(codec_filter_parse(chars, NULL, &out, NULL), ERR_INVALID);
    memcpy(chars, "product a ", 10);
    chars[10 + 31] = '\0';
    assert_int_equal(codec_filter_parse(chars, NULL, &out, NULL), OK);
    chars[10 + 31] = 'a';
    chars[10 + 32] = '\0';
    assert_int_equal(codec_filter_parse(chars, NULL, &out, NULL), ERR_INVALID);
}

static void test_a_printed_filter_parses_to_the_same(void **state)
{
    static const char *const texts[] = {
        "relative",
        "absolute",
        "row-norm",
        "product a b",
        "custom my_own2",
        "product a b c",
        "product a b c d",
        ("product aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa baaaaaaaaaaaaaaaaaaaaaaaaaaaaaa "
         "caaaaaaaaaaaaaaaaaaaaaaaaaaaaaa daaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")};
    char chars[CODEC_FILTER_TEXT_BYTES];

    (void)state;
    for (uint32_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        for (uint32_t grain = i == 2 ? 1 : 0; grain < CODEC_GRAINS; grain++) {
            struct codec_filter f = parse(texts[i], codec_grain_name((enum codec_grain)grain));
            struct codec_filter again;

            codec_filter_print(&f, chars, sizeof(chars));
            assert_string_equal(chars, texts[i]);
            again = parse(chars, codec_grain_name(f.grain));
            assert_true(codec_filter_equal(&f, &again));
        }
    }
    assert_string_equal(codec_measure_name(CODEC_ROW_NORM), "row-norm");
}

static void measure_nothing(const float *values, const float *held, uint32_t count, uint32_t width,
                            float *significance, void *user)
{
    (void)values;
    (void)held;
    (void)width;
    (void)user;
    memset(significance, 0, count * sizeof(float));
}

static void test_two_filters_differ_in_any_field(void **state)
{
    struct codec_filter a = parse("product a b", NULL);
    int user;

    (void)state;
    for (uint32_t i = 0; i < 7; i++) {
        struct codec_filter b = a;

        assert_true(codec_filter_equal(&a, &b));
        b.measure = i == 0 ? CODEC_CUSTOM : b.measure;
        b.grain = i == 1 ? CODEC_ROW : b.grain;
        b.tables_count -= i == 2;
        b.tables[1][0] = i == 3 ? 'c' : b.tables[1][0];
        b.user = i == 4 ? &user : NULL;
        b.custom = i == 5 ? measure_nothing : NULL;
        b.name[0] = i == 6 ? 'n' : '\0';
        assert_false(codec_filter_equal(&a, &b));
    }
}

static void test_a_threshold_is_from_0_to_a_million(void **state)
{
    struct err_text text = {""};

    (void)state;
    assert_int_equal(codec_threshold_check("threshold", 0, &text), OK);
    assert_int_equal(codec_threshold_check("threshold", 0.01, &text), OK);
    assert_int_equal(codec_threshold_check("threshold", 1e6, &text), OK);
    assert_int_equal(codec_threshold_check("hard threshold", -0.5, &text), ERR_INVALID);
    assert_string_equal(text.text,
                        "hard threshold is -0.5, but must be a number from 0 to 1000000");
    assert_int_equal(codec_threshold_check("threshold", 1000000.1, NULL), ERR_INVALID);
    assert_int_equal(codec_threshold_check("threshold", (double)NAN, NULL), ERR_INVALID);
    assert_int_equal(codec_threshold_check("threshold", (double)INFINITY, NULL), ERR_INVALID);
    assert_int_equal(codec_threshold_check("threshold", -(double)INFINITY, NULL), ERR_INVALID);
}

static void test_thresholds_fall_with_the_root_of_the_clock(void **state)
{
    (void)state;
    assert_true(codec_threshold(0.5F, 1) == 0.5F && codec_threshold(0.5F, 0) == 0.5F);
    assert_true(codec_threshold(0.5F, 4) == 0.25F && codec_threshold(0.5F, 100) == 0.05F);
    assert_true(codec_threshold(0.01F, 4) == 0.005F);
    assert_true(codec_threshold(0, 7) == 0 && codec_threshold(1e6F, 1) == 1e6F);
    assert_int_equal(testing_bits(codec_threshold(0.01F, 2)), 0x3be7b46a);
    assert_int_equal(testing_bits(codec_threshold(0.01F, 3)), 0x3bbd2fa6);
    assert_int_equal(testing_bits(codec_threshold(0.01F, 100)), 0x3a83126e);
    assert_int_equal(testing_bits(codec_threshold(1, UINT64_MAX)), 0x2f800000);
}

static void test_thresholds_do_not_depend_on_the_callers_rounding(void **state)
{
#if defined(__x86_64__)
    (void)state;
    for (uint64_t clock = 1; clock < 500; clock++) {
        unsigned before = _mm_getcsr();
        float t;

        _mm_setcsr(0x5f80);
        t = codec_threshold(0.01F, clock);
        _mm_setcsr(before);
        assert_int_equal(testing_bits(t), testing_bits(codec_threshold(0.01F, clock)));
    }
#else
    (void)state;
    skip();
#endif
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_people_write_is_understood),
        cmocka_unit_test(test_what_is_wrong_is_named_with_what_is_allowed),
        cmocka_unit_test(test_a_text_without_end_is_refused),
        cmocka_unit_test(test_a_printed_filter_parses_to_the_same),
        cmocka_unit_test(test_two_filters_differ_in_any_field),
        cmocka_unit_test(test_a_threshold_is_from_0_to_a_million),
        cmocka_unit_test(test_thresholds_fall_with_the_root_of_the_clock),
        cmocka_unit_test(test_thresholds_do_not_depend_on_the_callers_rounding),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
