/* Better trees by small steps: a worker moves with all below it, two change places with or without
 * what is below them, one goes between a worker and its parent. First at random, where a step may
 * make the tree a little worse, less and less as time goes by (threshold accepting: annealing
 * without logarithms, the same on every machine). Then each worker takes the best of its steps as
 * long as there are any; those whose surroundings did not change are not asked again. */

#include "plan/tree_grow.h"

#include "base/rng.h"

enum improve_kind {
    IMPROVE_NONE,
    IMPROVE_MOVE,   /* .one becomes a child of .other. */
    IMPROVE_TRADE,  /* Both change parents. */
    IMPROVE_SWAP,   /* Both change parents and children. */
    IMPROVE_INSERT, /* .one becomes a child of .other's parent, and .other its child. */
};

/* .cost, then .spread, which is the change of the sum of squares of children. */
struct improve_step {
    enum improve_kind kind;
    uint32_t one;
    uint32_t other;
    double cost;
    int64_t spread;
};

/* Differences below that are rounding. */
#define IMPROVE_EPSILON 1e-9

static bool improve_inside(const struct plan_grow *g, uint32_t i, uint32_t top)
{
    while (g->depth[i] > g->depth[top]) {
        i = g->parent[i];
    }
    return i == top;
}

/* Asked before whether the step can be made at all, which takes longer. */
static bool improve_is_better(const struct plan_grow *g, const struct improve_step *step,
                              const struct improve_step *best)
{
    double epsilon = IMPROVE_EPSILON * g->core->scale;

    return step->cost < best->cost - epsilon ||
           (step->cost < best->cost + epsilon && step->spread < best->spread);
}

/* Of one child more (+1) or less (-1). */
static int64_t improve_spread(const struct plan_grow *g, uint32_t i, int more)
{
    int64_t now = (int64_t)g->children[i] + plan_grow_load(g, i);

    return g->core->problem->load == NULL || i == g->root ? 0 : 2 * now * more + 1;
}

/* A parent that is left by its only child becomes a leaf; one that gets its first is none. */
static double improve_left(const struct plan_grow *g, uint32_t i)
{
    return i != g->root && g->children[i] == 1 ? g->core->leaf_cost : 0;
}

static double improve_joined(const struct plan_grow *g, uint32_t i)
{
    return i != g->root && g->children[i] == 0 ? -g->core->leaf_cost : 0;
}

static bool improve_has_room(const struct plan_grow *g, uint32_t i)
{
    return g->children[i] < g->core->degree && plan_grow_relays(g, i);
}

static bool improve_may_move(const struct plan_grow *g, uint32_t one, uint32_t to)
{
    return to != g->parent[one] && improve_has_room(g, to) &&
           g->depth[to] + 1 + plan_grow_height(g, one) <= g->core->depth &&
           !improve_inside(g, to, one);
}

static void improve_try_move(const struct plan_grow *g, uint32_t one, uint32_t to,
                             struct improve_step *best)
{
    uint32_t from = g->parent[one];
    struct improve_step step = {.kind = IMPROVE_MOVE, .one = one, .other = to};

    step.cost = plan_grow_cost(g, to, one) - plan_grow_cost(g, from, one) + improve_left(g, from) +
                improve_joined(g, to);
    step.spread = improve_spread(g, from, -1) + improve_spread(g, to, 1);
    if (improve_is_better(g, &step, best) && improve_may_move(g, one, to)) {
        *best = step;
    }
}

static bool improve_may_trade(const struct plan_grow *g, uint32_t one, uint32_t other)
{
    uint32_t p = g->parent[one], q = g->parent[other];

    return p != q && g->depth[p] + 1 + plan_grow_height(g, other) <= g->core->depth &&
           g->depth[q] + 1 + plan_grow_height(g, one) <= g->core->depth &&
           !improve_inside(g, one, other) && !improve_inside(g, other, one);
}

static void improve_try_trade(const struct plan_grow *g, uint32_t one, uint32_t other,
                              struct improve_step *best)
{
    uint32_t p = g->parent[one], q = g->parent[other];
    struct improve_step step = {.kind = IMPROVE_TRADE, .one = one, .other = other};

    step.cost = plan_grow_cost(g, p, other) + plan_grow_cost(g, q, one) -
                plan_grow_cost(g, p, one) - plan_grow_cost(g, q, other);
    if (improve_is_better(g, &step, best) && improve_may_trade(g, one, other)) {
        *best = step;
    }
}

/* What the edges at @one cost more if @other were in its place. The edge between both, if there is
 * one, is left out. */
static double improve_replaced(const struct plan_grow *g, uint32_t one, uint32_t other)
{
    double cost = 0;

    if (g->parent[one] != other) {
        cost += plan_grow_cost(g, g->parent[one], other) - plan_grow_cost(g, g->parent[one], one);
    }
    for (uint32_t child = g->first[one]; child != PLAN_GROW_NONE; child = g->next[child]) {
        if (child != other) {
            cost += plan_grow_cost(g, other, child) - plan_grow_cost(g, one, child);
        }
    }
    return cost;
}

static void improve_try_swap(const struct plan_grow *g, uint32_t one, uint32_t other,
                             struct improve_step *best)
{
    struct improve_step step = {.kind = IMPROVE_SWAP, .one = one, .other = other};
    int64_t a = g->children[one], b = g->children[other];

    if ((a > 0 && !plan_grow_relays(g, other)) || (b > 0 && !plan_grow_relays(g, one))) {
        return;
    }
    step.cost = improve_replaced(g, one, other) + improve_replaced(g, other, one);
    if (g->parent[one] == other) {
        step.cost += plan_grow_cost(g, one, other) - plan_grow_cost(g, other, one);
    } else if (g->parent[other] == one) {
        step.cost += plan_grow_cost(g, other, one) - plan_grow_cost(g, one, other);
    }
    if (g->core->problem->load != NULL) {
        step.spread =
            2 * (b - a) * ((int64_t)plan_grow_load(g, one) - (int64_t)plan_grow_load(g, other));
    }
    if (improve_is_better(g, &step, best)) {
        *best = step;
    }
}

/* If @one is below @other now, that only becomes lower when it leaves. */
static bool improve_may_insert(const struct plan_grow *g, uint32_t one, uint32_t other)
{
    uint32_t to = g->parent[other], room = g->core->depth - g->depth[to];

    return g->parent[one] != to && to != one && improve_has_room(g, one) &&
           plan_grow_height(g, one) + 1 <= room && plan_grow_height(g, other) + 2 <= room &&
           !improve_inside(g, to, one);
}

static void improve_try_insert(const struct plan_grow *g, uint32_t one, uint32_t other,
                               struct improve_step *best)
{
    uint32_t from = g->parent[one], to = g->parent[other];
    struct improve_step step = {.kind = IMPROVE_INSERT, .one = one, .other = other};

    step.cost = plan_grow_cost(g, to, one) + plan_grow_cost(g, one, other) -
                plan_grow_cost(g, to, other) - plan_grow_cost(g, from, one) +
                improve_left(g, from) + improve_joined(g, one);
    step.spread = improve_spread(g, from, -1) + improve_spread(g, one, 1);
    if (improve_is_better(g, &step, best) && improve_may_insert(g, one, other)) {
        *best = step;
    }
}

/* The places stay as they are, only who is there changes; so does no depth below. */
static void improve_swap(struct plan_grow *g, uint32_t one, uint32_t other)
{
    uint32_t p = g->parent[one], q = g->parent[other];
    uint32_t first, children, depth = g->depth[one];

    plan_grow_take(g, one);
    plan_grow_take(g, other);
    first = g->first[one];
    children = g->children[one];
    g->first[one] = g->first[other];
    g->children[one] = g->children[other];
    g->depth[one] = g->depth[other];
    g->first[other] = first;
    g->children[other] = children;
    g->depth[other] = depth;
    for (uint32_t i = g->first[one]; i != PLAN_GROW_NONE; i = g->next[i]) {
        g->parent[i] = one;
        g->active[i] = 1;
    }
    for (uint32_t i = g->first[other]; i != PLAN_GROW_NONE; i = g->next[i]) {
        g->parent[i] = other;
        g->active[i] = 1;
    }
    plan_grow_put(g, one, q == one ? other : q);
    plan_grow_put(g, other, p == other ? one : p);
}

static void improve_apply(struct plan_grow *g, const struct improve_step *s)
{
    uint32_t p = g->parent[s->one], q = s->kind == IMPROVE_MOVE ? s->other : g->parent[s->other];

    g->active[s->one] = g->active[s->other] = g->active[p] = g->active[q] = 1;
    if (s->kind == IMPROVE_SWAP) {
        improve_swap(g, s->one, s->other);
        return;
    }
    plan_grow_take(g, s->one);
    if (s->kind != IMPROVE_MOVE) {
        plan_grow_take(g, s->other);
    }
    plan_grow_put(g, s->one, q);
    if (s->kind != IMPROVE_MOVE) {
        plan_grow_put(g, s->other, s->kind == IMPROVE_TRADE ? p : s->one);
    }
}

static bool improve_one(struct plan_grow *g, uint32_t one)
{
    struct improve_step best = {.kind = IMPROVE_NONE};
    bool spread = g->core->problem->load != NULL;

    improve_try_move(g, one, g->root, &best);
    for (uint32_t i = 0; i < g->root; i++) {
        bool alike = g->core->class_of[i] == g->core->class_of[one];

        if (i == one) {
            continue;
        }
        improve_try_move(g, one, i, &best);
        improve_try_insert(g, one, i, &best);
        if (!alike) {
            improve_try_trade(g, one, i, &best);
        }
        if (!alike || spread) {
            improve_try_swap(g, one, i, &best);
        }
    }
    if (best.kind != IMPROVE_NONE) {
        improve_apply(g, &best);
    }
    return best.kind != IMPROVE_NONE;
}

void plan_grow_improve(struct plan_grow *g)
{
    bool again = true;

    while (again && g->looks > 0) {
        again = false;
        for (uint32_t i = 0; i < g->root && g->looks > 0; i++) {
            if (g->active[i] != 0) {
                g->active[i] = 0;
                g->looks -= g->looks < g->root ? g->looks : g->root;
                again = improve_one(g, i) || again;
            }
        }
    }
}

/* Any other worker; every other time one that is like @one or like its parent, since those are
 * near each other. */
static uint32_t improve_partner(const struct plan_grow *g, uint32_t one, struct rng *rng)
{
    const struct plan_core *c = g->core;
    uint64_t draw = rng_next(rng);
    uint32_t like = (draw & 2) != 0 && g->parent[one] != g->root ? g->parent[one] : one;
    uint32_t class = c->class_of[like];

    draw >>= 2;
    if ((draw & 1) != 0 && plan_core_count(c, class) > 1) {
        return c->member[c->start[class] + (uint32_t)((draw >> 1) % plan_core_count(c, class))];
    }
    return (uint32_t)((draw >> 1) % g->root);
}

/* @best has the most that is accepted, and gets a step that is not worse. */
static void improve_draw(const struct plan_grow *g, struct rng *rng, struct improve_step *best)
{
    uint32_t one = (uint32_t)rng_below(rng, g->root);
    uint32_t other = improve_partner(g, one, rng);

    if (one == other) {
        return;
    }
    switch (rng_below(rng, 6)) {
    case 0:
    case 1:
        improve_try_move(g, one, other, best);
        break;
    case 2:
        improve_try_move(g, one, g->parent[other], best);
        break;
    case 3:
        improve_try_insert(g, one, other, best);
        break;
    case 4:
        improve_try_trade(g, one, other, best);
        break;
    default:
        improve_try_swap(g, one, other, best);
        break;
    }
}

void plan_grow_wander(struct plan_grow *g, double warmth, uint64_t steps)
{
    struct rng rng;

    rng_init(&rng, g->root);
    for (uint64_t i = 0; i < steps; i++) {
        double part = (double)(steps - i) / (double)steps;
        struct improve_step step = {.kind = IMPROVE_NONE, .cost = warmth * part * part};

        improve_draw(g, &rng, &step);
        if (step.kind != IMPROVE_NONE) {
            improve_apply(g, &step);
        }
    }
}

void plan_grow_shake(struct plan_grow *g, struct rng *rng)
{
    uint32_t one = (uint32_t)rng_below(rng, g->root);
    uint32_t from = (uint32_t)rng_below(rng, g->root + 1);
    struct improve_step step = {.kind = IMPROVE_MOVE, .one = one};

    for (uint32_t k = 0; k <= g->root; k++) {
        step.other = (from + k) % (g->root + 1);
        if (step.other != one && improve_may_move(g, one, step.other)) {
            improve_apply(g, &step);
            return;
        }
    }
}
