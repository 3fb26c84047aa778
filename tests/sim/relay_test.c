/* Relays that fail: a site without a barrier, sums by a tree, and one worker in the middle of it
 * that stops, loses its power or is killed. Those behind it get sums again within one detection
 * time, three heartbeats, and in the end all copies are the same. And relays that have no room for
 * what slow workers do not take. */

#include "loop/loop.h"
#include "obs/snapshot.h"
#include "sim/cluster.h"
#include "sim/fault.h"
#include "sim/net/link.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum {
    WORKERS_MAX = 7,
    ELEMENTS = 64,
    COMPUTE_MS = 50,
    FAULT_S = 5,
    FAULT_LASTS_S = 8,
    DETECT_MS = 3000,
    SLACK_MS = 400, /* For looks, dials and the way of the chunk that comes whole. */
    PATIENCE_S = 300,
};

struct setup {
    uint32_t workers;
    uint64_t clocks;
    struct node_tree tree;
    uint32_t chunk;       /* Elements. */
    uint64_t relay_bytes; /* Zero: the default. */
    bool stay;            /* Workers that are done do not leave. */
};

static const struct setup bushy = {
    .workers = 7, .clocks = 400, .tree = {.degree = 2, .depth = 3}, .chunk = ELEMENTS};
/* Each feeds the next; so many frames that a worker that takes none has a full window soon. */
static const struct setup chain = {.workers = 3,
                                   .clocks = 200,
                                   .tree = {.degree = 1, .depth = 3},
                                   .chunk = 1,
                                   .relay_bytes = 1 << 16,
                                   .stay = true};

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
    const struct setup *setup;
    struct sim_world *world;
    struct sim_cluster *cluster;
    struct sim_faults *faults;
    struct table_schema schema;
    struct actor actors[WORKERS_MAX];
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
        if (a->clock > a->site->setup->clocks && a->site->setup->stay) {
            a->state = DONE;
        } else if (a->clock > a->site->setup->clocks) {
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
    const struct table_schema_text schema = {
        .name = "t", .rows = ELEMENTS, .width = 1, .chunk = s->setup->chunk};
    struct sim_world_config world = {.seed = 1};
    struct sim_cluster_config config = {
        .site = {.name = "site",
                 .delivery = NODE_BROADCAST,
                 .tree = s->setup->tree,
                 .sync = {.policy = &sync_tap, .members_min = s->setup->workers}},
        .relay_bytes = s->setup->relay_bytes};
    struct sim_region *region;

    assert_int_equal(table_schema_parse(&schema, &s->schema, NULL), OK);
    assert_int_equal(sim_world_create(&world, &s->world), OK);
    assert_int_equal(sim_region_create(s->world, "here", &region), OK);
    assert_int_equal(sim_cluster_create(s->world, &config, &s->cluster), OK);
    assert_int_equal(sim_cluster_add_server(s->cluster, "s0", region, 1), OK);
    for (uint32_t i = 0; i < s->setup->workers; i++) {
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

    for (uint32_t i = 0; i < s->setup->workers; i++) {
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
    for (uint32_t i = 0; i < s->setup->workers; i++) {
        if (s->actors[i].state != DONE) {
            return false;
        }
    }
    return true;
}

/* A worker that others hang on: one that has passed something on. Or one that has not. */
static struct actor *find(struct site *s, bool relay)
{
    for (uint32_t i = 0; i < s->setup->workers; i++) {
        if ((node_worker_passed(s->actors[i].worker->node).frames > 0) == relay) {
            return &s->actors[i];
        }
    }
    fail_msg("nobody passes anything on, or everybody does");
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

    site = (struct site){.setup = &bushy};
    build(&site);
    while (!all_done(&site) && sim_world_step(site.world, (int64_t)PATIENCE_S * 1000000000)) {
        if (hit == NULL && sim_world_now_ns(site.world) >= (int64_t)FAULT_S * 1000000000) {
            hit = find(&site, true);
            fault.host = hit->worker->host;
            assert_true(sim_fault_inject(site.faults, &fault));
        }
        look(&site, hit);
    }
    assert_null(sim_world_broken(site.world));
    assert_true(all_done(&site));
    for (uint32_t i = 0; i < bushy.workers; i++) {
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

/* Do all copies hold all that was ever added? */
static bool all_have_all(const struct site *s)
{
    float all = (float)(s->setup->workers * s->setup->clocks);

    for (uint32_t i = 0; i < s->setup->workers; i++) {
        for (uint32_t c = 0; c < ELEMENTS / s->setup->chunk; c++) {
            uint64_t version;
            const float *copy = node_worker_chunk(s->actors[i].worker->node, 0, c, &version);

            for (uint32_t e = 0; e < s->setup->chunk; e++) {
                if (copy[e] != all) {
                    return false;
                }
            }
        }
    }
    return true;
}

static void expect_metric(const char *text, const char *name, uint64_t value)
{
    char line[96];

    (void)snprintf(line, sizeof(line), "\n%s %" PRIu64 "\n", name, value);
    if (strstr(text, line) == NULL) {
        fail_msg("no line %s in %s", line, text);
    }
}

/* They say the same as what is counted. */
static void expect_metrics(const struct actor *a, struct node_passed passed)
{
    static char storage[1 << 16];
    struct obs_snapshot *snapshot;
    struct text text;

    assert_int_equal(obs_snapshot_create(&a->worker->registry, 1, &snapshot), OK);
    text_init_fixed(&text, storage, sizeof(storage));
    obs_snapshot_prometheus(snapshot, &text);
    expect_metric(storage, "strait_tree_passed_total", passed.frames);
    expect_metric(storage, "strait_tree_passed_bytes_total", passed.bytes);
    expect_metric(storage, "strait_tree_dropped_total", passed.dropped);
    obs_snapshot_destroy(snapshot);
}

/* A worker takes nothing for a while, but not so long that it would be left out. */
static void test_what_there_is_no_room_for_is_dropped_counted_and_made_up_for(void **state)
{
    static struct site site;
    struct sim_fault fault = {.kind = SIM_FAULT_PAUSE,
                              .duration_ns = (int64_t)DETECT_MS * 1000000 - 500000000};
    struct actor *hit = NULL;
    uint64_t dropped = 0;

    (void)state;
    site = (struct site){.setup = &chain};
    build(&site);
    while (!(all_done(&site) && all_have_all(&site))) {
        assert_true(sim_world_step(site.world, (int64_t)PATIENCE_S * 1000000000));
        if (hit == NULL && sim_world_now_ns(site.world) >= (int64_t)FAULT_S * 1000000000) {
            hit = find(&site, false);
            fault.host = hit->worker->host;
            assert_true(sim_fault_inject(site.faults, &fault));
        }
    }
    for (uint32_t i = 0; i < chain.workers; i++) {
        struct node_passed passed = node_worker_passed(site.actors[i].worker->node);

        print_message("w%u: %" PRIu64 " frames passed on, %" PRIu64 " bytes, %" PRIu64
                      " frames dropped\n",
                      i, passed.frames, passed.bytes, passed.dropped);
        assert_true(passed.bytes > passed.frames * 64 || passed.frames == 0);
        expect_metrics(&site.actors[i], passed);
        dropped += passed.dropped;
    }
    assert_true(dropped > 0);
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
        cmocka_unit_test(test_what_there_is_no_room_for_is_dropped_counted_and_made_up_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
