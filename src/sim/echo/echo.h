/* An echo cluster: the smallest thing that needs all of the transport. Clients push updates of
 * whole numbers; a server counts each exactly once, on its disk, acknowledges it, and sends it
 * back. Built of the real sessions of net/session/endpoint.h; a witness (sim/echo/oracle.h) checks
 * the invariants after every event:
 *
 *   I1  every acknowledged update is counted exactly once, across crashes of either side
 *   I4  what a client knows never goes back
 *   I6  after faults stop, everything gets done
 *   I8  the sum on the server's disk is the sum of what was counted
 *   I10 queues and pools stay within their limits; links carry no more than they can */

#ifndef SIM_ECHO_ECHO_H
#define SIM_ECHO_ECHO_H

#include "base/text.h"
#include "sim/world.h"

struct sim_echo;

struct sim_echo_client {
    const char *server;  /* Its host's name. */
    uint64_t updates;    /* How many must be acknowledged in the end. */
    uint32_t floats_max; /* Of one update: one to this many. Zero: 16. */
    int64_t gap_ns;      /* Between updates, on average; zero: as fast as it may. */
    uint32_t window;     /* Unacknowledged updates at most, up to 256; zero: 256. */
    uint16_t streams;    /* Zero: 1. */
};

MUST_USE enum err sim_echo_create(struct sim_world *w, uint32_t clients_max,
                                  struct sim_echo **echo_out);

/* Take everything down. Before the world is destroyed. NULL is allowed. */
void sim_echo_destroy(struct sim_echo *e);

/* Put a server or a client on a new host. Names are names of members too. */
MUST_USE enum err sim_echo_add_server(struct sim_echo *e, const char *name,
                                      struct sim_region *region);
MUST_USE enum err sim_echo_add_client(struct sim_echo *e, const char *name,
                                      struct sim_region *region,
                                      const struct sim_echo_client *config);

/* Switch all hosts on and begin to check after every event. */
void sim_echo_start(struct sim_echo *e);

/* True when every client has got everything acknowledged and back. */
bool sim_echo_done(struct sim_echo *e);

/* When all is done: what is wrong, or NULL. The text belongs to the echo cluster. */
const char *sim_echo_verdict(struct sim_echo *e);

struct sim_echo_totals {
    uint64_t updates_sent;
    uint64_t updates_acked;
    uint64_t updates_counted;
    uint64_t echoes;
    uint64_t frames_resent;
    uint64_t frames_duplicate;
    uint64_t frames_refused;
    uint64_t connections;
    uint64_t silent; /* Connections ended because the peer was silent. */
};

void sim_echo_totals(struct sim_echo *e, struct sim_echo_totals *out);

#endif
