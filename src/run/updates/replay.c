#include "run/updates/replay.h"

#include "base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct replay_part {
    float *held;
    float *sum; /* Of all updates. */
    uint64_t elements;
};

struct run_replay {
    struct run_replay_config config;
    struct node_sparsify_config how;
    struct node_sparsifier sparsifier;
    float *before; /* One chunk: what was held, */
    float *read;   /* and what was read. */
    struct replay_part *parts;
    uint32_t parts_count;
};

static int64_t replay_tick(void *user)
{
    const struct run_replay *r = user;

    return r->config.mono_ns();
}

/* What is measured first would else be what the system does to give us pages and code. */
static void replay_warm(struct run_replay *r)
{
    struct codec_costs ignored;

    codec_costs_measure(r->sparsifier.coder, replay_tick, r, &ignored);
    memset(r->sparsifier.room, 1, LIMIT_CHUNK_BYTES);
    memset(r->before, 1, r->config.chunk * sizeof(float));
    memset(r->read, 1, r->config.chunk * sizeof(float));
}

static enum err replay_open(struct run_replay *r, const struct run_updates *updates)
{
    enum err rc = node_sparsify_open(&r->sparsifier, &r->how, NULL,
                                     r->config.measured ? r->config.mono_ns : NULL);

    if (rc != OK) {
        return rc;
    }
    r->sparsifier.up = r->config.up;
    r->sparsifier.link_rate = r->config.link_rate;
    r->before = mem_calloc(r->config.chunk, sizeof(float));
    r->read = mem_calloc(r->config.chunk, sizeof(float));
    r->parts = mem_calloc(run_updates_parts(updates), sizeof(*r->parts));
    if (r->before == NULL || r->read == NULL || r->parts == NULL) {
        return ERR_NOMEM;
    }
    replay_warm(r);
    r->parts_count = run_updates_parts(updates);
    for (uint32_t i = 0; i < r->parts_count; i++) {
        struct replay_part *p = &r->parts[i];

        p->elements = run_updates_part(updates, i)->elements;
        p->held = mem_calloc(p->elements, sizeof(float));
        p->sum = mem_calloc(p->elements, sizeof(float));
        if (p->held == NULL || p->sum == NULL) {
            return ERR_NOMEM;
        }
    }
    return OK;
}

enum err run_replay_create(const struct run_replay_config *config,
                           const struct run_updates *updates, struct run_replay **out,
                           struct err_text *text)
{
    struct run_replay *r = mem_zalloc(sizeof(*r));

    CHECK(config->chunk >= 1 && config->chunk <= LIMIT_CHUNK_ELEMENTS);
    if (r != NULL) {
        r->config = *config;
        r->how = (struct node_sparsify_config){.on = true, .chain = config->chain};
    }
    if (r == NULL || replay_open(r, updates) != OK) {
        run_replay_destroy(r);
        return err_text_set(text, ERR_NOMEM,
                            "no memory to hold what is not sent: twice the size of a clock");
    }
    *out = r;
    return OK;
}

void run_replay_destroy(struct run_replay *r)
{
    if (r == NULL) {
        return;
    }
    for (uint32_t i = 0; i < r->parts_count; i++) {
        mem_free(r->parts[i].held);
        mem_free(r->parts[i].sum);
    }
    mem_free(r->parts);
    mem_free(r->before);
    mem_free(r->read);
    node_sparsify_close(&r->sparsifier);
    mem_free(r);
}

static double replay_squares(const float *values, uint32_t count)
{
    double sum = 0;

    for (uint32_t i = 0; i < count; i++) {
        sum += (double)values[i] * (double)values[i];
    }
    return sum;
}

/* Read what was written into .read; all is zero if there was nothing. */
static enum err replay_read(struct run_replay *r, const struct codec_packed *packed, uint32_t count)
{
    struct codec_plain plain;
    enum err rc;

    memset(r->read, 0, count * sizeof(float));
    if (packed->count == 0) {
        return OK;
    }
    rc = node_sparsify_decode(&r->sparsifier, packed->codec, r->sparsifier.room, packed->bytes,
                              count, &plain);
    if (rc == OK) {
        (void)codec_add(plain.codec, plain.payload, count, r->read);
    }
    return rc == OK ? OK : ERR_CORRUPT;
}

static bool replay_same(const float *before, const float *read, const float *held, uint32_t count)
{
    bool same = true;

    for (uint32_t i = 0; i < count; i++) {
        same = same && before[i] == read[i] + held[i];
    }
    return same;
}

/* Squares go into the norms; see run_replay_step(). */
static void replay_norms(const struct run_replay *r, const float *update, const float *held,
                         const float *sum, uint32_t count, struct run_replay_clock *out)
{
    for (uint32_t i = 0; i < count; i++) {
        double error = (double)r->read[i] - (update == NULL ? 0 : (double)update[i]);

        out->error_norm += error * error;
    }
    out->update_norm += update == NULL ? 0 : replay_squares(update, count);
    out->residual_norm += replay_squares(held, count);
    out->sum_norm += replay_squares(sum, count);
}

static enum err replay_chunk(struct run_replay *r, const float *update, float *held, float *sum,
                             uint32_t count, struct run_replay_clock *out)
{
    float threshold = node_sparsify_threshold(&r->sparsifier, out->clock);
    int64_t begun_ns, written_ns;
    struct codec_packed packed;
    enum err rc;

    if (update != NULL &&
        (node_sparsify_add(held, update, count) > 0 || node_sparsify_add(sum, update, count) > 0)) {
        return ERR_INVALID;
    }
    memcpy(r->before, held, count * sizeof(float));
    begun_ns = r->config.mono_ns();
    node_sparsify_encode(&r->sparsifier, threshold, held, count, &packed);
    written_ns = r->config.mono_ns();
    rc = replay_read(r, &packed, count);
    out->decode_ns += r->config.mono_ns() - written_ns;
    out->encode_ns += written_ns - begun_ns;
    if (rc != OK || !replay_same(r->before, r->read, held, count)) {
        return ERR_CORRUPT;
    }
    out->sent_elements += packed.count;
    out->bytes += packed.count == 0 ? 0 : packed.bytes;
    out->chunks++;
    if (packed.count > 0) {
        uint32_t kind = packed.codec & ((1U << CODEC_SQUEEZE_SHIFT) - 1);

        out->ways[kind][packed.codec >> CODEC_SQUEEZE_SHIFT]++;
    }
    replay_norms(r, update, held, sum, count, out);
    return OK;
}

static enum err replay_part(struct run_replay *r, const struct run_updates_part *in,
                            struct replay_part *p, struct run_replay_clock *out,
                            struct err_text *text)
{
    CHECK(in->elements == p->elements);
    out->elements += p->elements;
    for (uint64_t first = 0; first < p->elements; first += r->config.chunk) {
        uint64_t left = p->elements - first;
        uint32_t count = left < r->config.chunk ? (uint32_t)left : r->config.chunk;
        enum err rc = replay_chunk(r, in->values == NULL ? NULL : in->values + first,
                                   p->held + first, p->sum + first, count, out);

        if (rc == ERR_INVALID) {
            return err_text_set(text, rc,
                                "%.300s: clock %" PRIu64 ": a sum of updates of elements %" PRIu64
                                " to %" PRIu64 " is beyond what a float32 can hold",
                                in->path, out->clock, first, first + count - 1);
        }
        if (rc != OK) {
            return err_text_set(text, rc,
                                "%.300s: clock %" PRIu64 ": what was read from the bytes of "
                                "elements %" PRIu64 " to %" PRIu64 " differs from what was "
                                "written; this is an error in Strait, or in the memory",
                                in->path, out->clock, first, first + count - 1);
        }
    }
    return OK;
}

enum err run_replay_step(struct run_replay *r, const struct run_updates *updates, uint64_t clock,
                         struct run_replay_clock *out, struct err_text *text)
{
    enum err rc = OK;

    *out = (struct run_replay_clock){.clock = clock};
    for (uint32_t i = 0; i < r->parts_count && rc == OK; i++) {
        rc = replay_part(r, run_updates_part(updates, i), &r->parts[i], out, text);
    }
    out->threshold = (double)node_sparsify_threshold(&r->sparsifier, clock);
    out->bound = out->threshold * sqrt((double)out->elements);
    out->update_norm = sqrt(out->update_norm);
    out->error_norm = sqrt(out->error_norm);
    out->residual_norm = sqrt(out->residual_norm);
    out->sum_norm = sqrt(out->sum_norm);
    return rc;
}

void run_replay_add(struct run_replay_clock *sum, const struct run_replay_clock *more)
{
    struct run_replay_clock before = *sum;

    *sum = *more;
    sum->elements += before.elements;
    sum->sent_elements += before.sent_elements;
    sum->bytes += before.bytes;
    sum->chunks += before.chunks;
    sum->encode_ns += before.encode_ns;
    sum->decode_ns += before.decode_ns;
    for (uint32_t k = 0; k < CODEC_KINDS; k++) {
        for (uint32_t q = 0; q < CODEC_SQUEEZES; q++) {
            sum->ways[k][q] += before.ways[k][q];
        }
    }
}
