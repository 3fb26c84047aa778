#include "cli/status/lines.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { VIEW_REASON_LINES_MAX = 4 };

const char *view_string(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));

    return value == NULL ? "?" : value;
}

bool view_flag(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

const json_t *view_lane(const json_t *report, size_t index)
{
    return json_array_get(json_object_get(report, "lanes"), index);
}

const json_t *view_status(const json_t *report, size_t index)
{
    return json_object_get(view_lane(report, index), "status");
}

size_t view_lanes(const json_t *report)
{
    return json_array_size(json_object_get(report, "lanes"));
}

/* Per second; negative: not known. Restarts make counters go back. */
double view_rate(const struct status_view *v, int64_t before, int64_t now)
{
    return v->before == NULL || v->seconds <= 0 || now < before
               ? -1
               : (double)(now - before) / v->seconds;
}

/* Cells. */

/* Three digits and a letter: "52.3 MB/s"; "-" for what is not known. */
const char *view_si(double value, const char *unit, char *out)
{
    static const char *const letters[] = {"", "k", "M", "G", "T"};
    size_t i = 0;
    int places;

    if (value < 0) {
        (void)snprintf(out, VIEW_CELL_BYTES, "-");
        return out;
    }
    for (; value >= 999.5 && i < 4; i++) {
        value /= 1000;
    }
    places = value == 0 || value >= 99.95 || (i == 0 && value >= 9.95) ? 0 : value >= 9.95 ? 1 : 2;
    (void)snprintf(out, VIEW_CELL_BYTES, "%.*f%s%s%s", places, value,
                   i > 0 || unit[0] != '\0' ? " " : "", letters[i], unit);
    return out;
}

const char *view_seconds(int64_t ms, char *out)
{
    (void)snprintf(out, VIEW_CELL_BYTES, "%.1f s", (double)ms / 1e3);
    return out;
}

/* Lines. */

/* One line, cut to the width and made harmless. */
void view_put(struct view_out *o, enum cli_style style, const char *line)
{
    char storage[VIEW_LINE_BYTES];
    struct text clean;

    if (o->left <= 0) {
        return;
    }
    o->left--;
    text_init_fixed(&clean, storage, sizeof(storage));
    text_add_printable(&clean, line);
    if (style != CLI_PLAIN) {
        text_add(o->out, cli_style(o->v->color, style));
    }
    text_addf(o->out, "%.*s", o->v->width, clean.chars);
    if (style != CLI_PLAIN) {
        text_add(o->out, cli_style(o->v->color, CLI_PLAIN));
    }
    text_add(o->out, "\n");
}

void view_putf(struct view_out *o, enum cli_style style, const char *fmt, ...)
{
    char line[VIEW_LINE_BYTES];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    view_put(o, style, line);
}

/* As many lines as it takes, but not too many. */
void view_wrap(struct view_out *o, enum cli_style style, const char *text)
{
    size_t width = o->v->width > 8 ? (size_t)o->v->width - 2 : 8;

    for (int line = 0; *text != '\0' && line < VIEW_REASON_LINES_MAX; line++) {
        size_t size = strlen(text);

        if (size > width) {
            size = width;
            while (size > 1 && text[size] != ' ') {
                size--;
            }
            size = size <= 1 ? width : size;
        }
        view_putf(o, style, "%s%.*s", line == 0 ? "" : "  ", (int)size, text);
        text += size;
        text += strspn(text, " ");
    }
}
