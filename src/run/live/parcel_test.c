/* The first line of `strait hold`: what it says, and what is refused. */

#include "run/live/parcel.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_what_is_printed_is_read_again(void **state)
{
    const struct run_parcel p = {
        .kind = RUN_PARCEL_HOLD,
        .dir = "~/runs/a",
        .member = "w0",
        .files = {{.name = "ca.crt", .text = "line\nline\n"},
                  {.name = "w0.key", .text = "\xc3\xa4", .secret = true}},
        .files_count = 2,
        .folders = {"state"},
        .folders_count = 1,
        .argv = {"strait", "worker", "--name", "w 0"},
        .argv_count = 4,
    };
    struct run_parcel *q = NULL;
    struct err_text text = {""};
    char *line = run_parcel_print(&p);

    (void)state;
    assert_non_null(line);
    assert_null(strchr(line, '\n'));
    assert_int_equal(run_parcel_parse(line, strlen(line), &q, &text), OK);
    assert_int_equal(q->kind, RUN_PARCEL_HOLD);
    assert_string_equal(q->dir, "~/runs/a");
    assert_string_equal(q->member, "w0");
    assert_int_equal(q->files_count, 2);
    assert_string_equal(q->files[0].text, "line\nline\n");
    assert_false(q->files[0].secret);
    assert_true(q->files[1].secret);
    assert_string_equal(q->folders[0], "state");
    assert_string_equal(q->argv[3], "w 0");
    assert_null(q->argv[4]);
    run_parcel_free(q);
    run_parcel_free(NULL);
    free(line);
}

static void test_others_are_short(void **state)
{
    static const char ask[] = "{\"do\":\"ask\",\"dir\":\"/d\",\"paths\":[\"/a\",\"b\"]}";
    static const char removes[] = "{\"do\":\"remove\",\"dir\":\"/d/run\"}";
    struct run_parcel *p = NULL;
    struct err_text text = {""};

    (void)state;
    assert_int_equal(run_parcel_parse(ask, strlen(ask), &p, &text), OK);
    assert_int_equal(p->kind, RUN_PARCEL_ASK);
    assert_int_equal(p->paths_count, 2);
    run_parcel_free(p);
    assert_int_equal(run_parcel_parse(removes, strlen(removes), &p, &text), OK);
    assert_int_equal(p->kind, RUN_PARCEL_REMOVE);
    run_parcel_free(p);
}

#define HOLD "{\"do\":\"hold\",\"dir\":\"/d\",\"member\":\"m\""
#define ARGV ",\"argv\":[\"strait\",\"worker\"]}"

static void test_what_could_do_harm_is_refused(void **state)
{
    static const char *const lines[] = {
        "",
        "[]",
        "{}",
        "{\"do\":\"what\",\"dir\":\"/d\"}",
        "{\"do\":7,\"dir\":\"/d\"}",
        "{\"do\":\"ask\"}",
        "{\"do\":\"ask\",\"dir\":\"d\"}",
        "{\"do\":\"ask\",\"dir\":\"/d/../e\"}",
        "{\"do\":\"ask\",\"dir\":\"/d\\n\"}",
        "{\"do\":\"ask\",\"dir\":\"/d\",\"paths\":[1]}",
        "{\"do\":\"ask\",\"dir\":\"/d\",\"paths\":[\"\",\"\",\"\",\"\",\"\"]}",
        "{\"do\":\"hold\",\"dir\":\"/d\"" ARGV,
        "{\"do\":\"hold\",\"dir\":\"/d\",\"member\":\"..\"" ARGV,
        "{\"do\":\"hold\",\"dir\":\"/d\",\"member\":\"a/b\"" ARGV,
        HOLD "}",
        HOLD ",\"argv\":[\"strait\"]}",
        HOLD ",\"argv\":[\"sh\",\"-c\"]}",
        HOLD ",\"argv\":\"strait worker\"}",
        HOLD ",\"argv\":[\"strait\",\"a\\u0000b\"]}",
        HOLD ",\"folders\":[\"../x\"]" ARGV,
        HOLD ",\"folders\":[\"a\",\"b\",\"c\",\"d\",\"e\"]" ARGV,
        HOLD ",\"files\":[]" ARGV,
        HOLD ",\"files\":{\"a/b\":{\"text\":\"\",\"mode\":\"0600\"}}" ARGV,
        HOLD ",\"files\":{\".strait-run\":{\"text\":\"\",\"mode\":\"0600\"}}" ARGV,
        HOLD ",\"files\":{\"a\":{\"text\":\"\",\"mode\":\"4755\"}}" ARGV,
        HOLD ",\"files\":{\"a\":{\"text\":\"\"}}" ARGV,
        HOLD ",\"files\":{\"a\":{\"mode\":\"0600\"}}" ARGV,
        HOLD ",\"files\":{\"a\":7}" ARGV,
    };

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct run_parcel *p = NULL;
        struct err_text text = {""};

        if (run_parcel_parse(lines[i], strlen(lines[i]), &p, &text) != ERR_MALFORMED) {
            fail_msg("%s", lines[i]);
        }
        assert_null(p);
        assert_int_equal(strncmp(text.text, "the first line", 14), 0);
    }
}

static void test_one_that_is_too_long_is_not_read(void **state)
{
    char *line = mem_zalloc(RUN_PARCEL_BYTES_MAX + 1);
    struct run_parcel *p = NULL;
    struct err_text text = {""};

    (void)state;
    assert_non_null(line);
    assert_int_equal(run_parcel_parse(line, RUN_PARCEL_BYTES_MAX + 1, &p, &text), ERR_TOO_BIG);
    mem_free(line);
}

static void test_no_memory_is_told(void **state)
{
    struct run_parcel *p = NULL;
    struct err_text text = {""};

    (void)state;
    mem_fail_at(1, 1);
    assert_int_equal(run_parcel_parse("{}", 2, &p, &text), ERR_NOMEM);
    mem_fail_at(0, 0);
    assert_null(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_printed_is_read_again),
        cmocka_unit_test(test_others_are_short),
        cmocka_unit_test(test_what_could_do_harm_is_refused),
        cmocka_unit_test(test_one_that_is_too_long_is_not_read),
        cmocka_unit_test(test_no_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
