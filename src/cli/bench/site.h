/* A site for benchmarks: real lanes and workers, a process each, insecure on loopback. */

#ifndef CLI_BENCH_SITE_H
#define CLI_BENCH_SITE_H

#include "cli/bench/bench.h"
#include "node/worker/worker.h"

#include <sys/types.h>

enum { BENCH_FIGURES = 4 };

struct bench_member {
    struct loop *loop;
    struct obs_registry *registry;
    struct node_worker *node;
    uint32_t number;
    const pid_t *servers;
    uint32_t servers_count;
    int64_t figures[BENCH_FIGURES]; /* What the worker found out. */
};

struct bench_site {
    uint32_t workers;
    uint32_t servers; /* Of one lane each. */
    struct node_site site;
    const char *congestion;
    /* What a worker does, in its process; it has not joined. */
    void (*work)(struct bench_member *m, const void *user);
    const void *user;
};

struct bench_site_result {
    int64_t figures[BENCH_WORKERS_MAX][BENCH_FIGURES];
    uint64_t server_bytes; /* Most memory that a server had. */
};

/* Start everybody, wait for the workers, end the servers. */
MUST_USE enum err bench_site_run(const struct bench_site *b, struct bench_site_result *out,
                                 struct err_text *text);

/* In a worker: processor time that it has used so far, and worker 0 also what all servers have. */
int64_t bench_member_cpu_ns(const struct bench_member *m);

/* In a worker: make the table and join; wait for an operation. Failures end the process. */
uint16_t bench_member_join(struct bench_member *m, const struct table_schema_text *table);
void bench_member_wait(struct bench_member *m, const struct node_op *op, const char *what);

#endif
