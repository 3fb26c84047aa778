/* Inside of a coder: what coder.c, form.c and the others share. */

#ifndef CODEC_PARTS_H
#define CODEC_PARTS_H

#include "codec/coder.h"
#include "codec/loops.h"

/* What was cut out of a chunk, in all the shapes that payloads are made of. */
struct codec_taken {
    uint32_t elements;
    uint32_t count;
    bool whole;  /* All values can be bytes, and are in .bytes. */
    bool listed; /* .list was made. */
    uint64_t bitmap[CODEC_WORDS_MAX];
    float floats[LIMIT_CHUNK_ELEMENTS];
    float bytes[LIMIT_CHUNK_ELEMENTS]; /* Of whole numbers; floats until they are narrowed. */
    uint16_t list[LIMIT_CHUNK_ELEMENTS + CODEC_LIST_SPILL];
};

struct codec_coder {
    const struct codec_loops *loops;
    struct codec_costs costs;
    struct codec_taken taken;
};

/* form.c: the size of a plain payload of that kind, and the payload. @out has room for it. */
uint32_t codec_form_bytes(struct codec_coder *coder, uint32_t kind);
void codec_form_write(struct codec_coder *coder, uint32_t kind, void *out);

/* The kind for an index part like that of @like (CODEC_F32, CODEC_BITMAP or CODEC_LIST). */
uint32_t codec_form_kind(const struct codec_coder *coder, uint32_t like);

/* The smallest, of two that are equal the one with the lower number. */
uint32_t codec_form_smallest(struct codec_coder *coder);

#endif
