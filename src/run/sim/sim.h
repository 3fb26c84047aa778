/* Runs in the simulator: the topology becomes a world, servers and workers run the real node code
 * on its hosts, the job computes for real, and time is virtual. Deterministic: the same file gives
 * the same clocks, bytes and nanoseconds. */

#ifndef RUN_SIM_SIM_H
#define RUN_SIM_SIM_H

#include "run/backend.h"
#include "sim/fault.h"

struct run_sim_result {
    struct run_result base;
    uint64_t events; /* Of the simulated world. */
    uint64_t transcript_hash;
    uint64_t fired[SIM_FAULT_KINDS];
};

struct run_sim_options {
    bool trace; /* Make a transcript, for its hash. */
    /* By worker: how long a step takes, instead of what the file says; may be NULL. */
    const int64_t *compute_ns;
    /* The tables as a worker has read them whole, for tests; may be NULL. */
    void (*tables)(struct run_trainer *t, uint32_t rank, uint64_t clock, void *user);
    void *user;
    const struct run_recording *recording; /* Of what workers make; may be NULL. */
};

/* The faults of the file as a script of the simulator, in which its regions and members have their
 * names. ERR_MALFORMED with @text: "@name:LINE: ..."; ERR_NOMEM. */
struct sim_scenario;
MUST_USE enum err run_sim_script(const struct run_file *f, const char *name,
                                 struct sim_scenario **script_out, struct err_text *text);

/* Are the faults of the file good? ERR_MALFORMED with @text: "@name:LINE: ...". */
MUST_USE enum err run_sim_check(const struct run_file *f, const char *name, struct err_text *text);

/* Run it. ERR_NOMEM, or what is wrong with the job (ERR_INVALID, ERR_MALFORMED, ERR_IO), with
 * @text; a run that did not get to its end is no error but a result. @options may be NULL. */
MUST_USE enum err run_sim(const struct run_file *f, const struct run_watcher *watcher,
                          const struct run_sim_options *options, struct run_sim_result *result_out,
                          struct err_text *text);

#endif
