/* What run files make of the links of their maps: scale, machines, lan. */

#include "run/file/file.h"
#include "run/testing.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MAP                                                                                        \
    "run: r\n"                                                                                     \
    "topology:\n"                                                                                  \
    "  name: a map\n"                                                                              \
    "  source: [one, two]\n"                                                                       \
    "  lan: {rate: 8gbit, delay: 100us}\n"                                                         \
    "  regions: [{name: eu, usd_per_hour: {cpu: 1}}, {name: us, usd_per_hour: 2}, ap]\n"           \
    "  links: [{from: eu, to: us, rate: 80mbit, delay: 40ms, stream: 8mbit, price: 0.02}]\n"       \
    "  default_link: {rate: 16mbit, delay: 90ms, jitter: 1ms, loss: 1%, price: 0.09}\n"
#define REST                                                                                       \
    "sites: [{region: eu, workers: 2}, {region: us}]\n"                                            \
    "job: {name: mf}\n"                                                                            \
    "stop: {clocks: 10}\n"

static void test_without_links_the_map_is_as_it_is(void **state)
{
    struct run_file *f = testing_parse(MAP REST);

    (void)state;
    assert_true(topo_equal(f->map, f->topo));
    assert_true(f->links.scale == 1);
    assert_int_equal(f->links.machines, 1);
    assert_int_equal(f->links.lan.link.bytes_per_s, 1000000000);
    assert_null(f->links.card);
    assert_int_equal(f->links.card_rate, 1000000000);
    run_file_free(f);
}

static void test_directions_that_share_a_rate_do_so_once_it_is_scaled(void **state)
{
    struct run_file *f = testing_parse("run: r\n"
                                       "topology:\n"
                                       "  duplex: shared\n"
                                       "  regions: [eu, us]\n"
                                       "  default_link: {rate: 16mbit, delay: 90ms}\n"
                                       "links: {scale: 1/100}\n" REST);

    (void)state;
    assert_int_equal(topo_duplex(f->topo), TOPO_DUPLEX_SHARED);
    run_file_free(f);
}

static void test_a_run_may_have_it_otherwise_than_its_map(void **state)
{
    struct run_file *f = testing_parse("run: r\n"
                                       "topology:\n"
                                       "  duplex: shared\n"
                                       "  regions: [eu, us]\n"
                                       "  default_link: {rate: 16mbit, delay: 90ms}\n"
                                       "links: {duplex: full}\n" REST);

    (void)state;
    assert_int_equal(topo_duplex(f->map), TOPO_DUPLEX_SHARED);
    assert_int_equal(topo_duplex(f->topo), TOPO_DUPLEX_FULL);
    run_file_free(f);
}

static void test_every_rate_is_scaled_and_nothing_else(void **state)
{
    struct run_file *f = testing_parse(MAP "links: {scale: 1/100}\n" REST);
    const struct topo_link *own = topo_link_between(f->topo, 0, 1);
    const struct topo_link *rest = topo_link_between(f->topo, 1, 0);

    (void)state;
    assert_int_equal(own->bytes_per_s, 100000);
    assert_int_equal(own->stream_bytes_per_s, 10000);
    assert_int_equal(own->delay_ns, 40000000);
    assert_int_equal(own->price_nusd_per_gb, 20000000);
    assert_true(own->priced);
    assert_null(topo_link_own(f->topo, 1, 0));
    assert_int_equal(rest->bytes_per_s, 20000);
    assert_int_equal(rest->stream_bytes_per_s, 0);
    assert_int_equal(rest->jitter_ns, 1000000);
    assert_int_equal(rest->loss_ppm, 10000);
    assert_int_equal(topo_lan(f->topo)->bytes_per_s, 10000000);
    assert_int_equal(topo_lan(f->topo)->delay_ns, 100000);
    assert_string_equal(topo_name(f->topo), "a map");
    assert_string_equal(topo_source(f->topo), topo_source(f->map));
    assert_int_equal(topo_link_between(f->map, 0, 1)->bytes_per_s, 10000000);
    run_file_free(f);
}

static void test_machines_count_between_regions_and_not_inside(void **state)
{
    struct run_file *f =
        testing_parse(MAP "links: {machines: 11, lan: {rate: 40gbit, delay: 50us}}\n" REST);

    (void)state;
    assert_int_equal(topo_link_between(f->topo, 0, 1)->bytes_per_s, 110000000);
    assert_int_equal(topo_link_between(f->topo, 0, 1)->stream_bytes_per_s, 11000000);
    assert_int_equal(topo_link_between(f->topo, 2, 1)->bytes_per_s, 22000000);
    assert_int_equal(topo_lan(f->topo)->bytes_per_s, UINT64_C(5000000000));
    assert_int_equal(topo_lan(f->topo)->delay_ns, 50000);
    assert_int_equal(topo_lan(f->map)->bytes_per_s, 1000000000);
    run_file_free(f);
}

static void test_a_card_is_scaled_and_is_that_of_the_lan_else(void **state)
{
    struct run_file *f = testing_parse(MAP "links: {scale: 1/100, card: 1gbit}\n" REST);

    (void)state;
    assert_int_equal(f->links.card_full, 125000000);
    assert_int_equal(f->links.card_rate, 1250000);
    run_file_free(f);
    f = testing_parse(MAP "links: {scale: 1/100, machines: 3, lan: {rate: 16gbit}}\n" REST);
    assert_int_equal(f->links.card_full, 2000000000);
    assert_int_equal(f->links.card_rate, 20000000);
    run_file_free(f);
}

static void test_a_part_of_the_lan_may_be_said(void **state)
{
    struct run_file *f = testing_parse(MAP "links: {scale: 0.5, lan: {delay: 0}}\n" REST);

    (void)state;
    assert_int_equal(topo_lan(f->topo)->bytes_per_s, 500000000);
    assert_int_equal(topo_lan(f->topo)->delay_ns, 0);
    run_file_free(f);
}

/* Printed is what is written, not what became of it: a record can be run again. */
static void test_what_is_printed_is_read_the_same(void **state)
{
    static const struct {
        const char *said, *printed;
    } cases[] = {
        {"", "links: {scale: 1, machines: 1, lan: {rate: 8gbit, delay: 100us}}\n"},
        {"links: {scale: 1/140}\n",
         "links: {scale: 1/140, machines: 1, lan: {rate: 8gbit, delay: 100us}}\n"},
        {"links: {scale: 0.3, machines: 2}\n",
         "links: {scale: 0.3, machines: 2, lan: {rate: 8gbit, delay: 100us}}\n"},
        {"links: {scale: 3/7, lan: {rate: 1gbit}}\n",
         "links: {scale: 0.42857142857142855, machines: 1, lan: {rate: 1gbit, delay: 100us}}\n"},
        {"links: {duplex: full}\n", /* As the map has it. */
         "links: {scale: 1, machines: 1, lan: {rate: 8gbit, delay: 100us}}\n"},
        {"links: {card: 1000mbit}\n",
         "links: {scale: 1, machines: 1, lan: {rate: 8gbit, delay: 100us}, card: 1gbit}\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char yaml[2048];
        struct run_file *f, *again;
        struct text out;

        (void)snprintf(yaml, sizeof(yaml), "%s%s%s", MAP, cases[i].said, REST);
        f = testing_parse(yaml);
        assert_int_equal(text_init(&out, RUN_PRINT_BYTES_MAX), OK);
        run_file_print(f, &out);
        assert_non_null(strstr(out.chars, cases[i].printed));
        again = testing_parse(out.chars);
        assert_true(topo_equal(f->map, again->map));
        assert_true(topo_equal(f->topo, again->topo));
        assert_true(f->links.scale == again->links.scale);
        text_deinit(&out);
        run_file_free(again);
        run_file_free(f);
    }
}

static void test_what_cannot_be_is_refused(void **state)
{
#define SCALE "links.scale: has to be a number from 1e-06 to 1, or a fraction such as 1/140"
    static const struct {
        const char *said, *why;
    } cases[] = {
        {"scale: 2", "9:16: " SCALE},
        {"scale: 1e-7", "9:16: " SCALE},
        {"scale: 0", "9:16: " SCALE},
        {"scale: nan", "9:16: " SCALE},
        {"scale: 1/0", "9:16: " SCALE},
        {"scale: /140", "9:16: " SCALE},
        {"scale: 1/", "9:16: " SCALE},
        {"scale: 1/1/1", "9:16: " SCALE},
        {"scale: 3/2", "9:16: " SCALE},
        {"scale: -1/-2", "9:16: " SCALE},
        {"scale: [1]", "9:16: " SCALE},
        {"scale: ''", "9:16: " SCALE},
        {"machines: 0", "9:19: links.machines: 0 is out of range: write a whole number from 1 to "
                        "1024"},
        {"machines: 1025", "9:19: links.machines: 1025 is out of range: write a whole number from "
                           "1 to 1024"},
        {"sclae: 1", "9:9: links.sclae: no such key: did you mean 'scale'?"},
        {"lan: 40gbit", "9:14: links.lan: has to be a mapping (key: value), but is a text"},
        {"lan: {rate: 40}", "9:21: links.lan.rate: '40' is not a rate: write a number and its unit "
                            "(bit, kbit, mbit, gbit, tbit, B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, "
                            "MiB/s, GiB/s or TiB/s), such as 100mbit"},
        {"lan: {rate: 0}", "9:21: links.lan.rate: is out of range: write a rate above zero, up to "
                           "2.199023255552tbit"},
        {"lan: {rate: 3tbit}", "9:21: links.lan.rate: is out of range: write a rate above zero, up "
                               "to 2.199023255552tbit"},
        {"lan: {delay: 61s}", "9:22: links.lan.delay: is out of range: write a time from 0ns to "
                              "60s"},
        {"card: fast", "9:15: links.card: 'fast' is not a rate: write a number and its unit (bit, "
                       "kbit, mbit, gbit, tbit, B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s "
                       "or TiB/s), such as 100mbit"},
        {"card: 0", "9:15: links.card: is out of range: write a rate above zero, up to that of the "
                    "lan, which is 8gbit (links: {lan: {rate: ...}} changes it)"},
        {"card: 10gbit", "9:15: links.card: is out of range: write a rate above zero, up to that "
                         "of the lan, which is 8gbit (links: {lan: {rate: ...}} changes it)"},
        {"duplex: shared", "9:17: links.duplex: there is no rate that both directions could share "
                           "between eu and us: the map has two"},
        {"card: [1gbit]", "9:15: links.card: has to be a text, but is a list"},
        {"scale: 1e-6, card: 1mbit", "9:8: links: a card would have less than 1 byte per second or "
                                     "more than 2.199023255552tbit: change scale or machines"},
        {"scale: 1e-6, lan: {rate: 1mbit}",
         "9:8: links: the lan would have less than 1 byte per second or more than "
         "2.199023255552tbit: change scale or machines"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char yaml[2048], why[400];
        struct run_file *f = NULL;
        struct err_text text = {""};

        (void)snprintf(yaml, sizeof(yaml), "%slinks: {%s}\n%s", MAP, cases[i].said, REST);
        (void)snprintf(why, sizeof(why), "r.yaml:%s", cases[i].why);
        assert_int_equal(run_file_parse("r.yaml", NULL, yaml, strlen(yaml), &f, &text),
                         ERR_MALFORMED);
        assert_string_equal(text.text, why);
    }
}

static void test_links_that_become_too_fast_or_too_slow_are_named(void **state)
{
    static const char fast[] = "run: r\ntopology:\n  regions: [eu, us]\n"
                               "  links: [{between: [eu, us], rate: 1tbit, delay: 1ms}]\n"
                               "links: {machines: 3}\n" REST;
    static const char slow[] = "run: r\ntopology:\n  regions: [eu, us]\n"
                               "  default_link: {rate: 1mbit, delay: 1ms, stream: 1kbit}\n"
                               "links: {scale: 0.001}\n" REST;
    struct run_file *f = NULL;
    struct err_text text = {""};

    (void)state;
    assert_int_equal(run_file_parse("r", NULL, fast, strlen(fast), &f, &text), ERR_MALFORMED);
    assert_string_equal(text.text, "r:5:8: links: eu to us would have less than 1 byte per second "
                                   "or more than 2.199023255552tbit: change scale or machines");
    assert_int_equal(run_file_parse("r", NULL, slow, strlen(slow), &f, &text), ERR_MALFORMED);
    assert_string_equal(text.text, "r:5:8: links: default_link would have less than 1 byte per "
                                   "second or more than 2.199023255552tbit: change scale or "
                                   "machines");
}

static void test_memory_may_run_out(void **state)
{
    static const char yaml[] = MAP "links: {scale: 1/7, machines: 3, lan: {rate: 1gbit}, "
                                   "card: 100mbit}\n" REST;

    (void)state;
    for (uint64_t k = 1;; k++) {
        struct run_file *f = NULL;
        struct err_text why = {""};
        enum err rc;

        mem_fail_at(k, 1);
        rc = run_file_parse("r.yaml", NULL, yaml, strlen(yaml), &f, &why);
        mem_fail_at(0, 0);
        if (rc == OK) {
            run_file_free(f);
            break;
        }
        assert_int_equal(rc, ERR_NOMEM);
        assert_string_equal(why.text, "r.yaml: out of memory");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_links_the_map_is_as_it_is),
        cmocka_unit_test(test_directions_that_share_a_rate_do_so_once_it_is_scaled),
        cmocka_unit_test(test_a_run_may_have_it_otherwise_than_its_map),
        cmocka_unit_test(test_every_rate_is_scaled_and_nothing_else),
        cmocka_unit_test(test_machines_count_between_regions_and_not_inside),
        cmocka_unit_test(test_a_card_is_scaled_and_is_that_of_the_lan_else),
        cmocka_unit_test(test_a_part_of_the_lan_may_be_said),
        cmocka_unit_test(test_what_is_printed_is_read_the_same),
        cmocka_unit_test(test_what_cannot_be_is_refused),
        cmocka_unit_test(test_links_that_become_too_fast_or_too_slow_are_named),
        cmocka_unit_test(test_memory_may_run_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
