/* A framed connection: whole frames in and out over any stream, with bounded queues, two
 * priorities and a pulse.
 *
 *     send() -> [control queue] \
 *                                > flush once at the end of the turn -> stream
 *               [data queue]    /
 *     stream -> stage or a buffer of its own -> check -> frame()
 *
 * Control overtakes data between frames. A full queue is ERR_AGAIN, never a longer queue. A
 * connection belongs to one loop and is only touched from that thread. Closing, also from inside a
 * callback, only marks: closed() follows from the loop, exactly once, as the last call. */

#ifndef NET_SESSION_CONN_H
#define NET_SESSION_CONN_H

#include "net/stream/stream.h"
#include "wire/frame.h"

struct buf;
struct buf_pool;
struct loop;
struct net_conn;
struct net_counters;

enum net_priority { NET_CONTROL, NET_DATA, NET_PRIORITIES };

/* A received frame. Valid for the call; .buf is set if the frame has a buffer of its own. */
struct net_frame {
    struct wire_header header;
    const uint8_t *body;
    struct buf *buf; /* NULL, or what holds the body: take a reference to keep it. */
};

struct net_conn_events {
    void (*opened)(struct net_conn *conn, void *user);
    /* Anything but OK closes the connection with that error. */
    enum err (*frame)(struct net_conn *conn, const struct net_frame *frame, void *user);
    /* A whole frame came, before anything is done with it, heartbeats included. False: there is
     * nothing to be done with it, and the connection is about to end. May be NULL. */
    bool (*allowed)(struct net_conn *conn, uint8_t type, void *user);
    /* After ERR_AGAIN or ERR_NOMEM: there is room again. May be NULL. */
    void (*writable)(struct net_conn *conn, enum net_priority priority, void *user);
    void (*closed)(struct net_conn *conn, enum err why, const char *text, void *user);
};

struct net_conn_config {
    struct loop *loop;
    struct buf_pool *pool;
    struct buf_pool *control_pool; /* For heartbeats; NULL: the same. */
    struct net_counters *counters; /* May be shared by connections of one thread. */
    int64_t heartbeat_ns;          /* Zero: no pulse. */
    bool dialled;                  /* By us: the other end is no stranger. */
    int64_t stranger_ns;           /* Time until net_conn_trust(); zero: trusted from the start. */
    const struct net_conn_events *events;
    void *user;
};

/* Take over @stream, which has not opened yet. On error the caller still owns it. */
MUST_USE enum err net_conn_create(const struct net_conn_config *config, struct net_stream *stream,
                                  struct net_conn **conn_out);

/* Queue a frame: @header, whose body_bytes and body_check describe @body (NULL if empty). On OK
 * the connection owns one reference to @body, which must not change from now on; on ERR_AGAIN (the
 * queue is at its limit), ERR_NOMEM (of its first frame) or ERR_CLOSED the caller still does.
 * writable() follows the first two. */
MUST_USE enum err net_conn_send(struct net_conn *conn, enum net_priority priority,
                                const struct wire_header *header, struct buf *body);

/* Forget frames that are queued and of which nothing is on the way yet. */
void net_conn_discard(struct net_conn *conn, enum net_priority priority);

/* Queue a sealed frame, header and all in one buffer. Ownership as above. */
MUST_USE enum err net_conn_send_sealed(struct net_conn *conn, enum net_priority priority,
                                       struct buf *frame);

/* The other end is authenticated: lift the limits for strangers. */
void net_conn_trust(struct net_conn *conn);

/* Stop or resume reading: back-pressure towards the peer. */
void net_conn_pause(struct net_conn *conn, bool paused);

/* End the connection. Queued frames are dropped; what was given to the stream may still arrive
 * unless @why is an error of the peer. closed() follows. */
void net_conn_close(struct net_conn *conn, enum err why, const char *text);

/* End it once all that is queued has arrived: nothing more is sent or delivered, and closed()
 * follows with OK when the other end has hung up, or after LIMIT_SOFT_CLOSE_MS. */
void net_conn_close_soft(struct net_conn *conn);

/* End it at once: nothing is called, @conn is gone. Not from inside its own callbacks. NULL is
 * allowed. */
void net_conn_abandon(struct net_conn *conn);

/* Change who is called; for a session that takes over a connection after its first frame. */
void net_conn_hand_over(struct net_conn *conn, const struct net_conn_events *events, void *user);

const struct net_stream *net_conn_stream(const struct net_conn *conn);
void net_conn_info(struct net_conn *conn, struct net_stream_info *out);
MUST_USE enum err net_conn_pace(struct net_conn *conn, uint64_t bytes_per_s);

/* Round trip measured by heartbeats; zero: not yet. */
int64_t net_conn_rtt_ns(const struct net_conn *conn);
int64_t net_conn_rtt_least_ns(const struct net_conn *conn);

/* Bytes waiting in our queues. */
uint64_t net_conn_queued_bytes(const struct net_conn *conn);

/* Add what was taken over for sending and what was received so far, headers included. */
void net_conn_traffic(const struct net_conn *conn, uint64_t *sent, uint64_t *received);

/* Keep what a frame holds beyond the call: a reference if it has a buffer of its own, else a copy
 * from @pool. The body is what the new buffer holds, with headroom for a header and behind it the
 * room of wire_body_room(): a push can become a broadcast where it is. */
MUST_USE enum err net_frame_keep(const struct net_frame *frame, struct buf_pool *pool,
                                 struct buf **body_out);

#endif
