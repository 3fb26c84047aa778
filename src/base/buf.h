/* Reference-counted byte buffers with headroom, from pools of aligned memory.
 *
 *     |<- headroom ->|<--- size --->|<- tailroom ->|
 *     storage        bytes
 *
 * A buffer is the only reference-counted object in Strait: it lets one frame go to many receivers
 * without a copy. References may be dropped on any thread; a buffer goes back to its pool through
 * a lock-free list when that is not the thread that owns the pool.
 *
 * A pool belongs to the thread that created it (buf_pool_adopt() moves it). It takes memory in
 * slabs up to its limit. It gives a slab back when destroyed, or when it is at the limit, nobody
 * uses the slab and another size is wanted: the update path does not meet malloc, and what a node
 * holds is bounded by what is in flight. */

#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct buf_pool;
struct buf_slab;

enum {
    BUF_ALIGN = 64,                         /* Storage is aligned to a cache line. */
    BUF_BYTES_MAX = 4 * 1024 * 1024 + 4096, /* The largest class: a data frame and its header. */
};

/* Fields are private to base/buf.c; use the accessors. */
struct buf {
    uint8_t *storage;
    uint32_t capacity;
    uint32_t head; /* Offset of the first byte. */
    uint32_t size;
    uint32_t class_index;
    _Atomic uint32_t refs;
    struct buf_pool *pool;
    struct buf_slab *slab;
    struct buf *next_free;
};

struct buf_pool_stats {
    uint64_t bytes_limit;
    uint64_t bytes_reserved; /* Taken from the system, never more than the limit. */
    uint64_t bytes_used;     /* In buffers that somebody holds. */
    uint64_t bytes_used_max;
    uint64_t buffers_used;
};

/* Create a pool that holds at most @bytes_limit bytes of storage. */
MUST_USE enum err buf_pool_create(uint64_t bytes_limit, struct buf_pool **pool_out);

/* Let it hold @more bytes more than before. Owner only. */
void buf_pool_raise(struct buf_pool *pool, uint64_t more);

/* Take memory for @count more buffers of @size bytes from the system now, and let the pool hold
 * @more bytes more than before: what is reserved cannot be refused later. ERR_NOMEM: nothing has
 * changed; ERR_TOO_BIG beyond the largest class. Owner only. */
MUST_USE enum err buf_pool_reserve(struct buf_pool *pool, size_t size, uint32_t count,
                                   uint64_t more);

/* Let it hold @less bytes less, and give slabs that nobody uses back to the system; not less than
 * is in slabs that somebody uses. Owner only. */
void buf_pool_lower(struct buf_pool *pool, uint64_t less);

/* Every buffer must have been given back. NULL is allowed. */
void buf_pool_destroy(struct buf_pool *pool);

/* The calling thread owns the pool from now on. */
void buf_pool_adopt(struct buf_pool *pool);

/* Owner only, or any thread when nobody else uses the pool. */
void buf_pool_stats(struct buf_pool *pool, struct buf_pool_stats *stats_out);

/* How much more buffers may hold. Owner only. */
uint64_t buf_pool_free_bytes(struct buf_pool *pool);

/* Take an empty buffer with @headroom bytes before and at least @size bytes of room after; the
 * first byte is aligned when @headroom is a multiple of BUF_ALIGN. The caller owns the one
 * reference. ERR_AGAIN at the pool's limit, or where the system's is reached and somebody holds
 * buffers that will come back, ERR_TOO_BIG beyond the largest class or if the pool
 * could never hold it, ERR_NOMEM. Owner only. */
MUST_USE enum err buf_take(struct buf_pool *pool, size_t headroom, size_t size,
                           struct buf **buf_out);

/* One more reference; returns @b. */
struct buf *buf_ref(struct buf *b);

/* Drop a reference. NULL is allowed. */
void buf_unref(struct buf *b);

/* True if nobody else holds the buffer: only then may its bytes be changed. */
static inline bool buf_unique(const struct buf *b)
{
    return atomic_load_explicit(&b->refs, memory_order_acquire) == 1;
}

static inline uint8_t *buf_bytes(const struct buf *b)
{
    return b->storage + b->head;
}

static inline uint32_t buf_size(const struct buf *b)
{
    return b->size;
}

static inline uint32_t buf_headroom(const struct buf *b)
{
    return b->head;
}

static inline uint32_t buf_tailroom(const struct buf *b)
{
    return b->capacity - b->head - b->size;
}

/* Grow at the end by @size bytes, which must fit the tailroom; returns where they start. */
uint8_t *buf_append(struct buf *b, size_t size);

/* Grow at the front by @size bytes, which must fit the headroom; returns the new start. */
uint8_t *buf_prepend(struct buf *b, size_t size);

/* Forget @size bytes at the front. */
void buf_trim_front(struct buf *b, size_t size);

/* Cut the buffer to its first @size bytes. */
void buf_truncate(struct buf *b, size_t size);

#endif
