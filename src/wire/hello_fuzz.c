/* Fuzz hello, welcome, refuse and bye. A hello may hold unknown fields, so what it encodes to may
 * be another frame; that one is canonical. */

#include "wire/hello.h"

#include "wire/fuzzing.h"

static void fuzz_hello(const struct fuzzing_frame *in)
{
    enum wire_type type = (enum wire_type)in->header.type;
    enum wire_reason reason = WIRE_REASON_COUNT;
    struct wire_hello hello;
    struct buf *first;
    struct buf *second;
    enum err rc = wire_hello_decode(in->body, in->size, &hello, &reason);

    CHECK((rc == OK) == (reason == WIRE_REASON_NONE));
    if (rc != OK) {
        return;
    }
    (void)wire_version_choose(&hello);
    CHECK(wire_hello_encode(fuzzing_pool(), type, &hello, &first) == OK);
    CHECK(wire_hello_decode(buf_bytes(first) + WIRE_HEADER_BYTES,
                            buf_size(first) - WIRE_HEADER_BYTES, &hello, &reason) == OK);
    CHECK(wire_hello_encode(fuzzing_pool(), type, &hello, &second) == OK);
    CHECK(buf_size(first) == buf_size(second));
    CHECK(memcmp(buf_bytes(first), buf_bytes(second), buf_size(first)) == 0);
    buf_unref(first);
    buf_unref(second);
}

static void fuzz_refuse(const struct fuzzing_frame *in)
{
    char text[LIMIT_REASON_BYTES + 1];
    struct wire_refuse refuse;
    struct buf *frame = NULL;
    enum err rc;

    if (wire_refuse_decode(in->body, in->size, &refuse) == OK) {
        memcpy(text, refuse.text, refuse.text_bytes);
        text[refuse.text_bytes] = '\0';
        rc = wire_refuse_encode(fuzzing_pool(), (enum wire_type)in->header.type, refuse.code, text,
                                &frame);
        fuzzing_same(in, rc, frame);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzzing_frame in;

    if (!fuzzing_open(data, size, &in)) {
        return 0;
    }
    if (in.header.type == WIRE_HELLO || in.header.type == WIRE_WELCOME) {
        fuzz_hello(&in);
    } else if (in.header.type == WIRE_REFUSE || in.header.type == WIRE_BYE) {
        fuzz_refuse(&in);
    }
    return 0;
}
