/* Shared libraries that are loaded when they are first needed: a server needs neither a solver nor
 * linear algebra, and what these start and allocate. */

#ifndef BASE_DYNLIB_H
#define BASE_DYNLIB_H

#include "base/err.h"

#include <stddef.h>

struct dynlib_function {
    const char *name;
    void *pointer; /* Address of the function pointer to set. */
};

/* Load the library @soname for the life of the process, and find all @functions in it. @purpose and
 * @package are for @text: what it is for, and what to install. ERR_IO if it cannot be loaded or has
 * not all of them; then nothing is set. Not for two threads that set the same pointers. */
MUST_USE enum err dynlib_load(const char *soname, const char *purpose, const char *package,
                              const struct dynlib_function *functions, size_t count,
                              struct err_text *text);

#endif
