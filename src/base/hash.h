/* The one hash of Strait (XXH3, 64 bit): frame checks and tables. Not for secrets. */

#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(const void *bytes, size_t size);
uint64_t hash_text(const char *text);

#endif
