/* Both sides of a probe as parts of a session, and where a session calls them; for net/probe*.c,
 * net/probe/link.c, net/session/peer.c and net/session/endpoint.c only. */

#ifndef NET_PROBE_STATE_H
#define NET_PROBE_STATE_H

#include "loop/loop.h"
#include "net/probe/probe.h"
#include "net/probe/slops.h"
#include "wire/heartbeat.h"

enum net_probe_state {
    NET_PROBE_IDLE,
    NET_PROBE_SENDING, /* Frames of a train. */
    NET_PROBE_WAITING, /* For the report. */
    NET_PROBE_PAUSING, /* Until the next train. */
    NET_PROBE_ENDING,  /* done() is about to be called. */
};

/* The side that measures. */
struct net_probe {
    enum net_probe_state state;
    struct loop_timer timer;
    struct net_slops slops;
    struct net_slops_train train; /* The one that is out: as the search wants it, or a ping. */
    uint32_t id;                  /* Of the train on the wire: each attempt has another one. */
    uint32_t next;                /* Frame to send. */
    int64_t start_ns;             /* Frame i is due at .start_ns + i * spacing. */
    int64_t sent_ns;              /* When the last frame was sent. */
    bool late;                    /* The sender did not keep time. */
    uint64_t held_bytes;          /* Not on the wire when the last frame was sent. */
    uint64_t held_before;         /* The same of the attempt before; zero: it was another rate. */
    uint64_t held_rate;           /* The rate of that attempt. */
    uint64_t held_lowest;         /* The lowest rate at which trains were judged though held. */
    uint32_t pings;               /* Answered. */
    int64_t ping_ns[NET_PROBE_PINGS]; /* Sorted. */
    uint32_t missing;                 /* Reports in a row. */
    int64_t began_ns;
    enum err rc;
    struct net_probe_result result;
    net_probe_done *done;
    void *user;
};

/* The side that answers: one train at a time. */
struct net_probe_answer {
    struct loop_timer timer; /* Runs while a report is owed. */
    uint32_t expect;         /* The lowest index that may come next. */
    uint16_t count;          /* Of the train as announced; zero: there was none yet. */
    bool refused;            /* Over the limit: no report. */
    struct wire_probe_report report;
    int64_t minute_ns; /* When the minute began, */
    uint32_t trains;   /* and what came in it. */
};

/* What traffic and probes have shown, for net/probe/link.c. */
struct net_link_sample {
    uint64_t rate; /* Bytes per second; zero: none. */
    int64_t at_ns;
};

struct net_link {
    bool busy; /* Data has been waiting for acknowledgement since .start_ns. */
    int64_t start_ns;
    uint64_t bytes;                /* Acknowledged since. */
    uint64_t waiting;              /* To be sent, then. */
    struct net_link_sample full;   /* While the link was the limit. */
    struct net_link_sample partly; /* While we had nothing more to send. */
    struct net_probe_result probe;
    int64_t probe_ns; /* Zero: never. */
};

/* The session's calls. */
MUST_USE enum err net_probe_init(struct net_peer *p);
void net_probe_deinit(struct net_peer *p);

/* A frame of type probe or probe report came. */
MUST_USE enum err net_probe_take(struct net_peer *p, const struct net_frame *frame);

/* The last stream is gone. */
void net_probe_down(struct net_peer *p);

/* The session is about to end: say done() now if it is owed. */
void net_probe_settle(struct net_peer *p);

/* probe/answer.c */
MUST_USE enum err net_probe_answer_init(struct net_peer *p);
MUST_USE enum err net_probe_answer_take(struct net_peer *p, const struct net_frame *frame);

/* link.c: @bytes of data were acknowledged; a probe was successful. */
void net_link_acked(struct net_peer *p, uint64_t bytes);
void net_link_probed(struct net_peer *p, const struct net_probe_result *result);

#endif
