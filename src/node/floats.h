/* Floats in a received frame: small frames lie where they came, at any address. */

#ifndef NODE_FLOATS_H
#define NODE_FLOATS_H

#include <stdint.h>
#include <string.h>

/* The floats where they are if that is aligned, else a copy in @scratch, which has room. */
static inline const float *node_floats(const uint8_t *bytes, uint32_t size, float *scratch)
{
    if ((uintptr_t)bytes % _Alignof(float) == 0) {
        return (const float *)(const void *)bytes;
    }
    memcpy(scratch, bytes, size);
    return scratch;
}

#endif
