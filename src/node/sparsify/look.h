/* A member that sends sparsified frames looks at the links they take: what the slowest carries, for
 * the choice of encodings, and whether all carry what the site requires, for the choice of
 * thresholds (F5). It looks while something waits to be sent, and does nothing otherwise, but for a
 * probe of a link that was idle so long that nothing is known of it.
 *
 * Where nothing depends on what links carry there is no timer at all. */

#ifndef NODE_SPARSIFY_LOOK_H
#define NODE_SPARSIFY_LOOK_H

#include "loop/loop.h"
#include "net/probe/meter.h"
#include "node/sparsify/sparsify.h"
#include "sync/enough.h"

enum { NODE_LOOK_LINKS_MAX = 256 };

struct node_look_link {
    struct net_peer *peer;
    struct net_meter *meter;
};

/* Fields are private to node/sparsify/look.c. */
struct node_look {
    struct loop *loop;
    struct node_sparsifier *sparsifier;
    /* The links that frames go on, at most NODE_LOOK_LINKS_MAX. Returns how many. */
    uint32_t (*links)(struct node_look_link *out, void *user);
    void *user;
    uint64_t required;
    int64_t heartbeat_ns;
    bool on;
    bool moves; /* Thresholds follow; else only encodings are chosen. */
    bool busy;  /* Something waits: the timer is that of the next look. */
    struct enough enough;
    struct loop_timer timer;
};

/* Look after @sparsify, which stays where it is. @required as in struct node_site; zero: the lower
 * threshold always counts. @heartbeat_ns is that of the endpoint, zero: the default; where it beats
 * more slowly there are fewer probes, too. ERR_NOMEM. */
MUST_USE enum err node_look_open(struct node_look *k, struct loop *loop,
                                 struct node_sparsifier *sparsify, uint64_t required,
                                 int64_t heartbeat_ns,
                                 uint32_t (*links)(struct node_look_link *out, void *user),
                                 void *user);

/* After the endpoint. One that was never opened is allowed. */
void node_look_close(struct node_look *k);

static inline bool node_look_opened(const struct node_look *k)
{
    return k->loop != NULL;
}

/* Something sparsified was given to the links. */
void node_look_sent(struct node_look *k);

#endif
