/* Files that tell servers of the sites: what they say, what is refused and how, and those that a
 * run makes. */

#include "run/file/sites_file.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define A "  - {name: virginia, address: \"tls://10.1.0.5:7410\"}\n"
#define B "  - {name: tokyo, address: \"tls://tokyo.example:7410\", pace: 80mbit}\n"
#define C "  - {name: ireland, address: \"tls://[2001:db8::1]:7420\"}\n"
#define WHOLE "sites:\n" A B C

static const struct run_sites_reader virginia = {.site = "virginia", .lanes = 2, .tls = true};

static struct run_sites *parse(const char *yaml, const struct run_sites_reader *reader)
{
    struct err_text text = {""};
    struct run_sites *s = NULL;

    if (run_sites_parse("sites.yaml", yaml, strlen(yaml), reader, &s, &text) != OK) {
        fail_msg("%s", text.text);
    }
    return s;
}

static void test_a_server_finds_itself_and_is_told_of_the_others(void **state)
{
    struct run_sites *s =
        parse(WHOLE "between: {threshold: 2%, staleness: none, weight: sum, barrier: false}\n"
                    "budget: {max_gb: 0.6}\nstop: {clocks: 40}\n",
              &virginia);
    const struct node_between *b = run_sites_between(s);

    (void)state;
    assert_int_equal(b->others_count, 2);
    assert_string_equal(b->others[0].name, "tokyo");
    assert_string_equal(b->others[0].first.host, "tokyo.example");
    assert_string_equal(b->others[0].first.port, "7410");
    assert_int_equal(b->others[0].pace_bytes_per_s, 10000000);
    assert_string_equal(b->others[1].name, "ireland");
    assert_int_equal(b->others[1].pace_bytes_per_s, 0);
    assert_true(b->threshold == 0.02F);
    assert_true(b->staleness == MIRROR_UNBOUNDED);
    assert_false(b->mean);
    assert_false(b->barrier);
    assert_int_equal(b->budget_bytes, 100000000); /* A third of it, and half of that. */
    assert_int_equal(b->clocks, 40);
    run_sites_free(s);
    run_sites_free(NULL);
}

static void test_without_a_word_it_is_as_by_default(void **state)
{
    struct run_sites *s = parse(WHOLE, &virginia);
    const struct node_between *b = run_sites_between(s);
    struct node_between by_default;

    (void)state;
    node_between_init(&by_default);
    assert_true(b->threshold == by_default.threshold);
    assert_true(b->staleness == by_default.staleness);
    assert_int_equal(b->streams, by_default.streams);
    assert_true(b->away_ns == by_default.away_ns);
    assert_true(b->mean && b->barrier && b->majority);
    assert_int_equal(b->budget_bytes, 0);
    assert_int_equal(b->groups, 0);
    run_sites_free(s);
}

static void test_groups_and_hubs_are_as_in_run_files(void **state)
{
    struct run_sites *s = parse(WHOLE "between:\n"
                                      "  groups:\n"
                                      "    - {name: west, sites: [virginia, ireland],\n"
                                      "       hubs: {east: [ireland, virginia]}}\n"
                                      "    - {name: east, sites: [tokyo], hubs: {west: tokyo}}\n",
                                &virginia);
    const struct node_between *b = run_sites_between(s);

    (void)state;
    assert_int_equal(b->groups, 2);
    assert_int_equal(b->group, 0);
    assert_int_equal(b->others[0].group, 1);
    assert_int_equal(b->others[1].group, 0);
    assert_int_equal(b->hubs_count, 2);
    assert_string_equal(b->hubs[0].sites[0], "ireland");
    assert_string_equal(b->hubs[1].sites[0], "tokyo");
    run_sites_free(s);
}

struct wrong {
    const char *yaml;
    const char *complaint; /* Behind the name of the file. */
};

static const struct wrong wrongs[] = {
    {"", "1:1: there is nothing in it"},
    {"between: {}\n", "1:1: 'sites' is missing: write sites: [{name: NAME, address: "
                      "tls://HOST:PORT}, ...], all of them"},
    {"sites: 3\n", "1:8: sites: has to be a list, but is a text"},
    {"sites:\n" A, "2:3: sites: has 1 entries: write 2 to 64 of them"},
    {WHOLE "topology: a.json\n",
     "5:1: topology: no such key: there are sites, links, shared, between, budget, stop"},
    {"sites:\n" A "  - {name: tokyo}\n",
     "3:5: sites[1]: 'address' is missing: write address: tls://HOST:PORT"},
    {"sites:\n" A "  - {address: \"tls://h:1\"}\n",
     "3:5: sites[1]: 'name' is missing: write name: NAME"},
    {"sites:\n" A "  - {name: tokyo, adress: \"tls://h:1\"}\n",
     "3:19: sites[1].adress: no such key: did you mean 'address'?"},
    {"sites:\n" A B A, "4:12: sites[2].name: sites[0] is called 'virginia' too: names have to "
                       "differ"},
    {"sites:\n" A "  - {name: a b, address: \"tls://h:1\"}\n",
     "3:12: sites[1].name: 'a b' is not a name: use 1 to 64 of the characters A-Z a-z 0-9 . _ -"},
    {"sites:\n" A "  - {name: tokyo, address: }\n",
     "3:28: sites[1].address: has to be where the site's first server listens, such as "
     "tls://HOST:PORT"},
    {"sites:\n" A "  - {name: tokyo, address: [1]}\n",
     "3:28: sites[1].address: has to be where the site's first server listens, such as "
     "tls://HOST:PORT"},
    {"sites:\n" A "  - {name: tokyo, address: \"tcp://h:1\"}\n",
     "3:28: sites[1].address: this server has a certificate: write tls://, as for all sites"},
    {"sites:\n" A "  - {name: tokyo, address: \"tls://h:0\"}\n",
     "3:28: sites[1].address: a port is needed: that of the site's first server"},
    {"sites:\n" A "  - {name: tokyo, address: \"tls://10.1.0.5:7410\"}\n",
     "3:28: sites[1].address: site 'virginia' is there: each site has servers of its own"},
    {"sites:\n" A "  - {name: tokyo, address: \"tls://h:1\", pace: fast}\n",
     "3:47: sites[1].pace: 'fast' is not a rate: write a number and its unit (bit, kbit"},
    {"sites:\n" A "  - {name: tokyo, address: \"tls://h:1\", pace: 0}\n",
     "3:47: sites[1].pace: has to be a rate above zero, such as 100mbit"},
    {"sites:\n" B C, "2:3: sites: this server is of site 'virginia', which is not among them: add "
                     "it; the sites are tokyo, ireland"},
    {WHOLE "between: {treshold: 1%}\n", "5:11: between.treshold: no such key: did you mean "
                                        "'threshold'?"},
    {WHOLE "between: {threshold: -1}\n",
     "5:22: between.threshold: the threshold is -1, but must be a number from 0 to"},
    {WHOLE "between: {threshold: much}\n",
     "5:22: between.threshold: has to be a number or a percentage, such as 0.01 or 1%"},
    {WHOLE "between: {staleness: -3}\n",
     "5:22: between.staleness: has to be a whole number of clocks from 0 to"},
    {WHOLE "between: {groups: [{name: x, sites: [virginia, tokyo]}]}\n",
     "5:19: between.groups: site 'ireland' is in no group: add it to one"},
    {WHOLE "between: {groups: [{name: x, sites: [virginia, tokio, ireland]}]}\n",
     "5:48: between.groups[0].sites[1]: there is no site 'tokio': did you mean 'tokyo'?"},
    {WHOLE "between: {groups: [{name: x, sites: [virginia, tokyo], hubs: {y: []}}, {name: y, "
           "sites: [ireland]}]}\n",
     "5:66: between.groups[0].hubs: has to be the name of a site, or a list of them"},
    {WHOLE "between: {groups: [{name: x, sites: [virginia, tokyo], hubs: {y: ireland}}, {name: y, "
           "sites: [ireland]}]}\n",
     "5:66: between.groups[0].hubs: site 'ireland' is in group 'y': a hub is a site of its own "
     "group, 'x'"},
    {WHOLE "budget: {max_gb: 0}\n",
     "5:18: budget.max_gb: 0 is out of range: write a number from 1e-09 to 1e+09"},
    {WHOLE "budget: {}\n", "5:9: budget: 'max_gb' is missing: write max_gb: NUMBER"},
    {WHOLE "stop: {clocks: 0}\n",
     "5:16: stop.clocks: 0 is out of range: write a whole number from 1 to 1000000000"},
};

static void test_what_is_wrong_is_refused_with_its_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
        const struct wrong *w = &wrongs[i];
        struct err_text text = {""};
        struct run_sites *s = NULL;
        char expected[400];

        assert_int_equal(run_sites_parse("f.yaml", w->yaml, strlen(w->yaml), &virginia, &s, &text),
                         ERR_MALFORMED);
        assert_null(s);
        (void)snprintf(expected, sizeof(expected), "f.yaml:%s", w->complaint);
        if (strncmp(text.text, expected, strlen(expected)) != 0) {
            fail_msg("\"%s\", not \"%s\"", text.text, expected);
        }
    }
}

static void test_in_the_clear_all_sites_are(void **state)
{
    struct run_sites_reader reader = {.site = "a", .lanes = 1};
    struct run_sites *s = parse("sites: [{name: a, address: \"tcp://127.0.0.1:1\"},\n"
                                "        {name: b, address: \"tcp://127.0.0.1:2\"}]\n",
                                &reader);
    struct err_text text = {""};

    (void)state;
    run_sites_free(s);
    reader.site = "virginia";
    assert_int_equal(run_sites_parse("f", WHOLE, strlen(WHOLE), &reader, &s, &text), ERR_MALFORMED);
    assert_string_equal(text.text, "f:2:31: sites[0].address: this server has no certificate: "
                                   "write tcp://, or give it --cert");
}

static void test_a_file_that_is_not_there_is_named(void **state)
{
    struct err_text text = {""};
    struct run_sites *s = NULL;

    (void)state;
    assert_int_equal(run_sites_load("/nowhere/sites.yaml", &virginia, &s, &text), ERR_NOT_FOUND);
    assert_non_null(strstr(text.text, "/nowhere/sites.yaml"));
    assert_null(s);
}

/* What a run writes for its servers is what the simulator tells its own. */

#define RUN                                                                                        \
    "run: test\n"                                                                                  \
    "topology:\n"                                                                                  \
    "  regions: [eu, us, ap]\n"                                                                    \
    "  default_link: {rate: 100mbit, rtt: 60ms, price: 0.02}\n"                                    \
    "  links: [{from: ap, to: eu, rate: 8mbit, rtt: 60ms, price: 0.1}]\n"                          \
    "sites: [{region: eu, lanes: 2}, {name: 007, region: us, lanes: 2}, {region: ap, lanes: 2}]\n" \
    "job: {name: mf}\nstop: {clocks: 70}\n"                                                        \
    "between:\n"                                                                                   \
    "  significance: absolute\n"                                                                   \
    "  grain: row\n"                                                                               \
    "  threshold: 0.3%\n"                                                                          \
    "  goal: cost\n"                                                                               \
    "  staleness: 7\n"                                                                             \
    "  away: 1500ms\n"                                                                             \
    "  leave_out: any\n"                                                                           \
    "  groups: [{name: x, sites: [eu, 007], hubs: {y: 007}}, {name: y, sites: [ap]}]\n"            \
    "budget: {max_usd: 3, max_gb: 77}\n"

static void place(const struct run_file *f, uint32_t site, struct net_address *out, void *user)
{
    (void)f;
    (void)user;
    *out = (struct net_address){.scheme = NET_SCHEME_TCP, .host = "127.0.0.1"};
    (void)snprintf(out->port, sizeof(out->port), "%u", 20000 + site);
}

static void expect_same(const struct node_between *a, const struct node_between *b)
{
    assert_int_equal(a->others_count, b->others_count);
    for (uint32_t i = 0; i < a->others_count; i++) {
        assert_string_equal(a->others[i].name, b->others[i].name);
        assert_string_equal(a->others[i].first.port, b->others[i].first.port);
        assert_int_equal(a->others[i].group, b->others[i].group);
    }
    assert_int_equal(a->group, b->group);
    assert_int_equal(a->groups, b->groups);
    assert_int_equal(a->hubs_count, b->hubs_count);
    for (uint32_t i = 0; i < a->hubs_count; i++) {
        assert_int_equal(a->hubs[i].from, b->hubs[i].from);
        assert_int_equal(a->hubs[i].to, b->hubs[i].to);
        assert_int_equal(a->hubs[i].count, b->hubs[i].count);
        assert_string_equal(a->hubs[i].sites[0], b->hubs[i].sites[0]);
    }
    assert_memory_equal(&a->filter, &b->filter, sizeof(a->filter));
    assert_true(a->threshold == b->threshold);
    assert_int_equal(a->goal, b->goal);
    assert_true(a->budget_bytes + 1 >= b->budget_bytes && a->budget_bytes <= b->budget_bytes + 1);
    assert_true(a->clocks == b->clocks && a->staleness == b->staleness);
    assert_true(a->barrier == b->barrier && a->mean == b->mean && a->majority == b->majority);
    assert_true(a->away_ns == b->away_ns && a->streams == b->streams);
}

static void test_what_a_run_writes_says_what_the_run_says(void **state)
{
    struct run_betweens *betweens = NULL;
    struct run_file *f = NULL;
    struct err_text text = {""};

    (void)state;
    if (run_file_parse("test.yaml", NULL, RUN, strlen(RUN), &f, &text) != OK) {
        fail_msg("%s", text.text);
    }
    assert_int_equal(run_betweens_create(f, place, NULL, &betweens, &text), OK);
    for (uint32_t i = 0; i < f->sites_count; i++) {
        struct run_sites_reader reader = {.site = f->sites[i].name, .lanes = f->lanes};
        struct run_sites *s;
        struct text out;

        assert_int_equal(text_init(&out, 1 << 16), OK);
        run_sites_print(f, i, place, NULL, &out);
        assert_false(out.failed);
        s = parse(out.chars, &reader);
        expect_same(run_sites_between(s), run_between_at(betweens, i));
        run_sites_free(s);
        text_deinit(&out);
    }
    run_betweens_destroy(betweens);
    run_file_free(f);
}

static void test_no_memory_is_reported(void **state)
{
    enum err rc = ERR_NOMEM;

    (void)state;
    for (uint64_t k = 1; rc != OK; k++) {
        struct err_text text = {""};
        struct run_sites *s = NULL;

        assert_true(k < 10000);
        mem_fail_at(k, 1);
        rc = run_sites_parse("f", WHOLE, strlen(WHOLE), &virginia, &s, &text);
        mem_fail_at(0, 0);
        assert_true(rc == OK ? s != NULL : rc == ERR_NOMEM && s == NULL && text.text[0] != '\0');
        run_sites_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_server_finds_itself_and_is_told_of_the_others),
        cmocka_unit_test(test_without_a_word_it_is_as_by_default),
        cmocka_unit_test(test_groups_and_hubs_are_as_in_run_files),
        cmocka_unit_test(test_what_is_wrong_is_refused_with_its_place),
        cmocka_unit_test(test_in_the_clear_all_sites_are),
        cmocka_unit_test(test_a_file_that_is_not_there_is_named),
        cmocka_unit_test(test_what_a_run_writes_says_what_the_run_says),
        cmocka_unit_test(test_no_memory_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
