/* What happened in a run: marks for the time axis, and a table. */

#include "run/report/state.h"

#include <math.h>
#include <string.h>

enum { EVENTS_SHOWN_MAX = 60, EVENTS_APART = 120, EVENTS_LANES_ALWAYS = 3 };

const char *const report_lanes[REPORT_LANES] = {"faults", "joins", "leaves", "plans"};

/* Everything that was not planned is trouble; words of members are not shown as marks. */
static uint32_t events_lane(const char *kind)
{
    static const struct {
        const char *kind;
        uint32_t lane;
    } kinds[] = {
        {"fault", 0},  {"killed", 0},      {"down", 0}, {"rebased", 0},
        {"failed", 0}, {"joined", 1},      {"back", 1}, {"continued", 1},
        {"left", 2},   {"interrupted", 2}, {"plan", 3},
    };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kinds[i].kind, kind) == 0) {
            return kinds[i].lane;
        }
    }
    return REPORT_LANES;
}

/* "w2 down: its process is gone" */
static void events_words(const struct run_reading_event *e, struct text *t)
{
    text_addf(t, "%s%s%s%s%s", e->who, e->who[0] == '\0' ? "" : " ", e->kind,
              e->text[0] == '\0' ? "" : ": ", e->text);
}

/* Behind the words of the mark that it is part of; what does not fit is "...". */
static void events_join(struct report_marks *out, uint32_t index, bool first,
                        const struct run_reading_event *e)
{
    char words[REPORT_WORDS_BYTES];
    size_t used = strlen(out->words[index]);
    struct text t;

    text_init_fixed(&t, words, sizeof(words));
    text_add(&t, first ? "" : "; ");
    events_words(e, &t);
    if (used + t.size + 4 < REPORT_MARK_BYTES) {
        memcpy(out->words[index] + used, words, t.size + 1);
    } else if (used + 4 < REPORT_MARK_BYTES &&
               (used < 3 || strcmp(out->words[index] + used - 3, "...") != 0)) {
        memcpy(out->words[index] + used, "...", 4);
    }
}

void report_marks(const struct run_reading *r, struct report_marks *out)
{
    double apart = r->last_s / EVENTS_APART;

    out->count = 0;
    out->lanes = 0;
    for (uint32_t i = 0; i < r->events_count; i++) {
        const struct run_reading_event *e = &r->events[i];
        uint32_t lane = events_lane(e->kind), at = out->count;
        bool first;

        if (lane == REPORT_LANES) {
            continue;
        }
        for (uint32_t j = 0; j < out->count && at == out->count; j++) {
            at = out->marks[j].lane == lane && fabs(out->marks[j].x - e->time_s) < apart ? j : at;
        }
        if (at == REPORT_MARKS_MAX) {
            continue;
        }
        first = at == out->count;
        out->lanes = lane >= EVENTS_LANES_ALWAYS ? lane + 1
                     : out->lanes == 0           ? EVENTS_LANES_ALWAYS
                                                 : out->lanes;
        if (first) {
            struct text t;

            text_init_fixed(&t, out->words[at], REPORT_MARK_BYTES);
            figure_time(e->time_s, &t);
            text_add(&t, ": ");
            out->marks[at] =
                (struct run_svg_mark){.x = e->time_s, .lane = lane, .words = out->words[at]};
            out->count++;
        }
        events_join(out, at, first, e);
    }
}

void report_events(const struct run_reading *r, struct text *out)
{
    uint32_t shown = 0;

    if (r->events_count == 0) {
        return;
    }
    text_addf(out,
              "<details><summary>What happened: %u event%s</summary><div class=\"scroll\"><table>"
              "<tr><th class=\"n\">time</th><th>event</th><th>who</th><th></th></tr>",
              r->events_count, r->events_count == 1 ? "" : "s");
    for (uint32_t i = 0; i < r->events_count; i++) {
        const struct run_reading_event *e = &r->events[i];

        /* Of many, the first and the last. */
        if (r->events_count > EVENTS_SHOWN_MAX && i >= EVENTS_SHOWN_MAX / 2 &&
            i < r->events_count - EVENTS_SHOWN_MAX / 2) {
            continue;
        }
        text_add(out, "<tr><td class=\"n\">");
        text_addf(out, "%.3f s", e->time_s);
        text_add(out, "</td><td>");
        run_svg_escape(out, e->kind);
        text_add(out, "</td><td>");
        run_svg_escape(out, e->who);
        text_add(out, "</td><td>");
        run_svg_escape(out, e->text);
        text_add(out, "</td></tr>");
        shown++;
    }
    text_addf(out, "</table></div><p class=\"from\">%s<code>events.jsonl</code>%s</p></details>\n",
              shown < r->events_count ? "The first and the last; all are in " : "From ", ".");
}
