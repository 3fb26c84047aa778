#include "base/nearest.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static uint32_t nearest_min(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

uint32_t nearest_distance(const char *a, const char *b)
{
    /* Three lines of the usual table: a swap looks two lines back. */
    uint32_t lines[3][NEAREST_WORD_BYTES + 1];
    size_t a_size = strlen(a), b_size = strlen(b);

    if (a_size > NEAREST_WORD_BYTES || b_size > NEAREST_WORD_BYTES) {
        return UINT32_MAX;
    }
    for (size_t k = 0; k <= b_size; k++) {
        lines[0][k] = (uint32_t)k;
    }
    for (size_t i = 1; i <= a_size; i++) {
        uint32_t *line = lines[i % 3], *above = lines[(i + 2) % 3], *far = lines[(i + 1) % 3];

        line[0] = (uint32_t)i;
        for (size_t k = 1; k <= b_size; k++) {
            line[k] = nearest_min(nearest_min(line[k - 1], above[k]) + 1,
                                  above[k - 1] + (a[i - 1] != b[k - 1]));
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1]) {
                line[k] = nearest_min(line[k], far[k - 2] + 1);
            }
        }
    }
    return lines[a_size % 3][b_size];
}

void nearest_init(struct nearest *n, const char *wanted)
{
    *n = (struct nearest){.wanted = wanted, .distance = UINT32_MAX};
}

/* Three dots stand for what does not fit. */
static void nearest_list(struct nearest *n, const char *word)
{
    static const char more[] = ", ...";
    size_t size = strlen(n->list);
    bool full = size >= strlen(more) && strcmp(n->list + size - strlen(more), more) == 0;

    if (!full && size + 2 + strlen(word) + sizeof(more) <= sizeof(n->list)) {
        (void)snprintf(n->list + size, sizeof(n->list) - size, "%s%s", size > 0 ? ", " : "", word);
    } else if (!full) {
        (void)snprintf(n->list + size, sizeof(n->list) - size, "%s", more);
    }
}

void nearest_offer(struct nearest *n, const char *word)
{
    size_t size = strlen(n->wanted);
    uint32_t allowed = size < 4 ? 1 : size < 8 ? 2 : 3;
    uint32_t distance = nearest_distance(n->wanted, word);

    nearest_list(n, word);
    /* The beginning of a word is as good as a slip of one finger. */
    if (size >= 2 && strncmp(n->wanted, word, size) == 0) {
        distance = nearest_min(distance, 1);
    }
    if (distance <= allowed && distance < strlen(word) && distance < n->distance) {
        n->best = word;
        n->distance = distance;
    }
}

const char *nearest_hint(struct nearest *n, const char *otherwise)
{
    if (n->best != NULL) {
        (void)snprintf(n->hint, sizeof(n->hint), "did you mean '%s'?", n->best);
    } else {
        (void)snprintf(n->hint, sizeof(n->hint), "%.60s %s", otherwise, n->list);
    }
    return n->hint;
}
