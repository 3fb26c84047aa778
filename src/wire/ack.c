/* The window as bytes; hello carries the same ones in a field. */

#include "wire/ack.h"

#include "base/buf.h"
#include "base/bytes.h"

enum { ACK_HEAD_BYTES = 16 };

_Static_assert(ACK_HEAD_BYTES + 8 * WIRE_WINDOW_WORDS == WIRE_ACK_BODY_BYTES_MAX,
               "the limit is the largest window");

static uint32_t ack_words(const struct wire_window *window)
{
    uint32_t words = WIRE_WINDOW_WORDS;

    while (words > 0 && window->bits[words - 1] == 0) {
        words--;
    }
    return words;
}

/* The highest sequence in the window must be a number, or a receiver's sum would wrap. */
static bool ack_range_valid(const struct wire_window *window, uint32_t words)
{
    uint64_t last;

    if (words == 0) {
        return true;
    }
    last = (uint64_t)words * 64 - 1 - (uint64_t)__builtin_clzll(window->bits[words - 1]);
    return last < UINT64_MAX - window->base;
}

size_t wire_window_bytes(const struct wire_window *window)
{
    return ACK_HEAD_BYTES + (size_t)8 * ack_words(window);
}

enum err wire_window_write(struct bytes_writer *w, const struct wire_window *window)
{
    uint32_t words = ack_words(window);

    if (!ack_range_valid(window, words)) {
        return ERR_INVALID;
    }
    bytes_write64(w, window->base);
    bytes_write16(w, (uint16_t)words);
    bytes_write16(w, 0);
    bytes_write32(w, 0);
    for (uint32_t i = 0; i < words; i++) {
        bytes_write64(w, window->bits[i]);
    }
    return OK;
}

enum err wire_window_decode(const uint8_t *bytes, size_t size, struct wire_window *out)
{
    struct wire_window window = {.base = 0};
    struct bytes_reader r;
    uint32_t words;
    uint64_t reserved;

    bytes_reader_init(&r, bytes, size);
    window.base = bytes_read64(&r);
    words = bytes_read16(&r);
    reserved = bytes_read16(&r);
    reserved |= bytes_read32(&r);
    if (r.failed || reserved != 0 || words > WIRE_WINDOW_WORDS || r.left != (size_t)8 * words) {
        return ERR_MALFORMED;
    }
    for (uint32_t i = 0; i < words; i++) {
        window.bits[i] = bytes_read64(&r);
    }
    if ((words > 0 && window.bits[words - 1] == 0) || !ack_range_valid(&window, words)) {
        return ERR_MALFORMED;
    }
    *out = window;
    return OK;
}

enum err wire_ack_encode(struct buf_pool *pool, const struct wire_window *acked,
                         struct buf **frame_out)
{
    size_t size = wire_window_bytes(acked);
    struct bytes_writer w;
    struct buf *frame;
    enum err rc = wire_frame_take(pool, size, &frame);

    if (rc != OK) {
        return rc;
    }
    bytes_writer_init(&w, buf_append(frame, size), size);
    rc = wire_window_write(&w, acked);
    if (rc != OK) {
        buf_unref(frame);
        return rc;
    }
    wire_frame_seal_plain(frame, WIRE_ACK);
    *frame_out = frame;
    return OK;
}

enum err wire_ack_decode(const uint8_t *body, size_t size, struct wire_window *out)
{
    return wire_window_decode(body, size, out);
}
