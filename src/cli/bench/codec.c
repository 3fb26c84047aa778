/* strait bench codec: how fast what is significant is found, packed, added and merged. */

#include "cli/bench/codec.h"

#include "base/limits.h"
#include "base/mem.h"
#include "base/rng.h"
#include "cli/bench/bench.h"
#include "cli/command/commands.h"
#include "cli/command/context.h"
#include "cli/command/error.h"
#include "codec/filter.h"
#include "codec/loops.h"
#include "loop/clock.h"

#include <jansson.h>
#include <string.h>

enum {
    CODEC_BENCH_CASES = 7,
    CODEC_BENCH_MERGED = 2, /* Payloads that become one. */
};

struct codec_case {
    uint32_t share; /* How much is significant, in a million. */
    bool whole;     /* Changes of counts: whole numbers. */
};

static const struct codec_case codec_cases[CODEC_BENCH_CASES] = {
    {10000, false},   {20000, false}, {50000, false}, {200000, false},
    {1000000, false}, {20000, true},  {200000, true},
};

static const float codec_threshold_used = 0.01F;

/* Arrays of whole chunks. */
struct codec_room {
    uint32_t chunks;
    float *values;
    float *held;
    float *before; /* A copy of held, for the check. */
    float *out;    /* The payload of each chunk, or the target of memcpy. */
    float *merged;
    struct codec_packed *packed;
    struct codec_sum *sum;
};

/* Nanoseconds over all chunks. */
struct codec_times {
    int64_t copy[BENCH_TURNS_MAX];
    int64_t select[CODEC_LOOPS_MAX][BENCH_TURNS_MAX];
    int64_t add[CODEC_LOOPS_MAX][BENCH_TURNS_MAX];
    int64_t merge[BENCH_TURNS_MAX];
};

static float *codec_at(float *array, uint32_t chunk)
{
    return array + (size_t)chunk * LIMIT_CHUNK_ELEMENTS;
}

static void codec_room_close(struct codec_room *r)
{
    mem_free(r->values);
    mem_free(r->held);
    mem_free(r->before);
    mem_free(r->out);
    mem_free(r->merged);
    mem_free(r->packed);
    codec_sum_destroy(r->sum);
}

static enum err codec_room_open(struct codec_room *r, uint32_t chunks)
{
    *r = (struct codec_room){
        .chunks = chunks,
        .values = mem_calloc(chunks, LIMIT_CHUNK_BYTES),
        .held = mem_calloc(chunks, LIMIT_CHUNK_BYTES),
        .before = mem_calloc(chunks, LIMIT_CHUNK_BYTES),
        .out = mem_calloc(chunks, LIMIT_CHUNK_BYTES),
        .merged = mem_calloc(1, LIMIT_CHUNK_BYTES),
        .packed = mem_calloc(chunks, sizeof(*r->packed)),
    };
    if (r->values == NULL || r->held == NULL || r->before == NULL || r->out == NULL ||
        r->merged == NULL || r->packed == NULL) {
        codec_room_close(r);
        return ERR_NOMEM;
    }
    memset(r->out, 0, (size_t)chunks * LIMIT_CHUNK_BYTES); /* Pages of its own. */
    if (codec_sum_create(&r->sum) != OK) {
        codec_room_close(r);
        return ERR_NOMEM;
    }
    return OK;
}

/* A share of the elements hold three times what the threshold lets go, the others a third, at
 * random places. Of counts below fifty, a share changed by -1, 1 or 2, the others did not. */
static void codec_room_fill(struct codec_room *r, const struct codec_case *c)
{
    static const float changes[] = {-1, 1, 2};
    struct rng rng;

    rng_init(&rng, c->share);
    for (size_t i = 0; i < (size_t)r->chunks * LIMIT_CHUNK_ELEMENTS; i++) {
        float value = (float)rng_unit(&rng) - 0.5F;
        bool significant = rng_chance(&rng, c->share);

        r->values[i] = value;
        r->held[i] = value * codec_threshold_used * (significant ? 3 : 1.0F / 3);
        if (c->whole) {
            r->values[i] = (float)rng_below(&rng, 50);
            r->held[i] = significant ? changes[rng_below(&rng, 3)] : 0;
        }
        r->before[i] = r->held[i];
    }
}

static int64_t codec_time_copy(struct codec_room *r)
{
    int64_t start = clock_mono_ns();

    for (uint32_t c = 0; c < r->chunks; c++) {
        memcpy(codec_at(r->out, c), codec_at(r->held, c), LIMIT_CHUNK_BYTES);
    }
    return clock_mono_ns() - start;
}

static int64_t codec_time_select(struct codec_room *r, const struct codec_loops *loops)
{
    struct codec_filter filter = {.measure = CODEC_RELATIVE, .grain = CODEC_ELEMENT};
    int64_t start = clock_mono_ns();

    for (uint32_t c = 0; c < r->chunks; c++) {
        struct codec_chunk chunk = {.values = codec_at(r->values, c),
                                    .held = codec_at(r->held, c),
                                    .elements = LIMIT_CHUNK_ELEMENTS,
                                    .width = 1};

        codec_select_by(loops, &filter, &chunk, codec_threshold_used, codec_at(r->out, c),
                        &r->packed[c]);
    }
    return clock_mono_ns() - start;
}

/* Back to where it came from: what was held is held again, to be selected by the next. */
static int64_t codec_time_add(struct codec_room *r, const struct codec_loops *loops)
{
    int64_t start = clock_mono_ns();

    for (uint32_t c = 0; c < r->chunks; c++) {
        if (r->packed[c].count > 0) {
            (void)codec_add_by(loops, r->packed[c].codec, codec_at(r->out, c), LIMIT_CHUNK_ELEMENTS,
                               codec_at(r->held, c));
        }
    }
    return clock_mono_ns() - start;
}

/* The payloads of neighbours become one. */
static int64_t codec_time_merge(struct codec_room *r)
{
    int64_t start = clock_mono_ns();

    for (uint32_t c = 0; c < r->chunks; c++) {
        struct codec_packed packed;

        codec_sum_reset(r->sum, LIMIT_CHUNK_ELEMENTS);
        for (uint32_t k = 0; k < CODEC_BENCH_MERGED; k++) {
            uint32_t from = (c + k) % r->chunks;

            if (r->packed[from].count > 0) {
                (void)codec_sum_add(r->sum, r->packed[from].codec, codec_at(r->out, from));
            }
        }
        codec_sum_pack(r->sum, r->merged, &packed);
    }
    return clock_mono_ns() - start;
}

/* One turn of everything. False if what was held is not what is held. */
static bool codec_turn(struct codec_room *r, uint32_t turn, struct codec_times *t)
{
    t->copy[turn] = codec_time_copy(r);
    for (uint32_t k = 0; k < CODEC_LOOPS_MAX; k++) {
        const struct codec_loops *loops = codec_loops_at(k);

        if (loops != NULL) {
            t->select[k][turn] = codec_time_select(r, loops);
            t->add[k][turn] = codec_time_add(r, loops);
        }
    }
    t->merge[turn] = codec_time_merge(r);
    return memcmp(r->held, r->before, (size_t)r->chunks * LIMIT_CHUNK_BYTES) == 0;
}

struct codec_report {
    double bytes; /* Of what is held. */
    uint32_t turns;
    double copy; /* GB/s of memcpy. */
    json_t *list;
};

/* One line: GB/s, and the ratio to memcpy. */
static void codec_report_line(struct cli_context *ctx, struct codec_report *p, const char *what,
                              const char *loops, int64_t *times)
{
    double rate = p->bytes / (double)bench_quantile(times, p->turns, 500000);

    json_array_append_new(p->list, json_pack("{s:s, s:s, s:f, s:f}", "what", what, "loops", loops,
                                             "gb_per_s", rate, "ratio", rate / p->copy));
    if (!ctx->json) {
        cli_out(ctx, "    %-7s %-7s %7.2f GB/s   %5.2f of memcpy\n", what, loops, rate,
                rate / p->copy);
    }
}

static json_t *codec_report(struct cli_context *ctx, const struct codec_room *r,
                            const struct codec_case *c, uint32_t turns, struct codec_times *t)
{
    const char *best = codec_loops_best()->name;
    struct codec_report p = {
        .bytes = (double)r->chunks * LIMIT_CHUNK_BYTES, .turns = turns, .list = json_array()};
    uint64_t bytes = 0, count = 0;

    for (uint32_t i = 0; i < r->chunks; i++) {
        bytes += r->packed[i].bytes;
        count += r->packed[i].count;
    }
    p.copy = p.bytes / (double)bench_quantile(t->copy, turns, 500000);
    if (!ctx->json) {
        cli_out(
            ctx,
            "  %g %% significant%s: payloads are %.1f %% of all floats, %.2f bytes per element; "
            "memcpy %.2f GB/s\n",
            c->share / 1e4, c->whole ? ", whole numbers" : "", (double)bytes * 100 / p.bytes,
            (double)bytes / (double)count, p.copy);
    }
    for (uint32_t k = 0; k < CODEC_LOOPS_MAX; k++) {
        if (codec_loops_at(k) != NULL) {
            codec_report_line(ctx, &p, "select", codec_loops_at(k)->name, t->select[k]);
        }
    }
    for (uint32_t k = 0; k < CODEC_LOOPS_MAX; k++) {
        if (codec_loops_at(k) != NULL) {
            codec_report_line(ctx, &p, "add", codec_loops_at(k)->name, t->add[k]);
        }
    }
    codec_report_line(ctx, &p, "merge", best, t->merge);
    cli_flush(ctx);
    return json_pack("{s:f, s:b, s:f, s:f, s:f, s:o}", "significant", c->share / 1e6, "whole",
                     (int)c->whole, "payload_share", (double)bytes / p.bytes, "bytes_per_element",
                     (double)bytes / (double)count, "memcpy_gb_per_s", p.copy, "results", p.list);
}

static enum cli_exit codec_measure(struct cli_context *ctx, struct codec_room *r, uint32_t turns,
                                   json_t *list)
{
    for (uint32_t s = 0; s < CODEC_BENCH_CASES; s++) {
        const struct codec_case *c = &codec_cases[s];
        struct codec_times t = {.copy = {0}};

        codec_room_fill(r, c);
        for (uint32_t i = 0; i < turns; i++) {
            if (!codec_turn(r, i, &t)) {
                return cli_error(ctx, CLI_ERROR_BENCH, NULL,
                                 "bench codec: what was sent and what is held differ from what was "
                                 "held before; this is an error in Strait, or in the memory");
            }
        }
        json_array_append_new(list, codec_report(ctx, r, c, turns, &t));
    }
    return CLI_DONE;
}

static enum cli_exit bench_codec_run(struct cli_context *ctx)
{
    uint32_t chunks = (uint32_t)(cli_number(ctx, "mb") * 1000000 / LIMIT_CHUNK_BYTES);
    uint32_t turns = (uint32_t)cli_number(ctx, "turns");
    json_t *list = json_array(), *answer;
    enum cli_exit status;
    struct codec_room r;

    if (codec_room_open(&r, chunks) != OK) {
        json_decref(list);
        return cli_error(ctx, CLI_ERROR_BENCH, NULL,
                         "bench codec: not enough memory for four arrays of %u chunks; try a "
                         "smaller --mb",
                         chunks);
    }
    if (!ctx->json) {
        cli_out(ctx,
                "%u chunks of 64 Ki floats, one core, medians of %u turns; GB of floats held\n",
                chunks, turns);
    }
    status = codec_measure(ctx, &r, turns, list);
    codec_room_close(&r);
    answer = status == CLI_DONE ? bench_codec_ways(ctx, chunks, turns, &status) : NULL;
    if (answer == NULL || !ctx->json) {
        json_decref(answer);
        json_decref(list);
        return status;
    }
    json_object_set_new(answer, "chunks", json_integer(chunks));
    json_object_set_new(answer, "turns", json_integer(turns));
    json_object_set_new(answer, "shares", list);
    return cli_json(ctx, answer);
}

const struct cli_command cli_command_bench_codec = {
    .path = "bench codec",
    .summary = "measure how fast significant updates are found",
    .paragraphs =
        (const char *const[]){
            "Takes what is significant (relative, by element) out of the updates that a server "
            "holds back and packs it, with each kind of loops that this processor has; adds it "
            "back, as the other sites do to their values; and merges the packed updates of two. "
            "Beside it memcpy of the same floats. A gigabyte is one of floats held, whatever part "
            "of them is significant. The last ones are changes of counts: whole numbers, which "
            "take a byte each.",
            "Then ways to write an update of which 80 % or 95 % are zeros: snappy and others on "
            "all floats, the paper's indexes and values with snappy, and ours. GB/s are of all "
            "floats, beside them how often as fast as snappy that is. The last two have small "
            "numbers instead of zeros, which the filters find. With --json there is also what "
            "each part costs, in picoseconds, on chunks that are in the caches.",
            NULL},
    .options =
        (const struct cli_option[]){
            CLI_OPTION_NUMBER("mb", "NUMBER", "64", "megabytes of floats", 1, 4096),
            CLI_OPTION_NUMBER("turns", "NUMBER", "9", "how often it is measured", 1,
                              BENCH_TURNS_MAX),
            {0}},
    .examples = (const struct cli_example[]){{"strait bench codec --json", "for a record"}, {0}},
    .run = bench_codec_run,
};
