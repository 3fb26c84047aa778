/* The record of a run: a folder of files that anybody can read. docs/RECORD.md says what is in
 * them; run/record/reading.h reads them again.
 *
 *     run.yaml  env.json  events.jsonl  scalars.csv  links.csv  summary.json
 *
 * What cannot be written does not stop the run: the first such error is told at the end. Lines that
 * a full disk does not take are kept, and written when it has space again. */

#ifndef RUN_RECORD_RECORD_H
#define RUN_RECORD_RECORD_H

#include "run/backend.h"

enum { RUN_RECORD_SCHEMA = 1 };

struct run_record;

struct run_record_config {
    const char *dir; /* Made, with the folders above it, if it is not there. */
    const struct run_file *file;
    const char *backend; /* "sim", "local" */
    const char *command; /* As it was typed. */
    int64_t started_us;  /* UTC. */
};

/* Make a folder, and those above it. ERR_IO, ERR_FULL, ERR_INVALID with @text. */
MUST_USE enum err run_folder_make(const char *dir, struct err_text *text);

/* Write a file of a folder. It appears whole or not at all, whenever
 * somebody pulls the plug. ERR_IO, ERR_FULL, ERR_INVALID with @text. */
MUST_USE enum err run_folder_put(const char *dir, const char *name, const char *chars, size_t size,
                                 struct err_text *text);

/* ERR_EXISTS if the folder holds a record; ERR_IO, ERR_FULL, ERR_NOMEM; with @text. */
MUST_USE enum err run_record_create(const struct run_record_config *config,
                                    struct run_record **record_out, struct err_text *text);

const char *run_record_dir(const struct run_record *r);

void run_record_row(struct run_record *r, const struct run_row *row,
                    const struct run_traffic *traffic);
void run_record_event(struct run_record *r, int64_t now_ns, const char *kind, const char *who,
                      const char *text);

bool run_record_waits(const struct run_record *r); /* The disk is full: lines are kept. */

/* The whole run as an object, as in summary.json; the caller owns it. NULL: no memory. */
struct json_t *run_summary(const struct run_picture *picture, const char *backend,
                           const struct run_result *result);

/* Write the summary (which stays the caller's; may be NULL) and the last state of the links, and
 * close all. The first error of all that was written, with @text. */
MUST_USE enum err run_record_finish(struct run_record *r, const struct json_t *summary,
                                    const struct run_picture *last, struct err_text *text);

/* Without finishing, if that was not done. NULL is allowed. */
void run_record_destroy(struct run_record *r);

#endif
