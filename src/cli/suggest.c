#include "cli/suggest.h"

#include <string.h>

static unsigned suggest_min(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

unsigned suggest_distance(const char *a, const char *b)
{
    unsigned rows[3][CLI_SUGGEST_WORD_BYTES + 1];
    size_t a_size = strlen(a), b_size = strlen(b);
    unsigned *before = rows[0], *last = rows[1], *row = rows[2];

    if (a_size > CLI_SUGGEST_WORD_BYTES || b_size > CLI_SUGGEST_WORD_BYTES) {
        return 2 * CLI_SUGGEST_WORD_BYTES;
    }
    for (size_t j = 0; j <= b_size; j++) {
        last[j] = (unsigned)j;
    }
    for (size_t i = 1; i <= a_size; i++) {
        unsigned *free_row = before;

        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_size; j++) {
            unsigned change = last[j - 1] + (a[i - 1] != b[j - 1]);

            row[j] = suggest_min(suggest_min(row[j - 1], last[j]) + 1, change);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = suggest_min(row[j], before[j - 2] + 1);
            }
        }
        before = last;
        last = row;
        row = free_row;
    }
    return last[b_size];
}

void suggest_init(struct suggest *s, const char *wanted)
{
    *s = (struct suggest){.wanted = wanted, .distance = 2 * CLI_SUGGEST_WORD_BYTES};
}

void suggest_offer(struct suggest *s, const char *word)
{
    size_t wanted_size = strlen(s->wanted);
    unsigned allowed = wanted_size < 4 ? 1 : wanted_size < 8 ? 2 : 3;
    unsigned distance = suggest_distance(s->wanted, word);

    /* The beginning of a word is as good as a slip of one finger. */
    if (wanted_size >= 2 && strncmp(s->wanted, word, wanted_size) == 0) {
        distance = suggest_min(distance, 1);
    }
    if (distance <= allowed && distance < strlen(word) && distance < s->distance) {
        s->best = word;
        s->distance = distance;
    }
}
