/* The built-in jobs, as step functions: what one worker computes in one clock.
 *
 * A job knows no network, thread or clock. Its owner (run/trainer/trainer.c) reads the tables it
 * names, calls step(), and pushes the updates that step() wrote; so the same job runs in a real
 * process and in the simulator, and the same calls give the same numbers.
 *
 *     create -> tables -> { rows -> step } for clock 1, 2, ... -> evaluate now and then -> destroy
 *
 * What a job keeps of its own between clocks (mf: its users' factors, lda: its tokens' topics) can
 * be had as bytes and given back, so that a process that is started again goes on where the one
 * before it ended (run/trainer/worker_state.h). */

#ifndef APP_APP_H
#define APP_APP_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    APP_TABLES_MAX = 8,
    APP_OPTIONS_MAX = 32,
    APP_SPEC_BYTES = 96, /* Of a text that describes how a table starts or is updated. */
    APP_NAME_BYTES = 32,
};

enum app_access {
    APP_DENSE, /* Every clock reads and updates all of it. */
    APP_ROWS,  /* Every clock reads and updates the rows that rows() names. */
};

/* A table that the job wants; the texts are read by table/init.h and table/apply.h. */
struct app_table {
    char name[APP_NAME_BYTES];
    uint64_t rows;
    uint32_t width;
    enum app_access access;
    char init[APP_SPEC_BYTES];    /* "zeros", "constant 0.5", "uniform 0.1", "normal 0.02" */
    char apply[APP_SPEC_BYTES];   /* "add", "sgd lr=0.1 ...", "momentum lr=0.1 mu=0.9 ..." */
    char combine[APP_NAME_BYTES]; /* "sum", "mean", "samples" */
};

struct app_option {
    const char *key;
    const char *value;
    uint32_t line; /* In the run file, for messages; zero: none. */
};

struct app_config {
    const char *job;  /* "mf", "logreg", "lda", "lenet", "mlp", "synthetic" */
    const char *data; /* A file or folder of the job's format; NULL or empty: generated. */
    uint32_t rank;    /* Which worker this is: its part of the data ... */
    uint32_t workers; /* ... is one of so many. */
    uint64_t seed;    /* The same for all workers; any number, zero too. */
    uint32_t option_count;
    const struct app_option *options; /* Borrowed for the call. */
};

/* What step() sees of one table. Dense: .rows is NULL and the arrays have rows * width elements.
 * Rows: row_count rows as rows() named them, one after the other. .update is zeroed before. */
struct app_view {
    const uint32_t *rows;
    uint32_t row_count;
    const float *values;
    float *update;
};

struct app_step {
    uint64_t clock;   /* In: from 1. */
    uint32_t samples; /* Out: how many samples went into it, the weight of the update; not zero. */
    double loss_sum;  /* Out: over these samples, with the values as read. */
    double flops;     /* Out: estimate of the work, from which the simulator makes time. */
    double seconds;   /* Out: asked-for compute time; the owner waits it. Zero before the call. */
};

/* Sums over one worker's part; those of all workers are added up, then divided. */
struct app_score {
    double objective_sum;
    double count;   /* Objective is objective_sum / count; zero from a worker without data. */
    double correct; /* Right answers of the test part, for jobs that can tell; else zero. */
    double tested;  /* Size of the test part; else zero. */
};

struct app;

struct app_ops {
    const char *name;
    const char *summary;      /* One line for help. */
    const char *objective;    /* What it is: "squared error per rating", "log loss", ... */
    bool rising;              /* A larger objective is better (a likelihood). */
    const char *options_help; /* "key=DEFAULT what" lines. */
    enum err (*create)(const struct app_config *config, struct app **app_out,
                       struct err_text *text);
    void (*destroy)(struct app *a);
    uint32_t (*tables)(const struct app *a, struct app_table *tables_out);
    /* The rows of table @table that step() wants in @clock, strictly ascending; valid until the
     * next call. None, if this worker has no data. Only for APP_ROWS tables. Any clock may be the
     * first: what a clock takes of the data depends on nothing that came before. */
    enum err (*rows)(struct app *a, uint64_t clock, uint32_t table, const uint32_t **rows_out,
                     uint32_t *count_out);
    /* Compute one clock. A worker without data writes no update and counts one sample. Allocates
     * nothing. */
    enum err (*step)(struct app *a, struct app_view *views, struct app_step *step);
    /* Judge the model as it is, on this worker's part of the data: all tables dense, with no room
     * for updates. Takes as long as a step or a few. */
    enum err (*evaluate)(struct app *a, const struct app_view *views, struct app_score *score);
    const struct app_state_ops *state; /* NULL: it keeps nothing of its own between clocks. */
};

/* A job's own state as bytes. Their number is fixed when the job is created, and they are asked for
 * and given in pieces, from the first to the last, whose sizes are multiples of four but for the
 * last. */
struct app_state_ops {
    /* The tables hold what the state says (lda: its tokens are counted in them), so a state that is
     * older than the last update leaves them wrong for ever. Else it only costs what was learnt
     * since. */
    bool exact;
    uint64_t (*size)(const struct app *a);
    /* A hash of what the state belongs to: this worker's part of the data, and all that gives the
     * bytes their meaning. */
    uint64_t (*about)(const struct app *a);
    void (*save)(const struct app *a, uint64_t offset, uint8_t *out, size_t size);
    /* ERR_CORRUPT if these bytes cannot be a state; the job is good for nothing then. */
    enum err (*load)(struct app *a, uint64_t offset, const uint8_t *bytes, size_t size);
};

/* First field of every job's own state. */
struct app {
    const struct app_ops *ops;
    uint32_t chunk; /* Elements of a chunk of its tables at most; zero: as many as can be. */
};

/* Options that every job has, as in options_help. */
extern const char app_options_help[];

/* All jobs, and the one of that name or NULL. */
const struct app_ops *const *app_all(uint32_t *count_out);
const struct app_ops *app_find(const char *name);

/* Create the job that config->job names. ERR_NOT_FOUND, ERR_INVALID (an option, named in @text),
 * ERR_MALFORMED (data: file and line in @text), ERR_NOMEM, ERR_IO. */
MUST_USE enum err app_create(const struct app_config *config, struct app **app_out,
                             struct err_text *text);

/* NULL is allowed. */
void app_destroy(struct app *a);

#endif
