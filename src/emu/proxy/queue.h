/* The bytes that are on the way in one flow: first in, first out, in blocks that all flows of a
 * process share. Bytes are read straight into the blocks and written straight out of them. */

#ifndef EMU_PROXY_QUEUE_H
#define EMU_PROXY_QUEUE_H

#include "base/err.h"

#include <stdint.h>
#include <sys/uio.h>

enum {
    EMU_BLOCK_BYTES = 32 * 1024,
    EMU_BLOCKS_SPARE = 256, /* Kept for later, 8 MiB; what is beyond goes back to the system. */
    EMU_QUEUE_IOV_MAX = 16,
};

struct emu_block {
    struct emu_block *next;
    uint8_t bytes[EMU_BLOCK_BYTES];
};

/* Blocks that nobody uses. Zeroed: none. */
struct emu_blocks {
    struct emu_block *spare;
    uint32_t spare_count;
};

/* All queues have been cleared. */
void emu_blocks_deinit(struct emu_blocks *b);

/* Fields are private to emu/proxy/queue.c. Zeroed: empty. */
struct emu_queue {
    struct emu_block *first;
    struct emu_block *last;
    struct emu_block *more; /* Prepared for what comes next. */
    uint32_t head;          /* In the first block. */
    uint32_t tail;          /* In the last block. */
    uint64_t bytes;
};

static inline uint64_t emu_queue_bytes(const struct emu_queue *q)
{
    return q->bytes;
}

/* Room for up to @bytes at the end, as pieces that a read may fill: sets *@count_out of @iov, which
 * has EMU_QUEUE_IOV_MAX. ERR_NOMEM: nothing has changed. */
MUST_USE enum err emu_queue_reserve(struct emu_queue *q, struct emu_blocks *b, uint32_t bytes,
                                    struct iovec *iov, int *count_out);

/* The first @bytes of the room have been filled. */
void emu_queue_commit(struct emu_queue *q, struct emu_blocks *b, uint32_t bytes);

/* The first bytes, at most @bytes of them, as pieces to be written. Returns how many pieces. */
int emu_queue_peek(const struct emu_queue *q, uint64_t bytes, struct iovec *iov);

/* The @index-th byte; it may be changed. */
uint8_t *emu_queue_at(struct emu_queue *q, uint64_t index);

/* Forget the first @bytes. */
void emu_queue_drop(struct emu_queue *q, struct emu_blocks *b, uint64_t bytes);

void emu_queue_clear(struct emu_queue *q, struct emu_blocks *b);

#endif
