/* A session of a lane: what comes in on a stream is dealt with in the order it came. If the head
 * must wait (for the barrier, for its turn, for room), all behind it on that stream wait too; other
 * streams go on, for what the head waits for may come there. The sender's window bounds how much
 * waits. */

#include "base/mem.h"
#include "node/lane/state.h"

#include <string.h>

enum { NODE_HELD_MIN = 16 };

bool node_session_is_worker(const struct node_session *s)
{
    return net_peer_identity(s->peer)->role == WIRE_ROLE_WORKER;
}

enum err node_session_open(struct node_lane *l, struct net_peer *peer)
{
    struct node_session *s = mem_zalloc(sizeof(*s));

    if (s == NULL) {
        return ERR_NOMEM;
    }
    s->lane = l;
    s->peer = peer;
    s->rank = NODE_RANK_ANY;
    s->dirty_words = (l->chunks_count + 63) / 64;
    s->dirty = mem_calloc((size_t)s->dirty_words + 1, sizeof(*s->dirty));
    if (s->dirty == NULL) {
        mem_free(s);
        return ERR_NOMEM;
    }
    list_init(&s->link);
    list_init(&s->refused);
    list_push_back(&l->sessions, &s->link);
    node_room_open(s);
    net_peer_set_user(peer, s);
    return OK;
}

static struct node_deferred_frame *node_inbox_at(struct node_inbox *b, uint32_t index)
{
    return &b->held[(b->first + index) & (b->capacity - 1)];
}

/* The stream that a frame came on: as the sender chose it (net/session/peer.c). */
static struct node_inbox *node_session_inbox(struct node_session *s,
                                             const struct wire_header *header)
{
    return &s->inboxes[wire_stream(header, net_peer_streams(s->peer))];
}

static void node_inbox_pop(struct node_session *s, struct node_inbox *b)
{
    buf_unref(node_inbox_at(b, 0)->body);
    b->first++;
    b->count--;
    b->cursor = 0;
    s->held_count--;
    s->lane->held_frames--;
}

void node_session_free(struct node_session *s)
{
    for (uint32_t i = 0; i < LIMIT_STREAMS_PER_PEER; i++) {
        while (s->inboxes[i].count > 0) {
            node_inbox_pop(s, &s->inboxes[i]);
        }
        mem_free(s->inboxes[i].held);
    }
    node_claim_drop_all(s);
    node_room_close(s);
    list_remove(&s->link);
    net_peer_set_user(s->peer, NULL);
    mem_free(s->dirty);
    mem_free(s->offered);
    mem_free(s);
}

void node_session_close(struct node_session *s)
{
    struct node_lane *l = s->lane;
    uint32_t rank = s->rank;
    bool present = rank != NODE_RANK_ANY && l->by_rank[rank] == s;

    if (present) {
        l->by_rank[rank] = NULL;
    }
    node_session_free(s);
    if (present) {
        node_exec_leave(l, rank);
    }
    if (l->restoring) {
        node_restore_look(l);
    }
}

static enum err node_inbox_grow(struct node_inbox *b)
{
    uint32_t capacity = b->capacity == 0 ? NODE_HELD_MIN : b->capacity * 2;
    struct node_deferred_frame *held;

    if (capacity > LIMIT_WINDOW_FRAMES) {
        return ERR_PEER; /* More than its window. */
    }
    held = mem_calloc(capacity, sizeof(*held));
    if (held == NULL) {
        return ERR_NOMEM;
    }
    for (uint32_t i = 0; i < b->count; i++) {
        held[i] = *node_inbox_at(b, i);
    }
    mem_free(b->held);
    b->held = held;
    b->first = 0;
    b->capacity = capacity;
    return OK;
}

static enum err node_session_hold(struct node_session *s, struct node_inbox *b,
                                  const struct net_frame *frame)
{
    struct buf *body = NULL;
    enum err rc = OK;

    if (b->count == b->capacity) {
        rc = node_inbox_grow(b);
    }
    if (rc == OK && frame->header.body_bytes > 0) {
        rc = net_frame_keep(frame, s->lane->pool, &body);
    }
    if (rc != OK) {
        return rc == ERR_AGAIN ? ERR_NOMEM : rc;
    }
    *node_inbox_at(b, b->count++) =
        (struct node_deferred_frame){.header = frame->header, .body = body};
    s->held_count++;
    s->lane->held_frames++;
    return OK;
}

static bool node_session_waits(const struct node_session *s)
{
    return s->state == NODE_NEW || s->state == NODE_ASKED;
}

enum err node_session_take(struct node_session *s, const struct net_frame *frame)
{
    struct node_inbox *b = node_session_inbox(s, &frame->header);
    struct node_item item = {
        .header = &frame->header, .body = frame->body, .frame = frame, .cursor = &b->cursor};
    enum err rc;

    if (b->count > 0 || node_session_waits(s)) {
        return node_session_hold(s, b, frame);
    }
    rc = node_take_item(s, &item);
    return rc == ERR_AGAIN ? node_session_hold(s, b, frame) : rc;
}

static void node_inbox_drain(struct node_session *s, struct node_inbox *b)
{
    while (b->count > 0 && !node_session_waits(s)) {
        struct node_deferred_frame *h = node_inbox_at(b, 0);
        struct node_item item = {.header = &h->header,
                                 .body = h->body == NULL ? NULL : buf_bytes(h->body),
                                 .held = h->body,
                                 .cursor = &b->cursor};
        enum err rc = node_take_item(s, &item);

        if (rc == ERR_AGAIN) {
            return;
        }
        if (rc != OK) {
            /* It broke the protocol, though long ago. */
            net_peer_close(s->peer, "an update that does not decode");
        }
        node_inbox_pop(s, b);
    }
}

void node_session_drain(struct node_session *s)
{
    for (uint32_t i = 0; i < LIMIT_STREAMS_PER_PEER && s->held_count > 0 && !s->lane->refused;
         i++) {
        node_inbox_drain(s, &s->inboxes[i]);
    }
}

const struct wire_header *node_session_head(const struct node_session *s)
{
    for (uint32_t i = 0; i < LIMIT_STREAMS_PER_PEER; i++) {
        const struct node_inbox *b = &s->inboxes[i];

        if (b->count > 0) {
            return &b->held[b->first & (b->capacity - 1)].header;
        }
    }
    return NULL;
}
