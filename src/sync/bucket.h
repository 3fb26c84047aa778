/* A rate kept on the average: bytes may go when the time for those before them is over. At most a
 * moment of what was not used is saved up. */

#ifndef SYNC_BUCKET_H
#define SYNC_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

struct bucket {
    uint64_t bytes_per_s; /* Zero: no limit. */
    int64_t free_ns;      /* When what went has taken its time. */
};

enum { BUCKET_SAVED_NS = 2000000 };

static inline void bucket_init(struct bucket *b, uint64_t bytes_per_s)
{
    *b = (struct bucket){.bytes_per_s = bytes_per_s};
}

/* May something go now? If not, at .free_ns. */
static inline bool bucket_may(const struct bucket *b, int64_t now_ns)
{
    return b->bytes_per_s == 0 || b->free_ns <= now_ns;
}

static inline void bucket_take(struct bucket *b, uint64_t bytes, int64_t now_ns)
{
    int64_t from = b->free_ns > now_ns - BUCKET_SAVED_NS ? b->free_ns : now_ns - BUCKET_SAVED_NS;

    if (b->bytes_per_s > 0) {
        b->free_ns = from + (int64_t)((double)bytes * 1e9 / (double)b->bytes_per_s);
    }
}

#endif
