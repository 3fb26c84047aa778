/* The record of a run (run/record/record.h), read whole. docs/RECORD.md says what is in it.
 *
 * Nothing of a record is believed unseen: it may have been cut off, or be somebody else's. A last
 * line that was cut off, as a kill leaves it, is left out and named; whatever else is damaged is an
 * error: "FILE:LINE: what: what to do". A record without summary.json is one of a run that has not
 * come to its end. Columns and keys that are not known here are left alone. */

#ifndef RUN_RECORD_READING_H
#define RUN_RECORD_READING_H

#include "run/backend.h"
#include "run/record/outcome.h"

enum {
    RUN_READING_WORD_BYTES = 128,
    RUN_READING_COMMAND_BYTES = 1024,
    RUN_READING_PATH_BYTES = 4096,
    RUN_READING_JSON_BYTES_MAX = 16 << 20,
    RUN_READING_TABLE_BYTES_MAX = 256 << 20,
    RUN_READING_EVENTS_BYTES_MAX = 64 << 20,
    RUN_READING_COLUMNS_MAX = 64,
    RUN_READING_TORN_MAX = 3,
};

/* The bytes of a file, and what it is called where it is complained of. */
struct run_reading_bytes {
    const char *name;
    const char *chars;
    size_t size;
};

/* Tables (reading_table.c). */

/* A row of scalars.csv. What is empty, or a column that is not there, is NaN. */
struct run_reading_row {
    uint64_t clock;
    double time_s;
    uint64_t workers;
    uint64_t rebased;
    double samples;
    double loss;
    double objective;
    double accuracy;
    double read_s;
    double compute_s;
    double end_s;
    double wan_bytes;
    double wan_usd;
};

/* Show the rows to @see in their order; clocks rise. What @see does not return NULL for is an
 * error, with its words. @torn_out is the number of the last line if that was cut off, else zero.
 * ERR_MALFORMED with @text: "NAME:LINE: ...". */
MUST_USE enum err run_reading_rows(const struct run_reading_bytes *in,
                                   const char *(*see)(const struct run_reading_row *row,
                                                      void *user),
                                   void *user, uint32_t *torn_out, struct err_text *text);

/* The newest rows in a file of which @head is the beginning and @tail the end, which may begin
 * within a row; what is damaged is passed over. */
void run_reading_peek(const struct run_reading_bytes *head, const struct run_reading_bytes *tail,
                      void (*see)(const struct run_reading_row *row, void *user), void *user);

/* A row of links.csv. */
struct run_reading_link {
    double time_s;
    char from[TOPO_NAME_BYTES];
    char to[TOPO_NAME_BYTES];
    uint64_t bytes;
    double usd; /* NaN: the link has no price. */
};

/* As run_reading_rows(). */
MUST_USE enum err run_reading_links(const struct run_reading_bytes *in,
                                    const char *(*see)(const struct run_reading_link *link,
                                                       void *user),
                                    void *user, uint32_t *torn_out, struct err_text *text);

/* JSON (reading_json.c). */

/* A line of events.jsonl. */
struct run_reading_event {
    double time_s;
    const char *kind;
    const char *who;  /* Empty: nobody in particular. */
    const char *text; /* May be empty. */
};

/* As run_reading_rows(); the event is gone when @see returns. */
MUST_USE enum err run_reading_events(const struct run_reading_bytes *in,
                                     const char *(*see)(const struct run_reading_event *event,
                                                        void *user),
                                     void *user, uint32_t *torn_out, struct err_text *text);

/* env.json; texts that are not there are empty. */
struct run_reading_env {
    char strait[RUN_READING_WORD_BYTES];
    char compiler[RUN_READING_WORD_BYTES];
    char backend[RUN_READING_WORD_BYTES];
    char command[RUN_READING_COMMAND_BYTES];
    char started[RUN_READING_WORD_BYTES];
    char cpu[RUN_READING_WORD_BYTES];
    char architecture[RUN_READING_WORD_BYTES];
    char system[RUN_READING_WORD_BYTES];
    char kernel[RUN_READING_WORD_BYTES];
    uint64_t cores; /* Zero: not known, as with the next. */
    uint64_t memory_bytes;
};

MUST_USE enum err run_reading_env(const struct run_reading_bytes *in, struct run_reading_env *out,
                                  struct err_text *text);

/* Any JSON object of a record, after its schema was seen; the caller releases it. */
MUST_USE enum err run_reading_json(const struct run_reading_bytes *in, struct json_t **object_out,
                                   struct err_text *text);

/* What summary.json says of a site. */
struct run_reading_site {
    char name[RUN_READING_WORD_BYTES];
    char region[RUN_READING_WORD_BYTES]; /* Empty: it may be in several. */
    uint64_t workers;
    double compute_s; /* Sums over its workers. */
    double read_s;
    double end_s;
    double compute_usd; /* NaN: a price is missing. */
    double waiting_usd;
    double transfer_usd;
    double total_usd;
    bool shared; /* It is not the only one, and the rest is known. */
    double insignificant;
    double waited_clock_s;
    double waited_barrier_s;
    double waited_fresh_s;
    double waited_room_s;
    bool around; /* It went around a centre: */
    uint64_t sums_sent;
    uint64_t sums_taken;
    uint64_t wholes_taken;
    uint64_t carried;
    uint64_t plans;
    uint64_t passed_bytes;
};

/* The whole (reading.c). */

struct run_reading {
    struct run_reading_env env;
    struct run_file *file;
    bool finished;
    struct run_outcome outcome; /* If it is finished, as the sites. */
    struct run_reading_site *sites;
    uint32_t sites_count;
    double predicted_s; /* What the simulator says of it; NaN: not known. */
    bool invalid;       /* Its network was not what it should have been. */
    struct run_reading_row *rows;
    uint32_t rows_count;
    struct run_reading_event *events;
    uint32_t events_count;
    struct run_traffic traffic; /* The last of links.csv. */
    double *usd;                /* [from * regions + to]; NaN: no price. */
    double last_s;              /* The newest time in it; of a finished one its end. */
    struct err_text torn[RUN_READING_TORN_MAX]; /* Last lines that were left out, as sentences. */
    uint32_t torn_count;
    char *words; /* Of the events. */
};

/* Read the record in a folder. ERR_NOT_FOUND: there is none; ERR_IO, ERR_TOO_BIG, ERR_NOMEM;
 * ERR_MALFORMED; ERR_VERSION: it is of another schema; with @text. */
MUST_USE enum err run_reading_load(const char *dir, struct run_reading **reading_out,
                                   struct err_text *text);

/* NULL is allowed. */
void run_reading_free(struct run_reading *r);

/* A file of the folder whole, into @out, which the caller releases; its path is in @path, which
 * has RUN_READING_PATH_BYTES. ERR_NOT_FOUND and others with @text. */
MUST_USE enum err run_reading_file(const char *dir, const char *file, size_t bytes_max, char *path,
                                   struct text *out, struct err_text *text);

/* The rows of scalars.csv alone; the caller releases them with mem_free(). Errors as above. */
MUST_USE enum err run_reading_rows_load(const char *dir, struct run_reading_row **rows_out,
                                        uint32_t *count_out, struct err_text *text);

/* The objective if the run was evaluated, else the loss: where it was, aligned by what can be
 * measured. */
struct run_reading_point {
    uint64_t clock;
    double time_s;
    double wan_bytes; /* NaN: the record does not say. */
    double wan_usd;
    double value;
};

struct run_reading_curve {
    struct run_reading_point *points;
    uint32_t count;
    bool loss; /* There was no evaluation. */
};

/* ERR_NOMEM. The caller releases .points with mem_free(). */
MUST_USE enum err run_reading_curve(const struct run_reading_row *rows, uint32_t count,
                                    struct run_reading_curve *out);

/* Where the curve is as good as @goal for the first time, on the straight line between two points;
 * all NaN and clock zero if it never is. */
struct run_reading_reach {
    double clock;
    double time_s;
    double wan_bytes;
    double wan_usd;
};

void run_reading_reach(const struct run_reading_point *points, uint32_t count, bool rising,
                       double goal, struct run_reading_reach *out);

#endif
