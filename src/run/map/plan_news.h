/* Plans of rounds around a centre as events of a run: by what lanes say of themselves. */

#ifndef RUN_MAP_PLAN_NEWS_H
#define RUN_MAP_PLAN_NEWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_t;

enum { RUN_PLAN_NEWS_BYTES = 384 };

/* Why there is another plan, as "because the link a - b is down"; empty: it is the first, or nobody
 * knows. @central is "central" of a lane's "between". */
void run_plan_why(const struct json_t *central, char *out, size_t size);

/* Does a lane follow a later plan than @epoch, one that has begun? Then @epoch is that, and @out
 * says "plan 7: centre oregon, because ...". */
bool run_plan_news(const struct json_t *between, uint32_t *epoch, char *out, size_t size);

#endif
