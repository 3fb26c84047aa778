#include "run/map/map.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

#define MAP_RADIAN (M_PI / 180)
#define MAP_MARGIN 0.09   /* Of the picture, on each side. */
#define MAP_LEAST 0.1     /* Projected; some 6 degrees. */
#define MAP_FLATTEST 0.36 /* Height by width. */
#define MAP_STEEPEST 0.7

/* Longitude as it is nearest to @middle: less than half a turn away. */
static double map_near(double longitude, double middle)
{
    return longitude - 360 * floor((longitude - middle) / 360 + 0.5);
}

static struct run_svg_point map_project(double latitude, double longitude)
{
    double p = latitude * MAP_RADIAN, p2 = p * p, p4 = p2 * p2;

    return (struct run_svg_point){
        .x = longitude * MAP_RADIAN *
             (0.8707 - 0.131979 * p2 + p4 * (-0.013791 + p4 * (0.003971 * p2 - 0.001529 * p4))),
        .y = p * (1.007226 + p2 * (0.015085 + p4 * (-0.044475 + 0.028874 * p2 - 0.005916 * p4)))};
}

struct run_svg_point run_map_turned(const struct run_map *m, double latitude, double longitude)
{
    struct run_svg_point p = map_project(latitude, longitude - m->middle);

    return (struct run_svg_point){.x = (p.x - m->left) * m->scale, .y = (m->top - p.y) * m->scale};
}

struct run_svg_point run_map_at(const struct run_map *m, struct run_map_place place)
{
    return run_map_turned(m, place.latitude, map_near(place.longitude, m->middle));
}

/* Where the world is cut. */

struct map_mark {
    double longitude; /* -180 to 180. */
    uint32_t place;
};

static int map_mark_compare(const void *a, const void *b)
{
    const struct map_mark *x = a, *y = b;

    return x->longitude != y->longitude ? (x->longitude < y->longitude ? -1 : 1)
                                        : (x->place > y->place) - (x->place < y->place);
}

/* How many links cross the gap behind each mark: as differences, then summed up. */
static void map_crossings(const struct map_mark *marks, uint32_t count, const uint32_t *rank,
                          const struct run_map_link *links, uint32_t links_count, int64_t *cross)
{
    for (uint32_t i = 0; i < links_count; i++) {
        uint32_t a = rank[links[i].a], b = rank[links[i].b];
        uint32_t west = a < b ? a : b, east = a < b ? b : a;

        if (marks[east].longitude - marks[west].longitude <= 180) {
            cross[west] += 1;
            cross[east] -= 1;
        } else { /* The other way round: behind east, and on from the first. */
            cross[east] += 1;
            cross[0] += 1;
            cross[west] -= 1;
        }
    }
    for (uint32_t i = 1; i < count; i++) {
        cross[i] += cross[i - 1];
    }
}

/* The middle of what is left when the world is cut in the gap that the fewest links cross, the
 * widest of these. */
static double map_middle(const struct map_mark *marks, uint32_t count, const int64_t *cross)
{
    uint32_t best = 0;
    double widest = -1;

    for (uint32_t i = 0; i < count; i++) {
        double next = i + 1 < count ? marks[i + 1].longitude : marks[0].longitude + 360;
        double gap = next - marks[i].longitude;

        if (gap > 0 &&
            (widest < 0 || cross[i] < cross[best] || (cross[i] == cross[best] && gap > widest))) {
            best = i;
            widest = gap;
        }
    }
    return map_near(marks[best].longitude + widest + (360 - widest) / 2, 0);
}

static enum err map_cut(struct run_map *m, const struct run_map_place *places, uint32_t count,
                        const struct run_map_link *links, uint32_t links_count)
{
    struct map_mark *marks = mem_calloc(count, sizeof(*marks));
    uint32_t *rank = mem_calloc(count, sizeof(*rank));
    int64_t *cross = mem_calloc(count, sizeof(*cross));
    bool room = marks != NULL && rank != NULL && cross != NULL;

    for (uint32_t i = 0; i < count && room; i++) {
        marks[i] = (struct map_mark){.longitude = map_near(places[i].longitude, 0), .place = i};
    }
    if (room) {
        qsort(marks, count, sizeof(*marks), map_mark_compare);
        for (uint32_t i = 0; i < count; i++) {
            rank[marks[i].place] = i;
        }
        map_crossings(marks, count, rank, links, links_count, cross);
        m->middle = map_middle(marks, count, cross);
    }
    mem_free(marks);
    mem_free(rank);
    mem_free(cross);
    return room ? OK : ERR_NOMEM;
}

enum err run_map_fit(struct run_map *m, const struct run_map_place *places, uint32_t count,
                     const struct run_map_link *links, uint32_t links_count, double wide)
{
    double left = INFINITY, right = -INFINITY, bottom = INFINITY, top = -INFINITY, high;
    enum err rc;

    CHECK(count > 0);
    *m = (struct run_map){.wide = wide};
    rc = map_cut(m, places, count, links, links_count);
    if (rc != OK) {
        return rc;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct run_svg_point p =
            map_project(places[i].latitude, map_near(places[i].longitude, m->middle) - m->middle);

        left = fmin(left, p.x);
        right = fmax(right, p.x);
        bottom = fmin(bottom, p.y);
        top = fmax(top, p.y);
    }
    m->scale = fmax(fmax(right - left, (top - bottom) / MAP_STEEPEST), MAP_LEAST);
    high = fmax(top - bottom, m->scale * MAP_FLATTEST);
    high /= 1 - 2 * MAP_MARGIN;
    m->scale = wide * (1 - 2 * MAP_MARGIN) / m->scale;
    m->high = high * m->scale;
    m->left = (left + right) / 2 - wide / m->scale / 2;
    m->top = (top + bottom) / 2 + high / 2;
    return OK;
}

/* Links. */

/* The line from @a towards @b, up to the side of the picture that it leaves by: beyond @b if that
 * is in the picture, where another place is than the one that is meant. */
static struct run_map_line map_leave(const struct run_map *m, struct run_svg_point a,
                                     struct run_svg_point b)
{
    double side = b.x > a.x ? m->wide : 0;
    double part = b.x == a.x ? 0 : (side - a.x) / (b.x - a.x);

    return (struct run_map_line){
        .from = a, .to = {.x = a.x + part * (b.x - a.x), .y = a.y + part * (b.y - a.y)}};
}

struct run_map_way run_map_join(const struct run_map *m, struct run_map_place a,
                                struct run_map_place b)
{
    double from = map_near(a.longitude, m->middle), to = map_near(b.longitude, m->middle);
    double beyond = to > from ? to - 360 : to + 360, behind = to > from ? from + 360 : from - 360;
    struct run_map_line there = {.from = run_map_at(m, a), .to = run_map_at(m, b)}, back;

    if (fabs(to - from) <= 180) {
        return (struct run_map_way){.lines = {there}, .count = 1};
    }
    back = map_leave(m, there.to, run_map_turned(m, a.latitude, behind));
    there = map_leave(m, there.from, run_map_turned(m, b.latitude, beyond));
    return (struct run_map_way){.lines = {there, {.from = back.to, .to = back.from}}, .count = 2};
}
