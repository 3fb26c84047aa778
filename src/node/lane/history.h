/* Which training a site's parameters are of. A number is drawn when a training begins and written
 * to every manifest and checkpoint; shards of two histories are never served together (I11). */

#ifndef NODE_LANE_HISTORY_H
#define NODE_LANE_HISTORY_H

#include "base/err.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { NODE_HISTORY_BYTES = 17 };

/* What a lane does with the checkpoints that it finds. */
enum node_restore_mode {
    NODE_RESTORE_NEWEST, /* Start from the newest complete one, or not at all. */
    NODE_RESTORE_CLOCK,  /* From the newest complete one up to a clock; later ones are given up. */
    NODE_RESTORE_NONE,   /* Discard them. */
};

/* Which training the checkpoints of a lane are of, as read from its store. */
struct node_lane_history {
    bool kept;  /* It starts from what its store has. */
    bool found; /* There was a manifest: the fields below are of it. */
    uint64_t history;
    bool complete;  /* It starts from a checkpoint, */
    uint64_t clock; /* of this clock. */
};

/* The lanes of one server, as they were built. */
struct node_server_history {
    const char *site;
    const struct node_lane_history *lanes;
    uint32_t lanes_count;
    uint32_t first_number; /* Of its first lane, within the site. */
    uint64_t history;      /* Of the site's first server; 0: this is that one. */
    bool begun;            /* That one has parameters already. */
    bool others;           /* There are other sites, ... */
    bool copies;           /* ... or workers that keep copies: what is lost can be brought back. */
    enum node_restore_mode restore;
};

/* Pure: may the server start (I11)? Its history is in @history_out, 0 if one is to be drawn.
 * ERR_CORRUPT: no, and @text says which lane does not belong to the others, and what to do. */
MUST_USE enum err node_history_check(const struct node_server_history *s, uint64_t *history_out,
                                     struct err_text *text);

/* What an operator can do whose lanes do not belong together. */
extern const char node_history_remedy[];

/* What another server of the site says of itself to the first lane. */
struct node_history_claim {
    uint64_t history; /* 0: it does not say. */
    uint32_t lane;    /* The first one that it has. */
    bool begun;       /* It has parameters. */
};

/* Pure: may the first server, which has restarted with @history and has no parameters but what its
 * store had, go on with that server? ERR_CORRUPT as above. */
MUST_USE enum err node_history_meet(const struct node_server_history *s, uint64_t history,
                                    const struct node_history_claim *other, struct err_text *text);

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
