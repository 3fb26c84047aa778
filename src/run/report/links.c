/* Bytes between regions, and how full the links were: a matrix by direction, and a table. A link
 * that was down is not one that carried nothing, and neither is a pair that is not joined. */

#include "base/units.h"
#include "run/report/state.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINKS_BIG = 6,    /* Up to so many regions a field has room for two lines, */
    LINKS_SMALL = 12, /* up to so many for one. */
    LINKS_WORDS = 24, /* Up to so many each field has its own words; the page would be too large. */
    LINKS_TABLE_MAX = 40,
    LINKS_OPEN_MAX = 12, /* A longer table is folded. */
    LINKS_LETTER = 8,
    LINKS_NAME_LETTERS = 14,
};

struct links_view {
    const struct run_reading *r;
    uint32_t regions[TOPO_REGIONS_MAX]; /* Those that matter. */
    uint32_t count;
    double down_s[TOPO_REGIONS_MAX][TOPO_REGIONS_MAX]; /* For how long it was cut. */
    bool down[TOPO_REGIONS_MAX][TOPO_REGIONS_MAX];     /* And still is. */
    bool storms;                                       /* May have cut links as well. */
};

/* What was cut. */

static void links_cut(struct links_view *v, uint32_t from, uint32_t to, double at, double lasts)
{
    double end = v->r->last_s;

    if (at < end) {
        v->down_s[from][to] += at + lasts < end ? lasts : end - at;
        v->down[from][to] = v->down[from][to] || at + lasts >= end;
    }
}

/* "at 10s cut frankfurt singapore for 2s", as in run files. */
static void links_fault(struct links_view *v, const char *line)
{
    char when[32], kind[16], a[TOPO_NAME_BYTES], b[TOPO_NAME_BYTES], lasts[32] = "";
    const struct topo *topo = v->r->file->topo;
    int64_t at_ns, for_ns = INT64_MAX / 2;
    uint32_t from, to;
    bool one;

    if (strncmp(line, "storm ", 6) == 0) {
        v->storms = true;
        return;
    }
    if (sscanf(line, "at %31s %15s %64s %64s for %31s", when, kind, a, b, lasts) < 4) {
        return;
    }
    one = strcmp(kind, "cut-one") == 0;
    if ((!one && strcmp(kind, "cut") != 0) || !topo_region_find(topo, a, &from) ||
        !topo_region_find(topo, b, &to) || units_time_parse(when, &at_ns, NULL) != OK ||
        (lasts[0] != '\0' && units_time_parse(lasts, &for_ns, NULL) != OK)) {
        return;
    }
    links_cut(v, from, to, (double)at_ns * 1e-9, (double)for_ns * 1e-9);
    if (!one) {
        links_cut(v, to, from, (double)at_ns * 1e-9, (double)for_ns * 1e-9);
    }
}

/* With real processes some faults are left out, which the events say. */
static bool links_faults_happened(const struct run_reading *r)
{
    for (uint32_t i = 0; i < r->events_count; i++) {
        if (strcmp(r->events[i].kind, "left out") == 0) {
            return false;
        }
    }
    return true;
}

static bool links_matters(const struct links_view *v, uint32_t region)
{
    const struct run_file *f = v->r->file;

    for (uint32_t i = 0; i < f->servers_count; i++) {
        if (f->servers[i].region == region) {
            return true;
        }
    }
    for (uint32_t i = 0; i < f->groups_count; i++) {
        if (f->groups[i].region == region) {
            return true;
        }
    }
    for (uint32_t i = 0; i < v->r->traffic.regions; i++) {
        if (v->down_s[region][i] > 0 || v->down_s[i][region] > 0 ||
            run_traffic_between(&v->r->traffic, region, i) > 0 ||
            run_traffic_between(&v->r->traffic, i, region) > 0) {
            return true;
        }
    }
    return false;
}

static void links_view_look(struct links_view *v, const struct run_reading *r)
{
    memset(v, 0, sizeof(*v));
    v->r = r;
    for (uint32_t i = 0; i < r->file->faults_count && links_faults_happened(r); i++) {
        links_fault(v, r->file->faults[i].chars);
    }
    for (uint32_t i = 0; i < r->traffic.regions; i++) {
        if (links_matters(v, i)) {
            v->regions[v->count++] = i;
        }
    }
}

/* Figures. */

static bool links_shared(const struct links_view *v)
{
    return topo_duplex(v->r->file->topo) == TOPO_DUPLEX_SHARED;
}

/* Of what it could have carried meanwhile, at the rate of the run; NaN: there is no link. */
static double links_used(const struct links_view *v, uint32_t from, uint32_t to)
{
    const struct topo_link *link = topo_link_between(v->r->file->topo, from, to);
    double bytes = (double)run_traffic_between(&v->r->traffic, from, to);

    bytes += links_shared(v) ? (double)run_traffic_between(&v->r->traffic, to, from) : 0.0;

    return link == NULL || v->r->last_s <= 0
               ? (double)NAN
               : bytes * v->r->file->links.scale / ((double)link->bytes_per_s * v->r->last_s);
}

/* A step of the ramp: 0 nothing, 1 to 5, 6 beyond it. */
static uint32_t links_step(uint64_t bytes, double used)
{
    return bytes == 0     ? 0
           : used < 0.1   ? 1
           : used < 0.25  ? 2
           : used < 0.5   ? 3
           : used < 0.75  ? 4
           : used < 1.005 ? 5
                          : 6;
}

static const char *const links_styles[] = {"u0", "u1", "u2", "u3", "u4", "u5", "over"};

static void links_print_rate(double bytes_per_s, struct text *t)
{
    static const char *const units[] = {"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"};
    double bits = bytes_per_s * 8;
    size_t i = 0;

    for (; bits >= 999.5 && i < 4; i++) {
        bits /= 1000;
    }
    text_addf(t, "%.4g %s", bits, units[i]);
}

static const char *links_name(const struct links_view *v, uint32_t region)
{
    return topo_region_at(v->r->file->topo, region)->name;
}

/* "lisbon to osaka: 184 kB, 74 % of what it could carry; it was down for 500 ms" */
static void links_words(const struct links_view *v, uint32_t from, uint32_t to, struct text *t)
{
    text_addf(t, "%s to %s: ", links_name(v, from), links_name(v, to));
    if (topo_link_between(v->r->file->topo, from, to) == NULL) {
        text_add(t, "they are not joined");
        return;
    }
    figure_bytes(run_traffic_between(&v->r->traffic, from, to), t);
    text_add(t, links_shared(v) ? ", with the way back " : ", ");
    run_page_percent(t, links_used(v, from, to));
    text_add(t, " of what it could carry");
    if (v->down_s[from][to] > 0) {
        text_addf(t, "; it was down for ");
        figure_time(v->down_s[from][to], t);
        text_add(t, v->down[from][to] ? ", until the end" : "");
    }
}

/* The matrix. */

struct links_size {
    double left;
    double top;
    double wide;
    double high;
    double field;
    double field_high;
};

static struct links_size links_size(const struct links_view *v)
{
    size_t longest = 4;
    struct links_size s = {.field = v->count <= LINKS_BIG ? 92 : v->count <= LINKS_SMALL ? 62 : 24};

    for (uint32_t i = 0; i < v->count; i++) {
        size_t letters = strlen(links_name(v, v->regions[i]));

        longest = letters > longest ? letters : longest;
    }
    longest = longest < LINKS_NAME_LETTERS ? longest : LINKS_NAME_LETTERS;
    s.field_high = v->count <= LINKS_BIG ? 44 : v->count <= LINKS_SMALL ? 32 : 24;
    s.left = LINKS_LETTER * (double)longest + 12;
    s.top = v->count <= LINKS_BIG ? 42 : LINKS_LETTER * (double)longest * 0.72 + 34;
    s.wide = s.left + s.field * v->count + (v->count <= LINKS_BIG ? 2 : s.top * 0.6);
    s.high = s.top + s.field_high * v->count + 2;
    return s;
}

static void links_short(const char *name, struct text *out)
{
    char cut[LINKS_NAME_LETTERS + 1];

    (void)snprintf(cut, sizeof(cut), "%.*s", LINKS_NAME_LETTERS, name);
    run_svg_escape(out, cut);
    text_add(out, strlen(name) >= sizeof(cut) ? "&#8230;" : "");
}

static void links_heads(const struct links_view *v, const struct links_size *s, struct text *out)
{
    text_addf(out,
              "<text class=\"head small\" x=\"%.0f\" y=\"13\">to &#8594;</text>"
              "<text class=\"head small\" x=\"0\" y=\"%.0f\">from &#8595;</text>",
              s->left + 2, s->top - 8);
    for (uint32_t i = 0; i < v->count; i++) {
        double x = s->left + s->field * (i + 0.5), y = s->top - 8;

        if (v->count <= LINKS_BIG) {
            text_addf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", x, y);
        } else {
            text_addf(out, "<text transform=\"translate(%.1f %.1f) rotate(-45)\">", x, y);
        }
        links_short(links_name(v, v->regions[i]), out);
        text_addf(out, "</text><text x=\"0\" y=\"%.1f\">", s->top + s->field_high * (i + 0.5) + 4);
        links_short(links_name(v, v->regions[i]), out);
        text_add(out, "</text>");
    }
}

/* What a field has to say in letters. */
static void links_letters(const struct links_view *v, uint32_t from, uint32_t to, double x,
                          double y, struct text *out)
{
    uint64_t bytes = run_traffic_between(&v->r->traffic, from, to);
    uint32_t step = links_step(bytes, links_used(v, from, to));
    bool big = v->count <= LINKS_BIG;

    if (v->down[from][to]) {
        text_addf(out,
                  "<text class=\"downword\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">down"
                  "</text>",
                  x, y + 4);
        return;
    }
    text_addf(out, "<text class=\"on%u\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", step, x,
              big && bytes > 0 ? y - 3 : y + 4);
    if (bytes == 0) {
        text_add(out, "0");
    } else if (big) {
        figure_bytes(bytes, out);
        text_addf(out,
                  "</text><text class=\"small on%u\" x=\"%.1f\" y=\"%.1f\" "
                  "text-anchor=\"middle\">",
                  step, x, y + 13);
        run_page_percent(out, links_used(v, from, to));
    } else {
        run_page_percent(out, links_used(v, from, to));
    }
    text_add(out, "</text>");
}

static void links_field(const struct links_view *v, const struct links_size *s, uint32_t row,
                        uint32_t column, struct text *out)
{
    uint32_t from = v->regions[row], to = v->regions[column];
    double x = s->left + s->field * column, y = s->top + s->field_high * row;
    bool joined = topo_link_between(v->r->file->topo, from, to) != NULL;
    uint32_t step =
        links_step(run_traffic_between(&v->r->traffic, from, to), links_used(v, from, to));
    struct report_words words;

    if (v->count <= LINKS_WORDS) {
        links_words(v, from, to, report_words(&words));
        text_add(out, "<g><title>");
        run_svg_escape(out, words.chars);
        text_add(out, "</title>");
    }
    text_addf(out,
              "<rect class=\"%s\" %sx=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
              "rx=\"3\"/>",
              !joined ? "" : links_styles[step], !joined ? "fill=\"url(#nolink)\" " : "", x + 1.5,
              y + 1.5, s->field - 3, s->field_high - 3);
    if (v->down_s[from][to] > 0) {
        text_addf(out,
                  "<rect class=\"down\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                  "rx=\"3\"/>",
                  x + 2.5, y + 2.5, s->field - 5, s->field_high - 5);
    }
    if (joined && v->count <= LINKS_SMALL) {
        links_letters(v, from, to, x + s->field / 2, y + s->field_high / 2, out);
    }
    text_add(out, v->count <= LINKS_WORDS ? "</g>" : "");
}

static void links_matrix(const struct links_view *v, struct text *out)
{
    struct links_size s = links_size(v);

    text_addf(
        out,
        "<div class=\"scroll\"><svg class=\"matrix\" viewBox=\"0 0 %.0f %.0f\" "
        "style=\"min-width:%.0fpx;max-width:%.0fpx\" role=\"img\" "
        "aria-labelledby=\"links-t links-d\"><title id=\"links-t\">Bytes and utilisation of "
        "every link</title><desc id=\"links-d\">Rows are where bytes come from, columns where "
        "they go to. The table below has the same figures.</desc>",
        s.wide, s.high, s.wide * 0.8, s.wide * 1.15);
    text_add(out, "<defs><pattern id=\"nolink\" width=\"7\" height=\"7\" "
                  "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
                  "<path class=\"hatch\" d=\"M0 0V7\"/></pattern></defs>");
    links_heads(v, &s, out);
    for (uint32_t row = 0; row < v->count; row++) {
        for (uint32_t column = 0; column < v->count; column++) {
            if (row != column) {
                links_field(v, &s, row, column, out);
            }
        }
    }
    text_add(out, "</svg></div>\n");
}

static void links_keys(const struct links_view *v, struct text *out)
{
    static const char *const names[] = {"nothing",    "below 10 %",  "below 25 %", "below 50 %",
                                        "below 75 %", "up to 100 %", "above 100 %"};

    run_page_keys(out, names, links_styles, 7);
    text_add(out, "<ul class=\"legend\"><li><svg class=\"key\" viewBox=\"0 0 13 13\" "
                  "aria-hidden=\"true\"><rect fill=\"url(#nolink)\" width=\"13\" height=\"13\"/>"
                  "</svg>not joined</li><li><svg class=\"key\" viewBox=\"0 0 13 13\" "
                  "aria-hidden=\"true\"><rect class=\"down\" x=\"1\" y=\"1\" width=\"11\" "
                  "height=\"11\"/></svg>cut for a while; <b>down</b>: until the end</li></ul>\n");
    text_add(out, links_shared(v) ? "<p class=\"soft\">Both directions of a link share its rate: "
                                    "percentages are of both together.</p>\n"
                                  : "");
    text_add(out, v->storms ? "<p class=\"soft\">The storms of the run may have cut others too."
                              "</p>\n"
                            : "");
}

/* The table. */

struct links_row {
    uint32_t from;
    uint32_t to;
    uint64_t bytes;
};

static int links_order(const void *a, const void *b)
{
    const struct links_row *x = a, *y = b;

    return x->bytes != y->bytes ? (x->bytes < y->bytes ? 1 : -1)
           : x->from != y->from ? (x->from < y->from ? -1 : 1)
           : x->to < y->to      ? -1
                                : 1;
}

static uint32_t links_rows(const struct links_view *v, struct links_row *rows)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < v->count * v->count; i++) {
        uint32_t from = v->regions[i / v->count], to = v->regions[i % v->count];
        uint64_t bytes = run_traffic_between(&v->r->traffic, from, to);

        if (from != to && (bytes > 0 || v->down_s[from][to] > 0)) {
            rows[count++] = (struct links_row){from, to, bytes};
        }
    }
    qsort(rows, count, sizeof(*rows), links_order);
    return count;
}

static void links_table_row(const struct links_view *v, const struct links_row *row,
                            struct text *out)
{
    const struct run_file *f = v->r->file;
    const struct topo_link *link = topo_link_between(f->topo, row->from, row->to);
    double down_s = v->down_s[row->from][row->to];

    text_addf(out, "<tr><td>%s</td><td>%s</td><td class=\"n\">", links_name(v, row->from),
              links_name(v, row->to));
    figure_bytes(row->bytes, out);
    text_add(out, "</td><td class=\"n\">");
    run_page_percent(out, links_used(v, row->from, row->to));
    text_add(out, "</td><td class=\"n\">");
    if (link != NULL) {
        links_print_rate((double)link->bytes_per_s / f->links.scale, out);
    }
    text_add(out, "</td><td class=\"n\">");
    if (link != NULL && link->priced) {
        run_page_usd(out, (double)link->price_nusd_per_gb * 1e-9);
    }
    text_add(out, "</td><td class=\"n\">");
    if (row->bytes > 0) {
        run_page_usd(out, v->r->usd[(size_t)row->from * v->r->traffic.regions + row->to]);
    }
    text_add(out, "</td><td class=\"n\">");
    if (down_s > 0) {
        figure_time(down_s, out);
    }
    text_add(out, "</td></tr>");
}

static void links_table(const struct links_view *v, struct text *out)
{
    struct links_row rows[TOPO_REGIONS_MAX * TOPO_REGIONS_MAX];
    uint32_t count = links_rows(v, rows);

    text_addf(out, "<details%s><summary>All links as a table</summary><div class=\"scroll\">",
              count <= LINKS_OPEN_MAX ? " open" : "");
    text_add(out, "<table><tr><th>from</th><th>to</th><th class=\"n\">bytes"
                  "</th><th class=\"n\">used</th><th class=\"n\">rate</th><th class=\"n\">price a "
                  "GB</th><th class=\"n\">dollars</th><th class=\"n\">down</th></tr>");
    for (uint32_t i = 0; i < count && i < LINKS_TABLE_MAX; i++) {
        links_table_row(v, &rows[i], out);
    }
    text_add(out, "</table></div>\n");
    if (count > LINKS_TABLE_MAX) {
        text_addf(out, "<p class=\"soft\">The %d with the most bytes, of %u.</p>\n",
                  LINKS_TABLE_MAX, count);
    }
    text_add(out, "</details>\n");
}

void report_links(const struct run_reading *r, struct text *out)
{
    struct links_view v;

    links_view_look(&v, r);
    if (v.count < 2) {
        return;
    }
    text_add(out, "<h2>Links</h2>\n<p class=\"soft\">What went from one region to another, and how "
                  "much of what the link could have carried in that time.</p>\n"
                  "<div class=\"card\"><div class=\"beside\">");
    links_matrix(&v, out);
    text_add(out, "<div class=\"legends\">");
    links_keys(&v, out);
    text_add(out, "</div></div>\n");
    links_table(&v, out);
    text_add(out, "<p class=\"from\"><code>links.csv</code>, its last row of each link; rates, "
                  "prices and cuts: <code>run.yaml</code></p></div>\n");
}
