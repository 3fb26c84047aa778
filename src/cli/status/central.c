/* Sites around a centre, as `strait top` shows them: the plan, who goes by which way, what went. */

#include "cli/status/lines.h"
#include "cli/status/why.h"
#include "run/map/plan_news.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { CENTRAL_WAY_BYTES = 256 };

static const json_t *central_of(const struct status_view *v, size_t lane)
{
    return json_object_get(json_object_get(view_status(v->now, lane), "between"), "central");
}

bool view_is_central(const struct status_view *v)
{
    return json_is_object(central_of(v, 0));
}

bool view_is_centre(const struct status_view *v, const char *site)
{
    const char *centre = json_string_value(json_object_get(central_of(v, 0), "centre"));

    return centre != NULL && strcmp(centre, site) == 0;
}

static const char *central_name(const json_t *central, const json_t *number)
{
    json_int_t at = json_is_integer(number) ? json_integer_value(number) : -1;
    const char *name =
        at < 0 ? NULL
               : json_string_value(json_array_get(json_object_get(central, "names"), (size_t)at));

    return name == NULL ? "?" : name;
}

/* The path of a site by the plan; NULL: it has none. */
static const json_t *central_path(const json_t *central, const char *site)
{
    const json_t *paths = json_object_get(central, "paths");

    for (size_t i = 0; i < json_array_size(paths); i++) {
        const json_t *path = json_array_get(paths, i);

        if (strcmp(central_name(central, json_object_get(path, "site")), site) == 0) {
            return path;
        }
    }
    return NULL;
}

/* "tokyo > seoul > oregon"; "-" for the centre, and who has no way. */
static void central_way(const json_t *central, const json_t *path, char *out)
{
    const json_t *sites = json_object_get(path, "sites");
    struct text t;

    text_init_fixed(&t, out, CENTRAL_WAY_BYTES);
    for (size_t i = 0; i < json_array_size(sites); i++) {
        text_addf(&t, "%s%.64s", i == 0 ? "" : " > ",
                  central_name(central, json_array_get(sites, i)));
    }
    if (t.size == 0) {
        text_add(&t, "-");
    }
}

/* What the link between two sites is taken to carry; -1: there is none, or nothing is known. */
static double central_link(const json_t *central, const char *a, const char *b)
{
    const json_t *links = json_object_get(central, "links");

    for (size_t i = 0; i < json_array_size(links); i++) {
        const json_t *link = json_array_get(links, i);
        const char *ends[2] = {central_name(central, json_array_get(link, 0)),
                               central_name(central, json_array_get(link, 1))};
        double rate = json_number_value(json_array_get(link, 3));

        if ((strcmp(ends[0], a) == 0 && strcmp(ends[1], b) == 0) ||
            (strcmp(ends[0], b) == 0 && strcmp(ends[1], a) == 0)) {
            return rate > 0 ? rate : -1;
        }
    }
    return -1;
}

/* "plan 7: centre oregon, because the link b - c is down; a round of 92.0 MB takes 4.20 s by it" */
static void central_plan(struct view_out *o, const json_t *central)
{
    double round_s = json_number_value(json_object_get(central, "round_s"));
    char why[RUN_PLAN_NEWS_BYTES], bytes[VIEW_CELL_BYTES];
    bool begun = view_flag(central, "begun");

    if (why_number(central, "epoch") == 0) {
        view_put(o, CLI_DOUBTFUL, "no plan yet: sites look for each other");
        return;
    }
    run_plan_why(central, why, sizeof(why));
    view_putf(o, begun ? CLI_PLAIN : CLI_DOUBTFUL,
              "plan %" PRId64 "%s: centre %s%s%s; a round of %s takes %.3g s by it",
              why_number(central, "epoch"), begun ? "" : ", to begin",
              view_string(central, "centre"), why[0] == '\0' ? "" : ", ", why,
              view_si(json_number_value(json_object_get(central, "round_bytes")), "B", bytes),
              round_s);
}

void view_central_head(struct view_out *o)
{
    const json_t *central = central_of(o->v, 0);
    const char *here = view_string(o->v->now, "site");
    const json_t *path = central_path(central, here);
    char way[CENTRAL_WAY_BYTES], rate[VIEW_CELL_BYTES];

    central_plan(o, central);
    if (view_is_centre(o->v, here)) {
        view_putf(o, CLI_PLAIN, "%s is the centre", here);
    } else if (path != NULL) {
        central_way(central, path, way);
        view_putf(o, CLI_PLAIN, "from here: %s, %s", way,
                  why_number(path, "bytes_per_s") == 0
                      ? "as fast as it goes"
                      : view_si((double)why_number(path, "bytes_per_s"), "B/s", rate));
    }
    view_put(o, CLI_FAINT,
             "SITE             STATE       WAY TO THE CENTRE                 PACED AT      LINK   "
             "      SENT        RTT");
}

void view_central_line(struct view_out *o, const struct view_site *s, double sent_per_s)
{
    const json_t *central = central_of(o->v, 0);
    const json_t *path = central_path(central, s->name);
    int64_t paced = why_number(path, "bytes_per_s");
    char way[CENTRAL_WAY_BYTES], cells[3][VIEW_CELL_BYTES], rtt[VIEW_CELL_BYTES] = "-";

    central_way(central, path, way);
    if (s->rtt_us > 0) {
        (void)snprintf(rtt, sizeof(rtt), "%.1f ms", (double)s->rtt_us / 1e3);
    }
    view_putf(
        o, s->up ? CLI_PLAIN : CLI_BAD, "%-16.16s %-10s  %-32.32s %10s %10s %10s %10s", s->name,
        view_is_centre(o->v, s->name) ? "centre"
        : s->left_out                 ? "left out"
        : s->up                       ? "there"
                                      : "away",
        way, view_si(paced > 0 ? (double)paced : -1, "B/s", cells[0]),
        view_si(central_link(central, view_string(o->v->now, "site"), s->name), "B/s", cells[1]),
        view_si(s->linked ? sent_per_s : -1, "B/s", cells[2]), rtt);
}

void view_central_tail(struct view_out *o)
{
    static const char *const keys[] = {"sums_sent",     "sums_taken",   "results_sent",
                                       "results_taken", "wholes_taken", "passed_bytes",
                                       "stale",         "carried"};
    int64_t sums[sizeof(keys) / sizeof(keys[0])] = {0};
    char passed[VIEW_CELL_BYTES];

    for (size_t lane = 0; lane < view_lanes(o->v->now); lane++) {
        const json_t *stats = json_object_get(central_of(o->v, lane), "stats");

        for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
            sums[i] += why_number(stats, keys[i]);
        }
    }
    view_putf(o, CLI_PLAIN,
              "sums %" PRId64 " sent, %" PRId64 " taken  results %" PRId64 " sent, %" PRId64
              " taken  whole chunks %" PRId64 "  passed on %s  of older plans %" PRId64
              "  carried %" PRId64,
              sums[0], sums[1], sums[2], sums[3], sums[4], view_si((double)sums[5], "B", passed),
              sums[6], sums[7]);
}
