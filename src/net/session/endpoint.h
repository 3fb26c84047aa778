/* An endpoint: one member of Strait as its peers see it, and its sessions with them.
 *
 * A session outlives its connections. Frames sent on it get sequence numbers and are kept until the
 * peer acknowledges them; after a reconnect just what is missing is sent again, and what arrives
 * twice is recognised: each frame reaches the other side's frame() exactly once per incarnation of
 * the two processes, and in order within a stream and priority. Several streams carry one session
 * over long links; a chunk always takes the same one.
 *
 * The side that dials reconnects for ever, with back-off; the side that was dialled keeps a silent
 * session for a time of grace. Everything happens on one loop, and nothing is called from inside
 * the call that caused it. */

#ifndef NET_SESSION_ENDPOINT_H
#define NET_SESSION_ENDPOINT_H

#include "net/session/conn.h"
#include "net/session/flood.h"
#include "net/session/window.h"

struct net_endpoint;
struct net_peer;
struct obs_registry;

struct net_endpoint_events {
    /* A peer that dialled us is new, or new to this process: fill @received with what is known to
     * have come from that incarnation in that session of it (zero: its first), for instance from a
     * checkpoint. May be NULL. */
    void (*resume)(const struct pki_identity *who, uint64_t incarnation, uint64_t session,
                   struct net_window *received, void *user);
    /* All streams are there. @restarted: the peer is another process than before; its own frames
     * start anew, ours go on. */
    void (*up)(struct net_peer *peer, bool restarted, void *user);
    /* A frame, once. OK: it was taken. Anything else ends the connection, and the frame comes
     * again; an error in the scope of the peer ends the session. */
    enum err (*frame)(struct net_peer *peer, const struct net_frame *frame, void *user);
    /* A numbered frame of ours was acknowledged, and its body let go: once per frame, also across
     * reconnects and restarts of the peer; never for one that was lost with its session. Frames of
     * one acknowledgement come in the order of their numbers, before writable(). May be NULL. */
    void (*acked)(struct net_peer *peer, const struct wire_header *header, void *user);
    /* After ERR_AGAIN: there is room again. May be NULL. */
    void (*writable)(struct net_peer *peer, void *user);
    /* No stream is left; the session waits for the peer to come back. May be NULL. */
    void (*down)(struct net_peer *peer, enum err why, const char *text, void *user);
    /* An attempt to reach it failed; another follows. May be NULL. */
    void (*connect_failed)(struct net_peer *peer, enum err why, const char *text, void *user);
    /* The session is over: the last call, exactly once, also for a peer that dialled us and was
     * never up because some of its streams did not come. What was not acknowledged is lost. */
    void (*lost)(struct net_peer *peer, enum err why, const char *text, void *user);
    /* A stranger who came to enrol sent a frame. May be NULL: strangers are then refused. */
    enum err (*enrol)(struct net_conn *conn, const struct net_source *source,
                      const struct net_frame *frame, void *user);
    /* The connection of such a stranger is over. May be NULL. */
    void (*enrol_ended)(struct net_conn *conn, void *user);
};

struct net_endpoint_config {
    struct loop *loop;
    struct buf_pool *pool;
    struct obs_registry *registry;
    struct pki_identity identity;
    uint64_t incarnation;   /* Not zero, never the same twice for a member. */
    uint16_t part;          /* A member may have several endpoints, each with its own number. */
    uint64_t seed;          /* For jitter. */
    bool insecure;          /* Take peers without certificates at their word. */
    bool unlimited;         /* Peers may send control frames as fast as they can: for benchmarks. */
    bool manual_ack;        /* net_peer_ack() says when a frame is dealt with; else frame() does. */
    int64_t heartbeat_ns;   /* Zero: the default of a second. */
    int64_t grace_ns;       /* Zero: the default of thirty seconds. */
    int64_t redial_ns;      /* First wait before dialling again; zero: the default of 100 ms. */
    int64_t redial_max_ns;  /* Zero: the default of 5 s. */
    uint32_t window_frames; /* Unacknowledged frames per peer; zero: the limit. */
    uint64_t window_bytes;
    uint64_t pace_bytes_per_s; /* As net_peer_pace() for every peer; zero: as the carrier is. */
    const struct net_endpoint_events *events;
    void *user;
};

MUST_USE enum err net_endpoint_create(const struct net_endpoint_config *config,
                                      struct net_endpoint **endpoint_out);

/* End at once, as a crash would: nothing is said to peers, nothing is called. Not from inside a
 * callback. NULL is allowed. */
void net_endpoint_destroy(struct net_endpoint *e);

/* The loop is now driven by the calling thread (loop/driver.h): it owns the endpoint's own pool
 * from now on. That of the configuration is the caller's business. */
void net_endpoint_adopt(struct net_endpoint *e);

/* Accept peers at @at. The listener lives as long as the endpoint. The address as bound goes to
 * @bound_out unless that is NULL. */
MUST_USE enum err net_endpoint_listen(struct net_endpoint *e, struct net_transport *transport,
                                      const struct net_address *at, struct net_address *bound_out,
                                      struct err_text *text);

/* Begin a session with whoever is at @to, over @streams connections. @transport must outlive it. A
 * session that an endpoint has with the same member ends when a newer one of it comes there. */
MUST_USE enum err net_endpoint_dial(struct net_endpoint *e, struct net_transport *transport,
                                    const struct net_address *to, uint16_t streams,
                                    struct net_peer **peer_out);

/* Somebody from @source has proved itself by other means than hello: do not count its connection
 * against those that follow from there. */
void net_endpoint_credit(struct net_endpoint *e, const struct net_source *source);

/* Send a frame that must arrive: @header (its sequence is set here) and @body as in
 * net_conn_send(). On OK the session owns one reference to @body. ERR_AGAIN when too much is not
 * acknowledged yet: writable() follows. */
MUST_USE enum err net_peer_send(struct net_peer *peer, enum net_priority priority,
                                struct wire_header *header, struct buf *body);

/* The same for a sealed frame in one buffer, which must not be shared. */
MUST_USE enum err net_peer_send_sealed(struct net_peer *peer, enum net_priority priority,
                                       struct buf *frame);

/* Send a frame that may get lost, on the first stream: no sequence, never again. */
MUST_USE enum err net_peer_send_once(struct net_peer *peer, struct buf *frame);

/* True if a frame with a body of that size would be taken now. If not, writable() will follow. */
MUST_USE bool net_peer_has_room(struct net_peer *peer, uint32_t body_bytes);

/* With manual_ack: that frame is dealt with for good. */
void net_peer_ack(struct net_peer *peer, uint64_t sequence);

/* Stop or resume receiving from the peer, acknowledgements of our frames included: so never for
 * want of room that only those acknowledgements would make. */
void net_peer_pause(struct net_peer *peer, bool paused);

/* Let at most @bytes be unacknowledged from now on, instead of the endpoint's window; what is
 * beyond it already stays. A single frame is always taken. */
void net_peer_limit(struct net_peer *peer, uint64_t bytes);

/* Limit what is sent to the peer, over all its streams together, each of which gets the same part;
 * zero: no limit. Holds until it is changed, also on connections to come. ERR_INVALID: the carrier
 * cannot, and sends as before. */
MUST_USE enum err net_peer_pace(struct net_peer *peer, uint64_t bytes_per_s);

/* Why a session was ended that the peer had no wish to end. */
enum net_expel {
    NET_EXPEL_PROTOCOL, /* A frame that no correct member sends. */
    NET_EXPEL_AHEAD,    /* A clock that no correct member can have reached. */
    NET_EXPEL_FLOODS, /* This and the following: too many frames of a kind (net/session/flood.h). */
    NET_EXPELS = NET_EXPEL_FLOODS + NET_FLOOD_KINDS,
};

const char *net_expel_name(enum net_expel reason);

/* The peer broke the rules: tell it so, end the session, and do not let it in again for a while
 * (net/session/cooldown.h). Log and counter name it; lost() follows with ERR_PEER and @text. */
void net_peer_expel(struct net_peer *peer, enum net_expel reason, const char *text);

/* Say good-bye and end the session; lost() follows with OK. */
void net_peer_close(struct net_peer *peer, const char *text);

const struct pki_identity *net_peer_identity(const struct net_peer *peer);
uint64_t net_peer_incarnation(const struct net_peer *peer);
bool net_peer_is_up(const struct net_peer *peer);

/* It dialled, and had known an earlier process of ours. */
bool net_peer_knew_us(const struct net_peer *peer);
bool net_peer_dialled(const struct net_peer *peer);

/* Where one that dialled us came from: an address without a port; empty: we dialled it. */
const char *net_peer_source(const struct net_peer *peer);

/* How many streams the session has, live or not. Data with table 0 and chunk i goes on stream
 * (i modulo this). */
uint16_t net_peer_streams(const struct net_peer *peer);

struct net_peer_stats {
    uint64_t unacked_frames;
    uint64_t unacked_bytes;
    uint64_t sent_sequence;     /* The last number given out. */
    uint64_t acked_sequence;    /* Everything up to here was acknowledged to us. */
    uint64_t received_sequence; /* We have received everything up to here. */
    /* What the kernel says of the way, or heartbeats, where they take many times as long: through
     * a proxy the kernel sees only the way to that. Zero: not known, as the next. */
    int64_t rtt_ns;
    int64_t rtt_least_ns; /* The shortest on this connection. */
    uint64_t delivery_bytes_per_s;
    int64_t silent_ns; /* Since data came on any stream; zero: just now, or not known. */
    uint32_t streams_live;
    uint64_t sent_bytes;     /* Over all its connections, headers and resent frames included. */
    uint64_t received_bytes; /* Likewise. */
};

void net_peer_stats(struct net_peer *peer, struct net_peer_stats *out);

/* The lowest clock of the frames after number @sequence that the peer has not acknowledged and that
 * @wanted selects; UINT64_MAX: there are none. Also while the session is reported as lost. */
uint64_t net_peer_unacked_clock_min(const struct net_peer *peer, uint64_t sequence,
                                    bool (*wanted)(const struct wire_header *header));

/* For the owner's own data. */
void *net_peer_user(const struct net_peer *peer);
void net_peer_set_user(struct net_peer *peer, void *user);

/* The n-th peer, or NULL: to walk over all of them. */
struct net_peer *net_endpoint_peer(struct net_endpoint *e, uint32_t index);

#endif
