/* Snappy, as the paper of Parameter Flow has it, and our ways to write an update: the same data,
 * the same core, in turns. */

#include "base/limits.h"
#include "base/mem.h"
#include "base/rng.h"
#include "cli/bench/bench.h"
#include "cli/bench/codec.h"
#include "codec/coder.h"
#include "codec/squeeze.h"
#include "loop/clock.h"

#include <string.h>

enum { WAYS_ZEROS = 2, WAYS = 13 };

static const uint32_t ways_zeros[WAYS_ZEROS] = {800000, 950000}; /* In a million. */

static const float ways_threshold = 0.001F;

struct way {
    const char *what;
    const char *chain;     /* NULL: just squeeze all floats, zeros and all. */
    enum codec_squeeze by; /* Without a chain. */
    bool noise;            /* Instead of zeros there is what the filter holds back. */
};

/* The first is the one that others are compared with. */
static const struct way ways[WAYS] = {
    {"snappy, all floats", NULL, CODEC_SNAPPY, false},
    {"lz4, all floats", NULL, CODEC_LZ4, false},
    {"zstd, all floats", NULL, CODEC_ZSTD, false},
    {"paper: indexes, snappy", "dvf:delta=0.001 | sparse | snappy", CODEC_PLAIN, false},
    {"bitmap", "dvf:delta=0.001 | bitmap", CODEC_PLAIN, false},
    {"gaps", "dvf:delta=0.001 | gaps", CODEC_PLAIN, false},
    {"bitmap, halves", "dvf:delta=0.001 | bitmap | f16", CODEC_PLAIN, false},
    {"gaps, halves", "dvf:delta=0.001 | gaps | f16", CODEC_PLAIN, false},
    {"bitmap, lz4", "dvf:delta=0.001 | bitmap | lz4", CODEC_PLAIN, false},
    {"bitmap, zstd", "dvf:delta=0.001 | bitmap | zstd", CODEC_PLAIN, false},
    {"gaps, halves, zstd", "dvf:delta=0.001 | gaps | f16 | zstd", CODEC_PLAIN, false},
    {"filter and bitmap", "dvf:delta=0.001 | bitmap", CODEC_PLAIN, true},
    {"norm and bitmap", "norm:delta=0.0005 | bitmap", CODEC_PLAIN, true},
};

struct ways_room {
    uint32_t chunks;
    float *held;
    float *before; /* A copy, for the check. */
    float *out;    /* One chunk. */
    struct codec_coder *coder;
    struct codec_squeezer *squeezer;
};

struct ways_times {
    int64_t write[WAYS][BENCH_TURNS_MAX]; /* Nanoseconds over all chunks. */
    int64_t read[WAYS][BENCH_TURNS_MAX];
    uint64_t bytes[WAYS];
};

static void ways_close(struct ways_room *r)
{
    mem_free(r->held);
    mem_free(r->before);
    mem_free(r->out);
    codec_coder_destroy(r->coder);
    codec_squeezer_destroy(r->squeezer);
}

static enum err ways_open(struct ways_room *r, uint32_t chunks)
{
    enum err rc;

    *r = (struct ways_room){
        .chunks = chunks,
        .held = mem_calloc(chunks, LIMIT_CHUNK_BYTES),
        .before = mem_calloc(chunks, LIMIT_CHUNK_BYTES),
        .out = mem_calloc(1, LIMIT_CHUNK_BYTES),
    };
    rc = r->held == NULL || r->before == NULL || r->out == NULL ? ERR_NOMEM : OK;
    if (rc == OK) {
        rc = codec_coder_create(&r->coder);
    }
    if (rc == OK) {
        rc = codec_squeezer_create(&r->squeezer);
    }
    if (rc != OK) {
        ways_close(r);
    }
    return rc;
}

/* Zeros at random places, or noise below the threshold; the others are like gradients, small ones
 * more often than large ones. */
static void ways_fill(struct ways_room *r, uint32_t zeros, bool noise)
{
    struct rng rng;

    rng_init(&rng, zeros);
    for (size_t i = 0; i < (size_t)r->chunks * LIMIT_CHUNK_ELEMENTS; i++) {
        float x = (float)(rng_unit(&rng) * rng_unit(&rng)) + 2 * ways_threshold;
        float sign = rng_chance(&rng, 500000) ? 1 : -1;

        if (rng_chance(&rng, zeros)) {
            x = noise ? (float)rng_unit(&rng) * ways_threshold / 2 : 0;
        }
        r->held[i] = r->before[i] = x == 0 ? 0 : sign * x;
    }
}

/* Write one chunk and read it again, which leaves it as it was. */
static void ways_chunk(struct ways_room *r, uint32_t w, const struct codec_chain *chain,
                       float *held, int64_t *write, int64_t *read, uint64_t *bytes)
{
    int64_t start = clock_mono_ns(), written;
    struct codec_packed packed;
    struct codec_plain plain;
    const void *squeezed;
    uint32_t size = 0;

    if (ways[w].chain == NULL) {
        squeezed = codec_squeeze(r->squeezer, ways[w].by, held, LIMIT_CHUNK_BYTES, &size);
        *write += clock_mono_ns() - start;
        *bytes += squeezed == NULL ? LIMIT_CHUNK_BYTES : size;
        if (squeezed != NULL) {
            memcpy(r->out, squeezed, size);
            written = clock_mono_ns();
            (void)codec_unsqueeze(r->squeezer, ways[w].by, r->out, size, LIMIT_CHUNK_BYTES, &size);
            *read += clock_mono_ns() - written;
        }
        return;
    }
    codec_encode(r->coder, chain, chain->low, 0, held, LIMIT_CHUNK_ELEMENTS, r->out, &packed);
    written = clock_mono_ns();
    *write += written - start;
    *bytes += packed.bytes;
    if (packed.count > 0 && codec_decode(r->coder, packed.codec, r->out, packed.bytes,
                                         LIMIT_CHUNK_ELEMENTS, &plain) == OK) {
        (void)codec_add(plain.codec, plain.payload, LIMIT_CHUNK_ELEMENTS, held);
    }
    *read += clock_mono_ns() - written;
}

/* False if what was held is not what is held. */
static bool ways_turn(struct ways_room *r, bool noise, uint32_t turn, struct ways_times *t)
{
    for (uint32_t w = 0; w < WAYS; w++) {
        struct codec_chain chain = {.low = 0};

        CHECK(ways[w].chain == NULL || codec_chain_parse(ways[w].chain, &chain, NULL) == OK);
        t->bytes[w] = ways[w].noise == noise ? 0 : t->bytes[w];
        for (uint32_t c = 0; ways[w].noise == noise && c < r->chunks; c++) {
            ways_chunk(r, w, &chain, r->held + (size_t)c * LIMIT_CHUNK_ELEMENTS, &t->write[w][turn],
                       &t->read[w][turn], &t->bytes[w]);
        }
    }
    return memcmp(r->held, r->before, (size_t)r->chunks * LIMIT_CHUNK_BYTES) == 0;
}

static json_t *ways_report(struct cli_context *ctx, const struct ways_room *r, uint32_t zeros,
                           uint32_t turns, struct ways_times *t)
{
    double bytes = (double)r->chunks * LIMIT_CHUNK_BYTES, first = 0;
    json_t *list = json_array();

    if (!ctx->json) {
        cli_out(ctx, "  %g %% zeros%*s    write            read   floats / payload\n", zeros / 1e4,
                16, "");
    }
    for (uint32_t w = 0; w < WAYS; w++) {
        double write = bytes / (double)bench_quantile(t->write[w], turns, 500000);
        double read = bytes / (double)bench_quantile(t->read[w], turns, 500000);
        double ratio = bytes / (double)t->bytes[w];

        first = w == 0 ? write : first;
        json_array_append_new(list,
                              json_pack("{s:s, s:s?, s:f, s:f, s:f, s:f}", "what", ways[w].what,
                                        "chain", ways[w].chain, "gb_per_s", write, "times_snappy",
                                        write / first, "read_gb_per_s", read, "ratio", ratio));
        if (!ctx->json) {
            cli_out(ctx, "    %-24s %6.2f GB/s %5.1fx %6.2f GB/s %6.2f\n", ways[w].what, write,
                    write / first, read, ratio);
        }
    }
    cli_flush(ctx);
    return json_pack("{s:f, s:o}", "zeros", zeros / 1e6, "results", list);
}

static int64_t ways_now(void *user)
{
    (void)user;
    return clock_mono_ns();
}

static json_t *ways_pairs(const struct codec_cost *costs)
{
    json_t *list = json_array();

    for (uint32_t kind = 0; kind < CODEC_KINDS; kind++) {
        json_array_append_new(
            list, json_pack("[i, i]", (int)costs[kind].element_ps, (int)costs[kind].value_ps));
    }
    return list;
}

/* Medians of @turns measurements. Every figure of a table of costs is a uint32_t. */
static json_t *ways_costs(const struct ways_room *r, uint32_t turns)
{
    enum { FIGURES = sizeof(struct codec_costs) / sizeof(uint32_t) };
    struct codec_costs costs[BENCH_TURNS_MAX], middle;
    const uint32_t *c = middle.cut_ps, *s = middle.squeeze_ps, *u = middle.unsqueeze_ps;

    for (uint32_t i = 0; i < turns; i++) {
        codec_costs_measure(r->coder, ways_now, NULL, &costs[i]);
    }
    for (size_t figure = 0; figure < FIGURES; figure++) {
        int64_t values[BENCH_TURNS_MAX];
        uint32_t value;

        for (uint32_t i = 0; i < turns; i++) {
            memcpy(&value, (const uint8_t *)&costs[i] + figure * sizeof(value), sizeof(value));
            values[i] = value;
        }
        value = (uint32_t)bench_quantile(values, turns, 500000);
        memcpy((uint8_t *)&middle + figure * sizeof(value), &value, sizeof(value));
    }
    return json_pack("{s:[i, i, i], s:o, s:o, s:[i, i, i, i], s:[i, i, i, i]}", "cut", (int)c[0],
                     (int)c[1], (int)c[2], "write", ways_pairs(middle.write), "read",
                     ways_pairs(middle.read), "squeeze", (int)s[0], (int)s[1], (int)s[2], (int)s[3],
                     "unsqueeze", (int)u[0], (int)u[1], (int)u[2], (int)u[3]);
}

/* All turns of those ways that work on the same data. */
static bool ways_turns(struct ways_room *r, uint32_t zeros, bool noise, uint32_t turns,
                       struct ways_times *t)
{
    bool good = true;

    ways_fill(r, zeros, noise);
    for (uint32_t i = 0; good && i < turns; i++) {
        good = ways_turn(r, noise, i, t);
    }
    return good;
}

/* NULL: what was sent and what is held differ from what was held. */
static json_t *ways_measure(struct cli_context *ctx, struct ways_room *r, uint32_t turns)
{
    static struct ways_times t;
    json_t *list = json_array();

    for (uint32_t z = 0; z < WAYS_ZEROS; z++) {
        memset(&t, 0, sizeof(t));
        if (!ways_turns(r, ways_zeros[z], false, turns, &t) ||
            !ways_turns(r, ways_zeros[z], true, turns, &t)) {
            json_decref(list);
            return NULL;
        }
        json_array_append_new(list, ways_report(ctx, r, ways_zeros[z], turns, &t));
    }
    return list;
}

json_t *bench_codec_ways(struct cli_context *ctx, uint32_t chunks, uint32_t turns,
                         enum cli_exit *status)
{
    struct ways_room r;
    json_t *list, *costs = NULL;

    if (ways_open(&r, chunks) != OK) {
        *status = cli_error(ctx, CLI_ERROR_BENCH, NULL,
                            "bench codec: not enough memory for two arrays of %u chunks; try a "
                            "smaller --mb",
                            chunks);
        return NULL;
    }
    list = ways_measure(ctx, &r, turns);
    if (list != NULL) {
        costs = ways_costs(&r, turns);
    } else {
        *status = cli_error(ctx, CLI_ERROR_BENCH, NULL,
                            "bench codec: what was sent and what is held differ from what was "
                            "held before; this is an error in Strait, or in the memory");
    }
    ways_close(&r);
    return list == NULL ? NULL : json_pack("{s:o, s:o}", "ways", list, "costs_ps", costs);
}
