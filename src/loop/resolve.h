/* Host names to addresses, without blocking the loop. Real loops only. */

#ifndef LOOP_RESOLVE_H
#define LOOP_RESOLVE_H

#include "loop/loop.h"

struct addrinfo;
struct loop_resolve;

/* @done is called once, from the loop, unless cancelled: on OK with a list that is valid for the
 * call. */
MUST_USE enum err loop_resolve_start(struct loop *loop, const char *host, const char *port,
                                     void (*done)(enum err rc, const struct addrinfo *list,
                                                  void *user),
                                     void *user, struct loop_resolve **resolve_out);

/* @done will not be called. */
void loop_resolve_cancel(struct loop_resolve *resolve);

#endif
