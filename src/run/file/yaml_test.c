/* YAML as a tree: shapes, places, paths; and the arena that it lives in. */

#include "run/file/yaml.h"

#include "base/mem.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char sample[] = "# \xc3\xa4\n"
                             "a: one\n"
                             "b:\n"
                             "  - x\n"
                             "  - {y: 'two', \xc3\xb6: three, z: [4, 5]}\n"
                             "c: {}\n"
                             "d:\n";

static struct run_yaml *parse(struct run_arena *arena, const char *text)
{
    struct run_yaml *root = NULL;
    struct err_text why = {""};

    if (run_yaml_parse(arena, "y", text, strlen(text), &root, &why) != OK) {
        fail_msg("%s", why.text);
    }
    return root;
}

static int begin(void **state)
{
    struct run_arena *arena = NULL;

    assert_int_equal(run_arena_create(&arena), OK);
    *state = arena;
    return 0;
}

static int end(void **state)
{
    run_arena_destroy(*state);
    return 0;
}

static void expect(const struct run_yaml *root, const char *path, enum run_yaml_kind kind,
                   uint32_t line, uint32_t column)
{
    bool found = false;
    const struct run_yaml *n = run_yaml_find(root, path, &found);

    assert_true(found);
    assert_int_equal(n->kind, kind);
    assert_int_equal(n->place.line, line);
    assert_int_equal(n->place.column, column);
}

static void test_values_have_kinds_and_places(void **state)
{
    struct run_yaml *root = parse(*state, sample);

    expect(root, "", RUN_YAML_MAPPING, 2, 1);
    expect(root, "a", RUN_YAML_TEXT, 2, 4);
    expect(root, "b", RUN_YAML_LIST, 4, 3);
    expect(root, "b[0]", RUN_YAML_TEXT, 4, 5);
    expect(root, "b[1]", RUN_YAML_MAPPING, 5, 5);
    expect(root, "b[1].y", RUN_YAML_TEXT, 5, 9);
    expect(root, "b[1].z", RUN_YAML_LIST, 5, 29);
    expect(root, "b[1].z[1]", RUN_YAML_TEXT, 5, 33);
    expect(root, "c", RUN_YAML_MAPPING, 6, 4);
    expect(root, "d", RUN_YAML_TEXT, 7, 3);
    assert_int_equal(root->count, 4);
    assert_string_equal(run_yaml_find(root, "b[1].y", NULL)->chars, "two");
    assert_false(run_yaml_find(root, "b[1].y", NULL)->plain);
    assert_true(run_yaml_find(root, "a", NULL)->plain);
    assert_string_equal(run_yaml_find(root, "d", NULL)->chars, "");
    assert_int_equal(run_yaml_get(root, "b")->key_place.line, 3);
}

static void test_what_is_missing_leads_to_what_is_there(void **state)
{
    struct run_yaml *root = parse(*state, sample);
    bool found = true;

    assert_ptr_equal(run_yaml_find(root, "b[2].y", &found), run_yaml_get(root, "b"));
    assert_false(found);
    assert_ptr_equal(run_yaml_find(root, "a.b.c", &found), run_yaml_get(root, "a"));
    assert_false(found);
    assert_ptr_equal(run_yaml_find(root, "c[0]", &found), run_yaml_get(root, "c"));
    assert_false(found);
    assert_null(run_yaml_get(root, "e"));
    assert_null(run_yaml_get(run_yaml_get(root, "a"), "x"));
    assert_null(run_yaml_get(NULL, "x"));
}

static void test_texts_stay_on_their_line(void **state)
{
    static const char *const bad[] = {
        "a: \"\\0\"\n",       "a: \"\\t\"\n",       "a: \"\\x85\"\n", "a: \"\\u2028\"\n",
        "a: \"\\ufeff\"\n",   "\"k\\n\": b\n",      "a: |\n  b\n",    "a: \"\\x7f\"\n",
        "a: \"\\u2029 x\"\n", "a: \"x\\x1b[2J\"\n",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct run_yaml *root = NULL;
        struct err_text why = {""};

        assert_int_equal(run_yaml_parse(*state, "y", bad[i], strlen(bad[i]), &root, &why),
                         ERR_MALFORMED);
        assert_non_null(strstr(why.text, "control character or a line break"));
        assert_null(root);
    }
    assert_string_equal(run_yaml_get(parse(*state, "a: b\n   c\n"), "a")->chars, "b c");
}

/* Depth and width at the limit are fine. */
static void test_limits_are_exact(void **state)
{
    char deep[2 * RUN_YAML_DEPTH_MAX + 2];
    struct run_yaml *root = NULL;
    struct err_text why = {""};

    memset(deep, '[', RUN_YAML_DEPTH_MAX + 1);
    memset(deep + RUN_YAML_DEPTH_MAX, ']', RUN_YAML_DEPTH_MAX);
    assert_int_equal(run_yaml_parse(*state, "y", deep, 2 * (size_t)RUN_YAML_DEPTH_MAX, &root, &why),
                     OK);
    memset(deep, '[', RUN_YAML_DEPTH_MAX + 1);
    memset(deep + RUN_YAML_DEPTH_MAX + 1, ']', RUN_YAML_DEPTH_MAX + 1);
    assert_int_equal(
        run_yaml_parse(*state, "y", deep, 2 * (size_t)RUN_YAML_DEPTH_MAX + 2, &root, &why),
        ERR_TOO_BIG);
    assert_string_equal(why.text, "y:1:17: more than 16 levels deep");
}

/* The arena as realloc(), against plain arrays. */
static void test_the_arena_keeps_what_was_written(void **state)
{
    enum { PIECES = 40 };
    struct {
        uint8_t *bytes;
        size_t size;
        uint8_t mark;
    } pieces[PIECES] = {0};
    struct rng rng;

    rng_init(&rng, 9);
    for (uint32_t round = 0; round < 5000; round++) {
        uint64_t i = rng_below(&rng, PIECES);
        size_t size = rng_below(&rng, 200), kept = size < pieces[i].size ? size : pieces[i].size;
        uint8_t *moved = run_arena_realloc(*state, pieces[i].bytes, size);

        assert_true((moved == NULL) == (size == 0));
        for (size_t k = 0; k < kept; k++) {
            assert_int_equal(moved[k], pieces[i].mark);
        }
        pieces[i].bytes = moved;
        pieces[i].size = size;
        pieces[i].mark = (uint8_t)round;
        if (moved != NULL) {
            assert_int_equal((uintptr_t)moved % _Alignof(max_align_t), 0);
            memset(moved, pieces[i].mark, size);
        }
    }
}

static void test_an_arena_may_run_out_of_memory(void **state)
{
    struct run_arena *arena = NULL;
    char *kept = run_arena_strdup(*state, "kept");

    assert_string_equal(kept, "kept");
    mem_fail_at(1, 4);
    assert_int_equal(run_arena_create(&arena), ERR_NOMEM);
    assert_null(run_arena_alloc(*state, 1, 1));
    assert_null(run_arena_strdup(*state, "x"));
    assert_null(run_arena_realloc(*state, kept, 100));
    assert_string_equal(kept, "kept");
    mem_fail_at(0, 0);
    assert_null(run_arena_alloc(*state, SIZE_MAX / 2, 3));
    run_arena_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_values_have_kinds_and_places, begin, end),
        cmocka_unit_test_setup_teardown(test_what_is_missing_leads_to_what_is_there, begin, end),
        cmocka_unit_test_setup_teardown(test_texts_stay_on_their_line, begin, end),
        cmocka_unit_test_setup_teardown(test_limits_are_exact, begin, end),
        cmocka_unit_test_setup_teardown(test_the_arena_keeps_what_was_written, begin, end),
        cmocka_unit_test_setup_teardown(test_an_arena_may_run_out_of_memory, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
