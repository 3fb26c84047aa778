/* The parts of the page of a run; for src/run/report*.c only. Each adds to @out. */

#ifndef RUN_REPORT_STATE_H
#define RUN_REPORT_STATE_H

#include "base/figure.h"
#include "run/report/page.h"
#include "run/report/report.h"
#include "run/report/svg.h"

enum { REPORT_WORDS_BYTES = 512 };

/* A text of its own for a few words. */
struct report_words {
    char chars[REPORT_WORDS_BYTES];
    struct text text;
};

static inline struct text *report_words(struct report_words *w)
{
    text_init_fixed(&w->text, w->chars, sizeof(w->chars));
    return &w->text;
}

/* "squared error per rating": of the job, whether or not the run is over. */
const char *report_objective(const struct run_reading *r);
bool report_rising(const struct run_reading *r);

/* report/curves.c: the objective against all that can be measured, and what happened. */
MUST_USE enum err report_curves(const struct run_reading *r, struct text *out);

/* report/links.c: bytes between regions, and how full the links were. */
void report_links(const struct run_reading *r, struct text *out);

/* report/sites.c: where each site's time and money went. */
void report_sites(const struct run_reading *r, struct text *out);

/* report/events.c: what happened, as marks and as a table. */
enum { REPORT_MARKS_MAX = 200, REPORT_LANES = 4, REPORT_MARK_BYTES = 160 };

struct report_marks {
    struct run_svg_mark marks[REPORT_MARKS_MAX];
    char words[REPORT_MARKS_MAX][REPORT_MARK_BYTES];
    uint32_t count;
    uint32_t lanes; /* Those behind are empty. */
};

extern const char *const report_lanes[REPORT_LANES];

/* Those that are near to each other are one. */
void report_marks(const struct run_reading *r, struct report_marks *out);
void report_events(const struct run_reading *r, struct text *out);

#endif
