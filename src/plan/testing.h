/* Problems for tests of trees: random ones, and the best tree by trying all. */

#ifndef PLAN_TESTING_H
#define PLAN_TESTING_H

#include "base/rng.h"
#include "plan/tree.h"

#include <stdlib.h>
#include <string.h>

/* How many times something is tried: less under valgrind. */
static inline uint32_t testing_runs(uint32_t runs)
{
    return getenv("STRAIT_VALGRIND") != NULL ? (runs + 9) / 10 : runs;
}

enum { TESTING_WORKERS_MAX = 300, TESTING_SERVERS_MAX = 10 };

/* A problem with its arrays. Not to be copied. */
struct testing_problem {
    struct plan_tree_problem p;
    struct plan_tree_place places[TESTING_WORKERS_MAX + TESTING_SERVERS_MAX];
    double costs[(64 + TESTING_SERVERS_MAX) * 64]; /* At most 64 workers. */
    bool leaf_only[TESTING_WORKERS_MAX];
    uint32_t load[TESTING_WORKERS_MAX];
    uint32_t parent[TESTING_WORKERS_MAX];
};

static inline void testing_servers(struct testing_problem *t, struct rng *rng)
{
    t->p.servers = 1 + (uint32_t)rng_below(rng, TESTING_SERVERS_MAX);
    for (uint32_t s = 0; s < t->p.servers; s++) {
        t->places[t->p.workers + s] = t->places[rng_below(rng, t->p.workers)];
    }
}

/* Workers in up to @aggs aggregations with up to @edges racks of up to @each workers. */
static inline void testing_racks(struct testing_problem *t, struct rng *rng, uint32_t aggs,
                                 uint32_t edges, uint32_t each)
{
    uint32_t n = 0;

    memset(t, 0, sizeof(*t));
    t->p = (struct plan_tree_problem){
        .places = t->places, .edge_cost = 0.1, .agg_cost = 0.5, .core_cost = 1};
    for (uint32_t a = 1 + (uint32_t)rng_below(rng, aggs); a > 0; a--) {
        for (uint32_t e = 1 + (uint32_t)rng_below(rng, edges); e > 0; e--) {
            for (uint32_t w = 1 + (uint32_t)rng_below(rng, each); w > 0; w--) {
                t->places[n++] = (struct plan_tree_place){.agg = a, .edge = e};
            }
        }
    }
    t->p.workers = n;
    testing_servers(t, rng);
}

/* @workers of measured costs, of which some are equal. */
static inline void testing_matrix(struct testing_problem *t, struct rng *rng, uint32_t workers)
{
    memset(t, 0, sizeof(*t));
    t->p = (struct plan_tree_problem){.workers = workers, .costs = t->costs};
    t->p.servers = 1 + (uint32_t)rng_below(rng, 3);
    for (uint32_t i = 0; i < (workers + t->p.servers) * workers; i++) {
        t->costs[i] = (double)rng_below(rng, 1000) / 100;
    }
}

/* A degree and a depth for which there is a tree. */
static inline void testing_limits(struct testing_problem *t, struct rng *rng)
{
    static const double leaf_costs[] = {0, 0.05, 0.2, 0.5, 1};

    do {
        t->p.degree = 1 + (uint32_t)rng_below(rng, 8);
        t->p.depth = 1 + (uint32_t)rng_below(rng, 5);
    } while (plan_tree_possible(&t->p, NULL) != OK);
    t->p.leaf_cost = leaf_costs[rng_below(rng, 5)];
}

#endif
