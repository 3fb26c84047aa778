/* Which sequence numbers of a sender have been seen: a bounded window over an endless sequence.
 *
 *     ...all seen... base | 1 0 1 1 0 0 ... (LIMIT_WINDOW_FRAMES bits)
 *
 * Used by a receiver to recognise duplicates, and for what it has acknowledged. A pure machine; the
 * bits stand in a circle, so that moving the base costs nothing. */

#ifndef NET_SESSION_WINDOW_H
#define NET_SESSION_WINDOW_H

#include "wire/hello.h"

/* May be copied. Fields are private to net/session/window.c. */
struct net_window {
    uint64_t base; /* Everything up to here has been seen; sequences start at 1. */
    uint64_t last; /* The highest number seen. */
    uint64_t bits[WIRE_WINDOW_WORDS];
};

enum net_window_verdict {
    NET_WINDOW_NEW,
    NET_WINDOW_DUPLICATE,
    NET_WINDOW_BEYOND, /* Too far ahead: no correct sender has that many unacknowledged. */
};

void net_window_init(struct net_window *w, uint64_t base);

/* Judge @sequence without remembering it. */
enum net_window_verdict net_window_judge(const struct net_window *w, uint64_t sequence);

/* Judge it and, if new, remember it. */
enum net_window_verdict net_window_add(struct net_window *w, uint64_t sequence);

/* Everything up to @base counts as seen. A smaller base than now changes nothing. */
void net_window_advance(struct net_window *w, uint64_t base);

static inline uint64_t net_window_base(const struct net_window *w)
{
    return w->base;
}

/* To and from the form that travels. */
void net_window_to_wire(const struct net_window *w, struct wire_window *out);
void net_window_from_wire(struct net_window *w, const struct wire_window *in);

#endif
