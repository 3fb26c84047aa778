/* What is cut out of an update and how it is written, as people write it:
 * "dvf:delta=0.01 | sparse | snappy".
 *
 * Stages are separated by '|', in this order, each optional but at least one:
 *
 *   cut      all           everything goes (as if nothing was said)
 *            dvf:delta=D   what is not above D in magnitude stays held (F3)
 *            norm:delta=D  the smallest stay held, as many as keep the norm of what stays within
 *                          D * sqrt(elements): the bound that dvf keeps too (F4)
 *            with low=L,up=U for delta=D two thresholds, between which whoever encodes moves
 *   form     dense, sparse (numbers of elements and values), bitmap, gaps (distances and values),
 *            paper (sparse if more than 80 % are zeros, else dense: F6) or auto, the cheapest
 *   f16      values as halves where the threshold allows it
 *   squeeze  snappy, lz4, zstd or plain. If nothing is said: plain, but with auto the cheapest */

#ifndef CODEC_CHAIN_H
#define CODEC_CHAIN_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum codec_cut { CODEC_CUT_NONE, CODEC_CUT_VALUE, CODEC_CUT_NORM, CODEC_CUTS };

enum codec_form {
    CODEC_FORM_AUTO,
    CODEC_FORM_DENSE,
    CODEC_FORM_SPARSE,
    CODEC_FORM_BITMAP,
    CODEC_FORM_GAPS,
    CODEC_FORM_PAPER,
    CODEC_FORMS,
};

/* In the header of frames: never reuse a number. */
enum codec_squeeze {
    CODEC_PLAIN = 0,
    CODEC_SNAPPY = 1,
    CODEC_LZ4 = 2,
    CODEC_ZSTD = 3,
    CODEC_SQUEEZES = 4,
    CODEC_SQUEEZE_AUTO = CODEC_SQUEEZES, /* The cheapest; not on the wire. */
};

enum { CODEC_CHAIN_TEXT_BYTES = 128 }; /* Room for every printed chain. */

struct codec_chain {
    enum codec_cut cut;
    float low, up; /* Equal if there is one threshold; zero without a cut. */
    enum codec_form form;
    bool half;
    enum codec_squeeze squeeze;
};

/* ERR_INVALID with a text that names the bad word and what is allowed. */
MUST_USE enum err codec_chain_parse(const char *text, struct codec_chain *out,
                                    struct err_text *text_out);

/* The chain as people write it, all that is not as if nothing was said. @size is at least
 * CODEC_CHAIN_TEXT_BYTES. */
void codec_chain_print(const struct codec_chain *chain, char *out, size_t size);

MUST_USE bool codec_chain_equal(const struct codec_chain *a, const struct codec_chain *b);

/* The stages, in the order in which they are written. */
enum codec_stage {
    CODEC_STAGE_NONE,
    CODEC_STAGE_CUT,
    CODEC_STAGE_FORM,
    CODEC_STAGE_HALF,
    CODEC_STAGE_SQUEEZE,
};

/* What people may write. */
struct codec_word {
    enum codec_stage stage;
    int value; /* Of enum codec_cut, codec_form or codec_squeeze. */
    const char *name;
    const char *written; /* With what has to follow the name. */
    const char *meaning; /* Lower case, no full stop. */
};

/* All of them, by stages; ends with one without a name. */
extern const struct codec_word codec_words[];

const char *codec_stage_name(enum codec_stage stage);
const char *codec_form_name(enum codec_form form);
const char *codec_squeeze_name(enum codec_squeeze squeeze);

#endif
