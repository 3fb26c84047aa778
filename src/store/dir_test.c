/* Objects as files: each system call fails once, leftovers, links and strangers' files. */

#include "store/dir.h"

#include "store/dir_testing.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>

struct place {
    char path[64];
    int root;
};

static int place_setup(void **state)
{
    struct place *p = mem_zalloc(sizeof(*p));
    struct err_text text;

    assert_non_null(p);
    dir_testing_make(p->path);
    assert_int_equal(dir_open(p->path, true, &p->root, &text), OK);
    *state = p;
    return 0;
}

static int place_teardown(void **state)
{
    struct place *p = *state;

    dir_close(p->root);
    dir_testing_remove(p->path);
    mem_free(p);
    return 0;
}

static enum err put(struct place *p, const char *name, const char *text)
{
    struct dir_file file;
    enum err rc = dir_file_open(p->root, name, 0, &file);

    if (rc != OK) {
        return rc;
    }
    rc = dir_file_write(&file, text, strlen(text));
    if (rc == OK) {
        rc = dir_file_publish(&file);
    }
    dir_file_discard(&file);
    return rc;
}

static void assert_text(struct place *p, const char *name, const char *want)
{
    char got[64] = "";
    size_t done = 0;

    assert_int_equal(dir_read(p->root, name, 0, got, sizeof(got) - 1, &done), OK);
    assert_string_equal(got, want);
}

static void list_add(const char *name, uint64_t size, void *user)
{
    store_listing_add(name, size, user);
}

static void assert_list(struct place *p, const char *want)
{
    struct store_listing l = {0};

    assert_int_equal(dir_list(p->root, "", list_add, &l), OK);
    assert_string_equal(l.text, want);
}

static const char *below(struct place *p, const char *name)
{
    static char path[256];

    (void)snprintf(path, sizeof(path), "%s/%s", p->path, name);
    return path;
}

static void make_file(struct place *p, const char *name, const char *text)
{
    FILE *file = fopen(below(p, name), "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Whichever call fails, the object is wholly the old or the new one, nothing else is left, and
 * what was reported as done is. */
static void test_each_failing_system_call_leaves_the_old_object(void **state)
{
    static const struct {
        enum dir_call call;
        int error;
        enum err want;
        uint32_t calls; /* At least, in both objects together. */
    } faults[] = {
        {DIR_CALL_WRITE, ENOSPC, ERR_FULL, 2}, {DIR_CALL_WRITE, EDQUOT, ERR_FULL, 2},
        {DIR_CALL_WRITE, EIO, ERR_IO, 2},      {DIR_CALL_WRITE, 0, ERR_IO, 2},
        {DIR_CALL_FSYNC, EIO, ERR_IO, 8},      {DIR_CALL_FSYNC, ENOSPC, ERR_FULL, 8},
        {DIR_CALL_RENAME, EIO, ERR_IO, 2},     {DIR_CALL_RENAME, ENOENT, ERR_IO, 2},
        {DIR_CALL_OPEN, EMFILE, ERR_IO, 12},   {DIR_CALL_OPEN, ENOMEM, ERR_NOMEM, 12},
        {DIR_CALL_MKDIR, ENOSPC, ERR_FULL, 2}, {DIR_CALL_MKDIR, EACCES, ERR_DENIED, 2},
    };
    struct place *p = *state;

    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        uint32_t met = 0;
        bool done = false;

        for (uint64_t k = 1; !done; k++) {
            char fresh[32];
            char got[8] = "";
            size_t size = 0;
            enum err rc;

            /* A folder that is not there yet, and one that is. */
            (void)snprintf(fresh, sizeof(fresh), "f%zu/k%u/b", i, (unsigned)k);
            assert_int_equal(put(p, "x/y/a", "old"), OK);
            dir_fail_at(faults[i].call, k, faults[i].error);
            rc = put(p, "x/y/a", "new");
            if (rc == OK) {
                rc = put(p, fresh, "new");
            }
            done = !dir_fail_end(faults[i].call);
            assert_int_equal(rc, done ? OK : faults[i].want);
            met += !done;
            assert_int_equal(dir_read(p->root, "x/y/a", 0, got, 7, &size), OK);
            assert_true(strcmp(got, "old") == 0 || strcmp(got, "new") == 0);
            if (k == 1 && faults[i].call != DIR_CALL_MKDIR) {
                assert_string_equal(got, "old");
            }
            if (dir_read(p->root, fresh, 0, got, 7, &size) == OK) {
                assert_string_equal(got, "new");
                assert_int_equal(dir_remove(p->root, fresh), OK);
            }
            assert_int_equal(dir_testing_files(p->path), 1);
        }
        assert_true(met >= faults[i].calls);
    }
}

static void test_a_failed_flush_of_the_file_leaves_the_old_object(void **state)
{
    struct place *p = *state;

    assert_int_equal(put(p, "a", "old"), OK);
    dir_fail_at(DIR_CALL_FSYNC, 1, EIO);
    assert_int_equal(put(p, "a", "new"), ERR_IO);
    assert_text(p, "a", "old");
    /* Of the folder: too late, but reported. */
    dir_fail_at(DIR_CALL_FSYNC, 2, EIO);
    assert_int_equal(put(p, "a", "new"), ERR_IO);
    assert_text(p, "a", "new");
    /* A file system that cannot flush folders. */
    dir_fail_at(DIR_CALL_FSYNC, 2, EINVAL);
    assert_int_equal(put(p, "a", "newer"), OK);
    assert_true(dir_fail_end(DIR_CALL_FSYNC));
    assert_text(p, "a", "newer");
}

static void test_short_and_interrupted_writes_go_on(void **state)
{
    struct place *p = *state;

    for (size_t n = 1; n < 6; n++) {
        dir_calls.write_bytes_max = n;
        dir_fail_at(DIR_CALL_WRITE, 2, EINTR);
        assert_int_equal(put(p, "a", "0123456789"), OK);
        assert_true(dir_fail_end(DIR_CALL_WRITE));
        assert_text(p, "a", "0123456789");
    }
    dir_fail_at(DIR_CALL_WRITE, 3, ENOSPC);
    assert_int_equal(put(p, "a", "abcdefghijklmnopqrstuvwxyz"), ERR_FULL);
    dir_calls.write_bytes_max = 0;
    assert_text(p, "a", "0123456789");
    assert_int_equal(dir_testing_files(p->path), 1);
}

/* Not simulated: the kernel itself takes a part of the bytes and then no more. */
static void test_the_limit_of_the_kernel_for_files_is_a_full_disk(void **state)
{
    struct place *p = *state;
    static char large[10000];
    struct rlimit before, limit;
    enum err rc;

    memset(large, 'x', sizeof(large) - 1);
    assert_int_equal(put(p, "a", "old"), OK);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 5000;
    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    rc = put(p, "a", large);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_true(signal(SIGXFSZ, SIG_DFL) != SIG_ERR);
    assert_int_equal(rc, ERR_FULL);
    assert_text(p, "a", "old");
    assert_int_equal(dir_testing_files(p->path), 1);
}

static void test_failing_reads_are_told_apart(void **state)
{
    static const struct {
        int error;
        enum err want;
    } faults[] = {{EIO, ERR_CORRUPT},   {EBADMSG, ERR_CORRUPT}, {EUCLEAN, ERR_CORRUPT},
                  {EACCES, ERR_DENIED}, {ENOMEM, ERR_NOMEM},    {EINTR, OK},
                  {EOVERFLOW, ERR_IO},  {ESTALE, ERR_IO}};
    struct place *p = *state;
    uint64_t whole;
    char got[8];
    size_t done;

    assert_int_equal(put(p, "f/a", "abc"), OK);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        done = 9;
        dir_fail_at(DIR_CALL_PREAD, 1, faults[i].error);
        assert_int_equal(dir_read(p->root, "f/a", 0, got, 3, &done), faults[i].want);
        assert_true(dir_fail_end(DIR_CALL_PREAD));
        assert_int_equal(done, faults[i].want == OK ? 3 : 9);
    }
    for (uint64_t k = 1; k <= 3; k++) {
        dir_fail_at(DIR_CALL_OPEN, k, EMFILE);
        assert_int_equal(dir_read(p->root, "f/a", 0, got, 3, &done), ERR_IO);
        dir_fail_at(DIR_CALL_OPEN, k, EACCES);
        assert_int_equal(dir_size(p->root, "f/a", &whole), ERR_DENIED);
    }
    dir_fail_at(DIR_CALL_FSTAT, 1, EIO);
    assert_int_equal(dir_size(p->root, "f/a", &whole), ERR_IO);
}

static void test_failing_removals_are_reported(void **state)
{
    struct place *p = *state;

    assert_int_equal(put(p, "f/a", "abc"), OK);
    dir_fail_at(DIR_CALL_UNLINK, 1, EROFS);
    assert_int_equal(dir_remove(p->root, "f/a"), ERR_DENIED);
    dir_fail_at(DIR_CALL_OPEN, 2, EMFILE);
    assert_int_equal(dir_remove(p->root, "f/a"), ERR_IO);
    assert_text(p, "f/a", "abc");
    dir_fail_at(DIR_CALL_FSYNC, 1, EIO);
    assert_int_equal(dir_remove(p->root, "f/a"), ERR_IO);
    assert_int_equal(dir_remove(p->root, "f/a"), ERR_NOT_FOUND);
    assert_int_equal(dir_remove(p->root, "f"), ERR_NOT_FOUND);
    assert_list(p, "");
}

static void test_failing_lists_call_nobody(void **state)
{
    struct place *p = *state;
    struct store_listing l = {0};
    bool done = false;

    assert_int_equal(put(p, "f/g/a", "abc"), OK);
    assert_int_equal(put(p, "b", "abc"), OK);
    for (uint64_t k = 1; !done; k++) {
        dir_fail_at(DIR_CALL_OPEN, k, EMFILE);
        done = dir_list(p->root, "", list_add, &l) == OK;
        assert_int_equal(dir_fail_end(DIR_CALL_OPEN), !done);
        assert_int_equal(l.size > 0, done);
    }
    l.size = 0;
    mem_fail_at(1, 1);
    assert_int_equal(dir_list(p->root, "", list_add, &l), ERR_NOMEM);
    mem_fail_at(0, 0);
    assert_int_equal(l.size, 0);
}

static void test_leftovers_of_the_dead_are_removed_and_of_the_living_are_not(void **state)
{
    struct place *p = *state;
    struct dir_file living;

    assert_int_equal(put(p, "x/a", "object"), OK);
    make_file(p, ".strait-tmp-1-2-3", "dead");
    make_file(p, "x/.strait-tmp-4-5-6", "dead");
    make_file(p, "x/.other", "of a stranger");
    assert_int_equal(dir_file_open(p->root, "x/b", 7, &living), OK);
    assert_int_equal(dir_file_write(&living, "living", 6), OK);
    assert_list(p, "x/a:6");
    assert_int_equal(dir_testing_files(p->path), 5);
    dir_sweep(p->root);
    assert_int_equal(dir_testing_files(p->path), 3);
    assert_int_equal(dir_file_publish(&living), OK);
    dir_sweep(p->root);
    assert_list(p, "x/a:6 x/b:6");
    assert_int_equal(dir_testing_files(p->path), 3);
}

/* A sweep of another process comes between the making of a file and its lock. */
static void test_a_file_that_was_swept_at_once_is_made_again(void **state)
{
    struct place *p = *state;
    struct dir_file file;

    dir_fail_at(DIR_CALL_FLOCK, 1, EWOULDBLOCK);
    assert_int_equal(dir_file_open(p->root, "a", 0, &file), OK);
    assert_true(dir_fail_end(DIR_CALL_FLOCK));
    assert_int_equal(dir_file_write(&file, "abc", 3), OK);
    assert_int_equal(dir_file_publish(&file), OK);
    assert_text(p, "a", "abc");
    dir_sweep(p->root);
    assert_int_equal(dir_testing_files(p->path), 1);
    /* Where there are no locks it goes on without. */
    dir_fail_at(DIR_CALL_FLOCK, 1, ENOLCK);
    assert_int_equal(put(p, "a", "def"), OK);
    assert_text(p, "a", "def");
}

static void test_two_files_of_one_serial_do_not_meet(void **state)
{
    struct place *p = *state;
    struct dir_file one, two;

    assert_int_equal(dir_file_open(p->root, "a", 9, &one), OK);
    assert_int_equal(dir_file_open(p->root, "b", 9, &two), OK);
    assert_int_equal(dir_file_write(&one, "1", 1), OK);
    assert_int_equal(dir_file_write(&two, "2", 1), OK);
    assert_int_equal(dir_file_publish(&two), OK);
    assert_int_equal(dir_file_publish(&one), OK);
    assert_text(p, "a", "1");
    assert_text(p, "b", "2");
}

static void test_links_are_not_followed(void **state)
{
    struct place *p = *state;
    char got[8];
    uint64_t size;
    size_t done;

    assert_int_equal(put(p, "f/a", "inside"), OK);
    assert_int_equal(symlink("f/a", below(p, "link")), 0);
    assert_int_equal(symlink("f", below(p, "folder")), 0);
    assert_int_equal(symlink("/etc", below(p, "etc")), 0);
    assert_int_equal(symlink("nowhere", below(p, "dangling")), 0);
    assert_int_equal(dir_read(p->root, "link", 0, got, 7, &done), ERR_NOT_FOUND);
    assert_int_equal(dir_size(p->root, "folder/a", &size), ERR_NOT_FOUND);
    assert_int_equal(dir_read(p->root, "etc/passwd", 0, got, 7, &done), ERR_NOT_FOUND);
    assert_int_equal(put(p, "folder/b", "x"), ERR_IO);
    assert_int_equal(put(p, "dangling/b", "x"), ERR_IO);
    assert_list(p, "f/a:6");
    /* A link in the place of an object is replaced, not followed. */
    assert_int_equal(put(p, "link", "mine"), OK);
    assert_text(p, "link", "mine");
    assert_text(p, "f/a", "inside");
}

static void test_strangers_files_are_not_objects(void **state)
{
    struct place *p = *state;
    char deep[200] = "";
    char got[8];
    uint64_t size;
    size_t done;

    make_file(p, "with space", "x");
    make_file(p, ".hidden", "x");
    make_file(p, "caf\xc3\xa9", "x");
    assert_int_equal(mkfifo(below(p, "pipe"), 0600), 0);
    for (int i = 0; i < 18; i++) { /* Deeper than a name can say. */
        (void)snprintf(deep + strlen(deep), sizeof(deep) - strlen(deep), "%sfolder0", i ? "/" : "");
        assert_int_equal(mkdir(below(p, deep), 0700), 0);
    }
    (void)snprintf(deep + strlen(deep), sizeof(deep) - strlen(deep), "/file");
    make_file(p, deep, "x");
    assert_list(p, "");
    assert_int_equal(dir_read(p->root, "pipe", 0, got, 7, &done), ERR_NOT_FOUND);
    assert_int_equal(dir_size(p->root, "folder0", &size), ERR_NOT_FOUND);
    assert_int_equal(put(p, "a", "x"), OK);
    assert_int_equal(dir_size(p->root, "a/b", &size), ERR_NOT_FOUND);
    assert_int_equal(put(p, "a/b", "x"), ERR_IO);
    assert_int_equal(put(p, "folder0", "x"), ERR_IO);
    assert_list(p, "a:1");
}

/* Thousands of shards are beside each other, and each of them is listed after each checkpoint. */
static void test_a_list_looks_at_nothing_beside_its_folder(void **state)
{
    struct place *p = *state;
    struct store_listing one = {0}, none = {0};
    char name[32];

    for (uint32_t i = 0; i < 20; i++) {
        (void)snprintf(name, sizeof(name), "eu/shard-%04u/%u", i, i);
        assert_int_equal(put(p, name, "abc"), OK);
    }
    dir_fail_at(DIR_CALL_FSTATAT, 2, EIO);
    assert_int_equal(dir_list(p->root, "eu/shard-0003/", list_add, &one), OK);
    assert_string_equal(one.text, "eu/shard-0003/3:3");
    assert_false(dir_fail_end(DIR_CALL_FSTATAT));
    assert_int_equal(dir_list(p->root, "eu/shard-0099/", list_add, &none), OK);
    assert_int_equal(dir_list(p->root, "us/shard-0003/", list_add, &none), OK);
    assert_int_equal(dir_list(p->root, "eu/shard-0003/3/", list_add, &none), OK);
    assert_int_equal(none.size, 0);
    dir_fail_at(DIR_CALL_OPEN, 2, EMFILE);
    assert_int_equal(dir_list(p->root, "eu/shard-0003/", list_add, &none), ERR_IO);
}

static void test_too_many_objects_are_not_listed(void **state)
{
    struct place *p = *state;
    struct store_listing l = {0};
    char name[32];

    if (getenv("STRAIT_VALGRIND") != NULL) {
        skip();
    }
    for (uint32_t i = 0; i <= STORE_OBJECTS_MAX; i++) {
        (void)snprintf(name, sizeof(name), "%06u", i);
        assert_int_equal(mknod(below(p, name), S_IFREG | 0600, 0), 0);
    }
    assert_int_equal(dir_list(p->root, "", list_add, &l), ERR_TOO_BIG);
    assert_int_equal(l.size, 0);
    assert_int_equal(dir_list(p->root, "06553", list_add, &l), OK);
    assert_string_equal(l.text, "065530:0 065531:0 065532:0 065533:0 065534:0 065535:0 065536:0");
}

static void test_a_folder_that_cannot_be_used_is_explained(void **state)
{
    struct place *p = *state;
    struct err_text text;
    char want[512];
    int root = -1;

    make_file(p, "file", "x");
    assert_int_equal(dir_open(below(p, "file"), true, &root, &text), ERR_IO);
    (void)snprintf(want, sizeof(want),
                   "%s/file is a file where a folder is needed: name another folder", p->path);
    assert_string_equal(text.text, want);
    assert_int_equal(dir_open(below(p, "none"), false, &root, &text), ERR_NOT_FOUND);
    (void)snprintf(want, sizeof(want),
                   "there is no folder %s/none: make it, or name another folder", p->path);
    assert_string_equal(text.text, want);
    assert_int_equal(dir_open(below(p, "none/sub"), true, &root, &text), ERR_NOT_FOUND);
    (void)snprintf(want, sizeof(want),
                   "cannot make the folder %s/none/sub: No such file or directory: make its parent "
                   "first",
                   p->path);
    assert_string_equal(text.text, want);
    dir_fail_at(DIR_CALL_ACCESS, 1, EACCES);
    assert_int_equal(dir_open(p->path, true, &root, &text), ERR_DENIED);
    (void)snprintf(want, sizeof(want),
                   "cannot write to the folder %s: Permission denied: change its owner or its "
                   "permissions, or name another folder",
                   p->path);
    assert_string_equal(text.text, want);
    dir_fail_at(DIR_CALL_FSYNC, 1, EIO);
    assert_int_equal(dir_open(p->path, true, &root, &text), ERR_IO);
    (void)snprintf(want, sizeof(want),
                   "cannot flush the parent of the folder %s: Input/output error", p->path);
    assert_string_equal(text.text, want);
    assert_int_equal(root, -1);
}

#define PLACE(test) cmocka_unit_test_setup_teardown((test), place_setup, place_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE(test_each_failing_system_call_leaves_the_old_object),
        PLACE(test_a_failed_flush_of_the_file_leaves_the_old_object),
        PLACE(test_short_and_interrupted_writes_go_on),
        PLACE(test_the_limit_of_the_kernel_for_files_is_a_full_disk),
        PLACE(test_failing_reads_are_told_apart),
        PLACE(test_failing_removals_are_reported),
        PLACE(test_failing_lists_call_nobody),
        PLACE(test_leftovers_of_the_dead_are_removed_and_of_the_living_are_not),
        PLACE(test_a_file_that_was_swept_at_once_is_made_again),
        PLACE(test_two_files_of_one_serial_do_not_meet),
        PLACE(test_links_are_not_followed),
        PLACE(test_strangers_files_are_not_objects),
        PLACE(test_a_list_looks_at_nothing_beside_its_folder),
        PLACE(test_too_many_objects_are_not_listed),
        PLACE(test_a_folder_that_cannot_be_used_is_explained),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
