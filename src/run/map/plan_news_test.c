/* What is said of plans, by what lanes say. */

#include "run/map/plan_news.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static bool news(const char *text, uint32_t *epoch, char *out)
{
    json_t *between = json_loads(text, 0, NULL);
    bool said;

    assert_non_null(between);
    said = run_plan_news(between, epoch, out, RUN_PLAN_NEWS_BYTES);
    json_decref(between);
    return said;
}

#define BETWEEN(rest) "{\"central\":{\"centre\":\"oregon\",\"begun\":true," rest "}}"

static void test_each_plan_is_news_once(void **state)
{
    char out[RUN_PLAN_NEWS_BYTES];
    uint32_t epoch = 0;

    (void)state;
    assert_false(news("{\"sites\":[]}", &epoch, out));
    assert_false(news("{\"central\":{\"epoch\":0,\"begun\":false}}", &epoch, out));
    assert_false(news("{\"central\":{\"epoch\":3,\"centre\":\"a\",\"begun\":false}}", &epoch, out));
    assert_true(news(BETWEEN("\"epoch\":3,\"why\":\"first\",\"about\":[]"), &epoch, out));
    assert_string_equal(out, "plan 3: centre oregon");
    assert_int_equal(epoch, 3);
    assert_false(news(BETWEEN("\"epoch\":3"), &epoch, out));
    assert_false(news(BETWEEN("\"epoch\":2"), &epoch, out));
    assert_false(news(BETWEEN("\"epoch\":4294967296"), &epoch, out));
}

static void test_it_is_said_why(void **state)
{
    static const struct {
        const char *said;
        const char *words;
    } cases[] = {
        {"\"why\":\"lost\",\"about\":[\"a\"]", ", because the centre, a, is away"},
        {"\"why\":\"gone\",\"about\":[\"a\"]", ", because site a is away"},
        {"\"why\":\"back\",\"about\":[\"a\"]", ", because site a is back"},
        {"\"why\":\"broken\",\"about\":[\"a\",\"b\"]", ", because the link a - b is down"},
        {"\"why\":\"changed\",\"about\":[\"a\",\"b\"]", ", because the link a - b has changed"},
        {"\"why\":\"asked\",\"about\":[]", ", because rounds could not go on"},
        {"\"why\":\"fun\",\"about\":[1]", ""},
        {"\"why\":7", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[256], out[RUN_PLAN_NEWS_BYTES], expected[256];
        uint32_t epoch = 8;

        (void)snprintf(text, sizeof(text), BETWEEN("\"epoch\":9,%s"), cases[i].said);
        (void)snprintf(expected, sizeof(expected), "plan 9: centre oregon%s", cases[i].words);
        assert_true(news(text, &epoch, out));
        assert_string_equal(out, expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_plan_is_news_once),
        cmocka_unit_test(test_it_is_said_why),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
