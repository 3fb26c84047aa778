/* What the files of a plan's map share. */

#ifndef RUN_MAP_PLAN_MAP_STATE_H
#define RUN_MAP_PLAN_MAP_STATE_H

#include "run/map/map.h"
#include "run/map/plan_map.h"

struct plan_map_link {
    struct run_map_way way; /* In the picture, from .a to .b. */
    uint32_t flows;         /* That take it, ... */
    uint32_t drawn;         /* ... and so many of these are drawn. */
    double load;            /* Used of what it has, 0 to 1. */
};

struct plan_map {
    const struct run_plan_map *p;
    const struct topo_graph *g;
    struct run_map map;
    bool placed;      /* On a map, not in rings. */
    uint32_t guessed; /* Regions without a place on it. */
    double wide;
    double high;
    struct run_map_place *places; /* Of nodes, like all that follows but .links. */
    struct run_svg_point *points;
    uint32_t *rank;      /* 1: the server, 2 to RUN_PLAN_MAP_NEXT; 0: neither. */
    uint32_t *candidate; /* Index, or UINT32_MAX. */
    uint32_t *flow;      /* Index, or UINT32_MAX. */
    struct plan_map_link *links;
    double fastest; /* Of all links, Mbit/s; and the slowest. */
    double slowest;
};

/* Where everything is. ERR_NOMEM. */
MUST_USE enum err plan_map_lay(struct plan_map *m);

/* Are flows few enough to be drawn one by one? */
bool plan_map_drawn(const struct plan_map *m);

void plan_map_flows(struct plan_map *m, struct text *out);

/* Names beside the regions. ERR_NOMEM. */
MUST_USE enum err plan_map_names(const struct plan_map *m, struct text *out);

/* How large a region's mark is. */
double plan_map_radius(const struct plan_map *m, uint32_t node);

#endif
