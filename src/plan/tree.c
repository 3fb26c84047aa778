#include "plan/tree.h"

#include <stdio.h>

static double tree_distance(const struct plan_tree_problem *p, struct plan_tree_place a,
                            struct plan_tree_place b)
{
    if (a.agg != b.agg) {
        return p->core_cost;
    }
    return a.edge == b.edge ? p->edge_cost : p->agg_cost;
}

double plan_tree_cost(const struct plan_tree_problem *p, uint32_t from, uint32_t to)
{
    double sum = 0;

    if (from == PLAN_TREE_ROOT) {
        for (uint32_t s = 0; s < p->servers; s++) {
            sum += plan_tree_cost(p, p->workers + s, to);
        }
        return sum;
    }
    return p->places == NULL ? p->costs[(size_t)from * p->workers + to]
                             : tree_distance(p, p->places[from], p->places[to]);
}

/* Workers that a tree of @depth levels holds at most, but no more than @enough. */
static uint64_t tree_holds(uint64_t degree, uint64_t depth, uint64_t enough)
{
    uint64_t all = 0, level = 1;

    for (uint64_t h = 0; h < depth && all < enough; h++) {
        level = level * degree > enough ? enough : level * degree;
        all += level;
    }
    return all > enough ? enough : all;
}

/* Those who may relay go above the last level, as many as fit; each of them takes a place and
 * opens @degree. */
static bool tree_fits(uint64_t degree, uint64_t depth, uint64_t relays, uint64_t others)
{
    uint64_t above = tree_holds(degree, depth - 1, relays);

    return others + relays - above <= degree + (degree - 1) * above;
}

static uint32_t tree_relays(const struct plan_tree_problem *p)
{
    uint32_t relays = 0;

    for (uint32_t i = 0; i < p->workers; i++) {
        relays += p->leaf_only == NULL || !p->leaf_only[i];
    }
    return relays;
}

static void tree_check(const struct plan_tree_problem *p)
{
    CHECK(p->workers > 0 && p->workers <= PLAN_TREE_WORKERS_MAX);
    CHECK(p->servers > 0 && p->servers <= PLAN_TREE_SERVERS_MAX);
    CHECK(p->degree > 0 && p->depth > 0);
    CHECK((p->places != NULL) != (p->costs != NULL));
}

enum err plan_tree_possible(const struct plan_tree_problem *p, struct err_text *text)
{
    uint32_t relays, others, degree, depth;
    char mask[64] = "", deeper[64] = "";

    tree_check(p);
    relays = tree_relays(p);
    others = p->workers - relays;
    if (tree_fits(p->degree, p->depth, relays, others)) {
        return OK;
    }
    for (degree = p->degree; !tree_fits(degree, p->depth, relays, others); degree++) {
        CHECK(degree < p->workers); /* The root alone would do. */
    }
    for (depth = p->depth; depth <= p->workers; depth++) {
        if (tree_fits(p->degree, depth, relays, others)) {
            (void)snprintf(deeper, sizeof(deeper), ", or depth %u", depth);
            break;
        }
    }
    if (others > 0) {
        (void)snprintf(mask, sizeof(mask), ", of which %u must not have children,", others);
    }
    return err_text_set(text, ERR_INVALID,
                        "%u workers%s do not fit into a tree of degree %u and depth %u: "
                        "degree %u would do%s",
                        p->workers, mask, p->degree, p->depth, degree, deeper);
}

/* Zero if it does not lead to the root in time. */
static uint32_t tree_depth(const struct plan_tree_problem *p, const uint32_t *parent, uint32_t i)
{
    uint32_t depth = 1;

    while (parent[i] != PLAN_TREE_ROOT) {
        i = parent[i];
        if (++depth > p->depth) {
            return 0;
        }
    }
    return depth;
}

bool plan_tree_measure(const struct plan_tree_problem *p, const uint32_t *parent,
                       struct plan_tree_answer *out)
{
    uint32_t children[PLAN_TREE_WORKERS_MAX + 1] = {0};
    double edges = 0;

    tree_check(p);
    out->depth = 0;
    out->leaves = 0;
    for (uint32_t i = 0; i < p->workers; i++) {
        uint32_t above = parent[i] == PLAN_TREE_ROOT ? p->workers : parent[i];

        if ((parent[i] != PLAN_TREE_ROOT && parent[i] >= p->workers) ||
            ++children[above] > p->degree ||
            (above < p->workers && p->leaf_only != NULL && p->leaf_only[above])) {
            return false;
        }
        edges += plan_tree_cost(p, parent[i], i);
    }
    for (uint32_t i = 0; i < p->workers; i++) {
        uint32_t depth = tree_depth(p, parent, i);

        if (depth == 0) {
            return false;
        }
        out->depth = depth > out->depth ? depth : out->depth;
        out->leaves += children[i] == 0;
    }
    out->objective = edges + p->leaf_cost * out->leaves;
    return true;
}
