/* Whole reads and writes on a descriptor that blocks: the calls of the system may do a part only,
 * or be interrupted. Who opens and closes it is the caller's matter. */

#ifndef BASE_FD_H
#define BASE_FD_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/* Read @size bytes, or fewer where they end. Returns the count, or -1 with errno. */
MUST_USE ssize_t fd_read_all(int fd, void *out, size_t size);

/* Write all of them. False with errno; a part may then have been written. */
MUST_USE bool fd_write_all(int fd, const void *bytes, size_t size);

#endif
