#include "cli/command/help_json.h"

#include "cli/command/table.h"

json_t *help_json_overview(void)
{
    json_t *commands = json_array();
    json_t *errors = json_array();
    char name[CLI_ERROR_NAME_BYTES];

    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        const struct cli_command *c = cli_commands[i];

        if (!c->hidden && c->run != NULL) {
            json_array_append_new(commands,
                                  json_pack("{s:s, s:s}", "path", c->path, "summary", c->summary));
        }
    }
    for (const struct cli_error *e = cli_errors; e->id != CLI_ERROR_NONE; e++) {
        json_array_append_new(
            errors, json_pack("{s:s, s:s}", "id", cli_error_name(e->id, name), "title", e->title));
    }
    return json_pack("{s:o, s:o}", "commands", commands, "errors", errors);
}

static json_t *help_json_options(const struct cli_option *options)
{
    json_t *list = json_array();

    for (const struct cli_option *o = options; o != NULL && o->name != NULL; o++) {
        char letter[2] = {o->letter, '\0'};

        json_array_append_new(list,
                              json_pack("{s:s, s:s?, s:s?, s:s?, s:s}", "name", o->name, "letter",
                                        o->letter != '\0' ? letter : NULL, "value", o->placeholder,
                                        "default", o->fallback, "help", o->help));
    }
    return list;
}

static json_t *help_json_arguments(const struct cli_argument *arguments)
{
    json_t *list = json_array();

    for (const struct cli_argument *a = arguments; a != NULL && a->placeholder != NULL; a++) {
        json_array_append_new(list, json_pack("{s:s, s:s, s:b, s:b}", "name", a->placeholder,
                                              "help", a->help, "optional", (int)a->optional,
                                              "repeats", (int)a->repeats));
    }
    return list;
}

json_t *help_json_command(const struct cli_command *command)
{
    json_t *below = json_array();

    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        if (cli_command_below(cli_commands[i], command) && !cli_commands[i]->hidden) {
            json_array_append_new(below, json_string(cli_commands[i]->path));
        }
    }
    return json_pack("{s:s, s:s, s:o, s:o, s:o}", "path", command->path, "summary",
                     command->summary, "arguments", help_json_arguments(command->arguments),
                     "options", help_json_options(command->options), "commands", below);
}

json_t *help_json_error(const struct cli_error *error)
{
    char name[CLI_ERROR_NAME_BYTES];

    return json_pack("{s:s, s:s, s:s, s:s, s:i}", "id", cli_error_name(error->id, name), "title",
                     error->title, "meaning", error->meaning, "remedy", error->remedy, "exit",
                     (int)error->exit);
}
