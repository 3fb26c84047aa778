/* A site on loopback for tests: lanes and workers on one real loop. */

#ifndef NODE_TESTING_H
#define NODE_TESTING_H

#include "base/buf.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "net/stream/socket.h"
#include "node/lane/lane.h"
#include "node/worker/worker.h"
#include "obs/metric.h"
#include "store/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { TESTING_LANES = 4, TESTING_WORKERS = 8, TESTING_WAIT_S = 60 };

struct node_testing_site {
    struct loop *loop;
    struct obs_registry *registry;
    struct net_socket_transport transport;
    struct node_site site;
    struct store *store;
    struct node_lane *lanes[TESTING_LANES];
    struct node_worker *workers[TESTING_WORKERS];
    struct buf_pool *pools[TESTING_WORKERS];
    uint64_t lives;
    uint16_t streams;                    /* Of each worker; zero: one. */
    uint64_t in_flight_bytes;            /* Of each lane; zero: its own idea. */
    uint64_t table_bytes[TESTING_LANES]; /* That tables may need; zero: no limit. */
};

static inline struct node_site testing_site_of(const char *barrier, uint64_t staleness,
                                               enum node_delivery delivery, uint32_t lanes,
                                               uint32_t workers)
{
    return (struct node_site){
        .name = "home",
        .shards = lanes * 2,
        .lanes = lanes,
        .delivery = delivery,
        .sync = {.policy = sync_policy_find(barrier),
                 .staleness = staleness,
                 .deadline_ns = INT64_C(120000000000),
                 .members_min = workers},
    };
}

static inline void testing_lane_start_at(struct node_testing_site *t, uint32_t number,
                                         const struct net_address *listen)
{
    struct node_lane_config config = {
        .loop = t->loop,
        .registry = t->registry,
        .transport = &t->transport.base,
        .incarnation = ++t->lives,
        .seed = t->lives,
        .insecure = true,
        .site = t->site,
        .number = number,
        .listen = *listen,
        .store = t->store,
        .in_flight_bytes = t->in_flight_bytes,
        .table_bytes = t->table_bytes[number],
    };
    struct err_text text = {""};
    struct node_place place;
    char name[16];

    (void)snprintf(name, sizeof(name), "s%u", number);
    assert_int_equal(pki_identity_make(WIRE_ROLE_SERVER, "home", name, &config.identity, &text),
                     OK);
    if (number > 0) {
        config.first = *node_lane_address(t->lanes[0]);
    }
    if (node_lane_create(&config, &t->lanes[number], &text) != OK ||
        node_lane_listen(t->lanes[number], &text) != OK) {
        fail_msg("%s", text.text);
    }
    place.lane = number;
    (void)net_address_format(node_lane_address(t->lanes[number]), place.address);
    assert_int_equal(node_lane_tell(t->lanes[number], &place, 1), OK);
}

static inline void testing_lane_start(struct node_testing_site *t, uint32_t number)
{
    struct net_address any = {.scheme = NET_SCHEME_TCP, .host = "127.0.0.1", .port = "0"};

    testing_lane_start_at(t, number, &any);
}

/* As if its process had been killed and started again. */
static inline void testing_lane_restart(struct node_testing_site *t, uint32_t number)
{
    struct net_address at = *node_lane_address(t->lanes[number]);

    node_lane_destroy(t->lanes[number]);
    if (t->store != NULL) {
        store_memory_crash(t->store);
    }
    testing_lane_start_at(t, number, &at);
}

static inline void testing_worker_start_at(struct node_testing_site *t, uint32_t rank,
                                           const struct net_address *first)
{
    struct node_worker_config config = {
        .loop = t->loop,
        .registry = t->registry,
        .transport = &t->transport.base,
        .incarnation = ++t->lives,
        .seed = t->lives,
        .insecure = true,
        .rank = rank,
        .streams = t->streams,
        .first = *first,
    };
    char name[16];

    (void)snprintf(name, sizeof(name), "w%u", rank);
    assert_int_equal(pki_identity_make(WIRE_ROLE_WORKER, "home", name, &config.identity, NULL), OK);
    assert_int_equal(buf_pool_create(UINT64_C(1) << 30, &t->pools[rank]), OK);
    config.pool = t->pools[rank];
    assert_int_equal(node_worker_create(&config, &t->workers[rank]), OK);
}

static inline void testing_worker_start(struct node_testing_site *t, uint32_t rank)
{
    testing_worker_start_at(t, rank, node_lane_address(t->lanes[0]));
}

static inline void testing_worker_stop(struct node_testing_site *t, uint32_t rank)
{
    node_worker_destroy(t->workers[rank]);
    buf_pool_destroy(t->pools[rank]);
    t->workers[rank] = NULL;
    t->pools[rank] = NULL;
}

/* Settings of @t that are not by default stand before its members are started. */
static inline void testing_site_init(struct node_testing_site *t, const struct node_site *site)
{
    *t = (struct node_testing_site){.site = *site};
    assert_int_equal(loop_create(&t->loop), OK);
    assert_int_equal(obs_registry_create(512, &t->registry), OK);
    net_socket_transport_init(&t->transport, t->loop, NULL);
}

static inline void testing_site_start(struct node_testing_site *t)
{
    const struct node_site *site = &t->site;

    for (uint32_t i = 0; i < site->lanes; i++) {
        testing_lane_start(t, i);
    }
    for (uint32_t i = 0; i < site->sync.members_min; i++) {
        testing_worker_start(t, i);
    }
}

static inline void testing_site_open(struct node_testing_site *t, const struct node_site *site)
{
    testing_site_init(t, site);
    testing_site_start(t);
}

static inline void testing_site_close(struct node_testing_site *t)
{
    for (uint32_t i = 0; i < TESTING_WORKERS; i++) {
        testing_worker_stop(t, i);
    }
    for (uint32_t i = 0; i < TESTING_LANES; i++) {
        node_lane_destroy(t->lanes[i]);
    }
    obs_registry_destroy(t->registry);
    loop_destroy(t->loop);
}

/* Drive the loop until all of @count operations are done. */
static inline void testing_wait(struct node_testing_site *t, struct node_op *ops, uint32_t count)
{
    int64_t until = loop_now_ns(t->loop) + (int64_t)TESTING_WAIT_S * 1000000000;

    for (uint32_t i = 0; i < count; i++) {
        while (!ops[i].done) {
            for (uint32_t l = 0; l < TESTING_LANES; l++) {
                const char *broken = t->lanes[l] == NULL ? NULL : node_lane_broken(t->lanes[l]);

                if (broken != NULL) {
                    fail_msg("%s", broken);
                }
            }
            if (loop_now_ns(t->loop) > until) {
                char why[512] = "nothing";

                for (uint32_t w = 0; w < TESTING_WORKERS; w++) {
                    if (t->workers[w] != NULL && node_worker_why(t->workers[w], why, sizeof(why))) {
                        print_message("worker %u waits: %s\n", w, why);
                    }
                }
                fail_msg("operation %u never ends", i);
            }
            loop_turn(t->loop, 100000000);
        }
    }
}

/* The same, and all must have gone well. */
static inline void testing_done(struct node_testing_site *t, struct node_op *ops, uint32_t count)
{
    testing_wait(t, ops, count);
    for (uint32_t i = 0; i < count; i++) {
        if (ops[i].rc != OK) {
            fail_msg("operation %u: %s (%s)", i, ops[i].text.text, err_string(ops[i].rc));
        }
    }
}

#endif
