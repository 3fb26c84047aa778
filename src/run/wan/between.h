/* What each site of a run is told of the others (node/site/between.h): the choices of the file,
 * where the others are, and its part of the budget. */

#ifndef RUN_WAN_BETWEEN_H
#define RUN_WAN_BETWEEN_H

#include "node/site/between.h"
#include "run/file/file.h"

struct run_betweens;

/* Where the first lane of a site is. */
typedef void run_between_place(const struct run_file *f, uint32_t site, struct net_address *out,
                               void *user);

/* ERR_NOMEM; ERR_INVALID with @text if something does not go together. The file outlives it. */
MUST_USE enum err run_betweens_create(const struct run_file *f, run_between_place *place,
                                      void *user, struct run_betweens **out, struct err_text *text);

/* NULL is allowed. */
void run_betweens_destroy(struct run_betweens *b);

/* Of a site of the file; NULL: there is only one. */
const struct node_between *run_between_at(const struct run_betweens *b, uint32_t site);

/* How much each lane of a site may send in all: its site's part of what the file allows, by the
 * dearest of the site's links if dollars are limited, whichever is less; in the model, which may be
 * smaller than what the budget is for. Zero: there is no limit. */
uint64_t run_between_budget(const struct run_file *f, uint32_t site);

/* What a site is told of rounds around a centre (between_central.c); @links have room for all of
 * the file's. By how much this run's rates differ from those of plans. */
void run_between_central(const struct run_file *f, uint32_t site, struct site_link *links,
                         struct node_between *out);
double run_between_factor(const struct run_file *f);

#endif
