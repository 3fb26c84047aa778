/* "Did you mean": the word that is most like a mistyped one, or a list of those there are. */

#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>
#include <stdint.h>

enum {
    NEAREST_WORD_BYTES = 64, /* Longer words are like nothing. */
    NEAREST_LIST_BYTES = 320,
};

/* How many characters one would insert, remove, change or swap with their neighbour. */
uint32_t nearest_distance(const char *a, const char *b);

/* Keeps the best of the words offered so far, and their names. */
struct nearest {
    const char *wanted;
    const char *best; /* Borrowed from the one who offered it; NULL: none is near enough. */
    uint32_t distance;
    char list[NEAREST_LIST_BYTES]; /* All words, with commas, as many as fit. */
    char hint[NEAREST_LIST_BYTES + NEAREST_WORD_BYTES];
};

void nearest_init(struct nearest *n, const char *wanted);
void nearest_offer(struct nearest *n, const char *word);

/* "did you mean 'rate'?", or if none is near enough: @otherwise, which ends a sentence with the
 * list, as in "there are rate, delay". */
const char *nearest_hint(struct nearest *n, const char *otherwise);

#endif
