/* Settings from the command line that take the place of what a run file says: "stop.clocks=10",
 * "job.options.lr=0.1", "workers[0].count=4", "faults=[]". What is right of the first "=" is YAML,
 * as in the file. */

#ifndef RUN_FILE_SET_H
#define RUN_FILE_SET_H

#include "run/file/file.h"

/* Load a run file as run_file_load() does, with @count settings on top, in their order; errors are
 * the same, and ERR_INVALID for a setting that cannot be, with @text: "SETTING: ...". Lines in the
 * other errors are still those of the file. */
MUST_USE enum err run_set_load(const char *path, const char *const *settings, uint32_t count,
                               struct run_file **file_out, struct err_text *text);

/* The bytes of a run file with the settings in it. Adds to @out; out->failed is for the caller to
 * see. ERR_INVALID, ERR_MALFORMED, ERR_TOO_BIG, ERR_NOMEM with @text. */
MUST_USE enum err run_set_apply(const char *name, const char *bytes, size_t size,
                                const char *const *settings, uint32_t count, struct text *out,
                                struct err_text *text);

#endif
