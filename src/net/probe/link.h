/* What is known of the way to a peer without asking anybody: how fast its traffic was delivered
 * lately, or what the last probe found. Costs nothing on the way. */

#ifndef NET_PROBE_LINK_H
#define NET_PROBE_LINK_H

#include "net/session/endpoint.h"

enum net_link_kind {
    NET_LINK_TRAFFIC, /* Delivery rate of real traffic. */
    NET_LINK_PROBE,   /* The last probe that was successful. */
};

/* Bytes per second, all streams of the session together for traffic. .at_least: the traffic was
 * less than the link could carry, or the probe did not reach its limit. */
struct net_link_estimate {
    enum net_link_kind kind;
    uint64_t low;
    uint64_t high;
    bool at_least;
    int64_t age_ns;
    int64_t rtt_ns; /* Zero: not known. */
};

/* The best there is, in this order: traffic of the last ten seconds that had to wait for the link;
 * the last probe; traffic of the last ten seconds that did not fill the link. A tenth of a second
 * and a chunk acknowledged without a pause are the least that counts. ERR_NOT_FOUND: nothing is
 * known. */
MUST_USE enum err net_link_estimate(struct net_peer *peer, struct net_link_estimate *out);

/* How the first live stream of a session is carried. */
struct net_link_carrier {
    uint8_t wire_version;
    const char *tls_version; /* "TLSv1.3"; NULL: not encrypted. Static text. */
    const char *tls_cipher;
    struct net_stream_info info;
};

/* ERR_CLOSED: there is no stream. */
MUST_USE enum err net_link_carrier(struct net_peer *peer, struct net_link_carrier *out);

#endif
