/* What a proxy consists of; for emu/proxy*.c only. */

#ifndef EMU_PROXY_STATE_H
#define EMU_PROXY_STATE_H

#include "base/rng.h"
#include "emu/proxy/proxy.h"
#include "emu/proxy/queue.h"
#include "net/stream/socket.h"

struct emu_conn;

/* Where a route is listened for. */
struct emu_gate {
    struct emu_proxy *proxy;
    const struct emu_route *route;
    struct net_listener *listener;
};

/* One socket of a connection. */
struct emu_end {
    int fd;
    struct loop_poll *poll;
    bool dead; /* It was reset: nothing can be written any more. */
};

/* One direction: from ends[i] to the other one. */
struct emu_half {
    struct emu_conn *conn;
    uint32_t from;
    uint32_t way;
    struct emu_flow flow;
    struct emu_queue queue;
    bool open;   /* May be read from. */
    bool ended;  /* There is nothing more to read. */
    bool closed; /* The end has been passed on. */
};

struct emu_conn {
    struct list link;    /* With all others. */
    struct list touched; /* What it waits for may have changed. */
    struct emu_proxy *proxy;
    const struct emu_route *route;
    struct emu_end ends[2]; /* The client, the target. */
    struct emu_half halves[2];
    struct net_dialer *dialer;
    bool armed; /* To be reset with the next bytes that it delivers. */
};

struct emu_fault_end {
    struct loop_timer timer;
    struct emu_proxy *proxy;
    enum emu_fault fault;
    uint32_t way;
};

/* What is wrong with one direction. */
struct emu_way_faults {
    bool cut;
    bool stalled;
    bool fragments;
    uint64_t drain_bytes_per_s;
    uint64_t flip_pieces;      /* So many more; zero: none. */
    uint64_t flip_every_bytes; /* Zero: not so. */
    uint64_t flip_in_bytes;    /* Until the next one of these. */
};

struct emu_proxy {
    struct loop *loop;
    struct emu_routes routes;
    struct emu_gate *gates; /* One for each. */
    struct emu_pipe *pipes[EMU_WAYS];
    struct emu_blocks blocks;
    struct rng rng;
    struct loop_task pump;
    struct loop_timer wake;
    char congestion[NET_CONGESTION_BYTES]; /* Of our sockets; empty: the system's. */
    int64_t woken_ns;                      /* When the timer last did. */
    int64_t started_ns;
    struct list conns;
    struct list touched;
    uint32_t conns_max;
    uint32_t conns_count;
    uint64_t conns_total;
    uint64_t away;
    uint64_t missed;
    uint64_t dropped_bytes[EMU_WAYS]; /* Delivered to nobody. */
    struct emu_shape base[EMU_WAYS];  /* What heals go back to. */
    struct emu_way_faults faults[EMU_WAYS];
    bool resetting; /* Also who comes. */
    bool refusing;
    struct emu_fault_end ends[EMU_FAULTS][EMU_WAYS];
    uint64_t fired[EMU_FAULTS];
};

/* emu/proxy/proxy.c */

/* Move bytes and look at the time at the end of this turn. */
void emu_proxy_pump(struct emu_proxy *proxy);

/* How a socket is tuned of which bytes come in direction @way. */
struct net_socket_options emu_proxy_tuning(const struct emu_proxy *proxy, uint32_t way);

/* emu/proxy/conn.c */

/* Takes over @fd, whatever happens. */
void emu_conn_accepted(struct emu_proxy *proxy, const struct emu_route *route, int fd);

/* End it now; who is still there is reset if @abort. */
void emu_conn_destroy(struct emu_conn *conn, bool abort);

/* What it waits for may have changed: emu_conn_watch() will be asked at the end of this turn. */
void emu_conn_touch(struct emu_conn *conn);
void emu_conn_watch(struct emu_conn *conn);

/* A flow has its turn. */
void emu_half_read(struct emu_half *half, uint32_t bytes);

/* Something has arrived. The connection may be gone afterwards. */
void emu_half_arrived(struct emu_half *half, const struct emu_arrival *arrival);

/* emu/proxy/fault.c */

MUST_USE enum err emu_faults_init(struct emu_proxy *proxy);
void emu_faults_deinit(struct emu_proxy *proxy);

/* The last @bytes of the queue have just been read: flip what is to be flipped. */
void emu_faults_piece(struct emu_half *half, uint32_t bytes);

#endif
