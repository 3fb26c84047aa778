/* A worker in a broadcast tree, as a child (F8): who feeds it, what must have come before a round
 * is complete here, and what it does when that does not come.
 *
 * Rounds are judged by what is due, not by the order in which things come: sums may come from a
 * parent, from the lane, or from both for a while, and a chunk that came whole is as good. */

#include "base/mem.h"
#include "node/worker/state.h"
#include "wire/feed.h"

#include <stdio.h>
#include <string.h>

enum {
    FEED_LOOK_MS = 50,    /* So often it is looked at while something is due, */
    FEED_DIRECT_MS = 100, /* so long the lane's own sums may take across its streams, */
    FEED_AGAIN_MS = 1000, /* so long the answer to a want, */
    FEED_OLD_MS = 1000,   /* and so long a parent before this one still feeds us. */
    FEED_SILENCES = 3,    /* Heartbeats without which somebody is gone. */
    FEED_LATE = 4,        /* Times as long as usual is too late. */
    FEED_DUES_MIN = 64,
    FEED_DUES_MAX = 1 << 20,
};

bool node_feed_tree(const struct node_worker *w)
{
    return w->site.tree.degree > 0;
}

static int64_t feed_now(const struct node_worker *w)
{
    return loop_now_ns(w->config.loop);
}

static int64_t feed_detect_ns(const struct node_worker *w)
{
    int64_t beat_ns =
        w->config.heartbeat_ns > 0 ? w->config.heartbeat_ns : (int64_t)LIMIT_HEARTBEAT_MS * 1000000;

    return FEED_SILENCES * beat_ns;
}

static void feed_look_soon(struct node_worker *w)
{
    if (!loop_timer_active(&w->feed_timer)) {
        loop_timer_start_in(&w->feed_timer, (int64_t)FEED_LOOK_MS * 1000000);
    }
}

static enum err feed_send(struct node_worker *w, struct net_peer *peer, enum wire_feed_kind kind,
                          uint32_t lane, uint32_t epoch, enum wire_feed_why why)
{
    struct wire_feed feed = {
        .kind = kind, .why = why, .lane = lane, .epoch = epoch, .rank = w->rank};
    struct buf *frame;
    enum err rc = wire_feed_encode(w->config.pool, &feed, &frame);

    if (rc == OK) {
        rc = net_peer_send_sealed(peer, NET_CONTROL, frame);
        if (rc != OK) {
            buf_unref(frame);
        }
    }
    return rc;
}

/* Parents. */

static struct node_parent *feed_find(struct node_worker *w, const char *address)
{
    LIST_FOREACH (link, &w->parents) {
        struct node_parent *p = LIST_ENTRY(link, struct node_parent, link);

        if (p->peer != NULL && strcmp(p->address, address) == 0) {
            return p;
        }
    }
    return NULL;
}

/* One session for all lanes whose trees have the same parent. */
static struct node_parent *feed_open(struct node_worker *w, const char *address)
{
    struct node_parent *p = feed_find(w, address);
    struct net_address to;

    if (p != NULL || net_address_parse(address, &to, NULL) != OK) {
        return p;
    }
    p = mem_zalloc(sizeof(*p));
    if (p == NULL) {
        return NULL;
    }
    *p = (struct node_parent){.kind = PEER_PARENT, .worker = w};
    (void)snprintf(p->address, sizeof(p->address), "%s", address);
    if (net_endpoint_dial(w->endpoint, w->config.transport, &to, w->config.streams, &p->peer) !=
        OK) {
        mem_free(p);
        return NULL;
    }
    net_peer_set_user(p->peer, p);
    list_init(&p->link);
    list_push_back(&w->parents, &p->link);
    return p;
}

static bool feed_uses(const struct node_worker *w, const struct node_parent *p)
{
    for (uint32_t i = 0; i < w->lanes_count; i++) {
        const struct node_feeding *f = &w->lanes[i]->feed;

        if (f->parent == p || f->next == p || f->old == p) {
            return true;
        }
    }
    return false;
}

/* Say good-bye to those that no lane's tree has for us any more. */
static void feed_sweep(struct node_worker *w)
{
    struct list *next;

    for (struct list *link = w->parents.next; link != &w->parents; link = next) {
        struct node_parent *p = LIST_ENTRY(link, struct node_parent, link);
        struct net_peer *peer = p->peer;

        next = link->next;
        if (!feed_uses(w, p)) {
            net_peer_set_user(peer, NULL);
            list_remove(&p->link);
            mem_free(p);
            net_peer_close(peer, "fed by another");
        }
    }
}

static void feed_end_old(struct worker_lane *k)
{
    struct node_parent *old = k->feed.old;

    k->feed.old = NULL;
    if (old != NULL && old->peer != NULL) {
        (void)feed_send(k->worker, old->peer, WIRE_FEED_END, k->number, 0, WIRE_FEED_FINE);
        feed_look_soon(k->worker);
    }
}

static void feed_say(struct worker_lane *k)
{
    struct node_feeding *f = &k->feed;
    enum wire_feed_kind kind = f->say == FEED_SAY_ON ? WIRE_FEED_ON : WIRE_FEED_OFF;

    if (f->say == FEED_SAY_NOTHING || k->peer == NULL) {
        return;
    }
    if (feed_send(k->worker, k->peer, kind, k->number, f->epoch,
                  f->say == FEED_SAY_ON ? WIRE_FEED_FINE : f->why) == OK) {
        f->say = FEED_SAY_NOTHING;
    } else {
        feed_look_soon(k->worker);
    }
}

/* The one that feeds us, or should, does not: the lane is to do it. */
static void feed_off(struct worker_lane *k, enum wire_feed_why why)
{
    struct node_feeding *f = &k->feed;

    f->parent = NULL;
    f->next = NULL;
    f->say = FEED_SAY_OFF;
    f->why = why;
    feed_say(k);
    feed_look_soon(k->worker);
}

static void feed_ask(struct worker_lane *k, struct node_parent *p)
{
    if (feed_send(k->worker, p->peer, WIRE_FEED_ASK, k->number, k->feed.epoch, WIRE_FEED_FINE) !=
        OK) {
        feed_off(k, WIRE_FEED_AWAY);
    }
}

static void feed_switch(struct worker_lane *k, struct node_parent *to)
{
    struct node_feeding *f = &k->feed;

    if (f->old != to) {
        feed_end_old(k);
    }
    f->old = f->parent == to ? NULL : f->parent;
    f->old_ns = feed_now(k->worker) + (int64_t)FEED_OLD_MS * 1000000;
    f->parent = to;
    f->next = NULL;
    feed_look_soon(k->worker);
}

/* The lane has decided on another parent. */
enum err node_feed_parent(struct worker_lane *k, const struct net_frame *frame)
{
    struct node_worker *w = k->worker;
    struct node_feeding *f = &k->feed;
    char address[NET_ADDRESS_BYTES];
    struct node_parent *p;
    struct wire_feed feed;

    if (wire_feed_decode(&frame->header, frame->body, frame->header.body_bytes, &feed) != OK ||
        feed.kind != WIRE_FEED_PARENT || !node_feed_tree(w)) {
        return ERR_PEER;
    }
    f->epoch = feed.epoch;
    f->say = FEED_SAY_NOTHING;
    f->next = NULL;
    if (feed.address_bytes == 0) {
        feed_switch(k, NULL);
        return OK;
    }
    (void)snprintf(address, sizeof(address), "%.*s", (int)feed.address_bytes, feed.address);
    p = feed_open(w, address);
    f->next = p;
    f->next_ns = feed_now(w);
    if (p == NULL) {
        feed_off(k, WIRE_FEED_AWAY);
    } else if (p->up) {
        feed_ask(k, p);
    }
    feed_look_soon(w);
    return OK;
}

void node_feed_parent_up(struct node_parent *p)
{
    p->up = true;
    for (uint32_t i = 0; i < p->worker->lanes_count; i++) {
        if (p->worker->lanes[i]->feed.next == p) {
            feed_ask(p->worker->lanes[i], p);
        }
    }
}

/* It is gone, or out of reach. @lost: the session is over. */
void node_feed_parent_down(struct node_parent *p, bool lost)
{
    struct node_worker *w = p->worker;

    p->up = false;
    if (lost) {
        net_peer_set_user(p->peer, NULL);
        p->peer = NULL;
        list_remove(&p->link);
    }
    for (uint32_t i = 0; i < w->lanes_count; i++) {
        struct node_feeding *f = &w->lanes[i]->feed;

        f->old = f->old == p ? NULL : f->old;
        if (f->parent == p || f->next == p) {
            feed_off(w->lanes[i], WIRE_FEED_AWAY);
        }
    }
    if (lost) {
        mem_free(p);
    }
}

enum err node_feed_parent_frame(struct node_parent *p, const struct net_frame *frame)
{
    struct node_worker *w = p->worker;
    struct wire_feed feed;
    struct worker_lane *k;

    switch (frame->header.type) {
    case WIRE_FEED:
        break;
    case WIRE_BROADCAST:
    case WIRE_SNAPSHOT_CHUNK:
        k = node_worker_lane_of(w, frame->header.table & (uint16_t)~WIRE_TABLE_PLANE,
                                frame->header.chunk);
        if (k->feed.parent != p && k->feed.old != p && k->feed.next != p) {
            return OK; /* It does not know yet. */
        }
        return frame->header.type == WIRE_BROADCAST ? node_copy_broadcast(k, frame)
                                                    : node_copy_snapshot(k, frame);
    default:
        return ERR_PEER;
    }
    if (wire_feed_decode(&frame->header, frame->body, frame->header.body_bytes, &feed) != OK ||
        feed.kind != WIRE_FEED_GIVEN || feed.lane >= w->lanes_count) {
        return ERR_PEER;
    }
    k = w->lanes[feed.lane];
    if (k->feed.next == p && feed.epoch == k->feed.epoch) {
        feed_switch(k, p);
        k->feed.say = FEED_SAY_ON;
        feed_say(k);
    }
    return OK;
}

/* What is due. */

static struct node_due *feed_due_at(struct node_feeding *f, uint32_t index)
{
    return &f->dues[(f->first + index) & (f->capacity - 1)];
}

static enum err feed_due_push(struct node_feeding *f, const struct node_due *due)
{
    if (f->count == f->capacity) {
        uint32_t capacity = f->capacity == 0 ? FEED_DUES_MIN : f->capacity * 2;
        struct node_due *dues =
            capacity > FEED_DUES_MAX ? NULL : mem_calloc(capacity, sizeof(*dues));

        if (dues == NULL) {
            return ERR_NOMEM;
        }
        for (uint32_t i = 0; i < f->count; i++) {
            dues[i] = *feed_due_at(f, i);
        }
        mem_free(f->dues);
        f->dues = dues;
        f->first = 0;
        f->capacity = capacity;
    }
    *feed_due_at(f, f->count++) = *due;
    return OK;
}

static bool feed_due_met(const struct node_worker *w, const struct node_due *due)
{
    return w->copies[due->index].version >= due->version;
}

/* How far the lane is, as far as this worker has all of it. */
void node_feed_progress(struct worker_lane *k)
{
    struct node_feeding *f = &k->feed;
    uint64_t reached = f->told;

    while (f->count > 0 && feed_due_met(k->worker, feed_due_at(f, 0))) {
        int64_t took_ns = feed_now(k->worker) - feed_due_at(f, 0)->at_ns;

        f->usual_ns += (took_ns - f->usual_ns) / 8;
        f->first++;
        f->count--;
    }
    if (f->count > 0) {
        uint64_t before = feed_due_at(f, 0)->before;

        reached = before < reached ? before : reached;
    }
    if (f->told_any && (!k->advanced_any || reached > k->advanced)) {
        k->advanced = reached > k->advanced ? reached : k->advanced;
        k->advanced_any = true;
        node_worker_progress(k->worker);
    }
}

void node_feed_told(struct worker_lane *k, uint64_t clock)
{
    k->feed.told = clock > k->feed.told ? clock : k->feed.told;
    k->feed.told_any = true;
    node_feed_progress(k);
}

enum err node_feed_due(struct worker_lane *k, const struct net_frame *frame)
{
    struct node_worker *w = k->worker;
    struct wire_due due;
    uint64_t before = k->feed.told;
    enum err rc = OK;

    if (wire_due_decode(&frame->header, frame->body, frame->header.body_bytes, &due) != OK ||
        !node_feed_tree(w) || w->copy == NULL) {
        return ERR_PEER;
    }
    /* Several rounds may have closed since the lane said last where it is. */
    before = due.clock <= before && due.clock > 0 ? due.clock - 1 : before;
    for (uint32_t i = 0; i < due.count && rc == OK; i++) {
        struct wire_due_item item = wire_due_item(&due, i);
        struct node_due entry = {.index = table_store_find(w->copy, due.table, item.chunk),
                                 .version = item.version,
                                 .before = before,
                                 .at_ns = feed_now(w)};

        if (entry.index != TABLE_STORE_NONE) {
            rc = node_worker_lane_of(w, due.table, item.chunk) == k
                     ? feed_due_push(&k->feed, &entry)
                     : ERR_PEER;
        }
    }
    feed_look_soon(w);
    return rc;
}

/* Wanting. */

static void feed_want_send(struct worker_lane *k, const struct wire_want *want)
{
    struct buf *frame;

    if (want->count > 0 && k->peer != NULL &&
        wire_want_encode(k->worker->config.pool, want, &frame) == OK &&
        net_peer_send_sealed(k->peer, NET_CONTROL, frame) != OK) {
        buf_unref(frame); /* Again after a while. */
    }
}

/* Ask for the chunks whole that are due and did not come, those of one table in one frame. */
static void feed_want(struct worker_lane *k)
{
    struct node_worker *w = k->worker;
    struct node_feeding *f = &k->feed;
    uint32_t chunks[WIRE_WANT_CHUNKS_MAX];
    struct wire_want want = {.chunks = chunks};

    for (uint32_t i = 0; i < f->count && want.count < WIRE_WANT_CHUNKS_MAX; i++) {
        const struct node_due *due = feed_due_at(f, i);
        struct node_copy *c = &w->copies[due->index];
        uint16_t table = table_store_table(w->copy, due->index);
        uint32_t chunk = table_store_chunk(w->copy, due->index);

        if (feed_due_met(w, due) || (want.count > 0 && table != want.table) ||
            feed_now(w) < c->wanted_ns || (want.count > 0 && chunk <= chunks[want.count - 1])) {
            continue;
        }
        want.table = table;
        chunks[want.count++] = chunk;
        c->wanted_ns = feed_now(w) + (int64_t)FEED_AGAIN_MS * 1000000;
    }
    feed_want_send(k, &want);
}

/* A sum came that follows one which did not. */
void node_feed_gap(struct worker_lane *k, uint32_t index)
{
    struct node_worker *w = k->worker;
    uint32_t chunk = table_store_chunk(w->copy, index);
    struct wire_want want = {
        .table = table_store_table(w->copy, index), .count = 1, .chunks = &chunk};

    if (feed_now(w) >= w->copies[index].wanted_ns) {
        w->copies[index].wanted_ns = feed_now(w) + (int64_t)FEED_AGAIN_MS * 1000000;
        feed_want_send(k, &want);
    }
}

static void feed_look(struct worker_lane *k)
{
    struct node_worker *w = k->worker;
    struct node_feeding *f = &k->feed;
    int64_t now_ns = feed_now(w);
    int64_t patience_ns = feed_detect_ns(w);
    int64_t age_ns = f->count > 0 ? now_ns - feed_due_at(f, 0)->at_ns : 0;

    feed_say(k);
    if (f->old != NULL && now_ns >= f->old_ns) {
        feed_end_old(k);
    }
    if (f->next != NULL && now_ns - f->next_ns >= patience_ns) {
        feed_off(k, WIRE_FEED_AWAY);
    }
    patience_ns = FEED_LATE * f->usual_ns > patience_ns ? FEED_LATE * f->usual_ns : patience_ns;
    if (f->count > 0 && f->parent != NULL && age_ns >= patience_ns) {
        feed_off(k, WIRE_FEED_SLOW);
    }
    if (f->count > 0 && f->parent == NULL && age_ns >= (int64_t)FEED_DIRECT_MS * 1000000) {
        feed_want(k);
    }
    if (f->count > 0 || f->old != NULL || f->next != NULL || f->say != FEED_SAY_NOTHING) {
        feed_look_soon(w);
    }
}

void node_feed_timer(struct loop_timer *timer, void *user)
{
    struct node_worker *w = user;

    (void)timer;
    for (uint32_t i = 0; i < w->lanes_count; i++) {
        feed_look(w->lanes[i]);
    }
    feed_sweep(w);
}

/* The lane counts us anew: it will decide anew. */
void node_feed_reset(struct worker_lane *k)
{
    struct node_feeding *f = &k->feed;

    mem_free(f->dues);
    *f = (struct node_feeding){0};
    if (!list_empty(&k->worker->parents)) {
        feed_look_soon(k->worker);
    }
}

void node_feed_close(struct node_worker *w)
{
    struct list *link;

    for (uint32_t i = 0; i < w->lanes_count; i++) {
        mem_free(w->lanes[i]->feed.dues);
    }
    while ((link = list_first(&w->parents)) != NULL) {
        list_remove(link);
        mem_free(LIST_ENTRY(link, struct node_parent, link));
    }
}

void node_feed_shift(struct worker_lane *k, uint32_t first, uint32_t count)
{
    struct node_feeding *f = &k->feed;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < f->count; i++) {
        struct node_due due = *feed_due_at(f, i);

        if (due.index >= first && due.index < first + count) {
            continue; /* Nothing of that table is due any more. */
        }
        due.index -= due.index >= first + count ? count : 0;
        *feed_due_at(f, kept++) = due;
    }
    f->count = kept;
}
