/* Regions and the links between them: rate, delay, jitter, loss, price, and what goes wrong with
 * them. A link has two directions that share nothing, unless they are told to share the rate.
 * Inside a region hosts meet over a LAN. */

#ifndef SIM_NET_LINK_H
#define SIM_NET_LINK_H

#include "sim/net/fabric.h"
#include "sim/world.h"

/* One direction between two regions. */
struct sim_link_config {
    uint64_t bytes_per_s;
    uint64_t stream_bytes_per_s; /* The most that one connection gets; zero: no cap. */
    int64_t delay_ns;            /* One way. */
    int64_t jitter_ns;           /* Uniform from zero to this, on top. */
    uint32_t loss_ppm;           /* Segments that come one retransmission later. */
    uint64_t price_nusd_per_gb;  /* Billionths of a dollar per 10^9 bytes. */
};

struct sim_link;

MUST_USE enum err sim_region_create(struct sim_world *w, const char *name,
                                    struct sim_region **region_out);
struct sim_region *sim_world_region(struct sim_world *w, const char *name);
struct sim_region *sim_world_region_at(struct sim_world *w, uint32_t index);
uint32_t sim_world_regions(const struct sim_world *w);
const char *sim_region_name(const struct sim_region *region);

/* Join two regions with the same figures both ways, or change a link that is there. */
MUST_USE enum err sim_link_set(struct sim_world *w, struct sim_region *a, struct sim_region *b,
                               const struct sim_link_config *config);

/* The same for one direction only; the other has to be set too before anything can pass. */
MUST_USE enum err sim_link_set_one(struct sim_world *w, struct sim_region *from,
                                   struct sim_region *to, const struct sim_link_config *config);

/* From now on both directions together carry no more than the faster of them, whichever way.
 * ERR_INVALID unless both are there and nothing goes over them yet, ERR_TOO_BIG. */
MUST_USE enum err sim_link_share(struct sim_world *w, struct sim_region *a, struct sim_region *b);

/* The direction from @a to @b, or NULL if they are not joined. A region is joined with itself. */
struct sim_link *sim_link_between(struct sim_world *w, const struct sim_region *a,
                                  const struct sim_region *b);

const struct sim_link_config *sim_link_config(const struct sim_link *link);
const struct sim_region *sim_link_from(const struct sim_link *link);
const struct sim_region *sim_link_to(const struct sim_link *link);

/* Trouble, counted so that overlapping faults end independently. */
void sim_link_cut(struct sim_world *w, struct sim_link *link);
void sim_link_heal(struct sim_world *w, struct sim_link *link);
bool sim_link_is_cut(const struct sim_link *link);
void sim_link_slow(struct sim_world *w, struct sim_link *link, uint32_t ppm); /* Of its rate. */
void sim_link_unslow(struct sim_world *w, struct sim_link *link, uint32_t ppm);
void sim_link_delay(struct sim_link *link, int64_t extra_ns); /* Negative: take it back. */
void sim_link_lose(struct sim_link *link, int32_t ppm);       /* Negative: take it back. */

/* How long the next segment travels, jitter, spikes and losses included. */
int64_t sim_link_travel_ns(struct sim_world *w, struct sim_link *link);

/* Segments that were delayed by loss so far. */
uint64_t sim_link_losses(const struct sim_link *link);

/* Bytes carried so far, and what they cost in billionths of a dollar. */
uint64_t sim_link_bytes(struct sim_world *w, const struct sim_link *link);
uint64_t sim_link_cost_nusd(struct sim_world *w, const struct sim_link *link);

/* The links of the fabric from one host to another; the number of them. Private to src/sim. */
uint32_t sim_link_path(const struct sim_link *link, const struct sim_host *from,
                       const struct sim_host *to, sim_link_id path[SIM_FABRIC_PATH_LINKS_MAX]);

/* Be called when a cut link heals: what waited goes on. Private to src/sim. */
struct sim_waiter {
    struct sim_waiter *next;
    void (*healed)(struct sim_waiter *waiter, struct sim_world *w);
    bool waiting;
};
void sim_link_wait(struct sim_link *link, struct sim_waiter *waiter);
void sim_link_unwait(struct sim_link *link, struct sim_waiter *waiter);

#endif
