/* How much bandwidth is free on a path: self-loading periodic streams (Jain and Dovrolis, Pathload,
 * 2002). A pure machine: it says which train of frames to send next and judges the one-way delays
 * that come back; no clock, no socket, no allocation.
 *
 *     while (net_slops_next(&m, &train)) { send it; rc = net_slops_report(&m, delays, n, lost); }
 *     net_slops_done(&m, &estimate);
 *
 * A train faster than what is free fills the queue in front of the bottleneck: its delays rise. The
 * search first climbs by a factor of four from the lowest rate until delays rise, then halves the
 * interval. Rates at which trains disagree are the grey region, which stays inside the answer. */

#ifndef NET_PROBE_SLOPS_H
#define NET_PROBE_SLOPS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    NET_SLOPS_TRAINS_MAX = 24,       /* Of one measurement. */
    NET_SLOPS_COUNT_MIN = 16,        /* Frames of a train. */
    NET_SLOPS_COUNT_MAX = 128,       /* As many as one report holds (WIRE_PROBE_TRAIN_MAX). */
    NET_SLOPS_FRAME_BYTES_MIN = 256, /* Header, fields and some payload. */
    NET_SLOPS_TRAIN_NS = 100 * 1000 * 1000,     /* How long a train lasts if sizes allow. */
    NET_SLOPS_TRAIN_NS_MAX = 500 * 1000 * 1000, /* It never lasts longer. */
    NET_SLOPS_SPACING_NS_MIN = 50 * 1000,       /* No sender keeps time more finely. */
};

struct net_slops_config {
    uint64_t rate_min;    /* Bytes per second: less than this is not told apart. */
    uint64_t rate_max;    /* What the sender can or may send. */
    uint32_t frame_bytes; /* The largest frame; with .count it bounds the bytes of a train. */
    uint32_t count;       /* Frames of a train, COUNT_MIN to COUNT_MAX; 100 is usual. */
};

struct net_slops_train {
    uint32_t number;      /* From one; as in the report. */
    uint32_t count;       /* Frames. */
    uint32_t frame_bytes; /* Of each whole frame. */
    int64_t spacing_ns;   /* From the start of one frame to the start of the next. */
    uint64_t rate;        /* What that comes to, bytes per second. */
    int64_t pause_ns;     /* Be silent so long after it: queues must drain. */
};

/* The free bandwidth is in [low, high] bytes per second; .at_least: in [low, ...). */
struct net_slops_estimate {
    uint64_t low; /* Zero: even the lowest rate was too much. */
    uint64_t high;
    bool at_least;
    uint32_t trains; /* Sent. */
};

/* Fields are private to net/probe/slops.c. Rates in bytes per second; zero: unknown. */
struct net_slops {
    struct net_slops_config config;
    struct net_slops_train train; /* The one that is out, or was. */
    bool waiting;                 /* For its report. */
    bool finished;
    uint32_t trains;
    uint64_t rate;     /* Under examination. */
    uint32_t rising;   /* Trains at .rate whose delays rose, */
    uint32_t flat;     /* did not rise, */
    uint32_t unclear;  /* or could not be judged. */
    uint64_t low;      /* Highest rate known to be free. */
    uint64_t high;     /* Lowest rate known to be too much. */
    uint64_t grey_low; /* Between the two: neither. */
    uint64_t grey_high;
};

/* ERR_INVALID if the configuration makes no sense, or its lowest rate would make trains longer than
 * TRAIN_NS_MAX. A rate_max that frames of that size cannot reach is lowered. */
MUST_USE enum err net_slops_init(struct net_slops *m, const struct net_slops_config *config);

/* The train to send, or false when the search is over. Asked again before its report, it gives the
 * same train again. */
MUST_USE bool net_slops_next(struct net_slops *m, struct net_slops_train *train_out);

/* Judge the train that is out: @n relative delays in the order of sending, without the @lost ones
 * (their offset means nothing, and no value is believed). With @n and @lost zero, as when no report
 * came, the train counts as unclear. ERR_INVALID if no train is out or it had fewer frames: the
 * machine is then unchanged. */
MUST_USE enum err net_slops_report(struct net_slops *m, const int64_t *delays_ns, uint32_t n,
                                   uint32_t lost);

/* True when the search is over; then *@out is the answer. */
bool net_slops_done(const struct net_slops *m, struct net_slops_estimate *out);

#endif
