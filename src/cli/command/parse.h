/* The command line, read against the table. Pure: nothing is printed and nothing is run.
 *
 * `--name value`, `--name=value`, `-n value`, `-nvalue`, flags grouped as in `-qv`, `--no-flag` to
 * take a flag back, `--` to end the options. Global options may stand before the command. A value
 * may start with a dash; an argument that does goes behind `--`, except a negative number. */

#ifndef CLI_COMMAND_PARSE_H
#define CLI_COMMAND_PARSE_H

#include "cli/command/command.h"
#include "cli/command/error.h"
#include "cli/command/value.h"

#include <stddef.h>

enum {
    CLI_SETTINGS_MAX = 128,  /* Options given, repeated ones counted. */
    CLI_ARGUMENTS_MAX = 256, /* Positional arguments given. */
};

struct cli_setting {
    const struct cli_option *option;
    bool on; /* Flags: false after --no-flag. */
    struct cli_value value;
};

/* Borrows from the argument vector. */
struct cli_parsed {
    const struct cli_command *command; /* NULL: none was given. */
    bool help;                         /* --help was given. */
    struct cli_setting settings[CLI_SETTINGS_MAX];
    size_t settings_count;
    struct cli_value arguments[CLI_ARGUMENTS_MAX];
    size_t arguments_count;
};

/* What is wrong, and the next command to try. */
struct cli_problem {
    struct err_text what;
    struct err_text next;
};

/* Read argv[1..argc). CLI_ERROR_NONE, or what is wrong with @problem filled in; @parsed then holds
 * what was understood so far. With --help or --version only an unknown command is a problem. */
MUST_USE enum cli_error_id parse_line(int argc, char *const *argv, struct cli_parsed *parsed,
                                      struct cli_problem *problem);

/* Return the last setting of @option, or NULL. */
const struct cli_setting *parse_last(const struct cli_parsed *parsed,
                                     const struct cli_option *option);

/* True if the flag of that name is on. CHECKs that the command has such a flag. */
bool parse_flag(const struct cli_parsed *parsed, const char *name);

#endif
