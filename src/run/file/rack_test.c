/* Where members of run files are in their racks. */

#include "run/file/file.h"

#include "run/testing.h"

#define HEAD                                                                                       \
    "run: r\n"                                                                                     \
    "topology: {regions: [eu, us], default_link: {rate: 1gbit, delay: 1ms}}\n"
#define REST                                                                                       \
    "job: {name: mf}\n"                                                                            \
    "stop: {clocks: 10}\n"
#define FLAT                                                                                       \
    HEAD "servers: [{region: eu, edge: e0, agg: a0}, {region: us, edge: e0}, {region: eu}]\n"      \
         "workers:\n"                                                                              \
         "  - {region: eu, count: 5, agg: a0, edge: e0}\n"                                         \
         "  - {region: eu, agg: a1}\n"                                                             \
         "  - {region: us, edge: '01'}\n" REST
#define SITES                                                                                      \
    HEAD "sites:\n"                                                                                \
         "  - {region: eu, servers: [{edge: e0, agg: a0}], workers: [{count: 2, edge: e1}]}\n"     \
         "  - {region: us, servers: [{edge: e0}], workers: 3}\n" REST

static void test_positions_are_kept(void **state)
{
    struct run_file *f = testing_parse(FLAT);

    (void)state;
    assert_string_equal(f->servers[0].edge, "e0");
    assert_string_equal(f->servers[0].agg, "a0");
    assert_string_equal(f->servers[1].edge, "e0"); /* Of another region. */
    assert_null(f->servers[1].agg);
    assert_null(f->servers[2].edge);
    assert_null(f->servers[2].agg);
    assert_string_equal(f->groups[0].edge, "e0");
    assert_null(f->groups[1].edge);
    assert_string_equal(f->groups[1].agg, "a1");
    assert_string_equal(f->groups[2].edge, "01");
    run_file_free(f);
}

static void test_members_of_sites_have_them_too(void **state)
{
    static const char *const layouts[] = {"sites", "plain", "lan"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char yaml[1024];
        struct run_file *f;

        (void)snprintf(yaml, sizeof(yaml), "%slayout: %s\n", SITES, layouts[i]);
        f = testing_parse(yaml);
        assert_string_equal(f->servers[0].edge, "e0");
        assert_string_equal(f->servers[0].agg, "a0");
        assert_string_equal(f->servers[1].edge, "e0");
        assert_null(f->servers[1].agg);
        assert_string_equal(f->groups[0].edge, "e1");
        assert_null(f->groups[0].agg);
        assert_null(f->groups[1].edge);
        run_file_free(f);
    }
}

static void test_what_is_printed_is_read_the_same(void **state)
{
    static const char *const yamls[] = {FLAT, SITES};
    static const char *const parts[] = {
        "  - {region: eu, count: 5, streams: 1, slowdown: 1, edge: e0, agg: a0}\n"
        "  - {region: eu, count: 1, streams: 1, slowdown: 1, agg: a1}\n",
        "      - {name: eu-s0, lanes: 1, edge: e0, agg: a0}\n"
        "    workers:\n"
        "      - {count: 2, streams: 1, slowdown: 1, edge: e1}\n"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct run_file *f = testing_parse(yamls[i]), *again;
        struct text out, twice;

        assert_int_equal(text_init(&out, RUN_PRINT_BYTES_MAX), OK);
        assert_int_equal(text_init(&twice, RUN_PRINT_BYTES_MAX), OK);
        run_file_print(f, &out);
        assert_non_null(strstr(out.chars, parts[i]));
        again = testing_parse(out.chars);
        run_file_print(again, &twice);
        assert_string_equal(out.chars, twice.chars);
        text_deinit(&out);
        text_deinit(&twice);
        run_file_free(again);
        run_file_free(f);
    }
}

static void test_what_cannot_be_is_refused(void **state)
{
    static const struct {
        const char *members, *why;
    } cases[] = {
        {"servers: [{region: eu, edge: 'e 0'}]\nworkers: [{region: eu}]\n",
         "3:30: servers[0].edge: 'e 0' is not a name: use 1 to 64 of the characters A-Z a-z 0-9 . "
         "_ -"},
        {"servers: [{region: eu}]\nworkers: [{region: eu, agg: ''}]\n",
         "4:29: workers[0].agg: '' is not a name: use 1 to 64 of the characters A-Z a-z 0-9 . _ -"},
        {"servers: [{region: eu, edge: e0, agg: a0}]\nworkers: [{region: eu, edge: e0, agg: a1}]\n",
         "4:39: workers[0].agg: 'e0' is below 'a0' in servers[0]: write 'agg: a0' here too, or "
         "another edge"},
        {"servers: [{region: eu, edge: e0, agg: a0}]\nworkers: [{region: eu, edge: e0}]\n",
         "4:30: workers[0].edge: 'e0' is below 'a0' in servers[0]: write 'agg: a0' here too, or "
         "another edge"},
        {"servers: [{region: eu, edge: e0}]\nworkers: [{region: eu, edge: e0, agg: a0}]\n",
         "4:39: workers[0].agg: 'e0' is below no agg in servers[0]: write the same wherever it "
         "stands"},
        {"sites:\n  - region: eu\n    servers: [{edge: e0, agg: a0}]\n"
         "    workers: [{count: 2}, {edge: e0, agg: a1}]\n",
         "6:43: sites[0].workers[1].agg: 'e0' is below 'a0' in sites[0].servers[0]: write 'agg: "
         "a0' here too, or another edge"},
        {"sites: [{region: eu, workers: [{egde: e0}]}]\n",
         "3:33: sites[0].workers[0].egde: no such key: did you mean 'edge'?"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char yaml[1024], why[400];
        struct run_file *f = NULL;
        struct err_text text = {""};

        (void)snprintf(yaml, sizeof(yaml), HEAD "%s" REST, cases[i].members);
        (void)snprintf(why, sizeof(why), "r.yaml:%s", cases[i].why);
        assert_int_equal(run_file_parse("r.yaml", NULL, yaml, strlen(yaml), &f, &text),
                         ERR_MALFORMED);
        assert_string_equal(text.text, why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_positions_are_kept),
        cmocka_unit_test(test_members_of_sites_have_them_too),
        cmocka_unit_test(test_what_is_printed_is_read_the_same),
        cmocka_unit_test(test_what_cannot_be_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
