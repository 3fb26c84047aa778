/* What sessions consist of; for net/session/peer.c, net/session/greet.c and net/session/endpoint.c
 * only. */

#ifndef NET_SESSION_PEER_STATE_H
#define NET_SESSION_PEER_STATE_H

#include "base/list.h"
#include "loop/loop.h"
#include "net/counters.h"
#include "net/probe/state.h"
#include "net/session/admit.h"
#include "net/session/backoff.h"
#include "net/session/cooldown.h"
#include "net/session/endpoint.h"
#include "net/session/flood.h"
#include "net/session/outbox.h"

enum {
    NET_RETIRED_MAX = 16, /* Old incarnations of a member that are remembered. */
    NET_PART_SHIFT = 48,  /* A session's number: the part of the member above, the count below. */
};

static inline uint64_t net_part(uint64_t session)
{
    return session >> NET_PART_SHIFT;
}

struct net_slot {
    struct net_peer *peer;
    uint16_t index;
    struct net_conn *conn; /* NULL: none. */
    bool live;             /* Greeted: carries the session. */
    struct loop_timer redial;
    struct net_backoff backoff;
};

struct net_peer {
    struct net_endpoint *endpoint;
    struct list link;
    bool dialled; /* By us. */
    bool up;
    bool met; /* Was up once. */
    bool restarted;
    bool closing;
    bool paused;
    bool holes;   /* It knew us before we restarted: numbers that we then had may never come. */
    bool blocked; /* Somebody got ERR_AGAIN. */
    bool paced;   /* Somebody said how fast; else the carrier's own settings hold. */
    uint64_t pace_bytes_per_s;
    struct net_transport *transport;
    struct net_address address;
    char source[64]; /* Of who dialled us: its last connection's. */
    struct pki_identity identity;
    uint64_t incarnation; /* Of the peer; zero: not met. */
    uint64_t session;     /* How many the one who dialled had dialled before. */
    uint8_t version;      /* Of the wire, as agreed. */
    uint64_t retired[NET_RETIRED_MAX];
    uint16_t streams;
    struct net_slot slots[LIMIT_STREAMS_PER_PEER];
    struct net_outbox outbox;
    struct net_window received;
    struct net_window acked;
    bool ack_due;
    struct loop_task ack;
    struct loop_timer ack_timer; /* An acknowledgement may wait a little, or be tried again. */
    uint32_t ack_frames;         /* Dealt with since the last acknowledgement. */
    uint64_t ack_bytes;
    struct loop_task end;
    struct loop_timer grace;
    enum err why;
    struct err_text why_text;
    struct net_flood flood;
    struct net_probe probe;
    struct net_probe_answer answer;
    struct net_link traffic;
    uint64_t sent_bytes; /* On connections that have ended. */
    uint64_t received_bytes;
    void *user;
};

/* A connection that has not said hello yet. */
struct net_stranger {
    struct net_endpoint *endpoint;
    struct list link;
    struct net_conn *conn; /* NULL once a session has taken it over. */
    struct net_source source;
    bool enrolling;
    bool refused;
};

struct net_bound {
    struct list link;
    struct net_listener *listener;
};

struct net_endpoint {
    struct net_endpoint_config config;
    uint64_t sessions;             /* Dialled so far. */
    struct buf_pool *control_pool; /* Signs of life must not wait for room among data. */
    struct net_counters counters;
    struct rng rng;
    struct list peers;
    uint32_t peers_count;
    struct list strangers;
    struct list listeners;
    struct net_admit admit;
    struct net_cooldown cooldown;
    bool admit_ready;
};

/* endpoint.c */
MUST_USE enum err net_peer_create(struct net_endpoint *e, uint16_t streams,
                                  struct net_peer **peer_out);
void net_peer_free(struct net_peer *p);

/* greet.c: hello and welcome. */
MUST_USE enum err net_greet_hello(struct net_slot *slot);
MUST_USE enum err net_greet_answer(struct net_slot *slot, const struct net_frame *frame);
MUST_USE enum err net_greet_stranger(struct net_stranger *stranger, const struct net_frame *frame);

/* pace.c: give the stream its part of the limit. */
void net_slot_pace(struct net_slot *slot);

/* expel.c */
void net_peer_blame(struct net_peer *p, enum net_expel reason, const char *text);
/* Must it stay away a while longer? Then @text says so. */
bool net_peer_must_wait(const struct net_endpoint *e, const struct pki_identity *who,
                        char text[LIMIT_REASON_BYTES]);

/* peer.c */
MUST_USE enum err net_peer_init(struct net_peer *p, struct net_endpoint *e, uint16_t streams);
extern const struct net_conn_events net_slot_events;
struct net_slot *net_peer_first_live(struct net_peer *p); /* NULL: none. */
void net_slot_dial(struct net_slot *slot);
void net_slot_live(struct net_slot *slot, const struct net_window *received);
void net_peer_keep_only(struct net_slot *keep, const char *text);
void net_peer_lose(struct net_peer *p, enum err why, const char *text);
/* Say good-bye, then the same. */
void net_peer_part(struct net_peer *p, enum err why, const char *text);

#endif
