/* A significance function of the user's own, out of a shared library (include/strait.h says how to
 * write one). It is the operator's code: it runs in the server's process, with all its rights. */

#ifndef RUN_WAN_LIBRARY_H
#define RUN_WAN_LIBRARY_H

#include "codec/filter.h"

struct run_library;

/* Load the library at @path and put the function that @filter names into it. ERR_NOT_FOUND, or
 * ERR_INVALID if it is not made for this version, with @text. The library outlives the filter. */
MUST_USE enum err run_library_open(const char *path, struct codec_filter *filter,
                                   struct run_library **library_out, struct err_text *text);

/* NULL is allowed. */
void run_library_close(struct run_library *library);

#endif
