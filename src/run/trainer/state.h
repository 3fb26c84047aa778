/* What a trainer consists of. Private to src/run/trainer*.c. */

#ifndef RUN_TRAINER_STATE_H
#define RUN_TRAINER_STATE_H

#include "run/trainer/trainer.h"

#define TRAINER_RETRY_NS INT64_C(20000000)

enum { TRAINER_STARVED_MAX = 250 }; /* Tries: five seconds. */

enum trainer_state {
    TRAINER_OPENING, /* Tables, one after the other: ids are given in the order of making. */
    TRAINER_JOINING,
    TRAINER_READING,   /* What the step needs; the report of the last clock may be under way. */
    TRAINER_STEPPING,  /* The owner's turn. */
    TRAINER_SAVING,    /* What the job keeps of its own, before anybody hears of the step. */
    TRAINER_SENDING,   /* Dense tables go out whole, rows are collected. */
    TRAINER_ENDING,    /* The end of the clock, and the barrier. */
    TRAINER_SURVEYING, /* All tables whole, for an evaluation. */
    TRAINER_JUDGING,   /* The owner's turn. */
    TRAINER_LEAVING,
    TRAINER_ENDED,
};

struct trainer_table {
    struct app_table is;
    struct table_schema schema;
    uint16_t id;
    float *values; /* What the step sees, and what it writes. */
    float *update;
    size_t capacity; /* Elements of both. */
    uint32_t *rows;  /* Those that it sees, if not all. */
    uint32_t rows_capacity;
    float *whole; /* For evaluations: all of it; of dense tables the same as .values. */
};

struct run_trainer {
    struct run_trainer_config config;
    enum trainer_state state;
    uint32_t tables_count;
    struct trainer_table tables[APP_TABLES_MAX];
    struct app_view views[APP_TABLES_MAX];
    struct node_op ops[APP_TABLES_MAX];
    uint32_t under_way;
    uint32_t cursor;      /* Tables opened or sent so far. */
    uint32_t chunk;       /* Of the table at the cursor, once it has to go piece by piece. */
    bool pieces;          /* Its push failed in the middle. */
    bool retry;           /* The timer is to do the same again. */
    uint32_t starved;     /* Tries in a row that found no memory. */
    bool leave;           /* Asked for. */
    bool computed;        /* The owner has computed. */
    bool surveyed;        /* The whole tables are there. */
    bool attention;       /* The owner's turn, or over. */
    enum err rc;          /* Of the owner's turn; in the end of all. */
    struct err_text text; /* When ended. */
    uint64_t clock;
    uint64_t evaluated; /* The last clock that was judged. */
    uint64_t rebases;   /* When the clock began. */
    struct run_clock now;
    struct app_step step;
    struct run_evaluation judged;
    int64_t since_ns;                       /* When the present part of the clock began. */
    struct node_sparsify_totals sparsified; /* When the clock before it ended. */
    struct node_op report;
    struct node_report reporting; /* Under way ... */
    bool report_busy;
    struct node_report due; /* ... and the next one. */
    bool report_due;
    uint32_t state_every;
    uint64_t saved;   /* Clock of the last save of this life; zero: none. */
    bool save_failed; /* The last one did, and that was told. */
    enum err unfit;   /* The state that was found does not fit the site: leave, and say so. */
    struct err_text unfit_text;
    struct run_recorder *recorder; /* NULL: nothing is recorded. */
    struct err_text record_text;   /* Why no more is, to be told. */
    uint64_t stop;                 /* The clock after which it is over; zero: not known. */
    struct loop_timer timer;
};

/* trainer.c: go on with @state; all that was under way is done; the end; the same again in a
 * moment, because there was no room or no memory. */
void run_trainer_enter(struct run_trainer *t, enum trainer_state state);
void run_trainer_went(struct run_trainer *t);
void run_trainer_end(struct run_trainer *t, enum err rc, const char *text);
void run_trainer_again(struct run_trainer *t);
/* There was no memory: the same again in a moment, and after some seconds the end. */
void run_trainer_starved(struct run_trainer *t);

/* An operation that counts as under way until it is done. */
struct node_op *run_trainer_op(struct run_trainer *t, uint32_t index);

/* trainer/data.c: what the job sees and writes. */
MUST_USE enum err run_trainer_schemas(struct run_trainer *t, struct err_text *text);
void run_trainer_free_tables(struct run_trainer *t);
MUST_USE enum err run_trainer_open_recorder(struct run_trainer *t, struct err_text *text);
void run_trainer_record(struct run_trainer *t); /* What the step wrote. */
void run_trainer_weigh(struct run_trainer *t);  /* How much what the step wrote changes. */
void run_trainer_read(struct run_trainer *t);   /* What the step needs. */
void run_trainer_survey(struct run_trainer *t); /* All of every table, for an evaluation. */
void run_trainer_send(struct run_trainer *t);   /* One table after the other. */
void run_trainer_sent(struct run_trainer *t);   /* One of them is done. */

/* trainer/report.c: tell lane 0 how it goes, and hear when it is over. */
void run_trainer_report(struct run_trainer *t);       /* What is due, if it can be sent. */
void run_trainer_report_clock(struct run_trainer *t); /* Prepare it: the clock that ended, */
void run_trainer_report_score(struct run_trainer *t); /* and what it was judged. */
bool run_trainer_may_step(const struct run_trainer *t);

#endif
