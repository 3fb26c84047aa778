/* What workers report to lane 0, put together: loss, objective, accuracy, and when to stop. */

#ifndef NODE_LANE_REPORT_H
#define NODE_LANE_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct node_lane;
struct node_report;
struct node_passed;

/* What was passed on, as an object; and back: false if it makes no sense. */
json_t *node_passed_to_json(const struct node_passed *passed);
bool node_passed_from_json(const json_t *fields, struct node_passed *out);

/* A report as an object; NULL: no memory. */
json_t *node_report_to_json(const struct node_report *report);

/* Take a worker's report. @stop_out: the clock after which all stop, or zero. False: malformed. */
bool node_report_take(struct node_lane *l, uint32_t rank, const json_t *fields, uint64_t *stop_out);

/* For status: clock, loss, objective, accuracy as far as they are known. */
json_t *node_report_status(const struct node_lane *l);

#endif
