/* Who knows what was made, and where all of it is. */

#include "base/hash.h"
#include "base/mem.h"
#include "codec/coder.h"
#include "codec/filter.h"
#include "sim/stress/feed_state.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FEED_COPIES_EVERY = 16 }; /* Events: to compare them all takes longest. */

bool feed_counts(const struct feed *f, uint32_t table)
{
    return f->site.push.on && f->schemas[table].apply.kind == TABLE_ADD &&
           f->schemas[table].combine == TABLE_SUM;
}

static void feed_break(struct feed *f, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void feed_break(struct feed *f, const char *fmt, ...)
{
    va_list args;

    if (f->broken[0] == '\0') {
        va_start(args, fmt);
        (void)vsnprintf(f->broken, sizeof(f->broken), fmt, args);
        va_end(args);
    }
}

static int64_t feed_units(struct feed *f, float x)
{
    double units = (double)x * FEED_UNITS;

    if (units != rint(units)) {
        feed_break(f, "%.9g is no multiple of 1/%d", (double)x, FEED_UNITS);
    }
    return (int64_t)units;
}

static uint32_t feed_first(const struct feed *f, uint32_t table, uint32_t chunk)
{
    return chunk * table_chunk_elements(&f->schemas[table]);
}

/* Tables have their ids in the order in which all workers make them. */
static void feed_made(uint16_t table, uint32_t chunk, uint64_t clock, const float *update,
                      uint32_t count, void *user)
{
    struct sim_worker *worker = user;
    struct feed *f = ((struct feed_worker *)worker->user)->feed;

    (void)clock;
    for (uint32_t i = 0; feed_counts(f, table) && i < count; i++) {
        f->tables[table].made[feed_first(f, table, chunk) + i] += feed_units(f, update[i]);
    }
}

/* The payload as numbers. */
static void feed_read_payload(struct feed *f, uint32_t codec, const void *payload, uint32_t bytes,
                              uint32_t count, float *out)
{
    struct mem_plan plan = mem_fail_suspend();
    struct codec_coder *coder = NULL;
    struct codec_plain plain;

    memset(out, 0, count * sizeof(*out));
    if (codec_coder_create(&coder) != OK ||
        codec_decode(coder, codec, payload, bytes, count, &plain) != OK) {
        feed_break(f, "a worker sent what cannot be read: codec %u, %u bytes", codec, bytes);
    } else {
        (void)codec_add(plain.codec, plain.payload, count, out);
    }
    codec_coder_destroy(coder);
    mem_fail_resume(plan);
}

static struct feed_flying *feed_fly(struct feed *f)
{
    for (uint32_t i = 0; i < FEED_FLYING_MAX; i++) {
        if (!f->flying[i].used) {
            f->flying_end = i >= f->flying_end ? i + 1 : f->flying_end;
            return &f->flying[i];
        }
    }
    return NULL;
}

static void feed_pushed(uint16_t table, uint32_t chunk, uint64_t clock, uint32_t codec,
                        const void *payload, uint32_t bytes, void *user)
{
    struct sim_worker *worker = user;
    struct feed *f = ((struct feed_worker *)worker->user)->feed;
    uint32_t count = table_chunk_size(&f->schemas[table], chunk);
    float values[FEED_ELEMENTS_MAX];
    struct feed_flying *fly;
    struct mem_plan plan;

    f->pushes++;
    if (!feed_counts(f, table)) {
        return;
    }
    feed_read_payload(f, codec, payload, bytes, count, values);
    fly = feed_fly(f);
    plan = mem_fail_suspend();
    if (fly != NULL) {
        *fly = (struct feed_flying){.used = true,
                                    .rank = worker->rank,
                                    .incarnation = worker->incarnation,
                                    .clock = clock,
                                    .table = table,
                                    .chunk = chunk,
                                    .units = mem_calloc(count, sizeof(int64_t))};
    }
    mem_fail_resume(plan);
    if (fly == NULL || fly->units == NULL) {
        feed_break(f, "no room to remember what is on its way");
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        fly->units[i] = feed_units(f, values[i]);
        f->tables[table].flying[feed_first(f, table, chunk) + i] += fly->units[i];
    }
}

const struct node_worker_witness feed_worker_witness = {.made = feed_made, .pushed = feed_pushed};

static void feed_taken(uint16_t table, uint32_t chunk, uint32_t rank, uint64_t incarnation,
                       uint64_t clock, void *user)
{
    struct feed *f = user;

    f->taken++;
    for (uint32_t k = 0; k < f->flying_end && feed_counts(f, table); k++) {
        struct feed_flying *fly = &f->flying[k];

        if (fly->used && fly->rank == rank && fly->incarnation == incarnation &&
            fly->clock == clock && fly->table == table && fly->chunk == chunk) {
            for (uint32_t i = 0; i < table_chunk_size(&f->schemas[table], chunk); i++) {
                f->tables[table].flying[feed_first(f, table, chunk) + i] -= fly->units[i];
                f->tables[table].open[feed_first(f, table, chunk) + i] += fly->units[i];
            }
            mem_free(fly->units);
            *fly = (struct feed_flying){0};
            return;
        }
    }
    if (feed_counts(f, table)) {
        feed_break(f,
                   "I1: a lane took an update of worker %u for clock %" PRIu64
                   " that was not sent, or twice",
                   rank, clock);
    }
}

static void feed_closed(uint16_t table, uint32_t chunk, uint64_t version, const float *values,
                        uint32_t count, void *user)
{
    struct feed *f = user;

    (void)version;
    memcpy(f->tables[table].values + feed_first(f, table, chunk), values, count * sizeof(*values));
    for (uint32_t i = 0; feed_counts(f, table) && i < count; i++) {
        uint32_t at = feed_first(f, table, chunk) + i;

        f->tables[table].open[at] = 0; /* It is in the values, or held back by the lane. */
        f->tables[table].entered[at] = feed_units(f, values[i]);
    }
}

static void feed_restored(uint16_t table, uint32_t chunk, uint64_t version, const float *values,
                          uint32_t count, void *user)
{
    (void)table;
    (void)chunk;
    (void)values;
    (void)count;
    if (version != 0) { /* It may wait for members at the start, as if it had died. */
        feed_break(user, "a lane was restored that had not died");
    }
}

const struct node_lane_witness feed_lane_witness = {
    .taken = feed_taken,
    .closed = feed_closed,
    .restored = feed_restored,
};

void feed_mourn(struct feed_worker *w)
{
    struct feed *f = w->feed;

    for (uint32_t t = 0; w->worker != NULL && w->worker->node != NULL && t < w->opened; t++) {
        for (uint32_t c = 0; feed_counts(f, t) && c < table_chunk_count(&f->schemas[t]); c++) {
            const float *held = node_worker_held(w->worker->node, (uint16_t)t, c);

            for (uint32_t i = 0; held != NULL && i < table_chunk_size(&f->schemas[t], c); i++) {
                f->tables[t].gone[feed_first(f, t, c) + i] += feed_units(f, held[i]);
            }
        }
    }
    w->worker = NULL;
}

/* Looking. */

static struct node_lane *feed_lane(struct feed *f, uint32_t table, uint32_t chunk)
{
    uint32_t lanes = sim_cluster_site(f->cluster)->lanes;
    uint32_t shards = sim_cluster_site(f->cluster)->shards;

    return sim_cluster_lane(f->cluster, table_chunk_shard((uint16_t)table, chunk, shards) % lanes);
}

static const float *feed_held(const struct feed_worker *w, uint32_t table, uint32_t chunk)
{
    bool on = w->worker != NULL && w->worker->node != NULL;

    return on ? node_worker_held(w->worker->node, (uint16_t)table, chunk) : NULL;
}

static void feed_look_conserved(struct feed *f, uint32_t table, uint32_t chunk)
{
    const struct feed_table *t = &f->tables[table];
    struct node_lane *lane = feed_lane(f, table, chunk);
    const float *held = lane == NULL ? NULL : node_lane_held(lane, (uint16_t)table, chunk);

    for (uint32_t i = 0; i < table_chunk_size(&f->schemas[table], chunk); i++) {
        uint32_t at = feed_first(f, table, chunk) + i;
        int64_t there = t->flying[at] + t->open[at] + t->entered[at] + t->gone[at];

        there += held == NULL ? 0 : feed_units(f, held[i]);
        for (uint32_t k = 0; k < f->workers_count; k++) {
            const float *own = feed_held(&f->workers[k], table, chunk);

            there += own == NULL ? 0 : feed_units(f, own[i]);
        }
        if (there != t->made[at]) {
            feed_break(f,
                       "I8: of element %u of table %u, %" PRId64 " units were made and %" PRId64
                       " are there: %" PRId64 " on the way, %" PRId64 " in sums, %" PRId64
                       " in the values",
                       at, table, t->made[at], there, t->flying[at], t->open[at], t->entered[at]);
            return;
        }
    }
}

/* Is nothing of the chunk left that this worker is still to send? */
static bool feed_sent(const struct feed_worker *w, uint32_t table, uint32_t chunk)
{
    return w->worker == NULL || w->worker->node == NULL ||
           !node_worker_unsent(w->worker->node, (uint16_t)table, chunk);
}

/* Lemma 1 at the end of a round: what is held back, by how many, and the threshold of then. A
 * worker that did not end that round still has what an earlier threshold let it hold, and one that
 * had no memory for a frame has its update until it tries again. */
static void feed_look_bound(struct feed *f, uint32_t table, uint32_t chunk, uint64_t version)
{
    uint32_t elements = table_chunk_size(&f->schemas[table], chunk);
    struct node_lane *lane = feed_lane(f, table, chunk);
    const float *held = node_lane_held(lane, (uint16_t)table, chunk);
    double sums[FEED_ELEMENTS_MAX] = {0};
    double allowed = held == NULL ? 0 : codec_threshold(f->site.broadcast.chain.up, version);
    double norm = 0;

    for (uint32_t i = 0; held != NULL && i < elements; i++) {
        sums[i] = (double)held[i];
    }
    for (uint32_t k = 0; k < f->workers_count; k++) {
        const struct feed_worker *w = &f->workers[k];
        bool bound = w->ended >= version && w->starved <= w->ended && feed_sent(w, table, chunk);
        const float *own = bound ? feed_held(w, table, chunk) : NULL;

        allowed += own == NULL ? 0 : (double)codec_threshold(f->site.push.chain.up, version);
        for (uint32_t i = 0; own != NULL && i < elements; i++) {
            sums[i] += (double)own[i];
        }
    }
    for (uint32_t i = 0; i < elements; i++) {
        norm += sums[i] * sums[i];
    }
    norm = sqrt(norm);
    allowed *= sqrt((double)elements);
    f->bounds++;
    if (norm > allowed * (1 + 1e-6)) {
        feed_break(f,
                   "Lemma 1: after round %" PRIu64
                   " %.6g of chunk %u of table %u is held back, and "
                   "%.6g is allowed",
                   version, norm, chunk, table, allowed);
    }
    if (allowed > 0 && norm / allowed > f->tightest) {
        f->tightest = norm / allowed;
    }
}

/* Copies of one version are the same. */
static void feed_look_copies(struct feed *f, uint32_t table, uint32_t chunk)
{
    uint32_t bytes = table_chunk_size(&f->schemas[table], chunk) * (uint32_t)sizeof(float);
    const float *first = NULL;
    uint64_t first_version = 0;

    for (uint32_t k = 0; k < f->workers_count; k++) {
        const struct feed_worker *w = &f->workers[k];
        bool on = w->worker != NULL && w->worker->node != NULL && w->state > FEED_JOINING;
        uint64_t version = 0;
        const float *copy =
            on ? node_worker_chunk(w->worker->node, (uint16_t)table, chunk, &version) : NULL;

        if (copy == NULL || version == 0) {
            continue;
        }
        if (first != NULL && version == first_version && memcmp(copy, first, bytes) != 0) {
            feed_break(f,
                       "F1: two copies of chunk %u of table %u, both of round %" PRIu64
                       ", are not the same",
                       chunk, table, version);
        }
        f->copies += first != NULL && version == first_version;
        if (first == NULL || version > first_version) {
            first = copy;
            first_version = version;
        }
    }
}

/* What a lane has closed since it was looked at last. */
static void feed_look_rounds(struct feed *f)
{
    for (uint32_t t = 0; t < SIM_FEED_TABLES; t++) {
        for (uint32_t c = 0; c < table_chunk_count(&f->schemas[t]); c++) {
            struct node_lane *lane = feed_lane(f, t, c);
            struct node_lane_stats stats;
            uint32_t number = table_chunk_shard((uint16_t)t, c, f->site.shards) %
                              sim_cluster_site(f->cluster)->lanes;

            if (lane == NULL) {
                continue;
            }
            node_lane_stats(lane, &stats);
            if (stats.version > f->versions[number] && f->site.sync.policy->rounds) {
                feed_look_bound(f, t, c, stats.version);
            }
        }
    }
    for (uint32_t n = 0; n < sim_cluster_site(f->cluster)->lanes; n++) {
        struct node_lane *lane = sim_cluster_lane(f->cluster, n);
        struct node_lane_stats stats = {0};

        if (lane != NULL) {
            node_lane_stats(lane, &stats);
        }
        f->versions[n] = stats.version > f->versions[n] ? stats.version : f->versions[n];
    }
}

const char *feed_look(void *user)
{
    struct feed *f = user;
    const char *broken = sim_cluster_broken(f->cluster);

    for (uint32_t t = 0; broken == NULL && t < SIM_FEED_TABLES; t++) {
        for (uint32_t c = 0; c < table_chunk_count(&f->schemas[t]); c++) {
            if (feed_counts(f, t)) {
                feed_look_conserved(f, t, c);
            }
            if (f->looks % FEED_COPIES_EVERY == 0) {
                feed_look_copies(f, t, c);
            }
        }
    }
    if (broken == NULL) {
        feed_look_rounds(f);
    }
    f->looks++;
    return broken != NULL ? broken : f->broken[0] != '\0' ? f->broken : NULL;
}

/* Who has left cleanly has left nothing behind. */
bool feed_ends_well(struct feed *f, char *out, size_t size)
{
    for (uint32_t k = 0; k < f->workers_count; k++) {
        for (uint32_t t = 0; t < SIM_FEED_TABLES; t++) {
            for (uint32_t c = 0; c < table_chunk_count(&f->schemas[t]); c++) {
                const float *own = feed_held(&f->workers[k], t, c);

                for (uint32_t i = 0; own != NULL && i < table_chunk_size(&f->schemas[t], c); i++) {
                    if (own[i] != 0) {
                        (void)snprintf(out, size, "worker %u has left, and holds %g back", k,
                                       (double)own[i]);
                        return false;
                    }
                }
            }
        }
    }
    return true;
}

uint64_t feed_hash(struct feed *f)
{
    uint64_t hash = 0;

    for (uint32_t t = 0; t < SIM_FEED_TABLES; t++) {
        hash = hash * 31 + hash_bytes(f->tables[t].values, sizeof(f->tables[t].values));
    }
    return hash;
}
