/* Servers for tests: their owner, and workers on the owner's loop. */

#ifndef NODE_SERVER_TESTING_H
#define NODE_SERVER_TESTING_H

#include "node/server/server.h"
#include "node/testing.h"

#include <ftw.h>
#include <jansson.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROWS = 400, WIDTH = 1000 };

/* The owner, and what it was told. */
struct owner {
    struct loop *loop;
    struct node_server *server;
    bool listening, ready, stopped, failed;
    enum err rc;
    char text[512];
    json_t *status;
    uint32_t answers;
};

static inline void owner_listening(struct node_server *s, void *user)
{
    struct owner *o = user;

    (void)s;
    o->listening = true;
}

static inline void owner_failed(struct node_server *s, enum err rc, const char *text, void *user)
{
    struct owner *o = user;

    (void)s;
    o->failed = true;
    o->rc = rc;
    (void)snprintf(o->text, sizeof(o->text), "%s", text);
}

static inline void owner_ready(struct node_server *s, void *user)
{
    struct owner *o = user;

    (void)s;
    o->ready = true;
}

static inline void owner_stopped(struct node_server *s, enum err rc, const char *text, void *user)
{
    struct owner *o = user;

    (void)s;
    o->stopped = true;
    o->rc = rc;
    (void)snprintf(o->text, sizeof(o->text), "%s", text);
}

static const struct node_server_events owner_events = {
    .listening = owner_listening,
    .failed = owner_failed,
    .ready = owner_ready,
    .stopped = owner_stopped,
};

static inline void owner_answered(uint32_t index, struct json_t *status, void *user)
{
    struct owner *o = user;

    (void)index;
    json_decref(o->status);
    o->status = status;
    o->answers++;
}

/* Turn the loop until one of the two is true. */
static inline void owner_wait(struct owner *o, const bool *this, const bool *that)
{
    int64_t until = loop_now_ns(o->loop) + (int64_t)TESTING_WAIT_S * 1000000000;

    while (!*this && !*that) {
        assert_true(loop_now_ns(o->loop) < until);
        loop_turn(o->loop, 100000000);
    }
}

static inline struct node_server_config config_of(struct owner *o, const struct node_site *site)
{
    struct node_server_config config = {
        .loop = o->loop,
        .site = *site,
        .lanes = site->lanes,
        .listen = {.scheme = NET_SCHEME_TCP, .host = "127.0.0.1", .port = "0"},
        .events = &owner_events,
        .user = o,
    };

    assert_int_equal(pki_identity_make(WIRE_ROLE_SERVER, site->name, "s0", &config.identity, NULL),
                     OK);
    return config;
}

static inline void owner_start(struct owner *o, const struct node_server_config *config)
{
    struct err_text text = {""};

    o->listening = o->ready = o->stopped = o->failed = false;
    if (node_server_create(config, &o->server, &text) != OK) {
        fail_msg("%s", text.text);
    }
    owner_wait(o, &o->listening, &o->failed);
    if (o->failed) {
        fail_msg("%s", o->text);
    }
    node_server_tell(o->server, NULL);
    owner_wait(o, &o->ready, &o->failed);
    assert_true(o->ready);
}

static inline void owner_stop(struct owner *o)
{
    node_server_stop(o->server, "the test is over");
    owner_wait(o, &o->stopped, &o->failed);
    if (o->rc != OK) {
        fail_msg("%s", o->text);
    }
    node_server_destroy(o->server);
    o->server = NULL;
}

static inline const json_t *owner_ask(struct owner *o, uint32_t index)
{
    uint32_t before = o->answers;
    int64_t until = loop_now_ns(o->loop) + (int64_t)TESTING_WAIT_S * 1000000000;

    assert_true(node_server_ask(o->server, index, owner_answered, o));
    assert_false(node_server_ask(o->server, index, owner_answered, o));
    while (o->answers == before) {
        assert_true(loop_now_ns(o->loop) < until);
        loop_turn(o->loop, 100000000);
    }
    assert_non_null(o->status);
    return o->status;
}

static inline void owner_close(struct owner *o)
{
    json_decref(o->status);
    node_server_destroy(o->server);
    loop_destroy(o->loop);
}

static inline struct owner owner_open(void)
{
    struct owner o = {.loop = NULL};

    assert_int_equal(loop_create(&o.loop), OK);
    return o;
}

/* Workers on the owner's loop. */
struct crew {
    struct node_testing_site t;
    uint16_t table;
    uint32_t count;
    uint64_t elements;
};

static inline struct table_schema crew_schema(uint64_t rows)
{
    struct table_schema_text in = {.name = "model", .rows = rows, .width = WIDTH};
    struct table_schema out;

    assert_int_equal(table_schema_parse(&in, &out, NULL), OK);
    return out;
}

static inline void crew_open_rows(struct crew *c, struct owner *o, uint32_t count, uint64_t lives,
                                  uint64_t rows)
{
    const struct net_address *first = node_server_told(o->server, 0);
    struct table_schema schema = crew_schema(rows);
    struct node_op ops[TESTING_WORKERS] = {0};

    *c = (struct crew){
        .t = {.loop = o->loop, .lives = lives}, .count = count, .elements = rows * WIDTH};
    assert_int_equal(obs_registry_create(512, &c->t.registry), OK);
    net_socket_transport_init(&c->t.transport, o->loop, NULL);
    for (uint32_t i = 0; i < count; i++) {
        testing_worker_start_at(&c->t, i, first);
        node_worker_table(c->t.workers[i], &schema, &ops[i]);
    }
    testing_done(&c->t, ops, count);
    c->table = (uint16_t)ops[0].value;
    for (uint32_t i = 0; i < count; i++) {
        node_worker_join(c->t.workers[i], &ops[i]);
    }
    testing_done(&c->t, ops, count);
}

static inline void crew_open(struct crew *c, struct owner *o, uint32_t count, uint64_t lives)
{
    crew_open_rows(c, o, count, lives, ROWS);
}

/* All push one to every element, and end the clock. */
static inline void crew_round(struct crew *c)
{
    struct node_op ops[TESTING_WORKERS] = {0};
    float *ones = malloc(sizeof(float) * c->elements);

    assert_non_null(ones);
    for (uint64_t i = 0; i < c->elements; i++) {
        ones[i] = 1;
    }
    for (uint32_t i = 0; i < c->count; i++) {
        node_worker_push(c->t.workers[i], c->table, 0, c->elements, ones, 1, &ops[i]);
    }
    testing_done(&c->t, ops, c->count);
    for (uint32_t i = 0; i < c->count; i++) {
        node_worker_clock(c->t.workers[i], 1, &ops[i]);
    }
    testing_done(&c->t, ops, c->count);
    free(ones);
}

/* Every element, as the first worker reads it. */
static inline void crew_expect(struct crew *c, float expected)
{
    float *values = calloc(c->elements, sizeof(float));
    struct node_op op = {0};

    assert_non_null(values);
    node_worker_read(c->t.workers[0], c->table, 0, c->elements, values, &op);
    testing_done(&c->t, &op, 1);
    for (uint64_t i = 0; i < c->elements; i++) {
        assert_float_equal(values[i], expected, 0);
    }
    free(values);
}

static inline void crew_close(struct crew *c)
{
    for (uint32_t i = 0; i < TESTING_WORKERS; i++) {
        testing_worker_stop(&c->t, i);
    }
    obs_registry_destroy(c->t.registry);
}

static inline void crew_leave(struct crew *c)
{
    struct node_op ops[TESTING_WORKERS] = {0};

    for (uint32_t i = 0; i < c->count; i++) {
        node_worker_leave(c->t.workers[i], &ops[i]);
    }
    testing_done(&c->t, ops, c->count);
}

static inline uint64_t number_of(const json_t *status, const char *key)
{
    assert_true(json_is_integer(json_object_get(status, key)));
    return (uint64_t)json_integer_value(json_object_get(status, key));
}

static inline int remove_one(const char *path, const struct stat *st, int flag, struct FTW *at)
{
    (void)st;
    (void)flag;
    (void)at;
    return remove(path);
}

static inline void remove_folder(const char *path)
{
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
