/* Names and texts for people inside messages: what a peer wrote goes into logs and onto terminals,
 * so it is well-formed UTF-8 without control characters or it is refused. */

#ifndef WIRE_TEXT_H
#define WIRE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True for 1 to LIMIT_NAME_BYTES of [A-Za-z0-9._-]. */
bool wire_name_valid(const char *chars, size_t size);

/* True for UTF-8 without control characters (C0, DEL, C1); empty is allowed. */
bool wire_text_valid(const uint8_t *bytes, size_t size);

/* Copy @text, terminated, as a valid text of at most @size bytes and return its size. What is not
 * valid becomes '?'; what does not fit is cut between characters. */
size_t wire_text_clean(uint8_t *out, size_t size, const char *text);

#endif
