/* What is next for a peer: pieces of our own, pieces of others, and marks behind them. */

#include "base/mem.h"
#include "sync/mirror_state.h"

/* By which ways a piece of ours is still to go to a peer. */
struct mirror_need {
    bool straight;
    uint32_t groups;
    bool later; /* It goes by the peer, but not yet. */
};

/* Now or later. */
static struct mirror_need mirror_lacks(const struct mirror *m, uint32_t peer,
                                       const struct mirror_piece *p)
{
    const struct mirror_site *s = &m->sites[peer];
    struct mirror_need need = {0};

    need.straight = p->number > s->confirmed && (p->sent & mirror_bit(peer)) == 0 &&
                    mirror_is_straight(m, peer, p->number);
    for (uint32_t g = 0; g < m->config.groups; g++) {
        const struct mirror_way *w = &m->ways[g];

        if (w->near != MIRROR_NOBODY && mirror_way_hop(m, g) == peer && p->number > w->from &&
            (p->passed >> g & 1) == 0) {
            need.groups |= 1u << g;
        }
    }
    return need;
}

/* Now. */
static struct mirror_need mirror_need(const struct mirror *m, uint32_t peer,
                                      const struct mirror_piece *p)
{
    struct mirror_need need = mirror_lacks(m, peer, p);

    if (need.groups != 0 && !mirror_goes(m, peer)) {
        need.groups = 0;
        need.later = true;
    }
    return need;
}

/* The first piece that can go to the peer now, or NULL. */
static struct mirror_piece *mirror_first_piece(struct mirror *m, uint32_t peer,
                                               struct mirror_need *need_out)
{
    struct mirror_site *s = &m->sites[peer];
    bool passed_over = true; /* So far nothing waits for the peer. */

    s->place = s->place < m->log_first ? m->log_first : s->place;
    for (uint64_t place = s->place; place < m->log_end; place++) {
        struct mirror_piece *p = mirror_at(m, place);
        struct mirror_need need;

        if (p->number > m->stored) {
            return NULL;
        }
        need = mirror_need(m, peer, p);
        if (need.straight || need.groups != 0) {
            *need_out = need;
            return p;
        }
        passed_over = passed_over && !need.later;
        if (passed_over) {
            s->place = place + 1;
        }
    }
    return NULL;
}

/* Add the piece's range to the frame's: one site, one range. */
static bool mirror_join(struct mirror_frame *out, const struct mirror_range *r)
{
    for (uint32_t i = 0; i < out->range_count; i++) {
        if (out->ranges[i].site == r->site) {
            if (out->ranges[i].number != r->prev) {
                return false;
            }
            out->ranges[i].number = r->number;
            return true;
        }
    }
    if (out->range_count == MIRROR_SITES_MAX) {
        return false;
    }
    out->ranges[out->range_count++] = *r;
    return true;
}

static bool mirror_take_piece(struct mirror_frame *out, struct mirror_piece *p)
{
    struct mirror_range range = {.site = MIRROR_SELF, .prev = p->prev, .number = p->number};

    if (out->token_count == MIRROR_MERGE_MAX || !mirror_join(out, &range)) {
        return false;
    }
    out->clock = p->clock > out->clock ? p->clock : out->clock;
    out->tokens[out->token_count++] = p->base.token;
    out->pieces[out->piece_count++] = p;
    return true;
}

/* All pieces of the chunk from @first on that go the same way and that nobody there can know. */
static void mirror_take_pieces(struct mirror *m, uint32_t peer, struct mirror_piece *first,
                               const struct mirror_need *need, struct mirror_frame *out)
{
    struct list *end = &m->pieces_of[first->chunk];

    out->straight = need->straight;
    out->passed = need->groups;
    out->groups |= need->groups;
    for (struct list *link = &first->base.link; link != end; link = link->next) {
        struct mirror_piece *p = mirror_piece_of(link);
        struct mirror_need its;

        if (p->number > m->stored ||
            (p != first && ((first->known | p->known) & mirror_bit(peer)) != 0)) {
            return;
        }
        its = mirror_need(m, peer, p);
        if (its.straight != need->straight || its.groups != need->groups ||
            !mirror_take_piece(out, p)) {
            return;
        }
    }
}

static bool mirror_take_relay(struct mirror_frame *out, struct mirror_relay *r)
{
    struct mirror_frame before;

    if (out->token_count == MIRROR_MERGE_MAX) {
        return false;
    }
    before = *out;
    for (uint32_t i = 0; i < r->count; i++) {
        if (!mirror_join(out, &r->ranges[i])) {
            *out = before;
            return false;
        }
    }
    out->clock = r->clock > out->clock ? r->clock : out->clock;
    out->groups |= r->groups;
    out->tokens[out->token_count++] = r->base.token;
    out->relays[out->relay_count++] = r;
    return true;
}

/* The first relay of the peer with all others of its chunk, and our own piece of it if it goes the
 * same way. */
static void mirror_take_relays(struct mirror *m, uint32_t peer, struct mirror_frame *out)
{
    struct mirror_site *s = &m->sites[peer];
    struct mirror_relay *first = mirror_relay_of(list_first(&s->relays));
    struct mirror_need need;

    out->kind = MIRROR_PIECE;
    out->chunk = first->chunk;
    LIST_FOREACH (link, &s->relays) {
        struct mirror_relay *r = mirror_relay_of(link);

        if (r->chunk == first->chunk && !mirror_take_relay(out, r)) {
            return;
        }
    }
    LIST_FOREACH (link, &m->pieces_of[first->chunk]) {
        struct mirror_piece *p = mirror_piece_of(link);

        if (p->number > m->stored) {
            return;
        }
        need = mirror_need(m, peer, p);
        if (!need.straight && need.groups != 0) {
            mirror_take_pieces(m, peer, p, &need, out);
            return;
        }
    }
}

/* How far all has gone of what @waits() does not hold back. */
struct mirror_extent {
    uint64_t number;
    uint64_t clock;
};

static struct mirror_extent mirror_extent(const struct mirror *m, uint64_t from,
                                          bool (*waits)(const struct mirror *m, uint32_t which,
                                                        const struct mirror_piece *p),
                                          uint32_t which)
{
    struct mirror_extent e = {.number = m->number,
                              .clock = m->clock < m->stored_clock ? m->clock : m->stored_clock};

    for (uint64_t place = from; place < m->log_end; place++) {
        const struct mirror_piece *p = mirror_at(m, place);

        if (waits(m, which, p)) {
            e.number = p->number - 1;
            e.clock = p->clock - 1 < e.clock ? p->clock - 1 : e.clock;
            break;
        }
    }
    return e;
}

/* Directly to a site: what has not gone, and what goes another way. */
static bool mirror_waits_site(const struct mirror *m, uint32_t site, const struct mirror_piece *p)
{
    return p->number > m->sites[site].confirmed &&
           (!mirror_is_straight(m, site, p->number) || (p->sent & mirror_bit(site)) == 0);
}

static bool mirror_waits_group(const struct mirror *m, uint32_t group, const struct mirror_piece *p)
{
    return p->number > m->ways[group].from && (p->passed >> group & 1) == 0;
}

/* To the site, or by it. */
static bool mirror_waits(const struct mirror *m, uint32_t site, const struct mirror_piece *p,
                         uint32_t *groups_out)
{
    struct mirror_need need = mirror_lacks(m, site, p);

    *groups_out = need.groups;
    return need.straight || need.groups != 0;
}

uint64_t mirror_waiting_bytes(const struct mirror *m, uint32_t site)
{
    uint64_t bytes = m->sites[site].relays_bytes;

    for (uint32_t c = 0; c < m->chunks_count; c++) {
        uint32_t most = 0, groups;

        LIST_FOREACH (link, &m->pieces_of[c]) {
            const struct mirror_piece *p = mirror_piece_of(link);

            most = mirror_waits(m, site, p, &groups) && p->bytes > most ? p->bytes : most;
        }
        bytes += most;
    }
    return bytes;
}

void *mirror_waiting(const struct mirror *m, uint32_t site, uint32_t index, uint32_t *groups_out)
{
    for (uint64_t place = m->log_first; place < m->log_end; place++) {
        const struct mirror_piece *p = mirror_at(m, place);

        if (mirror_waits(m, site, p, groups_out) && index-- == 0) {
            return p->base.token;
        }
    }
    LIST_FOREACH (link, &m->sites[site].relays) {
        if (index-- == 0) {
            *groups_out = mirror_relay_of(link)->groups;
            return mirror_relay_of(link)->base.token;
        }
    }
    return NULL;
}

void *mirror_newest(const struct mirror *m, uint32_t chunk, uint32_t site, uint32_t *groups_out)
{
    const struct mirror_piece *p =
        list_empty(&m->pieces_of[chunk]) ? NULL : mirror_piece_of(m->pieces_of[chunk].prev);

    return p != NULL && mirror_waits(m, site, p, groups_out) ? p->base.token : NULL;
}

static void mirror_mark_site(struct mirror *m, uint32_t peer, struct mirror_frame *out)
{
    const struct mirror_site *s = &m->sites[peer];
    /* Pieces before the place may go by a hub: they count as waiting. */
    uint64_t from = m->config.groups == 0 ? s->place : m->log_first;
    struct mirror_extent e = mirror_extent(m, from, mirror_waits_site, peer);

    if (!mirror_is_straight(m, peer, UINT64_MAX) && e.number > s->direct) {
        e.number = s->direct;
    }
    if (e.number >= s->from &&
        (e.number > s->marked || e.clock > s->marked_clock || s->unanswered)) {
        out->marks[out->mark_count++] = (struct mirror_mark){.site = MIRROR_SELF,
                                                             .answer = s->answered,
                                                             .whole = e.number >= s->direct,
                                                             .from = s->from,
                                                             .number = e.number,
                                                             .clock = e.clock};
    }
}

static void mirror_mark_groups(struct mirror *m, uint32_t peer, struct mirror_frame *out)
{
    for (uint32_t g = 0; g < m->config.groups; g++) {
        const struct mirror_way *w = &m->ways[g];
        struct mirror_extent e;

        if (w->near == MIRROR_NOBODY || mirror_way_hop(m, g) != peer ||
            out->mark_count == MIRROR_MARKS_MAX) {
            continue; /* What finds no place goes in the next. */
        }
        e = mirror_extent(m, m->log_first, mirror_waits_group, g);
        if (e.number >= w->from && (e.number > w->marked || e.clock > w->marked_clock)) {
            out->marks[out->mark_count++] = (struct mirror_mark){.site = MIRROR_SELF,
                                                                 .groups = 1u << g,
                                                                 .from = w->from,
                                                                 .number = e.number,
                                                                 .clock = e.clock};
        }
    }
}

/* Marks to pass on go behind the relays that are there now. On a link that is never idle relays
 * come all the time: behind all of them marks would never go. */
static void mirror_fence(const struct mirror *m, struct mirror_site *s)
{
    if (s->fenced_due != 0 || s->passed_due == 0) {
        return;
    }
    for (uint32_t i = 1; i < m->sites_count; i++) {
        if ((s->passed_due & mirror_bit(i)) != 0) {
            s->passing[i].fenced = s->passing[i].mark;
        }
    }
    s->fenced_due = s->passed_due;
    s->passed_due = 0;
    s->fence = s->relays_made;
}

static bool mirror_is_past_fence(const struct mirror_site *s)
{
    return list_empty(&s->relays) || mirror_relay_of(s->relays.next)->made > s->fence;
}

static void mirror_marks(struct mirror *m, uint32_t peer, struct mirror_frame *out)
{
    struct mirror_site *s = &m->sites[peer];

    out->mark_count = 0;
    mirror_mark_site(m, peer, out);
    if (mirror_goes(m, peer)) {
        mirror_mark_groups(m, peer, out);
        mirror_fence(m, s);
        for (uint32_t i = 1; i < m->sites_count && mirror_is_past_fence(s); i++) {
            if ((s->fenced_due & mirror_bit(i)) != 0 && out->mark_count < MIRROR_MARKS_MAX) {
                out->marks[out->mark_count++] = s->passing[i].fenced;
            }
        }
    }
    if (out->mark_count > 0) {
        out->kind = MIRROR_MARKS;
    }
}

/* Has a whole clock gone before this piece, and the peer does not know? */
static bool mirror_mark_first(const struct mirror *m, uint32_t peer, const struct mirror_piece *p,
                              const struct mirror_need *need)
{
    return need->straight && p->clock > m->sites[peer].marked_clock + 1;
}

void mirror_next(struct mirror *m, uint32_t peer, struct mirror_frame *out)
{
    struct mirror_site *s = &m->sites[peer];
    struct mirror_need need;
    struct mirror_piece *p;

    out->kind = MIRROR_NOTHING;
    out->groups = 0;
    out->clock = 0;
    out->range_count = out->token_count = out->relay_count = out->piece_count = 0;
    out->mark_count = 0;
    out->passed = 0;
    out->straight = false;
    if (!s->up || !s->greeted || s->fresh || m->fresh) {
        return;
    }
    if (!list_empty(&s->relays) && mirror_goes(m, peer)) {
        mirror_fence(m, s);
        if (s->fenced_due != 0 && mirror_is_past_fence(s)) {
            mirror_marks(m, peer, out);
        } else {
            mirror_take_relays(m, peer, out);
        }
        return;
    }
    p = mirror_first_piece(m, peer, &need);
    if (p == NULL || mirror_mark_first(m, peer, p, &need)) {
        mirror_marks(m, peer, out);
    }
    if (p != NULL && out->kind == MIRROR_NOTHING) {
        out->kind = MIRROR_PIECE;
        out->chunk = p->chunk;
        mirror_take_pieces(m, peer, p, &need, out);
    }
}

static void mirror_sent_mark(struct mirror *m, uint32_t peer, const struct mirror_mark *mark)
{
    struct mirror_site *s = &m->sites[peer];

    if (mark->site != MIRROR_SELF) {
        s->fenced_due &= ~mirror_bit(mark->site);
    } else if (mark->groups != 0) {
        struct mirror_way *w = &m->ways[__builtin_ctz(mark->groups)];

        w->marked = mark->number;
        w->marked_clock = mark->clock;
    } else {
        s->marked = mark->number;
        s->marked_clock = mark->clock;
        s->unanswered = false;
    }
}

static void mirror_sent_piece(struct mirror *m, uint32_t peer, struct mirror_piece *p,
                              const struct mirror_frame *frame)
{
    if (frame->straight) {
        p->sent |= mirror_bit(peer);
        p->known |= mirror_bit(peer);
        if (m->sites[peer].sent < p->number) {
            m->sites[peer].sent = p->number;
        }
    }
    m->sent = m->sent < p->number ? p->number : m->sent;
    p->passed |= frame->passed;
    for (uint32_t i = 1; i < m->sites_count && frame->passed != 0; i++) {
        struct mirror_site *s = &m->sites[i];

        if ((frame->passed >> s->group & 1) != 0) {
            p->known |= mirror_bit(i);
            s->sent = s->sent < p->number ? p->number : s->sent;
        }
    }
}

/* All that was gathered has gone. */
static void mirror_flushed(struct mirror *m, uint32_t peer)
{
    struct mirror_site *s = &m->sites[peer];
    struct mirror_need need;

    if (s->flushing && list_empty(&s->relays) && (s->passed_due | s->fenced_due) == 0 &&
        mirror_first_piece(m, peer, &need) == NULL) {
        s->flushing = false;
        s->waits_ns = MIRROR_NEVER;
    }
}

void mirror_sent(struct mirror *m, uint32_t peer, const struct mirror_frame *frame, int64_t now_ns)
{
    struct mirror_site *s = &m->sites[peer];

    if (s->confirmed >= s->sent) {
        s->moved_ns = now_ns;
    }
    for (uint32_t i = 0; i < frame->mark_count; i++) {
        mirror_sent_mark(m, peer, &frame->marks[i]);
    }
    for (uint32_t i = 0; i < frame->piece_count; i++) {
        mirror_sent_piece(m, peer, frame->pieces[i], frame);
    }
    for (uint32_t i = 0; i < frame->relay_count; i++) {
        struct mirror_relay *r = frame->relays[i];

        s->relays_bytes -= r->bytes;
        list_remove(&r->base.link);
        list_push_back(&m->released, &r->base.link);
    }
    if (frame->kind == MIRROR_MARKS) {
        mirror_flushed(m, peer);
    }
}
