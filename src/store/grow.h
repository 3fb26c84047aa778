/* Bytes that grow up to a limit: what a writer gathers, lists of names and numbers. */

#ifndef STORE_GROW_H
#define STORE_GROW_H

#include "base/err.h"

#include <stdint.h>

/* Zeroed: empty. .bytes and .size may be read; .bytes is NULL as long as nothing was added. */
struct grow {
    uint8_t *bytes;
    size_t size;
    size_t room;
};

/* Add at the end. ERR_FULL if there would be more than @limit bytes, ERR_NOMEM; nothing was added
 * then. */
MUST_USE enum err grow_add(struct grow *g, const void *bytes, size_t size, uint64_t limit);

void grow_deinit(struct grow *g);

#endif
