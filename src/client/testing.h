/* A site for tests of the library: a server whose lanes have threads of their own, as a real one
 * has. CHECK and not assertions: lanes are on other threads, and programs use it too. */

#ifndef CLIENT_TESTING_H
#define CLIENT_TESTING_H

#include "base/mem.h"
#include "loop/clock.h"
#include "loop/lane.h"
#include "net/stream/socket.h"
#include "net/stream/tls.h"
#include "node/lane/lane.h"
#include "obs/metric.h"
#include "store/memory.h"

#include <semaphore.h>
#include <stdio.h>
#include <strait.h>
#include <string.h>

enum { TESTING_LANES_MAX = 4, TESTING_OPTIONS_BYTES = 1024 };

/* Long enough for whatever must happen, under any sanitizer. */
#define TESTING_LIMIT_S 60.0

struct client_testing_site;

struct testing_lane {
    struct client_testing_site *site;
    uint32_t number;
    struct lane *lane;
    struct node_lane *node; /* NULL: killed. */
    struct obs_registry *registry;
    struct net_socket_transport plain;
    struct net_tls_transport *tls;
    struct store *store; /* NULL: none. */
    struct net_address address;
};

struct client_testing_site {
    struct node_site site;
    const char *certs; /* A folder with the files of the member "server"; NULL: without TLS. */
    const char *unix_path;
    bool stored; /* Keep checkpoints. */
    uint64_t lives;
    struct testing_lane lanes[TESTING_LANES_MAX];
};

struct testing_errand {
    void (*run)(struct testing_lane *l);
    struct testing_lane *lane;
    sem_t done;
};

static inline void testing_errand_run(void *user)
{
    struct testing_errand *e = user;

    e->run(e->lane);
    CHECK(sem_post(&e->done) == 0);
}

/* Run something on a lane's thread, and wait for it. */
static inline void testing_on_lane(struct testing_lane *l, void (*run)(struct testing_lane *l))
{
    struct testing_errand e = {.run = run, .lane = l};

    CHECK(sem_init(&e.done, 0, 0) == 0);
    CHECK(lane_post(l->lane, testing_errand_run, &e) == OK);
    while (sem_wait(&e.done) != 0) {
    }
    CHECK(sem_destroy(&e.done) == 0);
}

static inline struct net_address testing_listen_address(const struct client_testing_site *t)
{
    struct net_address at = {.scheme = t->certs != NULL ? NET_SCHEME_TLS : NET_SCHEME_TCP,
                             .host = "127.0.0.1",
                             .port = "0"};

    if (t->unix_path != NULL) {
        at = (struct net_address){.scheme = NET_SCHEME_UNIX};
        (void)snprintf(at.host, sizeof(at.host), "%s", t->unix_path);
    }
    return at;
}

static inline void testing_lane_tls(struct testing_lane *l, struct node_lane_config *config)
{
    char cert[256], key[256], ca[256];
    struct net_tls_config tls = {.cert_path = cert,
                                 .key_path = key,
                                 .ca_path = ca,
                                 .roles_accepted = WIRE_ROLE_WORKER | WIRE_ROLE_SERVER,
                                 .roles_dialled = WIRE_ROLE_SERVER};
    struct err_text text = {""};

    (void)snprintf(cert, sizeof(cert), "%s/server.crt", l->site->certs);
    (void)snprintf(key, sizeof(key), "%s/server.key", l->site->certs);
    (void)snprintf(ca, sizeof(ca), "%s/ca.crt", l->site->certs);
    CHECK(net_tls_transport_create(config->loop, &tls, &l->tls, &text) == OK);
    config->transport = net_tls_transport_base(l->tls);
    config->identity = *net_tls_identity(l->tls);
}

static inline void testing_lane_open(struct testing_lane *l)
{
    struct client_testing_site *t = l->site;
    struct node_lane_config config = {
        .loop = lane_loop(l->lane),
        .incarnation = (t->lives + l->number) * 2 + 1,
        .seed = l->number,
        .insecure = t->certs == NULL,
        .site = t->site,
        .number = l->number,
        .listen = l->address.host[0] != '\0' ? l->address : testing_listen_address(t),
        .first = t->lanes[0].address,
        .grace_ns = INT64_C(3000000000),
    };
    struct store_memory_config memory = {.capacity_bytes = 1 << 30};
    struct node_place place = {.lane = l->number};
    struct err_text text = {""};
    char name[16];

    (void)snprintf(name, sizeof(name), "s%u", l->number);
    CHECK(obs_registry_create(512, &l->registry) == OK);
    config.registry = l->registry;
    if (t->stored && l->store == NULL) {
        CHECK(store_memory_create(&memory, config.loop, &l->store) == OK);
    }
    config.store = l->store;
    if (t->certs != NULL) {
        testing_lane_tls(l, &config);
    } else {
        net_socket_transport_init(&l->plain, config.loop, NULL);
        config.transport = &l->plain.base;
        CHECK(pki_identity_make(WIRE_ROLE_SERVER, "home", name, &config.identity, NULL) == OK);
    }
    CHECK(node_lane_create(&config, &l->node, &text) == OK);
    CHECK(node_lane_listen(l->node, &text) == OK);
    l->address = *node_lane_address(l->node);
    (void)net_address_format(&l->address, place.address);
    CHECK(node_lane_tell(l->node, &place, 1) == OK);
}

static inline void testing_lane_shut(struct testing_lane *l)
{
    node_lane_destroy(l->node);
    net_tls_transport_destroy(l->tls);
    obs_registry_destroy(l->registry);
    l->node = NULL;
    l->tls = NULL;
    l->registry = NULL;
}

static inline void testing_lane_end(struct testing_lane *l)
{
    testing_lane_shut(l);
    if (l->store != NULL) {
        l->store->ops->destroy(l->store);
    }
}

/* Kill a lane, and start it again at the same address as another process would. */
static inline void testing_lane_kill(struct client_testing_site *t, uint32_t number)
{
    testing_on_lane(&t->lanes[number], testing_lane_shut);
}

static inline void testing_lane_start(struct client_testing_site *t, uint32_t number)
{
    t->lives += TESTING_LANES_MAX;
    testing_on_lane(&t->lanes[number], testing_lane_open);
}

/* @t is zeroed but for .certs, .unix_path and .stored. */
static inline void testing_site_start(struct client_testing_site *t, const char *barrier,
                                      enum node_delivery delivery, uint32_t lanes, uint32_t workers)
{
    CHECK(lanes >= 1 && lanes <= TESTING_LANES_MAX);
    t->site = (struct node_site){
        .name = "home",
        .shards = lanes * 2,
        .lanes = lanes,
        .delivery = delivery,
        .sync = {.policy = sync_policy_find(barrier),
                 .staleness = strcmp(barrier, "ssp") == 0 ? 2 : 0,
                 .deadline_ns = INT64_C(120000000000),
                 .members_min = workers},
    };
    for (uint32_t i = 0; i < lanes; i++) {
        t->lanes[i] = (struct testing_lane){.site = t, .number = i};
        CHECK(lane_start("lane", &t->lanes[i].lane) == OK);
        testing_on_lane(&t->lanes[i], testing_lane_open);
    }
}

static inline void testing_site_stop(struct client_testing_site *t)
{
    for (uint32_t i = 0; i < t->site.lanes; i++) {
        testing_on_lane(&t->lanes[i], testing_lane_end);
        lane_stop(t->lanes[i].lane);
    }
}

/* The options with which a worker joins; @more is added to them, as ", \"rank\": 1". */
static inline const char *testing_options(const struct client_testing_site *t, const char *more,
                                          char *out)
{
    char address[NET_ADDRESS_BYTES];

    CHECK(snprintf(out, TESTING_OPTIONS_BYTES, "{\"join\": \"%s\"%s%s}",
                   net_address_format(&t->lanes[0].address, address),
                   t->certs == NULL ? ", \"insecure\": true" : "", more) < TESTING_OPTIONS_BYTES);
    return out;
}

#endif
