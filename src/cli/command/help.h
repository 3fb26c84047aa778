/* Help for people: the overview, one command, one error. Written from the table. */

#ifndef CLI_COMMAND_HELP_H
#define CLI_COMMAND_HELP_H

#include "cli/command/context.h"

void help_overview(struct cli_context *ctx);
void help_command(struct cli_context *ctx, const struct cli_command *command);
void help_error(struct cli_context *ctx, const struct cli_error *error);

/* Write "-o, --out FILE" to @out. */
void help_option_usage(const struct cli_option *option, char *out, size_t size);

/* Write " [OPTIONS] DIR [FILE...]" to @out: what follows the command in its usage line. */
void help_usage(const struct cli_command *command, char *out, size_t size);

#endif
