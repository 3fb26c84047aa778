/* ack: which sequence numbers the receiver has dealt with. A window, as in hello. */

#ifndef WIRE_ACK_H
#define WIRE_ACK_H

#include "wire/hello.h"

struct bytes_writer;

/* The bytes of a window, for those who carry one: how many, write, read. A window whose highest
 * sequence is beyond 64 bits is ERR_INVALID to write and ERR_MALFORMED to read. */
size_t wire_window_bytes(const struct wire_window *window);
MUST_USE enum err wire_window_write(struct bytes_writer *w, const struct wire_window *window);
MUST_USE enum err wire_window_decode(const uint8_t *bytes, size_t size, struct wire_window *out);

/* Make a sealed WIRE_ACK frame. */
MUST_USE enum err wire_ack_encode(struct buf_pool *pool, const struct wire_window *acked,
                                  struct buf **frame_out);

MUST_USE enum err wire_ack_decode(const uint8_t *body, size_t size, struct wire_window *out);

#endif
