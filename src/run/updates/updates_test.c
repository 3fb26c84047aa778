/* Recorded updates: files of all kinds, folders, and what is wrong with them. */

#include "run/updates/updates.h"

#include "run/testing.h"
#include "store/npy.h"

#include <stdlib.h>

struct fixture {
    char *dir;
    char paths[4][128];
    const char *list[4];
    struct err_text text;
    struct run_updates *u;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    f->dir = strdup("/tmp/strait-updates-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    run_updates_close(f->u);
    testing_remove(f->dir);
    free(f->dir);
    free(f);
    return 0;
}

static const char *put(struct fixture *f, uint32_t at, const char *name, const void *bytes,
                       size_t size)
{
    FILE *file;

    (void)snprintf(f->paths[at], sizeof(f->paths[at]), "%s/%s", f->dir, name);
    f->list[at] = f->paths[at];
    file = fopen(f->paths[at], "we");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    return f->paths[at];
}

static const char *put_text(struct fixture *f, uint32_t at, const char *name, const char *chars)
{
    return put(f, at, name, chars, strlen(chars));
}

/* (rows, width), of which only @count values are there. */
static const char *put_npy(struct fixture *f, uint32_t at, const char *name, uint64_t rows,
                           uint32_t width, const float *values, size_t count)
{
    uint8_t bytes[NPY_HEADER_BYTES + 256];

    npy_header(rows, width, bytes);
    assert_true(count * 4 <= 256);
    memcpy(bytes + NPY_HEADER_BYTES, values, count * 4);
    return put(f, at, name, bytes, NPY_HEADER_BYTES + count * 4);
}

static const char *put_npy_flat(struct fixture *f, uint32_t at, const char *name, uint32_t width,
                                const float *values)
{
    char bytes[256];
    int n = snprintf(bytes + 10, 118, "{'descr': '<f4', 'fortran_order': False, 'shape': (%u,), }",
                     width);

    memset(bytes + 10 + n, ' ', (size_t)(118 - n));
    memcpy(bytes, "\x93NUMPY\x01\x00\x76\x00", 10);
    memcpy(bytes + 128, values, width * 4);
    return put(f, at, name, bytes, 128 + width * 4);
}

static enum err open_files(struct fixture *f, uint32_t count)
{
    run_updates_close(f->u);
    f->u = NULL;
    f->text.text[0] = '\0';
    return run_updates_open(f->list, count, &f->u, &f->text);
}

static enum err open_folder(struct fixture *f)
{
    f->list[0] = f->dir;
    return open_files(f, 1);
}

/* The next clock is @clock, and part @part begins with @first. */
static void next(struct fixture *f, uint64_t clock, uint32_t part, float first)
{
    uint64_t got = 99;

    if (run_updates_next(f->u, &got, &f->text) != OK) {
        fail_msg("%s", f->text.text);
    }
    assert_int_equal(got, clock);
    if (clock != 0) {
        assert_non_null(run_updates_part(f->u, part)->values);
        assert_true(run_updates_part(f->u, part)->values[0] == first);
    }
}

/* The first error there is, which names the file. */
static void wrong(struct fixture *f, uint32_t count, enum err want, const char *text)
{
    uint64_t clock = 1;
    enum err rc = open_files(f, count);

    while (rc == OK && clock != 0) {
        rc = run_updates_next(f->u, &clock, &f->text);
    }
    assert_int_equal(rc, want);
    if (strstr(f->text.text, text) == NULL || strncmp(f->text.text, f->dir, strlen(f->dir)) != 0) {
        fail_msg("%s (wanted: %s)", f->text.text, text);
    }
}

static const float six[] = {1, 2, 3, 4, 5, 6};

static void test_rows_of_an_array_are_clocks(void **state)
{
    struct fixture *f = *state;

    put_npy(f, 0, "a.npy", 3, 2, six, 6);
    assert_int_equal(open_files(f, 1), OK);
    assert_int_equal(run_updates_parts(f->u), 1);
    assert_int_equal(run_updates_part(f->u, 0)->elements, 2);
    assert_null(run_updates_part(f->u, 0)->values);
    next(f, 1, 0, 1);
    next(f, 2, 0, 3);
    next(f, 3, 0, 5);
    assert_true(run_updates_part(f->u, 0)->values[1] == 6);
    next(f, 0, 0, 0);
    assert_int_equal(run_updates_torn(f->u), 0);
}

static void test_files_follow_each_other(void **state)
{
    struct fixture *f = *state;

    put_npy_flat(f, 0, "a.npy", 2, six);
    put_npy(f, 1, "b.npy", 2, 2, six, 4);
    put_text(f, 2, "c.jsonl", "{\"clock\": 9, \"values\": [7, -8e-1]}\n\n \t[0.5,1]\r\n");
    put_npy_flat(f, 3, "d.npy", 2, six + 4);
    assert_int_equal(open_files(f, 4), OK);
    next(f, 1, 0, 1);
    next(f, 2, 0, 1);
    next(f, 3, 0, 3);
    next(f, 9, 0, 7);
    assert_true(run_updates_part(f->u, 0)->values[1] == -0.8F);
    assert_string_equal(run_updates_part(f->u, 0)->path, f->paths[2]);
    next(f, 10, 0, 0.5F);
    next(f, 11, 0, 5);
    next(f, 0, 0, 0);
}

static void test_a_folder_is_its_files_by_name(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(open_folder(f), ERR_INVALID);
    assert_non_null(strstr(f->text.text, "there is no .npy or .jsonl file in it"));
    put_npy_flat(f, 0, "2.npy", 2, six + 2);
    put_npy_flat(f, 1, "1.npy", 2, six);
    put_text(f, 2, "3.txt", "something else");
    assert_int_equal(open_folder(f), OK);
    next(f, 1, 0, 1);
    next(f, 2, 0, 3);
    next(f, 0, 0, 0);
    f->list[1] = f->paths[0];
    assert_int_equal(open_files(f, 2), ERR_INVALID);
    assert_non_null(strstr(f->text.text, "name one folder and nothing else"));
}

static const char meta[] = "{\"schema\": 1, \"every\": 10, \"updates\": "
                           "[{\"file\": \"b.npy\"}, {\"file\": \"a.jsonl\"}]}";

static void test_what_a_run_recorded_is_read_side_by_side(void **state)
{
    struct fixture *f = *state;

    put_text(f, 0, "updates.json", meta);
    put_text(f, 1, "a.jsonl",
             "{\"clock\":11,\"values\":[0.5]}\n{\"clock\":31,\"values\":[0.25]}\n");
    put_npy(f, 2, "b.npy", 3, 2, six, 6);
    assert_int_equal(open_folder(f), OK);
    assert_int_equal(run_updates_parts(f->u), 2);
    assert_int_equal(run_updates_part(f->u, 0)->elements, 2);
    assert_int_equal(run_updates_part(f->u, 1)->elements, 1);
    next(f, 1, 0, 1);
    assert_null(run_updates_part(f->u, 1)->values);
    next(f, 11, 0, 3);
    assert_true(run_updates_part(f->u, 1)->values[0] == 0.5F);
    next(f, 21, 0, 5);
    assert_null(run_updates_part(f->u, 1)->values);
    next(f, 31, 1, 0.25F);
    assert_null(run_updates_part(f->u, 0)->values);
    next(f, 0, 0, 0);
    /* One of them alone, but it is known how often it was written. */
    f->list[0] = f->paths[2];
    assert_int_equal(open_files(f, 1), OK);
    next(f, 1, 0, 1);
    next(f, 11, 0, 3);
}

static void test_what_a_killed_run_left_is_read_up_to_its_last_whole_clock(void **state)
{
    struct fixture *f = *state;

    put_npy(f, 0, "a.npy", 2, 2, six, 5);
    assert_int_equal(open_files(f, 1), OK);
    next(f, 1, 0, 1);
    next(f, 2, 0, 3);
    next(f, 0, 0, 0);
    put_text(f, 0, "a.jsonl", "[1,2]\n{\"clock\": 2, \"values\": [3, 4");
    assert_int_equal(open_files(f, 1), OK);
    next(f, 1, 0, 1);
    next(f, 0, 0, 0);
    assert_int_equal(run_updates_torn(f->u), 1);
    put_text(f, 0, "a.jsonl", "[1,2]\n[3,4]"); /* No newline, but whole. */
    assert_int_equal(open_files(f, 1), OK);
    next(f, 1, 0, 1);
    next(f, 2, 0, 3);
    next(f, 0, 0, 0);
    assert_int_equal(run_updates_torn(f->u), 0);
}

static void test_what_is_wrong_with_an_array_is_said(void **state)
{
    static const float bad[] = {1, 2, 3, __builtin_nanf(""), -__builtin_inff(), 6};
    struct fixture *f = *state;

    (void)snprintf(f->paths[0], sizeof(f->paths[0]), "%s/none.npy", f->dir);
    f->list[0] = f->paths[0];
    wrong(f, 1, ERR_NOT_FOUND, "none.npy: No such file");
    put_npy(f, 0, "a.npy", 3, 2, six, 5);
    wrong(f, 1, ERR_INVALID, "a.npy: it is cut short");
    put_npy(f, 0, "a.npy", UINT64_MAX, 1 << 30, six, 6);
    wrong(f, 1, ERR_INVALID, "a.npy: its shape cannot be read");
    put_npy(f, 0, "a.npy", UINT64_C(1) << 40, 1 << 30, six, 6);
    wrong(f, 1, ERR_INVALID, "a.npy: it is cut short");
    put_npy(f, 0, "a.npy", 1, 1U << 31, six, 6);
    wrong(f, 1, ERR_TOO_BIG, "a clock has 2147483648 elements");
    put_npy(f, 0, "a.npy", 0, 2, six, 0);
    wrong(f, 1, ERR_INVALID, "it is empty: there is no clock in it");
    put_npy(f, 0, "a.npy", 2, 0, six, 0);
    wrong(f, 1, ERR_INVALID, "it is empty: there is no element in it");
    put_npy(f, 0, "a.npy", 3, 2, bad, 6);
    wrong(f, 1, ERR_INVALID, "element 1 of row 1 is NaN, and must be finite");
    put_npy(f, 0, "a.npy", 1, 1, bad + 4, 1);
    wrong(f, 1, ERR_INVALID, "element 0 of row 0 is infinite");
    put_npy(f, 0, "a.npy", 2, 2, six, 4);
    put_npy(f, 1, "b.npy", 2, 3, six, 6);
    wrong(f, 2, ERR_INVALID, "b.npy: a clock has 3 elements, but the clocks before have 2");
    put(f, 0, "a.npy", "\x93NUMPY", 6);
    wrong(f, 1, ERR_INVALID, "it is cut short");
    put(f, 0, "a.npy", "\x93NUMPY\x01\x00\xff\x00{}", 12);
    wrong(f, 1, ERR_INVALID, "it is cut short");
    put(f, 0, "a.npy", "\x93NUMPY\x01\x00\x08\x00{'shape'", 18);
    wrong(f, 1, ERR_INVALID, "its header cannot be read");
    put(f, 0, "a.npy", "", 0);
    wrong(f, 1, ERR_INVALID, "a.npy: it is empty");
}

static void test_what_is_wrong_with_a_line_is_said_with_its_number(void **state)
{
    static const struct {
        const char *in, *text;
    } rows[] = {
        {"[1]\n[NaN]\n", ":2: value 0 is NaN, and must be a finite number"},
        {"[1, -Infinity]\n", ":1: value 1 is -Infinity"},
        {"[1, 1e39]\n", ":1: value 1 is 1e39"},
        {"[1, null]\n", ":1: value 1 is null"},
        {"[0x10]\n", ":1: value 0 is 0x10"},
        {"[+1]\n", ":1: value 0 is +1"},
        {"[1 2]\n", ":1: expected ',' or ']', found '2'"},
        {"[1,]\n", ":1: expected a number, found ']'"},
        {"[\"1\"]\n", ":1: expected a number, found '\"'"},
        {"[[1]]\n", ":1: expected a number, found '['"},
        {"[1] 2\n", ":1: expected the end of the line, found '2'"},
        {"[1\n", ":1: expected ',' or ']', but the line ends"},
        {"[]\n", ":1: there are no values"},
        {"\n\n{}\n", ":3: expected a key in quotes, found '}'"},
        {"{\"clock\": 1}\n", ":1: there are no values"},
        {"{\"clock\": 0, \"values\": [1]}\n", ":1: clock '0' must be a whole number"},
        {"{\"clock\": 1.5, \"values\": [1]}\n", ":1: clock '1.5' must be"},
        {"{\"clock\": -1, \"values\": [1]}\n", ":1: clock '-1' must be"},
        {"{\"clock\": 99999999999999999999, \"values\": [1]}\n", "must be a whole number"},
        {"[1]\n{\"values\": [1], \"clock\": 1}\n", ":2: clock 1 comes after clock 1"},
        {"{\"clock\": 1, \"clock\": 2, \"values\": [1]}\n", ":1: key 'clock' is not known, or"},
        {"{\"clock\": 1, \"value\": [1]}\n", ":1: key 'value' is not known"},
        {"{\"a long key that ends somewhere\": 1}\n", ":1: key 'a long key that' is not known"},
        {"{\"clock\" 1}\n", ":1: expected ':', found '1'"},
        {"{\"values\": 1}\n", ":1: expected '[', found '1'"},
        {"{\"clock\": 1 \"values\": [1]}\n", ":1: expected ',' or '}', found '\"'"},
        {"[1, 2]\n[1]\n", ":2: 1 values, but the clocks before have 2"},
        {"[1, 2]\n[1, 2, 3]\n", ":2: more than 2 values"},
        {"hello\n", ":1: expected '{' or '[', found 'h'"},
        {"[1, \x01]\n", ":1: expected a number, found '?'"},
        {"[1, 2", ":1: the file ends in the middle of its first clock"},
        {"\n\n", ": there is no clock in it"},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        put_text(f, 0, "a.jsonl", rows[i].in);
        wrong(f, 1, ERR_INVALID, rows[i].text);
        assert_null(strpbrk(f->text.text, "\n\033"));
    }
}

static void test_what_is_wrong_with_a_description_is_said(void **state)
{
    static const struct {
        const char *in, *text;
    } rows[] = {
        {"{", "updates.json:1: "},
        {"[]", "schema must be 1"},
        {"{\"schema\": 2, \"updates\": []}", "schema must be 1"},
        {"{\"schema\": 1, \"updates\": []}", "updates must list 1 to 65536 files"},
        {"{\"schema\": 1, \"every\": 0, \"updates\": [{\"file\": \"a\"}]}", "every must be"},
        {"{\"schema\": 1, \"updates\": [{}]}", "updates[0].file must be the name"},
        {"{\"schema\": 1, \"updates\": [{\"file\": \"../a\"}]}", "updates[0].file must be"},
        {"{\"schema\": 1, \"updates\": [{\"file\": \"a.npy\"}]}", "a.npy: No such file"},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        put_text(f, 0, "updates.json", rows[i].in);
        assert_true(open_folder(f) != OK);
        if (strstr(f->text.text, rows[i].text) == NULL) {
            fail_msg("%s (wanted: %s)", f->text.text, rows[i].text);
        }
    }
}

/* A line of 5000 values: the room grows. */
static void test_long_lines_are_read(void **state)
{
    struct fixture *f = *state;
    char *chars = calloc(1, 60000);
    size_t n = 1;

    chars[0] = '[';
    for (uint32_t i = 0; i < 5000; i++) {
        n += (size_t)snprintf(chars + n, 16, "%s%u", i > 0 ? "," : "", i);
    }
    chars[n++] = ']';
    put(f, 0, "a.jsonl", chars, n);
    free(chars);
    assert_int_equal(open_files(f, 1), OK);
    next(f, 1, 0, 0);
    assert_int_equal(run_updates_part(f->u, 0)->elements, 5000);
    for (uint32_t i = 0; i < 5000; i++) {
        assert_true(run_updates_part(f->u, 0)->values[i] == (float)i);
    }
}

static void test_memory_may_run_out(void **state)
{
    struct fixture *f = *state;
    enum err rc = ERR_NOMEM;
    uint64_t k;

    put_text(f, 0, "updates.json", meta);
    put_text(f, 1, "a.jsonl", "[0.5]\n[0.25]\n");
    put_npy(f, 2, "b.npy", 3, 2, six, 6);
    for (k = 1; rc != OK; k++) {
        mem_fail_at(k, 1);
        rc = open_folder(f);
        mem_fail_at(0, 0);
        assert_true(rc == OK || (rc == ERR_NOMEM && strstr(f->text.text, "no memory") != NULL));
    }
    assert_true(k > 10);
    next(f, 1, 0, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rows_of_an_array_are_clocks, setup, teardown),
        cmocka_unit_test_setup_teardown(test_files_follow_each_other, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_folder_is_its_files_by_name, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_a_run_recorded_is_read_side_by_side, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            test_what_a_killed_run_left_is_read_up_to_its_last_whole_clock, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_wrong_with_an_array_is_said, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_wrong_with_a_line_is_said_with_its_number,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_wrong_with_a_description_is_said, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_long_lines_are_read, setup, teardown),
        cmocka_unit_test_setup_teardown(test_memory_may_run_out, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
