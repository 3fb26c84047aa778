/* What `strait bench push` measures: full rounds of push, sum, broadcast and apply. */

#ifndef CLI_BENCH_PUSH_H
#define CLI_BENCH_PUSH_H

#include "cli/bench/bench.h"

struct bench_push {
    uint32_t workers;
    uint32_t servers;
    uint64_t elements; /* Of the model. */
    uint32_t rounds;   /* Timed; some more go before. */
    const char *congestion;
};

struct bench_push_result {
    int64_t round_ns;      /* Mean of the timed rounds. */
    int64_t cpu_ns;        /* Of all processes, of a round. */
    uint64_t server_bytes; /* Most memory that a server had; zero: not measured. */
};

/* Real lanes and workers, a process each. */
MUST_USE enum err bench_push_ours(const struct bench_push *b, struct bench_push_result *out,
                                  struct err_text *text);

/* The same bytes in the same pieces over bare sockets, with the same additions. */
MUST_USE enum err bench_push_floor(const struct bench_push *b, struct bench_push_result *out,
                                   struct err_text *text);

/* Processor time of a round that only ours needs, by what it is for; each measured alone. */
struct bench_push_costs {
    int64_t copy_ns;   /* Updates into frames: the caller may go on with its own. */
    int64_t check_ns;  /* Checksums. */
    int64_t finite_ns; /* Looking for NaN and infinity. */
};
MUST_USE enum err bench_push_costs(const struct bench_push *b, struct bench_push_costs *out);

enum { BENCH_PUSH_WARM = 2 }; /* Rounds before those that are timed. */

#endif
