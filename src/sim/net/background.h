/* Somebody else's traffic between two hosts of a simulated world: one more connection that always
 * has bytes to send. It shares cards and links as all do, and nobody's code runs for it: it costs
 * an event when it begins and one when it ends. What it sends is counted apart. */

#ifndef SIM_NET_BACKGROUND_H
#define SIM_NET_BACKGROUND_H

#include "sim/net/fabric.h"
#include "sim/world.h"

/* Private to src/sim but for its place. */
struct sim_background {
    struct sim_host *from;
    struct sim_host *to;
    sim_flow_id flow;
};

/* From now on, at most @bytes_per_s fast (zero: as its share is), nor faster than one connection
 * is on that link. ERR_UNREACHABLE without a link; ERR_TOO_BIG. */
MUST_USE enum err sim_background_begin(struct sim_background *b, struct sim_host *from,
                                       struct sim_host *to, uint64_t bytes_per_s);

/* Bytes that it has sent so far. */
uint64_t sim_background_sent(const struct sim_background *b);

/* No more of it. */
void sim_background_end(struct sim_background *b);

#endif
