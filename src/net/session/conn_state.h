/* What a connection consists of; for net/session/conn.c, net/session/conn_out.c and
 * net/session/conn_in.c only. */

#ifndef NET_SESSION_CONN_STATE_H
#define NET_SESSION_CONN_STATE_H

#include "base/buf.h"
#include "loop/loop.h"
#include "net/counters.h"
#include "net/session/conn.h"
#include "net/session/liveness.h"

enum {
    NET_COALESCE_BYTES = 16 * 1024 - 64,  /* Small frames that wait share a buffer of this size. */
    NET_COALESCE_FRAME_MAX = 2048,        /* What counts as small. */
    NET_STRANGER_STAGE_BYTES = 16 * 1024, /* Until the other end is trusted. */
    NET_STAGE_BYTES = 64 * 1024,          /* Frames up to half of this are parsed in place. */
    NET_STAGE_FRAME_MAX = 32 * 1024,
    NET_STAGE_PEEK_BYTES = 4096, /* Read behind a large frame, in the hope of the next header. */
    NET_POOL_RETRY_NS = 1000000,
};

/* One thing to write: a header of its own or none, then a buffer or none. */
struct net_out {
    struct buf *buf;
    uint32_t header_bytes; /* 0 or 64. */
    uint32_t frames;
    uint8_t header[WIRE_HEADER_BYTES];
};

struct net_out_queue {
    struct net_out *slots; /* A circle of LIMIT_SEND_QUEUE_FRAMES. */
    uint32_t head;
    uint32_t count;
    uint64_t bytes;
    uint64_t bytes_max;
    bool blocked;         /* Somebody got ERR_AGAIN. */
    struct buf *coalesce; /* The buffer of the last slot, if small frames may still be added. */
};

enum net_conn_state { NET_CONN_OPENING, NET_CONN_OPEN, NET_CONN_CLOSING };

struct net_conn {
    struct net_conn_config config;
    enum net_conn_state state;
    struct net_stream *stream;
    enum err why;
    struct err_text why_text;
    bool trusted;
    bool paused;
    bool soft_close;         /* We say no more and hear no more; the other end shall hang up. */
    bool finished;           /* The stream knows. */
    struct loop_task flush;  /* Writes what the turn has queued. */
    struct loop_task finish; /* Calls closed() and frees. */
    struct loop_task resume; /* Goes on reading after the turn's budget was used. */
    struct loop_timer pulse;
    struct loop_timer patience; /* Until it is trusted, or until it hangs up after a soft close. */
    struct loop_timer pool_retry; /* After the pool had no buffer to receive into. */
    struct net_liveness liveness;
    uint64_t received_bytes;
    uint64_t sent_bytes;  /* Taken over for sending. */
    uint64_t acked_bytes; /* As far as that is a sign of life. */
    uint64_t sent_frames;
    int64_t beat_sent_ns;     /* Last heartbeat from the other end: its clock, */
    int64_t beat_received_ns; /* and ours. */
    int64_t rtt_ns;
    int64_t rtt_least_ns;

    struct net_out_queue out[NET_PRIORITIES];
    struct net_out current; /* Partly written. */
    uint32_t current_done;
    bool current_active;
    enum net_priority current_priority;

    struct buf *stage; /* Bytes received and not yet parsed: stage_start to its size. */
    uint32_t stage_start;
    bool large_flow;   /* The last frame was large. */
    struct buf *large; /* The large frame being received: its body. */
    struct wire_header large_header;
};

/* conn_out.c */
void net_conn_out_init(struct net_conn *c);
void net_conn_out_deinit(struct net_conn *c);
void net_conn_flush(struct loop_task *task, void *user);
bool net_conn_out_empty(const struct net_conn *c);

/* conn_in.c */
void net_conn_in_deinit(struct net_conn *c);
void net_conn_read(struct net_conn *c);

/* conn.c: watch for what is of use now; the stream has ended, or did not end in time. */
void net_conn_watch(struct net_conn *c);

/* Send a heartbeat now. */
void net_conn_beat(struct net_conn *c);
void net_conn_hung_up(struct net_conn *c, enum err rc);

#endif
