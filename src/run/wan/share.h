/* What a site shared with the others: the counters of its lanes (node/mirror/mirror.h,
 * node/central/central.h), added up. Those of a lane that was started again count from there on. */

#ifndef RUN_WAN_SHARE_H
#define RUN_WAN_SHARE_H

#include "node/central/central.h"
#include "node/mirror/mirror.h"

#include <stdbool.h>
#include <stdint.h>

struct json_t;

struct run_share {
    struct node_mirror_stats sums;     /* .soft is the largest of all lanes. */
    uint32_t lanes;                    /* Of which it is. */
    bool bound;                        /* The budget held some soft threshold up, at the end. */
    bool around;                       /* It is of rounds around a centre, which have these: */
    struct node_central_stats central; /* Of .epoch and .centre nothing is known. */
};

/* Add a lane by what it says of itself: "between" of node_lane_status(). */
void run_share_add_status(struct run_share *s, const struct json_t *between);

/* The part of the elements that were judged and not sent, 0 to 1; NaN: none was judged. */
double run_share_insignificant(const struct run_share *s);

/* As in summary.json, "shared" or "around"; bytes of a model at @scale are as at full size. NULL:
 * no memory. */
struct json_t *run_share_to_json(const struct run_share *s, double scale);
struct json_t *run_share_around_to_json(const struct run_share *s, double scale);

#endif
