/* Headers of .npy files as NumPy writes them, and others. */

#include "base/bytes.h"
#include "client/npy.h"
#include "store/npy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Make a header of that version with the text; the caller frees it. */
static uint8_t *make(uint8_t version, const char *text, uint64_t *size_out)
{
    size_t start = version == 1 ? 10 : 12;
    uint8_t *bytes = calloc(1, start + strlen(text));

    memcpy(bytes, "\x93NUMPY", 6);
    bytes[6] = version;
    if (version == 1) {
        bytes_store16(bytes + 8, (uint16_t)strlen(text));
    } else {
        bytes_store32(bytes + 8, (uint32_t)strlen(text));
    }
    memcpy(bytes + start, text, strlen(text));
    *size_out = start + strlen(text);
    return bytes;
}

static enum err parse(uint8_t version, const char *text, struct client_npy *out,
                      struct err_text *why)
{
    uint64_t size, said;
    uint8_t *bytes = make(version, text, &size);
    enum err rc = client_npy_start(bytes, &said, why);

    if (rc == OK) {
        assert_int_equal(said, size);
        rc = client_npy_parse(bytes, size, out, why);
    }
    free(bytes);
    return rc;
}

static void test_headers_of_numpy_are_read(void **state)
{
    struct client_npy npy;
    struct err_text why = {""};
    const char *usual = "{'descr': '<f4', 'fortran_order': False, 'shape': (300, 1000), }      \n";

    (void)state;
    for (uint8_t version = 1; version <= 3; version++) {
        assert_int_equal(parse(version, usual, &npy, &why), OK);
        assert_int_equal(npy.axes, 2);
        assert_int_equal(npy.shape[0], 300);
        assert_int_equal(npy.shape[1], 1000);
    }
    assert_int_equal(
        parse(1, "{\"shape\":(7,),\"descr\":\"<f4\",\"fortran_order\":False}", &npy, &why), OK);
    assert_int_equal(npy.axes, 1);
    assert_int_equal(npy.shape[0], 7);
    assert_int_equal(parse(1, "{'descr': '<f4', 'fortran_order': False, 'shape': ()}", &npy, &why),
                     OK);
    assert_int_equal(npy.axes, 0);
}

static void test_our_own_headers_are_read(void **state)
{
    uint8_t bytes[NPY_HEADER_BYTES];
    struct client_npy npy;
    uint64_t size;

    (void)state;
    npy_header(UINT64_C(1) << 36, 65535, bytes);
    assert_int_equal(client_npy_start(bytes, &size, NULL), OK);
    assert_int_equal(size, NPY_HEADER_BYTES);
    assert_int_equal(client_npy_parse(bytes, size, &npy, NULL), OK);
    assert_int_equal(client_npy_fits(&npy, UINT64_C(1) << 36, 65535, NULL), OK);
}

static const struct {
    const char *header;
    const char *text;
} wrong[] = {
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4)}",
     "its elements are not float32 (\"<f4\"): convert them with .astype('<f4')"},
    {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3, 4)}",
     "its elements are not float32 (\"<f4\"): convert them with .astype('<f4')"},
    {"{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4)}",
     "it is in the order of Fortran: convert it with numpy.ascontiguousarray()"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, -4)}", "its shape cannot be read"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,2,3,4,5,6,7,8,9)}",
     "its shape cannot be read"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999)}",
     "its shape cannot be read"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4", "its shape cannot be read"},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': 3}", "its shape cannot be read"},
    {"{'descr': '<f4', 'fortran_order': False}", "its header is not complete"},
    {"{'descr': '<f4', 'fortran_order': False 'shape': (3, 4)}", "its header cannot be read"},
    {"{'descr': '<f4', 'colour': 3}", "its header has an unknown key"},
    {"{descr: '<f4'}", "its header cannot be read"},
    {"('descr')", "its header cannot be read"},
    {"{'descr': '<f4", "its elements are not float32 (\"<f4\"): convert them with .astype('<f4')"},
    {"  ", "its header cannot be read"},
};

static void test_what_is_wrong_is_said(void **state)
{
    struct client_npy npy;
    uint8_t bytes[CLIENT_NPY_START_BYTES] = "\x93NUMPY\x04";
    uint64_t size;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct err_text why = {""};

        assert_int_equal(parse(1, wrong[i].header, &npy, &why), ERR_INVALID);
        assert_string_equal(why.text, wrong[i].text);
    }
    assert_int_equal(client_npy_start(bytes, &size, NULL), ERR_INVALID);
    bytes[6] = 2;
    bytes[11] = 1; /* A header of 16 MiB. */
    assert_int_equal(client_npy_start(bytes, &size, NULL), ERR_INVALID);
    bytes[0] = 'N';
    assert_int_equal(client_npy_start(bytes, &size, NULL), ERR_INVALID);
}

static void test_a_shape_fits_or_not(void **state)
{
    struct client_npy npy = {.axes = 2, .shape = {3, 4}};
    struct err_text why = {""};

    (void)state;
    assert_int_equal(client_npy_fits(&npy, 3, 4, &why), OK);
    assert_int_equal(client_npy_fits(&npy, 4, 3, &why), ERR_INVALID);
    assert_string_equal(why.text, "its shape is (3, 4), but that of the table is (4, 3)");
    npy = (struct client_npy){.axes = 1, .shape = {12}};
    assert_int_equal(client_npy_fits(&npy, 3, 4, &why), OK);
    npy = (struct client_npy){.axes = 3, .shape = {1, 3, 4}};
    assert_int_equal(client_npy_fits(&npy, 3, 4, &why), ERR_INVALID);
    npy = (struct client_npy){.axes = 0};
    assert_int_equal(client_npy_fits(&npy, 1, 1, &why), ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headers_of_numpy_are_read),
        cmocka_unit_test(test_our_own_headers_are_read),
        cmocka_unit_test(test_what_is_wrong_is_said),
        cmocka_unit_test(test_a_shape_fits_or_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
