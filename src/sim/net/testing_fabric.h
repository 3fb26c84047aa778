/* Helpers of the fabric's tests. */

#ifndef SIM_NET_TESTING_FABRIC_H
#define SIM_NET_TESTING_FABRIC_H

#include "sim/net/fabric.h"
#include "sim/net/fabric_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { CHECK_LINKS = 256, SECOND_NS = 1000 * 1000 * 1000 };

static inline struct sim_fabric *fabric_new(uint32_t links, uint32_t flows, uint32_t segments)
{
    struct sim_fabric_limits limits = {links, flows, segments};
    struct sim_fabric *f = NULL;

    assert_int_equal(sim_fabric_create(&limits, &f), OK);
    return f;
}

static inline sim_link_id link_new(struct sim_fabric *f, uint64_t bytes_per_s)
{
    sim_link_id link = UINT32_MAX;

    assert_int_equal(sim_fabric_link_add(f, bytes_per_s, &link), OK);
    return link;
}

static inline sim_flow_id flow_new(struct sim_fabric *f, uint32_t count, const sim_link_id *links,
                                   uint64_t cap)
{
    sim_flow_id flow = UINT32_MAX;

    assert_int_equal(sim_fabric_flow_add(f, links, count, cap, &flow), OK);
    return flow;
}

#define FLOW_NEW(f, cap, ...)                                                                      \
    flow_new((f), sizeof((sim_link_id[]){__VA_ARGS__}) / sizeof(sim_link_id),                      \
             (sim_link_id[]){__VA_ARGS__}, (cap))

static inline void enqueue(struct sim_fabric *f, sim_flow_id flow, uint64_t bytes, uint64_t token,
                           int64_t now_ns)
{
    assert_int_equal(sim_fabric_flow_enqueue(f, flow, bytes, token, now_ns), OK);
}

/* The theorem, in the fabric's own integers, without tolerance: no flow is faster than the members
 * of a link on its path, and a link with members is full but for less than a unit per member. */
static inline void check_fabric(const struct sim_fabric *f)
{
    uint64_t load[CHECK_LINKS] = {0};
    uint32_t members[CHECK_LINKS] = {0};

    assert_true(f->links_count <= CHECK_LINKS);
    for (uint32_t i = 0; i < f->flows_used; i++) {
        const struct fabric_flow *w = &f->flows[i];

        assert_true(!w->active || w->group != FABRIC_NONE);
        for (uint32_t k = 0; w->active && k < w->links_count; k++) {
            const struct fabric_group *g = &f->groups[w->links[k]];

            load[w->links[k]] += w->rate;
            members[w->links[k]] += w->group == w->links[k];
            assert_true(g->members == 0 || w->rate <= g->level);
            assert_true(w->group != w->links[k] || w->rate == g->level);
        }
        if (w->active && w->group >= f->limits.links_max) {
            assert_int_equal(w->group, f->limits.links_max + i);
            assert_int_equal(w->rate, w->cap);
        }
    }
    for (uint32_t l = 0; l < f->links_count; l++) {
        assert_int_equal(f->links[l].load, load[l]);
        assert_int_equal(f->groups[l].members, members[l]);
        assert_true(load[l] <= f->links[l].capacity);
        assert_true(members[l] == 0 || f->links[l].capacity - load[l] < members[l]);
    }
}

#endif
