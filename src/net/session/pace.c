/* A limit for what a session sends, shared out to its streams: the carrier keeps it (the kernel, or
 * the simulated link), so that nothing has to be counted here. */

#include "base/log.h"
#include "net/session/peer_state.h"

/* The stream's part: the parts add up, but none is zero, which would mean no limit. */
static uint64_t net_pace_part(const struct net_peer *p, uint16_t index, uint64_t bytes_per_s)
{
    uint64_t part = bytes_per_s / p->streams + (index < bytes_per_s % p->streams ? 1 : 0);

    return bytes_per_s > 0 && part == 0 ? 1 : part;
}

void net_slot_pace(struct net_slot *slot)
{
    struct net_peer *p = slot->peer;
    uint64_t part = net_pace_part(p, slot->index, p->pace_bytes_per_s);

    if (p->paced && net_conn_pace(slot->conn, part) == ERR_INVALID) {
        LOG_WRN("net", "%s/%s: its carrier cannot be paced; it gets all there is", p->identity.site,
                p->identity.name);
    }
}

enum err net_peer_pace(struct net_peer *p, uint64_t bytes_per_s)
{
    for (uint16_t i = 0; i < p->streams; i++) {
        uint64_t part = net_pace_part(p, i, bytes_per_s);

        /* A stream that is just ending takes no limit; the next one in its slot will. */
        if (p->slots[i].live && net_conn_pace(p->slots[i].conn, part) == ERR_INVALID) {
            return ERR_INVALID;
        }
    }
    p->pace_bytes_per_s = bytes_per_s;
    p->paced = true;
    return OK;
}
