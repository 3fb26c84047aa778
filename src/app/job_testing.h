/* What the tests of jobs that read data files share: files that are there for a test, and what
 * every such job must refuse.
 *
 * Included by tests only; each is one program, so all functions are static. */

#ifndef APP_JOB_TESTING_H
#define APP_JOB_TESTING_H

#include "app/testing.h"

#include <unistd.h>

/* A file with these characters; the test removes it. */
struct testing_file {
    char path[32];
};

static inline void testing_file_make(struct testing_file *f, const char *chars)
{
    int fd;

    (void)snprintf(f->path, sizeof(f->path), "/tmp/strait-job-XXXXXX");
    fd = mkstemp(f->path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, chars, strlen(chars)), strlen(chars));
    assert_int_equal(close(fd), 0);
}

static inline void testing_file_remove(const struct testing_file *f)
{
    assert_int_equal(unlink(f->path), 0);
}

/* A file with these characters is refused with "PATH" and @why; and so is none. */
static inline void testing_file_refused(const struct app_ops *ops, const char *chars,
                                        const char *why)
{
    struct app_config config = {.job = ops->name, .workers = 2, .seed = 1};
    struct err_text text = {""};
    struct testing_file f;
    char expected[128];
    struct app *app;

    testing_file_make(&f, chars);
    config.data = f.path;
    assert_int_equal(ops->create(&config, &app, &text), ERR_MALFORMED);
    (void)snprintf(expected, sizeof(expected), "%s%s", f.path, why);
    assert_int_equal(strncmp(text.text, expected, strlen(expected)), 0);
    testing_file_remove(&f);
    assert_int_equal(ops->create(&config, &app, &text), ERR_NOT_FOUND);
    assert_non_null(strstr(text.text, f.path));
}

/* An option that is refused, and how the reason begins. */
struct testing_bad_option {
    struct app_option option;
    const char *why;
};

static inline void testing_options_refused(const struct app_ops *ops,
                                           const struct testing_bad_option *bad, size_t count)
{
    struct err_text text = {""};
    struct app *app;

    for (size_t i = 0; i < count; i++) {
        struct app_config config = {.job = ops->name,
                                    .workers = 1,
                                    .seed = 1,
                                    .options = &bad[i].option,
                                    .option_count = 1};

        assert_int_equal(ops->create(&config, &app, &text), ERR_INVALID);
        if (strncmp(text.text, bad[i].why, strlen(bad[i].why)) != 0) {
            fail_msg("%s", text.text);
        }
    }
}

/* No allocation may be missed, whether data are generated as @config says or come from a file with
 * these characters. */
static inline void testing_memory_fails_clean(const struct app_ops *ops,
                                              const struct app_config *config, const char *chars)
{
    struct app_config from_file = {.workers = config->workers, .seed = config->seed};
    struct testing_file f;

    testing_create_fails_clean(ops, config);
    testing_file_make(&f, chars);
    from_file.data = f.path;
    testing_create_fails_clean(ops, &from_file);
    testing_file_remove(&f);
    ops->destroy(NULL);
}

#endif
