#include "net/session/flood.h"

#include "base/limits.h"

static const struct {
    const char *name;
    uint32_t rate;
    uint32_t burst;
} flood_limits[NET_FLOOD_KINDS] = {
    [NET_FLOOD_HEARTBEATS] = {"heartbeats", LIMIT_HEARTBEAT_RATE_PER_S, LIMIT_HEARTBEAT_BURST},
    [NET_FLOOD_PROBES] = {"probes", LIMIT_PROBE_RATE_PER_S, LIMIT_PROBE_BURST},
    [NET_FLOOD_ACKS] = {"acknowledgements", LIMIT_ACK_RATE_PER_S, LIMIT_ACK_BURST},
    [NET_FLOOD_OPERATIONS] = {"operations", LIMIT_OPERATION_RATE_PER_S, LIMIT_OPERATION_BURST},
    [NET_FLOOD_SITES] = {"messages of a server", LIMIT_SITE_RATE_PER_S, LIMIT_SITE_BURST},
};

enum net_flood_kind net_flood_kind(uint8_t type, uint32_t role)
{
    switch (type) {
    case WIRE_HEARTBEAT:
        return NET_FLOOD_HEARTBEATS;
    case WIRE_PROBE:
    case WIRE_PROBE_REPORT:
        return NET_FLOOD_PROBES;
    case WIRE_ACK:
        return NET_FLOOD_ACKS;
    case WIRE_CONTROL:
        return role == WIRE_ROLE_SERVER ? NET_FLOOD_SITES : NET_FLOOD_OPERATIONS;
    case WIRE_FEED:
    case WIRE_WANT:
        return NET_FLOOD_OPERATIONS;
    case WIRE_REPORT:
    case WIRE_BARRIER:
    case WIRE_NOTE:
        return NET_FLOOD_SITES;
    default:
        return NET_FLOOD_KINDS;
    }
}

const char *net_flood_name(enum net_flood_kind kind)
{
    return flood_limits[kind].name;
}

uint32_t net_flood_rate(enum net_flood_kind kind)
{
    return flood_limits[kind].rate;
}

uint32_t net_flood_burst(enum net_flood_kind kind)
{
    return flood_limits[kind].burst;
}

void net_flood_sent(struct net_flood *f)
{
    f->answers += f->answers < LIMIT_WINDOW_FRAMES;
}

bool net_flood_take(struct net_flood *f, enum net_flood_kind kind, int64_t now_ns)
{
    int64_t each_ns, from_ns;

    if (kind == NET_FLOOD_KINDS) {
        f->data += f->data < LIMIT_WINDOW_FRAMES;
        return true;
    }
    if (kind == NET_FLOOD_OPERATIONS && f->data > 0) {
        f->data--;
        return true;
    }
    if (kind == NET_FLOOD_ACKS && f->answers > 0) {
        f->answers--;
        return true;
    }
    each_ns = 1000000000 / net_flood_rate(kind);
    from_ns = f->empty_ns[kind] > now_ns ? f->empty_ns[kind] : now_ns;
    if (from_ns - now_ns > each_ns * (net_flood_burst(kind) - 1)) {
        return false;
    }
    f->empty_ns[kind] = from_ns + each_ns;
    return true;
}
