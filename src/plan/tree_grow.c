/* plan_tree_grow(): a tree is grown, wanders about, is improved, shaken and improved again; the
 * best one is the answer. */

#include "plan/tree_grow.h"

#include "base/mem.h"
#include "base/rng.h"

#include <string.h>

/* Effort, counted and not timed: the answer does not depend on the machine. */
enum {
    GROW_AHEAD_MAX = 4 * 1000 * 1000, /* Looks ahead at most, to begin with. */
    GROW_STEPS = 12 * 1000,           /* Of wandering each time: at least, ... */
    GROW_STEPS_EACH = 300,            /* ... and for each worker. */
    GROW_LOOKS = 100 * 1000,          /* At pairs of workers, after shaking: at least, ... */
    GROW_LOOKS_EACH = 1,              /* ... and at each pair. */
    GROW_QUICK = 10,                  /* All of that divided by. */
    GROW_SHAKES_IN_VAIN = 400,
    GROW_SHAKE_STEPS = 3,
    GROW_ARRAYS = 8,
};

void plan_grow_clear(struct plan_grow *g)
{
    for (uint32_t i = 0; i <= g->root; i++) {
        g->parent[i] = g->first[i] = g->next[i] = g->before[i] = PLAN_GROW_NONE;
        g->children[i] = 0;
        g->depth[i] = 0;
    }
}

void plan_grow_take(struct plan_grow *g, uint32_t i)
{
    uint32_t p = g->parent[i];

    *(g->before[i] == PLAN_GROW_NONE ? &g->first[p] : &g->next[g->before[i]]) = g->next[i];
    if (g->next[i] != PLAN_GROW_NONE) {
        g->before[g->next[i]] = g->before[i];
    }
    g->parent[i] = g->next[i] = g->before[i] = PLAN_GROW_NONE;
    g->children[p]--;
}

/* The next node of the subtree of @top in which parents come before children; @top at the end. */
static uint32_t grow_walk(const struct plan_grow *g, uint32_t top, uint32_t i)
{
    if (g->first[i] != PLAN_GROW_NONE) {
        return g->first[i];
    }
    while (i != top && g->next[i] == PLAN_GROW_NONE) {
        i = g->parent[i];
    }
    return i == top ? top : g->next[i];
}

void plan_grow_put(struct plan_grow *g, uint32_t i, uint32_t parent)
{
    uint32_t depth = g->depth[parent] + 1;

    g->parent[i] = parent;
    g->next[i] = g->first[parent];
    if (g->next[i] != PLAN_GROW_NONE) {
        g->before[g->next[i]] = i;
    }
    g->first[parent] = i;
    g->children[parent]++;
    if (g->depth[i] != depth) {
        g->depth[i] = depth;
        for (uint32_t k = grow_walk(g, i, i); k != i; k = grow_walk(g, i, k)) {
            g->depth[k] = g->depth[g->parent[k]] + 1;
        }
    }
}

uint32_t plan_grow_height(const struct plan_grow *g, uint32_t i)
{
    uint32_t deepest = g->depth[i];

    if (g->first[i] == PLAN_GROW_NONE) {
        return 0;
    }
    for (uint32_t k = grow_walk(g, i, i); k != i; k = grow_walk(g, i, k)) {
        deepest = g->depth[k] > deepest ? g->depth[k] : deepest;
    }
    return deepest - g->depth[i];
}

static enum err grow_init(struct plan_grow *g, const struct plan_core *c)
{
    uint32_t nodes = c->workers + 1;
    uint32_t *all = mem_calloc((size_t)nodes * GROW_ARRAYS, sizeof(*all));
    uint32_t **const arrays[GROW_ARRAYS] = {&g->parent, &g->depth,  &g->children, &g->first,
                                            &g->next,   &g->before, &g->kept,     &g->active};

    *g = (struct plan_grow){.core = c, .root = c->workers};
    if (all == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < GROW_ARRAYS; i++) {
        *arrays[i] = all + i * nodes;
    }
    return OK;
}

static void grow_deinit(struct plan_grow *g)
{
    mem_free(g->parent);
}

static double grow_objective(const struct plan_grow *g)
{
    double cost = 0;

    for (uint32_t i = 0; i < g->root; i++) {
        cost += plan_grow_cost(g, g->parent[i], i) + (g->children[i] == 0 ? g->core->leaf_cost : 0);
    }
    return cost;
}

static int64_t grow_spread(const struct plan_grow *g)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < g->root && g->core->problem->load != NULL; i++) {
        int64_t all = (int64_t)g->children[i] + plan_grow_load(g, i);

        sum += all * all;
    }
    return sum;
}

static void grow_restore(struct plan_grow *g)
{
    plan_grow_clear(g);
    for (uint32_t i = 0; i < g->root; i++) {
        plan_grow_put(g, i, g->kept[i]);
    }
}

/* Keep the tree if it is as good as the best so far, which is a way across a plateau; else go back
 * to that. True if it is better. */
static bool grow_keep(struct plan_grow *g)
{
    double cost = grow_objective(g), epsilon = 1e-9 * g->core->scale;
    int64_t spread = grow_spread(g);
    bool same = cost < g->cost + epsilon && cost > g->cost - epsilon;
    bool better = same ? spread < g->spread : cost < g->cost;

    if (better || (same && spread == g->spread)) {
        memcpy(g->kept, g->parent, g->root * sizeof(*g->kept));
        g->cost = cost;
        g->spread = spread;
    } else {
        grow_restore(g);
    }
    return better;
}

static void grow_activate(struct plan_grow *g, uint32_t active)
{
    for (uint32_t i = 0; i <= g->root; i++) {
        g->active[i] = active;
    }
}

static uint64_t grow_effort(const struct plan_grow *g, uint64_t least, uint64_t wanted)
{
    return (wanted > least ? wanted : least) / (g->core->problem->quick ? GROW_QUICK : 1);
}

static void grow_shakes(struct plan_grow *g)
{
    struct rng rng;

    rng_init(&rng, g->root);
    for (uint32_t vain = 0; vain < GROW_SHAKES_IN_VAIN && g->looks > 0; vain++) {
        grow_activate(g, 0);
        for (uint32_t k = 0; k < GROW_SHAKE_STEPS; k++) {
            plan_grow_shake(g, &rng);
        }
        plan_grow_improve(g);
        if (grow_keep(g)) {
            vain = 0;
        }
    }
}

/* Where it wanders to depends on how much worse it may become, and what is best depends on the
 * problem: so one after the other. */
static void grow_wanders(struct plan_grow *g)
{
    static const double warmths[] = {1, 2, 4}; /* Of what an edge costs in the mean. */
    uint64_t steps = grow_effort(g, GROW_STEPS, (uint64_t)g->root * GROW_STEPS_EACH);
    double mean = grow_objective(g) / g->root;

    for (size_t i = 0; i < sizeof(warmths) / sizeof(warmths[0]); i++) {
        plan_grow_wander(g, warmths[i] * mean, steps);
        (void)grow_keep(g);
        grow_restore(g);
    }
}

static enum err grow_find(struct plan_grow *g)
{
    uint64_t workers = g->root, classes = g->core->classes;
    enum err rc = plan_grow_start(g, workers * classes * classes <= GROW_AHEAD_MAX);

    if (rc != OK) {
        return rc;
    }
    memcpy(g->kept, g->parent, g->root * sizeof(*g->kept));
    g->cost = grow_objective(g);
    g->spread = grow_spread(g);
    grow_wanders(g);
    g->looks = UINT64_MAX;
    grow_activate(g, 1);
    plan_grow_improve(g);
    (void)grow_keep(g);
    g->looks = grow_effort(g, GROW_LOOKS, workers * workers * GROW_LOOKS_EACH);
    grow_shakes(g);
    grow_restore(g);
    return OK;
}

/* Who of a class comes first: with other trees to think of whoever has more to do, so that it is
 * given to whoever has less; else whoever is nearer to the root. */
static bool grow_comes_before(const struct plan_grow *g, uint32_t a, uint32_t b)
{
    if (g->core->problem->load != NULL && g->children[a] != g->children[b]) {
        return g->children[a] > g->children[b];
    }
    if (g->depth[a] != g->depth[b]) {
        return g->depth[a] < g->depth[b];
    }
    return g->children[a] > g->children[b];
}

/* Workers of a class change places until they are in order: the tree costs the same. */
static void grow_settle(struct plan_grow *g, uint32_t *parent_out)
{
    const struct plan_core *c = g->core;
    uint32_t *in_order = g->active, *name = g->kept; /* Not needed any more. */

    for (uint32_t k = 0; k < c->classes; k++) {
        for (uint32_t at = c->start[k]; at < c->start[k + 1]; at++) {
            uint32_t i = c->member[at], to = at;

            for (; to > c->start[k] && grow_comes_before(g, i, in_order[to - 1]); to--) {
                in_order[to] = in_order[to - 1];
            }
            in_order[to] = i;
        }
    }
    for (uint32_t at = 0; at < c->workers; at++) {
        name[in_order[at]] = c->member[at];
    }
    for (uint32_t i = 0; i < c->workers; i++) {
        parent_out[name[i]] = g->parent[i] == g->root ? PLAN_TREE_ROOT : name[g->parent[i]];
    }
}

enum err plan_tree_grow(const struct plan_tree_problem *p, uint32_t *parent_out,
                        struct plan_tree_answer *out, struct err_text *text)
{
    struct plan_grow g = {0};
    struct plan_core c;
    enum err rc = plan_core_init(&c, p, false, text);

    if (rc != OK) {
        return rc;
    }
    *out = (struct plan_tree_answer){.method = PLAN_TREE_HEURISTIC};
    rc = grow_init(&g, &c);
    if (rc == OK) {
        rc = grow_find(&g);
    }
    if (rc == OK) {
        rc = plan_core_bound(&c, &out->bound);
    }
    if (rc == OK) {
        grow_settle(&g, parent_out);
        CHECK(plan_tree_measure(p, parent_out, out));
        out->bound = out->bound < out->objective ? out->bound : out->objective;
        out->optimal = out->bound == out->objective;
    }
    grow_deinit(&g);
    plan_core_deinit(&c);
    return rc == OK ? OK : err_text_set(text, rc, "out of memory");
}
