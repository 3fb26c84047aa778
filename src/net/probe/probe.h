/* How much bandwidth is free towards a peer: trains of probe frames over its session, judged by the
 * search of net/probe/slops.h.
 *
 *     prober                                      peer
 *       |-- 5 x one small probe -> <- report --|    round trip
 *       |-- train: count frames, spaced ------>|    notes when each arrived
 *       |<------------------- report ----------|    after the last one
 *       |   silence, then the next train       |
 *
 * Every endpoint answers the probes of its peers by itself. Probes go over the first live stream of
 * the session, unnumbered: they are never sent again.
 *
 * What the answer means over TCP and TLS. The rate is that of whole frames, headers of ours
 * included and those of TCP, IP and TLS (3 to 6 %) not: it compares with what data frames will get.
 * Frames of 1400 to 8192 bytes are several packets that the kernels on the way may join: what is
 * judged is when whole frames arrive, over groups of about ten. Nothing gets lost in a stream, it
 * only comes later, which the search sees as delay. A bucket that lets bursts through, as in
 * shapers, adds its part of a train: 10 % if it holds 80 KiB.
 *
 * A train of at most 100 x 8 KiB fits the usual buffers, but the stream's congestion window may be
 * smaller at first, above all on long links: a train that is held back on our side is sent again at
 * once, while each time less of it is held back. What remains is what one stream can carry now:
 * less than is free on long fat links. Measured behind an emulated link, with BBR: right up to 200
 * Mbit/s at 50 ms of round trip, but 116 of 200 at 150 ms and 133 of 500 at 100 ms; with cubic 484
 * of 500 at 100 ms, but 51 of 100 at 150 ms where the queue was short and dropped packets. .held
 * says that trains were held back: several streams may carry more.
 *
 * Probes give way to data: a probe does not start, and ends with ERR_AGAIN, while data of ours is
 * not acknowledged. Such traffic is the better measure anyway: net/probe/link.h. */

#ifndef NET_PROBE_PROBE_H
#define NET_PROBE_PROBE_H

#include "net/session/endpoint.h"

enum {
    NET_PROBE_FRAME_BYTES = 8192, /* The largest frame; with the count it bounds a train. */
    NET_PROBE_COUNT = 100,        /* Frames of a train. */
    NET_PROBE_PINGS = 5,
    NET_PROBE_REPEATS_MAX = 32, /* Trains of one measurement that are sent again. */

    /* What a peer can make us do: note arrivals and send a report of 1 KiB, so many times a minute.
     * Two whole measurements with all repeats take 122 trains; whoever wants more does not measure.
     * At 800 KiB a train that is 1.7 MB/s of probes: more are received, since they are in the
     * stream, but not answered. */
    NET_PROBE_ANSWERS_PER_MINUTE = 128,
};

/* Bytes per second. Zero: 1 Mbit/s, and what frames of that size can reach (1.3 Gbit/s). */
struct net_probe_config {
    uint64_t rate_min;
    uint64_t rate_max;
};

/* Between .low and .high bytes per second are free; .at_least: .low or more. */
struct net_probe_result {
    uint64_t low;
    uint64_t high;
    bool at_least;
    bool held;         /* Trains at .high were held back on our side of the link. */
    int64_t rtt_ns;    /* Median round trip of small frames before the first train. */
    uint32_t trains;   /* That were judged. */
    uint32_t repeated; /* That were not, and sent again. */
    uint64_t bytes;    /* Sent. */
    int64_t duration_ns;
};

/* @rc: OK, ERR_AGAIN (data wants to be sent), ERR_CLOSED (the session went down), ERR_TIMEOUT (the
 * peer does not answer probes, or not so many). @result is zero unless OK, but for the round trip
 * if that is known. */
typedef void net_probe_done(struct net_peer *peer, enum err rc,
                            const struct net_probe_result *result, void *user);

/* Begin to measure; @done follows from the loop, once, unless cancelled or the endpoint is
 * destroyed; before lost() if the session ends. @config may be NULL. ERR_EXISTS: one is running.
 * ERR_CLOSED: the session is not up. ERR_AGAIN: data is not acknowledged. ERR_INVALID. */
MUST_USE enum err net_probe_start(struct net_peer *peer, const struct net_probe_config *config,
                                  net_probe_done *done, void *user);

/* End it; @done is not called. None running is allowed. */
void net_probe_cancel(struct net_peer *peer);

bool net_probe_running(const struct net_peer *peer);

#endif
