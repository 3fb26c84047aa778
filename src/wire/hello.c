/* A hello is 32 fixed bytes, the same in every version, then fields. All that is here must stay
 * readable for the oldest peer, or it could not be told why it is refused. */

#include "wire/hello.h"

#include "base/buf.h"
#include "base/bytes.h"
#include "wire/ack.h"
#include "wire/field.h"
#include "wire/text.h"

enum {
    HELLO_FIXED_BYTES = 32,
    REFUSE_FIXED_BYTES = 8,

    HELLO_TAG_SITE = 1,
    HELLO_TAG_NAME = 2,
    HELLO_TAG_RECEIVED = 3,
    HELLO_TAG_SESSION = 4,
    HELLO_SESSION_BYTES = 8,
};

enum { HELLO_SITE, HELLO_NAME, HELLO_RECEIVED, HELLO_SESSION, HELLO_RULES };

static const struct wire_field_rule hello_rules[HELLO_RULES] = {
    [HELLO_SITE] = {HELLO_TAG_SITE, 1, LIMIT_NAME_BYTES, true},
    [HELLO_NAME] = {HELLO_TAG_NAME, 1, LIMIT_NAME_BYTES, true},
    [HELLO_RECEIVED] = {HELLO_TAG_RECEIVED, 1, WIRE_ACK_BODY_BYTES_MAX, true},
    [HELLO_SESSION] = {HELLO_TAG_SESSION, HELLO_SESSION_BYTES, HELLO_SESSION_BYTES, false},
};

/* What both the sender and the receiver of a hello insist on. */
static bool hello_valid(const struct wire_hello *hello)
{
    return hello->version_min > 0 && hello->version_min <= hello->version_max &&
           (hello->role == WIRE_ROLE_WORKER || hello->role == WIRE_ROLE_SERVER ||
            hello->role == WIRE_ROLE_RELAY || hello->role == WIRE_ROLE_OPERATOR) &&
           hello->stream_count > 0 && hello->stream_count <= LIMIT_STREAMS_PER_PEER &&
           hello->stream_index < hello->stream_count && hello->incarnation != 0 &&
           wire_name_valid(hello->site.chars, hello->site.size) &&
           wire_name_valid(hello->name.chars, hello->name.size);
}

/* A first session does not say so. */
static uint8_t hello_fields(const struct wire_hello *hello)
{
    return hello->session == 0 ? HELLO_RULES - 1 : HELLO_RULES;
}

static size_t hello_bytes(const struct wire_hello *hello)
{
    return HELLO_FIXED_BYTES + (size_t)WIRE_FIELD_HEAD_BYTES * hello_fields(hello) +
           hello->site.size + hello->name.size + wire_window_bytes(&hello->received) +
           (hello->session == 0 ? 0 : HELLO_SESSION_BYTES);
}

static void hello_write_name(struct bytes_writer *w, uint16_t tag, const struct wire_name *name)
{
    struct wire_field field = {
        .tag = tag | WIRE_FIELD_CRITICAL,
        .size = (uint16_t)name->size,
        .bytes = (const uint8_t *)name->chars,
    };

    wire_field_write(w, &field);
}

static enum err hello_write(struct bytes_writer *w, const struct wire_hello *hello)
{
    enum err rc;

    bytes_write8(w, hello->version_min);
    bytes_write8(w, hello->version_max);
    bytes_write8(w, (uint8_t)hello->role);
    bytes_write8(w, hello_fields(hello));
    bytes_write16(w, hello->stream_index);
    bytes_write16(w, hello->stream_count);
    bytes_write64(w, hello->incarnation);
    bytes_write64(w, hello->peer_incarnation);
    bytes_write64(w, hello->send_base);
    hello_write_name(w, HELLO_TAG_SITE, &hello->site);
    hello_write_name(w, HELLO_TAG_NAME, &hello->name);
    bytes_write16(w, HELLO_TAG_RECEIVED | WIRE_FIELD_CRITICAL);
    bytes_write16(w, (uint16_t)wire_window_bytes(&hello->received));
    rc = wire_window_write(w, &hello->received);
    if (rc == OK && hello->session != 0) {
        bytes_write16(w, HELLO_TAG_SESSION | WIRE_FIELD_CRITICAL);
        bytes_write16(w, HELLO_SESSION_BYTES);
        bytes_write64(w, hello->session);
    }
    return rc;
}

enum err wire_hello_encode(struct buf_pool *pool, enum wire_type type,
                           const struct wire_hello *hello, struct buf **frame_out)
{
    struct bytes_writer w;
    struct buf *frame;
    size_t size;
    enum err rc;

    CHECK(type == WIRE_HELLO || type == WIRE_WELCOME);
    if (!hello_valid(hello)) {
        return ERR_INVALID;
    }
    size = hello_bytes(hello);
    rc = wire_frame_take(pool, size, &frame);
    if (rc != OK) {
        return rc;
    }
    bytes_writer_init(&w, buf_append(frame, size), size);
    rc = hello_write(&w, hello);
    if (rc != OK) {
        buf_unref(frame);
        return rc;
    }
    CHECK(!w.failed && w.left == 0);
    wire_frame_seal_plain(frame, type);
    *frame_out = frame;
    return OK;
}

/* False: it is there and says nothing. */
static bool hello_session(const struct wire_field *field, uint64_t *session_out)
{
    *session_out = field->bytes == NULL ? 0 : bytes_load64(field->bytes);
    return field->bytes == NULL || *session_out != 0;
}

static struct wire_name hello_name(const struct wire_field *field)
{
    return (struct wire_name){.chars = (const char *)field->bytes, .size = field->size};
}

enum err wire_hello_decode(const uint8_t *body, size_t size, struct wire_hello *out,
                           enum wire_reason *reason_out)
{
    struct wire_field fields[HELLO_RULES];
    struct wire_hello hello = {.role = (enum wire_role)0};
    struct bytes_reader r;
    uint32_t field_count;
    enum err rc;

    bytes_reader_init(&r, body, size);
    hello.version_min = bytes_read8(&r);
    hello.version_max = bytes_read8(&r);
    hello.role = (enum wire_role)bytes_read8(&r);
    field_count = bytes_read8(&r);
    hello.stream_index = bytes_read16(&r);
    hello.stream_count = bytes_read16(&r);
    hello.incarnation = bytes_read64(&r);
    hello.peer_incarnation = bytes_read64(&r);
    hello.send_base = bytes_read64(&r);
    rc = wire_fields_decode(&r, field_count, hello_rules, HELLO_RULES, fields, reason_out);
    if (rc != OK) {
        return rc;
    }
    hello.site = hello_name(&fields[HELLO_SITE]);
    hello.name = hello_name(&fields[HELLO_NAME]);
    rc = wire_window_decode(fields[HELLO_RECEIVED].bytes, fields[HELLO_RECEIVED].size,
                            &hello.received);
    if (rc != OK || !hello_session(&fields[HELLO_SESSION], &hello.session) ||
        !hello_valid(&hello)) {
        *reason_out = WIRE_REASON_BODY;
        return ERR_MALFORMED;
    }
    *out = hello;
    return OK;
}

uint8_t wire_version_choose(const struct wire_hello *theirs)
{
    uint8_t highest =
        theirs->version_max < WIRE_VERSION_MAX ? theirs->version_max : (uint8_t)WIRE_VERSION_MAX;

    return highest >= WIRE_VERSION_MIN && highest >= theirs->version_min ? highest : 0;
}

enum err wire_refuse_encode(struct buf_pool *pool, enum wire_type type, uint32_t code,
                            const char *text, struct buf **frame_out)
{
    struct buf *frame;
    uint8_t *body;
    size_t text_bytes;
    enum err rc;

    CHECK(type == WIRE_REFUSE || type == WIRE_BYE);
    rc = wire_frame_take(pool, WIRE_REFUSE_BODY_BYTES_MAX, &frame);
    if (rc != OK) {
        return rc;
    }
    body = buf_append(frame, WIRE_REFUSE_BODY_BYTES_MAX);
    text_bytes = wire_text_clean(body + REFUSE_FIXED_BYTES, LIMIT_REASON_BYTES, text);
    bytes_store32(body, code);
    bytes_store16(body + 4, (uint16_t)text_bytes);
    bytes_store16(body + 6, 0);
    buf_truncate(frame, REFUSE_FIXED_BYTES + text_bytes);
    wire_frame_seal_plain(frame, type);
    *frame_out = frame;
    return OK;
}

enum err wire_refuse_decode(const uint8_t *body, size_t size, struct wire_refuse *out)
{
    struct bytes_reader r;
    struct wire_refuse refuse;
    const uint8_t *text;
    uint16_t reserved;

    bytes_reader_init(&r, body, size);
    refuse.code = bytes_read32(&r);
    refuse.text_bytes = bytes_read16(&r);
    reserved = bytes_read16(&r);
    text = bytes_read(&r, refuse.text_bytes);
    if (r.failed || r.left != 0 || reserved != 0 || refuse.text_bytes > LIMIT_REASON_BYTES ||
        !wire_text_valid(text, refuse.text_bytes)) {
        return ERR_MALFORMED;
    }
    refuse.text = (const char *)text;
    *out = refuse;
    return OK;
}
