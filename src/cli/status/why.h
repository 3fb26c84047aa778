/* Who waits for whom, and for what: sentences from what the lanes of a site say of themselves.
 * Pure: a report of cli/status/status.h in, reasons out. */

#ifndef CLI_STATUS_WHY_H
#define CLI_STATUS_WHY_H

#include "base/text.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* An array of reasons, the most important first, each an object with a "kind", a "text" for people
 * and what the kind has beside: lanes, clock, workers. Empty: nobody waits. NULL: no memory. The
 * caller releases it.
 *
 *     unreachable       a lane cannot be reached
 *     servers_missing   lanes of other servers are not known yet
 *     restoring         a lane was restarted and waits for its workers to come back
 *     store_fails       a lane cannot write checkpoints
 *     workers_missing   not enough workers have joined to begin
 *     no_workers        all have left
 *     clock             a clock waits for some workers
 *     worker_away       a worker's connection is down
 *     worker_behind     a worker has not got all that it needs */
json_t *why_reasons(const json_t *report);

/* One line about the site: its clock, its workers, its lanes, what they do. */
void why_headline(const json_t *report, struct text *out);

/* When there are no reasons: what goes on instead. */
void why_nobody(const json_t *report, struct text *out);

/* What is wrong though nobody waits for it: elements that kept their values. False: nothing. */
bool why_overflowed(const json_t *report, struct text *out);

/* A number of a report; zero if it is absent, and within limits that nobody reaches honestly: it
 * may be counted with. */
#define WHY_NUMBER_MAX (INT64_C(1) << 53)
int64_t why_number(const json_t *object, const char *key);

#endif
