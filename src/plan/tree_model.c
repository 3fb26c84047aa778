#include "plan/tree_model.h"

#include "base/mem.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* How far from a whole number a solver's answer may be. */
#define MODEL_TOLERANCE 1e-4

/* Depths count from one. x first, then z, then y: the first two are few. */

static int model_x(const struct plan_core *c, uint32_t k, uint32_t h)
{
    return (int)(k * c->depth + h - 1);
}

static int model_z(const struct plan_core *c, uint32_t k, uint32_t h)
{
    return (int)(c->classes * c->depth + k * (c->depth - 1) + h - 1);
}

static int model_y(const struct plan_core *c, uint32_t k, uint32_t l, uint32_t h)
{
    return (int)(c->classes * (2 * c->depth - 1) + (k * c->classes + l) * (c->depth - 1) + h - 1);
}

uint64_t plan_model_columns(const struct plan_core *c)
{
    uint64_t k = c->classes, h = c->depth;

    return k * (2 * h - 1) + k * k * (h - 1);
}

/* Rows. Two for the whole, one for each class, then four for each class and level, and those of
 * narrow classes. */

enum model_row { MODEL_PARENTS, MODEL_ROOM, MODEL_PLACES, MODEL_RELAYS, MODEL_ROWS };
enum { MODEL_FIRSTS, MODEL_LEAVES, MODEL_CLASSES };

static int model_row(const struct plan_core *c, enum model_row kind, uint32_t k, uint32_t h)
{
    return (int)(MODEL_CLASSES + c->classes + (k * (c->depth - 1) + h - 1) * MODEL_ROWS + kind);
}

static int model_narrow_row(const struct plan_model *m, uint32_t k, uint32_t h, int narrow)
{
    const struct plan_core *c = m->core;

    return model_row(c, MODEL_PARENTS, c->classes, 1) +
           (int)(k * (c->depth - 1) + h - 1) * m->narrows + narrow;
}

enum { MODEL_GATE_ROWS_MAX = 8 }; /* Of each; more are of use only if nobody branches. */

/* Every rack and every aggregation has to be entered, and who enters at depth h can have no more
 * than holds[h] of it below itself: sum of min(holds[h], size) * entries[h] >= size. The same row
 * divided by holds[j] and rounded up is stronger for some; j is .depth for the row itself. */
static int model_gate_row(const struct plan_model *m, uint32_t gate, uint32_t j)
{
    return model_narrow_row(m, m->core->classes, 1, 0) + (int)(gate * m->core->depth + j - 1);
}

/* Rounded up to one and one it says no more than the row itself. */
static bool model_gate_counts(const struct plan_model *m, uint32_t gate, uint32_t j)
{
    return j == m->core->depth ||
           (m->holds[j] < m->gate_size[gate] && m->core->depth - j < MODEL_GATE_ROWS_MAX);
}

static uint32_t model_gate_weight(const struct plan_model *m, uint32_t gate, uint32_t held,
                                  uint32_t j)
{
    uint32_t most = held < m->gate_size[gate] ? held : m->gate_size[gate];

    return most / m->holds[j] + (most % m->holds[j] != 0); /* Rounded up. */
}

static void model_begin(struct plan_model *m, double most, double cost)
{
    m->start[m->filled] = m->entries;
    m->most[m->filled] = most;
    m->cost[m->filled] = cost / m->core->scale;
    m->filled++;
}

static void model_entry(struct plan_model *m, int row, double value)
{
    m->row[m->entries] = row;
    m->value[m->entries] = value;
    m->entries++;
}

/* Who is at depth @h enters @gate. */
static void model_add_gate(struct plan_model *m, uint32_t gate, uint32_t class, uint32_t h)
{
    uint32_t held = m->core->leaf_only[class] ? 1 : m->holds[h];

    for (uint32_t j = 1; j <= m->core->depth; j++) {
        if (model_gate_counts(m, gate, j)) {
            model_entry(m, model_gate_row(m, gate, j), model_gate_weight(m, gate, held, j));
        }
    }
}

static void model_add_gates(struct plan_model *m, uint32_t from, uint32_t to, uint32_t h)
{
    uint32_t outside = m->core->classes;

    if (m->gates > 0 && from != to) {
        model_add_gate(m, to, to, h);
    }
    if (m->gates > 0 && (from == outside || m->group[from] != m->group[to])) {
        model_add_gate(m, outside + m->group[to], to, h);
    }
}

static void model_add_x(struct plan_model *m, uint32_t k, uint32_t h)
{
    const struct plan_core *c = m->core;

    model_begin(m, plan_core_count(c, k), h == 1 ? plan_core_cost(c, c->classes, k) : 0);
    if (h == 1) {
        model_entry(m, MODEL_FIRSTS, 1);
        model_add_gates(m, c->classes, k, 1);
    }
    model_entry(m, MODEL_CLASSES + (int)k, 1);
    if (h > 1) {
        model_entry(m, model_row(c, MODEL_PARENTS, k, h - 1), -1);
    }
    if (h < c->depth) {
        model_entry(m, model_row(c, MODEL_ROOM, k, h), c->leaf_only[k] ? 0 : -(double)c->degree);
        model_entry(m, model_row(c, MODEL_PLACES, k, h), -1);
        for (uint32_t l = 0; l < c->classes; l++) {
            if (m->narrow[l] >= 0) {
                model_entry(m, model_narrow_row(m, k, h, m->narrow[l]),
                            -(double)plan_core_count(c, l));
            }
        }
    }
}

/* Rewarded by what a leaf costs. */
static void model_add_z(struct plan_model *m, uint32_t k, uint32_t h)
{
    const struct plan_core *c = m->core;
    bool counts = c->leaf_cost > 0 && !c->leaf_only[k];

    model_begin(m, counts ? plan_core_count(c, k) : 0, -c->leaf_cost);
    model_entry(m, MODEL_LEAVES, 1);
    model_entry(m, model_row(c, MODEL_PLACES, k, h), 1);
    model_entry(m, model_row(c, MODEL_RELAYS, k, h), 1);
}

static void model_add_y(struct plan_model *m, uint32_t k, uint32_t l, uint32_t h)
{
    const struct plan_core *c = m->core;
    double most = plan_core_count(c, l) - (k == l);

    model_begin(m, c->leaf_only[k] ? 0 : most, plan_core_cost(c, k, l));
    model_entry(m, model_row(c, MODEL_PARENTS, l, h), 1);
    model_entry(m, model_row(c, MODEL_ROOM, k, h), 1);
    model_entry(m, model_row(c, MODEL_RELAYS, k, h), -1);
    if (m->narrow[l] >= 0) {
        model_entry(m, model_narrow_row(m, k, h, m->narrow[l]), 1);
    }
    model_add_gates(m, k, l, h + 1);
}

static void model_add_columns(struct plan_model *m)
{
    const struct plan_core *c = m->core;

    for (uint32_t k = 0; k < c->classes; k++) {
        for (uint32_t h = 1; h <= c->depth; h++) {
            model_add_x(m, k, h);
        }
    }
    m->integers = m->filled;
    for (uint32_t k = 0; k < c->classes; k++) {
        for (uint32_t h = 1; h < c->depth; h++) {
            model_add_z(m, k, h);
        }
    }
    for (uint32_t kl = 0; kl < c->classes * c->classes; kl++) {
        for (uint32_t h = 1; h < c->depth; h++) {
            model_add_y(m, kl / c->classes, kl % c->classes, h);
        }
    }
    m->start[m->filled] = m->entries;
    CHECK(m->filled == m->columns);
}

/* All rows that are not named here are "at most zero". */
static void model_bound_rows(struct plan_model *m)
{
    const struct plan_core *c = m->core;

    for (int r = 0; r < m->rows; r++) {
        m->row_least[r] = -DBL_MAX;
    }
    m->row_least[MODEL_FIRSTS] = plan_core_firsts_least(c);
    m->row_most[MODEL_FIRSTS] = c->degree;
    m->row_most[MODEL_LEAVES] = c->workers - plan_core_leaves_least(c);
    for (uint32_t k = 0; k < c->classes; k++) {
        m->row_least[MODEL_CLASSES + k] = m->row_most[MODEL_CLASSES + k] = plan_core_count(c, k);
        for (uint32_t h = 1; h < c->depth; h++) {
            m->row_least[model_row(c, MODEL_PARENTS, k, h)] = 0;
        }
    }
    for (uint32_t gate = 0; gate < m->gates; gate++) {
        for (uint32_t j = 1; j <= c->depth; j++) {
            if (model_gate_counts(m, gate, j)) {
                int row = model_gate_row(m, gate, j);

                m->row_least[row] = model_gate_weight(m, gate, m->gate_size[gate], j);
                m->row_most[row] = DBL_MAX;
            }
        }
    }
}

static void model_find_narrow(struct plan_model *m)
{
    for (uint32_t k = 0; k < m->core->classes; k++) {
        m->narrow[k] = plan_core_count(m->core, k) < m->core->degree ? m->narrows++ : -1;
    }
}

/* Classes of one aggregation are a group. */
static void model_find_gates(struct plan_model *m)
{
    const struct plan_core *c = m->core;
    const struct plan_tree_place *places = c->problem->places;
    uint32_t groups = 0;

    m->holds[c->depth] = 1;
    for (uint32_t h = c->depth - 1; h > 0; h--) {
        uint64_t all = 1 + (uint64_t)m->holds[h + 1] * c->degree;

        m->holds[h] = all < c->workers ? (uint32_t)all : c->workers;
    }
    for (uint32_t k = 0; k < c->classes && places != NULL; k++) {
        uint32_t other = 0;

        while (places[c->member[c->start[other]]].agg != places[c->member[c->start[k]]].agg) {
            other++;
        }
        m->group[k] = other == k ? groups++ : m->group[other];
        m->gate_size[k] = plan_core_count(c, k);
        m->gate_size[c->classes + m->group[k]] += plan_core_count(c, k);
    }
    m->gates = places == NULL ? 0 : c->classes + groups;
}

enum err plan_model_init(struct plan_model *m, const struct plan_core *c)
{
    size_t k = c->classes, h = c->depth, columns = (size_t)plan_model_columns(c), entries;

    *m = (struct plan_model){.core = c, .columns = (int)columns};
    m->narrow = mem_calloc(k, sizeof(*m->narrow));
    m->group = mem_calloc(k, sizeof(*m->group));
    m->gate_size = mem_calloc(k * 2, sizeof(*m->gate_size));
    m->holds = mem_calloc(h + 1, sizeof(*m->holds));
    if (m->narrow == NULL || m->group == NULL || m->gate_size == NULL || m->holds == NULL) {
        plan_model_deinit(m);
        return ERR_NOMEM;
    }
    model_find_narrow(m);
    model_find_gates(m);
    m->rows = model_gate_row(m, m->gates, 1);
    entries =
        columns * (5 + (m->gates > 0 ? 2U * MODEL_GATE_ROWS_MAX : 0)) + k * h * (size_t)m->narrows;
    m->start = mem_calloc(columns + 1, sizeof(*m->start));
    m->row = mem_calloc(entries, sizeof(*m->row));
    m->value = mem_calloc(entries, sizeof(*m->value));
    m->least = mem_calloc(columns, sizeof(*m->least));
    m->most = mem_calloc(columns, sizeof(*m->most));
    m->cost = mem_calloc(columns, sizeof(*m->cost));
    m->row_least = mem_calloc((size_t)m->rows, sizeof(*m->row_least));
    m->row_most = mem_calloc((size_t)m->rows, sizeof(*m->row_most));
    if (m->start == NULL || m->row == NULL || m->value == NULL || m->least == NULL ||
        m->most == NULL || m->cost == NULL || m->row_least == NULL || m->row_most == NULL) {
        plan_model_deinit(m);
        return ERR_NOMEM;
    }
    model_bound_rows(m);
    model_add_columns(m);
    CHECK((size_t)m->entries <= entries);
    return OK;
}

void plan_model_deinit(struct plan_model *m)
{
    mem_free(m->start);
    mem_free(m->row);
    mem_free(m->value);
    mem_free(m->least);
    mem_free(m->most);
    mem_free(m->cost);
    mem_free(m->row_least);
    mem_free(m->row_most);
    mem_free(m->narrow);
    mem_free(m->group);
    mem_free(m->gate_size);
    mem_free(m->holds);
    *m = (struct plan_model){.core = m->core};
}

static uint32_t model_depth(const uint32_t *parent, uint32_t i)
{
    uint32_t depth = 1;

    while (parent[i] != PLAN_TREE_ROOT) {
        i = parent[i];
        depth++;
    }
    return depth;
}

enum err plan_model_from_tree(const struct plan_model *m, const uint32_t *parent, double *values)
{
    const struct plan_core *c = m->core;
    bool *relays = mem_calloc(c->workers, sizeof(*relays));

    if (relays == NULL) {
        return ERR_NOMEM;
    }
    memset(values, 0, (size_t)m->columns * sizeof(*values));
    for (uint32_t i = 0; i < c->workers; i++) {
        uint32_t k = c->class_of[i], h = model_depth(parent, i), p = parent[i];

        values[model_x(c, k, h)] += 1;
        if (p != PLAN_TREE_ROOT) {
            values[model_y(c, c->class_of[p], k, h - 1)] += 1;
            if (!relays[p] && c->leaf_cost > 0) {
                values[model_z(c, c->class_of[p], h - 1)] += 1;
            }
            relays[p] = true;
        }
    }
    mem_free(relays);
    return OK;
}

void plan_model_fix(struct plan_model *m, const double *values)
{
    for (int i = 0; i < m->integers; i++) {
        m->least[i] = m->most[i] = floor(values[i] + 0.5);
    }
    m->integers = 0;
}

static bool model_whole(double value, uint32_t *out)
{
    double near = floor(value + 0.5);

    *out = near > 0 ? (uint32_t)near : 0;
    return near >= 0 && near <= PLAN_TREE_WORKERS_MAX && fabs(value - near) < MODEL_TOLERANCE;
}

/* Which workers are where: of class k those from first[k][h] to first[k][h + 1] of .member are at
 * depth h. */
static bool model_deal_depths(const struct plan_core *c, const double *values, uint32_t *first)
{
    for (uint32_t k = 0; k < c->classes; k++) {
        uint32_t at = c->start[k], here;

        for (uint32_t h = 1; h <= c->depth; h++) {
            *first++ = at;
            if (!model_whole(values[model_x(c, k, h)], &here)) {
                return false;
            }
            at += here;
        }
        *first++ = at;
        if (at != c->start[k + 1]) {
            return false;
        }
    }
    return true;
}

/* Parents for those at depth @h + 1. Children go round among the workers of a class, so that none
 * has many while another has none; @turn has whose turn it is in each class. */
static bool model_deal_children(const struct plan_core *c, const double *values, uint32_t h,
                                const uint32_t *first, uint32_t *turn, uint32_t *parent)
{
    for (uint32_t l = 0; l < c->classes; l++) {
        const uint32_t *child = &first[l * (c->depth + 1) + h];
        uint32_t at = child[0];

        for (uint32_t k = 0; k < c->classes; k++) {
            const uint32_t *mine = &first[k * (c->depth + 1) + h - 1];
            uint32_t edges, here = mine[1] - mine[0];

            if (!model_whole(values[model_y(c, k, l, h)], &edges) || edges > child[1] - at ||
                (edges > 0 && here == 0)) {
                return false;
            }
            for (; edges > 0; edges--, at++) {
                parent[c->member[at]] = c->member[mine[0] + turn[k]++ % here];
            }
        }
        if (at != child[1]) {
            return false;
        }
    }
    return true;
}

enum err plan_model_to_tree(const struct plan_model *m, const double *values, uint32_t *parent_out)
{
    const struct plan_core *c = m->core;
    size_t firsts = (size_t)c->classes * (c->depth + 1);
    uint32_t *first = mem_calloc(firsts + c->classes, sizeof(*first));
    struct plan_tree_answer measured;
    bool good;

    if (first == NULL) {
        return ERR_NOMEM;
    }
    for (uint32_t i = 0; i < c->workers; i++) {
        parent_out[i] = PLAN_TREE_ROOT;
    }
    good = model_deal_depths(c, values, first);
    for (uint32_t h = 1; h < c->depth && good; h++) {
        memset(first + firsts, 0, c->classes * sizeof(*first));
        good = model_deal_children(c, values, h, first, first + firsts, parent_out);
    }
    mem_free(first);
    return good && plan_tree_measure(c->problem, parent_out, &measured) ? OK : ERR_MALFORMED;
}
