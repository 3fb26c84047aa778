/* A server process: lanes on threads of their own, and the one thread that owns them.
 *
 *     create -> listening() -> tell -> ready() ... stop -> stopped() -> destroy
 *
 * Each lane has its own loop, transport, metrics and store; the owner never touches them, it posts
 * calls and gets answers. All functions and all events are on the owner's loop, and nothing is
 * called from inside the call that caused it. */

#ifndef NODE_SERVER_SERVER_H
#define NODE_SERVER_SERVER_H

#include "net/stream/tls.h"
#include "node/lane/lane.h"
#include "node/site/between.h"

struct node_server;

struct node_server_events {
    /* All lanes listen: say with node_server_tell() by which host others reach them. */
    void (*listening)(struct node_server *s, void *user);
    /* A lane could not be started, or not be told: the server is of no use, destroy it. */
    void (*failed)(struct node_server *s, enum err rc, const char *text, void *user);
    /* The first lane knows where all of them are. */
    void (*ready)(struct node_server *s, void *user);
    /* After node_server_stop(): everybody was told and all lanes are gone. @rc and @text are of the
     * last checkpoint; OK also if there was nothing to keep. */
    void (*stopped)(struct node_server *s, enum err rc, const char *text, void *user);
};

struct node_server_config {
    struct loop *loop; /* The owner's; outlives the server. */
    struct node_site site;
    const struct node_between *between; /* Other sites; copied. NULL: there are none. */
    struct pki_identity identity;       /* Of all its lanes. */
    uint32_t lanes;                     /* On this server. */
    uint32_t first_number;              /* Of its first lane, within the site. */
    struct net_address listen; /* Of the first lane; the others have the ports behind it. With
                                * port 0 the system chooses all of them. */
    struct net_address first;  /* Lane 0 of the site; if .first_number is not zero. */
    struct net_tls_config tls; /* Without .cert_path: in the clear. */
    struct net_socket_options options; /* Of its connections; with TLS they are in .tls. */
    const char *store;                 /* A folder; NULL: no checkpoints. */
    enum node_restore_mode restore;    /* What to do with what it holds; as in node/lane/lane.h. */
    uint64_t restore_clock;
    uint64_t history; /* Of the site's first server, if this is another one; 0: to be drawn. */
    bool begun;       /* That server has parameters already. */
    uint64_t pace_bytes_per_s; /* Towards each peer; zero: no limit. */
    const char *agg;           /* As in node/lane/lane.h. */
    const char *edge;
    uint64_t in_flight_bytes; /* Of all its lanes, as in node/lane/lane.h. */
    uint64_t table_bytes;     /* Likewise. */
    const struct node_server_events *events;
    /* What happens on a lane, line by line. On the thread of that lane. May be NULL. */
    void (*trace)(uint32_t lane, const char *line, void *user);
    void *user;
};

/* Start. Texts that @config points to must stay until listening() or failed(). ERR_INVALID with
 * @text if the settings do not go together; ERR_NOMEM, ERR_IO. */
MUST_USE enum err node_server_create(const struct node_server_config *config,
                                     struct node_server **server_out, struct err_text *text);

/* At once, as a crash, if it was not stopped before. Waits for the threads. Not from inside an
 * event. NULL is allowed. */
void node_server_destroy(struct node_server *s);

uint32_t node_server_lanes(const struct node_server *s);

/* Where the @index-th lane of this server listens; after node_server_tell() also by which address
 * others know it. */
const struct net_address *node_server_bound(const struct node_server *s, uint32_t index);
const struct net_address *node_server_told(const struct node_server *s, uint32_t index);

/* Once, after listening(). NULL @host: as bound. ready() or failed() follows. */
void node_server_tell(struct node_server *s, const char *host);

/* Ask a lane how it goes: @done gets what node_lane_status() says, or NULL if there is no memory or
 * no lane any more, and owns it. False: the last question to this lane is not answered yet. */
bool node_server_ask(struct node_server *s, uint32_t index,
                     void (*done)(uint32_t index, struct json_t *status, void *user), void *user);

/* In failed(): it is the store that could not be used. */
bool node_server_store_failed(const struct node_server *s);

/* The last clock that was complete when it was stopped. */
uint64_t node_server_clock(const struct node_server *s);

/* Cleanly: make a checkpoint if there is a store and something to keep, say good-bye with @text,
 * end. stopped() follows. After ready(), once. */
void node_server_stop(struct node_server *s, const char *text);

#endif
