/* A drill: build the site, let it train under faults, judge. */

#include "sim/drill.h"

#include "base/mem.h"
#include "base/rng.h"
#include "loop/loop.h"
#include "sim/link.h"
#include "sim/witness.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    DRILL_TABLES = 5,
    DRILL_WORKERS_MAX = 8,
    DRILL_SERVERS_MAX = 3,
    DRILL_REGIONS = 3,
    DRILL_STORM_MS = 8000,
    DRILL_FAULT_EVERY_MS = 400,
    DRILL_PATIENCE_S = 400, /* After the storm: then there must have been progress (I6). */
    DRILL_PATIENT_S = 60,
    DRILL_HASTY_MS = 700,
    DRILL_SLOW_DISK_MS = 60,
    DRILL_SHARDS = 7, /* If not one per lane. */
    DRILL_CHECK_EVERY = 16,
    DRILL_FLOWS = 4096, /* Plenty; the world's own limits cost more than a whole drill. */
    DRILL_SEGMENTS = 1 << 16,
};

enum drill_state {
    DRILL_OPENING,
    DRILL_JOINING,
    DRILL_READING,
    DRILL_COMPUTING,
    DRILL_PUSHING,
    DRILL_ENDING,
    DRILL_LEAVING,
    DRILL_DONE,
};

struct drill;

struct drill_worker {
    struct drill *drill;
    struct sim_worker *worker;
    enum drill_state state;
    struct node_op ops[DRILL_TABLES];
    uint16_t ids[DRILL_TABLES];
    uint32_t opened;
    uint32_t under_way;
    uint64_t clock;
    uint64_t floor[DRILL_TABLES];
    uint64_t floor_restores;
    uint64_t read_restores; /* When reading began: what came before belongs to another life. */
    uint64_t floor_rebases;
    bool retry;
    uint64_t read_rebases;
    uint64_t rebases; /* At the start of this clock. */
    bool partial;     /* Some update of this clock could not be collected. */
    float values[DRILL_TABLES][SIM_WITNESS_ELEMENTS_MAX];
    struct loop_timer timer;
    struct rng rng;
    bool done;
};

struct drill {
    struct sim_drill_config config;
    struct sim_world *world;
    struct sim_cluster *cluster;
    struct sim_witness *witness;
    struct sim_faults *faults;
    struct table_schema schemas[DRILL_TABLES];
    struct node_site site;
    struct drill_worker workers[DRILL_WORKERS_MAX];
    uint32_t workers_count;
    uint64_t clocks;
    uint64_t rebases;
    bool patient;     /* A lane that restarts waits for all workers, however long they are away. */
    bool hasty;       /* Lanes do not wait long for sessions that are silent. */
    bool slow_disks;  /* A checkpoint takes longer than a clock. */
    bool many_shards; /* More shards than lanes. */
    bool lane_on[NODE_LANES_MAX];
    uint64_t looks;
    char broken[320];
};

/* What is learned. */

static const struct table_schema_text drill_tables[DRILL_TABLES] = {
    {.name = "dense", .rows = 5, .width = 7},
    {.name = "rows", .rows = 16, .width = 3},
    {.name = "momentum", .rows = 1, .width = 24, .apply = "momentum lr=0.5 mu=0.5"},
    {.name = "more", .rows = 1, .width = 31},
    {.name = "mean", .rows = 9, .width = 2, .apply = "sgd lr=0.25", .combine = "mean"},
};

/* Small whole numbers; not every worker touches every table in every clock. */
static void drill_update(uint32_t table, uint32_t rank, uint64_t clock, float *out)
{
    uint32_t width = drill_tables[table].width;
    uint32_t rows = (uint32_t)drill_tables[table].rows;

    for (uint32_t r = 0; r < rows; r++) {
        bool touched = table != 1 || (r + rank + clock) % 3 == 0;

        touched = touched && !(table == 3 && (rank + clock) % 4 == 0);
        for (uint32_t i = 0; i < width; i++) {
            out[r * width + i] =
                touched ? (float)(1 + (rank * 5 + clock * 3 + table + r + i) % 11) : 0;
        }
    }
}

/* What a worker really sends: thirds, if the order of adding shall show. */
static void drill_make(const struct drill *d, uint32_t table, uint32_t rank, uint64_t clock,
                       float *out)
{
    drill_update(table, rank, clock, out);
    for (uint32_t i = 0; d->config.rough && i < table_elements(&d->schemas[table]); i++) {
        out[i] /= 3;
    }
}

/* Workers. */

static void drill_went(struct drill_worker *w);

static void drill_finished(struct node_op *op, void *user)
{
    struct drill_worker *w = user;

    (void)op;
    if (--w->under_way == 0) {
        drill_went(w);
    }
}

static struct node_op *drill_op(struct drill_worker *w, uint32_t index)
{
    w->ops[index] = (struct node_op){.finished = drill_finished, .user = w};
    w->under_way++;
    return &w->ops[index];
}

/* What each state does; it may be done again after a failure for want of memory. */

/* One after the other: ids are given in the order of making. */
static void drill_open(struct drill_worker *w)
{
    node_worker_table(w->worker->node, &w->drill->schemas[w->opened], drill_op(w, 0));
}

static void drill_read(struct drill_worker *w)
{
    static const uint32_t rows[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

    w->read_rebases = node_worker_rebases(w->worker->node);
    w->read_restores = sim_witness_restores(w->drill->witness);
    for (uint32_t t = 0; t < DRILL_TABLES; t++) {
        if (t == 1) {
            node_worker_read_rows(w->worker->node, w->ids[t], rows, 16, w->values[t],
                                  drill_op(w, t));
        } else {
            node_worker_read(w->worker->node, w->ids[t], 0, table_elements(&w->drill->schemas[t]),
                             w->values[t], drill_op(w, t));
        }
    }
}

static void drill_compute(struct drill_worker *w)
{
    loop_timer_start_in(&w->timer, (int64_t)(1 + rng_below(&w->rng, 60)) * 1000000);
}

static void drill_collect(struct drill_worker *w, uint32_t table)
{
    const struct table_schema *s = &w->drill->schemas[table];
    float update[SIM_WITNESS_ELEMENTS_MAX];
    uint32_t rows[SIM_WITNESS_ELEMENTS_MAX];
    uint32_t count = 0;
    enum err rc;

    drill_make(w->drill, table, w->worker->rank, w->clock, update);
    for (uint32_t r = 0; r < s->rows; r++) {
        if (update[r * s->width] != 0) {
            memmove(update + (size_t)count * s->width, update + (size_t)r * s->width,
                    s->width * sizeof(float));
            rows[count++] = r;
        }
    }
    if (count == 0) {
        return;
    }
    if (table == 1) {
        rc = node_worker_update_rows(w->worker->node, w->ids[table], rows, count, update);
    } else {
        rc = node_worker_update(w->worker->node, w->ids[table], 0, table_elements(s), update);
    }
    w->partial = w->partial || rc != OK;
    if (rc != OK && rc != ERR_NOMEM) {
        (void)snprintf(w->drill->broken, sizeof(w->drill->broken), "worker %u cannot update: %s",
                       w->worker->rank, err_string(rc));
    }
}

/* The first table goes out at once, the others are collected. */
static void drill_push(struct drill_worker *w)
{
    drill_make(w->drill, 0, w->worker->rank, w->clock, w->values[0]);
    node_worker_push(w->worker->node, w->ids[0], 0, table_elements(&w->drill->schemas[0]),
                     w->values[0], 1, drill_op(w, 0));
}

static void drill_act(struct drill_worker *w)
{
    w->under_way++; /* Some operations are done at once. */
    switch (w->state) {
    case DRILL_OPENING:
        drill_open(w);
        break;
    case DRILL_JOINING:
        node_worker_join(w->worker->node, drill_op(w, 0));
        break;
    case DRILL_READING:
        drill_read(w);
        break;
    case DRILL_COMPUTING:
        drill_compute(w);
        break;
    case DRILL_PUSHING:
        drill_push(w);
        break;
    case DRILL_ENDING:
        node_worker_clock(w->worker->node, 1, drill_op(w, 0));
        break;
    case DRILL_LEAVING:
        node_worker_leave(w->worker->node, drill_op(w, 0));
        break;
    case DRILL_DONE:
        break;
    }
    w->under_way--;
    if (w->under_way == 0 && w->state != DRILL_COMPUTING && w->state != DRILL_DONE) {
        drill_went(w);
    }
}

static void drill_enter(struct drill_worker *w, enum drill_state state)
{
    w->state = state;
    drill_act(w);
}

/* True if an operation failed. For want of memory it is tried again, as a process would be started
 * again; anything else is wrong. */
static bool drill_failed(struct drill_worker *w)
{
    uint32_t count = w->state == DRILL_READING ? DRILL_TABLES : 1;
    bool failed = false;

    for (uint32_t i = 0; i < count; i++) {
        enum err rc = w->ops[i].rc;

        failed = failed || rc != OK;
        if (rc == ERR_EXISTS && w->state == DRILL_PUSHING) {
            failed = false; /* Pushed at the first try. */
        } else if (rc != OK && rc != ERR_NOMEM) {
            (void)snprintf(w->drill->broken, sizeof(w->drill->broken),
                           "worker %u: an operation failed: %.240s", w->worker->rank,
                           w->ops[i].text.text);
        }
    }
    if (failed) {
        w->retry = true;
        loop_timer_start_in(&w->timer, 20000000);
    }
    return failed;
}

/* What was read is checked against all that ever was. */
static void drill_check(struct drill_worker *w)
{
    struct drill *d = w->drill;
    uint64_t rebases = node_worker_rebases(w->worker->node);

    if (w->floor_restores != sim_witness_restores(d->witness) || w->floor_rebases != rebases) {
        memset(w->floor, 0, sizeof(w->floor)); /* Going back was announced. */
        w->floor_restores = sim_witness_restores(d->witness);
        w->floor_rebases = rebases;
    }
    for (uint32_t t = 0; t < DRILL_TABLES; t++) {
        /* Cached rows have the worker's own updates too: they are no version of the table. */
        bool mixed = t == 1 && d->site.delivery == NODE_PULL && d->site.sync.staleness > 0;

        if (!mixed && w->read_rebases == rebases && w->read_restores == w->floor_restores) {
            w->floor[t] = sim_witness_read(d->witness, t, w->clock, w->floor[t], w->values[t]);
        }
    }
}

static void drill_begin_clock(struct drill_worker *w, uint64_t clock)
{
    w->clock = clock;
    w->partial = false;
    w->rebases = node_worker_rebases(w->worker->node);
    drill_enter(w, clock <= w->drill->clocks ? DRILL_READING : DRILL_LEAVING);
}

/* Was the worker left out since its clock began? What it had sent may be lost then. */
static bool drill_left_out(struct drill_worker *w, bool skipped)
{
    if (w->rebases == node_worker_rebases(w->worker->node) && !skipped) {
        return false;
    }
    sim_witness_dropped(w->drill->witness, w->worker->rank);
    w->drill->rebases++;
    return true;
}

static void drill_ended(struct drill_worker *w)
{
    uint64_t next = w->ops[0].value;

    if (!drill_left_out(w, next != w->clock + 1) && !w->partial) {
        sim_witness_finished(w->drill->witness, w->worker->rank, w->worker->incarnation, w->clock);
    }
    drill_begin_clock(w, next);
}

static void drill_went(struct drill_worker *w)
{
    if (drill_failed(w)) {
        return;
    }
    switch (w->state) {
    case DRILL_OPENING:
        if (w->ops[0].value != w->opened) {
            (void)snprintf(w->drill->broken, sizeof(w->drill->broken), "table %u has id %" PRIu64,
                           w->opened, w->ops[0].value);
        }
        w->ids[w->opened++] = (uint16_t)w->ops[0].value;
        drill_enter(w, w->opened < DRILL_TABLES ? DRILL_OPENING : DRILL_JOINING);
        break;
    case DRILL_JOINING:
        drill_begin_clock(w, w->ops[0].value);
        break;
    case DRILL_READING:
        drill_check(w);
        drill_enter(w, DRILL_COMPUTING);
        break;
    case DRILL_PUSHING:
        for (uint32_t t = 1; t < DRILL_TABLES; t++) {
            drill_collect(w, t);
        }
        drill_enter(w, DRILL_ENDING);
        break;
    case DRILL_ENDING:
        drill_ended(w);
        break;
    case DRILL_LEAVING:
        (void)drill_left_out(w, false);
        w->done = true;
        w->state = DRILL_DONE;
        break;
    case DRILL_COMPUTING:
    case DRILL_DONE:
        break;
    }
}

static void drill_timer(struct loop_timer *timer, void *user)
{
    struct drill_worker *w = user;

    (void)timer;
    if (w->retry) {
        w->retry = false;
        drill_act(w);
    } else if (w->state == DRILL_COMPUTING) {
        drill_enter(w, DRILL_PUSHING);
    }
}

static enum err drill_worker_start(struct sim_worker *worker, void *user)
{
    struct drill_worker *w = user;
    enum err rc = loop_timer_init(&w->timer, sim_host_loop(worker->host), drill_timer, w);

    if (rc != OK) {
        return rc;
    }
    w->worker = worker;
    w->under_way = 0;
    w->opened = 0;
    w->retry = false;
    w->partial = false;
    memset(w->floor, 0, sizeof(w->floor));
    if (!w->done) {
        drill_enter(w, DRILL_OPENING);
    }
    return OK;
}

static void drill_worker_stop(struct sim_worker *worker, void *user)
{
    struct drill_worker *w = user;

    loop_timer_deinit(&w->timer);
    sim_witness_dropped(w->drill->witness, worker->rank);
}

static const struct sim_brain drill_brain = {
    .start = drill_worker_start,
    .stop = drill_worker_stop,
};

/* The whole. */

/* Is there a worker whose copy has the version, and that the lane has met or would have, had it
 * waited? One that did not come in time is no help: how long a lane waits is a setting. */
static bool drill_held(uint32_t table, uint64_t version, void *user)
{
    struct drill *d = user;
    uint32_t lane = table_chunk_shard((uint16_t)table, 0, d->site.shards) % d->site.lanes;
    struct node_lane_stats stats = {0};

    node_lane_stats(sim_cluster_lane(d->cluster, lane), &stats);
    for (uint32_t i = 0; i < d->workers_count; i++) {
        struct node_worker *w = d->workers[i].worker == NULL ? NULL : d->workers[i].worker->node;
        enum node_standing standing;
        uint64_t has;

        if (w == NULL || node_worker_chunk(w, (uint16_t)table, 0, &has) == NULL || has < version) {
            continue;
        }
        standing = node_worker_standing(w, lane);
        if (standing == NODE_STANDING_OFFERED ||
            (standing == NODE_STANDING_BACKS && !stats.hurried)) {
            return true;
        }
    }
    return false;
}

/* Lanes that went down since we looked last. */
static void drill_watch_lanes(struct drill *d)
{
    for (uint32_t i = 0; i < d->site.lanes; i++) {
        bool on = sim_cluster_lane(d->cluster, i) != NULL;

        if (d->lane_on[i] && !on) {
            sim_witness_lane_down(d->witness, i);
        }
        d->lane_on[i] = on;
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
    if (broken == NULL && ++d->looks % DRILL_CHECK_EVERY == 0) {
        broken = sim_cluster_broken(d->cluster);
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

/* Settings that the seed decides. */
static void drill_choose(struct drill *d, struct rng *rng)
{
    static const char *const barriers[] = {"bsp", "ssp", "tap"};
    const struct sim_drill_config *c = &d->config;
    uint64_t pick = rng_below(rng, 3);
    uint64_t staleness = 1 + rng_below(rng, 3);
    uint64_t delivery = rng_below(rng, 2);
    uint64_t every = 2 + rng_below(rng, 4);
    bool durable = rng_below(rng, 2) == 0;
    bool ordered = rng_below(rng, 3) == 0;
    bool impatient = rng_below(rng, 2) == 0;
    const char *barrier = c->barrier != NULL ? c->barrier : barriers[pick];

    /* Small sites more often than large ones: they are as hard and cost less. */
    d->workers_count = c->workers != 0
                           ? c->workers
                           : 1 + (uint32_t)rng_below(rng, 1 + rng_below(rng, DRILL_WORKERS_MAX));
    d->patient = rng_below(rng, 2) == 0;
    d->hasty = rng_below(rng, 3) == 0;
    d->slow_disks = rng_below(rng, 3) == 0;
    d->many_shards = rng_below(rng, 2) == 0;
    d->clocks = c->clocks != 0 ? c->clocks : 4 + rng_below(rng, 12);
    d->site = (struct node_site){
        .name = "home",
        .delivery =
            c->delivery >= 0 ? (enum node_delivery)c->delivery : (enum node_delivery)delivery,
        .sync = {.policy = sync_policy_find(barrier), .members_min = d->workers_count},
        .checkpoint_every = c->checkpoints >= 0 ? (uint32_t)c->checkpoints
                            : durable           ? (uint32_t)every
                                                : 0,
    };
    if (d->site.sync.policy == &sync_ssp) {
        d->site.sync.staleness = c->staleness != 0 ? c->staleness : staleness;
    }
    d->site.sync.fixed_order =
        d->site.sync.policy == &sync_bsp && (c->fixed_order || (c->barrier == NULL && ordered));
    d->site.sync.deadline_ns = c->deadline_ns != 0 ? c->deadline_ns
                               : impatient         ? INT64_C(2000000000)
                                                   : INT64_C(120000000000);
    /* Without a checkpoint and without copies a server's death is the end of the run. */
    if (d->site.delivery == NODE_PULL && c->checkpoints < 0 && c->faults != 0) {
        d->site.checkpoint_every = (uint32_t)every;
    }
}

static enum err drill_regions(struct drill *d, struct rng *rng, struct sim_region **regions)
{
    static const char *const names[DRILL_REGIONS] = {"eu", "us", "ap"};
    enum err rc = OK;

    for (uint32_t i = 0; i < DRILL_REGIONS && rc == OK; i++) {
        rc = sim_region_create(d->world, names[i], &regions[i]);
        for (uint32_t j = 0; j < i && rc == OK; j++) {
            struct sim_link_config link = {0};

            /* One after the other: in what order an initialiser is evaluated nobody knows. */
            link.bytes_per_s = 1000000 + rng_below(rng, 20000000);
            link.delay_ns = (int64_t)(5 + rng_below(rng, 80)) * 1000000;
            link.jitter_ns = (int64_t)rng_below(rng, 3) * 1000000;
            rc = sim_link_set(d->world, regions[i], regions[j], &link);
        }
    }
    return rc;
}

static enum err drill_populate(struct drill *d, struct rng *rng, struct sim_region **regions)
{
    uint32_t servers = d->config.servers != 0 ? d->config.servers : 1 + (uint32_t)rng_below(rng, 3);
    uint16_t streams = (uint16_t)(1 + rng_below(rng, 3));
    uint32_t lanes;
    char name[16];
    enum err rc = OK;

    for (uint32_t i = 0; i < servers && rc == OK; i++) {
        (void)snprintf(name, sizeof(name), "s%u", i);
        lanes = 1 + (uint32_t)rng_below(rng, 2);
        rc =
            sim_cluster_add_server(d->cluster, name, regions[rng_below(rng, DRILL_REGIONS)], lanes);
    }
    for (uint32_t i = 0; i < d->workers_count && rc == OK; i++) {
        d->workers[i].drill = d;
        d->workers[i].rng = rng_fork(rng, i);
        (void)snprintf(name, sizeof(name), "w%u", i);
        rc = sim_cluster_add_worker(d->cluster, name, regions[rng_below(rng, DRILL_REGIONS)],
                                    streams, &drill_brain, &d->workers[i]);
    }
    d->site = *sim_cluster_site(d->cluster);
    d->site.shards = d->site.shards == 0 ? d->site.lanes : d->site.shards;
    return rc;
}

static enum err drill_build(struct drill *d, struct err_text *text)
{
    struct sim_world_config world = {.seed = d->config.seed,
                                     .keep_trace = d->config.trace,
                                     .trace = true,
                                     .trace_bytes_max = SIM_DRILL_TRACE_BYTES_MAX,
                                     .flows_max = DRILL_FLOWS,
                                     .segments_max = DRILL_SEGMENTS};
    struct sim_cluster_config cluster = {.witness = &sim_witness_lane};
    struct sim_witness_config witness = {.tables = DRILL_TABLES,
                                         .schemas = d->schemas,
                                         .update = drill_update,
                                         .exact = !d->config.rough,
                                         .held = drill_held,
                                         .user = d};
    struct sim_region *regions[DRILL_REGIONS];
    struct rng rng;
    enum err rc = OK;

    rng_init(&rng, d->config.seed);
    drill_choose(d, &rng);
    for (uint32_t t = 0; t < DRILL_TABLES && rc == OK; t++) {
        rc = table_schema_parse(&drill_tables[t], &d->schemas[t], text);
    }
    if (rc == OK) {
        rc = sim_world_create(&world, &d->world);
    }
    if (rc == OK) {
        rc = drill_regions(d, &rng, regions);
    }
    cluster.site = d->site;
    cluster.site.shards = d->many_shards ? DRILL_SHARDS : 0;
    cluster.restore_ns = d->patient ? (int64_t)DRILL_PATIENT_S * 1000000000 : 0;
    cluster.grace_ns = d->hasty ? (int64_t)DRILL_HASTY_MS * 1000000 : 0;
    cluster.commit_ns = d->slow_disks ? (int64_t)DRILL_SLOW_DISK_MS * 1000000 : 0;
    if (rc == OK) {
        rc = sim_cluster_create(d->world, &cluster, &d->cluster);
    }
    if (rc == OK) {
        rc = drill_populate(d, &rng, regions);
    }
    witness.site = d->site;
    if (rc == OK) {
        rc = sim_witness_create(&witness, &d->witness);
    }
    if (rc == OK) {
        sim_cluster_set_witness(d->cluster, d->witness);
        rc = sim_faults_create(d->world, d->config.seed, &d->faults);
    }
    return rc == OK ? sim_cluster_start(d->cluster, text) : rc;
}

static void drill_sum(struct drill *d, struct sim_drill_result *r)
{
    for (uint32_t i = 0; i < d->site.lanes; i++) {
        struct node_lane *l = sim_cluster_lane(d->cluster, i);
        struct node_lane_stats stats;

        if (l != NULL) {
            node_lane_stats(l, &stats);
            r->duplicates += stats.duplicates;
            r->refused += stats.refused;
            r->snapshots += stats.snapshots;
            r->checkpoints += stats.checkpoints;
        }
    }
    for (int i = 0; i < SIM_FAULT_KINDS; i++) {
        r->fired[i] = sim_faults_fired(d->faults, (enum sim_fault_kind)i);
    }
    r->updates = sim_witness_counted(d->witness);
    r->values_hash = sim_witness_hash(d->witness);
    r->site = d->site;
    r->restores = sim_witness_restores(d->witness);
    r->rebases = d->rebases;
    r->now_ns = sim_world_now_ns(d->world);
    r->events = sim_world_events(d->world);
    r->transcript_hash = sim_world_transcript_hash(d->world);
    (void)snprintf(r->about, sizeof(r->about),
                   "%s %s, %u lanes, %u workers, %" PRIu64 " clocks, checkpoints %u",
                   d->site.sync.policy->name, node_delivery_name(d->site.delivery), d->site.lanes,
                   d->workers_count, d->clocks, d->site.checkpoint_every);
}

/* Who has not got to the end, and why. */
static void drill_blame(struct drill *d, char *out, size_t size)
{
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
        (void)snprintf(out, size, "I6: worker %u does not get beyond clock %" PRIu64 " (%d): %s", i,
                       w->clock, (int)w->state, why);
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

    if (broken != NULL) {
        (void)snprintf(r->verdict, sizeof(r->verdict), "%s", broken);
    } else if (!drill_all_done(d)) {
        if (!drill_starts_again(d)) {
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

    if (d->config.faults != 0) {
        sim_faults_storm(d->faults, d->config.seed, d->config.faults,
                         (int64_t)DRILL_FAULT_EVERY_MS * 1000000,
                         sim_world_now_ns(d->world) + length);
    }
}

static void drill_destroy(struct drill *d)
{
    sim_cluster_destroy(d->cluster);
    sim_faults_destroy(d->faults);
    if (d->world != NULL) {
        sim_world_destroy(d->world);
    }
    sim_witness_destroy(d->witness);
    mem_free(d);
}

enum err sim_drill_run(const struct sim_drill_config *config, struct sim_drill_result *result_out,
                       struct err_text *text)
{
    struct drill *d = mem_zalloc(sizeof(*d));
    int64_t until = (int64_t)DRILL_PATIENCE_S * 1000000000;
    enum err rc;

    *result_out = (struct sim_drill_result){.now_ns = 0};
    if (d == NULL) {
        return err_text_set(text, ERR_NOMEM, "no memory for a drill");
    }
    d->config = *config;
    rc = drill_build(d, text);
    if (rc == OK) {
        sim_world_set_checker(d->world, drill_look, d);
        drill_storm(d);
        while (!drill_all_done(d) && sim_world_broken(d->world) == NULL &&
               sim_world_step(d->world, until)) {
        }
        drill_judge(d, result_out);
        drill_sum(d, result_out);
        if (config->trace) {
            rc = text_init(&result_out->transcript, SIM_DRILL_TRACE_BYTES_MAX);
            if (rc == OK) {
                text_add(&result_out->transcript, sim_world_transcript(d->world));
            }
        }
    }
    drill_destroy(d);
    return rc;
}

void sim_drill_result_deinit(struct sim_drill_result *r)
{
    text_deinit(&r->transcript);
}

uint64_t sim_drill_faults(void)
{
    return (UINT64_C(1) << SIM_FAULT_KINDS) - 1;
}
