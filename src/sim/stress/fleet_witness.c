/* What a fleet's copies must hold, and what its readers must not miss. */

#include "sim/stress/fleet_state.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FLEET_LOOK_EVERY = 4 };

struct node_lane *fleet_lane(struct fleet_site *s, uint32_t table)
{
    struct fleet *f = s->fleet;

    return sim_cluster_lane(s->cluster, table_chunk_shard((uint16_t)table, 0, f->lanes) % f->lanes);
}

static void fleet_break(struct fleet *f, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void fleet_break(struct fleet *f, const char *fmt, ...)
{
    va_list args;

    if (f->broken[0] == '\0') {
        va_start(args, fmt);
        (void)vsnprintf(f->broken, sizeof(f->broken), fmt, args);
        va_end(args);
    }
}

/* The index of a table's only chunk in its lane: tables before it that are there too. */
static uint32_t fleet_index(const struct fleet *f, uint32_t table)
{
    uint32_t lane = table_chunk_shard((uint16_t)table, 0, f->lanes) % f->lanes;
    uint32_t index = 0;

    for (uint32_t t = 0; t < table; t++) {
        index += table_chunk_shard((uint16_t)t, 0, f->lanes) % f->lanes == lane;
    }
    return index;
}

/* What lanes tell. */

static void fleet_closed(uint16_t table, uint32_t chunk, uint64_t version, const float *values,
                         uint32_t count, void *user)
{
    struct fleet_site *s = user;
    struct fleet_table *t = &s->tables[table];

    (void)chunk;
    (void)version;
    for (uint32_t i = 0; i < count; i++) {
        t->own[i] += (double)values[i] - (double)t->values[i];
    }
    memcpy(t->values, values, count * sizeof(*values));
}

static void fleet_shared(uint16_t table, uint32_t chunk, uint64_t number, uint64_t clock,
                         const float *held, void *user)
{
    struct fleet_site *s = user;
    struct fleet_table *t = &s->tables[table];
    struct fleet_piece *p;

    (void)chunk;
    if (t->pieces_count == FLEET_PIECES_MAX) {
        fleet_break(s->fleet, "more than %d pieces: take fewer clocks", FLEET_PIECES_MAX);
        return;
    }
    p = &t->pieces[t->pieces_count++];
    p->number = number;
    p->clock = clock;
    for (uint32_t i = 0; i < table_elements(&s->fleet->schemas[table]); i++) {
        p->sum[i] = t->own[i] - (double)held[i];
    }
}

static void fleet_mirrored(uint16_t table, uint32_t chunk, const float *values, uint32_t count,
                           void *user)
{
    struct fleet_site *s = user;

    (void)chunk;
    memcpy(s->tables[table].values, values, count * sizeof(*values));
}

/* The bound: nobody reads who misses a piece of a clock more than staleness before its own, of a
 * site that counts. */
static void fleet_allowed(uint16_t table, uint32_t chunk, uint64_t clock, void *user)
{
    struct fleet_site *s = user;
    struct fleet *f = s->fleet;
    const struct mirror *m = node_mirror_machine(node_lane_mirror(fleet_lane(s, table)));

    (void)chunk;
    f->reads++;
    for (uint32_t i = 1; i < m->sites_count && m->config.staleness != MIRROR_UNBOUNDED; i++) {
        uint32_t other = (s->index + i) % f->sites_count;
        const struct fleet_table *t = &f->sites[other].tables[table];
        const struct mirror_site *its = &m->sites[i];
        uint64_t has = mirror_contained(m, fleet_index(f, table), i);

        if (its->left_out || its->offset > 0 || (its->done && its->stable >= its->number)) {
            continue; /* Without workers it has no clock. */
        }
        for (uint32_t k = 0; k < t->pieces_count; k++) {
            if (t->pieces[k].clock + m->config.staleness + 1 < clock && t->pieces[k].number > has) {
                fleet_break(f,
                            "I9: site %s reads for clock %" PRIu64 ", has %" PRIx64
                            " of site %s at clock %" PRIu64 ", but not %" PRIx64
                            " of clock %" PRIu64,
                            s->name, clock, its->stable, f->sites[other].name, its->clock,
                            t->pieces[k].number, t->pieces[k].clock);
            }
        }
    }
}

/* What a copy has of others, by what it says. */
static void fleet_foreign(const struct fleet_site *s, uint32_t table, const struct mirror *m,
                          double *sum)
{
    const struct fleet *f = s->fleet;
    uint32_t chunk = fleet_index(f, table);

    for (uint32_t i = 1; i < m->sites_count; i++) {
        const struct fleet_table *t = &f->sites[(s->index + i) % f->sites_count].tables[table];
        uint64_t has = mirror_contained(m, chunk, i);
        const struct fleet_piece *last = NULL;

        for (uint32_t k = 0; k < t->pieces_count && t->pieces[k].number <= has; k++) {
            last = &t->pieces[k];
        }
        for (uint32_t e = 0; e < table_elements(&f->schemas[table]) && last != NULL; e++) {
            sum[e] += last->sum[e];
        }
    }
}

/* Does the site know of the last piece of this table, or did it forget, before anybody saw it? */
static bool fleet_knows_last(const struct fleet_table *t, const struct mirror *m, uint32_t chunk)
{
    uint64_t made = m->made[chunk];

    return t->pieces[t->pieces_count - 1].number <= made && made != m->config.life
                                                                        << MIRROR_LIFE_SHIFT;
}

/* A lane goes on from what it had stored: updates that were in no checkpoint come again. What was
 * shared of them is known to be shared. */
static void fleet_restored(uint16_t table, uint32_t chunk, uint64_t version, const float *values,
                           uint32_t count, void *user)
{
    struct fleet_site *s = user;
    struct fleet_table *t = &s->tables[table];
    struct node_mirror *r = node_lane_mirror(fleet_lane(s, table));
    const struct mirror *m = node_mirror_machine(r);
    const float *held = node_mirror_held(r, fleet_index(s->fleet, table));
    double foreign[FLEET_ELEMENTS_MAX] = {0};

    (void)version;
    fleet_mirrored(table, chunk, values, count, user);
    while (t->pieces_count > 0 && !fleet_knows_last(t, m, fleet_index(s->fleet, table))) {
        t->pieces_count--;
    }
    fleet_foreign(s, table, m, foreign);
    for (uint32_t e = 0; e < count; e++) {
        double shared = t->pieces_count == 0 ? 0 : t->pieces[t->pieces_count - 1].sum[e];

        t->own[e] = (double)values[e] - foreign[e];
        if (t->own[e] - (double)held[e] != shared) {
            fleet_break(s->fleet,
                        "I8: site %s, table %u goes on with %.0f of its own, %.0f held back, but "
                        "%.0f were shared",
                        s->name, table, t->own[e], (double)held[e], shared);
        }
    }
}

const struct node_lane_witness fleet_lane_witness = {
    .closed = fleet_closed,
    .shared = fleet_shared,
    .mirrored = fleet_mirrored,
    .allowed = fleet_allowed,
    .restored = fleet_restored,
};

/* After every event. */

/* Has the lane of a table told what it goes on from? */
static bool fleet_is_settled(struct fleet_site *s, uint32_t table)
{
    struct node_lane *l = fleet_lane(s, table);
    struct node_lane_stats stats = {.restoring = true};

    if (l != NULL) {
        node_lane_stats(l, &stats);
    }
    return !stats.restoring && !stats.fresh;
}

/* What a copy must hold: all of its own, and of others what it says it has. */
static void fleet_judge(struct fleet_site *s, uint32_t table)
{
    struct fleet *f = s->fleet;
    struct node_lane *l = fleet_lane(s, table);
    const struct fleet_table *own = &s->tables[table];
    double expected[FLEET_ELEMENTS_MAX];
    uint32_t count = (uint32_t)table_elements(&f->schemas[table]);
    uint32_t chunk = fleet_index(f, table);
    const struct mirror *m;

    if (!fleet_is_settled(s, table)) {
        return;
    }
    m = node_mirror_machine(node_lane_mirror(l));
    if (chunk >= m->chunks_count) {
        return;
    }
    memcpy(expected, own->own, sizeof(expected));
    fleet_foreign(s, table, m, expected);
    for (uint32_t i = 1; i < m->sites_count; i++) {
        struct fleet_site *other = &f->sites[(s->index + i) % f->sites_count];
        const struct fleet_table *t = &other->tables[table];
        uint64_t has = mirror_contained(m, chunk, i);

        /* What a site has lost that restarted, nobody can have. */
        for (uint32_t k = 0; k < t->pieces_count && fleet_is_settled(other, table); k++) {
            const struct fleet_piece *p = &t->pieces[k];

            if (p->number > has && p->number <= m->sites[i].stable) {
                fleet_break(f, "I9: site %s says it has %" PRIx64 " of site %s, but not %" PRIx64,
                            s->name, m->sites[i].stable, other->name, p->number);
            }
        }
    }
    for (uint32_t e = 0; e < count; e++) {
        if ((double)own->values[e] != expected[e]) {
            fleet_break(f, "I8: site %s, table %u, element %u: has %.0f, should have %.0f", s->name,
                        table, e, (double)own->values[e], expected[e]);
            return;
        }
    }
}

const char *fleet_look(void *user)
{
    struct fleet *f = user;
    bool judge = ++f->looks % FLEET_LOOK_EVERY == 0;

    for (uint32_t i = 0; i < f->sites_count && judge; i++) {
        for (uint32_t t = 0; t < SIM_FLEET_TABLES; t++) {
            fleet_judge(&f->sites[i], t);
        }
        if (f->broken[0] == '\0') {
            const char *broken = sim_cluster_broken(f->sites[i].cluster);

            if (broken != NULL) {
                fleet_break(f, "site %s: %s", f->sites[i].name, broken);
            }
        }
    }
    return f->broken[0] != '\0' ? f->broken : NULL;
}

bool fleet_agrees(struct fleet *f, char *out, size_t size)
{
    for (uint32_t t = 0; t < SIM_FLEET_TABLES; t++) {
        for (uint32_t i = 1; i < f->sites_count; i++) {
            for (uint32_t e = 0; e < table_elements(&f->schemas[t]); e++) {
                float a = f->sites[0].tables[t].values[e];
                float b = f->sites[i].tables[t].values[e];

                if (a != b) {
                    (void)snprintf(out, size,
                                   "in the end site %s has %.0f in table %u, site %s has %.0f",
                                   f->sites[i].name, (double)b, t, f->sites[0].name, (double)a);
                    return false;
                }
            }
        }
    }
    return true;
}
