/* The .npy format of NumPy, version 1.0, as far as a table needs it: a header before the values of
 * a float32 array in C order, with which any reader of that format has the array. */

#ifndef STORE_NPY_H
#define STORE_NPY_H

#include <stdint.h>

/* One size for all shapes, a multiple of 64: the values behind it are aligned. */
enum { NPY_HEADER_BYTES = 128 };

/* The values, rows * width little-endian singles, follow the header. */
void npy_header(uint64_t rows, uint32_t width, uint8_t out[NPY_HEADER_BYTES]);

#endif
