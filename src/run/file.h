/* Run files: what is trained, on which map, by whom, and when it is over. YAML; docs/RUNFILE.md has
 * every key. What was read is complete: every default is filled in, every name is looked up, and
 * what does not go together was refused with the line at which it stands. */

#ifndef RUN_FILE_H
#define RUN_FILE_H

#include "app/app.h"
#include "node/site.h"
#include "topo/topo.h"

enum {
    RUN_FILE_BYTES_MAX = 1 << 20,
    RUN_SERVERS_MAX = 64,
    RUN_SERVER_LANES_MAX = 16,
    RUN_WORKERS_MAX = SYNC_MEMBERS_MAX, /* Of all groups together. */
    RUN_FAULTS_MAX = 1024,
    RUN_PRINT_BYTES_MAX = TOPO_PRINT_BYTES_MAX + 4 * RUN_FILE_BYTES_MAX,
};

enum run_barrier { RUN_BSP, RUN_SSP, RUN_TAP };
enum run_order { RUN_ARRIVAL, RUN_FIXED };

struct run_server {
    const char *name;        /* Given, or s0, s1, ... by its place in the list. */
    const char *region_name; /* ... */
    uint32_t region;         /* ... and its index in the topology. */
    uint32_t lanes;
    uint32_t line; /* In the run file, as in all the others. */
};

/* Workers that are alike. All workers have ranks in the order of the groups, and are called w0,
 * w1, ... by rank. */
struct run_group {
    const char *region_name;
    uint32_t region;
    uint32_t count;
    uint32_t streams; /* Connections to each lane. */
    double slowdown;  /* Simulated compute time is multiplied by this. */
    uint32_t line;
};

struct run_job {
    const char *name;
    const char *data; /* A path that is good in the working directory; empty: generated. */
    struct app_option *options;
    uint32_t options_count;
    uint32_t line;
};

struct run_sync {
    enum run_barrier barrier;
    uint32_t staleness; /* Zero unless the barrier is ssp. */
    enum node_delivery delivery;
    enum run_order order;
    int64_t deadline_ns; /* Zero: none. */
};

struct run_checkpoint {
    uint32_t every; /* Clocks; zero: never. */
    uint32_t keep;
};

struct run_evaluate {
    uint32_t every; /* Clocks; zero: never. */
};

/* What a job keeps of its own, as run/state.h saves it. */
struct run_keep {
    uint32_t every; /* Clocks; zero: as the job needs it. */
};

/* The run is over when one of these is reached. */
struct run_stop {
    uint64_t clocks; /* Zero: not a reason, as with the others. */
    bool has_objective;
    double objective;
    double accuracy;
    int64_t time_ns;
};

/* A line of a scenario: "at 3s kill s0 for 500ms". Time, kind and target were checked, the amount
 * and the duration were not. */
struct run_fault {
    const char *chars;
    uint32_t line;
};

struct run_compute {
    double gflops; /* Of one simulated worker. */
};

/* Read-only for all but src/run/file*.c. */
struct run_file {
    const char *name;
    uint64_t seed;
    const char *topology; /* The path as it is written; NULL: the file holds it itself. */
    struct topo *topo;
    uint32_t shards;
    struct run_server *servers;
    uint32_t servers_count;
    uint32_t lanes; /* Of all servers. */
    struct run_group *groups;
    uint32_t groups_count;
    uint32_t workers; /* Of all groups. */
    struct run_job job;
    struct run_sync sync;
    struct run_checkpoint checkpoint;
    struct run_evaluate evaluate;
    struct run_keep state;
    struct run_stop stop;
    struct run_fault *faults;
    uint32_t faults_count;
    struct run_compute compute;
    struct run_arena *arena; /* Holds all of this but .topo. */
};

/* Read the file. ERR_NOT_FOUND, ERR_IO, ERR_TOO_BIG, ERR_MALFORMED, ERR_NOMEM; @text then says
 * "FILE:LINE:COLUMN: KEY: " what is wrong and what is allowed. The caller releases the result. */
MUST_USE enum err run_file_load(const char *path, struct run_file **file_out,
                                struct err_text *text);

/* Read the @size bytes of a run file called @name. Relative paths in it start at @folder; NULL: it
 * may not name a topology, and the path of its data is left as it is. Errors as above. */
MUST_USE enum err run_file_parse(const char *name, const char *folder, const char *bytes,
                                 size_t size, struct run_file **file_out, struct err_text *text);

/* NULL is allowed. */
void run_file_free(struct run_file *f);

/* Add the run file to @out with all its defaults and with the topology inside, so that it needs no
 * other file but its data and reading it gives the same run. Whether it fit is for the caller to
 * see: out->failed; RUN_PRINT_BYTES_MAX always do. */
void run_file_print(const struct run_file *f, struct text *out);

/* As they are written. */
const char *run_barrier_name(enum run_barrier barrier);
const char *run_order_name(enum run_order order);

#endif
