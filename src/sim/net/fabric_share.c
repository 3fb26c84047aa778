/* Max-min fairness, kept up to date by looking only at the flows that a change concerns.
 *
 * Theory. An allocation is max-min fair if no flow can get more without another flow, of the same
 * rate or a lower one, getting less. It is so exactly when every flow is at its cap or has a
 * *bottleneck*, a full link on which no flow is faster, and there is only one such allocation.
 * Water-filling finds it: raise all rates together, and whenever a link fills up, freeze the flows
 * on it.
 *
 * Changes. All flows have their bottlenecks when a change comes. The flows that start, and those
 * that have their bottleneck on a touched link, are *freed*: they give their rates back and are
 * filled again, from zero. The others are *fixed*. While the water rises, a fixed flow is freed
 * only when the theorem fails for it, which can happen in two ways:
 *
 *   - a link fills up at a level below the flow's rate: the flow must yield;
 *   - the water comes to the level of the flow's group, and its bottleneck is not full any more,
 *     or a freed flow on it is still rising: the group must rise with it.
 *
 * In both cases the flow's rate is at or above the water. A link that filled up earlier carries no
 * fixed flow faster than its level, so what was filled before stays right, and nothing is done
 * twice: the cost is that of the freed flows, and the rest of the network is never looked at.
 *
 * Rounding. A share is rounded down to a unit; a full link keeps less than one unit per member for
 * itself. That is the only inexactness, and it makes no flow free another: what differs from the
 * level of a link's members by such a remainder is that level. */

#include "sim/net/fabric_state.h"

void fabric_share_link_note(struct sim_fabric *f, uint32_t link)
{
    if (!f->links[link].dirty) {
        f->links[link].dirty = true;
        f->dirty[f->dirty_count++] = link;
    }
}

void fabric_share_flow_note(struct sim_fabric *f, uint32_t flow)
{
    if (!f->flows[flow].changed) {
        f->flows[flow].changed = true;
        f->changed[f->changed_count++] = flow;
    }
}

void fabric_share_carry(struct sim_fabric *f, struct fabric_link *l)
{
    if (l->carried_ns != f->now_ns) {
        l->carried += (fabric_work)l->load * (f->now_ns - l->carried_ns);
        l->carried_ns = f->now_ns;
    }
}

/* The active flows of a link: a list of hops, linked through the flows. */

static uint32_t fabric_hop_flow(uint32_t hop)
{
    return hop >> FABRIC_HOP_SHIFT;
}

static uint32_t *fabric_hop_next(struct sim_fabric *f, uint32_t hop)
{
    return &f->flows[hop >> FABRIC_HOP_SHIFT].hop_next[hop & FABRIC_HOP_MASK];
}

static uint32_t *fabric_hop_prev(struct sim_fabric *f, uint32_t hop)
{
    return &f->flows[hop >> FABRIC_HOP_SHIFT].hop_prev[hop & FABRIC_HOP_MASK];
}

static void fabric_hop_add(struct sim_fabric *f, struct fabric_link *l, uint32_t hop)
{
    *fabric_hop_prev(f, hop) = FABRIC_NONE;
    *fabric_hop_next(f, hop) = l->hops;
    if (l->hops != FABRIC_NONE) {
        *fabric_hop_prev(f, l->hops) = hop;
    }
    l->hops = hop;
}

static void fabric_hop_remove(struct sim_fabric *f, struct fabric_link *l, uint32_t hop)
{
    uint32_t next = *fabric_hop_next(f, hop);
    uint32_t prev = *fabric_hop_prev(f, hop);

    if (next != FABRIC_NONE) {
        *fabric_hop_prev(f, next) = prev;
    }
    if (prev != FABRIC_NONE) {
        *fabric_hop_next(f, prev) = next;
    } else {
        l->hops = next;
    }
}

void fabric_share_enter(struct sim_fabric *f, uint32_t flow)
{
    struct fabric_flow *w = &f->flows[flow];

    w->active = true;
    w->rate = 0;
    w->group = FABRIC_NONE;
    for (uint32_t i = 0; i < w->links_count; i++) {
        fabric_hop_add(f, &f->links[w->links[i]], flow << FABRIC_HOP_SHIFT | i);
        fabric_share_link_note(f, w->links[i]);
    }
    f->stats.flows_active++;
    fabric_share_flow_note(f, flow);
}

void fabric_share_exit(struct sim_fabric *f, uint32_t flow)
{
    struct fabric_flow *w = &f->flows[flow];

    fabric_group_leave(f, flow);
    for (uint32_t i = 0; i < w->links_count; i++) {
        struct fabric_link *l = &f->links[w->links[i]];

        fabric_share_carry(f, l);
        l->load -= w->rate;
        fabric_hop_remove(f, l, flow << FABRIC_HOP_SHIFT | i);
        fabric_share_link_note(f, w->links[i]);
    }
    w->active = false;
    w->rate = 0;
    f->stats.flows_active--;
}

/* The shares: a heap of groups by the rate at which they must be looked at, or less: rates only
 * grow, so a rate that is too low is put right when it comes up. */

static bool fabric_share_before(const struct fabric_share *a, const struct fabric_share *b)
{
    return a->rate < b->rate || (a->rate == b->rate && a->group < b->group);
}

static void fabric_share_sink(struct sim_fabric *f, uint32_t index)
{
    struct fabric_share *s = f->shares;
    struct fabric_share moved = s[index];

    for (;;) {
        uint32_t child = index * 2 + 1;

        if (child >= f->shares_count) {
            break;
        }
        if (child + 1 < f->shares_count && fabric_share_before(&s[child + 1], &s[child])) {
            child++;
        }
        if (!fabric_share_before(&s[child], &moved)) {
            break;
        }
        s[index] = s[child];
        index = child;
    }
    s[index] = moved;
}

static void fabric_share_push(struct sim_fabric *f, uint64_t rate, uint32_t group)
{
    struct fabric_share *s = f->shares;
    struct fabric_share added = {rate, group};
    uint32_t index = f->shares_count++;

    for (; index > 0 && fabric_share_before(&added, &s[(index - 1) / 2]); index = (index - 1) / 2) {
        s[index] = s[(index - 1) / 2];
    }
    s[index] = added;
}

static void fabric_share_pop(struct sim_fabric *f)
{
    f->shares[0] = f->shares[--f->shares_count];
    if (f->shares_count > 1) {
        fabric_share_sink(f, 0);
    }
}

/* What the link can give to each hungry flow on it. */
static uint64_t fabric_link_share(const struct fabric_link *l)
{
    uint64_t rate = l->hungry == 1 ? l->left : l->left / l->hungry;

    if (rate > l->fixed_level &&
        l->left - l->fixed_level * l->hungry < (uint64_t)l->fixed + l->joined + l->hungry) {
        rate = l->fixed_level;
    }
    return rate;
}

/* The level of the water at which something happens to the link. */
static uint64_t fabric_link_key(const struct fabric_link *l)
{
    uint64_t rate = l->hungry > 0 ? fabric_link_share(l) : FABRIC_UNBOUND;

    return l->fixed > 0 && l->fixed_level < rate ? l->fixed_level : rate;
}

/* Nobody waits, and the fixed members are full. */
static bool fabric_link_settled(const struct fabric_link *l)
{
    return l->hungry == 0 && (l->fixed == 0 || l->left < (uint64_t)l->fixed + l->joined);
}

/* A freed flow gives its rate back to a link of its path, and waits there. */
static void fabric_link_concern(struct sim_fabric *f, const struct fabric_flow *w, uint32_t link)
{
    struct fabric_link *l = &f->links[link];

    if (l->epoch != f->epoch) {
        l->epoch = f->epoch;
        l->left = l->capacity - l->load; /* May wrap if overloaded, until all rates are back. */
        l->fixed = f->groups[link].members;
        l->fixed_level = l->fixed > 0 ? f->groups[link].level : FABRIC_UNBOUND;
        l->hungry = 0;
        l->joined = 0;
        l->key = FABRIC_UNBOUND;
        f->concerned[f->concerned_count++] = link;
    }
    l->left += w->rate;
    l->hungry++;
    if (w->group == link && --l->fixed == 0) {
        l->fixed_level = FABRIC_UNBOUND;
    }
}

static void fabric_flow_free(struct sim_fabric *f, uint32_t flow)
{
    struct fabric_flow *w = &f->flows[flow];

    if (w->epoch != f->epoch) {
        w->epoch = f->epoch;
        w->fed = false;
        f->freed[f->freed_count++] = flow;
        f->hungry++;
        for (uint32_t i = 0; i < w->links_count; i++) {
            fabric_link_concern(f, w, w->links[i]);
        }
    }
}

/* Free the flows on a link that are faster than @rate. */
static void fabric_link_free_faster(struct sim_fabric *f, uint32_t link, uint64_t rate)
{
    for (uint32_t hop = f->links[link].hops; hop != FABRIC_NONE; hop = *fabric_hop_next(f, hop)) {
        if (f->flows[fabric_hop_flow(hop)].rate > rate) {
            fabric_flow_free(f, fabric_hop_flow(hop));
        }
    }
}

/* Free the flows that have their bottleneck on a link. */
static void fabric_link_free_members(struct sim_fabric *f, uint32_t link)
{
    for (uint32_t hop = f->links[link].hops; hop != FABRIC_NONE; hop = *fabric_hop_next(f, hop)) {
        if (f->flows[fabric_hop_flow(hop)].group == link) {
            fabric_flow_free(f, fabric_hop_flow(hop));
        }
    }
}

/* Free what the changes touch directly, once those that ran dry are gone. */
static void fabric_share_free_changed(struct sim_fabric *f)
{
    f->epoch++;
    f->freed_count = 0;
    f->concerned_count = 0;
    f->hungry = 0;
    for (uint32_t i = 0; i < f->changed_count; i++) {
        const struct fabric_flow *w = &f->flows[f->changed[i]];

        if (w->active && w->first == FABRIC_NONE) {
            fabric_share_exit(f, f->changed[i]);
        }
    }
    for (uint32_t i = 0; i < f->changed_count; i++) {
        struct fabric_flow *w = &f->flows[f->changed[i]];

        w->changed = false;
        if (w->active && w->group == FABRIC_NONE) {
            fabric_flow_free(f, f->changed[i]);
        }
    }
    f->changed_count = 0;
    for (uint32_t i = 0; i < f->dirty_count; i++) {
        struct fabric_link *l = &f->links[f->dirty[i]];

        l->dirty = false;
        if (l->load > l->capacity) {
            fabric_link_free_faster(f, f->dirty[i], 0);
        } else if (f->groups[f->dirty[i]].members > 0) {
            fabric_link_free_members(f, f->dirty[i]);
        }
    }
    f->dirty_count = 0;
}

/* Give places among the shares to the freed flows from @freed_first on, and to their links. */
static void fabric_share_add(struct sim_fabric *f, uint32_t freed_first)
{
    for (uint32_t i = freed_first; i < f->freed_count; i++) {
        const struct fabric_flow *w = &f->flows[f->freed[i]];

        if (w->cap != FABRIC_UNBOUND) {
            fabric_share_push(f, w->cap, f->limits.links_max + f->freed[i]);
        }
        for (uint32_t k = 0; k < w->links_count; k++) {
            struct fabric_link *l = &f->links[w->links[k]];
            uint64_t key = fabric_link_key(l);

            if (key < l->key) {
                l->key = key;
                fabric_share_push(f, key, w->links[k]);
            }
        }
    }
}

/* The same for the first ones, all at once, but not yet in order. */
static void fabric_share_begin(struct sim_fabric *f)
{
    f->shares_count = 0;
    for (uint32_t i = 0; i < f->concerned_count; i++) {
        struct fabric_link *l = &f->links[f->concerned[i]];

        l->key = fabric_link_key(l);
        f->shares[f->shares_count++] = (struct fabric_share){l->key, f->concerned[i]};
    }
    for (uint32_t i = 0; i < f->freed_count; i++) {
        uint64_t cap = f->flows[f->freed[i]].cap;

        if (cap != FABRIC_UNBOUND) {
            f->shares[f->shares_count++] =
                (struct fabric_share){cap, f->limits.links_max + f->freed[i]};
        }
    }
}

static void fabric_flow_feed(struct sim_fabric *f, uint32_t flow, uint64_t rate, uint32_t group)
{
    struct fabric_flow *w = &f->flows[flow];

    f->hungry--;
    w->fed = true;
    w->next_rate = rate;
    w->next_group = group;
    for (uint32_t i = 0; i < w->links_count; i++) {
        f->links[w->links[i]].left -= rate;
        f->links[w->links[i]].hungry--;
    }
}

/* The link is full: it is the bottleneck of all that are hungry on it. */
static void fabric_link_fill(struct sim_fabric *f, uint32_t link, uint64_t rate)
{
    struct fabric_link *l = &f->links[link];

    l->joined += l->hungry;
    l->fixed_level = rate;
    for (uint32_t hop = l->hops; l->hungry > 0; hop = *fabric_hop_next(f, hop)) {
        const struct fabric_flow *w = &f->flows[fabric_hop_flow(hop)];

        if (w->epoch == f->epoch && !w->fed) {
            fabric_flow_feed(f, fabric_hop_flow(hop), rate, link);
        }
    }
}

/* The water has come to the key of the link. */
static void fabric_link_reached(struct sim_fabric *f, uint32_t link, uint64_t rate)
{
    struct fabric_link *l = &f->links[link];
    uint32_t freed_count = f->freed_count;

    if (l->fixed > 0 && l->fixed_level > rate) {
        fabric_link_free_members(f, link); /* They are the fastest here: they yield first. */
    } else if (l->hungry > 0 && fabric_link_share(l) == rate) {
        fabric_link_free_faster(f, link, rate);
        if (f->freed_count == freed_count) {
            fabric_link_fill(f, link, rate);
        }
    } else {
        fabric_link_free_members(f, link); /* There is more for them than they have. */
    }
    fabric_share_add(f, freed_count);
}

/* Everybody has a rate: true if no fixed member could rise. */
static bool fabric_share_settled(const struct sim_fabric *f)
{
    for (uint32_t i = 0; i < f->concerned_count; i++) {
        if (!fabric_link_settled(&f->links[f->concerned[i]])) {
            return false;
        }
    }
    return true;
}

/* Take the smallest share. In the common case it is the bottleneck of all, and no heap is needed.
 */
static void fabric_share_fill_first(struct sim_fabric *f)
{
    struct fabric_share best = f->shares[0];

    for (uint32_t i = 1; i < f->shares_count; i++) {
        if (fabric_share_before(&f->shares[i], &best)) {
            best = f->shares[i];
        }
    }
    if (best.group < f->limits.links_max) {
        fabric_link_reached(f, best.group, best.rate);
    } else {
        fabric_flow_feed(f, best.group - f->limits.links_max, best.rate, best.group);
    }
}

/* Look at the lowest share. */
static void fabric_share_step(struct sim_fabric *f)
{
    struct fabric_share top = f->shares[0];

    if (top.group >= f->limits.links_max) {
        uint32_t flow = top.group - f->limits.links_max;

        if (!f->flows[flow].fed) {
            fabric_flow_feed(f, flow, top.rate, top.group);
        }
        fabric_share_pop(f);
    } else {
        struct fabric_link *l = &f->links[top.group];
        uint64_t key = fabric_link_key(l);

        if (fabric_link_settled(l)) {
            l->key = FABRIC_UNBOUND;
            fabric_share_pop(f);
        } else if (key == top.rate) {
            fabric_link_reached(f, top.group, key);
        } else {
            l->key = key;
            f->shares[0].rate = key;
            fabric_share_sink(f, 0);
        }
    }
}

/* Let the water rise until every freed flow has a rate and no fixed one could have more. */
static void fabric_share_fill(struct sim_fabric *f)
{
    bool moved = true; /* Since it was last asked whether all is settled. */

    for (uint32_t i = f->shares_count / 2; i > 0; i--) {
        fabric_share_sink(f, i - 1);
    }
    while (f->shares_count > 0) {
        if (f->hungry == 0 && moved && fabric_share_settled(f)) {
            return;
        }
        moved = f->hungry > 0;
        fabric_share_step(f);
    }
    CHECK(f->hungry == 0);
}

/* Make what was found true from now on. */
static void fabric_share_commit(struct sim_fabric *f)
{
    for (uint32_t i = 0; i < f->freed_count; i++) {
        uint32_t flow = f->freed[i];
        struct fabric_flow *w = &f->flows[flow];

        if (w->next_rate != w->rate) {
            for (uint32_t k = 0; k < w->links_count; k++) {
                struct fabric_link *l = &f->links[w->links[k]];

                fabric_share_carry(f, l);
                l->load += w->next_rate - w->rate;
            }
            w->rate = w->next_rate;
        }
        if (w->next_group != w->group) {
            /* Neither queued nor new: its completion is about to be reported. */
            bool queue = w->queued || w->group == FABRIC_NONE;

            fabric_group_leave(f, flow);
            fabric_group_touch(f, w->next_group)->level = w->rate;
            fabric_group_join(f, w->next_group, flow);
            if (queue) {
                fabric_group_queue(f, flow);
            }
        } else if (f->groups[w->group].level != w->rate) {
            fabric_group_touch(f, w->group)->level = w->rate;
        }
    }
}

void fabric_share_all(struct sim_fabric *f)
{
    uint32_t touched;

    fabric_share_free_changed(f);
    touched = f->freed_count;
    if (touched > 0) {
        fabric_share_begin(f);
        fabric_share_fill_first(f);
        if (f->hungry > 0 || !fabric_share_settled(f)) {
            fabric_share_fill(f);
        }
        fabric_share_commit(f);
        f->stats.shares++;
        f->stats.shares_flows += f->freed_count;
        f->stats.shares_grown += f->freed_count - touched;
    }
}
