/* A server's lane, on its own thread: it is built, asked and ended there. */

#include "base/mem.h"
#include "loop/clock.h"
#include "node/server/state.h"
#include "obs/metric.h"
#include "store/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SERVER_SERIES = 512,
    SERVER_LEAVE_MS = LIMIT_SOFT_CLOSE_MS + 500, /* For good-byes to arrive. */
    SERVER_LEAVE_POLL_MS = 5,
    SERVER_SAVE_MS = 15000,     /* So long a last checkpoint that fails is tried again, */
    SERVER_SAVE_AGAIN_MS = 500, /* so often. */
};

/* There is room for all calls that can be under way. */
static void server_lane_answer(struct server_call *call, enum err rc)
{
    call->rc = rc;
    CHECK(mailbox_post(call->lane->server->answers, call) == OK);
}

/* Building. */

static void server_lane_trace(const char *line, void *user)
{
    const struct server_lane *l = user;
    const struct node_server_config *config = &l->server->config;

    config->trace(config->first_number + l->index, line, config->user);
}

static void server_lane_refused(const char *text, void *user)
{
    struct server_lane *l = user;

    l->refusal.step = SERVER_REFUSE;
    server_lane_answer(&l->refusal, err_text_set(&l->refusal.text, ERR_CORRUPT, "%s", text));
}

static enum err server_lane_transport(struct server_lane *l, struct err_text *text)
{
    const struct node_server_config *config = &l->server->config;
    struct loop *loop = lane_loop(l->lane);
    enum err rc;

    if (config->tls.cert_path == NULL) {
        net_socket_transport_init(&l->plain, loop, &config->options);
        l->transport = &l->plain.base;
        return OK;
    }
    rc = net_tls_transport_create(loop, &config->tls, &l->tls, text);
    if (rc == OK) {
        l->transport = net_tls_transport_base(l->tls);
    }
    return rc;
}

static struct net_address server_lane_listen(const struct server_lane *l)
{
    struct net_address at = l->server->config.listen;
    unsigned port = (unsigned)strtoul(at.port, NULL, 10);

    if (port != 0) {
        (void)snprintf(at.port, sizeof(at.port), "%u", (port + l->index) & 0xffff);
    }
    return at;
}

static enum err server_lane_build(struct server_lane *l, struct err_text *text)
{
    const struct node_server_config *config = &l->server->config;
    struct node_lane_config lane = {
        .loop = lane_loop(l->lane),
        .registry = l->registry,
        .transport = l->transport,
        .identity = config->identity,
        .incarnation = l->incarnation,
        .seed = l->seed,
        .insecure = l->tls == NULL,
        .site = config->site,
        .between = config->between,
        .number = config->first_number + l->index,
        .listen = server_lane_listen(l),
        .first = config->first,
        .store = l->store,
        .restore = config->restore,
        .restore_clock = config->restore_clock,
        .begun = &l->server->begun,
        .pace_bytes_per_s = config->pace_bytes_per_s,
        .agg = config->agg,
        .edge = config->edge,
        .in_flight_bytes = config->in_flight_bytes / config->lanes,
        .table_bytes = config->table_bytes / config->lanes,
        .wall_us = clock_wall_us,
        .mono_ns = clock_mono_ns,
        .trace = config->trace == NULL ? NULL : server_lane_trace,
        .refused = server_lane_refused,
        .user = l,
    };
    enum err rc = node_lane_create(&lane, &l->node, text);

    if (rc == OK) {
        node_lane_history(l->node, &l->history);
    }
    l->control.store_failed = rc != OK && l->store != NULL && l->store->fault == rc;
    return rc;
}

void server_lane_end(void *lane)
{
    struct server_lane *l = lane;

    node_lane_destroy(l->node);
    store_destroy(l->store);
    net_tls_transport_destroy(l->tls);
    obs_registry_destroy(l->registry);
    loop_timer_deinit(&l->leaving);
    l->node = NULL;
    l->store = NULL;
    l->tls = NULL;
    l->registry = NULL;
}

static void server_lane_left(struct loop_timer *timer, void *user);

static enum err server_lane_open(struct server_lane *l, struct err_text *text)
{
    const struct node_server_config *config = &l->server->config;
    enum err rc = obs_registry_create(SERVER_SERIES, &l->registry);

    if (rc == OK) {
        rc = loop_timer_init(&l->leaving, lane_loop(l->lane), server_lane_left, l);
    }
    if (rc == OK) {
        rc = server_lane_transport(l, text);
    }
    if (rc == OK && config->store != NULL) {
        rc = store_dir_create(config->store, lane_loop(l->lane), &l->store, text);
        l->control.store_failed = rc != OK;
    }
    return rc;
}

/* Which training it is. */

static void server_lane_begun(enum err rc, void *user)
{
    struct server_lane *l = user;
    char why[128];

    if (rc != OK) {
        l->control.store_failed = true;
        store_fault_text(l->store, rc, why, sizeof(why));
        (void)err_text_set(&l->control.text, rc, "cannot write to the folder %s: %s",
                           l->server->config.store, why);
    } else {
        rc = node_lane_listen(l->node, &l->control.text);
        l->bound = *node_lane_address(l->node);
    }
    server_lane_answer(&l->control, rc);
}

/* Telling where all lanes are. */

static enum err server_lane_tell(struct server_lane *l, struct err_text *text)
{
    const struct node_server *s = l->server;
    struct node_place *places;
    enum err rc;

    if (l->index != 0) {
        return OK;
    }
    places = mem_calloc(s->lanes_count, sizeof(*places));
    if (places == NULL) {
        return err_text_set(text, ERR_NOMEM, "no memory to tell where the lanes are");
    }
    for (uint32_t i = 0; i < s->lanes_count; i++) {
        places[i].lane = s->config.first_number + i;
        (void)net_address_format(&s->lanes[i].told, places[i].address);
    }
    rc = node_lane_tell(l->node, places, s->lanes_count);
    mem_free(places);
    return rc == OK ? OK : err_text_set(text, rc, "cannot tell where the lanes are");
}

/* Leaving. */

static void server_lane_saved(enum err rc, void *user)
{
    struct server_lane *l = user;

    if (rc != OK && loop_now_ns(lane_loop(l->lane)) < l->save_until_ns) {
        /* The store may fail for a moment only: nobody has these clocks but us. */
        l->saving = true;
        loop_timer_start_in(&l->leaving, (int64_t)SERVER_SAVE_AGAIN_MS * 1000000);
        return;
    }
    (void)err_text_set(&l->control.text, rc, "the checkpoint of lane %" PRIu32 ": %s",
                       l->server->config.first_number + l->index, err_string(rc));
    server_lane_answer(&l->control, rc);
}

/* What is still being restored is in the store already. */
static void server_lane_save(struct server_lane *l)
{
    struct node_lane_stats stats;
    enum err rc = OK;

    l->saving = false;
    node_lane_stats(l->node, &stats);
    if (!stats.restoring && !stats.fresh) {
        rc = node_lane_save(l->node, server_lane_saved, l);
    }
    if (rc != OK || stats.restoring || stats.fresh) {
        server_lane_answer(&l->control, rc);
    }
}

/* Everybody has heard the good-bye, or there is no more time. Who comes meanwhile gets it too. */
static void server_lane_left(struct loop_timer *timer, void *user)
{
    struct server_lane *l = user;

    if (l->saving) {
        server_lane_save(l);
        return;
    }
    node_lane_shut(l->node, l->server->bye);
    if (node_lane_peers(l->node) == 0 || loop_now_ns(lane_loop(l->lane)) > l->leave_until_ns) {
        server_lane_answer(&l->control, OK);
        return;
    }
    loop_timer_start_in(timer, (int64_t)SERVER_LEAVE_POLL_MS * 1000000);
}

static void server_lane_shut(struct server_lane *l)
{
    l->leave_until_ns = loop_now_ns(lane_loop(l->lane)) + (int64_t)SERVER_LEAVE_MS * 1000000;
    loop_timer_start_in(&l->leaving, 0);
}

static void server_lane_look(struct server_lane *l, struct server_call *call)
{
    json_t *status = node_lane_status(l->node);
    struct node_lane_stats stats;

    node_lane_stats(l->node, &stats);
    call->clock = (uint64_t)json_integer_value(json_object_get(status, "version"));
    json_decref(status);
    call->worth = l->store != NULL && (stats.updates > 0 || stats.members > 0 || stats.version > 0);
}

void server_lane_run(void *user)
{
    struct server_call *call = user;
    struct server_lane *l = call->lane;

    switch (call->step) {
    case SERVER_OPEN:
        server_lane_answer(call, server_lane_open(l, &call->text));
        break;
    case SERVER_BUILD:
        server_lane_answer(call, server_lane_build(l, &call->text));
        break;
    case SERVER_BEGIN:
        node_lane_begin_history(l->node, l->server->history, server_lane_begun, l);
        break;
    case SERVER_TELL:
        server_lane_answer(call, server_lane_tell(l, &call->text));
        break;
    case SERVER_LOOK:
        server_lane_look(l, call);
        server_lane_answer(call, OK);
        break;
    case SERVER_SAVE:
        l->save_until_ns = loop_now_ns(lane_loop(l->lane)) + (int64_t)SERVER_SAVE_MS * 1000000;
        server_lane_save(l);
        break;
    case SERVER_SHUT:
        server_lane_shut(l);
        break;
    case SERVER_END:
        server_lane_end(l);
        server_lane_answer(call, OK);
        break;
    case SERVER_STATUS:
        call->status = l->node == NULL ? NULL : node_lane_status(l->node);
        server_lane_answer(call, OK);
        break;
    case SERVER_REFUSE: /* Nobody asks for it. */
        break;
    }
}
