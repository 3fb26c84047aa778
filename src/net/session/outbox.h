/* The sender's memory of a session: every frame that was not acknowledged yet, in the order of its
 * sequence numbers, bounded in frames and bytes. Knows buffers but no connections; pure otherwise.
 *
 *     base | acked . acked . . . | next
 *                  ^ cursor of each (slot, priority): what it sends next
 *
 * A session has one slot per stream. A frame belongs to one slot for its whole life, so that frames
 * of one chunk keep their order also across reconnects. */

#ifndef NET_SESSION_OUTBOX_H
#define NET_SESSION_OUTBOX_H

#include "base/limits.h"
#include "net/session/conn.h"
#include "net/session/window.h"

struct net_outbox_entry {
    struct wire_header header;
    struct buf *body; /* NULL if empty. */
    uint8_t slot;
    uint8_t priority;
    bool done;     /* Acknowledged; the body is gone. */
    bool reported; /* And told of: with reports, only then its place is free. */
    bool received; /* The other end has it, but has not acknowledged it yet. */
    bool sent;     /* On some connection, maybe a dead one. */
};

struct net_outbox_slot {
    bool attached;
    uint64_t cursor[NET_PRIORITIES];
};

/* Fields are private to net/session/outbox.c. */
struct net_outbox {
    struct net_outbox_entry *entries;
    uint32_t capacity; /* A power of two, or zero. */
    uint32_t frames_max;
    uint64_t bytes_max;
    uint64_t bytes;
    uint64_t base; /* Everything up to here is acknowledged, and reported if that is wanted. */
    uint64_t next;
    bool reports;
    uint64_t report_first; /* What is not reported yet lies from here */
    uint64_t report_last;  /* to here; none if this is below the first. */
    struct net_outbox_slot slots[LIMIT_STREAMS_PER_PEER];
};

void net_outbox_init(struct net_outbox *o, uint32_t frames_max, uint64_t bytes_max);
void net_outbox_deinit(struct net_outbox *o);

/* Add a frame for @slot; the outbox owns one reference to @body on OK. header->sequence is set.
 * ERR_AGAIN when full, ERR_NOMEM. */
MUST_USE enum err net_outbox_add(struct net_outbox *o, uint8_t slot, enum net_priority priority,
                                 struct wire_header *header, struct buf *body);

/* Another limit from now on. */
void net_outbox_limit(struct net_outbox *o, uint64_t bytes_max);

/* True if a frame with a body of that size would fit its limits. One does if there is no other. */
bool net_outbox_has_room(const struct net_outbox *o, uint32_t body_bytes);

/* The next frame to send on an attached @slot, or NULL; net_outbox_sent() moves on from it. */
struct net_outbox_entry *net_outbox_peek(struct net_outbox *o, uint8_t slot,
                                         enum net_priority priority);
void net_outbox_sent(struct net_outbox *o, struct net_outbox_entry *entry);

/* A connection for @slot is there; the other end says what it has received. Returns how many frames
 * will be sent again. */
uint32_t net_outbox_attach(struct net_outbox *o, uint8_t slot, const struct net_window *received);
void net_outbox_detach(struct net_outbox *o, uint8_t slot);

/* Strike off what the other end acknowledged. ERR_PEER if some of that was never sent to it: then
 * nothing is struck off. */
MUST_USE enum err net_outbox_ack(struct net_outbox *o, const struct wire_window *acked);

/* Have every acknowledged frame reported; before the first one is added. */
void net_outbox_want_reports(struct net_outbox *o);

/* Tell of the next frame that was acknowledged, in the order of numbers; false: no more. Frames may
 * be added between two calls. After each net_outbox_ack() it must be called until there are no
 * more. */
bool net_outbox_report(struct net_outbox *o, struct wire_header *out);

static inline uint64_t net_outbox_base(const struct net_outbox *o)
{
    return o->base;
}

/* Frames and bytes not yet acknowledged. */
static inline uint64_t net_outbox_frames(const struct net_outbox *o)
{
    return o->next - o->base - 1;
}

static inline uint64_t net_outbox_bytes(const struct net_outbox *o)
{
    return o->bytes;
}

/* The lowest clock of the frames after @sequence that are not acknowledged and that @wanted
 * selects; UINT64_MAX: there are none. */
uint64_t net_outbox_clock_min(const struct net_outbox *o, uint64_t sequence,
                              bool (*wanted)(const struct wire_header *header));

/* True while at most half of it is in use. */
bool net_outbox_roomy(const struct net_outbox *o);

#endif
