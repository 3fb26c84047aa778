/* Lines and cells of cli/status/view.c and its neighbours, and what they read reports with. */

#ifndef CLI_STATUS_LINES_H
#define CLI_STATUS_LINES_H

#include "base/err.h"
#include "cli/command/context.h"
#include "cli/status/view.h"

#include <stddef.h>
#include <stdint.h>

enum {
    VIEW_LINE_BYTES = 1024,
    VIEW_CELL_BYTES = 32,
};

/* Another site as all lanes together see it. */
struct view_site {
    const char *name;
    bool up; /* All lanes reach it. */
    bool left_out, announcing;
    bool linked;   /* Not only through others. */
    int64_t clock; /* The smallest. */
    int64_t queued_bytes;
    int64_t sent_bytes;
    int64_t delivery;
    int64_t rtt_us; /* The longest. */
};

struct view_out {
    const struct status_view *v;
    struct text *out;
    int left; /* Lines. */
};

/* Reports. */
const char *view_string(const json_t *object, const char *key); /* "?": it is none. */
bool view_flag(const json_t *object, const char *key);
const json_t *view_lane(const json_t *report, size_t index);
const json_t *view_status(const json_t *report, size_t index);
size_t view_lanes(const json_t *report);

/* Per second; negative: not known. Restarts make counters go back. */
double view_rate(const struct status_view *v, int64_t before, int64_t now);

/* Three digits and a letter: "52.3 MB/s"; "-" for what is not known. */
const char *view_si(double value, const char *unit, char *out);
const char *view_seconds(int64_t ms, char *out);

/* One line, cut to the width and made harmless. */
void view_put(struct view_out *o, enum cli_style style, const char *line);
void view_putf(struct view_out *o, enum cli_style style, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* As many lines as it takes, but not too many. */
void view_wrap(struct view_out *o, enum cli_style style, const char *text);

/* Sites around a centre (cli/status/central.c). */
bool view_is_central(const struct status_view *v);
bool view_is_centre(const struct status_view *v, const char *site);
void view_central_head(struct view_out *o); /* The plan, this site's way, and a heading. */
void view_central_line(struct view_out *o, const struct view_site *s, double sent_per_s);
void view_central_tail(struct view_out *o); /* What went so far. */

#endif
