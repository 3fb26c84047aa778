/* Inside of a coder: what coder.c and the files that it is made of share. */

#ifndef CODEC_PARTS_H
#define CODEC_PARTS_H

#include "codec/coder.h"
#include "codec/loops.h"
#include "codec/squeeze.h"

/* What was cut out of a chunk, in all the shapes that payloads are made of. */
struct codec_taken {
    uint32_t elements;
    uint32_t count;
    uint32_t skips; /* If .spaced. */
    bool listed;    /* .list was made, */
    bool spaced;    /* and .skips counted. */
    bool half;      /* .halves are the values: what was rounded off is held again. */
    bool whole;     /* The values can be bytes, and are in .spare. */
    uint64_t bitmap[CODEC_WORDS_MAX];
    float floats[LIMIT_CHUNK_ELEMENTS];
    float spare[LIMIT_CHUNK_ELEMENTS]; /* Rounding errors, then bytes. */
    uint16_t halves[LIMIT_CHUNK_ELEMENTS];
    uint16_t list[LIMIT_CHUNK_ELEMENTS + CODEC_LIST_SPILL];
};

/* What squeezers made of payloads lately: parts of 65536, at least one; zero: not tried yet. */
struct codec_choice {
    uint64_t chunks;
    uint32_t next; /* Whose turn it is to be tried again. */
    uint32_t ratios[CODEC_KINDS][CODEC_SQUEEZES];
};

enum { CODEC_MADE_UP = 16384 }; /* Elements of the chunks that costs are measured on. */

struct codec_coder {
    const struct codec_loops *loops;
    struct codec_costs costs;
    struct codec_squeezer *squeezer;
    struct codec_choice choice;
    struct codec_taken taken;
    float made_up[CODEC_MADE_UP];
    float made_out[CODEC_MADE_UP];
    bool not_finite; /* What was last refused. */
};

/* How something is to be written. */
struct codec_way {
    uint32_t kind;
    enum codec_squeeze squeeze;
};

/* coder.c, for costs.c: cut, which returns the sum of the squares of what norm dropped; and make
 * bytes of the values if they can be. */
double codec_coder_cut(struct codec_coder *coder, enum codec_cut cut, float threshold, float *held,
                       uint32_t elements);
void codec_coder_narrow(struct codec_coder *coder);

/* form.c: the kind for an index part like that of @index (see codec_kind_index()), the size of such
 * a payload, and the payload itself. */
uint32_t codec_form_kind(const struct codec_coder *coder, uint32_t index);
uint32_t codec_form_bytes(struct codec_coder *coder, uint32_t kind);
void codec_form_write(struct codec_coder *coder, uint32_t kind, void *out);

/* norm.c: fill the bitmap with what is left if the smallest are dropped while the sum of their
 * squares is within the bound; returns that sum. @list has room for all elements. */
double codec_norm_bound(float threshold, uint32_t elements);
double codec_norm_mark(const struct codec_loops *loops, const float *held, uint32_t elements,
                       float threshold, uint64_t *bitmap, uint16_t *list);
MUST_USE bool codec_norm_allows(const struct codec_loops *loops, double sum, double bound,
                                const float *errors, uint32_t count);

/* choice.c: the best of ways, and perhaps one that should be tried on this chunk. */
struct codec_way codec_choice_best(struct codec_coder *coder, const struct codec_chain *chain,
                                   double link_bytes_per_s);
MUST_USE bool codec_choice_trial(struct codec_coder *coder, const struct codec_chain *chain,
                                 double link_bytes_per_s, struct codec_way *out);
void codec_choice_note(struct codec_coder *coder, const struct codec_way *way, uint32_t plain_bytes,
                       uint32_t bytes);

/* costs.c: as codec_form_bytes(), but of gaps at least. */
uint32_t codec_costs_plain_bytes(uint32_t kind, uint32_t count, uint32_t elements);

#endif
