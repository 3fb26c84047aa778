/* "Did you mean": the nearest of some words. */

#ifndef CLI_SUGGEST_H
#define CLI_SUGGEST_H

#include <stddef.h>

enum { CLI_SUGGEST_WORD_BYTES = 64 }; /* Longer words are not compared. */

/* How many characters one would insert, remove, change or swap with their neighbour. */
unsigned suggest_distance(const char *a, const char *b);

/* Keeps the best of the words offered so far. */
struct suggest {
    const char *wanted;
    const char *best; /* Borrowed from the one who offered it; NULL: none is near enough. */
    unsigned distance;
};

void suggest_init(struct suggest *s, const char *wanted);
void suggest_offer(struct suggest *s, const char *word);

#endif
