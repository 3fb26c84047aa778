/* The worker itself: made, connected, ended. */

#include "node/worker/worker.h"

#include "base/mem.h"
#include "node/worker/state.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void node_worker_notice(struct node_worker *w, const char *fmt, ...)
{
    char line[256];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    LOG_INF("node", "%s", line);
    if (w->config.notice != NULL) {
        w->config.notice(line, w->config.user);
    }
}

void node_worker_over(struct node_worker *w, const char *table, uint64_t clock, uint32_t count,
                      const char *what)
{
    uint64_t before = w->nonfinite;

    w->nonfinite += count;
    /* A higher bit than before is set. */
    if ((before ^ w->nonfinite) > before) {
        node_worker_notice(w,
                           "table %s, clock %" PRIu64 ": %s would make %" PRIu32
                           " elements infinite: they keep their values (%" PRIu64 " so far)",
                           table, clock, what, count, w->nonfinite);
    }
}

struct worker_lane *node_worker_lane_of(struct node_worker *w, uint16_t table, uint32_t chunk)
{
    uint32_t shard = table_chunk_shard(table, chunk, w->site.shards);

    return w->lanes[shard % w->site.lanes];
}

void node_worker_progress(struct node_worker *w)
{
    loop_task_post(&w->progress);
}

bool node_worker_may_compute(const struct node_worker *w, uint64_t clock)
{
    for (uint32_t i = 0; i < w->lanes_count; i++) {
        const struct worker_lane *k = w->lanes[i];

        if (k->state != LINK_IN) {
            return false;
        }
        if (w->site.delivery == NODE_BROADCAST &&
            (!k->advanced_any || !w->site.sync.policy->read(&w->site.sync, clock, k->advanced))) {
            return false;
        }
    }
    return w->site_known;
}

/* Events of the endpoint. */

static enum node_peer_kind worker_kind(const void *user)
{
    return *(const enum node_peer_kind *)user;
}

static void worker_up(struct net_peer *peer, bool restarted, void *user)
{
    void *who = net_peer_user(peer);

    if (who == NULL) {
        if (!net_peer_dialled(peer) && node_relay_came(user, peer) != OK) {
            net_peer_close(peer, "no memory for another child");
        }
    } else if (worker_kind(who) == PEER_LANE) {
        worker_lane_up(who, restarted);
    } else if (worker_kind(who) == PEER_PARENT) {
        node_feed_parent_up(who);
    }
}

static void worker_down(struct net_peer *peer, enum err why, const char *text, void *user)
{
    struct worker_lane *k = net_peer_user(peer);

    (void)why;
    if (k != NULL && worker_kind(k) == PEER_PARENT) {
        node_feed_parent_down(net_peer_user(peer), false);
    } else if (k != NULL && worker_kind(k) == PEER_LANE) {
        k->up_ns = loop_now_ns(k->worker->config.loop);
        (void)snprintf(k->last_error, sizeof(k->last_error), "%s", text);
        node_worker_notice(user, "lane %u is away: %s", k->number, text);
    }
}

static void worker_connect_failed(struct net_peer *peer, enum err why, const char *text, void *user)
{
    struct worker_lane *k = net_peer_user(peer);

    (void)why;
    (void)user;
    if (k != NULL && worker_kind(k) == PEER_LANE) {
        (void)snprintf(k->last_error, sizeof(k->last_error), "%s", text);
    }
}

static void worker_lost(struct net_peer *peer, enum err why, const char *text, void *user)
{
    void *who = net_peer_user(peer);

    (void)why;
    (void)user;
    if (who == NULL) {
        return;
    }
    switch (worker_kind(who)) {
    case PEER_LANE:
        worker_lane_lost(who, text);
        break;
    case PEER_PARENT:
        node_feed_parent_down(who, true);
        break;
    case PEER_CHILD:
        node_relay_gone(who);
        break;
    }
}

static enum err worker_frame(struct net_peer *peer, const struct net_frame *frame, void *user)
{
    void *who = net_peer_user(peer);

    if (who == NULL && !net_peer_dialled(peer)) {
        /* The first of several streams may speak before all are there. */
        enum err rc = node_relay_came(user, peer);

        if (rc != OK) {
            return rc;
        }
        who = net_peer_user(peer);
    }
    if (who == NULL) {
        return OK;
    }
    switch (worker_kind(who)) {
    case PEER_LANE:
        return worker_lane_frame(who, frame);
    case PEER_PARENT:
        return node_feed_parent_frame(who, frame);
    case PEER_CHILD:
        return node_relay_frame(who, frame);
    }
    return ERR_PEER;
}

static void worker_acked(struct net_peer *peer, const struct wire_header *header, void *user)
{
    struct worker_lane *k = net_peer_user(peer);

    (void)user;
    if (k == NULL || worker_kind(k) != PEER_LANE) {
        return;
    }
    if (header->type == WIRE_PULL || header->type == WIRE_ROWS_PULL) {
        k->pulls_unacked--;
    } else if (worker_lane_is_update(header) && header->sequence > k->in_after &&
               header->clock > k->acked_update) {
        k->acked_update = header->clock;
    }
    if (header->type == WIRE_CLOCK && header->sequence > k->in_after && header->clock > k->acked) {
        k->acked = header->clock;
        k->risk_first = UINT64_MAX; /* A checkpoint of a later clock has all before it. */
    }
}

static void worker_writable(struct net_peer *peer, void *user)
{
    void *who = net_peer_user(peer);

    if (who != NULL && worker_kind(who) == PEER_CHILD) {
        node_relay_flush(who);
    } else {
        node_worker_progress(user);
    }
}

static const struct net_endpoint_events worker_events = {
    .up = worker_up,
    .frame = worker_frame,
    .acked = worker_acked,
    .writable = worker_writable,
    .down = worker_down,
    .connect_failed = worker_connect_failed,
    .lost = worker_lost,
};

/* Tasks. */

static void worker_progress(struct loop_task *task, void *user)
{
    struct node_worker *w = user;
    struct list *next;

    (void)task;
    if (!w->site_known && !w->site_asked && w->lanes[0]->state == LINK_MET) {
        worker_lane_ask_site(w->lanes[0]);
    }
    for (uint32_t i = 0; i < w->lanes_count; i++) {
        if (w->lanes[i]->clock_due != 0) {
            worker_lane_say_clock(w->lanes[i], w->lanes[i]->clock_due);
        }
        worker_lane_call_due(w->lanes[i]);
        worker_lane_join_due(w->lanes[i]);
        node_read_due(w->lanes[i]);
        worker_lane_hurry(w->lanes[i]);
        node_copy_flush(w->lanes[i]);
    }
    for (struct list *link = w->tasks.next; link != &w->tasks; link = next) {
        next = link->next;
        node_task_run(w, LIST_ENTRY(link, struct node_op_state, link));
    }
}

static void worker_wake(struct loop_task *task, void *user)
{
    struct node_worker *w = user;
    struct list *link;

    (void)task;
    while ((link = list_first(&w->finished)) != NULL) {
        struct node_op_state *t = LIST_ENTRY(link, struct node_op_state, link);
        struct node_op *op = t->op;

        list_remove(link);
        list_push_back(&w->free_tasks, link);
        op->state = NULL;
        op->done = true;
        op->finished(op, op->user);
    }
}

static void worker_poll(struct loop_timer *timer, void *user)
{
    (void)timer;
    node_relay_flush_all(user);
    node_worker_progress(user);
}

/* Making and ending. */

static enum err worker_build(struct node_worker *w)
{
    const struct node_worker_config *c = &w->config;
    struct net_endpoint_config endpoint = {
        .loop = c->loop,
        .pool = c->pool,
        .registry = c->registry,
        .identity = c->identity,
        .incarnation = c->incarnation,
        .seed = c->seed,
        .insecure = c->insecure,
        .heartbeat_ns = c->heartbeat_ns,
        .pace_bytes_per_s = c->pace_bytes_per_s,
        .events = &worker_events,
        .user = w,
    };
    enum err rc = loop_timer_init(&w->poll, c->loop, worker_poll, w);

    if (rc == OK) {
        rc = loop_timer_init(&w->more, c->loop, worker_poll, w);
    }
    if (rc == OK) {
        rc = loop_timer_init(&w->feed_timer, c->loop, node_feed_timer, w);
    }

    w->lanes = mem_calloc(NODE_LANES_MAX, sizeof(struct worker_lane *));
    if (rc == OK && w->lanes == NULL) {
        rc = ERR_NOMEM;
    }
    if (rc == OK) {
        rc = net_endpoint_create(&endpoint, &w->endpoint);
    }
    if (rc == OK) {
        rc = worker_lane_create(w, 0, &c->first, &w->lanes[0]);
    }
    w->lanes_count = rc == OK;
    return rc;
}

enum err node_worker_create(const struct node_worker_config *config,
                            struct node_worker **worker_out)
{
    struct node_worker *w = mem_zalloc(sizeof(*w));
    enum err rc;

    if (w == NULL) {
        return ERR_NOMEM;
    }
    w->config = *config;
    w->config.streams = config->streams == 0 ? 1 : config->streams;
    w->cache_left = config->cache_bytes == 0 ? WORKER_CACHE_BYTES : config->cache_bytes;
    w->rank = config->rank;
    list_init(&w->parents);
    list_init(&w->children);
    list_init(&w->tasks);
    list_init(&w->finished);
    list_init(&w->free_tasks);
    list_init(&w->free_requests);
    loop_task_init(&w->wake, config->loop, worker_wake, w);
    loop_task_init(&w->progress, config->loop, worker_progress, w);
    rc = worker_build(w);
    if (rc != OK) {
        node_worker_destroy(w);
        return rc;
    }
    *worker_out = w;
    return OK;
}

static void worker_free_list(struct list *list)
{
    struct list *link;

    while ((link = list_first(list)) != NULL) {
        list_remove(link);
        mem_free(LIST_ENTRY(link, struct node_op_state, link));
    }
}

void node_worker_destroy(struct node_worker *w)
{
    if (w == NULL) {
        return;
    }
    node_feed_close(w);
    node_relay_close(w);
    for (uint32_t i = 0; w->lanes != NULL && i < NODE_LANES_MAX; i++) {
        worker_lane_destroy(w->lanes[i]);
    }
    net_endpoint_destroy(w->endpoint);
    loop_task_cancel(&w->wake);
    loop_task_cancel(&w->progress);
    loop_timer_deinit(&w->poll);
    loop_timer_deinit(&w->more);
    loop_timer_deinit(&w->feed_timer);
    node_read_free(w);
    node_worker_close_tables(w);
    node_look_close(&w->look);
    node_sparsify_close(&w->sparsifier);
    worker_free_list(&w->tasks);
    worker_free_list(&w->finished);
    worker_free_list(&w->free_tasks);
    mem_free(w->lanes);
    mem_free(w->scratch);
    mem_free(w->scratch_rows);
    mem_free(w);
}

void node_worker_adopt(struct node_worker *w)
{
    buf_pool_adopt(w->config.pool);
    net_endpoint_adopt(w->endpoint);
}

uint32_t node_worker_rank(const struct node_worker *w)
{
    return w->rank;
}

uint64_t node_worker_clock_now(const struct node_worker *w)
{
    return w->in ? w->clock : 0;
}

const struct node_site *node_worker_site(const struct node_worker *w)
{
    return w->site_known ? &w->site : NULL;
}

uint64_t node_worker_lost_from(struct node_worker *w)
{
    uint64_t from = w->lost_from;

    w->lost_from = 0;
    return from;
}

void node_worker_lost(const struct node_worker *w, uint64_t *from_out, uint64_t *to_out)
{
    *from_out = w->lost_range[0];
    *to_out = w->lost_range[1];
}

uint64_t node_worker_rebases(const struct node_worker *w)
{
    return w->rebases;
}

uint64_t node_worker_nonfinite(const struct node_worker *w)
{
    return w->nonfinite;
}

uint64_t node_worker_refused(const struct node_worker *w)
{
    return w->refused;
}

const struct node_sparsifier *node_worker_sparsifier(const struct node_worker *w)
{
    return w->sparsifier.coder == NULL ? NULL : &w->sparsifier;
}

void node_worker_traffic(const struct node_worker *w, uint32_t lane, uint64_t *sent_out,
                         uint64_t *received_out)
{
    const struct worker_lane *k = lane < w->lanes_count ? w->lanes[lane] : NULL;
    struct net_peer_stats stats = {0};

    if (k != NULL && k->peer != NULL) {
        net_peer_stats(k->peer, &stats);
    }
    *sent_out = k == NULL ? 0 : k->sent_bytes + stats.sent_bytes;
    *received_out = k == NULL ? 0 : k->received_bytes + stats.received_bytes;
}

struct node_passed node_worker_passed(const struct node_worker *w)
{
    return w->passed;
}

enum node_standing node_worker_standing(const struct node_worker *w, uint32_t lane)
{
    const struct worker_lane *k = lane < w->lanes_count ? w->lanes[lane] : NULL;

    if (k == NULL || !k->resumable || !(w->want_in || worker_lane_is_left(k))) {
        return NODE_STANDING_NONE;
    }
    if (k->state == LINK_IN || (!w->want_in && k->state == LINK_MET)) {
        return NODE_STANDING_BACKS;
    }
    return k->state == LINK_JOINING && k->resuming ? NODE_STANDING_OFFERED : NODE_STANDING_NONE;
}

int64_t node_worker_away_ns(const struct node_worker *w)
{
    int64_t now = loop_now_ns(w->config.loop);
    int64_t longest = 0;

    for (uint32_t i = 0; i < w->lanes_count; i++) {
        const struct worker_lane *k = w->lanes[i];

        if ((k->peer == NULL || !net_peer_is_up(k->peer)) && now - k->up_ns > longest) {
            longest = now - k->up_ns;
        }
    }
    return longest;
}

/* The clock that somebody wants to compute: the next one, if this one is being ended. */
static uint64_t worker_wanted(const struct node_worker *w)
{
    uint64_t clock = w->clock;

    LIST_FOREACH (link, &w->tasks) {
        const struct node_op_state *t = LIST_ENTRY(link, struct node_op_state, link);

        clock = t->kind == TASK_CLOCK && t->clock > clock ? t->clock : clock;
    }
    return clock;
}

bool node_worker_why(struct node_worker *w, char *out, size_t size)
{
    uint64_t clock = worker_wanted(w);

    if (list_empty(&w->tasks)) {
        return false;
    }
    for (uint32_t i = 0; i < w->lanes_count; i++) {
        const struct worker_lane *k = w->lanes[i];
        char address[NET_ADDRESS_BYTES];

        (void)net_address_format(&k->address, address);
        if (k->peer == NULL || !net_peer_is_up(k->peer)) {
            (void)snprintf(out, size, "lane %u at %s cannot be reached%s%s", k->number, address,
                           k->last_error[0] != '\0' ? ": " : "", k->last_error);
            return true;
        }
        if (!w->site_known) {
            (void)snprintf(out, size, "the server at %s waits for the other servers of its site",
                           address);
            return true;
        }
        if (k->state == LINK_JOINING) {
            (void)snprintf(out, size, "lane %u at %s has not let this worker in yet", k->number,
                           address);
            return true;
        }
        if (!list_empty(&k->requests)) {
            (void)snprintf(out, size,
                           "clock %llu: lane %u at %s has not answered yet; ask it with strait why",
                           (unsigned long long)clock, k->number, address);
            return true;
        }
        if (w->site.delivery == NODE_BROADCAST &&
            !w->site.sync.policy->read(&w->site.sync, clock, k->advanced)) {
            (void)snprintf(
                out, size,
                "clock %llu: lane %u at %s has closed round %llu; ask it with strait why",
                (unsigned long long)clock, k->number, address, (unsigned long long)k->advanced);
            return true;
        }
    }
    for (uint32_t i = 0; i < w->lanes_count; i++) {
        struct net_peer_stats stats;

        net_peer_stats(w->lanes[i]->peer, &stats);
        if (stats.unacked_frames > 0) {
            (void)snprintf(out, size, "lane %u has not acknowledged %llu of what was sent to it", i,
                           (unsigned long long)stats.unacked_frames);
            return true;
        }
    }
    for (uint32_t i = 0; i < w->lanes_count; i++) {
        struct list *link = list_first(&w->lanes[i]->calls);

        if (link != NULL) {
            (void)snprintf(out, size, "lane %u has not answered operation %u", i,
                           LIST_ENTRY(link, struct node_call, link)->operation);
            return true;
        }
    }
    (void)snprintf(out, size, "%s",
                   node_relay_busy(w)
                       ? "other workers have not taken yet what goes through this one"
                       : "something that is not known");
    return true;
}
