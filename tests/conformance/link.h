/* Connections for tests: what a net_conn calls is counted and handed to hooks; and raw streams, for
 * ends that do not behave. */

#ifndef CONFORMANCE_LINK_H
#define CONFORMANCE_LINK_H

#include "fixture.h"

#include "faulty_stream.h"
#include "net/session/conn.h"

/* One connection. Hooks may be NULL. */
struct conf_link {
    struct conf_side *side;
    struct net_conn *conn; /* NULL once closed. */
    int64_t heartbeat_ns;
    int64_t stranger_ns;
    uint32_t opened;
    uint32_t closed;
    uint32_t writable[NET_PRIORITIES];
    uint32_t frames;
    uint64_t bytes; /* Of bodies. */
    uint64_t hash;  /* Of all bodies, in order. */
    enum err why;
    struct err_text text;
    void (*on_opened)(struct conf_link *link);
    enum err (*on_frame)(struct conf_link *link, const struct net_frame *frame);
    void (*on_writable)(struct conf_link *link, enum net_priority priority);
    void (*on_closed)(struct conf_link *link);
    void *user;
};

struct conf_link *conf_link_new(struct conf_side *side);

/* Make a connection of a stream that has not opened yet. */
MUST_USE enum err conf_link_take(struct conf_link *link, struct net_stream *stream);

/* Dial with the side's transport. A failure to start is put into the link as if closed. */
void conf_link_dial(struct conf_link *link, const struct net_address *to);

/* A stream without a connection. */
struct conf_raw {
    struct conf_side *side;
    struct net_stream *stream; /* NULL once destroyed. */
    bool deaf;                 /* Never reads. */
    bool opened;
    bool failed;
    enum err failure;
    struct err_text why;
    uint64_t got;
    uint8_t bytes[4096]; /* The first that came. */
};

struct conf_raw *conf_raw_new(struct conf_side *side);
void conf_raw_take(struct conf_raw *raw, struct net_stream *stream);
void conf_raw_dial(struct conf_raw *raw, const struct net_address *to);
void conf_raw_end(struct conf_raw *raw, bool abort);

/* Write all, running the world meanwhile. */
void conf_raw_write(struct conf_raw *raw, const void *bytes, size_t size);

/* Put a faulty transport in front of the side's own. */
struct faulty_transport *conf_faulty(struct conf_side *side);

/* A listener that hands what comes to links, raws or both, in the order they were set. */
enum { CONF_GUESTS_MAX = 4 };

struct conf_door {
    struct conf_side *side;
    struct net_listener *listener;
    struct conf_link *links[CONF_GUESTS_MAX];
    struct conf_raw *raw;
    uint32_t guests;
};

struct conf_door *conf_door_open(struct conf_side *side);

/* Both ends of a connection. */
struct conf_pair {
    struct conf_world *world;
    struct conf_door *door;
    struct conf_link *a;
    struct conf_link *b;
};

/* Listen and dial; the links may still be changed before conf_pair_wait(). */
void conf_pair_open(struct conf_pair *pair, struct conf_world *w);
void conf_pair_wait(struct conf_pair *pair);

/* Close at a, and wait for both ends. */
void conf_pair_close(struct conf_pair *pair);

/* Conditions; @user is a struct conf_link, conf_raw or conf_pair. */
bool conf_link_opened(void *user);
bool conf_link_closed(void *user);
bool conf_raw_opened(void *user);
bool conf_raw_failed(void *user);
bool conf_pair_opened(void *user);
bool conf_pair_closed(void *user);

/* The type of data that a side may send with any body up to 4 MiB. */
enum wire_type conf_data_type(const struct conf_side *side);

/* A body whose bytes depend on @seed. */
struct buf *conf_body(struct conf_side *side, size_t size, uint64_t seed);

/* A header for that body. */
struct wire_header conf_header(enum wire_type type, const struct buf *body);

/* Send a data frame or a control frame with that body; clock = @seed. On failure nothing is kept.
 */
enum err conf_send(struct conf_link *link, enum net_priority priority, size_t size, uint64_t seed);

/* Encode a whole frame to @out; returns its size. */
size_t conf_encode(enum wire_type type, const void *body, size_t size, uint8_t *out);

uint64_t conf_hash_add(uint64_t hash, const void *bytes, size_t size);

#endif
