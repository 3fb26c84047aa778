/* Do the links of a sender carry enough? (F5)
 *
 * Whoever holds back what is small has two thresholds. The lower one counts only while every link
 * it sends on is known to carry more than is required; else the upper one, and less is sent. A look
 * is a new measurement of some link:
 *
 *   - a link that was measured at no more than required: up, at once;
 *   - all links above required by a tenth, in several looks one after the other: low;
 *   - a link of which nothing is known, or only that it carries some amount which is not enough:
 *     all stays as it is, and that link should be measured;
 *   - else all stays as it is.
 *
 * So a link whose rate is about what is required does not make it go up and down. It starts up.
 *
 * Pure: figures in, a decision out. */

#ifndef SYNC_ENOUGH_H
#define SYNC_ENOUGH_H

#include <stdbool.h>
#include <stdint.h>

#define ENOUGH_NO_LINK UINT32_MAX

enum { ENOUGH_PATIENCE = 3 };

struct enough_config {
    uint64_t required; /* Bytes per second. */
    uint32_t patience; /* Looks; zero: ENOUGH_PATIENCE. */
};

/* As measured. .at_least: it was not busy enough to show what it can carry. */
struct enough_link {
    bool known;
    bool at_least;
    uint64_t bytes_per_s;
};

struct enough {
    struct enough_config config;
    bool up;
    uint32_t good; /* Looks in a row that were. */
};

void enough_init(struct enough *e, const struct enough_config *config);

/* The first link that should be measured, or ENOUGH_NO_LINK. */
uint32_t enough_wanted(const struct enough *e, const struct enough_link *links, uint32_t count);

/* Look at all links that are sent on. Returns the one that should be measured, as above. */
uint32_t enough_step(struct enough *e, const struct enough_link *links, uint32_t count);

static inline bool enough_up(const struct enough *e)
{
    return e->up;
}

#endif
