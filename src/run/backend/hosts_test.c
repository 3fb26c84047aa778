/* Hosts files: what they say, what is refused and how; who gets which member at which port. */

#include "run/backend/hosts.h"

#include "base/mem.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct run_hosts *parse(const char *yaml)
{
    struct err_text text = {""};
    struct run_hosts *h = NULL;

    if (run_hosts_parse("h.yaml", yaml, strlen(yaml), &h, &text) != OK) {
        fail_msg("%s", text.text);
    }
    return h;
}

static void refuse(const char *yaml, const char *wanted)
{
    struct err_text text = {""};
    struct run_hosts *h = NULL;

    assert_int_equal(run_hosts_parse("h.yaml", yaml, strlen(yaml), &h, &text), ERR_MALFORMED);
    assert_null(h);
    if (strncmp(text.text, wanted, strlen(wanted)) != 0) {
        fail_msg("'%s' is not '%s'", text.text, wanted);
    }
}

/* Two regions; so many servers and workers in each. */
static struct run_file *file(uint32_t servers, uint32_t workers)
{
    char yaml[1024];
    struct err_text text = {""};
    struct run_file *f = NULL;
    struct text out;

    text_init_fixed(&out, yaml, sizeof(yaml));
    text_add(&out, "run: test\ntopology:\n  regions: [eu, us]\n"
                   "  links: [{between: [eu, us], rate: 8mbit, rtt: 10ms, price: 0.5}]\n"
                   "servers: [");
    for (uint32_t i = 0; i < servers; i++) {
        text_add(&out, "{region: eu, lanes: 2}, {region: us, lanes: 2}, ");
    }
    text_addf(&out,
              "]\nworkers: [{region: eu, count: %u}, {region: us, count: %u}]\n"
              "job: {name: synthetic, options: {elements: 100}}\nstop: {clocks: 3}\n",
              workers, workers);
    if (run_file_parse("a.yaml", NULL, yaml, strlen(yaml), &f, &text) != OK) {
        fail_msg("%s", text.text);
    }
    return f;
}

static void test_a_file_says_all_or_little(void **state)
{
    struct run_hosts *h = parse("hosts:\n"
                                "  - {name: a, ssh: ada@10.0.0.4, region: eu, address: 10.9.0.4,\n"
                                "     port: 7500, strait: /opt/strait, dir: /var/x, slots: 8}\n"
                                "  - {ssh: ada@b.example, region: us}\n"
                                "  - {region: us}\n");
    const struct run_host *all = &h->items[0], *little = &h->items[1], *here = &h->items[2];

    (void)state;
    assert_int_equal(h->count, 3);
    assert_string_equal(all->name, "a");
    assert_int_equal(all->way, RUN_HOST_SSH);
    assert_string_equal(all->at, "ada@10.0.0.4");
    assert_string_equal(all->address, "10.9.0.4");
    assert_int_equal(all->port, 7500);
    assert_string_equal(all->strait, "/opt/strait");
    assert_string_equal(all->dir, "/var/x");
    assert_int_equal(all->slots, 8);
    assert_string_equal(little->name, "b.example");
    assert_string_equal(little->address, "b.example");
    assert_string_equal(little->strait, "strait");
    assert_int_equal(little->port, 0);
    assert_int_equal(little->line, 4);
    assert_int_equal(here->way, RUN_HOST_HERE);
    assert_string_equal(here->name, "here");
    assert_string_equal(here->address, "127.0.0.1");
    assert_null(here->strait);
    run_hosts_free(h);
    run_hosts_free(NULL);
}

static void test_what_is_wrong_is_told_with_its_place(void **state)
{
    (void)state;
    refuse("[]", "h.yaml:1:1: a hosts file has one key, and that is 'hosts'");
    refuse("hosts: []", "h.yaml:1:8: hosts: has to be a list of 1 to 1024 machines");
    refuse("hosts: {}", "h.yaml:1:8: hosts: has to be a list");
    refuse("{}", "h.yaml:1:1: hosts: has to be a list");
    refuse("hosts: [{region: eu}]\nmore: 1", "h.yaml:2:7: a hosts file has one key");
    refuse("hosts: [a]", "h.yaml:1:9: hosts[0]: has to be a mapping");
    refuse("hosts: [{regio: eu}]",
           "h.yaml:1:17: hosts[0].regio: no such key; did you mean 'region'?");
    refuse("hosts: [{ssh: a}]", "h.yaml:1:9: hosts[0].region: is missing");
    refuse("hosts: [{ssh: '-oProxyCommand=x', region: eu}]",
           "h.yaml:1:15: hosts[0].ssh: has to be a word");
    refuse("hosts: [{ssh: 'a b', region: eu}]", "h.yaml:1:15: hosts[0].ssh: has to be a word");
    refuse("hosts: [{name: a, ssh: 'ada@', region: eu}]",
           "h.yaml:1:24: hosts[0].ssh: has to be HOST or USER@HOST");
    refuse("hosts: [{ssh: '@eu1', region: eu}]",
           "h.yaml:1:15: hosts[0].ssh: has to be HOST or USER@HOST");
    refuse("hosts: [{ssh: a, region: eu, strait: 'x;rm'}]",
           "h.yaml:1:38: hosts[0].strait: has to be a word");
    refuse("hosts: [{region: eu, address: 'a/b'}]",
           "h.yaml:1:31: hosts[0].address: has to be a host name or an address");
    refuse("hosts: [{region: eu, dir: relative}]", "h.yaml:1:27: hosts[0].dir: has to begin");
    refuse("hosts: [{region: eu, dir: /a/../b}]", "h.yaml:1:27: hosts[0].dir: has to begin");
    refuse("hosts: [{region: eu, port: 0}]",
           "h.yaml:1:28: hosts[0].port: has to be a whole number from 1 to 65535");
    refuse("hosts: [{region: eu, port: -1}]", "h.yaml:1:28: hosts[0].port: has to be");
    refuse("hosts: [{region: eu, port: 65536}]", "h.yaml:1:28: hosts[0].port: has to be");
    refuse("hosts: [{region: eu, slots: many}]", "h.yaml:1:29: hosts[0].slots: has to be");
    refuse("hosts: [{region: eu, name: [a]}]", "h.yaml:1:28: hosts[0].name: has to be 1 to 64");
    refuse("hosts: [{region: eu, name: a}, {region: us, name: a}]",
           "h.yaml:1:51: hosts[1].name: an earlier host has that name");
}

static void test_members_are_dealt_in_turn(void **state)
{
    struct run_hosts *h = parse("hosts: [{name: a, region: eu}, {name: b, region: us, slots: 2}, "
                                "{name: c, region: eu}, {name: d, region: us}]");
    struct run_file *f = file(1, 4);
    struct err_text text = {""};
    struct run_deal deal;

    (void)state;
    assert_int_equal(run_hosts_deal(h, f, &deal, &text), OK);
    assert_int_equal(deal.servers[0], 0);
    assert_int_equal(deal.servers[1], 1);
    assert_int_equal(deal.workers[0], 2); /* a has the server. */
    assert_int_equal(deal.workers[1], 0);
    assert_int_equal(deal.workers[2], 2);
    assert_int_equal(deal.workers[3], 0);
    assert_int_equal(deal.workers[4], 3);
    assert_int_equal(deal.workers[5], 1); /* Full now. */
    assert_int_equal(deal.workers[6], 3);
    assert_int_equal(deal.workers[7], 3);
    run_deal_free(&deal);
    run_file_free(f);
    run_hosts_free(h);
}

static void not_dealt(const char *yaml, const char *wanted)
{
    struct run_hosts *h = parse(yaml);
    struct run_file *f = file(2, 3);
    struct err_text text = {""};
    struct run_deal deal = {0};

    assert_int_equal(run_hosts_deal(h, f, &deal, &text), ERR_INVALID);
    assert_null(deal.servers);
    if (strncmp(text.text, wanted, strlen(wanted)) != 0) {
        fail_msg("'%s' is not '%s'", text.text, wanted);
    }
    run_file_free(f);
    run_hosts_free(h);
}

static void test_what_does_not_fit_is_told_with_what_to_add(void **state)
{
    (void)state;
    not_dealt("hosts: [{region: eu}]",
              "h.yaml: no host is in region us, where s1 is to be: add one, as {ssh: USER@MACHINE, "
              "region: us}");
    not_dealt("hosts: [{region: eu}, {name: u, region: us, slots: 4}]",
              "h.yaml: the hosts of region us have 4 slots, and there is none for w5");
    not_dealt("hosts:\n  - {region: eu, port: 7400}\n  - {name: u, region: us, port: 7403}",
              "h.yaml:2: port: s2 would be at port 7402 of 127.0.0.1, and so would s1 of host u");
    not_dealt("hosts: [{region: eu, port: 65534}, {name: u, region: us}]",
              "h.yaml:1: port: there are not enough ports behind it for the lanes of s2");
}

static void test_ports_count_up_by_lanes(void **state)
{
    struct run_hosts *h = parse("hosts: [{name: a, region: eu, address: 10.0.0.1}, "
                                "{name: b, region: us, address: 10.0.0.2, port: 9000}]");
    struct run_file *f = file(2, 1);
    struct err_text text = {""};
    struct run_deal deal;

    (void)state;
    assert_int_equal(run_hosts_deal(h, f, &deal, &text), OK);
    assert_int_equal(run_hosts_port(h, f, &deal, 0, 0), RUN_HOSTS_PORT);
    assert_int_equal(run_hosts_port(h, f, &deal, 1, 0), 9000);
    assert_int_equal(run_hosts_port(h, f, &deal, 2, 0), RUN_HOSTS_PORT + 2);
    assert_int_equal(run_hosts_port(h, f, &deal, 3, 0), 9002);
    /* Only where nobody said which. */
    assert_int_equal(run_hosts_port(h, f, &deal, 0, 3), RUN_HOSTS_PORT + 12);
    assert_int_equal(run_hosts_port(h, f, &deal, 3, 3), 9002);
    run_deal_free(&deal);
    run_file_free(f);
    run_hosts_free(h);
}

/* Against what it has to be: of its region, within slots, and as even as that allows. */
static void test_any_deal_is_fair(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 7);
    for (int round = 0; round < 200; round++) {
        char yaml[2048];
        struct text out;
        struct err_text text = {""};
        struct run_deal deal;
        uint32_t count = 2 + (uint32_t)rng_below(&rng, 6), loads[8] = {0};
        struct run_file *f = file(1, 1 + (uint32_t)rng_below(&rng, 9));
        struct run_hosts *h;

        text_init_fixed(&out, yaml, sizeof(yaml));
        text_add(&out, "hosts:\n");
        for (uint32_t i = 0; i < count; i++) {
            text_addf(&out, "  - {name: h%u, region: %s, slots: %u}\n", i, i % 2 == 0 ? "eu" : "us",
                      1 + (uint32_t)rng_below(&rng, 12));
        }
        h = parse(yaml);
        if (run_hosts_deal(h, f, &deal, &text) == OK) {
            for (uint32_t i = 0; i < f->workers + f->servers_count; i++) {
                bool server = i >= f->workers;
                uint32_t region = server ? f->servers[i - f->workers].region : i / (f->workers / 2);
                uint32_t at = server ? deal.servers[i - f->workers] : deal.workers[i];

                assert_int_equal(at % 2, region);
                loads[at]++;
            }
            for (uint32_t i = 0; i < count; i++) {
                assert_true(loads[i] <= h->items[i].slots);
                for (uint32_t k = i % 2; k < count; k += 2) {
                    assert_true(loads[i] <= loads[k] + 1 || loads[k] == h->items[k].slots);
                }
            }
            run_deal_free(&deal);
        } else {
            assert_non_null(strstr(text.text, "slots"));
        }
        run_hosts_free(h);
        run_file_free(f);
    }
}

static const char *word(const struct run_hosts_start *s, const char *wanted)
{
    for (size_t i = 0; s->words[i] != NULL; i++) {
        if (strcmp(s->words[i], wanted) == 0) {
            return s->words[i + 1] == NULL ? "" : s->words[i + 1];
        }
    }
    return NULL;
}

static void test_each_way_has_its_words(void **state)
{
    static const char *const command[] = {"/usr/bin/ssh", "-p", "2222", NULL};
    static const char *const other[] = {"rsh", NULL};
    struct run_host host = {.name = "a", .at = "ada@a", .strait = "strait", .way = RUN_HOST_SSH};
    struct run_hosts_start s;

    (void)state;
    run_hosts_start(&host, "/p", NULL, 42, &s);
    assert_string_equal(s.words[0], "/p");
    assert_string_equal(word(&s, "tied"), "42");
    assert_string_equal(word(&s, "--"), "ssh");
    assert_string_equal(word(&s, "ada@a"), "strait");
    assert_string_equal(word(&s, "strait"), "hold");
    assert_string_equal(word(&s, "hold"), "");
    assert_non_null(word(&s, "BatchMode=yes"));
    run_hosts_start(&host, "/p", command, 42, &s);
    assert_string_equal(word(&s, "-p"), "2222");
    assert_string_equal(word(&s, "2222"), "-T");
    run_hosts_start(&host, "/p", other, 42, &s);
    assert_string_equal(word(&s, "rsh"), "ada@a");
    host.way = RUN_HOST_SRUN;
    host.at = "n1";
    run_hosts_start(&host, "/p", NULL, 42, &s);
    assert_string_equal(word(&s, "--nodelist=n1"), "strait");
    host = (struct run_host){.name = "here"};
    run_hosts_start(&host, "/p", NULL, 42, &s);
    assert_string_equal(s.words[0], "/p");
    assert_string_equal(s.words[1], "hold");
    assert_null(s.words[2]);
}

static void test_no_memory_is_told(void **state)
{
    static const char yaml[] = "hosts: [{region: eu}, {name: b, region: us}]";
    struct run_file *f = file(1, 2);
    struct run_deal deal = {0};
    struct run_hosts *h = NULL;
    enum err rc = ERR_NOMEM;
    uint64_t k;

    (void)state;
    for (k = 1; rc == ERR_NOMEM; k++) {
        struct err_text text = {""};

        mem_fail_at(k, 1);
        rc = run_hosts_parse("h.yaml", yaml, strlen(yaml), &h, &text);
        if (rc == OK) {
            rc = run_hosts_deal(h, f, &deal, &text);
        }
        mem_fail_at(0, 0);
        if (rc != OK) {
            assert_int_equal(rc, ERR_NOMEM);
            assert_non_null(strstr(text.text, "memory"));
            run_hosts_free(h);
            h = NULL;
        }
    }
    assert_true(k > 6);
    run_deal_free(&deal);
    run_hosts_free(h);
    run_file_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_says_all_or_little),
        cmocka_unit_test(test_what_is_wrong_is_told_with_its_place),
        cmocka_unit_test(test_members_are_dealt_in_turn),
        cmocka_unit_test(test_what_does_not_fit_is_told_with_what_to_add),
        cmocka_unit_test(test_ports_count_up_by_lanes),
        cmocka_unit_test(test_any_deal_is_fair),
        cmocka_unit_test(test_each_way_has_its_words),
        cmocka_unit_test(test_no_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
