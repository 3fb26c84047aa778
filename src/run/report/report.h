/* The page of a run, report.html: what its record (run/record/reading.h) says, for people, with
 * pictures. Everything that a picture shows is in a table of the record, which is named below it.
 */

#ifndef RUN_REPORT_REPORT_H
#define RUN_REPORT_REPORT_H

#include "run/record/reading.h"

/* Add the page to @out. Pure. ERR_NOMEM; whether it fit is for the caller to see: out->failed;
 * RUN_PAGE_BYTES_MAX always do. */
MUST_USE enum err run_report_print(const struct run_reading *r, struct text *out);

/* Write the page of the record in a folder into it, or over the one that is there. Errors as those
 * of run_reading_load() and run_folder_put(). */
MUST_USE enum err run_report_keep(const char *dir, struct err_text *text);

#endif
