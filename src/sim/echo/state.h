/* What an echo cluster consists of; for sim/echo*.c only. */

#ifndef SIM_ECHO_STATE_H
#define SIM_ECHO_STATE_H

#include "base/buf.h"
#include "loop/loop.h"
#include "net/counters.h"
#include "net/session/endpoint.h"
#include "obs/metric.h"
#include "sim/echo/echo.h"
#include "sim/echo/ledger.h"
#include "sim/echo/oracle.h"
#include "sim/net/stream.h"

enum {
    ECHO_PORT = 7000,
    ECHO_POOL_BYTES = 64 * 1024 * 1024,
    ECHO_CHUNKS = 8, /* Updates are spread over so many chunks. */
    ECHO_WINDOW_DEFAULT = 256,
    ECHO_FLOATS_DEFAULT = 16,
    ECHO_NODES_MAX = SIM_HOSTS_MAX,
};

/* What both kinds of node have while their host is on. */
struct echo_node {
    struct sim_echo *echo;
    struct sim_host *host;
    bool server;
    uint32_t number; /* Of the client, from 0. */
    struct pki_identity identity;
    struct buf_pool *pool;
    struct sim_transport transport;
    struct net_endpoint *endpoint;

    /* Servers. */
    struct sim_ledger *ledger;

    /* Clients. */
    struct sim_echo_client config;
    char server_name[LIMIT_NAME_BYTES + 1];
    struct net_peer *peer;
    struct loop_timer tick;   /* Time for the next update, or for the next try to count one. */
    struct loop_timer rejoin; /* After the session was lost. */
    struct rng rng;
    uint64_t incarnation;
    uint64_t sent;                /* Of this incarnation. */
    uint64_t acked_seen;          /* What the witness was told last. */
    uint64_t echoed[ECHO_CHUNKS]; /* The last number that came back, by chunk. */
    bool blocked;
};

struct sim_echo {
    struct sim_world *world;
    struct obs_registry *registry; /* Of the whole cluster, over all lives of its nodes. */
    struct net_counters counters;
    struct sim_oracle *oracle;
    struct echo_node *nodes[ECHO_NODES_MAX];
    uint32_t nodes_count;
    uint32_t clients_count;
    uint32_t clients_max;
    uint64_t updates_sent;
    uint64_t echoes;
    uint64_t checks;
    char verdict[256];
};

/* echo/server.c, echo/client.c */
MUST_USE enum err echo_server_start(struct sim_host *host, void *user);
MUST_USE enum err echo_client_start(struct sim_host *host, void *user);
void echo_server_stop(struct sim_host *host, void *user);
void echo_node_stop(struct sim_host *host, void *user);

/* echo/server.c: what they share. Builds pool and transport. */
MUST_USE enum err echo_node_open(struct echo_node *n);

/* The sum of a payload of whole numbers, exactly; false if it is none. */
bool echo_value(const uint8_t *payload, uint32_t bytes, uint64_t *value_out);

struct echo_node *echo_find_client(struct sim_echo *e, const char *name);

/* echo/client.c: tell the witness what the client has learned since. */
void echo_client_observe(struct echo_node *n);

#endif
