/* Two lanes of two sites on one loop, each with its own metrics. */

#ifndef NODE_TESTING_DUO_H
#define NODE_TESTING_DUO_H

#include "node/site/between.h"
#include "node/testing.h"

enum { DUO_FIRST_PORT = 20000, DUO_PORTS = 12000, DUO_TRIES = 50 };

struct duo {
    struct loop *loop;
    struct net_socket_transport transport;
    struct obs_registry *registries[2];
    struct node_other_site others[2];
    struct node_between betweens[2];
    struct node_lane *lanes[2];
    uint64_t lives;
    bool strangers; /* Neither is told of the other. */
};

static inline bool duo_start(struct duo *d, int i)
{
    static const char *const names[] = {"east", "west"};
    struct node_lane_config config = {
        .loop = d->loop,
        .registry = d->registries[i],
        .transport = &d->transport.base,
        .incarnation = d->lives + 1,
        .seed = ++d->lives,
        .insecure = true,
        .site = testing_site_of("bsp", 0, NODE_PULL, 1, 1),
        .between = d->strangers ? NULL : &d->betweens[i],
        .listen = d->others[1 - i].first,
    };
    struct node_place place = {.lane = 0};
    struct err_text text = {""};

    (void)snprintf(config.site.name, sizeof(config.site.name), "%s", names[i]);
    (void)snprintf(d->others[1 - i].name, sizeof(d->others[1 - i].name), "%s", names[i]);
    assert_int_equal(pki_identity_make(WIRE_ROLE_SERVER, names[i], "s0", &config.identity, NULL),
                     OK);
    assert_int_equal(node_lane_create(&config, &d->lanes[i], &text), OK);
    if (node_lane_listen(d->lanes[i], &text) != OK) {
        node_lane_destroy(d->lanes[i]);
        d->lanes[i] = NULL;
        assert_non_null(strstr(text.text, "in use"));
        return false;
    }
    (void)net_address_format(node_lane_address(d->lanes[i]), place.address);
    assert_int_equal(node_lane_tell(d->lanes[i], &place, 1), OK);
    return true;
}

/* What is not by default stands before duo_open(). */
static inline void duo_init(struct duo *d)
{
    *d = (struct duo){.loop = NULL};
    assert_int_equal(loop_create(&d->loop), OK);
    net_socket_transport_init(&d->transport, d->loop, NULL);
    (void)snprintf(d->others[0].name, sizeof(d->others[0].name), "west");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(obs_registry_create(512, &d->registries[i]), OK);
        node_between_init(&d->betweens[i]);
        d->betweens[i].others = &d->others[i];
        d->betweens[i].others_count = 1;
    }
}

static inline void duo_open(struct duo *d)
{
    bool both = false;

    for (unsigned tries = 0; !both; tries++) {
        assert_true(tries < DUO_TRIES);
        for (unsigned i = 0; i < 2; i++) {
            struct net_address *at = &d->others[1 - i].first;

            *at = (struct net_address){.scheme = NET_SCHEME_TCP, .host = "127.0.0.1"};
            (void)snprintf(at->port, sizeof(at->port), "%u",
                           DUO_FIRST_PORT + (7919 * tries + 4001 * i + 17) % DUO_PORTS);
        }
        both = duo_start(d, 0) && duo_start(d, 1);
        for (int i = 0; i < 2 && !both; i++) {
            node_lane_destroy(d->lanes[i]);
            d->lanes[i] = NULL;
        }
    }
}

static inline void duo_close(struct duo *d)
{
    for (int i = 0; i < 2; i++) {
        node_lane_destroy(d->lanes[i]);
        obs_registry_destroy(d->registries[i]);
    }
    loop_destroy(d->loop);
}

#endif
