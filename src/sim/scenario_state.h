/* What a script says, once read; for sim/scenario*.c only. */

#ifndef SIM_SCENARIO_STATE_H
#define SIM_SCENARIO_STATE_H

#include "sim/scenario.h"

struct scenario_link {
    uint32_t line;
    uint32_t a; /* Numbers of regions. */
    uint32_t b;
    struct sim_link_config config;
};

struct scenario_node {
    uint32_t line;
    bool server;
    char name[SIM_SCENARIO_NAME_BYTES];
    uint32_t region;
    char server_name[SIM_SCENARIO_NAME_BYTES];
    struct sim_echo_client client;
};

struct scenario_action {
    uint32_t line;
    int64_t at_ns;
    struct sim_fault fault;             /* Without its target, which has a name or two: */
    char host[SIM_SCENARIO_NAME_BYTES]; /* a host, */
    uint32_t a;                         /* or a link's regions. */
    uint32_t b;
};

struct scenario_storm {
    int64_t from_ns;
    int64_t until_ns;
    int64_t mean_ns;
    uint64_t mask;
    bool on;
};

struct sim_scenario {
    uint64_t seed;
    struct sim_world_config world;
    char regions[SIM_REGIONS_MAX][SIM_SCENARIO_NAME_BYTES];
    uint32_t regions_count;
    struct scenario_link links[SIM_SCENARIO_LINKS_MAX];
    uint32_t links_count;
    struct scenario_node nodes[SIM_SCENARIO_NODES_MAX];
    uint32_t nodes_count;
    uint32_t clients_count;
    struct scenario_action actions[SIM_SCENARIO_ACTIONS_MAX];
    uint32_t actions_count;
    struct scenario_storm storm;
    int64_t run_ns; /* The most virtual time; it ends earlier when all is done. */
};

#endif
