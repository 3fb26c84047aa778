/* A transport around another one, whose streams misbehave as a plan says: they take and give only a
 * few bytes at a time, flip a bit, end in the middle, or stand still. What stands above must not
 * notice, or must notice in the right way. */

#ifndef CONFORMANCE_FAULTY_STREAM_H
#define CONFORMANCE_FAULTY_STREAM_H

#include "base/list.h"
#include "loop/loop.h"
#include "net/stream/stream.h"

/* Positions count bytes written to a stream, from 1; zero: never. */
struct faulty_plan {
    uint32_t read_max; /* Bytes per call; zero: no limit. */
    uint32_t write_max;
    uint64_t flip_at;
    uint64_t reset_at; /* Fails, in place of writing this byte. */
    uint64_t stall_at; /* From here on nothing moves in either direction. */
};

enum { FAULTY_LISTENERS_MAX = 4 };

struct faulty_transport;

struct faulty_listen {
    struct faulty_transport *transport;
    struct net_accept accept;
};

/* Fields are private to faulty_stream.c, but for .plan, which holds for streams made from now on,
 * and the counts. */
struct faulty_transport {
    struct net_transport base;
    struct net_transport *inner;
    struct loop *loop;
    struct faulty_plan plan;
    struct list streams;
    uint32_t streams_count; /* Living ones. */
    uint32_t flips;
    uint32_t resets;
    struct faulty_listen listens[FAULTY_LISTENERS_MAX];
    uint32_t listens_count;
};

/* There is nothing to release; streams must be gone before. */
void faulty_transport_init(struct faulty_transport *t, struct net_transport *inner,
                           struct loop *loop);

/* Abort the @index-th living stream, as a reset in the middle would. */
void faulty_reset(struct faulty_transport *t, uint32_t index);

/* Bytes written to the @index-th living stream so far. */
uint64_t faulty_written(const struct faulty_transport *t, uint32_t index);

/* Give all living streams the plan of the transport. */
void faulty_replan(struct faulty_transport *t);

#endif
