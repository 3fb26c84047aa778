/* Whole data files in memory, compressed by gzip or not. */

#ifndef APP_FILE_H
#define APP_FILE_H

#include "base/err.h"

#include <stdint.h>

/* What the readers of this module take at most: as much as the largest public data set of their
 * kind holds, unpacked. */
#define APP_FILE_BYTES_MAX (UINT64_C(4) << 30)

/* Read a regular file of at most @bytes_max bytes, counted after unpacking if it is a gzip file
 * (by its first bytes, not by its name; several members in a row are one file). The caller
 * releases the bytes by mem_free(); a zero byte that does not count follows them.
 *
 * ERR_NOT_FOUND, ERR_IO, ERR_TOO_BIG, ERR_MALFORMED (a damaged gzip file) or ERR_NOMEM, with the
 * path and the reason in @text, which may be NULL. Blocks while it reads. */
MUST_USE enum err app_file_read(const char *path, uint64_t bytes_max, uint8_t **bytes_out,
                                size_t *size_out, struct err_text *text);

#endif
