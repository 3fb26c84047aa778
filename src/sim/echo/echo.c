/* The cluster as a whole: building, checking, judging. */

#include "sim/echo/echo.h"

#include "base/mem.h"
#include "sim/disk.h"
#include "sim/echo/state.h"
#include "sim/net/link.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ECHO_SERIES = 256, ECHO_LINK_CHECK_EVERY = 4096 };

enum err sim_echo_create(struct sim_world *w, uint32_t clients_max, struct sim_echo **echo_out)
{
    struct sim_echo *e = mem_zalloc(sizeof(*e));
    enum err rc;

    if (e == NULL) {
        return ERR_NOMEM;
    }
    e->world = w;
    e->clients_max = clients_max;
    rc = obs_registry_create(ECHO_SERIES, &e->registry);
    if (rc == OK) {
        rc = net_counters_init(&e->counters, e->registry);
    }
    if (rc == OK) {
        rc = sim_oracle_create(clients_max, &e->oracle);
    }
    if (rc != OK) {
        sim_echo_destroy(e);
        return rc;
    }
    *echo_out = e;
    return OK;
}

void sim_echo_destroy(struct sim_echo *e)
{
    if (e == NULL) {
        return;
    }
    for (uint32_t i = 0; i < e->nodes_count; i++) {
        sim_host_crash(e->nodes[i]->host, true);
        mem_free(e->nodes[i]);
    }
    sim_oracle_destroy(e->oracle);
    obs_registry_destroy(e->registry);
    mem_free(e);
}

static enum err echo_add(struct sim_echo *e, const char *name, struct sim_region *region,
                         const struct sim_program *program, struct echo_node *n)
{
    struct sim_host_config config = {.name = name, .region = region};
    struct sim_program with_user = *program;
    enum err rc = pki_identity_make(n->server ? WIRE_ROLE_SERVER : WIRE_ROLE_WORKER,
                                    sim_region_name(region), name, &n->identity, NULL);

    if (rc != OK) {
        return rc;
    }
    n->echo = e;
    n->rng = rng_fork(sim_world_rng(e->world), e->nodes_count);
    with_user.user = n;
    rc = sim_host_create(e->world, &config, &with_user, &n->host);
    if (rc == OK) {
        e->nodes[e->nodes_count++] = n;
    }
    return rc;
}

enum err sim_echo_add_server(struct sim_echo *e, const char *name, struct sim_region *region)
{
    const struct sim_program program = {echo_server_start, echo_server_stop, NULL};
    struct echo_node *n = mem_zalloc(sizeof(*n));
    enum err rc;

    if (n == NULL) {
        return ERR_NOMEM;
    }
    n->server = true;
    rc = echo_add(e, name, region, &program, n);
    if (rc != OK) {
        mem_free(n);
    }
    return rc;
}

enum err sim_echo_add_client(struct sim_echo *e, const char *name, struct sim_region *region,
                             const struct sim_echo_client *config)
{
    const struct sim_program program = {echo_client_start, echo_node_stop, NULL};
    struct echo_node *n;
    enum err rc;

    if (e->clients_count == e->clients_max) {
        return ERR_TOO_BIG;
    }
    n = mem_zalloc(sizeof(*n));
    if (n == NULL) {
        return ERR_NOMEM;
    }
    n->config = *config;
    n->config.floats_max = config->floats_max == 0 ? ECHO_FLOATS_DEFAULT : config->floats_max;
    n->config.window = config->window == 0 || config->window > ECHO_WINDOW_DEFAULT
                           ? ECHO_WINDOW_DEFAULT
                           : config->window;
    n->config.streams = config->streams == 0 ? 1 : config->streams;
    n->number = e->clients_count;
    (void)snprintf(n->server_name, sizeof(n->server_name), "%s", config->server);
    rc = echo_add(e, name, region, &program, n);
    if (rc != OK) {
        mem_free(n);
        return rc;
    }
    e->clients_count++;
    return OK;
}

static const char *echo_say(struct sim_echo *e, const char *who, const char *what)
{
    (void)snprintf(e->verdict, sizeof(e->verdict), "%s: %s", who, what);
    return e->verdict;
}

/* No link has carried more than its rate allows since the world began. */
static const char *echo_check_links(struct sim_echo *e)
{
    struct sim_world *w = e->world;

    for (uint32_t a = 0; a < sim_world_regions(w); a++) {
        for (uint32_t b = 0; b < sim_world_regions(w); b++) {
            struct sim_region *from = sim_world_region_at(w, a), *to = sim_world_region_at(w, b);
            struct sim_link *link = sim_link_between(w, from, to);
            double most;

            if (link == NULL) {
                continue;
            }
            most = (double)sim_link_config(link)->bytes_per_s * 1e-9 *
                   (double)(sim_world_now_ns(w) + 1);
            if ((double)sim_link_bytes(w, link) > most + 1.0) {
                return echo_say(e, sim_region_name(from), "a link carried more than it can");
            }
        }
    }
    return NULL;
}

static const char *echo_check_node(struct sim_echo *e, struct echo_node *n)
{
    struct buf_pool_stats pool;

    if (!sim_host_is_on(n->host)) {
        return NULL;
    }
    buf_pool_stats(n->pool, &pool);
    if (pool.bytes_used > pool.bytes_limit) {
        return echo_say(e, n->identity.name, "the pool is over its limit");
    }
    if (n->peer != NULL) {
        struct net_peer_stats stats;

        net_peer_stats(n->peer, &stats);
        if (stats.unacked_frames > n->config.window) {
            return echo_say(e, n->identity.name, "the window is over its limit");
        }
        echo_client_observe(n);
    }
    return NULL;
}

/* After every event. */
static const char *echo_check(void *user)
{
    struct sim_echo *e = user;
    const char *broken = NULL;

    for (uint32_t i = 0; i < e->nodes_count && broken == NULL; i++) {
        broken = echo_check_node(e, e->nodes[i]);
    }
    if (broken == NULL && e->checks++ % ECHO_LINK_CHECK_EVERY == 0) {
        broken = echo_check_links(e);
    }
    return broken != NULL ? broken : sim_oracle_broken(e->oracle);
}

void sim_echo_start(struct sim_echo *e)
{
    for (uint32_t i = 0; i < e->nodes_count; i++) {
        sim_host_start(e->nodes[i]->host);
    }
    sim_world_set_checker(e->world, echo_check, e);
}

static bool echo_client_done(struct sim_echo *e, struct echo_node *n)
{
    return sim_oracle_acked_count(e->oracle, n->number) >= n->config.updates &&
           sim_oracle_echoes_missing(e->oracle, n->number) == 0;
}

bool sim_echo_done(struct sim_echo *e)
{
    for (uint32_t i = 0; i < e->nodes_count; i++) {
        if (!e->nodes[i]->server && !echo_client_done(e, e->nodes[i])) {
            return false;
        }
    }
    return true;
}

/* What the servers' disks say of a client must be what the witness saw. */
static const char *echo_judge_client(struct sim_echo *e, struct echo_node *client)
{
    uint64_t count = 0, sum = 0;

    for (uint32_t i = 0; i < e->nodes_count; i++) {
        struct echo_node *n = e->nodes[i];
        struct sim_ledger *ledger;
        const struct sim_ledger_client *known;

        if (!n->server) {
            continue;
        }
        if (sim_ledger_open(sim_host_disk(n->host), NULL, NULL, &ledger) != OK) {
            return echo_say(e, n->identity.name, "its disk cannot be read");
        }
        known = sim_ledger_find(ledger, client->identity.name);
        count += known == NULL ? 0 : known->count;
        sum += known == NULL ? 0 : known->sum;
        sim_ledger_close(ledger);
    }
    if (count != sim_oracle_counted_count(e->oracle, client->number) ||
        sum != sim_oracle_counted_sum(e->oracle, client->number)) {
        return echo_say(e, client->identity.name, "the disk holds another sum than was counted");
    }
    return NULL;
}

const char *sim_echo_verdict(struct sim_echo *e)
{
    const char *broken = sim_world_broken(e->world);

    if (broken == NULL && !sim_echo_done(e)) {
        for (uint32_t i = 0; i < e->nodes_count && broken == NULL; i++) {
            struct echo_node *n = e->nodes[i];
            char what[128];

            if (!n->server && !echo_client_done(e, n)) {
                (void)snprintf(what, sizeof(what),
                               "%" PRIu64 " of %" PRIu64 " acknowledged, %" PRIu64
                               " echoes missing",
                               sim_oracle_acked_count(e->oracle, n->number), n->config.updates,
                               sim_oracle_echoes_missing(e->oracle, n->number));
                broken = echo_say(e, n->identity.name, what);
            }
        }
    }
    for (uint32_t i = 0; i < e->nodes_count && broken == NULL; i++) {
        if (!e->nodes[i]->server) {
            broken = echo_judge_client(e, e->nodes[i]);
        }
    }
    return broken;
}

void sim_echo_totals(struct sim_echo *e, struct sim_echo_totals *out)
{
    const struct net_counters *c = &e->counters;

    *out = (struct sim_echo_totals){
        .updates_sent = e->updates_sent,
        .echoes = e->echoes,
        .frames_resent = obs_counter_value(c->resent),
        .frames_duplicate = obs_counter_value(c->duplicates),
        .connections = obs_counter_value(c->connections),
        .silent = obs_counter_value(c->silent),
    };
    for (uint32_t i = 0; i < e->clients_count; i++) {
        out->updates_acked += sim_oracle_acked_count(e->oracle, i);
        out->updates_counted += sim_oracle_counted_count(e->oracle, i);
    }
    for (int i = 1; i < WIRE_REASON_COUNT; i++) {
        out->frames_refused += obs_counter_value(c->refused[i]);
    }
}
