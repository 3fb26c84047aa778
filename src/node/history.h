/* Which training a site's parameters are of. A number is drawn when a training begins and written
 * to every manifest and checkpoint; shards of two histories are never served together (I11). */

#ifndef NODE_HISTORY_H
#define NODE_HISTORY_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { NODE_HISTORY_BYTES = 17 };

/* What a lane does with the checkpoints that it finds. */
enum node_restore_mode {
    NODE_RESTORE_NEWEST, /* Start from the newest complete one, or not at all. */
    NODE_RESTORE_CLOCK,  /* From the newest complete one up to a clock; later ones are given up. */
    NODE_RESTORE_NONE,   /* Discard them. */
};

static inline void node_history_print(uint64_t history, char out[NODE_HISTORY_BYTES])
{
    (void)snprintf(out, NODE_HISTORY_BYTES, "%016" PRIx64, history);
}

/* 0: it is none. */
static inline uint64_t node_history_parse(const char *text)
{
    char again[NODE_HISTORY_BYTES];
    uint64_t history = text == NULL ? 0 : strtoull(text, NULL, 16);

    node_history_print(history, again);
    for (int i = 0; text != NULL && i < NODE_HISTORY_BYTES; i++) {
        if (text[i] != again[i]) {
            return 0;
        }
    }
    return history;
}

#endif
