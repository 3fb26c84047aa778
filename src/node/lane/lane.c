/* The lane itself: made, listening, ended. */

#include "node/lane/lane.h"

#include "base/mem.h"
#include "node/lane/state.h"
#include "obs/metric.h"
#include "store/checkpoint.h"
#include "wire/frame.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void node_lane_trace(struct node_lane *l, const char *fmt, ...)
{
    char line[256];
    va_list args;

    if (l->config.trace == NULL) {
        return;
    }
    va_start(args, fmt);
    (void)vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    l->config.trace(line, l->config.user);
}

bool node_lane_is_member(const struct node_lane *l, uint32_t rank)
{
    return sync_is_member(&l->sync, rank);
}

bool node_lane_begun(const struct node_lane *l)
{
    return !l->fresh || l->restoring || l->begun_elsewhere;
}

bool node_lane_admits(const struct node_lane *l)
{
    return !l->refused && (l->config.number != 0 || l->lanes_known == l->config.site.lanes);
}

void node_lane_refuse(struct node_lane *l, const char *text)
{
    if (l->refused) {
        return;
    }
    l->refused = true;
    node_lane_trace(l, "must not serve what it has: %s", text);
    if (l->config.refused != NULL) {
        l->config.refused(text, l->config.user);
    }
}

enum { LANE_LIFE_US = 250000 };

/* Quarters of a second since late 2023, so that every process has a later one, until 2040; a
 * simulation counts its processes. The next quarter, and nothing is begun before it has come: two
 * processes may start in the same one. */
uint64_t node_lane_life(const struct node_lane *l)
{
    const struct node_lane_config *config = &l->config;
    uint64_t mask = (UINT64_C(1) << (63 - MIRROR_LIFE_SHIFT)) - 1;
    uint64_t life = config->wall_us != NULL
                        ? (uint64_t)(config->wall_us() / LANE_LIFE_US) - UINT64_C(6799999999)
                        : config->incarnation;

    return (life & mask) == 0 ? 1 : life & mask;
}

/* Events of the endpoint. */

static void lane_say_places(struct node_lane *l)
{
    json_t *places = json_array();
    char history[NODE_HISTORY_BYTES];
    json_t *fields;

    node_history_print(l->history, history);
    fields = json_pack("{s:o, s:b, s:s}", "places", places, "begun", (int)node_lane_begun(l),
                       "history", history);
    for (uint32_t i = 0; i < l->places_count; i++) {
        (void)json_array_append_new(places, json_pack("{s:i, s:s}", "lane", (int)l->places[i].lane,
                                                      "address", l->places[i].address));
    }
    if (node_control_send(l->first, l->pool, NODE_OP_LANE, 0, fields) != OK) {
        LOG_WRN("node", "cannot tell the first lane where the others are: once more in a moment");
        loop_timer_start_in(&l->tell, (int64_t)NODE_TELL_MS * 1000000);
    }
    json_decref(fields);
}

void node_lane_say_begun(struct node_lane *l)
{
    if (l->first != NULL) {
        lane_say_places(l);
    }
}

/* The first lane was not told, or has forgotten us. */
static void lane_tell_again(struct loop_timer *timer, void *user)
{
    struct node_lane *l = user;

    (void)timer;
    if (l->first != NULL) {
        lane_say_places(l);
    } else if (net_endpoint_dial(l->endpoint, l->config.transport, &l->config.first, 1,
                                 &l->first) != OK) {
        l->first = NULL;
        loop_timer_start_in(&l->tell, (int64_t)NODE_TELL_MS * 1000000);
    }
}

/* The sessions with other sites, if that is one of them; else NULL. */
static struct node_remote_sites *lane_remotes_of(struct node_lane *l, const struct net_peer *peer)
{
    return l->remotes != NULL && node_remote_of_peer(l->remotes, peer) != NULL ? l->remotes : NULL;
}

static void lane_up(struct net_peer *peer, bool restarted, void *user)
{
    struct node_lane *l = user;
    struct node_remote_sites *remotes = lane_remotes_of(l, peer);

    if (peer == l->first) {
        lane_say_places(l);
        return;
    }
    if (remotes != NULL) {
        node_remotes_up(remotes, peer, restarted);
        return;
    }
    if (l->remotes != NULL && net_peer_identity(peer)->role == WIRE_ROLE_SERVER) {
        return; /* Whose it is shows when it speaks. */
    }
    if (net_peer_user(peer) == NULL && node_session_open(l, peer) != OK) {
        net_peer_close(peer, "no memory for another session");
    }
    if (net_peer_knew_us(peer) && net_peer_identity(peer)->role == WIRE_ROLE_WORKER) {
        node_restore_expected(l);
    }
    node_lane_trace(l, "%s is up%s", net_peer_identity(peer)->name, restarted ? ", restarted" : "");
}

static void lane_down(struct net_peer *peer, enum err why, const char *text, void *user)
{
    struct node_lane *l = user;

    (void)why;
    node_lane_trace(l, "%s is down: %s", net_peer_identity(peer)->name, text);
}

static void lane_connect_failed(struct net_peer *peer, enum err why, const char *text, void *user)
{
    struct node_remote_sites *remotes = lane_remotes_of(user, peer);

    if (remotes != NULL) {
        node_remotes_connect_failed(remotes, peer, why, text);
    }
}

static void lane_lost(struct net_peer *peer, enum err why, const char *text, void *user)
{
    struct node_lane *l = user;
    struct node_session *s = net_peer_user(peer);

    if (why == ERR_PEER) {
        node_blame_add(l, net_peer_identity(peer), text);
    }
    if (peer == l->first) {
        l->first = NULL;
        LOG_WRN("node", "the session with the first lane is over: %s", text);
        if (!l->shut) {
            loop_timer_start_in(&l->tell, (int64_t)NODE_TELL_MS * 1000000);
        }
        return;
    }
    node_lane_trace(l, "%s is lost: %s", net_peer_identity(peer)->name, text);
    if (lane_remotes_of(l, peer) != NULL) {
        node_remotes_lost(l->remotes, peer, text);
        return;
    }
    if (s != NULL) {
        node_session_close(s);
    }
}

/* Another site resends to a restarted lane what the process before had not acknowledged, until it
 * learns of the restart and begins a new session with a handshake. */
static bool lane_is_for_predecessor(const struct net_peer *peer)
{
    return net_peer_knew_us(peer) && net_peer_identity(peer)->role == WIRE_ROLE_SERVER;
}

static enum err lane_frame(struct net_peer *peer, const struct net_frame *frame, void *user)
{
    struct node_lane *l = user;
    struct node_session *s = net_peer_user(peer);
    enum err rc;

    if (l->refused) {
        return ERR_AGAIN;
    }
    if (peer == l->first) {
        net_peer_ack(peer, frame->header.sequence);
        return OK; /* Nothing but answers comes from there. */
    }
    if (lane_remotes_of(l, peer) != NULL ||
        (l->remotes != NULL && node_remotes_is_handshake(l->remotes, peer, frame))) {
        return node_remotes_frame(l->remotes, peer, frame);
    }
    if (s == NULL) {
        /* The first of several streams may speak before all are there. */
        rc = node_session_open(l, peer);
        if (rc != OK) {
            return rc;
        }
        s = net_peer_user(peer);
    }
    switch (frame->header.type) {
    case WIRE_CONTROL:
        rc = node_operate(s, frame);
        break;
    case WIRE_OFFER:
    case WIRE_SNAPSHOT_CHUNK:
        rc = node_take_restore(s, frame);
        break;
    case WIRE_FEED:
        rc = node_tree_frame(s, frame);
        break;
    case WIRE_WANT:
        rc = node_tree_want(s, frame);
        break;
    default: /* Only what workers say may have to wait. */
        return node_session_is_worker(s)       ? node_session_take(s, frame)
               : lane_is_for_predecessor(peer) ? OK
                                               : ERR_PEER;
    }
    if (rc == OK) {
        net_peer_ack(peer, frame->header.sequence);
    }
    return rc;
}

static void lane_remotes_writable(struct node_lane *l)
{
    if (l->mirror != NULL) {
        node_mirror_writable(l->mirror);
    } else {
        node_central_writable(l->central);
    }
}

static void lane_writable(struct net_peer *peer, void *user)
{
    struct node_lane *l = user;
    struct node_session *s = net_peer_user(peer);

    if (lane_remotes_of(l, peer) != NULL) {
        lane_remotes_writable(l);
    } else if (s != NULL) {
        node_deliver_flush(s);
        node_session_drain(s);
    }
}

static void lane_acked(struct net_peer *peer, const struct wire_header *header, void *user)
{
    const struct node_lane *l = user;
    struct node_session *s = net_peer_user(peer);

    if (s != NULL && header->type == WIRE_LATE) {
        node_deliver_late_acked(s);
    } else if (l->ack == NODE_ACK_COPIED && s != NULL) {
        node_copied_acked(s, header);
    } else if (l->mirror != NULL) {
        node_mirror_acked(l->mirror, peer, header);
    }
}

static const struct net_endpoint_events lane_events = {
    .up = lane_up,
    .frame = lane_frame,
    .writable = lane_writable,
    .down = lane_down,
    .connect_failed = lane_connect_failed,
    .lost = lane_lost,
    .acked = lane_acked,
};

/* Timers and tasks. */

static void lane_drain(struct loop_task *task, void *user)
{
    struct node_lane *l = user;
    struct list *next;

    (void)task;
    for (struct list *link = l->sessions.next; link != &l->sessions; link = next) {
        struct node_session *s = LIST_ENTRY(link, struct node_session, link);

        next = link->next;
        node_session_drain(s);
    }
    node_copied_look(l);
}

static void lane_retry(struct loop_timer *timer, void *user)
{
    struct node_lane *l = user;

    (void)timer;
    LIST_FOREACH (link, &l->sessions) {
        node_deliver_flush(LIST_ENTRY(link, struct node_session, link));
    }
    lane_drain(NULL, l);
    node_restore_look(l);
}

static void lane_deadline(struct loop_timer *timer, void *user)
{
    struct node_lane *l = user;
    struct sync_event event = {.type = SYNC_TIMEOUT};

    (void)timer;
    CHECK(node_exec(l, &event, NULL, NULL) == OK);
    if (l->held_frames > 0) {
        loop_task_post(&l->drain);
    }
}

static void lane_tree(struct loop_timer *timer, void *user)
{
    (void)timer;
    node_tree_plan(user);
}

/* Making and ending. */

static enum err lane_endpoint(struct node_lane *l)
{
    const struct node_lane_config *c = &l->config;
    struct net_endpoint_config endpoint = {
        .loop = c->loop,
        .pool = l->pool,
        .registry = c->registry,
        .identity = c->identity,
        .incarnation = c->incarnation,
        .part = (uint16_t)c->number,
        .seed = c->seed,
        .insecure = c->insecure,
        .manual_ack = true,
        .heartbeat_ns = c->heartbeat_ns,
        .grace_ns = c->grace_ns,
        .pace_bytes_per_s = c->pace_bytes_per_s,
        .events = &lane_events,
        .user = l,
    };

    return net_endpoint_create(&endpoint, &l->endpoint);
}

enum err node_lane_tell(struct node_lane *l, const struct node_place *places, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (places[i].lane >= l->config.site.lanes) {
            return ERR_INVALID;
        }
    }
    if (l->config.number == 0) {
        for (uint32_t i = 0; i < count; i++) {
            node_operate_lane(l, places[i].lane, places[i].address);
        }
        return OK;
    }
    l->places = mem_calloc(count, sizeof(*places));
    if (l->places == NULL) {
        return ERR_NOMEM;
    }
    memcpy(l->places, places, count * sizeof(*places));
    l->places_count = count;
    return net_endpoint_dial(l->endpoint, l->config.transport, &l->config.first, 1, &l->first);
}

static enum err lane_tables(struct node_lane *l, struct err_text *text)
{
    const struct node_site *site = &l->config.site;
    uint32_t held[NODE_SHARDS_MAX];
    uint32_t count = 0;
    enum err rc;

    for (uint32_t s = l->config.number; s < site->shards; s += site->lanes) {
        held[count++] = s;
    }
    rc = table_store_create(site->shards, held, count, &l->tables);
    if (rc == OK) {
        struct sync_config sync = site->sync;

        sync.outside = l->central != NULL;
        rc = sync_init(&l->sync, &sync, text);
    }
    for (uint32_t i = 0; i < l->config.schema_count && rc == OK; i++) {
        rc = node_lane_add_table(l, (uint16_t)i, &l->config.schemas[i], text);
    }
    return rc;
}

static enum err lane_build(struct node_lane *l, struct err_text *text)
{
    struct node_lane_config *c = &l->config;
    uint64_t workers = c->site.sync.members_min > 0 ? c->site.sync.members_min : 4;
    enum err rc;

    if (c->in_flight_bytes == 0) {
        c->in_flight_bytes = (workers * NODE_IN_FLIGHT_PER_WORKER_MB + 64) << 20;
    }
    l->in_flight_bytes = c->in_flight_bytes;
    c->grace_ns = c->grace_ns == 0 ? (int64_t)NODE_GRACE_MS * 1000000 : c->grace_ns;
    c->restore_ns = c->restore_ns == 0 ? (int64_t)NODE_RESTORE_MS * 1000000 : c->restore_ns;
    l->ack = c->between != NULL && c->between->central         ? NODE_ACK_TAKEN
             : node_site_durable(&c->site) && c->store != NULL ? NODE_ACK_STORED
             : c->site.delivery == NODE_BROADCAST &&
                     (c->between == NULL || c->between->others_count == 0)
                 ? NODE_ACK_COPIED
                 : NODE_ACK_TAKEN;
    loop_task_init(&l->drain, c->loop, lane_drain, l);
    rc = loop_timer_init(&l->deadline, c->loop, lane_deadline, l);
    if (rc == OK) {
        rc = loop_timer_init(&l->retry, c->loop, lane_retry, l);
    }
    if (rc == OK) {
        rc = loop_timer_init(&l->tell, c->loop, lane_tell_again, l);
    }
    if (rc == OK) {
        rc = loop_timer_init(&l->tree_timer, c->loop, lane_tree, l);
    }
    if (rc == OK) {
        rc = buf_pool_create(c->in_flight_bytes, &l->pool);
    }
    l->names = mem_calloc(NODE_NAMES_MAX, sizeof(*l->names));
    l->lanes = mem_calloc(c->site.lanes, sizeof(*l->lanes));
    if (rc == OK && (l->names == NULL || l->lanes == NULL)) {
        rc = ERR_NOMEM;
    }
    if (rc == OK) {
        rc = node_counters_init(&l->counters, c->registry);
    }
    if (rc == OK) {
        rc = node_deliver_begin(l);
    }
    if (rc == OK) {
        rc = node_mirror_create(l, &l->mirror, text);
    }
    if (rc == OK) {
        rc = node_central_create(l, &l->central, text);
    }
    l->remotes = l->mirror != NULL    ? node_mirror_remotes(l->mirror)
                 : l->central != NULL ? node_central_remotes(l->central)
                                      : NULL;
    if (rc == OK) {
        rc = lane_tables(l, text);
    }
    return rc;
}

enum err node_lane_create(const struct node_lane_config *config, struct node_lane **lane_out,
                          struct err_text *text)
{
    struct node_lane *l;
    enum err rc = node_site_check(&config->site, text);

    if (rc != OK) {
        return rc;
    }
    if (config->number >= config->site.lanes || config->schema_count > TABLE_COUNT_MAX) {
        return err_text_set(text, ERR_INVALID, "lane %u: there are %u", config->number,
                            config->site.lanes);
    }
    if (config->site.tree.degree > 0 && config->between != NULL &&
        config->between->others_count > 0) {
        return err_text_set(text, ERR_INVALID,
                            "trees are for a site without others: leave one of the two out");
    }
    l = mem_zalloc(sizeof(*l));
    if (l == NULL) {
        return err_text_set(text, ERR_NOMEM, "no memory for a lane");
    }
    l->config = *config;
    l->fresh = true;
    feeding_init(&l->feeding);
    list_init(&l->sessions);
    node_keep_init(l);
    rc = lane_build(l, text);
    if (rc == OK) {
        rc = node_keep_open(l);
    }
    /* With other sites but no journal a checkpoint would lack what they know of us: a copy of one
     * of them is newer, and fits. */
    if (rc == OK && config->store != NULL) {
        l->restores = l->mirror == NULL || l->ack == NODE_ACK_STORED;
        rc = l->restores ? node_restore_load(l, text) : node_restore_skip(l, text);
    }
    if (rc == OK && l->mirror != NULL) {
        rc = node_mirror_load(l->mirror, text);
    }
    if (rc == OK && l->central != NULL && l->restoring) {
        node_central_restore(l->central);
        node_restore_end(l); /* What other sites have counts more than what workers had. */
    }
    if (rc == OK) {
        rc = lane_endpoint(l);
    }
    if (rc != OK) {
        node_lane_destroy(l);
        return rc;
    }
    *lane_out = l;
    return OK;
}

enum err node_lane_listen(struct node_lane *l, struct err_text *text)
{
    const struct node_lane_config *c = &l->config;
    enum err rc = net_endpoint_listen(l->endpoint, c->transport, &c->listen, &l->address, text);

    if (rc == OK && l->mirror != NULL) {
        rc = node_mirror_start(l->mirror);
    }
    if (rc == OK && l->central != NULL) {
        node_central_start(l->central);
    }
    return rc;
}

void node_lane_destroy(struct node_lane *l)
{
    struct list *link;

    if (l == NULL) {
        return;
    }
    while ((link = list_first(&l->sessions)) != NULL) {
        node_session_free(LIST_ENTRY(link, struct node_session, link));
    }
    net_endpoint_destroy(l->endpoint);
    l->remotes = NULL;
    node_mirror_destroy(l->mirror);
    node_central_destroy(l->central);
    node_keep_deinit(l);
    node_restore_forget(l);
    loop_task_cancel(&l->drain);
    loop_timer_deinit(&l->deadline);
    loop_timer_deinit(&l->retry);
    loop_timer_deinit(&l->tell);
    loop_timer_deinit(&l->tree_timer);
    for (uint32_t i = 0; i < l->chunks_count; i++) {
        table_accum_clear(&l->chunks[i]->accum);
        mem_free(l->chunks[i]->residual);
    }
    node_look_close(&l->look);
    node_sparsify_close(&l->sparsifier);
    for (uint32_t i = 0; i < TABLE_COUNT_MAX; i++) {
        mem_free(l->blocks[i]);
    }
    mem_free(l->chunks);
    if (l->tables != NULL) {
        sync_deinit(&l->sync);
    }
    table_store_destroy(l->tables);
    buf_pool_destroy(l->pool);
    mem_free(l->scratch);
    mem_free(l->names);
    mem_free(l->lanes);
    mem_free(l->places);
    mem_free(l);
}

void node_lane_shut(struct node_lane *l, const char *text)
{
    struct net_peer *peer;

    l->shut = true;
    for (uint32_t i = 0; (peer = net_endpoint_peer(l->endpoint, i)) != NULL; i++) {
        net_peer_close(peer, text);
    }
}

struct node_mirror *node_lane_mirror(struct node_lane *l)
{
    return l->mirror;
}

const float *node_lane_values(const struct node_lane *l, uint16_t table, uint32_t chunk)
{
    uint32_t index = table_store_find(l->tables, table, chunk);

    return index == TABLE_STORE_NONE ? NULL : table_store_values(l->tables, index);
}

struct node_central *node_lane_central(struct node_lane *l)
{
    return l->central;
}

void node_lane_history(const struct node_lane *l, struct node_lane_history *out)
{
    *out = (struct node_lane_history){.kept = l->restores,
                                      .found = l->history_found,
                                      .history = l->history,
                                      .complete = l->restored_number > 0,
                                      .clock = l->restored_clock};
}

const struct net_address *node_lane_address(const struct node_lane *l)
{
    return &l->address;
}

const struct node_sparsifier *node_lane_sparsifier(const struct node_lane *l)
{
    return l->sparsifier.coder == NULL ? NULL : &l->sparsifier;
}

void node_lane_stats(struct node_lane *l, struct node_lane_stats *out)
{
    struct buf_pool_stats pool;

    buf_pool_stats(l->pool, &pool);
    *out = (struct node_lane_stats){
        .version = sync_version(&l->sync),
        .updates = obs_counter_value(l->counters.updates),
        .duplicates = obs_counter_value(l->counters.duplicates),
        .broadcasts = obs_counter_value(l->counters.broadcasts),
        .snapshots = obs_counter_value(l->counters.snapshots),
        .trees = obs_counter_value(l->counters.trees),
        .detours = obs_counter_value(l->counters.detours),
        .checkpoints = obs_counter_value(l->counters.checkpoints),
        .held_frames = l->held_frames,
        .table_bytes = table_store_bytes(l->tables),
        .table_bytes_needed = l->table_bytes,
        .table_bytes_max = l->config.table_bytes,
        .pool_bytes = pool.bytes_reserved,
        .pool_bytes_used = pool.bytes_used,
        .pool_bytes_max = pool.bytes_limit,
        .restoring = l->restoring,
        .fresh = l->fresh,
        .anew = l->anew,
        .starting = !sync_has_started(&l->sync),
        .hurried = l->patience_over,
        .loaded = l->restored_number > 0,
    };
    for (uint32_t r = 0; r < SYNC_MEMBERS_MAX; r++) {
        out->members += sync_is_member(&l->sync, r);
    }
    for (int i = 0; i < NODE_PLACES; i++) {
        out->nonfinite[i] = obs_counter_value(l->counters.nonfinite[i]);
        out->kept_elements += out->nonfinite[i];
    }
    for (int i = NODE_PERMIT_OK + 1; i < NODE_PERMITS; i++) {
        out->operations_refused += obs_counter_value(l->counters.operations_refused[i]);
    }
    for (int i = 1; i < NODE_REFUSALS; i++) {
        out->refused += obs_counter_value(l->counters.refused[i]);
    }
}

const char *node_lane_broken(struct node_lane *l)
{
    uint64_t held = 0;

    if (!sync_invariant(&l->sync)) {
        return "the barrier's invariant does not hold (I9)";
    }
    LIST_FOREACH (link, &l->sessions) {
        struct node_session *s = LIST_ENTRY(link, struct node_session, link);

        held += s->held_count;
        if (s->held_count > LIMIT_WINDOW_FRAMES || s->unacked_frames > LIMIT_WINDOW_FRAMES) {
            return "a session holds more frames than a window (I10)";
        }
        if (s->state == NODE_IN && l->by_rank[s->rank] != s) {
            return "a member without its place";
        }
    }
    if (held != l->held_frames) {
        return "held frames do not add up";
    }
    return l->central != NULL ? node_central_broken(l->central) : node_mirror_broken(l->mirror);
}
