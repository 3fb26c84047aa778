/* What `strait bench push` measures: full rounds of push, sum, broadcast and apply. */

#ifndef CLI_BENCH_PUSH_H
#define CLI_BENCH_PUSH_H

#include "base/err.h"

#include <stdint.h>

enum { BENCH_PUSH_WORKERS_MAX = 16, BENCH_PUSH_SERVERS_MAX = 16 };

struct bench_push {
    uint32_t workers;
    uint32_t servers;
    uint64_t elements; /* Of the model. */
    uint32_t rounds;   /* Timed; some more go before. */
    const char *congestion;
};

struct bench_push_result {
    int64_t round_ns;      /* Mean of the timed rounds. */
    int64_t cpu_ns;        /* Of all processes, over all rounds. */
    uint64_t server_bytes; /* Most memory that a server had; zero: not measured. */
};

/* Real lanes and workers, a process each. */
MUST_USE enum err bench_push_ours(const struct bench_push *b, struct bench_push_result *out,
                                  struct err_text *text);

/* The same bytes in the same pieces over bare sockets, with the same additions. */
MUST_USE enum err bench_push_floor(const struct bench_push *b, struct bench_push_result *out,
                                   struct err_text *text);

#endif
