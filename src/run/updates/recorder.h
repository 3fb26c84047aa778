/* Writes what a worker makes, before anything of it is held back: a file for each of its tables,
 * which run/updates/updates.h reads and strait codec try replays.
 *
 * Arrays (.npy) have a row for clock 1, 1 + every, 1 + 2 * every and so on, and their header is
 * right after each; where the worker made nothing, because it was not there, there are zeros. Lines
 * (.jsonl) say which clock they are of. All of a table is written, also if an update has but a few
 * of its rows. A worker that is killed and started again goes on with its files; a clock that is in
 * them stays as it is. */

#ifndef RUN_UPDATES_RECORDER_H
#define RUN_UPDATES_RECORDER_H

#include "app/app.h"

/* Bytes that the files of a run may have, unless somebody says that more is fine. */
#define RUN_RECORDING_BYTES_MAX (UINT64_C(2) << 30)

#define RUN_RECORDING_ALL UINT32_MAX /* Of all workers. */

enum { RUN_RECORDING_NAME_BYTES = APP_NAME_BYTES + 32 };

struct run_recording {
    const char *dir; /* NULL: nothing is recorded. */
    uint32_t worker; /* By its number in the run, or RUN_RECORDING_ALL. */
    uint32_t every;  /* Clocks. */
    bool lines;      /* .jsonl; else .npy. */
    bool large;      /* There is no limit. */
};

static inline bool run_recording_wants(const struct run_recording *how, uint32_t worker)
{
    return how != NULL && how->dir != NULL &&
           (how->worker == RUN_RECORDING_ALL || how->worker == worker);
}

/* The file of a table: "w3-weights.npy". */
void run_recording_name(const struct run_recording *how, uint32_t worker, const char *table,
                        char *out, size_t size);

struct run_recorder;

/* Make the files of worker @worker, or go on with them. The folder is made if need be. ERR_IO,
 * ERR_FULL, ERR_NOMEM, ERR_TOO_BIG, ERR_INVALID (another table is there) with @text. */
MUST_USE enum err run_recorder_create(const struct run_recording *how, uint32_t worker,
                                      const struct app_table *tables, uint32_t count,
                                      struct run_recorder **out, struct err_text *text);
void run_recorder_destroy(struct run_recorder *r); /* NULL is allowed. */

/* Write the updates of a clock, if it is one to be written. After an error (ERR_IO, ERR_FULL,
 * ERR_TOO_BIG with @text) nothing more is written. */
MUST_USE enum err run_recorder_write(struct run_recorder *r, uint64_t clock,
                                     const struct app_view *views, struct err_text *text);

#endif
