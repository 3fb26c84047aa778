/* Relays that fail: a site without a barrier, sums by a tree, and one worker in the middle of it
 * that stops, loses its power or is killed. Those behind it get sums again within one detection
 * time, three heartbeats, and in the end all copies are the same. */

#include "loop/loop.h"
#include "sim/cluster.h"
#include "sim/fault.h"
#include "sim/link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum {
    WORKERS = 7,
    ELEMENTS = 64,
    CLOCKS = 400,
    COMPUTE_MS = 50,
    FAULT_S = 5,
    FAULT_LASTS_S = 8,
    DETECT_MS = 3000,
    SLACK_MS = 400, /* For looks, dials and the way of the chunk that comes whole. */
    PATIENCE_S = 300,
};

enum act { OPENING, JOINING, COMPUTING, PUSHING, ENDING, LEAVING, DONE };

struct site;

struct actor {
    struct site *site;
    struct sim_worker *worker;
    enum act state;
    struct node_op op;
    uint64_t clock;
    uint64_t version;   /* Of its copy, as seen last, */
    int64_t since_ns;   /* since then. */
    int64_t longest_ns; /* Without another one, while others made some. */
    float update[ELEMENTS];
    struct loop_timer timer;
};

struct site {
    struct sim_world *world;
    struct sim_cluster *cluster;
    struct sim_faults *faults;
    struct table_schema schema;
    struct actor actors[WORKERS];
};

static void went(struct actor *a);

static void finished(struct node_op *op, void *user)
{
    struct actor *a = user;

    assert_int_equal(op->rc, OK);
    went(a);
}

static struct node_op *begin(struct actor *a, enum act state)
{
    a->state = state;
    a->op = (struct node_op){.finished = finished, .user = a};
    return &a->op;
}

static void went(struct actor *a)
{
    struct node_worker *node = a->worker->node;

    switch (a->state) {
    case OPENING:
        node_worker_join(node, begin(a, JOINING));
        break;
    case JOINING:
    case ENDING:
        a->clock = a->op.value;
        if (a->clock > CLOCKS) {
            node_worker_leave(node, begin(a, LEAVING));
        } else {
            a->state = COMPUTING;
            loop_timer_start_in(&a->timer, (int64_t)COMPUTE_MS * 1000000);
        }
        break;
    case PUSHING:
        node_worker_clock(node, 1, begin(a, ENDING));
        break;
    case LEAVING:
        a->state = DONE;
        break;
    case COMPUTING:
    case DONE:
        break;
    }
}

static void computed(struct loop_timer *timer, void *user)
{
    struct actor *a = user;

    (void)timer;
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        a->update[i] = 1;
    }
    node_worker_push(a->worker->node, 0, 0, ELEMENTS, a->update, 1, begin(a, PUSHING));
}

static enum err start(struct sim_worker *worker, void *user)
{
    struct actor *a = user;

    assert_int_equal(loop_timer_init(&a->timer, sim_host_loop(worker->host), computed, a), OK);
    a->worker = worker;
    if (a->state != DONE) {
        node_worker_table(worker->node, &a->site->schema, begin(a, OPENING));
    }
    return OK;
}

static void stop(struct sim_worker *worker, void *user)
{
    struct actor *a = user;

    (void)worker;
    loop_timer_deinit(&a->timer);
    a->worker = NULL;
    a->version = 0;
}

static const struct sim_brain brain = {.start = start, .stop = stop};

static void build(struct site *s)
{
    const struct table_schema_text schema = {.name = "t", .rows = ELEMENTS, .width = 1};
    struct sim_world_config world = {.seed = 1};
    struct sim_cluster_config config = {
        .site = {.name = "site",
                 .delivery = NODE_BROADCAST,
                 .tree = {.degree = 2, .depth = 3},
                 .sync = {.policy = &sync_tap, .members_min = WORKERS}}};
    struct sim_region *region;

    assert_int_equal(table_schema_parse(&schema, &s->schema, NULL), OK);
    assert_int_equal(sim_world_create(&world, &s->world), OK);
    assert_int_equal(sim_region_create(s->world, "here", &region), OK);
    assert_int_equal(sim_cluster_create(s->world, &config, &s->cluster), OK);
    assert_int_equal(sim_cluster_add_server(s->cluster, "s0", region, 1), OK);
    for (uint32_t i = 0; i < WORKERS; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "w%u", i);
        s->actors[i].site = s;
        assert_int_equal(sim_cluster_add_worker(s->cluster, name, region, 1, &brain, &s->actors[i]),
                         OK);
    }
    assert_int_equal(sim_faults_create(s->world, 1, &s->faults), OK);
    assert_int_equal(sim_cluster_start(s->cluster, NULL), OK);
}

/* Whether new versions come, of those who are not hit. */
static void look(struct site *s, const struct actor *hit)
{
    int64_t now = sim_world_now_ns(s->world);

    for (uint32_t i = 0; i < WORKERS; i++) {
        struct actor *a = &s->actors[i];
        uint64_t version = 0;

        if (a == hit || a->worker == NULL || a->worker->node == NULL || a->state < COMPUTING ||
            a->state >= LEAVING) {
            a->since_ns = now;
            continue;
        }
        (void)node_worker_chunk(a->worker->node, 0, 0, &version);
        if (version > a->version) {
            a->version = version;
            a->since_ns = now;
        }
        if (now - a->since_ns > a->longest_ns) {
            a->longest_ns = now - a->since_ns;
        }
    }
}

static bool all_done(const struct site *s)
{
    for (uint32_t i = 0; i < WORKERS; i++) {
        if (s->actors[i].state != DONE) {
            return false;
        }
    }
    return true;
}

/* A worker that others hang on: one that has passed something on. */
static struct actor *relay_of(struct site *s)
{
    for (uint32_t i = 0; i < WORKERS; i++) {
        uint64_t passed, unpassed;

        node_worker_passed(s->actors[i].worker->node, &passed, &unpassed);
        if (passed > 0) {
            return &s->actors[i];
        }
    }
    fail_msg("nobody passes anything on");
    return NULL;
}

static void end(struct site *s)
{
    sim_cluster_destroy(s->cluster);
    sim_faults_destroy(s->faults);
    sim_world_destroy(s->world);
}

static void run(enum sim_fault_kind kind, int64_t most_ms)
{
    static struct site site;
    struct sim_fault fault = {.kind = kind, .duration_ns = (int64_t)FAULT_LASTS_S * 1000000000};
    struct actor *hit = NULL;
    struct node_lane_stats stats;
    int64_t longest_ns = 0;

    site = (struct site){.world = NULL};
    build(&site);
    while (!all_done(&site) && sim_world_step(site.world, (int64_t)PATIENCE_S * 1000000000)) {
        if (hit == NULL && sim_world_now_ns(site.world) >= (int64_t)FAULT_S * 1000000000) {
            hit = relay_of(&site);
            fault.host = hit->worker->host;
            assert_true(sim_fault_inject(site.faults, &fault));
        }
        look(&site, hit);
    }
    assert_null(sim_world_broken(site.world));
    assert_true(all_done(&site));
    for (uint32_t i = 0; i < WORKERS; i++) {
        if (&site.actors[i] != hit && site.actors[i].longest_ns > longest_ns) {
            longest_ns = site.actors[i].longest_ns;
        }
    }
    node_lane_stats(sim_cluster_lane(site.cluster, 0), &stats);
    print_message("%s: at most %.3f s without a sum, %llu detours, %llu chunks whole\n",
                  sim_fault_name(kind), (double)longest_ns * 1e-9,
                  (unsigned long long)stats.detours, (unsigned long long)stats.snapshots);
    assert_true(stats.detours > 0 || kind == SIM_FAULT_KILL);
    assert_true(longest_ns <= most_ms * 1000000);
    end(&site);
}

static void test_one_that_stops_is_gone_around_within_the_detection_time(void **state)
{
    (void)state;
    run(SIM_FAULT_PAUSE, DETECT_MS + SLACK_MS);
}

static void test_one_without_power_is_gone_around_within_the_detection_time(void **state)
{
    (void)state;
    run(SIM_FAULT_POWER, DETECT_MS + SLACK_MS);
}

static void test_one_that_is_killed_is_gone_around_at_once(void **state)
{
    (void)state;
    run(SIM_FAULT_KILL, SLACK_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_that_stops_is_gone_around_within_the_detection_time),
        cmocka_unit_test(test_one_without_power_is_gone_around_within_the_detection_time),
        cmocka_unit_test(test_one_that_is_killed_is_gone_around_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
