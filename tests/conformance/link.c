/* Links, raws and doors. */

#include "link.h"

#include "base/hash.h"

#include <stdio.h>

uint64_t conf_hash_add(uint64_t hash, const void *bytes, size_t size)
{
    return hash * 0x9e3779b97f4a7c15u + hash_bytes(bytes, size);
}

static void link_opened(struct net_conn *conn, void *user)
{
    struct conf_link *link = user;

    assert_int_equal(link->side->world->calls, 0);
    assert_ptr_equal(conn, link->conn);
    assert_int_equal(link->opened + link->closed, 0);
    link->opened++;
    if (link->on_opened != NULL) {
        link->on_opened(link);
    }
}

static enum err link_frame(struct net_conn *conn, const struct net_frame *frame, void *user)
{
    struct conf_link *link = user;

    assert_int_equal(link->side->world->calls, 0);
    assert_ptr_equal(conn, link->conn);
    assert_true(link->opened == 1 && link->closed == 0);
    link->frames++;
    link->bytes += frame->header.body_bytes;
    link->hash = conf_hash_add(link->hash, frame->body, frame->header.body_bytes);
    return link->on_frame == NULL ? OK : link->on_frame(link, frame);
}

static void link_writable(struct net_conn *conn, enum net_priority priority, void *user)
{
    struct conf_link *link = user;

    assert_int_equal(link->side->world->calls, 0);
    assert_ptr_equal(conn, link->conn);
    assert_true(link->opened == 1 && link->closed == 0);
    link->writable[priority]++;
    if (link->on_writable != NULL) {
        link->on_writable(link, priority);
    }
}

static void link_closed(struct net_conn *conn, enum err why, const char *text, void *user)
{
    struct conf_link *link = user;

    assert_int_equal(link->side->world->calls, 0);
    assert_ptr_equal(conn, link->conn);
    assert_int_equal(link->closed, 0);
    link->closed++;
    link->why = why;
    (void)snprintf(link->text.text, sizeof(link->text.text), "%s", text);
    link->conn = NULL;
    if (link->on_closed != NULL) {
        link->on_closed(link);
    }
}

static const struct net_conn_events link_events = {
    .opened = link_opened,
    .frame = link_frame,
    .writable = link_writable,
    .closed = link_closed,
};

static void link_end(void *thing)
{
    struct conf_link *link = thing;

    net_conn_abandon(link->conn);
    link->conn = NULL;
}

struct conf_link *conf_link_new(struct conf_side *side)
{
    struct conf_link *link = conf_new(side, sizeof(*link), link_end);

    link->side = side;
    return link;
}

enum err conf_link_take(struct conf_link *link, struct net_stream *stream)
{
    struct net_conn_config config = {
        .loop = link->side->loop,
        .pool = link->side->pool,
        .counters = &link->side->counters,
        .heartbeat_ns = link->heartbeat_ns,
        .stranger_ns = link->stranger_ns,
        .events = &link_events,
        .user = link,
    };
    enum err rc;

    CONF_CALL(link->side->world, rc = net_conn_create(&config, stream, &link->conn));
    if (rc != OK) {
        link->conn = NULL;
        stream->ops->destroy(stream, true);
    }
    return rc;
}

void conf_link_dial(struct conf_link *link, const struct net_address *to)
{
    struct net_transport *t = link->side->transport;
    struct net_stream *stream;
    enum err rc;

    CONF_CALL(link->side->world, rc = t->ops->dial(t, to, &stream));
    if (rc == OK) {
        rc = conf_link_take(link, stream);
    }
    if (rc != OK) {
        link->closed++;
        link->why = rc;
    }
}

static void raw_read(struct conf_raw *raw)
{
    static uint8_t sink[65536];
    struct iovec iov = {sink, sizeof(sink)};
    size_t n = 0;
    enum err rc = raw->stream->ops->read(raw->stream, &iov, 1, &n);

    if (rc == ERR_AGAIN) {
        return;
    }
    if (rc != OK) {
        raw->failed = true;
        raw->failure = rc;
        raw->why = raw->stream->why;
        raw->stream->ops->want(raw->stream, 0);
        return;
    }
    if (raw->got < sizeof(raw->bytes)) {
        size_t room = sizeof(raw->bytes) - raw->got;

        memcpy(raw->bytes + raw->got, sink, n < room ? n : room);
    }
    raw->got += n;
}

static void raw_event(struct net_stream *stream, int events, void *user)
{
    struct conf_raw *raw = user;

    assert_int_equal(raw->side->world->calls, 0);
    if (events & NET_STREAM_FAILED) {
        raw->failed = true;
        raw->failure = stream->failure;
        raw->why = stream->why;
        conf_raw_end(raw, true);
        return;
    }
    if (events & NET_STREAM_OPENED) {
        raw->opened = true;
        stream->ops->want(stream, raw->deaf ? 0 : NET_STREAM_READABLE);
    }
    if ((events & NET_STREAM_READABLE) && !raw->deaf) {
        raw_read(raw);
    }
}

static void raw_end(void *thing)
{
    conf_raw_end(thing, true);
}

struct conf_raw *conf_raw_new(struct conf_side *side)
{
    struct conf_raw *raw = conf_new(side, sizeof(*raw), raw_end);

    raw->side = side;
    return raw;
}

void conf_raw_take(struct conf_raw *raw, struct net_stream *stream)
{
    raw->stream = stream;
    stream->event = raw_event;
    stream->user = raw;
}

void conf_raw_dial(struct conf_raw *raw, const struct net_address *to)
{
    struct net_transport *t = raw->side->transport;
    struct net_stream *stream;
    enum err rc;

    CONF_CALL(raw->side->world, rc = t->ops->dial(t, to, &stream));
    if (rc != OK) {
        raw->failed = true;
        raw->failure = rc;
        return;
    }
    conf_raw_take(raw, stream);
}

void conf_raw_end(struct conf_raw *raw, bool abort)
{
    if (raw->stream != NULL) {
        raw->stream->ops->destroy(raw->stream, abort);
        raw->stream = NULL;
    }
}

void conf_raw_write(struct conf_raw *raw, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;

    while (size > 0 && raw->stream != NULL && !raw->failed) {
        struct iovec iov = {(void *)(uintptr_t)at, size};
        size_t n = 0;
        enum err rc = raw->stream->ops->write(raw->stream, &iov, 1, &n);

        if (rc == ERR_AGAIN) {
            (void)conf_step(raw->side->world, conf_now_ns(raw->side->world) + CONF_MS);
            continue;
        }
        if (rc != OK) {
            raw->failed = true;
            raw->failure = rc;
            return;
        }
        at += n;
        size -= n;
    }
}

static void faulty_end(void *thing)
{
    (void)thing;
}

struct faulty_transport *conf_faulty(struct conf_side *side)
{
    struct faulty_transport *t = conf_new(side, sizeof(*t), faulty_end);

    faulty_transport_init(t, side->transport, side->loop);
    side->transport = &t->base;
    return t;
}

static void door_accepted(struct net_stream *stream, const struct net_source *source, void *user)
{
    struct conf_door *door = user;
    uint32_t guest = door->guests++;

    assert_int_equal(door->side->world->calls, 0);
    if (stream == NULL) {
        return; /* There was no memory for it. */
    }
    assert_true(source->text[0] != '\0');
    if (guest < CONF_GUESTS_MAX && door->links[guest] != NULL) {
        (void)!conf_link_take(door->links[guest], stream);
    } else if (door->raw != NULL && door->raw->stream == NULL) {
        conf_raw_take(door->raw, stream);
    } else {
        stream->ops->destroy(stream, true);
    }
}

static void door_end(void *thing)
{
    struct conf_door *door = thing;

    if (door->listener != NULL) {
        door->listener->ops->destroy(door->listener);
        door->listener = NULL;
    }
}

struct conf_door *conf_door_open(struct conf_side *side)
{
    struct conf_door *door = conf_new(side, sizeof(*door), door_end);
    struct net_accept accept = {NULL, door_accepted, door};
    struct err_text text = {0};
    enum err rc;

    door->side = side;
    CONF_CALL(side->world, rc = side->transport->ops->listen(side->transport, &side->world->at,
                                                             &accept, &door->listener, &text));
    if (rc != OK) {
        door->listener = NULL;
    }
    return door;
}

void conf_pair_open(struct conf_pair *pair, struct conf_world *w)
{
    *pair = (struct conf_pair){.world = w};
    pair->a = conf_link_new(&w->a);
    pair->b = conf_link_new(&w->b);
    pair->door = conf_door_open(&w->b);
    assert_non_null(pair->door->listener);
    pair->door->links[0] = pair->b;
}

bool conf_link_opened(void *user)
{
    struct conf_link *link = user;

    return link->opened > 0;
}

bool conf_link_closed(void *user)
{
    struct conf_link *link = user;

    return link->closed > 0;
}

bool conf_raw_opened(void *user)
{
    struct conf_raw *raw = user;

    return raw->opened;
}

bool conf_raw_failed(void *user)
{
    struct conf_raw *raw = user;

    return raw->failed;
}

bool conf_pair_opened(void *user)
{
    struct conf_pair *pair = user;

    return pair->a->opened > 0 && pair->b->opened > 0;
}

bool conf_pair_closed(void *user)
{
    struct conf_pair *pair = user;

    return pair->a->closed > 0 && pair->b->closed > 0;
}

void conf_pair_wait(struct conf_pair *pair)
{
    conf_link_dial(pair->a, &pair->door->listener->address);
    conf_until(pair->world, conf_pair_opened, pair, CONF_LIMIT_NS);
}

void conf_pair_close(struct conf_pair *pair)
{
    CONF_CALL(pair->world, net_conn_close(pair->a->conn, OK, NULL));
    conf_until(pair->world, conf_pair_closed, pair, CONF_LIMIT_NS);
    assert_int_equal(pair->a->why, OK);
    assert_int_equal(pair->b->why, ERR_CLOSED);
}

enum wire_type conf_data_type(const struct conf_side *side)
{
    return side->identity.role == WIRE_ROLE_WORKER ? WIRE_ROWS_PUSH : WIRE_ROWS_VALUES;
}

struct buf *conf_body(struct conf_side *side, size_t size, uint64_t seed)
{
    struct buf *body;
    uint8_t *bytes;
    uint64_t x = seed * 0x9e3779b97f4a7c15u + 1;

    if (buf_take(side->pool, WIRE_HEADER_BYTES, size, &body) != OK) {
        return NULL;
    }
    bytes = buf_append(body, size);
    for (size_t i = 0; i + 8 <= size; i += 8, x = x * 6364136223846793005u + 1442695040888963407u) {
        memcpy(bytes + i, &x, 8);
    }
    for (size_t i = size & ~(size_t)7; i < size; i++) {
        bytes[i] = (uint8_t)(seed + i);
    }
    return body;
}

struct wire_header conf_header(enum wire_type type, const struct buf *body)
{
    return (struct wire_header){.version = WIRE_VERSION_MAX,
                                .type = (uint8_t)type,
                                .body_bytes = buf_size(body),
                                .body_check = hash_bytes(buf_bytes(body), buf_size(body))};
}

enum err conf_send(struct conf_link *link, enum net_priority priority, size_t size, uint64_t seed)
{
    struct buf *body = conf_body(link->side, size, seed);
    struct wire_header header;
    enum err rc;

    if (body == NULL) {
        return ERR_NOMEM;
    }
    header = conf_header(priority == NET_DATA ? conf_data_type(link->side) : WIRE_CONTROL, body);
    header.clock = seed;
    CONF_CALL(link->side->world, rc = net_conn_send(link->conn, priority, &header, body));
    if (rc != OK) {
        buf_unref(body);
    }
    return rc;
}

size_t conf_encode(enum wire_type type, const void *body, size_t size, uint8_t *out)
{
    struct wire_header header = {.version = WIRE_VERSION_MAX,
                                 .type = (uint8_t)type,
                                 .body_bytes = (uint32_t)size,
                                 .body_check = hash_bytes(body, size)};

    wire_header_encode(&header, out);
    memcpy(out + WIRE_HEADER_BYTES, body, size);
    return WIRE_HEADER_BYTES + size;
}
