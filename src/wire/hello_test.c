/* hello, welcome, refuse, bye: what a stranger can write into them, and versions. */

#include "wire/hello.h"

#include "wire/field.h"
#include "wire/testing.h"
#include "wire/text.h"

/* Of the golden hello: where its fields start. */
enum { AT_ROLE = 2, AT_FIELD_COUNT = 3, AT_FIELDS = 32 };

static struct wire_hello hello_sample(void)
{
    struct wire_hello hello = {
        .version_min = 1,
        .version_max = 1,
        .role = WIRE_ROLE_WORKER,
        .stream_index = 1,
        .stream_count = 4,
        .incarnation = 0x1122334455667788,
        .peer_incarnation = 0x99aabbccddeeff01,
        .send_base = 0x0102030405060708,
        .site = {"eu-west", 7},
        .name = {"worker_3.a", 10},
        .received = {.base = 1000, .bits = {[0] = 2, [1] = UINT64_C(1) << 63}},
    };

    return hello;
}

static enum err decode_hello(const struct wire_header *header, const uint8_t *body, size_t size)
{
    enum wire_reason reason = WIRE_REASON_COUNT;
    struct wire_hello out;
    enum err rc = wire_hello_decode(body, size, &out, &reason);

    (void)header;
    assert_int_equal(reason, rc == OK            ? WIRE_REASON_NONE
                             : rc == ERR_VERSION ? WIRE_REASON_FIELD
                                                 : WIRE_REASON_BODY);
    return rc;
}

static enum err decode_refuse(const struct wire_header *header, const uint8_t *body, size_t size)
{
    struct wire_refuse out;

    (void)header;
    return wire_refuse_decode(body, size, &out);
}

static struct buf *hello_frame(const struct wire_hello *hello)
{
    struct buf *frame;

    assert_int_equal(wire_hello_encode(testing_pool, WIRE_HELLO, hello, &frame), OK);
    return frame;
}

static void round_trip(const struct wire_hello *hello)
{
    struct buf *frame = hello_frame(hello);
    struct wire_header header;
    const uint8_t *body = testing_open(frame, &header);
    struct wire_hello out;
    enum wire_reason reason;

    assert_int_equal(wire_hello_decode(body, header.body_bytes, &out, &reason), OK);
    assert_int_equal(out.version_min, hello->version_min);
    assert_int_equal(out.version_max, hello->version_max);
    assert_int_equal(out.role, hello->role);
    assert_int_equal(out.stream_index, hello->stream_index);
    assert_int_equal(out.stream_count, hello->stream_count);
    assert_int_equal(out.incarnation, hello->incarnation);
    assert_int_equal(out.peer_incarnation, hello->peer_incarnation);
    assert_int_equal(out.send_base, hello->send_base);
    assert_int_equal(out.session, hello->session);
    assert_int_equal(out.site.size, hello->site.size);
    assert_memory_equal(out.site.chars, hello->site.chars, hello->site.size);
    assert_int_equal(out.name.size, hello->name.size);
    assert_memory_equal(out.name.chars, hello->name.chars, hello->name.size);
    assert_memory_equal(&out.received, &hello->received, sizeof(out.received));
    buf_unref(frame);
}

static void test_round_trip(void **state)
{
    static const char longest[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._";
    struct wire_hello hello = hello_sample();

    (void)state;
    round_trip(&hello);
    _Static_assert(sizeof(longest) - 1 == LIMIT_NAME_BYTES, "as long as may be");
    hello = (struct wire_hello){
        .version_min = 255,
        .version_max = 255,
        .role = WIRE_ROLE_OPERATOR,
        .stream_index = LIMIT_STREAMS_PER_PEER - 1,
        .stream_count = LIMIT_STREAMS_PER_PEER,
        .incarnation = UINT64_MAX,
        .peer_incarnation = UINT64_MAX,
        .send_base = UINT64_MAX,
        .session = UINT64_MAX,
        .site = {longest, LIMIT_NAME_BYTES},
        .name = {longest, LIMIT_NAME_BYTES},
        .received = {.base = UINT64_MAX - LIMIT_WINDOW_FRAMES},
    };
    memset(hello.received.bits, 0xff, sizeof(hello.received.bits));
    round_trip(&hello);
    hello.received = (struct wire_window){.base = UINT64_MAX};
    hello.peer_incarnation = 0;
    hello.site = (struct wire_name){"-", 1};
    round_trip(&hello);
}

static void test_golden(void **state)
{
    struct wire_hello hello = hello_sample();
    struct buf *frame;

    (void)state;
    testing_message(hello_frame(&hello), "hello", "hello of worker_3.a in eu-west, stream 1 of 4",
                    decode_hello);
    hello.session = 3;
    testing_message(hello_frame(&hello), "hello_again", "the same in its fourth session",
                    decode_hello);
    hello.session = 0;
    hello.role = WIRE_ROLE_SERVER;
    hello.received = (struct wire_window){.base = 0};
    assert_int_equal(wire_hello_encode(testing_pool, WIRE_WELCOME, &hello, &frame), OK);
    testing_message(frame, "welcome", "welcome of a server that has received nothing",
                    decode_hello);
    assert_int_equal(wire_refuse_encode(testing_pool, WIRE_REFUSE, WIRE_REFUSAL_VERSION,
                                        "we speak version 1", &frame),
                     OK);
    testing_message(frame, "refuse", "refuse: version, \"we speak version 1\"", decode_refuse);
    assert_int_equal(wire_refuse_encode(testing_pool, WIRE_BYE, 0, "", &frame), OK);
    testing_message(frame, "bye", "bye, code 0, no text", decode_refuse);
}

static void test_invalid_hellos_are_not_encoded(void **state)
{
    struct wire_hello bad[12];
    struct buf *frame;

    (void)state;
    for (uint32_t i = 0; i < 12; i++) {
        bad[i] = hello_sample();
    }
    bad[0].version_min = 0;
    bad[1].version_min = 2;
    bad[2].role = WIRE_ROLE_STRANGER;
    bad[3].role = (enum wire_role)(WIRE_ROLE_WORKER | WIRE_ROLE_SERVER);
    bad[4].stream_count = 0;
    bad[5].stream_index = 4;
    bad[6].stream_count = LIMIT_STREAMS_PER_PEER + 1;
    bad[7].incarnation = 0;
    bad[8].site.size = 0;
    bad[9].name.size = LIMIT_NAME_BYTES + 1;
    bad[10].name = (struct wire_name){"a/b", 3};
    bad[11].received.base = UINT64_MAX - 1;
    for (uint32_t i = 0; i < 12; i++) {
        assert_int_equal(wire_hello_encode(testing_pool, WIRE_HELLO, &bad[i], &frame), ERR_INVALID);
    }
}

static void test_lies_in_the_fixed_part_are_refused(void **state)
{
    struct wire_hello hello = hello_sample();
    struct buf *frame = hello_frame(&hello);

    (void)state;
    testing_refused(decode_hello, frame, 0, 1, 0, ERR_MALFORMED);
    testing_refused(decode_hello, frame, 0, 1, 2, ERR_MALFORMED);
    testing_refused(decode_hello, frame, 1, 1, 0, ERR_MALFORMED);
    for (uint32_t role = 0; role < 256; role++) {
        bool known = role == WIRE_ROLE_WORKER || role == WIRE_ROLE_SERVER ||
                     role == WIRE_ROLE_RELAY || role == WIRE_ROLE_OPERATOR;

        if (role != WIRE_ROLE_WORKER) {
            testing_refused(decode_hello, frame, AT_ROLE, 1, role, known ? OK : ERR_MALFORMED);
        }
    }
    testing_exact_count(decode_hello, frame, AT_FIELD_COUNT, 1);
    testing_refused(decode_hello, frame, 4, 2, 4, ERR_MALFORMED);
    testing_refused(decode_hello, frame, 6, 2, 1, ERR_MALFORMED);
    testing_refused(decode_hello, frame, 6, 2, 0, ERR_MALFORMED);
    testing_refused(decode_hello, frame, 6, 2, LIMIT_STREAMS_PER_PEER + 1, ERR_MALFORMED);
    testing_refused(decode_hello, frame, 8, 8, 0, ERR_MALFORMED);
    buf_unref(frame);
}

static void test_lies_in_fields_are_refused(void **state)
{
    struct wire_hello hello = hello_sample();
    struct buf *frame = hello_frame(&hello);
    uint32_t at_window = AT_FIELDS + 4 + 7 + 4 + 10 + 4;

    (void)state;
    testing_exact_count(decode_hello, frame, AT_FIELDS + 2, 2);
    testing_exact_count(decode_hello, frame, AT_FIELDS + 4 + 7 + 2, 2);
    testing_exact_count(decode_hello, frame, at_window - 2, 2);
    testing_exact_count(decode_hello, frame, at_window + 8, 2);
    testing_refused(decode_hello, frame, at_window + 10, 2, 1, ERR_MALFORMED);
    testing_refused(decode_hello, frame, at_window + 12, 4, 1, ERR_MALFORMED);
    testing_refused(decode_hello, frame, at_window + 24, 8, 0, ERR_MALFORMED);
    testing_refused(decode_hello, frame, at_window, 8, UINT64_MAX - 127, ERR_MALFORMED);
    /* Another character in the site's name; the site twice; no site. */
    testing_refused(decode_hello, frame, AT_FIELDS + 4, 1, ' ', ERR_MALFORMED);
    testing_refused(decode_hello, frame, AT_FIELDS + 4, 1, 0, ERR_MALFORMED);
    testing_refused(decode_hello, frame, AT_FIELDS + 4 + 7, 2, 0x8001, ERR_MALFORMED);
    testing_refused(decode_hello, frame, AT_FIELDS, 2, 0x0077, ERR_MALFORMED);
    testing_refused(decode_hello, frame, AT_FIELDS, 2, 0x8077, ERR_VERSION);
    buf_unref(frame);
}

/* Add one field at the end of the sample hello and decode that. */
static enum err decode_with_field(uint16_t tag, const char *bytes)
{
    struct wire_hello hello = hello_sample();
    struct buf *frame = hello_frame(&hello);
    struct wire_field field = {tag, (uint16_t)strlen(bytes), (const uint8_t *)bytes};
    uint8_t body[512];
    const uint8_t *from;
    struct wire_header header;
    struct bytes_writer w;
    enum err rc;

    from = testing_open(frame, &header);
    memcpy(body, from, header.body_bytes);
    body[AT_FIELD_COUNT]++;
    bytes_writer_init(&w, body + header.body_bytes, sizeof(body) - header.body_bytes);
    wire_field_write(&w, &field);
    assert_false(w.failed);
    rc = testing_decode_exact(decode_hello, &header, body, header.body_bytes + w.written);
    buf_unref(frame);
    return rc;
}

static void test_unknown_fields(void **state)
{
    (void)state;
    assert_int_equal(decode_with_field(99, "from the future"), OK);
    assert_int_equal(decode_with_field(WIRE_FIELD_TAG_MAX, ""), OK);
    assert_int_equal(decode_with_field(99 | WIRE_FIELD_CRITICAL, "from the future"), ERR_VERSION);
    assert_int_equal(decode_with_field(1, "again"), ERR_MALFORMED);
    assert_int_equal(decode_with_field(2 | WIRE_FIELD_CRITICAL, "again"), ERR_MALFORMED);
}

static void test_versions_are_chosen(void **state)
{
    (void)state;
    for (uint32_t low = 1; low < 256; low++) {
        for (uint32_t high = low; high < 256; high++) {
            struct wire_hello theirs = {.version_min = (uint8_t)low, .version_max = (uint8_t)high};
            uint8_t chosen = wire_version_choose(&theirs);

            if (high < WIRE_VERSION_MIN || low > WIRE_VERSION_MAX) {
                assert_int_equal(chosen, 0);
            } else {
                assert_int_equal(chosen, high < WIRE_VERSION_MAX ? high : WIRE_VERSION_MAX);
                assert_true(chosen >= low && chosen >= WIRE_VERSION_MIN);
            }
        }
    }
}

static void expect_text(const char *text, const char *expected)
{
    struct wire_header header;
    struct wire_refuse out;
    const uint8_t *body;
    struct buf *frame;

    assert_int_equal(wire_refuse_encode(testing_pool, WIRE_REFUSE, UINT32_MAX, text, &frame), OK);
    body = testing_open(frame, &header);
    assert_int_equal(wire_refuse_decode(body, header.body_bytes, &out), OK);
    assert_int_equal(out.code, UINT32_MAX);
    assert_int_equal(out.text_bytes, strlen(expected));
    assert_memory_equal(out.text, expected, out.text_bytes);
    buf_unref(frame);
}

static void test_refusal_texts_are_cut_and_cleaned(void **state)
{
    char text[LIMIT_REASON_BYTES + 100];
    char expected[LIMIT_REASON_BYTES + 1];

    (void)state;
    expect_text("", "");
    expect_text("gr\xc3\xbc\xc3\x9f dich", "gr\xc3\xbc\xc3\x9f dich");
    expect_text("a\nb\x1b[31m\x7f", "a?b?[31m?");
    expect_text("\xff\xc3", "??");
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    memset(expected, 'x', sizeof(expected) - 1);
    expected[sizeof(expected) - 1] = '\0';
    expect_text(text, expected);
    /* A character that does not fit whole is left out. */
    memcpy(text + LIMIT_REASON_BYTES - 1, "\xe2\x82\xac", 3);
    expected[LIMIT_REASON_BYTES - 1] = '\0';
    expect_text(text, expected);
}

static void test_lies_in_a_refusal_are_refused(void **state)
{
    struct buf *frame;

    (void)state;
    assert_int_equal(wire_refuse_encode(testing_pool, WIRE_BYE, 5, "going home", &frame), OK);
    testing_exact_count(decode_refuse, frame, 4, 2);
    testing_refused(decode_refuse, frame, 6, 2, 1, ERR_MALFORMED);
    testing_refused(decode_refuse, frame, 8, 1, '\n', ERR_MALFORMED);
    testing_refused(decode_refuse, frame, 8, 1, 0xff, ERR_MALFORMED);
    testing_refused(decode_refuse, frame, 0, 4, 77, OK);
    buf_unref(frame);
}

static void test_texts(void **state)
{
    static const char *const good[] = {"",
                                       "a b",
                                       "\xc2\xa0",
                                       "\xed\x9f\xbf",
                                       "\xee\x80\x80",
                                       "\xf4\x8f\xbf\xbf",
                                       "\xf0\x90\x80\x80",
                                       "\xe0\xa0\x80"};
    static const char *const bad[] = {"\x1f",
                                      "\x7f",
                                      "\x80",
                                      "\xc2",
                                      "\xc2\x80",
                                      "\xc0\x80",
                                      "\xc1\xbf",
                                      "\xe0\x80\x80",
                                      "\xed\xa0\x80",
                                      "\xe2\x82",
                                      "\xe2\x28\xa1",
                                      "\xf0\x80\x80\x80",
                                      "\xf4\x90\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "a\nb"};

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_true(wire_text_valid((const uint8_t *)good[i], strlen(good[i])));
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(wire_text_valid((const uint8_t *)bad[i], strlen(bad[i])));
    }
    assert_false(wire_text_valid((const uint8_t *)"\0", 1));
}

static void test_no_buffer_is_back_pressure(void **state)
{
    struct wire_hello hello = hello_sample();
    struct buf_pool *full;
    struct buf *held[2];
    struct buf *frame;

    (void)state;
    assert_int_equal(buf_pool_create(4096, &full), OK);
    assert_int_equal(buf_take(full, 0, 2048, &held[0]), OK);
    assert_int_equal(buf_take(full, 0, 2048, &held[1]), OK);
    assert_int_equal(wire_hello_encode(full, WIRE_HELLO, &hello, &frame), ERR_AGAIN);
    assert_int_equal(wire_refuse_encode(full, WIRE_BYE, 1, "", &frame), ERR_AGAIN);
    buf_unref(held[0]);
    buf_unref(held[1]);
    buf_pool_destroy(full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_invalid_hellos_are_not_encoded),
        cmocka_unit_test(test_lies_in_the_fixed_part_are_refused),
        cmocka_unit_test(test_lies_in_fields_are_refused),
        cmocka_unit_test(test_unknown_fields),
        cmocka_unit_test(test_versions_are_chosen),
        cmocka_unit_test(test_refusal_texts_are_cut_and_cleaned),
        cmocka_unit_test(test_lies_in_a_refusal_are_refused),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_no_buffer_is_back_pressure),
    };

    return cmocka_run_group_tests(tests, testing_setup, testing_teardown);
}
