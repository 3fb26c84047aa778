/* Somebody else's traffic: its share of cards and links, by hand. */

#include "sim/net/background.h"

#include "sim/net/link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define SECOND INT64_C(1000000000)

enum { HOSTS = 4, CARD = 12000 };

struct stage {
    struct sim_world *world;
    struct sim_region *here, *there;
    struct sim_host *hosts[HOSTS]; /* The last one is there. */
};

static enum err start(struct sim_host *host, void *user)
{
    (void)host;
    (void)user;
    return OK;
}

static void stop(struct sim_host *host, void *user)
{
    (void)host;
    (void)user;
}

static void stage_open(struct stage *s)
{
    struct sim_world_config config = {.seed = 1, .host_rate = CARD};
    struct sim_link_config link = {.bytes_per_s = 4000, .stream_bytes_per_s = 3000};
    struct sim_program program = {start, stop, NULL};

    assert_int_equal(sim_world_create(&config, &s->world), OK);
    assert_int_equal(sim_region_create(s->world, "here", &s->here), OK);
    assert_int_equal(sim_region_create(s->world, "there", &s->there), OK);
    assert_int_equal(sim_link_set_one(s->world, s->here, s->there, &link), OK);
    for (int i = 0; i < HOSTS; i++) {
        char name[16];
        struct sim_host_config host = {.name = name, .region = i == 3 ? s->there : s->here};

        (void)snprintf(name, sizeof(name), "h%d", i);
        assert_int_equal(sim_host_create(s->world, &host, &program, &s->hosts[i]), OK);
    }
}

static void stage_wait(struct stage *s, int64_t until_ns)
{
    while (sim_world_step(s->world, until_ns)) {
    }
    assert_int_equal(sim_world_now_ns(s->world), until_ns);
}

static void begin(struct stage *s, struct sim_background *b, int from, int to, uint64_t cap)
{
    assert_int_equal(sim_background_begin(b, s->hosts[from], s->hosts[to], cap), OK);
}

static void test_flows_share_cards_and_links_fairly(void **state)
{
    struct sim_background in, out, away, back;
    struct stage s;

    (void)state;
    stage_open(&s);
    begin(&s, &in, 1, 0, 0);
    stage_wait(&s, SECOND);
    assert_int_equal(sim_background_sent(&in), CARD);
    begin(&s, &out, 1, 2, 0);  /* Both leave by one card, */
    begin(&s, &back, 0, 1, 0); /* and the way back is free. */
    stage_wait(&s, 2 * SECOND);
    assert_int_equal(sim_background_sent(&in), CARD + CARD / 2);
    assert_int_equal(sim_background_sent(&out), CARD / 2);
    assert_int_equal(sim_background_sent(&back), CARD);
    begin(&s, &away, 1, 3, 0); /* No more than one connection has on that link. */
    stage_wait(&s, 3 * SECOND);
    assert_int_equal(sim_background_sent(&away), 3000);
    assert_int_equal(sim_background_sent(&out), CARD / 2 + 4500);
    sim_background_end(&out);
    sim_background_end(&away);
    stage_wait(&s, 4 * SECOND);
    assert_int_equal(sim_background_sent(&in), CARD + CARD / 2 + 4500 + CARD);
    sim_background_end(&in);
    sim_background_end(&back);
    sim_world_destroy(s.world);
}

static void test_a_cap_holds_and_a_cut_holds_all(void **state)
{
    struct sim_background capped, rest;
    struct stage s;

    (void)state;
    stage_open(&s);
    begin(&s, &capped, 0, 3, 1000);
    begin(&s, &rest, 1, 3, 3500); /* The link's own is less. */
    stage_wait(&s, SECOND);
    assert_int_equal(sim_background_sent(&capped), 1000);
    assert_int_equal(sim_background_sent(&rest), 3000);
    sim_link_cut(s.world, sim_link_between(s.world, s.here, s.there));
    stage_wait(&s, 9 * SECOND);
    assert_int_equal(sim_background_sent(&rest), 3000);
    sim_link_heal(s.world, sim_link_between(s.world, s.here, s.there));
    stage_wait(&s, 10 * SECOND);
    assert_int_equal(sim_background_sent(&rest), 6000);
    /* None of it is the run's. */
    assert_int_equal(sim_link_bytes(s.world, sim_link_between(s.world, s.here, s.there)), 0);
    sim_background_end(&capped);
    sim_background_end(&rest);
    sim_world_destroy(s.world);
}

/* Joined both ways, by one rate for both. */
static void stage_share(struct stage *s)
{
    struct sim_link_config link = {.bytes_per_s = 6000};

    stage_open(s);
    assert_int_equal(sim_link_share(s->world, s->here, s->there), ERR_INVALID);
    assert_int_equal(sim_link_set(s->world, s->here, s->there, &link), OK);
    assert_int_equal(sim_link_share(s->world, s->here, s->here), ERR_INVALID);
    assert_int_equal(sim_link_share(s->world, s->here, s->there), OK);
    assert_int_equal(sim_link_share(s->world, s->there, s->here), OK); /* Nothing new. */
}

/* What two flows, one each way, have sent since the last look. */
static void assert_sent(struct sim_background flows[2], uint64_t before[2], uint64_t there,
                        uint64_t back)
{
    assert_int_equal(sim_background_sent(&flows[0]) - before[0], there);
    assert_int_equal(sim_background_sent(&flows[1]) - before[1], back);
    before[0] += there;
    before[1] += back;
}

static void test_opposite_directions_share_a_rate_if_told_to(void **state)
{
    struct sim_background flows[2], more;
    uint64_t before[2] = {0, 0};
    struct stage s;

    (void)state;
    stage_share(&s);
    begin(&s, &flows[0], 0, 3, 0);
    begin(&s, &flows[1], 3, 0, 0);
    assert_int_equal(sim_link_share(s.world, s.here, s.there), ERR_INVALID); /* It is in use. */
    stage_wait(&s, SECOND);
    assert_sent(flows, before, 3000, 3000);
    begin(&s, &more, 1, 3, 0); /* Flows are served alike, whichever way they go. */
    stage_wait(&s, 2 * SECOND);
    assert_sent(flows, before, 2000, 2000);
    assert_int_equal(sim_background_sent(&more), 2000);
    sim_background_end(&more);
    sim_background_end(&flows[1]);
    stage_wait(&s, 3 * SECOND);
    assert_int_equal(sim_background_sent(&flows[0]) - before[0], 6000);
    sim_background_end(&flows[0]);
    sim_world_destroy(s.world);
}

static void test_what_one_direction_has_lost_the_other_may_use(void **state)
{
    struct sim_background flows[2];
    struct sim_link_config slower = {.bytes_per_s = 3000};
    uint64_t before[2] = {0, 0};
    struct sim_link *there, *back;
    struct stage s;

    (void)state;
    stage_share(&s);
    there = sim_link_between(s.world, s.here, s.there);
    back = sim_link_between(s.world, s.there, s.here);
    begin(&s, &flows[0], 0, 3, 0);
    begin(&s, &flows[1], 3, 0, 0);
    sim_link_slow(s.world, there, 250000);
    stage_wait(&s, SECOND);
    assert_sent(flows, before, 1500, 4500);
    sim_link_slow(s.world, back, 500000); /* Now nobody has more than half of the rate. */
    stage_wait(&s, 2 * SECOND);
    assert_sent(flows, before, 1500, 1500);
    sim_link_unslow(s.world, there, 250000);
    sim_link_unslow(s.world, back, 500000);
    sim_link_cut(s.world, back);
    stage_wait(&s, 3 * SECOND);
    assert_sent(flows, before, 6000, 0);
    sim_link_cut(s.world, there);
    stage_wait(&s, 4 * SECOND);
    assert_sent(flows, before, 0, 0);
    sim_link_heal(s.world, there);
    sim_link_heal(s.world, back);
    stage_wait(&s, 5 * SECOND);
    assert_sent(flows, before, 3000, 3000);
    assert_int_equal(sim_link_set(s.world, s.here, s.there, &slower), OK);
    stage_wait(&s, 6 * SECOND);
    assert_sent(flows, before, 1500, 1500);
    sim_background_end(&flows[0]);
    sim_background_end(&flows[1]);
    sim_world_destroy(s.world);
}

static void test_without_a_way_there_is_none(void **state)
{
    struct sim_background b;
    struct stage s;

    (void)state;
    stage_open(&s);
    assert_int_equal(sim_background_begin(&b, s.hosts[3], s.hosts[0], 0), ERR_UNREACHABLE);
    sim_world_destroy(s.world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flows_share_cards_and_links_fairly),
        cmocka_unit_test(test_a_cap_holds_and_a_cut_holds_all),
        cmocka_unit_test(test_opposite_directions_share_a_rate_if_told_to),
        cmocka_unit_test(test_what_one_direction_has_lost_the_other_may_use),
        cmocka_unit_test(test_without_a_way_there_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
