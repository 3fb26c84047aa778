/* How long a simulated run may stand still before it is stuck: some hours, and as long as the
 * slowest link between members needs for what a clock may have to move. */

#ifndef RUN_SIM_PATIENCE_H
#define RUN_SIM_PATIENCE_H

#include "run/file/file.h"

enum { RUN_PATIENCE_S = 6 * 3600 }; /* At least. */

struct run_patience {
    int64_t ns;
    uint64_t bytes_per_s; /* Of the slowest link between members; zero: there is none. */
    uint32_t from;        /* Its regions. */
    uint32_t to;
    bool hopeless; /* It is too slow for connections. */
};

/* For a model of so many bytes. Pure. */
void run_patience_of(const struct run_file *f, uint64_t model_bytes, struct run_patience *out);

#endif
