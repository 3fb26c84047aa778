/* Detours: who wants to reach one address dials another one, as where ports are forwarded, or a
 * link between two places is emulated. A text, one a line:
 *
 *     FROM TO        tcp://10.0.0.7:7400 tcp://127.0.0.1:9001      # a comment
 *
 * Only the dialling changes: what members say of their addresses, and whom they expect there, stays
 * as it is. */

#ifndef NET_DETOUR_H
#define NET_DETOUR_H

#include "net/address.h"

#include <stddef.h>
#include <stdint.h>

enum { NET_DETOURS_MAX = 4096, NET_DETOURS_BYTES_MAX = 1 << 20 };

struct net_detours;

/* Read the @size bytes of a text called @name. ERR_MALFORMED, ERR_TOO_BIG or ERR_NOMEM with @text:
 * "NAME:LINE: " and what is wrong. The caller releases the result. */
MUST_USE enum err net_detours_parse(const char *name, const char *bytes, size_t size,
                                    struct net_detours **detours_out, struct err_text *text);

/* NULL is allowed. */
void net_detours_free(struct net_detours *d);

uint32_t net_detours_count(const struct net_detours *d);

/* Where to dial instead of @to; @to itself if there is no detour. NULL @d: there is none. */
const struct net_address *net_detours_find(const struct net_detours *d,
                                           const struct net_address *to);

#endif
