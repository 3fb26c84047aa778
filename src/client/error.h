/* What the application is told when a call fails: a code, and a sentence that its thread can ask
 * for. */

#ifndef CLIENT_ERROR_H
#define CLIENT_ERROR_H

#include "base/err.h"

#include <strait.h>

/* Keep the sentence for strait_last_error(@s) in this thread, and return @code. */
int client_error(const void *s, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* The application's code for ours. OK is STRAIT_OK. */
int client_error_code(enum err rc);

/* Both: the sentence is @text, or if that is empty or NULL what @rc means. */
int client_error_pass(const void *s, enum err rc, const char *text);

#endif
