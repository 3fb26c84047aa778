/* Selective barriers between groups: two groups of two sites, hubs between them, one slow link. A
 * site behind the far hub is told which elements are old, readers of just these wait for them, and
 * in the end all sites have the same. */

#include "loop/loop.h"
#include "node/mirror/mirror.h"
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
#include <jansson.h>

/* Sites a and b are one group, c and d the other; a and c are hubs. */
enum { A, B, C, D, SITES };
enum {
    WIDTH = 4,
    ROWS = 512,
    HOT_ROWS = 224, /* The first: what b changes, less than half of the chunk. */
    ELEMENTS = ROWS * WIDTH,
    CLOCKS = 40,
    COMPUTE_MS = 100,
    FAST_BYTES_PER_S = 10000000,
    SLOW_BYTES_PER_S = 20000, /* Half of what b makes. */
    PATIENCE_S = 600,
    SETTLE_S = 60,
};

enum act { OPENING, JOINING, READING, COMPUTING, ENDING, LEAVING, DONE };

struct world;

/* One worker: what it reads, what it adds to, and how long its reads took. */
struct actor {
    struct world *world;
    uint32_t site;
    uint32_t read_first, read_count;   /* Rows; none: it does not read. */
    uint32_t write_first, write_count; /* Rows, or none. */
    struct sim_worker *worker;
    struct node_op op;
    enum act state;
    uint16_t table;
    uint64_t clock;
    int64_t since_ns;
    int64_t longest_ns;     /* Of its reads. */
    uint32_t under_barrier; /* Reads that ended while a barrier stood in the chunk. */
    uint32_t rows[ROWS];
    float values[ELEMENTS];
    struct loop_timer timer;
};

enum { ACTORS = 5 };

struct site {
    struct world *world;
    struct sim_cluster *cluster;
    struct node_between between;
    struct node_other_site others[SITES - 1];
    float values[ELEMENTS]; /* As its lane has them. */
};

struct world {
    struct sim_world *sim;
    struct table_schema schema;
    struct node_hubs hubs[2];
    struct site sites[SITES];
    struct actor actors[ACTORS];
};

static const char *const names[SITES] = {"a", "b", "c", "d"};

static struct node_mirror *mirror_of(struct world *w, uint32_t site)
{
    struct node_lane *lane = sim_cluster_lane(w->sites[site].cluster, 0);

    return lane == NULL ? NULL : node_lane_mirror(lane);
}

static struct node_mirror_stats stats_of(struct world *w, uint32_t site)
{
    struct node_mirror_stats stats;

    node_mirror_stats(mirror_of(w, site), &stats);
    return stats;
}

/* As operators see it. */
static uint64_t status_of(struct world *w, uint32_t site, const char *key)
{
    json_t *status = node_mirror_status(mirror_of(w, site));
    json_int_t number = json_integer_value(json_object_get(status, key));

    json_decref(status);
    return (uint64_t)number;
}

/* What workers do. */

static void actor_enter(struct actor *a, enum act state);

static void actor_read_over(struct actor *a)
{
    int64_t took_ns = sim_world_now_ns(a->world->sim) - a->since_ns;

    a->longest_ns = took_ns > a->longest_ns ? took_ns : a->longest_ns;
    a->under_barrier += node_mirror_has_barrier(mirror_of(a->world, a->site), 0);
}

static void actor_went(struct node_op *op, void *user)
{
    struct actor *a = user;

    assert_int_equal(op->rc, OK);
    switch (a->state) {
    case OPENING:
        a->table = (uint16_t)op->value;
        actor_enter(a, JOINING);
        break;
    case JOINING:
    case ENDING:
        a->clock = op->value;
        actor_enter(a, a->clock > CLOCKS ? LEAVING : a->read_count > 0 ? READING : COMPUTING);
        break;
    case READING:
        actor_read_over(a);
        actor_enter(a, COMPUTING);
        break;
    case LEAVING:
        actor_enter(a, DONE);
        break;
    case COMPUTING:
    case DONE:
        fail();
    }
}

static void actor_end_clock(struct actor *a)
{
    for (uint32_t i = 0; i < a->write_count; i++) {
        a->rows[i] = a->write_first + i;
    }
    for (uint32_t i = 0; i < a->write_count * WIDTH; i++) {
        a->values[i] = 0.5F; /* No whole number: those are small. */
    }
    if (a->write_count > 0) {
        assert_int_equal(
            node_worker_update_rows(a->worker->node, a->table, a->rows, a->write_count, a->values),
            OK);
    }
    node_worker_clock(a->worker->node, 1, &a->op);
}

static void actor_enter(struct actor *a, enum act state)
{
    struct node_worker *node = a->worker->node;

    a->state = state;
    a->op = (struct node_op){.finished = actor_went, .user = a};
    a->since_ns = sim_world_now_ns(a->world->sim);
    switch (a->state) {
    case OPENING:
        node_worker_table(node, &a->world->schema, &a->op);
        break;
    case JOINING:
        node_worker_join(node, &a->op);
        break;
    case READING:
        for (uint32_t i = 0; i < a->read_count; i++) {
            a->rows[i] = a->read_first + i;
        }
        node_worker_read_rows(node, a->table, a->rows, a->read_count, a->values, &a->op);
        break;
    case COMPUTING:
        loop_timer_start_in(&a->timer, (int64_t)COMPUTE_MS * 1000000);
        break;
    case ENDING:
        actor_end_clock(a);
        break;
    case LEAVING:
        node_worker_leave(node, &a->op);
        break;
    case DONE:
        break;
    }
}

static void actor_computed(struct loop_timer *timer, void *user)
{
    (void)timer;
    actor_enter(user, ENDING);
}

static enum err actor_start(struct sim_worker *worker, void *user)
{
    struct actor *a = user;
    enum err rc = loop_timer_init(&a->timer, sim_host_loop(worker->host), actor_computed, a);

    if (rc == OK) {
        a->worker = worker;
        actor_enter(a, OPENING);
    }
    return rc;
}

static void actor_stop(struct sim_worker *worker, void *user)
{
    struct actor *a = user;

    (void)worker;
    a->state = DONE;
    loop_timer_deinit(&a->timer);
}

static const struct sim_brain brain = {.start = actor_start, .stop = actor_stop};

/* What lanes tell: how their values are now. */

static void lane_mirrored(uint16_t table, uint32_t chunk, const float *values, uint32_t count,
                          void *user)
{
    struct site *s = user;

    (void)table;
    (void)chunk;
    assert_int_equal(count, ELEMENTS);
    memcpy(s->values, values, sizeof(s->values));
}

static void lane_closed(uint16_t table, uint32_t chunk, uint64_t version, const float *values,
                        uint32_t count, void *user)
{
    (void)version;
    lane_mirrored(table, chunk, values, count, user);
}

static const struct node_lane_witness witness = {.closed = lane_closed, .mirrored = lane_mirrored};

/* Building. */

static void build_between(struct world *w, uint32_t site)
{
    struct site *s = &w->sites[site];

    node_between_init(&s->between);
    assert_int_equal(codec_filter_parse("absolute", NULL, &s->between.filter, NULL), OK);
    s->between.threshold = 0; /* All is significant, */
    s->between.goal = ASP_COST;
    s->between.staleness = MIRROR_UNBOUNDED; /* and nobody waits for a clock. */
    s->between.barrier = true;
    s->between.fresh = 0;
    s->between.away_ns = INT64_C(2000000000);
    s->between.gather_ns = INT64_C(30000000);
    s->between.stall_ns = INT64_C(60000000000);
    s->between.groups = 2;
    s->between.group = site / 2;
    s->between.hubs = w->hubs;
    s->between.hubs_count = 2;
    s->between.others = s->others;
    s->between.others_count = SITES - 1;
    for (uint32_t k = 1; k < SITES; k++) {
        uint32_t other = (site + k) % SITES;
        struct node_other_site *o = &s->others[k - 1];
        char server[8];

        (void)snprintf(o->name, sizeof(o->name), "%s", names[other]);
        (void)snprintf(server, sizeof(server), "%s-s0", names[other]);
        sim_cluster_place(server, &o->first);
        o->group = other / 2;
    }
}

static void build_site(struct world *w, uint32_t site, struct sim_region *region)
{
    struct site *s = &w->sites[site];
    struct sim_cluster_config config = {
        .site = {.shards = 1, .delivery = NODE_PULL, .sync = {.policy = &sync_tap}},
        .between = &s->between,
        .witness = &witness,
        .witness_user = s};
    char name[8];

    s->world = w;
    build_between(w, site);
    (void)snprintf(config.site.name, sizeof(config.site.name), "%s", names[site]);
    config.site.sync.members_min = site == D ? 2 : 1;
    config.site.sync.deadline_ns = INT64_C(600000000000);
    assert_int_equal(sim_cluster_create(w->sim, &config, &s->cluster), OK);
    (void)snprintf(name, sizeof(name), "%s-s0", names[site]);
    assert_int_equal(sim_cluster_add_server(s->cluster, name, region, 1), OK);
    for (uint32_t i = 0, k = 0; i < ACTORS; i++) {
        if (w->actors[i].site == site) {
            (void)snprintf(name, sizeof(name), "%s-w%u", names[site], k++);
            assert_int_equal(
                sim_cluster_add_worker(s->cluster, name, region, 1, &brain, &w->actors[i]), OK);
        }
    }
}

/* All links are fast but that from @from to @to. */
static void build(struct world *w, uint32_t from, uint32_t to)
{
    static const struct actor cast[ACTORS] = {
        {.site = A}, /* It has nothing of its own to send. */
        {.site = B, .write_count = HOT_ROWS},
        {.site = C, .write_first = ROWS - 2, .write_count = 1},
        {.site = D, .read_count = 3, .write_first = ROWS - 1, .write_count = 1},
        {.site = D,
         .read_first = HOT_ROWS,
         .read_count = 3,
         .write_first = ROWS - 1,
         .write_count = 1},
    };
    const struct table_schema_text table = {.name = "rows", .rows = ROWS, .width = WIDTH};
    struct sim_world_config config = {.seed = 1};
    struct sim_link_config link = {.bytes_per_s = FAST_BYTES_PER_S, .delay_ns = INT64_C(5000000)};
    struct sim_region *regions[SITES];
    struct err_text text = {""};

    memset(w, 0, sizeof(*w));
    memcpy(w->actors, cast, sizeof(cast));
    for (uint32_t i = 0; i < ACTORS; i++) {
        w->actors[i].world = w;
    }
    w->hubs[0] = (struct node_hubs){.from = 0, .to = 1, .count = 1, .sites = {"a"}};
    w->hubs[1] = (struct node_hubs){.from = 1, .to = 0, .count = 1, .sites = {"c"}};
    assert_int_equal(table_schema_parse(&table, &w->schema, &text), OK);
    assert_int_equal(sim_world_create(&config, &w->sim), OK);
    for (uint32_t i = 0; i < SITES; i++) {
        assert_int_equal(sim_region_create(w->sim, names[i], &regions[i]), OK);
        for (uint32_t k = 0; k < i; k++) {
            assert_int_equal(sim_link_set(w->sim, regions[i], regions[k], &link), OK);
        }
    }
    link.bytes_per_s = SLOW_BYTES_PER_S;
    assert_int_equal(sim_link_set_one(w->sim, regions[from], regions[to], &link), OK);
    for (uint32_t i = 0; i < SITES; i++) {
        build_site(w, i, regions[i]);
    }
    for (uint32_t i = 0; i < SITES; i++) {
        assert_int_equal(sim_cluster_start(w->sites[i].cluster, &text), OK);
    }
}

static void tear_down(struct world *w)
{
    for (uint32_t i = 0; i < SITES; i++) {
        sim_cluster_destroy(w->sites[i].cluster);
    }
    sim_world_destroy(w->sim);
}

/* Running. */

static bool all_done(const struct world *w)
{
    bool done = true;

    for (uint32_t i = 0; i < ACTORS; i++) {
        done = done && w->actors[i].state == DONE;
    }
    return done;
}

/* Everybody who is there has all, and nothing is held back. */
static bool settled(struct world *w)
{
    for (uint32_t i = 0; i < SITES; i++) {
        const struct mirror *m =
            mirror_of(w, i) == NULL ? NULL : node_mirror_machine(mirror_of(w, i));

        for (uint32_t k = 1; m != NULL && k < m->sites_count; k++) {
            const struct mirror_site *s = &m->sites[k];

            if (m->log_bytes > 0 || !m->done ||
                !(s->left_out || (s->done && s->stable >= s->number))) {
                return false;
            }
        }
    }
    return true;
}

/* The site dies, all of it. */
static void crash(struct world *w, uint32_t site)
{
    char name[8];

    (void)snprintf(name, sizeof(name), "%s-s0", names[site]);
    sim_host_crash(sim_world_host(w->sim, name), false);
    (void)snprintf(name, sizeof(name), "%s-w0", names[site]);
    sim_host_crash(sim_world_host(w->sim, name), false);
}

/* Until all are done and have the same; @dies: that site does, after half of the clocks. */
static void run(struct world *w, uint32_t dies)
{
    int64_t until_ns = (int64_t)PATIENCE_S * 1000000000;
    bool done = false;

    while (!(done && settled(w))) {
        if (!sim_world_step(w->sim, until_ns)) {
            fail_msg("%s", done ? "the last pieces do not arrive" : "somebody waits for ever");
        }
        if (dies != SITES && w->actors[B].clock > CLOCKS / 2) {
            crash(w, dies);
            dies = SITES;
        }
        if (!done && all_done(w)) {
            done = true;
            until_ns = sim_world_now_ns(w->sim) + (int64_t)SETTLE_S * 1000000000;
        }
    }
}

static void expect_all(struct world *w)
{
    for (uint32_t i = 0; i < SITES; i++) {
        const float *values = w->sites[i].values;

        assert_memory_equal(values, w->sites[A].values, sizeof(w->sites[i].values));
        assert_true(values[0] == 0.5F * CLOCKS);
        assert_true(values[HOT_ROWS * WIDTH] == 0);
        assert_true(values[(ROWS - 2) * WIDTH] == 0.5F * CLOCKS);
        assert_true(values[ELEMENTS - 1] == CLOCKS);
    }
}

/* Of the two readers at d one wants what is announced, the other what is not. */
static void expect_just_the_hot_reader_waits(struct world *w)
{
    const struct actor *hot = &w->actors[3], *cold = &w->actors[4];

    assert_true(stats_of(w, D).barriers_met > 0);
    assert_true(stats_of(w, D).waited_barrier_ns > 0);
    assert_true(hot->longest_ns > (int64_t)COMPUTE_MS * 1000000);
    assert_true(cold->longest_ns < (int64_t)COMPUTE_MS * 1000000 / 10);
    assert_true(cold->under_barrier > 0);
}

static void test_a_slow_link_between_hubs_is_announced_behind_the_far_hub(void **state)
{
    static struct world w;

    (void)state;
    build(&w, A, C);
    run(&w, SITES);
    expect_just_the_hot_reader_waits(&w);
    assert_true(stats_of(&w, A).relayed > 0);
    assert_true(stats_of(&w, A).barriers_raised > 0);
    assert_int_equal(stats_of(&w, A).barriers_passed, 0);
    assert_int_equal(stats_of(&w, B).barriers_raised, 0); /* Its own links are fast. */
    assert_true(stats_of(&w, C).barriers_passed > 0);
    assert_int_equal(status_of(&w, C, "barriers_passed"), stats_of(&w, C).barriers_passed);
    assert_int_equal(status_of(&w, D, "barriers_met"), stats_of(&w, C).barriers_passed);
    expect_all(&w);
    tear_down(&w);
}

static void test_a_slow_link_to_the_near_hub_is_announced_everywhere_behind_it(void **state)
{
    static struct world w;

    (void)state;
    build(&w, B, A);
    run(&w, SITES);
    expect_just_the_hot_reader_waits(&w);
    assert_true(stats_of(&w, B).barriers_raised > 0);
    assert_int_equal(stats_of(&w, A).barriers_raised, 0);
    assert_int_equal(stats_of(&w, A).barriers_passed, stats_of(&w, C).barriers_met);
    assert_int_equal(stats_of(&w, C).barriers_passed, stats_of(&w, D).barriers_met);
    expect_all(&w);
    tear_down(&w);
}

/* What was announced comes another way, or is not waited for: everybody gets to the end, with all
 * that those have made who are left. */
static void test_no_reader_waits_for_ever_when_a_hub_dies(void **state)
{
    static const uint32_t hubs[] = {A, C};
    static struct world w;

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        build(&w, A, C);
        run(&w, hubs[i]);
        assert_true(stats_of(&w, D).barriers_met > 0);
        assert_true(w.actors[3].longest_ns > (int64_t)COMPUTE_MS * 1000000);
        for (uint32_t k = 0; k < SITES; k++) {
            const float *values = w.sites[k].values;

            assert_true(k == hubs[i] || values[0] == 0.5F * CLOCKS);
            assert_true(k == hubs[i] || values[ELEMENTS - 1] == CLOCKS);
        }
        tear_down(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_slow_link_between_hubs_is_announced_behind_the_far_hub),
        cmocka_unit_test(test_a_slow_link_to_the_near_hub_is_announced_everywhere_behind_it),
        cmocka_unit_test(test_no_reader_waits_for_ever_when_a_hub_dies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
