/* A growing text, for the control path: snapshots, transcripts, help. It grows up to a limit; what
 * does not fit sets .failed and is dropped whole, so the caller checks once at the end. */

#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/err.h"

#include <stdbool.h>

/* .chars is always terminated once text_init() succeeded; other fields are private. */
struct text {
    char *chars;
    size_t size; /* Without the terminator. */
    size_t capacity;
    size_t limit;
    bool failed;
};

MUST_USE enum err text_init(struct text *t, size_t limit);

/* Prepare an empty text in @size bytes of the caller's, terminator included. It allocates nothing
 * and needs no text_deinit(). */
void text_init_fixed(struct text *t, char *storage, size_t size);

void text_deinit(struct text *t);
void text_clear(struct text *t);
void text_drop(struct text *t, size_t size); /* Its first @size characters. */

void text_add(struct text *t, const char *chars);
void text_add_bytes(struct text *t, const char *chars, size_t size);
void text_addf(struct text *t, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Add @chars as a JSON string, quotes included; bytes that are not UTF-8 become U+FFFD. */
void text_add_json(struct text *t, const char *chars);

/* Add @chars for a terminal: control characters and bytes that are not UTF-8 become \n, \t or
 * \xNN, so that what came from outside stays on one line and cannot move the cursor. */
void text_add_printable(struct text *t, const char *chars);

bool text_is_utf8(const char *chars);

#endif
