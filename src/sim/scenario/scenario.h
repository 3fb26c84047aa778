/* Scenarios: a world, who is in it and what goes wrong, from a small script. In it is an echo
 * cluster, or a site if the script has a line that begins with "site".
 *
 *     seed 7
 *     region eu
 *     region us
 *     link eu us rate=100mbit delay=40ms jitter=2ms loss=0.1% price=0.02
 *     server s1 eu
 *     client w1 us server=s1 updates=100 gap=10ms floats=64 window=64 streams=2
 *     at 1s cut eu us for 2s
 *     at 5s kill s1 for 500ms
 *     storm from 10s to 30s every 200ms only kill,cut,flip
 *     run 60s
 *
 *     site barrier=ssp staleness=1 delivery=broadcast clocks=10
 *     server s1 eu lanes=2
 *     worker w1 us compute=50ms
 *     worker w2 eu joins=5s leaves=8
 *     expect rebases=0
 *
 * One statement a line, '#' begins a comment. Nothing happens before the whole script has been
 * read and found good. docs/SIMULATOR.md lists all statements. */

#ifndef SIM_SCENARIO_SCENARIO_H
#define SIM_SCENARIO_SCENARIO_H

#include "sim/echo/echo.h"
#include "sim/fault.h"
#include "sim/net/link.h"
#include "sim/stress/drill.h"

enum {
    SIM_SCENARIO_BYTES_MAX = 1 << 20, /* Of a script. */
    SIM_SCENARIO_LINE_BYTES = 256,
    SIM_SCENARIO_LINKS_MAX = SIM_REGIONS_MAX * (SIM_REGIONS_MAX - 1) / 2,
    SIM_SCENARIO_NODES_MAX = 320,
    SIM_SCENARIO_ACTIONS_MAX = 1024,
    SIM_SCENARIO_NAME_BYTES = 65,
};

struct sim_scenario;

/* Read a script of @size bytes. On ERR_MALFORMED and ERR_TOO_BIG @text says what is wrong and
 * where: "@name:LINE: ...". */
MUST_USE enum err sim_scenario_parse(const char *name, const char *script, size_t size,
                                     struct sim_scenario **scenario_out, struct err_text *text);
void sim_scenario_destroy(struct sim_scenario *s);

/* A site with faults, all of it drawn by the seed of each run. ERR_NOMEM. */
MUST_USE enum err sim_scenario_draw_site(struct sim_scenario **scenario_out);

bool sim_scenario_is_site(const struct sim_scenario *s);

/* The seed that the script names, or 1. */
uint64_t sim_scenario_seed(const struct sim_scenario *s);

struct sim_scenario_options {
    uint64_t seed;
    bool trace; /* Keep a transcript. */
    size_t trace_bytes_max;
    bool untraced; /* Not even its hash: for benchmarks. */
};

struct sim_link_report {
    char from[SIM_SCENARIO_NAME_BYTES];
    char to[SIM_SCENARIO_NAME_BYTES];
    uint64_t bytes;
    uint64_t cost_nusd;
    double utilisation; /* Of its rate over the whole time, 0 to 1. */
};

struct sim_scenario_result {
    char verdict[256]; /* Empty: everything held. */
    int64_t now_ns;
    uint64_t events;
    uint64_t transcript_hash;
    struct text transcript; /* If asked for. */
    bool is_site;
    struct sim_echo_totals totals; /* Of an echo cluster. */
    struct sim_drill_totals site;  /* Of a site, */
    const char *barrier;           /* what kind it is, */
    enum node_delivery delivery;
    char about[160];      /* the same in words, */
    uint64_t values_hash; /* what its tables hold in the end, */
    bool lost_all;        /* and as in struct sim_drill_result. */
    uint64_t fired[SIM_FAULT_KINDS];
    struct sim_link_report *links; /* Between different regions. */
    uint32_t links_count;
};

/* Let it happen. Errors are of this machine (ERR_NOMEM), with @text; a broken invariant is no error
 * but a verdict. The caller releases the result. */
MUST_USE enum err sim_scenario_run(const struct sim_scenario *s,
                                   const struct sim_scenario_options *options,
                                   struct sim_scenario_result *result_out, struct err_text *text);
void sim_scenario_result_deinit(struct sim_scenario_result *result);

/* What a line that begins with "at" says; for those who let it happen elsewhere. */
struct sim_scenario_action {
    int64_t at_ns;
    enum sim_fault_kind kind;
    const char *host; /* Of faults of hosts; else NULL. */
    uint32_t from;    /* Regions, in the order of the script, of faults of links. */
    uint32_t to;
    int64_t duration_ns;
    int64_t amount; /* As in struct sim_fault. */
};
uint32_t sim_scenario_actions(const struct sim_scenario *s);
struct sim_scenario_action sim_scenario_action(const struct sim_scenario *s, uint32_t index);

/* The faults of a script alone, in a world of the caller's whose hosts have the names of the
 * script's, and whose regions are those of the script in the same order. @s must outlive them. They
 * go before the world. */
struct sim_scenario_faults;
MUST_USE enum err sim_scenario_faults_create(const struct sim_scenario *s, struct sim_world *w,
                                             uint64_t seed,
                                             struct sim_scenario_faults **faults_out);
void sim_scenario_faults_destroy(struct sim_scenario_faults *f); /* NULL is allowed. */
uint64_t sim_scenario_faults_fired(const struct sim_scenario_faults *f, enum sim_fault_kind kind);

/* The scenario that is run when none is given: three regions, all kinds of faults. And a site, as a
 * start for scripts. */
const char *sim_scenario_builtin(void);
const char *sim_scenario_builtin_site(void);

#endif
