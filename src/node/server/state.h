/* What a server consists of; for node/server/server.c and node/server/lane.c only. */

#ifndef NODE_SERVER_STATE_H
#define NODE_SERVER_STATE_H

#include "loop/lane.h"
#include "loop/mailbox.h"
#include "net/stream/socket.h"
#include "node/server/server.h"

#include <jansson.h>

/* What the owner has all lanes do. */
enum server_step {
    SERVER_OPEN,  /* Make what the lane needs. */
    SERVER_BUILD, /* Load the checkpoint. */
    SERVER_BEGIN, /* Write which training it is, and listen. */
    SERVER_TELL,  /* The first lane: tell where all are. */
    SERVER_LOOK,  /* Is there something to keep? */
    SERVER_SAVE,  /* Keep it. */
    SERVER_SHUT,  /* Say good-bye. */
    SERVER_END,   /* Release everything. */
    SERVER_STATUS,
    SERVER_REFUSE, /* A lane found out that it must not serve what it has. */
};

/* A call to a lane and its answer. Whoever has it may touch it: the owner, until it is posted, then
 * the lane, until the answer is posted. */
struct server_call {
    struct lane_call call;
    struct server_lane *lane;
    enum server_step step;
    bool busy; /* The owner's: not answered yet. */
    enum err rc;
    struct err_text text;
    bool store_failed; /* .rc is because of the store. */
    bool worth;        /* SERVER_LOOK: there is something to keep, */
    uint64_t clock;    /* and of which clock. */
    json_t *status;    /* SERVER_STATUS. */
    void (*done)(uint32_t index, struct json_t *status, void *user);
    void *user;
};

struct server_lane {
    struct node_server *server; /* Its configuration does not change. */
    uint32_t index;
    struct lane *lane;
    struct server_call control; /* One step after the other. */
    struct server_call ask;
    struct server_call refusal; /* Posted by the lane, at most once. */
    struct lane_call end;       /* When nobody waits for an answer. */
    struct net_address bound;   /* Written by SERVER_BEGIN. */
    struct net_address told;    /* Written by the owner before SERVER_TELL. */

    /* Of the lane's thread. */
    struct obs_registry *registry;
    struct net_socket_transport plain;
    struct net_tls_transport *tls;
    struct net_transport *transport; /* One of them. */
    struct store *store;
    struct node_lane *node;
    struct node_lane_history history; /* Written by SERVER_BUILD. */
    struct loop_timer leaving;
    bool saving;           /* The last checkpoint failed: the timer tries again, */
    int64_t save_until_ns; /* up to then. */
    int64_t leave_until_ns;
    uint64_t incarnation;
    uint64_t seed;
};

struct node_server {
    struct node_server_config config;
    struct node_between between; /* Our own copy; used if config.between is set. */
    struct site_link *links;   /* That it has. */
    char bye[LIMIT_REASON_BYTES];
    struct mailbox *answers; /* struct server_call. */
    enum server_step step;
    uint32_t due; /* Answers to come in this step. */
    enum err rc;  /* The first error of this step, and its text. */
    struct err_text text;
    enum err kept_rc; /* Of the last checkpoint. */
    struct err_text kept_text;
    uint64_t history;  /* Of all lanes; known after SERVER_BUILD. */
    bool store_failed; /* .kept_rc is because of the store. */
    bool worth;
    uint64_t clock;
    bool told;
    atomic_bool begun; /* As in struct node_lane_config. */
    bool failing;
    bool stopping;
    bool ended; /* The lanes have nothing any more. */
    uint32_t lanes_count;
    struct server_lane *lanes;
};

/* On the lane's thread: what a call says; the answer may follow later. The second releases all that
 * is there, and answers nothing. */
void server_lane_run(void *call);
void server_lane_end(void *lane);

#endif
