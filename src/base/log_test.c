/* Log lines: their shape, the filter, repeats, and what must not get through. */

#include "base/log.h"

#include <errno.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A sink that keeps the last line, and a clock that stands still unless moved. */
struct sink {
    char line[16384];
    size_t size;
    int lines;
    int64_t now_us;
};

static struct sink sink;

/* 2026-11-15T08:01:02.345Z, in microseconds. */
static const int64_t noon_us = INT64_C(1794729662345678);

static int64_t sink_wall(void *user)
{
    errno = 0; /* A clock may spoil errno. */
    return ((struct sink *)user)->now_us;
}

static void sink_write(const char *line, size_t size, void *user)
{
    struct sink *s = user;

    assert_true(size > 0 && size < sizeof(s->line));
    assert_int_equal(line[size - 1], '\n');
    assert_ptr_equal(memchr(line, '\n', size), line + size - 1);
    memcpy(s->line, line, size);
    s->line[size] = '\0';
    s->size = size;
    s->lines++;
}

static void begin(struct log_config config)
{
    struct err_text text = {""};

    memset(&sink, 0, sizeof(sink));
    sink.now_us = noon_us;
    config.wall_us = sink_wall;
    config.write = sink_write;
    config.user = &sink;
    assert_int_equal(log_setup(&config, &text), OK);
    log_set_clock(-1);
}

static int end(void **state)
{
    (void)state;
    log_teardown();
    return 0;
}

static void test_a_line_has_time_level_subsystem_and_text(void **state)
{
    (void)state;
    begin((struct log_config){.filter = "info"});
    LOG_INF("net", "listening on port %d", 7400);
    assert_string_equal(sink.line, "2026-11-15T08:01:02.345Z INFO  net: listening on port 7400\n");
    LOG_ERR("net", "gone");
    assert_string_equal(sink.line, "2026-11-15T08:01:02.345Z ERROR net: gone\n");
}

static void test_a_line_says_who_and_at_which_clock(void **state)
{
    (void)state;
    begin((struct log_config){.filter = "info"});
    log_set_origin("eu", "w1");
    log_set_clock(17);
    LOG_INF("net", "x");
    assert_string_equal(sink.line, "2026-11-15T08:01:02.345Z INFO  net[eu/w1@17]: x\n");
    log_set_clock(-1);
    LOG_INF("net", "x");
    assert_string_equal(sink.line, "2026-11-15T08:01:02.345Z INFO  net[eu/w1]: x\n");
    begin((struct log_config){.filter = "info"});
    log_set_origin("eu", NULL);
    log_set_clock(0);
    LOG_INF("net", "x");
    assert_string_equal(sink.line, "2026-11-15T08:01:02.345Z INFO  net[eu@0]: x\n");
    begin((struct log_config){.filter = "info"});
    log_set_clock(3);
    LOG_INF("net", "x");
    assert_string_equal(sink.line, "2026-11-15T08:01:02.345Z INFO  net[@3]: x\n");
}

static void test_times_before_1970_and_at_the_end_of_a_day(void **state)
{
    (void)state;
    begin((struct log_config){.filter = "info"});
    sink.now_us = -1;
    LOG_INF("a", "x");
    assert_string_equal(sink.line, "1969-12-31T23:59:59.999Z INFO  a: x\n");
    sink.now_us = INT64_C(951868799999999);
    LOG_INF("a", "x");
    assert_string_equal(sink.line, "2000-02-29T23:59:59.999Z INFO  a: x\n");
    sink.now_us = 0;
    LOG_INF("a", "x");
    assert_string_equal(sink.line, "1970-01-01T00:00:00.000Z INFO  a: x\n");
}

static void test_the_filter_decides_per_subsystem(void **state)
{
    (void)state;
    begin((struct log_config){.filter = "info,net=debug, sim=off,wire=TRACE"});
    assert_true(log_enabled("loop", LOG_INFO));
    assert_false(log_enabled("loop", LOG_DEBUG));
    assert_true(log_enabled("net", LOG_DEBUG));
    assert_false(log_enabled("net", LOG_TRACE));
    assert_false(log_enabled("sim", LOG_ERROR));
    assert_true(log_enabled("wire", LOG_TRACE));
    assert_false(log_enabled("network", LOG_DEBUG));
    begin((struct log_config){.filter = "info,net=debug,net=error"});
    assert_false(log_enabled("net", LOG_WARN));
    begin((struct log_config){.filter = NULL});
    assert_true(log_enabled("net", LOG_WARN));
    assert_false(log_enabled("net", LOG_INFO));
    begin((struct log_config){.filter = "off"});
    assert_false(log_enabled("net", LOG_ERROR));
    assert_false(log_enabled("net", LOG_OFF));
    LOG_ERR("net", "unheard");
    assert_int_equal(sink.lines, 0);
}

static void test_a_bad_filter_is_named_and_changes_nothing(void **state)
{
    static const struct {
        const char *filter;
        const char *word;
    } cases[] = {
        {"loud", "'loud' is not a level"},
        {"", "'' is not a level"},
        {"info,net=very", "'very' is not a level"},
        {"info,net=", "'' is not a level"},
        {"net=debug", "'net=debug' is in the wrong place"},
        {"info,debug", "'debug' is in the wrong place"},
        {"info,", "'' is in the wrong place"},
        {"info,=debug", "'=debug' names no subsystem"},
        {"info,a b=debug", "'a b=debug' names no subsystem"},
        {"info,abcdefghijklmnopqrstuvwxyz0123456=debug", "names no subsystem"},
        {"infox", "'infox' is not a level"},
    };

    (void)state;
    begin((struct log_config){.filter = "error"});
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct log_config config = {.filter = cases[i].filter};
        struct err_text text = {""};

        assert_int_equal(log_setup(&config, &text), ERR_INVALID);
        assert_non_null(strstr(text.text, cases[i].word));
        if (strstr(text.text, "subsystem:") == NULL) {
            assert_non_null(strstr(text.text, "off, error, warn, info, debug, trace"));
        }
        assert_int_equal(log_setup(&config, NULL), ERR_INVALID);
    }
    LOG_ERR("net", "still here");
    assert_int_equal(sink.lines, 1);
}

static void test_a_filter_has_a_limited_number_of_rules(void **state)
{
    struct log_config config = {0};
    struct err_text text = {""};
    char filter[1000] = "info";

    (void)state;
    for (int i = 0; i < 33; i++) {
        (void)snprintf(filter + strlen(filter), 20, ",s%d=warn", i);
    }
    config.filter = filter;
    assert_int_equal(log_setup(&config, &text), ERR_INVALID);
    assert_non_null(strstr(text.text, "'s32=warn' is one too many"));
}

static void test_who_writes_may_become_known_later(void **state)
{
    char site[] = "eu", member[65] = "";

    (void)state;
    begin((struct log_config){.filter = "info"});
    LOG_INF("net", "x");
    assert_string_equal(sink.line, "2026-11-15T08:01:02.345Z INFO  net: x\n");
    log_set_origin(NULL, "worker");
    LOG_INF("net", "x");
    assert_string_equal(sink.line, "2026-11-15T08:01:02.345Z INFO  net[worker]: x\n");
    log_set_origin(site, "worker-3");
    memset(site, 'x', sizeof(site) - 1); /* It was copied. */
    LOG_INF("net", "x");
    assert_string_equal(sink.line, "2026-11-15T08:01:02.345Z INFO  net[eu/worker-3]: x\n");
    memset(member, 'n', sizeof(member) - 1);
    log_set_origin(NULL, member);
    LOG_INF("net", "x");
    assert_non_null(strstr(sink.line, member));
    begin((struct log_config){.filter = "info"});
    LOG_INF("net", "x");
    assert_string_equal(sink.line, "2026-11-15T08:01:02.345Z INFO  net: x\n");
}

static void repeat(int count)
{
    for (int i = 0; i < count; i++) {
        LOG_WRN("net", "again %d", i);
    }
}

static void test_repeats_are_limited_per_second_and_counted(void **state)
{
    (void)state;
    begin((struct log_config){.filter = "info", .repeats_per_s = 3});
    repeat(15);
    assert_int_equal(sink.lines, 3);
    assert_non_null(strstr(sink.line, "again 2\n"));
    LOG_WRN("net", "another place");
    assert_int_equal(sink.lines, 4);
    sink.now_us += 1000000;
    repeat(2);
    assert_int_equal(sink.lines, 6);
    assert_non_null(strstr(sink.line, "again 1\n"));
    repeat(2);
    sink.now_us += 1000000;
    repeat(1);
    assert_non_null(strstr(sink.line, "again 0 (1 similar line suppressed)\n"));
    repeat(14);
    sink.now_us += 60000000;
    repeat(1);
    assert_non_null(strstr(sink.line, "again 0 (12 similar lines suppressed)\n"));
}

static void test_without_a_limit_every_repeat_is_written(void **state)
{
    (void)state;
    begin((struct log_config){.filter = "info", .repeats_per_s = 0});
    repeat(1000);
    assert_int_equal(sink.lines, 1000);
}

static void test_a_message_cannot_forge_a_line(void **state)
{
    (void)state;
    begin((struct log_config){.filter = "info"});
    log_set_origin("e\nu", NULL);
    LOG_INF("net", "%s", "name\n2026-11-15T08:01:02.345Z ERROR fake: \033[2J\r");
    assert_string_equal(sink.line, "2026-11-15T08:01:02.345Z INFO  net[e\\nu]: "
                                   "name\\n2026-11-15T08:01:02.345Z ERROR fake: \\x1b[2J\\x0d\n");
}

static void test_a_long_message_ends_in_an_ellipsis(void **state)
{
    char message[3000];

    (void)state;
    begin((struct log_config){.filter = "info"});
    for (size_t shift = 0; shift < 3; shift++) {
        memset(message, 'a', shift);
        for (size_t i = shift; i + 3 < sizeof(message); i += 3) {
            memcpy(message + i, "\xe2\x82\xac", 4);
        }
        LOG_INF("net", "%s", message);
        assert_true(sink.size > 1000 && sink.size < 1100);
        assert_string_equal(sink.line + sink.size - 7, "\xe2\x82\xac\xe2\x80\xa6\n");
        assert_null(strstr(sink.line, "\\x"));
    }
}

static void test_colour_comes_only_if_asked_for(void **state)
{
    (void)state;
    begin((struct log_config){.filter = "info", .color = true});
    LOG_ERR("net", "x");
    assert_string_equal(sink.line, "2026-11-15T08:01:02.345Z \033[31mERROR\033[0m net: x\n");
    begin((struct log_config){.filter = "info", .color = true, .format = LOG_JSON});
    LOG_ERR("net", "x");
    assert_null(strchr(sink.line, '\033'));
}

/* Read the line back with a JSON library that is not ours. */
static json_t *read_back(void)
{
    json_error_t error;
    json_t *json = json_loads(sink.line, JSON_REJECT_DUPLICATES, &error);

    assert_non_null(json);
    return json;
}

static void test_json_lines_have_the_fields_in_order(void **state)
{
    (void)state;
    begin((struct log_config){.filter = "info", .format = LOG_JSON});
    log_set_origin("eu", "w1");
    log_set_clock(17);
    LOG_INF("net", "say \"hi\"");
    assert_string_equal(sink.line,
                        "{\"time\":\"2026-11-15T08:01:02.345Z\",\"level\":\"info\",\"subsystem\":"
                        "\"net\",\"site\":\"eu\",\"member\":\"w1\",\"clock\":17,"
                        "\"message\":\"say \\\"hi\\\"\"}\n");
    begin((struct log_config){.filter = "info", .format = LOG_JSON});
    LOG_WRN("net", "x");
    assert_string_equal(sink.line, "{\"time\":\"2026-11-15T08:01:02.345Z\",\"level\":\"warn\","
                                   "\"subsystem\":\"net\",\"message\":\"x\"}\n");
}

static void test_json_is_valid_whatever_the_message_is(void **state)
{
    (void)state;
    begin((struct log_config){.filter = "info", .format = LOG_JSON});
    log_set_origin("\x01\xff\"", "\\");
    for (int byte = 1; byte < 256; byte++) {
        char message[2000];
        json_t *json;

        memset(message, byte, sizeof(message) - 1);
        message[sizeof(message) - 1] = '\0';
        LOG_INF("net", "%s", message);
        json = read_back();
        assert_int_equal(json_object_size(json), 6);
        assert_true(json_string_length(json_object_get(json, "message")) > 500);
        json_decref(json);
    }
}

/* Names of nothing but control characters are six times as long once escaped. */
static void test_the_longest_line_fits(void **state)
{
    char name[65] = "", message[2000];
    json_t *json;

    (void)state;
    memset(name, 1, 64);
    memset(message, 1, sizeof(message) - 1);
    message[sizeof(message) - 1] = '\0';
    for (int format = LOG_TEXT; format <= LOG_JSON; format++) {
        begin((struct log_config){
            .filter = "info", .format = (enum log_format)format, .repeats_per_s = 1});
        log_set_origin(name, name);
        log_set_clock(INT64_MAX);
        for (int i = 0; i < 3; i++) {
            sink.now_us += i == 2 ? INT64_C(200000000000000000) : 0;
            LOG_INF("abcdefghijklmnopqrstuvwxyz01234", "%s", message);
        }
        assert_int_equal(sink.lines, 2);
    }
    json = read_back();
    assert_int_equal(json_integer_value(json_object_get(json, "suppressed")), 1);
    json_decref(json);
}

static void test_logging_leaves_errno_alone(void **state)
{
    (void)state;
    begin((struct log_config){.filter = "info"});
    errno = ENOENT;
    LOG_INF("net", "open: %s", strerror(errno));
    assert_int_equal(errno, ENOENT);
    assert_non_null(strstr(sink.line, "open: No such file or directory\n"));
}

static void test_a_message_that_cannot_be_formatted_is_still_a_line(void **state)
{
    static const wchar_t broken[] = {0x7fffffff, 0};

    (void)state;
    begin((struct log_config){.filter = "info"});
    LOG_INF("net", "%ls", broken);
    assert_int_equal(sink.lines, 1);
}

static void test_nothing_is_written_without_a_sink(void **state)
{
    struct log_config config = {.filter = "trace"};
    struct err_text text = {""};

    (void)state;
    begin((struct log_config){.filter = "info"});
    log_teardown();
    assert_false(log_enabled("net", LOG_ERROR));
    LOG_ERR("net", "unheard");
    assert_int_equal(sink.lines, 0);
    assert_int_equal(log_setup(&config, &text), OK);
    assert_false(log_enabled("net", LOG_ERROR));
    LOG_ERR("net", "unheard");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_a_line_has_time_level_subsystem_and_text, end),
        cmocka_unit_test_teardown(test_a_line_says_who_and_at_which_clock, end),
        cmocka_unit_test_teardown(test_times_before_1970_and_at_the_end_of_a_day, end),
        cmocka_unit_test_teardown(test_the_filter_decides_per_subsystem, end),
        cmocka_unit_test_teardown(test_a_bad_filter_is_named_and_changes_nothing, end),
        cmocka_unit_test_teardown(test_a_filter_has_a_limited_number_of_rules, end),
        cmocka_unit_test_teardown(test_who_writes_may_become_known_later, end),
        cmocka_unit_test_teardown(test_repeats_are_limited_per_second_and_counted, end),
        cmocka_unit_test_teardown(test_without_a_limit_every_repeat_is_written, end),
        cmocka_unit_test_teardown(test_a_message_cannot_forge_a_line, end),
        cmocka_unit_test_teardown(test_a_long_message_ends_in_an_ellipsis, end),
        cmocka_unit_test_teardown(test_colour_comes_only_if_asked_for, end),
        cmocka_unit_test_teardown(test_json_lines_have_the_fields_in_order, end),
        cmocka_unit_test_teardown(test_json_is_valid_whatever_the_message_is, end),
        cmocka_unit_test_teardown(test_the_longest_line_fits, end),
        cmocka_unit_test_teardown(test_logging_leaves_errno_alone, end),
        cmocka_unit_test_teardown(test_a_message_that_cannot_be_formatted_is_still_a_line, end),
        cmocka_unit_test_teardown(test_nothing_is_written_without_a_sink, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
