/* A lane's side of broadcast trees (F7, F8): who feeds whom is decided by sync/feeding.h and
 * plan/tree.h; here it is told to workers, who then tell how it went.
 *
 * Sums go only to those whom the lane feeds itself. All workers are told which chunks they must
 * have before a round is complete for them, so each knows by itself whether it misses something,
 * whatever became of those between it and the lane; what it misses it gets whole. */

#include "base/hash.h"
#include "node/lane/state.h"
#include "obs/metric.h"
#include "plan/tree.h"
#include "wire/feed.h"

#include <stdio.h>
#include <string.h>

enum {
    FEED_TREES_MAX = 16,  /* Of other lanes, that are looked at so as not to load the same. */
    FEED_RETRY_MS = 1000, /* After a tree could not be made for want of memory. */
};

bool node_tree_on(const struct node_lane *l)
{
    return l->config.site.tree.degree > 0 && l->config.site.delivery == NODE_BROADCAST;
}

bool node_tree_direct(const struct node_session *s)
{
    return !node_tree_on(s->lane) || feeding_direct(&s->lane->feeding, s->rank);
}

static void feed_timer_set(struct node_lane *l)
{
    int64_t due_ns = feeding_due_ns(&l->feeding);

    if (due_ns == SYNC_NEVER) {
        loop_timer_stop(&l->tree_timer);
    } else {
        loop_timer_start(&l->tree_timer, due_ns);
    }
}

void node_tree_joined(struct node_session *s)
{
    struct node_lane *l = s->lane;

    if (node_tree_on(l)) {
        feeding_join(&l->feeding, s->rank, s->relay[0] != '\0', loop_now_ns(l->config.loop));
        s->parent_due = false;
        s->stamp_told = 0; /* What it gets whole is due, too. */
        feed_timer_set(l);
    }
}

void node_tree_gone(struct node_lane *l, uint32_t rank)
{
    if (node_tree_on(l)) {
        feeding_leave(&l->feeding, rank, loop_now_ns(l->config.loop));
        feed_timer_set(l);
        node_copied_parent_gone(l, rank);
    }
}

/* Making trees. */

struct feed_problem {
    struct plan_tree_problem p;
    struct plan_tree_place places[SYNC_MEMBERS_MAX + 1];
    bool leaf_only[SYNC_MEMBERS_MAX];
    uint32_t load[SYNC_MEMBERS_MAX];
    uint32_t ranks[SYNC_MEMBERS_MAX];
    uint32_t parent[SYNC_MEMBERS_MAX];
};

static struct plan_tree_place feed_place(const char *agg, const char *edge)
{
    bool aggregated = agg != NULL && agg[0] != '\0';
    bool racked = edge != NULL && edge[0] != '\0';

    return (struct plan_tree_place){.agg = aggregated ? (uint32_t)hash_text(agg) : 0,
                                    .edge = racked ? (uint32_t)hash_text(edge) : 0};
}

static void feed_describe(struct node_lane *l, struct feed_problem *f)
{
    int64_t now_ns = loop_now_ns(l->config.loop);
    uint32_t n = 0;

    *f = (struct feed_problem){.p = {.servers = 1,
                                     .places = f->places,
                                     .edge_cost = PLAN_TREE_EDGE_COST,
                                     .agg_cost = PLAN_TREE_AGG_COST,
                                     .core_cost = PLAN_TREE_CORE_COST,
                                     .degree = l->config.site.tree.degree,
                                     .depth = l->config.site.tree.depth,
                                     .leaf_cost = (double)l->config.site.tree.leaf_cost,
                                     .leaf_only = f->leaf_only,
                                     .load = f->load}};
    for (uint32_t r = 0; r < SYNC_MEMBERS_MAX; r++) {
        const struct node_session *s = l->by_rank[r];

        if (s != NULL && feeding_present(&l->feeding, r)) {
            f->ranks[n] = r;
            f->places[n] = feed_place(s->agg, s->edge);
            f->leaf_only[n] = !feeding_relays(&l->feeding, r, now_ns);
            n++;
        }
    }
    f->places[n] = feed_place(l->config.agg, l->config.edge);
    f->p.workers = n;
}

/* Other lanes make trees too, of the same workers by the same rule: whoever is near the root of
 * theirs is better far from it in ours. */
static enum err feed_grow(struct node_lane *l, struct feed_problem *f, struct err_text *text)
{
    uint32_t others = l->config.number % FEED_TREES_MAX;
    struct plan_tree_answer answer;
    enum err rc = OK;

    for (uint32_t i = 0; i <= others && rc == OK; i++) {
        rc = plan_tree_grow(&f->p, f->parent, &answer, text);
        for (uint32_t w = 0; w < f->p.workers && rc == OK && i < others; w++) {
            if (f->parent[w] != PLAN_TREE_ROOT) {
                f->load[f->parent[w]]++;
            }
        }
    }
    return rc;
}

static void feed_say_parent(struct node_session *s)
{
    struct node_lane *l = s->lane;
    uint32_t parent = feeding_parent(&l->feeding, s->rank);
    const struct node_session *p = parent == FEEDING_LANE ? NULL : l->by_rank[parent];
    struct wire_feed feed = {.kind = WIRE_FEED_PARENT,
                             .lane = l->config.number,
                             .epoch = feeding_epoch(&l->feeding, s->rank),
                             .rank = parent};
    struct buf *frame;

    if (p != NULL) {
        feed.address = p->relay;
        feed.address_bytes = (uint32_t)strlen(p->relay);
    }
    s->parent_due = wire_feed_encode(l->pool, &feed, &frame) != OK;
    if (!s->parent_due && net_peer_send_sealed(s->peer, NET_CONTROL, frame) != OK) {
        buf_unref(frame);
        s->parent_due = true;
    }
    if (s->parent_due) {
        loop_timer_start_in(&l->retry, (int64_t)NODE_RETRY_MS * 1000000);
    }
}

void node_tree_plan(struct node_lane *l)
{
    struct feed_problem f;
    uint32_t parents[SYNC_MEMBERS_MAX], told[SYNC_MEMBERS_MAX];
    struct err_text text = {""};
    uint32_t count;
    enum err rc;

    feed_describe(l, &f);
    rc = f.p.workers == 0 ? OK : feed_grow(l, &f, &text);
    if (rc == ERR_NOMEM) {
        loop_timer_start_in(&l->tree_timer, (int64_t)FEED_RETRY_MS * 1000000);
        return;
    }
    for (uint32_t w = 0; w < f.p.workers; w++) {
        parents[f.ranks[w]] = f.parent[w] == PLAN_TREE_ROOT ? FEEDING_LANE : f.ranks[f.parent[w]];
    }
    if (rc != OK && !l->treeless) {
        LOG_WRN("node", "no tree, the lane feeds all %u workers: %s", f.p.workers, text.text);
    }
    l->treeless = rc != OK;
    count = feeding_plan(&l->feeding, rc == OK ? parents : NULL, loop_now_ns(l->config.loop), told);
    for (uint32_t i = 0; i < count; i++) {
        feed_say_parent(l->by_rank[told[i]]);
    }
    obs_counter_add(l->counters.trees, 1);
    node_lane_trace(l, "a tree of %u workers, %u have another parent", f.p.workers, count);
    feed_timer_set(l);
}

struct json_t *node_tree_status(const struct node_lane *l)
{
    uint32_t direct = 0, fed = 0;

    for (uint32_t r = 0; r < SYNC_MEMBERS_MAX; r++) {
        bool present = feeding_present(&l->feeding, r);

        direct += present && feeding_direct(&l->feeding, r);
        fed += present && !feeding_direct(&l->feeding, r);
    }
    return json_pack("{s:i, s:i, s:I, s:I}", "direct", (int)direct, "fed", (int)fed, "trees",
                     (json_int_t)obs_counter_value(l->counters.trees), "detours",
                     (json_int_t)obs_counter_value(l->counters.detours));
}

/* Sums out. */

uint32_t node_tree_sent(struct node_lane *l, uint32_t chunk, uint64_t version)
{
    struct node_chunk *c = l->chunks[chunk];
    uint64_t back = version - c->sent_version;

    c->stamp = ++l->sums_sent;
    c->sent_version = version;
    return back > UINT32_MAX ? UINT32_MAX : (uint32_t)back;
}

static enum err feed_due_send(struct node_session *s, uint16_t table,
                              const struct wire_due_item *items, uint32_t count)
{
    struct wire_due due = {
        .table = table, .clock = sync_version(&s->lane->sync), .count = count, .items = items};
    struct buf *frame;
    enum err rc;

    if (count == 0) {
        return OK;
    }
    rc = net_peer_has_room(s->peer, WIRE_DUE_BODY_BYTES_MAX)
             ? wire_due_encode(s->lane->pool, &due, &frame)
             : ERR_AGAIN;
    if (rc == OK) {
        rc = net_peer_send_sealed(s->peer, NET_DATA, frame);
        if (rc != OK) {
            buf_unref(frame);
        }
    }
    return rc;
}

/* What was sent since it was told last. A second time changes nothing, so all of it again if there
 * was no room for some. */
enum err node_tree_due(struct node_session *s)
{
    struct node_lane *l = s->lane;
    struct wire_due_item items[WIRE_DUE_CHUNKS_MAX];
    uint32_t count = 0;
    uint16_t table = 0;
    enum err rc = OK;

    for (uint32_t i = 0; node_tree_on(l) && i < l->chunks_count && rc == OK; i++) {
        const struct node_chunk *c = l->chunks[i];
        uint16_t id = table_store_table(l->tables, i);

        if (c->stamp <= s->stamp_told || !node_wants(s, id)) {
            continue;
        }
        if (count == WIRE_DUE_CHUNKS_MAX || (count > 0 && id != table)) {
            rc = feed_due_send(s, table, items, count);
            count = 0;
        }
        table = id;
        items[count++] = (struct wire_due_item){.chunk = table_store_chunk(l->tables, i),
                                                .version = c->sent_version};
    }
    if (rc == OK) {
        rc = feed_due_send(s, table, items, count);
    }
    s->stamp_told = rc == OK ? l->sums_sent : s->stamp_told;
    return rc;
}

void node_tree_flush(struct node_session *s)
{
    if (s->parent_due && s->state == NODE_IN) {
        feed_say_parent(s);
    }
}

/* What workers say. */

/* What was sent by the tree and that it was not told of goes to it whole. */
static void feed_untold(struct node_session *s)
{
    struct node_lane *l = s->lane;

    for (uint32_t i = 0; i < l->chunks_count; i++) {
        if (l->chunks[i]->stamp > s->stamp_told && node_wants(s, table_store_table(l->tables, i))) {
            node_deliver_mark(s, i, true);
        }
    }
    node_deliver_flush(s);
}

enum err node_tree_frame(struct node_session *s, const struct net_frame *frame)
{
    struct node_lane *l = s->lane;
    struct wire_feed feed;

    if (wire_feed_decode(&frame->header, frame->body, frame->header.body_bytes, &feed) != OK ||
        (feed.kind != WIRE_FEED_ON && feed.kind != WIRE_FEED_OFF) || !node_session_is_worker(s) ||
        !node_tree_on(l)) {
        return ERR_PEER;
    }
    if (s->state != NODE_IN || l->by_rank[s->rank] != s) {
        return OK;
    }
    if (feed.kind == WIRE_FEED_ON) {
        (void)feeding_on(&l->feeding, s->rank, feed.epoch);
        return OK;
    }
    if (feeding_off(&l->feeding, s->rank, feed.epoch, loop_now_ns(l->config.loop))) {
        obs_counter_add(l->counters.detours, 1);
        node_lane_trace(l, "worker %u is no longer fed by its parent: %s", s->rank,
                        feed.why == WIRE_FEED_SLOW ? "slow" : "away");
        feed_untold(s);
    }
    feed_timer_set(l);
    return OK;
}

enum err node_tree_want(struct node_session *s, const struct net_frame *frame)
{
    struct node_lane *l = s->lane;
    struct wire_want want;

    if (wire_want_decode(&frame->header, frame->body, frame->header.body_bytes, &want) != OK ||
        !node_session_is_worker(s)) {
        return ERR_PEER;
    }
    for (uint32_t i = 0; i < want.count && s->state == NODE_IN; i++) {
        uint32_t index = table_store_find(l->tables, want.table, wire_want_chunk(&want, i));

        if (index == TABLE_STORE_NONE) {
            return ERR_PEER;
        }
        if (node_wants(s, want.table)) {
            node_deliver_mark(s, index, true);
        }
    }
    node_deliver_flush(s);
    return OK;
}
