/* Where each site's time and money went. */

#include "run/report/state.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { SITES_PARTS = 3, SITES_WAITS = 4, SITES_PLANS_MAX = 40 };

static const char *const sites_parts[SITES_PARTS] = {"computing", "reading", "ending clocks"};
static const char *const sites_part_styles[SITES_PARTS] = {"b2", "b1", "b3"};
static const char *const sites_waits[SITES_WAITS] = {
    "for another site's clock", "for a barrier (pieces that were announced)",
    "for what was about to come (fresh)", "for room (too much under way)"};
static const char *const sites_wait_styles[SITES_WAITS] = {"b0", "b4", "b5", "b7"};
static const char *const sites_wait_names[SITES_WAITS] = {"clock", "barrier", "fresh", "room"};

/* "computing 12 %, reading 80 %": what is not nothing. */
static void sites_words(const char *const *names, const double *sizes, uint32_t count, double whole,
                        struct text *t)
{
    bool first = true;

    for (uint32_t i = 0; i < count; i++) {
        if (sizes[i] > 0) {
            text_addf(t, "%s%s ", first ? "" : ", ", names[i]);
            run_page_percent(t, sizes[i] / whole);
            first = false;
        }
    }
}

static void sites_bar(const char *const *names, const char *const *styles, const double *sizes,
                      uint32_t count, struct text *out)
{
    struct run_svg_part parts[SITES_WAITS];
    struct report_words words;
    double whole = 0;

    for (uint32_t i = 0; i < count; i++) {
        parts[i] = (struct run_svg_part){.size = sizes[i], .style = styles[i]};
        whole += sizes[i];
    }
    sites_words(names, sizes, count, whole, report_words(&words));
    run_svg_bar(parts, count, whole, words.chars, out);
    text_add(out, "<span class=\"how\">");
    figure_time(whole, out);
    text_add(out, "</span><span class=\"words\">");
    run_svg_escape(out, words.chars);
    text_add(out, "</span>\n");
}

static void sites_times(const struct run_reading *r, struct text *out)
{
    run_page_keys(out, sites_parts, sites_part_styles, SITES_PARTS);
    text_add(out, "<div class=\"bars\">\n");
    for (uint32_t i = 0; i < r->sites_count; i++) {
        const struct run_reading_site *s = &r->sites[i];
        double sizes[SITES_PARTS] = {s->compute_s, s->read_s, s->end_s};

        text_add(out, "<span class=\"who\">");
        run_svg_escape(out, s->name);
        text_add(out, "</span>");
        sites_bar(sites_parts, sites_part_styles, sizes, SITES_PARTS, out);
    }
    text_add(out, "</div>\n<p class=\"from\"><code>summary.json</code>: <code>workers</code>; sums "
                  "over the workers of a site</p>\n");
}

/* Several reads of a worker wait at once, so these are more than the time that it read. */
static void sites_waiting(const struct run_reading *r, struct text *out)
{
    bool any = false;

    for (uint32_t i = 0; i < r->sites_count; i++) {
        any = any || r->sites[i].shared;
    }
    if (!any) {
        return;
    }
    text_add(out, "</div><div class=\"card\"><h3>Why reads waited</h3>");
    run_page_keys(out, sites_waits, sites_wait_styles, SITES_WAITS);
    text_add(out, "<div class=\"bars\">\n");
    for (uint32_t i = 0; i < r->sites_count; i++) {
        const struct run_reading_site *s = &r->sites[i];
        double sizes[SITES_WAITS] = {s->waited_clock_s, s->waited_barrier_s, s->waited_fresh_s,
                                     s->waited_room_s};

        text_add(out, "<span class=\"who\">");
        run_svg_escape(out, s->name);
        text_add(out, "</span>");
        sites_bar(sites_wait_names, sites_wait_styles, sizes, SITES_WAITS, out);
    }
    text_add(out, "</div>\n<p class=\"from\"><code>summary.json</code>: <code>sites</code>, "
                  "<code>shared</code>; sums over all reads, of which a worker has several at once"
                  "</p>\n");
}

/* The plans that were followed, as the events have them. */
static void sites_plans(const struct run_reading *r, struct text *out)
{
    uint32_t shown = 0;

    text_add(out, "<div class=\"scroll\"><table><tr><th class=\"n\">from</th><th>plan</th></tr>");
    for (uint32_t i = 0; i < r->events_count; i++) {
        const struct run_reading_event *e = &r->events[i];

        if (strcmp(e->kind, "plan") != 0 || shown++ >= SITES_PLANS_MAX) {
            continue;
        }
        text_addf(out, "<tr><td class=\"n\">%.1f s</td><td>", e->time_s);
        run_svg_escape(out, e->text);
        text_add(out, "</td></tr>");
    }
    text_add(out, "</table></div>\n");
    if (shown > SITES_PLANS_MAX) {
        text_addf(out, "<p class=\"soft\">And %u more.</p>\n", shown - SITES_PLANS_MAX);
    }
    text_add(out, "<p class=\"from\"><code>events.jsonl</code>: <code>plan</code></p>\n");
}

/* Who sent what to the centre, who was it, and who passed on what. */
static void sites_around(const struct run_reading *r, struct text *out)
{
    if (r->sites_count == 0 || !r->sites[0].around) {
        return;
    }
    text_add(out, "</div><div class=\"card\"><h3>Around the centre</h3>");
    sites_plans(r, out);
    text_add(out, "<div class=\"scroll\"><table><tr><th>site</th><th class=\"n\">sums sent</th>"
                  "<th class=\"n\">taken as the centre</th><th class=\"n\">passed on</th>"
                  "<th class=\"n\">chunks taken whole</th><th class=\"n\">sums carried</th>"
                  "<th class=\"n\">plans made</th></tr>");
    for (uint32_t i = 0; i < r->sites_count; i++) {
        const struct run_reading_site *s = &r->sites[i];

        text_add(out, "<tr><td>");
        run_svg_escape(out, s->name);
        text_addf(out,
                  "</td><td class=\"n\">%" PRIu64 "</td><td class=\"n\">%" PRIu64
                  "</td><td class=\"n\">",
                  s->sums_sent, s->sums_taken);
        figure_bytes(s->passed_bytes, out);
        text_addf(out,
                  "</td><td class=\"n\">%" PRIu64 "</td><td class=\"n\">%" PRIu64
                  "</td><td class=\"n\">%" PRIu64 "</td></tr>",
                  s->wholes_taken, s->carried, s->plans);
    }
    text_add(out, "</table></div>\n<p class=\"from\"><code>summary.json</code>: "
                  "<code>sites</code>, <code>around</code></p>\n");
}

static void sites_table(const struct run_reading *r, struct text *out)
{
    text_add(out, "</div><div class=\"card\"><div class=\"scroll\"><table><tr><th>site</th>"
                  "<th>region</th><th class=\"n\">workers</th><th class=\"n\">kept back</th>"
                  "<th class=\"n\">computing</th><th class=\"n\">waiting</th>"
                  "<th class=\"n\">transfer</th><th class=\"n\">dollars</th></tr>");
    for (uint32_t i = 0; i < r->sites_count; i++) {
        const struct run_reading_site *s = &r->sites[i];
        const double usd[] = {s->compute_usd, s->waiting_usd, s->transfer_usd, s->total_usd};

        text_add(out, "<tr><td>");
        run_svg_escape(out, s->name);
        text_add(out, "</td><td>");
        run_svg_escape(out, s->region[0] == '\0' ? "several" : s->region);
        text_addf(out, "</td><td class=\"n\">%" PRIu64 "</td><td class=\"n\">", s->workers);
        run_page_percent(out, s->insignificant);
        for (size_t j = 0; j < sizeof(usd) / sizeof(usd[0]); j++) {
            text_add(out, "</td><td class=\"n\">");
            run_page_usd(out, usd[j]);
        }
        text_add(out, "</td></tr>");
    }
    text_add(out, "</table></div>\n");
    if (!r->outcome.priced && r->outcome.note.text[0] != '\0') {
        text_add(out, "<p class=\"soft\">Dollars are not known: ");
        run_svg_escape(out, r->outcome.note.text);
        text_add(out, ".</p>\n");
    }
    text_add(out, "<p class=\"from\"><code>summary.json</code>: <code>sites</code></p></div>\n");
}

void report_sites(const struct run_reading *r, struct text *out)
{
    text_add(out, "<h2>Sites</h2>\n");
    if (!r->finished) {
        text_add(out, "<p class=\"soft\">Where the time of each site went is known when the run is "
                      "over.</p>\n");
        return;
    }
    text_add(out, "<p class=\"soft\">Where the time and the money of each site went.</p>\n"
                  "<div class=\"card\"><h3>What workers did</h3>");
    sites_times(r, out);
    sites_waiting(r, out);
    sites_around(r, out);
    sites_table(r, out);
}
