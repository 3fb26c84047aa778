/* What a lane's part in rounds around a centre consists of; for node/central*.c only. */

#ifndef NODE_CENTRAL_STATE_H
#define NODE_CENTRAL_STATE_H

#include "node/central/central.h"
#include "node/central/note.h"
#include "node/lane/state.h"
#include "node/site/remote.h"
#include "sync/believe.h"
#include "sync/bucket.h"
#include "sync/links.h"

enum {
    NODE_CENTRAL_TICK_MS = 50,
    NODE_CENTRAL_DOWN_MS = 500,           /* Without any connection: there may be another way. */
    NODE_CENTRAL_STAND_MS = 200,          /* Until a stand is said again. */
    NODE_CENTRAL_PUMP_FRAMES = 64,        /* In one turn. */
    NODE_FLOW_WINDOW_BYTES_MIN = 4 << 20, /* Under way from one end to the other. */
    NODE_FLOW_WINDOW_BYTES_MAX = 64 << 20,
    NODE_INFLOW_MS = 200,
    NODE_EARLY_FRAMES_MAX = 16384, /* That wait for a table, a turn, or a plan. */
};

/* What comes from a neighbour, over a short time. */
struct node_inflow {
    uint64_t bytes; /* So far, ... */
    int64_t at_ns;  /* ... then; zero: never looked. */
    uint64_t bytes_per_s;
};

/* Chunks to one site: to the centre, or from there. */
struct node_flow {
    struct bucket bucket;
    uint64_t window_bytes;
    uint64_t sent_bytes; /* By this plan. */
    uint64_t room_bytes; /* Of these have come. */
    uint64_t came_bytes; /* From there, by this plan; */
    uint64_t told_bytes; /* it knows of so many. */
    bool due;            /* A chunk that found no room: */
    uint32_t chunk;
    bool whole;
    uint64_t round; /* Of a sum. */
};

struct node_central_chunk {
    struct table_accum aside; /* This site's own sum while a result is entered. */
    struct central_own fate;  /* What becomes of it, and of .kept. */
    bool entering;
    struct table_accum kept;  /* This site's sum in the last round. */
    struct table_accum total; /* Centre: sums of all sites. */
    struct buf *result;       /* Centre: of .result_round, packed; NULL: none, or nothing. */
    struct codec_packed packed;
    uint64_t result_round; /* Zero: none. */
    uint64_t result_sites;
    uint32_t result_weight;
    struct buf *plane; /* The state of a whole chunk whose values are to follow. */
};

/* A frame that goes to another site when there is room, or waits to be looked at again. */
struct node_waiting {
    struct list link;
    struct wire_header header;
    struct buf *body;
    struct node_remote_site *remote; /* Where it came from. */
};

struct node_central {
    struct node_lane *lane;
    const struct node_between *between;
    struct node_remote_sites remotes;
    struct central c;
    uint32_t sites;
    uint32_t ids[CENTRAL_SITES_MAX]; /* On the wire, by index: in the order of names. */
    struct node_remote_site *remote_at[CENTRAL_SITES_MAX]; /* NULL: this site. */
    struct links links;
    struct net_meter *meters; /* By remote site, as the next two. */
    struct node_inflow *inflows;
    struct believe *believes;
    bool *used;   /* By remote site: something went there by this plan. */
    bool *broken; /* The session was lost since, and what was under way with it. */
    struct node_plan plan;
    struct node_flow flows[CENTRAL_SITES_MAX];
    struct list *passing; /* By remote site: chunks on their way to it; then notes, likewise. */
    uint64_t passing_bytes;
    struct list early;
    uint32_t early_count;
    struct node_central_chunk *chunks; /* By the lane's index. */
    uint32_t chunks_count;
    uint32_t chunks_ready;
    uint64_t *words; /* For versions and bits. */
    float *scratch;  /* One chunk. */
    uint64_t bitmap[CODEC_WORDS_MAX];
    uint64_t *have; /* Bits of chunks whose version the centre is to be told. */
    uint32_t have_count;
    bool asking;       /* To be busy again. */
    bool working;      /* Somebody was let in since it is busy. */
    int64_t joined_ns; /* When it got the parameters that others had; 0: it has not. */
    bool looking;      /* At what waits. */
    bool close_due;    /* Centre: there was no room to close a round. */
    bool carrying;     /* If nobody is here: there may be a sum to send; looked at by the tick. */
    int64_t stood_ns;
    int64_t moved_ns; /* A sum, a result or a plan came last. */
    bool started;
    uint8_t note[WIRE_NOTE_BYTES_MAX]; /* To write one. */
    struct node_central_stats stats;
    struct loop_task pump;
    struct loop_timer tick;
    struct loop_timer pace;
    int64_t pace_ns; /* When it is due; zero: it is not. */
};

static inline int64_t node_central_now(const struct node_central *r)
{
    return loop_now_ns(r->lane->config.loop);
}

/* central.c */
void node_central_pump(struct node_central *r);                         /* Soon. */
uint32_t node_central_index(const struct node_central *r, uint32_t id); /* CENTRAL_SITES_MAX. */
void node_central_begin(struct node_central *r);                        /* Centre: if all stand. */
void node_central_went(struct node_central *r);                         /* The plan began. */
void node_central_joined(struct node_central *r);
void node_central_stand(struct node_central *r);
/* Was the plan made with this process of the site, as far as it says? Else another one comes. */
bool node_central_is_ours(const struct node_central *r);
uint64_t node_central_tables(const struct node_central *r); /* A hash of what tables there are. */
void node_central_idle(struct node_central *r, uint64_t after);
uint64_t node_central_owed(const struct node_central *r);
void node_central_flush(struct node_central *r);
void node_central_busy(struct node_central *r, uint64_t since);

void node_central_adopted(struct node_central *r, const struct node_plan *plan);

/* central/plan.c: words and plans. */
MUST_USE enum err node_central_plan_init(struct node_central *r);
void node_central_plan_deinit(struct node_central *r);
MUST_USE enum links_verdict node_central_plan_set(struct node_central *r,
                                                  const struct node_plan *plan);
void node_central_links(struct node_central *r); /* Say, look, propose, send. */
void node_central_seen(struct node_central *r, struct node_remote_site *f, bool up);
/* Bytes that a site sends in a round, over all lanes; how long a round takes by the plan that is
 * followed, on the links as they are now. */
double node_central_bytes(const struct node_central *r);
double node_central_round_s(const struct node_central *r);
MUST_USE enum err node_central_word(struct node_central *r, struct node_remote_site *f,
                                    uint16_t operation, const json_t *fields);
MUST_USE enum err node_central_plan(struct node_central *r, struct node_remote_site *f,
                                    const json_t *fields);

/* central/out.c */
/* The way to a site: to or from the centre. False: there is none by this plan. */
MUST_USE bool node_central_way(const struct node_central *r, uint32_t site, uint32_t *ids,
                               struct wire_route *out);
MUST_USE enum err node_central_say(struct node_central *r, uint32_t site, enum wire_note_kind kind,
                                   const struct node_note *note);
MUST_USE enum err node_central_say_bytes(struct node_central *r, uint32_t site,
                                         enum wire_note_kind kind, const uint8_t *bytes,
                                         size_t size);
/* Into .scratch; .count is zero if all floats are. */
void node_central_pack(struct node_central *r, const float *floats, uint32_t elements,
                       struct codec_packed *packed);
MUST_USE enum err node_central_give(struct node_central *r, uint32_t site, uint32_t chunk);
void node_central_flow(struct node_central *r);
void node_central_forget(struct node_central *r); /* Another plan: all that was under way. */
MUST_USE enum err node_central_pass(struct node_central *r, struct node_remote_site *to,
                                    const struct net_frame *frame);

/* central/in.c */
MUST_USE enum err node_central_take(struct node_central *r, struct node_remote_site *f,
                                    const struct net_frame *frame);
void node_central_early(struct node_central *r); /* Look again at what waits. */
void node_central_early_drop(struct node_central *r);
/* Centre: what can be done with a chunk is done. */
void node_central_look(struct node_central *r, uint32_t chunk);
void node_central_look_all(struct node_central *r);

#endif
