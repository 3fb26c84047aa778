/* Updates that were recorded, read clock by clock: by `strait run --record-updates`, or by people
 * from anywhere else.
 *
 * A file is an array of NumPy (.npy, float32: with one axis it is one clock, with two it is a clock
 * per row) or has a line of JSON for each clock:
 *
 *     {"clock": 7, "values": [0.5, -1e-3, 0]}
 *
 * or just the values, in brackets. Files that follow each other are clocks that follow each other.
 * A folder is its files by name; but one that has an updates.json, as our runs write it, holds one
 * series of clocks in each file, which are read side by side: parts of one update.
 *
 * Rows of .npy files are clocks 1, 2, 3, unless an updates.json beside them says that only every
 * n-th was recorded. What a killed run has left is read up to its last whole clock. Only one clock
 * is in memory. Blocks on the disk. */

#ifndef RUN_UPDATES_UPDATES_H
#define RUN_UPDATES_UPDATES_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define RUN_UPDATES_META "updates.json"

enum {
    RUN_UPDATES_SCHEMA = 1,
    RUN_UPDATES_ELEMENTS_MAX = 1 << 30, /* Of one clock in one file. */
    RUN_UPDATES_FILES_MAX = 65536,
    RUN_UPDATES_META_BYTES_MAX = 4 << 20,
    RUN_UPDATES_EVERY_MAX = 1000000,
};

struct run_updates;

/* What is there of one series at a clock. */
struct run_updates_part {
    const char *path;    /* Of the file that it is in. */
    const float *values; /* All finite; NULL: nothing was made at this clock. */
    uint64_t elements;   /* The same for all clocks. */
};

/* @paths are files, or one folder. ERR_NOT_FOUND, ERR_IO, ERR_NOMEM, ERR_TOO_BIG or ERR_INVALID
 * with
 * @text: what, where, and what to do. */
MUST_USE enum err run_updates_open(const char *const *paths, uint32_t count,
                                   struct run_updates **out, struct err_text *text);

/* From a stream of @size bytes, which it closes in any case. */
MUST_USE enum err run_updates_open_stream(FILE *file, const char *name, uint64_t size,
                                          struct run_updates **out, struct err_text *text);

void run_updates_close(struct run_updates *u); /* NULL is allowed. */

uint32_t run_updates_parts(const struct run_updates *u);
const struct run_updates_part *run_updates_part(const struct run_updates *u, uint32_t index);

/* The next clock, whose values are in the parts until the next call. *@clock_out is zero if there
 * is none. Errors as above; after one this must not be called again. */
MUST_USE enum err run_updates_next(struct run_updates *u, uint64_t *clock_out,
                                   struct err_text *text);

/* How many files end in the middle of a clock, which was passed over. */
uint32_t run_updates_torn(const struct run_updates *u);

#endif
