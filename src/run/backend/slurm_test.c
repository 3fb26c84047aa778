/* Jobs of Slurm: how many nodes, the script, and what Slurm's commands say. */

#include "run/backend/slurm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MAP                                                                                        \
    "run: test\ntopology:\n  regions: [eu, us, ap]\n"                                              \
    "  links: [{between: [eu, us], rate: 8mbit, rtt: 10ms, price: 0.5},\n"                         \
    "          {between: [ap, us], rate: 8mbit, rtt: 10ms, price: 0.5}]\n"
#define JOB "job: {name: mf, options: {users: 60, items: 40, ratings: 900}}\nstop: {clocks: 3}\n"

static const char one_site[] =
    MAP "servers: [{region: us}]\nworkers: [{region: eu, count: 2}]\n" JOB;
static const char two_sites[] =
    MAP "sites: [{name: a, region: ap, workers: 2}, {name: b, region: us}]\n" JOB;

static struct run_file *file(const char *yaml)
{
    struct err_text text = {""};
    struct run_file *f = NULL;

    if (run_file_parse("a.yaml", NULL, yaml, strlen(yaml), &f, &text) != OK) {
        fail_msg("%s", text.text);
    }
    return f;
}

static void test_a_node_for_each_region_that_has_members(void **state)
{
    struct run_file *f = file(one_site);

    (void)state;
    assert_int_equal(run_slurm_nodes(f), 2);
    assert_string_equal(run_slurm_region(f, 0), "eu");
    assert_string_equal(run_slurm_region(f, 1), "us");
    run_file_free(f);
    f = file(two_sites);
    assert_int_equal(run_slurm_nodes(f), 2);
    assert_string_equal(run_slurm_region(f, 0), "us");
    assert_string_equal(run_slurm_region(f, 1), "ap");
    run_file_free(f);
}

static void test_hosts_that_say_no_port_begin_at_that_of_all(void **state)
{
    struct run_file *f = file(two_sites);
    struct err_text text = {""};
    struct run_hosts *h = NULL;
    struct run_deal deal;

    (void)state;
    assert_int_equal(run_hosts_create("the job", run_slurm_nodes(f), &h), OK);
    for (uint32_t i = 0; i < h->count; i++) {
        h->items[i] = (struct run_host){.name = i == 0 ? "n1" : "n2",
                                        .region = run_slurm_region(f, i),
                                        .address = "10.0.0.1",
                                        .slots = 100};
    }
    assert_int_equal(h->first, RUN_HOSTS_PORT);
    h->first = 20000;
    assert_int_equal(run_hosts_deal(h, f, &deal, &text), OK);
    assert_int_equal(run_hosts_port(h, f, &deal, 0, 0), 20000);
    assert_int_equal(run_hosts_port(h, f, &deal, 1, 0), 20001);
    run_deal_free(&deal);
    run_hosts_free(h);
    run_file_free(f);
}

static void test_the_script_says_all_that_was_said(void **state)
{
    struct run_slurm_script script = {.file = file(two_sites),
                                      .program = "/usr/bin/strait",
                                      .dir = "/r",
                                      .data = "/d",
                                      .library = "/l.so",
                                      .partition = "long",
                                      .extra = "--account=x --mem=1G",
                                      .limit_s = 3601,
                                      .insecure = 2,
                                      .tidy = true};
    struct text out;

    (void)state;
    assert_int_equal(text_init(&out, RUN_SLURM_SCRIPT_BYTES_MAX), OK);
    run_slurm_script(&script, &out);
    assert_false(out.failed);
    assert_int_equal(strncmp(out.chars, "#!/bin/bash\n# ", 14), 0);
    assert_non_null(strstr(out.chars, "\n#SBATCH --nodes=2\n"));
    assert_non_null(strstr(out.chars, "\n#SBATCH --time=61\n"));
    assert_non_null(strstr(out.chars, "\n#SBATCH --partition=long\n"));
    assert_non_null(strstr(out.chars, "\n#SBATCH --account=x --mem=1G\n"));
    assert_non_null(strstr(out.chars, "\n#SBATCH --output=/r/slurm-%j.out\n"));
    assert_non_null(strstr(out.chars,
                           "\nexec /usr/bin/strait run /r/job.yaml --on slurm --inside -o /r \\\n"
                           "    --set job.data=/d \\\n    --set between.library=/l.so "
                           "--insecure --insecure --tidy\n"));
    script.data = script.library = "";
    script.partition = script.extra = NULL;
    script.limit_s = 0;
    script.insecure = 0;
    script.tidy = false;
    text_clear(&out);
    run_slurm_script(&script, &out);
    assert_null(strstr(out.chars, "--time"));
    assert_null(strstr(out.chars, "--partition"));
    assert_non_null(strstr(out.chars, " --inside -o /r\n"));
    text_deinit(&out);
    run_file_free((struct run_file *)(uintptr_t)script.file);
}

static void test_paths_that_a_script_would_misread_are_refused(void **state)
{
    static const char *const bad[] = {"",     "r",    "/a b",  "/a'b", "/a\"",
                                      "/a%j", "/a$b", "/a\nb", "/a;b"};

    (void)state;
    assert_true(run_slurm_path_good("/home/ada/runs/mf-1.2"));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(run_slurm_path_good(bad[i]));
    }
}

static void test_numbers_of_jobs_are_found_among_words(void **state)
{
    (void)state;
    assert_int_equal(run_slurm_job("12\n"), 12);
    assert_int_equal(run_slurm_job("12;cluster\n"), 12);
    assert_int_equal(run_slurm_job("sbatch: warning: 3 things\n4711\n"), 4711);
    assert_int_equal(run_slurm_job("sbatch: error: no\n"), 0);
    assert_int_equal(run_slurm_job("12 monkeys\n"), 0);
    assert_int_equal(run_slurm_job(""), 0);
    assert_int_equal(run_slurm_job("99999999999999999999\n"), 0);
}

static void test_values_are_those_of_their_key(void **state)
{
    static const char said[] = "JobId=2 Reason=None XExitCode=9:9 ExitCode=0:15 JobState=RUNNING\n";
    char value[16], small[4];

    (void)state;
    assert_true(run_slurm_value(said, "JobId", value, sizeof(value)));
    assert_string_equal(value, "2");
    assert_true(run_slurm_value(said, "ExitCode", value, sizeof(value)));
    assert_string_equal(value, "0:15");
    assert_true(run_slurm_value(said, "JobState", value, sizeof(value)));
    assert_string_equal(value, "RUNNING");
    assert_false(run_slurm_value(said, "JobState", small, sizeof(small)));
    assert_false(run_slurm_value(said, "Job", value, sizeof(value)));
    assert_false(run_slurm_value("", "Job", value, sizeof(value)));
}

static void test_states_have_a_meaning(void **state)
{
    (void)state;
    assert_int_equal(run_slurm_state("PENDING"), RUN_SLURM_WAITS);
    assert_int_equal(run_slurm_state("COMPLETING"), RUN_SLURM_RUNS);
    assert_int_equal(run_slurm_state("FAILED"), RUN_SLURM_DONE);
    assert_int_equal(run_slurm_state("CANCELLED"), RUN_SLURM_CANCELLED);
    assert_int_equal(run_slurm_state("TIMEOUT"), RUN_SLURM_TIMEOUT);
    assert_int_equal(run_slurm_state("NODE_FAIL"), RUN_SLURM_FAILED);
    assert_int_equal(run_slurm_state("?"), RUN_SLURM_FAILED);
}

static void test_names_come_one_by_one(void **state)
{
    const char *at = "n1\nn2\n";
    char name[RUN_SLURM_NODE_BYTES], longest[100];

    (void)state;
    at = run_slurm_next(at, name);
    assert_string_equal(name, "n1");
    at = run_slurm_next(at, name);
    assert_string_equal(name, "n2");
    assert_null(run_slurm_next(at, name));
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_null(run_slurm_next(longest, name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_node_for_each_region_that_has_members),
        cmocka_unit_test(test_hosts_that_say_no_port_begin_at_that_of_all),
        cmocka_unit_test(test_the_script_says_all_that_was_said),
        cmocka_unit_test(test_paths_that_a_script_would_misread_are_refused),
        cmocka_unit_test(test_numbers_of_jobs_are_found_among_words),
        cmocka_unit_test(test_values_are_those_of_their_key),
        cmocka_unit_test(test_states_have_a_meaning),
        cmocka_unit_test(test_names_come_one_by_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
