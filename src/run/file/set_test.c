/* Settings on top of run files. */

#include "run/file/set.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char yaml[] = "# A comment.\n"
                           "run: test\n"
                           "topology:\n"
                           "  regions: [eu, us]\n"
                           "  links:\n"
                           "    - {between: [eu, us], rate: 1gbit, rtt: 10ms}\n"
                           "servers: [{region: eu}]\n"
                           "workers:\n"
                           "  - region: eu   # two lines\n"
                           "    count: 2\n"
                           "  - {region: us}\n"
                           "job:\n"
                           "  name: mf\n"
                           "  options: {rank: 4, lr: 0.5}\n"
                           "faults:\n"
                           "  - \"at 3s kill s0 for 500ms\"\n"
                           "stop: {clocks: 100}\n";

static enum err load(const char *const *settings, uint32_t count, struct run_file **file_out,
                     struct err_text *text)
{
    struct text changed;
    enum err rc;

    assert_int_equal(text_init(&changed, RUN_FILE_BYTES_MAX), OK);
    rc = run_set_apply("a.yaml", yaml, strlen(yaml), settings, count, &changed, text);
    if (rc == OK) {
        rc = run_file_parse("a.yaml", NULL, changed.chars, changed.size, file_out, text);
    }
    text_deinit(&changed);
    return rc;
}

static struct run_file *good(const char *const *settings, uint32_t count)
{
    struct err_text text = {""};
    struct run_file *f = NULL;

    if (load(settings, count, &f, &text) != OK) {
        fail_msg("%s", text.text);
    }
    return f;
}

static void test_without_settings_it_is_the_same_file(void **state)
{
    struct err_text why = {""};
    struct text one, two;
    struct run_file *f = NULL, *same = good(NULL, 0);

    (void)state;
    assert_int_equal(run_file_parse("a.yaml", NULL, yaml, strlen(yaml), &f, &why), OK);
    assert_int_equal(text_init(&one, RUN_PRINT_BYTES_MAX), OK);
    assert_int_equal(text_init(&two, RUN_PRINT_BYTES_MAX), OK);
    run_file_print(f, &one);
    run_file_print(same, &two);
    assert_string_equal(one.chars, two.chars);
    text_deinit(&one);
    text_deinit(&two);
    run_file_free(f);
    run_file_free(same);
}

static void test_settings_take_the_place_of_what_is_there(void **state)
{
    static const char *const settings[] = {"stop.clocks=7",
                                           "workers[0].count=5",
                                           "workers[1].streams=3",
                                           "job.options.lr=0.125",
                                           "job.options.batch=50",
                                           "sync.barrier=ssp",
                                           "sync.staleness=4",
                                           "faults=[]",
                                           "servers=[{region: us, lanes: 2}, {region: eu}]",
                                           "stop.clocks=8"};
    struct run_file *f = good(settings, sizeof(settings) / sizeof(settings[0]));

    (void)state;
    assert_int_equal(f->stop.clocks, 8);
    assert_int_equal(f->groups[0].count, 5);
    assert_int_equal(f->groups[1].streams, 3);
    assert_int_equal(f->job.options_count, 3);
    assert_string_equal(f->job.options[1].value, "0.125");
    assert_string_equal(f->job.options[2].key, "batch");
    assert_int_equal(f->sync.barrier, RUN_SSP);
    assert_int_equal(f->sync.staleness, 4);
    assert_int_equal(f->faults_count, 0);
    assert_int_equal(f->servers_count, 2);
    assert_int_equal(f->servers[0].lanes, 2);
    run_file_free(f);
}

static void test_lines_stay_those_of_the_file(void **state)
{
    static const char *const setting[] = {"seed=3"};
    struct run_file *f = good(setting, 1);

    (void)state;
    assert_int_equal(f->servers[0].line, 7);
    assert_int_equal(f->groups[0].line, 9);
    assert_int_equal(f->groups[1].line, 11);
    assert_int_equal(f->job.line, 13);
    assert_int_equal(f->job.options[1].line, 14);
    assert_int_equal(f->faults[0].line, 16);
    run_file_free(f);
}

static void test_what_cannot_be_set_is_refused(void **state)
{
    static const char *const wrong[][2] = {
        {"stop.clocks", "stop.clocks: write KEY=VALUE"},
        {"=5", "=5: write KEY=VALUE"},
        {"stop..clocks=5", "write KEY=VALUE, where KEY is such as"},
        {"run.name=5", "what is left of a '.' has to be a mapping"},
        {"workers[2].count=5", "the list in the file is not so long"},
        {"workers[x].count=5", "write a number between [ and ]"},
        {"workers[0=5", "write a number between [ and ]"},
        {"job[0]=5", "the list in the file is not so long, or it is no list"},
        {"stop.clocks={", "not YAML"},
        {"stop.clocks=", "there is nothing in it"},
        {"stop.clcks=5", "a.yaml:17:"},
        {"workers[0].count=many", "a.yaml:10:"},
        {"job.name=fm", "a.yaml:13:"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct err_text text = {""};
        struct run_file *f = NULL;

        if (load(&wrong[i][0], 1, &f, &text) == OK || strstr(text.text, wrong[i][1]) == NULL) {
            fail_msg("%s: %s", wrong[i][0], text.text);
        }
    }
}

static void test_values_are_written_so_that_they_are_read_the_same(void **state)
{
    static const char *const settings[] = {"job.data='a: b, [c] #d \"e\"'", "run=test-2",
                                           "seed=18446744073709551615"};
    struct run_file *f = good(settings, 3);

    (void)state;
    assert_string_equal(f->job.data, "a: b, [c] #d \"e\"");
    assert_string_equal(f->name, "test-2");
    assert_true(f->seed == UINT64_MAX);
    run_file_free(f);
}

static void test_a_file_is_loaded_with_its_folder(void **state)
{
    static const char *const settings[] = {"job.data=ratings.csv"};
    char dir[] = "/tmp/strait-set-XXXXXX", path[64], wanted[128];
    struct err_text text = {""};
    struct run_file *f = NULL;
    FILE *file;

    (void)state;
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof(path), "%s/a.yaml", dir);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(yaml, 1, strlen(yaml), file), strlen(yaml));
    assert_int_equal(fclose(file), 0);
    if (run_set_load(path, settings, 1, &f, &text) != OK) {
        fail_msg("%s", text.text);
    }
    (void)snprintf(wanted, sizeof(wanted), "%s/ratings.csv", dir);
    assert_string_equal(f->job.data, wanted);
    run_file_free(f);
    assert_int_equal(run_set_load(path, NULL, 0, &f, &text), OK);
    run_file_free(f);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(run_set_load(path, settings, 1, &f, &text), ERR_NOT_FOUND);
    assert_int_equal(rmdir(dir), 0);
}

static void test_no_memory_is_told(void **state)
{
    static const char *const settings[] = {"sync.deadline=5s", "job.options.batch=[1]"};
    enum err rc = ERR_NOMEM;
    uint64_t k;

    (void)state;
    for (k = 1; rc == ERR_NOMEM; k++) {
        struct err_text text = {""};
        struct text out;

        assert_int_equal(text_init(&out, RUN_FILE_BYTES_MAX), OK);
        mem_fail_at(k, 1);
        rc = run_set_apply("a.yaml", yaml, strlen(yaml), settings, 2, &out, &text);
        mem_fail_at(0, 0);
        assert_true(rc == OK || strcmp(text.text, "a.yaml: out of memory") == 0);
        rc = rc == OK && out.failed ? ERR_NOMEM : rc;
        text_deinit(&out);
    }
    assert_int_equal(rc, OK);
    assert_true(k > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_settings_it_is_the_same_file),
        cmocka_unit_test(test_settings_take_the_place_of_what_is_there),
        cmocka_unit_test(test_lines_stay_those_of_the_file),
        cmocka_unit_test(test_what_cannot_be_set_is_refused),
        cmocka_unit_test(test_values_are_written_so_that_they_are_read_the_same),
        cmocka_unit_test(test_a_file_is_loaded_with_its_folder),
        cmocka_unit_test(test_no_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
