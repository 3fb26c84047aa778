#include "plan/tree_core.h"

#include "base/mem.h"

#include <stdlib.h>

static bool core_may_relay(const struct plan_tree_problem *p, uint32_t i)
{
    return p->leaf_only == NULL || !p->leaf_only[i];
}

/* May @i and @j change places in every tree? This is transitive, so one of a class stands for all.
 */
static bool core_alike(const struct plan_tree_problem *p, uint32_t i, uint32_t j)
{
    if (core_may_relay(p, i) != core_may_relay(p, j)) {
        return false;
    }
    if (p->places != NULL) {
        return p->places[i].agg == p->places[j].agg && p->places[i].edge == p->places[j].edge;
    }
    if (plan_tree_cost(p, i, j) != plan_tree_cost(p, j, i) ||
        plan_tree_cost(p, PLAN_TREE_ROOT, i) != plan_tree_cost(p, PLAN_TREE_ROOT, j)) {
        return false;
    }
    for (uint32_t k = 0; k < p->workers; k++) {
        if (k != i && k != j &&
            (plan_tree_cost(p, i, k) != plan_tree_cost(p, j, k) ||
             plan_tree_cost(p, k, i) != plan_tree_cost(p, k, j))) {
            return false;
        }
    }
    return true;
}

/* Give each worker its class; @first has a worker of each. */
static void core_classify(struct plan_core *c, bool plain, uint32_t *first)
{
    for (uint32_t i = 0; i < c->workers; i++) {
        uint32_t k = plain ? c->classes : 0;

        while (k < c->classes && !core_alike(c->problem, first[k], i)) {
            k++;
        }
        if (k == c->classes) {
            first[c->classes++] = i;
        }
        c->class_of[i] = k;
    }
    c->class_of[c->workers] = c->classes;
}

static uint32_t core_load(const struct plan_core *c, uint32_t worker)
{
    return c->problem->load == NULL ? 0 : c->problem->load[worker];
}

static void core_sort(struct plan_core *c)
{
    for (uint32_t i = 0; i < c->workers; i++) {
        c->start[c->class_of[i] + 1]++;
    }
    for (uint32_t k = 0; k < c->classes; k++) {
        c->start[k + 1] += c->start[k];
    }
    for (uint32_t i = 0, k; i < c->workers; i++) {
        uint32_t at;

        k = c->class_of[i];
        for (at = c->start[k]; at < c->start[k + 1] && c->member[at] != PLAN_TREE_ROOT; at++) {
        }
        for (; at > c->start[k] && core_load(c, c->member[at - 1]) > core_load(c, i); at--) {
            c->member[at] = c->member[at - 1];
        }
        c->member[at] = i;
    }
}

/* Between two of the class; nobody is its own parent. */
static double core_cost_of(const struct plan_core *c, uint32_t from, uint32_t to)
{
    uint32_t child = c->member[c->start[to]];

    if (from == c->classes) {
        return plan_tree_cost(c->problem, PLAN_TREE_ROOT, child);
    }
    if (from == to) {
        return plan_core_count(c, to) == 1
                   ? 0
                   : plan_tree_cost(c->problem, c->member[c->start[to] + 1], child);
    }
    return plan_tree_cost(c->problem, c->member[c->start[from]], child);
}

static void core_price(struct plan_core *c)
{
    c->scale = c->leaf_cost;
    for (uint32_t from = 0; from <= c->classes; from++) {
        for (uint32_t to = 0; to < c->classes; to++) {
            double cost = core_cost_of(c, from, to);

            c->cost[(size_t)from * c->classes + to] = cost;
            c->scale = cost > c->scale ? cost : c->scale;
        }
    }
    c->scale = c->scale > 0 ? c->scale : 1;
    for (uint32_t k = 0; k < c->classes; k++) {
        c->leaf_only[k] = !core_may_relay(c->problem, c->member[c->start[k]]);
    }
}

static enum err core_fill(struct plan_core *c, bool plain)
{
    c->class_of = mem_calloc(c->workers + 1, sizeof(*c->class_of));
    c->member = mem_calloc(c->workers, sizeof(*c->member));
    if (c->class_of == NULL || c->member == NULL) {
        return ERR_NOMEM;
    }
    core_classify(c, plain, c->member);
    c->start = mem_calloc(c->classes + 1, sizeof(*c->start));
    c->leaf_only = mem_calloc(c->classes, sizeof(*c->leaf_only));
    c->cost = mem_calloc((size_t)(c->classes + 1) * c->classes, sizeof(*c->cost));
    if (c->start == NULL || c->leaf_only == NULL || c->cost == NULL) {
        return ERR_NOMEM;
    }
    for (uint32_t i = 0; i < c->workers; i++) {
        c->member[i] = PLAN_TREE_ROOT; /* Not yet dealt out. */
    }
    core_sort(c);
    core_price(c);
    return OK;
}

enum err plan_core_init(struct plan_core *c, const struct plan_tree_problem *p, bool plain,
                        struct err_text *text)
{
    enum err rc = plan_tree_possible(p, text);

    *c = (struct plan_core){.problem = p, .workers = p->workers, .leaf_cost = p->leaf_cost};
    c->degree = p->degree < p->workers ? p->degree : p->workers;
    c->depth = p->depth < p->workers ? p->depth : p->workers;
    if (rc == OK) {
        rc = core_fill(c, plain);
        if (rc != OK) {
            plan_core_deinit(c);
            return err_text_set(text, rc, "out of memory");
        }
    }
    return rc;
}

void plan_core_deinit(struct plan_core *c)
{
    mem_free(c->class_of);
    mem_free(c->start);
    mem_free(c->member);
    mem_free(c->leaf_only);
    mem_free(c->cost);
    *c = (struct plan_core){.problem = c->problem};
}

/* With that many leaves no level has more workers, and each has at most .degree times as many as
 * the one above it; such a tree exists. */
uint32_t plan_core_leaves_least(const struct plan_core *c)
{
    uint32_t leaves = 1, masked = 0;

    for (;; leaves++) {
        uint64_t all = 0, level = 1;

        for (uint32_t h = 0; h < c->depth && all < c->workers; h++) {
            level = level * c->degree > leaves ? leaves : level * c->degree;
            all += level;
        }
        if (all >= c->workers) {
            break;
        }
    }
    for (uint32_t k = 0; k < c->classes; k++) {
        masked += c->leaf_only[k] ? plan_core_count(c, k) : 0;
    }
    return masked > leaves ? masked : leaves;
}

uint32_t plan_core_firsts_least(const struct plan_core *c)
{
    uint64_t below = 1, level = 1; /* What hangs on a child of the root, itself included. */

    for (uint32_t h = 1; h < c->depth && below < c->workers; h++) {
        level = level * c->degree > c->workers ? c->workers : level * c->degree;
        below += level;
    }
    return (uint32_t)((c->workers + below - 1) / below);
}

static int core_order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* The cheapest worker as a parent of one of class @to; that of the root if there is no other. */
static double core_cheapest(const struct plan_core *c, uint32_t to)
{
    double least = plan_core_cost(c, c->classes, to);
    bool any = false;

    for (uint32_t k = 0; k < c->classes; k++) {
        if (!c->leaf_only[k] && (k != to || plan_core_count(c, k) > 1) &&
            (!any || plan_core_cost(c, k, to) < least)) {
            least = plan_core_cost(c, k, to);
            any = true;
        }
    }
    return least;
}

enum err plan_core_bound(const struct plan_core *c, double *bound_out)
{
    double *more = mem_calloc(c->workers, sizeof(*more)); /* As a child of the root. */
    uint32_t firsts = plan_core_firsts_least(c);
    double bound = c->leaf_cost * plan_core_leaves_least(c);

    if (more == NULL) {
        return ERR_NOMEM;
    }
    for (uint32_t k = 0; k < c->classes; k++) {
        double least = core_cheapest(c, k);

        for (uint32_t at = c->start[k]; at < c->start[k + 1]; at++) {
            more[at] = plan_core_cost(c, c->classes, k) - least;
            bound += least;
        }
    }
    qsort(more, c->workers, sizeof(*more), core_order);
    for (uint32_t i = 0; i < c->workers && i < c->degree && (i < firsts || more[i] < 0); i++) {
        bound += more[i];
    }
    mem_free(more);
    *bound_out = bound;
    return OK;
}
