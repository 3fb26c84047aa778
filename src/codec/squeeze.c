/* Contexts of zstd are made in memory of ours: its own ones take more and give back as they see
 * fit. That part of its interface is declared only on request, since it may change with the
 * library. */
#define ZSTD_STATIC_LINKING_ONLY

#include "codec/squeeze.h"

#include "base/limits.h"
#include "base/mem.h"

#include <lz4.h>
#include <snappy-c.h>
#include <zstd.h>

enum { SQUEEZE_ZSTD_LEVEL = 1 };

struct codec_squeezer {
    void *lz4;
    void *zstd_memory;
    void *unzstd_memory;
    ZSTD_CCtx *zstd;
    ZSTD_DCtx *unzstd;
    char *room;
    size_t room_bytes;
};

static size_t squeeze_zstd_bytes(void)
{
    return ZSTD_estimateCCtxSize_usingCParams(
        ZSTD_getCParams(SQUEEZE_ZSTD_LEVEL, LIMIT_CHUNK_BYTES, 0));
}

enum err codec_squeezer_create(struct codec_squeezer **out)
{
    struct codec_squeezer *s = mem_zalloc(sizeof(*s));

    if (s == NULL) {
        return ERR_NOMEM;
    }
    s->room_bytes = snappy_max_compressed_length(LIMIT_CHUNK_BYTES);
    s->room = mem_zalloc(s->room_bytes);
    s->lz4 = mem_zalloc((size_t)LZ4_sizeofState());
    s->zstd_memory = mem_zalloc(squeeze_zstd_bytes());
    s->unzstd_memory = mem_zalloc(ZSTD_estimateDCtxSize());
    if (s->room == NULL || s->lz4 == NULL || s->zstd_memory == NULL || s->unzstd_memory == NULL) {
        codec_squeezer_destroy(s);
        return ERR_NOMEM;
    }
    s->zstd = ZSTD_initStaticCCtx(s->zstd_memory, squeeze_zstd_bytes());
    s->unzstd = ZSTD_initStaticDCtx(s->unzstd_memory, ZSTD_estimateDCtxSize());
    CHECK(s->room_bytes >= LIMIT_CHUNK_BYTES && s->zstd != NULL && s->unzstd != NULL);
    *out = s;
    return OK;
}

void codec_squeezer_destroy(struct codec_squeezer *s)
{
    if (s != NULL) {
        mem_free(s->room);
        mem_free(s->lz4);
        mem_free(s->zstd_memory);
        mem_free(s->unzstd_memory);
        mem_free(s);
    }
}

const void *codec_squeeze(struct codec_squeezer *s, enum codec_squeeze how, const void *bytes,
                          uint32_t size, uint32_t *size_out)
{
    size_t less = size - 1u, squeezed = s->room_bytes;
    int count;

    CHECK(size > 0 && size <= LIMIT_CHUNK_BYTES && how > CODEC_PLAIN && how < CODEC_SQUEEZES);
    switch (how) {
    case CODEC_SNAPPY:
        if (snappy_compress(bytes, size, s->room, &squeezed) != SNAPPY_OK) {
            return NULL;
        }
        break;
    case CODEC_LZ4:
        count = LZ4_compress_fast_extState(s->lz4, bytes, s->room, (int)size, (int)less, 1);
        squeezed = count > 0 ? (size_t)count : SIZE_MAX;
        break;
    default: /* An error is a number larger than any size. */
        squeezed = ZSTD_compressCCtx(s->zstd, s->room, less, bytes, size, SQUEEZE_ZSTD_LEVEL);
    }
    if (squeezed > less) {
        return NULL;
    }
    *size_out = (uint32_t)squeezed;
    return s->room;
}

/* How many bytes it becomes, as it says itself; more than any limit: it does not say, or there is
 * more than one frame. */
static uint64_t squeeze_said(enum codec_squeeze how, const void *bytes, size_t size, uint32_t max)
{
    size_t said = 0;

    switch (how) {
    case CODEC_SNAPPY:
        return snappy_uncompressed_length(bytes, size, &said) == SNAPPY_OK ? said : UINT64_MAX;
    case CODEC_ZSTD:
        return ZSTD_findFrameCompressedSize(bytes, size) == size
                   ? ZSTD_getFrameContentSize(bytes, size)
                   : UINT64_MAX;
    default:
        return max; /* LZ4 does not say it, but keeps to the room that it is given. */
    }
}

const void *codec_unsqueeze(struct codec_squeezer *s, enum codec_squeeze how, const void *bytes,
                            size_t size, uint32_t max, uint32_t *size_out)
{
    size_t plain = s->room_bytes;
    uint64_t said;
    int count;

    if (how <= CODEC_PLAIN || how >= CODEC_SQUEEZES || size == 0 || size >= max ||
        max > LIMIT_CHUNK_BYTES) {
        return NULL;
    }
    said = squeeze_said(how, bytes, size, max);
    if (said > max) {
        return NULL;
    }
    switch (how) {
    case CODEC_SNAPPY:
        if (snappy_uncompress(bytes, size, s->room, &plain) != SNAPPY_OK) {
            return NULL;
        }
        break;
    case CODEC_LZ4:
        count = LZ4_decompress_safe(bytes, s->room, (int)size, (int)max);
        plain = count > 0 ? (size_t)count : SIZE_MAX;
        break;
    default: /* An error is a number larger than any size. */
        plain = ZSTD_decompressDCtx(s->unzstd, s->room, said, bytes, size);
    }
    if (plain > max || plain <= size) {
        return NULL;
    }
    *size_out = (uint32_t)plain;
    return s->room;
}
