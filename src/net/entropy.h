/* Randomness for secrets and identifiers, from OpenSSL's generator. The only source in Strait that
 * is not seeded by the run; machines get theirs from base/rng.h. Any thread. */

#ifndef NET_ENTROPY_H
#define NET_ENTROPY_H

#include "base/err.h"

#include <stdint.h>

/* Fill @out with @n bytes. ERR_IO if the system has no randomness to give; @out is then zeroed. */
MUST_USE enum err entropy_bytes(void *out, size_t n);

MUST_USE enum err entropy_u64(uint64_t *out);

#endif
