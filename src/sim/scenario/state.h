/* What a script says, once read; for sim/scenario*.c only. */

#ifndef SIM_SCENARIO_STATE_H
#define SIM_SCENARIO_STATE_H

#include "sim/scenario/scenario.h"
#include "sim/stress/drill.h"

struct scenario_link {
    uint32_t line;
    uint32_t a; /* Numbers of regions. */
    uint32_t b;
    struct sim_link_config config;
};

enum scenario_kind { SCENARIO_SERVER, SCENARIO_CLIENT, SCENARIO_WORKER };

struct scenario_node {
    uint32_t line;
    enum scenario_kind kind;
    char name[SIM_SCENARIO_NAME_BYTES];
    uint32_t region;
    /* A client's. */
    char server_name[SIM_SCENARIO_NAME_BYTES];
    struct sim_echo_client client;
    /* A site's, without name and region. */
    uint32_t lanes; /* Of a server; zero: not said. */
    struct sim_drill_worker worker;
};

/* What the line that begins with "site" says. */
struct scenario_site {
    uint32_t line; /* Zero: there is none. */
    struct node_site site;
    int64_t commit_ns;
    int64_t grace_ns;
    int64_t restore_ns;
    uint32_t tables;
    uint64_t clocks;
    bool rough;
};

/* What must come out, beside the invariants: a number for some of the totals of a drill. */
enum scenario_count_kind {
    SCENARIO_UPDATES,
    SCENARIO_REBASES,
    SCENARIO_RESTORES,
    SCENARIO_DUPLICATES,
    SCENARIO_REFUSED,
    SCENARIO_CHECKPOINTS,
    SCENARIO_COUNTS,
};

struct scenario_expected {
    bool on;
    uint64_t count;
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
    uint32_t line;
    int64_t from_ns;
    int64_t until_ns;
    int64_t mean_ns;
    uint64_t mask;
    bool on;
};

struct sim_scenario {
    uint64_t seed;
    bool drawn; /* No script at all: a site by seed. */
    struct sim_world_config world;
    char regions[SIM_REGIONS_MAX][SIM_SCENARIO_NAME_BYTES];
    uint32_t regions_count;
    struct scenario_link links[SIM_SCENARIO_LINKS_MAX];
    uint32_t links_count;
    struct scenario_node nodes[SIM_SCENARIO_NODES_MAX];
    uint32_t nodes_count;
    uint32_t servers_count;
    uint32_t clients_count;
    uint32_t workers_count;
    struct scenario_action actions[SIM_SCENARIO_ACTIONS_MAX];
    uint32_t actions_count;
    struct scenario_storm storm;
    struct scenario_site site;
    uint32_t expected_line;
    struct scenario_expected expected[SCENARIO_COUNTS];
    int64_t run_ns; /* The most virtual time; it ends earlier when all is done. */
};

/* When may it end? Not before the last fault. */
int64_t scenario_faults_end(const struct sim_scenario *s);

/* Regions and links. */
enum err scenario_places(const struct sim_scenario *s, struct sim_world *w);

/* Traffic and price of each link. */
enum err scenario_report_links(struct sim_world *w, struct sim_scenario_result *out);

/* scenario/drill.c: run a site. */
enum err scenario_drill(const struct sim_scenario *s, const struct sim_scenario_options *options,
                        struct sim_scenario_result *out, struct err_text *text);

/* The name of a total: "rebases". */
const char *scenario_count_name(enum scenario_count_kind kind);

#endif
