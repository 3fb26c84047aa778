/* Folders that hold what others must neither read nor change: keys, checkpoints, sockets. Every
 * folder that Strait makes where others may write too, or under a name that they can guess, is made
 * or checked here. */

#ifndef BASE_PRIVATE_DIR_H
#define BASE_PRIVATE_DIR_H

#include "base/err.h"

#include <stddef.h>

/* Make the folder @path with mode 0700, or check the one that is there: it is ours, a folder and
 * not a link, closed to everybody else, and not in a place where anybody may take it away. ERR_IO
 * with @text if it cannot be made, ERR_REFUSED if it is not private; errno says the same. */
MUST_USE enum err private_dir_make(const char *path, struct err_text *text);

/* Make a new one in the folder @place, whose name nobody can guess: @name and some letters. Its
 * path is written to @out, @size long. ERR_IO and ERR_REFUSED as above, ERR_TOO_BIG. */
MUST_USE enum err private_dir_new(const char *place, const char *name, char *out, size_t size,
                                  struct err_text *text);

#endif
