#include "store/npy.h"

#include "base/bytes.h"
#include "base/err.h"

#include <inttypes.h>
#include <stdio.h>

enum { NPY_START_BYTES = 10 }; /* Magic, version, and the size of what follows. */

void npy_header(uint64_t rows, uint32_t width, uint8_t out[NPY_HEADER_BYTES])
{
    static const char magic[] = "\x93NUMPY\x01";
    char text[NPY_HEADER_BYTES - NPY_START_BYTES];
    int n =
        snprintf(text, sizeof(text),
                 "{'descr': '<f4', 'fortran_order': False, 'shape': (%" PRIu64 ", %" PRIu32 "), }",
                 rows, width);

    /* The longest is of 88 characters. A newline ends the header. */
    CHECK(n > 0 && (size_t)n < sizeof(text) - 1);
    memset(text + n, ' ', sizeof(text) - (size_t)n);
    text[sizeof(text) - 1] = '\n';
    memcpy(out, magic, sizeof(magic));
    bytes_store16(out + 8, sizeof(text));
    memcpy(out + NPY_START_BYTES, text, sizeof(text));
}
