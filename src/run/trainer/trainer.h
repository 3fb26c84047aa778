/* A worker that trains: a job (app/app.h) and a worker node (node/worker/worker.h) joined by a
 * machine.
 *
 *     tables -> join -> { read -> step -> save -> push, update -> clock } -> evaluate now and then
 *     -> leave
 *
 * The machine goes on by itself, on the node's loop, but does not compute: when a step or an
 * evaluation is due, it is its owner's turn. The owner computes when and where it likes (in the
 * simulator at once, and says so after the virtual time that it takes; in a process while another
 * thread drives the loop) and hands back. So one machine trains in both worlds.
 *
 * A worker that was left out for a while (a missed deadline, a lost session) is let in again at a
 * later clock; the job goes on there, and what it had computed for the clocks between does not
 * count. A process that died and was started again goes on from the state that it saved
 * (run/trainer/worker_state.h), if its job keeps any. */

#ifndef RUN_TRAINER_TRAINER_H
#define RUN_TRAINER_TRAINER_H

#include "app/app.h"
#include "loop/loop.h"
#include "node/worker/worker.h"
#include "run/trainer/worker_state.h"
#include "run/updates/recorder.h"

struct run_trainer;

/* How large a change of a parameter is, as a part of what it becomes: of these each is counted that
 * is larger. Gaia's figure 5 has thresholds from 0.01 to 10 %; its filter begins with 1 %. */
enum { RUN_PARTS = 5, RUN_PART_ONE_PERCENT = 2 };
extern const float run_parts[RUN_PARTS];
extern const char *const run_part_names[RUN_PARTS]; /* "0.01%" */

/* What became of one clock. Times are of the loop's clock. */
struct run_clock {
    uint64_t clock;
    uint64_t next;      /* The one to compute now. */
    bool rebased;       /* A lane had left the worker out meanwhile: it may not count. */
    uint64_t lost_from; /* With .rebased: nor may those before it, from this one on. */
    uint32_t samples;
    double loss_sum;           /* Not finite: the job has diverged. */
    uint64_t elements;         /* Of its update ... */
    uint64_t large[RUN_PARTS]; /* ... those that change the parameter by more than run_parts[]. */
    struct node_sparsify_totals sparsified; /* Since the clock before it ended. */
    bool upper;                             /* It held back by the upper threshold (F5). */
    int64_t read_ns;                        /* Until all that the step needs was there. */
    int64_t compute_ns;                     /* In the owner's hands. */
    int64_t end_ns;                         /* To send the update and get past the barrier. */
    int64_t ended_ns;                       /* When that was. */
};

/* "clocks 41 to 50 may not count, goes on with 51". */
enum { RUN_LOST_BYTES = 128 };
void run_clock_lost_text(const struct run_clock *c, char out[RUN_LOST_BYTES]);

struct run_evaluation {
    uint64_t clock; /* The last that is in the values. */
    int64_t at_ns;  /* When it was judged, on the loop's clock. */
    struct app_score score;
};

/* All are called on the loop; any may be NULL. */
struct run_trainer_events {
    void (*joined)(struct run_trainer *t, uint64_t clock, void *user);
    /* It is the owner's turn: run_trainer_compute(), then run_trainer_computed(). */
    void (*due)(struct run_trainer *t, void *user);
    void (*clock)(struct run_trainer *t, const struct run_clock *c, void *user);
    void (*evaluated)(struct run_trainer *t, const struct run_evaluation *e, void *user);
    /* Something that people may want to know. */
    void (*notice)(struct run_trainer *t, const char *text, void *user);
    /* What it makes is not recorded any longer: why, and what to do. */
    void (*unrecorded)(struct run_trainer *t, const char *text, void *user);
    /* The last call: see run_trainer_result(). The trainer may be destroyed, but not in here. */
    void (*ended)(struct run_trainer *t, void *user);
};

struct run_trainer_config {
    struct loop *loop;
    struct node_worker *node;              /* Not joined; outlives the trainer. */
    struct app *app;                       /* Likewise. */
    struct run_state *state;               /* Likewise, fresh; NULL: nothing is saved. */
    uint32_t state_every;                  /* Clocks; zero: see run_state_every(). */
    uint32_t workers;                      /* Of the job, in all; zero: not known. */
    uint32_t number;                       /* Which of them it is. */
    const struct run_recording *recording; /* Of what it makes; NULL: none. Outlives it. */
    uint64_t clocks;         /* The last to compute; zero: until the site says that it is over. */
    uint32_t evaluate_every; /* Clocks; zero: never. */
    const struct run_trainer_events *events;
    void *user;
};

/* Begin. ERR_INVALID with @text if the job's tables cannot be; ERR_NOMEM. */
MUST_USE enum err run_trainer_create(const struct run_trainer_config *config,
                                     struct run_trainer **trainer_out, struct err_text *text);

/* At once: operations are given up, nobody is called. NULL is allowed. */
void run_trainer_destroy(struct run_trainer *t);

/* True while it is the owner's turn. */
bool run_trainer_is_due(const struct run_trainer *t);

/* What is due is a step; else it is an evaluation. */
bool run_trainer_steps(const struct run_trainer *t);

/* For who waits with loop/driver.h: becomes true when it is the owner's turn or all is over. */
const bool *run_trainer_attention(const struct run_trainer *t);

/* In the owner's turn, once: compute. Touches the job and memory of its own, nothing on the loop;
 * so any thread will do while others drive. The work that it stands for goes to @flops_out (an
 * estimate of the job's) and @seconds_out (asked for by the job, to be waited). */
void run_trainer_compute(struct run_trainer *t, double *flops_out, double *seconds_out);

/* After that, on the loop: go on. */
void run_trainer_computed(struct run_trainer *t);

/* Leave cleanly, as soon as it is not the owner's turn. */
void run_trainer_leave(struct run_trainer *t);

/* True if all is over; *@rc_out says how, with @text. */
bool run_trainer_result(const struct run_trainer *t, enum err *rc_out, struct err_text *text);

/* Did it end because the state that was found does not fit the site? */
bool run_trainer_is_unfit(const struct run_trainer *t);

/* What it is about now: a word for people, as "reading", "computing". */
const char *run_trainer_state(const struct run_trainer *t);

uint64_t run_trainer_clock(const struct run_trainer *t); /* Being computed; zero: not in yet. */

/* The tables as they were last read whole, for an evaluation: in the order of the job's tables, or
 * NULL if there was none. Until it goes on. */
const struct app_view *run_trainer_tables(const struct run_trainer *t, uint32_t *count_out);

/* Their schemas, as the job wants them. */
const struct table_schema *run_trainer_schema(const struct run_trainer *t, uint32_t table);

#endif
