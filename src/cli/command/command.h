/* What a command of `strait` is: plain data. Help, man page and shell completion are written from
 * it, and parse.c reads the command line against it, so a command is described once.
 *
 * To add a command: write one file with a `const struct cli_command cli_command_NAME`, name it in
 * commands.h and in table.c. Arrays end with an element that is all zero. */

#ifndef CLI_COMMAND_COMMAND_H
#define CLI_COMMAND_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

struct cli_context;

enum cli_exit {
    CLI_DONE = 0,
    CLI_FAILED = 1,
    CLI_USAGE = 2,
    CLI_UNREACHABLE = 69,
    CLI_TRY_AGAIN = 75,
    CLI_REFUSED = 77,
    CLI_BAD_CONFIGURATION = 78,
    CLI_INTERRUPTED = 130,
    CLI_TERMINATED = 143,
};

/* What a value is: the parser refuses others, and completion offers some. */
enum cli_kind {
    CLI_TEXT,
    CLI_FILE,     /* A path; "-" is standard input or output where the help says so. */
    CLI_DIR,      /* A folder. */
    CLI_WORDS,    /* One of .words. */
    CLI_COMMAND,  /* Words of a command's path, or an error id. */
    CLI_NUMBER,   /* A whole number from .min to .max. */
    CLI_DECIMAL,  /* A decimal number. */
    CLI_SIZE,     /* Bytes: 4096, 64KiB, 1.5MB. .min and .max in bytes. */
    CLI_RATE,     /* Bits per second: 100M, 2.5Gbit. */
    CLI_DURATION, /* Microseconds: 250ms, 2s, 15m, 1h, 30d; without a unit seconds. */
};

struct cli_option {
    const char *name;        /* Without the dashes. */
    char letter;             /* Zero: none. */
    const char *placeholder; /* NULL: a flag. */
    const char *fallback;    /* The value when not given, as one would type it; NULL: none. */
    const char *help;        /* Lower case, no full stop. */
    enum cli_kind kind;
    const char *words; /* CLI_WORDS: separated by spaces. */
    int64_t min;       /* Numbers: both zero is no limit. */
    int64_t max;
    bool repeats; /* May be given several times, and all count. */
    bool required;
};

/* An option that is a whole number from @min_ to @max_; for the table of a command. */
#define CLI_OPTION_NUMBER(name_, placeholder_, fallback_, help_, min_, max_)                       \
    {                                                                                              \
        .name = (name_), .placeholder = (placeholder_), .fallback = (fallback_), .help = (help_),  \
        .kind = CLI_NUMBER, .min = (min_), .max = (max_)                                           \
    }

/* Positional. Only the last may be optional or repeat. */
struct cli_argument {
    const char *placeholder;
    const char *help;
    enum cli_kind kind;
    const char *words;
    bool optional;
    bool repeats;
};

struct cli_example {
    const char *line; /* What to type. */
    const char *what; /* What it does, lower case, no full stop. */
};

/* Headings of the overview, in this order. */
enum cli_group { CLI_GROUP_RUN, CLI_GROUP_MEASURE, CLI_GROUP_TRUST, CLI_GROUP_HELP };

struct cli_command {
    const char *path;                              /* Words after "strait": "bench net". */
    const char *summary;                           /* One line, imperative, no full stop. */
    enum cli_group group;                          /* Of first words only. */
    bool hidden;                                   /* Works, but is not listed. */
    const char *const *paragraphs;                 /* NULL, or ends with NULL. */
    const struct cli_argument *arguments;          /* NULL: none. */
    const struct cli_option *options;              /* NULL: none but the global ones. */
    const struct cli_example *examples;            /* NULL: none. */
    enum cli_exit (*run)(struct cli_context *ctx); /* NULL: only a heading for subcommands. */
};

#endif
