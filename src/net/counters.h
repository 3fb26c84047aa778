/* What the transport counts, as metrics of one lane's registry. */

#ifndef NET_COUNTERS_H
#define NET_COUNTERS_H

#include "net/session/conn.h"
#include "net/session/endpoint.h"
#include "obs/metric.h"

/* Why a connection or a frame was turned away, beyond what the header says (enum wire_reason). */
struct net_counters {
    struct obs_counter *sent_bytes[NET_PRIORITIES];
    struct obs_counter *sent_frames[NET_PRIORITIES];
    struct obs_counter *received_bytes;
    struct obs_counter *received_frames;
    struct obs_counter *refused[WIRE_REASON_COUNT]; /* Frames, by reason (I7). */
    struct obs_counter *strangers_refused;          /* Connections over the limits. */
    struct obs_counter *hellos_refused;
    struct obs_counter *connections;
    struct obs_counter *expelled[NET_EXPELS]; /* Sessions ended because the peer broke the rules. */
    struct obs_counter *silent;               /* Ended because the peer went silent. */
    struct obs_counter *resent;               /* Frames sent again after a reconnect. */
    struct obs_counter *duplicates;           /* Frames recognised as seen before. */
    struct obs_counter *queue_full;           /* ERR_AGAIN given to senders. */
    struct obs_counter *probe_trains;         /* Trains of probes that were answered. */
    struct obs_counter *probes_ignored;       /* Late, foreign, or over the limit; reports too. */
    struct obs_histogram *rtt;                /* Of heartbeats. */
};

/* Create all of them in @registry, or find those that are there. */
MUST_USE enum err net_counters_init(struct net_counters *c, struct obs_registry *registry);

#endif
