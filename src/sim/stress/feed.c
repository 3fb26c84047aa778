/* A feed: draw it, build it, let it train under faults, judge. */

#include "sim/stress/feed.h"

#include "base/mem.h"
#include "sim/net/link.h"
#include "sim/stress/feed_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    FEED_STORM_MS = 6000,
    FEED_FAULT_EVERY_MS = 400,
    FEED_PATIENCE_S = 300, /* After which there must have been progress (I6). */
    FEED_FLOWS = 4096,
    FEED_SEGMENTS = 1 << 16,
    FEED_REGIONS = 2,
    FEED_REQUIRED = 20000, /* Bytes per second; times up to 16. */
};

static const struct table_schema_text feed_tables[SIM_FEED_TABLES] = {
    {.name = "dense", .rows = 200, .width = 1, .chunk = 64},
    {.name = "rows", .rows = 24, .width = 3, .chunk = 36},
    {.name = "moved",
     .rows = 100,
     .width = 1,
     .chunk = 64,
     .apply = "momentum lr=0.1 mu=0.5",
     .combine = "mean"},
};

static const char *const feed_chains[] = {
    "dvf:delta=0.05 | bitmap",
    "dvf:low=0.05,up=0.5 | auto",
    "dvf:low=0,up=1 | sparse",
    "dvf:delta=3",
    "norm:delta=0.3",
    "all | auto",
    "dvf:delta=0 | dense",
    "dvf:delta=0.2 | paper | snappy",
    "dvf:delta=0.5 | gaps | f16",
    "norm:low=0.1,up=1 | auto | f16",
    "dvf:delta=1 | bitmap | zstd",
    "all | dense | lz4",
};

/* Drawing. */

static void feed_sparsify(const struct feed *f, struct rng *rng, struct node_sparsify_config *out)
{
    uint64_t chain = rng_below(rng, sizeof(feed_chains) / sizeof(feed_chains[0]) + 1);
    const char *text = f->config.chain;

    if (text == NULL && chain < sizeof(feed_chains) / sizeof(feed_chains[0])) {
        text = feed_chains[chain];
    }
    out->on = text != NULL && text[0] != '\0';
    CHECK(!out->on || codec_chain_parse(text, &out->chain, NULL) == OK);
}

/* Half of those that broadcast do so by trees, some of which are impossible. */
static void feed_tree(struct feed *f, struct rng *rng)
{
    uint64_t degree = 1 + rng_below(rng, 4);
    uint64_t depth = 1 + rng_below(rng, 1 + rng_below(rng, 12));
    bool on = rng_below(rng, 2) == 0;

    if (f->site.delivery == NODE_BROADCAST && (f->config.tree > 0 || (f->config.tree < 0 && on))) {
        f->site.tree = (struct node_tree){
            .degree = (uint32_t)degree, .depth = (uint32_t)depth, .leaf_cost = 0.5F};
    }
}

static void feed_choose(struct feed *f, struct rng *rng)
{
    static const char *const barriers[] = {"bsp", "ssp", "bsp", "ssp", "tap"};
    const struct sim_feed_config *c = &f->config;
    uint64_t workers = 1 + rng_below(rng, 1 + rng_below(rng, SIM_FEED_WORKERS_MAX));
    uint64_t servers = 1 + rng_below(rng, 3);
    uint64_t clocks = 4 + rng_below(rng, 20);
    uint64_t barrier = rng_below(rng, 5);
    uint64_t staleness = 1 + rng_below(rng, 4);
    const char *policy = c->barrier != NULL ? c->barrier : barriers[barrier];

    f->workers_count = c->workers != 0 ? c->workers : (uint32_t)workers;
    f->servers = c->servers != 0 ? c->servers : (uint32_t)servers;
    f->clocks = c->clocks != 0 ? c->clocks : clocks;
    f->site = (struct node_site){
        .name = "site",
        .delivery = rng_below(rng, 4) == 0 ? NODE_PULL : NODE_BROADCAST,
        .sync = {.policy = sync_policy_find(policy),
                 .deadline_ns = INT64_C(120000000000),
                 .members_min = f->workers_count},
    };
    f->site.sync.staleness = f->site.sync.policy == &sync_ssp ? staleness : 0;
    feed_sparsify(f, rng, &f->site.push);
    feed_sparsify(f, rng, &f->site.broadcast);
    /* What is not sparsified is not accounted for: drills do that. */
    f->site.push.on = c->chain == NULL || c->chain[0] != '\0';
    f->site.broadcast.on = f->site.broadcast.on && f->site.delivery == NODE_BROADCAST;
    feed_tree(f, rng);
    if (node_sparsify_is_adaptive(&f->site.push) || node_sparsify_is_adaptive(&f->site.broadcast)) {
        f->site.required = FEED_REQUIRED * (1 + c->seed % 16); /* Some links have it. */
    }
}

/* Building. */

static enum err feed_places(struct feed *f, struct rng *rng, struct sim_region **regions)
{
    struct sim_link_config link = {0};
    enum err rc = OK;

    for (uint32_t i = 0; i < FEED_REGIONS && rc == OK; i++) {
        rc = sim_region_create(f->world, i == 0 ? "near" : "far", &regions[i]);
    }
    link.bytes_per_s = 20000 + rng_below(rng, 1 + rng_below(rng, 5000000));
    link.delay_ns = (int64_t)(1 + rng_below(rng, 60)) * 1000000;
    return rc == OK ? sim_link_set(f->world, regions[0], regions[1], &link) : rc;
}

static void feed_death(struct sim_event *event, struct sim_world *world)
{
    struct feed_worker *w =
        (struct feed_worker *)(void *)((char *)event - offsetof(struct feed_worker, death));
    struct sim_fault fault = {.kind = SIM_FAULT_KILL, .duration_ns = 700000000};

    (void)world;
    if (w->worker != NULL && !w->done) {
        fault.host = w->worker->host;
        w->feed->deaths += sim_fault_inject(w->feed->faults, &fault);
    }
}

static enum err feed_members(struct feed *f, struct rng *rng, struct sim_region **regions)
{
    char name[16];
    enum err rc = OK;

    for (uint32_t i = 0; i < f->servers && rc == OK; i++) {
        uint32_t lanes = 1 + (uint32_t)rng_below(rng, 2);
        bool far = rng_below(rng, 3) == 0;

        (void)snprintf(name, sizeof(name), "s%u", i);
        rc = sim_cluster_add_server(f->cluster, name, regions[far], lanes);
    }
    for (uint32_t i = 0; i < f->workers_count && rc == OK; i++) {
        struct feed_worker *w = &f->workers[i];
        uint16_t streams;
        bool far;

        w->feed = f;
        w->rng = rng_fork(rng, i);
        streams = (uint16_t)(1 + rng_below(rng, 2));
        far = rng_below(rng, 3) == 0;
        sim_event_init(&w->death, feed_death);
        (void)snprintf(name, sizeof(name), "w%u", i);
        rc = sim_cluster_add_worker(f->cluster, name, regions[far], streams, &feed_brain, w);
        if (rc == OK) {
            sim_cluster_worker(f->cluster, i)->user = w;
        }
    }
    return rc;
}

static enum err feed_build(struct feed *f, struct err_text *text)
{
    struct sim_region *regions[FEED_REGIONS];
    struct sim_world_config world = {.seed = f->config.seed,
                                     .keep_trace = f->config.trace,
                                     .trace = true,
                                     .trace_bytes_max = SIM_FEED_TRACE_BYTES_MAX,
                                     .flows_max = FEED_FLOWS,
                                     .segments_max = FEED_SEGMENTS};
    struct sim_cluster_config config = {
        .witness = &feed_lane_witness, .witness_user = f, .worker_witness = &feed_worker_witness};
    struct rng rng;
    enum err rc = OK;

    rng_init(&rng, f->config.seed);
    feed_choose(f, &rng);
    config.site = f->site;
    f->flying = mem_calloc(FEED_FLYING_MAX, sizeof(*f->flying));
    rc = f->flying == NULL ? ERR_NOMEM : sim_world_create(&world, &f->world);
    for (uint32_t t = 0; t < SIM_FEED_TABLES && rc == OK; t++) {
        rc = table_schema_parse(&feed_tables[t], &f->schemas[t], text);
    }
    if (rc == OK) {
        rc = feed_places(f, &rng, regions);
    }
    if (rc == OK) {
        rc = sim_cluster_create(f->world, &config, &f->cluster);
    }
    if (rc == OK) {
        rc = feed_members(f, &rng, regions);
    }
    if (rc == OK) {
        rc = sim_faults_create(f->world, f->config.seed, &f->faults);
    }
    if (rc == OK) {
        rc = sim_cluster_start(f->cluster, text);
    }
    f->site.shards = rc == OK ? sim_cluster_site(f->cluster)->shards : 0;
    return rc;
}

static void feed_destroy(struct feed *f)
{
    sim_cluster_destroy(f->cluster);
    sim_faults_destroy(f->faults);
    sim_world_destroy(f->world);
    for (uint32_t i = 0; f->flying != NULL && i < FEED_FLYING_MAX; i++) {
        mem_free(f->flying[i].units);
    }
    mem_free(f->flying);
    mem_free(f);
}

/* Running. */

static bool feed_all_done(const struct feed *f)
{
    for (uint32_t k = 0; k < f->workers_count; k++) {
        if (!f->workers[k].done) {
            return false;
        }
    }
    return true;
}

static void feed_go(struct feed *f)
{
    int64_t storm_ns =
        f->config.storm_ns == 0 ? (int64_t)FEED_STORM_MS * 1000000 : f->config.storm_ns;
    struct rng rng;

    rng_init(&rng, f->config.seed ^ 0x5eed);
    sim_world_set_checker(f->world, feed_look, f);
    if ((f->config.faults & ~SIM_FAULTS_DEATHS) != 0) {
        sim_faults_storm(f->faults, f->config.seed, f->config.faults & ~SIM_FAULTS_DEATHS,
                         (int64_t)FEED_FAULT_EVERY_MS * 1000000, storm_ns);
    }
    for (uint32_t k = 0; k < f->workers_count; k++) {
        int64_t at_ns = (int64_t)rng_below(&rng, (uint64_t)storm_ns);

        if ((f->config.faults & SIM_FAULTS_DEATHS) != 0 && rng_below(&rng, 4) == 0) {
            CHECK(sim_event_at(f->world, &f->workers[k].death, at_ns) == OK);
        }
    }
    while (sim_world_step(f->world, sim_faults_patience_ns(f->faults, 0, FEED_PATIENCE_S))) {
        if (feed_all_done(f)) {
            return;
        }
    }
}

static void feed_blame(struct feed *f, char *out, size_t size)
{
    sim_cluster_trace_status(f->cluster);
    for (uint32_t k = 0; k < f->workers_count; k++) {
        const struct feed_worker *w = &f->workers[k];
        char why[160] = "its host is off";

        if (w->done) {
            continue;
        }
        if (w->worker != NULL && w->worker->node != NULL &&
            !node_worker_why(w->worker->node, why, sizeof(why))) {
            (void)snprintf(why, sizeof(why), "nothing is under way");
        }
        (void)snprintf(out, size, "I6: worker %u does not get beyond clock %" PRIu64 ": %s", k,
                       w->clock, why);
        return;
    }
}

/* What was passed on in the lives that workers have now. */
static void feed_sum_trees(struct feed *f, struct sim_feed_result *r)
{
    for (uint32_t k = 0; k < f->workers_count; k++) {
        if (f->workers[k].worker != NULL && f->workers[k].worker->node != NULL) {
            r->passed += node_worker_passed(f->workers[k].worker->node).frames;
        }
    }
    for (uint32_t n = 0; n < sim_cluster_site(f->cluster)->lanes; n++) {
        struct node_lane *lane = sim_cluster_lane(f->cluster, n);
        struct node_lane_stats stats = {0};

        if (lane != NULL) {
            node_lane_stats(lane, &stats);
        }
        r->trees += stats.trees;
        r->detours += stats.detours;
        r->snapshots += stats.snapshots;
        r->broadcasts += stats.broadcasts;
    }
}

static void feed_sum(struct feed *f, struct sim_feed_result *r)
{
    char push[CODEC_CHAIN_TEXT_BYTES] = "-", broadcast[CODEC_CHAIN_TEXT_BYTES] = "-";

    if (f->site.push.on) {
        codec_chain_print(&f->site.push.chain, push, sizeof(push));
    }
    if (f->site.broadcast.on) {
        codec_chain_print(&f->site.broadcast.chain, broadcast, sizeof(broadcast));
    }
    for (int i = 0; i < SIM_FAULT_KINDS; i++) {
        r->fired[i] = sim_faults_fired(f->faults, (enum sim_fault_kind)i);
    }
    r->now_ns = sim_world_now_ns(f->world);
    r->events = sim_world_events(f->world);
    r->transcript_hash = sim_world_transcript_hash(f->world);
    r->values_hash = feed_hash(f);
    r->pushes = f->pushes;
    r->taken = f->taken;
    r->bounds = f->bounds;
    r->tightest = f->tightest;
    r->copies = f->copies;
    r->deaths = f->deaths;
    feed_sum_trees(f, r);
    (void)snprintf(r->about, sizeof(r->about),
                   "%u workers, %u servers, %s %s, staleness %" PRIu64 ", clocks %" PRIu64
                   ", tree %u of %u, push %.50s, broadcast %.50s",
                   f->workers_count, f->servers, f->site.sync.policy->name,
                   node_delivery_name(f->site.delivery), f->site.sync.staleness, f->clocks,
                   f->site.tree.degree, f->site.tree.depth, push, broadcast);
}

enum err sim_feed_run(const struct sim_feed_config *config, struct sim_feed_result *result_out,
                      struct err_text *text)
{
    struct feed *f = mem_zalloc(sizeof(*f));
    enum err rc;

    *result_out = (struct sim_feed_result){.now_ns = 0};
    if (f == NULL) {
        return err_text_set(text, ERR_NOMEM, "no memory for a feed");
    }
    f->config = *config;
    rc = feed_build(f, text);
    if (rc == OK) {
        feed_go(f);
        if (sim_world_broken(f->world) != NULL) {
            (void)snprintf(result_out->verdict, sizeof(result_out->verdict), "%s",
                           sim_world_broken(f->world));
        } else if (!feed_all_done(f)) {
            feed_blame(f, result_out->verdict, sizeof(result_out->verdict));
        } else {
            (void)feed_ends_well(f, result_out->verdict, sizeof(result_out->verdict));
        }
        feed_sum(f, result_out);
        rc = config->trace ? sim_world_transcript(f->world, &result_out->transcript) : OK;
    }
    feed_destroy(f);
    return rc;
}

void sim_feed_result_deinit(struct sim_feed_result *r)
{
    text_deinit(&r->transcript);
}
