/* rows: counts, widths and sizes that must agree in three messages. */

#include "wire/rows.h"

#include "wire/testing_chunk.h"

static const uint32_t rows_numbers[] = {3, 0x01020304, UINT32_MAX};
static const float rows_values[] = {1, 2, 3, 4, 5, 6};

static enum err decode_rows(const struct wire_header *header, const uint8_t *body, size_t size)
{
    struct wire_rows out;

    return wire_rows_decode(header, body, size, &out);
}

static struct wire_rows rows_sample(enum wire_type type)
{
    struct wire_rows rows = {
        .table = 0x0102,
        .epoch = 0x21222324,
        .origin = 0x31323334,
        .clock = 0x4142434445464748,
        .chunk = 0x11121314,
        .count = 3,
        .width = 2,
        .rows = rows_numbers,
    };

    if (type != WIRE_ROWS_PULL) {
        rows.values = (const uint8_t *)rows_values;
        rows.values_bytes = sizeof(rows_values);
    }
    if (type == WIRE_ROWS_PUSH) {
        rows.weight = 16;
        rows.id = (struct wire_update_id){0x5152535455565758, 0x6162636465666768};
    }
    return rows;
}

static struct buf *rows_frame(enum wire_type type, const struct wire_rows *rows)
{
    struct buf *frame;

    assert_int_equal(wire_rows_encode(testing_pool, type, rows, &frame), OK);
    return frame;
}

static void round_trip(enum wire_type type, const struct wire_rows *rows)
{
    struct buf *frame = rows_frame(type, rows);
    struct wire_header header;
    struct wire_rows out;
    const uint8_t *body = testing_open(frame, &header);

    assert_int_equal(header.type, type);
    assert_int_equal(wire_rows_decode(&header, body, header.body_bytes, &out), OK);
    assert_int_equal(out.table, rows->table);
    assert_int_equal(out.codec, rows->codec);
    assert_int_equal(out.epoch, rows->epoch);
    assert_int_equal(out.origin, rows->origin);
    assert_int_equal(out.weight, rows->weight);
    assert_int_equal(out.clock, rows->clock);
    assert_int_equal(out.chunk, rows->chunk);
    assert_int_equal(out.count, rows->count);
    assert_int_equal(out.width, rows->width);
    assert_memory_equal(out.rows, rows->rows, (size_t)4 * rows->count);
    assert_int_equal(wire_rows_row(&out, rows->count - 1), wire_rows_row(rows, rows->count - 1));
    assert_int_equal(out.values_bytes, rows->values_bytes);
    if (type == WIRE_ROWS_PULL) {
        assert_null(out.values);
    } else {
        assert_memory_equal(out.values, rows->values, rows->values_bytes);
        assert_int_equal((uintptr_t)out.values % BUF_ALIGN, 0);
    }
    assert_int_equal(out.id.incarnation, rows->id.incarnation);
    assert_int_equal(out.id.number, rows->id.number);
    buf_unref(frame);
}

static const enum wire_type rows_types[] = {WIRE_ROWS_PUSH, WIRE_ROWS_PULL, WIRE_ROWS_VALUES};

static void test_round_trip(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        struct wire_rows rows = rows_sample(rows_types[i]);

        round_trip(rows_types[i], &rows);
        rows.table = UINT16_MAX;
        rows.epoch = UINT32_MAX;
        rows.origin = UINT32_MAX;
        rows.clock = UINT64_MAX;
        rows.chunk = UINT32_MAX;
        rows.count = 1;
        rows.width = 1;
        rows.values_bytes = rows_types[i] == WIRE_ROWS_PULL ? 0 : 4;
        round_trip(rows_types[i], &rows);
    }
}

static void test_encoded_values_may_be_shorter(void **state)
{
    struct wire_rows rows = rows_sample(WIRE_ROWS_VALUES);
    struct buf *frame;

    (void)state;
    rows.codec = UINT16_MAX;
    rows.values_bytes = 1;
    round_trip(WIRE_ROWS_VALUES, &rows);
    rows.values_bytes = sizeof(rows_values);
    round_trip(WIRE_ROWS_VALUES, &rows);
    rows.values_bytes = sizeof(rows_values) + 1;
    assert_int_equal(wire_rows_encode(testing_pool, WIRE_ROWS_VALUES, &rows, &frame), ERR_INVALID);
    rows.values_bytes = 0;
    assert_int_equal(wire_rows_encode(testing_pool, WIRE_ROWS_VALUES, &rows, &frame), ERR_INVALID);
}

static void test_the_largest(void **state)
{
    uint32_t *numbers = calloc(WIRE_ROWS_MAX + 1, sizeof(*numbers));
    uint8_t *values = calloc(1, LIMIT_DATA_BODY_BYTES);
    struct wire_rows rows = rows_sample(WIRE_ROWS_PULL);
    struct buf *frame;

    (void)state;
    assert_non_null(numbers);
    assert_non_null(values);
    for (uint32_t i = 0; i <= WIRE_ROWS_MAX; i++) {
        numbers[i] = i;
    }
    rows.rows = numbers;
    rows.count = WIRE_ROWS_MAX;
    rows.width = UINT16_MAX;
    round_trip(WIRE_ROWS_PULL, &rows);
    rows.count++;
    assert_int_equal(wire_rows_encode(testing_pool, WIRE_ROWS_PULL, &rows, &frame), ERR_INVALID);
    rows.values = values;
    rows.count = 16;
    rows.width = 65534;
    rows.values_bytes = 16 * 65534 * 4;
    round_trip(WIRE_ROWS_VALUES, &rows);
    rows.width++;
    rows.values_bytes += 16 * 4;
    assert_int_equal(wire_rows_encode(testing_pool, WIRE_ROWS_VALUES, &rows, &frame), ERR_TOO_BIG);
    free(values);
    free(numbers);
}

static void test_invalid_rows_are_not_encoded(void **state)
{
    static const uint32_t twice[] = {3, 3, 4};
    struct wire_rows bad[8];
    struct buf *frame;

    (void)state;
    for (uint32_t i = 0; i < 8; i++) {
        bad[i] = rows_sample(WIRE_ROWS_PUSH);
    }
    bad[0].count = 0;
    bad[1].width = 0;
    bad[2].weight = 0;
    bad[3].rows = twice;
    bad[4].values_bytes -= 4;
    bad[5].id.number = 0;
    bad[6].id.incarnation = 0;
    bad[7].count = 2;
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(wire_rows_encode(testing_pool, WIRE_ROWS_PUSH, &bad[i], &frame),
                         ERR_INVALID);
    }
    bad[0] = rows_sample(WIRE_ROWS_PULL);
    bad[0].codec = 1;
    assert_int_equal(wire_rows_encode(testing_pool, WIRE_ROWS_PULL, &bad[0], &frame), ERR_INVALID);
    bad[0] = rows_sample(WIRE_ROWS_VALUES);
    bad[0].weight = 1;
    assert_int_equal(wire_rows_encode(testing_pool, WIRE_ROWS_VALUES, &bad[0], &frame),
                     ERR_INVALID);
}

/* Lies that each of the three refuses. */
static void refuse_common(const struct buf *frame, bool sized)
{
    testing_exact_count(decode_rows, frame, 0, 4);
    if (sized) {
        testing_exact_count(decode_rows, frame, 4, 2);
    }
    testing_refused(decode_rows, frame, 4, 2, 0, ERR_MALFORMED);
    testing_refused(decode_rows, frame, 6, 2, 1, ERR_MALFORMED);
    testing_refused(decode_rows, frame, 6, 2, 0x8000, ERR_MALFORMED);
    testing_refused(decode_rows, frame, 12, 4, 3, ERR_MALFORMED);
    testing_refused(decode_rows, frame, 12, 4, UINT32_MAX, ERR_MALFORMED);
}

static void test_golden_and_lies(void **state)
{
    struct wire_rows push = rows_sample(WIRE_ROWS_PUSH);
    struct wire_rows pull = rows_sample(WIRE_ROWS_PULL);
    struct wire_rows values = rows_sample(WIRE_ROWS_VALUES);
    struct buf *frame = rows_frame(WIRE_ROWS_PUSH, &push);

    (void)state;
    refuse_common(frame, true);
    testing_weight(decode_rows, frame, true);
    for (uint32_t at = 20; at < 64; at++) {
        testing_refused(decode_rows, frame, at, 1, 1, ERR_MALFORMED);
    }
    testing_refused(decode_rows, frame, 88, 8, 0, ERR_MALFORMED);
    testing_refused(decode_rows, frame, 96, 8, 0, ERR_MALFORMED);
    testing_truncate_admitted(decode_rows, frame);
    testing_message(frame, "rows_push", "push of three rows of two floats, 1 to 6", decode_rows);
    frame = rows_frame(WIRE_ROWS_PULL, &pull);
    refuse_common(frame, false);
    testing_weight(decode_rows, frame, false);
    testing_truncate_admitted(decode_rows, frame);
    testing_message(frame, "rows_pull", "pull of three rows of two floats", decode_rows);
    frame = rows_frame(WIRE_ROWS_VALUES, &values);
    refuse_common(frame, true);
    testing_weight(decode_rows, frame, false);
    testing_refused(decode_rows, frame, 63, 1, 1, ERR_MALFORMED);
    testing_truncate_admitted(decode_rows, frame);
    testing_message(frame, "rows_values", "values of three rows of two floats, 1 to 6",
                    decode_rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_encoded_values_may_be_shorter),
        cmocka_unit_test(test_the_largest),
        cmocka_unit_test(test_invalid_rows_are_not_encoded),
        cmocka_unit_test(test_golden_and_lies),
    };

    return cmocka_run_group_tests(tests, testing_setup, testing_teardown);
}
