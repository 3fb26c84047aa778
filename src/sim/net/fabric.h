/* The network of the simulator: a fluid model of links that flows share max-min fairly.
 *
 * A link has a capacity (one direction of a region pair, or of a host's network card); a flow has a
 * path of links, perhaps a cap of its own, and a first-in first-out queue of segments. At every
 * instant each flow that has bytes to send gets its max-min fair rate, and the fabric says when
 * each segment has been transmitted. Propagation delay, loss and windows are the caller's.
 *
 * A pure machine: no clock, no randomness, integers only, so every compiler gives the same
 * nanosecond. Time comes in as a parameter, in virtual nanoseconds, and never goes back; before
 * anything else may happen at a time, the completions before that time must have been handled
 * (sim_fabric_advance()). Memory is taken by sim_fabric_create() alone. One thread. */

#ifndef SIM_NET_FABRIC_H
#define SIM_NET_FABRIC_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct sim_fabric;

typedef uint32_t sim_link_id; /* Counts from 0 in the order of addition. */
typedef uint32_t sim_flow_id; /* Never the id of another living flow; see sim_fabric_flow_add(). */

enum {
    SIM_FABRIC_PATH_LINKS_MAX = 4,
    SIM_FABRIC_LINKS_LIMIT = 1 << 18,    /* No fabric has more links than this. */
    SIM_FABRIC_FLOWS_LIMIT = 1 << 20,    /* Nor more flows at once. */
    SIM_FABRIC_SEGMENTS_LIMIT = 1 << 26, /* Nor more segments queued at once. */
};

#define SIM_FABRIC_RATE_MAX (UINT64_C(1) << 38)          /* Bytes per second: 2.2 Tbit/s. */
#define SIM_FABRIC_SEGMENT_BYTES_MAX (UINT64_C(1) << 48) /* Bytes of one segment. */
#define SIM_FABRIC_NEVER INT64_MAX

struct sim_fabric_limits {
    uint32_t links_max;
    uint32_t flows_max;    /* At once. */
    uint32_t segments_max; /* Queued at once, over all flows. */
};

/* Everything is allocated here; untouched memory costs address space only. ERR_TOO_BIG if a limit
 * is zero or above the limits of this header, ERR_NOMEM. */
MUST_USE enum err sim_fabric_create(const struct sim_fabric_limits *limits,
                                    struct sim_fabric **fabric_out);

/* Queued segments are forgotten without a word. NULL is allowed. */
void sim_fabric_destroy(struct sim_fabric *f);

/* Add a link of @bytes_per_s; zero: it is down. ERR_TOO_BIG at the limit or above
 * SIM_FABRIC_RATE_MAX. Links live as long as the fabric. */
MUST_USE enum err sim_fabric_link_add(struct sim_fabric *f, uint64_t bytes_per_s,
                                      sim_link_id *link_out);

/* Change the capacity from @now_ns on. Zero: down, the flows on it stand still and keep what they
 * have sent. ERR_TOO_BIG above SIM_FABRIC_RATE_MAX. */
MUST_USE enum err sim_fabric_link_set(struct sim_fabric *f, sim_link_id link, uint64_t bytes_per_s,
                                      int64_t now_ns);

/* Add an idle flow over @links_count links, in any order, at most @cap_bytes_per_s fast (zero: no
 * cap). Its id goes up with the slot it takes; a freed slot comes back with another id, so that the
 * id of a removed flow is refused by a CHECK (for the next 4095 uses of the slot). ERR_INVALID
 * without links, with more than SIM_FABRIC_PATH_LINKS_MAX, with an unknown link or with the same
 * link twice; ERR_TOO_BIG at the limit or if the cap is above SIM_FABRIC_RATE_MAX. */
MUST_USE enum err sim_fabric_flow_add(struct sim_fabric *f, const sim_link_id *links,
                                      uint32_t links_count, uint64_t cap_bytes_per_s,
                                      sim_flow_id *flow_out);

/* Change the flow's cap from @now_ns on; zero: none. What is queued keeps its place, and what was
 * sent of it stays sent. ERR_TOO_BIG above SIM_FABRIC_RATE_MAX. */
MUST_USE enum err sim_fabric_flow_set(struct sim_fabric *f, sim_flow_id flow,
                                      uint64_t cap_bytes_per_s, int64_t now_ns);

/* Told of every segment that a removed flow had not finished, oldest first. It must not call the
 * fabric. */
typedef void sim_fabric_dropped(sim_flow_id flow, uint64_t token, void *user);

/* Remove the flow and return how many segments it dropped. @dropped may be NULL. */
uint32_t sim_fabric_flow_remove(struct sim_fabric *f, sim_flow_id flow, int64_t now_ns,
                                sim_fabric_dropped *dropped, void *user);

/* Queue a segment of @bytes (1 to SIM_FABRIC_SEGMENT_BYTES_MAX) behind those of the flow.
 * ERR_TOO_BIG if it is larger or the fabric's segments are used up: nothing has changed then. */
MUST_USE enum err sim_fabric_flow_enqueue(struct sim_fabric *f, sim_flow_id flow, uint64_t bytes,
                                          uint64_t token, int64_t now_ns);

/* Let the flow, which has nothing queued, have bytes to send from @now_ns on until it is removed.
 * It reports nothing, and its bytes do not count in sim_fabric_link_bytes(): it is somebody else's
 * traffic. It must not go on for longer than half a year at SIM_FABRIC_RATE_MAX. ERR_TOO_BIG if
 * the fabric's segments are used up. */
MUST_USE enum err sim_fabric_flow_fill(struct sim_fabric *f, sim_flow_id flow, int64_t now_ns);

/* Bytes that such a flow has sent until sim_fabric_now_ns(), rounded down. */
uint64_t sim_fabric_flow_sent(struct sim_fabric *f, sim_flow_id flow);

/* Return when the next segment completes, rounded up to a whole nanosecond, or SIM_FABRIC_NEVER.
 * Not from inside a callback. */
int64_t sim_fabric_next_ns(struct sim_fabric *f);

/* Told of a segment whose last byte went out at @at_ns. It may call everything but
 * sim_fabric_next_ns(), sim_fabric_advance() and sim_fabric_destroy(), with @at_ns as the time:
 * a flow removed in it reports nothing more, not even what completed at the same instant; what it
 * enqueues takes part from @at_ns on. */
typedef void sim_fabric_done(sim_flow_id flow, uint64_t token, int64_t at_ns, void *user);

/* Handle what completes up to and including @now_ns, in the order of time, then flow id, then
 * queue; return how many segments that were. */
uint64_t sim_fabric_advance(struct sim_fabric *f, int64_t now_ns, sim_fabric_done *done,
                            void *user);

/* The time of the last call that had one, or of the completion being reported. */
int64_t sim_fabric_now_ns(const struct sim_fabric *f);

/* The flow's rate from now on, in whole bytes per second (rounded down); zero when idle. */
uint64_t sim_fabric_flow_rate(struct sim_fabric *f, sim_flow_id flow);

/* The same in bytes per second with its fraction: for reports and tests. */
double sim_fabric_flow_rate_exact(struct sim_fabric *f, sim_flow_id flow);

/* Bytes of the segments that have not been reported: a segment counts wholly until it is. */
uint64_t sim_fabric_flow_backlog(const struct sim_fabric *f, sim_flow_id flow);

/* Bytes of the segments that were reported and went over this link: exact, by segment. */
uint64_t sim_fabric_link_bytes(const struct sim_fabric *f, sim_link_id link);

/* Bytes that flowed over this link until sim_fabric_now_ns(), rounded down: the integral of the
 * load, so never above capacity x time in any interval. It contains parts of unfinished and of
 * dropped segments, and for each flow that runs dry up to one nanosecond of its rate, because
 * completions are rounded up. */
uint64_t sim_fabric_link_fluid_bytes(struct sim_fabric *f, sim_link_id link);

/* The sum of the rates on this link from now on, in whole bytes per second (rounded down). */
uint64_t sim_fabric_link_load(struct sim_fabric *f, sim_link_id link);

/* The capacity, as set. */
uint64_t sim_fabric_link_capacity(const struct sim_fabric *f, sim_link_id link);

struct sim_fabric_stats {
    uint64_t segments_done;
    uint64_t shares;       /* Times that rates were computed. */
    uint64_t shares_flows; /* Flows whose rates were computed, over all those times. */
    uint64_t shares_grown; /* Those of them that were concerned through others only. */
    uint32_t flows_active; /* Have bytes to send. */
    uint32_t segments_queued;
};

void sim_fabric_stats(const struct sim_fabric *f, struct sim_fabric_stats *stats_out);

#endif
