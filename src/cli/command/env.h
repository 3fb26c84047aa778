/* The environment: the only file that reads it. Flags beat what is found here. */

#ifndef CLI_COMMAND_ENV_H
#define CLI_COMMAND_ENV_H

#include <stdbool.h>

enum env_color { ENV_COLOR_AUTO, ENV_COLOR_ALWAYS, ENV_COLOR_NEVER };

/* Texts are borrowed from the environment. */
struct cli_env {
    const char *log; /* STRAIT_LOG; NULL: not set. */
    enum env_color color;
};

/* What man page and help tell of a variable. */
struct env_variable {
    const char *name;
    const char *help;
};

/* Ends with a NULL name. */
extern const struct env_variable env_variables[];

struct cli_env env_read(void);

/* TMPDIR, or /tmp. Others may write there: see base/private_dir.h. */
const char *env_tmp(void);

#endif
