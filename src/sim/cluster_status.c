/* What the lanes of a site say of themselves, as lines of the transcript: for a run that broke. */

#include "sim/cluster.h"
#include "sim/world.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

static void status_line(struct sim_cluster *c, uint32_t lane, const char *key, const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

    sim_trace(sim_cluster_world(c), NULL, "lane %" PRIu32 " of %s: %s %s", lane,
              sim_cluster_site(c)->name, key, text == NULL ? "" : text);
    free(text);
}

void sim_cluster_trace_status(struct sim_cluster *c)
{
    for (uint32_t i = 0; i < sim_cluster_site(c)->lanes; i++) {
        struct node_lane *l = sim_cluster_lane(c, i);
        json_t *status =
            l == NULL || !sim_tracing(sim_cluster_world(c)) ? NULL : node_lane_status(l);
        const char *key;
        json_t *value;

        json_object_foreach(status, key, value)
        {
            if (json_is_array(value)) {
                for (size_t k = 0; k < json_array_size(value); k++) {
                    status_line(c, i, key, json_array_get(value, k));
                }
            } else if (!(json_is_integer(value) && json_integer_value(value) == 0)) {
                status_line(c, i, key, value);
            }
        }
        json_decref(status);
    }
}
