/* Whole runs that are recorded, and what stands beside their updates. */

#include "run/updates/recording.h"

#include "run/testing.h"
#include "run/updates/updates.h"

#include <stdlib.h>

struct fixture {
    char *dir;
    struct run_recording how;
    struct err_text text;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    f->dir = strdup("/tmp/strait-recording-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    f->how = (struct run_recording){.dir = f->dir, .worker = 0, .every = 1};
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    testing_remove(f->dir);
    free(f->dir);
    free(f);
    return 0;
}

static const char run[] = "run: small\n"
                          "topology: {regions: [{name: a}]}\n"
                          "servers: [{region: a}]\n"
                          "workers: [{region: a, count: 2}]\n"
                          "job: {name: logreg, options: {samples: 200, features: 40, batch: 10}}\n"
                          "stop: {clocks: 7}\n";

static void simulate(struct fixture *f, const struct run_file *file)
{
    const struct run_sim_options options = {.recording = &f->how};
    struct run_watcher watcher = {.row = NULL};
    struct run_sim_result result;

    if (run_sim(file, &watcher, &options, &result, &f->text) != OK) {
        fail_msg("%s", f->text.text);
    }
    assert_int_equal(result.base.end, RUN_END_CLOCKS);
}

static void test_a_run_is_recorded_and_described(void **state)
{
    struct run_file *file = testing_parse(run);
    struct run_recording_plan plan;
    struct fixture *f = *state;
    const char *paths[] = {f->dir};
    struct run_updates *u = NULL;
    uint64_t clock;

    f->how.worker = RUN_RECORDING_ALL;
    f->how.every = 2;
    assert_int_equal(run_recording_begin(&f->how, file, &plan, &f->text), OK);
    assert_int_equal(plan.workers, 2);
    assert_int_equal(plan.tables, 1);
    assert_int_equal(plan.clocks, 4);
    simulate(f, file);
    assert_int_equal(run_recording_end(&f->how, &f->text), OK);
    assert_int_equal(run_updates_open(paths, 1, &u, &f->text), OK);
    assert_int_equal(run_updates_parts(u), 2);
    assert_int_equal(plan.bytes, 2 * 4 * 4 * run_updates_part(u, 0)->elements);
    for (uint64_t want = 1; want <= 7; want += 2) {
        assert_int_equal(run_updates_next(u, &clock, &f->text), OK);
        assert_int_equal(clock, want);
        assert_non_null(run_updates_part(u, 0)->values);
        assert_non_null(run_updates_part(u, 1)->values);
    }
    assert_int_equal(run_updates_next(u, &clock, &f->text), OK);
    assert_int_equal(clock, 0);
    run_updates_close(u);
    assert_int_equal(run_recording_begin(&f->how, file, &plan, &f->text), ERR_EXISTS);
    assert_non_null(strstr(f->text.text, "holds updates of a run; choose another folder"));
    run_file_free(file);
}

static void test_a_run_may_be_too_large_to_record(void **state)
{
    struct run_file *file = testing_parse(run);
    struct run_recording_plan plan;
    struct fixture *f = *state;

    file->stop.clocks = 1000000000;
    assert_int_equal(run_recording_begin(&f->how, file, &plan, &f->text), ERR_TOO_BIG);
    assert_true(plan.bytes > RUN_RECORDING_BYTES_MAX);
    f->how.large = true;
    assert_int_equal(run_recording_begin(&f->how, file, &plan, &f->text), OK);
    run_file_free(file);
}

static void test_a_run_without_memory_is_recorded_or_says_so(void **state)
{
    struct run_file *file = testing_parse(run);
    struct fixture *f = *state;
    const struct run_sim_options options = {.recording = &f->how};
    struct run_watcher watcher = {.row = NULL};
    struct run_sim_result result;
    uint32_t refused = 0;

    file->stop.clocks = 2;
    for (uint64_t k = 1; k <= 400; k++) {
        enum err rc;

        mem_fail_at(k, 1);
        rc = run_sim(file, &watcher, &options, &result, &f->text);
        mem_fail_at(0, 0);
        assert_true(rc == OK || (rc == ERR_NOMEM && strstr(f->text.text, "no memory") != NULL));
        refused += rc != OK;
    }
    assert_true(refused > 20);
    run_file_free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_run_is_recorded_and_described, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_run_may_be_too_large_to_record, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_run_without_memory_is_recorded_or_says_so, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
