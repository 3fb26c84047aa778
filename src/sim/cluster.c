/* Hosts of a site. */

#include "sim/cluster.h"

#include "base/buf.h"
#include "base/list.h"
#include "base/mem.h"
#include "obs/metric.h"
#include "sim/disk.h"
#include "sim/net/link.h"
#include "sim/net/stream.h"
#include "sim/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    CLUSTER_PORT = 7000,
    CLUSTER_SERIES = 1024,
    CLUSTER_POOL_MB = 4096, /* A limit; memory is taken as needed. */
    CLUSTER_COMMIT_MS = 2,
    CLUSTER_AGAIN_MS = 1000,
    CLUSTER_FIRST_MS = 20, /* Between questions to the first server. */
};

struct cluster_server {
    struct sim_cluster *cluster;
    struct sim_host *host;
    uint32_t first_lane; /* Its lanes are this one .. first_lane + count - 1. */
    uint32_t count;
    struct pki_identity identity;
    struct sim_transport transport;
    struct obs_registry *registry;
    const char *agg, *edge;
    struct node_lane *lanes[NODE_LANES_MAX];
    struct store *stores[NODE_LANES_MAX];
    uint32_t begun;         /* Lanes that have written which training theirs is. */
    atomic_bool site_begun; /* As in struct node_lane_config. */
    struct sim_event first; /* Ask the first server; */
    struct sim_event end;   /* it must not serve what it has, or cannot write; */
    struct sim_event again; /* its operator starts it again and again. */
};

struct cluster_worker {
    struct sim_worker base;
    struct pki_identity identity;
    struct sim_transport transport;
    struct buf_pool *pool;
    uint16_t streams;
    const char *agg, *edge;
    const struct sim_brain *brain;
    void *brain_user;
    struct sim_event end; /* As of a server. */
    struct sim_event again;
};

struct sim_cluster {
    struct sim_world *world;
    struct sim_cluster_config config;
    struct cluster_server *servers[SIM_CLUSTER_SERVERS_MAX];
    uint32_t servers_count;
    struct cluster_worker *workers[SIM_CLUSTER_WORKERS_MAX];
    uint32_t workers_count;
    char broken[256]; /* What sim_cluster_broken() returned last. */
};

enum err sim_cluster_create(struct sim_world *w, const struct sim_cluster_config *config,
                            struct sim_cluster **cluster_out)
{
    struct sim_cluster *c = mem_zalloc(sizeof(*c));

    if (c == NULL) {
        return ERR_NOMEM;
    }
    c->world = w;
    c->config = *config;
    c->config.site.lanes = 0;
    c->config.commit_ns =
        config->commit_ns == 0 ? (int64_t)CLUSTER_COMMIT_MS * 1000000 : config->commit_ns;
    *cluster_out = c;
    return OK;
}

void sim_cluster_destroy(struct sim_cluster *c)
{
    if (c == NULL) {
        return;
    }
    for (uint32_t i = 0; i < c->workers_count; i++) {
        sim_host_crash(c->workers[i]->base.host, true);
        sim_event_cancel(c->world, &c->workers[i]->end);
        sim_event_cancel(c->world, &c->workers[i]->again);
        mem_free(c->workers[i]);
    }
    for (uint32_t i = 0; i < c->servers_count; i++) {
        sim_host_crash(c->servers[i]->host, true);
        sim_event_cancel(c->world, &c->servers[i]->end);
        sim_event_cancel(c->world, &c->servers[i]->again);
        mem_free(c->servers[i]);
    }
    mem_free(c);
}

/* An address: hosts are found by name, lanes by port. */
static struct net_address cluster_address(const char *host, uint32_t lane)
{
    struct net_address at = {.scheme = NET_SCHEME_SIM};

    (void)snprintf(at.host, sizeof(at.host), "%s", host);
    (void)snprintf(at.port, sizeof(at.port), "%u", CLUSTER_PORT + lane);
    return at;
}

void sim_cluster_place(const char *server, struct net_address *out)
{
    *out = cluster_address(server, 0);
}

/* Servers. */

/* Who keeps a transcript needs memory; that must not change what happens. */
static void cluster_say(struct sim_cluster *c, struct sim_host *host, const char *line)
{
    struct mem_plan plan = mem_fail_suspend();

    sim_trace(c->world, host, "%s", line);
    mem_fail_resume(plan);
}

static void cluster_trace(const char *line, void *user)
{
    struct cluster_server *s = user;

    cluster_say(s->cluster, s->host, line);
}

static void cluster_server_stop(struct sim_host *host, void *user)
{
    struct cluster_server *s = user;

    (void)host;
    for (uint32_t i = 0; i < s->count; i++) {
        node_lane_destroy(s->lanes[i]);
        store_destroy(s->stores[i]);
        s->lanes[i] = NULL;
        s->stores[i] = NULL;
    }
    obs_registry_destroy(s->registry);
    sim_event_cancel(s->cluster->world, &s->first);
    s->registry = NULL;
    s->begun = 0;
    s->site_begun = false;
}

static void cluster_taken(uint16_t table, uint32_t chunk, uint32_t rank, uint64_t incarnation,
                          uint64_t clock, void *user)
{
    const struct sim_cluster_config *c = &((struct cluster_server *)user)->cluster->config;

    if (c->witness->taken != NULL) {
        c->witness->taken(table, chunk, rank, incarnation, clock, c->witness_user);
    }
}

static void cluster_closed(uint16_t table, uint32_t chunk, uint64_t version, const float *values,
                           uint32_t count, void *user)
{
    const struct sim_cluster_config *c = &((struct cluster_server *)user)->cluster->config;

    if (c->witness->closed != NULL) {
        c->witness->closed(table, chunk, version, values, count, c->witness_user);
    }
}

static void cluster_acknowledged(uint16_t table, uint32_t chunk, uint32_t rank,
                                 uint64_t incarnation, uint64_t clock, void *user)
{
    const struct sim_cluster_config *c = &((struct cluster_server *)user)->cluster->config;

    if (c->witness->acknowledged != NULL) {
        c->witness->acknowledged(table, chunk, rank, incarnation, clock, c->witness_user);
    }
}

static void cluster_restored(uint16_t table, uint32_t chunk, uint64_t version, const float *values,
                             uint32_t count, void *user)
{
    const struct sim_cluster_config *c = &((struct cluster_server *)user)->cluster->config;

    if (c->witness->restored != NULL) {
        c->witness->restored(table, chunk, version, values, count, c->witness_user);
    }
}

static void cluster_shared(uint16_t table, uint32_t chunk, uint64_t number, uint64_t clock,
                           const float *held, void *user)
{
    const struct sim_cluster *c = ((struct cluster_server *)user)->cluster;

    if (c->config.witness->shared != NULL) {
        c->config.witness->shared(table, chunk, number, clock, held, c->config.witness_user);
    }
}

static void cluster_mirrored(uint16_t table, uint32_t chunk, const float *values, uint32_t count,
                             void *user)
{
    const struct sim_cluster *c = ((struct cluster_server *)user)->cluster;

    if (c->config.witness->mirrored != NULL) {
        c->config.witness->mirrored(table, chunk, values, count, c->config.witness_user);
    }
}

static void cluster_allowed(uint16_t table, uint32_t chunk, uint64_t clock, void *user)
{
    const struct sim_cluster *c = ((struct cluster_server *)user)->cluster;

    if (c->config.witness->allowed != NULL) {
        c->config.witness->allowed(table, chunk, clock, c->config.witness_user);
    }
}

static const struct node_lane_witness cluster_witness = {
    .taken = cluster_taken,
    .closed = cluster_closed,
    .acknowledged = cluster_acknowledged,
    .shared = cluster_shared,
    .mirrored = cluster_mirrored,
    .allowed = cluster_allowed,
    .restored = cluster_restored,
};

/* Programs that end by themselves, and are started again. */

static void cluster_end(struct sim_world *w, struct sim_host *host, struct sim_event *again)
{
    if (sim_host_is_on(host)) {
        sim_host_crash(host, false);
        CHECK(sim_event_at(w, again, sim_world_now_ns(w) + (int64_t)CLUSTER_AGAIN_MS * 1000000) ==
              OK);
    }
}

static void cluster_worker_again(struct sim_event *event, struct sim_world *w)
{
    (void)w;
    sim_host_start(LIST_ENTRY(event, struct cluster_worker, again)->base.host);
}

static void cluster_worker_end(struct sim_event *event, struct sim_world *w)
{
    struct cluster_worker *worker = LIST_ENTRY(event, struct cluster_worker, end);

    cluster_end(w, worker->base.host, &worker->again);
}

bool sim_cluster_worker_ends(struct sim_worker *w, enum err rc)
{
    struct cluster_worker *worker = LIST_ENTRY(w, struct cluster_worker, base);
    struct sim_world *world = w->cluster->world;
    struct mem_plan plan;

    if (rc != ERR_TOO_BIG) {
        return false;
    }
    plan = mem_fail_suspend();
    sim_trace(world, w->host, "ends: its tables take too much memory");
    CHECK(sim_event_at(world, &worker->end, sim_world_now_ns(world)) == OK);
    mem_fail_resume(plan);
    return true;
}

static void cluster_server_again(struct sim_event *event, struct sim_world *w)
{
    (void)w;
    sim_host_start(LIST_ENTRY(event, struct cluster_server, again)->host);
}

static void cluster_server_end(struct sim_event *event, struct sim_world *w)
{
    struct cluster_server *s = LIST_ENTRY(event, struct cluster_server, end);

    cluster_end(w, s->host, &s->again);
}

static void cluster_server_give_up(struct cluster_server *s, const char *why)
{
    struct mem_plan plan = mem_fail_suspend();

    sim_trace(s->cluster->world, s->host, "ends: %s", why);
    CHECK(sim_event_at(s->cluster->world, &s->end, sim_world_now_ns(s->cluster->world)) == OK);
    mem_fail_resume(plan);
}

static void cluster_refused(const char *text, void *user)
{
    cluster_server_give_up(user, text);
}

static enum err cluster_lane_start(struct cluster_server *s, uint32_t index, struct err_text *text)
{
    struct sim_cluster *c = s->cluster;
    struct node_lane_config config = {
        .loop = sim_host_loop(s->host),
        .registry = s->registry,
        .transport = &s->transport.base,
        .identity = s->identity,
        .incarnation = sim_host_starts(s->host) * NODE_LANES_MAX + index + 1,
        .seed = sim_host_starts(s->host) * 1000 + s->first_lane + index,
        .site = c->config.site,
        .begun = &s->site_begun,
        .between = c->config.between,
        .number = s->first_lane + index,
        .listen = cluster_address(sim_host_name(s->host), index),
        .first = cluster_address(sim_host_name(c->servers[0]->host), 0),
        .agg = s->agg,
        .edge = s->edge,
        .grace_ns = c->config.grace_ns,
        .restore_ns = c->config.restore_ns,
        .heartbeat_ns = c->config.heartbeat_ns,
        .trace = cluster_trace,
        .refused = cluster_refused,
        .witness = c->config.witness == NULL ? NULL : &cluster_witness,
        .costs = c->config.costs,
        .user = s,
    };
    enum err rc = OK;

    if (c->config.site.checkpoint_every > 0) {
        rc = sim_store_create(sim_host_disk(s->host), config.loop, c->config.commit_ns,
                              &s->stores[index]);
        config.store = s->stores[index];
    }
    return rc == OK ? node_lane_create(&config, &s->lanes[index], text) : rc;
}

/* All lanes have written which training theirs is: others may come. */
static enum err cluster_server_open(struct cluster_server *s, struct err_text *text)
{
    struct node_place places[NODE_LANES_MAX];
    enum err rc = OK;

    for (uint32_t i = 0; i < s->count && rc == OK; i++) {
        struct net_address at = cluster_address(sim_host_name(s->host), i);

        rc = node_lane_listen(s->lanes[i], text);
        places[i].lane = s->first_lane + i;
        (void)net_address_format(&at, places[i].address);
    }
    return rc == OK ? node_lane_tell(s->lanes[0], places, s->count) : rc;
}

static void cluster_begun(enum err rc, void *user)
{
    struct cluster_server *s = user;
    struct err_text text = {""};

    if (rc == OK && ++s->begun == s->count) {
        rc = cluster_server_open(s, &text);
    }
    if (rc != OK) {
        cluster_server_give_up(s, text.text[0] != '\0' ? text.text : err_string(rc));
    }
}

/* As node/server/server.c and the command do: what the lanes found must belong together, and to
 * what the first server has. */
static enum err cluster_history(struct cluster_server *s, uint64_t *history_out,
                                struct err_text *text)
{
    const struct sim_cluster *c = s->cluster;
    struct node_lane *first = s == c->servers[0] ? NULL : c->servers[0]->lanes[0];
    struct node_lane_history lanes[NODE_LANES_MAX];
    struct node_server_history all = {.site = c->config.site.name,
                                      .lanes = lanes,
                                      .lanes_count = s->count,
                                      .first_number = s->first_lane,
                                      .others = c->config.between != NULL,
                                      .copies = c->config.site.delivery == NODE_BROADCAST};
    enum err rc;

    if (first != NULL) {
        struct node_lane_stats stats;

        node_lane_history(first, &lanes[0]);
        node_lane_stats(first, &stats);
        all.history = lanes[0].history;
        all.begun = !stats.fresh;
    }
    for (uint32_t i = 0; i < s->count; i++) {
        node_lane_history(s->lanes[i], &lanes[i]);
    }
    rc = node_history_check(&all, history_out, text);
    if (*history_out == 0) {
        *history_out = sim_host_starts(s->host) << 16 | sim_host_number(s->host) << 1 | 1;
    }
    return rc;
}

/* The others need the first server's answer, and wait for it as long as it takes. */
static void cluster_server_meet(struct sim_event *event, struct sim_world *w)
{
    struct cluster_server *s = LIST_ENTRY(event, struct cluster_server, first);
    const struct cluster_server *first = s->cluster->servers[0];
    struct err_text text = {""};
    uint64_t history;

    if (s != first && (first->begun < first->count || sim_host_is_paused(first->host))) {
        CHECK(sim_event_at(w, event, sim_world_now_ns(w) + (int64_t)CLUSTER_FIRST_MS * 1000000) ==
              OK);
        return;
    }
    if (cluster_history(s, &history, &text) != OK) {
        cluster_server_give_up(s, text.text);
        return;
    }
    for (uint32_t i = 0; i < s->count; i++) {
        node_lane_begin_history(s->lanes[i], history, cluster_begun, s);
    }
}

static enum err cluster_server_start(struct sim_host *host, void *user)
{
    struct cluster_server *s = user;
    struct err_text text = {""};
    enum err rc = obs_registry_create(CLUSTER_SERIES, &s->registry);

    sim_transport_init(&s->transport, host, &s->identity);
    for (uint32_t i = 0; i < s->count && rc == OK; i++) {
        rc = cluster_lane_start(s, i, &text);
    }
    if (rc != OK) {
        if (text.text[0] != '\0') {
            cluster_say(s->cluster, host, text.text);
        }
        cluster_server_stop(host, s);
        return rc;
    }
    cluster_server_meet(&s->first, s->cluster->world);
    return OK;
}

enum err sim_cluster_add_server(struct sim_cluster *c, const char *name, struct sim_region *region,
                                uint32_t lanes)
{
    struct sim_host_config config = {.name = name, .region = region};
    struct sim_program program = {cluster_server_start, cluster_server_stop, NULL};
    struct cluster_server *s;
    enum err rc;

    if (c->servers_count == SIM_CLUSTER_SERVERS_MAX ||
        c->config.site.lanes + lanes > NODE_LANES_MAX) {
        return ERR_TOO_BIG;
    }
    s = mem_zalloc(sizeof(*s));
    if (s == NULL) {
        return ERR_NOMEM;
    }
    s->cluster = c;
    s->first_lane = c->config.site.lanes;
    s->count = lanes;
    sim_event_init(&s->first, cluster_server_meet);
    sim_event_init(&s->end, cluster_server_end);
    sim_event_init(&s->again, cluster_server_again);
    program.user = s;
    rc = pki_identity_make(WIRE_ROLE_SERVER, c->config.site.name, name, &s->identity, NULL);
    if (rc == OK) {
        rc = sim_host_create(c->world, &config, &program, &s->host);
    }
    if (rc != OK) {
        mem_free(s);
        return rc;
    }
    c->config.site.lanes += lanes;
    c->servers[c->servers_count++] = s;
    return OK;
}

/* Workers. */

static void cluster_notice(const char *text, void *user)
{
    struct cluster_worker *w = user;

    cluster_say(w->base.cluster, w->base.host, text);
}

static void cluster_worker_stop(struct sim_host *host, void *user)
{
    struct cluster_worker *w = user;

    (void)host;
    if (w->base.node != NULL) {
        w->brain->stop(&w->base, w->brain_user);
    }
    node_worker_destroy(w->base.node);
    buf_pool_destroy(w->pool);
    obs_registry_destroy(w->base.registry);
    w->base.node = NULL;
    w->pool = NULL;
    w->base.registry = NULL;
}

static enum err cluster_worker_start(struct sim_host *host, void *user)
{
    struct cluster_worker *w = user;
    struct sim_cluster *c = w->base.cluster;
    struct node_worker_config config = {
        .loop = sim_host_loop(host),
        .transport = &w->transport.base,
        .identity = w->identity,
        .incarnation = sim_host_starts(host),
        .seed = sim_host_starts(host) * 1000 + w->base.rank,
        .rank = w->base.rank,
        .streams = w->streams,
        .heartbeat_ns = c->config.heartbeat_ns,
        .first = cluster_address(sim_host_name(c->servers[0]->host), 0),
        .relay = cluster_address(sim_host_name(host), 0),
        .relay_bytes = c->config.relay_bytes,
        .agg = w->agg,
        .edge = w->edge,
        .notice = cluster_notice,
        .witness = c->config.worker_witness,
        .costs = c->config.costs,
        .user = w,
    };
    enum err rc = obs_registry_create(CLUSTER_SERIES, &w->base.registry);

    w->base.incarnation = config.incarnation;
    sim_transport_init(&w->transport, host, &w->identity);
    if (rc == OK) {
        rc = buf_pool_create((uint64_t)CLUSTER_POOL_MB << 20, &w->pool);
    }
    if (rc == OK) {
        config.registry = w->base.registry;
        config.pool = w->pool;
        rc = node_worker_create(&config, &w->base.node);
    }
    if (rc == OK) {
        rc = w->brain->start(&w->base, w->brain_user);
    }
    if (rc != OK) {
        cluster_worker_stop(host, w);
    }
    return rc;
}

enum err sim_cluster_add_worker(struct sim_cluster *c, const char *name, struct sim_region *region,
                                uint16_t streams, const struct sim_brain *brain, void *user)
{
    struct sim_host_config config = {.name = name, .region = region};
    struct sim_program program = {cluster_worker_start, cluster_worker_stop, NULL};
    struct cluster_worker *w;
    enum err rc;

    if (c->workers_count == SIM_CLUSTER_WORKERS_MAX) {
        return ERR_TOO_BIG;
    }
    w = mem_zalloc(sizeof(*w));
    if (w == NULL) {
        return ERR_NOMEM;
    }
    *w = (struct cluster_worker){.base = {.cluster = c, .rank = c->workers_count},
                                 .streams = streams,
                                 .brain = brain,
                                 .brain_user = user};
    sim_event_init(&w->end, cluster_worker_end);
    sim_event_init(&w->again, cluster_worker_again);
    program.user = w;
    rc = pki_identity_make(WIRE_ROLE_WORKER, c->config.site.name, name, &w->identity, NULL);
    if (rc == OK) {
        rc = sim_host_create(c->world, &config, &program, &w->base.host);
    }
    if (rc != OK) {
        mem_free(w);
        return rc;
    }
    c->workers[c->workers_count++] = w;
    return OK;
}

void sim_cluster_rack_server(struct sim_cluster *c, const char *agg, const char *edge)
{
    c->servers[c->servers_count - 1]->agg = agg;
    c->servers[c->servers_count - 1]->edge = edge;
}

void sim_cluster_rack_worker(struct sim_cluster *c, const char *agg, const char *edge)
{
    c->workers[c->workers_count - 1]->agg = agg;
    c->workers[c->workers_count - 1]->edge = edge;
}

void sim_cluster_set_witness(struct sim_cluster *c, void *user)
{
    c->config.witness_user = user;
}

enum err sim_cluster_start(struct sim_cluster *c, struct err_text *text)
{
    enum err rc;

    if (c->config.site.shards == 0) {
        c->config.site.shards = c->config.site.lanes;
    }
    rc = node_site_check(&c->config.site, text);
    for (uint32_t i = 0; i < c->servers_count && rc == OK; i++) {
        sim_host_start(c->servers[i]->host);
    }
    for (uint32_t i = 0; i < c->workers_count && rc == OK; i++) {
        sim_host_start(c->workers[i]->base.host);
    }
    return rc;
}

struct sim_world *sim_cluster_world(const struct sim_cluster *c)
{
    return c->world;
}

const struct node_site *sim_cluster_site(const struct sim_cluster *c)
{
    return &c->config.site;
}

uint32_t sim_cluster_workers(const struct sim_cluster *c)
{
    return c->workers_count;
}

struct sim_worker *sim_cluster_worker(struct sim_cluster *c, uint32_t index)
{
    return &c->workers[index]->base;
}

struct node_lane *sim_cluster_lane(struct sim_cluster *c, uint32_t number)
{
    for (uint32_t i = 0; i < c->servers_count; i++) {
        struct cluster_server *s = c->servers[i];

        if (number >= s->first_lane && number < s->first_lane + s->count) {
            return s->lanes[number - s->first_lane];
        }
    }
    return NULL;
}

const char *sim_cluster_broken(struct sim_cluster *c)
{
    const char *broken = NULL;

    for (uint32_t i = 0; i < c->config.site.lanes && broken == NULL; i++) {
        struct node_lane *l = sim_cluster_lane(c, i);

        broken = l == NULL ? NULL : node_lane_broken(l);
        if (l != NULL && broken == NULL && node_lane_expelled(l) != NULL) {
            (void)snprintf(c->broken, sizeof(c->broken),
                           "I12: lane %" PRIu32 " expelled a member that keeps the rules: %s", i,
                           node_lane_expelled(l));
            broken = c->broken;
        }
    }
    return broken;
}
