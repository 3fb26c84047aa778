/* Recorded updates of a whole run: which files there will be and how large, and what stands beside
 * them (updates.json). */

#ifndef RUN_UPDATES_RECORDING_H
#define RUN_UPDATES_RECORDING_H

#include "run/file/file.h"
#include "run/updates/recorder.h"

/* What it will be. */
struct run_recording_plan {
    uint32_t workers;
    uint32_t tables;
    uint64_t clocks; /* To be written; zero: nobody knows how many. */
    uint64_t bytes;  /* Of all files; without .clocks for one clock. Of lines about. */
};

/* Make the folder, in which no updates may be, and write what stands beside them. ERR_EXISTS;
 * ERR_TOO_BIG: larger than RUN_RECORDING_BYTES_MAX, and *@plan_out says how large; ERR_IO,
 * ERR_FULL, ERR_NOMEM, and what is wrong with the job; with @text. */
MUST_USE enum err run_recording_begin(const struct run_recording *how, const struct run_file *f,
                                      struct run_recording_plan *plan_out, struct err_text *text);

/* After the run: say how many clocks are in each file. As above. */
MUST_USE enum err run_recording_end(const struct run_recording *how, struct err_text *text);

#endif
