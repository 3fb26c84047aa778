/* Topologies as values: what is taken, what is refused, what is found again. */

#include "topo/topo.h"

#include "base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct topo_link slow = {.bytes_per_s = 1000, .delay_ns = 5};
static const struct topo_link fast = {
    .bytes_per_s = 2000, .delay_ns = 7, .priced = true, .price_nusd_per_gb = 9};

static struct topo *make(const char *const *names)
{
    struct topo *t = NULL;

    assert_int_equal(topo_create(&t), OK);
    for (; *names != NULL; names++) {
        struct topo_region r = {.placed = false};

        (void)snprintf(r.name, sizeof(r.name), "%s", *names);
        assert_int_equal(topo_region_add(t, &r), OK);
    }
    return t;
}

static const char *const three[] = {"eu", "us", "asia", NULL};

static void test_regions_are_found_by_name_and_index(void **state)
{
    struct topo *t = make(three);
    uint32_t index = 7;

    (void)state;
    assert_int_equal(topo_regions(t), 3);
    assert_string_equal(topo_region_at(t, 1)->name, "us");
    assert_true(topo_region_find(t, "asia", &index));
    assert_int_equal(index, 2);
    assert_false(topo_region_find(t, "Asia", &index));
    assert_int_equal(index, 2);
    topo_destroy(t);
    topo_destroy(NULL);
}

static void test_a_link_has_one_direction(void **state)
{
    struct topo *t = make(three);

    (void)state;
    assert_null(topo_link_between(t, 0, 1));
    assert_int_equal(topo_link_set(t, 0, 1, &slow), OK);
    assert_true(topo_link_equal(topo_link_between(t, 0, 1), &slow));
    assert_null(topo_link_between(t, 1, 0));
    assert_int_equal(topo_link_set(t, 1, 0, &fast), OK);
    assert_true(topo_link_equal(topo_link_between(t, 1, 0), &fast));
    assert_true(topo_link_equal(topo_link_between(t, 0, 1), &slow));
    topo_destroy(t);
}

static void test_a_pair_without_a_link_has_the_default_one(void **state)
{
    struct topo *t = make(three);

    (void)state;
    assert_int_equal(topo_link_set(t, 0, 1, &slow), OK);
    assert_int_equal(topo_default_set(t, &fast), OK);
    assert_true(topo_link_equal(topo_link_between(t, 0, 1), &slow));
    assert_true(topo_link_equal(topo_link_between(t, 1, 0), &fast));
    assert_null(topo_link_own(t, 1, 0));
    assert_int_equal(topo_default_set(t, NULL), OK);
    assert_null(topo_link_between(t, 1, 0));
    topo_destroy(t);
}

static void test_inside_a_region_is_the_lan(void **state)
{
    struct topo *t = make(three);
    struct topo_link priced = slow;

    (void)state;
    priced.priced = true; /* Even if it is free. */
    assert_int_equal(topo_link_between(t, 2, 2)->bytes_per_s, TOPO_LAN_RATE);
    assert_int_equal(topo_link_between(t, 2, 2)->delay_ns, TOPO_LAN_DELAY_NS);
    assert_int_equal(topo_lan_set(t, &slow), OK);
    assert_true(topo_link_equal(topo_link_between(t, 1, 1), &slow));
    assert_int_equal(topo_lan_set(t, &priced), ERR_INVALID);
    assert_int_equal(topo_link_set(t, 1, 1, &slow), ERR_INVALID);
    topo_destroy(t);
}

static void test_figures_out_of_their_limits_are_refused(void **state)
{
    struct topo *t = make(three);
    struct topo_link bad[] = {
        {.bytes_per_s = 0, .delay_ns = 1},
        {.bytes_per_s = TOPO_RATE_MAX + 1},
        {.bytes_per_s = 1, .stream_bytes_per_s = TOPO_RATE_MAX + 1},
        {.bytes_per_s = 1, .delay_ns = -1},
        {.bytes_per_s = 1, .delay_ns = TOPO_TIME_MAX_NS + 1},
        {.bytes_per_s = 1, .jitter_ns = -1},
        {.bytes_per_s = 1, .jitter_ns = TOPO_TIME_MAX_NS + 1},
        {.bytes_per_s = 1, .loss_ppm = 1000001},
        {.bytes_per_s = 1, .priced = true, .price_nusd_per_gb = TOPO_PRICE_MAX_NUSD + 1},
        {.bytes_per_s = 1, .priced = false, .price_nusd_per_gb = 1},
    };
    struct topo_link most = {.bytes_per_s = TOPO_RATE_MAX,
                             .stream_bytes_per_s = TOPO_RATE_MAX,
                             .delay_ns = TOPO_TIME_MAX_NS,
                             .jitter_ns = TOPO_TIME_MAX_NS,
                             .loss_ppm = 1000000,
                             .priced = true,
                             .price_nusd_per_gb = TOPO_PRICE_MAX_NUSD};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(topo_link_set(t, 0, 1, &bad[i]), ERR_INVALID);
        assert_int_equal(topo_default_set(t, &bad[i]), ERR_INVALID);
        assert_int_equal(topo_lan_set(t, &bad[i]), ERR_INVALID);
    }
    assert_null(topo_link_between(t, 0, 1));
    assert_int_equal(topo_link_set(t, 0, 1, &most), OK);
    assert_int_equal(topo_default_set(t, &most), OK);
    topo_destroy(t);
}

static void test_bad_regions_are_refused(void **state)
{
    struct topo *t = make(three);
    struct topo_region r = {.name = "us"};

    (void)state;
    assert_int_equal(topo_region_add(t, &r), ERR_EXISTS);
    (void)strcpy(r.name, "");
    assert_int_equal(topo_region_add(t, &r), ERR_INVALID);
    (void)strcpy(r.name, "a b");
    assert_int_equal(topo_region_add(t, &r), ERR_INVALID);
    (void)strcpy(r.name, "..");
    assert_int_equal(topo_region_add(t, &r), ERR_INVALID);
    memset(r.name, 'x', sizeof(r.name)); /* No end. */
    assert_int_equal(topo_region_add(t, &r), ERR_INVALID);
    r = (struct topo_region){.name = "pole", .placed = true, .latitude = 90.5};
    assert_int_equal(topo_region_add(t, &r), ERR_INVALID);
    r.latitude = NAN;
    assert_int_equal(topo_region_add(t, &r), ERR_INVALID);
    r.latitude = 90;
    r.longitude = -180.1;
    assert_int_equal(topo_region_add(t, &r), ERR_INVALID);
    r.longitude = -180;
    assert_int_equal(topo_region_add(t, &r), OK);
    assert_int_equal(topo_regions(t), 4);
    topo_destroy(t);
}

static void test_machines_have_prices_by_class(void **state)
{
    static const char *const none[] = {"free", NULL};
    struct topo *t = make(none);
    struct topo_region r = {
        .name = "classes", .prices_count = 2, .prices = {{"cpu", 796000000}, {"gpu", 0}}};
    uint64_t nusd = 7;

    (void)state;
    assert_false(topo_region_price(t, 0, "cpu", &nusd));
    assert_int_equal(topo_region_add(t, &r), OK);
    assert_false(topo_region_price(t, 1, "small", &nusd));
    assert_false(topo_region_price(t, 1, "", &nusd));
    assert_int_equal(nusd, 7);
    assert_true(topo_region_price(t, 1, "cpu", &nusd));
    assert_int_equal(nusd, 796000000);
    assert_true(topo_region_price(t, 1, "gpu", &nusd));
    assert_int_equal(nusd, 0);
    r = (struct topo_region){.name = "one", .prices_count = 1, .prices = {{"", 5}}};
    assert_int_equal(topo_region_add(t, &r), OK);
    assert_true(topo_region_price(t, 2, "anything", &nusd));
    assert_int_equal(nusd, 5);
    topo_destroy(t);
}

static void test_bad_prices_of_machines_are_refused(void **state)
{
    struct topo *t = make(three);
    struct topo_region bad[] = {
        {.prices_count = 1, .prices = {{"cpu", TOPO_HOUR_MAX_NUSD + 1}}},
        {.prices_count = 1, .prices = {{"CPU", 1}}},
        {.prices_count = 1, .prices = {{"a.b", 1}}},
        {.prices_count = 2, .prices = {{"cpu", 1}, {"cpu", 2}}},
        {.prices_count = 2, .prices = {{"", 1}, {"cpu", 2}}},
        {.prices_count = 2, .prices = {{"cpu", 1}, {"", 2}}},
        {.prices_count = TOPO_CLASSES_MAX + 1},
        {.prices_count = 1, .prices = {{"x", 1}}}, /* Below: without an end. */
    };
    struct topo_region most = {.name = "most", .prices_count = TOPO_CLASSES_MAX};

    (void)state;
    memset(bad[7].prices[0].class, 'x', TOPO_CLASS_BYTES);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        (void)strcpy(bad[i].name, "new");
        assert_int_equal(topo_region_add(t, &bad[i]), ERR_INVALID);
    }
    for (uint32_t i = 0; i < TOPO_CLASSES_MAX; i++) {
        (void)snprintf(most.prices[i].class, TOPO_CLASS_BYTES, "class-of-16-byt%u", i);
        most.prices[i].nusd_per_hour = TOPO_HOUR_MAX_NUSD;
    }
    assert_int_equal(topo_region_add(t, &most), OK);
    assert_int_equal(topo_regions(t), 4);
    topo_destroy(t);
}

/* A topology of one region with these prices. */
static struct topo *priced(struct topo_price first, struct topo_price second, uint32_t count)
{
    struct topo_region r = {.name = "r", .prices_count = count, .prices = {first, second}};
    struct topo *t = NULL;

    assert_int_equal(topo_create(&t), OK);
    assert_int_equal(topo_region_add(t, &r), OK);
    return t;
}

static void test_equal_means_every_price(void **state)
{
    const struct topo_price cpu = {"cpu", 1}, gpu = {"gpu", 2}, dear = {"gpu", 3}, all = {"", 1};
    struct topo *maps[] = {priced(cpu, gpu, 2), priced(cpu, dear, 2), priced(cpu, gpu, 1),
                           priced(cpu, gpu, 0), priced(all, gpu, 1)};
    struct topo_link free_of_charge = slow;

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        for (size_t k = 0; k < 5; k++) {
            assert_int_equal(topo_equal(maps[i], maps[k]), i == k);
        }
    }
    for (size_t i = 0; i < 5; i++) {
        topo_destroy(maps[i]);
    }
    free_of_charge.priced = true;
    assert_false(topo_link_equal(&slow, &free_of_charge));
}

static void test_there_is_room_for_a_full_mesh_and_no_more(void **state)
{
    static const char *const none[] = {NULL};
    struct topo *t = make(none);
    struct topo_region r = {.placed = false};
    uint32_t links = 0;

    (void)state;
    for (uint32_t i = 0; i < TOPO_REGIONS_MAX; i++) {
        (void)snprintf(r.name, sizeof(r.name), "r%u", i);
        assert_int_equal(topo_region_add(t, &r), OK);
    }
    (void)strcpy(r.name, "one-more");
    assert_int_equal(topo_region_add(t, &r), ERR_TOO_BIG);
    for (uint32_t a = 0; a < TOPO_REGIONS_MAX; a++) {
        for (uint32_t b = 0; b < TOPO_REGIONS_MAX; b++) {
            struct topo_link link = {.bytes_per_s = 1 + a * 100 + b};

            links += a != b && topo_link_set(t, a, b, &link) == OK;
        }
    }
    assert_int_equal(links, 4032);
    assert_int_equal(topo_link_between(t, 63, 62)->bytes_per_s, 6363);
    topo_destroy(t);
}

static void test_equal_means_every_figure(void **state)
{
    static const char *const two[] = {"eu", "us", NULL};
    struct topo *a = make(three), *b = make(three), *c = make(two);

    (void)state;
    assert_true(topo_equal(a, b));
    assert_false(topo_equal(a, c));
    assert_int_equal(topo_describe(a, "map", "here\nthere"), OK);
    assert_false(topo_equal(a, b));
    assert_int_equal(topo_describe(b, "map", "here\nthere"), OK);
    assert_true(topo_equal(a, b));
    assert_int_equal(topo_link_set(a, 2, 0, &slow), OK);
    assert_false(topo_equal(a, b));
    assert_int_equal(topo_link_set(b, 2, 0, &fast), OK);
    assert_false(topo_equal(a, b));
    assert_int_equal(topo_link_set(b, 2, 0, &slow), OK);
    assert_true(topo_equal(a, b));
    assert_int_equal(topo_duplex(a), TOPO_DUPLEX_FULL);
    topo_duplex_set(a, TOPO_DUPLEX_SHARED);
    assert_false(topo_equal(a, b));
    topo_duplex_set(b, TOPO_DUPLEX_SHARED);
    assert_true(topo_equal(a, b));
    assert_int_equal(topo_default_set(a, &slow), OK);
    assert_false(topo_equal(a, b));
    topo_destroy(a);
    topo_destroy(b);
    topo_destroy(c);
}

static void test_texts_stay_on_their_line(void **state)
{
    static const char *const bad[] = {
        "a\nb",         "\t",           "\x7f",          "\xc2\x85", "\xe2\x80\xa8",
        "\xe2\x80\xa9", "\xef\xbf\xbe", "\xef\xbb\xbfx", "\xff",     "a\xc3"};
    struct topo *t = make(three);

    (void)state;
    assert_true(topo_text_valid(""));
    assert_true(topo_text_valid("S\xc3\xa3o Paulo \xe2\x80\xa7 \xf0\x9f\x8c\x8d \xc2\xa0"));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(topo_text_valid(bad[i]));
        assert_int_equal(topo_describe(t, bad[i], ""), ERR_INVALID);
    }
    assert_int_equal(topo_describe(t, "", "one\ntwo"), OK);
    assert_int_equal(topo_describe(t, "", "one\r\ntwo"), ERR_INVALID);
    assert_string_equal(topo_source(t), "one\ntwo");
    topo_destroy(t);
}

static void test_descriptions_have_a_limit(void **state)
{
    char text[TOPO_SOURCE_BYTES_MAX + 2];
    struct topo *t = make(three);

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(topo_describe(t, "", text), ERR_TOO_BIG);
    assert_int_equal(topo_describe(t, "", text + 1), OK);
    assert_int_equal(topo_describe(t, text + sizeof(text) - 66, ""), ERR_TOO_BIG);
    assert_int_equal(topo_describe(t, text + sizeof(text) - 65, ""), OK);
    topo_destroy(t);
}

static void test_memory_may_run_out(void **state)
{
    struct topo *t = NULL;

    (void)state;
    mem_fail_at(1, 1);
    assert_int_equal(topo_create(&t), ERR_NOMEM);
    assert_null(t);
    t = make(three);
    assert_int_equal(topo_describe(t, "map", "old"), OK);
    mem_fail_at(1, 1);
    assert_int_equal(topo_describe(t, "other", "new"), ERR_NOMEM);
    mem_fail_at(0, 0);
    assert_string_equal(topo_name(t), "map");
    assert_string_equal(topo_source(t), "old");
    topo_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_regions_are_found_by_name_and_index),
        cmocka_unit_test(test_a_link_has_one_direction),
        cmocka_unit_test(test_a_pair_without_a_link_has_the_default_one),
        cmocka_unit_test(test_inside_a_region_is_the_lan),
        cmocka_unit_test(test_figures_out_of_their_limits_are_refused),
        cmocka_unit_test(test_bad_regions_are_refused),
        cmocka_unit_test(test_machines_have_prices_by_class),
        cmocka_unit_test(test_bad_prices_of_machines_are_refused),
        cmocka_unit_test(test_equal_means_every_price),
        cmocka_unit_test(test_there_is_room_for_a_full_mesh_and_no_more),
        cmocka_unit_test(test_equal_means_every_figure),
        cmocka_unit_test(test_texts_stay_on_their_line),
        cmocka_unit_test(test_descriptions_have_a_limit),
        cmocka_unit_test(test_memory_may_run_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
