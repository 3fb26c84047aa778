/* What a link is taken to carry: what was measured, what is said of it, and for how long. Flows are
 * paced at what is believed, so a link that has recovered is not seen to have: what was measured
 * counts for a while, and then the link is tried again at what is said. If it is as slow as before,
 * it counts for twice as long. One reading is nothing: it takes several, over some time, and their
 * mean is what was measured; the first of a burst do not count, while connections find out what
 * they may send. One measure is little: of two the larger one counts, of the first and what is said
 * too, since much makes a link slow for a moment, and nothing makes it fast. */

#ifndef SYNC_BELIEVE_H
#define SYNC_BELIEVE_H

#include <stdbool.h>
#include <stdint.h>

#define BELIEVE_FIRST_NS UINT64_C(20000000000) /* At first it counts for so long, ... */
#define BELIEVE_LAST_NS UINT64_C(640000000000) /* ... and never for longer than this. */

#define BELIEVE_RAMP_NS UINT64_C(1500000000) /* Readings count after so long, ... */
#define BELIEVE_LOOK_NS UINT64_C(3000000000) /* ... those until then are a measure, ... */
#define BELIEVE_GAP_NS UINT64_C(3000000000)  /* ... none is later than this after another, ... */
#define BELIEVE_READINGS 4                   /* ... and at least so many. */

struct believe {
    uint64_t bytes_per_s; /* As measured last; zero: never. */
    uint64_t before;      /* The measure before it, if that counted then; zero: none. */
    uint64_t until_ns;    /* It counts; then it is tried again ... */
    uint64_t again_ns;    /* ... until then: slow once more, and it counts for longer. */
    uint64_t hold_ns;     /* For how long. */
    uint64_t readings;    /* Of the measure that is being made, ... */
    uint64_t sum;         /* ... added up, ... */
    uint64_t from_ns;     /* ... since then, ... */
    uint64_t last_ns;     /* ... the last one; zero: never. */
};

static inline bool believe_is_measured(const struct believe *b, uint64_t now_ns)
{
    return b->bytes_per_s > 0 && now_ns < b->until_ns;
}

/* A link that was busy all the time carried so much: a measure. */
static inline void believe_measured(struct believe *b, uint64_t bytes_per_s, uint64_t now_ns)
{
    if (!believe_is_measured(b, now_ns)) {
        bool again = b->bytes_per_s > 0 && now_ns < b->again_ns;

        b->hold_ns = again ? b->hold_ns * 2 : BELIEVE_FIRST_NS;
        b->hold_ns = b->hold_ns > BELIEVE_LAST_NS ? BELIEVE_LAST_NS : b->hold_ns;
        b->before = 0;
    } else {
        b->before = b->bytes_per_s;
    }
    b->bytes_per_s = bytes_per_s > 0 ? bytes_per_s : 1;
    b->until_ns = now_ns + b->hold_ns;
    b->again_ns = b->until_ns + b->hold_ns;
}

/* A reading of it. */
static inline void believe_read(struct believe *b, uint64_t bytes_per_s, uint64_t now_ns)
{
    if (b->last_ns == 0 || now_ns - b->last_ns > BELIEVE_GAP_NS) {
        b->readings = 0;
        b->sum = 0;
        b->from_ns = now_ns;
    }
    b->last_ns = now_ns;
    if (now_ns - b->from_ns < BELIEVE_RAMP_NS) {
        return;
    }
    b->readings++;
    b->sum += bytes_per_s < UINT64_C(1) << 48 ? bytes_per_s : UINT64_C(1) << 48;
    if (b->readings >= BELIEVE_READINGS && now_ns - b->from_ns >= BELIEVE_LOOK_NS) {
        believe_measured(b, b->sum / b->readings, now_ns);
        b->readings = 0;
        b->sum = 0;
        b->from_ns = now_ns - BELIEVE_RAMP_NS; /* It goes on, and need not begin slowly. */
    }
}

/* @said is zero if nothing is said. Zero: nothing is known. */
static inline uint64_t believe_rate(const struct believe *b, uint64_t said, uint64_t now_ns)
{
    uint64_t other = b->before > 0 ? b->before : said;

    if (!believe_is_measured(b, now_ns)) {
        return said;
    }
    return b->bytes_per_s > other ? b->bytes_per_s : other;
}

#endif
