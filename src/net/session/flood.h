/* How often a member may send frames that cost the receiver more than they carry: a bucket of
 * tokens for each kind, so that no kind takes what another one needs. A pure machine. Data is not
 * among them: it has windows, and whoever sends it pays for it. */

#ifndef NET_SESSION_FLOOD_H
#define NET_SESSION_FLOOD_H

#include "wire/frame.h"

#include <stdbool.h>
#include <stdint.h>

enum net_flood_kind {
    NET_FLOOD_HEARTBEATS,
    NET_FLOOD_PROBES,
    NET_FLOOD_ACKS,       /* Beyond one for each frame that they may be about. */
    NET_FLOOD_OPERATIONS, /* Of workers and operators, feed and want; beyond one for each frame of
                           * data that came, as a worker reports each clock. */
    NET_FLOOD_SITES,      /* What servers tell each other. */
    NET_FLOOD_KINDS,
};

struct net_flood {
    int64_t empty_ns[NET_FLOOD_KINDS]; /* When all that came would have been worth the time. */
    uint32_t answers;                  /* Frames that were sent and may be acknowledged. */
    uint32_t data;                     /* Frames of data that came and pay for operations. */
};

/* Which kind frames of a type are from members of @role; NET_FLOOD_KINDS: none that is limited. */
enum net_flood_kind net_flood_kind(uint8_t type, uint32_t role);
const char *net_flood_name(enum net_flood_kind kind);

/* Frames a second of a kind that may come all the time, and how many at once beside that. */
uint32_t net_flood_rate(enum net_flood_kind kind);
uint32_t net_flood_burst(enum net_flood_kind kind);

/* A numbered frame went out: one acknowledgement more is no flood. */
void net_flood_sent(struct net_flood *f);

/* A frame of that kind came; NET_FLOOD_KINDS: data. False: there were too many. */
MUST_USE bool net_flood_take(struct net_flood *f, enum net_flood_kind kind, int64_t now_ns);

#endif
