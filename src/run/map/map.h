/* Maps: where places are on a picture, which part of the world it shows, and what joins two places.
 * Pure: degrees in, units of the picture out.
 *
 * The projection is Natural Earth's (Patterson; the polynomial of Savric and others, 2011): round
 * enough for the world, and nearly true in shape where networks are. The world is cut where the
 * fewest links cross, so that an ocean between two places is in the middle if links cross it. */

#ifndef RUN_MAP_MAP_H
#define RUN_MAP_MAP_H

#include "base/text.h"
#include "run/report/svg.h"

#include <stdbool.h>
#include <stdint.h>

struct run_map_place {
    double latitude; /* -90 to 90. */
    double longitude;
};

struct run_map_link {
    uint32_t a; /* Places, by index. */
    uint32_t b;
};

/* What a picture shows. */
struct run_map {
    double middle; /* Longitude that is upright. */
    double left;   /* Where the picture begins, projected. */
    double top;
    double scale; /* Units of the picture for a projected one. */
    double wide;  /* The picture; its corner at the top left is 0, 0. */
    double high;
};

struct run_map_line {
    struct run_svg_point from;
    struct run_svg_point to;
};

/* Show all @places, with a margin, in a picture @wide units wide and 0.36 to 0.7 times as high.
 * There is one place at least. ERR_NOMEM. */
MUST_USE enum err run_map_fit(struct run_map *m, const struct run_map_place *places, uint32_t count,
                              const struct run_map_link *links, uint32_t links_count, double wide);

struct run_svg_point run_map_at(const struct run_map *m, struct run_map_place place);

/* The same of a longitude that counts on beyond half a turn from the middle: outside of the
 * picture, perhaps. */
struct run_svg_point run_map_turned(const struct run_map *m, double latitude, double longitude);

/* One line, or two that end at the picture's sides. */
struct run_map_way {
    struct run_map_line lines[2];
    uint32_t count;
};

/* What joins two places the short way round. Of two lines the first is from @a, the second to @b.
 */
struct run_map_way run_map_join(const struct run_map *m, struct run_map_place a,
                                struct run_map_place b);

/* The land that can be seen, as commands of an SVG path; to be filled with the rule "evenodd". */
void run_map_land(const struct run_map *m, struct text *out);

/* Names of places. */

struct run_map_label {
    struct run_svg_point dot; /* What it names, ... */
    double radius;            /* ... as large as this. */
    double wide;              /* Of the name. */
    bool wanted;              /* Else there is only the dot. */
    bool placed;              /* Found: there is room at .at, the middle of its left side; ... */
    bool led;                 /* ... so far away that a line should lead there. */
    struct run_svg_point at;
};

enum { RUN_MAP_LABEL_HIGH = 15 };

/* Find room for names, the first ones first: where they touch no other name and no dot that has
 * one, within a picture of @wide by @high, and rather where no line and no other dot is. */
void run_map_label(struct run_map_label *labels, uint32_t count, const struct run_map_line *lines,
                   uint32_t lines_count, double wide, double high);

/* Where there is no map: the first place in the middle, those that links join to it around it, and
 * so on. Links join all of them. ERR_NOMEM. */
MUST_USE enum err run_map_rings(uint32_t first, uint32_t count, const struct run_map_link *links,
                                uint32_t links_count, double wide, double high,
                                struct run_svg_point *out);

#endif
