/* A few lines on a terminal that are drawn over and over. */

#ifndef CLI_OUTPUT_SCREEN_H
#define CLI_OUTPUT_SCREEN_H

#include "cli/command/context.h"

struct screen {
    struct cli_context *ctx; /* On its standard error. */
    int lines;               /* That are there now. */
};

/* Columns of the terminal, less one. */
int screen_width(void);

/* Take away what is there, so that something else can be printed. */
void screen_clear(struct screen *s);

/* Draw @lines, each of which ends in a newline and fits the width, over what is there. */
void screen_draw(struct screen *s, const char *lines);

#endif
