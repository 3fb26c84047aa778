/* Flows on a plan's map: lines of one colour each, beside each other where they share a link. */

#include "run/map/plan_map_state.h"

#include <math.h>

#define FLOW_APART 3.4   /* Between two lines, ... */
#define FLOW_ROOM 30.0   /* ... of all that share a link. */
#define FLOW_CORNER 11.0 /* From where on a line turns towards the next one. */

static struct run_svg_point flow_along(const struct run_map_line *l, double from, double aside)
{
    double dx = l->to.x - l->from.x, dy = l->to.y - l->from.y, size = hypot(dx, dy);
    double scale = size > 0 ? 1 / size : 0;

    return (struct run_svg_point){.x = l->from.x + dx * scale * from - dy * scale * aside,
                                  .y = l->from.y + dy * scale * from + dx * scale * aside};
}

/* The part of the flow over one link. The first of its lines goes on from where the last link
 * ended, by a curve around @corner. */
static void flow_link(const struct run_map_way *way, double aside, bool first, bool last,
                      struct run_svg_point corner, struct text *out)
{
    for (uint32_t i = 0; i < way->count; i++) {
        const struct run_map_line *l = &way->lines[i];
        double size = hypot(l->to.x - l->from.x, l->to.y - l->from.y);
        double turn = fmin(FLOW_CORNER, size / 3);
        bool begins = i == 0 && !first, ends = i + 1 == way->count && !last;
        struct run_svg_point from = flow_along(l, begins ? turn : 0, aside);
        struct run_svg_point to = flow_along(l, ends ? size - turn : size, aside);

        if (begins) {
            text_addf(out, "Q%.1f %.1f %.1f %.1f", corner.x, corner.y, from.x, from.y);
        } else {
            text_addf(out, "M%.1f %.1f", from.x, from.y);
        }
        text_addf(out, "L%.1f %.1f", to.x, to.y);
    }
}

/* The way over a link from @node on. */
static struct run_map_way flow_way(const struct plan_map *m, uint32_t edge, uint32_t node)
{
    const struct run_map_way *w = &m->links[edge].way;
    struct run_map_way back = {.count = w->count};

    if (m->g->edges[edge].a == node) {
        return *w;
    }
    for (uint32_t i = 0; i < w->count; i++) {
        const struct run_map_line *line = &w->lines[w->count - 1 - i];

        back.lines[i] = (struct run_map_line){.from = line->to, .to = line->from};
    }
    return back;
}

static void flow_draw(struct plan_map *m, uint32_t flow, struct text *out)
{
    const struct plan_place_answer *a = m->p->answer;
    const struct plan_place_flow *f = &a->flows[flow];
    struct run_svg_point corner = {0};

    text_addf(out, "<path class=\"flow %s\" d=\"", run_plan_map_flow(a, flow));
    for (uint32_t i = 0; i < f->hops; i++) {
        struct plan_map_link *l = &m->links[f->edges[i]];
        double apart = fmin(FLOW_APART, FLOW_ROOM / l->flows);
        double aside = (l->drawn++ - (l->flows - 1) / 2.0) * apart;
        struct run_map_way way = flow_way(m, f->edges[i], f->nodes[i]);

        /* Sides are counted from .a to .b, whichever way the flow goes. */
        aside = m->g->edges[f->edges[i]].a == f->nodes[i] ? aside : -aside;
        flow_link(&way, aside, i == 0, i + 1 == f->hops, corner, out);
        corner = m->points[f->nodes[i + 1]];
    }
    text_add(out, "\"><title>");
    run_plan_path(out, m->g, m->p->names, f);
    text_add(out, ": ");
    run_plan_rate(out, f->mbps);
    text_add(out, "</title></path>\n");
}

bool plan_map_drawn(const struct plan_map *m)
{
    return m->p->answer != NULL && m->p->answer->flows_count <= RUN_PLAN_MAP_FLOWS;
}

void plan_map_flows(struct plan_map *m, struct text *out)
{
    if (!plan_map_drawn(m)) {
        return;
    }
    text_add(out, "<g class=\"flows\">");
    for (uint32_t f = 0; f < m->p->answer->flows_count; f++) {
        flow_draw(m, f, out);
    }
    text_add(out, "</g>\n");
}
