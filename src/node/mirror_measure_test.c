/* The metrics of a lane that shares with another site. */

#include "node/between.h"
#include "node/testing.h"
#include "obs/snapshot.h"

enum { SNAPSHOT_BYTES = 1 << 18, FIRST_PORT = 20000, PORTS = 12000, TRIES = 50 };

/* Two lanes of two sites, each with its own metrics. */
struct duo {
    struct loop *loop;
    struct net_socket_transport transport;
    struct obs_registry *registries[2];
    struct node_other_site others[2];
    struct node_between betweens[2];
    struct node_lane *lanes[2];
};

static bool duo_start(struct duo *d, int i)
{
    static const char *const names[] = {"east", "west"};
    struct node_lane_config config = {
        .loop = d->loop,
        .registry = d->registries[i],
        .transport = &d->transport.base,
        .incarnation = (uint64_t)i + 1,
        .seed = (uint64_t)i + 1,
        .insecure = true,
        .site = testing_site_of("bsp", 0, NODE_PULL, 1, 1),
        .between = &d->betweens[i],
        .listen = d->others[1 - i].first,
    };
    struct node_place place = {.lane = 0};
    struct err_text text = {""};

    (void)snprintf(config.site.name, sizeof(config.site.name), "%s", names[i]);
    (void)snprintf(d->others[1 - i].name, sizeof(d->others[1 - i].name), "%s", names[i]);
    assert_int_equal(pki_identity_make(WIRE_ROLE_SERVER, names[i], "s0", &config.identity, NULL),
                     OK);
    if (node_lane_create(&config, &d->lanes[i], &text) != OK) {
        assert_non_null(strstr(text.text, "in use"));
        return false;
    }
    (void)net_address_format(node_lane_address(d->lanes[i]), place.address);
    assert_int_equal(node_lane_tell(d->lanes[i], &place, 1), OK);
    return true;
}

static void duo_open(struct duo *d)
{
    bool both = false;

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
    for (unsigned tries = 0; !both; tries++) {
        assert_true(tries < TRIES);
        for (unsigned i = 0; i < 2; i++) {
            struct net_address *at = &d->others[1 - i].first;

            *at = (struct net_address){.scheme = NET_SCHEME_TCP, .host = "127.0.0.1"};
            (void)snprintf(at->port, sizeof(at->port), "%u",
                           FIRST_PORT + (7919 * tries + 4001 * i + 17) % PORTS);
        }
        both = duo_start(d, 0) && duo_start(d, 1);
        for (int i = 0; i < 2 && !both; i++) {
            node_lane_destroy(d->lanes[i]);
            d->lanes[i] = NULL;
        }
    }
}

static void duo_close(struct duo *d)
{
    for (int i = 0; i < 2; i++) {
        node_lane_destroy(d->lanes[i]);
        obs_registry_destroy(d->registries[i]);
    }
    loop_destroy(d->loop);
}

/* True: the metrics of the first site have that line. */
static bool duo_shows(const struct duo *d, const char *line)
{
    struct obs_snapshot *snapshot;
    struct text out;
    bool shows;

    assert_int_equal(obs_snapshot_create(d->registries, 1, &snapshot), OK);
    assert_int_equal(text_init(&out, SNAPSHOT_BYTES), OK);
    obs_snapshot_prometheus(snapshot, &out);
    assert_false(out.failed);
    shows = strstr(out.chars, line) != NULL;
    text_deinit(&out);
    obs_snapshot_destroy(snapshot);
    return shows;
}

static void duo_until(struct duo *d, const char *line)
{
    int64_t until = loop_now_ns(d->loop) + (int64_t)TESTING_WAIT_S * 1000000000;

    while (!duo_shows(d, line)) {
        assert_true(loop_now_ns(d->loop) < until);
        loop_turn(d->loop, 100000000);
    }
}

static void test_metrics_follow_the_other_site(void **state)
{
    struct duo d;

    (void)state;
    duo_open(&d);
    duo_until(&d, "strait_site_lanes_up{site=\"west\"} 1\n");
    assert_true(duo_shows(&d, "strait_site_sent_bytes_total{site=\"west\"} "));
    assert_false(duo_shows(&d, "strait_site_sent_bytes_total{site=\"west\"} 0\n"));
    assert_true(duo_shows(&d, "strait_site_behind_clocks{site=\"west\"} 0\n"));
    assert_true(duo_shows(&d, "strait_site_wait_seconds_total{reason=\"barrier\"} 0\n"));
    assert_true(duo_shows(&d, "strait_pieces_made_total 0\n"));
    assert_true(duo_shows(&d, "strait_barriers_passed_total 0\n"));
    assert_true(duo_shows(&d, "strait_soft_threshold_ratio "));
    node_lane_destroy(d.lanes[1]);
    d.lanes[1] = NULL;
    duo_until(&d, "strait_site_lanes_up{site=\"west\"} 0\n");
    duo_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metrics_follow_the_other_site),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
