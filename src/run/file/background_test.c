/* Other people's traffic in run files: every key, printing, and what is refused. */

#include "run/file/file.h"

#include "run/testing.h"

#define HEAD                                                                                       \
    "run: r\n"                                                                                     \
    "topology: {regions: [eu, us, ap], links: [{between: [eu, us], rate: 1gbit, delay: 1ms}, "     \
    "{between: [eu, ap], rate: 1gbit, delay: 1ms}]}\n"
#define MEMBERS "servers: [{region: eu}]\nworkers: [{region: eu}, {region: us}]\n"
#define REST "job: {name: mf}\nstop: {clocks: 10}\n"

static void test_every_key_is_read_and_has_its_default(void **state)
{
    struct run_file *f = testing_parse(
        HEAD MEMBERS "links: {scale: 1/10}\n"
                     "background:\n"
                     "  - {name: shuffle, flows: 40, on: 10s, off: 20s, steady: true, among: "
                     "workers, rate: 200mbit, after: 1min, until: 1h}\n"
                     "  - {flows: 1, on: 1ms}\n" REST);
    const struct run_background *b = f->backgrounds;

    (void)state;
    assert_int_equal(f->backgrounds_count, 2);
    assert_string_equal(b[0].name, "shuffle");
    assert_int_equal(b[0].flows, 40);
    assert_int_equal(b[0].on_ns, INT64_C(10000000000));
    assert_int_equal(b[0].off_ns, INT64_C(20000000000));
    assert_true(b[0].steady);
    assert_int_equal(b[0].among, RUN_AMONG_WORKERS);
    assert_int_equal(b[0].rate_full, 25000000);
    assert_int_equal(b[0].rate_run, 2500000);
    assert_int_equal(b[0].after_ns, INT64_C(60000000000));
    assert_int_equal(b[0].until_ns, INT64_C(3600000000000));
    assert_int_equal(b[0].line, 7);
    assert_string_equal(b[1].name, "b1");
    assert_int_equal(b[1].off_ns, 0);
    assert_false(b[1].steady);
    assert_int_equal(b[1].among, RUN_AMONG_ALL);
    assert_int_equal(b[1].rate_full, 0);
    assert_int_equal(b[1].rate_run, 0);
    assert_int_equal(b[1].after_ns, 0);
    assert_int_equal(b[1].until_ns, 0);
    run_file_free(f);
}

static void test_what_is_printed_is_read_the_same(void **state)
{
    struct run_file *f = testing_parse(
        HEAD MEMBERS "background:\n"
                     "  - {name: shuffle, flows: 40, on: 10s, off: 20s, steady: true, among: "
                     "workers, rate: 200mbit, after: 1min, until: 1h}\n"
                     "  - {flows: 1, on: 1ms}\n" REST);
    struct run_file *again;
    struct text out, twice;

    (void)state;
    assert_int_equal(text_init(&out, RUN_PRINT_BYTES_MAX), OK);
    assert_int_equal(text_init(&twice, RUN_PRINT_BYTES_MAX), OK);
    run_file_print(f, &out);
    assert_non_null(strstr(
        out.chars,
        "background:\n"
        "  - {name: shuffle, flows: 40, on: 10s, off: 20s, steady: true, among: workers, after: "
        "60s, rate: 200mbit, until: 3600s}\n"
        "  - {name: b1, flows: 1, on: 1ms, off: 0ns, steady: false, among: all, after: 0ns}\n"));
    again = testing_parse(out.chars);
    run_file_print(again, &twice);
    assert_string_equal(out.chars, twice.chars);
    text_deinit(&out);
    text_deinit(&twice);
    run_file_free(again);
    run_file_free(f);
}

static void test_what_cannot_be_is_refused(void **state)
{
    static const struct {
        const char *entries, *why;
    } cases[] = {
        {"background: 3\n", "5:13: background: has to be a list, but is a text"},
        {"background: []\n", "5:13: background: has 0 entries: write 1 to 16 of them"},
        {"background: [{on: 1s}]\n",
         "5:14: background[0]: 'flows' is missing: write flows: NUMBER"},
        {"background: [{flows: 1}]\n", "5:14: background[0]: 'on' is missing: write on: 10s"},
        {"background: [{flow: 1, on: 1s}]\n",
         "5:15: background[0].flow: no such key: did you mean 'flows'?"},
        {"background: [{flows: 0, on: 1s}]\n",
         "5:22: background[0].flows: 0 is out of range: write a whole number from 1 to 4096"},
        {"background: [{flows: 1, on: 1us}]\n",
         "5:29: background[0].on: is out of range: write a time from 1ms to 86400s"},
        {"background: [{flows: 1, on: 1s, off: 25h}]\n",
         "5:38: background[0].off: is out of range: write a time from 0ns to 86400s"},
        {"background: [{flows: 1, on: [1s]}]\n",
         "5:29: background[0].on: has to be a time, such as 120s, but is a list"},
        {"background: [{flows: 1, on: 1s, among: hosts}]\n",
         "5:40: background[0].among: 'hosts' is not one of all, workers, servers"},
        {"background: [{flows: 1, on: 1s, rate: 0}]\n",
         "5:39: background[0].rate: is out of range: write a rate of at least 1 byte per second "
         "after links.scale, up to 2.199023255552tbit"},
        {"background: [{flows: 1, on: 1s, rate: 9}]\n",
         "5:39: background[0].rate: '9' is not a rate: write a number and its unit (bit, kbit, "
         "mbit, gbit, tbit, B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s or TiB/s), such as "
         "100mbit"},
        {"background: [{flows: 1, on: 1s, after: 5s, until: 5s}]\n",
         "5:51: background[0].until: is out of range: write a time from 5.000000001s to 31536000s"},
        {"background: [{flows: 1, on: 1s, name: 'a b'}]\n",
         "5:39: background[0].name: 'a b' is not a name: use 1 to 64 of the characters A-Z a-z 0-9 "
         ". _ -"},
        {"background: [{flows: 1, on: 1s, name: b1}, {flows: 1, on: 1s}]\n",
         "5:44: background[1].name: background[0] is called 'b1' too: names have to differ"},
        {"background: [{flows: 1, on: 1s, among: servers}]\n",
         "5:14: background[0]: is traffic between two hosts, and among servers there is one: write "
         "'among: all'"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char yaml[1024], why[400];
        struct run_file *f = NULL;
        struct err_text text = {""};

        (void)snprintf(yaml, sizeof(yaml), HEAD MEMBERS "%s" REST, cases[i].entries);
        (void)snprintf(why, sizeof(why), "r.yaml:%s", cases[i].why);
        assert_int_equal(run_file_parse("r.yaml", NULL, yaml, strlen(yaml), &f, &text),
                         ERR_MALFORMED);
        assert_string_equal(text.text, why);
    }
}

static void test_any_two_hosts_need_a_way(void **state)
{
    static const char yaml[] = HEAD "servers: [{region: eu}]\n"
                                    "workers: [{region: us}, {region: ap}]\n"
                                    "background: [{flows: 1, on: 1s}]\n" REST;
    struct run_file *f = NULL;
    struct err_text text = {""};

    (void)state;
    assert_int_equal(run_file_parse("r.yaml", NULL, yaml, strlen(yaml), &f, &text), ERR_MALFORMED);
    assert_string_equal(text.text,
                        "r.yaml:5:14: background[0]: the topology has no link from us to ap, and "
                        "there are hosts in both: add the link, or a default_link, or change "
                        "'among'");
}

static void test_spoilt_files_are_refused_with_their_place(void **state)
{
    (void)state;
    testing_spoil(HEAD MEMBERS "background:\n"
                               "  - {name: shuffle, flows: 40, on: 10s, off: 20s, steady: true, "
                               "rate: 200mbit, after: 1min, until: 1h}\n" REST,
                  77, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_key_is_read_and_has_its_default),
        cmocka_unit_test(test_what_is_printed_is_read_the_same),
        cmocka_unit_test(test_what_cannot_be_is_refused),
        cmocka_unit_test(test_any_two_hosts_need_a_way),
        cmocka_unit_test(test_spoilt_files_are_refused_with_their_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
