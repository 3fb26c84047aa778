/* Headers of .npy files, judged by the rules of the format; store/doc_test.c asks NumPy itself. */

#include "store/npy.h"

#include "base/bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void check(uint64_t rows, uint32_t width, const char *want)
{
    uint8_t header[NPY_HEADER_BYTES + 1];
    size_t size;

    header[NPY_HEADER_BYTES] = 0xaa;
    npy_header(rows, width, header);
    assert_int_equal(header[NPY_HEADER_BYTES], 0xaa);
    assert_memory_equal(header, "\x93NUMPY\x01\x00", 8);
    size = bytes_load16(header + 8);
    /* The values start at a multiple of 64, right behind a newline. */
    assert_int_equal((10 + size) % 64, 0);
    assert_int_equal(10 + size, NPY_HEADER_BYTES);
    assert_int_equal(header[NPY_HEADER_BYTES - 1], '\n');
    assert_memory_equal(header + 10, want, strlen(want));
    for (size_t i = 10 + strlen(want); i < NPY_HEADER_BYTES - 1; i++) {
        assert_int_equal(header[i], ' ');
    }
}

static void test_headers_follow_the_rules(void **state)
{
    (void)state;
    check(0, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 1), }");
    check(1000, 64, "{'descr': '<f4', 'fortran_order': False, 'shape': (1000, 64), }");
    check(UINT64_MAX, UINT32_MAX,
          "{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551615, 4294967295), "
          "}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers_follow_the_rules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
