/* Loops over distances: a part of the text of loops_body.h. */

#ifndef CODEC_LOOPS_GAPS_H
#define CODEC_LOOPS_GAPS_H

#include "codec/loops_word.h"

enum {
    GAPS_SKIP = 255,    /* So far, and no element there. */
    GAPS_AT_ONCE = 256, /* Elements that are looked for before something is done with them. */
};

static uint32_t loops_gaps(const uint8_t *gaps, uint32_t size, uint32_t *skips)
{
    uint32_t sum = 0, count = 0;

    for (uint32_t i = 0; i < size; i++) {
        sum += gaps[i];
        count += gaps[i] == GAPS_SKIP;
    }
    *skips = count;
    return sum;
}

/* Four distances, of which none is a skip, become numbers of elements from @next on: each in 16
 * bits, and the product adds to each those before it. Each one also steps over its own. */
static inline uint64_t gaps_numbers(uint32_t four, uint32_t next)
{
    uint64_t x = (four | (uint64_t)four << 16) & UINT64_C(0x0000ffff0000ffff);

    x = (x | x << 8) & UINT64_C(0x00ff00ff00ff00ff);
    return (x + next) * UINT64_C(0x0001000100010001) + UINT64_C(0x0003000200010000);
}

static inline bool gaps_has_skip(uint32_t four)
{
    uint32_t zeros = ~four; /* A skip is a byte of zero here. */

    return ((zeros - UINT32_C(0x01010101)) & ~zeros & UINT32_C(0x80808080)) != 0;
}

struct gaps_reader {
    const uint8_t *at;
    const uint8_t *end;
    uint32_t next; /* The element that a distance of zero names. */
};

/* The numbers of the next elements, up to GAPS_AT_ONCE; returns how many. */
static inline uint32_t gaps_read(struct gaps_reader *r, uint16_t *list)
{
    uint32_t count = 0;

    while (r->at < r->end && count < GAPS_AT_ONCE) {
        if (r->end - r->at >= 4 && count + 4 <= GAPS_AT_ONCE &&
            !gaps_has_skip(bytes_load32(r->at))) {
            uint64_t numbers = gaps_numbers(bytes_load32(r->at), r->next);

            memcpy(list + count, &numbers, sizeof(numbers));
            r->next = (uint32_t)(numbers >> 48) + 1;
            r->at += 4;
            count += 4;
        } else {
            r->next += *r->at;
            if (*r->at++ != GAPS_SKIP) {
                list[count++] = (uint16_t)r->next++;
            }
        }
    }
    return count;
}

static inline uint32_t loops_add_distances(float *values, const uint8_t *gaps, uint32_t size,
                                           const uint8_t *from, enum codec_values how)
{
    struct gaps_reader r = {.at = gaps, .end = gaps + size};
    uint16_t list[GAPS_AT_ONCE];
    uint32_t kept = 0, count;

    while ((count = gaps_read(&r, list)) > 0) {
        kept += loops_add_each(values, (const uint8_t *)list, from, count, how);
        from += count * loops_value_bytes(how);
    }
    return kept;
}

static uint32_t loops_add_gaps(float *values, const uint8_t *gaps, uint32_t size,
                               const uint8_t *from)
{
    return loops_add_distances(values, gaps, size, from, CODEC_VALUES_F32);
}

static uint32_t loops_add_gaps_f16(float *values, const uint8_t *gaps, uint32_t size,
                                   const uint8_t *from)
{
    return loops_add_distances(values, gaps, size, from, CODEC_VALUES_F16);
}

static uint32_t loops_add_gaps_i8(float *values, const uint8_t *gaps, uint32_t size,
                                  const uint8_t *from)
{
    return loops_add_distances(values, gaps, size, from, CODEC_VALUES_I8);
}

#endif
