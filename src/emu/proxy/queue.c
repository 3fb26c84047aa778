#include "emu/proxy/queue.h"

#include "base/mem.h"

static struct emu_block *blocks_take(struct emu_blocks *b)
{
    struct emu_block *block = b->spare;

    if (block == NULL) {
        return mem_zalloc(sizeof(*block));
    }
    b->spare = block->next;
    b->spare_count--;
    block->next = NULL;
    return block;
}

static void blocks_give(struct emu_blocks *b, struct emu_block *block)
{
    if (b->spare_count >= EMU_BLOCKS_SPARE) {
        mem_free(block);
        return;
    }
    block->next = b->spare;
    b->spare = block;
    b->spare_count++;
}

static void blocks_give_all(struct emu_blocks *b, struct emu_block *block)
{
    while (block != NULL) {
        struct emu_block *next = block->next;

        blocks_give(b, block);
        block = next;
    }
}

void emu_blocks_deinit(struct emu_blocks *b)
{
    while (b->spare != NULL) {
        mem_free(blocks_take(b));
    }
}

/* Have prepared blocks for @bytes beyond the last one. */
static enum err queue_prepare(struct emu_queue *q, struct emu_blocks *b, uint32_t bytes)
{
    struct emu_block **end = &q->more;

    for (uint32_t have = 0; have < bytes; have += EMU_BLOCK_BYTES) {
        if (*end == NULL) {
            *end = blocks_take(b);
        }
        if (*end == NULL) {
            return ERR_NOMEM;
        }
        end = &(*end)->next;
    }
    return OK;
}

enum err emu_queue_reserve(struct emu_queue *q, struct emu_blocks *b, uint32_t bytes,
                           struct iovec *iov, int *count_out)
{
    uint32_t left = q->last == NULL ? 0 : EMU_BLOCK_BYTES - q->tail;
    enum err rc = queue_prepare(q, b, bytes > left ? bytes - left : 0);
    struct emu_block *block = q->more;
    int count = 0;

    if (rc != OK) {
        blocks_give_all(b, q->more);
        q->more = NULL;
        return rc;
    }
    if (left > 0) {
        left = left < bytes ? left : bytes;
        iov[count++] = (struct iovec){q->last->bytes + q->tail, left};
        bytes -= left;
    }
    for (; bytes > 0; block = block->next) {
        uint32_t size = bytes < EMU_BLOCK_BYTES ? bytes : EMU_BLOCK_BYTES;

        CHECK(count < EMU_QUEUE_IOV_MAX && block != NULL);
        iov[count++] = (struct iovec){block->bytes, size};
        bytes -= size;
    }
    *count_out = count;
    return OK;
}

void emu_queue_commit(struct emu_queue *q, struct emu_blocks *b, uint32_t bytes)
{
    q->bytes += bytes;
    while (bytes > 0) {
        uint32_t left = q->last == NULL ? 0 : EMU_BLOCK_BYTES - q->tail;

        if (left == 0) {
            struct emu_block *block = q->more;

            q->more = block->next;
            block->next = NULL;
            if (q->last == NULL) {
                q->first = block;
                q->head = 0;
            } else {
                q->last->next = block;
            }
            q->last = block;
            q->tail = 0;
            left = EMU_BLOCK_BYTES;
        }
        left = left < bytes ? left : bytes;
        q->tail += left;
        bytes -= left;
    }
    blocks_give_all(b, q->more);
    q->more = NULL;
}

int emu_queue_peek(const struct emu_queue *q, uint64_t bytes, struct iovec *iov)
{
    struct emu_block *block = q->first;
    uint32_t head = q->head;
    int count = 0;

    bytes = bytes < q->bytes ? bytes : q->bytes;
    for (; bytes > 0 && count < EMU_QUEUE_IOV_MAX; block = block->next) {
        uint64_t size = EMU_BLOCK_BYTES - head;

        size = size < bytes ? size : bytes;
        iov[count++] = (struct iovec){block->bytes + head, size};
        bytes -= size;
        head = 0;
    }
    return count;
}

uint8_t *emu_queue_at(struct emu_queue *q, uint64_t index)
{
    struct emu_block *block = q->first;

    CHECK(index < q->bytes);
    for (index += q->head; index >= EMU_BLOCK_BYTES; index -= EMU_BLOCK_BYTES) {
        block = block->next;
    }
    return block->bytes + index;
}

void emu_queue_drop(struct emu_queue *q, struct emu_blocks *b, uint64_t bytes)
{
    CHECK(bytes <= q->bytes);
    q->bytes -= bytes;
    for (bytes += q->head; bytes >= EMU_BLOCK_BYTES; bytes -= EMU_BLOCK_BYTES) {
        struct emu_block *block = q->first;

        q->first = block->next;
        blocks_give(b, block);
    }
    q->head = (uint32_t)bytes;
    if (q->bytes == 0) {
        emu_queue_clear(q, b); /* The last block may be half used: somebody else can have it. */
    }
}

void emu_queue_clear(struct emu_queue *q, struct emu_blocks *b)
{
    blocks_give_all(b, q->first);
    blocks_give_all(b, q->more);
    *q = (struct emu_queue){0};
}
