/* The one file that may ask the system for randomness. */

#include "net/entropy.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <string.h>

enum err entropy_bytes(void *out, size_t n)
{
    CHECK(n <= INT_MAX);
    if (RAND_bytes(out, (int)n) != 1) {
        ERR_clear_error();
        memset(out, 0, n);
        return ERR_IO;
    }
    return OK;
}

enum err entropy_u64(uint64_t *out)
{
    uint64_t value;
    enum err rc = entropy_bytes(&value, sizeof(value));

    if (rc == OK) {
        *out = value;
    }
    return rc;
}
