/* ack: which sequence numbers the receiver has dealt with. A window, as in hello. */

#ifndef WIRE_ACK_H
#define WIRE_ACK_H

#include "wire/hello.h"

/* Make a sealed WIRE_ACK frame. */
MUST_USE enum err wire_ack_encode(struct buf_pool *pool, const struct wire_window *acked,
                                  struct buf **frame_out);

MUST_USE enum err wire_ack_decode(const uint8_t *body, size_t size, struct wire_window *out);

#endif
