#include "sim/net/background.h"

#include "sim/world_state.h"

static struct sim_link *background_link(const struct sim_background *b)
{
    return sim_link_between(b->from->world, b->from->region, b->to->region);
}

/* It counts as a connection does, where it matters how many there are. */
static void background_count(const struct sim_background *b, bool begins)
{
    uint32_t *counts[] = {&background_link(b)->pipes, &b->from->pipes_out, &b->to->pipes_in};

    for (size_t i = 0; i < 3; i++) {
        *counts[i] = begins ? *counts[i] + 1 : *counts[i] - 1;
    }
}

enum err sim_background_begin(struct sim_background *b, struct sim_host *from, struct sim_host *to,
                              uint64_t bytes_per_s)
{
    struct sim_world *w = from->world;
    struct sim_link *link = sim_link_between(w, from->region, to->region);
    sim_link_id path[SIM_FABRIC_PATH_LINKS_MAX];
    uint64_t cap;
    enum err rc;

    CHECK(from != to);
    if (link == NULL) {
        return ERR_UNREACHABLE;
    }
    cap = link->config.stream_bytes_per_s;
    if (bytes_per_s != 0 && (cap == 0 || bytes_per_s < cap)) {
        cap = bytes_per_s;
    }
    *b = (struct sim_background){.from = from, .to = to};
    rc = sim_fabric_flow_add(w->fabric, path, sim_link_path(link, from, to, path), cap, &b->flow);
    if (rc != OK) {
        return rc;
    }
    rc = sim_fabric_flow_fill(w->fabric, b->flow, w->now_ns);
    if (rc != OK) {
        (void)sim_fabric_flow_remove(w->fabric, b->flow, w->now_ns, NULL, NULL);
        return rc;
    }
    background_count(b, true);
    return OK;
}

uint64_t sim_background_sent(const struct sim_background *b)
{
    return sim_fabric_flow_sent(b->from->world->fabric, b->flow);
}

void sim_background_end(struct sim_background *b)
{
    struct sim_world *w = b->from->world;

    (void)sim_fabric_flow_remove(w->fabric, b->flow, w->now_ns, NULL, NULL);
    background_count(b, false);
}
