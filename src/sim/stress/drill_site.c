/* A drill's site: what it learns, and how it is built, by seed or as described. */

#include "base/list.h"
#include "sim/net/link.h"
#include "sim/stress/drill_state.h"

#include <stdio.h>
#include <string.h>

enum {
    DRILL_DRAWN_WORKERS_MAX = 8,
    DRILL_REGIONS = 3,
    DRILL_FLOW_SEED = 0xf10e, /* So that the rest is drawn as without it. */
    DRILL_PATIENT_S = 60,
    DRILL_HASTY_MS = 700,
    DRILL_SLOW_DISK_MS = 60,
    DRILL_LATE_MS = 4000, /* Until the last one joins. */
    DRILL_SHARDS = 7,     /* If not one per lane. */
    DRILL_FLOWS = 4096,   /* Plenty; the world's own limits cost more than a whole drill. */
    DRILL_SEGMENTS = 1 << 16,
    DRILL_FLOWS_PER_PAIR = 16, /* Both ways, and some that nobody has closed yet. */
};

/* What is learned. */

const struct table_schema_text drill_tables[SIM_DRILL_TABLES] = {
    {.name = "dense", .rows = 5, .width = 7},
    {.name = "rows", .rows = 16, .width = 3},
    {.name = "momentum", .rows = 1, .width = 24, .apply = "momentum lr=0.5 mu=0.5"},
    {.name = "more", .rows = 1, .width = 31},
    {.name = "mean", .rows = 9, .width = 2, .apply = "sgd lr=0.25", .combine = "mean"},
};

/* Small whole numbers; not every worker touches every table in every clock. */
void drill_update(uint32_t table, uint32_t rank, uint64_t clock, float *out)
{
    uint32_t width = drill_tables[table].width;
    uint32_t rows = (uint32_t)drill_tables[table].rows;

    for (uint32_t r = 0; r < rows; r++) {
        bool touched = table != 1 || (r + rank + clock) % 3 == 0;

        touched = touched && !(table == 3 && (rank + clock) % 4 == 0);
        for (uint32_t i = 0; i < width; i++) {
            out[(size_t)r * width + i] =
                touched ? (float)(1 + ((uint64_t)rank * 5 + clock * 3 + table + r + i) % 11) : 0;
        }
    }
}

/* What a worker really sends: thirds, if the order of adding shall show. */
void drill_make(const struct drill *d, uint32_t table, uint32_t rank, uint64_t clock, float *out)
{
    drill_update(table, rank, clock, out);
    for (uint32_t i = 0; d->config.rough && i < table_elements(&d->schemas[table]); i++) {
        out[i] /= 3;
    }
}

/* Parts. */

static uint32_t drill_lane_of(const struct drill *d, uint32_t table)
{
    return table_chunk_shard((uint16_t)table, 0, d->site.shards) % d->site.lanes;
}

/* Is there a worker whose copy has the version, and that the lane has met or would have, had it
 * waited? One that did not come in time is no help, nor one that came and did not answer then, if
 * there is a checkpoint: how long a lane waits is a setting. Workers are told what is lost. */
static bool drill_held(uint32_t table, uint64_t version, void *user)
{
    struct drill *d = user;
    uint32_t lane = drill_lane_of(d, table);
    struct node_lane_stats stats = {0};

    node_lane_stats(sim_cluster_lane(d->cluster, lane), &stats);
    for (uint32_t i = 0; i < d->workers_count; i++) {
        struct node_worker *w = d->workers[i].worker == NULL ? NULL : d->workers[i].worker->node;
        enum node_standing standing;
        uint64_t has;

        if ((d->lane_members[lane] >> i & 1) == 0) {
            continue; /* It was left out, and the others have forgotten it. */
        }
        if (w == NULL || node_worker_chunk(w, (uint16_t)table, 0, &has) == NULL || has < version) {
            continue;
        }
        standing = node_worker_standing(w, lane);
        if ((standing == NODE_STANDING_OFFERED && !(stats.hurried && stats.loaded)) ||
            (standing == NODE_STANDING_BACKS && !stats.hurried)) {
            return true;
        }
    }
    return false;
}

static bool drill_works(uint32_t table, uint32_t rank, uint64_t incarnation, void *user)
{
    const struct drill *d = user;
    const struct drill_worker *w = &d->workers[rank];
    bool in = (d->lane_members[drill_lane_of(d, table)] >> rank & 1) != 0;

    return w->worker != NULL && w->worker->node != NULL && !w->done &&
           (w->state != DRILL_LEAVING || in) && w->worker->incarnation == incarnation;
}

static enum err drill_cluster(struct drill *d)
{
    struct sim_cluster_config config = {.site = d->site,
                                        .commit_ns = d->commit_ns,
                                        .grace_ns = d->grace_ns,
                                        .restore_ns = d->restore_ns,
                                        .witness = &drill_lane_witness};

    config.site.shards = d->shards;
    return sim_cluster_create(d->world, &config, &d->cluster);
}

static enum err drill_add_server(struct drill *d, const char *name, struct sim_region *region,
                                 uint32_t lanes)
{
    uint32_t first = sim_cluster_site(d->cluster)->lanes;
    enum err rc = sim_cluster_add_server(d->cluster, name, region, lanes);

    for (uint32_t i = 0; i < lanes && rc == OK; i++) {
        d->lane_hosts[first + i] = sim_world_host(d->world, name);
    }
    return rc;
}

static enum err drill_add_worker(struct drill *d, uint32_t rank, const char *name,
                                 struct sim_region *region, uint16_t streams)
{
    d->workers[rank].drill = d;
    return sim_cluster_add_worker(d->cluster, name, region, streams, &drill_brain,
                                  &d->workers[rank]);
}

bool drill_counts_here(const struct drill *d, uint32_t lane)
{
    return lane == 0 || d->lane_hosts[lane] != d->lane_hosts[lane - 1];
}

/* All servers are there: now the site is known. */
static enum err drill_witness(struct drill *d)
{
    struct sim_witness_config config = {.tables = d->tables,
                                        .schemas = d->schemas,
                                        .update = drill_update,
                                        .exact = !d->config.rough,
                                        .held = drill_held,
                                        .works = drill_works,
                                        .user = d};
    enum err rc;

    d->site = *sim_cluster_site(d->cluster);
    d->site.shards = d->site.shards == 0 ? d->site.lanes : d->site.shards;
    config.site = d->site;
    rc = sim_witness_create(&config, &d->witness);
    if (rc == OK) {
        sim_cluster_set_witness(d->cluster, d);
    }
    return rc;
}

/* By seed. */

/* How long things take, and how long lanes wait. */
static void drill_choose_patience(struct drill *d, struct rng *rng)
{
    bool patient = rng_below(rng, 2) == 0;
    bool hasty = rng_below(rng, 3) == 0;
    bool slow_disks = rng_below(rng, 3) == 0;
    bool many_shards = rng_below(rng, 2) == 0;

    /* A lane that restarts waits for all workers, however long they are away. */
    d->restore_ns = patient ? (int64_t)DRILL_PATIENT_S * 1000000000 : 0;
    /* Lanes do not wait long for sessions that are silent. */
    d->grace_ns = hasty ? (int64_t)DRILL_HASTY_MS * 1000000 : 0;
    /* A checkpoint takes longer than a clock. */
    d->commit_ns = slow_disks ? (int64_t)DRILL_SLOW_DISK_MS * 1000000 : 0;
    d->shards = many_shards ? DRILL_SHARDS : 0;
}

/* Who comes late, and what else is not as usual. */
static void drill_choose_order(struct drill *d, struct rng *rng)
{
    bool some_late = rng_below(rng, 3) == 0;

    d->join_first = rng_below(rng, 3) == 0;
    if (some_late && d->config.workers == 0 && d->workers_count > 1) {
        d->late = 1 + (uint32_t)rng_below(rng, d->workers_count - 1);
        d->site.sync.members_min -= d->late;
    }
}

/* Some sites encode what they send, without holding anything back, which the witness could not
 * follow (sim/stress/feed.h does); some have trees. */
static void drill_choose_flow(struct drill *d)
{
    static const char *const chains[] = {"all | bitmap", "dvf:delta=0 | gaps", "all | sparse"};
    uint32_t degree, depth;
    struct rng rng;

    rng_init(&rng, d->config.seed ^ DRILL_FLOW_SEED);
    d->site.push.on = rng_below(&rng, 4) == 0;
    d->site.broadcast.on = rng_below(&rng, 4) == 0 && d->site.delivery == NODE_BROADCAST;
    CHECK(codec_chain_parse(chains[rng_below(&rng, 3)], &d->site.push.chain, NULL) == OK);
    CHECK(codec_chain_parse(chains[rng_below(&rng, 3)], &d->site.broadcast.chain, NULL) == OK);
    degree = 1 + (uint32_t)rng_below(&rng, 3);
    depth = 2 + (uint32_t)rng_below(&rng, 6);
    if (rng_below(&rng, 3) == 0 && d->site.delivery == NODE_BROADCAST) {
        d->site.tree = (struct node_tree){.degree = degree, .depth = depth};
    }
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
    d->workers_count =
        c->workers != 0 ? c->workers
                        : 1 + (uint32_t)rng_below(rng, 1 + rng_below(rng, DRILL_DRAWN_WORKERS_MAX));
    drill_choose_patience(d, rng);
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
    drill_choose_order(d, rng);
    drill_choose_flow(d);
}

static void drill_join(struct sim_event *event, struct sim_world *w)
{
    (void)w;
    sim_host_start(LIST_ENTRY(event, struct drill_worker, join)->host);
}

/* Switch the host of a worker on when the others are at it. */
static enum err drill_join_at(struct drill *d, uint32_t rank, const char *name, int64_t at_ns)
{
    struct drill_worker *w = &d->workers[rank];

    w->host = sim_world_host(d->world, name);
    sim_event_init(&w->join, drill_join);
    return sim_event_at(d->world, &w->join, at_ns);
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

static enum err drill_draw_servers(struct drill *d, struct rng *rng, struct sim_region **regions)
{
    uint32_t servers = d->config.servers != 0 ? d->config.servers : 1 + (uint32_t)rng_below(rng, 3);
    uint32_t lanes;
    char name[16];
    enum err rc = OK;

    for (uint32_t i = 0; i < servers && rc == OK; i++) {
        (void)snprintf(name, sizeof(name), "s%u", i);
        lanes = 1 + (uint32_t)rng_below(rng, 2);
        rc = drill_add_server(d, name, regions[rng_below(rng, DRILL_REGIONS)], lanes);
    }
    return rc;
}

/* Those who are there from the start, or the others: these are made when the first are on. */
static enum err drill_draw_workers(struct drill *d, struct rng *rng, struct sim_region **regions,
                                   bool late)
{
    uint32_t punctual = d->workers_count - d->late;
    enum err rc = OK;

    for (uint32_t i = late ? punctual : 0; i < (late ? d->workers_count : punctual) && rc == OK;
         i++) {
        char name[16];

        d->workers[i].rng = rng_fork(rng, i);
        (void)snprintf(name, sizeof(name), "w%u", i);
        rc = drill_add_worker(d, i, name, regions[rng_below(rng, DRILL_REGIONS)], d->streams);
        if (rc == OK && late) {
            rc = drill_join_at(d, i, name, (int64_t)(1 + rng_below(rng, DRILL_LATE_MS)) * 1000000);
        }
    }
    return rc;
}

static enum err drill_draw(struct drill *d, struct rng *rng, struct err_text *text)
{
    struct sim_region *regions[DRILL_REGIONS];
    enum err rc = drill_regions(d, rng, regions);

    if (rc == OK) {
        rc = drill_cluster(d);
    }
    if (rc == OK) {
        rc = drill_draw_servers(d, rng, regions);
    }
    d->streams = (uint16_t)(1 + rng_below(rng, 3));
    if (rc == OK) {
        rc = drill_draw_workers(d, rng, regions, false);
    }
    if (rc == OK) {
        rc = drill_witness(d);
    }
    if (rc == OK) {
        rc = sim_faults_create(d->world, d->config.seed, &d->faults);
    }
    if (rc == OK) {
        rc = sim_cluster_start(d->cluster, text);
    }
    return rc == OK ? drill_draw_workers(d, rng, regions, true) : rc;
}

/* As described. */

static void drill_settings(struct drill *d)
{
    const struct sim_drill_script *s = d->config.script;
    uint32_t punctual = 0;

    for (uint32_t i = 0; i < s->workers_count; i++) {
        punctual += s->workers[i].joins_ns == 0;
    }
    d->site = s->site;
    (void)snprintf(d->site.name, sizeof(d->site.name), "home");
    d->site.sync.members_min = punctual > 0 ? punctual : 1;
    d->shards = s->site.shards;
    d->commit_ns = s->commit_ns;
    d->grace_ns = s->grace_ns;
    d->restore_ns = s->restore_ns;
    d->tables = s->tables;
    d->clocks = s->clocks;
    d->workers_count = s->workers_count;
}

/* Workers that join now, or those that join later: these are made when the others are on. */
static enum err drill_script_workers(struct drill *d, bool late, uint32_t *rank)
{
    const struct sim_drill_script *s = d->config.script;
    struct rng rng;
    enum err rc = OK;

    rng_init(&rng, d->config.seed);
    for (uint32_t i = 0; i < s->workers_count && rc == OK; i++) {
        const struct sim_drill_worker *from = &s->workers[i];
        struct drill_worker *w = &d->workers[*rank];

        if ((from->joins_ns > 0) != late) {
            continue;
        }
        w->rng = rng_fork(&rng, i);
        w->compute_ns = from->compute_ns;
        w->leaves = from->leaves;
        rc = drill_add_worker(d, *rank, from->name, sim_world_region_at(d->world, from->region),
                              from->streams);
        if (rc == OK && late) {
            rc = drill_join_at(d, *rank, from->name, from->joins_ns);
        }
        (*rank)++;
    }
    return rc;
}

static enum err drill_script_servers(struct drill *d)
{
    const struct sim_drill_script *s = d->config.script;
    enum err rc = OK;

    for (uint32_t i = 0; i < s->servers_count && rc == OK; i++) {
        rc = drill_add_server(d, s->servers[i].name,
                              sim_world_region_at(d->world, s->servers[i].region),
                              s->servers[i].lanes);
    }
    return rc;
}

static enum err drill_follow(struct drill *d, struct err_text *text)
{
    const struct sim_drill_script *s = d->config.script;
    uint32_t rank = 0;
    enum err rc = s->places(d->world, s->user);

    if (rc == OK) {
        rc = drill_cluster(d);
    }
    if (rc == OK) {
        rc = drill_script_servers(d);
    }
    if (rc == OK) {
        rc = drill_script_workers(d, false, &rank);
    }
    if (rc == OK) {
        rc = drill_witness(d);
    }
    if (rc == OK) {
        rc = sim_cluster_start(d->cluster, text);
    }
    if (rc == OK) {
        rc = drill_script_workers(d, true, &rank);
    }
    return rc == OK ? s->faults(d->world, s->user) : rc;
}

/* Both. */

/* A script may have many workers with many streams. */
static uint32_t drill_flows(const struct sim_drill_script *s)
{
    uint32_t lanes = 0;
    uint32_t streams = 0;

    for (uint32_t i = 0; i < s->servers_count; i++) {
        lanes += s->servers[i].lanes;
    }
    for (uint32_t i = 0; i < s->workers_count; i++) {
        streams += s->workers[i].streams;
    }
    return DRILL_FLOWS + DRILL_FLOWS_PER_PAIR * lanes * streams;
}

static enum err drill_world(struct drill *d)
{
    const struct sim_drill_script *s = d->config.script;
    struct sim_world_config world = {0};

    if (s != NULL) {
        world = s->world;
    }
    world.seed = d->config.seed;
    world.keep_trace = d->config.trace;
    world.trace = !d->config.untraced;
    world.trace_bytes_max = SIM_DRILL_TRACE_BYTES_MAX;
    world.flows_max = s == NULL ? DRILL_FLOWS : drill_flows(s);
    world.segments_max = DRILL_SEGMENTS / DRILL_FLOWS * world.flows_max;
    return sim_world_create(&world, &d->world);
}

enum err drill_build(struct drill *d, struct err_text *text)
{
    struct rng rng;
    enum err rc = OK;

    rng_init(&rng, d->config.seed);
    d->tables = SIM_DRILL_TABLES;
    if (d->config.script == NULL) {
        drill_choose(d, &rng);
    } else {
        drill_settings(d);
    }
    for (uint32_t t = 0; t < d->tables && rc == OK; t++) {
        rc = table_schema_parse(&drill_tables[t], &d->schemas[t], text);
    }
    if (rc == OK) {
        rc = drill_world(d);
    }
    if (rc != OK) {
        return rc;
    }
    return d->config.script == NULL ? drill_draw(d, &rng, text) : drill_follow(d, text);
}
