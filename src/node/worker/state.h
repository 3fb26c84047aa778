/* What a worker consists of; for node/worker*.c only. */

#ifndef NODE_WORKER_STATE_H
#define NODE_WORKER_STATE_H

#include "base/buf.h"
#include "base/list.h"
#include "base/log.h"
#include "loop/loop.h"
#include "node/control.h"
#include "node/sparsify/look.h"
#include "node/sparsify/sparsify.h"
#include "node/worker/worker.h"
#include "table/accum.h"
#include "table/chunk.h"
#include "wire/clock.h"
#include "wire/feed.h"
#include "wire/push.h"

enum {
    WORKER_CACHE_BYTES = 256 * 1024 * 1024,
    WORKER_REDIAL_MS = 200,
    WORKER_POLL_MS = 5,
    WORKER_SAVE_MS = 200,
    WORKER_HURRY_MS = 2000,
    WORKER_CALLS_MAX = 64,      /* Under way at once at one lane. */
    WORKER_CHUNKS_RESERVED = 4, /* Buffers for each lane. */
    WORKER_MEMORY_TRIES = 8,    /* Of what failed for want of memory, before that is final. */
};

/* What a peer of a worker is: the peer's user begins with it. */
enum node_peer_kind { PEER_LANE, PEER_PARENT, PEER_CHILD };

struct node_child;

/* Another worker that feeds us, in the tree of some lane. */
struct node_parent {
    enum node_peer_kind kind;
    struct list link;
    struct node_worker *worker;
    struct net_peer *peer;
    bool up;
    char address[NET_ADDRESS_BYTES];
};

/* A chunk that must have a version before rounds after .before are complete here. */
struct node_due {
    uint32_t index; /* Of the copy. */
    uint64_t version;
    uint64_t before;
    int64_t at_ns; /* When we were told. */
};

enum node_feed_say { FEED_SAY_NOTHING, FEED_SAY_ON, FEED_SAY_OFF };

/* How the sums of a lane reach us. */
struct node_feeding {
    struct node_parent *parent; /* NULL: from the lane. */
    struct node_parent *next;   /* Asked to be, */
    int64_t next_ns;            /* then. */
    struct node_parent *old;    /* The one before, which may still feed us, */
    int64_t old_ns;             /* until then. */
    uint32_t epoch;             /* Of the lane's decision. */
    enum node_feed_say say;     /* What the lane is still to be told. */
    enum wire_feed_why why;
    struct node_due *dues; /* A ring, in the order in which we were told. */
    uint32_t first;
    uint32_t count;
    uint32_t capacity; /* Zero or a power of two. */
    uint64_t told;     /* The lane is here. */
    bool told_any;
    int64_t usual_ns; /* From when something is due to when it is there. */
};

enum worker_lane_state {
    LINK_AWAY,    /* No session yet. */
    LINK_MET,     /* Connected, not asked to be let in. */
    LINK_JOINING, /* Asked. */
    LINK_IN,
};

/* A call that has not been answered; kept to be made again if the server restarts. */
struct node_call {
    struct list link;
    uint32_t number;
    uint16_t operation;
    bool sent;
    json_t *fields;
    void (*answered)(struct node_call *call, enum err rc, const json_t *fields,
                     const struct err_text *text);
    struct worker_lane *on;
    void *user;
};

/* One lane of the site as this worker sees it. */
struct worker_lane {
    enum node_peer_kind kind;
    struct node_worker *worker;
    uint32_t number;
    struct net_address address;
    struct net_peer *peer; /* NULL while there is no session. */
    struct net_meter meter;
    enum worker_lane_state state;
    bool resumable;        /* Was in, in this session. */
    bool was_in;           /* What the copy has of this lane is no longer as it began. */
    bool begun;            /* Others have let us in: the site is not at its start. */
    bool resuming;         /* Asked to go on where it was. */
    bool join_due;         /* There was no memory to ask. */
    bool leave_later;      /* It restarted while this worker left: it gets the copy before. */
    uint32_t joins_failed; /* In a row, because the lane had no memory. */
    bool reads_due;        /* Some of .requests are to be made again. */
    int64_t asked_ns;      /* When it was asked to let us in. */
    int64_t in_ns;         /* When it did. */
    uint64_t incarnation;  /* The process of the lane that did. */
    int64_t up_ns;         /* When it was reached last; at first: when we began to try. */
    uint64_t entry;        /* First clock that counts here. */
    uint64_t entry_first;  /* The one of the first time; zero: never joined. */
    uint64_t acked;        /* Last one of these whose end was acknowledged here; zero: none. */
    uint64_t acked_update; /* Last clock since .entry_first of which some update was. */
    uint64_t asked_after;  /* Frames up to this number were sent before we asked to join anew, */
    uint64_t in_after;     /* and these before we were let in: some of them were refused. */
    /* Updates of clocks from .risk_first on may be lost, since the worker joined anew and gave up
     * what was not acknowledged; UINT64_MAX: none. Those up to .risk_last are in the lane's values,
     * and lost only if it restarts before its next checkpoint. */
    uint64_t risk_first;
    uint64_t risk_last;
    uint64_t restored; /* Last clock that a lane which restarted was said to go on
                        * from, without all that it had acknowledged; UINT64_MAX: none. */
    uint64_t advanced;
    uint64_t advanced_seen[LIMIT_STREAMS_PER_PEER];
    bool advanced_any;
    uint32_t view;                        /* Of the lane's members, as last heard. */
    uint64_t members[WIRE_MEMBERS_WORDS]; /* Who they were, by rank. */
    bool members_known;
    uint64_t clock_due;  /* The end of this clock is still to be said. */
    uint64_t clock_said; /* The last one that was, in this session. */
    struct list calls;
    struct list requests; /* Reads that are not answered, in order. */
    uint32_t pulls_unacked;
    struct node_feeding feed; /* Broadcast by trees. */
    uint8_t *asked;           /* By index of the copy: what a restarted server wants of it. */
    uint32_t asked_size;
    uint32_t asked_count;
    struct loop_timer redial;
    uint64_t sent_bytes; /* In sessions that are over. */
    uint64_t received_bytes;
    char last_error[128];
};

enum node_task_kind {
    TASK_MEET,
    TASK_JOIN,
    TASK_TABLE,
    TASK_READ,
    TASK_ROWS,
    TASK_PUSH,
    TASK_CLOCK,
    TASK_LEAVE,
    TASK_SAVE,
    TASK_REPORT
};

/* An operation under way. */
struct node_op_state {
    struct list link;
    enum node_task_kind kind;
    struct node_op *op;
    uint16_t table;
    uint64_t first;
    uint64_t count;
    float *out;
    const float *in;
    const uint32_t *rows;
    uint32_t weight;
    uint32_t cursor;    /* Next chunk or place. */
    uint32_t remaining; /* Answers still to come. */
    uint32_t step;
    uint32_t failed; /* So often there was no memory for it. */
    uint64_t clock;
    struct table_schema schema;
    uint64_t lowest;
    int64_t next_ns;
};

/* One expected answer. */
struct node_request {
    struct list link;
    struct node_op_state *task; /* NULL: given up. */
    uint16_t table;
    uint32_t chunk;
    uint64_t clock;   /* For which it was asked. */
    bool due;         /* To be asked again. */
    uint32_t count;   /* Rows: how many; zero: a whole chunk. */
    uint32_t *rows;   /* Rows that were asked for, for asking again. */
    uint32_t *places; /* Where each goes in the task's list. */
};

struct node_copy {
    uint64_t version;
    uint64_t passed;   /* Trees: the last version that went on to children. */
    int64_t wanted_ns; /* Trees: it was asked for; not again before this. */
    bool have;         /* Came from a server. */
    uint32_t member_count;
    uint32_t member_capacity;
    struct wire_member *members;
};

/* Chunks that a lane said it will send when a table was opened, and those that came. */
struct node_changed {
    uint32_t due;
    uint32_t have;
};

/* What is held back of a chunk's updates. */
struct worker_residual {
    float *floats;
    bool used;       /* Something was. */
    uint64_t folded; /* The last clock whose update is in there. */
};

struct node_worker_table {
    bool open; /* All lanes know that we use it. */
    struct table_schema schema;
    struct table_schema plain; /* The same, summed: for what is collected here. */
    uint64_t *pushed;          /* By chunk: the last clock in which it was sent. */
    struct table_accum *pending;
    struct worker_residual *held; /* By chunk; NULL: updates are sent as they are. */
    uint32_t chunks;
    /* Rows that were read (pull). */
    float *cache;
    uint64_t *cache_version;      /* By row: version + 1; zero: none. */
    struct node_changed *changed; /* By lane. */
};

struct node_worker {
    struct node_worker_config config;
    struct net_endpoint *endpoint;
    struct node_site site;
    bool site_known;
    bool site_asked;
    bool begun; /* The site had members before we came. */
    uint32_t rank;
    struct worker_lane **lanes;
    uint32_t lanes_count;
    struct node_worker_table *tables[TABLE_COUNT_MAX];
    struct table_store *copy; /* Broadcast only. */
    struct node_sparsifier sparsifier;
    struct node_look look;    /* At the links that updates go on. */
    struct node_copy *copies; /* By index of the copy. */
    uint32_t copies_count;
    uint64_t cache_left;
    bool want_in;
    bool in;
    uint64_t clock;  /* Being computed. */
    uint64_t floor;  /* All clocks before this one are done with. */
    uint64_t number; /* Of the last update. */
    uint32_t next_call;
    uint64_t rebases;
    uint64_t lost_from;     /* As in node_worker_lost_from(). */
    uint64_t lost_range[2]; /* As in node_worker_lost(). */
    uint64_t refused;
    uint64_t nonfinite; /* Elements that kept their value: see node_worker_over(). */
    struct list tasks;
    struct list finished; /* Operations whose owner must be called. */
    struct list free_tasks;
    struct list free_requests;
    struct loop_task wake;
    struct loop_task progress;
    struct loop_timer poll;
    struct loop_timer more; /* A push goes on in the next turn. */
    struct list parents;    /* Trees. */
    struct list children;
    struct loop_timer feed_timer;
    char relay[NET_ADDRESS_BYTES]; /* Where we can be reached; empty: nowhere. */
    uint64_t waiting_bytes;        /* For children. */
    struct node_passed passed;     /* To children. */
    struct node_relay_counters {   /* The same; NULL: it passes nothing on. */
        struct obs_counter *frames, *bytes, *dropped;
    } relay_counters;
    float *scratch; /* One chunk of the widest table, and as many row numbers. */
    uint32_t *scratch_rows;
    uint32_t scratch_elements;
    uint32_t reserved_elements; /* Of the chunks that buffers are reserved for. */
};

/* worker.c */
void node_worker_notice(struct node_worker *w, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* @count elements of a table kept their value, because @what would have made them infinite or not a
 * number. People hear of it at the first and whenever there are twice as many. */
void node_worker_over(struct node_worker *w, const char *table, uint64_t clock, uint32_t count,
                      const char *what);
struct worker_lane *node_worker_lane_of(struct node_worker *w, uint16_t table, uint32_t chunk);
/* Something has changed: let operations go on. */
void node_worker_progress(struct node_worker *w);
/* May clock @clock be computed with what is here? */
bool node_worker_may_compute(const struct node_worker *w, uint64_t clock);

/* worker/op.c */
struct node_op_state *node_task_begin(struct node_worker *w, enum node_task_kind kind,
                                      struct node_op *op); /* NULL: no memory; op is done. */
void node_task_end(struct node_worker *w, struct node_op_state *t, enum err rc, const char *text);
void node_task_run(struct node_worker *w, struct node_op_state *t);
void node_task_table_again(struct worker_lane *k);

/* worker/lane.c */
MUST_USE enum err worker_lane_create(struct node_worker *w, uint32_t number,
                                     const struct net_address *address, struct worker_lane **out);
void worker_lane_destroy(struct worker_lane *k);
void worker_lane_up(struct worker_lane *k, bool restarted);
void worker_lane_lost(struct worker_lane *k, const char *text);
void worker_lane_out(struct worker_lane *k); /* It left us out: ask again. */
void worker_lane_join(struct worker_lane *k, bool resume);
/* Has this worker asked to leave, without an answer yet? */
bool worker_lane_is_left(const struct worker_lane *k);
/* The lane answered that this worker has left. */
void worker_lane_left(struct worker_lane *k, const json_t *answer);
bool worker_lane_is_update(const struct wire_header *header);
void worker_lane_join_due(struct worker_lane *k); /* Ask if that could not be done before. */
enum err worker_lane_frame(struct worker_lane *k, const struct net_frame *frame);
MUST_USE enum err worker_lane_call(struct worker_lane *k, uint16_t operation, json_t *fields,
                                   void (*answered)(struct node_call *call, enum err rc,
                                                    const json_t *fields,
                                                    const struct err_text *text),
                                   void *user);
MUST_USE enum err worker_lane_table(struct worker_lane *k, uint16_t id,
                                    void (*answered)(struct node_call *call, enum err rc,
                                                     const json_t *fields,
                                                     const struct err_text *text),
                                    void *user);
void worker_lane_ask_site(struct worker_lane *k);
void worker_lane_hurry(struct worker_lane *k);
json_t *worker_lane_tables(const struct node_worker *w); /* Those that this worker has. */
void worker_lane_call_due(struct worker_lane *k);        /* Make calls that could not be made. */
void worker_lane_say_clock(struct worker_lane *k, uint64_t clock);
bool worker_lane_clock_said(struct worker_lane *k); /* What was to be said is. */

/* worker/table.c */
/* ERR_EXISTS, ERR_NOMEM; @text says what to do. */
MUST_USE enum err node_worker_open(struct node_worker *w, uint16_t id,
                                   const struct table_schema *schema, struct err_text *text);
void node_worker_close_tables(struct node_worker *w);
/* Forget a table that could not be opened at all lanes. NULL tables are allowed. */
void node_worker_forget(struct node_worker *w, uint16_t id);

/* worker/copy.c */
enum err node_copy_broadcast(struct worker_lane *k, const struct net_frame *frame);
enum err node_copy_snapshot(struct worker_lane *k, const struct net_frame *frame);
enum err node_copy_asked(struct worker_lane *k, const struct net_frame *frame);
void node_copy_offer(struct worker_lane *k);
void node_copy_flush(struct worker_lane *k);
void node_copy_forget_asked(struct worker_lane *k);
uint32_t node_copy_offers(struct worker_lane *k);
void node_copy_reset(struct worker_lane *k, bool same);
void node_copy_forget_rows(struct worker_lane *k); /* What is cached of them. */

/* Chunks of the copy from @first on, @count of them, are no more: those behind move down. */
void node_copy_shift(struct worker_lane *k, uint32_t first, uint32_t count);
void node_feed_shift(struct worker_lane *k, uint32_t first, uint32_t count);

/* worker/feed.c: broadcast by trees, as a child. */
bool node_feed_tree(const struct node_worker *w);
enum err node_feed_parent(struct worker_lane *k, const struct net_frame *frame);
enum err node_feed_due(struct worker_lane *k, const struct net_frame *frame);
void node_feed_parent_up(struct node_parent *p);
void node_feed_parent_down(struct node_parent *p, bool lost);
enum err node_feed_parent_frame(struct node_parent *p, const struct net_frame *frame);
void node_feed_told(struct worker_lane *k, uint64_t clock); /* The lane says where it is. */
void node_feed_progress(struct worker_lane *k);             /* Something has come. */
void node_feed_gap(struct worker_lane *k, uint32_t index);  /* Something has not. */
void node_feed_reset(struct worker_lane *k);
void node_feed_close(struct node_worker *w);
void node_feed_timer(struct loop_timer *timer, void *user);

/* worker/relay.c: and as a parent. */
MUST_USE enum err node_relay_listen(struct node_worker *w);
MUST_USE enum err node_relay_came(struct node_worker *w, struct net_peer *peer);
void node_relay_gone(struct node_child *c);
void node_relay_close(struct node_worker *w);
enum err node_relay_frame(struct node_child *c, const struct net_frame *frame);
void node_relay_flush(struct node_child *c);
void node_relay_flush_all(struct node_worker *w);
/* What has come goes on to all children in the lane's tree. */
void node_relay_pass(struct worker_lane *k, const struct net_frame *frame);
bool node_relay_busy(const struct node_worker *w);

/* worker/read.c */
void node_read_run(struct node_worker *w, struct node_op_state *t);
enum err node_read_values(struct worker_lane *k, const struct net_frame *frame);
enum err node_read_rows(struct worker_lane *k, const struct net_frame *frame);
void node_read_again(struct worker_lane *k);
void node_read_due(struct worker_lane *k); /* Ask again what could not be asked before. */
void node_read_forget(struct node_worker *w, struct node_op_state *t);
void node_read_cancel(struct node_worker *w); /* Those that are under way. */
void node_read_free(struct node_worker *w);

/* worker/push.c */
/* A lane that does not count this clock gets nothing of it. */
bool node_push_counts(const struct node_worker *w, const struct worker_lane *k);
struct wire_push node_push_about(struct node_worker *w, uint16_t table, uint32_t chunk,
                                 uint32_t bytes, uint32_t weight); /* Takes the next number. */
void node_push_run(struct node_worker *w, struct node_op_state *t);
bool node_push_rest(struct node_worker *w, struct node_op_state *t); /* All of it, if it fits. */
MUST_USE enum err node_push_flush(struct node_worker *w, uint32_t weight); /* ERR_AGAIN: no room. */

/* worker/sparsify.c: the same where updates are sparsified. */
MUST_USE enum err node_worker_sparsify(struct node_worker *w, uint16_t table, uint32_t chunk,
                                       const float *update, uint32_t weight);
MUST_USE enum err node_worker_sparsify_flush(struct node_worker *w, uint32_t weight);
MUST_USE enum err node_worker_flush_residuals(struct node_worker *w); /* All that is held back. */
bool node_worker_has_residuals(const struct node_worker *w);          /* Is there any? */
MUST_USE enum err node_worker_sparsify_start(struct node_worker *w);

#endif
