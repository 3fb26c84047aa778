/* What workers make, in files: whole after each clock, and gone on with after a death. */

#include "run/updates/recorder.h"

#include "run/testing.h"
#include "run/updates/updates.h"
#include "store/npy.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* A dense table of 3 and one of which updates have rows, of 4 x 2. */
static const struct app_table tables[] = {
    {.name = "d", .rows = 3, .width = 1, .access = APP_DENSE, .apply = "add", .combine = "sum"},
    {.name = "r", .rows = 4, .width = 2, .access = APP_ROWS, .apply = "add", .combine = "sum"},
};

struct fixture {
    char *dir;
    struct run_recording how;
    struct run_recorder *r;
    struct err_text text;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    f->dir = strdup("/tmp/strait-recorder-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    f->how = (struct run_recording){.dir = f->dir, .worker = 0, .every = 1};
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    run_recorder_destroy(f->r);
    testing_remove(f->dir);
    free(f->dir);
    free(f);
    return 0;
}

static void path_of(const struct fixture *f, const char *table, char *out, size_t size)
{
    char name[RUN_RECORDING_NAME_BYTES];

    run_recording_name(&f->how, 7, table, name, sizeof(name));
    (void)snprintf(out, size, "%s/%s", f->dir, name);
}

/* A new life of worker 7. */
static enum err start(struct fixture *f)
{
    run_recorder_destroy(f->r);
    f->r = NULL;
    f->text.text[0] = '\0';
    return run_recorder_create(&f->how, 7, tables, 2, &f->r, &f->text);
}

/* Row 1 and 3 of the second table. */
static enum err make(struct fixture *f, uint64_t clock, float value)
{
    static const uint32_t rows[] = {1, 3};
    float dense[] = {value, 0, -value}, some[] = {value, 1, 2, value};
    const struct app_view views[] = {{.row_count = 3, .update = dense},
                                     {.rows = rows, .row_count = 2, .update = some}};

    return run_recorder_write(f->r, clock, views, &f->text);
}

static struct run_updates *look(struct fixture *f, const char *table)
{
    struct run_updates *u = NULL;
    char path[128];
    const char *paths[] = {path};

    path_of(f, table, path, sizeof(path));
    if (run_updates_open(paths, 1, &u, &f->text) != OK) {
        fail_msg("%s", f->text.text);
    }
    return u;
}

/* The next clock is @clock, and these are its first, second and last values. */
static void next(struct fixture *f, struct run_updates *u, uint64_t clock, const float *want,
                 uint32_t count)
{
    uint64_t got = 99;

    assert_int_equal(run_updates_next(u, &got, &f->text), OK);
    assert_int_equal(got, clock);
    if (clock > 0) {
        assert_int_equal(run_updates_part(u, 0)->elements, count);
        assert_memory_equal(run_updates_part(u, 0)->values, want, count * sizeof(float));
    }
}

static void check_two(struct fixture *f, uint64_t second, bool gap)
{
    struct run_updates *u = look(f, "d");
    uint64_t step = 2;

    next(f, u, 1, (float[]){0.1F, 0, -0.1F}, 3);
    for (; gap && step < second; step++) {
        next(f, u, step, (float[]){0, 0, 0}, 3);
    }
    next(f, u, second, (float[]){2, 0, -2}, 3);
    next(f, u, 0, NULL, 0);
    run_updates_close(u);
    u = look(f, "r");
    next(f, u, 1, (float[]){0, 0, 0.1F, 1, 0, 0, 2, 0.1F}, 8);
    for (step = 2; gap && step < second; step++) {
        next(f, u, step, (float[]){0, 0, 0, 0, 0, 0, 0, 0}, 8);
    }
    next(f, u, second, (float[]){0, 0, 2, 1, 0, 0, 2, 2}, 8);
    next(f, u, 0, NULL, 0);
    run_updates_close(u);
}

/* Two clocks of the second table and no byte more; the first may have one more. */
static void check_cut(struct fixture *f, bool lines)
{
    struct run_updates *u = look(f, "r");
    struct stat status;
    char path[128];

    next(f, u, 1, (float[]){0, 0, 0.1F, 1, 0, 0, 2, 0.1F}, 8);
    next(f, u, lines ? 4 : 2, (float[]){0, 0, 2, 1, 0, 0, 2, 2}, 8);
    next(f, u, 0, NULL, 0);
    assert_int_equal(run_updates_torn(u), 0);
    run_updates_close(u);
    path_of(f, "r", path, sizeof(path));
    assert_int_equal(stat(path, &status), 0);
    assert_true(lines || status.st_size == NPY_HEADER_BYTES + 2 * 32);
}

static void test_each_clock_is_there_at_once(void **state)
{
    struct fixture *f = *state;

    for (uint32_t lines = 0; lines < 2; lines++) {
        f->how.lines = lines == 1;
        assert_int_equal(start(f), OK);
        assert_int_equal(make(f, 1, 0.1F), OK);
        assert_int_equal(make(f, 2, 2), OK);
        check_two(f, 2, true); /* While the recorder is there. */
    }
}

static void test_a_clock_that_was_missed_is_zeros_or_is_not_there(void **state)
{
    struct fixture *f = *state;

    for (uint32_t lines = 0; lines < 2; lines++) {
        f->how.lines = lines == 1;
        assert_int_equal(start(f), OK);
        assert_int_equal(make(f, 1, 0.1F), OK);
        assert_int_equal(make(f, 5, 2), OK);
        check_two(f, 5, lines == 0);
    }
}

static void spoil(struct fixture *f, const char *table)
{
    char path[128];
    FILE *file;

    path_of(f, table, path, sizeof(path));
    file = fopen(path, "ae");
    assert_non_null(file);
    assert_int_equal(fwrite("{\"clock\":9,\"values\":[7,7", 1, 23, file), 23);
    assert_int_equal(fclose(file), 0);
}

static void test_the_next_life_goes_on(void **state)
{
    struct fixture *f = *state;

    for (uint32_t lines = 0; lines < 2; lines++) {
        f->how.lines = lines == 1;
        assert_int_equal(start(f), OK);
        assert_int_equal(make(f, 1, 0.1F), OK);
        spoil(f, "d"); /* Killed while it wrote. */
        spoil(f, "r");
        assert_int_equal(start(f), OK);
        assert_int_equal(make(f, 1, 9), OK); /* It is there already. */
        assert_int_equal(make(f, 3, 2), OK);
        assert_int_equal(start(f), OK);
        check_two(f, 3, lines == 0);
    }
}

static void test_not_all_clocks_are_written(void **state)
{
    struct fixture *f = *state;
    struct run_updates *u;

    for (uint32_t lines = 0; lines < 2; lines++) {
        f->how.lines = lines == 1;
        f->how.every = 3;
        assert_int_equal(start(f), OK);
        for (uint64_t clock = 1; clock <= 9; clock++) {
            assert_int_equal(make(f, clock, (float)clock), OK);
        }
        u = look(f, "d");
        /* Which clock a row is of is not known without an updates.json. */
        next(f, u, 1, (float[]){1, 0, -1}, 3);
        next(f, u, lines ? 4 : 2, (float[]){4, 0, -4}, 3);
        next(f, u, lines ? 7 : 3, (float[]){7, 0, -7}, 3);
        next(f, u, 0, NULL, 0);
        run_updates_close(u);
    }
}

static void test_there_is_a_limit(void **state)
{
    struct fixture *f = *state;
    struct stat status;
    char path[128];

    assert_int_equal(start(f), OK);
    assert_int_equal(make(f, 1, 1), OK);
    assert_int_equal(make(f, 100000000, 1), ERR_TOO_BIG);
    assert_non_null(strstr(f->text.text, "their files have reached 2 GiB; --record-large allows"));
    f->text.text[0] = '\0';
    assert_int_equal(make(f, 2, 1), OK); /* Nothing more, and it was told. */
    assert_string_equal(f->text.text, "");
    path_of(f, "d", path, sizeof(path));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, NPY_HEADER_BYTES + 12);
    f->how.large = true;
    assert_int_equal(start(f), OK);
    assert_int_equal(make(f, 100000000, 1), OK); /* The file has holes. */
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, NPY_HEADER_BYTES + 12 * INT64_C(100000000));
}

/* No file may have more than so many bytes: the write that goes beyond is cut, the next one fails.
 */
static void limit(rlim_t bytes)
{
    struct rlimit now;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &now), 0);
    now.rlim_cur = bytes < now.rlim_max ? bytes : now.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &now), 0);
}

static void test_what_is_half_written_goes_and_it_is_said_how_far_it_got(void **state)
{
    struct fixture *f = *state;

    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    for (uint32_t lines = 0; lines < 2; lines++) {
        enum err rc;

        f->how.lines = lines == 1;
        f->how.every = 3;
        assert_int_equal(start(f), OK);
        assert_int_equal(make(f, 1, 0.1F), OK);
        assert_int_equal(make(f, 4, 2), OK);
        /* Of the next clock the first table has room, the second has for a part of it. */
        limit(lines == 1 ? 120 : NPY_HEADER_BYTES + 2 * 32 + 8);
        rc = make(f, 7, 3);
        limit(RLIM_INFINITY);
        assert_int_equal(rc, ERR_IO);
        if (strncmp(f->text.text, "updates are recorded up to clock 4: /tmp/", 41) != 0 ||
            strstr(f->text.text, lines == 1 ? "w7-r.jsonl: File too large"
                                            : "w7-r.npy: File too large") == NULL) {
            fail_msg("%s", f->text.text);
        }
        f->text.text[0] = '\0';
        assert_int_equal(make(f, 10, 1), OK); /* Nothing more, and it was told. */
        assert_string_equal(f->text.text, "");
        check_cut(f, lines == 1);
    }
}

static void test_no_room_for_the_first_clock_is_said_as_such(void **state)
{
    struct fixture *f = *state;
    enum err rc;

    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    assert_int_equal(start(f), OK);
    limit(NPY_HEADER_BYTES);
    rc = make(f, 1, 1);
    limit(RLIM_INFINITY);
    assert_int_equal(rc, ERR_IO);
    assert_non_null(strstr(f->text.text, "updates are recorded for no clock: /tmp/"));
    limit(0);
    testing_remove(f->dir);
    rc = start(f);
    limit(RLIM_INFINITY);
    assert_int_equal(rc, ERR_IO);
    assert_non_null(strstr(f->text.text, "w7-d.npy: File too large"));
}

static void test_something_else_is_not_touched(void **state)
{
    static const char *const others[] = {
        "\x93NUMPY and then nothing that anybody could read; but longer than a header, which has "
        "128 bytes, so that it is looked at .............",
        "hello\n",
    };
    struct fixture *f = *state;

    for (uint32_t lines = 0; lines < 2; lines++) {
        char path[128], got[256] = "";
        FILE *file;

        f->how.lines = lines == 1;
        path_of(f, "r", path, sizeof(path));
        file = fopen(path, "we");
        assert_int_equal(fputs(others[lines], file) >= 0, 1);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(start(f), ERR_INVALID);
        assert_non_null(strstr(f->text.text, "something else is there; record into an empty"));
        file = fopen(path, "re");
        assert_true(fread(got, 1, sizeof(got) - 1, file) > 0);
        assert_string_equal(got, others[lines]);
        assert_int_equal(fclose(file), 0);
    }
    /* A device that could be read for ever, or a folder. */
    for (uint32_t lines = 0; lines < 2; lines++) {
        char path[128];

        f->how.lines = lines == 1;
        path_of(f, "d", path, sizeof(path));
        (void)unlink(path);
        assert_int_equal(symlink("/dev/zero", path), 0);
        assert_int_equal(start(f), ERR_INVALID);
        assert_non_null(strstr(f->text.text, "something else is there; record into an empty"));
    }
    f->how.lines = false;
    testing_remove(f->dir);
    assert_int_equal(mkdir(f->dir, 0777), 0);
    {
        char path[128];

        path_of(f, "r", path, sizeof(path));
        assert_int_equal(mkdir(path, 0777), 0);
        assert_int_equal(start(f), ERR_IO);
        assert_non_null(strstr(f->text.text, "w7-r.npy: Is a directory"));
    }
}

static void test_tables_may_be_too_large(void **state)
{
    const struct app_table large = {.name = "l", .rows = UINT64_C(1) << 40, .width = 1 << 30};
    struct fixture *f = *state;

    assert_int_equal(run_recorder_create(&f->how, 7, &large, 1, &f->r, &f->text), ERR_TOO_BIG);
    assert_non_null(strstr(f->text.text, "table l has more than 1073741824 elements"));
}

static void test_memory_may_run_out(void **state)
{
    struct fixture *f = *state;
    enum err rc = ERR_NOMEM;
    uint64_t k;

    for (k = 1; rc != OK; k++) {
        mem_fail_at(k, 1);
        rc = start(f);
        mem_fail_at(0, 0);
        assert_true(rc == OK || (rc == ERR_NOMEM && strstr(f->text.text, "no memory") != NULL));
    }
    assert_true(k > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_clock_is_there_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_clock_that_was_missed_is_zeros_or_is_not_there,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_next_life_goes_on, setup, teardown),
        cmocka_unit_test_setup_teardown(test_not_all_clocks_are_written, setup, teardown),
        cmocka_unit_test_setup_teardown(test_there_is_a_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(
            test_what_is_half_written_goes_and_it_is_said_how_far_it_got, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_room_for_the_first_clock_is_said_as_such, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_something_else_is_not_touched, setup, teardown),
        cmocka_unit_test_setup_teardown(test_tables_may_be_too_large, setup, teardown),
        cmocka_unit_test_setup_teardown(test_memory_may_run_out, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
