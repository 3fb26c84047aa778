/* The fabric's links, flows, segments and time. fabric_state.h tells how its files are divided. */

#include "sim/net/fabric.h"

#include "base/list.h"
#include "base/mem.h"
#include "sim/net/fabric_state.h"

/* Bring rates and completions up to date with every change of this instant. */
static void fabric_settle(struct sim_fabric *f)
{
    if (f->changed_count + f->dirty_count > 0) {
        fabric_share_all(f);
    }
    if (f->stale_count > 0) {
        fabric_group_place_all(f);
    }
}

/* Come to @now_ns, with nothing left to do before. */
static void fabric_arrive(struct sim_fabric *f, int64_t now_ns)
{
    CHECK(now_ns >= f->now_ns);
    if (now_ns > f->now_ns) {
        int64_t due_ns = SIM_FABRIC_NEVER;

        CHECK(!f->reporting);
        fabric_settle(f);
        CHECK(heap_first(&f->due, &due_ns) == NULL || due_ns >= now_ns);
        f->now_ns = now_ns;
    }
}

/* One place per link at first, then one per freed flow and one for each link of its path. */
static size_t fabric_shares_max(const struct sim_fabric_limits *limits)
{
    return limits->links_max + (size_t)limits->flows_max * (1 + SIM_FABRIC_PATH_LINKS_MAX);
}

static bool fabric_limit_ok(uint32_t value, uint32_t limit)
{
    return value > 0 && value <= limit;
}

enum err sim_fabric_create(const struct sim_fabric_limits *limits, struct sim_fabric **fabric_out)
{
    size_t groups = (size_t)limits->links_max + limits->flows_max;
    struct sim_fabric *f;

    if (!fabric_limit_ok(limits->links_max, SIM_FABRIC_LINKS_LIMIT) ||
        !fabric_limit_ok(limits->flows_max, SIM_FABRIC_FLOWS_LIMIT) ||
        !fabric_limit_ok(limits->segments_max, SIM_FABRIC_SEGMENTS_LIMIT)) {
        return ERR_TOO_BIG;
    }
    f = mem_zalloc(sizeof(*f));
    if (f == NULL) {
        return ERR_NOMEM;
    }
    f->limits = *limits;
    f->flows_free = FABRIC_NONE;
    f->segments_free = FABRIC_NONE;
    heap_init(&f->due, (uint32_t)groups);
    f->links = mem_calloc(limits->links_max, sizeof(*f->links));
    f->flows = mem_calloc(limits->flows_max, sizeof(*f->flows));
    f->groups = mem_calloc(groups, sizeof(*f->groups));
    f->segments = mem_calloc(limits->segments_max, sizeof(*f->segments));
    f->changed = mem_calloc(limits->flows_max, sizeof(*f->changed));
    f->dirty = mem_calloc(limits->links_max, sizeof(*f->dirty));
    f->stale = mem_calloc(groups, sizeof(*f->stale));
    f->freed = mem_calloc(limits->flows_max, sizeof(*f->freed));
    f->concerned = mem_calloc(limits->links_max, sizeof(*f->concerned));
    f->shares = mem_calloc(fabric_shares_max(limits), sizeof(*f->shares));
    f->done = mem_calloc(limits->flows_max, sizeof(*f->done));
    if (f->links == NULL || f->flows == NULL || f->groups == NULL || f->segments == NULL ||
        f->changed == NULL || f->dirty == NULL || f->stale == NULL || f->freed == NULL ||
        f->concerned == NULL || f->shares == NULL || f->done == NULL ||
        heap_reserve(&f->due, (uint32_t)groups) != OK) {
        sim_fabric_destroy(f);
        return ERR_NOMEM;
    }
    *fabric_out = f;
    return OK;
}

void sim_fabric_destroy(struct sim_fabric *f)
{
    if (f == NULL) {
        return;
    }
    CHECK(!f->reporting);
    heap_deinit(&f->due);
    mem_free(f->links);
    mem_free(f->flows);
    mem_free(f->groups);
    mem_free(f->segments);
    mem_free(f->changed);
    mem_free(f->dirty);
    mem_free(f->stale);
    mem_free(f->freed);
    mem_free(f->concerned);
    mem_free(f->shares);
    mem_free(f->done);
    mem_free(f);
}

static struct fabric_link *fabric_link(const struct sim_fabric *f, sim_link_id link)
{
    CHECK(link < f->links_count);
    return &f->links[link];
}

enum err sim_fabric_link_add(struct sim_fabric *f, uint64_t bytes_per_s, sim_link_id *link_out)
{
    struct fabric_link *l = &f->links[f->links_count];

    if (f->links_count == f->limits.links_max || bytes_per_s > SIM_FABRIC_RATE_MAX) {
        return ERR_TOO_BIG;
    }
    l->capacity = bytes_per_s << FABRIC_RATE_SHIFT;
    l->carried_ns = f->now_ns;
    l->hops = FABRIC_NONE;
    fabric_group_init(&f->groups[f->links_count]);
    *link_out = f->links_count++;
    return OK;
}

enum err sim_fabric_link_set(struct sim_fabric *f, sim_link_id link, uint64_t bytes_per_s,
                             int64_t now_ns)
{
    struct fabric_link *l = fabric_link(f, link);

    if (bytes_per_s > SIM_FABRIC_RATE_MAX) {
        return ERR_TOO_BIG;
    }
    fabric_arrive(f, now_ns);
    l->capacity = bytes_per_s << FABRIC_RATE_SHIFT;
    fabric_share_link_note(f, link);
    return OK;
}

uint64_t sim_fabric_link_bytes(const struct sim_fabric *f, sim_link_id link)
{
    return fabric_link(f, link)->bytes;
}

uint64_t sim_fabric_link_fluid_bytes(struct sim_fabric *f, sim_link_id link)
{
    struct fabric_link *l = fabric_link(f, link);

    fabric_share_carry(f, l);
    return (uint64_t)(l->carried / FABRIC_BYTE_WORK);
}

uint64_t sim_fabric_link_load(struct sim_fabric *f, sim_link_id link)
{
    fabric_settle(f);
    return fabric_link(f, link)->load >> FABRIC_RATE_SHIFT;
}

uint64_t sim_fabric_link_capacity(const struct sim_fabric *f, sim_link_id link)
{
    return fabric_link(f, link)->capacity >> FABRIC_RATE_SHIFT;
}

static uint32_t fabric_flow_index(const struct sim_fabric *f, sim_flow_id flow)
{
    uint32_t index = flow >> FABRIC_ID_SHIFT;

    CHECK(index < f->flows_used && f->flows[index].live && f->flows[index].id == flow);
    return index;
}

static bool fabric_path_ok(const struct sim_fabric *f, const sim_link_id *links, uint32_t count)
{
    if (count == 0 || count > SIM_FABRIC_PATH_LINKS_MAX) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (links[i] >= f->links_count) {
            return false;
        }
        for (uint32_t k = 0; k < i; k++) {
            if (links[k] == links[i]) {
                return false;
            }
        }
    }
    return true;
}

/* A slot: the one freed last, or a new one. */
static uint32_t fabric_flow_take(struct sim_fabric *f)
{
    uint32_t index = f->flows_free;

    if (index != FABRIC_NONE) {
        f->flows_free = f->flows[index].next_free;
    } else if (f->flows_used < f->limits.flows_max) {
        index = f->flows_used++;
        f->flows[index].id = index << FABRIC_ID_SHIFT;
        fabric_group_init(&f->groups[f->limits.links_max + index]);
    }
    return index;
}

static uint64_t fabric_cap(uint64_t bytes_per_s)
{
    return bytes_per_s == 0 ? FABRIC_UNBOUND : bytes_per_s << FABRIC_RATE_SHIFT;
}

enum err sim_fabric_flow_add(struct sim_fabric *f, const sim_link_id *links, uint32_t links_count,
                             uint64_t cap_bytes_per_s, sim_flow_id *flow_out)
{
    struct fabric_flow *w;
    uint32_t index;

    if (!fabric_path_ok(f, links, links_count)) {
        return ERR_INVALID;
    }
    if (cap_bytes_per_s > SIM_FABRIC_RATE_MAX) {
        return ERR_TOO_BIG;
    }
    index = fabric_flow_take(f);
    if (index == FABRIC_NONE) {
        return ERR_TOO_BIG;
    }
    w = &f->flows[index];
    w->live = true;
    w->endless = false;
    w->group = FABRIC_NONE;
    w->first = FABRIC_NONE;
    w->cap = fabric_cap(cap_bytes_per_s);
    w->links_count = links_count;
    for (uint32_t i = 0; i < links_count; i++) {
        w->links[i] = links[i];
    }
    *flow_out = w->id;
    return OK;
}

enum err sim_fabric_flow_set(struct sim_fabric *f, sim_flow_id flow, uint64_t cap_bytes_per_s,
                             int64_t now_ns)
{
    uint32_t index = fabric_flow_index(f, flow);
    struct fabric_flow *w = &f->flows[index];

    if (cap_bytes_per_s > SIM_FABRIC_RATE_MAX) {
        return ERR_TOO_BIG;
    }
    fabric_arrive(f, now_ns);
    if (w->cap == fabric_cap(cap_bytes_per_s)) {
        return OK;
    }
    w->cap = fabric_cap(cap_bytes_per_s);
    if (w->active) {
        fabric_share_exit(f, index); /* It starts anew, with what is left of its segments. */
        if (w->first != FABRIC_NONE) {
            fabric_share_enter(f, index);
        }
    }
    return OK;
}

/* Take the first segment out of a flow's queue; its slot may be reused at once. */
static struct fabric_segment fabric_segment_pop(struct sim_fabric *f, struct fabric_flow *w)
{
    uint32_t index = w->first;
    struct fabric_segment s = f->segments[index];

    w->first = s.next;
    w->backlog -= s.bytes;
    f->segments[index].next = f->segments_free;
    f->segments_free = index;
    f->stats.segments_queued--;
    return s;
}

static void fabric_segment_push(struct sim_fabric *f, struct fabric_flow *w, uint64_t bytes,
                                uint64_t token)
{
    uint32_t index = f->segments_free;

    if (index != FABRIC_NONE) {
        f->segments_free = f->segments[index].next;
    } else {
        index = f->segments_used++;
    }
    f->segments[index] = (struct fabric_segment){bytes, token, FABRIC_NONE};
    if (w->first == FABRIC_NONE) {
        w->first = index;
    } else {
        f->segments[w->last].next = index;
    }
    w->last = index;
    w->backlog += bytes;
    f->stats.segments_queued++;
}

uint32_t sim_fabric_flow_remove(struct sim_fabric *f, sim_flow_id flow, int64_t now_ns,
                                sim_fabric_dropped *dropped, void *user)
{
    uint32_t index = fabric_flow_index(f, flow);
    struct fabric_flow *w = &f->flows[index];
    uint32_t mask = (1 << FABRIC_ID_SHIFT) - 1;
    uint32_t count = 0;

    fabric_arrive(f, now_ns);
    if (w->active) {
        fabric_share_exit(f, index);
    }
    while (w->first != FABRIC_NONE) {
        struct fabric_segment s = fabric_segment_pop(f, w);

        count++;
        if (dropped != NULL) {
            dropped(flow, s.token, user);
        }
    }
    w->live = false;
    w->id = (flow & ~mask) | ((flow + 1) & mask);
    w->next_free = f->flows_free;
    f->flows_free = index;
    return count;
}

/* There is room for it. */
static void fabric_queue(struct sim_fabric *f, sim_flow_id flow, uint64_t bytes, uint64_t token,
                         int64_t now_ns)
{
    uint32_t index = fabric_flow_index(f, flow);
    struct fabric_flow *w = &f->flows[index];
    bool dry = w->first == FABRIC_NONE;

    fabric_arrive(f, now_ns);
    fabric_segment_push(f, w, bytes, token);
    if (dry) {
        w->target = (fabric_work)bytes * FABRIC_BYTE_WORK;
        if (!w->active) {
            fabric_share_enter(f, index);
        } else {
            /* It ran dry at this very instant and still has its place in its group. */
            struct fabric_group *g = fabric_group_touch(f, w->group);

            w->target += g->service;
            fabric_group_queue(f, index);
        }
    }
}

enum err sim_fabric_flow_enqueue(struct sim_fabric *f, sim_flow_id flow, uint64_t bytes,
                                 uint64_t token, int64_t now_ns)
{
    const struct fabric_flow *w = &f->flows[fabric_flow_index(f, flow)];

    CHECK(bytes > 0 && !w->endless);
    if (bytes > SIM_FABRIC_SEGMENT_BYTES_MAX || w->backlog > UINT64_MAX - bytes ||
        f->stats.segments_queued == f->limits.segments_max) {
        return ERR_TOO_BIG;
    }
    fabric_queue(f, flow, bytes, token, now_ns);
    return OK;
}

enum err sim_fabric_flow_fill(struct sim_fabric *f, sim_flow_id flow, int64_t now_ns)
{
    struct fabric_flow *w = &f->flows[fabric_flow_index(f, flow)];

    CHECK(w->first == FABRIC_NONE);
    if (f->stats.segments_queued == f->limits.segments_max) {
        return ERR_TOO_BIG;
    }
    w->endless = true;
    fabric_queue(f, flow, FABRIC_ENDLESS_BYTES, 0, now_ns);
    return OK;
}

uint64_t sim_fabric_flow_sent(struct sim_fabric *f, sim_flow_id flow)
{
    const struct fabric_flow *w = &f->flows[fabric_flow_index(f, flow)];
    fabric_work left = w->target;

    CHECK(w->endless);
    fabric_settle(f);
    if (w->group != FABRIC_NONE) {
        left -= fabric_group_touch(f, w->group)->service;
    }
    return FABRIC_ENDLESS_BYTES - (uint64_t)((left + FABRIC_BYTE_WORK - 1) / FABRIC_BYTE_WORK);
}

uint64_t sim_fabric_flow_rate(struct sim_fabric *f, sim_flow_id flow)
{
    fabric_settle(f);
    return f->flows[fabric_flow_index(f, flow)].rate >> FABRIC_RATE_SHIFT;
}

double sim_fabric_flow_rate_exact(struct sim_fabric *f, sim_flow_id flow)
{
    fabric_settle(f);
    return (double)f->flows[fabric_flow_index(f, flow)].rate / (double)(1 << FABRIC_RATE_SHIFT);
}

uint64_t sim_fabric_flow_backlog(const struct sim_fabric *f, sim_flow_id flow)
{
    return f->flows[fabric_flow_index(f, flow)].backlog;
}

int64_t sim_fabric_now_ns(const struct sim_fabric *f)
{
    return f->now_ns;
}

int64_t sim_fabric_next_ns(struct sim_fabric *f)
{
    int64_t due_ns = SIM_FABRIC_NEVER;

    CHECK(!f->reporting);
    fabric_settle(f);
    heap_first(&f->due, &due_ns);
    return due_ns;
}

/* Shell sort: few elements, or many that are nearly in order. */
static void fabric_sort(sim_flow_id *ids, uint32_t count)
{
    static const uint32_t gaps[] = {1750, 701, 301, 132, 57, 23, 10, 4, 1};

    for (size_t g = 0; g < sizeof(gaps) / sizeof(gaps[0]); g++) {
        for (uint32_t i = gaps[g]; i < count; i++) {
            sim_flow_id id = ids[i];
            uint32_t k = i;

            for (; k >= gaps[g] && ids[k - gaps[g]] > id; k -= gaps[g]) {
                ids[k] = ids[k - gaps[g]];
            }
            ids[k] = id;
        }
    }
}

/* Move every flow that completes now from its group's heap to .done, in the order of ids. */
static void fabric_collect(struct sim_fabric *f)
{
    int64_t due_ns = 0;
    struct heap_node *node;

    f->done_count = 0;
    while ((node = heap_first(&f->due, &due_ns)) != NULL && due_ns == f->now_ns) {
        uint32_t index = (uint32_t)(LIST_ENTRY(node, struct fabric_group, node) - f->groups);
        struct fabric_group *g = fabric_group_touch(f, index);

        heap_remove(&f->due, node);
        while (g->root != FABRIC_NONE && f->flows[g->root].target <= g->service) {
            f->done[f->done_count++] = f->flows[g->root].id;
            fabric_group_unqueue(f, g->root);
        }
    }
    if (f->done_count > 1) {
        fabric_sort(f->done, f->done_count);
    }
}

/* Take the first segment as done, and aim at the next one. */
static uint64_t fabric_flow_finish(struct sim_fabric *f, uint32_t index)
{
    struct fabric_flow *w = &f->flows[index];
    struct fabric_segment s = fabric_segment_pop(f, w);

    for (uint32_t i = 0; i < w->links_count; i++) {
        f->links[w->links[i]].bytes += s.bytes;
    }
    if (w->first != FABRIC_NONE) {
        w->target += (fabric_work)f->segments[w->first].bytes * FABRIC_BYTE_WORK;
    } else {
        fabric_share_flow_note(f, index); /* It stays active: it may get more at this instant. */
    }
    f->stats.segments_done++;
    return s.token;
}

/* Report what the flow completed. The callback may change everything, the flow included. */
static uint64_t fabric_report(struct sim_fabric *f, sim_flow_id id, sim_fabric_done *done,
                              void *user)
{
    uint32_t index = id >> FABRIC_ID_SHIFT;
    struct fabric_flow *w = &f->flows[index];
    uint64_t count = 0;

    while (w->id == id && w->active && !w->queued && w->group != FABRIC_NONE &&
           w->first != FABRIC_NONE) {
        struct fabric_group *g = fabric_group_touch(f, w->group);

        if (w->target > g->service) {
            fabric_group_queue(f, index);
            break;
        }
        count++;
        done(id, fabric_flow_finish(f, index), f->now_ns, user);
    }
    return count;
}

uint64_t sim_fabric_advance(struct sim_fabric *f, int64_t now_ns, sim_fabric_done *done, void *user)
{
    uint64_t count = 0;
    int64_t due_ns;

    CHECK(now_ns >= f->now_ns);
    while ((due_ns = sim_fabric_next_ns(f)) <= now_ns && due_ns != SIM_FABRIC_NEVER) {
        f->now_ns = due_ns;
        fabric_collect(f);
        f->reporting = true;
        for (uint32_t i = 0; i < f->done_count; i++) {
            count += fabric_report(f, f->done[i], done, user);
        }
        f->reporting = false;
    }
    f->now_ns = now_ns;
    return count;
}

void sim_fabric_stats(const struct sim_fabric *f, struct sim_fabric_stats *stats_out)
{
    *stats_out = f->stats;
}
