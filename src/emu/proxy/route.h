/* Where a link takes connections, and where it carries them to.
 *
 *     [there:|back:]LISTEN=TARGET         127.0.0.1:0=127.0.0.1:7400
 *
 * Both are host:port. Who connects to LISTEN stands at the near end (there) or at the far end
 * (back) of the link. Port 0 of LISTEN is chosen by the system. */

#ifndef EMU_PROXY_ROUTE_H
#define EMU_PROXY_ROUTE_H

#include "net/address.h"

#include <stdint.h>

enum { EMU_ROUTES_MAX = 4096 };

struct emu_route {
    uint32_t way; /* In which direction its clients send: EMU_THERE or EMU_BACK. */
    struct net_address listen;
    struct net_address target;
};

/* Zeroed: none. Others may read. */
struct emu_routes {
    struct emu_route *list;
    uint32_t count;
    uint32_t room;
};

/* ERR_MALFORMED with @text, ERR_TOO_BIG, ERR_NOMEM. */
MUST_USE enum err emu_routes_add(struct emu_routes *r, const char *route, struct err_text *text);

/* One a line; empty lines, and what stands behind a #, are left out. @name is that of the file, for
 * @text. */
MUST_USE enum err emu_routes_add_lines(struct emu_routes *r, const char *name, const char *chars,
                                       size_t size, struct err_text *text);

void emu_routes_deinit(struct emu_routes *r);

#endif
