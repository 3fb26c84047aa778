/* By which way pieces go from group to group: who is hub now, what hubs gather and pass on. */

#include "base/mem.h"
#include "sync/mirror_state.h"

static bool mirror_works(const struct mirror *m, uint32_t site)
{
    const struct mirror_site *s = &m->sites[site];

    return site == MIRROR_SELF ? !m->fresh : s->up && s->greeted && !s->fresh;
}

/* The first of the group that works: those named, then any. */
static uint32_t mirror_first(const struct mirror *m, uint32_t group, uint32_t other)
{
    const struct mirror_hubs *h = &m->hubs[group * m->config.groups + other];

    for (uint32_t i = 0; i < h->count; i++) {
        if (mirror_works(m, h->sites[i])) {
            return h->sites[i];
        }
    }
    for (uint32_t i = 0; i < m->sites_count; i++) {
        if (m->sites[i].group == group && mirror_works(m, i)) {
            return i;
        }
    }
    return MIRROR_NOBODY;
}

uint32_t mirror_way_hop(const struct mirror *m, uint32_t group)
{
    const struct mirror_way *w = &m->ways[group];

    return w->near == MIRROR_SELF ? w->far : w->near;
}

bool mirror_is_straight(const struct mirror *m, uint32_t site, uint64_t number)
{
    const struct mirror_site *s = &m->sites[site];

    return m->config.groups == 0 || s->group == m->sites[MIRROR_SELF].group ||
           number <= s->direct || m->ways[s->group].near == MIRROR_NOBODY;
}

/* What is on its way may be lost: the sites of that group get it directly. */
static void mirror_way_change(struct mirror *m, uint32_t group, uint32_t near, uint32_t far)
{
    m->ways[group] =
        (struct mirror_way){.near = near, .far = far, .from = m->number, .marked = m->number};
    for (uint32_t i = 1; i < m->sites_count; i++) {
        struct mirror_site *s = &m->sites[i];

        if (s->group == group) {
            mirror_rewind(m, i, s->confirmed);
        }
        s->place = m->log_first;
    }
}

void mirror_ways_look(struct mirror *m, uint32_t restarted)
{
    uint32_t own = m->sites[MIRROR_SELF].group;

    for (uint32_t g = 0; g < m->config.groups; g++) {
        uint32_t near = g == own ? MIRROR_NOBODY : mirror_first(m, own, g);
        uint32_t far = g == own ? MIRROR_NOBODY : mirror_first(m, g, own);
        struct mirror_way *w = &m->ways[g];

        if (near == MIRROR_NOBODY || far == MIRROR_NOBODY) {
            near = far = MIRROR_NOBODY;
        }
        if (near != w->near || far != w->far ||
            (near != MIRROR_NOBODY && (restarted == near || restarted == far))) {
            mirror_way_change(m, g, near, far);
        }
    }
}

/* Gathering. */

bool mirror_goes(const struct mirror *m, uint32_t peer)
{
    const struct mirror_site *s = &m->sites[peer];

    return m->config.gather_ns == 0 || s->group == m->sites[MIRROR_SELF].group || s->flushing ||
           m->ways[s->group].near != MIRROR_SELF || m->ways[s->group].far != peer;
}

/* Whose marks a hub waits for before it sends on. */
static uint64_t mirror_expected(const struct mirror *m)
{
    uint64_t bits = 0;

    for (uint32_t i = 0; i < m->sites_count; i++) {
        const struct mirror_site *s = &m->sites[i];
        bool moves = i == MIRROR_SELF ? !m->done : !s->done && !s->left_out;

        if (s->group == m->sites[MIRROR_SELF].group && mirror_works(m, i) && moves) {
            bits |= mirror_bit(i);
        }
    }
    return bits;
}

void mirror_gathered(struct mirror *m, uint32_t site)
{
    uint64_t expected;

    if (m->config.groups == 0 || m->sites[site].group != m->sites[MIRROR_SELF].group) {
        return;
    }
    expected = mirror_expected(m);
    for (uint32_t g = 0; g < m->config.groups; g++) {
        struct mirror_site *far =
            m->ways[g].far == MIRROR_NOBODY ? NULL : &m->sites[m->ways[g].far];

        if (far == NULL || m->ways[g].near != MIRROR_SELF) {
            continue;
        }
        far->gathered |= mirror_bit(site);
        if ((far->gathered & expected) == expected) {
            far->gathered = 0;
            far->flushing = true;
        }
    }
}

/* Is there anything to send by that way, pieces or marks, of others or our own? */
static bool mirror_way_waits(const struct mirror *m, const struct mirror_way *w)
{
    const struct mirror_site *far = &m->sites[w->far];

    return !list_empty(&far->relays) || (far->passed_due | far->fenced_due) != 0 ||
           w->marked < m->number || w->marked_clock < m->clock;
}

void mirror_gather_tick(struct mirror *m, int64_t now_ns)
{
    for (uint32_t g = 0; g < m->config.groups; g++) {
        const struct mirror_way *w = &m->ways[g];
        struct mirror_site *far = w->far == MIRROR_NOBODY ? NULL : &m->sites[w->far];

        if (far == NULL || w->near != MIRROR_SELF || far->flushing) {
            continue;
        }
        if (!mirror_way_waits(m, w)) {
            far->waits_ns = MIRROR_NEVER;
        } else if (far->waits_ns == MIRROR_NEVER) {
            far->waits_ns = now_ns;
        } else if (now_ns - far->waits_ns >= m->config.gather_ns) {
            far->gathered = 0;
            far->flushing = true;
        }
    }
}

/* Passing on. */

void mirror_relays_drop(struct mirror *m, uint32_t site)
{
    struct mirror_site *s = &m->sites[site];
    struct list *link;

    while ((link = list_first(&s->relays)) != NULL) {
        list_remove(link);
        list_push_back(&m->released, link);
    }
    s->relays_bytes = 0;
    s->passed_due = s->fenced_due = 0;
    for (uint32_t i = 0; i < m->sites_count && s->passing != NULL; i++) {
        s->passing[i].lost = s->passing[i].number;
    }
}

uint64_t mirror_next_hops(const struct mirror *m, uint32_t peer, uint32_t groups)
{
    uint32_t own = m->sites[MIRROR_SELF].group;
    uint64_t hops = 0;

    for (uint32_t i = 1; i < m->sites_count && (groups >> own & 1) != 0; i++) {
        if (m->sites[i].group == own && i != peer && mirror_works(m, i)) {
            hops |= mirror_bit(i);
        }
    }
    for (uint32_t g = 0; g < m->config.groups; g++) {
        uint32_t far = g == own || (groups >> g & 1) == 0 ? MIRROR_NOBODY : mirror_first(m, g, own);

        hops |= far == MIRROR_NOBODY || far == peer ? 0 : mirror_bit(far);
    }
    return hops;
}

uint32_t mirror_hop_groups(const struct mirror *m, uint32_t hop)
{
    uint32_t group = m->sites[hop].group;

    return group == m->sites[MIRROR_SELF].group ? 0 : 1u << group;
}

static struct mirror_relay *mirror_relay(uint32_t chunk, uint64_t clock, uint32_t bytes,
                                         const struct mirror_range *ranges, uint32_t count)
{
    struct mirror_relay *r = mem_zalloc(sizeof(*r) + count * sizeof(*ranges));

    if (r != NULL) {
        r->chunk = chunk;
        r->clock = clock;
        r->bytes = bytes;
        r->count = count;
        for (uint32_t i = 0; i < count; i++) {
            r->ranges[i] = ranges[i];
        }
        list_init(&r->base.link);
    }
    return r;
}

/* Remember for whom it was, and whether it goes there. */
static void mirror_note_passing(struct mirror_site *to, const struct mirror_range *ranges,
                                uint32_t count, bool lost)
{
    for (uint32_t i = 0; i < count; i++) {
        struct mirror_passing *p = &to->passing[ranges[i].site];

        p->number = ranges[i].number > p->number ? ranges[i].number : p->number;
        p->lost = lost ? p->number : p->lost;
    }
}

enum err mirror_pass(struct mirror *m, uint32_t peer, uint32_t chunk, uint64_t clock,
                     uint32_t groups, const struct mirror_range *ranges, uint32_t count,
                     uint32_t bytes, void *(*keep)(void *user), void *user)
{
    uint64_t hops = mirror_next_hops(m, peer, groups);
    enum err rc = OK;

    for (uint32_t i = 1; i < m->sites_count && m->config.groups > 0; i++) {
        struct mirror_site *s = &m->sites[i];
        bool goes = (hops & mirror_bit(i)) != 0;
        struct mirror_relay *r = goes ? mirror_relay(chunk, clock, bytes, ranges, count) : NULL;

        if ((groups >> s->group & 1) != 0) {
            mirror_note_passing(s, ranges, count, r == NULL);
        }
        rc = goes && r == NULL ? ERR_NOMEM : rc;
        if (r != NULL) {
            r->base.token = keep(user);
            r->groups = mirror_hop_groups(m, i);
            r->made = ++s->relays_made;
            list_push_back(&s->relays, &r->base.link);
            s->relays_bytes += bytes;
        }
    }
    return rc;
}

void mirror_pass_failed(struct mirror *m, uint32_t groups, const struct mirror_range *ranges,
                        uint32_t count)
{
    for (uint32_t i = 1; i < m->sites_count && m->config.groups > 0; i++) {
        if ((groups >> m->sites[i].group & 1) != 0) {
            mirror_note_passing(&m->sites[i], ranges, count, true);
        }
    }
}

void mirror_pass_mark(struct mirror *m, uint32_t peer, const struct mirror_mark *mark)
{
    uint64_t hops = mirror_next_hops(m, peer, mark->groups);

    for (uint32_t i = 1; i < m->sites_count; i++) {
        struct mirror_site *s = &m->sites[i];
        struct mirror_passing *p = &s->passing[mark->site];
        uint64_t from = mark->from > p->lost ? mark->from : p->lost;

        if ((hops & mirror_bit(i)) == 0 || i == mark->site || from > mark->number) {
            continue;
        }
        if ((s->passed_due & mirror_bit(mark->site)) == 0 || from > p->mark.number ||
            from < p->mark.from) {
            p->mark = *mark;
        }
        p->mark.from = from;
        p->mark.number = mark->number > p->mark.number ? mark->number : p->mark.number;
        p->mark.clock = mark->clock > p->mark.clock ? mark->clock : p->mark.clock;
        p->mark.groups = mirror_hop_groups(m, i);
        p->mark.answer = 0;
        s->passed_due |= mirror_bit(mark->site);
    }
}
