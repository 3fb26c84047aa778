/* Tables to and from files. */

#include "client/file.h"
#include "client/testing_calls.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* More than one piece, and a last one that is not whole. */
enum { ROWS = 21, WIDTH = 60000, COUNT = ROWS * WIDTH };

struct folder {
    char dir[64];
    char path[512];
};

static const char *path_in(struct folder *f, const char *name)
{
    (void)snprintf(f->path, sizeof(f->path), "%s/%s", f->dir, name);
    return f->path;
}

static int folder_setup(void **state)
{
    struct folder *f = calloc(1, sizeof(*f));

    (void)snprintf(f->dir, sizeof(f->dir), "/tmp/strait-keep-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    *state = f;
    return 0;
}

/* Remove the folder, and count what was in it. */
static int folder_empty(struct folder *f)
{
    DIR *dir = opendir(f->dir);
    struct dirent *entry;
    int count = 0;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] != '.') {
            count++;
            assert_int_equal(unlink(path_in(f, entry->d_name)), 0);
        }
    }
    assert_int_equal(closedir(dir), 0);
    return count;
}

static int folder_teardown(void **state)
{
    struct folder *f = *state;

    (void)folder_empty(f);
    assert_int_equal(rmdir(f->dir), 0);
    free(f);
    return 0;
}

static void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static float *counting(float scale)
{
    float *floats = floats_of(0, COUNT);

    for (int i = 0; i < COUNT; i++) {
        floats[i] = scale * (float)(i % 1000);
    }
    return floats;
}

static void run_save_and_load(struct folder *f, enum node_delivery delivery)
{
    struct client_testing_site t = {0};
    float *update = counting(0.1f), *out = floats_of(0, COUNT);
    strait *s;
    int from, to;

    testing_site_start(&t, "bsp", delivery, 2, 1);
    s = join_worker(&t, "");
    from = make_table(s, "from", ROWS, WIDTH);
    to = make_table(s, "to", ROWS, WIDTH);
    OKAY(strait_update(s, from, 0, COUNT, update));
    OKAY(strait_clock(s, 1, T, NULL));
    OKAY(strait_table_save(s, from, path_in(f, "t.npy"), T));
    OKAY(strait_table_load(s, to, f->path, T));
    OKAY(strait_clock(s, 1, T, NULL));
    OKAY(strait_read(s, to, 0, COUNT, out, T));
    assert_memory_equal(out, update, COUNT * sizeof(float));
    OKAY(strait_table_load(s, to, f->path, T)); /* It is so already: nothing is sent. */
    OKAY(strait_update(s, to, 0, COUNT, update));
    OKAY(strait_table_save(s, from, f->path, T)); /* Over the old one. */
    assert_int_equal(folder_empty(f), 1);
    leave_worker(s);
    testing_site_stop(&t);
    free(update);
    free(out);
}

static void test_a_table_is_saved_and_loaded(void **state)
{
    run_save_and_load(*state, NODE_BROADCAST);
    run_save_and_load(*state, NODE_PULL);
}

static void test_what_cannot_be_kept_is_said(void **state)
{
    struct folder *f = *state;
    struct client_testing_site t = {0};
    float floats[4] = {1, 2, 3, NAN};
    struct client_file *file;
    char long_path[2000];
    strait *s;
    int table, sgd;

    testing_site_start(&t, "tap", NODE_PULL, 1, 1);
    s = join_worker(&t, "");
    table = make_table(s, "w", 2, 2);
    OKAY(strait_table_create(s, "sgd", 2, 2, "{\"apply\": \"sgd lr=0.1\"}", T, &sgd));
    memset(long_path, 'x', sizeof(long_path));
    long_path[sizeof(long_path) - 1] = '\0';
    FAILS(strait_table_save(s, table, NULL, T), STRAIT_E_INVALID, "no path");
    FAILS(strait_table_save(s, table, "/nowhere/t.npy", T), STRAIT_E_NOT_FOUND, "/nowhere/t.npy: ");
    FAILS(strait_table_save(s, table, f->dir, T), STRAIT_E_FILE, "directory");
    FAILS(strait_table_save(s, table, long_path, T), STRAIT_E_TOO_BIG, "path is longer");
    FAILS(strait_table_save(s, table, path_in(f, "t"), NAN), STRAIT_E_INVALID, "not a number");
    FAILS(strait_table_save(s, 9, f->path, T), STRAIT_E_NOT_FOUND, "no table 9");
    FAILS(strait_table_load(s, table, NULL, T), STRAIT_E_INVALID, "no path");
    FAILS(strait_table_load(s, table, "/nowhere/t.npy", T), STRAIT_E_NOT_FOUND, "No such file");
    FAILS(strait_table_load(s, sgd, f->path, T), STRAIT_E_INVALID, "apply \"add\"");
    assert_int_equal(folder_empty(f), 0); /* Not even a draft. */

    write_file(path_in(f, "x"), "hello, this is not an array", 27);
    FAILS(strait_table_load(s, table, f->path, T), STRAIT_E_FILE, "x: not a .npy file");
    write_file(f->path, "hell", 4);
    FAILS(strait_table_load(s, table, f->path, T), STRAIT_E_FILE, "x: it ends too early");
    write_file(f->path, "\x93NUMPY\x01\x00\x76\x00{'descr", 17);
    FAILS(strait_table_load(s, table, f->path, T), STRAIT_E_FILE, "x: it ends too early");
    assert_int_equal(client_file_create(f->path, 1, 4, &file, NULL), OK);
    assert_int_equal(client_file_write(file, floats, 4, NULL), OK);
    assert_int_equal(client_file_commit(file, NULL), OK);
    FAILS(strait_table_load(s, table, f->path, T), STRAIT_E_FILE, "its shape is (1, 4)");
    assert_int_equal(client_file_create(f->path, 2, 2, &file, NULL), OK);
    assert_int_equal(client_file_write(file, floats, 3, NULL), OK);
    assert_int_equal(client_file_commit(file, NULL), OK);
    FAILS(strait_table_load(s, table, f->path, T), STRAIT_E_FILE, "not as long as its header says");
    assert_int_equal(client_file_create(f->path, 2, 2, &file, NULL), OK);
    assert_int_equal(client_file_write(file, floats, 4, NULL), OK);
    assert_int_equal(client_file_commit(file, NULL), OK);
    FAILS(strait_table_load(s, table, f->path, T), STRAIT_E_FILE, "holds NaN or infinity");
    OKAY(strait_leave(s, T));
    FAILS(strait_table_save(s, table, f->path, T), STRAIT_E_NOT_JOINED, "strait_join()");
    OKAY(strait_close(s));
    testing_site_stop(&t);
}

static void test_a_file_that_is_not_whole_leaves_the_old_one(void **state)
{
    struct folder *f = *state;
    float floats[4] = {1, 2, 3, 4};
    struct client_file *file;

    assert_int_equal(client_file_create(path_in(f, "t.npy"), 2, 2, &file, NULL), OK);
    assert_int_equal(client_file_write(file, floats, 4, NULL), OK);
    assert_int_equal(client_file_commit(file, NULL), OK);
    assert_int_equal(client_file_create(f->path, 9, 9, &file, NULL), OK);
    assert_int_equal(client_file_write(file, floats, 4, NULL), OK);
    client_file_close(file); /* Given up. */
    assert_int_equal(client_file_open(f->path, 2, 2, &file, NULL), OK);
    memset(floats, 0, sizeof(floats));
    assert_int_equal(client_file_read(file, floats, 4, NULL), OK);
    assert_true(floats[3] == 4);
    assert_int_equal(client_file_read(file, floats, 1, NULL), ERR_INVALID);
    client_file_close(file);
    client_file_close(NULL);
    assert_int_equal(folder_empty(f), 1);
}

/* A limit on the size of files stands for a full disk. */
static void test_a_disk_that_takes_no_more_is_said(void **state)
{
    struct folder *f = *state;
    struct rlimit before, small = {.rlim_cur = 100, .rlim_max = RLIM_INFINITY};
    struct client_file *file;
    struct err_text text = {""};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(client_file_create(path_in(f, "t.npy"), 1, 4, &file, &text), ERR_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, handler);
    assert_non_null(strstr(text.text, "t.npy: File too large"));
    assert_int_equal(folder_empty(f), 0);
}

static void test_memory_may_end_at_every_allocation(void **state)
{
    struct folder *f = *state;
    struct client_testing_site t = {0};
    strait *s;
    int table;

    testing_site_start(&t, "bsp", NODE_BROADCAST, 1, 1);
    s = join_worker(&t, "");
    table = make_table(s, "w", 2, 2);
    OKAY(strait_table_save(s, table, path_in(f, "t.npy"), T));
    for (uint64_t k = 1; k <= 8; k++) {
        int code;

        mem_fail_at(k, 1);
        code = strait_table_save(s, table, f->path, T);
        mem_fail_at(0, 0);
        assert_true(code == STRAIT_OK || code == STRAIT_E_NO_MEMORY);
        mem_fail_at(k, 1);
        code = strait_table_load(s, table, f->path, T);
        mem_fail_at(0, 0);
        assert_true(code == STRAIT_OK || code == STRAIT_E_NO_MEMORY);
    }
    assert_int_equal(folder_empty(f), 1);
    leave_worker(s);
    testing_site_stop(&t);
}

#define KEEP_TEST(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        KEEP_TEST(test_a_table_is_saved_and_loaded),
        KEEP_TEST(test_what_cannot_be_kept_is_said),
        KEEP_TEST(test_a_file_that_is_not_whole_leaves_the_old_one),
        KEEP_TEST(test_a_disk_that_takes_no_more_is_said),
        KEEP_TEST(test_memory_may_end_at_every_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
