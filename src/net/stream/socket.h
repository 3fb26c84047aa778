/* Streams over sockets: tcp and unix. TLS (net/stream/tls.h) stands on the functions for one
 * descriptor.
 */

#ifndef NET_STREAM_SOCKET_H
#define NET_STREAM_SOCKET_H

#include "loop/loop.h"
#include "net/detour.h"
#include "net/stream/stream.h"

enum { NET_CONGESTION_BYTES = 16 };

/* How a connection is tuned. Zero means the system's default. */
struct net_socket_options {
    char congestion[NET_CONGESTION_BYTES]; /* "cubic", "bbr". */
    uint64_t pacing_bytes_per_s;
    uint32_t send_buffer_bytes;
    uint32_t receive_buffer_bytes;
    uint32_t unsent_bytes_max;         /* TCP_NOTSENT_LOWAT: what control cannot overtake. */
    const struct net_detours *detours; /* Outlives the connection; NULL: none. */
};

struct net_socket_transport {
    struct net_transport base;
    struct loop *loop;
    struct net_socket_options options;
};

/* A transport for tcp:// and unix: addresses. There is nothing to release. */
void net_socket_transport_init(struct net_socket_transport *t, struct loop *loop,
                               const struct net_socket_options *options);

/* The pieces below are for net/stream/tls.c. */

/* What a descriptor is doing before it carries bytes. */
struct net_dialer;

/* Connect to @to, trying each of its addresses; @done gets the connected descriptor, or an error
 * and a text. Called from the loop, once, unless cancelled. */
MUST_USE enum err net_dialer_start(struct loop *loop, const struct net_address *to,
                                   const struct net_socket_options *options,
                                   void (*done)(enum err rc, int fd, const char *why, void *user),
                                   void *user, struct net_dialer **dialer_out);

/* @done is not called. NULL is allowed. */
void net_dialer_cancel(struct net_dialer *dialer);

/* Listen, and hand each connected descriptor with its source to @accepted, which owns it. */
MUST_USE enum err
net_acceptor_create(struct loop *loop, const struct net_address *at,
                    const struct net_socket_options *options,
                    bool (*admit)(const struct net_source *source, void *user),
                    void (*accepted)(int fd, const struct net_source *source, void *user),
                    void *user, struct net_listener **listener_out, struct err_text *text);

void net_socket_info(int fd, struct net_stream_info *out);

/* As in struct net_stream_ops; ERR_INVALID for unix sockets. */
enum err net_socket_pace(int fd, uint64_t bytes_per_s);

/* Close; @abort sends a reset. */
void net_socket_close(int fd, bool abort);

/* What errno means for a connection. */
enum err net_socket_err(int error);

#endif
