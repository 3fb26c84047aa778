/* A simulated connection: two ends and a pipe each way. For sim/net/tube.c and sim/net/stream.c
 * only.
 *
 *     pipe:  read r <= arrived a <= transmitted t <= written w,   w - acked k <= window
 *
 * Bytes live in one ring from the write to the read; the positions say where they are. */

#ifndef SIM_NET_TUBE_H
#define SIM_NET_TUBE_H

#include "net/stream/stream.h"
#include "sim/net/stream.h"
#include "sim/world_state.h"

enum {
    SIM_WINDOW_BYTES = 1024 * 1024, /* Send and receive buffer together. */
    SIM_RING_FIRST = 1024,
    SIM_SEGMENTS_FIRST = 16,
    SIM_SEGMENTS_MAX = 65536, /* Under way in one pipe. */
    SIM_ACKS_MAX = 64,
    SIM_PIECES_PER_S = 10,      /* A link that is busy delivers at least so often, once a second */
    SIM_PIECE_MIN = 1500,       /* to each connection on it, but not less than this, */
    SIM_PIECE_MAX = 256 * 1024, /* and not more, at a time. */
    SIM_FIN_BYTES = 1,          /* What the end of a stream weighs on the links. */
};

struct sim_segment {
    uint32_t bytes;
    bool fin;
    int64_t arrive_ns; /* Once transmitted. */
};

struct sim_ack {
    uint64_t position;
    int64_t arrive_ns;
};

struct sim_tube;

struct sim_pipe {
    struct sim_tube *tube;
    uint8_t from; /* Index of the writing end. */
    struct sim_link *link;
    sim_flow_id flow;
    bool flowing; /* .flow is valid. */
    uint8_t *ring;
    uint32_t ring_bytes; /* A power of two. */
    uint64_t w, t, a, r, k;
    bool fin_written;
    bool fin_arrived;
    struct sim_segment *segments; /* A circle: travelling ones, then those still in the fabric. */
    uint32_t segments_max;        /* A power of two. */
    uint32_t travelling_first;
    uint32_t fabric_first;
    uint32_t segments_end;
    struct sim_event arrive;
    struct sim_ack acks[SIM_ACKS_MAX];
    uint32_t acks_first;
    uint32_t acks_end;
    struct sim_event acked;
    struct sim_waiter heal; /* The way back was cut when an acknowledgement wanted to travel. */
    int64_t last_ns;        /* Arrivals never overtake each other. */
    uint64_t rate;          /* While it last flowed. */
    uint64_t pace;          /* Bytes per second that the writer wants; zero: no limit. */
    /* Faults. */
    bool flip;
    bool duplicate;
    uint32_t fragment_bytes;
    uint64_t frame_start; /* Position of the frame being written, */
    uint64_t frame_next;  /* and of the one after it. */
};

enum sim_end_state { SIM_END_NONE, SIM_END_OPENING, SIM_END_OPEN, SIM_END_GONE };

struct sim_end {
    struct net_stream base; /* First: a net_stream is its end. */
    struct sim_tube *tube;
    uint8_t index;
    enum sim_end_state state;
    struct sim_host *host;
    struct list link; /* In the host's list. */
    bool muted;       /* Its host lost power: nothing more is said. */
    bool killed;      /* Its process was killed: the system closes it properly. */
    bool say_opened;
    bool say_failed;
    bool late; /* The other end has failed already, this one does not know. */
    int wanted;
    struct loop_task ready;
    struct sim_event told; /* Opened, refused or reset reaches this end. */
    enum err told_what;
    struct sim_pipe out;
};

struct sim_tube {
    struct sim_world *world;
    uint64_t number;
    struct list link; /* In the world's list. */
    struct sim_end ends[2];
    struct sim_event syn;
    struct sim_waiter syn_heal;
    uint16_t port;
    struct pki_identity dialler;
    bool stalled;        /* Nothing arrives any more, and nobody is told. */
    struct list backlog; /* In the listener's list. */
};

struct sim_tubes {
    struct list all;
    struct sim_stream_counts counts;
};

struct sim_tubes *sim_tubes_of(struct sim_world *w);

/* Make both pipes between two hosts. ERR_UNREACHABLE if their regions are not joined. */
MUST_USE enum err sim_tube_create(struct sim_world *w, struct sim_host *a, struct sim_host *b,
                                  struct sim_tube **tube_out);
void sim_tube_free(struct sim_tube *tube);

static inline struct sim_end *sim_end_other(struct sim_end *end)
{
    return &end->tube->ends[1 - end->index];
}

/* Have the host look at the end in this turn. */
void sim_end_poke(struct sim_end *end);

/* Let news (OK: opened) reach the end after one way, unless the way is cut: then it is lost. */
void sim_end_tell(struct sim_end *end, enum err what, int64_t extra_ns);

/* The end fails here and now. */
void sim_end_fail(struct sim_end *end, enum err what);

/* Bytes that may be written now. */
uint32_t sim_pipe_room(const struct sim_pipe *pipe);

/* Copy bytes in and send them on their way. ERR_NOMEM. */
MUST_USE enum err sim_pipe_write(struct sim_pipe *pipe, const struct iovec *iov, int count,
                                 size_t *done_out);
MUST_USE enum err sim_pipe_read(struct sim_pipe *pipe, const struct iovec *iov, int count,
                                size_t *done_out);

/* Limit the rate from now on; zero: only the link does. */
void sim_pipe_pace(struct sim_pipe *pipe, uint64_t bytes_per_s);

/* Nothing follows what was written. */
void sim_pipe_finish(struct sim_pipe *pipe);

/* Forget all that is under way. */
void sim_pipe_stop(struct sim_pipe *pipe);

#endif
