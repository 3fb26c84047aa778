/* What a lane consists of; for node/lane*.c only. */

#ifndef NODE_LANE_STATE_H
#define NODE_LANE_STATE_H

#include "base/buf.h"
#include "base/list.h"
#include "base/log.h"
#include "loop/loop.h"
#include "net/session/endpoint.h"
#include "node/central/central.h"
#include "node/control.h"
#include "node/counters.h"
#include "node/lane/lane.h"
#include "node/mirror/mirror.h"
#include "node/site/remote.h"
#include "node/sparsify/look.h"
#include "node/sparsify/sparsify.h"
#include "node/worker/worker.h"
#include "store/manifest.h"
#include "sync/feeding.h"
#include "table/accum.h"
#include "table/chunk.h"
#include "wire/members.h"

enum {
    NODE_GRACE_MS = 3000,
    NODE_RESTORE_MS = 5000,
    NODE_RETRY_MS = 2,
    NODE_TELL_MS = 200, /* Until the first lane is told again. */
    NODE_IN_FLIGHT_PER_WORKER_MB = 128,
    NODE_NAMES_MAX = SYNC_MEMBERS_MAX,
    NODE_CLAIMS_PER_BLOCK = 64,
    NODE_SUM_BYTES = LIMIT_CHUNK_BYTES + 4096, /* A buffer for the sum of a chunk. */
    NODE_SAVES_MAX = 4,                        /* Asked for by one session and not answered. */
    NODE_CLAIM_BLOCKS = LIMIT_WINDOW_FRAMES / NODE_CLAIMS_PER_BLOCK,
};

/* When an update is acknowledged, after which its worker forgets it. */
enum node_ack {
    NODE_ACK_TAKEN,  /* At once: a server that dies takes the run with it. */
    NODE_ACK_COPIED, /* When some worker has the sum in its copy. */
    NODE_ACK_STORED, /* When a checkpoint holds it. */
};

enum node_session_state {
    NODE_NEW,   /* Has not asked to join: what it sends waits. */
    NODE_ASKED, /* Waits to be let in; so does what it sends. */
    NODE_IN,    /* A member. */
    NODE_OUT,   /* Left, or was left out: what it sends is refused. */
};

/* An update (or the end of a clock) that is taken but not acknowledged yet. */
struct node_claim {
    struct list link;
    struct node_session *session;
    uint64_t sequence;
    uint64_t clock;
    uint32_t chunk; /* Index; TABLE_STORE_NONE: the end of a clock. */
};

/* Somebody waits for a checkpoint that has all that it had sent when it asked. */
struct node_save_call {
    uint32_t call;
    uint16_t operation; /* That is answered then. */
    uint64_t number;    /* The first checkpoint that will do. */
};

struct node_deferred_frame {
    struct wire_header header;
    struct buf *body; /* NULL: empty. */
};

/* What came on one stream and has to wait, in its order: a ring. */
struct node_inbox {
    struct node_deferred_frame *held;
    uint32_t first;
    uint32_t count;
    uint32_t capacity; /* Zero or a power of two. */
    uint32_t cursor;   /* How far the pull at the head is answered. */
};

/* What came in and is being looked at. */
struct node_item {
    const struct wire_header *header;
    const uint8_t *body;
    const struct net_frame *frame; /* NULL: it was held, in .held. */
    struct buf *held;
    uint32_t *cursor; /* Pulls: how far this one is answered. */
};

struct node_session {
    struct list link;
    struct node_lane *lane;
    struct net_peer *peer;
    struct net_meter meter;
    enum node_session_state state;
    uint32_t rank; /* NODE_RANK_ANY: none. */
    bool resumed;  /* It is in, and went on where it was. */
    bool resuming; /* Asked to go on where it was, after a restart of ours. */
    uint64_t resume_clock;
    uint64_t resume_entry; /* First clock that it has anything for. */
    uint32_t offers_due;   /* Chunks whose versions it will still offer. */
    uint64_t *offered;     /* The versions it has, by chunk; NULL: none. */
    uint32_t offered_count;
    uint64_t nonfinite; /* Elements of its filtered updates that a sum could not take. */
    bool told;          /* That it is out. */
    bool left_in;       /* It was a member until it left by itself. */
    bool again;         /* It was a member before: its copy is not as it began. */
    uint64_t wants[TABLE_COUNT_MAX / 64]; /* Tables that it keeps a copy of. */
    uint64_t uses[TABLE_COUNT_MAX / 64];  /* Tables that it has named. */
    uint64_t since; /* Frames with smaller numbers belong to an earlier membership. If it wanted to
                     * go on and could not, all do: it will ask again as a new one. */
    uint32_t view_joined; /* The first that it is in. */
    uint32_t view_known;  /* That it has heard of. */
    uint32_t join_call;
    uint32_t site_call;
    char relay[NET_ADDRESS_BYTES];  /* Where other workers reach it; empty: they cannot. */
    char agg[LIMIT_NAME_BYTES + 1]; /* Where it is, for trees; empty: not said. */
    char edge[LIMIT_NAME_BYTES + 1];
    bool parent_due;       /* It is still to be told who feeds it. */
    uint64_t stamp_told;   /* It knows what is due up to this sum. */
    uint64_t window_bytes; /* That it may have unacknowledged here. */
    struct node_save_call saves[NODE_SAVES_MAX];
    uint32_t saves_count;

    struct node_inbox inboxes[LIMIT_STREAMS_PER_PEER];
    uint32_t held_count; /* In all of them. */

    uint64_t clock_seen[LIMIT_STREAMS_PER_PEER];
    struct node_gate gate; /* Whether it waits for other sites. */

    uint64_t *dirty; /* One bit per chunk that it must get whole. */
    uint32_t dirty_words;
    uint32_t dirty_count;
    bool advance_due;

    struct node_claim *claims[NODE_CLAIM_BLOCKS]; /* By sequence, in blocks; NULL: none there. */
    uint32_t notices;    /* Of refused frames, not acknowledged by the worker. */
    struct list refused; /* Claims of frames that wait for that. */
    uint64_t unacked_frames;
    uint64_t unacked_bytes; /* At most: sparse updates are counted as whole chunks. */
};

struct node_chunk {
    struct table_accum accum;
    struct list open;   /* Claims whose updates are in the sum. */
    struct list closed; /* Claims whose updates are in the values. */
    uint64_t closed_version;
    uint64_t copied;    /* A version that .copied_by has, of whom not all have heard; zero: none. */
    uint32_t copied_by; /* A rank, */
    uint32_t copied_view; /* and .view_joined of its session. */
    float *residual;      /* Of sums, what is held back; NULL: nothing ever is. */
    bool residual_used;
    uint64_t sent_version; /* Trees: of the last sum that went out, ... */
    uint64_t stamp;        /* ... and its number among all of the lane. */
    bool changed;          /* Not as the table's init made it. */
};

/* What a restarted lane knows of a chunk before its members are back. */
struct node_restored {
    uint64_t version;          /* Of the values that we have. */
    uint64_t best;             /* The newest that a worker has offered. */
    struct node_session *from; /* Whose copy is asked for; NULL: nobody's. */
    uint32_t wanted;           /* Frames still to come from there. */
    struct buf *state;         /* Its state, until the values come too. */
};

struct node_name {
    bool used;
    char name[LIMIT_NAME_BYTES + 1];
    struct node_report_state {
        uint64_t clock;
        uint64_t evaluated; /* Clock of the evaluation; zero: none. */
        double loss_sum, samples;
        double objective_sum, objective_count, correct, tested;
        bool sparsifies; /* The next is known. */
        struct node_sparsify_state sparsified;
        bool passes; /* The next is known. */
        struct node_passed passed;
    } report;
};

enum { NODE_BLAMES = 4 };

/* A member whose session was ended because it broke the rules. */
struct node_blame {
    struct pki_identity who;
    int64_t at_ns;  /* The last time. */
    uint64_t times; /* Zero: a free place. */
    char text[LIMIT_REASON_BYTES];
};

struct node_lane {
    struct node_lane_config config;
    enum node_ack ack;
    struct buf_pool *pool;
    uint64_t in_flight_bytes; /* Of the pool beside the sums. */
    uint64_t coming_bytes;    /* Of these for what comes from workers. */
    uint32_t sums_count;      /* Chunks that have a sum. */
    uint32_t view;            /* Another number whenever a member comes. */
    bool copies_wait;         /* Some chunk has .copied. */
    struct net_endpoint *endpoint;
    struct net_address address;
    struct net_peer *first;    /* Session with lane 0, if this server has another first lane. */
    struct node_place *places; /* What it is told. */
    uint32_t places_count;
    struct loop_timer tell;
    struct node_counters counters;
    struct table_store *tables;
    uint64_t table_bytes; /* That they need, with all that is kept for each element. */
    uint16_t next_table;
    struct sync sync;
    struct node_sparsifier sparsifier;
    struct feeding feeding;
    struct loop_timer tree_timer;
    uint64_t sums_sent;                         /* Trees: all of them, counted. */
    bool treeless;                              /* The last one could not be made. */
    struct node_look look;                      /* At the links that sums go on. */
    struct node_mirror *mirror;                 /* Other sites, mirrors of each other; */
    struct node_central *central;               /* or around a centre; */
    struct node_remote_sites *remotes;          /* their sessions. NULL: there is one site. */
    struct node_chunk **chunks;                 /* By index; they stay where they are. */
    struct node_chunk *blocks[TABLE_COUNT_MAX]; /* The chunks of each table. */
    uint32_t chunks_count;
    struct list sessions;
    struct node_session *by_rank[SYNC_MEMBERS_MAX];
    uint32_t held_frames;
    struct loop_task drain;
    struct loop_timer deadline;
    struct loop_timer retry;
    float *scratch; /* One chunk of the widest table. */
    uint32_t scratch_elements;
    bool shut;
    bool anew;            /* It began with nothing. */
    bool begun_elsewhere; /* Lane 0: another one has had members already. */
    bool fresh;           /* Nobody has been a member yet. */

    /* Lane 0. */
    char (*lanes)[NET_ADDRESS_BYTES];
    uint32_t lanes_known;
    struct node_name *names; /* By rank. */
    uint64_t stop_clock;
    uint64_t evaluated;
    double objective, accuracy, loss;

    /* Checkpoints. */
    struct checkpoint_writer *writer;
    bool saving;
    bool save_again;
    enum err save_rc;
    uint32_t save_shard;  /* Of the site. */
    uint32_t save_chunk;  /* Next index. */
    uint32_t save_count;  /* Chunks of the tables that its description knows. */
    uint64_t save_number; /* Of the last one that was begun, complete or not. */
    uint64_t save_clock;
    uint64_t saved_clock; /* Of the last complete one. */
    uint64_t history;     /* As in node/lane/history.h; 0: not known. */
    bool history_found;   /* A manifest in the store had it. */
    bool gave_up;         /* The operator did not want the newest of them. */
    bool refused;         /* It must not serve what it has. */
    bool restores;        /* It starts from its checkpoints. */
    void (*history_begun)(enum err rc, void *user);
    void *history_user;
    struct manifest manifest;      /* As last written, or as it would be written first. */
    bool manifest_there;           /* In the store. */
    struct manifest manifest_next; /* Being written. */
    uint32_t save_failures;        /* In a row. */
    int64_t save_failing_ns;       /* When the first of them was. */
    char save_fault[128];          /* Why the last one was. */
    struct loop_timer save_pause;  /* Until the next attempt. */
    struct list clock_claims;      /* Ends of clocks that no checkpoint holds yet. */
    struct list saving_claims;
    struct loop_timer save_timer;
    struct node_saving {
        void (*done)(enum err rc, void *user);
        void *user;
        uint64_t number; /* The first checkpoint that will do. */
    } save_waiting[8];
    uint32_t save_waiting_count;

    /* After a restart. */
    bool restoring;
    uint64_t restored_number;                 /* Of the checkpoint; 0: there was none. */
    uint64_t restored_clock;                  /* All that is up to here is in, */
    uint64_t resumed_clock;                   /* with what workers' copies had. */
    bool resumed_less;                        /* Some copy may have had more, and did not come. */
    uint32_t restored_members;                /* So many must come back at least. */
    uint64_t expected[SYNC_MEMBERS_MAX / 64]; /* And these, as those who are back know. */
    uint64_t holders[SYNC_MEMBERS_MAX / 64];  /* Who came back with a copy, and lives. */
    bool roster;                              /* The checkpoint says who was in. */
    bool patience_long;                       /* They get the time of a deadline. */
    int64_t patience_until_ns;                /* 0: it is over. */
    bool patience_idle;                       /* It begins when somebody comes. */
    bool patience_over;
    bool copyless; /* Those who have copies do not answer: there is nothing to go on from. */
    uint64_t restored_incarnation[SYNC_MEMBERS_MAX];
    /* By rank: the process that asked to join last, and the last of its clocks whose updates are
     * all in; zero: none is known. */
    struct {
        uint64_t incarnation;
        uint64_t clock;
    } counted[SYNC_MEMBERS_MAX];
    struct node_restored *restored;
    uint64_t *contained; /* By chunk and rank. */
    uint32_t restored_count;
    bool fetching;
    bool fetch_due; /* There was no room to ask for all of it. */
    struct loop_timer restore_timer;
    char broken[256];

    struct node_blame blames[NODE_BLAMES];
};

/* lane.c */
/* May anybody be admitted? Lane 0 waits for what the site's other servers say of themselves. */
bool node_lane_admits(const struct node_lane *l);
/* It restarts, so the site had begun: tell the first lane, which may have restarted too. */
void node_lane_say_begun(struct node_lane *l);
/* Its parameters do not belong to those that are served elsewhere (I11): tell the owner. */
void node_lane_refuse(struct node_lane *l, const char *text);
void node_lane_trace(struct node_lane *l, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The number of this process among those of its site's lane: later ones have higher ones. */
uint64_t node_lane_life(const struct node_lane *l);

/* lane/table.c */
/* Make room in all that is kept by chunk, and take from the system all that the table will ever
 * need. ERR_TOO_BIG: it would exceed the operator's limit; ERR_NOMEM. Nothing has changed then, and
 * @text says how much is needed and what to do. */
MUST_USE enum err node_lane_add_table(struct node_lane *l, uint16_t id,
                                      const struct table_schema *schema, struct err_text *text);
/* Remove a table that exists and give its memory back: its updates are acknowledged, and larger
 * indices of chunks move down. Of a site without others, and neither while a checkpoint is being
 * written nor while the lane is being restored. */
void node_lane_drop_table(struct node_lane *l, uint16_t id);

/* session.c */
MUST_USE enum err node_session_open(struct node_lane *l, struct net_peer *peer);
void node_session_close(struct node_session *s); /* It is lost. */
void node_session_free(struct node_session *s);
MUST_USE enum err node_session_take(struct node_session *s, const struct net_frame *frame);
void node_session_drain(struct node_session *s);
const struct wire_header *node_session_head(const struct node_session *s); /* First that waits. */
bool node_session_is_worker(const struct node_session *s);

/* take.c: what each type of frame does. OK: dealt with; ERR_AGAIN: must wait; else the peer broke
 * the protocol or there is no memory. */
MUST_USE enum err node_take_item(struct node_session *s, const struct node_item *item);
MUST_USE enum err node_take_restore(struct node_session *s, const struct net_frame *frame);

/* exec.c: feed the sync machine and do what it says. */
struct node_payload {
    const float *values;
    struct buf *own;                  /* Dense: may become the sum; taken over by a take. */
    const struct codec_plain *packed; /* Sparsified; .values is NULL. */
    const void *rows;                 /* Sparse: row numbers. */
    uint32_t row_count;
    uint32_t weight;
    struct node_session *session;
    uint64_t sequence;
};
MUST_USE enum err node_exec(struct node_lane *l, struct sync_event *event,
                            struct node_payload *payload, struct sync_action *verdict_out);
void node_exec_leave(struct node_lane *l, uint32_t rank);

/* claim.c */
/* Chunks from @first on, @count of them, are no more: their claims are settled already. */
void node_claim_shift(struct node_session *s, uint32_t first, uint32_t count);
/* Room for the claim of a frame: before it is made. ERR_NOMEM. */
MUST_USE enum err node_claim_room(struct node_session *s, uint64_t sequence);
void node_claim_make(struct node_session *s, uint64_t sequence, uint32_t chunk, uint64_t clock,
                     struct list *list);
void node_claim_settle(struct list *claims); /* Acknowledge all of them. */
void node_claim_acknowledge(struct node_session *s, uint64_t sequence, uint32_t chunk,
                            uint64_t clock);      /* At once. */
void node_claim_drop_all(struct node_session *s); /* And give their room back. */

/* copied.c: what is safe in workers' copies. */
void node_copied_acked(struct node_session *s, const struct wire_header *header);
void node_copied_joined(struct node_session *s);
/* A member that passed sums on to others is gone: those may have what it did not acknowledge. */
void node_copied_parent_gone(struct node_lane *l, uint32_t rank);
void node_copied_look(struct node_lane *l); /* After somebody has gone. */
void node_copied_members(const struct node_lane *l, uint64_t *members); /* Bits by rank. */

/* room.c */
void node_room_open(struct node_session *s);
void node_room_close(struct node_session *s);
MUST_USE bool node_room_spare(struct node_lane *l); /* For what goes out. */

/* deliver.c */
void node_deliver_close(struct node_lane *l, uint32_t chunk, uint64_t version);
void node_deliver_advance(struct node_lane *l);
void node_deliver_flush(struct node_session *s); /* Chunks it must get whole, then where we are. */
/* Chunks that have changed, or also those that have not. */
void node_deliver_all_dirty(struct node_session *s, bool unchanged);
void node_deliver_mark(struct node_session *s, uint32_t chunk, bool dirty);
MUST_USE enum err node_deliver_late(struct node_session *s, const struct wire_header *about,
                                    int reason, uint64_t open_clock);
void node_deliver_late_acked(struct node_session *s);

/* Whose updates are in the chunk, in the order of ranks. Returns how many. */
uint32_t node_deliver_members(struct node_lane *l, uint32_t chunk, struct wire_member *members);
/* The body of a broadcast to everybody, or a mark where there is no room for it. */
void node_deliver_to_all(struct node_lane *l, uint32_t chunk, const struct wire_header *header,
                         struct buf *body);
void node_deliver_all_marked(struct node_lane *l, uint32_t chunk,
                             uint64_t version); /* Whole, to everybody. */

/* deliver_sparsified.c: the round's update enters the values and goes out. False: there is none. */
bool node_deliver_sparsified(struct node_lane *l, uint32_t chunk, uint64_t version);
MUST_USE enum err node_deliver_begin(struct node_lane *l); /* If there is anything to sparsify. */
bool node_deliver_wanted(const struct node_session *s);    /* Sums go to it. */

/* lane/tree.c: broadcast trees. */
bool node_tree_on(const struct node_lane *l);
/* Does the lane send sums to it itself? */
bool node_tree_direct(const struct node_session *s);
void node_tree_joined(struct node_session *s);
void node_tree_gone(struct node_lane *l, uint32_t rank);
void node_tree_plan(struct node_lane *l);
struct json_t *node_tree_status(const struct node_lane *l);
/* A sum goes out. Returns how many rounds back the one before it was. */
uint32_t node_tree_sent(struct node_lane *l, uint32_t chunk, uint64_t version);
MUST_USE enum err node_tree_due(struct node_session *s); /* Tell it what must come. */
void node_tree_flush(struct node_session *s);            /* What could not be told before. */
MUST_USE enum err node_tree_frame(struct node_session *s, const struct net_frame *frame);
MUST_USE enum err node_tree_want(struct node_session *s, const struct net_frame *frame);

/* blame.c: who broke the rules. */
void node_blame_add(struct node_lane *l, const struct pki_identity *who, const char *text);
json_t *node_blame_status(const struct node_lane *l); /* NULL: nobody. */

/* operate.c: control operations. */
/* May @peer ask for @operation? If not, it is counted and @peer is told why. ERR_PEER: it wanted no
 * answer; else as net_peer_send(). */
MUST_USE enum err node_operate_permitted(struct node_lane *l, struct net_peer *peer,
                                         uint16_t operation, uint32_t call, bool *permitted_out);
MUST_USE enum err node_operate(struct node_session *s, const struct net_frame *frame);
void node_operate_admitted(struct node_session *s, uint64_t clock, bool resumed);
void node_operate_saved(struct node_lane *l, enum err rc);
/* Lane 0: @number is at @address. */
void node_operate_lane(struct node_lane *l, uint32_t number, const char *address);
void node_operate_newcomers(struct node_lane *l); /* Let those in who waited for a restore. */
json_t *node_operate_tables(struct node_lane *l);
json_t *node_operate_site(struct node_lane *l); /* What the site is, and where. */
/* Send an answer; @fields is released. */
MUST_USE enum err node_operate_answer(struct node_session *s, uint16_t operation, uint32_t call,
                                      json_t *fields);
/* Make a checkpoint and answer @operation when it is durable; .saves has room. */
void node_operate_save(struct node_session *s, uint16_t operation, uint32_t call);

/* operate_table.c: those about tables. */
MUST_USE enum err node_operate_table(struct node_session *s, uint32_t call, const json_t *fields);
MUST_USE enum err node_operate_drop(struct node_session *s, uint32_t call, const json_t *fields);
/* The tables that a worker has: made here if they are not known. */
MUST_USE enum err node_operate_tables_of(struct node_session *s, const json_t *tables,
                                         struct err_text *text);

/* keep.c: checkpoints. */
void node_keep_start(struct node_lane *l);
void node_keep_wanted(struct node_lane *l); /* The same, but not while a failed one pauses. */
void node_keep_asked(struct node_lane *l);  /* If somebody asked while there was nothing to keep. */
void node_keep_init(struct node_lane *l);
MUST_USE enum err node_keep_open(struct node_lane *l);
void node_keep_deinit(struct node_lane *l);
bool node_keep_due(const struct node_lane *l);

/* restore_load.c */
MUST_USE enum err node_restore_load(struct node_lane *l, struct err_text *text);
/* Not from its checkpoints, but new ones must not get the names of those. */
MUST_USE enum err node_restore_skip(struct node_lane *l, struct err_text *text);

/* restore.c */
MUST_USE enum err node_restore_room(struct node_lane *l); /* For all chunks. */
MUST_USE enum err node_restore_begin(struct node_lane *l);
void node_restore_expected(struct node_lane *l); /* Somebody knew an earlier life of the lane. */
void node_restore_look(struct node_lane *l);     /* Somebody came, offered or left. */
/* A worker asks to join, and goes on where it was or not. */
void node_restore_holder(struct node_lane *l, uint32_t rank, bool resuming);
void node_restore_joined(struct node_lane *l); /* A worker asks to be let in. */
void node_restore_end(struct node_lane *l);
void node_restore_tell(const struct node_lane *l); /* A witness, of what the lane has now. */
void node_restore_forget(struct node_lane *l);

static inline struct node_lane *node_lane_of(void *user)
{
    return user;
}

static inline bool node_wants(const struct node_session *s, uint16_t table)
{
    return (s->wants[table / 64] >> (table % 64) & 1) != 0;
}

static inline bool node_dirty(const struct node_session *s, uint32_t chunk)
{
    return chunk / 64 < s->dirty_words && (s->dirty[chunk / 64] >> (chunk % 64) & 1) != 0;
}

#endif
