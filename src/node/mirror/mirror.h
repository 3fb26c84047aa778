/* A lane's dealings with its mirrors at other sites: sessions, pieces, marks, reports, barriers,
 * copies. What to do is decided by sync/mirror.h, sync/asp.h and sync/selective.h; here it becomes
 * frames, sums and waits. For node/lane*.c and its neighbours only. */

#ifndef NODE_MIRROR_MIRROR_H
#define NODE_MIRROR_MIRROR_H

#include "node/site/between.h"

struct net_peer;
struct node_remote_sites;
struct node_lane;
struct node_mirror;
struct table_schema;
struct wire_header;

/* NULL in *out if there is only one site. */
MUST_USE enum err node_mirror_create(struct node_lane *l, struct node_mirror **out,
                                     struct err_text *text);
void node_mirror_destroy(struct node_mirror *r); /* NULL is allowed. */

/* The lane listens: look for the others. */
MUST_USE enum err node_mirror_start(struct node_mirror *r);

/* A table is about to be added, with @count chunks here: make all the room that it needs.
 * ERR_NOMEM: nothing has changed. Then it was. */
MUST_USE enum err node_mirror_room(struct node_mirror *r, uint16_t id,
                                   const struct table_schema *schema, uint32_t count);
void node_mirror_grown(struct node_mirror *r);

/* Its sessions with other sites: what is none of meeting comes here. */
struct node_remote_sites *node_mirror_remotes(struct node_mirror *r);
void node_mirror_writable(struct node_mirror *r);
void node_mirror_acked(struct node_mirror *r, struct net_peer *peer,
                       const struct wire_header *header);
/* By what a sum is multiplied before it is applied, and where what it adds is kept. */
float node_mirror_share(const struct node_mirror *r, const struct table_schema *schema);
float *node_mirror_held(struct node_mirror *r, uint32_t chunk);

/* A chunk closed round @version; all of them did. The last worker has left. */
void node_mirror_closed(struct node_mirror *r, uint32_t chunk, uint64_t version);
void node_mirror_advanced(struct node_mirror *r, uint64_t version);
void node_mirror_finished(struct node_mirror *r);
void node_mirror_working(struct node_mirror *r); /* Somebody is in. */

/* May workers be let in? */
bool node_mirror_began(const struct node_mirror *r);

/* What a reader waits for. */
enum node_wait {
    NODE_WAIT_NONE,
    NODE_WAIT_CLOCK,   /* A site's clock is too far behind. */
    NODE_WAIT_BARRIER, /* Pieces that were announced. */
    NODE_WAIT_FRESH,   /* What is about to come. */
    NODE_WAIT_ROOM,    /* Too much is under way; or a copy. */
    NODE_WAITS,
};

/* Where a reader stands; zeroed: it does not wait. */
struct node_gate {
    enum node_wait wait;
    uint32_t site; /* By index in the machine; MIRROR_NOBODY. */
    int64_t since_ns;
};

/* May a worker that is about to compute @clock read elements [first, first + count) of the chunk?
 * NODE_MIRROR_ALL chunks: all of all. Its gate counts how long it waits. */
#define NODE_MIRROR_ALL UINT32_MAX
bool node_mirror_may_read(struct node_mirror *r, struct node_gate *gate, uint64_t clock,
                          uint32_t chunk, uint32_t first, uint32_t count);
bool node_mirror_has_barrier(const struct node_mirror *r, uint32_t chunk);

/* Checkpoints and journals (mirror/keep.c). */
struct checkpoint_member;
MUST_USE enum err node_mirror_load(struct node_mirror *r, struct err_text *text);
void node_mirror_restore_member(struct node_mirror *r, uint32_t chunk,
                                const struct checkpoint_member *m);
bool node_mirror_keep_ready(const struct node_mirror *r, uint32_t chunk);
uint32_t node_mirror_keep_members(const struct node_mirror *r, uint32_t chunk,
                                  struct checkpoint_member *out);
void node_mirror_keep_begin(struct node_mirror *r);
void node_mirror_keep_done(struct node_mirror *r, bool ok);

/* How it goes, as an object for operators. */
struct json_t *node_mirror_status(struct node_mirror *r);

struct node_mirror_stats {
    uint64_t pieces_made;
    uint64_t elements_sent; /* Of those of which something was held back: */
    uint64_t elements_judged;
    uint64_t pieces_taken;
    uint64_t pieces_dropped;
    uint64_t pieces_held;
    uint64_t pieces_refused;
    uint64_t relayed;
    uint64_t barriers_raised; /* Sent, for pieces that wait here. */
    uint64_t barriers_met;    /* Received. */
    uint64_t barriers_passed; /* Received and sent on as a hub. */
    uint64_t copies;
    uint64_t log_bytes;
    int64_t waited_clock_ns;   /* Readers waited for a site's clock, */
    int64_t waited_barrier_ns; /* for pieces that were announced, */
    int64_t waited_fresh_ns;   /* for what was about to come, */
    int64_t waited_room_ns;    /* or because too much was under way. */
    double soft;
};
void node_mirror_stats(struct node_mirror *r, struct node_mirror_stats *out);

/* What does not hold, or NULL. */
const char *node_mirror_broken(struct node_mirror *r);

/* For witnesses: the machine itself, and how many chunks wait to be judged. */
const struct mirror *node_mirror_machine(const struct node_mirror *r);
uint32_t node_mirror_due_count(const struct node_mirror *r);

#endif
