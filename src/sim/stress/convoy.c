/* A convoy: draw it, build it, let it train under faults, judge. */

#include "sim/stress/convoy.h"

#include "base/mem.h"
#include "sim/cluster.h"
#include "sim/net/link.h"
#include "sim/stress/hand.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    CONVOY_STORM_MS = 15000,
    CONVOY_FAULT_EVERY_MS = 400,
    CONVOY_PATIENCE_S = 300, /* After which there must have been progress (I6), */
    CONVOY_SETTLE_S = 60,    /* and for the last rounds to close. */
    CONVOY_FLOWS = 4096,
    CONVOY_SEGMENTS = 1 << 16,
};

enum {
    CONVOY_SITES_MORTAL = 4, /* At least so many, and up to so many more, where processes die. */
    CONVOY_SITES_MORE = 3,
    CONVOY_WORKERS_MAX = 3, /* Of one site. */
    CONVOY_ELEMENTS_MAX = SIM_HAND_ELEMENTS_MAX,
    CONVOY_ROUNDS_MAX = 64,
};

struct convoy_site {
    struct convoy *convoy;
    uint32_t index;
    const char *name;
    struct sim_cluster *cluster;
    struct node_between between;
    struct node_other_site others[SIM_CONVOY_SITES_MAX];
    struct sim_hand workers[CONVOY_WORKERS_MAX];
    uint32_t workers_count;
    double taken[SIM_CONVOY_TABLES][CONVOY_ELEMENTS_MAX]; /* Sum of its workers' updates. */
};

/* What a round came to by a plan, at the first site that closed it. Sites that were left out may
 * have closed it by the plan before, in another way: they take copies then. */
struct convoy_round {
    uint32_t epoch; /* Zero: not known. */
    float values[CONVOY_ELEMENTS_MAX];
};

struct convoy {
    struct sim_convoy_config config;
    struct sim_world *world;
    struct sim_faults *faults;
    struct table_schema schemas[SIM_CONVOY_TABLES];
    struct node_site site;
    uint32_t lanes;
    uint64_t clocks;
    struct sim_hand_job job;
    struct convoy_site sites[SIM_CONVOY_SITES_MAX];
    uint32_t sites_count;
    uint8_t joined[SIM_CONVOY_SITES_MAX][SIM_CONVOY_SITES_MAX];
    struct convoy_round rounds[SIM_CONVOY_TABLES][CONVOY_ROUNDS_MAX];
    uint64_t rounds_seen;
    uint64_t newest; /* The last round that was closed anywhere. */
    uint64_t looks;
    char broken[320];
};

static const struct table_schema_text convoy_tables[SIM_CONVOY_TABLES] = {
    {.name = "dense", .rows = 5, .width = 7},
    {.name = "rows", .rows = 16, .width = 3},
};

static const char *const convoy_names[SIM_CONVOY_SITES_MAX] = {"a", "b", "c", "d", "e", "f"};

/* Drawing. */

static void convoy_choose(struct convoy *f, struct rng *rng)
{
    const struct sim_convoy_config *c = &f->config;
    uint64_t sites = 2 + rng_below(rng, SIM_CONVOY_SITES_MAX - 1);
    uint64_t delivery = rng_below(rng, 2) == 0 ? NODE_BROADCAST : NODE_PULL;
    uint64_t clocks = 4 + rng_below(rng, 30);
    bool ordered = rng_below(rng, 3) == 0;

    f->lanes = 1 + (uint32_t)rng_below(rng, 2);
    f->sites_count = c->sites != 0 ? c->sites : (uint32_t)sites;
    f->clocks = c->clocks != 0 ? c->clocks : clocks;
    f->site = (struct node_site){
        .shards = f->lanes,
        .delivery =
            c->delivery >= 0 ? (enum node_delivery)c->delivery : (enum node_delivery)delivery,
        .sync = {.policy = &sync_bsp, .fixed_order = ordered, .deadline_ns = INT64_C(120000000000)},
    };
}

/* A tree, and some more links. */
static void convoy_choose_links(struct convoy *f, struct rng *rng)
{
    for (uint32_t i = 1; i < f->sites_count; i++) {
        uint32_t to = (uint32_t)rng_below(rng, i);
        uint32_t more = (uint32_t)rng_below(rng, i);

        f->joined[i][to] = f->joined[to][i] = 1;
        if (rng_below(rng, 2) == 0) {
            f->joined[i][more] = f->joined[more][i] = 1;
        }
    }
}

/* The shortest ways to the centre; of several the one by the first site. */
static void convoy_plan(const struct convoy *f, uint32_t centre, struct node_plan *plan)
{
    uint32_t next[SIM_CONVOY_SITES_MAX];
    uint32_t queue[SIM_CONVOY_SITES_MAX] = {centre};
    uint32_t head = 0;
    uint32_t tail = 1;

    memset(next, 0xff, sizeof(next));
    next[centre] = centre;
    while (head < tail) {
        uint32_t n = queue[head++];

        for (uint32_t i = 0; i < f->sites_count; i++) {
            if (f->joined[n][i] && next[i] == UINT32_MAX) {
                next[i] = n;
                queue[tail++] = i;
            }
        }
    }
    *plan = (struct node_plan){
        .epoch = 1, .centre = centre, .active = (UINT64_C(1) << f->sites_count) - 1};
    for (uint32_t i = 0; i < f->sites_count; i++) {
        struct node_path *path = &plan->paths[i];

        for (uint32_t n = i;; n = next[n]) {
            path->sites[path->count++] = n;
            if (n == centre) {
                break;
            }
        }
        path->count = i == centre ? 0 : path->count;
    }
}

static void convoy_choose_between(struct convoy *f, struct rng *rng)
{
    struct node_between b;

    node_between_init(&b);
    b.central = true;
    b.away_ns = (int64_t)(1 + rng_below(rng, 10)) * 200000000;
    b.streams = (uint16_t)(1 + rng_below(rng, 3));
    b.reserve = (double)(f->config.seed % 3) * 0.2;
    convoy_plan(f, (uint32_t)rng_below(rng, f->sites_count), &b.plan);
    if (rng_below(rng, 2) == 0) {
        for (uint32_t i = 0; i < f->sites_count; i++) {
            b.plan.paths[i].bytes_per_s = 10000 + rng_below(rng, 1000000);
        }
    }
    for (uint32_t i = 0; i < f->sites_count; i++) {
        struct convoy_site *s = &f->sites[i];

        s->between = b;
        s->between.others = s->others;
        s->between.others_count = f->sites_count - 1;
        for (uint32_t k = 1; k < f->sites_count; k++) {
            uint32_t other = (i + k) % f->sites_count;
            struct node_other_site *o = &s->others[k - 1];
            char server[16];

            (void)snprintf(o->name, sizeof(o->name), "%s", f->sites[other].name);
            (void)snprintf(server, sizeof(server), "%s-s0", f->sites[other].name);
            sim_cluster_place(server, &o->first);
            o->indirect = !f->joined[i][other];
        }
    }
}

/* What a worker adds to an element, in every clock: one that was left out goes on with another
 * clock than it computed for. */
static float convoy_update(const struct convoy_site *s, uint32_t rank, uint32_t table,
                           uint32_t element)
{
    uint64_t mixed =
        (s->convoy->config.seed * 31 + s->index * UINT64_C(7) + rank) * 131 + table * UINT64_C(61);

    return (float)(((mixed + element) * UINT64_C(0x9E3779B97F4A7C15) >> 33) % 23) - 9;
}

/* Does it touch a row of the second table? Some touch none. */
static bool convoy_touches(const struct convoy_site *s, uint32_t rank, uint32_t row)
{
    uint64_t mixed = s->convoy->config.seed * 131 + s->index * UINT64_C(17) + rank * UINT64_C(5);
    uint64_t most = (mixed * UINT64_C(0x9E3779B97F4A7C15) >> 40) % 4;

    return ((mixed + row) * UINT64_C(0x9E3779B97F4A7C15) >> 40) % 5 < most;
}

static void convoy_fill(struct sim_hand *h)
{
    const struct convoy_site *s = h->user;

    h->rows_count = 0;
    for (uint32_t i = 0; i < table_elements(&h->job->schemas[0]); i++) {
        h->values[0][i] = convoy_update(s, h->number, 0, i);
    }
    for (uint32_t r = 0; r < SIM_HAND_ROWS; r++) {
        if (convoy_touches(s, h->number, r)) {
            for (uint32_t k = 0; k < SIM_HAND_WIDTH; k++) {
                h->values[1][h->rows_count * SIM_HAND_WIDTH + k] =
                    convoy_update(s, h->number, 1, r * SIM_HAND_WIDTH + k);
            }
            h->rows[h->rows_count++] = r;
        }
    }
}

/* Building. */

static enum err convoy_regions(struct convoy *f, struct rng *rng, struct sim_region **regions)
{
    enum err rc = OK;

    for (uint32_t i = 0; i < f->sites_count && rc == OK; i++) {
        rc = sim_region_create(f->world, f->sites[i].name, &regions[i]);
        for (uint32_t j = 0; j < i && rc == OK; j++) {
            struct sim_link_config link = {0};

            link.bytes_per_s = 20000 + rng_below(rng, 1 + rng_below(rng, 5000000));
            link.delay_ns = (int64_t)(5 + rng_below(rng, 120)) * 1000000;
            link.jitter_ns = (int64_t)rng_below(rng, 3) * 1000000;
            if (f->joined[i][j]) {
                rc = sim_link_set(f->world, regions[i], regions[j], &link);
            }
        }
    }
    return rc;
}

/* Processes die: without checkpoints what they had taken, and not sent, dies with them. */
static bool convoy_mortal(const struct convoy *f)
{
    return (f->config.faults & (SIM_CONVOY_DEATHS)) != 0;
}

/* What lanes tell. */

static void convoy_break(struct convoy *f, const char *what, const struct convoy_site *s,
                         uint32_t table, uint64_t round)
{
    if (f->broken[0] == '\0') {
        (void)snprintf(f->broken, sizeof(f->broken), "%s: site %s, table %u, round %" PRIu64, what,
                       s->name, table, round);
    }
}

static struct node_lane *convoy_lane(struct convoy_site *s, uint32_t table)
{
    struct convoy *f = s->convoy;

    return sim_cluster_lane(s->cluster, table_chunk_shard((uint16_t)table, 0, f->lanes) % f->lanes);
}

static void convoy_taken(uint16_t table, uint32_t chunk, uint32_t rank, uint64_t incarnation,
                         uint64_t clock, void *user)
{
    struct convoy_site *s = user;

    (void)chunk;
    (void)incarnation;
    (void)clock;
    for (uint32_t i = 0; i < table_elements(&s->convoy->schemas[table]); i++) {
        if (table == 0 || convoy_touches(s, rank, i / SIM_HAND_WIDTH)) {
            s->taken[table][i] += (double)convoy_update(s, rank, table, i);
        }
    }
}

static void convoy_closed(uint16_t table, uint32_t chunk, uint64_t version, const float *values,
                          uint32_t count, void *user)
{
    struct convoy_site *s = user;
    struct convoy *f = s->convoy;
    struct node_central_stats stats;
    struct convoy_round *round;

    (void)chunk;
    if (version >= CONVOY_ROUNDS_MAX) {
        convoy_break(f, "more rounds than there is room for", s, table, version);
        return;
    }
    node_central_stats(node_lane_central(convoy_lane(s, table)), &stats);
    f->newest = version > f->newest ? version : f->newest;
    round = &f->rounds[table][version];
    if (round->epoch != stats.epoch) {
        round->epoch = stats.epoch;
        memcpy(round->values, values, count * sizeof(*values));
        f->rounds_seen++;
    } else if (!convoy_mortal(f) && memcmp(round->values, values, count * sizeof(*values)) != 0) {
        convoy_break(f, "I2: the round has another result here", s, table, version);
    }
}

static const struct node_lane_witness convoy_witness = {
    .taken = convoy_taken,
    .closed = convoy_closed,
};

static enum err convoy_build_site(struct convoy *f, uint32_t index, struct sim_region *region,
                                  struct rng *rng)
{
    struct convoy_site *s = &f->sites[index];
    struct sim_cluster_config config = {
        .site = f->site, .between = &s->between, .witness = &convoy_witness, .witness_user = s};
    bool two = f->lanes == 2 && rng_below(rng, 2) == 0;
    char name[16];
    enum err rc;

    s->workers_count = 1 + (uint32_t)rng_below(rng, CONVOY_WORKERS_MAX);
    (void)snprintf(config.site.name, sizeof(config.site.name), "%s", s->name);
    config.site.sync.members_min = s->workers_count;
    rc = sim_cluster_create(f->world, &config, &s->cluster);
    for (uint32_t i = 0; i < (two ? 2u : 1u) && rc == OK; i++) {
        (void)snprintf(name, sizeof(name), "%s-s%u", s->name, i);
        rc = sim_cluster_add_server(s->cluster, name, region, two ? 1 : f->lanes);
    }
    for (uint32_t i = 0; i < s->workers_count && rc == OK; i++) {
        struct sim_hand *w = &s->workers[i];

        *w = (struct sim_hand){.job = &f->job, .site = s->name, .number = i, .user = s};
        w->rng = rng_fork(rng, 100 * index + i);
        (void)snprintf(name, sizeof(name), "%s-w%u", s->name, i);
        rc = sim_cluster_add_worker(s->cluster, name, region, (uint16_t)(1 + rng_below(rng, 2)),
                                    &sim_hand_brain, w);
    }
    return rc;
}

/* Invariants that hold at any time. */
static const char *convoy_look(void *user)
{
    struct convoy *f = user;

    for (uint32_t i = 0; i < f->sites_count && f->broken[0] == '\0' && ++f->looks % 4 == 0; i++) {
        const char *broken = sim_cluster_broken(f->sites[i].cluster);

        if (broken != NULL) {
            (void)snprintf(f->broken, sizeof(f->broken), "site %s: %s", f->sites[i].name, broken);
        }
    }
    return f->broken[0] != '\0' ? f->broken : NULL;
}

static enum err convoy_build(struct convoy *f, struct err_text *text)
{
    struct sim_region *regions[SIM_CONVOY_SITES_MAX];
    struct sim_world_config world = {.seed = f->config.seed,
                                     .keep_trace = f->config.trace,
                                     .trace = true,
                                     .trace_bytes_max = SIM_CONVOY_TRACE_BYTES_MAX,
                                     .flows_max = CONVOY_FLOWS,
                                     .segments_max = CONVOY_SEGMENTS};
    struct rng rng;
    enum err rc = OK;

    rng_init(&rng, f->config.seed);
    convoy_choose(f, &rng);
    convoy_choose_links(f, &rng);
    for (uint32_t i = 0; i < f->sites_count; i++) {
        f->sites[i].convoy = f;
        f->sites[i].index = i;
        f->sites[i].name = convoy_names[i];
    }
    f->job = (struct sim_hand_job){.schemas = f->schemas,
                                   .clocks = f->clocks,
                                   .fill = convoy_fill,
                                   .broken = f->broken,
                                   .broken_bytes = sizeof(f->broken)};
    convoy_choose_between(f, &rng);
    for (uint32_t t = 0; t < SIM_CONVOY_TABLES && rc == OK; t++) {
        rc = table_schema_parse(&convoy_tables[t], &f->schemas[t], text);
    }
    if (rc == OK) {
        rc = sim_world_create(&world, &f->world);
    }
    if (rc == OK) {
        rc = convoy_regions(f, &rng, regions);
    }
    for (uint32_t i = 0; i < f->sites_count && rc == OK; i++) {
        rc = convoy_build_site(f, i, regions[i], &rng);
    }
    if (rc == OK) {
        rc = sim_faults_create(f->world, f->config.seed, &f->faults);
    }
    for (uint32_t i = 0; i < f->sites_count && rc == OK; i++) {
        rc = sim_cluster_start(f->sites[i].cluster, text);
    }
    return rc;
}

static void convoy_destroy(struct convoy *f)
{
    for (uint32_t i = 0; i < f->sites_count; i++) {
        sim_cluster_destroy(f->sites[i].cluster);
    }
    sim_faults_destroy(f->faults);
    sim_world_destroy(f->world);
    mem_free(f);
}

/* Running. */

static bool convoy_all_done(const struct convoy *f)
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

/* What a site has, or NULL: its server is off, or has no such table yet. */
static const float *convoy_values(struct convoy_site *s, uint32_t table)
{
    struct node_lane *l = convoy_lane(s, table);

    return l == NULL ? NULL : node_lane_values(l, (uint16_t)table, 0);
}

/* All copies are the same; and unless processes die, the sum of all that was taken anywhere. */
static bool convoy_agrees(struct convoy *f, uint32_t table, uint32_t element, char *out,
                          size_t size)
{
    const float *first = convoy_values(&f->sites[0], table);
    double sum = convoy_mortal(f) && first != NULL ? (double)first[element] : 0;

    for (uint32_t i = 0; i < f->sites_count && !convoy_mortal(f); i++) {
        sum += f->sites[i].taken[table][element];
    }
    for (uint32_t i = 0; i < f->sites_count; i++) {
        const float *values = convoy_values(&f->sites[i], table);

        if ((values == NULL) != (first == NULL) ||
            (values != NULL && (double)values[element] != sum)) {
            (void)snprintf(out, size,
                           "I1: in the end site %s has %.0f in element %u of table %u, not %.0f",
                           f->sites[i].name, values == NULL ? 0 : (double)values[element], element,
                           table, sum);
            return false;
        }
    }
    return true;
}

static bool convoy_settled(struct convoy *f, char *out, size_t size)
{
    for (uint32_t t = 0; t < SIM_CONVOY_TABLES; t++) {
        for (uint32_t e = 0; e < table_elements(&f->schemas[t]); e++) {
            if (!convoy_agrees(f, t, e, out, size)) {
                return false;
            }
        }
    }
    return true;
}

static void convoy_go(struct convoy *f)
{
    int64_t storm_ns =
        f->config.storm_ns == 0 ? (int64_t)CONVOY_STORM_MS * 1000000 : f->config.storm_ns;
    int64_t until_ns = (int64_t)CONVOY_PATIENCE_S * 1000000000;
    int64_t done_ns = 0;
    char text[8];

    sim_world_set_checker(f->world, convoy_look, f);
    if (f->config.faults != 0) {
        sim_faults_storm(f->faults, f->config.seed, f->config.faults,
                         (int64_t)CONVOY_FAULT_EVERY_MS * 1000000,
                         sim_world_now_ns(f->world) + storm_ns);
    }
    while (sim_world_step(f->world, until_ns)) {
        if (done_ns == 0 && convoy_all_done(f)) {
            done_ns = sim_world_now_ns(f->world);
        }
        if (done_ns != 0 && convoy_settled(f, text, sizeof(text))) {
            return;
        }
        until_ns = sim_faults_patience_ns(f->faults, done_ns,
                                          done_ns == 0 ? CONVOY_PATIENCE_S : CONVOY_SETTLE_S);
    }
}

/* Who has not got to the end, and why. */
static void convoy_blame(const struct convoy *f, char *out, size_t size)
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

/* Has the server of the site that has this lane been started again? */
static bool convoy_restarted(struct convoy *f, const struct convoy_site *s, uint32_t lane)
{
    const struct sim_host *host;
    char name[16];

    for (uint32_t i = lane + 1; i-- > 0;) { /* One server may have all lanes. */
        (void)snprintf(name, sizeof(name), "%s-s%" PRIu32, s->name, i);
        host = sim_world_host(f->world, name);
        if (host != NULL) {
            return sim_host_starts(host) > 1;
        }
    }
    return false;
}

/* Without a store, what all sites forget is lost: workers that are done do not make it again, and
 * those that are not would wait for them. */
static bool convoy_lost_all(struct convoy *f)
{
    for (uint32_t l = 0; l < f->lanes; l++) {
        uint64_t newest = 0;
        bool all = true;

        for (uint32_t i = 0; i < f->sites_count; i++) {
            struct node_lane *lane = sim_cluster_lane(f->sites[i].cluster, l);
            struct node_lane_stats stats = {0};

            if (lane != NULL) {
                node_lane_stats(lane, &stats);
            }
            newest = stats.version > newest ? stats.version : newest;
            all = all && convoy_restarted(f, &f->sites[i], l);
        }
        if (all && newest + 1 < f->newest) {
            return true;
        }
    }
    return false;
}

static void convoy_verdict(struct convoy *f, struct sim_convoy_result *r)
{
    const char *broken = sim_world_broken(f->world);

    if (broken != NULL) {
        (void)snprintf(r->verdict, sizeof(r->verdict), "%s", broken);
    } else if (!convoy_all_done(f)) {
        r->lost_all = convoy_lost_all(f);
        if (!r->lost_all) {
            convoy_blame(f, r->verdict, sizeof(r->verdict));
        }
    } else {
        (void)convoy_settled(f, r->verdict, sizeof(r->verdict));
    }
}

static void convoy_sum(struct convoy *f, struct sim_convoy_result *r)
{
    for (uint32_t i = 0; i < f->sites_count; i++) {
        for (uint32_t l = 0; l < f->lanes; l++) {
            struct node_lane *lane = sim_cluster_lane(f->sites[i].cluster, l);
            struct node_central_stats s;

            if (lane == NULL) {
                continue;
            }
            node_central_stats(node_lane_central(lane), &s);
            r->totals.sums_sent += s.sums_sent;
            r->totals.sums_taken += s.sums_taken;
            r->totals.results_sent += s.results_sent;
            r->totals.results_taken += s.results_taken;
            r->totals.wholes_sent += s.wholes_sent;
            r->totals.wholes_taken += s.wholes_taken;
            r->totals.passed += s.passed;
            r->totals.passed_bytes += s.passed_bytes;
            r->totals.stale += s.stale;
            r->totals.refused += s.refused;
            r->totals.carried += s.carried;
            r->totals.plans += s.plans;
        }
    }
    for (int i = 0; i < SIM_FAULT_KINDS; i++) {
        r->fired[i] = sim_faults_fired(f->faults, (enum sim_fault_kind)i);
    }
    r->rounds = f->rounds_seen;
    r->now_ns = sim_world_now_ns(f->world);
    r->events = sim_world_events(f->world);
    r->transcript_hash = sim_world_transcript_hash(f->world);
    (void)snprintf(r->about, sizeof(r->about),
                   "%u sites around %s, %s%s, lanes %u, clocks %" PRIu64, f->sites_count,
                   f->sites[f->sites[0].between.plan.centre].name,
                   node_delivery_name(f->site.delivery),
                   f->site.sync.fixed_order ? ", ordered" : "", f->lanes, f->clocks);
}

struct sim_convoy_config sim_convoy_by_seed(uint64_t seed)
{
    bool deaths = seed % 2 == 0;

    return (struct sim_convoy_config){
        .seed = seed,
        .sites = deaths ? CONVOY_SITES_MORTAL + (uint32_t)(seed / 2 % CONVOY_SITES_MORE) : 0,
        .delivery = -1,
        .faults = SIM_CONVOY_STORM | (deaths ? SIM_CONVOY_DEATHS : 0)};
}

enum err sim_convoy_run(const struct sim_convoy_config *config,
                        struct sim_convoy_result *result_out, struct err_text *text)
{
    struct convoy *f = mem_zalloc(sizeof(*f));
    enum err rc;

    *result_out = (struct sim_convoy_result){.now_ns = 0};
    if (f == NULL) {
        return err_text_set(text, ERR_NOMEM, "no memory for a convoy");
    }
    f->config = *config;
    rc = convoy_build(f, text);
    if (rc == OK) {
        convoy_go(f);
        convoy_verdict(f, result_out);
        convoy_sum(f, result_out);
        rc = config->trace ? sim_world_transcript(f->world, &result_out->transcript) : OK;
    }
    convoy_destroy(f);
    return rc;
}

void sim_convoy_result_deinit(struct sim_convoy_result *r)
{
    text_deinit(&r->transcript);
}
