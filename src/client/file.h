/* Arrays in .npy files, written and read in pieces. A file appears whole or not at all. Blocks on
 * the disk; any thread, but one at a time for each file. */

#ifndef CLIENT_FILE_H
#define CLIENT_FILE_H

#include "base/err.h"

#include <stdint.h>

struct client_file;

/* Begin a file of (rows, width) float32 that will replace @path. ERR_IO, ERR_FULL, ERR_NOMEM,
 * ERR_TOO_BIG with @text, here and below. */
MUST_USE enum err client_file_create(const char *path, uint64_t rows, uint32_t width,
                                     struct client_file **file_out, struct err_text *text);
MUST_USE enum err client_file_write(struct client_file *f, const float *values, uint64_t count,
                                    struct err_text *text);

/* All was written: make it durable and visible. The file is closed in any case. */
MUST_USE enum err client_file_commit(struct client_file *f, struct err_text *text);

/* Open a file that holds (rows, width) float32. ERR_NOT_FOUND, ERR_INVALID, ERR_IO, ERR_NOMEM. */
MUST_USE enum err client_file_open(const char *path, uint64_t rows, uint32_t width,
                                   struct client_file **file_out, struct err_text *text);
MUST_USE enum err client_file_read(struct client_file *f, float *out, uint64_t count,
                                   struct err_text *text);

/* Done with it; one that was being written leaves no trace. NULL is allowed. */
void client_file_close(struct client_file *f);

#endif
