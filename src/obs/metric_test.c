/* Creating series: rules for names, sameness, limits, failing memory. */

#include "base/mem.h"
#include "obs/metric.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct obs_registry *registry;

static int begin(void **state)
{
    (void)state;
    return obs_registry_create(64, &registry);
}

static int end(void **state)
{
    (void)state;
    obs_registry_destroy(registry);
    return 0;
}

static enum err counter(const char *name, const struct obs_label *labels, uint32_t count,
                        struct obs_counter **out)
{
    struct obs_desc desc = {.name = name, .help = "h", .labels = labels, .labels_count = count};

    return obs_counter_create(registry, &desc, out);
}

static void test_updates_are_seen(void **state)
{
    struct obs_desc desc = {.name = "g", .help = "A gauge."};
    struct obs_counter *c;
    struct obs_gauge *g;

    (void)state;
    assert_int_equal(counter("c_total", NULL, 0, &c), OK);
    assert_int_equal(obs_counter_value(c), 0);
    obs_counter_add(c, 2);
    obs_counter_add(c, 3);
    assert_int_equal(obs_counter_value(c), 5);
    assert_int_equal(obs_gauge_create(registry, &desc, &g), OK);
    assert_true(obs_gauge_value(g) == 0);
    obs_gauge_set(g, 2.5);
    obs_gauge_add(g, -1);
    assert_true(obs_gauge_value(g) == 1.5);
    desc.name = "last";
    desc.merge = OBS_MERGE_LAST;
    assert_int_equal(obs_gauge_create(registry, &desc, &g), OK);
    assert_true(isnan(obs_gauge_value(g)));
}

static void test_the_same_name_and_labels_are_the_same_series(void **state)
{
    static const struct obs_label ab[] = {{"a", "1"}, {"b", "2"}};
    static const struct obs_label ba[] = {{"b", "2"}, {"a", "1"}};
    static const struct obs_label swapped[] = {{"a", "2"}, {"b", "1"}};
    struct obs_counter *first, *again, *plain, *different, *one;

    (void)state;
    assert_int_equal(counter("c_total", ab, 2, &first), OK);
    assert_int_equal(counter("c_total", ba, 2, &again), OK);
    assert_int_equal(counter("c_total", NULL, 0, &plain), OK);
    assert_int_equal(counter("c_total", swapped, 2, &different), OK);
    assert_int_equal(counter("c_total", ab, 1, &one), OK);
    assert_ptr_equal(first, again);
    assert_ptr_not_equal(first, plain);
    assert_ptr_not_equal(first, different);
    assert_ptr_not_equal(first, one);
}

static void test_text_is_copied(void **state)
{
    char name[] = "c_total", key[] = "k", value[] = "v";
    struct obs_label label = {key, value};
    struct obs_counter *first, *again;

    (void)state;
    assert_int_equal(counter(name, &label, 1, &first), OK);
    value[0] = 'w';
    assert_int_equal(counter(name, &label, 1, &again), OK);
    assert_ptr_not_equal(first, again);
    value[0] = 'v';
    assert_int_equal(counter(name, &label, 1, &again), OK);
    assert_ptr_equal(first, again);
}

static void test_names_that_break_the_rules_are_refused(void **state)
{
    static const char *const counters[] = {
        "",          "c",         "9_total",        "a b_total", "_total",
        "a:b_total", "a-b_total", "\xc3\xa9_total", "a_total ",  "a_total_count"};
    static const char *const others[] = {"x_total", "x_bucket", "x_count", "x_sum", "", "1x", "x{"};
    struct obs_histogram *h;
    struct obs_counter *c;
    struct obs_gauge *g;

    (void)state;
    for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
        assert_int_equal(counter(counters[i], NULL, 0, &c), ERR_INVALID);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct obs_desc desc = {.name = others[i], .help = "h"};

        assert_int_equal(obs_gauge_create(registry, &desc, &g), ERR_INVALID);
        assert_int_equal(obs_histogram_create(registry, &desc, &h), ERR_INVALID);
    }
    assert_int_equal(counter(NULL, NULL, 0, &c), ERR_INVALID);
    assert_int_equal(counter("strait_link_tx_bytes2_total", NULL, 0, &c), OK);
}

static void test_help_must_say_something(void **state)
{
    static const char *const helps[] = {NULL, "", "\xff"};
    struct obs_gauge *g;

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct obs_desc desc = {.name = "g", .help = helps[i]};

        assert_int_equal(obs_gauge_create(registry, &desc, &g), ERR_INVALID);
    }
}

static void test_labels_that_break_the_rules_are_refused(void **state)
{
    static const struct obs_label bad[] = {
        {"", "v"},         {"1a", "v"},       {"a b", "v"}, {"__name__", "v"}, {"le", "v"},
        {"quantile", "v"}, {"a", "\xff\xfe"}, {NULL, "v"},  {"a", NULL},
    };
    static const struct obs_label twice[] = {{"a", "1"}, {"b", "2"}, {"a", "3"}};
    static const struct obs_label odd[] = {{"_a", ""}, {"B9", "\n\"\\ \xe2\x82\xac"}};
    struct obs_counter *c;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(counter("c_total", &bad[i], 1, &c), ERR_INVALID);
    }
    assert_int_equal(counter("c_total", twice, 3, &c), ERR_INVALID);
    assert_int_equal(counter("c_total", odd, 2, &c), OK);
}

static void test_a_family_has_one_kind_help_and_scale(void **state)
{
    struct obs_desc desc = {.name = "x", .help = "h"};
    struct obs_histogram *h;
    struct obs_gauge *g;

    (void)state;
    assert_int_equal(obs_histogram_create(registry, &desc, &h), OK);
    assert_int_equal(obs_gauge_create(registry, &desc, &g), ERR_INVALID);
    desc.divisor = OBS_NS;
    assert_int_equal(obs_histogram_create(registry, &desc, &h), ERR_INVALID);
    desc.divisor = 1;
    desc.help = "other";
    assert_int_equal(obs_histogram_create(registry, &desc, &h), ERR_INVALID);
    desc.help = "h";
    desc.le_max = 1024;
    assert_int_equal(obs_histogram_create(registry, &desc, &h), ERR_INVALID);
    desc.le_max = 1 << 30;
    assert_int_equal(obs_histogram_create(registry, &desc, &h), OK);
    desc = (struct obs_desc){.name = "y", .help = "h", .le_min = 2000, .le_max = 1000};
    assert_int_equal(obs_histogram_create(registry, &desc, &h), ERR_INVALID);
    desc.le_min = -1;
    assert_int_equal(obs_histogram_create(registry, &desc, &h), ERR_INVALID);
    desc = (struct obs_desc){.name = "z", .help = "h", .divisor = OBS_NS};
    assert_int_equal(obs_gauge_create(registry, &desc, &g), ERR_INVALID);
}

static void test_the_series_limit_holds(void **state)
{
    struct obs_counter *c, *first = NULL;
    char value[16];
    struct obs_label label = {"i", value};

    (void)state;
    for (int i = 0; i < 64; i++) {
        (void)snprintf(value, sizeof(value), "%d", i);
        assert_int_equal(counter("c_total", &label, 1, &c), OK);
        first = i == 0 ? c : first;
    }
    assert_int_equal(counter("d_total", &label, 1, &c), ERR_TOO_BIG);
    (void)snprintf(value, sizeof(value), "0");
    assert_int_equal(counter("c_total", &label, 1, &c), OK);
    assert_ptr_equal(c, first);
}

static void test_long_text_is_refused(void **state)
{
    struct obs_label labels[OBS_LABELS_MAX + 1];
    char name[OBS_NAME_BYTES_MAX + 1], help[OBS_HELP_BYTES_MAX + 1], value[OBS_LABEL_BYTES_MAX];
    struct obs_desc desc = {.name = name, .help = "h"};
    struct obs_gauge *g;

    (void)state;
    memset(name, 'n', sizeof(name));
    memset(help, 'h', sizeof(help));
    memset(value, 'v', sizeof(value));
    name[OBS_NAME_BYTES_MAX] = help[OBS_HELP_BYTES_MAX] = value[OBS_LABEL_BYTES_MAX - 2] = '\0';
    assert_int_equal(obs_gauge_create(registry, &desc, &g), ERR_TOO_BIG);
    desc = (struct obs_desc){.name = name + 1, .help = help};
    assert_int_equal(obs_gauge_create(registry, &desc, &g), ERR_TOO_BIG);
    desc.help = help + 1;
    assert_int_equal(obs_gauge_create(registry, &desc, &g), OK);
    for (uint32_t i = 0; i <= OBS_LABELS_MAX; i++) {
        labels[i] = (struct obs_label){&"iiiiiiiii"[i], "v"};
    }
    desc.labels = labels;
    desc.labels_count = OBS_LABELS_MAX + 1;
    assert_int_equal(obs_gauge_create(registry, &desc, &g), ERR_TOO_BIG);
    desc.labels_count = OBS_LABELS_MAX;
    assert_int_equal(obs_gauge_create(registry, &desc, &g), OK);
    labels[0] = (struct obs_label){"k", value};
    desc.labels_count = 1;
    assert_int_equal(obs_gauge_create(registry, &desc, &g), ERR_TOO_BIG);
    labels[0].value = value + 1;
    assert_int_equal(obs_gauge_create(registry, &desc, &g), OK);
}

/* Everything a lane creates at start-up. */
static enum err create_all(struct obs_registry **out)
{
    static const struct obs_label label = {"site", "eu"};
    struct obs_desc desc = {.name = "c_total", .help = "h", .labels = &label, .labels_count = 1};
    struct obs_histogram *h;
    struct obs_counter *c;
    struct obs_gauge *g;
    enum err rc = obs_registry_create(8, out);

    if (rc != OK) {
        return rc;
    }
    rc = obs_counter_create(*out, &desc, &c);
    desc.name = "g";
    rc = rc != OK ? rc : obs_gauge_create(*out, &desc, &g);
    desc.name = "h_seconds";
    return rc != OK ? rc : obs_histogram_create(*out, &desc, &h);
}

static void test_allocation_k_fails_for_every_k(void **state)
{
    bool failed = true;

    (void)state;
    for (uint64_t k = 1; failed; k++) {
        uint64_t before = mem_failures();
        struct obs_registry *r = NULL;
        struct obs_registry *whole = registry;
        struct obs_counter *c;
        enum err rc;

        mem_fail_at(k, 1);
        rc = create_all(&r);
        mem_fail_at(0, 0);
        failed = mem_failures() != before;
        assert_int_equal(rc, failed ? ERR_NOMEM : OK);
        if (r != NULL) {
            registry = r;
            assert_int_equal(counter("again_total", NULL, 0, &c), OK);
            registry = whole;
        }
        obs_registry_destroy(r);
    }
    obs_registry_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_updates_are_seen, begin, end),
        cmocka_unit_test_setup_teardown(test_the_same_name_and_labels_are_the_same_series, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_text_is_copied, begin, end),
        cmocka_unit_test_setup_teardown(test_names_that_break_the_rules_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_help_must_say_something, begin, end),
        cmocka_unit_test_setup_teardown(test_labels_that_break_the_rules_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_a_family_has_one_kind_help_and_scale, begin, end),
        cmocka_unit_test_setup_teardown(test_the_series_limit_holds, begin, end),
        cmocka_unit_test_setup_teardown(test_long_text_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_allocation_k_fails_for_every_k, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
