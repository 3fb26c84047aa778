/* Looks at running sites: asks their lanes now and then how they are, as an operator. On the
 * owner's loop, in the clear, on this machine only. */

#ifndef RUN_WATCH_H
#define RUN_WATCH_H

#include "loop/loop.h"
#include "net/address.h"

struct run_watch;
struct json_t;

/* Ask all lanes that often. @seen gets each answer, which stays the watch's, with the lane's place
 * in @lanes. */
MUST_USE enum err run_watch_create(struct loop *loop, const struct net_address *lanes,
                                   uint32_t count, int64_t every_ns,
                                   void (*seen)(uint32_t lane, const struct json_t *status,
                                                void *user),
                                   void *user, struct run_watch **watch_out);

/* Ask now, and that often from now on. */
void run_watch_every(struct run_watch *w, int64_t every_ns);

/* Not from inside seen(). NULL is allowed. */
void run_watch_destroy(struct run_watch *w);

#endif
