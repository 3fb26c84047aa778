/* What links.c and links_flood.c share; for src/sync/links*.c only. */

#ifndef SYNC_LINKS_STATE_H
#define SYNC_LINKS_STATE_H

#include "sync/links.h"

/* links.c: the word of a site, with the entries that changed after the word of that number. */
void links_word_make(const struct links *l, uint32_t site, uint32_t since, struct links_word *out);

/* links_flood.c: the neighbour has that word. */
void links_known(struct links *l, uint32_t neighbour, uint32_t site, uint64_t life,
                 uint32_t number);

#endif
