/* The header of a .npy file of NumPy (versions 1 to 3), as far as a table can take it: float32,
 * little-endian, C order. Pure. store/npy.h writes such headers. */

#ifndef CLIENT_NPY_H
#define CLIENT_NPY_H

#include "base/err.h"

#include <stdint.h>

enum {
    CLIENT_NPY_START_BYTES = 12,       /* Says how long the header is. */
    CLIENT_NPY_HEADER_MAX = 64 * 1024, /* Before the first value. */
    CLIENT_NPY_AXES_MAX = 8,
};

struct client_npy {
    uint64_t header_bytes; /* Before the first value. */
    uint32_t axes;
    uint64_t shape[CLIENT_NPY_AXES_MAX];
};

/* How many bytes there are before the first value, from the first CLIENT_NPY_START_BYTES of the
 * file. ERR_INVALID with @text. */
MUST_USE enum err client_npy_start(const uint8_t *bytes, uint64_t *header_bytes_out,
                                   struct err_text *text);

/* Read the whole header, @size bytes as client_npy_start() said. ERR_INVALID with @text. */
MUST_USE enum err client_npy_parse(const uint8_t *bytes, uint64_t size, struct client_npy *out,
                                   struct err_text *text);

/* Does the array have this shape, or as many elements in one axis? ERR_INVALID with @text. */
MUST_USE enum err client_npy_fits(const struct client_npy *npy, uint64_t rows, uint32_t width,
                                  struct err_text *text);

#endif
