/* What a lane's mirror consists of; for node/mirror*.c only. */

#ifndef NODE_MIRROR_STATE_H
#define NODE_MIRROR_STATE_H

#include "node/lane/state.h"
#include "node/mirror/mirror.h"
#include "node/site/remote.h"
#include "store/checkpoint.h"
#include "sync/fresh.h"
#include "sync/selective.h"
#include "wire/delta.h"
#include "wire/mirror.h"

struct journal;
struct node_measure;

enum {
    NODE_MIRROR_TICK_MS = 50,
    NODE_MEASURE_MS = 1000,  /* So often metrics are written. */
    NODE_EARLY_MAX = 1024,   /* Pieces that wait for one before them. */
    NODE_PUMP_FRAMES = 64,   /* To one site in one turn. */
    NODE_AHEAD_MS = 100,     /* Of its time that a busy link is given beyond a round trip. */
    NODE_MARKS_TIMED = 64,   /* A power of two. */
    NODE_BUSY_MS = 5,        /* A link is busy if it takes this and a quarter of a round trip. */
    NODE_KEPT_MAX = 128,     /* Checkpoints whose beginning is remembered. */
    NODE_JOURNALS_MAX = 512, /* Journals of which is known up to where all sites must be first. */
};

/* A payload: of a piece of ours, or of one that passes through. */
struct node_parcel {
    uint32_t refs;
    uint32_t payload_bytes;
    struct wire_header header; /* As it was sealed or came; table numbers are ours. */
    struct buf *body;          /* Payload, then ranges. */
};

/* A mark that is under way, and what was ahead of it. */
struct node_mark_sent {
    int64_t sent_ns;
    uint64_t ahead_bytes;
    uint32_t acked; /* By so many streams. */
};

/* How the link to a site drains, and what else is kept of it: beside the far of that index. */
struct node_drain {
    bool raises;          /* What it gets is announced first. */
    uint64_t mark_serial; /* Sent. */
    uint64_t mark_seen[LIMIT_STREAMS_PER_PEER];
    uint64_t copy_next; /* It gets a copy: next chunk to send plus one; zero: none. */
    struct node_mark_sent marks[NODE_MARKS_TIMED]; /* By serial number. */
    uint64_t mark_acked;                           /* The last, on all streams. */
    int64_t mark_took_ns;                          /* Until then. */
    uint64_t mark_judged;                          /* Up to this one it is in .bytes_per_s. */
    int64_t rtt_ns;                                /* The least seen; zero: none. */
    uint64_t bytes_per_s;      /* At least, as last seen; zero: it never was busy. */
    uint64_t busy_bytes_per_s; /* When it was busy for long enough to tell; likewise. */
};

/* A piece that came and cannot be added yet. */
struct node_early {
    struct list link;
    struct node_remote_site *remote;
    struct wire_header header;
    struct buf *body;
};

struct node_mirror_chunk {
    float *held; /* What of it the others do not have. */
    bool due;    /* To be judged again: there was no room. */
};

struct node_mirror {
    struct node_lane *lane;
    const struct node_between *between;
    struct node_remote_sites remotes; /* Indexes are those of the machine. */
    struct node_drain *drains;
    struct mirror m;
    struct asp asp;
    struct fresh fresh;
    struct selective selective;
    bool started;

    /* Pieces. */
    struct node_mirror_chunk *chunks; /* By the lane's index. */
    uint32_t chunks_count;
    uint32_t chunks_ready; /* With room, beyond those that are there. */
    uint32_t due_count;
    uint64_t clock_due; /* Closed, but the machine was not told because chunks are due. */
    float *scratch;     /* One chunk. */
    struct codec_sum *sum;
    uint64_t log_bytes_max;
    uint64_t made_bytes;   /* In this clock. */
    uint64_t passed_bytes; /* Came in this clock, to be passed on. */
    int64_t clock_ns;      /* When the last one was over. */
    bool flushing;         /* Everything goes, significant or not. */
    struct list early;
    uint32_t early_count;

    /* A copy of another site. */
    uint32_t copy_from; /* MIRROR_NOBODY: none is under way. */
    uint64_t copy_left; /* Chunks. */
    bool kept_out;      /* By a copy: workers may wait to be let in. */
    uint64_t copy_clock;
    uint64_t copy_stable[MIRROR_SITES_MAX];
    uint64_t copy_clocks[MIRROR_SITES_MAX];
    uint64_t copy_refused; /* Bits: these do not fit. */

    /* Waits. */
    int64_t waited_ns[NODE_WAITS];
    uint64_t waits[NODE_WAITS];

    /* What is stored. */
    struct journal *journal; /* NULL: nothing is. */
    bool journal_due;
    bool flushing_journal;
    uint64_t journal_last;             /* The object under way. */
    uint64_t kept_from[NODE_KEPT_MAX]; /* Journals begun before the newest checkpoints were. */
    uint64_t unsafe_until; /* A copy counts when this checkpoint is whole; zero: none. */
    struct {
        uint64_t journal; /* May go when all sites have the pieces up to */
        uint64_t number;
    } journals[NODE_JOURNALS_MAX]; /* In order. */
    uint32_t journals_count;
    uint16_t tables_kept;
    struct {
        uint64_t number, clock, floor;
        uint64_t stable[MIRROR_SITES_MAX];
    } standing;     /* In the journal that is under way; or as it was found. */
    bool found;     /* There was something. */
    bool load_torn; /* ... that builds on a copy that no checkpoint has. */

    struct node_mirror_stats stats;
    struct node_measure *measure;
    int64_t measured_ns; /* When metrics were written last. */
    struct loop_task pump;
    struct loop_timer tick;
    struct loop_timer fresh_over; /* Nobody waits any longer for what was about to come. */
    int64_t started_ns;
};

static inline struct node_drain *node_drain_of(const struct node_remote_site *f)
{
    return &((struct node_mirror *)f->set->user)->drains[f->index];
}

static inline int64_t node_mirror_now(const struct node_mirror *r)
{
    return loop_now_ns(r->lane->config.loop);
}

/* mirror.c */
void node_mirror_pump(struct node_mirror *r);        /* Soon. */
bool node_mirror_alive(const struct node_mirror *r); /* Its life has begun. */
void node_mirror_wake(struct node_mirror *r);        /* Readers may go on. */

/* mirror/out.c */
void node_parcel_drop(struct node_parcel *p);
struct node_parcel *node_parcel_make(const struct wire_header *header, struct buf *body,
                                     uint32_t payload_bytes); /* Takes @body; NULL: no memory. */
void node_mirror_release(struct node_mirror *r);
void node_mirror_flow(struct node_mirror *r, struct node_remote_site *f);
void node_mirror_due(struct node_mirror *r); /* Try again what found no room. */
/* Tell that site, and by it @groups, which elements a payload that waits for it will change. */
void node_mirror_announce(struct node_mirror *r, struct node_remote_site *f,
                          const struct node_parcel *p, uint32_t groups);
/* False: there is no room. The pieces come anyhow; only later than a barrier would have said. */
bool node_mirror_send_barrier(struct node_mirror *r, struct node_remote_site *f,
                              const struct wire_barrier *barrier);

/* mirror/in.c */
MUST_USE enum err node_mirror_take(struct node_mirror *r, struct node_remote_site *f,
                                   const struct net_frame *frame);
void node_mirror_early(struct node_mirror *r); /* Judge again what waits. */
void node_mirror_early_drop(struct node_mirror *r);

/* mirror/copy.c */
void node_remote_copy_look(struct node_mirror *r); /* Is one needed, and from whom? */
void node_remote_copy_over(struct node_mirror *r,
                           const struct node_remote_site *f); /* Its session is gone. */
void node_remote_copy_flow(struct node_mirror *r, struct node_remote_site *f);
MUST_USE enum err node_remote_copy_asked(struct node_mirror *r, struct node_remote_site *f,
                                         uint32_t call, bool go);
void node_remote_copy_answered(struct node_mirror *r, struct node_remote_site *f,
                               const json_t *fields);
MUST_USE enum err node_remote_copy_take(struct node_mirror *r, struct node_remote_site *f,
                                        const struct net_frame *frame);

/* mirror/keep.c */
void node_mirror_journal(struct node_mirror *r); /* Store what is due. */
void node_mirror_changed(struct node_mirror *r); /* Something is due. */
/* Room for a record of such a piece: before it is made or taken. */
MUST_USE enum err node_mirror_keep_room(struct node_mirror *r, uint32_t payload_bytes);
void node_mirror_keep_made(struct node_mirror *r, const struct wire_header *header,
                           const struct wire_range *range, const void *payload, uint32_t size);
void node_mirror_keep_took(struct node_mirror *r, uint16_t table, uint32_t chunk,
                           const struct wire_delta *delta);
void node_mirror_keep_tables(struct node_mirror *r);
void node_mirror_keep_copy(struct node_mirror *r);
void node_mirror_keep_end(struct node_mirror *r);
/* mirror/out.c: the payload in scratch as a piece of an earlier life. */
MUST_USE enum err node_mirror_restore_piece(struct node_mirror *r, uint32_t chunk,
                                            const struct wire_range *range, uint64_t clock,
                                            const struct codec_packed *packed);

/* mirror/measure.c */
MUST_USE enum err node_measure_open(struct node_mirror *r);
void node_measure_close(struct node_mirror *r);
void node_measure_look(struct node_mirror *r); /* Write down how it goes. */

#endif
