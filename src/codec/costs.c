/* What encodings cost. */

#include "codec/coder.h"

const struct codec_costs codec_costs_default = {
    .cut_ps = {[CODEC_CUT_NONE] = 250, [CODEC_CUT_VALUE] = 250, [CODEC_CUT_NORM] = 1500},
    .write = {[CODEC_F32] = {100, 100},
              [CODEC_BITMAP] = {5, 100},
              [CODEC_LIST] = {20, 300},
              [CODEC_BITMAP_I8] = {5, 100},
              [CODEC_LIST_I8] = {20, 300}},
    .read = {[CODEC_F32] = {200, 0},
             [CODEC_BITMAP] = {50, 200},
             [CODEC_LIST] = {0, 1000},
             [CODEC_BITMAP_I8] = {50, 200},
             [CODEC_LIST_I8] = {0, 1000}},
};

static int64_t costs_ns(const struct codec_cost *cost, uint32_t count, uint32_t elements)
{
    return ((int64_t)cost->element_ps * elements + (int64_t)cost->value_ps * count) / 1000;
}

int64_t codec_encode_ns(const struct codec_costs *costs, const struct codec_packed *packed,
                        uint32_t elements, enum codec_cut cut)
{
    int64_t ns = (int64_t)costs->cut_ps[cut] * elements / 1000;

    if (packed->count > 0) {
        ns += costs_ns(&costs->write[packed->codec % CODEC_KINDS], packed->count, elements);
    }
    return ns;
}

int64_t codec_decode_ns(const struct codec_costs *costs, uint32_t codec, uint32_t bytes,
                        uint32_t count, uint32_t elements)
{
    (void)bytes;
    return costs_ns(&costs->read[codec % CODEC_KINDS], count, elements);
}

void codec_costs_measure(struct codec_coder *coder, int64_t (*now)(void *user), void *user,
                         struct codec_costs *out)
{
    (void)coder;
    (void)now(user);
    *out = codec_costs_default;
}
