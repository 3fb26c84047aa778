/* The hash is part of the wire format: its values never change. */

#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_known_bytes_have_known_hashes(void **state)
{
    uint8_t bytes[1000];

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)i;
    }
    assert_int_equal(hash_bytes("", 0), 0x2d06800538d394c2);
    assert_int_equal(hash_bytes("strait", 6), 0xe89af6ff20e56d3e);
    assert_int_equal(hash_bytes(bytes, 200), 0xf42a8864feaf0703);
    assert_int_equal(hash_bytes(bytes, sizeof(bytes)), 0xd33dd80b46f60e50);
}

static void test_a_text_hashes_as_its_bytes_without_the_terminator(void **state)
{
    (void)state;
    assert_int_equal(hash_text("strait"), hash_bytes("strait", 6));
    assert_int_not_equal(hash_text("strait"), hash_bytes("strait", 7));
}

static void test_alignment_does_not_matter(void **state)
{
    char bytes[300], moved[316];

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (char)(i * 7);
    }
    for (size_t i = 0; i < 16; i++) {
        memcpy(moved + i, bytes, sizeof(bytes));
        assert_int_equal(hash_bytes(moved + i, sizeof(bytes)), hash_bytes(bytes, sizeof(bytes)));
    }
}

static void test_each_bit_counts(void **state)
{
    uint8_t bytes[64] = {0};
    uint64_t plain = hash_bytes(bytes, sizeof(bytes));

    (void)state;
    for (size_t bit = 0; bit < sizeof(bytes) * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_not_equal(hash_bytes(bytes, sizeof(bytes)), plain);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_bytes_have_known_hashes),
        cmocka_unit_test(test_a_text_hashes_as_its_bytes_without_the_terminator),
        cmocka_unit_test(test_alignment_does_not_matter),
        cmocka_unit_test(test_each_bit_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
