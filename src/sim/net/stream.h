/* Simulated connections: a net_transport for the hosts of a world.
 *
 * Behaves as TCP does seen from above: connecting takes a round trip, bytes arrive in order at the
 * rate that the shared links leave, a slow reader holds the writer back, a closed end is known at
 * the other end one way later, a lost one is not. Pacing holds for all that is not transmitted yet.
 * Faults act on connections as a whole. */

#ifndef SIM_NET_STREAM_H
#define SIM_NET_STREAM_H

#include "net/stream/stream.h"
#include "sim/world.h"

struct sim_transport {
    struct net_transport base;
    struct sim_host *host;
    struct pki_identity identity; /* What the other end sees as our certificate. */
};

/* There is nothing to release. */
void sim_transport_init(struct sim_transport *t, struct sim_host *host,
                        const struct pki_identity *identity);

/* Faults on one connection that is open at both ends, picked by @rng. False if there is none that
 * fits; nothing has happened then. */

/* Reset: both ends fail at once, bytes under way are gone. */
bool sim_stream_reset(struct sim_world *w, struct rng *rng);

/* One end fails at once; the other learns of it only after @late_ns and gets what is under way
 * until then: a new connection's frames may come before the old one's. */
bool sim_stream_reset_late(struct sim_world *w, struct rng *rng, int64_t late_ns);

/* A bit of the next segment that arrives is flipped. */
bool sim_stream_flip(struct sim_world *w, struct rng *rng);

/* The next frame that is written whole is sent twice. */
bool sim_stream_duplicate(struct sim_world *w, struct rng *rng);

/* Reads give at most @bytes at a time from now on. */
bool sim_stream_fragment(struct sim_world *w, struct rng *rng, uint32_t bytes);

/* Nothing arrives at either end any more, and nobody is told. */
bool sim_stream_stall(struct sim_world *w, struct rng *rng);

struct sim_stream_counts {
    uint64_t flips;      /* Bits that really changed on the way to a reader. */
    uint64_t duplicates; /* Frames that were really sent twice. */
    uint64_t fragments;  /* Reads that were cut short. */
    uint64_t stalled;    /* Segments that did not arrive for that. */
    uint64_t late;       /* Segments that reached an end after the other end had failed. */
};

void sim_stream_counts(const struct sim_world *w, struct sim_stream_counts *out);

#endif
