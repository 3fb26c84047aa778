/* What each chunk went through, version by version. */

#include "sim/stress/witness.h"

#include "base/hash.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    WITNESS_SLOTS = 1 << 15,
    WITNESS_UPDATES_MAX = WITNESS_SLOTS / 2,
    WITNESS_GROW = 64,
    WITNESS_UPDATES_FIRST = 512
};

struct witness_update {
    bool open;    /* In a sum that is not closed. */
    bool acked;   /* Its worker has forgotten it. */
    bool due;     /* Must be in the values in the end, */
    bool dropped; /* unless it was not acknowledged when its worker forgot it, */
    bool excused; /* or it was, and got lost with all who had it. */
    bool owed;    /* That was not said to its worker, which lives. */
    uint16_t table;
    uint32_t rank;
    uint64_t incarnation;
    uint64_t clock;
    uint64_t version; /* Since which it is in the values; zero: it is not. */
};

struct witness_version {
    uint64_t version;
    uint64_t undone; /* By which restore; zero: it was not. */
    float values[SIM_WITNESS_ELEMENTS_MAX];
};

struct witness_versions {
    struct witness_version *list;
    uint32_t count;
    uint32_t capacity;
};

struct witness_chunk {
    struct witness_versions now;
    struct witness_versions undone; /* What a worker that does not know of a restore may read. */
    bool down; /* Its lane is; nothing may happen to it before it is restored. */
};

struct sim_witness {
    struct sim_witness_config config;
    struct table_schema schemas[TABLE_COUNT_MAX];
    struct witness_chunk *chunks; /* One per table. */
    struct witness_update *updates;
    uint32_t updates_count;
    uint32_t updates_capacity;
    uint16_t *slots; /* By hash: one more than the place of an update; zero: none. */
    uint64_t restores;
    char broken[256];
};

static void witness_say(struct sim_witness *w, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void witness_say(struct sim_witness *w, const char *fmt, ...)
{
    va_list args;

    if (w->broken[0] == '\0') {
        va_start(args, fmt);
        (void)vsnprintf(w->broken, sizeof(w->broken), fmt, args);
        va_end(args);
    }
}

enum err sim_witness_create(const struct sim_witness_config *config,
                            struct sim_witness **witness_out)
{
    struct sim_witness *w = mem_zalloc(sizeof(*w));

    if (w == NULL) {
        return ERR_NOMEM;
    }
    w->config = *config;
    memcpy(w->schemas, config->schemas, config->tables * sizeof(w->schemas[0]));
    w->chunks = mem_calloc(config->tables, sizeof(*w->chunks));
    w->updates_capacity = WITNESS_UPDATES_FIRST;
    w->updates = mem_calloc(w->updates_capacity, sizeof(*w->updates));
    w->slots = mem_calloc(WITNESS_SLOTS, sizeof(*w->slots));
    if (w->chunks == NULL || w->updates == NULL || w->slots == NULL) {
        sim_witness_destroy(w);
        return ERR_NOMEM;
    }
    *witness_out = w;
    return OK;
}

void sim_witness_destroy(struct sim_witness *w)
{
    if (w == NULL) {
        return;
    }
    for (uint32_t i = 0; w->chunks != NULL && i < w->config.tables; i++) {
        mem_free(w->chunks[i].now.list);
        mem_free(w->chunks[i].undone.list);
    }
    mem_free(w->chunks);
    mem_free(w->updates);
    mem_free(w->slots);
    mem_free(w);
}

/* The witness itself never runs out of memory, whatever is being tried with its site. */
static void witness_grow(struct sim_witness *w)
{
    struct mem_plan plan = mem_fail_suspend();
    struct witness_update *more = mem_calloc((size_t)w->updates_capacity * 2, sizeof(*more));

    mem_fail_resume(plan);
    CHECK(more != NULL && w->updates_count < WITNESS_UPDATES_MAX);
    memcpy(more, w->updates, w->updates_count * sizeof(*more));
    mem_free(w->updates);
    w->updates = more;
    w->updates_capacity *= 2;
}

/* The update of that name; valid until the next one is made. */
static struct witness_update *witness_update(struct sim_witness *w, uint16_t table, uint32_t rank,
                                             uint64_t incarnation, uint64_t clock)
{
    uint64_t key[4] = {table, rank, incarnation, clock};
    uint32_t at = (uint32_t)(hash_bytes(key, sizeof(key)) % WITNESS_SLOTS);

    while (w->slots[at] != 0) {
        struct witness_update *u = &w->updates[w->slots[at] - 1];

        if (u->table == table && u->rank == rank && u->incarnation == incarnation &&
            u->clock == clock) {
            return u;
        }
        at = (at + 1) % WITNESS_SLOTS;
    }
    if (w->updates_count == w->updates_capacity) {
        witness_grow(w);
    }
    w->updates[w->updates_count] = (struct witness_update){
        .table = table, .rank = rank, .incarnation = incarnation, .clock = clock};
    w->slots[at] = (uint16_t)++w->updates_count;
    return &w->updates[w->updates_count - 1];
}

static uint32_t witness_elements(const struct sim_witness *w, uint32_t table)
{
    return (uint32_t)table_elements(&w->schemas[table]);
}

/* Sums can be predicted where updates are just added. */
static bool witness_adds(const struct sim_witness *w, uint32_t table)
{
    return w->config.exact && w->schemas[table].apply.kind == TABLE_ADD &&
           w->schemas[table].combine == TABLE_SUM;
}

/* The values of @version or the last one before it; NULL: as the table began. */
static const struct witness_version *witness_at(const struct witness_chunk *c, uint64_t version)
{
    for (uint32_t i = c->now.count; i > 0; i--) {
        if (c->now.list[i - 1].version <= version) {
            return &c->now.list[i - 1];
        }
    }
    return NULL;
}

static bool witness_same(const struct sim_witness *w, uint32_t table,
                         const struct witness_version *v, const float *values)
{
    static const float zeros[SIM_WITNESS_ELEMENTS_MAX];

    return memcmp(v == NULL ? zeros : v->values, values,
                  witness_elements(w, table) * sizeof(float)) == 0;
}

/* What lanes tell. */

static void witness_up(struct sim_witness *w, uint16_t table);

static void witness_taken(uint16_t table, uint32_t chunk, uint32_t rank, uint64_t incarnation,
                          uint64_t clock, void *user)
{
    struct sim_witness *w = user;
    struct witness_update *u = witness_update(w, table, rank, incarnation, clock);

    (void)chunk;
    witness_up(w, table);
    if (u->open || u->version != 0) {
        witness_say(w, "I1: update %u/%" PRIu64 " of table %u, clock %" PRIu64 " counted twice",
                    rank, incarnation, table, clock);
    }
    u->open = true;
    u->owed = false; /* The acknowledgement was lost too, so it was sent again. */
}

static void witness_expect(struct sim_witness *w, uint16_t table, uint64_t version,
                           struct witness_version *next)
{
    float update[SIM_WITNESS_ELEMENTS_MAX];

    for (uint32_t i = 0; i < w->updates_count; i++) {
        struct witness_update *u = &w->updates[i];

        if (u->open && u->table == table) {
            w->config.update(table, u->rank, u->clock, update);
            for (uint32_t e = 0; e < witness_elements(w, table); e++) {
                next->values[e] += update[e];
            }
            u->open = false;
            u->version = version;
        }
    }
}

static struct witness_version *witness_next(struct sim_witness *w, struct witness_versions *v)
{
    if (v->count == v->capacity) {
        struct mem_plan plan = mem_fail_suspend();
        struct witness_version *more = mem_calloc(v->capacity + WITNESS_GROW, sizeof(*more));

        mem_fail_resume(plan);
        if (more == NULL) {
            witness_say(w, "the witness has no memory");
            return NULL;
        }
        if (v->count > 0) {
            memcpy(more, v->list, v->count * sizeof(*more));
        }
        mem_free(v->list);
        v->list = more;
        v->capacity += WITNESS_GROW;
    }
    return &v->list[v->count];
}

static void witness_closed(uint16_t table, uint32_t chunk, uint64_t version, const float *values,
                           uint32_t count, void *user)
{
    struct sim_witness *w = user;
    struct witness_chunk *c = &w->chunks[table];
    struct witness_version *next = witness_next(w, &c->now);

    (void)chunk;
    (void)count;
    if (next == NULL) {
        return;
    }
    if (c->now.count > 0 && version <= c->now.list[c->now.count - 1].version) {
        witness_say(w, "table %u closes round %" PRIu64 " after %" PRIu64, table, version,
                    c->now.list[c->now.count - 1].version);
    }
    *next = (struct witness_version){.version = version};
    if (c->now.count > 0) {
        memcpy(next->values, c->now.list[c->now.count - 1].values, sizeof(next->values));
    }
    witness_expect(w, table, version, next);
    if (witness_adds(w, table) && !witness_same(w, table, next, values)) {
        witness_say(w, "I3: table %u has other values in round %" PRIu64 " than its updates make",
                    table, version);
    }
    memcpy(next->values, values, witness_elements(w, table) * sizeof(float));
    c->now.count++;
}

static void witness_acknowledged(uint16_t table, uint32_t chunk, uint32_t rank,
                                 uint64_t incarnation, uint64_t clock, void *user)
{
    struct sim_witness *w = user;
    struct witness_update *u = witness_update(w, table, rank, incarnation, clock);

    (void)chunk;
    if (!u->open && u->version == 0) {
        witness_say(w, "I1: update %u of table %u, clock %" PRIu64 " acknowledged but not counted",
                    rank, table, clock);
    }
    u->acked = true;
}

/* An acknowledged update is gone: only if all workers that had it in their copies are gone too. */
static void witness_lost(struct sim_witness *w, struct witness_update *u)
{
    bool excused = w->config.site.delivery == NODE_BROADCAST && u->version != 0 &&
                   !w->config.held(u->table, u->version, w->config.user);

    if (u->acked && !excused) {
        witness_say(w, "I1: acknowledged update %u of table %u, clock %" PRIu64 " is lost", u->rank,
                    u->table, u->clock);
    }
    u->open = false;
    u->version = 0;
    u->excused = u->excused || u->acked; /* Its worker cannot send it again. */
    u->owed =
        u->owed || (u->acked && w->config.works(u->table, u->rank, u->incarnation, w->config.user));
    u->acked = false;
}

static void witness_restored(uint16_t table, uint32_t chunk, uint64_t version, const float *values,
                             uint32_t count, void *user)
{
    struct sim_witness *w = user;
    struct witness_chunk *c = &w->chunks[table];
    const struct witness_version *v = witness_at(c, version);
    uint64_t since = v == NULL ? 0 : v->version;

    (void)chunk;
    (void)count;
    if (!witness_same(w, table, v, values)) {
        witness_say(w, "table %u is restored to what it never was (round %" PRIu64 ")", table,
                    version);
    }
    if (v != (c->now.count == 0 ? NULL : &c->now.list[c->now.count - 1])) {
        w->restores++;
    }
    for (uint32_t i = 0; i < w->updates_count; i++) {
        struct witness_update *u = &w->updates[i];

        if (u->table == table && (u->open || u->version > since)) {
            witness_lost(w, u);
        }
    }
    while (c->now.count > 0 && c->now.list[c->now.count - 1].version > since) {
        struct witness_version *undone = witness_next(w, &c->undone);

        c->now.count--;
        if (undone != NULL) {
            *undone = c->now.list[c->now.count];
            undone->undone = w->restores;
            c->undone.count++;
        }
    }
    c->down = false;
}

/* A lane that never said that it was restored begins from nothing. */
static void witness_up(struct sim_witness *w, uint16_t table)
{
    static const float zeros[SIM_WITNESS_ELEMENTS_MAX];

    if (w->chunks[table].down) {
        witness_restored(table, 0, 0, zeros, 0, w);
    }
}

const struct node_lane_witness sim_witness_lane = {
    .taken = witness_taken,
    .closed = witness_closed,
    .acknowledged = witness_acknowledged,
    .restored = witness_restored,
};

void sim_witness_lane_down(struct sim_witness *w, uint32_t lane)
{
    for (uint32_t t = 0; t < w->config.tables; t++) {
        if (table_chunk_shard((uint16_t)t, 0, w->config.site.shards) % w->config.site.lanes ==
            lane) {
            w->chunks[t].down = true;
        }
    }
}

/* What workers tell. */

void sim_witness_finished(struct sim_witness *w, uint32_t rank, uint64_t incarnation,
                          uint64_t clock)
{
    for (uint32_t t = 0; t < w->config.tables; t++) {
        float update[SIM_WITNESS_ELEMENTS_MAX];
        bool something = false;

        w->config.update(t, rank, clock, update);
        for (uint32_t e = 0; e < witness_elements(w, t); e++) {
            something = something || update[e] != 0;
        }
        if (something) {
            witness_update(w, (uint16_t)t, rank, incarnation, clock)->due = true;
        }
    }
}

void sim_witness_dropped(struct sim_witness *w, uint32_t rank, uint64_t from)
{
    for (uint32_t i = 0; i < w->updates_count; i++) {
        struct witness_update *u = &w->updates[i];

        u->dropped = u->dropped || (u->rank == rank && u->clock >= from && !u->acked);
        u->owed = u->owed && !(u->rank == rank && u->clock >= from);
    }
}

/* Was that undone by a restore after @known ones? */
static bool witness_undone(const struct sim_witness *w, uint32_t table, uint64_t known,
                           const float *values)
{
    const struct witness_versions *undone = &w->chunks[table].undone;
    bool same = false;

    for (uint32_t i = 0; i < undone->count && !same; i++) {
        same = undone->list[i].undone > known && witness_same(w, table, &undone->list[i], values);
    }
    return same;
}

uint64_t sim_witness_read(struct sim_witness *w, uint32_t table, uint64_t clock, uint64_t floor,
                          uint64_t known, const float *values)
{
    const struct witness_chunk *c = &w->chunks[table];
    const struct sync_config *sync = &w->config.site.sync;

    if (c->down) {
        return floor; /* Its lane has begun anew, or will go back: that is told when it is. */
    }
    for (uint32_t i = c->now.count + 1; i > 0; i--) {
        const struct witness_version *v = i > 1 ? &c->now.list[i - 2] : NULL;
        /* Rounds without updates leave no version: this one lasts until the next. */
        uint64_t until = i <= c->now.count ? c->now.list[i - 1].version - 1 : INT64_MAX;

        if (!witness_same(w, table, v, values)) {
            continue;
        }
        if (until < floor) {
            witness_say(w, "I4: a worker saw round %" PRIu64 " of table %u, then %" PRIu64, floor,
                        table, until);
        }
        if (sync->policy->rounds && !sync->policy->read(sync, clock, until)) {
            witness_say(w, "I9: table %u is of round %" PRIu64 ", read for clock %" PRIu64, table,
                        until, clock);
        }
        return v == NULL || v->version < floor ? floor : v->version;
    }
    if (!witness_undone(w, table, known, values)) {
        witness_say(w, "I3: a worker read values of table %u that never were", table);
    }
    return floor;
}

uint64_t sim_witness_restores(const struct sim_witness *w)
{
    return w->restores;
}

uint64_t sim_witness_counted(const struct sim_witness *w)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < w->updates_count; i++) {
        count += w->updates[i].version != 0;
    }
    return count;
}

uint64_t sim_witness_missing(const struct sim_witness *w, char *first, size_t size)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < w->updates_count; i++) {
        const struct witness_update *u = &w->updates[i];

        if ((u->due && !u->dropped && !u->excused && u->version == 0) || u->owed) {
            if (count++ == 0) {
                (void)snprintf(first, size, "worker %u/%" PRIu64 ", table %u, clock %" PRIu64 "%s",
                               u->rank, u->incarnation, u->table, u->clock,
                               u->owed    ? ", of whose loss it has not heard"
                               : u->acked ? ", acknowledged"
                                          : "");
            }
        }
    }
    return count;
}

uint64_t sim_witness_hash(const struct sim_witness *w)
{
    uint64_t hash = 0;

    for (uint32_t t = 0; t < w->config.tables; t++) {
        const struct witness_chunk *c = &w->chunks[t];
        uint64_t mine = c->now.count == 0 ? 0
                                          : hash_bytes(c->now.list[c->now.count - 1].values,
                                                       witness_elements(w, t) * sizeof(float));

        hash = hash * UINT64_C(0x9e3779b97f4a7c15) + mine;
    }
    return hash;
}

const char *sim_witness_broken(const struct sim_witness *w)
{
    return w->broken[0] == '\0' ? NULL : w->broken;
}
