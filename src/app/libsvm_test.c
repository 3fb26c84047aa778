/* Sparse samples: the format, parts of workers, errors with their lines, what is generated. */

#include "app/libsvm.h"

#include "base/mem.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static enum err parse(const char *chars, double threshold, uint32_t rank, uint32_t workers,
                      struct libsvm *out, struct err_text *text)
{
    return libsvm_parse("a9a", chars, strlen(chars), threshold, rank, workers, out, text);
}

static void assert_entry(const struct libsvm *l, uint64_t i, uint32_t feature, float value)
{
    assert_true(i < l->starts[l->count]);
    assert_int_equal(l->entries[i].feature, feature);
    assert_true(l->entries[i].value == value);
}

static void test_samples_are_read(void **state)
{
    struct libsvm l;

    (void)state;
    assert_int_equal(parse("# made by hand\n"
                           "+1 3:0.5 17:1 \r\n"
                           "\n"
                           "-1\n"
                           "  0 1:-2e1# and a comment\n"
                           "2.5\t268435456:4\t\t # and another",
                           0, 0, 1, &l, NULL),
                     OK);
    assert_int_equal(l.samples, 4);
    assert_int_equal(l.count, 4);
    assert_int_equal(l.features, 268435456);
    assert_true(l.positive[0] && !l.positive[1] && !l.positive[2] && l.positive[3]);
    assert_int_equal(l.starts[0], 0);
    assert_int_equal(l.starts[1], 2);
    assert_int_equal(l.starts[2], 2);
    assert_int_equal(l.starts[3], 3);
    assert_int_equal(l.starts[4], 4);
    assert_entry(&l, 0, 3, 0.5f);
    assert_entry(&l, 1, 17, 1);
    assert_entry(&l, 2, 1, -20);
    assert_entry(&l, 3, 268435456, 4);
    libsvm_deinit(&l);
}

static void test_the_threshold_divides_the_labels(void **state)
{
    struct libsvm l;

    (void)state;
    assert_int_equal(parse("1\n2\n3\n", 2, 0, 1, &l, NULL), OK);
    assert_true(!l.positive[0] && !l.positive[1] && l.positive[2]);
    libsvm_deinit(&l);
}

static void test_one_class_alone_is_taken_as_it_is(void **state)
{
    struct libsvm l;

    (void)state;
    assert_int_equal(parse("1 1:1\n1 2:1\n", 0, 0, 1, &l, NULL), OK);
    assert_true(l.positive[0] && l.positive[1]);
    libsvm_deinit(&l);
    assert_int_equal(parse("7", 0, 0, 1, &l, NULL), OK);
    assert_int_equal(l.features, 0);
    libsvm_deinit(&l);
}

static const struct {
    const char *chars;
    const char *why;
} bad[] = {
    {"", "a9a:0: there are no samples: expected lines such as '+1 3:0.5 17:1'"},
    {"# nothing\n\n", "a9a:2: there are no samples"},
    {"1 1:1\nyes 1:1\n", "a9a:2: expected a label, a number such as 0.5, found 'yes 1:1'"},
    {"1 0:1\n", "a9a:1: expected a feature, a whole number from 1 to 268435456, found '0:1'"},
    {"1 268435457:1\n", "a9a:1: expected a feature, a whole number from 1 to 268435456"},
    {"1 3:1 3:1\n", "a9a:1: feature 3 after 3: they must ascend"},
    {"1 1:1\n\n1 3:1 2:1\n", "a9a:3: feature 2 after 3: they must ascend"},
    {"1 3\n", "a9a:1: expected ':' and the value of the feature, found the end of the line"},
    {"1 3 :1\n", "a9a:1: expected ':' and the value of the feature, found ' :1'"},
    {"1 3:\n", "a9a:1: expected the value of the feature, a number such as 0.5"},
    {"1 3:x\n", "a9a:1: expected the value of the feature, a number such as 0.5, found 'x'"},
    {"1 3:inf\n", "a9a:1: expected the value of the feature"},
    {"1 3:1,4:1\n", "a9a:1: expected a space, found ',4:1'"},
    {"1, 3:1\n", "a9a:1: expected a space, found ', 3:1'"},
    {"1 qid:3 4:1\n", "a9a:1: expected a feature"},
    {"1 -3:1\n", "a9a:1: expected a feature"},
    {"1 1:1\n2 1:1\n", "a9a:2: labels go from 1 to 2, so none is on the other side of the "
                       "threshold 0: choose another one"},
    {"-1 1:1\n0 1:1\n", "a9a:2: labels go from -1 to 0, so none is on the other side"},
};

static void test_errors_have_their_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct libsvm l = {.count = 77};
        struct err_text text = {""};

        /* Whichever part the fault is in, every worker finds it. */
        for (uint32_t rank = 0; rank < 3; rank++) {
            if (parse(bad[i].chars, 0, rank, 3, &l, &text) != ERR_MALFORMED) {
                fail_msg("'%s' was accepted", bad[i].chars);
            }
            assert_int_equal(l.count, 77);
            if (strncmp(text.text, bad[i].why, strlen(bad[i].why)) != 0) {
                fail_msg("'%s' for '%s'", text.text, bad[i].chars);
            }
        }
    }
}

enum { SAMPLES = 60, ENTRIES = 8 };

static void test_parts_are_the_whole_for_any_number_of_workers(void **state)
{
    static char file[SAMPLES * ENTRIES * 24];
    struct libsvm whole;
    char *at = file;
    struct rng r;

    (void)state;
    rng_init(&r, 8);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        uint32_t feature = 0, count = (uint32_t)rng_below(&r, ENTRIES);

        at += sprintf(at, "%d", rng_below(&r, 2) == 0 ? -1 : 1);
        for (uint32_t k = 0; k < count; k++) {
            feature += 1 + (uint32_t)rng_below(&r, 50);
            at += sprintf(at, " %u:%u.25", feature, (uint32_t)rng_below(&r, 9));
        }
        at += sprintf(at, "\n%s", i % 7 == 0 ? "# comment\n\n" : "");
    }
    assert_int_equal(parse(file, 0, 0, 1, &whole, NULL), OK);
    assert_int_equal(whole.count, SAMPLES);
    for (uint32_t workers = 1; workers <= SAMPLES + 3; workers++) {
        uint32_t sample = 0;
        uint64_t entry = 0;

        for (uint32_t rank = 0; rank < workers; rank++) {
            struct libsvm part;

            assert_int_equal(parse(file, 0, rank, workers, &part, NULL), OK);
            assert_int_equal(part.features, whole.features);
            assert_int_equal(part.samples, SAMPLES);
            assert_int_equal(part.first, sample);
            for (uint32_t i = 0; i < part.count; i++, sample++) {
                assert_int_equal(part.positive[i], whole.positive[sample]);
                assert_int_equal(part.starts[i + 1] - part.starts[i],
                                 whole.starts[sample + 1] - whole.starts[sample]);
            }
            for (uint64_t k = 0; k < part.starts[part.count]; k++, entry++) {
                assert_entry(&part, k, whole.entries[entry].feature, whole.entries[entry].value);
            }
            libsvm_deinit(&part);
        }
        assert_int_equal(sample, SAMPLES);
        assert_int_equal(entry, whole.starts[SAMPLES]);
    }
    libsvm_deinit(&whole);
}

static void test_a_cut_file_is_read_or_refused(void **state)
{
    static const char all[] = "# x\n+1 3:0.5 17:1e-1 # y\n-1 2:2\r\n1";

    (void)state;
    for (size_t size = 0; size < sizeof(all); size++) {
        char *copy = malloc(size + 1);
        struct libsvm l;
        enum err rc;

        assert_non_null(copy);
        memcpy(copy, all, size);
        rc = libsvm_parse("x", copy, size, 0, 1, 2, &l, NULL);
        assert_true(rc == OK || rc == ERR_MALFORMED);
        if (rc == OK) {
            libsvm_deinit(&l);
        }
        free(copy);
    }
}

static void test_out_of_memory_at_every_allocation(void **state)
{
    const struct libsvm_plan plan = {.samples = 5, .features = 9, .nonzeros = 3, .seed = 1};
    enum err rc = ERR_NOMEM;
    struct libsvm l;
    uint64_t k;

    (void)state;
    for (k = 1; rc == ERR_NOMEM; k++) {
        struct err_text text = {""};

        mem_fail_at(k, 1);
        rc = parse("1 1:1\n-1 2:2\n", 0, 0, 1, &l, &text);
        mem_fail_at(0, 0);
        assert_true(rc == OK || strstr(text.text, "a9a: out of memory") != NULL);
    }
    assert_int_equal(rc, OK);
    assert_int_equal(k, 5);
    libsvm_deinit(&l);
    for (k = 1, rc = ERR_NOMEM; rc == ERR_NOMEM; k++) {
        mem_fail_at(k, 1);
        rc = libsvm_generate(&plan, 0, 1, &l);
        mem_fail_at(0, 0);
    }
    assert_int_equal(rc, OK);
    assert_int_equal(k, 6);
    libsvm_deinit(&l);
}

static void test_what_is_generated_does_not_depend_on_the_workers(void **state)
{
    const struct libsvm_plan plan = {.samples = 40, .features = 100, .nonzeros = 7, .seed = 9};
    struct libsvm whole;

    (void)state;
    assert_int_equal(libsvm_generate(&plan, 0, 1, &whole), OK);
    for (uint32_t workers = 1; workers <= 50; workers++) {
        uint32_t sample = 0;

        for (uint32_t rank = 0; rank < workers; rank++) {
            struct libsvm part;

            assert_int_equal(libsvm_generate(&plan, rank, workers, &part), OK);
            assert_int_equal(part.features, 100);
            for (uint32_t i = 0; i < part.count; i++, sample++) {
                uint64_t count = part.starts[i + 1] - part.starts[i];

                assert_int_equal(part.positive[i], whole.positive[sample]);
                assert_int_equal(count, whole.starts[sample + 1] - whole.starts[sample]);
                assert_memory_equal(part.entries + part.starts[i],
                                    whole.entries + whole.starts[sample],
                                    count * sizeof(*part.entries));
            }
            libsvm_deinit(&part);
        }
        assert_int_equal(sample, 40);
    }
    libsvm_deinit(&whole);
}

static void test_generated_samples_are_good_samples(void **state)
{
    const struct libsvm_plan plan = {.samples = 2000, .features = 50, .nonzeros = 50, .seed = 4};
    uint32_t positive = 0;
    struct libsvm l;

    (void)state;
    assert_int_equal(libsvm_generate(&plan, 0, 1, &l), OK);
    for (uint32_t i = 0; i < l.count; i++) {
        uint32_t last = 0;

        assert_true(l.starts[i + 1] > l.starts[i]);
        for (uint64_t k = l.starts[i]; k < l.starts[i + 1]; k++) {
            assert_true(l.entries[k].feature > last && l.entries[k].feature <= 50);
            assert_true(l.entries[k].value >= 0.5f && l.entries[k].value <= 1.5f);
            last = l.entries[k].feature;
        }
        positive += l.positive[i];
    }
    assert_in_range(positive, 200, 1800);
    libsvm_deinit(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples_are_read),
        cmocka_unit_test(test_the_threshold_divides_the_labels),
        cmocka_unit_test(test_one_class_alone_is_taken_as_it_is),
        cmocka_unit_test(test_errors_have_their_line),
        cmocka_unit_test(test_parts_are_the_whole_for_any_number_of_workers),
        cmocka_unit_test(test_a_cut_file_is_read_or_refused),
        cmocka_unit_test(test_out_of_memory_at_every_allocation),
        cmocka_unit_test(test_what_is_generated_does_not_depend_on_the_workers),
        cmocka_unit_test(test_generated_samples_are_good_samples),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
