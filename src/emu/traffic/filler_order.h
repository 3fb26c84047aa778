/* What a filler (emu/traffic/filler.h) is told, a line of words each. Pure.
 *
 *     begin KIND RATE ADDRESS     a flow more of that kind, at most so many bytes per second (0:
 *                                 as fast as it can)
 *     end KIND                    no more flows of that kind */

#ifndef EMU_TRAFFIC_FILLER_ORDER_H
#define EMU_TRAFFIC_FILLER_ORDER_H

#include "net/address.h"

#include <stdbool.h>
#include <stdint.h>

enum { FILLER_KINDS_MAX = 16, FILLER_ORDER_BYTES_MAX = NET_ADDRESS_BYTES + 64 };

#define FILLER_RATE_MAX (UINT64_C(1) << 38) /* Bytes per second. */

struct filler_order {
    bool begin;
    uint32_t kind;
    uint64_t bytes_per_s;
    struct net_address to;
};

/* Read a line of @size bytes, without its end. ERR_MALFORMED with @text. */
MUST_USE enum err filler_order_parse(const char *line, size_t size, struct filler_order *out,
                                     struct err_text *text);

#endif
