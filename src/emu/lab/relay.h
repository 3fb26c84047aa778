/* The relay: carries packets between the routers of a lab, each when it is due. It is a process of
 * its own, so that nothing but packets keeps it from them: whoever sets the lab up, changes it or
 * asks about it waits for the kernel's locks elsewhere.
 *
 *     wan0 of region i --> relay: delay + jitter of i to j --> wan0 of region j
 *
 * What both processes have to know of each other is in shared memory. */

#ifndef EMU_LAB_RELAY_H
#define EMU_LAB_RELAY_H

#include "emu/lab/plan.h"
#include "obs/histogram.h"

#include <stdatomic.h>

/* One direction between two regions. */
struct relay_link {
    /* Written by the lab. */
    _Atomic int64_t delay_ns;
    _Atomic int64_t jitter_ns;
    _Atomic uint64_t bytes_per_s;
    /* Written by the relay. */
    _Atomic uint64_t bytes;   /* On the wire, headers of IP included. */
    _Atomic uint64_t packets; /* On the wire: what hosts hand over at once is many. */
    _Atomic uint64_t dropped; /* Packets, for want of memory here. */
};

struct relay_shared {
    _Atomic uint32_t changes;     /* Links were changed so many times. */
    _Atomic uint32_t resets;      /* Counts were wanted anew so many times, ... */
    _Atomic uint32_t resets_done; /* ... and are. */
    _Atomic bool realtime;        /* The relay goes before other processes. */
    _Atomic uint64_t strays;      /* Packets to nowhere. */
    struct obs_histogram late;    /* Nanoseconds. */
    struct relay_link links[LAB_REGIONS_MAX * LAB_REGIONS_MAX];
};

struct relay_config {
    const struct lab_plan *plan;
    const int *tuns;    /* One for each region. */
    int tied;           /* Bytes make it look at what was changed; its end is the relay's. */
    int ready;          /* One byte is written when it begins: zero, or why it cannot. */
    uint64_t bytes_max; /* Of packets that are on their way. */
    uint64_t seed;
    struct relay_shared *shared;
};

/* Memory that a child process shares. NULL: there is none. */
struct relay_shared *relay_shared_create(void);
void relay_shared_destroy(struct relay_shared *shared);

struct relay_link *relay_link(struct relay_shared *shared, uint32_t from, uint32_t to);

/* Carry packets until .tied ends. ERR_NOMEM, ERR_IO, ERR_VERSION (the kernel is too old) before the
 * first one. */
MUST_USE enum err relay_run(const struct relay_config *config);

/* How many packets on the wire a packet with this header of virtio (10 bytes) makes, and how many
 * bytes they have. @size: with that header. Pure. */
void relay_wire(const uint8_t *packet, size_t size, uint32_t *packets_out, uint32_t *bytes_out);

#endif
