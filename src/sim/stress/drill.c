/* A drill: build the site, let it train under faults, judge. */

#include "sim/stress/drill.h"

#include "base/mem.h"
#include "sim/stress/drill_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    DRILL_STORM_MS = 8000,
    DRILL_FAULT_EVERY_MS = 400,
    DRILL_PATIENCE_S = 400, /* After the storm: then there must have been progress (I6). */
    DRILL_QUIET_MS = 1000,  /* A script goes on so long after everything is done. */
    DRILL_CHECK_EVERY = 16,
};

/* Does the lane know that there is a site? One that has begun anew knows nothing. */
static bool drill_lane_knows(const struct drill *d, uint32_t lane)
{
    struct node_lane *l = sim_cluster_lane(d->cluster, lane);
    struct node_lane_stats stats;

    if (l == NULL) {
        return false;
    }
    node_lane_stats(l, &stats);
    return stats.restoring || (!stats.fresh && !(stats.anew && d->lane_lives[lane] > 1));
}

/* All workers died since they were in: none of them knows that there was a site. */
static bool drill_workers_forgot(const struct drill *d)
{
    for (uint32_t i = 0; i < d->workers_count; i++) {
        const struct drill_worker *w = &d->workers[i];

        if (w->worker != NULL && w->in_as == w->worker->incarnation) {
            return false;
        }
    }
    return true;
}

/* If no lane knows anything, new workers may begin the site anew: when all are new, or, if it needs
 * fewer than it has, before the first old one has come back. Nobody can tell them: the drill is
 * over. */
static void drill_watch_begin(struct drill *d, uint32_t lane)
{
    struct node_lane_stats stats;

    if (d->lane_begun[lane]) {
        return;
    }
    node_lane_stats(sim_cluster_lane(d->cluster, lane), &stats);
    if (stats.fresh) {
        return;
    }
    d->lane_begun[lane] = true;
    d->lane_lives[lane]++;
    if (stats.anew && d->lane_lives[lane] > 1) {
        d->began_anew = d->site.sync.members_min < d->workers_count || drill_workers_forgot(d);
        for (uint32_t i = 0; i < d->site.lanes; i++) {
            d->began_anew = d->began_anew && !drill_lane_knows(d, i);
        }
    }
}

/* Whom the lane would wait for if it went down now. */
static void drill_watch_members(struct drill *d, uint32_t lane)
{
    const struct node_lane *l = sim_cluster_lane(d->cluster, lane);

    d->lane_members[lane] = 0;
    for (uint32_t i = 0; i < d->workers_count; i++) {
        d->lane_members[lane] |= (uint32_t)node_lane_is_member(l, i) << i;
    }
}

/* Lanes that went down since we looked last, and those that have begun. */
static void drill_watch_lanes(struct drill *d)
{
    for (uint32_t i = 0; i < d->site.lanes; i++) {
        bool on = sim_cluster_lane(d->cluster, i) != NULL;
        uint64_t starts = sim_host_starts(d->lane_hosts[i]);

        if (d->lane_on[i] && (!on || starts != d->lane_starts[i])) {
            d->lane_begun[i] = false;
            sim_witness_lane_down(d->witness, i);
            for (uint32_t t = 0; t < d->tables; t++) {
                d->sums[t].down =
                    d->sums[t].down ||
                    table_chunk_shard((uint16_t)t, 0, d->site.shards) % d->site.lanes == i;
            }
        }
        d->lane_on[i] = on;
        d->lane_starts[i] = starts;
        if (on) {
            drill_watch_begin(d, i);
            if (d->lane_begun[i]) {
                drill_watch_members(d, i);
            }
        }
    }
}

static const char *drill_look(void *user)
{
    struct drill *d = user;
    const char *broken = sim_witness_broken(d->witness);

    drill_watch_lanes(d);
    if (broken == NULL && d->broken[0] != '\0') {
        broken = d->broken;
    }
    if (++d->looks % DRILL_CHECK_EVERY == 0 || d->config.script != NULL) {
        broken = broken != NULL ? broken : sim_cluster_broken(d->cluster);
    }
    return broken;
}

static bool drill_all_done(const struct drill *d)
{
    for (uint32_t i = 0; i < d->workers_count; i++) {
        if (!d->workers[i].done) {
            return false;
        }
    }
    return true;
}

/* "ssp pull, staleness 2, lanes 3, workers 5, clocks 12, a checkpoint every 4" */
static void drill_about(const struct drill *d, char *out, size_t size)
{
    char kind[48] = "";
    char saved[48] = "no checkpoints";

    if (d->site.sync.staleness > 0) {
        (void)snprintf(kind, sizeof(kind), ", staleness %" PRIu64, d->site.sync.staleness);
    } else if (d->site.sync.fixed_order) {
        (void)snprintf(kind, sizeof(kind), ", fixed order");
    }
    if (d->site.checkpoint_every > 0) {
        (void)snprintf(saved, sizeof(saved), "a checkpoint every %u", d->site.checkpoint_every);
    }
    (void)snprintf(out, size, "%s %s%s, lanes %u, workers %u, clocks %" PRIu64 ", %s",
                   d->site.sync.policy->name, node_delivery_name(d->site.delivery), kind,
                   d->site.lanes, d->workers_count, d->clocks, saved);
}

static void drill_sum(struct drill *d, struct sim_drill_result *r)
{
    for (uint32_t i = 0; i < d->site.lanes; i++) {
        struct node_lane *l = drill_counts_here(d, i) ? sim_cluster_lane(d->cluster, i) : NULL;
        struct node_lane_stats stats;

        if (l != NULL) {
            node_lane_stats(l, &stats);
            r->totals.duplicates += stats.duplicates;
            r->totals.refused += stats.refused;
            r->totals.snapshots += stats.snapshots;
            r->totals.checkpoints += stats.checkpoints;
        }
    }
    for (int i = 0; i < SIM_FAULT_KINDS && d->faults != NULL; i++) {
        r->fired[i] = sim_faults_fired(d->faults, (enum sim_fault_kind)i);
    }
    r->totals.updates = sim_witness_counted(d->witness);
    r->totals.restores = sim_witness_restores(d->witness);
    r->totals.rebases = d->rebases;
    r->values_hash = sim_witness_hash(d->witness);
    r->site = d->site;
    r->now_ns = sim_world_now_ns(d->world);
    r->events = sim_world_events(d->world);
    r->transcript_hash = sim_world_transcript_hash(d->world);
    drill_about(d, r->about, sizeof(r->about));
}

/* Who has not got to the end, and why. */
static void drill_blame(struct drill *d, char *out, size_t size)
{
    sim_cluster_trace_status(d->cluster);
    for (uint32_t i = 0; i < d->workers_count; i++) {
        const struct drill_worker *w = &d->workers[i];
        char why[160] = "its host is off";

        if (w->done) {
            continue;
        }
        if (w->worker != NULL && w->worker->node != NULL &&
            !node_worker_why(w->worker->node, why, sizeof(why))) {
            (void)snprintf(why, sizeof(why), "nothing is under way");
        }
        (void)snprintf(out, size, "I6: worker %u (%s) does not get beyond clock %" PRIu64 ": %s", i,
                       sim_host_name(sim_cluster_worker(d->cluster, i)->host), w->clock, why);
        return;
    }
}

/* A site that has lost all it had waits for all its workers, as at its first start; but those who
 * are done do not come again. That is no hang. */
static bool drill_starts_again(struct drill *d)
{
    bool some_done = false;

    for (uint32_t i = 0; i < d->workers_count; i++) {
        some_done = some_done || d->workers[i].done;
    }
    for (uint32_t i = 0; i < d->site.lanes; i++) {
        struct node_lane *l = sim_cluster_lane(d->cluster, i);
        struct node_lane_stats stats;

        if (l != NULL) {
            node_lane_stats(l, &stats);
            if (!stats.starting) {
                return false;
            }
        }
    }
    return some_done;
}

static void drill_judge(struct drill *d, struct sim_drill_result *r)
{
    const char *broken = sim_world_broken(d->world);

    if (d->began_anew) {
        r->lost_all = true;
    } else if (broken != NULL) {
        (void)snprintf(r->verdict, sizeof(r->verdict), "%s", broken);
    } else if (!drill_all_done(d)) {
        r->lost_all = drill_starts_again(d);
        if (!r->lost_all) {
            drill_blame(d, r->verdict, sizeof(r->verdict));
        }
    } else {
        char first[128];
        uint64_t missing = sim_witness_missing(d->witness, first, sizeof(first));

        if (missing > 0) {
            (void)snprintf(r->verdict, sizeof(r->verdict),
                           "I1: %" PRIu64 " updates of finished clocks are in no values: %s",
                           missing, first);
        }
    }
}

static void drill_storm(struct drill *d)
{
    int64_t length =
        d->config.storm_ns == 0 ? (int64_t)DRILL_STORM_MS * 1000000 : d->config.storm_ns;

    if (d->faults != NULL && d->config.faults != 0) {
        sim_faults_storm(d->faults, d->config.seed, d->config.faults,
                         (int64_t)DRILL_FAULT_EVERY_MS * 1000000,
                         sim_world_now_ns(d->world) + length);
    }
}

static void drill_destroy(struct drill *d)
{
    for (uint32_t i = 0; i < d->workers_count && d->world != NULL; i++) {
        sim_event_cancel(d->world, &d->workers[i].join);
    }
    sim_cluster_destroy(d->cluster);
    sim_faults_destroy(d->faults);
    if (d->config.over != NULL && d->world != NULL) {
        d->config.over(d->world, d->config.user);
    }
    sim_world_destroy(d->world);
    sim_witness_destroy(d->witness);
    mem_free(d);
}

/* By seed: until all is done. A script also has its faults, and a moment of peace. */
static void drill_go(struct drill *d)
{
    const struct sim_drill_script *s = d->config.script;
    int64_t until_ns = s != NULL ? s->until_ns : (int64_t)DRILL_PATIENCE_S * 1000000000;
    int64_t quiet_ns = SIM_NEVER;

    sim_world_set_checker(d->world, drill_look, d);
    drill_storm(d);
    while (!d->began_anew && sim_world_step(d->world, quiet_ns < until_ns ? quiet_ns : until_ns)) {
        if (!drill_all_done(d)) {
            continue;
        }
        if (s == NULL) {
            break;
        }
        if (quiet_ns == SIM_NEVER && sim_world_now_ns(d->world) >= s->faults_ns) {
            quiet_ns = sim_world_now_ns(d->world) + (int64_t)DRILL_QUIET_MS * 1000000;
        }
    }
}

enum err sim_drill_run(const struct sim_drill_config *config, struct sim_drill_result *result_out,
                       struct err_text *text)
{
    struct drill *d = mem_zalloc(sizeof(*d));
    enum err rc;

    *result_out = (struct sim_drill_result){.now_ns = 0};
    if (d == NULL) {
        return err_text_set(text, ERR_NOMEM, "no memory for a drill");
    }
    d->config = *config;
    rc = drill_build(d, text);
    if (rc == OK) {
        drill_go(d);
        drill_judge(d, result_out);
        drill_sum(d, result_out);
        rc = config->trace ? sim_world_transcript(d->world, &result_out->transcript) : OK;
    }
    drill_destroy(d);
    return rc;
}

void sim_drill_result_deinit(struct sim_drill_result *r)
{
    text_deinit(&r->transcript);
}
