/* Other people's traffic as real connections: flows to other fillers that always have bytes to
 * send, and an end for those that come from them. Flows are of a kind, and so are the bytes that
 * were received, which are all that counts: what was sent and never came is nobody's.
 *
 * A flow whose connection cannot be made, or breaks, is dialled again until it is ended: the other
 * end may come later. One loop, one thread. */

#ifndef EMU_TRAFFIC_FILLER_H
#define EMU_TRAFFIC_FILLER_H

#include "emu/traffic/filler_order.h"
#include "loop/loop.h"
#include "net/stream/stream.h"

enum { FILLER_FLOWS_MAX = 65536 }; /* That begin here; as many may come. */

struct filler;

struct filler_config {
    struct loop *loop;
    struct net_transport *transport; /* Outlives it. */
    struct net_address at;
};

/* Listen. ERR_NOMEM, or what the transport says, with @text. */
MUST_USE enum err filler_create(const struct filler_config *config, struct filler **filler_out,
                                struct err_text *text);

/* All connections are reset. NULL is allowed. */
void filler_destroy(struct filler *f);

/* Where it listens, with the real port. */
const struct net_address *filler_address(const struct filler *f);

/* A flow more, or the end of all of a kind. ERR_NOMEM, ERR_TOO_BIG. */
MUST_USE enum err filler_do(struct filler *f, const struct filler_order *order);

/* Flows of all kinds that began here and have not been ended. */
uint32_t filler_flows(const struct filler *f);

/* Bytes of a kind that came from others. */
uint64_t filler_received(const struct filler *f, uint32_t kind);

#endif
