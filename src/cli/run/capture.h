/* Short commands of others, and what they say. */

#ifndef CLI_RUN_CAPTURE_H
#define CLI_RUN_CAPTURE_H

#include "base/err.h"

#include <stddef.h>

/* Run @argv, NULL-terminated and looked up in PATH, to its end. What it prints, on both outputs, is
 * in @out, terminated; what does not fit is dropped. *@status_out is its exit status, or 128 and
 * the signal. ERR_NOT_FOUND: there is no such command; ERR_IO. It blocks. */
MUST_USE enum err capture(const char *const *argv, char *out, size_t size, int *status_out);

#endif
