/* Coastlines, cut off at the sides of the picture. */

#include "run/map/coastline.h"
#include "run/map/map.h"

#include <math.h>

enum {
    LAND_POINTS_MAX = 2048, /* Of one ring; clipping may add some at each side. */
    LAND_SIDES = 4,
};

/* How far a point is inside of a side; beyond is below zero. */
static double land_inside(const struct run_map *m, struct run_svg_point p, uint32_t side)
{
    return side == 0 ? p.x : side == 1 ? m->wide - p.x : side == 2 ? p.y : m->high - p.y;
}

/* What of a ring is on the picture's side (Sutherland and Hodgman). Returns how many points. */
static uint32_t land_clip(const struct run_map *m, uint32_t side, const struct run_svg_point *in,
                          uint32_t count, struct run_svg_point *out)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < count && kept + 2 <= LAND_POINTS_MAX; i++) {
        struct run_svg_point a = in[i == 0 ? count - 1 : i - 1], b = in[i];
        double ia = land_inside(m, a, side), ib = land_inside(m, b, side);

        if ((ia < 0) != (ib < 0)) {
            double part = ia / (ia - ib);

            out[kept++] = (struct run_svg_point){.x = a.x + part * (b.x - a.x),
                                                 .y = a.y + part * (b.y - a.y)};
        }
        if (ib >= 0) {
            out[kept++] = b;
        }
    }
    return kept;
}

/* One ring, so many turns further round. */
static void land_ring(const struct run_map *m, const struct run_land_point *points, uint32_t count,
                      double turned, struct text *out)
{
    struct run_svg_point here[LAND_POINTS_MAX] = {{0}}, there[LAND_POINTS_MAX] = {{0}};
    struct run_svg_point last = {.x = NAN, .y = NAN};

    count = count < LAND_POINTS_MAX ? count : LAND_POINTS_MAX;
    for (uint32_t i = 0; i < count; i++) {
        here[i] = run_map_turned(m, points[i].latitude / 10.0, points[i].longitude / 10.0 + turned);
    }
    for (uint32_t side = 0; side < LAND_SIDES; side += 2) {
        count = land_clip(m, side, here, count, there);
        count = land_clip(m, side + 1, there, count, here);
    }
    for (uint32_t i = 0; i < count; i++) {
        /* Tenths that nobody sees are not written. */
        if (i == 0 || fabs(here[i].x - last.x) + fabs(here[i].y - last.y) > 0.7) {
            text_addf(out, "%s%.1f %.1f", i == 0 ? "M" : "L", here[i].x, here[i].y);
            last = here[i];
        }
    }
    text_add(out, count > 0 ? "Z" : "");
}

void run_map_land(const struct run_map *m, struct text *out)
{
    uint32_t first = 0;

    for (uint32_t i = 0; i < run_land_count; i++) {
        for (int turn = -1; turn <= 1; turn++) {
            land_ring(m, run_land_points + first, run_land_ends[i] - first, turn * 360.0, out);
        }
        first = run_land_ends[i];
    }
}
