/* Waiting for what is about to come.
 *
 * A site that reads at once when its own clock is over never sees what the others made in that
 * clock: it is still on its way, and counts only a whole clock later. Often it comes after a small
 * part of a clock, and waiting so long costs less than the clock. So readers wait for the newest
 * clock of another site if it came that soon the last time, or never came yet, but never longer
 * than a set part of a clock; for sites whose links are slower nobody waits.
 *
 * It is never needed: the mirror clock and selective barriers bound how old a copy may be. How soon
 * a site's clock comes is seen whether somebody waits or not, so a link that becomes faster or
 * slower is noticed by its next clock.
 *
 * Pure: the machine and the time go in, decisions come out. */

#ifndef SYNC_FRESH_H
#define SYNC_FRESH_H

#include "sync/mirror.h"

struct fresh_site {
    uint64_t clock;  /* The newest of it that came. */
    int64_t late_ns; /* How long after our own; MIRROR_NEVER: not known. */
};

struct fresh {
    double part;       /* Of a clock that is worth waiting; zero: none. */
    uint64_t clock;    /* The last one that is over here, for somebody at least. */
    int64_t closed_ns; /* When; at first, when it began. */
    int64_t took_ns;   /* Since the one before; zero: none is closed yet. */
    struct fresh_site sites[MIRROR_SITES_MAX];
};

void fresh_init(struct fresh *f, double part);

/* The first clock begins, or one after a pause. */
void fresh_begin(struct fresh *f, int64_t now_ns);

/* Our clock is over; nothing happens if that is known. */
void fresh_closed(struct fresh *f, const struct mirror *m, uint64_t clock, int64_t now_ns);

/* Clocks of other sites may have moved. */
void fresh_look(struct fresh *f, const struct mirror *m, int64_t now_ns);

/* May somebody who is about to compute @clock read now? If not: for which site one waits, and until
 * when at most. For those who ask the clock before is over, though others may still be at it. */
bool fresh_may_read(struct fresh *f, const struct mirror *m, uint64_t clock, int64_t now_ns,
                    uint32_t *for_out, int64_t *until_ns_out);

#endif
