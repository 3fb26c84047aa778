/* Which address of this machine others should be told. Loopback means another machine to everybody
 * else: it is advertised only by who listens on nothing else. */

#ifndef CLI_MEMBER_ADVERTISE_H
#define CLI_MEMBER_ADVERTISE_H

#include "net/address.h"

#include <stdbool.h>
#include <uv.h>

/* True for 127.0.0.0/8, ::1 and localhost. */
bool advertise_is_loopback(const char *host);

/* True for 0.0.0.0 and ::, which stand for all addresses. */
bool advertise_is_any(const char *host);

/* Which of the addresses others can use best: of the default route first, IPv4 before IPv6, never
 * loopback and never link-local. NULL: none of them. */
const uv_interface_address_t *advertise_best(const uv_interface_address_t *list, int count,
                                             bool ipv4_only);

/* Find what to tell others of a listener at @bound: @wanted if that is not NULL, else the host that
 * it is bound to, else the address of an interface: of the default route first, IPv4 before IPv6,
 * never link-local. ERR_INVALID with @text if @wanted cannot be used, ERR_NOT_FOUND if there is
 * nothing to tell. */
MUST_USE enum err advertise_choose(const struct net_address *bound, const char *wanted,
                                   struct net_address *out, struct err_text *text);

#endif
