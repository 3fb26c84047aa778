#include "cli/figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool figure_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = getenv(names[i]);

        if (value != NULL && value[0] != '\0') {
            return strcasestr(value, "utf-8") != NULL || strcasestr(value, "utf8") != NULL;
        }
    }
    return false;
}

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
    } else {
        text_addf(out, "%.0f h %02d min", floor(seconds / 3600), (int)fmod(seconds / 60, 60));
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

void figure_bar(double part, int cells, bool utf8, struct text *out)
{
    int full = part >= 1 ? cells : part > 0 ? (int)(part * cells) : 0;

    for (int i = 0; i < cells; i++) {
        text_add(out, utf8 ? (i < full ? "█" : "░") : (i < full ? "#" : "."));
    }
}

void figure_length(double part, int cells, bool utf8, struct text *out)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int steps = part >= 1 ? cells * 8 : part > 0 ? (int)(part * cells * 8 + 0.5) : 0;

    steps = part > 0 && steps == 0 ? 1 : steps;
    for (int i = 0; i < steps / 8; i++) {
        text_add(out, utf8 ? "█" : "#");
    }
    text_add(out, utf8                                         ? eighths[steps % 8]
                  : steps % 8 >= 4 || (steps > 0 && steps < 8) ? "#"
                                                               : "");
}
