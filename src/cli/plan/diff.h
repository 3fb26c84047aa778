/* What the files of `strait plan diff` share. */

#ifndef CLI_PLAN_DIFF_H
#define CLI_PLAN_DIFF_H

#include "cli/command/context.h"
#include "topo/graph.h"

/* A region: as the answer has it, and as text. */
struct plan_diff_id {
    json_t *value; /* Borrowed. */
    char chars[TOPO_GRAPH_ID_BYTES];
};

struct plan_diff_flow {
    struct plan_diff_id from;
    const json_t *path; /* Borrowed from the answer. */
    double mbps;
};

struct plan_diff_link {
    struct plan_diff_id a; /* Before .b. */
    struct plan_diff_id b;
    double used_mbps;
};

/* An answer of `strait plan place --json`. */
struct plan_diff_answer {
    const char *file; /* In messages. */
    json_t *root;
    double time_s;
    double bytes;
    struct plan_diff_flow *flows; /* By .from. */
    size_t flows_count;
    struct plan_diff_link *links; /* By .a and .b. */
    size_t links_count;
};

enum plan_diff_state {
    PLAN_DIFF_SAME,
    PLAN_DIFF_RATE, /* The same path, another rate. */
    PLAN_DIFF_PATH,
    PLAN_DIFF_ADDED,
    PLAN_DIFF_REMOVED,
};

/* One is NULL if there is no such flow, or no such link. */
struct plan_diff_pair {
    const struct plan_diff_flow *before;
    const struct plan_diff_flow *after;
    enum plan_diff_state state;
};

struct plan_diff_use {
    const struct plan_diff_link *before;
    const struct plan_diff_link *after;
    double change_mbps;
};

enum { PLAN_DIFF_NOTES_MAX = 4, PLAN_DIFF_NOTE_BYTES = 512 };

struct plan_diff {
    struct plan_diff_answer before;
    struct plan_diff_answer after;
    struct plan_diff_pair *flows; /* By region. */
    size_t flows_count;
    struct plan_diff_use *links; /* Those of another use, the largest change first. */
    size_t links_count;
    char notes[PLAN_DIFF_NOTES_MAX][PLAN_DIFF_NOTE_BYTES]; /* Why it may mean little. */
    size_t notes_count;
};

/* The server of an answer. */
json_t *plan_diff_server(const struct plan_diff_answer *a);

/* plan/diff_view.c */
json_t *plan_diff_json(const struct plan_diff *d);
void plan_diff_view(struct cli_context *ctx, const struct plan_diff *d);

#endif
