/* Ratings of items by users, as the job mf wants them: read from a file or generated.
 *
 * Files are lines of "user item rating", separated by spaces or tabs, by "," or by "::" (as
 * MovieLens does); what follows the rating is not looked at. The first line may name the columns.
 * Users and items are whole numbers of any size. They are renumbered from 0 in ascending order, so
 * all workers that read the same file agree on them.
 *
 * A worker holds the ratings of its part of the users only. */

#ifndef APP_RATINGS_H
#define APP_RATINGS_H

#include "base/err.h"

#include <stdint.h>

enum { RATINGS_COUNT_MAX = 1 << 30 }; /* In one file. */

struct rating {
    uint32_t user; /* Among this worker's, from 0. */
    uint32_t item;
    float value;
};

struct ratings {
    uint32_t users; /* Of all workers. */
    uint32_t items; /* Of all workers. */
    uint32_t user_first;
    uint32_t user_count;
    uint32_t count;
    struct rating *list;
};

/* What to generate: ratings 0.5 to 5 in halves that come from factors of a low rank and some
 * noise; popular items are rated more often. No user rates an item twice. Of the items, by
 * popularity, the first part x = (1 + (popular - 1) u^(skew - 1)) u / popular has the part u of the
 * ratings. */
struct ratings_plan {
    uint32_t users;
    uint32_t items;
    uint32_t ratings; /* At most users * items. */
    double popular;   /* The first item has so many times as many as the mean; at least 1. */
    uint32_t skew;    /* How fast the others fall behind; at least 1. */
    uint64_t seed;
};

/* Read the part of worker @rank of @workers. @name is the file's, for errors. ERR_MALFORMED with
 * line and reason, ERR_TOO_BIG, ERR_NOMEM. The caller owns *@out. */
MUST_USE enum err ratings_parse(const char *name, const void *bytes, size_t size, uint32_t rank,
                                uint32_t workers, struct ratings *out, struct err_text *text);

/* Generate that part; the whole does not depend on @workers. ERR_NOMEM. */
MUST_USE enum err ratings_generate(const struct ratings_plan *plan, uint32_t rank, uint32_t workers,
                                   struct ratings *out);

void ratings_deinit(struct ratings *r);

#endif
