/* Counters of a lane. */

#include "node/counters.h"

#include "obs/metric.h"

static enum err node_counter(struct obs_registry *registry, const char *name, const char *help,
                             const char *key, const char *word, struct obs_counter **out)
{
    struct obs_label label = {key, word};
    struct obs_desc desc = {.name = name,
                            .help = help,
                            .labels = word == NULL ? NULL : &label,
                            .labels_count = word == NULL ? 0 : 1};

    return obs_counter_create(registry, &desc, out);
}

const char *node_place_of_sum_name(enum node_place_of_sum place)
{
    static const char *const names[NODE_PLACES] = {"sum", "values", "residual", "deltas",
                                                   "central"};

    return names[place];
}

enum err node_counters_init(struct node_counters *c, struct obs_registry *registry)
{
    const struct {
        struct obs_counter **counter;
        const char *name;
        const char *help;
    } rows[] = {
        {&c->updates, "strait_updates_total", "Updates that entered a sum."},
        {&c->duplicates, "strait_update_duplicates_total", "Updates that were counted before."},
        {&c->rounds, "strait_rounds_total", "Rounds of a chunk closed with updates in them."},
        {&c->broadcasts, "strait_broadcasts_total", "Sums sent to workers."},
        {&c->snapshots, "strait_snapshot_chunks_total", "Chunks sent whole to workers."},
        {&c->trees, "strait_trees_total", "Broadcast trees made."},
        {&c->detours, "strait_tree_detours_total",
         "Workers that their parent in a tree did not feed any longer."},
        {&c->expired, "strait_expired_total", "Workers left out because of a missed deadline."},
        {&c->checkpoints, "strait_checkpoints_total", "Checkpoints of a shard written."},
        {&c->checkpoint_failures, "strait_checkpoint_failures_total",
         "Checkpoints that could not be written."},
    };
    enum err rc = OK;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && rc == OK; i++) {
        rc = node_counter(registry, rows[i].name, rows[i].help, NULL, NULL, rows[i].counter);
    }
    for (int i = 1; i < NODE_REFUSALS && rc == OK; i++) {
        rc = node_counter(registry, "strait_updates_refused_total", "Updates refused, by reason.",
                          "reason", wire_late_name((enum wire_late)i), &c->refused[i]);
    }
    for (int i = 0; i < NODE_PLACES && rc == OK; i++) {
        rc = node_counter(registry, "strait_nonfinite_elements_total",
                          "Elements that kept their value because an addition would have made them "
                          "infinite or not a number, by place.",
                          "place", node_place_of_sum_name((enum node_place_of_sum)i),
                          &c->nonfinite[i]);
    }
    for (int i = NODE_PERMIT_OK + 1; i < NODE_PERMITS && rc == OK; i++) {
        rc = node_counter(registry, "strait_operations_refused_total",
                          "Control operations refused, by reason: role, site or unknown.", "reason",
                          node_permit_name((enum node_permit)i), &c->operations_refused[i]);
    }
    return rc;
}
