/* Names beside the regions of a plan's map. */

#include "base/mem.h"
#include "run/map/plan_map_state.h"

#include <string.h>

#define NAME_LETTER 7.0 /* How wide one is, about; */
#define NAME_STRONG 7.9 /* in bold. */

enum { NAME_LETTERS_MAX = 26, NAME_BYTES = 4 * NAME_LETTERS_MAX + 64 };

struct name {
    char chars[NAME_BYTES];
};

/* The name, cut off where it is too long, and what the server would take there. Returns its
 * letters. */
static uint32_t name_write(const struct plan_map *m, uint32_t node, struct name *name)
{
    const struct plan_place_answer *a = m->p->answer;
    const char *s = run_plan_name(m->g, m->p->names, node);
    uint32_t letters = 0;
    struct text t;
    size_t size = 0;

    text_init_fixed(&t, name->chars, sizeof(name->chars));
    while (s[size] != '\0' && letters < NAME_LETTERS_MAX) {
        do {
            size++;
        } while (((unsigned char)s[size] & 0xc0) == 0x80);
        letters++;
    }
    text_add_bytes(&t, s, size);
    text_add(&t, s[size] != '\0' ? "\xe2\x80\xa6" : "");
    if (m->rank[node] > 0) {
        const struct plan_place_candidate *c = &a->candidates[m->candidate[node]];
        size_t before = t.size;

        text_add(&t, m->rank[node] == 1 || c->proven ? ", " : ", at most ");
        run_plan_time(&t, c->time_s);
        letters += (uint32_t)(t.size - before);
    }
    return letters;
}

/* The server's first, then those of the next places, then the others. */
static void name_order(const struct plan_map *m, uint32_t *order)
{
    uint32_t count = 0;

    for (uint32_t rank = 1; rank <= RUN_PLAN_MAP_NEXT + 1; rank++) {
        for (uint32_t n = 0; n < m->g->nodes_count; n++) {
            if (m->rank[n] == (rank > RUN_PLAN_MAP_NEXT ? 0 : rank)) {
                order[count++] = n;
            }
        }
    }
}

static void name_draw(const struct plan_map *m, const struct run_map_label *l, uint32_t node,
                      const struct name *name, struct text *out)
{
    if (l->led) {
        double x = l->at.x > l->dot.x             ? l->at.x - 1
                   : l->at.x + l->wide < l->dot.x ? l->at.x + l->wide + 1
                                                  : l->dot.x;

        text_addf(out, "<path class=\"lead-line\" d=\"M%.1f %.1fL%.1f %.1f\"/>", l->dot.x, l->dot.y,
                  x, l->at.y);
    }
    text_addf(out, "<text class=\"label%s\" x=\"%.1f\" y=\"%.1f\">",
              m->rank[node] == 1 ? " strong" : "", l->at.x, l->at.y + 4);
    run_svg_escape(out, name->chars);
    text_add(out, "</text>");
}

static void name_all(const struct plan_map *m, const uint32_t *order, struct run_map_label *labels,
                     struct name *names, struct run_map_line *lines, struct text *out)
{
    bool few = m->g->nodes_count <= RUN_PLAN_MAP_NAMED;
    uint32_t count = 0;

    for (uint32_t e = 0; e < m->g->edges_count; e++) {
        for (uint32_t i = 0; i < m->links[e].way.count; i++) {
            lines[count++] = m->links[e].way.lines[i];
        }
    }
    for (uint32_t i = 0; i < m->g->nodes_count; i++) {
        uint32_t node = order[i];
        double letter = m->rank[node] == 1 ? NAME_STRONG : NAME_LETTER;

        labels[i] = (struct run_map_label){.dot = m->points[node],
                                           .radius = plan_map_radius(m, node),
                                           .wide = letter * name_write(m, node, &names[i]),
                                           .wanted = few || m->rank[node] > 0};
    }
    run_map_label(labels, m->g->nodes_count, lines, count, m->wide, m->high);
    text_add(out, "<g class=\"labels\">");
    for (uint32_t i = 0; i < m->g->nodes_count; i++) {
        if (labels[i].placed) {
            name_draw(m, &labels[i], order[i], &names[i], out);
        }
    }
    text_add(out, "</g>\n");
}

enum err plan_map_names(const struct plan_map *m, struct text *out)
{
    uint32_t nodes = m->g->nodes_count;
    uint32_t *order = mem_calloc(nodes, sizeof(*order));
    struct run_map_label *labels = mem_calloc(nodes, sizeof(*labels));
    struct name *names = mem_calloc(nodes, sizeof(*names));
    struct run_map_line *lines = mem_calloc((size_t)m->g->edges_count * 2, sizeof(*lines));
    bool room = order != NULL && labels != NULL && names != NULL && lines != NULL;

    if (room) {
        name_order(m, order);
        name_all(m, order, labels, names, lines, out);
    }
    mem_free(order);
    mem_free(labels);
    mem_free(names);
    mem_free(lines);
    return room ? OK : ERR_NOMEM;
}
