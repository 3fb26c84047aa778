/* A fleet under way; for sim/fleet*.c only. */

#ifndef SIM_STRESS_FLEET_STATE_H
#define SIM_STRESS_FLEET_STATE_H

#include "sim/cluster.h"
#include "sim/stress/fleet.h"
#include "sim/stress/hand.h"

enum {
    FLEET_WORKERS_MAX = 3, /* Of one site. */
    FLEET_ELEMENTS_MAX = SIM_HAND_ELEMENTS_MAX,
    FLEET_PIECES_MAX = 4096, /* Of one site and table, in all its lives. */
};

/* A piece as its site made it. */
struct fleet_piece {
    uint64_t number;
    uint64_t clock;
    double sum[FLEET_ELEMENTS_MAX]; /* Of all up to this one. */
};

/* What is known of one table (one chunk) at one site. */
struct fleet_table {
    double own[FLEET_ELEMENTS_MAX];   /* Added by its workers. */
    float values[FLEET_ELEMENTS_MAX]; /* As seen last. */
    struct fleet_piece *pieces;
    uint32_t pieces_count;
};

struct fleet_site {
    struct fleet *fleet;
    uint32_t index;
    const char *name;
    struct sim_cluster *cluster;
    struct node_between between;
    struct node_other_site others[SIM_FLEET_SITES_MAX];
    struct sim_hand workers[FLEET_WORKERS_MAX];
    uint32_t workers_count;
    struct fleet_table tables[SIM_FLEET_TABLES];
};

struct fleet {
    struct sim_fleet_config config;
    struct sim_world *world;
    struct sim_faults *faults;
    struct table_schema schemas[SIM_FLEET_TABLES];
    struct node_site site;
    uint32_t lanes;
    uint32_t groups;
    struct node_hubs hubs[MIRROR_GROUPS_MAX];
    uint32_t hubs_count;
    uint64_t clocks;
    struct sim_hand_job job;
    struct fleet_site sites[SIM_FLEET_SITES_MAX];
    uint32_t sites_count;
    uint64_t looks;
    uint64_t reads;
    char broken[320];
};

/* fleet_witness.c. The user is a struct fleet_site. */
extern const struct node_lane_witness fleet_lane_witness;
const char *fleet_look(void *user); /* The user is the fleet: after every event. */
bool fleet_agrees(struct fleet *f, char *out, size_t size); /* In the end. */
struct node_lane *fleet_lane(struct fleet_site *s, uint32_t table);

#endif
