/* Fields: tag, length, bytes. How hello and control carry what may grow.
 *
 *     u16 tag (bit 15: critical) | u16 size | size bytes
 *
 * A receiver skips an optional field that it does not know and refuses a critical one. A message
 * says how many fields it has, so that one cut off at the end is noticed. Views are borrowed. */

#ifndef WIRE_FIELD_H
#define WIRE_FIELD_H

#include "wire/frame.h"

struct bytes_reader;
struct bytes_writer;

enum {
    WIRE_FIELD_CRITICAL = 0x8000,
    WIRE_FIELD_TAG_MAX = 0x7fff,
    WIRE_FIELD_HEAD_BYTES = 4,
    WIRE_FIELDS_KNOWN_MAX = 64, /* Rules of one message. */
};

struct wire_field {
    uint16_t tag; /* With WIRE_FIELD_CRITICAL or without. */
    uint16_t size;
    const uint8_t *bytes; /* NULL: the field is not there. */
};

/* What a receiver knows of a field. */
struct wire_field_rule {
    uint16_t tag; /* Without the critical bit. */
    uint16_t size_min;
    uint16_t size_max;
    bool required;
};

void wire_field_write(struct bytes_writer *w, const struct wire_field *field);

/* Read exactly @field_count fields, which must use up the reader. The field for rules[i] goes to
 * fields_out[i]; if it is not there its .bytes is NULL. ERR_MALFORMED: cut off, trailing bytes, a
 * known field twice, with a wrong size, or missing. ERR_VERSION with WIRE_REASON_FIELD: an unknown
 * critical field. @fields_out has no meaning on failure. */
MUST_USE enum err wire_fields_decode(struct bytes_reader *r, uint32_t field_count,
                                     const struct wire_field_rule *rules, uint32_t rule_count,
                                     struct wire_field *fields_out, enum wire_reason *reason_out);

#endif
