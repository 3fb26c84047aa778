/* Who may knock: limits on connections that have not proved who they are. A pure machine: time and
 * addresses are values, the accept loop acts on the verdict. Its memory is taken at init and does
 * not grow. One thread.
 *
 * Each source has a bucket: LIMIT_SOURCE_BURST attempts at once, refilled at
 * LIMIT_SOURCE_RATE_PER_S. A source is an IPv4 address or the /64 of an IPv6 one, since a /64 costs
 * its owner no more than one address. A full bucket tells nothing that a new one would not: such a
 * source is forgotten first, and forgetting it is exact. While LIMIT_SOURCES sources all have
 * buckets that are not full (more than 20 000 new ones a second, or a thousand at their limit), a
 * further one is not remembered; all of these draw on one bucket of LIMIT_STRANGERS a second. So a
 * flood can cost newcomers their turn, but never those who are remembered. */

#ifndef NET_SESSION_ADMIT_H
#define NET_SESSION_ADMIT_H

#include "base/err.h"
#include "base/heap.h"
#include "base/limits.h"
#include "base/map.h"

#include <stdbool.h>
#include <stdint.h>

enum net_admit_verdict {
    NET_ADMIT,             /* Counted; net_admit_done() must follow. */
    NET_ADMIT_REFUSE_RATE, /* That source comes too often. */
    NET_ADMIT_REFUSE_FULL, /* LIMIT_STRANGERS are here already. */
};

/* Fields are private to net/session/admit.c. */
struct net_admit_source {
    struct heap_node node; /* By .full_at_ns: the first is the one to forget. */
    int64_t full_at_ns;    /* On .time_ns, when the bucket is full again. */
    uint64_t key;
    bool used;
};

/* Fields are private to net/session/admit.c, but for .strangers and .sources, which may be read. */
struct net_admit {
    uint32_t strangers; /* Admitted and not done. */
    uint32_t sources;   /* Remembered. */
    struct net_admit_source *table;
    struct map by_key;
    struct heap by_full;
    int64_t time_ns;     /* Our own time: it never goes back. */
    int64_t seen_ns;     /* The caller's, when last told. */
    int64_t overflow_ns; /* As .full_at_ns, of the bucket of the unremembered. */
    bool started;
};

MUST_USE enum err net_admit_init(struct net_admit *admit);
void net_admit_deinit(struct net_admit *admit);

/* Judge a new connection from @source, an IPv6 address or an IPv4 one in its mapped form
 * (::ffff:a.b.c.d). Every attempt within the rate is charged, whether there is room or not; one
 * beyond it costs nothing more. A clock that jumps, either way, refills at most one bucketful. */
MUST_USE enum net_admit_verdict net_admit_try(struct net_admit *admit, const uint8_t source[16],
                                              int64_t now_ns);

/* An admitted connection is no stranger any more: it was closed, or it authenticated. */
void net_admit_done(struct net_admit *admit);

/* A connection of @source authenticated: give its attempt back, so that many members behind one
 * address may join at once. Call it beside net_admit_done(). */
void net_admit_credit(struct net_admit *admit, const uint8_t source[16]);

#endif
