/* Tests of private folders: what somebody else may have put in the way is never used. */

#include "base/private_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char place[64];
static char path[128];

static int setup(void **state)
{
    (void)state;
    (void)snprintf(place, sizeof(place), "/tmp/strait-private-XXXXXX");
    assert_non_null(mkdtemp(place));
    (void)snprintf(path, sizeof(path), "%s/folder", place);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    (void)unlink(path);
    (void)rmdir(path);
    return rmdir(place);
}

static unsigned mode_of(const char *at)
{
    struct stat st;

    assert_int_equal(lstat(at, &st), 0);
    assert_true(S_ISDIR(st.st_mode));
    return st.st_mode & 07777;
}

static void refused(const char *word)
{
    struct err_text text = {""};

    errno = 0;
    assert_int_equal(private_dir_make(path, &text), ERR_REFUSED);
    assert_int_equal(errno, EPERM);
    assert_non_null(strstr(text.text, path));
    if (strstr(text.text, word) == NULL) {
        fail_msg("'%s' does not say '%s'", text.text, word);
    }
}

static void test_a_folder_is_made_once_and_found_again(void **state)
{
    mode_t before = umask(0);

    (void)state;
    assert_int_equal(private_dir_make(path, NULL), OK);
    assert_int_equal(mode_of(path), 0700);
    assert_int_equal(private_dir_make(path, NULL), OK);
    (void)umask(before);
}

static void test_a_link_to_a_folder_is_not_used(void **state)
{
    (void)state;
    assert_int_equal(symlink("/tmp", path), 0);
    refused("link");
}

static void test_a_file_is_not_used(void **state)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    (void)state;
    assert_int_equal(close(fd), 0);
    refused("file");
}

static void test_a_folder_that_is_open_to_others_is_not_used(void **state)
{
    (void)state;
    assert_int_equal(mkdir(path, 0700), 0);
    for (unsigned bit = 1; bit <= 040; bit <<= 1) {
        assert_int_equal(chmod(path, 0700 | bit), 0);
        refused("chmod 700");
    }
}

static void test_a_folder_of_somebody_else_is_not_used(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chown(path, 65534, 65534), 0);
    refused("somebody else");
}

static void test_a_place_where_anybody_may_remove_it_is_not_used(void **state)
{
    (void)state;
    assert_int_equal(chmod(place, 0777), 0);
    refused("chmod +t");
    assert_int_equal(chmod(place, 01777), 0);
    assert_int_equal(private_dir_make(path, NULL), OK);
}

static void test_what_cannot_be_made_says_why(void **state)
{
    struct err_text text = {""};

    (void)state;
    assert_int_equal(private_dir_make("/tmp/strait-no-such-folder/x", &text), ERR_IO);
    assert_non_null(strstr(text.text, "No such file"));
}

static void test_new_folders_have_names_that_nobody_can_guess(void **state)
{
    char a[128], b[128], small[16];

    (void)state;
    assert_int_equal(private_dir_new(place, "run", a, sizeof(a), NULL), OK);
    assert_int_equal(private_dir_new(place, "run", b, sizeof(b), NULL), OK);
    assert_string_not_equal(a, b);
    assert_int_equal(strncmp(a + strlen(place), "/run-", 5), 0);
    assert_int_equal(mode_of(a), 0700);
    assert_int_equal(rmdir(a), 0);
    assert_int_equal(rmdir(b), 0);
    assert_int_equal(private_dir_new(place, "run", small, sizeof(small), NULL), ERR_TOO_BIG);
    assert_int_equal(private_dir_new("/tmp/strait-no-such-folder", "run", a, sizeof(a), NULL),
                     ERR_IO);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_a_folder_is_made_once_and_found_again),
        CASE(test_a_link_to_a_folder_is_not_used),
        CASE(test_a_file_is_not_used),
        CASE(test_a_folder_that_is_open_to_others_is_not_used),
        CASE(test_a_folder_of_somebody_else_is_not_used),
        CASE(test_a_place_where_anybody_may_remove_it_is_not_used),
        CASE(test_what_cannot_be_made_says_why),
        CASE(test_new_folders_have_names_that_nobody_can_guess),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
