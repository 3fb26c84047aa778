/* control: a numbered operation with fields. enroll, enrolled: a certificate for a stranger.
 *
 * What operations there are, and which fields each has, is the business of those who use them; here
 * is only their shape. Views are borrowed from the body. */

#ifndef WIRE_CONTROL_H
#define WIRE_CONTROL_H

#include "wire/field.h"

struct buf;
struct buf_pool;

enum {
    WIRE_CONTROL_FIELDS_MAX = 4096,
    WIRE_ENROLL_TOKEN_BYTES_MAX = 64,
    WIRE_ENROLL_REQUEST_BYTES_MAX = 8 * 1024,
    WIRE_ENROLLED_CERT_BYTES_MAX = 16 * 1024, /* Of the chain, and of the authority's. */
};

struct wire_control {
    uint16_t operation; /* Not zero. */
    uint16_t field_count;
    uint32_t call; /* The answer carries the same; zero: no answer is wanted. */
    const uint8_t *fields;
    uint32_t fields_bytes;
};

struct wire_enroll {
    const uint8_t *token; /* What proves that the stranger may join; 1 to the limit. */
    uint32_t token_bytes;
    const char *name; /* The wanted name, as in struct wire_name; may be empty. */
    uint32_t name_bytes;
    const uint8_t *request; /* PKCS #10, DER or PEM. */
    uint32_t request_bytes;
};

struct wire_enrolled {
    uint32_t code;        /* Zero: granted, else enum wire_refusal. */
    const uint8_t *chain; /* Granted: PEM, the new certificate first. */
    uint32_t chain_bytes;
    const uint8_t *authority; /* Granted: PEM of who signed it. */
    uint32_t authority_bytes;
    const char *text; /* Refused: for people, as in struct wire_refuse. */
    uint32_t text_bytes;
};

/* Make a sealed WIRE_CONTROL frame. control->fields is not used: fields come from @fields,
 * control->field_count of them. ERR_TOO_BIG if they do not fit a control frame. */
MUST_USE enum err wire_control_encode(struct buf_pool *pool, const struct wire_control *control,
                                      const struct wire_field *fields, struct buf **frame_out);

/* The fields are whole when this succeeds; wire_control_fields() judges them. */
MUST_USE enum err wire_control_decode(const uint8_t *body, size_t size, struct wire_control *out);

/* As wire_fields_decode(), for the rules of the operation. */
MUST_USE enum err wire_control_fields(const struct wire_control *control,
                                      const struct wire_field_rule *rules, uint32_t rule_count,
                                      struct wire_field *fields_out, enum wire_reason *reason_out);

MUST_USE enum err wire_enroll_encode(struct buf_pool *pool, const struct wire_enroll *enroll,
                                     struct buf **frame_out);
MUST_USE enum err wire_enroll_decode(const uint8_t *body, size_t size, struct wire_enroll *out);

/* A text that is not valid is ERR_INVALID: clean it first (wire/text.h). */
MUST_USE enum err wire_enrolled_encode(struct buf_pool *pool, const struct wire_enrolled *enrolled,
                                       struct buf **frame_out);
MUST_USE enum err wire_enrolled_decode(const uint8_t *body, size_t size, struct wire_enrolled *out);

#endif
