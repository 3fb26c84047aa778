#include "base/figure.h"

#include <inttypes.h>
#include <math.h>

#define FIGURE_SECONDS_MAX 1e15 /* Beyond that nothing has been measured. */

void figure_bytes(uint64_t bytes, struct text *out)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    double value = (double)bytes;
    size_t i = 0;

    for (; value >= 999.5 && i < 4; i++) {
        value /= 1000;
    }
    text_addf(out, i == 0 || value >= 100 ? "%.0f %s" : "%.3g %s", value, units[i]);
}

void figure_time(double seconds, struct text *out)
{
    if (seconds > 0 && seconds < 0.9995) {
        text_addf(out, "%.3g ms", seconds * 1e3);
    } else if (seconds < 120) {
        text_addf(out, "%.1f s", seconds);
    } else if (seconds < 7200) {
        text_addf(out, "%d min %02d s", (int)seconds / 60, (int)seconds % 60);
    } else if (seconds < FIGURE_SECONDS_MAX) {
        uint64_t minutes = (uint64_t)seconds / 60;

        text_addf(out, "%" PRIu64 " h %02u min", minutes / 60, (unsigned)(minutes % 60));
    } else {
        text_add(out, "-");
    }
}

void figure_value(double value, struct text *out)
{
    if (isnan(value)) {
        text_add(out, "not a number");
    } else if (isinf(value)) {
        text_add(out, value < 0 ? "infinite, below zero" : "infinite");
    } else {
        text_addf(out, "%.4g", value);
    }
}

void figure_number(double value, struct text *out)
{
    if (isfinite(value)) {
        text_addf(out, "%.4g", value);
    } else {
        text_add(out, "-");
    }
}
