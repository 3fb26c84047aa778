/* What the record of a run (run/record/record.h) says of it, for comparing it with others: figures
 * of its summary.json, and of the evaluations in its scalars.csv. Nothing of a record is believed
 * unseen: it may have been cut off, or be somebody else's. */

#ifndef RUN_RECORD_OUTCOME_H
#define RUN_RECORD_OUTCOME_H

#include "base/err.h"
#include "run/trainer/trainer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RUN_OUTCOME_WORD_BYTES = 96 };

struct json_t;

/* In dollars. */
struct run_outcome_cost {
    double compute;
    double waiting;
    double transfer;
    double total;
};

struct run_outcome_budget {
    double max_usd; /* NaN: no limit, as with the next. */
    double max_gb;
    double used_gb;
    bool bound;
};

/* Figures that are not there are NaN. */
struct run_outcome {
    char run[RUN_OUTCOME_WORD_BYTES];
    char layout[RUN_OUTCOME_WORD_BYTES]; /* Empty: a file without sites. */
    char end[RUN_OUTCOME_WORD_BYTES];    /* "goal", "clocks", ...: run_end_name(). */
    char objective_is[RUN_OUTCOME_WORD_BYTES];
    struct err_text why;
    bool rising;
    uint64_t clocks;
    double time_s;
    double objective;
    double accuracy;
    double scale;
    double bytes; /* Of all members to each other, also inside of regions. */
    uint64_t wan_bytes;
    bool priced; /* The cost is known; else .note says which price is missing. */
    struct run_outcome_cost cost;
    struct err_text note;
    double insignificant;    /* Part of the elements of all sites, 0 to 1. */
    double small[RUN_PARTS]; /* Part of all single changes of workers, 0 to 1, by run_parts[]. */
    double sent;             /* Part of the elements that members of sites sparsified, 0 to 1. */
    uint32_t workers;
    double codec_s; /* Compression: sum over all workers, as the next three. */
    double compute_s;
    double read_s;
    double end_s;
    double waited_clock_s;   /* Sums over all sites: readers waited for another site's clock, */
    double waited_barrier_s; /* for pieces that were announced, */
    double waited_fresh_s;   /* for what was about to come, */
    double waited_room_s;    /* because too much was under way. */
    double move_s;
    bool has_budget;
    struct run_outcome_budget budget;
};

/* Read a summary. ERR_MALFORMED with @text: what is missing or wrong. */
MUST_USE enum err run_outcome_parse(const struct json_t *summary, struct run_outcome *out,
                                    struct err_text *text);

/* The same of the record in a folder. ERR_NOT_FOUND: there is no finished record; ERR_IO,
 * ERR_TOO_BIG, ERR_NOMEM; ERR_MALFORMED; ERR_VERSION: another schema; with @text: the file, and
 * what to do. */
MUST_USE enum err run_outcome_load(const char *dir, struct run_outcome *out, struct err_text *text);

/* What the evaluations of a run say. */
struct run_scalars {
    uint64_t clock;      /* The last row; zero: there is none. */
    uint64_t last_clock; /* The last evaluation; zero: there is none, and the rest says nothing. */
    double last;
    double last_s;        /* When it was. */
    uint64_t first_clock; /* The first that was as good as the last. */
    uint64_t best_clock;
    double best;
    double reached_clock; /* When the goal was met, on the straight line between two evaluations; */
    double reached_s;     /* NaN: never. */
};

/* Read the @size bytes of a scalars.csv. A last line that has no end is left out: somebody may be
 * writing it. NaN as @goal: there is none. ERR_MALFORMED with @text: "@name:LINE: ...". */
MUST_USE enum err run_scalars_parse(const char *name, const char *bytes, size_t size, bool rising,
                                    double goal, struct run_scalars *out, struct err_text *text);

/* The same of the record in a folder; errors as above. */
MUST_USE enum err run_scalars_load(const char *dir, bool rising, double goal,
                                   struct run_scalars *out, struct err_text *text);

/* The newest clock of a record that is being written, from the end of its scalars.csv; zero: none
 * yet. The newest objective before it, if there is one near the end, else NaN. */
uint64_t run_scalars_peek(const char *dir, double *objective_out);

#endif
