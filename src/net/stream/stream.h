/* A byte stream to a peer, whatever carries it: tcp, unix, tls, or a simulated link. Everything
 * above (frames, queues, sessions) is the same code on all of them.
 *
 * A stream belongs to one loop. Its owner sets .event and .user right after creation. event() is
 * never called from inside a call on the stream, and not at all after destroy(). */

#ifndef NET_STREAM_STREAM_H
#define NET_STREAM_STREAM_H

#include "base/err.h"
#include "net/address.h"
#include "net/pki/pki.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

struct net_stream;

enum {
    NET_STREAM_OPENED = 1,   /* Connected and, with TLS, authenticated. */
    NET_STREAM_READABLE = 2, /* Wanted, and reading will do something. */
    NET_STREAM_WRITABLE = 4, /* Wanted, and writing will do something. */
    NET_STREAM_FAILED = 8,   /* See .failure; nothing more will come. */
};

enum { NET_STREAM_IOV_MAX = 64 };

struct net_stream_info {
    int64_t rtt_ns;                /* Zero: not known, as the next. */
    int64_t rtt_least_ns;          /* The shortest that there was. */
    uint64_t delivery_bytes_per_s; /* Of real traffic; zero: not known. */
    uint64_t acked_bytes;          /* Reached the other machine, as far as the kernel knows. */
    uint64_t unsent_bytes;         /* Accepted from us but not yet sent. */
    int64_t silent_ns;             /* Since data came from there; zero: just now, or not known. */
    bool ktls;                     /* The kernel encrypts. */
};

struct net_stream_ops {
    /* Move bytes. OK with a count above zero; a count below what was asked for means that there
     * is no more now. ERR_AGAIN: nothing now. ERR_CLOSED: the other end is gone. */
    enum err (*write)(struct net_stream *s, const struct iovec *iov, int count, size_t *done_out);
    enum err (*read)(struct net_stream *s, const struct iovec *iov, int count, size_t *done_out);

    /* Which of READABLE and WRITABLE are wanted. */
    void (*want)(struct net_stream *s, int events);

    void (*info)(struct net_stream *s, struct net_stream_info *out);

    /* Nothing more will be written: the other end gets all that was, and then ERR_CLOSED. Reading
     * goes on. */
    void (*finish)(struct net_stream *s);

    /* Limit the rate; zero: no limit. ERR_INVALID where the carrier cannot. */
    enum err (*pace)(struct net_stream *s, uint64_t bytes_per_s);

    /* End it now; @abort: without waiting for what was written (a reset where there is one). */
    void (*destroy)(struct net_stream *s, bool abort);
};

struct net_stream {
    const struct net_stream_ops *ops;
    void (*event)(struct net_stream *s, int events, void *user);
    void *user;
    bool authenticated;           /* .identity comes from a certificate. */
    struct pki_identity identity; /* Of the other end. */
    enum err failure;             /* After FAILED. */
    struct err_text why;          /* After FAILED, or empty. */
};

/* Who knocks: an address (IPv4 as mapped IPv6), or a user id for unix sockets. */
struct net_source {
    uint8_t key[16];
    char text[64];
};

struct net_listener;

struct net_listener_ops {
    /* No accepted() follows. */
    void (*destroy)(struct net_listener *listener);
};

struct net_listener {
    const struct net_listener_ops *ops;
    struct net_address address; /* As bound: the port is the real one. */
};

/* May refuse before anything was spent on the stranger: false closes at once. */
typedef bool (*net_admit_fn)(const struct net_source *source, void *user);

/* The receiver owns the stream, which is not opened yet. NULL: there was no memory for one that had
 * been admitted. */
typedef void (*net_accepted_fn)(struct net_stream *s, const struct net_source *source, void *user);

struct net_accept {
    net_admit_fn admit;
    net_accepted_fn accepted;
    void *user;
};

/* A way to make streams on one loop. */
struct net_transport;

struct net_transport_ops {
    /* Start connecting: OPENED or FAILED follows. */
    enum err (*dial)(struct net_transport *t, const struct net_address *to,
                     struct net_stream **stream_out);
    enum err (*listen)(struct net_transport *t, const struct net_address *at,
                       const struct net_accept *accept, struct net_listener **listener_out,
                       struct err_text *text);
};

struct net_transport {
    const struct net_transport_ops *ops;
};

#endif
