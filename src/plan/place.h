/* Where to put the global server (APSP): its node, one path from each other node and a rate for
 * each of these flows, so that the slowest push and pull is shortest, or cheapest. docs/PLAN.md has
 * the model.
 *
 * A server costs time T when every flow f takes a path p(f) of w(f) hops (or w = 1, pipelined) and
 * D bytes go each way: T = max over links e of F * D * (sum of w(f) over flows on e) / B(e), where
 * F is 2, or 1 where both ways go at once. Rates follow: b(f) = F * w(f) * D / T.
 *
 * Pure: time comes in by effort->left(), randomness by a seed. */

#ifndef PLAN_PLACE_H
#define PLAN_PLACE_H

#include "plan/routes.h"
#include "topo/graph.h"

enum {
    PLAN_PLACE_DRAWS_MAX = 1000 * 1000,
    PLAN_PLACE_PATHS_AUTO = 16,      /* Shortest paths of a flow, where all would be too many... */
    PLAN_PLACE_AUTO_MAX = 20 * 1000, /* ... for one server. */
};

#define PLAN_PLACE_ALL 0U
#define PLAN_PLACE_AUTO UINT32_MAX
#define PLAN_PLACE_NOWHERE UINT32_MAX

enum plan_place_model {
    PLAN_PLACE_HOPS,      /* Each hop takes the whole time again, as the paper has it. */
    PLAN_PLACE_PIPELINED, /* Relays pass on what comes while it comes. */
};

enum plan_place_method {
    PLAN_PLACE_ROUND, /* The linear program, rounded: one draw per flow, the best of many. */
    PLAN_PLACE_EXACT, /* The integer program. */
    PLAN_PLACE_LP,    /* The server with the least bound, its flows rounded: for comparison. */
};

enum plan_place_goal { PLAN_PLACE_TIME, PLAN_PLACE_DOLLARS };

/* What the pointers name is borrowed; arrays of bool are per node or edge, NULL: none. */
struct plan_place_problem {
    const struct topo_graph *graph;
    double bytes; /* D, of one flow and one way; above zero. */
    enum plan_place_model model;
    enum topo_duplex duplex;
    enum plan_place_goal goal;
    double usd_limit;      /* A push and pull may cost that much; not above zero: no limit. */
    double reserve;        /* Part of each link that is left to others, 0 to below 1. */
    uint32_t paths;        /* Of one flow at most, the shortest; PLAN_PLACE_ALL: all simple ones;
                            * PLAN_PLACE_AUTO: all if they are few. */
    uint32_t server;       /* Only this node, or PLAN_PLACE_NOWHERE: the best one. */
    const bool *no_server; /* May not be the server. */
    const bool *silent;    /* Have no workers: they send nothing, but may pass on. */
    const bool *no_relay;  /* Pass on nothing. */
    const bool *no_edge;   /* Are not used. */
};

struct plan_place_task;

struct plan_place_effort {
    enum plan_place_method method;
    uint32_t draws; /* At least one. */
    uint64_t seed;
    bool plain; /* Draws are not improved on: the paper's algorithm to the letter. */

    /* Seconds that are left, or NULL: as long as it takes. */
    double (*left)(void *user);

    /* Do all tasks, in any order and at once, by plan_place_do(); NULL: one after the other. */
    enum err (*spread)(struct plan_place_task *tasks, uint32_t count, void *user);

    /* Told of each task that is done; may be NULL. */
    void (*progress)(uint32_t done, uint32_t count, const char *what, void *user);
    void *user;
};

enum plan_place_stage { PLAN_PLACE_BOUND_STAGE, PLAN_PLACE_PROOF_STAGE };

/* What is known of one server. */
struct plan_place_candidate {
    uint32_t server;
    bool possible;      /* Every flow has a path, and the limit can be kept. */
    bool pruned;        /* Its bound is not below the best value found elsewhere. */
    bool proven;        /* .value is the least. */
    double value;       /* Time or dollars of the best paths found. */
    double time_s;      /* Of these. */
    double usd;         /* Of these; below zero: prices are not known. */
    double lp_bound;    /* Of the linear relaxation; no value is below it. */
    double bound;       /* The best bound known. */
    uint32_t paths;     /* That were looked at. */
    uint32_t dropped;   /* Of these too slow alone. */
    uint32_t questions; /* That the solver was asked. */
    uint32_t *choice;   /* Of each flow: which of its paths. Owned. */
    uint32_t flows;
};

/* One server, one stage. .candidate is read and written. */
struct plan_place_task {
    const struct plan_place_problem *problem;
    const struct plan_place_effort *effort;
    enum plan_place_stage stage;
    double best; /* Found elsewhere: only what is below that matters in a proof. */
    struct plan_place_candidate *candidate;
    struct err_text *text;
};

struct plan_place_flow {
    uint32_t from;
    uint32_t hops;
    const uint32_t *nodes; /* hops + 1 of them, the server last. */
    const uint32_t *edges;
    double mbps;
};

struct plan_place_baselines {
    double random;      /* The mean over all servers. */
    uint32_t connected; /* The node with the most links, the first of several. */
    double connected_s; /* Its time, ... */
    double tie_mean_s;  /* ... the mean of all with as many links, ... */
    double tie_worst_s; /* ... the longest. */
    double shortest_s;  /* The server found, but everybody takes the first of the shortest paths. */
    double balanced_s;  /* The same, but by load: flows in order, least flows per rate. */
};

struct plan_place_answer {
    uint32_t server;
    double value; /* Of the goal. */
    double time_s;
    double usd;      /* Below zero: not known. */
    double lp_bound; /* The server's. */
    double bound;    /* No plan for any server is below it. */
    bool optimal;    /* Nor below .value. */
    uint32_t paths;  /* As was asked for, or PLAN_PLACE_PATHS_AUTO. */
    struct plan_place_flow *flows;
    uint32_t flows_count;
    struct plan_routes routes;               /* Holds what .flows borrow. */
    struct plan_place_candidate *candidates; /* Of all nodes that may be the server, by index. */
    uint32_t candidates_count;
    struct plan_place_baselines baselines;
};

/* Is it a problem? ERR_INVALID with @text: what is wrong. */
MUST_USE enum err plan_place_check(const struct plan_place_problem *p, struct err_text *text);

/* Find the best plan. ERR_INVALID, ERR_NOT_FOUND (no node can be the server), ERR_TOO_BIG (too
 * many paths), ERR_CORRUPT (plan_place_measure() says something else of a candidate or a baseline,
 * so that we are wrong), ERR_NOMEM with @text. */
MUST_USE enum err plan_place_solve(const struct plan_place_problem *p,
                                   const struct plan_place_effort *effort,
                                   struct plan_place_answer *out, struct err_text *text);
void plan_place_answer_deinit(struct plan_place_answer *a);

/* Do one task. Errors as above; that a server is not possible is none. */
MUST_USE enum err plan_place_do(struct plan_place_task *task);

/* What a plan takes, from its paths and the links alone: .time_s of the whole, and .mbps of each
 * flow. False if a flow has no path to @server, or a path is none. */
MUST_USE bool plan_place_measure(const struct plan_place_problem *p, uint32_t server,
                                 struct plan_place_flow *flows, uint32_t flows_count,
                                 double *time_s_out, double *usd_out);

/* Rate that is in use on each link by these flows, as mbps; of TOPO_DUPLEX_FULL the busier
 * direction. */
void plan_place_loads(const struct plan_place_problem *p, const struct plan_place_flow *flows,
                      uint32_t flows_count, double *mbps_out);

#endif
