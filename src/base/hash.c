#include "base/hash.h"

#include <string.h>

/* Inlined so that the compiler may use the widest vectors it was allowed to. */
#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t hash_bytes(const void *bytes, size_t size)
{
    return XXH3_64bits(bytes, size);
}

uint64_t hash_text(const char *text)
{
    return XXH3_64bits(text, strlen(text));
}
