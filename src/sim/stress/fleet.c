/* A fleet: draw it, build it, let it train under faults, judge. */

#include "sim/stress/fleet.h"

#include "base/mem.h"
#include "sim/net/link.h"
#include "sim/stress/fleet_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    FLEET_STORM_MS = 6000,
    FLEET_FAULT_EVERY_MS = 400,
    FLEET_PATIENCE_S = 300, /* After which there must have been progress (I6), */
    FLEET_SETTLE_S = 60,    /* and for the last pieces to arrive. */
    FLEET_FLOWS = 4096,
    FLEET_SEGMENTS = 1 << 16,
};

static const struct table_schema_text fleet_tables[SIM_FLEET_TABLES] = {
    {.name = "dense", .rows = 5, .width = 7},
    {.name = "rows", .rows = 16, .width = 3},
};

static const char *const fleet_names[SIM_FLEET_SITES_MAX] = {"a", "b", "c", "d", "e", "f"};

/* Drawing. */

static void fleet_choose(struct fleet *f, struct rng *rng)
{
    static const char *const barriers[] = {"bsp", "ssp", "tap"};
    const struct sim_fleet_config *c = &f->config;
    uint64_t sites = 2 + rng_below(rng, 1 + rng_below(rng, SIM_FLEET_SITES_MAX - 1));
    uint64_t groups = rng_below(rng, 3) == 0 ? 2 + rng_below(rng, 2) : 0;
    uint64_t barrier = rng_below(rng, 3);
    uint64_t staleness = 1 + rng_below(rng, 3);
    uint64_t delivery = rng_below(rng, 3) == 0 ? NODE_BROADCAST : NODE_PULL;
    uint64_t every = 2 + rng_below(rng, 4);
    bool durable = rng_below(rng, 2) == 0;
    uint64_t clocks = 4 + rng_below(rng, 12);

    f->lanes = 1 + (uint32_t)rng_below(rng, 2);
    f->sites_count = c->sites != 0 ? c->sites : (uint32_t)sites;
    f->groups = c->groups >= 0 ? (uint32_t)c->groups : (uint32_t)groups;
    f->groups = f->groups > f->sites_count ? f->sites_count : f->groups;
    f->clocks = c->clocks != 0 ? c->clocks : clocks;
    f->site = (struct node_site){
        .shards = f->lanes,
        .delivery =
            c->delivery >= 0 ? (enum node_delivery)c->delivery : (enum node_delivery)delivery,
        .sync = {.policy = sync_policy_find(barriers[barrier]),
                 .deadline_ns = INT64_C(120000000000)},
        .checkpoint_every = c->checkpoints >= 0 ? (uint32_t)c->checkpoints
                            : durable           ? (uint32_t)every
                                                : 0,
    };
    if (f->site.sync.policy == &sync_ssp) {
        f->site.sync.staleness = staleness;
    }
}

/* Each pair of groups has one or two named hubs, or none. */
static void fleet_choose_hubs(struct fleet *f, struct rng *rng)
{
    for (uint32_t g = 0; g < f->groups; g++) {
        for (uint32_t h = 0; h < f->groups; h++) {
            struct node_hubs *hubs = &f->hubs[f->hubs_count];
            uint32_t wanted = (uint32_t)rng_below(rng, 3);
            uint32_t from = (uint32_t)rng_below(rng, f->sites_count);

            *hubs = (struct node_hubs){.from = g, .to = h};
            for (uint32_t i = 0; i < f->sites_count && hubs->count < wanted && g != h; i++) {
                uint32_t site = (from + i) % f->sites_count;

                if (site % f->groups == g) {
                    (void)snprintf(hubs->sites[hubs->count++], sizeof(hubs->sites[0]), "%s",
                                   f->sites[site].name);
                }
            }
            f->hubs_count += hubs->count > 0 && f->hubs_count + 1 < MIRROR_GROUPS_MAX;
        }
    }
}

static void fleet_choose_between(struct fleet *f, struct rng *rng)
{
    static const char *const measures[] = {"relative", "absolute", "row-norm"};
    struct node_between b;
    uint64_t measure = rng_below(rng, 3);

    node_between_init(&b);
    CHECK(codec_filter_parse(measures[measure], NULL, &b.filter, NULL) == OK);
    b.threshold = (float)rng_below(rng, 4) * (measure == 1 ? 5.0F : 0.3F);
    b.goal = rng_below(rng, 2) == 0 ? ASP_COST : ASP_SPEED;
    b.staleness = rng_below(rng, 4);
    b.barrier = rng_below(rng, 3) != 0;
    b.fresh = (double)rng_below(rng, 3) / 2;
    b.away_ns = (int64_t)(1 + rng_below(rng, 4)) * 1000000000;
    b.stall_ns = INT64_C(1500000000);
    b.gather_ns = (int64_t)rng_below(rng, 2) * 30000000;
    b.streams = (uint16_t)(1 + rng_below(rng, 3));
    b.groups = f->groups;
    b.hubs = f->hubs;
    b.hubs_count = f->hubs_count;
    for (uint32_t i = 0; i < f->sites_count; i++) {
        struct fleet_site *s = &f->sites[i];

        s->between = b;
        s->between.group = f->groups == 0 ? 0 : i % f->groups;
        s->between.others = s->others;
        s->between.others_count = f->sites_count - 1;
        for (uint32_t k = 1; k < f->sites_count; k++) {
            uint32_t other = (i + k) % f->sites_count;
            struct node_other_site *o = &s->others[k - 1];
            char server[16];

            (void)snprintf(o->name, sizeof(o->name), "%s", f->sites[other].name);
            (void)snprintf(server, sizeof(server), "%s-s0", f->sites[other].name);
            sim_cluster_place(server, &o->first);
            o->group = f->groups == 0 ? 0 : other % f->groups;
        }
    }
}

/* Small whole numbers of both signs, so that significance comes and goes. */
static void fleet_fill(struct sim_hand *h)
{
    h->rows_count = 0;
    for (uint32_t i = 0; i < table_elements(&h->job->schemas[0]); i++) {
        h->values[0][i] = (float)rng_between(&h->rng, -3, 5);
    }
    for (uint32_t r = 0; r < SIM_HAND_ROWS; r++) {
        if (rng_below(&h->rng, 3) == 0) {
            for (uint32_t k = 0; k < SIM_HAND_WIDTH; k++) {
                h->values[1][h->rows_count * SIM_HAND_WIDTH + k] =
                    (float)rng_between(&h->rng, -9, 20);
            }
            h->rows[h->rows_count++] = r;
        }
    }
}

/* Building. */

static enum err fleet_regions(struct fleet *f, struct rng *rng, struct sim_region **regions)
{
    enum err rc = OK;

    for (uint32_t i = 0; i < f->sites_count && rc == OK; i++) {
        rc = sim_region_create(f->world, f->sites[i].name, &regions[i]);
        for (uint32_t j = 0; j < i && rc == OK; j++) {
            struct sim_link_config link = {0};

            link.bytes_per_s = 20000 + rng_below(rng, 1 + rng_below(rng, 5000000));
            link.delay_ns = (int64_t)(5 + rng_below(rng, 120)) * 1000000;
            link.jitter_ns = (int64_t)rng_below(rng, 3) * 1000000;
            rc = sim_link_set(f->world, regions[i], regions[j], &link);
        }
    }
    return rc;
}

static enum err fleet_build_site(struct fleet *f, uint32_t index, struct sim_region *region,
                                 struct rng *rng)
{
    struct fleet_site *s = &f->sites[index];
    struct sim_cluster_config config = {
        .site = f->site, .between = &s->between, .witness = &fleet_lane_witness, .witness_user = s};
    bool two = f->lanes == 2 && rng_below(rng, 2) == 0;
    char name[16];
    enum err rc;

    s->workers_count = 1 + (uint32_t)rng_below(rng, FLEET_WORKERS_MAX);
    (void)snprintf(config.site.name, sizeof(config.site.name), "%s", s->name);
    config.site.sync.members_min = s->workers_count;
    rc = sim_cluster_create(f->world, &config, &s->cluster);
    for (uint32_t i = 0; i < (two ? 2u : 1u) && rc == OK; i++) {
        (void)snprintf(name, sizeof(name), "%s-s%u", s->name, i);
        rc = sim_cluster_add_server(s->cluster, name, region, two ? 1 : f->lanes);
    }
    for (uint32_t i = 0; i < s->workers_count && rc == OK; i++) {
        struct sim_hand *w = &s->workers[i];

        *w = (struct sim_hand){.job = &f->job, .site = s->name, .number = i};
        w->rng = rng_fork(rng, 100 * index + i);
        (void)snprintf(name, sizeof(name), "%s-w%u", s->name, i);
        rc = sim_cluster_add_worker(s->cluster, name, region, (uint16_t)(1 + rng_below(rng, 2)),
                                    &sim_hand_brain, w);
    }
    return rc;
}

static enum err fleet_build(struct fleet *f, struct err_text *text)
{
    struct sim_region *regions[SIM_FLEET_SITES_MAX];
    struct sim_world_config world = {.seed = f->config.seed,
                                     .keep_trace = f->config.trace,
                                     .trace = true,
                                     .trace_bytes_max = SIM_FLEET_TRACE_BYTES_MAX,
                                     .flows_max = FLEET_FLOWS,
                                     .segments_max = FLEET_SEGMENTS};
    struct rng rng;
    enum err rc = OK;

    rng_init(&rng, f->config.seed);
    fleet_choose(f, &rng);
    for (uint32_t i = 0; i < f->sites_count; i++) {
        f->sites[i].fleet = f;
        f->sites[i].index = i;
        f->sites[i].name = fleet_names[i];
        for (uint32_t t = 0; t < SIM_FLEET_TABLES && rc == OK; t++) {
            f->sites[i].tables[t].pieces = mem_calloc(FLEET_PIECES_MAX, sizeof(struct fleet_piece));
            rc = f->sites[i].tables[t].pieces == NULL ? ERR_NOMEM : OK;
        }
    }
    f->job = (struct sim_hand_job){.schemas = f->schemas,
                                   .clocks = f->clocks,
                                   .fill = fleet_fill,
                                   .broken = f->broken,
                                   .broken_bytes = sizeof(f->broken)};
    fleet_choose_hubs(f, &rng);
    fleet_choose_between(f, &rng);
    for (uint32_t t = 0; t < SIM_FLEET_TABLES && rc == OK; t++) {
        rc = table_schema_parse(&fleet_tables[t], &f->schemas[t], text);
    }
    if (rc == OK) {
        rc = sim_world_create(&world, &f->world);
    }
    if (rc == OK) {
        rc = fleet_regions(f, &rng, regions);
    }
    for (uint32_t i = 0; i < f->sites_count && rc == OK; i++) {
        rc = fleet_build_site(f, i, regions[i], &rng);
    }
    if (rc == OK) {
        rc = sim_faults_create(f->world, f->config.seed, &f->faults);
    }
    for (uint32_t i = 0; i < f->sites_count && rc == OK; i++) {
        rc = sim_cluster_start(f->sites[i].cluster, text);
    }
    return rc;
}

static void fleet_destroy(struct fleet *f)
{
    for (uint32_t i = 0; i < f->sites_count; i++) {
        sim_cluster_destroy(f->sites[i].cluster);
    }
    sim_faults_destroy(f->faults);
    sim_world_destroy(f->world);
    for (uint32_t i = 0; i < SIM_FLEET_SITES_MAX; i++) {
        for (uint32_t t = 0; t < SIM_FLEET_TABLES; t++) {
            mem_free(f->sites[i].tables[t].pieces);
        }
    }
    mem_free(f);
}

/* Running. */

static bool fleet_all_done(const struct fleet *f)
{
    for (uint32_t i = 0; i < f->sites_count; i++) {
        for (uint32_t k = 0; k < f->sites[i].workers_count; k++) {
            if (!f->sites[i].workers[k].done) {
                return false;
            }
        }
    }
    return true;
}

static const struct mirror *fleet_machine(struct fleet *f, uint32_t site, uint32_t table)
{
    struct node_lane *l = fleet_lane(&f->sites[site], table);

    return l == NULL ? NULL : node_mirror_machine(node_lane_mirror(l));
}

/* Has the site all that every other one made? */
static bool fleet_has_all(struct fleet *f, uint32_t site, uint32_t table)
{
    const struct mirror *m = fleet_machine(f, site, table);

    for (uint32_t i = 1; i < f->sites_count; i++) {
        const struct mirror *other = fleet_machine(f, (site + i) % f->sites_count, table);

        if (other == NULL || m->sites[i].stable < other->number) {
            return false;
        }
    }
    return true;
}

/* All pieces are everywhere, and nothing is held back. */
static bool fleet_settled(struct fleet *f)
{
    for (uint32_t i = 0; i < f->sites_count; i++) {
        for (uint32_t t = 0; t < SIM_FLEET_TABLES; t++) {
            const struct mirror *m = fleet_machine(f, i, t);

            if (m == NULL || m->log_bytes > 0 || !m->done ||
                node_mirror_due_count(node_lane_mirror(fleet_lane(&f->sites[i], t))) > 0 ||
                !fleet_has_all(f, i, t)) {
                return false;
            }
        }
    }
    return true;
}

static void fleet_go(struct fleet *f)
{
    int64_t storm_ns =
        f->config.storm_ns == 0 ? (int64_t)FLEET_STORM_MS * 1000000 : f->config.storm_ns;
    int64_t until_ns = (int64_t)FLEET_PATIENCE_S * 1000000000;
    int64_t done_ns = 0;
    bool stored = f->site.checkpoint_every > 0 && f->site.delivery == NODE_PULL;
    uint64_t faults = stored ? f->config.faults : f->config.faults & ~SIM_FAULTS_DEATHS;

    sim_world_set_checker(f->world, fleet_look, f);
    if (faults != 0) {
        sim_faults_storm(f->faults, f->config.seed, faults, (int64_t)FLEET_FAULT_EVERY_MS * 1000000,
                         sim_world_now_ns(f->world) + storm_ns);
    }
    while (sim_world_step(f->world, until_ns)) {
        if (done_ns == 0 && fleet_all_done(f)) {
            done_ns = sim_world_now_ns(f->world);
        }
        if (done_ns != 0 && fleet_settled(f)) {
            return;
        }
        until_ns = sim_faults_patience_ns(f->faults, done_ns,
                                          done_ns == 0 ? FLEET_PATIENCE_S : FLEET_SETTLE_S);
    }
}

/* Who has not got to the end, and why. */
static void fleet_blame(const struct fleet *f, char *out, size_t size)
{
    for (uint32_t i = 0; i < f->sites_count; i++) {
        sim_cluster_trace_status(f->sites[i].cluster);
    }
    for (uint32_t i = 0; i < f->sites_count; i++) {
        for (uint32_t k = 0; k < f->sites[i].workers_count; k++) {
            if (sim_hand_why(&f->sites[i].workers[k], out, size)) {
                return;
            }
        }
    }
}

static void fleet_verdict(struct fleet *f, struct sim_fleet_result *r)
{
    const char *broken = sim_world_broken(f->world);

    if (broken != NULL) {
        (void)snprintf(r->verdict, sizeof(r->verdict), "%s", broken);
    } else if (!fleet_all_done(f)) {
        fleet_blame(f, r->verdict, sizeof(r->verdict));
    } else if (!fleet_settled(f)) {
        (void)snprintf(r->verdict, sizeof(r->verdict),
                       "I6: some pieces have not arrived everywhere");
    } else {
        (void)fleet_agrees(f, r->verdict, sizeof(r->verdict));
    }
}

static void fleet_sum(struct fleet *f, struct sim_fleet_result *r)
{
    for (uint32_t i = 0; i < f->sites_count; i++) {
        for (uint32_t l = 0; l < f->lanes; l++) {
            struct node_lane *lane = sim_cluster_lane(f->sites[i].cluster, l);
            struct node_mirror_stats s;

            if (lane == NULL) {
                continue;
            }
            node_mirror_stats(node_lane_mirror(lane), &s);
            r->totals.pieces_made += s.pieces_made;
            r->totals.pieces_taken += s.pieces_taken;
            r->totals.pieces_dropped += s.pieces_dropped;
            r->totals.pieces_held += s.pieces_held;
            r->totals.pieces_refused += s.pieces_refused;
            r->totals.relayed += s.relayed;
            r->totals.barriers_raised += s.barriers_raised;
            r->totals.barriers_met += s.barriers_met;
            r->totals.barriers_passed += s.barriers_passed;
            r->totals.copies += s.copies;
            r->totals.waited_clock_ns += s.waited_clock_ns;
            r->totals.waited_barrier_ns += s.waited_barrier_ns;
        }
    }
    for (int i = 0; i < SIM_FAULT_KINDS; i++) {
        r->fired[i] = sim_faults_fired(f->faults, (enum sim_fault_kind)i);
    }
    r->reads = f->reads;
    r->now_ns = sim_world_now_ns(f->world);
    r->events = sim_world_events(f->world);
    r->transcript_hash = sim_world_transcript_hash(f->world);
    (void)snprintf(r->about, sizeof(r->about),
                   "%u sites, %u groups, %s %s, staleness %" PRIu64 " and %" PRIu64
                   ", lanes %u, clocks %" PRIu64 ", checkpoints %u",
                   f->sites_count, f->groups, f->site.sync.policy->name,
                   node_delivery_name(f->site.delivery), f->site.sync.staleness,
                   f->sites[0].between.staleness, f->lanes, f->clocks, f->site.checkpoint_every);
}

enum err sim_fleet_run(const struct sim_fleet_config *config, struct sim_fleet_result *result_out,
                       struct err_text *text)
{
    struct fleet *f = mem_zalloc(sizeof(*f));
    enum err rc;

    *result_out = (struct sim_fleet_result){.now_ns = 0};
    if (f == NULL) {
        return err_text_set(text, ERR_NOMEM, "no memory for a fleet");
    }
    f->config = *config;
    rc = fleet_build(f, text);
    if (rc == OK) {
        fleet_go(f);
        fleet_verdict(f, result_out);
        fleet_sum(f, result_out);
        rc = config->trace ? sim_world_transcript(f->world, &result_out->transcript) : OK;
    }
    fleet_destroy(f);
    return rc;
}

void sim_fleet_result_deinit(struct sim_fleet_result *r)
{
    text_deinit(&r->transcript);
}
