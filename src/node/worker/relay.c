/* A worker in a broadcast tree, as a parent (F8): what comes from a lane goes on to its children as
 * it comes, unopened, each version of a chunk once.
 *
 * Children that are slow have what is for them wait here, up to a limit of all of them together;
 * beyond it, it is dropped, and the child asks the lane. Nothing is ever left unread for want of
 * room here: in the trees of several lanes two workers may be each other's parents. */

#include "base/mem.h"
#include "node/worker/state.h"
#include "obs/metric.h"
#include "wire/feed.h"

#include <stdio.h>
#include <string.h>

enum { RELAY_QUEUE_MIN = 64, RELAY_WAITING_MB = 256 };

/* What waits for a child. */
struct node_pass {
    struct wire_header header;
    struct buf *body;
};

struct node_child {
    enum node_peer_kind kind;
    struct list link;
    struct node_worker *worker;
    struct net_peer *peer;
    uint64_t lanes[NODE_LANES_MAX / 64]; /* Whose sums it wants. */
    struct node_pass *passes;            /* A ring. */
    uint32_t first;
    uint32_t count;
    uint32_t capacity; /* Zero or a power of two. */
};

/* Any port, on the interface that the servers are reached by, or on all of that family. */
static struct net_address relay_default(const struct node_worker *w)
{
    const struct net_address *first = &w->config.first;
    struct net_address at = {.scheme = first->scheme};
    bool loopback = strncmp(first->host, "127.", 4) == 0 || strcmp(first->host, "::1") == 0 ||
                    strcmp(first->host, "localhost") == 0;
    bool v6 = strchr(first->host, ':') != NULL;

    (void)snprintf(at.host, sizeof(at.host), "%s",
                   loopback && v6 ? "::1"
                   : loopback     ? "127.0.0.1"
                   : v6           ? "::"
                                  : "0.0.0.0");
    (void)snprintf(at.port, sizeof(at.port), "0");
    return at;
}

static enum err relay_count(struct node_worker *w)
{
    struct node_relay_counters *c = &w->relay_counters;
    const struct {
        struct obs_counter **counter;
        struct obs_desc desc;
    } rows[] = {
        {&c->frames,
         {.name = "strait_tree_passed_total", .help = "Frames passed on to other workers."}},
        {&c->bytes, {.name = "strait_tree_passed_bytes_total", .help = "Bytes of these."}},
        {&c->dropped,
         {.name = "strait_tree_dropped_total",
          .help = "Frames not passed on for want of room; who misses them asks the server."}},
    };
    enum err rc = OK;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && rc == OK; i++) {
        rc = obs_counter_create(w->config.registry, &rows[i].desc, rows[i].counter);
    }
    return rc;
}

enum err node_relay_listen(struct node_worker *w)
{
    const struct node_worker_config *c = &w->config;
    struct net_address at = c->relay.host[0] != '\0' ? c->relay : relay_default(w);
    struct err_text text = {""};
    struct net_address bound;
    enum err rc;

    if (!node_feed_tree(w) || c->relay_off || w->relay[0] != '\0' || at.scheme == NET_SCHEME_UNIX) {
        return OK;
    }
    rc = relay_count(w);
    if (rc != OK) {
        return rc;
    }
    rc = net_endpoint_listen(w->endpoint, c->transport, &at, &bound, &text);
    if (rc != OK) {
        node_worker_notice(w, "cannot pass sums on to other workers: %s", text.text);
        return rc == ERR_NOMEM ? rc : OK;
    }
    (void)net_address_format(&bound, w->relay);
    return OK;
}

/* Without certificates names mean nothing. */
static bool relay_stranger(const struct node_worker *w, struct net_peer *peer)
{
    const struct pki_identity *who = net_peer_identity(peer);

    return who->role != WIRE_ROLE_WORKER ||
           (!w->config.insecure && strcmp(who->site, w->config.identity.site) != 0);
}

enum err node_relay_came(struct node_worker *w, struct net_peer *peer)
{
    struct node_child *c;

    if (relay_stranger(w, peer)) {
        net_peer_close(peer, "this is a worker, and feeds workers of its site only");
        return OK;
    }
    c = mem_zalloc(sizeof(*c));
    if (c == NULL) {
        return ERR_NOMEM;
    }
    *c = (struct node_child){.kind = PEER_CHILD, .worker = w, .peer = peer};
    list_init(&c->link);
    list_push_back(&w->children, &c->link);
    net_peer_set_user(peer, c);
    return OK;
}

static struct node_pass *relay_at(struct node_child *c, uint32_t index)
{
    return &c->passes[(c->first + index) & (c->capacity - 1)];
}

static void relay_pop(struct node_child *c)
{
    struct node_pass *p = relay_at(c, 0);

    c->worker->waiting_bytes -= buf_size(p->body);
    buf_unref(p->body);
    c->first++;
    c->count--;
}

static void relay_free(struct node_child *c)
{
    while (c->count > 0) {
        relay_pop(c);
    }
    list_remove(&c->link);
    net_peer_set_user(c->peer, NULL);
    mem_free(c->passes);
    mem_free(c);
}

void node_relay_gone(struct node_child *c)
{
    relay_free(c);
}

void node_relay_close(struct node_worker *w)
{
    struct list *link;

    while ((link = list_first(&w->children)) != NULL) {
        relay_free(LIST_ENTRY(link, struct node_child, link));
    }
}

enum err node_relay_frame(struct node_child *c, const struct net_frame *frame)
{
    struct node_worker *w = c->worker;
    struct wire_feed feed, given;
    struct buf *out;
    uint64_t bit;
    enum err rc;

    if (frame->header.type != WIRE_FEED ||
        wire_feed_decode(&frame->header, frame->body, frame->header.body_bytes, &feed) != OK ||
        (feed.kind != WIRE_FEED_ASK && feed.kind != WIRE_FEED_END) || feed.lane >= NODE_LANES_MAX) {
        return ERR_PEER;
    }
    bit = UINT64_C(1) << (feed.lane % 64);
    if (feed.kind == WIRE_FEED_END) {
        c->lanes[feed.lane / 64] &= ~bit;
        return OK;
    }
    given = (struct wire_feed){
        .kind = WIRE_FEED_GIVEN, .lane = feed.lane, .epoch = feed.epoch, .rank = w->rank};
    rc = wire_feed_encode(w->config.pool, &given, &out);
    if (rc == OK) {
        rc = net_peer_send_sealed(c->peer, NET_CONTROL, out);
        if (rc != OK) {
            buf_unref(out);
        }
    }
    if (rc != OK) {
        return ERR_NOMEM; /* It asks again. */
    }
    c->lanes[feed.lane / 64] |= bit;
    return OK;
}

/* The session says when there is room again, and nobody when there is memory. */
static enum err relay_send(struct node_child *c, struct wire_header header, struct buf *body)
{
    enum err rc = ERR_AGAIN;

    if (net_peer_has_room(c->peer, header.body_bytes)) {
        rc = net_peer_send(c->peer, NET_DATA, &header, buf_ref(body));
        if (rc != OK) {
            buf_unref(body);
            loop_timer_start_in(&c->worker->poll, (int64_t)WORKER_POLL_MS * 1000000);
        }
    }
    return rc;
}

void node_relay_flush(struct node_child *c)
{
    while (c->count > 0) {
        struct node_pass *p = relay_at(c, 0);

        if (relay_send(c, p->header, p->body) != OK) {
            return;
        }
        relay_pop(c);
    }
}

void node_relay_flush_all(struct node_worker *w)
{
    LIST_FOREACH (link, &w->children) {
        node_relay_flush(LIST_ENTRY(link, struct node_child, link));
    }
}

static enum err relay_wait(struct node_child *c, const struct wire_header *header, struct buf *body)
{
    struct node_worker *w = c->worker;
    uint64_t most =
        w->config.relay_bytes == 0 ? (uint64_t)RELAY_WAITING_MB << 20 : w->config.relay_bytes;

    if (w->waiting_bytes + buf_size(body) > most) {
        return ERR_AGAIN;
    }
    if (c->count == c->capacity) {
        uint32_t capacity = c->capacity == 0 ? RELAY_QUEUE_MIN : c->capacity * 2;
        struct node_pass *passes = mem_calloc(capacity, sizeof(*passes));

        if (passes == NULL) {
            return ERR_NOMEM;
        }
        for (uint32_t i = 0; i < c->count; i++) {
            passes[i] = *relay_at(c, i);
        }
        mem_free(c->passes);
        c->passes = passes;
        c->first = 0;
        c->capacity = capacity;
    }
    *relay_at(c, c->count++) = (struct node_pass){.header = *header, .body = buf_ref(body)};
    w->waiting_bytes += buf_size(body);
    return OK;
}

static void relay_passed(struct node_worker *w, const struct wire_header *header)
{
    uint64_t bytes = WIRE_HEADER_BYTES + (uint64_t)header->body_bytes;

    w->passed.frames++;
    w->passed.bytes += bytes;
    obs_counter_add(w->relay_counters.frames, 1);
    obs_counter_add(w->relay_counters.bytes, bytes);
}

static void relay_dropped(struct node_worker *w)
{
    w->passed.dropped++;
    obs_counter_add(w->relay_counters.dropped, 1);
}

static void relay_pass(struct node_child *c, const struct wire_header *header, struct buf *body)
{
    if ((c->count == 0 && relay_send(c, *header, body) == OK) ||
        relay_wait(c, header, body) == OK) {
        relay_passed(c->worker, header);
    } else {
        relay_dropped(c->worker);
    }
}

void node_relay_pass(struct worker_lane *k, const struct net_frame *frame)
{
    struct node_worker *w = k->worker;
    struct buf *body = NULL;

    LIST_FOREACH (link, &w->children) {
        struct node_child *c = LIST_ENTRY(link, struct node_child, link);

        if ((c->lanes[k->number / 64] >> (k->number % 64) & 1) == 0) {
            continue;
        }
        if (body == NULL && net_frame_keep(frame, w->config.pool, &body) != OK) {
            relay_dropped(w); /* No buffer: the child asks for it. */
            continue;
        }
        relay_pass(c, &frame->header, body);
    }
    buf_unref(body);
}

/* Is anything on its way to a child? */
bool node_relay_busy(const struct node_worker *w)
{
    LIST_FOREACH (link, &w->children) {
        const struct node_child *c = LIST_ENTRY(link, struct node_child, link);
        struct net_peer_stats stats;

        net_peer_stats(c->peer, &stats);
        if (net_peer_is_up(c->peer) && (c->count > 0 || stats.unacked_frames > 0)) {
            return true;
        }
    }
    return false;
}
