/* Which form and which squeezer are the cheapest for a chunk: by what encodings cost, by the link,
 * and by what squeezers made of such payloads lately. Those that are not used are tried now and
 * then, one at a time, on a chunk that is then written as if nothing had been tried. */

#include "codec/parts.h"

enum {
    CHOICE_EVERY = 64, /* Chunks, until one is tried again. */
    CHOICE_ONE = 65536,
    CHOICE_PAPER_ZEROS = 80, /* Percent, above which the paper sends few. */
    CHOICE_INDEXES = 4,
};

static const uint32_t choice_indexes[CHOICE_INDEXES] = {CODEC_F32, CODEC_BITMAP, CODEC_LIST,
                                                        CODEC_GAPS};

/* The index part of a form other than auto. */
static uint32_t choice_index(const struct codec_taken *t, enum codec_form form)
{
    bool few = (uint64_t)t->count * 100 < (uint64_t)t->elements * (100 - CHOICE_PAPER_ZEROS);

    switch (form) {
    case CODEC_FORM_SPARSE:
        return CODEC_LIST;
    case CODEC_FORM_BITMAP:
        return CODEC_BITMAP;
    case CODEC_FORM_GAPS:
        return CODEC_GAPS;
    case CODEC_FORM_PAPER:
        return few ? CODEC_LIST : CODEC_F32;
    default:
        return CODEC_F32;
    }
}

/* Does auto think of it? A list or gaps that are longer than a bitmap have nothing for them. */
static bool choice_sensible(const struct codec_taken *t, uint32_t index)
{
    uint32_t bitmap_bytes = codec_bitmap_words(t->elements) * 8;

    return !(index == CODEC_LIST && codec_list_bytes(t->count) > bitmap_bytes) &&
           !(index == CODEC_GAPS && codec_gaps_bytes(t->count) > bitmap_bytes);
}

/* The kinds that a chain allows for what was taken. What would take more than all floats do is not
 * written. */
static uint32_t choice_kinds(struct codec_coder *coder, const struct codec_chain *chain,
                             uint32_t *kinds)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < CHOICE_INDEXES; i++) {
        uint32_t kind = codec_form_kind(coder, choice_indexes[i]);
        bool wanted = chain->form == CODEC_FORM_AUTO
                          ? choice_sensible(&coder->taken, choice_indexes[i])
                          : choice_indexes[i] == choice_index(&coder->taken, chain->form);

        if (wanted && codec_form_bytes(coder, kind) <= codec_bytes_max(coder->taken.elements)) {
            kinds[count++] = kind;
        }
    }
    if (count == 0) {
        kinds[count++] = codec_form_kind(coder, CODEC_F32);
    }
    return count;
}

static uint32_t choice_smallest(struct codec_coder *coder, const uint32_t *kinds, uint32_t count)
{
    uint32_t best = kinds[0];

    for (uint32_t i = 1; i < count; i++) {
        best = codec_form_bytes(coder, kinds[i]) < codec_form_bytes(coder, best) ? kinds[i] : best;
    }
    return best;
}

/* Nanoseconds until it is there and added, if its bytes become @ratio. */
static double choice_ns(struct codec_coder *coder, const struct codec_way *way, uint32_t ratio,
                        double link_bytes_per_s)
{
    const struct codec_taken *t = &coder->taken;
    uint64_t bytes = (uint64_t)codec_form_bytes(coder, way->kind) * ratio / CHOICE_ONE;
    struct codec_packed packed = {.codec = way->kind | (uint32_t)way->squeeze
                                                           << CODEC_SQUEEZE_SHIFT,
                                  .bytes = (uint32_t)bytes,
                                  .count = t->count};

    return (double)bytes * 1e9 / link_bytes_per_s +
           (double)codec_encode_ns(&coder->costs, &packed, t->elements, CODEC_CUT_NONE) +
           (double)codec_decode_ns(&coder->costs, packed.codec, packed.bytes, t->count,
                                   t->elements);
}

static bool choice_squeezes(const struct codec_chain *chain, uint32_t squeeze)
{
    return chain->squeeze == CODEC_SQUEEZE_AUTO || chain->squeeze == squeeze;
}

static uint32_t choice_ratio(const struct codec_coder *coder, const struct codec_way *way)
{
    return way->squeeze == CODEC_PLAIN ? CHOICE_ONE : coder->choice.ratios[way->kind][way->squeeze];
}

/* The cheapest of what is known, and what it takes. */
static struct codec_way choice_cheapest(struct codec_coder *coder, const struct codec_chain *chain,
                                        const uint32_t *kinds, uint32_t count,
                                        double link_bytes_per_s, double *ns_out)
{
    struct codec_way best = {.kind = choice_smallest(coder, kinds, count),
                             .squeeze = chain->squeeze == CODEC_SQUEEZE_AUTO ? CODEC_PLAIN
                                                                             : chain->squeeze};

    *ns_out = choice_ns(coder, &best, CHOICE_ONE, link_bytes_per_s);
    for (uint32_t i = 0; i < count * CODEC_SQUEEZES; i++) {
        struct codec_way way = {.kind = kinds[i / CODEC_SQUEEZES],
                                .squeeze = (enum codec_squeeze)(i % CODEC_SQUEEZES)};
        uint32_t ratio = choice_ratio(coder, &way);
        double ns = choice_ns(coder, &way, ratio, link_bytes_per_s);

        if (choice_squeezes(chain, way.squeeze) && ratio > 0 && ns < *ns_out) {
            best = way;
            *ns_out = ns;
        }
    }
    return best;
}

struct codec_way codec_choice_best(struct codec_coder *coder, const struct codec_chain *chain,
                                   double link_bytes_per_s)
{
    uint32_t kinds[CHOICE_INDEXES];
    uint32_t count = choice_kinds(coder, chain, kinds);
    double ns;

    if (link_bytes_per_s > 0) {
        return choice_cheapest(coder, chain, kinds, count, link_bytes_per_s, &ns);
    }
    return (struct codec_way){.kind = choice_smallest(coder, kinds, count),
                              .squeeze = chain->squeeze == CODEC_SQUEEZE_AUTO ? CODEC_PLAIN
                                                                              : chain->squeeze};
}

/* Those that may be tried: the chain allows them, and they are not too slow even if nothing was
 * left to be sent. */
static uint32_t choice_trials(struct codec_coder *coder, const struct codec_chain *chain,
                              double link_bytes_per_s, struct codec_way *ways)
{
    uint32_t kinds[CHOICE_INDEXES];
    uint32_t count = choice_kinds(coder, chain, kinds), found = 0;
    double ns;

    (void)choice_cheapest(coder, chain, kinds, count, link_bytes_per_s, &ns);
    for (uint32_t squeeze = CODEC_PLAIN + 1; squeeze < CODEC_SQUEEZES; squeeze++) {
        for (uint32_t i = 0; i < count && choice_squeezes(chain, squeeze); i++) {
            ways[found] = (struct codec_way){kinds[i], (enum codec_squeeze)squeeze};
            found += choice_ns(coder, &ways[found], 0, link_bytes_per_s) < ns;
        }
    }
    return found;
}

/* What was never tried comes first. */
bool codec_choice_trial(struct codec_coder *coder, const struct codec_chain *chain,
                        double link_bytes_per_s, struct codec_way *out)
{
    struct codec_choice *c = &coder->choice;
    bool turn = ++c->chunks % CHOICE_EVERY == 0;
    struct codec_way ways[CHOICE_INDEXES * (CODEC_SQUEEZES - 1) + 1] = {{0}};
    uint32_t count;

    if (!(link_bytes_per_s > 0) || chain->squeeze == CODEC_PLAIN ||
        (chain->form != CODEC_FORM_AUTO && chain->squeeze != CODEC_SQUEEZE_AUTO)) {
        return false;
    }
    count = choice_trials(coder, chain, link_bytes_per_s, ways);
    for (uint32_t i = 0; i < count; i++) {
        if (choice_ratio(coder, &ways[i]) == 0) {
            *out = ways[i];
            return true;
        }
    }
    if (turn && count > 0) {
        *out = ways[c->next++ % count];
        return true;
    }
    return false;
}

void codec_choice_note(struct codec_coder *coder, const struct codec_way *way, uint32_t plain_bytes,
                       uint32_t bytes)
{
    uint32_t *ratio = &coder->choice.ratios[way->kind][way->squeeze];
    uint32_t now = (uint32_t)((uint64_t)bytes * CHOICE_ONE / plain_bytes);

    now = now == 0 ? 1 : now;
    *ratio = *ratio == 0 ? now : (*ratio * 3 + now + 3) / 4;
}
