/* Endpoints for tests: what an endpoint calls is counted, checked and handed to hooks. */

#ifndef CONFORMANCE_NODE_H
#define CONFORMANCE_NODE_H

#include "fixture.h"

#include "net/session/endpoint.h"

/* One endpoint and the last peer it has seen. Hooks may be NULL. */
struct conf_node {
    struct conf_side *side;
    struct net_endpoint *endpoint;     /* NULL while stopped. */
    struct net_peer *peer;             /* NULL: none, or lost. */
    struct net_address at;             /* Where it listens. */
    struct net_endpoint_config config; /* What is zero gets a default; set before start. */
    uint64_t incarnation;
    uint32_t ups;
    uint32_t restarts;
    uint32_t downs;
    uint32_t troubles;
    uint32_t losses;
    uint32_t writables;
    uint32_t frames;
    enum err why; /* The last one of down, connect_failed, lost. */
    struct err_text text;
    void (*on_resume)(struct conf_node *node, struct net_window *received);
    void (*on_up)(struct conf_node *node, struct net_peer *peer);
    enum err (*on_frame)(struct conf_node *node, struct net_peer *peer,
                         const struct net_frame *frame);
    /* Set before start, or the endpoint is not asked to tell. */
    void (*on_acked)(struct conf_node *node, struct net_peer *peer,
                     const struct wire_header *header);
    void (*on_writable)(struct conf_node *node);
    void (*on_lost)(struct conf_node *node, struct net_peer *peer);
    void *user;
};

struct conf_node *conf_node_new(struct conf_side *side);

/* Create the endpoint; listen at the world's address, or at the same one again; dial. */
void conf_node_start(struct conf_node *node);
void conf_node_listen(struct conf_node *node);
void conf_node_dial(struct conf_node *node, const struct net_address *to, uint16_t streams);

/* Destroy the endpoint, as a crash would. */
void conf_node_stop(struct conf_node *node);

/* Send a numbered data frame for @chunk with clock @clock, and a body that depends on both. */
enum err conf_node_send(struct conf_node *node, enum net_priority priority, uint32_t chunk,
                        uint64_t clock, size_t size);

/* Conditions; @user is a struct conf_node. */
bool conf_node_up(void *user);
bool conf_node_lost(void *user);
bool conf_node_down(void *user);
bool conf_node_troubled(void *user);
bool conf_node_idle(void *user); /* All that was sent is acknowledged. */

/* Both ends of a session, up. */
struct conf_session {
    struct conf_world *world;
    struct conf_node *a;
    struct conf_node *b;
};

/* Make both; they may still be changed before conf_session_wait(). */
void conf_session_open(struct conf_session *session, struct conf_world *w);
void conf_session_wait(struct conf_session *session, uint16_t streams);
bool conf_session_up(void *user);
bool conf_session_lost(void *user);

#endif
