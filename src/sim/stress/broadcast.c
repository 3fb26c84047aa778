#include "sim/stress/broadcast.h"

#include "base/mem.h"
#include "base/rng.h"
#include "loop/loop.h"
#include "sim/cluster.h"
#include "sim/net/fabric.h"
#include "sim/net/link.h"

#include <stdio.h>

enum {
    BROADCAST_ROUND_S = 1000, /* Virtual: nothing of the round before is under way any more. */
    BROADCAST_FLOWS = 1 << 17,
};

#define BROADCAST_THRESHOLD 0.01F

enum broadcast_state { OPENING, JOINING, WAITING, PUSHING, ENDING, DONE };

struct broadcast;

struct broadcast_worker {
    struct broadcast *all;
    struct sim_worker *worker;
    enum broadcast_state state;
    struct node_op op;
    uint32_t round;
    struct loop_timer timer;
};

struct broadcast {
    struct sim_broadcast_config config;
    struct sim_world *world;
    struct sim_cluster *cluster;
    struct table_schema schema;
    float *update;
    char racks[SIM_BROADCAST_SERVERS_MAX][16];
    struct broadcast_worker workers[SIM_BROADCAST_WORKERS_MAX];
    uint32_t done;
    double last_s, sum_s; /* Of this round, of all. */
    double rounds_s;
    bool failed;
    struct err_text why;
};

static int64_t broadcast_ns(double s)
{
    return (int64_t)(s * 1e9);
}

/* When everybody ends round @round. */
static int64_t broadcast_at_ns(uint32_t round)
{
    return broadcast_ns((double)BROADCAST_ROUND_S * (round + 1));
}

static void broadcast_went(struct broadcast_worker *w);

static void broadcast_finished(struct node_op *op, void *user)
{
    (void)op;
    broadcast_went(user);
}

static struct node_op *broadcast_op(struct broadcast_worker *w, enum broadcast_state state)
{
    w->state = state;
    w->op = (struct node_op){.finished = broadcast_finished, .user = w};
    return &w->op;
}

/* A part of the elements is large, the rest is not. */
static void broadcast_fill(struct broadcast *b, uint32_t round)
{
    struct rng rng;

    rng_init(&rng, b->config.seed + round);
    for (uint64_t i = 0; i < b->config.elements; i++) {
        bool large = rng_unit(&rng) < b->config.sent;
        float size = large ? 100 * BROADCAST_THRESHOLD : BROADCAST_THRESHOLD / 1000;

        b->update[i] = size * (float)(0.5 + rng_unit(&rng));
    }
}

static void broadcast_end_round(struct broadcast_worker *w)
{
    struct broadcast *b = w->all;
    double took_s = (double)(sim_world_now_ns(b->world) - broadcast_at_ns(w->round)) * 1e-9;

    b->sum_s += took_s;
    b->last_s = took_s > b->last_s ? took_s : b->last_s;
    w->round++;
    if (++b->done % b->config.workers == 0) {
        b->rounds_s += b->last_s;
        b->last_s = 0;
    }
}

/* In each round: the first worker pushes at once, and all end it at the same time, much later. */
static void broadcast_begin(struct broadcast_worker *w)
{
    struct broadcast *b = w->all;

    if (w->round == b->config.rounds) {
        w->state = DONE;
    } else if (w == &b->workers[0]) {
        broadcast_fill(b, w->round);
        node_worker_push(w->worker->node, 0, 0, b->config.elements, b->update, 1,
                         broadcast_op(w, PUSHING));
    } else {
        w->state = WAITING;
        loop_timer_start_in(&w->timer, broadcast_at_ns(w->round) - sim_world_now_ns(b->world));
    }
}

static void broadcast_went(struct broadcast_worker *w)
{
    struct broadcast *b = w->all;

    if (w->op.rc != OK) {
        b->failed = true;
        b->why = w->op.text;
        return;
    }
    switch (w->state) {
    case OPENING:
        node_worker_join(w->worker->node, broadcast_op(w, JOINING));
        break;
    case JOINING:
        broadcast_begin(w);
        break;
    case PUSHING:
        w->state = WAITING;
        loop_timer_start_in(&w->timer, broadcast_at_ns(w->round) - sim_world_now_ns(b->world));
        break;
    case ENDING:
        broadcast_end_round(w);
        broadcast_begin(w);
        break;
    case WAITING:
    case DONE:
        break;
    }
}

static void broadcast_timer(struct loop_timer *timer, void *user)
{
    struct broadcast_worker *w = user;

    (void)timer;
    node_worker_clock(w->worker->node, 1, broadcast_op(w, ENDING));
}

static enum err broadcast_start(struct sim_worker *worker, void *user)
{
    struct broadcast_worker *w = user;
    enum err rc = loop_timer_init(&w->timer, sim_host_loop(worker->host), broadcast_timer, w);

    if (rc == OK) {
        w->worker = worker;
        node_worker_table(worker->node, &w->all->schema, broadcast_op(w, OPENING));
    }
    return rc;
}

static void broadcast_stop(struct sim_worker *worker, void *user)
{
    (void)worker;
    loop_timer_deinit(&((struct broadcast_worker *)user)->timer);
}

static const struct sim_brain broadcast_brain = {.start = broadcast_start, .stop = broadcast_stop};

/* Building. */

static const char *broadcast_agg(const struct broadcast *b, uint32_t rack)
{
    return rack < (b->config.racks + 1) / 2 ? "a" : "b";
}

static enum err broadcast_members(struct broadcast *b, struct sim_region *region)
{
    uint32_t racks = b->config.racks;
    char name[16];
    enum err rc = OK;

    for (uint32_t i = 0; i < b->config.servers && rc == OK; i++) {
        (void)snprintf(name, sizeof(name), "s%u", i);
        rc = sim_cluster_add_server(b->cluster, name, region, 1);
        if (rc == OK && racks > 0) {
            sim_cluster_rack_server(b->cluster, broadcast_agg(b, i % racks), b->racks[i % racks]);
        }
    }
    for (uint32_t i = 0; i < b->config.workers && rc == OK; i++) {
        (void)snprintf(name, sizeof(name), "w%u", i);
        b->workers[i].all = b;
        rc = sim_cluster_add_worker(b->cluster, name, region, 1, &broadcast_brain, &b->workers[i]);
        if (rc == OK && racks > 0) {
            sim_cluster_rack_worker(b->cluster, broadcast_agg(b, i % racks), b->racks[i % racks]);
        }
    }
    return rc;
}

static enum err broadcast_build(struct broadcast *b, struct err_text *text)
{
    const struct table_schema_text schema = {
        .name = "model", .rows = b->config.elements, .width = 1};
    struct sim_world_config world = {.seed = b->config.seed,
                                     .host_rate = b->config.card_rate,
                                     .lan_rate = SIM_FABRIC_RATE_MAX,
                                     .flows_max = BROADCAST_FLOWS};
    struct sim_cluster_config config = {.site = {.name = "site",
                                                 .delivery = NODE_BROADCAST,
                                                 .broadcast = b->config.sparsify,
                                                 .tree = b->config.tree,
                                                 .sync = {.policy = &sync_bsp,
                                                          .deadline_ns = INT64_C(1) << 60,
                                                          .members_min = b->config.workers}}};
    struct sim_region *region;
    enum err rc;

    b->update = mem_calloc(b->config.elements, sizeof(*b->update));
    rc = b->update == NULL ? ERR_NOMEM : table_schema_parse(&schema, &b->schema, text);
    for (uint32_t i = 0; i < b->config.racks; i++) {
        (void)snprintf(b->racks[i], sizeof(b->racks[i]), "e%u", i);
    }
    if (rc == OK) {
        rc = sim_world_create(&world, &b->world);
    }
    if (rc == OK) {
        rc = sim_region_create(b->world, "here", &region);
    }
    if (rc == OK) {
        rc = sim_cluster_create(b->world, &config, &b->cluster);
    }
    if (rc == OK) {
        rc = broadcast_members(b, region);
    }
    return rc == OK ? sim_cluster_start(b->cluster, text) : rc;
}

static void broadcast_sum(struct broadcast *b, struct sim_broadcast_result *out)
{
    double count = (double)b->config.rounds;

    *out = (struct sim_broadcast_result){.last_s = b->rounds_s / count,
                                         .mean_s = b->sum_s / count / b->config.workers};
    for (uint32_t n = 0; n < b->config.servers; n++) {
        struct node_lane_stats stats;

        node_lane_stats(sim_cluster_lane(b->cluster, n), &stats);
        out->sent += stats.broadcasts;
    }
    for (uint32_t i = 0; i < b->config.workers; i++) {
        struct node_passed passed = node_worker_passed(b->workers[i].worker->node);

        out->most = passed.frames > out->most ? passed.frames : out->most;
    }
}

enum err sim_broadcast_run(const struct sim_broadcast_config *config,
                           struct sim_broadcast_result *out, struct err_text *text)
{
    struct broadcast *b;
    enum err rc;

    if (config->workers == 0 || config->workers > SIM_BROADCAST_WORKERS_MAX ||
        config->servers == 0 || config->servers > SIM_BROADCAST_SERVERS_MAX ||
        config->racks > SIM_BROADCAST_SERVERS_MAX || config->rounds == 0) {
        return err_text_set(text, ERR_INVALID, "1 to %d workers, 1 to %d servers, at most %d racks",
                            SIM_BROADCAST_WORKERS_MAX, SIM_BROADCAST_SERVERS_MAX,
                            SIM_BROADCAST_SERVERS_MAX);
    }
    b = mem_zalloc(sizeof(*b));
    if (b == NULL) {
        return err_text_set(text, ERR_NOMEM, "no memory for a broadcast");
    }
    b->config = *config;
    rc = broadcast_build(b, text);
    while (rc == OK && !b->failed && b->done < config->rounds * config->workers &&
           sim_world_step(b->world, broadcast_at_ns(config->rounds))) {
    }
    if (rc == OK && (b->failed || b->done < config->rounds * config->workers)) {
        rc = err_text_set(text, ERR_INVALID, "%s", b->failed ? b->why.text : "it does not end");
    }
    if (rc == OK) {
        broadcast_sum(b, out);
    }
    sim_cluster_destroy(b->cluster);
    sim_world_destroy(b->world);
    mem_free(b->update);
    mem_free(b);
    return rc;
}
