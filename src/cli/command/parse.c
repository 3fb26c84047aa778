#include "cli/command/parse.h"

#include "base/nearest.h"
#include "cli/command/table.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* State of one pass over the arguments. */
struct parse {
    int argc;
    char *const *argv;
    int at; /* The argument being read. */
    struct cli_parsed *parsed;
    struct cli_problem *problem;
};

/* Add @word to the line as a shell would need it. Too long a line is cut. */
static void parse_quote(struct err_text *line, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-+=./:,@%";
    size_t used = strlen(line->text);
    size_t left = sizeof(line->text) - used;

    if (*word != '\0' && word[strspn(word, plain)] == '\0') {
        (void)snprintf(line->text + used, left, " %s", word);
        return;
    }
    (void)snprintf(line->text + used, left, " '");
    for (; *word != '\0'; word++) {
        used = strlen(line->text);
        (void)snprintf(line->text + used, sizeof(line->text) - used, *word == '\'' ? "'\\''" : "%c",
                       *word);
    }
    used = strlen(line->text);
    (void)snprintf(line->text + used, sizeof(line->text) - used, "'");
}

/* Suggest the line that was typed with the word at @index replaced. */
static void parse_next_replaced(struct parse *p, int index, const char *word)
{
    (void)snprintf(p->problem->next.text, sizeof(p->problem->next.text), "strait");
    for (int i = 1; i < p->argc; i++) {
        parse_quote(&p->problem->next, i == index ? word : p->argv[i]);
    }
}

static void parse_next_help(struct parse *p)
{
    const struct cli_command *c = p->parsed->command;

    (void)snprintf(p->problem->next.text, sizeof(p->problem->next.text), "strait%s%s%s",
                   c == NULL ? "" : " ", c == NULL ? "" : c->path, c == NULL ? "" : " --help");
}

/* What a message begins with. */
static const char *parse_where(const struct parse *p)
{
    return p->parsed->command == NULL ? "strait" : p->parsed->command->path;
}

static bool parse_is_heading(const struct cli_command *command)
{
    return command == NULL || command->run == NULL;
}

static enum cli_error_id parse_unknown_command(struct parse *p, const char *word)
{
    const struct cli_command *parent = p->parsed->command;
    const char *group = parent == NULL ? "" : parent->path;
    const char *space = parent == NULL ? "" : " ";
    struct nearest near;

    nearest_init(&near, word);
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        if (cli_command_below(cli_commands[i], parent) && !cli_commands[i]->hidden) {
            nearest_offer(&near, cli_command_word(cli_commands[i]));
        }
    }
    /* "strait issue" for "strait cert issue". */
    for (size_t i = 0; near.best == NULL && parent == NULL && cli_commands[i] != NULL; i++) {
        if (strcmp(cli_command_word(cli_commands[i]), word) == 0) {
            near.best = cli_commands[i]->path;
        }
    }
    if (near.best == NULL) {
        err_text_set(&p->problem->what, OK, "there is no command \"%s%s%s\"", group, space, word);
        parse_next_help(p);
        return CLI_ERROR_UNKNOWN_COMMAND;
    }
    err_text_set(&p->problem->what, OK, "there is no command \"%s%s%s\": did you mean \"%s%s%s\"?",
                 group, space, word, group, space, near.best);
    if (strchr(near.best, ' ') == NULL) {
        parse_next_replaced(p, p->at, near.best);
    } else {
        err_text_set(&p->problem->next, OK, "strait %s --help", near.best);
    }
    return CLI_ERROR_UNKNOWN_COMMAND;
}

/* A word while the command is not complete yet. */
static enum cli_error_id parse_command_word(struct parse *p, const char *word)
{
    const struct cli_command *parent = p->parsed->command;
    const struct cli_command *found;
    char path[CLI_PATH_BYTES];
    int n = snprintf(path, sizeof(path), "%s%s%s", parent == NULL ? "" : parent->path,
                     parent == NULL ? "" : " ", word);

    found = (size_t)n < sizeof(path) && strchr(word, ' ') == NULL ? cli_command_find(path) : NULL;
    if (found == NULL) {
        return parse_unknown_command(p, word);
    }
    p->parsed->command = found;
    return CLI_ERROR_NONE;
}

/* The description of the @index-th positional argument, or NULL if there are not so many. */
static const struct cli_argument *parse_argument_of(const struct cli_command *command, size_t index)
{
    const struct cli_argument *a = command->arguments;

    for (size_t i = 0; a != NULL && a->placeholder != NULL; i++, a++) {
        if (i == index || a->repeats) {
            return a;
        }
    }
    return NULL;
}

static enum cli_error_id parse_argument(struct parse *p, const char *word)
{
    struct cli_parsed *parsed = p->parsed;
    const struct cli_argument *a = parse_argument_of(parsed->command, parsed->arguments_count);
    struct err_text why;

    if (a == NULL || parsed->arguments_count == CLI_ARGUMENTS_MAX) {
        err_text_set(&p->problem->what, OK, "%s: one argument too many: %s", parse_where(p), word);
        parse_next_help(p);
        return CLI_ERROR_EXTRA_ARGUMENT;
    }
    if (value_parse(a->kind, a->words, 0, 0, word, &parsed->arguments[parsed->arguments_count],
                    &why) != OK) {
        err_text_set(&p->problem->what, OK, "%s: %s: \"%s\" %s", parse_where(p), a->placeholder,
                     word, why.text);
        parse_next_help(p);
        return CLI_ERROR_BAD_VALUE;
    }
    parsed->arguments_count++;
    return CLI_ERROR_NONE;
}

/* Note the option; @value is NULL for flags. @shown is how it was typed, for messages. */
static enum cli_error_id parse_set(struct parse *p, const struct cli_option *option,
                                   const char *value, bool on, const char *shown)
{
    struct cli_parsed *parsed = p->parsed;
    struct cli_setting *s = &parsed->settings[parsed->settings_count];
    struct err_text why;

    if (parsed->settings_count == CLI_SETTINGS_MAX) {
        err_text_set(&p->problem->what, OK, "%s: more than %d options", parse_where(p),
                     CLI_SETTINGS_MAX);
        parse_next_help(p);
        return CLI_ERROR_EXTRA_ARGUMENT;
    }
    *s = (struct cli_setting){.option = option, .on = on};
    if (value != NULL && value_parse(option->kind, option->words, option->min, option->max, value,
                                     &s->value, &why) != OK) {
        err_text_set(&p->problem->what, OK, "%s: %s: \"%s\" %s", parse_where(p), shown, value,
                     why.text);
        parse_next_help(p);
        return CLI_ERROR_BAD_VALUE;
    }
    parsed->settings_count++;
    return CLI_ERROR_NONE;
}

static enum cli_error_id parse_no_value(struct parse *p, const struct cli_option *option,
                                        const char *shown)
{
    err_text_set(&p->problem->what, OK, "%s: %s needs a value: %s", parse_where(p), shown,
                 option->placeholder);
    parse_next_help(p);
    return CLI_ERROR_BAD_VALUE;
}

static void parse_offer_options(struct nearest *near, const struct cli_option *options)
{
    for (; options != NULL && options->name != NULL; options++) {
        nearest_offer(near, options->name);
    }
}

static enum cli_error_id parse_unknown_option(struct parse *p, const char *name, size_t size)
{
    const struct cli_command *command = p->parsed->command;
    const char *rest = name[size] == '=' ? name + size : "";
    char word[NEAREST_WORD_BYTES + 1];
    char fixed[ERR_TEXT_BYTES];
    struct nearest near;

    (void)snprintf(word, sizeof(word), "%.*s", (int)(size < sizeof(word) ? size : 0), name);
    nearest_init(&near, word);
    parse_offer_options(&near, command == NULL ? NULL : command->options);
    parse_offer_options(&near, cli_globals);
    if (near.best == NULL) {
        err_text_set(&p->problem->what, OK, "%s: there is no option --%.*s", parse_where(p),
                     (int)size, name);
        parse_next_help(p);
        return CLI_ERROR_UNKNOWN_OPTION;
    }
    err_text_set(&p->problem->what, OK, "%s: there is no option --%.*s: did you mean --%s?",
                 parse_where(p), (int)size, name, near.best);
    (void)snprintf(fixed, sizeof(fixed), "--%s%s", near.best, rest);
    parse_next_replaced(p, p->at, fixed);
    return CLI_ERROR_UNKNOWN_OPTION;
}

/* @word is what follows the two dashes. */
static enum cli_error_id parse_long(struct parse *p, const char *word)
{
    const struct cli_command *command = p->parsed->command;
    size_t size = strcspn(word, "=");
    const char *value = word[size] == '=' ? word + size + 1 : NULL;
    const struct cli_option *option = cli_option_find(command, word, size);
    char shown[NEAREST_WORD_BYTES];
    bool on = true;

    if (option == NULL && strncmp(word, "no-", 3) == 0) {
        option = cli_option_find(command, word + 3, size - 3);
        option = option != NULL && option->placeholder == NULL ? option : NULL;
        on = false;
    }
    if (option == NULL) {
        return parse_unknown_option(p, word, size);
    }
    (void)snprintf(shown, sizeof(shown), "--%s", option->name);
    if (option->placeholder == NULL && value != NULL) {
        err_text_set(&p->problem->what, OK, "%s: %s takes no value", parse_where(p), shown);
        parse_next_help(p);
        return CLI_ERROR_BAD_VALUE;
    }
    if (option->placeholder != NULL && value == NULL) {
        if (p->at + 1 >= p->argc) {
            return parse_no_value(p, option, shown);
        }
        value = p->argv[++p->at];
    }
    return parse_set(p, option, value, on, shown);
}

/* @letters is what follows the dash: flags, and perhaps one option with its value. */
static enum cli_error_id parse_letters(struct parse *p, const char *letters)
{
    for (; *letters != '\0'; letters++) {
        const struct cli_option *o = cli_option_find_letter(p->parsed->command, *letters);
        char shown[3] = {'-', *letters, '\0'};
        const char *value = NULL;
        enum cli_error_id rc;

        if (o == NULL) {
            err_text_set(&p->problem->what, OK, "%s: there is no option -%c", parse_where(p),
                         isprint((unsigned char)*letters) ? *letters : '?');
            parse_next_help(p);
            return CLI_ERROR_UNKNOWN_OPTION;
        }
        if (o->placeholder != NULL) {
            if (letters[1] == '\0' && p->at + 1 >= p->argc) {
                return parse_no_value(p, o, shown);
            }
            value = letters[1] != '\0' ? letters + 1 : p->argv[++p->at];
        }
        rc = parse_set(p, o, value, true, shown);
        if (rc != CLI_ERROR_NONE || value != NULL) {
            return rc;
        }
    }
    return CLI_ERROR_NONE;
}

static bool parse_is_negative(const struct parse *p, const char *word)
{
    return word[0] == '-' && isdigit((unsigned char)word[1]) &&
           !parse_is_heading(p->parsed->command) &&
           cli_option_find_letter(p->parsed->command, word[1]) == NULL;
}

static enum cli_error_id parse_word(struct parse *p, const char *word, bool *options_end)
{
    bool is_option = !*options_end && word[0] == '-' && word[1] != '\0';

    if (is_option && strcmp(word, "--") == 0) {
        *options_end = true;
        return CLI_ERROR_NONE;
    }
    if (is_option && word[1] == '-') {
        return parse_long(p, word + 2);
    }
    if (is_option && !parse_is_negative(p, word)) {
        return parse_letters(p, word + 1);
    }
    return parse_is_heading(p->parsed->command) ? parse_command_word(p, word)
                                                : parse_argument(p, word);
}

static enum cli_error_id parse_missing_command(struct parse *p)
{
    const struct cli_command *heading = p->parsed->command;
    char list[ERR_TEXT_BYTES / 2] = "";
    size_t used = 0;

    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        if (cli_command_below(cli_commands[i], heading) && !cli_commands[i]->hidden) {
            int n = snprintf(list + used, sizeof(list) - used, "%s%s", used > 0 ? ", " : "",
                             cli_command_word(cli_commands[i]));

            used += (size_t)n < sizeof(list) - used ? (size_t)n : 0;
        }
    }
    err_text_set(&p->problem->what, OK, "%s: which one? %s", heading->path, list);
    parse_next_help(p);
    return CLI_ERROR_MISSING_COMMAND;
}

/* After the last word: is something missing? */
static enum cli_error_id parse_end(struct parse *p)
{
    const struct cli_command *c = p->parsed->command;
    const struct cli_argument *a;

    if (c == NULL) {
        return CLI_ERROR_NONE;
    }
    if (c->run == NULL) {
        return parse_missing_command(p);
    }
    a = parse_argument_of(c, p->parsed->arguments_count);
    if (a != NULL && !a->optional && (!a->repeats || p->parsed->arguments_count == 0)) {
        err_text_set(&p->problem->what, OK, "%s: missing argument %s: %s", c->path, a->placeholder,
                     a->help);
        parse_next_help(p);
        return CLI_ERROR_MISSING_ARGUMENT;
    }
    for (const struct cli_option *o = c->options; o != NULL && o->name != NULL; o++) {
        if (o->required && parse_last(p->parsed, o) == NULL) {
            err_text_set(&p->problem->what, OK, "%s: missing option --%s %s: %s", c->path, o->name,
                         o->placeholder, o->help);
            parse_next_help(p);
            return CLI_ERROR_MISSING_ARGUMENT;
        }
    }
    return CLI_ERROR_NONE;
}

/* True if the line asks for help, also where it cannot be understood otherwise. */
static bool parse_wants_help(int argc, char *const *argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return true;
        }
    }
    return false;
}

enum cli_error_id parse_line(int argc, char *const *argv, struct cli_parsed *parsed,
                             struct cli_problem *problem)
{
    struct parse p = {.argc = argc, .argv = argv, .parsed = parsed, .problem = problem};
    enum cli_error_id rc = CLI_ERROR_NONE;
    bool options_end = false;

    *parsed = (struct cli_parsed){0};
    *problem = (struct cli_problem){0};
    for (p.at = 1; p.at < argc && rc == CLI_ERROR_NONE; p.at++) {
        rc = parse_word(&p, argv[p.at], &options_end);
    }
    if (rc == CLI_ERROR_NONE) {
        rc = parse_end(&p);
    }
    parsed->help =
        parse_flag(parsed, "help") || (rc != CLI_ERROR_NONE && parse_wants_help(argc, argv));
    if ((parsed->help || parse_flag(parsed, "version")) && rc != CLI_ERROR_UNKNOWN_COMMAND) {
        rc = CLI_ERROR_NONE;
    }
    return rc;
}

const struct cli_setting *parse_last(const struct cli_parsed *parsed,
                                     const struct cli_option *option)
{
    for (size_t i = parsed->settings_count; i > 0; i--) {
        if (parsed->settings[i - 1].option == option) {
            return &parsed->settings[i - 1];
        }
    }
    return NULL;
}

bool parse_flag(const struct cli_parsed *parsed, const char *name)
{
    const struct cli_option *option = cli_option_find(parsed->command, name, strlen(name));
    const struct cli_setting *setting;

    CHECK(option != NULL && option->placeholder == NULL);
    setting = parse_last(parsed, option);
    return setting != NULL && setting->on;
}
