#include "cli/output/figure.h"

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
