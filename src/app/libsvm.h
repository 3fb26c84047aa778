/* Labelled sparse samples, as the job logreg wants them: read from a file or generated.
 *
 * Files are in the format of LIBSVM: a line per sample, "+1 3:0.5 17:1": the label, then the
 * features that are not zero with their values, numbered from 1 in ascending order. What follows a
 * '#' is a comment. A label above a threshold makes the sample a positive one.
 *
 * A worker holds its part of the samples only: they are divided in the order of the file. */

#ifndef APP_LIBSVM_H
#define APP_LIBSVM_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    LIBSVM_FEATURES_MAX = 1 << 28,
    LIBSVM_SAMPLES_MAX = 1 << 30, /* In one file. */
};

struct libsvm_entry {
    uint32_t feature; /* From 1. */
    float value;
};

struct libsvm {
    uint32_t features; /* The largest number, of all workers. */
    uint32_t samples;  /* Of all workers. */
    uint32_t first;    /* This worker's first sample ... */
    uint32_t count;    /* ... and how many it has. */
    uint64_t *starts;  /* count + 1: where the entries of a sample start. */
    bool *positive;    /* By sample. */
    struct libsvm_entry *entries;
};

/* What to generate: a label is the sign of a sum over the sample's features plus noise; a quarter
 * of the features count, the rest are there to be found out. */
struct libsvm_plan {
    uint32_t samples;
    uint32_t features;
    uint32_t nonzeros; /* Of a sample, at most; not more than features. */
    uint64_t seed;
};

/* Read the part of worker @rank of @workers. @name is the file's, for errors. ERR_MALFORMED with
 * line and reason, ERR_TOO_BIG, ERR_NOMEM. The caller owns *@out. */
MUST_USE enum err libsvm_parse(const char *name, const void *bytes, size_t size, double threshold,
                               uint32_t rank, uint32_t workers, struct libsvm *out,
                               struct err_text *text);

/* Generate that part; the whole does not depend on @workers. ERR_NOMEM. */
MUST_USE enum err libsvm_generate(const struct libsvm_plan *plan, uint32_t rank, uint32_t workers,
                                  struct libsvm *out);

void libsvm_deinit(struct libsvm *l);

#endif
