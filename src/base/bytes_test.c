/* Little-endian bytes: the order is fixed and the bounds hold. */

#include "base/bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const uint8_t golden[] = {
    0x01, 0x03, 0x02, 0x07, 0x06, 0x05, 0x04, 0x0f, 0x0e,
    0x0d, 0x0c, 0x0b, 0x0a, 0x09, 0x08, 'a',  'b',
};

static void golden_write(struct bytes_writer *w)
{
    bytes_write8(w, 0x01);
    bytes_write16(w, 0x0203);
    bytes_write32(w, 0x04050607);
    bytes_write64(w, 0x08090a0b0c0d0e0f);
    bytes_write(w, "ab", 2);
}

static void test_the_writer_puts_low_bytes_first(void **state)
{
    uint8_t out[sizeof(golden)];
    struct bytes_writer w;

    (void)state;
    bytes_writer_init(&w, out, sizeof(out));
    golden_write(&w);
    assert_false(w.failed);
    assert_int_equal(w.written, sizeof(golden));
    assert_int_equal(w.left, 0);
    assert_memory_equal(out, golden, sizeof(golden));
}

static void test_the_reader_reads_what_was_written(void **state)
{
    struct bytes_reader r;

    (void)state;
    bytes_reader_init(&r, golden, sizeof(golden));
    assert_int_equal(bytes_read8(&r), 0x01);
    assert_int_equal(bytes_read16(&r), 0x0203);
    assert_int_equal(bytes_read32(&r), 0x04050607);
    assert_int_equal(bytes_read64(&r), 0x08090a0b0c0d0e0f);
    assert_memory_equal(bytes_read(&r, 2), "ab", 2);
    assert_false(r.failed);
    assert_int_equal(r.left, 0);
}

static void test_a_writer_cut_anywhere_fails_and_stays_inside(void **state)
{
    (void)state;
    for (size_t size = 0; size < sizeof(golden); size++) {
        uint8_t out[sizeof(golden) + 1];
        struct bytes_writer w;

        memset(out, 0xee, sizeof(out));
        bytes_writer_init(&w, out, size);
        golden_write(&w);
        assert_true(w.failed);
        assert_true(w.written <= size);
        assert_memory_equal(out, golden, w.written);
        for (size_t i = w.written; i < sizeof(out); i++) {
            assert_int_equal(out[i], 0xee);
        }
    }
}

static void test_a_reader_cut_anywhere_fails_and_reads_zero(void **state)
{
    (void)state;
    for (size_t size = 0; size < 15; size++) {
        struct bytes_reader r;

        bytes_reader_init(&r, golden, size);
        (void)bytes_read8(&r);
        (void)bytes_read16(&r);
        (void)bytes_read32(&r);
        assert_int_equal(bytes_read64(&r), 0);
        assert_true(r.failed);
        assert_int_equal(bytes_read8(&r), 0);
        assert_null(bytes_read(&r, 0));
    }
}

static void test_nothing_can_be_read_from_nothing(void **state)
{
    struct bytes_reader r;

    (void)state;
    bytes_reader_init(&r, NULL, 0);
    (void)bytes_read(&r, 0);
    assert_false(r.failed);
    assert_null(bytes_read(&r, SIZE_MAX));
    assert_true(r.failed);
}

static void test_loads_and_stores_need_no_alignment(void **state)
{
    uint8_t bytes[16] = {0};

    (void)state;
    for (size_t i = 0; i < 8; i++) {
        bytes_store64(bytes + i, 0x1122334455667788);
        assert_int_equal(bytes_load64(bytes + i), 0x1122334455667788);
        assert_int_equal(bytes_load32(bytes + i), 0x55667788);
        assert_int_equal(bytes_load16(bytes + i), 0x7788);
        bytes_store32(bytes + i, 0xaabbccdd);
        bytes_store16(bytes + i, 0xeeff);
        assert_int_equal(bytes_load32(bytes + i), 0xaabbeeff);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_writer_puts_low_bytes_first),
        cmocka_unit_test(test_the_reader_reads_what_was_written),
        cmocka_unit_test(test_a_writer_cut_anywhere_fails_and_stays_inside),
        cmocka_unit_test(test_a_reader_cut_anywhere_fails_and_reads_zero),
        cmocka_unit_test(test_nothing_can_be_read_from_nothing),
        cmocka_unit_test(test_loads_and_stores_need_no_alignment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
