/* Frames by hand. */

#include "guest.h"

#include "base/bytes.h"
#include "base/hash.h"

struct wire_hello conf_hello(const struct conf_node *node)
{
    const struct pki_identity *me = &node->side->world->a.identity;

    return (struct wire_hello){
        .version_min = WIRE_VERSION_MIN,
        .version_max = WIRE_VERSION_MAX,
        .role = me->role,
        .stream_count = 1,
        .incarnation = 77,
        .site = {me->site, (uint32_t)strlen(me->site)},
        .name = {me->name, (uint32_t)strlen(me->name)},
    };
}

void conf_guest_say_hello(struct conf_raw *raw, const struct wire_hello *hello, uint16_t extra)
{
    uint8_t body[512], frame[640];
    struct buf *sealed;
    size_t size;

    assert_int_equal(wire_hello_encode(raw->side->pool, WIRE_HELLO, hello, &sealed), OK);
    size = buf_size(sealed) - WIRE_HEADER_BYTES;
    memcpy(body, buf_bytes(sealed) + WIRE_HEADER_BYTES, size);
    buf_unref(sealed);
    if (extra != 0) {
        body[3]++; /* The number of fields. */
        bytes_store16(body + size, extra);
        bytes_store16(body + size + 2, 3);
        memcpy(body + size + 4, "abc", 3);
        size += 7;
    }
    size = conf_encode(WIRE_HELLO, body, size, frame);
    conf_raw_write(raw, frame, size);
}

void conf_guest_welcome(struct conf_raw *raw, uint64_t incarnation, uint16_t streams)
{
    const struct pki_identity *me = &raw->side->identity;
    struct wire_hello welcome = {
        .version_min = WIRE_VERSION_MAX,
        .version_max = WIRE_VERSION_MAX,
        .role = me->role,
        .stream_count = streams,
        .incarnation = incarnation,
        .site = {me->site, (uint32_t)strlen(me->site)},
        .name = {me->name, (uint32_t)strlen(me->name)},
    };
    struct buf *frame;

    assert_int_equal(conf_guest_answer(raw, 0).header.type, WIRE_HELLO);
    assert_int_equal(wire_hello_encode(raw->side->pool, WIRE_WELCOME, &welcome, &frame), OK);
    conf_raw_write(raw, buf_bytes(frame), buf_size(frame));
    buf_unref(frame);
}

struct conf_raw *conf_guest_dial(struct conf_node *node, const struct wire_hello *hello,
                                 uint16_t extra)
{
    struct conf_raw *raw = conf_raw_new(&node->side->world->a);

    conf_raw_dial(raw, &node->at);
    conf_until(node->side->world, conf_raw_opened, raw, CONF_LIMIT_NS);
    conf_guest_say_hello(raw, hello, extra);
    return raw;
}

struct guest_wait {
    struct conf_raw *raw;
    uint32_t index;
    struct conf_answer answer;
};

static bool guest_answered(void *user)
{
    struct guest_wait *wait = user;
    size_t at = 0;

    for (uint32_t i = 0; wait->raw->got >= at + WIRE_HEADER_BYTES; i++) {
        enum wire_reason reason;

        assert_int_equal(wire_header_decode(wait->raw->bytes + at, &wait->answer.header, &reason),
                         OK);
        wait->answer.body = wait->raw->bytes + at + WIRE_HEADER_BYTES;
        at += WIRE_HEADER_BYTES + wait->answer.header.body_bytes;
        assert_true(at <= sizeof(wait->raw->bytes));
        if (i == wait->index) {
            return wait->raw->got >= at;
        }
    }
    return false;
}

struct conf_answer conf_guest_answer(struct conf_raw *raw, uint32_t index)
{
    struct guest_wait wait = {.raw = raw, .index = index};

    conf_until(raw->side->world, guest_answered, &wait, CONF_LIMIT_NS);
    return wait.answer;
}

void conf_guest_send(struct conf_raw *raw, enum wire_type type, uint64_t sequence, uint16_t flags)
{
    uint8_t frame[WIRE_HEADER_BYTES + 8] = {0};
    struct wire_header header = {
        .version = WIRE_VERSION_MAX,
        .type = (uint8_t)type,
        .flags = flags,
        .body_bytes = 8,
        .sequence = sequence,
    };

    bytes_store64(frame + WIRE_HEADER_BYTES, sequence);
    header.body_check = hash_bytes(frame + WIRE_HEADER_BYTES, 8);
    wire_header_encode(&header, frame);
    conf_raw_write(raw, frame, sizeof(frame));
}
