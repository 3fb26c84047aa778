#include "net/session/outbox.h"

#include "base/buf.h"
#include "base/mem.h"

enum { NET_OUTBOX_FIRST = 16 };

void net_outbox_init(struct net_outbox *o, uint32_t frames_max, uint64_t bytes_max)
{
    CHECK(frames_max <= LIMIT_WINDOW_FRAMES);
    *o = (struct net_outbox){
        .frames_max = frames_max, .bytes_max = bytes_max, .next = 1, .report_first = UINT64_MAX};
}

void net_outbox_want_reports(struct net_outbox *o)
{
    CHECK(o->next == 1);
    o->reports = true;
}

static struct net_outbox_entry *net_outbox_at(const struct net_outbox *o, uint64_t sequence)
{
    return &o->entries[sequence & (o->capacity - 1)];
}

void net_outbox_deinit(struct net_outbox *o)
{
    for (uint64_t s = o->base + 1; s < o->next; s++) {
        struct net_outbox_entry *e = net_outbox_at(o, s);

        if (!e->done) {
            buf_unref(e->body);
        }
    }
    mem_free(o->entries);
    *o = (struct net_outbox){0};
}

static enum err net_outbox_grow(struct net_outbox *o)
{
    uint32_t capacity = o->capacity == 0 ? NET_OUTBOX_FIRST : o->capacity * 2;
    struct net_outbox_entry *entries = mem_calloc(capacity, sizeof(*entries));

    if (entries == NULL) {
        return ERR_NOMEM;
    }
    for (uint64_t s = o->base + 1; s < o->next; s++) {
        entries[s & (capacity - 1)] = *net_outbox_at(o, s);
    }
    mem_free(o->entries);
    o->entries = entries;
    o->capacity = capacity;
    return OK;
}

bool net_outbox_has_room(const struct net_outbox *o, uint32_t body_bytes)
{
    return net_outbox_frames(o) < o->frames_max &&
           (o->bytes == 0 || o->bytes + WIRE_HEADER_BYTES + body_bytes <= o->bytes_max);
}

void net_outbox_limit(struct net_outbox *o, uint64_t bytes_max)
{
    o->bytes_max = bytes_max;
}

enum err net_outbox_add(struct net_outbox *o, uint8_t slot, enum net_priority priority,
                        struct wire_header *header, struct buf *body)
{
    uint64_t frames = net_outbox_frames(o);
    uint64_t bytes = WIRE_HEADER_BYTES + header->body_bytes;

    CHECK(slot < LIMIT_STREAMS_PER_PEER);
    if (!net_outbox_has_room(o, header->body_bytes)) {
        return ERR_AGAIN;
    }
    if (frames >= o->capacity) {
        enum err rc = net_outbox_grow(o);

        if (rc != OK) {
            return rc;
        }
    }
    header->sequence = o->next++;
    *net_outbox_at(o, header->sequence) = (struct net_outbox_entry){
        .header = *header, .body = body, .slot = slot, .priority = (uint8_t)priority};
    o->bytes += bytes;
    return OK;
}

struct net_outbox_entry *net_outbox_peek(struct net_outbox *o, uint8_t slot,
                                         enum net_priority priority)
{
    struct net_outbox_slot *s = &o->slots[slot];
    uint64_t *cursor = &s->cursor[priority];

    if (!s->attached) {
        return NULL;
    }
    if (*cursor <= o->base) {
        *cursor = o->base + 1;
    }
    for (; *cursor < o->next; (*cursor)++) {
        struct net_outbox_entry *e = net_outbox_at(o, *cursor);

        if (e->slot == slot && e->priority == priority && !e->done && !e->received) {
            return e;
        }
    }
    return NULL;
}

void net_outbox_sent(struct net_outbox *o, struct net_outbox_entry *e)
{
    struct net_outbox_slot *s = &o->slots[e->slot];

    CHECK(s->attached && s->cursor[e->priority] == e->header.sequence);
    s->cursor[e->priority]++;
    e->sent = true;
}

uint32_t net_outbox_attach(struct net_outbox *o, uint8_t slot, const struct net_window *received)
{
    uint32_t again = 0;

    o->slots[slot] = (struct net_outbox_slot){.attached = true};
    for (uint64_t q = o->base + 1; q < o->next; q++) {
        struct net_outbox_entry *e = net_outbox_at(o, q);

        if (e->slot == slot && !e->done) {
            /* Nobody has what was never sent, whatever they say: it would be lost. */
            e->received = e->sent && net_window_judge(received, q) == NET_WINDOW_DUPLICATE;
            if (e->sent && !e->received) {
                e->header.flags |= WIRE_FLAG_RESENT;
                again++;
            }
        }
    }
    return again;
}

void net_outbox_detach(struct net_outbox *o, uint8_t slot)
{
    o->slots[slot].attached = false;
}

/* A report of that frame is due. */
static void net_outbox_owe(struct net_outbox *o, uint64_t sequence)
{
    if (sequence < o->report_first) {
        o->report_first = sequence;
    }
    if (sequence > o->report_last) {
        o->report_last = sequence;
    }
}

static void net_outbox_finish(struct net_outbox *o, struct net_outbox_entry *e)
{
    if (!e->done) {
        e->done = true;
        o->bytes -= WIRE_HEADER_BYTES + e->header.body_bytes;
        buf_unref(e->body);
        e->body = NULL;
        if (o->reports) {
            net_outbox_owe(o, e->header.sequence);
        }
    }
}

/* Forget what nobody needs any more. */
static void net_outbox_advance(struct net_outbox *o)
{
    while (o->base + 1 < o->next) {
        const struct net_outbox_entry *e = net_outbox_at(o, o->base + 1);

        if (!e->done || (o->reports && !e->reported)) {
            return;
        }
        o->base++;
    }
}

/* Finish what stands at @sequence, or with @judge only see whether it was sent. */
static bool net_outbox_strike(struct net_outbox *o, uint64_t sequence, bool judge)
{
    if (sequence <= o->base) {
        return true;
    }
    if (sequence >= o->next || !net_outbox_at(o, sequence)->sent) {
        return false;
    }
    if (!judge) {
        net_outbox_finish(o, net_outbox_at(o, sequence));
    }
    return true;
}

static bool net_outbox_strike_all(struct net_outbox *o, const struct wire_window *acked, bool judge)
{
    for (uint64_t s = o->base + 1; s <= acked->base; s++) {
        if (!net_outbox_strike(o, s, judge)) {
            return false;
        }
    }
    for (uint32_t word = 0; word < WIRE_WINDOW_WORDS; word++) {
        for (uint64_t bits = acked->bits[word]; bits != 0; bits &= bits - 1) {
            uint64_t s = acked->base + 1 + (uint64_t)word * 64 + (uint64_t)__builtin_ctzll(bits);

            if (!net_outbox_strike(o, s, judge)) {
                return false;
            }
        }
    }
    return true;
}

enum err net_outbox_ack(struct net_outbox *o, const struct wire_window *acked)
{
    if (!net_outbox_strike_all(o, acked, true)) {
        return ERR_PEER;
    }
    CHECK(o->report_first > o->report_last);
    (void)net_outbox_strike_all(o, acked, false);
    net_outbox_advance(o);
    return OK;
}

bool net_outbox_report(struct net_outbox *o, struct wire_header *out)
{
    while (o->reports && o->report_first <= o->report_last) {
        uint64_t sequence = o->report_first++;
        struct net_outbox_entry *e = net_outbox_at(o, sequence);

        /* What is between may not be acknowledged, or was reported before and is gone. */
        if (sequence > o->base && e->done && !e->reported) {
            e->reported = true;
            *out = e->header;
            net_outbox_advance(o);
            return true;
        }
    }
    o->report_first = UINT64_MAX;
    o->report_last = 0;
    return false;
}

uint64_t net_outbox_clock_min(const struct net_outbox *o, uint64_t sequence,
                              bool (*wanted)(const struct wire_header *header))
{
    uint64_t min = UINT64_MAX;

    for (uint64_t q = (sequence > o->base ? sequence : o->base) + 1; q < o->next; q++) {
        const struct net_outbox_entry *e = net_outbox_at(o, q);

        if (!e->done && e->header.clock < min && wanted(&e->header)) {
            min = e->header.clock;
        }
    }
    return min;
}

bool net_outbox_roomy(const struct net_outbox *o)
{
    return net_outbox_frames(o) <= o->frames_max / 2 && o->bytes <= o->bytes_max / 2;
}
