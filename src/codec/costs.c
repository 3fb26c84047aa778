/* What encodings cost: a table, what follows from it, and how it is measured. */

#include "base/rng.h"
#include "codec/parts.h"

#include <string.h>

/* By "strait bench codec --mb 8 --turns 99 --json" (costs_ps) on an AMD EPYC with AVX-512, medians,
 * two digits. */
const struct codec_costs codec_costs_default = {
    .cut_ps = {[CODEC_CUT_NONE] = 120, [CODEC_CUT_VALUE] = 140, [CODEC_CUT_NORM] = 1900},
    .write = {[CODEC_F32] = {160, 150},
              [CODEC_BITMAP] = {4, 77},
              [CODEC_LIST] = {48, 700},
              [CODEC_BITMAP_I8] = {5, 180},
              [CODEC_LIST_I8] = {51, 810},
              [CODEC_BITMAP_F16] = {5, 460},
              [CODEC_LIST_F16] = {50, 1100},
              [CODEC_F16] = {86, 1400},
              [CODEC_GAPS] = {57, 1200},
              [CODEC_GAPS_F16] = {58, 1600},
              [CODEC_GAPS_I8] = {58, 1400}},
    .read = {[CODEC_F32] = {120, 0},
             [CODEC_BITMAP] = {100, 200},
             [CODEC_LIST] = {4, 1100},
             [CODEC_BITMAP_I8] = {78, 200},
             [CODEC_LIST_I8] = {4, 1100},
             [CODEC_BITMAP_F16] = {83, 210},
             [CODEC_LIST_F16] = {5, 1300},
             [CODEC_F16] = {200, 3},
             [CODEC_GAPS] = {7, 1400},
             [CODEC_GAPS_F16] = {8, 1500},
             [CODEC_GAPS_I8] = {5, 1400}},
    .squeeze_ps = {[CODEC_SNAPPY] = 1300, [CODEC_LZ4] = 1200, [CODEC_ZSTD] = 2400},
    .unsqueeze_ps = {[CODEC_SNAPPY] = 630, [CODEC_LZ4] = 290, [CODEC_ZSTD] = 850},
};

uint32_t codec_costs_plain_bytes(uint32_t kind, uint32_t count, uint32_t elements)
{
    switch (codec_kind_index(kind)) {
    case CODEC_F32:
        return codec_values_bytes(kind, elements);
    case CODEC_BITMAP:
        return codec_bitmap_words(elements) * 8 + codec_values_bytes(kind, count);
    case CODEC_LIST:
        return codec_list_bytes(count) + codec_values_bytes(kind, count);
    default:
        return codec_gaps_bytes(count) + codec_values_bytes(kind, count);
    }
}

static int64_t costs_ps(const struct codec_cost *cost, uint32_t count, uint32_t elements)
{
    return (int64_t)cost->element_ps * elements + (int64_t)cost->value_ps * count;
}

static void costs_split(uint32_t codec, uint32_t *kind, uint32_t *squeeze)
{
    *kind = codec & ((1u << CODEC_SQUEEZE_SHIFT) - 1);
    *squeeze = codec >> CODEC_SQUEEZE_SHIFT;
    CHECK(*kind < CODEC_KINDS && *squeeze < CODEC_SQUEEZES);
}

int64_t codec_encode_ns(const struct codec_costs *costs, const struct codec_packed *packed,
                        uint32_t elements, enum codec_cut cut)
{
    int64_t ps = (int64_t)costs->cut_ps[cut] * elements;
    uint32_t kind, squeeze;

    if (packed->count > 0) {
        costs_split(packed->codec, &kind, &squeeze);
        ps += costs_ps(&costs->write[kind], packed->count, elements) +
              (int64_t)costs->squeeze_ps[squeeze] *
                  codec_costs_plain_bytes(kind, packed->count, elements);
    }
    return ps / 1000;
}

int64_t codec_decode_ns(const struct codec_costs *costs, uint32_t codec, uint32_t bytes,
                        uint32_t count, uint32_t elements)
{
    uint32_t kind, squeeze, plain;

    costs_split(codec, &kind, &squeeze);
    plain = squeeze == CODEC_PLAIN ? bytes : codec_costs_plain_bytes(kind, count, elements);
    return (costs_ps(&costs->read[kind], count, elements) +
            (int64_t)costs->unsqueeze_ps[squeeze] * plain) /
           1000;
}

enum {
    MEASURE_TURNS = 5,   /* Of which the fastest counts. */
    MEASURE_FEW = 20000, /* In a million. */
    MEASURE_MANY = 200000,
};

struct measure {
    struct codec_coder *coder;
    int64_t (*now)(void *user);
    void *user;
    uint32_t count; /* Elements that were taken. */
    int64_t cut_ns[CODEC_CUTS];
    int64_t write_ns[CODEC_KINDS];
    int64_t read_ns[CODEC_KINDS];
    int64_t squeeze_ns[CODEC_SQUEEZES];
    int64_t unsqueeze_ns[CODEC_SQUEEZES];
};

static void measure_fastest(struct measure *m, int64_t since, int64_t *ns)
{
    int64_t now = m->now(m->user) - since;

    now = now < 1 ? 1 : now;
    *ns = *ns == 0 || now < *ns ? now : *ns;
}

/* A share of the elements has numbers that are floats, halves and bytes alike, or just floats; the
 * others have less than the threshold of 1/2. */
static void measure_fill(struct measure *m, uint32_t ppm, bool whole)
{
    struct rng rng;

    rng_init(&rng, ppm);
    for (uint32_t i = 0; i < CODEC_MADE_UP; i++) {
        float x = (float)rng_unit(&rng) / 2;

        if (rng_chance(&rng, ppm)) {
            x = whole ? (float)(1 + rng_below(&rng, 127)) : x + 1;
        }
        m->coder->made_up[i] = rng_chance(&rng, 500000) ? x : -x;
    }
}

static void measure_cut(struct measure *m, enum codec_cut cut, uint32_t ppm, bool whole)
{
    float threshold = cut == CODEC_CUT_NORM ? 0.25F : 0.5F;
    int64_t start;

    measure_fill(m, ppm, whole);
    start = m->now(m->user);
    (void)codec_coder_cut(m->coder, cut, threshold, m->coder->made_up, CODEC_MADE_UP);
    measure_fastest(m, start, &m->cut_ns[cut]);
    m->count = m->coder->taken.count;
}

static void measure_kind(struct measure *m, uint32_t kind)
{
    struct codec_coder *coder = m->coder;
    struct codec_taken *t = &coder->taken;
    enum codec_values how = codec_kind_values(kind);
    int64_t start = m->now(m->user);

    t->listed = false;
    if (how == CODEC_VALUES_F16) {
        (void)coder->loops->halve(t->floats, t->count, t->halves, t->spare);
    } else if (how == CODEC_VALUES_I8) {
        codec_coder_narrow(coder);
    }
    codec_form_write(coder, kind, coder->made_out);
    measure_fastest(m, start, &m->write_ns[kind]);
    start = m->now(m->user);
    CHECK(codec_payload_valid_by(coder->loops, kind, coder->made_out, codec_form_bytes(coder, kind),
                                 CODEC_MADE_UP));
    (void)codec_add_by(coder->loops, kind, coder->made_out, CODEC_MADE_UP, coder->made_up);
    measure_fastest(m, start, &m->read_ns[kind]);
}

static void measure_squeeze(struct measure *m, enum codec_squeeze how)
{
    struct codec_coder *coder = m->coder;
    int64_t start = m->now(m->user);
    uint32_t bytes;
    const void *squeezed =
        codec_squeeze(coder->squeezer, how, coder->made_out, sizeof(coder->made_out), &bytes);

    measure_fastest(m, start, &m->squeeze_ns[how]);
    CHECK(squeezed != NULL); /* Four of five floats are the same. */
    memcpy(coder->made_up, squeezed, bytes);
    start = m->now(m->user);
    CHECK(codec_unsqueeze(coder->squeezer, how, coder->made_up, bytes, sizeof(coder->made_out),
                          &bytes) != NULL);
    measure_fastest(m, start, &m->unsqueeze_ns[how]);
}

static uint32_t measure_ps(int64_t ns, uint32_t count)
{
    return ns <= 0 ? 0 : (uint32_t)(ns * 1000 / count);
}

/* Two measurements with different numbers of values say what each takes. */
static struct codec_cost measure_solve(const struct measure *few, int64_t few_ns,
                                       const struct measure *many, int64_t many_ns)
{
    struct codec_cost cost = {.value_ps = measure_ps(many_ns - few_ns, many->count - few->count)};

    cost.element_ps =
        measure_ps(few_ns - (int64_t)cost.value_ps * few->count / 1000, CODEC_MADE_UP);
    return cost;
}

static void measure_kinds(struct measure *m, uint32_t ppm)
{
    for (uint32_t i = 0; i < MEASURE_TURNS; i++) {
        measure_cut(m, CODEC_CUT_VALUE, ppm, true);
        for (uint32_t kind = 0; kind < CODEC_KINDS; kind++) {
            measure_kind(m, kind);
        }
    }
}

void codec_costs_measure(struct codec_coder *coder, int64_t (*now)(void *user), void *user,
                         struct codec_costs *out)
{
    struct measure few = {.coder = coder, .now = now, .user = user}, many = few;

    measure_kinds(&few, MEASURE_FEW);
    measure_kinds(&many, MEASURE_MANY);
    for (uint32_t i = 0; i < MEASURE_TURNS; i++) {
        measure_cut(&many, CODEC_CUT_NORM, MEASURE_MANY, false);
        measure_cut(&many, CODEC_CUT_NONE, MEASURE_MANY, false);
        measure_cut(&many, CODEC_CUT_VALUE, MEASURE_MANY, false);
        codec_form_write(coder, CODEC_F32, coder->made_out);
        for (uint32_t how = CODEC_PLAIN + 1; how < CODEC_SQUEEZES; how++) {
            measure_squeeze(&many, (enum codec_squeeze)how);
        }
    }
    memset(out, 0, sizeof(*out));
    for (uint32_t cut = 0; cut < CODEC_CUTS; cut++) {
        out->cut_ps[cut] = measure_ps(many.cut_ns[cut], CODEC_MADE_UP);
    }
    for (uint32_t kind = 0; kind < CODEC_KINDS; kind++) {
        out->write[kind] = measure_solve(&few, few.write_ns[kind], &many, many.write_ns[kind]);
        out->read[kind] = measure_solve(&few, few.read_ns[kind], &many, many.read_ns[kind]);
    }
    for (uint32_t how = CODEC_PLAIN + 1; how < CODEC_SQUEEZES; how++) {
        out->squeeze_ps[how] = measure_ps(many.squeeze_ns[how], sizeof(coder->made_out));
        out->unsqueeze_ps[how] = measure_ps(many.unsqueeze_ns[how], sizeof(coder->made_out));
    }
}
