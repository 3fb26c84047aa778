/* Groups of flows that have one rate: a pairing heap of members by target, intrusive, so
 * that moving a flow from group to group needs no memory.
 *
 *     heap of groups by time -> group (level, service) -> heap of members by target -> segments */

#include "sim/net/fabric_state.h"

void fabric_group_init(struct fabric_group *g)
{
    *g = (struct fabric_group){.root = FABRIC_NONE};
    heap_node_init(&g->node);
}

struct fabric_group *fabric_group_touch(struct sim_fabric *f, uint32_t group)
{
    struct fabric_group *g = &f->groups[group];

    if (g->stamp_ns != f->now_ns) {
        g->service += (fabric_work)g->level * (f->now_ns - g->stamp_ns);
        g->stamp_ns = f->now_ns;
    }
    if (!g->stale) {
        g->stale = true;
        f->stale[f->stale_count++] = group;
    }
    return g;
}

static uint32_t fabric_group_meld(struct sim_fabric *f, uint32_t a, uint32_t b)
{
    uint32_t top = f->flows[a].target <= f->flows[b].target ? a : b;
    uint32_t sub = top == a ? b : a;
    uint32_t child = f->flows[top].child;

    f->flows[sub].sibling = child;
    f->flows[sub].before = top;
    if (child != FABRIC_NONE) {
        f->flows[child].before = sub;
    }
    f->flows[top].child = sub;
    return top;
}

/* Meld a list of siblings: in pairs from the left, then the pairs from the right. */
static uint32_t fabric_group_meld_all(struct sim_fabric *f, uint32_t first)
{
    uint32_t pairs = FABRIC_NONE;
    uint32_t root;

    while (first != FABRIC_NONE) {
        uint32_t second = f->flows[first].sibling;
        uint32_t rest = second == FABRIC_NONE ? FABRIC_NONE : f->flows[second].sibling;
        uint32_t pair = second == FABRIC_NONE ? first : fabric_group_meld(f, first, second);

        f->flows[pair].sibling = pairs;
        pairs = pair;
        first = rest;
    }
    root = pairs;
    if (root != FABRIC_NONE) {
        pairs = f->flows[root].sibling;
        while (pairs != FABRIC_NONE) {
            uint32_t next = f->flows[pairs].sibling;

            root = fabric_group_meld(f, root, pairs);
            pairs = next;
        }
        f->flows[root].sibling = FABRIC_NONE;
        f->flows[root].before = FABRIC_NONE;
    }
    return root;
}

void fabric_group_queue(struct sim_fabric *f, uint32_t flow)
{
    struct fabric_flow *w = &f->flows[flow];
    struct fabric_group *g = &f->groups[w->group];

    w->child = w->sibling = w->before = FABRIC_NONE;
    w->queued = true;
    g->root = g->root == FABRIC_NONE ? flow : fabric_group_meld(f, g->root, flow);
}

void fabric_group_unqueue(struct sim_fabric *f, uint32_t flow)
{
    struct fabric_flow *w = &f->flows[flow];
    struct fabric_group *g = &f->groups[w->group];
    uint32_t rest = fabric_group_meld_all(f, w->child);

    w->queued = false;
    if (g->root == flow) {
        g->root = rest;
        return;
    }
    if (f->flows[w->before].child == flow) {
        f->flows[w->before].child = w->sibling;
    } else {
        f->flows[w->before].sibling = w->sibling;
    }
    if (w->sibling != FABRIC_NONE) {
        f->flows[w->sibling].before = w->before;
    }
    if (rest != FABRIC_NONE) {
        g->root = fabric_group_meld(f, g->root, rest);
    }
}

void fabric_group_join(struct sim_fabric *f, uint32_t group, uint32_t flow)
{
    struct fabric_flow *w = &f->flows[flow];

    w->group = group;
    w->target += f->groups[group].service;
    f->groups[group].members++;
}

void fabric_group_leave(struct sim_fabric *f, uint32_t flow)
{
    struct fabric_flow *w = &f->flows[flow];

    if (w->group != FABRIC_NONE) {
        struct fabric_group *g = fabric_group_touch(f, w->group);

        if (w->queued) {
            fabric_group_unqueue(f, flow);
        }
        g->members--;
        w->target -= g->service;
        w->group = FABRIC_NONE;
    }
}

/* When the service reaches the first target, rounded up; SIM_FABRIC_NEVER if it does not. */
static int64_t fabric_group_due_ns(const struct sim_fabric *f, const struct fabric_group *g)
{
    fabric_work left;

    if (g->root == FABRIC_NONE) {
        return SIM_FABRIC_NEVER;
    }
    left = f->flows[g->root].target - g->service;
    if (left <= 0) {
        return g->stamp_ns;
    }
    if (g->level == 0) {
        return SIM_FABRIC_NEVER;
    }
    left = (left + (fabric_work)g->level - 1) / (fabric_work)g->level;
    return left < SIM_FABRIC_NEVER - g->stamp_ns ? g->stamp_ns + (int64_t)left : SIM_FABRIC_NEVER;
}

void fabric_group_place_all(struct sim_fabric *f)
{
    for (uint32_t i = 0; i < f->stale_count; i++) {
        struct fabric_group *g = &f->groups[f->stale[i]];
        int64_t due_ns = fabric_group_due_ns(f, g);

        g->stale = false;
        if (g->members == 0) {
            g->level = 0;
            g->service = 0;
        }
        if (due_ns == SIM_FABRIC_NEVER) {
            heap_remove(&f->due, &g->node);
        } else if (heap_contains(&g->node)) {
            heap_move(&f->due, &g->node, due_ns);
        } else {
            enum err rc = heap_push(&f->due, &g->node, due_ns);

            CHECK(rc == OK); /* There is room for all groups since creation. */
        }
    }
    f->stale_count = 0;
}
