/* The simulated carrier: two hosts in two regions. What runs on them are the
 * tests' things; they end when the host loses its power. */

#include "fixture.h"

#include "sim/net/link.h"

static enum err carrier_sim_start(struct sim_host *host, void *user)
{
    struct conf_side *side = user;

    side->loop = sim_host_loop(host);
    return OK;
}

static void carrier_sim_stop(struct sim_host *host, void *user)
{
    struct conf_side *side = user;

    (void)host;
    conf_side_end(side);
    side->loop = NULL;
}

static void carrier_sim_open_side(struct conf_world *w, struct conf_side *side, const char *region)
{
    struct sim_program program = {carrier_sim_start, carrier_sim_stop, side};
    struct sim_host_config config = {.name = side->identity.name};

    assert_int_equal(sim_region_create(w->sim, region, &config.region), OK);
    assert_int_equal(sim_host_create(w->sim, &config, &program, &side->host), OK);
    sim_host_start(side->host);
    sim_transport_init(&side->sim, side->host, &side->identity);
    side->transport = &side->sim.base;
}

static void carrier_sim_open(struct conf_world *w)
{
    struct sim_world_config config = {.seed = 7, .trace_bytes_max = 1024};
    struct sim_link_config link = {.bytes_per_s = 1000000000, .delay_ns = CONF_MS};

    assert_int_equal(sim_world_create(&config, &w->sim), OK);
    carrier_sim_open_side(w, &w->a, "east");
    carrier_sim_open_side(w, &w->b, "west");
    assert_int_equal(
        sim_link_set(w->sim, sim_host_region(w->a.host), sim_host_region(w->b.host), &link), OK);
    assert_int_equal(net_address_parse("sim://b:0", &w->at, NULL), OK);
    assert_int_equal(net_address_parse("sim://b:999", &w->closed, NULL), OK);
}

static void carrier_sim_close(struct conf_world *w)
{
    sim_world_destroy(w->sim);
}

const struct conf_carrier conf_sim = {"sim", true, true, carrier_sim_open, carrier_sim_close};
