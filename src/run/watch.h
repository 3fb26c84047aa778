/* Looks at a running site: asks lane 0 now and then how it is, as an operator. On the owner's loop,
 * in the clear, on this machine only. */

#ifndef RUN_WATCH_H
#define RUN_WATCH_H

#include "loop/loop.h"
#include "net/address.h"

struct run_watch;
struct json_t;

/* @seen gets each answer, which stays the watch's. */
MUST_USE enum err run_watch_create(struct loop *loop, const struct net_address *lane,
                                   int64_t every_ns,
                                   void (*seen)(const struct json_t *status, void *user),
                                   void *user, struct run_watch **watch_out);

/* Not from inside seen(). NULL is allowed. */
void run_watch_destroy(struct run_watch *w);

#endif
