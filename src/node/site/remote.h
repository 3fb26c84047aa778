/* Sessions with remote sites: lane k of this site with lane k of every other site. Both ends dial;
 * the handshake compares configuration and tables and refuses with a reason. Data frames go to the
 * owner (node/mirror/mirror.h or node/central/central.h). For node/ only. */

#ifndef NODE_SITE_REMOTE_H
#define NODE_SITE_REMOTE_H

#include "node/site/between.h"
#include "table/schema.h"

#include <jansson.h>

struct net_frame;
struct net_peer;
struct node_remote_sites;
struct node_lane;

enum {
    NODE_REMOTE_WINDOW_BYTES = 16 << 20, /* Unacknowledged by one remote lane. */
    NODE_REMOTE_DOWN_MS = 3000,          /* Without a connection: then the site is down. */
    NODE_REMOTE_RETRY_MS = 1000,         /* Until a refused handshake is sent again. */
};

/* The lane of the same number at another site. */
struct node_remote_site {
    struct node_remote_sites *set;
    uint32_t index; /* In .list, from one on. */
    uint32_t id;    /* On the wire. */
    struct node_other_site site;
    struct net_peer *locator; /* To its first lane, which knows the address of the peer lane. */
    struct net_peer *out;     /* Dialled by this lane: everything is sent here. */
    struct net_peer *in;      /* Dialled by the remote lane: everything is received here. */
    bool out_agreed;          /* It has accepted this site's configuration. */
    bool in_agreed;           /* This lane has accepted the configuration of that site. */
    bool up;                  /* As reported to the owner. */
    bool anew;                /* A session was replaced since the site was up. */
    int64_t silent_ns;        /* Since then no connection; zero: connected. */
    int64_t retry_ns;         /* When to send the handshake again; zero: never. */
    bool restarted;           /* A new process: send the handshake at once. */
    char last_error[256];     /* Why the site is not up; empty: not known. */
    json_t *said;             /* Its tables, from its handshake; NULL: none yet. */
    int16_t tables[TABLE_COUNT_MAX]; /* Its table number to the one of this lane, or -1. */
    uint64_t sent_before;            /* Bytes, by sessions that have ended. */
};

/* Events for the owner. */
struct node_remote_events {
    /* Both handshakes are accepted. @anew: frames in flight before are lost. */
    void (*up)(struct node_remote_site *f, bool anew, void *user);
    void (*down)(struct node_remote_site *f, void *user);
    /* A session has ended or was replaced. */
    void (*lost)(struct node_remote_site *f, bool out, void *user);
    /* Its tables are known: deferred frames may be handled now. */
    void (*known)(struct node_remote_site *f, void *user);
    /* A data frame from a site whose handshake was accepted. */
    enum err (*frame)(struct node_remote_site *f, const struct net_frame *frame, void *user);
    /* An operation that is not part of the handshake. @in: on the session dialled by the remote
     * lane. ERR_PEER: unknown operation. */
    enum err (*control)(struct node_remote_site *f, uint16_t operation, uint32_t call,
                        const json_t *fields, bool in, void *user);
};

/* Fields may be read. */
struct node_remote_sites {
    struct node_lane *lane;
    const struct node_between *between;
    uint32_t id;                         /* Of this site on the wire. */
    struct node_remote_site *list;       /* [0] is not used. */
    uint32_t count;                      /* One more than there are. */
    char stranger[LIMIT_NAME_BYTES + 1]; /* The last site that connected and is not configured. */
    const struct node_remote_events *events;
    void *user;
};

MUST_USE enum err node_remotes_init(struct node_remote_sites *set, struct node_lane *l,
                                    const struct node_remote_events *events, void *user);
void node_remotes_deinit(struct node_remote_sites *set); /* The endpoint owns the sessions. */

/* Add all sites of node_between. ERR_INVALID with @text: two names have the same number. */
MUST_USE enum err node_remotes_fill(struct node_remote_sites *set, struct err_text *text);

/* The lane listens: dial the other sites. */
void node_remotes_start(struct node_remote_sites *set);

/* NULL: there is none. */
struct node_remote_site *node_remote_of(const struct node_remote_sites *set, uint32_t id);
struct node_remote_site *node_remote_named(const struct node_remote_sites *set, const char *name);
struct node_remote_site *node_remote_of_peer(const struct node_remote_sites *set,
                                             const struct net_peer *peer);

/* Is @frame the handshake of a remote lane? Then the session belongs to it from now on. */
bool node_remotes_is_handshake(const struct node_remote_sites *set, struct net_peer *peer,
                               const struct net_frame *frame);

/* Events of the endpoint for these sessions. */
void node_remotes_up(struct node_remote_sites *set, struct net_peer *peer, bool restarted);
void node_remotes_lost(struct node_remote_sites *set, struct net_peer *peer, const char *text);
void node_remotes_connect_failed(struct node_remote_sites *set, struct net_peer *peer, enum err why,
                                 const char *text);
MUST_USE enum err node_remotes_frame(struct node_remote_sites *set, struct net_peer *peer,
                                     const struct net_frame *frame);

/* Called at intervals: send a refused handshake again. False: a site that is up has had no
 * connection for longer than @down_ns. */
bool node_remote_tick(struct node_remote_site *f, int64_t now_ns, int64_t down_ns);

/* Name, address and sessions of a site as an object for operators. @up: the state to report. */
json_t *node_remote_status(const struct node_remote_site *f, bool up);

void node_remote_recheck(struct node_remote_site *f);      /* Is it up or down now? */
void node_remote_on_dialled(struct node_remote_site *f);   /* .out is a new session. */
void node_remote_on_restarted(struct node_remote_site *f); /* The peer of .out has restarted. */
void node_remote_set_error(struct node_remote_site *f, const char *text); /* Why it is not up. */

/* site/handshake.c */
void node_handshake_send(struct node_remote_site *f);      /* Configuration and tables. */
void node_handshake_resend(struct node_remote_sites *set); /* A table was added. */
/* Make all tables of a site here, under the same numbers, before workers do. False: not all. */
MUST_USE bool node_handshake_make_tables(struct node_remote_site *f);
MUST_USE enum err node_handshake_control(struct node_remote_site *f, const struct net_frame *frame,
                                         bool in);
/* Is the peer the site that was dialled? If not, the session is ended. */
bool node_handshake_accepts(struct node_remote_site *f, struct net_peer *peer);
/* The site of a peer that connected; NULL: not configured, and the peer was told so. */
struct node_remote_site *node_handshake_identify(struct node_remote_sites *set,
                                                 struct net_peer *peer);

#endif
