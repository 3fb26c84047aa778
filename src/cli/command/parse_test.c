/* The command line against the real table: what is understood, what is refused, what is suggested
 * then. */

#include "cli/command/parse.h"

#include "cli/command/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { WORDS_MAX = 200 };

static struct cli_parsed parsed;
static struct cli_problem problem;

/* Parse a line of words, separated by single spaces. */
static enum cli_error_id parse_words(const char *line)
{
    static char copy[4096];
    char *argv[WORDS_MAX] = {copy};
    int argc = 0;

    assert_true(strlen(line) < sizeof(copy));
    memcpy(copy, line, strlen(line) + 1);
    for (char *at = copy; at != NULL && argc < WORDS_MAX - 1; argc++) {
        argv[argc] = at;
        at = strchr(at, ' ');
        if (at != NULL) {
            *at++ = '\0';
        }
    }
    argv[argc] = NULL;
    return parse_line(argc, argv, &parsed, &problem);
}

static const struct cli_setting *setting_of(const char *name)
{
    return parse_last(&parsed, cli_option_find(parsed.command, name, strlen(name)));
}

static void test_no_words_is_no_command(void **state)
{
    (void)state;
    assert_int_equal(parse_words("strait"), CLI_ERROR_NONE);
    assert_null(parsed.command);
}

static void test_command_path_and_arguments(void **state)
{
    (void)state;
    assert_int_equal(parse_words("strait cert issue ca server/eu/s1"), CLI_ERROR_NONE);
    assert_string_equal(parsed.command->path, "cert issue");
    assert_int_equal(parsed.arguments_count, 2);
    assert_string_equal(parsed.arguments[1].text, "server/eu/s1");
}

static void test_global_options_before_and_after(void **state)
{
    (void)state;
    assert_int_equal(parse_words("strait --json version -q"), CLI_ERROR_NONE);
    assert_true(parse_flag(&parsed, "json"));
    assert_true(parse_flag(&parsed, "quiet"));
    assert_false(parse_flag(&parsed, "no-color"));
}

static void test_every_way_to_write_a_value(void **state)
{
    static const char *const lines[] = {
        "strait cert issue ca a/b/c --out x", "strait cert issue ca a/b/c --out=x",
        "strait cert issue ca a/b/c -o x",    "strait cert issue ca a/b/c -ox",
        "strait cert issue -o x ca a/b/c",    "strait cert issue -qo x ca a/b/c",
        "strait cert issue -qox ca a/b/c",    "strait cert issue -o y -o x ca a/b/c",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        assert_int_equal(parse_words(lines[i]), CLI_ERROR_NONE);
        assert_string_equal(setting_of("out")->value.text, "x");
        assert_int_equal(parsed.arguments_count, 2);
    }
}

static void test_a_flag_can_be_taken_back(void **state)
{
    (void)state;
    assert_int_equal(parse_words("strait version --json --no-json"), CLI_ERROR_NONE);
    assert_false(parse_flag(&parsed, "json"));
    assert_int_equal(parse_words("strait version --no-json --json"), CLI_ERROR_NONE);
    assert_true(parse_flag(&parsed, "json"));
    assert_int_equal(parse_words("strait cert init ca --no-days"), CLI_ERROR_UNKNOWN_OPTION);
}

static void test_two_dashes_end_the_options(void **state)
{
    (void)state;
    assert_int_equal(parse_words("strait cert show -- --odd"), CLI_ERROR_NONE);
    assert_string_equal(parsed.arguments[0].text, "--odd");
    assert_int_equal(parse_words("strait cert show -"), CLI_ERROR_NONE);
    assert_string_equal(parsed.arguments[0].text, "-");
}

static void test_negative_numbers_are_no_options(void **state)
{
    (void)state;
    assert_int_equal(parse_words("strait cert show -5"), CLI_ERROR_NONE);
    assert_string_equal(parsed.arguments[0].text, "-5");
    assert_int_equal(parse_words("strait cert init ca --days -5"), CLI_ERROR_BAD_VALUE);
    assert_non_null(strstr(problem.what.text, "\"-5\" must be from 1 to"));
}

static void test_repeated_options_are_kept(void **state)
{
    size_t count = 0;

    (void)state;
    assert_int_equal(parse_words("strait cert issue ca a/b/c --san x --san y"), CLI_ERROR_NONE);
    for (size_t i = 0; i < parsed.settings_count; i++) {
        count += strcmp(parsed.settings[i].option->name, "san") == 0;
    }
    assert_int_equal(count, 2);
}

static void test_slips_are_corrected(void **state)
{
    static const struct {
        const char *line, *next;
        enum cli_error_id id;
    } slips[] = {
        {"strait vresion", "strait version", CLI_ERROR_UNKNOWN_COMMAND},
        {"strait cret init x", "strait cert init x", CLI_ERROR_UNKNOWN_COMMAND},
        {"strait cert isue ca", "strait cert issue ca", CLI_ERROR_UNKNOWN_COMMAND},
        {"strait comp", "strait compare", CLI_ERROR_UNKNOWN_COMMAND},
        {"strait completon", "strait completion", CLI_ERROR_UNKNOWN_COMMAND},
        {"strait revoke", "strait cert revoke --help", CLI_ERROR_UNKNOWN_COMMAND},
        {"strait version --jsom", "strait version --json", CLI_ERROR_UNKNOWN_OPTION},
        {"strait cert init ca --dyas=3", "strait cert init ca --days=3", CLI_ERROR_UNKNOWN_OPTION},
        {"strait cert show it's --jsom", "strait cert show 'it'\\''s' --json",
         CLI_ERROR_UNKNOWN_OPTION},
        {"strait zzzzzz", "strait", CLI_ERROR_UNKNOWN_COMMAND},
        {"strait version --zzzzzz", "strait version --help", CLI_ERROR_UNKNOWN_OPTION},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(slips) / sizeof(slips[0]); i++) {
        assert_int_equal(parse_words(slips[i].line), slips[i].id);
        assert_string_equal(problem.next.text, slips[i].next);
    }
}

static void test_refusals_say_what_is_wrong(void **state)
{
    static const struct {
        const char *line, *part;
        enum cli_error_id id;
    } refusals[] = {
        {"strait cert", "init, issue", CLI_ERROR_MISSING_COMMAND},
        {"strait cert issue ca", "ROLE/SITE/NAME", CLI_ERROR_MISSING_ARGUMENT},
        {"strait version now", "now", CLI_ERROR_EXTRA_ARGUMENT},
        {"strait version --log", "--log needs a value: FILTER", CLI_ERROR_BAD_VALUE},
        {"strait cert init ca --days", "--days needs a value: N", CLI_ERROR_BAD_VALUE},
        {"strait cert issue ca a/b/c -o", "-o needs a value: OUT", CLI_ERROR_BAD_VALUE},
        {"strait version --json=yes", "--json takes no value", CLI_ERROR_BAD_VALUE},
        {"strait version --log-format=xml", "must be one of text, json", CLI_ERROR_BAD_VALUE},
        {"strait completion tcsh", "must be one of bash, zsh, fish", CLI_ERROR_BAD_VALUE},
        {"strait cert init ca --days=x", "is not a whole number", CLI_ERROR_BAD_VALUE},
        {"strait cert init ca --name=", "is empty", CLI_ERROR_BAD_VALUE},
        {"strait version -z", "there is no option -z", CLI_ERROR_UNKNOWN_OPTION},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        assert_int_equal(parse_words(refusals[i].line), refusals[i].id);
        assert_non_null(strstr(problem.what.text, refusals[i].part));
        assert_true(strncmp(problem.next.text, "strait", 6) == 0);
    }
}

static void test_help_wins_over_what_is_missing(void **state)
{
    static const char *const lines[] = {"strait cert issue --help", "strait cert issue --bogus -h",
                                        "strait --help cert issue", "strait cert issue -qh"};

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        assert_int_equal(parse_words(lines[i]), CLI_ERROR_NONE);
        assert_true(parsed.help);
        assert_string_equal(parsed.command->path, "cert issue");
    }
    assert_int_equal(parse_words("strait crt --help"), CLI_ERROR_UNKNOWN_COMMAND);
    assert_int_equal(parse_words("strait cert show -- -h"), CLI_ERROR_NONE);
    assert_false(parsed.help);
}

static void test_too_many_options_are_refused(void **state)
{
    char line[4096] = "strait version";

    (void)state;
    for (int i = 0; i <= CLI_SETTINGS_MAX; i++) {
        (void)strncat(line, " -q", sizeof(line) - strlen(line) - 1);
    }
    assert_int_equal(parse_words(line), CLI_ERROR_EXTRA_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_words_is_no_command),
        cmocka_unit_test(test_command_path_and_arguments),
        cmocka_unit_test(test_global_options_before_and_after),
        cmocka_unit_test(test_every_way_to_write_a_value),
        cmocka_unit_test(test_a_flag_can_be_taken_back),
        cmocka_unit_test(test_two_dashes_end_the_options),
        cmocka_unit_test(test_negative_numbers_are_no_options),
        cmocka_unit_test(test_repeated_options_are_kept),
        cmocka_unit_test(test_slips_are_corrected),
        cmocka_unit_test(test_refusals_say_what_is_wrong),
        cmocka_unit_test(test_help_wins_over_what_is_missing),
        cmocka_unit_test(test_too_many_options_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
