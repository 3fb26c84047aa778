/* Where a peer is: "tls://host:port", "tcp://host:port", "unix:/path", "sim://host:port". An IPv6
 * address stands in brackets. A word without a scheme is tls. */

#ifndef NET_ADDRESS_H
#define NET_ADDRESS_H

#include "base/err.h"

enum net_scheme { NET_SCHEME_TCP, NET_SCHEME_TLS, NET_SCHEME_UNIX, NET_SCHEME_SIM };

enum { NET_HOST_BYTES = 256, NET_PORT_BYTES = 6, NET_ADDRESS_BYTES = 280 };

/* May be copied. */
struct net_address {
    enum net_scheme scheme;
    char host[NET_HOST_BYTES]; /* Or the path. */
    char port[NET_PORT_BYTES]; /* Decimal; empty for unix. */
};

/* ERR_INVALID with @text. */
MUST_USE enum err net_address_parse(const char *chars, struct net_address *out,
                                    struct err_text *text);

/* Write the address as it can be parsed again to @out, NET_ADDRESS_BYTES long. Returns @out. */
char *net_address_format(const struct net_address *address, char *out);

const char *net_scheme_name(enum net_scheme scheme);

#endif
