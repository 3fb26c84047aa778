/* A lane's part in rounds around a centre (sync/central.h): its site's sums go to the lane of the
 * same number at the centre, by the way that the plan says, and results come back. Sites between
 * pass on what is not for them. For node/lane*.c and its neighbours only. */

#ifndef NODE_CENTRAL_CENTRAL_H
#define NODE_CENTRAL_CENTRAL_H

#include "node/site/between.h"

struct json_t;
struct node_central;
struct node_remote_sites;
struct node_lane;

/* NULL in *out unless that is how sites share. */
MUST_USE enum err node_central_create(struct node_lane *l, struct node_central **out,
                                      struct err_text *text);
void node_central_destroy(struct node_central *r); /* NULL is allowed. */

/* A checkpoint was loaded (.restored of the lane): others may have newer chunks, which count more.
 */
void node_central_restore(struct node_central *r);

/* The lane listens: look for the others. */
void node_central_start(struct node_central *r);

struct node_remote_sites *node_central_remotes(struct node_central *r);

/* As node_mirror_room() and node_mirror_grown(). */
MUST_USE enum err node_central_room(struct node_central *r, uint32_t count);
void node_central_grown(struct node_central *r, uint32_t count);

/* There is room in a session with another site. */
void node_central_writable(struct node_central *r);

/* The sum of a chunk's round is whole. */
void node_central_gathered(struct node_central *r, uint32_t chunk, uint64_t round);

/* A round of the chunk was closed: what was set aside meanwhile comes back. */
void node_central_closed(struct node_central *r, uint32_t chunk);

/* Do the updates in the chunk's sum count in the round that is being closed? */
bool node_central_counts(const struct node_central *r, uint32_t chunk);

/* Somebody wants to be let in; maybe; is in; the last one has left. */
void node_central_wanted(struct node_central *r);
void node_central_look_for_newcomers(struct node_central *r);
void node_central_working(struct node_central *r);
void node_central_finished(struct node_central *r);

/* May workers be let in? */
bool node_central_began(const struct node_central *r);

struct node_central_stats {
    uint64_t sums_sent;
    uint64_t sums_taken; /* As the centre. */
    uint64_t results_sent;
    uint64_t results_taken;
    uint64_t wholes_sent;
    uint64_t wholes_taken;
    uint64_t passed; /* Frames for others. */
    uint64_t passed_bytes;
    uint64_t stale;      /* Frames of another plan. */
    uint64_t refused;    /* That could not be. */
    uint64_t plans;      /* Proposed here. */
    uint64_t words_sent; /* Messages with a word, of any site, or its changes. */
    uint64_t plans_sent; /* Messages with a plan. */
    uint64_t carried;    /* Sums that counted in a later round than they were made for. */
    uint32_t epoch;
    uint32_t centre;
    bool begun; /* The plan of that epoch. */
};
void node_central_stats(const struct node_central *r, struct node_central_stats *out);

/* As node_mirror_status(), with what it goes by in "central": for `strait why` and `strait top`. */
struct json_t *node_central_status(struct node_central *r);

/* What does not hold, or NULL. */
const char *node_central_broken(const struct node_central *r);

#endif
