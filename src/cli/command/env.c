#include "cli/command/env.h"

#include <stdlib.h>
#include <string.h>

const struct env_variable env_variables[] = {
    {"STRAIT_LOG", "what to log, as for --log"},
    {"STRAIT_COLOR", "always, never, or auto: colour on a terminal only (default)"},
    {"NO_COLOR", "if not empty: no colour, unless STRAIT_COLOR says otherwise"},
    {"TERM", "if dumb: no colour, unless STRAIT_COLOR says otherwise"},
    {"STRAIT_RANK", "worker: which worker this is, as --rank"},
    {"STRAIT_WORKERS", "worker: how many there are, as --workers"},
    {"XDG_STATE_HOME", "run: below it records are kept; default: ~/.local/state"},
    {"TMPDIR", "where temporary folders are made, and records without a home; default: /tmp"},
    {NULL, NULL},
};

/* Return the variable, or NULL if it is not set or empty. */
static const char *env_get(const char *name)
{
    const char *value = getenv(name);

    return value == NULL || *value == '\0' ? NULL : value;
}

static enum env_color env_read_color(void)
{
    const char *color = env_get("STRAIT_COLOR");
    const char *term = env_get("TERM");

    if (color != NULL && strcmp(color, "always") == 0) {
        return ENV_COLOR_ALWAYS;
    }
    if (color != NULL && strcmp(color, "never") == 0) {
        return ENV_COLOR_NEVER;
    }
    if (env_get("NO_COLOR") != NULL || (term != NULL && strcmp(term, "dumb") == 0)) {
        return ENV_COLOR_NEVER;
    }
    return ENV_COLOR_AUTO;
}

const char *env_tmp(void)
{
    const char *tmp = env_get("TMPDIR");

    return tmp != NULL && tmp[0] == '/' ? tmp : "/tmp";
}

struct cli_env env_read(void)
{
    return (struct cli_env){.log = env_get("STRAIT_LOG"), .color = env_read_color()};
}
