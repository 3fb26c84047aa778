#include "base/bytes.h"

void bytes_reader_init(struct bytes_reader *r, const void *bytes, size_t size)
{
    *r = (struct bytes_reader){.at = bytes, .left = size};
}

const uint8_t *bytes_read(struct bytes_reader *r, size_t size)
{
    const uint8_t *at = r->at;

    if (r->failed || size > r->left) {
        r->failed = true;
        return NULL;
    }
    if (size > 0) {
        r->at += size;
        r->left -= size;
    }
    return at;
}

uint8_t bytes_read8(struct bytes_reader *r)
{
    const uint8_t *p = bytes_read(r, 1);

    return p == NULL ? 0 : *p;
}

uint16_t bytes_read16(struct bytes_reader *r)
{
    const uint8_t *p = bytes_read(r, 2);

    return p == NULL ? 0 : bytes_load16(p);
}

uint32_t bytes_read32(struct bytes_reader *r)
{
    const uint8_t *p = bytes_read(r, 4);

    return p == NULL ? 0 : bytes_load32(p);
}

uint64_t bytes_read64(struct bytes_reader *r)
{
    const uint8_t *p = bytes_read(r, 8);

    return p == NULL ? 0 : bytes_load64(p);
}

void bytes_writer_init(struct bytes_writer *w, void *bytes, size_t size)
{
    *w = (struct bytes_writer){.at = bytes, .left = size};
}

void bytes_write(struct bytes_writer *w, const void *bytes, size_t size)
{
    if (w->failed || size > w->left) {
        w->failed = true;
        return;
    }
    if (size > 0) {
        memcpy(w->at, bytes, size);
        w->at += size;
        w->left -= size;
        w->written += size;
    }
}

void bytes_write8(struct bytes_writer *w, uint8_t v)
{
    bytes_write(w, &v, sizeof(v));
}

void bytes_write16(struct bytes_writer *w, uint16_t v)
{
    bytes_write(w, &v, sizeof(v));
}

void bytes_write32(struct bytes_writer *w, uint32_t v)
{
    bytes_write(w, &v, sizeof(v));
}

void bytes_write64(struct bytes_writer *w, uint64_t v)
{
    bytes_write(w, &v, sizeof(v));
}
