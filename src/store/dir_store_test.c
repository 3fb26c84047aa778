/* The store over a folder: the suite with a lane of its own and on a manual loop, then a disk that
 * is slow, fails, or has other users. */

#include "store/dir_testing.h"
#include "store/store_testing.h"

static void dir_start(struct store_fixture *f)
{
    struct err_text text = {""};

    assert_int_equal(store_dir_create(f->path, f->loop, &f->store, &text), OK);
}

static void dir_open_real(struct store_fixture *f)
{
    dir_testing_make(f->path);
    assert_int_equal(loop_create(&f->loop), OK);
    dir_start(f);
}

static void dir_open_manual(struct store_fixture *f)
{
    dir_testing_make(f->path);
    assert_int_equal(loop_create_manual(0, &f->loop), OK);
    dir_start(f);
}

/* Only objects may be there. */
static void dir_assert_clean(struct store_fixture *f)
{
    struct store_listing l = {0};
    uint32_t objects = 0;

    assert_int_equal(store_list(f->store, "", store_listing_add, &l), OK);
    for (size_t i = 0; i < l.size; i++) {
        objects += l.text[i] == ':';
    }
    assert_int_equal(dir_testing_files(f->path), objects);
}

static void dir_restart(struct store_fixture *f)
{
    store_destroy(f->store);
    dir_start(f);
    dir_assert_clean(f);
}

static void dir_close_all(struct store_fixture *f)
{
    dir_restart(f);
    store_destroy(f->store);
    loop_destroy(f->loop);
    dir_testing_remove(f->path);
}

static struct store_backend real = {dir_open_real, dir_restart, dir_close_all};
static struct store_backend manual = {dir_open_manual, dir_restart, dir_close_all};

static void test_a_slow_disk_is_felt_and_nothing_is_lost(void **state)
{
    static uint8_t bytes[STORE_APPEND_BYTES_MAX];
    struct store_fixture *f = *state;
    struct store_result results = {0};
    struct store_writer *w[4] = {0};
    uint64_t size = 0;
    uint32_t posted = 0;
    enum err rc = OK;

    assert_int_equal(pthread_mutex_lock(&dir_calls.gate), 0);
    assert_int_equal(store_begin(f->store, "large", &w[0]), OK);
    for (uint32_t i = 0; i < STORE_WRITER_BYTES_MAX / STORE_APPEND_BYTES_MAX; i++) {
        assert_int_equal(store_append(w[0], bytes, sizeof(bytes)), OK);
    }
    assert_int_equal(store_append(w[0], bytes, 1), ERR_AGAIN);
    /* Another writer has its own share, but the queue has an end. */
    assert_int_equal(store_begin(f->store, "small", &w[1]), OK);
    while ((rc = store_append(w[1], bytes, 1)) == OK) {
        assert_true(++posted < 10000);
    }
    assert_int_equal(rc, ERR_AGAIN);
    assert_int_equal(store_begin(f->store, "empty", &w[2]), OK);
    assert_int_equal(store_begin(f->store, "aborted", &w[3]), OK);
    store_commit(w[0], store_result_set, &results);
    store_commit(w[1], store_result_set, &results);
    store_abort(w[3]);
    store_commit(w[2], store_result_set, &results);
    loop_turn(f->loop, 0);
    assert_int_equal(results.calls, 0);
    assert_listing(f->store, "", "");
    assert_int_equal(pthread_mutex_unlock(&dir_calls.gate), 0);
    STORE_TURN_UNTIL(f->loop, results.calls == 3);
    assert_int_equal(results.rc, OK);
    assert_int_equal(store_size(f->store, "large", &size), OK);
    assert_int_equal(size, STORE_WRITER_BYTES_MAX);
    assert_int_equal(store_size(f->store, "small", &size), OK);
    assert_int_equal(size, posted);
    assert_object(f->store, "empty", NULL, 0);
    assert_no_object(f->store, "aborted");
}

static void test_a_failing_disk_is_reported_and_the_next_object_is_new_luck(void **state)
{
    static const struct {
        enum dir_call call;
        int error;
        enum err want;
    } faults[] = {
        {DIR_CALL_WRITE, ENOSPC, ERR_FULL},
        {DIR_CALL_FSYNC, EIO, ERR_IO},
        {DIR_CALL_RENAME, EIO, ERR_IO},
        {DIR_CALL_OPEN, EMFILE, ERR_IO},
    };
    struct store_fixture *f = *state;

    assert_int_equal(store_put_text(f->loop, f->store, "a", "old"), OK);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        struct store_writer *w = NULL;
        enum err rc;

        assert_int_equal(store_begin(f->store, "a", &w), OK);
        dir_fail_at(faults[i].call, 1, faults[i].error);
        rc = store_append_all(f->loop, w, "some bytes", 10, 1);
        assert_true(rc == OK || rc == faults[i].want);
        assert_int_equal(store_commit_wait(f->loop, w), faults[i].want);
        assert_true(dir_fail_end(faults[i].call));
        assert_object_text(f->store, "a", "old");
        dir_assert_clean(f);
    }
    assert_int_equal(store_put_text(f->loop, f->store, "a", "new"), OK);
    assert_object_text(f->store, "a", "new");
}

/* Once the lane has met an error, appending says so. */
static void test_appending_to_a_failed_object_is_refused(void **state)
{
    struct store_fixture *f = *state;
    struct store_writer *w = NULL;

    assert_int_equal(store_begin(f->store, "a", &w), OK);
    dir_fail_at(DIR_CALL_WRITE, 1, ENOSPC);
    assert_int_equal(store_append(w, "x", 1), OK);
    STORE_TURN_UNTIL(f->loop, store_append(w, "y", 1) == ERR_FULL);
    assert_int_equal(store_append(w, "z", 1), ERR_FULL);
    store_abort(w);
}

static void test_two_stores_share_a_folder(void **state)
{
    struct store_fixture *f = *state;
    struct store_writer *w = NULL;
    struct store_writer *other_w = NULL;
    struct store *other = NULL;
    struct err_text text;

    assert_int_equal(store_begin(f->store, "x/a", &w), OK);
    assert_int_equal(store_append(w, "first", 5), OK);
    assert_int_equal(store_put_text(f->loop, f->store, "x/b", "done"), OK);
    /* The lane keeps its order, so the file of "x/a" is open: starting must not sweep it. */
    assert_int_equal(store_dir_create(f->path, f->loop, &other, &text), OK);
    assert_int_equal(store_begin(other, "x/a2", &other_w), OK);
    assert_int_equal(store_append(other_w, "second", 6), OK);
    assert_int_equal(store_commit_wait(f->loop, other_w), OK);
    assert_int_equal(store_commit_wait(f->loop, w), OK);
    assert_listing(other, "", "x/a:5 x/a2:6 x/b:4");
    assert_listing(f->store, "", "x/a:5 x/a2:6 x/b:4");
    store_destroy(other);
}

static void test_who_only_reads_changes_nothing(void **state)
{
    struct store_fixture *f = *state;
    struct store *reader = NULL;
    struct store_writer *w = NULL;
    struct err_text text;
    char path[128];
    FILE *leftover;

    assert_int_equal(store_put_text(f->loop, f->store, "a", "abc"), OK);
    (void)snprintf(path, sizeof(path), "%s/.strait-tmp-1-1-1", f->path);
    leftover = fopen(path, "w");
    assert_non_null(leftover);
    assert_int_equal(fclose(leftover), 0);
    assert_int_equal(store_dir_create(f->path, NULL, &reader, &text), OK);
    assert_int_equal(dir_testing_files(f->path), 2);
    assert_object_text(reader, "a", "abc");
    assert_listing(reader, "", "a:3");
    assert_int_equal(store_begin(reader, "b", &w), ERR_INVALID);
    store_destroy(reader);
    (void)snprintf(path, sizeof(path), "%s/none", f->path);
    assert_int_equal(store_dir_create(path, NULL, &reader, &text), ERR_NOT_FOUND);
    assert_int_not_equal(access(path, F_OK), 0);
    /* Who writes makes it, and sweeps. */
    assert_int_equal(store_dir_create(path, f->loop, &reader, &text), OK);
    assert_int_equal(access(path, F_OK), 0);
    store_destroy(reader);
    dir_restart(f);
    assert_int_equal(dir_testing_files(f->path), 1);
}

static void test_no_memory_to_start_is_reported(void **state)
{
    struct store_fixture *f = *state;
    enum err rc = ERR_NOMEM;

    store_destroy(f->store);
    for (uint64_t k = 1; rc != OK; k++) {
        struct err_text text = {""};

        assert_true(k < 50);
        mem_fail_at(k, 1);
        rc = store_dir_create(f->path, f->loop, &f->store, &text);
        mem_fail_at(0, 0);
        assert_true(rc == OK || (rc == ERR_NOMEM && strstr(text.text, "out of memory") != NULL));
        assert_true(rc == OK || strstr(text.text, f->path) != NULL);
    }
}

int main(void)
{
    const struct CMUnitTest on_real[] = {
        STORE_SUITE(&real),
        STORE_CASE(test_a_slow_disk_is_felt_and_nothing_is_lost, &real),
        STORE_CASE(test_a_failing_disk_is_reported_and_the_next_object_is_new_luck, &real),
        STORE_CASE(test_appending_to_a_failed_object_is_refused, &real),
        STORE_CASE(test_two_stores_share_a_folder, &real),
        STORE_CASE(test_who_only_reads_changes_nothing, &real),
        STORE_CASE(test_no_memory_to_start_is_reported, &real),
    };
    const struct CMUnitTest on_manual[] = {
        STORE_SUITE(&manual),
        STORE_CASE(test_two_stores_share_a_folder, &manual),
        STORE_CASE(test_no_memory_to_start_is_reported, &manual),
    };

    return cmocka_run_group_tests(on_real, NULL, NULL) +
           cmocka_run_group_tests(on_manual, NULL, NULL);
}
