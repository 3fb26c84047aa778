/* Runs in Slurm: the batch script, and what Slurm's commands say. Nothing here starts anything. */

#ifndef RUN_BACKEND_SLURM_H
#define RUN_BACKEND_SLURM_H

#include "run/backend/hosts.h"

enum { RUN_SLURM_SCRIPT_BYTES_MAX = 64 * 1024, RUN_SLURM_NODE_BYTES = 65 };

/* How many nodes the run needs: one for each region that has members, and so for each site. */
uint32_t run_slurm_nodes(const struct run_file *f);

/* The region of the @index-th of them. */
const char *run_slurm_region(const struct run_file *f, uint32_t index);

struct run_slurm_script {
    const struct run_file *file;
    const char *program;   /* The path of strait, on all nodes. */
    const char *dir;       /* Of the record: an absolute path; it holds job.yaml. */
    const char *data;      /* An absolute path, or empty. */
    const char *library;   /* Of a custom significance: the same. */
    const char *partition; /* NULL: the default one, as the next. */
    const char *extra;     /* More options of sbatch. */
    int64_t limit_s;       /* Zero: that of the partition. */
    uint32_t insecure;
    bool tidy;
};

/* True if a path can stand in a script. */
bool run_slurm_path_good(const char *path);

/* Add the script to @out. Whether it fit is for the caller to see: out->failed. */
void run_slurm_script(const struct run_slurm_script *script, struct text *out);

/* The number in what `sbatch --parsable` printed, "12" or "12;cluster" on a line, behind what else
 * it had to say. Zero: there is none. */
uint64_t run_slurm_job(const char *said);

/* What `scontrol show job -o` and `scontrol show node -o` say: the value of "KEY=", up to a space.
 * False: there is no such key, or it does not fit. */
bool run_slurm_value(const char *said, const char *key, char *out, size_t size);

enum run_slurm_state {
    RUN_SLURM_WAITS,
    RUN_SLURM_RUNS,
    RUN_SLURM_DONE,      /* By itself; whether it went well is another question. */
    RUN_SLURM_CANCELLED, /* By somebody, */
    RUN_SLURM_TIMEOUT,   /* at its limit, */
    RUN_SLURM_FAILED,    /* or because of a node. */
};
enum run_slurm_state run_slurm_state(const char *name);

/* The lines of `scontrol show hostnames`: the next name into @out, and what is behind it. NULL:
 * there is no more. */
const char *run_slurm_next(const char *said, char out[RUN_SLURM_NODE_BYTES]);

#endif
