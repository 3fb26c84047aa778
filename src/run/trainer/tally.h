/* What many workers tell of their clocks, put together: one row per clock, sums per worker, and
 * what the newest evaluation says. Pure: time and figures come in as values.
 *
 * A row is complete when every worker that is there has gone beyond its clock; then it is given
 * out, in the order of clocks. What comes for a row that was given out counts for its worker
 * only. */

#ifndef RUN_TRAINER_TALLY_H
#define RUN_TRAINER_TALLY_H

#include "run/trainer/trainer.h"

enum {
    RUN_TALLY_ROWS_MAX = 4096, /* Not complete at once; then the oldest goes as it is. */
    RUN_TALLY_HISTORY = 128,   /* Evaluations that are remembered, for a curve. */
};

/* One clock of the whole site. Figures that are not there are NaN. */
struct run_row {
    uint64_t clock;
    int64_t now_ns;   /* When the last of them ended it. */
    uint32_t workers; /* Who ended it. */
    uint32_t rebased; /* Of those: who were left out by a lane meanwhile. */
    uint32_t upper;   /* And who held back by the upper threshold (F5). */
    double samples;
    double loss; /* Per sample. */
    bool evaluated;
    double objective;
    double accuracy;
    double read_s; /* Mean over the workers. */
    double compute_s;
    double end_s;
};

struct run_tally_worker {
    bool in;            /* Joined, and neither away nor done. */
    bool done;          /* Left cleanly. */
    uint64_t clock;     /* The last that it ended. */
    uint64_t clocks;    /* How many. */
    uint64_t rebased;   /* In how many of them a lane had left it out. */
    uint32_t lives;     /* How often it joined. */
    uint64_t evaluated; /* The last clock that it judged. */
    double samples;
    uint64_t elements; /* As in struct run_clock. */
    uint64_t large[RUN_PARTS];
    struct node_sparsify_totals sparsified;
    int64_t read_ns;
    int64_t compute_ns;
    int64_t end_ns;
};

struct run_tally;

/* @row is called for each complete row; may be NULL. */
MUST_USE enum err run_tally_create(uint32_t workers,
                                   void (*row)(const struct run_row *row, void *user), void *user,
                                   struct run_tally **tally_out);

/* NULL is allowed. */
void run_tally_destroy(struct run_tally *t);

/* It is in, and computes @clock first. */
void run_tally_joined(struct run_tally *t, uint32_t rank, uint64_t clock);

void run_tally_clock(struct run_tally *t, uint32_t rank, const struct run_clock *c, int64_t now_ns);
void run_tally_evaluated(struct run_tally *t, uint32_t rank, const struct run_evaluation *e,
                         int64_t now_ns);

/* It left, or it is gone and may be back. */
void run_tally_left(struct run_tally *t, uint32_t rank);
void run_tally_away(struct run_tally *t, uint32_t rank);

/* Give out what there is: the run is over. What not all have judged who are there is not judged. */
void run_tally_finish(struct run_tally *t);

uint32_t run_tally_workers(const struct run_tally *t);
const struct run_tally_worker *run_tally_worker(const struct run_tally *t, uint32_t rank);

/* The clock that all workers have ended who are there; if none is, that all have ended. */
uint64_t run_tally_clock_all(const struct run_tally *t);

/* The last row that was given out; .clock zero: none. */
const struct run_row *run_tally_last(const struct run_tally *t);

/* The newest evaluation of all workers who are there, and the objectives up to it, oldest first. */
struct run_tally_score {
    uint64_t clock; /* Zero: none. */
    bool judged;    /* Somebody had data to judge it by; else the objective is NaN for that. */
    double objective;
    double accuracy; /* NaN: the job cannot tell. */
};
const struct run_tally_score *run_tally_score(const struct run_tally *t);
const double *run_tally_history(const struct run_tally *t, uint32_t *count_out);

/* What all workers sparsified together. */
struct node_sparsify_totals run_tally_sparsified(const struct run_tally *t);

/* The part of their time that workers waited, for parameters or for others, 0 to 1. */
double run_tally_waiting(const struct run_tally *t);

#endif
