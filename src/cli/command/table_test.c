/* The table and the catalogue keep their own rules: help, man page and completion rely on them. */

#include "cli/command/table.h"

#include "cli/command/error.h"
#include "cli/command/value.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { SUMMARY_CHARS_MAX = 64 };

/* Lower case at the start, no full stop at the end. */
static void check_phrase(const char *text)
{
    assert_non_null(text);
    assert_true(strlen(text) > 0);
    assert_false(text[strlen(text) - 1] == '.');
    assert_false(isupper((unsigned char)text[0]) && islower((unsigned char)text[1]));
    assert_null(strchr(text, '\n'));
}

static void check_sentences(const char *text)
{
    assert_non_null(text);
    assert_true(strlen(text) > 10);
    assert_true(text[strlen(text) - 1] == '.');
    assert_null(strchr(text, '\n'));
}

static void check_option(const struct cli_command *command, const struct cli_option *o)
{
    struct cli_value value;

    check_phrase(o->help);
    /* Found by its own name: it hides no global option and comes once. */
    assert_ptr_equal(cli_option_find(command, o->name, strlen(o->name)), o);
    if (command != NULL) {
        assert_null(cli_option_find(NULL, o->name, strlen(o->name)));
    }
    if (o->letter != '\0') {
        assert_ptr_equal(cli_option_find_letter(command, o->letter), o);
        assert_true(command == NULL || cli_option_find_letter(NULL, o->letter) == NULL);
    }
    assert_true((o->kind == CLI_WORDS) == (o->words != NULL));
    assert_true(o->placeholder != NULL || (o->fallback == NULL && !o->required));
    if (o->fallback != NULL) {
        assert_int_equal(value_parse(o->kind, o->words, o->min, o->max, o->fallback, &value, NULL),
                         OK);
    }
}

static void test_every_command_is_described(void **state)
{
    (void)state;
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        const struct cli_command *c = cli_commands[i];

        assert_ptr_equal(cli_command_find(c->path), c);
        assert_true(strlen(c->path) < CLI_PATH_BYTES);
        check_phrase(c->summary);
        assert_true(strlen(c->summary) <= SUMMARY_CHARS_MAX);
        for (size_t j = 0; c->paragraphs != NULL && c->paragraphs[j] != NULL; j++) {
            check_sentences(c->paragraphs[j]);
        }
        for (const struct cli_option *o = c->options; o != NULL && o->name != NULL; o++) {
            check_option(c, o);
        }
        for (const struct cli_argument *a = c->arguments; a != NULL && a->placeholder != NULL;
             a++) {
            check_phrase(a->help);
            assert_true(a[1].placeholder == NULL || (!a->optional && !a->repeats));
        }
        for (const struct cli_example *e = c->examples; e != NULL && e->line != NULL; e++) {
            check_phrase(e->what);
            assert_non_null(strstr(e->line, "strait"));
        }
    }
}

static void test_global_options_are_described(void **state)
{
    (void)state;
    for (const struct cli_option *o = cli_globals; o->name != NULL; o++) {
        check_option(NULL, o);
    }
}

static void test_headings_come_before_their_commands(void **state)
{
    (void)state;
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        char parent[CLI_PATH_BYTES];
        char *space;
        bool found = false;

        (void)strcpy(parent, cli_commands[i]->path);
        space = strrchr(parent, ' ');
        if (space == NULL) {
            continue;
        }
        *space = '\0';
        for (size_t j = 0; j < i; j++) {
            found = found || strcmp(cli_commands[j]->path, parent) == 0;
        }
        assert_true(found);
        assert_null(cli_command_find(parent)->run);
    }
}

static void test_the_catalogue_is_in_order_and_complete(void **state)
{
    char name[CLI_ERROR_NAME_BYTES];
    int last = 0;

    (void)state;
    for (const struct cli_error *e = cli_errors; e->id != CLI_ERROR_NONE; e++) {
        assert_true((int)e->id > last);
        last = (int)e->id;
        check_phrase(e->title);
        check_sentences(e->meaning);
        check_sentences(e->remedy);
        assert_true(e->exit != CLI_DONE);
        assert_true((e->id < 100) == (e->exit == CLI_USAGE) || e->id == CLI_ERROR_BAD_IDENTITY);
        assert_ptr_equal(cli_error_parse(cli_error_name(e->id, name)), e);
    }
}

static void test_error_ids_are_read_exactly(void **state)
{
    (void)state;
    assert_non_null(cli_error_parse("strait-0001"));
    assert_null(cli_error_parse("STRAIT-1"));
    assert_null(cli_error_parse("STRAIT-00010"));
    assert_null(cli_error_parse("STRAIT-9999"));
    assert_null(cli_error_parse("STRAIT-"));
    assert_null(cli_error_parse("0001"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_command_is_described),
        cmocka_unit_test(test_global_options_are_described),
        cmocka_unit_test(test_headings_come_before_their_commands),
        cmocka_unit_test(test_the_catalogue_is_in_order_and_complete),
        cmocka_unit_test(test_error_ids_are_read_exactly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
