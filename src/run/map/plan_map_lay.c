/* Where the regions and links of a plan's map are. */

#include "base/mem.h"
#include "run/map/plan_map_state.h"

#include <math.h>

#define LAY_WIDE 860.0
#define LAY_RINGS_HIGH 560.0

enum { LAY_GUESSES = 64 };

/* Regions without a place are put between their neighbours, again and again, since these may have
 * none either. */
static void lay_guess(struct plan_map *m)
{
    const struct topo_graph *g = m->g;

    for (uint32_t round = 0; round < LAY_GUESSES && m->guessed > 0; round++) {
        for (uint32_t n = 0; n < g->nodes_count; n++) {
            double latitude = 0, east = 0, north = 0;
            uint32_t count = 0;

            for (uint32_t k = 0; k < g->nodes[n].degree && !g->nodes[n].placed; k++) {
                struct run_map_place there = m->places[g->ends[g->nodes[n].first + k].node];

                if (isfinite(there.latitude)) {
                    latitude += there.latitude;
                    east += cos(there.longitude * M_PI / 180);
                    north += sin(there.longitude * M_PI / 180);
                    count++;
                }
            }
            if (count > 0) {
                m->places[n] = (struct run_map_place){.latitude = latitude / count,
                                                      .longitude = atan2(north, east) * 180 / M_PI};
            }
        }
    }
}

static void lay_places(struct plan_map *m)
{
    const struct topo_graph *g = m->g;

    for (uint32_t n = 0; n < g->nodes_count; n++) {
        bool placed = g->nodes[n].placed;

        m->places[n] =
            (struct run_map_place){.latitude = placed ? g->nodes[n].latitude : (double)NAN,
                                   .longitude = placed ? g->nodes[n].longitude : 0};
        m->guessed += !placed;
    }
    m->placed = m->guessed * 2 <= g->nodes_count;
    if (m->placed) {
        lay_guess(m);
    }
    for (uint32_t n = 0; n < g->nodes_count && m->placed; n++) {
        m->placed = isfinite(m->places[n].latitude); /* A chain longer than the guesses. */
    }
}

/* Around the server, or else around whoever has the most links. */
static uint32_t lay_centre(const struct plan_map *m)
{
    uint32_t centre = 0;

    if (m->p->answer != NULL) {
        return m->p->answer->server;
    }
    for (uint32_t n = 1; n < m->g->nodes_count; n++) {
        centre = m->g->nodes[n].degree > m->g->nodes[centre].degree ? n : centre;
    }
    return centre;
}

static enum err lay_points(struct plan_map *m, const struct run_map_link *links)
{
    uint32_t nodes = m->g->nodes_count, edges = m->g->edges_count;
    enum err rc;

    m->wide = LAY_WIDE;
    m->high = LAY_RINGS_HIGH;
    if (!m->placed) {
        return run_map_rings(lay_centre(m), nodes, links, edges, m->wide, m->high, m->points);
    }
    rc = run_map_fit(&m->map, m->places, nodes, links, edges, m->wide);
    m->high = m->map.high;
    for (uint32_t n = 0; n < nodes && rc == OK; n++) {
        m->points[n] = run_map_at(&m->map, m->places[n]);
    }
    return rc;
}

enum err plan_map_lay(struct plan_map *m)
{
    const struct topo_graph *g = m->g;
    struct run_map_link *links = mem_calloc(g->edges_count, sizeof(*links));
    enum err rc = links == NULL ? ERR_NOMEM : OK;

    for (uint32_t e = 0; e < g->edges_count && rc == OK; e++) {
        links[e] = (struct run_map_link){.a = g->edges[e].a, .b = g->edges[e].b};
    }
    lay_places(m);
    rc = rc == OK ? lay_points(m, links) : rc;
    for (uint32_t e = 0; e < g->edges_count && rc == OK; e++) {
        uint32_t a = links[e].a, b = links[e].b;

        m->links[e].way =
            m->placed ? run_map_join(&m->map, m->places[a], m->places[b])
                      : (struct run_map_way){.lines = {{.from = m->points[a], .to = m->points[b]}},
                                             .count = 1};
    }
    mem_free(links);
    return rc;
}
