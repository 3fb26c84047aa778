/* A lane of a server: one loop, its connections, its shards. Lanes share nothing: each is built,
 * used and destroyed on its own thread (or all on one simulated loop).
 *
 *     frame -> session's inbox -> sync machine -> sums, applies, broadcasts, answers
 *
 * Lane 0 of a site is its first: it also knows where the others are and tells workers, gives ranks,
 * and collects what workers report. Training itself does not pass through it. */

#ifndef NODE_LANE_LANE_H
#define NODE_LANE_LANE_H

#include "net/session/endpoint.h"
#include "node/counters.h"
#include "node/lane/history.h"
#include "node/site/site.h"

#include <stdatomic.h>

struct node_between;
struct node_central;
struct node_lane;
struct node_mirror;
struct obs_registry;
struct store;

struct node_lane_config {
    struct loop *loop;
    struct obs_registry *registry;
    struct net_transport *transport; /* Outlives the lane. */
    struct pki_identity identity;
    uint64_t incarnation;
    uint64_t seed;
    bool insecure;
    struct node_site site;
    const struct node_between *between; /* Other sites; outlives the lane. NULL: there are none. */
    uint32_t number;                    /* Of this lane, below site.lanes. */
    struct net_address listen;
    struct net_address first; /* Where lane 0 is; for the others. */
    const char *agg;          /* Where the server is, for trees; NULL: not said. */
    const char *edge;
    struct store *store; /* Of this lane alone; NULL: no checkpoints. */
    enum node_restore_mode restore;
    uint64_t restore_clock;    /* With NODE_RESTORE_CLOCK. */
    uint64_t table_bytes;      /* Most memory that tables may need here; zero: no limit. */
    uint64_t in_flight_bytes;  /* Frames that come, wait or go; zero: by the number of workers. */
    int64_t grace_ns;          /* A worker that is gone so long has left; zero: 3 s. */
    int64_t heartbeat_ns;      /* Zero: the default. */
    int64_t restore_ns;        /* How long to wait for workers after a restart; zero: 5 s. */
    uint64_t pace_bytes_per_s; /* Towards each peer; zero: no limit. */
    /* Shared by the lanes of a process: one of them has heard from a worker that the site had begun
     * before this process did. May be NULL. */
    atomic_bool *begun;
    const struct table_schema *schemas; /* Tables made at the start; may be NULL. */
    uint32_t schema_count;
    bool closed;              /* Workers may not make tables: only those of .schemas exist. */
    int64_t (*wall_us)(void); /* For the date in checkpoints; may be NULL. */
    const struct codec_costs *costs; /* As in node_sparsify_open(). */
    int64_t (*mono_ns)(void);
    /* A line of what happens, for transcripts; may be NULL. */
    void (*trace)(const char *line, void *user);
    /* It must not serve what it has: others have shown that it lost parameters, or has those of
     * another training (I11). Once; it admits nobody from now on. Destroy it, not from inside this
     * call. May be NULL. */
    void (*refused)(const char *text, void *user);
    /* An update was counted, closed or acknowledged: for witnesses; may be NULL. */
    const struct node_lane_witness *witness;
    void *user;
};

/* What a simulation wants to know; what it does not may be NULL. All calls are made when the thing
 * has just happened. */
struct node_lane_witness {
    /* The update of (rank, incarnation) for @clock entered the sum of a chunk. */
    void (*taken)(uint16_t table, uint32_t chunk, uint32_t rank, uint64_t incarnation,
                  uint64_t clock, void *user);
    /* Round @version of a chunk is in the values. */
    void (*closed)(uint16_t table, uint32_t chunk, uint64_t version, const float *values,
                   uint32_t count, void *user);
    /* It will never be sent again. */
    void (*acknowledged)(uint16_t table, uint32_t chunk, uint32_t rank, uint64_t incarnation,
                         uint64_t clock, void *user);
    /* A piece for other sites was made: all that was added but what is held back. */
    void (*shared)(uint16_t table, uint32_t chunk, uint64_t number, uint64_t clock,
                   const float *held, void *user);
    /* What other sites added is in the values. */
    void (*mirrored)(uint16_t table, uint32_t chunk, const float *values, uint32_t count,
                     void *user);
    /* A worker that is about to compute @clock may read, as far as other sites are concerned. */
    void (*allowed)(uint16_t table, uint32_t chunk, uint64_t clock, void *user);
    /* A restarted lane goes on from this. */
    void (*restored)(uint16_t table, uint32_t chunk, uint64_t version, const float *values,
                     uint32_t count, void *user);
};

/* Load the newest checkpoint if there is one. Nobody can reach the lane before
 * node_lane_listen(). On failure @text says what to do. */
MUST_USE enum err node_lane_create(const struct node_lane_config *config,
                                   struct node_lane **lane_out, struct err_text *text);

/* Which training its checkpoints are of, as read from the store. */
void node_lane_history(const struct node_lane *l, struct node_lane_history *out);

/* Is the worker of that rank a member? */
bool node_lane_is_member(const struct node_lane *l, uint32_t rank);

/* Are there members, or were there some? */
bool node_lane_begun(const struct node_lane *l);

/* Its checkpoints are of that training from now on: write a manifest that says so, if there is a
 * store and none that does. @begun follows, perhaps from inside this call. Once, before
 * node_lane_listen(); not if it starts from a checkpoint of another one. */
void node_lane_begin_history(struct node_lane *l, uint64_t history,
                             void (*begun)(enum err rc, void *user), void *user);

/* Accept workers and connect to other sites. Once. On failure destroy the lane. */
MUST_USE enum err node_lane_listen(struct node_lane *l, struct err_text *text);

/* Lane 0 must know where all lanes are. Called once on the first lane of each server, with all of
 * its lanes: if that is not lane 0, it tells lane 0 at config.first, also again when that has
 * restarted. ERR_NOMEM, ERR_INVALID. */
struct node_place {
    uint32_t lane;
    char address[NET_ADDRESS_BYTES];
};
MUST_USE enum err node_lane_tell(struct node_lane *l, const struct node_place *places,
                                 uint32_t count);

/* At once, as a crash. On the lane's thread. NULL is allowed. */
void node_lane_destroy(struct node_lane *l);

/* Where it listens, after node_lane_listen(). */
const struct net_address *node_lane_address(const struct node_lane *l);

/* A checkpoint of all shards now; @done follows on the loop (also if one is being made: after the
 * next one). ERR_INVALID without a store. */
MUST_USE enum err node_lane_save(struct node_lane *l, void (*done)(enum err rc, void *user),
                                 void *user);

/* Say good-bye to everybody: sessions end, nothing is lost. The lane is idle when node_lane_peers()
 * is zero. */
void node_lane_shut(struct node_lane *l, const char *text);

/* How many sessions there are, those that are ending included. */
uint32_t node_lane_peers(struct node_lane *l);

struct node_lane_stats {
    uint64_t trees;   /* Made. */
    uint64_t detours; /* Workers that their parent did not feed any longer. */
    uint64_t version; /* Last closed round of all its chunks. */
    uint32_t members;
    uint64_t updates;            /* Taken. */
    uint64_t duplicates;         /* Dropped: counted before. */
    uint64_t refused;            /* Late, not a member, not finite, wrong shape. */
    uint64_t operations_refused; /* Of senders that may not ask for them. */
    uint64_t broadcasts;
    uint64_t snapshots;     /* Chunks sent whole, to newcomers and to those who fell behind. */
    uint64_t kept_elements; /* Would have become infinite, or not a number; */
    uint64_t nonfinite[NODE_PLACES]; /* the same by place. */
    uint64_t held_frames;
    uint64_t checkpoints;
    uint64_t table_bytes;
    uint64_t table_bytes_needed; /* With their sums and all else that is kept for each element, */
    uint64_t table_bytes_max;    /* and never more than this; zero: no limit. */
    uint64_t pool_bytes;         /* Buffers, taken from the system, */
    uint64_t pool_bytes_used;    /* of which somebody holds so many, */
    uint64_t pool_bytes_max;     /* and never more than this. */
    bool restoring;
    bool fresh;    /* Has had no member: there is nothing to keep. */
    bool anew;     /* It began with nothing: no checkpoint, and nobody came back. */
    bool starting; /* Waits for more workers before it lets the first in. */
    bool loaded;   /* It started from a checkpoint. */
    bool hurried;  /* After a restart it went on without all workers, because they did not come. */
};

void node_lane_stats(struct node_lane *l, struct node_lane_stats *out);

/* How it goes, as an object for operators: members, clocks, who waits for whom. NULL: no memory. */
struct json_t;
struct json_t *node_lane_status(struct node_lane *l);

/* Its dealings with other sites; NULL: there are none. For simulations. */
struct node_mirror *node_lane_mirror(struct node_lane *l);
struct node_central *node_lane_central(struct node_lane *l);

/* The values of a chunk; NULL: it is not here. For simulations. */
const float *node_lane_values(const struct node_lane *l, uint16_t table, uint32_t chunk);

/* What is held back of the sums of a chunk: NULL if nothing ever is. */
const float *node_lane_held(const struct node_lane *l, uint16_t table, uint32_t chunk);

/* How that is done, and how much of it; NULL: nothing is sparsified in this site. */
const struct node_sparsifier *node_lane_sparsifier(const struct node_lane *l);

/* What must hold at any time, for simulations: NULL, or what does not. */
const char *node_lane_broken(struct node_lane *l);

/* Why the session of a peer was ended that broke the rules, or NULL: none was. */
const char *node_lane_expelled(const struct node_lane *l);

#endif
