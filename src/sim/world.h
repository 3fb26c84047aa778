/* The simulated world: virtual time, regions, links, hosts. Deterministic: the same seed and the
 * same calls give the same events in the same order, to the byte of the transcript, on every
 * compiler.
 *
 * A host has a loop of the manual kind, so the code that runs on it is the code that runs for real;
 * only its transport (sim/net/stream.h) and its disk are made here. Each host's monotonic clock
 * starts somewhere else, so that nobody gets away with comparing clocks of two machines.
 *
 *     next event = the earliest of: segments leaving links (sim/net/fabric.h),
 *                                   arrivals, scripted actions, loops that want to run
 *
 * One thread; nothing here touches the real world. */

#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "base/err.h"
#include "base/heap.h"
#include "base/rng.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

struct loop;
struct sim_disk;
struct sim_fabric;
struct sim_host;
struct sim_region;
struct sim_world;

enum {
    SIM_REGIONS_MAX = 64,
    SIM_HOSTS_MAX = 1024,
    SIM_EVENTS_MAX = 1 << 22, /* Queued at once. */
};

#define SIM_NEVER INT64_MAX

/* A thing that will happen. Embedded in its owner; fields are private to src/sim. */
struct sim_event {
    struct heap_node node;
    void (*happen)(struct sim_event *event, struct sim_world *w);
};

struct sim_world_config {
    uint64_t seed;
    bool keep_trace; /* Keep the transcript's text, not only its hash. */
    bool trace;      /* Write a transcript at all. */
    size_t trace_bytes_max;
    uint64_t host_rate;    /* Bytes per second of a host's network card; zero: 10 Gbit/s. */
    uint64_t lan_rate;     /* Of each region's inside; zero: 40 Gbit/s. */
    int64_t lan_delay_ns;  /* One way, inside a region; zero: 50 us. */
    uint32_t flows_max;    /* Directions of connections at once; zero: 2^17. */
    uint32_t segments_max; /* Under way at once; zero: 2^20. */
};

MUST_USE enum err sim_world_create(const struct sim_world_config *config,
                                   struct sim_world **world_out);

/* What runs on the hosts must have been stopped. NULL is allowed. */
void sim_world_destroy(struct sim_world *w);

int64_t sim_world_now_ns(const struct sim_world *w);
uint64_t sim_world_events(const struct sim_world *w); /* Happened so far. */
struct rng *sim_world_rng(struct sim_world *w);
struct sim_fabric *sim_world_fabric(struct sim_world *w);

/* Let the next thing happen. False if there is none, or none until @until_ns; time then stands at
 * @until_ns unless that is SIM_NEVER. */
bool sim_world_step(struct sim_world *w, int64_t until_ns);

/* Have @check called after every event; what it returns, if not NULL, stops the world and is the
 * reason why the run is wrong. */
void sim_world_set_checker(struct sim_world *w, const char *(*check)(void *user), void *user);
const char *sim_world_broken(const struct sim_world *w);

/* Events of the world itself. The event must stay where it is until it happened or was taken back.
 * The room for events is bounded: ERR_TOO_BIG, ERR_NOMEM. */
void sim_event_init(struct sim_event *event,
                    void (*happen)(struct sim_event *event, struct sim_world *w));
MUST_USE enum err sim_event_at(struct sim_world *w, struct sim_event *event, int64_t at_ns);
void sim_event_cancel(struct sim_world *w, struct sim_event *event);
bool sim_event_queued(const struct sim_event *event);

/* A line of the transcript: time, who, what. @who may be NULL. */
void sim_trace(struct sim_world *w, const struct sim_host *who, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
bool sim_tracing(const struct sim_world *w);

/* A copy of the transcript so far (empty unless kept), which the caller releases; and the hash of
 * all of it. */
MUST_USE enum err sim_world_transcript(const struct sim_world *w, struct text *out);
uint64_t sim_world_transcript_hash(const struct sim_world *w);

/* Hosts. */

struct sim_host_config {
    const char *name;
    struct sim_region *region;
    uint64_t rate;       /* Bytes per second; zero: the world's default. */
    uint64_t disk_bytes; /* Zero: 64 MiB. */
};

/* What runs on a host. start() builds it on the host's loop; stop() takes it down at once, as a
 * crash does: it must release everything and say nothing. */
struct sim_program {
    enum err (*start)(struct sim_host *host, void *user);
    void (*stop)(struct sim_host *host, void *user);
    void *user;
};

/* The host belongs to the world. It is off until sim_host_start(). */
MUST_USE enum err sim_host_create(struct sim_world *w, const struct sim_host_config *config,
                                  const struct sim_program *program, struct sim_host **host_out);

/* Switch on. If the program cannot start (out of memory), it is tried again after a second. */
void sim_host_start(struct sim_host *host);

/* Switch off. @silent: as a loss of power, connections are left half-open; else as kill -9, the
 * system closes them. The disk keeps what was synced. Not from inside the host's own code. */
void sim_host_crash(struct sim_host *host, bool silent);

/* Nothing runs on the host until @until_ns; the network goes on. */
void sim_host_pause(struct sim_host *host, int64_t until_ns);

/* Let the wall clock of the host jump; the monotonic one does not. */
void sim_host_jump_clock(struct sim_host *host, int64_t by_us);

/* The @k-th allocation in the host's code from its next run on fails. */
void sim_host_fail_alloc(struct sim_host *host, uint32_t k);

/* Allocations of more than @bytes in the host's code fail until they are allowed again (zero). */
void sim_host_limit_memory(struct sim_host *host, size_t bytes);

/* While it is starved the host opens no connection, accepts none, and opens no file; what is open
 * stays. May be set several times, and must be taken back as often. */
void sim_host_starve(struct sim_host *host, bool starved);

struct sim_world *sim_host_world(const struct sim_host *host);
struct sim_region *sim_host_region(const struct sim_host *host);
const char *sim_host_name(const struct sim_host *host);
uint32_t sim_host_number(const struct sim_host *host);   /* In the order of creation. */
struct loop *sim_host_loop(const struct sim_host *host); /* While it is on. */
struct sim_disk *sim_host_disk(const struct sim_host *host);
bool sim_host_is_on(const struct sim_host *host);
bool sim_host_is_paused(const struct sim_host *host);
uint64_t sim_host_starts(const struct sim_host *host); /* How often it was switched on. */
int64_t sim_host_wall_us(const struct sim_host *host);
uint64_t sim_host_alloc_failures(const struct sim_host *host);
uint64_t sim_host_memory_denied(const struct sim_host *host); /* Allocations. */
uint64_t sim_host_starved_count(const struct sim_host *host); /* Connections and files. */

/* The host of that name, or of that number in the order of creation, or NULL. */
struct sim_host *sim_world_host(struct sim_world *w, const char *name);
struct sim_host *sim_world_host_at(struct sim_world *w, uint32_t index);
uint32_t sim_world_hosts(const struct sim_world *w);

#endif
