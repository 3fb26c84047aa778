/* Counts and sizes come first in each body, so that one comparison with the real size settles all
 * of them before a byte is looked at. */

#include "wire/control.h"

#include "base/buf.h"
#include "base/bytes.h"
#include "wire/text.h"

enum {
    CONTROL_HEAD_BYTES = 8,
    ENROLL_HEAD_BYTES = 8,
    ENROLLED_HEAD_BYTES = 16,
};

_Static_assert(ENROLL_HEAD_BYTES + WIRE_ENROLL_TOKEN_BYTES_MAX + LIMIT_NAME_BYTES +
                       WIRE_ENROLL_REQUEST_BYTES_MAX ==
                   WIRE_ENROLL_BODY_BYTES_MAX,
               "the limit is the largest request");
_Static_assert(ENROLLED_HEAD_BYTES + 2 * WIRE_ENROLLED_CERT_BYTES_MAX ==
                   WIRE_ENROLLED_BODY_BYTES_MAX,
               "the limit is the largest answer");

/* Take a frame for @size bytes, all appended, and a writer on them. */
static enum err control_take(struct buf_pool *pool, size_t size, struct buf **frame_out,
                             struct bytes_writer *w_out)
{
    enum err rc = wire_frame_take(pool, size, frame_out);

    if (rc == OK) {
        bytes_writer_init(w_out, buf_append(*frame_out, size), size);
    }
    return rc;
}

enum err wire_control_encode(struct buf_pool *pool, const struct wire_control *control,
                             const struct wire_field *fields, struct buf **frame_out)
{
    size_t size = CONTROL_HEAD_BYTES;
    struct bytes_writer w;
    struct buf *frame;
    enum err rc;

    if (control->operation == 0 || control->field_count > WIRE_CONTROL_FIELDS_MAX) {
        return ERR_INVALID;
    }
    for (uint32_t i = 0; i < control->field_count; i++) {
        size += WIRE_FIELD_HEAD_BYTES + (size_t)fields[i].size;
    }
    if (size > LIMIT_CONTROL_BODY_BYTES) {
        return ERR_TOO_BIG;
    }
    rc = control_take(pool, size, &frame, &w);
    if (rc != OK) {
        return rc;
    }
    bytes_write16(&w, control->operation);
    bytes_write16(&w, control->field_count);
    bytes_write32(&w, control->call);
    for (uint32_t i = 0; i < control->field_count; i++) {
        wire_field_write(&w, &fields[i]);
    }
    CHECK(!w.failed && w.left == 0);
    wire_frame_seal_plain(frame, WIRE_CONTROL);
    *frame_out = frame;
    return OK;
}

enum err wire_control_decode(const uint8_t *body, size_t size, struct wire_control *out)
{
    struct wire_control control;
    struct bytes_reader r;

    bytes_reader_init(&r, body, size);
    control.operation = bytes_read16(&r);
    control.field_count = bytes_read16(&r);
    control.call = bytes_read32(&r);
    if (r.failed || control.operation == 0 || control.field_count > WIRE_CONTROL_FIELDS_MAX ||
        r.left > LIMIT_CONTROL_BODY_BYTES - CONTROL_HEAD_BYTES) {
        return ERR_MALFORMED;
    }
    control.fields = r.at;
    control.fields_bytes = (uint32_t)r.left;
    for (uint32_t i = 0; i < control.field_count && !r.failed; i++) {
        (void)bytes_read16(&r);
        (void)bytes_read(&r, bytes_read16(&r));
    }
    if (r.failed || r.left != 0) {
        return ERR_MALFORMED;
    }
    *out = control;
    return OK;
}

enum err wire_control_fields(const struct wire_control *control,
                             const struct wire_field_rule *rules, uint32_t rule_count,
                             struct wire_field *fields_out, enum wire_reason *reason_out)
{
    struct bytes_reader r;

    bytes_reader_init(&r, control->fields, control->fields_bytes);
    return wire_fields_decode(&r, control->field_count, rules, rule_count, fields_out, reason_out);
}

static bool enroll_sizes_valid(const struct wire_enroll *enroll)
{
    return enroll->token_bytes > 0 && enroll->token_bytes <= WIRE_ENROLL_TOKEN_BYTES_MAX &&
           enroll->name_bytes <= LIMIT_NAME_BYTES && enroll->request_bytes > 0 &&
           enroll->request_bytes <= WIRE_ENROLL_REQUEST_BYTES_MAX;
}

static bool enroll_name_valid(const struct wire_enroll *enroll)
{
    return enroll->name_bytes == 0 || wire_name_valid(enroll->name, enroll->name_bytes);
}

enum err wire_enroll_encode(struct buf_pool *pool, const struct wire_enroll *enroll,
                            struct buf **frame_out)
{
    struct bytes_writer w;
    struct buf *frame;
    enum err rc;

    if (!enroll_sizes_valid(enroll) || !enroll_name_valid(enroll)) {
        return ERR_INVALID;
    }
    rc = control_take(pool,
                      ENROLL_HEAD_BYTES + (size_t)enroll->token_bytes + enroll->name_bytes +
                          enroll->request_bytes,
                      &frame, &w);
    if (rc != OK) {
        return rc;
    }
    bytes_write16(&w, (uint16_t)enroll->token_bytes);
    bytes_write16(&w, (uint16_t)enroll->name_bytes);
    bytes_write32(&w, enroll->request_bytes);
    bytes_write(&w, enroll->token, enroll->token_bytes);
    bytes_write(&w, enroll->name, enroll->name_bytes);
    bytes_write(&w, enroll->request, enroll->request_bytes);
    CHECK(!w.failed && w.left == 0);
    wire_frame_seal_plain(frame, WIRE_ENROLL);
    *frame_out = frame;
    return OK;
}

enum err wire_enroll_decode(const uint8_t *body, size_t size, struct wire_enroll *out)
{
    struct wire_enroll enroll;
    struct bytes_reader r;

    bytes_reader_init(&r, body, size);
    enroll.token_bytes = bytes_read16(&r);
    enroll.name_bytes = bytes_read16(&r);
    enroll.request_bytes = bytes_read32(&r);
    if (r.failed || !enroll_sizes_valid(&enroll)) {
        return ERR_MALFORMED;
    }
    enroll.token = bytes_read(&r, enroll.token_bytes);
    enroll.name = (const char *)bytes_read(&r, enroll.name_bytes);
    enroll.request = bytes_read(&r, enroll.request_bytes);
    if (r.failed || r.left != 0 || !enroll_name_valid(&enroll)) {
        return ERR_MALFORMED;
    }
    *out = enroll;
    return OK;
}

/* Granted has two certificates and no text; refused the opposite. */
static bool enrolled_sizes_valid(const struct wire_enrolled *enrolled)
{
    if (enrolled->code != 0) {
        return enrolled->chain_bytes == 0 && enrolled->authority_bytes == 0 &&
               enrolled->text_bytes <= LIMIT_REASON_BYTES;
    }
    return enrolled->chain_bytes > 0 && enrolled->chain_bytes <= WIRE_ENROLLED_CERT_BYTES_MAX &&
           enrolled->authority_bytes > 0 &&
           enrolled->authority_bytes <= WIRE_ENROLLED_CERT_BYTES_MAX && enrolled->text_bytes == 0;
}

enum err wire_enrolled_encode(struct buf_pool *pool, const struct wire_enrolled *enrolled,
                              struct buf **frame_out)
{
    struct bytes_writer w;
    struct buf *frame;
    enum err rc;

    if (!enrolled_sizes_valid(enrolled) ||
        !wire_text_valid((const uint8_t *)enrolled->text, enrolled->text_bytes)) {
        return ERR_INVALID;
    }
    rc = control_take(pool,
                      ENROLLED_HEAD_BYTES + (size_t)enrolled->chain_bytes +
                          enrolled->authority_bytes + enrolled->text_bytes,
                      &frame, &w);
    if (rc != OK) {
        return rc;
    }
    bytes_write32(&w, enrolled->code);
    bytes_write32(&w, enrolled->chain_bytes);
    bytes_write32(&w, enrolled->authority_bytes);
    bytes_write32(&w, enrolled->text_bytes);
    bytes_write(&w, enrolled->chain, enrolled->chain_bytes);
    bytes_write(&w, enrolled->authority, enrolled->authority_bytes);
    bytes_write(&w, enrolled->text, enrolled->text_bytes);
    CHECK(!w.failed && w.left == 0);
    wire_frame_seal_plain(frame, WIRE_ENROLLED);
    *frame_out = frame;
    return OK;
}

enum err wire_enrolled_decode(const uint8_t *body, size_t size, struct wire_enrolled *out)
{
    struct wire_enrolled enrolled;
    struct bytes_reader r;

    bytes_reader_init(&r, body, size);
    enrolled.code = bytes_read32(&r);
    enrolled.chain_bytes = bytes_read32(&r);
    enrolled.authority_bytes = bytes_read32(&r);
    enrolled.text_bytes = bytes_read32(&r);
    if (r.failed || !enrolled_sizes_valid(&enrolled)) {
        return ERR_MALFORMED;
    }
    enrolled.chain = bytes_read(&r, enrolled.chain_bytes);
    enrolled.authority = bytes_read(&r, enrolled.authority_bytes);
    enrolled.text = (const char *)bytes_read(&r, enrolled.text_bytes);
    if (r.failed || r.left != 0 ||
        !wire_text_valid((const uint8_t *)enrolled.text, enrolled.text_bytes)) {
        return ERR_MALFORMED;
    }
    *out = enrolled;
    return OK;
}
