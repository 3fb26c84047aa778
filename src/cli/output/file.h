/* Whole files given by people: read with a limit, "-" is standard input; and written. */

#ifndef CLI_OUTPUT_FILE_H
#define CLI_OUTPUT_FILE_H

#include "base/text.h"

/* Read the file into @out, which the caller releases. ERR_NOT_FOUND, ERR_IO or ERR_TOO_BIG with
 * @text: the path and why. */
MUST_USE enum err cli_file_read(const char *path, size_t bytes_max, struct text *out,
                                struct err_text *text);

/* Write a file that appears whole or not at all. What is there and no regular file, as a pipe, is
 * written as it is. ERR_IO, ERR_FULL or ERR_INVALID with @text. */
MUST_USE enum err cli_file_write(const char *path, const char *chars, size_t size,
                                 struct err_text *text);

#endif
