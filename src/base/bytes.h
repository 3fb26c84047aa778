/* Little-endian bytes: loads, stores, and a reader and writer that cannot leave their bounds.
 *
 * A reader or writer that meets its end sets .failed and stays failed; the caller checks once, at
 * the end, instead of after every field. */

#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Strait runs on little-endian machines; the wire is little-endian"
#endif

static inline uint16_t bytes_load16(const void *p)
{
    uint16_t v;

    memcpy(&v, p, sizeof(v));
    return v;
}

static inline uint32_t bytes_load32(const void *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof(v));
    return v;
}

static inline uint64_t bytes_load64(const void *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof(v));
    return v;
}

static inline void bytes_store16(void *p, uint16_t v)
{
    memcpy(p, &v, sizeof(v));
}

static inline void bytes_store32(void *p, uint32_t v)
{
    memcpy(p, &v, sizeof(v));
}

static inline void bytes_store64(void *p, uint64_t v)
{
    memcpy(p, &v, sizeof(v));
}

struct bytes_reader {
    const uint8_t *at;
    size_t left;
    bool failed;
};

struct bytes_writer {
    uint8_t *at;
    size_t left;
    size_t written;
    bool failed;
};

void bytes_reader_init(struct bytes_reader *r, const void *bytes, size_t size);

/* Zero once failed. */
uint8_t bytes_read8(struct bytes_reader *r);
uint16_t bytes_read16(struct bytes_reader *r);
uint32_t bytes_read32(struct bytes_reader *r);
uint64_t bytes_read64(struct bytes_reader *r);

/* Return a view of the next @size bytes, or NULL once failed. */
const uint8_t *bytes_read(struct bytes_reader *r, size_t size);

void bytes_writer_init(struct bytes_writer *w, void *bytes, size_t size);
void bytes_write8(struct bytes_writer *w, uint8_t v);
void bytes_write16(struct bytes_writer *w, uint16_t v);
void bytes_write32(struct bytes_writer *w, uint32_t v);
void bytes_write64(struct bytes_writer *w, uint64_t v);
void bytes_write(struct bytes_writer *w, const void *bytes, size_t size);

#endif
