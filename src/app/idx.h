/* IDX files, the format of MNIST and of the sets that took its place: images and labels, eight bits
 * each, behind a header of big-endian numbers. Plain or compressed by gzip. */

#ifndef APP_IDX_H
#define APP_IDX_H

#include "base/err.h"

#include <stdint.h>

enum {
    APP_IDX_COUNT_MAX = 4 * 1000 * 1000, /* Images or labels of a file. */
    APP_IDX_SIDE_MAX = 1024,             /* Points of a line, lines of an image. */
    APP_IDX_BYTES_MAX = 1 << 30,         /* Of a file, unpacked. */
};

/* Both are views of bytes that somebody else owns. */
struct app_idx_images {
    uint32_t count;
    uint32_t height;
    uint32_t width;
    const uint8_t *pixels; /* Image after image, line after line. */
};

struct app_idx_labels {
    uint32_t count;
    const uint8_t *labels;
};

/* Judge the bytes of a file; @name is for errors. ERR_MALFORMED or ERR_TOO_BIG, with a text. */
MUST_USE enum err app_idx_images_decode(const char *name, const uint8_t *bytes, size_t size,
                                        struct app_idx_images *images_out, struct err_text *text);
MUST_USE enum err app_idx_labels_decode(const char *name, const uint8_t *bytes, size_t size,
                                        struct app_idx_labels *labels_out, struct err_text *text);

enum app_idx_part { APP_IDX_TRAIN, APP_IDX_TEST };

/* One part of a set: as many labels as images. */
struct app_idx_set {
    struct app_idx_images images;
    struct app_idx_labels labels;
    uint8_t *image_bytes; /* Owned; private. */
    uint8_t *label_bytes;
};

/* Read one part from a folder, by the usual names: train-images-idx3-ubyte,
 * train-labels-idx1-ubyte, t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte; also
 * train-images.idx3-ubyte or just train-images, and each with .gz behind it. Labels are below
 * @classes.
 *
 * ERR_NOT_FOUND, ERR_MALFORMED, ERR_TOO_BIG, ERR_IO or ERR_NOMEM, with the file in the text. */
MUST_USE enum err app_idx_set_read(const char *folder, enum app_idx_part part, uint32_t classes,
                                   struct app_idx_set *set_out, struct err_text *text);
void app_idx_set_free(struct app_idx_set *set);

#endif
