/* What the world consists of; for the files of src/sim only. */

#ifndef SIM_WORLD_STATE_H
#define SIM_WORLD_STATE_H

#include "base/heap.h"
#include "base/list.h"
#include "loop/loop.h"
#include "sim/disk.h"
#include "sim/net/fabric.h"
#include "sim/net/link.h"
#include "sim/world.h"

enum {
    SIM_NAME_BYTES = 65,
    SIM_SLOWS_MAX = 8,
    SIM_FABRIC_LINKS = SIM_REGIONS_MAX * SIM_REGIONS_MAX * 3 / 2 + SIM_HOSTS_MAX * 2,
    SIM_FABRIC_FLOWS_DEFAULT = 1 << 17,
    SIM_FABRIC_SEGMENTS_DEFAULT = 1 << 20,
};

struct sim_link {
    struct sim_region *from;
    struct sim_region *to;
    bool joined;
    struct sim_link_config config;
    sim_link_id fabric_id;
    struct sim_link *shares; /* The other direction, if both share the rate of the next; or NULL. */
    sim_link_id shared_id;
    uint32_t pipes; /* That use it, busy or not. */
    uint32_t cuts;
    uint32_t slows[SIM_SLOWS_MAX]; /* The smallest counts. */
    uint32_t slows_count;
    int64_t extra_delay_ns;
    uint32_t extra_loss_ppm;
    uint64_t losses;
    struct rng rng;
    struct sim_waiter *waiters;
};

struct sim_region {
    struct sim_world *world;
    uint32_t index;
    char name[SIM_NAME_BYTES];
    struct sim_link links[SIM_REGIONS_MAX]; /* To each region, by number; itself: the LAN. */
};

struct sim_host {
    struct sim_world *world;
    uint32_t index;
    char name[SIM_NAME_BYTES];
    struct sim_region *region;
    struct sim_program program;
    bool on;
    bool running; /* Its code is on the stack. */
    uint64_t starts;
    struct loop *loop;
    int64_t clock_offset_ns; /* Its monotonic clock minus the world's. */
    int64_t wall_offset_us;
    int64_t paused_until_ns;
    uint32_t fail_alloc; /* Armed for the next run. */
    uint64_t alloc_failures;
    size_t memory_above;    /* Larger allocations fail; zero: none. */
    uint64_t memory_denied; /* That did. */
    uint32_t starved;       /* No descriptors: set so many times. */
    uint64_t starved_met;   /* Connections that could not be. */
    struct sim_event wake;
    struct sim_event retry; /* After a start that failed. */
    struct sim_disk *disk;
    sim_link_id egress;
    sim_link_id ingress;
    uint32_t pipes_out; /* Busy or not. */
    uint32_t pipes_in;
    struct list ends;      /* Ends of connections here: sim/net/stream.c. */
    struct list listeners; /* The same. */
    uint16_t port_next;
};

struct sim_tubes;

struct sim_world {
    struct sim_world_config config;
    int64_t now_ns;
    uint64_t events;
    struct heap heap;
    struct rng rng;
    struct sim_fabric *fabric;
    struct sim_region *regions[SIM_REGIONS_MAX];
    uint32_t regions_count;
    struct sim_host *hosts[SIM_HOSTS_MAX];
    uint32_t hosts_count;
    const char *(*check)(void *user);
    void *check_user;
    const char *broken;
    int64_t busy_since_ns; /* Since then the clock has moved by no more than SIM_BUSY_NS, ... */
    uint64_t busy_before;  /* ... with this many events before. */
    struct text trace;
    uint64_t trace_hash;
    uint64_t trace_lines;
    uint64_t connections;    /* Made so far: numbers them. */
    struct sim_tubes *tubes; /* All connections: sim/net/tube.h. */
};

/* stream.c */
MUST_USE enum err sim_streams_create(struct sim_world *w);
void sim_streams_destroy(struct sim_world *w);

/* tube.c: a segment of some connection left its links. */
void sim_stream_transmitted(sim_flow_id flow, uint64_t token, int64_t at_ns, void *user);

/* stream.c: the host went off. */
void sim_stream_host_off(struct sim_host *host, bool silent);
/* It has descriptors again: those who wait to be accepted are. */
void sim_stream_host_fed(struct sim_host *host);

#endif
