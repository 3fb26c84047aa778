/* Means over sites, told by sums: what a lane enters of a clock is a share of it, and what its
 * workers enter into their copies must be the same, to the last bit, in every clock. Nothing is
 * significant enough for other sites here, so no chunk comes whole and puts a copy right. */

#include "node/site/between.h"
#include "sim/cluster.h"
#include "sim/net/link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum {
    SITES_MAX = 3,
    WORKERS_MAX = 3, /* Of a site: one more than at the site before it. */
    ACTORS_MAX = 6,
    ROWS = 8,
    WIDTH = 3,
    ELEMENTS = ROWS * WIDTH,
    CLOCKS = 20,
    PATIENCE_S = 600,
};

enum act { OPENING, JOINING, PUSHING, ENDING, DONE };

struct site;

struct actor {
    struct site *site;
    struct sim_worker *worker;
    enum act state;
    struct node_op op;
    uint16_t table;
    uint64_t clock;
    float update[ELEMENTS];
};

struct site {
    struct world *world;
    struct sim_cluster *cluster;
    struct node_between between;
    struct node_other_site others[SITES_MAX - 1];
    uint64_t version; /* Closed last by its lane, with */
    float values[ELEMENTS];
};

struct world {
    struct sim_world *sim;
    struct table_schema schema;
    struct node_site settings;
    bool rows; /* Updates are of rows. */
    uint32_t sites_count;
    uint32_t actors_count;
    uint32_t compared; /* Copies. */
    struct site sites[SITES_MAX];
    struct actor actors[ACTORS_MAX];
};

static const char *const names[SITES_MAX] = {"a", "b", "c"};

/* What workers do. */

static void actor_went(struct node_op *op, void *user);

static struct node_op *actor_begin(struct actor *a, enum act state)
{
    a->state = state;
    a->op = (struct node_op){.finished = actor_went, .user = a};
    return &a->op;
}

/* Updates whose sums, means and shares are rounded. Each worker has its own. */
static void actor_compute(struct actor *a)
{
    uint32_t rank = a->worker->rank;
    uint32_t weight = 3 + rank;
    uint32_t row = (uint32_t)((a->clock + rank) % ROWS);

    for (uint32_t i = 0; i < ELEMENTS; i++) {
        a->update[i] = 0.1F * (float)(i + 1) / (float)(a->clock + rank);
    }
    if (!a->site->world->rows) {
        node_worker_push(a->worker->node, a->table, 0, ELEMENTS, a->update, weight,
                         actor_begin(a, PUSHING));
        return;
    }
    assert_int_equal(node_worker_update_rows(a->worker->node, a->table, &row, 1, a->update), OK);
    node_worker_clock(a->worker->node, weight, actor_begin(a, ENDING));
}

/* A clock is over here: the copy is the lane's. */
static void actor_compare(struct actor *a)
{
    struct site *s = a->site;
    uint64_t version;
    const float *copy = node_worker_chunk(a->worker->node, a->table, 0, &version);

    assert_int_equal(version, s->version);
    assert_memory_equal(copy, s->values, sizeof(s->values));
    s->world->compared++;
}

static void actor_went(struct node_op *op, void *user)
{
    struct actor *a = user;

    assert_int_equal(op->rc, OK);
    switch (a->state) {
    case OPENING:
        a->table = (uint16_t)op->value;
        node_worker_join(a->worker->node, actor_begin(a, JOINING));
        return;
    case PUSHING:
        node_worker_clock(a->worker->node, 3 + a->worker->rank, actor_begin(a, ENDING));
        return;
    case ENDING:
        actor_compare(a);
        break;
    case JOINING:
    case DONE:
        break;
    }
    a->clock = op->value;
    if (a->clock > CLOCKS) {
        a->state = DONE; /* It stays: of one who leaves all would be sent. */
    } else {
        actor_compute(a);
    }
}

static enum err actor_start(struct sim_worker *worker, void *user)
{
    struct actor *a = user;

    a->worker = worker;
    node_worker_table(worker->node, &a->site->world->schema, actor_begin(a, OPENING));
    return OK;
}

static void actor_stop(struct sim_worker *worker, void *user)
{
    (void)worker;
    (void)user;
}

static const struct sim_brain brain = {.start = actor_start, .stop = actor_stop};

/* What lanes tell. */

static void lane_closed(uint16_t table, uint32_t chunk, uint64_t version, const float *values,
                        uint32_t count, void *user)
{
    struct site *s = user;

    (void)table;
    (void)chunk;
    assert_int_equal(count, ELEMENTS);
    s->version = version;
    memcpy(s->values, values, sizeof(s->values));
}

static void lane_mirrored(uint16_t table, uint32_t chunk, const float *values, uint32_t count,
                          void *user)
{
    (void)table;
    (void)chunk;
    (void)values;
    (void)count;
    (void)user;
    fail_msg("nothing is significant");
}

static const struct node_lane_witness witness = {.closed = lane_closed, .mirrored = lane_mirrored};

/* Building. */

static void build_between(struct world *w, uint32_t site)
{
    struct site *s = &w->sites[site];

    node_between_init(&s->between);
    assert_int_equal(codec_filter_parse("absolute", NULL, &s->between.filter, NULL), OK);
    s->between.threshold = 1e6F;
    s->between.goal = ASP_COST;
    s->between.staleness = MIRROR_UNBOUNDED;
    s->between.fresh = 0;
    s->between.mean = true;
    s->between.others = s->others;
    s->between.others_count = w->sites_count - 1;
    for (uint32_t k = 1; k < w->sites_count; k++) {
        uint32_t other = (site + k) % w->sites_count;
        struct node_other_site *o = &s->others[k - 1];
        char server[8];

        (void)snprintf(o->name, sizeof(o->name), "%s", names[other]);
        (void)snprintf(server, sizeof(server), "%s-s0", names[other]);
        sim_cluster_place(server, &o->first);
    }
}

static void build_site(struct world *w, uint32_t site, struct sim_region *region)
{
    struct site *s = &w->sites[site];
    struct sim_cluster_config config = {.site = w->settings,
                                        .between = w->sites_count > 1 ? &s->between : NULL,
                                        .witness = &witness,
                                        .witness_user = s};
    uint32_t workers = site % WORKERS_MAX + 1;
    char name[8];

    s->world = w;
    build_between(w, site);
    (void)snprintf(config.site.name, sizeof(config.site.name), "%s", names[site]);
    config.site.sync.members_min = workers;
    assert_int_equal(sim_cluster_create(w->sim, &config, &s->cluster), OK);
    (void)snprintf(name, sizeof(name), "%s-s0", names[site]);
    assert_int_equal(sim_cluster_add_server(s->cluster, name, region, 1), OK);
    for (uint32_t i = 0; i < workers; i++) {
        struct actor *a = &w->actors[w->actors_count++];

        a->site = s;
        (void)snprintf(name, sizeof(name), "%s-w%u", names[site], i);
        assert_int_equal(sim_cluster_add_worker(s->cluster, name, region, 1, &brain, a), OK);
    }
}

static void build(struct world *w)
{
    struct sim_world_config config = {.seed = 1};
    struct sim_link_config link = {.bytes_per_s = 10000000, .delay_ns = INT64_C(5000000)};
    struct sim_region *regions[SITES_MAX];
    struct err_text text = {""};

    assert_int_equal(sim_world_create(&config, &w->sim), OK);
    for (uint32_t i = 0; i < w->sites_count; i++) {
        assert_int_equal(sim_region_create(w->sim, names[i], &regions[i]), OK);
        for (uint32_t k = 0; k < i; k++) {
            assert_int_equal(sim_link_set(w->sim, regions[i], regions[k], &link), OK);
        }
    }
    for (uint32_t i = 0; i < w->sites_count; i++) {
        build_site(w, i, regions[i]);
    }
    for (uint32_t i = 0; i < w->sites_count; i++) {
        assert_int_equal(sim_cluster_start(w->sites[i].cluster, &text), OK);
    }
}

static bool all_done(const struct world *w)
{
    bool done = true;

    for (uint32_t i = 0; i < w->actors_count; i++) {
        done = done && w->actors[i].state == DONE;
    }
    return done;
}

static void run_sparsified(uint32_t sites, const char *combine, const char *apply, bool rows,
                           const char *chain)
{
    const struct table_schema_text table = {
        .name = "t", .rows = ROWS, .width = WIDTH, .combine = combine, .apply = apply};
    static struct world w;

    w = (struct world){.sites_count = sites,
                       .rows = rows,
                       .settings = {.shards = 1,
                                    .delivery = NODE_BROADCAST,
                                    .sync = {.policy = &sync_bsp,
                                             .deadline_ns = (int64_t)PATIENCE_S * 1000000000}}};
    w.settings.broadcast.on = chain != NULL;
    if (chain != NULL) {
        assert_int_equal(codec_chain_parse(chain, &w.settings.broadcast.chain, NULL), OK);
    }
    assert_int_equal(table_schema_parse(&table, &w.schema, NULL), OK);
    build(&w);
    while (!all_done(&w)) {
        assert_true(sim_world_step(w.sim, (int64_t)PATIENCE_S * 1000000000));
    }
    assert_int_equal(w.compared, w.actors_count * CLOCKS);
    for (uint32_t i = 0; i < sites; i++) {
        assert_true(w.sites[i].values[0] != 0);
        sim_cluster_destroy(w.sites[i].cluster);
    }
    sim_world_destroy(w.sim);
}

static void run(uint32_t sites, const char *combine, const char *apply, bool rows)
{
    run_sparsified(sites, combine, apply, rows, NULL);
}

static void test_copies_are_the_lanes_when_updates_are_averaged_over_sites(void **state)
{
    (void)state;
    for (uint32_t sites = 1; sites <= SITES_MAX; sites++) {
        run(sites, "mean", "add", false);
        run(sites, "samples", "add", false);
    }
}

static void test_copies_are_the_lanes_whatever_the_applier_makes_of_a_mean(void **state)
{
    (void)state;
    run(2, "mean", "sgd lr=0.1", false);
    run(3, "mean", "momentum lr=0.1 mu=0.9", false);
    run(3, "samples", "adagrad lr=0.1", false);
}

static void test_copies_are_the_lanes_when_updates_are_of_a_few_rows(void **state)
{
    (void)state;
    run(2, "mean", "add", true);
    run(3, "samples", "momentum lr=0.1 mu=0.9", true);
}

static void test_copies_are_the_lanes_when_small_parts_of_means_are_held_back(void **state)
{
    (void)state;
    run_sparsified(2, "mean", "add", false, "dvf:delta=0.02 | auto");
    run_sparsified(3, "samples", "sgd lr=0.1", true, "dvf:delta=0.02 | auto");
}

static void test_copies_are_the_lanes_of_tables_that_are_summed(void **state)
{
    (void)state;
    run(2, "sum", "add", false);
    run(3, "sum", "add", true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies_are_the_lanes_when_updates_are_averaged_over_sites),
        cmocka_unit_test(test_copies_are_the_lanes_whatever_the_applier_makes_of_a_mean),
        cmocka_unit_test(test_copies_are_the_lanes_when_updates_are_of_a_few_rows),
        cmocka_unit_test(test_copies_are_the_lanes_when_small_parts_of_means_are_held_back),
        cmocka_unit_test(test_copies_are_the_lanes_of_tables_that_are_summed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
