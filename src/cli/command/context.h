/* What a command gets: its options, and where to write.
 *
 * Results go to stdout (cli_out, cli_json), everything else to stderr (cli_note, cli_error). A
 * command checks nothing it prints: main.c looks once, at the end, whether stdout took it all. */

#ifndef CLI_COMMAND_CONTEXT_H
#define CLI_COMMAND_CONTEXT_H

#include "base/err.h"
#include "cli/command/command.h"
#include "cli/command/error.h"
#include "cli/command/parse.h"

struct net_detours;

#include <jansson.h>
#include <stdio.h>

enum {
    CLI_WIDTH_MIN = 60,
    CLI_WIDTH = 80, /* When it is not a terminal. */
    CLI_WIDTH_MAX = 100,
    CLI_JSON_SCHEMA = 1,
};

enum cli_style {
    CLI_PLAIN,
    CLI_HEADING,
    CLI_NAME,
    CLI_FAINT,
    CLI_GOOD,
    CLI_DOUBTFUL,
    CLI_BAD,
};

struct cli_context {
    const struct cli_parsed *parsed;
    FILE *out;
    FILE *err;
    bool color_out;
    bool color_err;
    bool json;
    bool quiet;
    bool progress; /* stderr is a terminal and nobody asked for quiet: animation is welcome. */
    int width;     /* Columns for running text. */
    struct net_detours *detours; /* See cli/member/detour.h; NULL: none. */
    int out_errno;               /* Why stdout could not be written; zero: it could. */
};

/* Options and arguments of the command. Each CHECKs that the table has an option of that name. */

bool cli_flag(const struct cli_context *ctx, const char *name);

/* True if the option was given, rather than left at its default. */
bool cli_given(const struct cli_context *ctx, const char *name);

/* The value or the default as text; NULL if there is neither. */
const char *cli_text(const struct cli_context *ctx, const char *name);

/* Whole numbers, bytes, bits per second, microseconds; zero without value and default. */
int64_t cli_number(const struct cli_context *ctx, const char *name);
double cli_decimal(const struct cli_context *ctx, const char *name);

/* The @index-th value of an option that repeats, or NULL. */
const char *cli_text_at(const struct cli_context *ctx, const char *name, size_t index);

/* The @index-th positional argument as text, or NULL; cli_argument_number() is zero for none. */
const char *cli_argument(const struct cli_context *ctx, size_t index);
int64_t cli_argument_number(const struct cli_context *ctx, size_t index);

/* The escape sequence of a style, or "" where there is no colour. Ends with CLI_PLAIN. */
const char *cli_style(bool color, enum cli_style style);

void cli_out(struct cli_context *ctx, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Let the reader see what was printed so far; for results that come one by one. */
void cli_flush(struct cli_context *ctx);

/* Something a person may want to know; not with --quiet. A newline is added. */
void cli_note(struct cli_context *ctx, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The next command to type, after a result: "  next: strait ...". Not with --quiet or --json. */
void cli_next(struct cli_context *ctx, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Print @object, which gets a "schema" and is released, as a result. NULL is out of memory: an
 * error is printed. Returns the exit status to end with. */
enum cli_exit cli_json(struct cli_context *ctx, json_t *object);

/* Print an error: what, where, why. @next is a command to try, or NULL. Returns the exit status
 * that the catalogue has for @id. */
enum cli_exit cli_error(struct cli_context *ctx, enum cli_error_id id, const char *next,
                        const char *fmt, ...) PRINTF_LIKE(4, 5);

/* Print @text, wrapped to the width: each line starts with @indent spaces, but the first one goes
 * on in column @column. Ends with a newline. */
void cli_wrap(FILE *to, const char *text, int indent, int column, int width);

#endif
