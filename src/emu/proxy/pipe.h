/* One direction of a link: bytes of several flows go in at one end, share the rate fairly, and come
 * out at the other end a delay later. A pure machine: no socket, no clock, no thread. It counts
 * bytes and says when; who has the bytes moves them.
 *
 *     source --want--> [turn: n bytes] --sent--> ... on the way ... --arrival--> taken by the sink
 *
 * Serving. Of the flows whose source has something, the one that has sent least gets a turn, of a
 * quantum at most. A piece of n bytes occupies the link for n / rate, exactly: what is left of a
 * nanosecond is carried on. A link that was idle begins at once; one that had something to do but
 * was looked after too late catches up, for a few milliseconds at most. A flow with a cap stands
 * aside while it is ahead of that, so the others get the rest: max-min fair.
 *
 * On the way. A piece is due when its last byte has been sent, and the delay and its share of the
 * jitter have passed; but never before what its flow sent earlier. Marks (the opening and the end
 * of a connection) travel among the pieces and weigh nothing.
 *
 * Back-pressure. What a flow has on the way is limited by a window. Beyond it the flow is not
 * served: if the sink takes nothing, the source feels it.
 *
 * Time never goes back. Memory is taken by create, add and turn only. One thread. */

#ifndef EMU_PROXY_PIPE_H
#define EMU_PROXY_PIPE_H

#include "base/err.h"
#include "base/heap.h"
#include "base/list.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    EMU_QUANTUM_BYTES_MIN = 1500,
    EMU_QUANTUM_BYTES_MAX = 64 * 1024,
    EMU_WINDOW_BYTES_MIN = 256 * 1024,
    EMU_WINDOW_BYTES_MAX = 128 * 1024 * 1024,
    EMU_PIECES_MAX = 16 * 1024, /* On the way in one flow. */
    EMU_FLOWS_LIMIT = 1 << 16,  /* No pipe has more at once. */
};

#define EMU_NEVER INT64_MAX
#define EMU_RATE_MAX (UINT64_C(1) << 38)              /* Bytes per second: 2.2 Tbit/s. */
#define EMU_DELAY_MAX_NS (INT64_C(3600) * 1000000000) /* Of delay and jitter, each. */
#define EMU_CATCH_UP_NS (INT64_C(5) * 1000000)        /* How late a look may be made good. */
#define EMU_GRAIN_NS (INT64_C(500) * 1000)            /* A shorter gap of a source is none. */
#define EMU_AHEAD_NS (INT64_C(1) * 1000000)           /* So early a turn may be taken. */

struct emu_shape {
    uint64_t bytes_per_s;        /* Zero: no limit. */
    uint64_t stream_bytes_per_s; /* Of each flow; zero: no limit but that of the link. */
    int64_t delay_ns;            /* From one end to the other. */
    int64_t jitter_ns;           /* On top: from zero to this, anew for each piece. */
};

/* ERR_INVALID with @text if a figure is beyond the limits above. */
MUST_USE enum err emu_shape_check(const struct emu_shape *shape, struct err_text *text);

/* What travels. */
enum emu_kind {
    EMU_DATA,
    EMU_OPEN,  /* The two packets that open a connection, one each way. */
    EMU_FIN,   /* Nothing more follows. */
    EMU_RESET, /* The same, and the other direction is over too. */
};

struct emu_piece {
    int64_t due_ns;
    uint32_t bytes;
    uint8_t kind;
};

/* A line that is busy until a time: whole nanoseconds, and the rest in parts of the rate. */
struct emu_busy {
    int64_t until_ns;
    uint64_t rest;
};

/* Embedded in its owner; fields but .user are private to emu/proxy/pipe.c. */
struct emu_flow {
    void *user;
    struct list all;
    struct heap_node ready;   /* Waits for its turn. */
    struct heap_node held;    /* Waits until it may have one. */
    struct heap_node due;     /* By its first piece. */
    struct emu_piece *pieces; /* A circle. */
    uint32_t pieces_room;     /* A power of two. */
    uint32_t pieces_first;
    uint32_t pieces_count;
    uint32_t pieces_seen; /* The first so many have been offered. */
    uint64_t queued_bytes;
    int64_t tag; /* What it has sent, since a beginning that all share. */
    uint64_t cap_bytes_per_s;
    struct emu_busy cap;
    struct emu_busy drain;
    int64_t held_ns; /* Not before this: there was no memory. */
    int64_t ready_ns;
    int64_t emptied_ns;
    int64_t last_due_ns;
    bool wants;
    bool turn;     /* Has been given one, and has not said what came of it. */
    bool offering; /* Has been given an arrival, likewise. */
    bool blocked;  /* The sink takes nothing now. */
    bool stalled;
};

struct emu_pipe;

struct emu_pipe_stats {
    uint64_t sent_bytes;  /* Taken from the sources. */
    uint64_t taken_bytes; /* By the sinks. */
    uint64_t queued_bytes;
    uint64_t pieces;
    int64_t busy_ns;     /* How long the link was sending, up to what it is about to finish. */
    uint64_t late_count; /* Pieces that a sink was ready for when they were due. */
    int64_t late_sum_ns; /* How much later they were offered. */
    int64_t late_max_ns;
};

/* A pipe for at most @flows_max flows at once; the jitter is drawn from @seed. The shape has been
 * checked. */
MUST_USE enum err emu_pipe_create(const struct emu_shape *shape, uint32_t flows_max, uint64_t seed,
                                  struct emu_pipe **pipe_out);

/* Its flows have been removed. NULL is allowed. */
void emu_pipe_destroy(struct emu_pipe *p);

/* From @now_ns on; what is on the way stays as it is, but for the piece that is being sent: the
 * rest of it goes at the new rate. */
void emu_pipe_reshape(struct emu_pipe *p, const struct emu_shape *shape, int64_t now_ns);
const struct emu_shape *emu_pipe_shape(const struct emu_pipe *p);

/* Cut: time stands still in here. Nothing is served, nothing arrives, and what is on the way has
 * the same way before it when the cut is healed. */
void emu_pipe_cut(struct emu_pipe *p, bool cut, int64_t now_ns);

/* Stall: nothing is served, of all flows or of one; what is on the way arrives. */
void emu_pipe_stall(struct emu_pipe *p, bool stalled);
void emu_flow_stall(struct emu_pipe *p, struct emu_flow *f, bool stalled);

/* Drain: each sink takes at most so much; zero: what it wants. */
void emu_pipe_drain(struct emu_pipe *p, uint64_t bytes_per_s, int64_t now_ns);

/* Add an idle flow with a cap of its own beside that of the shape (zero: none). ERR_TOO_BIG at the
 * limit. */
MUST_USE enum err emu_flow_add(struct emu_pipe *p, struct emu_flow *f, uint64_t cap_bytes_per_s,
                               void *user);

/* What it has on the way is forgotten. A zeroed flow is allowed. */
void emu_flow_remove(struct emu_pipe *p, struct emu_flow *f);

/* The source has something: it gets a turn in due course. */
void emu_flow_want(struct emu_pipe *p, struct emu_flow *f, int64_t now_ns);
bool emu_flow_wants(const struct emu_flow *f);

/* Whose turn is it, and how much may it send? NULL: nobody's now. emu_flow_sent() must follow. */
struct emu_flow *emu_pipe_turn(struct emu_pipe *p, int64_t now_ns, uint32_t *bytes_out);

/* It sent @bytes, perhaps none. @more: the source has more, and is in line again; if it sent
 * nothing all the same, not at once. */
void emu_flow_sent(struct emu_pipe *p, struct emu_flow *f, uint32_t bytes, bool more,
                   int64_t now_ns);

/* A mark follows what the flow has sent. At most EMU_MARKS_MAX in a flow's life. */
enum { EMU_MARKS_MAX = 3 };
void emu_flow_mark(struct emu_pipe *p, struct emu_flow *f, enum emu_kind kind, int64_t now_ns);

/* What has arrived by now, of one flow: a mark, which is then gone from the pipe; or bytes, of
 * which emu_flow_taken() must say how many the sink took. NULL: nothing. */
struct emu_arrival {
    enum emu_kind kind;
    uint64_t bytes;
};
struct emu_flow *emu_pipe_arrival(struct emu_pipe *p, int64_t now_ns, struct emu_arrival *out);

/* @blocked: the sink takes no more until emu_flow_unblock(). */
void emu_flow_taken(struct emu_pipe *p, struct emu_flow *f, uint64_t bytes, bool blocked,
                    int64_t now_ns);
void emu_flow_unblock(struct emu_pipe *p, struct emu_flow *f, int64_t now_ns);
bool emu_flow_blocked(const struct emu_flow *f);

/* When to ask for turns and arrivals again, if nothing else happens; EMU_NEVER: not at all. */
int64_t emu_pipe_next_ns(const struct emu_pipe *p);

/* The most that one turn gives, and the most that one flow may have on the way, without caps. */
uint32_t emu_pipe_quantum(const struct emu_pipe *p);
uint64_t emu_pipe_window(const struct emu_pipe *p);

void emu_pipe_stats(const struct emu_pipe *p, struct emu_pipe_stats *out);

#endif
