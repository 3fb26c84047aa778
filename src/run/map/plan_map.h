/* A network and a plan as a picture: regions on a map where they have places, else in rings around
 * the server; links as wide as they are fast and as dark as they are used; flows along them; the
 * server and the places that come next. Everything says what it is when it is pointed at. */

#ifndef RUN_MAP_PLAN_MAP_H
#define RUN_MAP_PLAN_MAP_H

#include "base/text.h"
#include "plan/place.h"

enum {
    RUN_PLAN_MAP_NAMED = 24,   /* More regions than that: only those that matter have names. */
    RUN_PLAN_MAP_FLOWS = 16,   /* More flows than that are not drawn one by one. */
    RUN_PLAN_MAP_LINKS = 8192, /* More links than that: only those that are used are drawn. */
    RUN_PLAN_MAP_NEXT = 4,     /* The server is 1; up to this the next best have numbers. */
};

struct run_plan_map {
    const char *id; /* Of its words; another one for each picture of a page. */
    const char *title;
    const struct topo_graph *graph;
    const char *const *names;                 /* Of regions; NULL: those of the graph. */
    const struct plan_place_problem *problem; /* NULL: the network alone. */
    const struct plan_place_answer *answer;   /* NULL as well. */
};

/* What the picture needs of styles; once in a page. */
void run_plan_map_style(struct text *out);

/* The picture, its legend, and what must be said of where things are. ERR_NOMEM. */
MUST_USE enum err run_plan_map(const struct run_plan_map *p, struct text *out);

/* The class of a flow's colour, for tables beside it: empty if flows have none. */
const char *run_plan_map_flow(const struct plan_place_answer *a, uint32_t flow);

/* All servers that are possible, the best first: the one of the answer, then by value. Sets
 * @order_out to indexes of candidates, to be released, and @count_out. ERR_NOMEM. */
MUST_USE enum err run_plan_rank(const struct plan_place_answer *a, uint32_t **order_out,
                                uint32_t *count_out);

/* How much of each link the plan uses, 0 to 1; to be released. ERR_NOMEM. */
MUST_USE enum err run_plan_loads(const struct plan_place_problem *p,
                                 const struct plan_place_answer *a, double **load_out);

/* With three digits: "4.22 s", "48.2 s"; "250 ms". */
void run_plan_time(struct text *out, double seconds);

/* "4250 Mbit/s", "0.25 Mbit/s". */
void run_plan_rate(struct text *out, double mbps);

/* Of a region; @names may be NULL. */
const char *run_plan_name(const struct topo_graph *g, const char *const *names, uint32_t node);

/* "Tokyo &rarr; Oregon", escaped. */
void run_plan_path(struct text *out, const struct topo_graph *g, const char *const *names,
                   const struct plan_place_flow *f);

#endif
