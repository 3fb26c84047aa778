/* Help for programs: the same table as JSON. The caller releases what is returned; NULL is out of
 * memory. */

#ifndef CLI_COMMAND_HELP_JSON_H
#define CLI_COMMAND_HELP_JSON_H

#include "cli/command/command.h"
#include "cli/command/error.h"

#include <jansson.h>

/* All commands that are not hidden, and the ids of all errors. */
json_t *help_json_overview(void);

json_t *help_json_command(const struct cli_command *command);
json_t *help_json_error(const struct cli_error *error);

#endif
