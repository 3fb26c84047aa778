/* Fuzz control (with the fields inside), enroll and enrolled. */

#include "wire/control.h"

#include "wire/fuzzing.h"

static void fuzz_fields(const struct wire_control *control)
{
    static const struct wire_field_rule rules[] = {
        {0, 0, 8, false}, {1, 3, 3, true}, {2, 1, UINT16_MAX, false}};
    enum wire_reason reason = WIRE_REASON_COUNT;
    struct wire_field fields[3];
    enum err rc = wire_control_fields(control, rules, 3, fields, &reason);

    CHECK(rc == OK || rc == ERR_MALFORMED || rc == ERR_VERSION);
    CHECK((rc == ERR_VERSION) == (reason == WIRE_REASON_FIELD));
    CHECK(rc != OK || (fields[1].size == 3 && fields[1].bytes >= control->fields));
}

static void fuzz_control(const struct fuzzing_frame *in)
{
    static struct wire_field fields[WIRE_CONTROL_FIELDS_MAX];
    struct wire_control control;
    struct buf *frame = NULL;
    struct bytes_reader r;
    enum err rc;

    if (wire_control_decode(in->body, in->size, &control) != OK) {
        return;
    }
    fuzz_fields(&control);
    bytes_reader_init(&r, control.fields, control.fields_bytes);
    for (uint32_t i = 0; i < control.field_count; i++) {
        fields[i].tag = bytes_read16(&r);
        fields[i].size = bytes_read16(&r);
        fields[i].bytes = bytes_read(&r, fields[i].size);
    }
    CHECK(!r.failed && r.left == 0);
    rc = wire_control_encode(fuzzing_pool(), &control, fields, &frame);
    fuzzing_same(in, rc, frame);
}

static void fuzz_enroll(const struct fuzzing_frame *in)
{
    struct wire_enroll enroll;
    struct buf *frame = NULL;
    enum err rc;

    if (wire_enroll_decode(in->body, in->size, &enroll) == OK) {
        rc = wire_enroll_encode(fuzzing_pool(), &enroll, &frame);
        fuzzing_same(in, rc, frame);
    }
}

static void fuzz_enrolled(const struct fuzzing_frame *in)
{
    struct wire_enrolled enrolled;
    struct buf *frame = NULL;
    enum err rc;

    if (wire_enrolled_decode(in->body, in->size, &enrolled) == OK) {
        rc = wire_enrolled_encode(fuzzing_pool(), &enrolled, &frame);
        fuzzing_same(in, rc, frame);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzzing_frame in;

    if (!fuzzing_open(data, size, &in)) {
        return 0;
    }
    if (in.header.type == WIRE_CONTROL) {
        fuzz_control(&in);
    } else if (in.header.type == WIRE_ENROLL) {
        fuzz_enroll(&in);
    } else if (in.header.type == WIRE_ENROLLED) {
        fuzz_enrolled(&in);
    }
    return 0;
}
