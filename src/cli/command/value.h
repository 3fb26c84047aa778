/* Values as people type them: numbers, sizes, rates and durations with their units. */

#ifndef CLI_COMMAND_VALUE_H
#define CLI_COMMAND_VALUE_H

#include "base/err.h"
#include "cli/command/command.h"

#include <stddef.h>

/* A value after checking: .number for whole numbers, bytes, bits per second and microseconds,
 * .decimal for CLI_DECIMAL. */
struct cli_value {
    const char *text;
    int64_t number;
    double decimal;
};

/* Check @text against @kind, @words and the limits (both zero: none). ERR_INVALID with @why, which
 * follows a colon: "is not a number", "must be one of text, json". */
MUST_USE enum err value_parse(enum cli_kind kind, const char *words, int64_t min, int64_t max,
                              const char *text, struct cli_value *value_out, struct err_text *why);

/* Write a number of that kind as one would type it: "64KiB", "15m". */
void value_format(enum cli_kind kind, int64_t number, char *out, size_t size);

/* Step through words that are separated by spaces: move *@words to the next word and return its
 * size; zero at the end. The caller adds the size before it asks again. */
size_t value_next_word(const char **words);

#endif
