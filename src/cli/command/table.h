/* The table of all commands and the options that every command takes. */

#ifndef CLI_COMMAND_TABLE_H
#define CLI_COMMAND_TABLE_H

#include "cli/command/command.h"

#include <stddef.h>

enum { CLI_PATH_BYTES = 64 }; /* "bench net" and its terminator. */

/* Ends with NULL. A heading comes before its subcommands. */
extern const struct cli_command *const cli_commands[];

/* The options of every command, before or after its name. */
extern const struct cli_option cli_globals[];

/* Return the command of exactly that path, or NULL. */
const struct cli_command *cli_command_find(const char *path);

/* True if @command is one word below @parent ("bench net" below "bench"); NULL @parent: a first
 * word. */
bool cli_command_below(const struct cli_command *command, const struct cli_command *parent);

/* Return the last word of the command's path. */
const char *cli_command_word(const struct cli_command *command);

/* Find an option of @command (NULL: none) or a global one by its name of @size bytes; NULL if
 * there is none. */
const struct cli_option *cli_option_find(const struct cli_command *command, const char *name,
                                         size_t size);

/* The same by letter. */
const struct cli_option *cli_option_find_letter(const struct cli_command *command, char letter);

/* The heading of a group in the overview. */
const char *cli_group_title(enum cli_group group);

#endif
