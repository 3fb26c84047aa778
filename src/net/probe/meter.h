/* What a link carries, by what the carrier says of our own traffic: how much has reached the other
 * machine, and how much waits here. Unlike net/probe/link.h this does not need the peer to
 * acknowledge frames, which with broadcasts takes until a round is over.
 *
 * Somebody looks every now and then, as long as something waits. Between two looks at which some of
 * it had just arrived, and all the time something waited, the link carried what it can. What was
 * all gone so soon that this was never seen shows that it carries at least as much.
 *
 * The means of what is seen is taken over a short time, and counts for ten seconds. */

#ifndef NET_PROBE_METER_H
#define NET_PROBE_METER_H

#include "net/session/endpoint.h"

enum {
    NET_METER_LOOK_MS = 20,            /* How often to look, more or less. */
    NET_METER_BURST_BYTES = 64 * 1024, /* The least that shows anything. */
};

struct net_probe_result;

/* What is seen of all streams of a session. */
struct net_meter_look {
    int64_t now_ns;
    uint64_t acked;   /* Reached the other machine; zero: the carrier does not know. */
    uint64_t waiting; /* To be sent, here. */
    uint64_t given;   /* To these connections so far. */
    int64_t rtt_ns;   /* At present, and at its shortest; zero: not known. */
    int64_t rtt_least_ns;
    uint64_t connections; /* Another number when some of them are others. */
};

struct net_meter_sample {
    uint64_t bytes_per_s;
    int64_t at_ns; /* Zero: none. */
};

/* Fields are private to net/probe/meter.c, but the first. Zero is a good beginning. */
struct net_meter {
    bool paced; /* What is sent is paced, so what waits at two looks may be gone in between: only
                 * what can not be counts as waiting all the time. */
    uint64_t given; /* At the last look. */
    uint64_t connections;
    uint64_t acked;      /* At the last look. */
    bool busy;           /* Not all has arrived that we know of, ... */
    int64_t busy_ns;     /* ... since then, ... */
    uint64_t busy_from;  /* ... when so much had, ... */
    uint64_t busy_given; /* ... and so much had been given before. */
    bool seen;           /* What it can carry was, meanwhile. */
    bool waiting;
    int64_t waiting_ns; /* Since when. */
    bool edge;          /* Some had just arrived, ... */
    int64_t edge_ns;    /* ... then, ... */
    uint64_t edge_at;   /* ... so much. */
    uint64_t sum_bytes; /* Of the time that counts. */
    uint64_t sum_us;
    int64_t sum_ns; /* When it was last added to; zero: never. */
    struct net_meter_sample partly;
    struct net_meter_sample probe;
    bool probe_at_least;
};

/* Something was seen. True: something is known that was not before. */
bool net_meter_step(struct net_meter *m, const struct net_meter_look *look);

/* Look at a session. */
bool net_meter_look(struct net_meter *m, struct net_peer *peer, int64_t now_ns);

/* What a probe of that link found. */
void net_meter_probed(struct net_meter *m, const struct net_probe_result *result, int64_t now_ns);

/* Is it worth looking again? */
static inline bool net_meter_busy(const struct net_meter *m)
{
    return m->busy;
}

struct net_meter_reading {
    uint64_t bytes_per_s;
    bool at_least;
    int64_t age_ns;
};

/* What is known now; false: nothing. */
bool net_meter_read(const struct net_meter *m, int64_t now_ns, struct net_meter_reading *out);

#endif
