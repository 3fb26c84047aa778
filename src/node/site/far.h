/* Sessions of a lane with the lanes of its number at other sites. Each side dials the other, says
 * its terms and its tables, and refuses if they differ; what is said afterwards is their owner's
 * affair (node/mirror/mirror.h). For node/lane*.c and its neighbours only. */

#ifndef NODE_SITE_FAR_H
#define NODE_SITE_FAR_H

#include "node/site/between.h"
#include "table/schema.h"

#include <jansson.h>

struct net_frame;
struct net_peer;
struct node_fars;
struct node_lane;

enum {
    NODE_FAR_WINDOW_BYTES = 16 << 20, /* Under way to one lane of another site. */
    NODE_FAR_DOWN_MS = 3000,          /* Without any connection: then it counts as away. */
    NODE_FAR_RETRY_MS = 1000,         /* Until a site that refused is asked again. */
};

/* Another site's lane of our number. */
struct node_far {
    struct node_fars *set;
    uint32_t index; /* In .list, from one on. */
    uint32_t id;    /* On the wire. */
    struct node_other_site site;
    struct net_peer *scout; /* To its first lane, to ask where ours is. */
    struct net_peer *out;   /* Dialled by us: what we say goes here. */
    struct net_peer *in;    /* Dialled by it. */
    bool out_agreed;        /* It has taken our terms; we its. */
    bool in_agreed;
    bool up;                         /* As the owner was told. */
    bool anew;                       /* A session is not the one it was when it was up. */
    int64_t silent_ns;               /* Since when there is no connection; zero: there is. */
    int64_t retry_ns;                /* When to ask again; zero: no need. */
    bool restarted;                  /* It is another process: ask it at once. */
    char trouble[256];               /* Why it is not up, if that is known. */
    json_t *said;                    /* Its tables, as it told them; NULL: it has not. */
    int16_t tables[TABLE_COUNT_MAX]; /* By its number: ours, or -1. */
    uint64_t sent_before;            /* Bytes, by sessions that are over. */
};

/* What the owner is told. */
struct node_fars_events {
    /* Both sessions are there and agreed. @anew: what was under way before is lost. */
    void (*up)(struct node_far *f, bool anew, void *user);
    void (*down)(struct node_far *f, void *user);
    /* One of its sessions is over, or another takes its place. */
    void (*lost)(struct node_far *f, bool out, void *user);
    /* Its tables are known: what came before may have a place now. */
    void (*known)(struct node_far *f, void *user);
    /* A frame of data from a site that has agreed. */
    enum err (*frame)(struct node_far *f, const struct net_frame *frame, void *user);
    /* An operation that is not about meeting. @in: on the session that it dialled. ERR_PEER: there
     * is none like that. */
    enum err (*control)(struct node_far *f, uint16_t operation, uint32_t call, const json_t *fields,
                        bool in, void *user);
};

/* Fields may be read. */
struct node_fars {
    struct node_lane *lane;
    const struct node_between *between;
    uint32_t id;                         /* Of our site on the wire. */
    struct node_far *list;               /* [0] is not used. */
    uint32_t count;                      /* One more than there are. */
    char stranger[LIMIT_NAME_BYTES + 1]; /* The last site that came and is not among them. */
    const struct node_fars_events *events;
    void *user;
};

MUST_USE enum err node_fars_init(struct node_fars *set, struct node_lane *l,
                                 const struct node_fars_events *events, void *user);
void node_fars_deinit(struct node_fars *set); /* Sessions are the endpoint's. */

/* Add all sites of node_between. ERR_INVALID with @text: two names have the same number. */
MUST_USE enum err node_fars_fill(struct node_fars *set, struct err_text *text);

/* The lane listens: look for the others. */
void node_fars_start(struct node_fars *set);

struct node_far *node_far_of(const struct node_fars *set, uint32_t id); /* NULL: none. */
struct node_far *node_far_named(const struct node_fars *set, const char *name);
struct node_far *node_far_of_peer(const struct node_fars *set, const struct net_peer *peer);

/* Is it the first word of another site's lane? Then the session is theirs from now on. */
bool node_fars_greeting(const struct node_fars *set, struct net_peer *peer,
                        const struct net_frame *frame);

/* Events of the endpoint, of their sessions. */
void node_fars_up(struct node_fars *set, struct net_peer *peer, bool restarted);
void node_fars_lost(struct node_fars *set, struct net_peer *peer, const char *text);
void node_fars_trouble(struct node_fars *set, struct net_peer *peer, enum err why,
                       const char *text);
MUST_USE enum err node_fars_frame(struct node_fars *set, struct net_peer *peer,
                                  const struct net_frame *frame);

/* Now and then: ask those again who refused. Return false if the site that is up has had no
 * connection for longer than @down_ns. */
bool node_far_tick(struct node_far *f, int64_t now_ns, int64_t down_ns);

/* Who and where it is, and how its sessions go, as an object for operators. @up: what is said. */
json_t *node_far_status(const struct node_far *f, bool up);

void node_far_look(struct node_far *f);                       /* Has it come, or gone? */
void node_far_dialled(struct node_far *f);                    /* .out is new. */
void node_far_restarted(struct node_far *f);                  /* .out is with a process before. */
void node_far_troubled(struct node_far *f, const char *text); /* Why it is not there. */

/* far_meet.c */
void node_meet_say(struct node_far *f);      /* Our terms and tables. */
void node_meet_again(struct node_fars *set); /* There is one more table. */
/* Make all tables that it has, under the same numbers, before workers do. False: not all. */
MUST_USE bool node_meet_make_tables(struct node_far *f);
MUST_USE enum err node_meet_control(struct node_far *f, const struct net_frame *frame, bool in);
bool node_meet_is_it(struct node_far *f, struct net_peer *peer); /* Else the session is ended. */
/* NULL: nobody that we know; it was told so. */
struct node_far *node_meet_stranger(struct node_fars *set, struct net_peer *peer);

#endif
