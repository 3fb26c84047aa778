/* plan_grow_start(): a tree that grows from the root, worker by worker. */

#include "plan/tree_grow.h"

#include "base/mem.h"

/* The best open place for the next worker of a class. */
struct start_offer {
    uint32_t parent;
    double cost;
};

/* A tree to which workers are added. */
struct start {
    struct plan_grow *g;
    bool ahead;               /* Count what a worker will save. */
    struct start_offer *best; /* By class. */
    uint32_t *left;           /* Workers of each class that have no place yet. */
    uint64_t relays;          /* Of these, in all. */
    uint64_t others;
    uint64_t open;   /* Places below nodes that have room. */
    uint64_t above;  /* Workers that fit above the last level, below these. */
    uint64_t *holds; /* A subtree whose top is at this depth, above the last level. */
};

static bool start_is_open(const struct start *s, uint32_t i)
{
    const struct plan_grow *g = s->g;

    return (i == g->root || g->parent[i] != PLAN_GROW_NONE) && g->children[i] < g->core->degree &&
           g->depth[i] < g->core->depth && plan_grow_relays(g, i);
}

/* Would all others find a place, if one of @class were put below @parent? */
static bool start_leaves_room(const struct start *s, uint32_t class, uint32_t parent)
{
    const struct plan_core *c = s->g->core;
    uint32_t depth = s->g->depth[parent] + 1;
    bool relay = !c->leaf_only[class];
    uint64_t relays = s->relays - relay, others = s->others - !relay;
    uint64_t open = s->open - 1, above = s->above - s->holds[depth];

    if (relay && depth < c->depth) {
        open += c->degree;
        above += c->degree * s->holds[depth + 1];
    }
    above = above < relays ? above : relays;
    return others + relays - above <= open + (c->degree - 1) * above;
}

/* A place that is better: cheaper, then higher, then with less to do. */
static bool start_prefers(const struct plan_grow *g, const struct start_offer *best, uint32_t i,
                          double cost)
{
    if (best->parent == PLAN_GROW_NONE || cost != best->cost) {
        return best->parent == PLAN_GROW_NONE || cost < best->cost;
    }
    if (g->depth[i] != g->depth[best->parent]) {
        return g->depth[i] < g->depth[best->parent];
    }
    return g->children[i] + plan_grow_load(g, i) <
           g->children[best->parent] + plan_grow_load(g, best->parent);
}

static void start_offer(struct start *s, uint32_t class, uint32_t parent)
{
    const struct plan_core *c = s->g->core;
    double cost = plan_core_cost(c, c->class_of[parent], class);

    cost -= parent != s->g->root && s->g->children[parent] == 0 ? c->leaf_cost : 0;
    if (start_prefers(s->g, &s->best[class], parent, cost) && start_leaves_room(s, class, parent)) {
        s->best[class] = (struct start_offer){.parent = parent, .cost = cost};
    }
}

static void start_look(struct start *s, uint32_t class)
{
    s->best[class].parent = PLAN_GROW_NONE;
    for (uint32_t i = 0; i <= s->g->root; i++) {
        if (start_is_open(s, i)) {
            start_offer(s, class, i);
        }
    }
}

/* What the next .degree workers would save if one of @class were there to be their parent. */
static double start_saves(const struct start *s, uint32_t class)
{
    const struct plan_core *c = s->g->core;
    uint32_t room = c->degree;
    double saved = 0;

    if (c->leaf_only[class] || s->g->depth[s->best[class].parent] + 1 >= c->depth) {
        return 0;
    }
    for (uint32_t k = 0; k < c->classes && room > 0; k++) {
        uint32_t left = s->left[k] - (k == class);
        double less = s->best[k].cost - plan_core_cost(c, class, k);

        if (left > 0 && less > 0 && s->best[k].parent != PLAN_GROW_NONE) {
            left = left < room ? left : room;
            saved += less * left;
            room -= left;
        }
    }
    return saved;
}

static uint32_t start_next(const struct start *s)
{
    uint32_t next = PLAN_GROW_NONE;
    double least = 0;

    for (uint32_t k = 0; k < s->g->core->classes; k++) {
        double cost;

        if (s->left[k] == 0 || s->best[k].parent == PLAN_GROW_NONE) {
            continue;
        }
        cost = s->best[k].cost - (s->ahead ? start_saves(s, k) : 0);
        if (next == PLAN_GROW_NONE || cost < least) {
            next = k;
            least = cost;
        }
    }
    return next;
}

/* Put one of @class below its best parent. */
static uint32_t start_put(struct start *s, uint32_t class)
{
    const struct plan_core *c = s->g->core;
    struct plan_grow *g = s->g;
    uint32_t parent = s->best[class].parent;
    uint32_t i = c->member[c->start[class + 1] - s->left[class]--];

    plan_grow_put(g, i, parent);
    s->open--;
    s->above -= s->holds[g->depth[i]];
    if (c->leaf_only[class]) {
        s->others--;
    } else {
        s->relays--;
        if (g->depth[i] < c->depth) {
            s->open += c->degree;
            s->above += c->degree * s->holds[g->depth[i] + 1];
        }
    }
    return i;
}

/* A place is gone if its parent is full or has become dearer, or if it is needed for those who
 * cannot relay. */
static void start_look_again(struct start *s, uint32_t put)
{
    const struct plan_core *c = s->g->core;
    uint32_t parent = s->g->parent[put];

    for (uint32_t k = 0; k < c->classes; k++) {
        if (s->left[k] == 0) {
            continue;
        }
        if (s->best[k].parent == PLAN_GROW_NONE || s->best[k].parent == parent ||
            !start_is_open(s, s->best[k].parent) || !start_leaves_room(s, k, s->best[k].parent)) {
            start_look(s, k);
        }
        if (start_is_open(s, put)) {
            start_offer(s, k, put);
        }
    }
}

static void start_reset(struct start *s)
{
    const struct plan_core *c = s->g->core;

    plan_grow_clear(s->g);
    for (uint32_t k = 0; k < c->classes; k++) {
        s->left[k] = plan_core_count(c, k);
        *(c->leaf_only[k] ? &s->others : &s->relays) += s->left[k];
    }
    s->open = c->degree;
    s->above = c->degree * s->holds[1];
}

/* More than all workers need not be counted exactly, but the sums must not overflow, and taking a
 * place must not take away more than there is. */
static void start_count_holds(struct start *s)
{
    const struct plan_core *c = s->g->core;
    const uint64_t most = (uint64_t)1 << 40;

    s->holds[c->depth] = s->holds[c->depth + 1] = 0;
    for (uint32_t h = c->depth - 1; h > 0; h--) {
        uint64_t all = 1 + c->degree * s->holds[h + 1];

        s->holds[h] = all < most ? all : most;
    }
}

static void start_build(struct start *s)
{
    const struct plan_core *c = s->g->core;

    start_count_holds(s);
    start_reset(s);
    for (uint32_t k = 0; k < c->classes; k++) {
        start_look(s, k);
    }
    for (uint32_t done = 0; done < c->workers; done++) {
        uint32_t class = start_next(s);

        CHECK(class != PLAN_GROW_NONE);
        start_look_again(s, start_put(s, class));
    }
}

enum err plan_grow_start(struct plan_grow *g, bool ahead)
{
    struct start s = {.g = g, .ahead = ahead};
    enum err rc = OK;

    s.best = mem_calloc(g->core->classes, sizeof(*s.best));
    s.left = mem_calloc(g->core->classes, sizeof(*s.left));
    s.holds = mem_calloc(g->core->depth + 2, sizeof(*s.holds));
    if (s.best == NULL || s.left == NULL || s.holds == NULL) {
        rc = ERR_NOMEM;
    } else {
        start_build(&s);
    }
    mem_free(s.best);
    mem_free(s.left);
    mem_free(s.holds);
    return rc;
}
