/* Small inputs are hashed in place; large ones go to the library, which has a version for each
 * width of vectors and picks the widest that the processor has. */

#include "base/hash.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { HASH_LARGE_BYTES = 2048 };

#if defined(__x86_64__)
/* From the library's xxh_x86dispatch.h, which cannot be included beside an inlined XXH3. */
XXH64_hash_t XXH3_64bits_dispatch(const void *input, size_t len);
#define HASH_LARGE XXH3_64bits_dispatch
#else
#define HASH_LARGE XXH3_64bits
#endif

uint64_t hash_bytes(const void *bytes, size_t size)
{
    return size < HASH_LARGE_BYTES ? XXH3_64bits(bytes, size) : HASH_LARGE(bytes, size);
}

uint64_t hash_text(const char *text)
{
    return hash_bytes(text, strlen(text));
}
