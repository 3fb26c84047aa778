/* The worker's side: sessions with all lanes of a site, a copy or a cache of the tables, and the
 * operations of one clock.
 *
 *     join -> table ... -> { read -> (compute) -> update / push -> clock } -> leave
 *
 * Everything happens on one loop and nothing blocks: an operation is started and its .done becomes
 * true later; several may be under way. Whoever waits drives the loop (client/) or is called
 * (.finished; run/trainer/trainer.c in the simulator). Buffers that an operation uses belong to it
 * until it is done.
 *
 * Clocks: the worker computes clock c with values that the barrier allows, sends at most one update
 * per chunk, and ends the clock. If it was left out meanwhile (a missed deadline, a lost session),
 * what it had for that clock does not count; it *rebases*: the next clock is the one at which it
 * was let in again, with fresh values. */

#ifndef NODE_WORKER_WORKER_H
#define NODE_WORKER_WORKER_H

#include "net/session/endpoint.h"
#include "node/site/site.h"

struct node_op;
struct node_worker;
struct obs_registry;

/* Embedded in its owner, who keeps it alive until .done. */
struct node_op {
    bool done;
    enum err rc;          /* When done. */
    struct err_text text; /* When done and rc is not OK. */
    uint64_t value;       /* When done: table id, next clock, number of the checkpoint. */
    void (*finished)(struct node_op *op, void *user); /* May be NULL. */
    void *user;
    struct node_op_state *state; /* Private to src/node. */
};

/* How fast a lane is sent to, and how fast it is asked to send, in bytes per second; zero: no
 * limit. */
struct node_pace {
    uint64_t to;
    uint64_t from;
};

/* What a simulation wants to know. */
struct node_worker_witness {
    /* An update was made, and is about to be sparsified. */
    void (*made)(uint16_t table, uint32_t chunk, uint64_t clock, const float *update,
                 uint32_t count, void *user);
    /* A sparsified update was sent: its payload, as codec/sparse.h has them. */
    void (*pushed)(uint16_t table, uint32_t chunk, uint64_t clock, uint32_t codec,
                   const void *payload, uint32_t bytes, void *user);
};

struct node_worker_config {
    struct loop *loop;
    struct buf_pool *pool; /* Outlives the worker. */
    struct obs_registry *registry;
    struct net_transport *transport; /* Outlives the worker. */
    struct pki_identity identity;
    uint64_t incarnation;
    uint64_t seed;
    bool insecure;
    uint32_t rank;            /* NODE_RANK_ANY: the site gives one. */
    uint16_t streams;         /* To each lane; zero: 1. */
    struct net_address first; /* Lane 0 of the site. */
    /* Where to listen, in a site with trees, for workers to pass sums on to; no host: any port,
     * where those come from who reach the servers. Others are told the address as bound; lanes know
     * better if it is of all interfaces. */
    struct net_address relay;
    bool relay_off;       /* Nowhere. */
    uint64_t relay_bytes; /* That may wait here for such workers; zero: 256 MiB. */
    const char *agg;      /* Where this worker is, for trees; NULL: not said. */
    const char *edge;
    int64_t heartbeat_ns;          /* Zero: the default. */
    uint64_t cache_bytes;          /* For rows, with pull delivery; zero: 256 MiB. */
    uint64_t pace_bytes_per_s;     /* Towards each lane; zero: no limit. */
    const struct node_pace *paces; /* By lane, instead; outlives the worker. May be NULL. */
    uint32_t paces_count;
    const struct node_worker_witness *witness; /* May be NULL. */
    const struct codec_costs *costs;           /* As in node_sparsify_open(). */
    int64_t (*mono_ns)(void);
    /* Something that people may want to know: a lane is unreachable, was found again, rebased. May
     * be NULL. */
    void (*notice)(const char *text, void *user);
    void *user;
};

MUST_USE enum err node_worker_create(const struct node_worker_config *config,
                                     struct node_worker **worker_out);

/* At once, as a crash; operations are not finished. Not from inside a callback. NULL is allowed. */
void node_worker_destroy(struct node_worker *w);

/* The loop is now driven by the calling thread (loop/driver.h): it owns the pools from now on, that
 * of the configuration too. */
void node_worker_adopt(struct node_worker *w);

/* Give an operation up: it is done with ERR_CANCELLED now, and its buffers are the caller's again.
 * What was sent stays sent. */
void node_worker_cancel(struct node_worker *w, struct node_op *op);

/* Learn what the site is (node_worker_site()). op->value: our rank. */
void node_worker_meet(struct node_worker *w, struct node_op *op);

/* Become a member: done when all lanes have let it in and, with broadcast, the copies are whole.
 * op->value: the first clock to compute. */
void node_worker_join(struct node_worker *w, struct node_op *op);

/* Make the table, or find the same one. op->value: its id. ERR_EXISTS: another shape. Before or
 * after join. */
void node_worker_table(struct node_worker *w, const struct table_schema *schema,
                       struct node_op *op);

/* Find a table that somebody made. op->value: its id. ERR_NOT_FOUND. Before or after join. */
void node_worker_lookup(struct node_worker *w, const char *name, struct node_op *op);

/* The table of that id, or NULL; the id of that name, or -1. */
const struct table_schema *node_worker_schema(const struct node_worker *w, uint16_t table);
int32_t node_worker_find(const struct node_worker *w, const char *name);

/* Read elements [first, first + count) as the barrier allows for the current clock. */
void node_worker_read(struct node_worker *w, uint16_t table, uint64_t first, uint64_t count,
                      float *out, struct node_op *op);

/* Read rows; @rows ascends strictly; both arrays must stay until done. */
void node_worker_read_rows(struct node_worker *w, uint16_t table, const uint32_t *rows,
                           uint32_t count, float *out, struct node_op *op);

/* Add to what will be sent at the end of this clock, at once, and all of it or nothing.
 * ERR_INVALID, ERR_NOMEM, ERR_AGAIN (the pool is at its limit); ERR_EXISTS if a chunk of it was
 * pushed in this clock already. */
MUST_USE enum err node_worker_update(struct node_worker *w, uint16_t table, uint64_t first,
                                     uint64_t count, const float *update);
MUST_USE enum err node_worker_update_rows(struct node_worker *w, uint16_t table,
                                          const uint32_t *rows, uint32_t count,
                                          const float *update);

/* Send this clock's update of whole chunks now, without collecting: @first and @count must cover
 * whole chunks. @weight: samples behind it, not zero. Done when all is taken over for sending.
 * ERR_EXISTS if one of them was pushed or updated in this clock. */
void node_worker_push(struct node_worker *w, uint16_t table, uint64_t first, uint64_t count,
                      const float *update, uint32_t weight, struct node_op *op);

/* End the clock: send what was collected (with @weight samples), say so, and wait until the next
 * one may be computed (broadcast) or at once (pull: reading waits). op->value: the next clock. */
void node_worker_clock(struct node_worker *w, uint32_t weight, struct node_op *op);

/* Leave cleanly: every update is acknowledged first, which with broadcast means that the round it
 * is in is closed. Reads that then still wait for others are cancelled. */
void node_worker_leave(struct node_worker *w, struct node_op *op);

/* Ask all lanes for a checkpoint. op->value: the lowest number of them. */
void node_worker_save(struct node_worker *w, struct node_op *op);

/* Tell the first lane how it goes. op->value: the clock after which to stop, or zero. */
struct node_report {
    uint64_t clock;
    double loss_sum;
    double samples;
    bool evaluated; /* The rest counts; a worker without data has a count of zero. */
    double objective_sum;
    double objective_count;
    double correct;
    double tested;
};
void node_worker_report(struct node_worker *w, const struct node_report *report,
                        struct node_op *op);

uint32_t node_worker_rank(const struct node_worker *w);
uint64_t node_worker_clock_now(const struct node_worker *w); /* Being computed; zero: not in. */
const struct node_site *
node_worker_site(const struct node_worker *w); /* NULL before it is known. */
uint64_t node_worker_rebases(const struct node_worker *w);
/* Updates of this worker from this clock on may be lost: a lane admitted it anew, or restarted, and
 * does not have all that the worker has given up. Since the last call; 0: none is known. */
uint64_t node_worker_lost_from(struct node_worker *w);
/* The clocks of which that is true, the last time that it happened; zeros: it never did. */
void node_worker_lost(const struct node_worker *w, uint64_t *from_out, uint64_t *to_out);
/* Elements that kept their value, because an addition here would have made them infinite. */
uint64_t node_worker_nonfinite(const struct node_worker *w);
uint64_t node_worker_refused(const struct node_worker *w); /* Updates, other than for being late. */

/* What was sent to a lane and received from it so far, over all sessions; zeros if there is no such
 * lane yet. */
void node_worker_traffic(const struct node_worker *w, uint32_t lane, uint64_t *sent_out,
                         uint64_t *received_out);

/* The copy of a chunk (broadcast): NULL if there is none. For tests and witnesses. */
const float *node_worker_chunk(const struct node_worker *w, uint16_t table, uint32_t chunk,
                               uint64_t *version_out);

/* What is held back of the updates of a chunk: NULL if they are not sparsified. */
const float *node_worker_held(const struct node_worker *w, uint16_t table, uint32_t chunk);

/* Is an update in that which could not be sent yet, for want of memory or room? */
bool node_worker_unsent(const struct node_worker *w, uint16_t table, uint32_t chunk);

/* Broadcast by trees: what was passed on to other workers so far. */
struct node_passed {
    uint64_t frames;  /* That went on to them, or wait for them, */
    uint64_t bytes;   /* with so many bytes. */
    uint64_t dropped; /* Frames that did not, for want of room. */
};
struct node_passed node_worker_passed(const struct node_worker *w);

/* How that is done, and how much of it; NULL: nothing is sparsified in this site, or it is not
 * known yet. */
const struct node_sparsifier *node_worker_sparsifier(const struct node_worker *w);

/* How long a lane has not been reached; zero: all are. */
int64_t node_worker_away_ns(const struct node_worker *w);

/* Why does it wait? A sentence for people; false if it does not. */
bool node_worker_why(struct node_worker *w, char *out, size_t size);

/* What a lane that restarts gets of this worker's copy; for simulations. */
enum node_standing {
    NODE_STANDING_NONE,    /* Nothing: it has left, or counts as new there. */
    NODE_STANDING_BACKS,   /* All of it, as soon as they meet. */
    NODE_STANDING_OFFERED, /* It has met the lane and offered its copy. */
};
enum node_standing node_worker_standing(const struct node_worker *w, uint32_t lane);

#endif
