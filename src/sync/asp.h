/* Approximate Synchronous Parallel: what a site decides at the end of each of its clocks (G5, G8).
 *
 * There are two thresholds. All that is more significant than the *hard* one is sent, whatever it
 * takes. The *soft* one lies below it, and sinks while links have capacity to spare: what lies
 * between goes too, as long as nobody has to wait for it. Goal `cost` never sends more than it
 * must. A budget is a limit on what the soft one may add.
 *
 * If significant pieces are made faster than a link drains them, the other end is told first which
 * elements are coming (a selective barrier), so that nobody there reads what is known to be old.
 *
 * Pure: figures in, decisions out. Rates are measured by whoever asks. */

#ifndef SYNC_ASP_H
#define SYNC_ASP_H

#include <stdbool.h>
#include <stdint.h>

enum asp_goal {
    ASP_SPEED, /* Use what the links can carry. */
    ASP_COST,  /* Send what must be sent, and nothing else. */
};

struct asp_config {
    enum asp_goal goal;
    bool barrier;          /* Selective barriers are raised. */
    uint64_t staleness;    /* Clocks that a site may be ahead of another; UINT64_MAX: any. */
    uint64_t budget_bytes; /* To send in all of the run; zero: no limit. */
    uint64_t clocks;       /* In which to spend it; zero: not known, so it is spent evenly over
                            * as many clocks as there have been so far. */
};

/* A link to another site, as measured. */
struct asp_link {
    uint64_t bytes_per_s;   /* What it drained when it was busy; zero: not known. */
    uint64_t backlog_bytes; /* What it has still to drain, with what this clock has made. */
};

/* What a clock was like. */
struct asp_clock {
    uint64_t clock;
    int64_t took_ns;       /* Since the one before. */
    uint64_t made_bytes;   /* Of the pieces made in it, once. */
    uint64_t copies;       /* How many times they are sent. */
    uint64_t passed_bytes; /* Of the pieces of others that came in it, to be passed on. */
    const struct asp_link *links;
    uint32_t links_count;
};

struct asp {
    struct asp_config config;
    double soft;         /* The soft threshold as part of the hard one, 0 to 1. */
    uint64_t sent_bytes; /* All copies. */
    bool bound;          /* The budget holds the soft threshold up. */
    bool over;           /* The budget is used up: only what must be sent is. */
};

void asp_init(struct asp *a, const struct asp_config *config);

/* A clock is over. */
void asp_step(struct asp *a, const struct asp_clock *clock);

/* By what the hard threshold is multiplied in the next clock: 0 to 1. */
static inline double asp_soft(const struct asp *a)
{
    return a->soft;
}

/* Must the other end of a link be told first what is coming? */
bool asp_raises(const struct asp *a, const struct asp_clock *clock, const struct asp_link *link);

#endif
