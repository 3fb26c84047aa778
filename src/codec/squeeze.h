/* Bytes made fewer by what others have written: snappy, LZ4 and zstd (level 1). Contexts and room
 * are taken at the start, but snappy has its own for each call. */

#ifndef CODEC_SQUEEZE_H
#define CODEC_SQUEEZE_H

#include "codec/chain.h"

struct codec_squeezer;

/* For payloads of up to LIMIT_CHUNK_BYTES. */
MUST_USE enum err codec_squeezer_create(struct codec_squeezer **out);
void codec_squeezer_destroy(struct codec_squeezer *squeezer); /* NULL is allowed. */

/* Return where the squeezed bytes are, until the next call, and their number in @size_out; NULL if
 * they are not fewer. */
const void *codec_squeeze(struct codec_squeezer *squeezer, enum codec_squeeze how,
                          const void *bytes, uint32_t size, uint32_t *size_out);

/* The way back: NULL if that is damaged, or became more than @max bytes, or not more than there
 * were. @max is at most LIMIT_CHUNK_BYTES, and decides before any byte is written. */
const void *codec_unsqueeze(struct codec_squeezer *squeezer, enum codec_squeeze how,
                            const void *bytes, size_t size, uint32_t max, uint32_t *size_out);

#endif
