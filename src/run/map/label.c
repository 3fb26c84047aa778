/* Room for names beside what they name. */

#include "run/map/map.h"

#include <math.h>

enum {
    LABEL_SIDES = 8,
    LABEL_RINGS = 9,  /* Distances that are tried, ... */
    LABEL_STEP = 11,  /* ... so far apart. */
    LABEL_GAP = 4,    /* Between a dot and its name. */
    LABEL_LINE = 3,   /* What a line through a name costs, ... */
    LABEL_DOT = 2,    /* ... a dot without a name below it, ... */
    LABEL_FAR = 4,    /* ... and each step away from its own dot. */
    LABEL_MARGIN = 3, /* At the sides of the picture. */
};

struct label_box {
    double left;
    double right;
    double top;
    double bottom;
};

static struct label_box label_box(struct run_svg_point at, double wide)
{
    return (struct label_box){.left = at.x,
                              .right = at.x + wide,
                              .top = at.y - RUN_MAP_LABEL_HIGH / 2.0,
                              .bottom = at.y + RUN_MAP_LABEL_HIGH / 2.0};
}

static bool label_touches(const struct label_box *a, const struct label_box *b)
{
    return a->left < b->right && b->left < a->right && a->top < b->bottom && b->top < a->bottom;
}

/* Does the line pass through the box? By the part of it that is within both pairs of sides. */
static bool label_crossed(const struct label_box *b, const struct run_map_line *l)
{
    double delta[2] = {l->to.x - l->from.x, l->to.y - l->from.y};
    double low[2] = {b->left - l->from.x, b->top - l->from.y};
    double high[2] = {b->right - l->from.x, b->bottom - l->from.y};
    double first = 0, last = 1;

    for (uint32_t i = 0; i < 2; i++) {
        double a = low[i], c = high[i];

        if (delta[i] == 0) {
            if (a > 0 || c < 0) {
                return false;
            }
            continue;
        }
        first = fmax(first, fmin(a / delta[i], c / delta[i]));
        last = fmin(last, fmax(a / delta[i], c / delta[i]));
    }
    return first < last;
}

/* Where a name is that is on that side of its dot: to the right first, then to the left. */
static struct run_svg_point label_at(const struct run_map_label *l, uint32_t side, double away)
{
    static const double right[LABEL_SIDES] = {1, -1, 0, 0, 0.75, 0.75, -0.75, -0.75};
    static const double down[LABEL_SIDES] = {0, 0, -1, 1, -0.75, 0.75, -0.75, 0.75};
    double x = l->dot.x + right[side] * away;
    double y = l->dot.y + down[side] * (away + RUN_MAP_LABEL_HIGH / 2.0 - LABEL_GAP / 2.0);

    return (struct run_svg_point){.x = right[side] > 0   ? x
                                       : right[side] < 0 ? x - l->wide
                                                         : x - l->wide / 2,
                                  .y = y};
}

/* What is there: names, dots that have one, and, which is allowed but costs, other dots. */
static bool label_free(const struct run_map_label *labels, uint32_t count, uint32_t self,
                       const struct label_box *box, double *cost)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct run_map_label *l = &labels[i];
        struct label_box dot = {.left = l->dot.x - l->radius,
                                .right = l->dot.x + l->radius,
                                .top = l->dot.y - l->radius,
                                .bottom = l->dot.y + l->radius};
        struct label_box name = label_box(l->at, l->wide);

        if ((l->wanted && label_touches(box, &dot)) ||
            (i != self && l->placed && label_touches(box, &name))) {
            return false;
        }
        *cost += !l->wanted && label_touches(box, &dot) ? LABEL_DOT : 0;
    }
    return true;
}

static void label_find(struct run_map_label *labels, uint32_t count, uint32_t self,
                       const struct run_map_line *lines, uint32_t lines_count,
                       const struct label_box *picture)
{
    struct run_map_label *l = &labels[self];
    double least = INFINITY;

    for (uint32_t i = 0; i < LABEL_SIDES * LABEL_RINGS; i++) {
        uint32_t ring = i / LABEL_SIDES;
        double away = l->radius + LABEL_GAP + ring * LABEL_STEP, cost = ring * LABEL_FAR;
        struct run_svg_point at = label_at(l, i % LABEL_SIDES, away);
        struct label_box box = label_box(at, l->wide);

        if (cost >= least || box.left < picture->left || box.right > picture->right ||
            box.top < picture->top || box.bottom > picture->bottom ||
            !label_free(labels, count, self, &box, &cost)) {
            continue;
        }
        for (uint32_t k = 0; k < lines_count && cost < least; k++) {
            cost += label_crossed(&box, &lines[k]) ? LABEL_LINE : 0;
        }
        if (cost < least) {
            least = cost;
            l->placed = true;
            l->led = ring > 0;
            l->at = at;
        }
    }
}

void run_map_label(struct run_map_label *labels, uint32_t count, const struct run_map_line *lines,
                   uint32_t lines_count, double wide, double high)
{
    const struct label_box picture = {.left = LABEL_MARGIN,
                                      .right = wide - LABEL_MARGIN,
                                      .top = LABEL_MARGIN,
                                      .bottom = high - LABEL_MARGIN};

    for (uint32_t i = 0; i < count; i++) {
        labels[i].placed = false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (labels[i].wanted) {
            label_find(labels, count, i, lines, lines_count, &picture);
        }
    }
}
