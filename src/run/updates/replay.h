/* Recorded updates through a chain, by what members of a site do with theirs
 * (node/sparsify/sparsify.h): each is added to what is held, what goes is written chunk by chunk,
 * read again, and compared: what was read and what is held must be what was held before, to the bit
 * (but for signs of zeros). */

#ifndef RUN_UPDATES_REPLAY_H
#define RUN_UPDATES_REPLAY_H

#include "node/sparsify/sparsify.h"
#include "run/updates/updates.h"

struct run_replay_config {
    struct codec_chain chain;
    bool up;            /* The upper threshold; else the lower one. */
    uint32_t chunk;     /* Elements of a chunk, 1 to LIMIT_CHUNK_ELEMENTS. */
    uint64_t link_rate; /* Bytes per second, for what is chosen by it; zero: not known. */
    bool measured;      /* Choose by costs as measured here; else by the default ones. */
    int64_t (*mono_ns)(void);
};

/* What became of one clock; norms are Euclidean, over all elements. */
struct run_replay_clock {
    uint64_t clock;
    uint64_t elements;
    uint64_t sent_elements; /* Entries that went. */
    uint64_t bytes;
    uint64_t chunks;
    uint64_t ways[CODEC_KINDS]
                 [CODEC_SQUEEZES]; /* Chunks that were written so; others had nothing. */
    double threshold;
    double bound;         /* Of what is held: threshold * sqrt(elements). */
    double update_norm;   /* Of what was made, */
    double error_norm;    /* of the difference between that and what went, */
    double residual_norm; /* of what is held: the difference between all that was made and went, */
    double sum_norm;      /* and of all that was made so far. */
    int64_t encode_ns;
    int64_t decode_ns;
};

struct run_replay;

/* For updates of this shape. ERR_NOMEM with @text. */
MUST_USE enum err run_replay_create(const struct run_replay_config *config,
                                    const struct run_updates *updates, struct run_replay **out,
                                    struct err_text *text);
void run_replay_destroy(struct run_replay *r); /* NULL is allowed. */

/* One clock, as @updates has it now. ERR_INVALID with @text: a sum is beyond the range of floats.
 * ERR_CORRUPT: what was read differs, which is an error in Strait or in the memory. */
MUST_USE enum err run_replay_step(struct run_replay *r, const struct run_updates *updates,
                                  uint64_t clock, struct run_replay_clock *out,
                                  struct err_text *text);

/* Add up counts, bytes and times; of the rest the later clock counts. */
void run_replay_add(struct run_replay_clock *sum, const struct run_replay_clock *more);

#endif
