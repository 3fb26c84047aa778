/* Updates as bytes and back, as a chain says (codec/chain.h).
 *
 * The number of an encoding on the wire is its kind (codec/sparse.h) in the lower byte and what it
 * was squeezed with in the upper one. A squeezed payload is the squeezed bytes of a plain one, and
 * always shorter than that.
 *
 * A coder is for one thread. It has all the room that it needs; only snappy takes some itself for
 * each call. Apart from costs that are measured nothing here depends on time: the same calls write
 * the same bytes on every processor, with the same versions of the squeezers. */

#ifndef CODEC_CODER_H
#define CODEC_CODER_H

#include "codec/chain.h"
#include "codec/sparse.h"

enum { CODEC_SQUEEZE_SHIFT = 8 };

struct codec_coder;

MUST_USE enum err codec_coder_create(struct codec_coder **out);
void codec_coder_destroy(struct codec_coder *coder); /* NULL is allowed. */

/* Take out of @held, which is finite, what the chain's cut lets go at @threshold and write it to
 * @out, which has room for codec_bytes_max(elements) and is aligned for floats. What was written
 * plus what is held now is what was held before, bit for bit.
 *
 * @threshold is finite and at least 0: the chain's, between low and up and as it has decayed by
 * now. At 0 all goes that is not zero (of either sign). Without a cut it counts as 0, and all that
 * is held then is zero. Halves are written if all rounding errors, which stay held, keep the bound
 * of the cut: each is within the threshold, and with norm they and what was not sent have no larger
 * norm together; at 0 that is if there are none.
 *
 * What is to be chosen (auto) is chosen so that writing it, sending it over a link of
 * @link_bytes_per_s and reading it takes the least time. Zero: that is unknown, and the smallest
 * plain form is taken. */
void codec_encode(struct codec_coder *coder, const struct codec_chain *chain, float threshold,
                  double link_bytes_per_s, float *held, uint32_t elements, void *out,
                  struct codec_packed *packed);

/* A payload that was judged and is not squeezed: codec_add() and the index functions of
 * codec/sparse.h may be used on it. */
struct codec_plain {
    uint32_t codec;
    const void *payload;
    uint32_t bytes;
};

/* Judge a payload that came in, and make it plain if it is squeezed. ERR_INVALID: refused. What is
 * in @out is good until the next call with the coder. */
MUST_USE enum err codec_decode(struct codec_coder *coder, uint32_t codec, const void *bytes,
                               size_t size, uint32_t elements, struct codec_plain *out);

/* After codec_decode() has refused: was everything right but for a value that is infinite or not a
 * number? */
MUST_USE bool codec_was_not_finite(const struct codec_coder *coder);

/* What it costs on one core, in picoseconds: integers, so that simulated time is the same by every
 * compiler. */
struct codec_cost {
    uint32_t element_ps; /* For each element of the chunk, */
    uint32_t value_ps;   /* and more for each that is sent. */
};

struct codec_costs {
    uint32_t cut_ps[CODEC_CUTS];          /* For each element of the chunk. */
    struct codec_cost write[CODEC_KINDS]; /* From what was cut out to a plain payload. */
    struct codec_cost read[CODEC_KINDS];  /* To judge a plain payload and add it. */
    uint32_t squeeze_ps[CODEC_SQUEEZES];  /* For each byte of the plain payload. */
    uint32_t unsqueeze_ps[CODEC_SQUEEZES];
};

/* As strait bench codec measured it once: see costs.c. */
extern const struct codec_costs codec_costs_default;

/* Without this a coder goes by the default. */
void codec_coder_set_costs(struct codec_coder *coder, const struct codec_costs *costs);

/* What was written with that cut, and a payload of @bytes with @count elements to be read. */
int64_t codec_encode_ns(const struct codec_costs *costs, const struct codec_packed *packed,
                        uint32_t elements, enum codec_cut cut);
int64_t codec_decode_ns(const struct codec_costs *costs, uint32_t codec, uint32_t bytes,
                        uint32_t count, uint32_t elements);

/* Measure, on made-up chunks, for a few milliseconds. @now is a clock in nanoseconds. */
void codec_costs_measure(struct codec_coder *coder, int64_t (*now)(void *user), void *user,
                         struct codec_costs *out);

#endif
