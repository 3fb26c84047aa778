/* Whole files given by people: read with a limit, "-" is standard input. */

#ifndef CLI_FILE_H
#define CLI_FILE_H

#include "base/text.h"

/* Read the file into @out, which the caller releases. ERR_NOT_FOUND, ERR_IO or ERR_TOO_BIG with
 * @text: the path and why. */
MUST_USE enum err cli_file_read(const char *path, size_t bytes_max, struct text *out,
                                struct err_text *text);

#endif
