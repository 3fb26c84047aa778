/* Places in JSON: by path, by key, and never outside of the text. */

#include "topo/locate.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char sample[] = "{\n"
                             "  \"name\": \"a \\\" , ] } b\",\n"
                             "  \"links\": [\n"
                             "    {\"rate\": 1, \"deep\": [[1, 2], {\"x\": [3]}]},\n"
                             "    {\"\xc3\xa4\xc3\xb6\": 5, \"rate\": \"2\"}\n"
                             "  ],\n"
                             "  \"last\": true }\n";

static void expect(const char *path, const char *key, uint32_t line, uint32_t column)
{
    struct topo_place p = topo_locate(sample, strlen(sample), path, key);

    if (p.line != line || p.column != column) {
        fail_msg("%s %s: %u:%u instead of %u:%u", path, key == NULL ? "-" : key, p.line, p.column,
                 line, column);
    }
}

static void test_values_and_keys_are_found(void **state)
{
    (void)state;
    expect("", NULL, 1, 1);
    expect("name", NULL, 2, 11);
    expect("", "name", 2, 3);
    expect("links", NULL, 3, 12);
    expect("links[0]", NULL, 4, 5);
    expect("links[0].rate", NULL, 4, 14);
    expect("links[0].deep[0][1]", NULL, 4, 30);
    expect("links[0].deep[1].x[0]", NULL, 4, 41);
    expect("links[1]", NULL, 5, 5);
    expect("last", NULL, 7, 11);
    expect("", "last", 7, 3);
}

static void test_columns_are_characters(void **state)
{
    (void)state;
    expect("links[1].rate", NULL, 5, 23);
    expect("links[1]", "rate", 5, 15);
}

static void test_what_is_missing_has_the_place_of_what_is_there(void **state)
{
    (void)state;
    expect("nothing", NULL, 1, 1);
    expect("links[2]", NULL, 3, 12);
    expect("links[1].delay", NULL, 5, 5);
    expect("links[1]", "delay", 5, 5);
    expect("last.deeper[3]", NULL, 7, 11);
    expect("links[0].deep[1].y", "z", 4, 34);
}

/* Cut and damaged texts: some place inside, and no byte beyond the end is read (the copy has no
 * room behind it, so that the sanitizer sees one). */
static void test_any_bytes_have_a_place(void **state)
{
    static const char *const paths[] = {"links[1].rate", "links[0].deep[1].x[0]", "last", ""};
    struct rng rng;

    (void)state;
    rng_init(&rng, 5);
    for (size_t cut = 0; cut <= strlen(sample); cut++) {
        for (uint32_t round = 0; round < 40; round++) {
            char *copy = test_malloc(cut + 1);
            struct topo_place place;

            memcpy(copy + 1, sample, cut);
            for (uint32_t k = 0; k < round % 4 && cut > 0; k++) {
                copy[1 + rng_below(&rng, cut)] = "{}[]\",:\\ x"[rng_below(&rng, 10)];
            }
            place = topo_locate(copy + 1, cut, paths[round % 4], round % 3 == 0 ? "rate" : NULL);
            assert_in_range(place.line, 1, 9);
            assert_in_range(place.column, 1, cut + 1);
            test_free(copy);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_and_keys_are_found),
        cmocka_unit_test(test_columns_are_characters),
        cmocka_unit_test(test_what_is_missing_has_the_place_of_what_is_there),
        cmocka_unit_test(test_any_bytes_have_a_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
