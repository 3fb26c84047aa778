/* Maps: where places are, where the world is cut, links over its sides, room for names, rings. */

#include "run/map/map.h"

#include "base/mem.h"
#include "base/rng.h"
#include "run/map/coastline.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))
#define WIDE 800.0

static const struct run_map_place singapore = {1.35, 103.8};
static const struct run_map_place tokyo = {35.7, 139.7};
static const struct run_map_place oregon = {45.6, -121.2};
static const struct run_map_place iowa = {41.3, -95.9};
static const struct run_map_place dublin = {53.3, -6.3};
static const struct run_map_place finland = {60.6, 27.2};

static struct run_map fit(const struct run_map_place *places, uint32_t count,
                          const struct run_map_link *links, uint32_t links_count)
{
    struct run_map m;

    assert_int_equal(run_map_fit(&m, places, count, links, links_count, WIDE), OK);
    return m;
}

static bool inside(const struct run_map *m, struct run_svg_point p)
{
    return p.x >= 0 && p.x <= m->wide && p.y >= 0 && p.y <= m->high;
}

static void test_north_is_up_and_east_is_right(void **state)
{
    const struct run_map_place places[] = {oregon, iowa, {29.8, -95.4}, {47.6, -122.3}};
    const struct run_map_link links[] = {{0, 1}, {1, 2}, {2, 3}};
    struct run_map m = fit(places, 4, links, 3);

    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        assert_true(inside(&m, run_map_at(&m, places[i])));
    }
    assert_true(run_map_at(&m, oregon).x < run_map_at(&m, iowa).x);
    assert_true(run_map_at(&m, oregon).y < run_map_at(&m, iowa).y);
    assert_true(m.high >= 0.36 * WIDE - 1e-9 && m.high <= 0.7 * WIDE + 1e-9);
}

static void test_the_projection_is_that_of_its_authors(void **state)
{
    /* The whole equator is 1.7414 pi wide, and 0.8707 of it for each radian. */
    const struct run_map_place places[] = {{0, 0}, {0, 10}, {60, 0}, {90, 0}};
    struct run_map m = fit(places, 4, NULL, 0);
    double unit = run_map_at(&m, places[1]).x - run_map_at(&m, places[0]).x;
    double up = run_map_at(&m, places[0]).y - run_map_at(&m, places[3]).y;

    (void)state;
    assert_true(fabs(unit / m.scale - 0.8707 * 10 * M_PI / 180) < 1e-9);
    assert_true(fabs(up / m.scale - 1.4224) < 1e-3); /* Their pole, 0.52 of half the equator. */
}

static void test_the_world_is_cut_where_the_fewest_links_cross(void **state)
{
    /* Nothing joins Europe to Asia, so the Pacific is in the middle, ... */
    const struct run_map_place places[] = {singapore, tokyo, oregon, iowa, dublin, finland};
    const struct run_map_link pacific[] = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}};
    /* ... but the Atlantic if nothing crosses the Pacific. */
    const struct run_map_link atlantic[] = {{0, 1}, {2, 3}, {3, 4}, {4, 5}, {5, 0}};
    struct run_map m = fit(places, 6, pacific, 5);

    (void)state;
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(run_map_join(&m, places[i], places[i + 1]).count, 1);
        assert_true(run_map_at(&m, places[i]).x < run_map_at(&m, places[i + 1]).x);
    }
    m = fit(places, 6, atlantic, 5);
    assert_true(run_map_at(&m, oregon).x < run_map_at(&m, dublin).x);
    assert_true(run_map_at(&m, dublin).x < run_map_at(&m, tokyo).x);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(run_map_join(&m, places[atlantic[i].a], places[atlantic[i].b]).count, 1);
    }
}

static void test_a_link_over_the_sides_is_two_lines(void **state)
{
    /* A ring around the world: some link must be cut. */
    const struct run_map_place places[] = {singapore, tokyo, oregon, iowa, dublin, finland};
    const struct run_map_link ring[] = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 0}};
    struct run_map m = fit(places, 6, ring, 6);
    uint32_t cut = 0;

    (void)state;
    for (uint32_t i = 0; i < 6; i++) {
        struct run_map_place a = places[ring[i].a], b = places[ring[i].b];
        struct run_map_way there = run_map_join(&m, a, b), back = run_map_join(&m, b, a);
        struct run_svg_point from = run_map_at(&m, a), to = run_map_at(&m, b);
        const struct run_map_line *last = &there.lines[there.count - 1];

        assert_true(hypot(there.lines[0].from.x - from.x, there.lines[0].from.y - from.y) < 1e-9);
        assert_true(hypot(last->to.x - to.x, last->to.y - to.y) < 1e-9);
        assert_int_equal(there.count, back.count);
        if (there.count == 2) {
            double leaves = there.lines[0].to.x, comes = there.lines[1].from.x;

            cut++;
            assert_true(fabs(fmin(leaves, comes)) < 1e-9);
            assert_true(fabs(fmax(leaves, comes) - m.wide) < 1e-9);
            assert_true(fabs(back.lines[0].to.x - comes) < 1e-9);
        }
    }
    assert_int_equal(cut, 1);
}

static void test_a_place_alone_has_some_room(void **state)
{
    const struct run_map_place places[] = {dublin, dublin};
    const struct run_map_link link = {0, 1};
    struct run_map m = fit(places, 2, &link, 1);
    struct run_svg_point at = run_map_at(&m, dublin);

    (void)state;
    assert_true(fabs(at.x - m.wide / 2) < 1e-6 && fabs(at.y - m.high / 2) < 1e-6);
    assert_true(run_map_at(&m, (struct run_map_place){53.3, -5}).x < m.wide);
}

static void test_longitudes_may_be_any_turn(void **state)
{
    const struct run_map_place places[] = {tokyo, oregon};
    const struct run_map_place turned[] = {{35.7, 139.7 - 360}, {45.6, -121.2 + 720}};
    const struct run_map_link link = {0, 1};
    struct run_map a = fit(places, 2, &link, 1), b = fit(turned, 2, &link, 1);

    (void)state;
    assert_true(fabs(run_map_at(&a, tokyo).x - run_map_at(&b, turned[0]).x) < 1e-6);
    assert_true(run_map_at(&a, tokyo).x < run_map_at(&a, oregon).x); /* Over the Pacific. */
}

/* Land. */

static void test_land_stays_in_the_picture(void **state)
{
    const struct run_map_place places[] = {oregon, iowa, {29.8, -95.4}};
    struct run_map m = fit(places, 3, NULL, 0);
    static char chars[128 * 1024];
    struct text out;
    uint32_t points = 0;

    (void)state;
    text_init_fixed(&out, chars, sizeof(chars));
    run_map_land(&m, &out);
    assert_false(out.failed);
    for (const char *s = chars; *s != '\0'; s++) {
        double x, y;

        if ((*s == 'M' || *s == 'L') && sscanf(s + 1, "%lf %lf", &x, &y) == 2) {
            assert_true(x >= -0.1 && x <= m.wide + 0.1 && y >= -0.1 && y <= m.high + 0.1);
            points++;
        }
    }
    assert_in_range(points, 15, 200); /* The coasts of North America, and no others. */
}

static void test_coasts_have_no_jumps(void **state)
{
    uint32_t first = 0, points = 0;

    (void)state;
    for (uint32_t i = 0; i < run_land_count; i++) {
        uint32_t jumps = 0;

        assert_true(run_land_ends[i] >= first + 3);
        for (uint32_t k = first; k < run_land_ends[i]; k++) {
            assert_in_range(run_land_points[k].latitude + 900, 0, 1800);
            jumps += k > first &&
                     abs(run_land_points[k].longitude - run_land_points[k - 1].longitude) > 900;
        }
        assert_true(jumps <= 1); /* Along the south pole. */
        points += run_land_ends[i] - first;
        first = run_land_ends[i];
    }
    assert_in_range(points, 1500, 2500);
}

/* Names. */

static bool apart(const struct run_map_label *a, const struct run_map_label *b)
{
    return fabs(a->at.y - b->at.y) >= RUN_MAP_LABEL_HIGH - 1e-9 ||
           a->at.x + a->wide <= b->at.x + 1e-9 || b->at.x + b->wide <= a->at.x + 1e-9;
}

static bool off_dot(const struct run_map_label *l, const struct run_map_label *dot)
{
    return l->at.x >= dot->dot.x + dot->radius || l->at.x + l->wide <= dot->dot.x - dot->radius ||
           fabs(l->at.y - dot->dot.y) >= RUN_MAP_LABEL_HIGH / 2.0 + dot->radius - 1e-9;
}

static void test_twenty_names_touch_nothing(void **state)
{
    struct run_map_label labels[20];
    struct run_map_line lines[30];
    struct rng rng;

    (void)state;
    rng_init(&rng, 7);
    for (uint32_t round = 0; round < 200; round++) {
        for (uint32_t i = 0; i < COUNT(labels); i++) {
            double x = 30 + rng_unit(&rng) * 740;
            double y = 30 + rng_unit(&rng) * 340;

            labels[i] = (struct run_map_label){
                .dot = {x, y}, .radius = i == 0 ? 12 : 5, .wide = 50 + 5 * i, .wanted = true};
        }
        for (uint32_t i = 0; i < COUNT(lines); i++) {
            lines[i] = (struct run_map_line){.from = labels[i % 20].dot,
                                             .to = labels[(i * 7 + 3) % 20].dot};
        }
        run_map_label(labels, COUNT(labels), lines, COUNT(lines), 800, 400);
        for (uint32_t i = 0; i < COUNT(labels); i++) {
            assert_true(labels[i].placed);
            assert_true(labels[i].at.x >= 0 && labels[i].at.x + labels[i].wide <= 800);
            assert_true(labels[i].at.y >= 0 && labels[i].at.y <= 400);
            for (uint32_t k = 0; k < COUNT(labels); k++) {
                assert_true(k == i || apart(&labels[i], &labels[k]));
                assert_true(off_dot(&labels[i], &labels[k]));
            }
        }
    }
}

static void test_a_name_is_rather_where_no_line_is(void **state)
{
    struct run_map_label label = {.dot = {100, 100}, .radius = 5, .wide = 60, .wanted = true};
    const struct run_map_line line = {.from = {100, 100}, .to = {300, 100}};

    (void)state;
    run_map_label(&label, 1, NULL, 0, 400, 200);
    assert_true(label.placed && label.at.x > 100 && !label.led);
    run_map_label(&label, 1, &line, 1, 400, 200);
    assert_true(label.placed && label.at.x + label.wide < 100);
}

static void test_dots_without_names_do_not_keep_names_away(void **state)
{
    struct run_map_label labels[1 + 400] = {
        {.dot = {200, 100}, .radius = 5, .wide = 60, .wanted = true}};

    (void)state;
    for (uint32_t i = 1; i < COUNT(labels); i++) {
        labels[i] = (struct run_map_label){
            .dot = {(i - 1) % 20 * 20.0, (i - 1) / 20 * 10.0}, .radius = 3, .wide = 60};
    }
    run_map_label(labels, COUNT(labels), NULL, 0, 400, 200);
    assert_true(labels[0].placed);
    assert_false(labels[1].placed);
}

static void test_names_without_room_are_left_out(void **state)
{
    struct run_map_label labels[] = {
        {.dot = {50, 50}, .radius = 5, .wide = 500, .wanted = true},
        {.dot = {60, 50}, .radius = 5, .wide = 20, .wanted = false},
    };

    (void)state;
    run_map_label(labels, 2, NULL, 0, 200, 100);
    assert_false(labels[0].placed);
    assert_false(labels[1].placed);
}

/* Rings. */

static void test_rings_are_by_the_links_between(void **state)
{
    /* A star of three arms, one of them longer. */
    const struct run_map_link links[] = {{0, 1}, {0, 2}, {0, 3}, {3, 4}, {4, 2}};
    struct run_svg_point p[5];

    (void)state;
    assert_int_equal(run_map_rings(0, 5, links, 5, 400, 400, p), OK);
    assert_true(p[0].x == 200 && p[0].y == 200);
    for (uint32_t i = 1; i < 5; i++) {
        double away = hypot((p[i].x - 200) / 140, (p[i].y - 200) / 170);

        assert_true(fabs(away - (i == 4 ? 1 : 0.5)) < 1e-9);
        for (uint32_t k = 1; k < i; k++) {
            assert_true(hypot(p[i].x - p[k].x, p[i].y - p[k].y) > 30);
        }
    }
}

static void test_out_of_memory_is_said(void **state)
{
    const struct run_map_place places[] = {tokyo, oregon};
    const struct run_map_link link = {0, 1};
    struct run_svg_point p[2];
    struct run_map m;

    (void)state;
    for (uint64_t k = 1; k <= 3; k++) {
        mem_fail_at(k, 1);
        assert_int_equal(run_map_fit(&m, places, 2, &link, 1, WIDE), ERR_NOMEM);
    }
    for (uint64_t k = 1; k <= 8; k++) {
        mem_fail_at(k, 1);
        assert_int_equal(run_map_rings(0, 2, &link, 1, 100, 100, p), ERR_NOMEM);
    }
    mem_fail_at(0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_north_is_up_and_east_is_right),
        cmocka_unit_test(test_the_projection_is_that_of_its_authors),
        cmocka_unit_test(test_the_world_is_cut_where_the_fewest_links_cross),
        cmocka_unit_test(test_a_link_over_the_sides_is_two_lines),
        cmocka_unit_test(test_a_place_alone_has_some_room),
        cmocka_unit_test(test_longitudes_may_be_any_turn),
        cmocka_unit_test(test_land_stays_in_the_picture),
        cmocka_unit_test(test_coasts_have_no_jumps),
        cmocka_unit_test(test_twenty_names_touch_nothing),
        cmocka_unit_test(test_a_name_is_rather_where_no_line_is),
        cmocka_unit_test(test_dots_without_names_do_not_keep_names_away),
        cmocka_unit_test(test_names_without_room_are_left_out),
        cmocka_unit_test(test_rings_are_by_the_links_between),
        cmocka_unit_test(test_out_of_memory_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
