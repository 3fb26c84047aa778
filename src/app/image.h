/* Labelled images to learn from: 28 x 28 grey points, ten classes. Read from a folder of IDX files,
 * or generated.
 *
 * Generated are the ten figures of a seven-segment display, moved, stretched, sheared, drawn with
 * strokes of different width and strength among stray strokes and noise: a convolutional network
 * learns them, a linear one mostly not. Image i of a seed is the same whoever draws it, to the bit:
 * only sums, products and square roots of doubles are used. */

#ifndef APP_IMAGE_H
#define APP_IMAGE_H

#include "base/err.h"

#include <stdint.h>

enum {
    APP_IMAGE_SIDE = 28,
    APP_IMAGE_PIXELS = APP_IMAGE_SIDE * APP_IMAGE_SIDE,
    APP_IMAGE_CLASSES = 10,
    APP_IMAGE_COUNT_MAX = 1000 * 1000, /* Generated. */
    APP_IMAGE_TRAIN_DEFAULT = 10000,   /* Generated, if not told. */
};

struct app_image_set {
    uint32_t count;
    uint8_t *pixels; /* Owned, as are the labels. */
    uint8_t *labels;
};

struct app_image_config {
    const char *folder; /* NULL: generated. */
    uint64_t seed;      /* Of generated images. */
    uint32_t rank;      /* This worker gets its part (app_part()) of ... */
    uint32_t workers;
    uint32_t train; /* ... the first so many images to learn from (zero: all, or the default), */
    uint32_t test;  /* and of the first so many to be tested with; fewer if there are fewer. */
};

/* Get this worker's part of both sets. A part may be empty. ERR_NOMEM and what app_idx_set_read()
 * says, ERR_INVALID if the images have another size. */
MUST_USE enum err app_image_read(const struct app_image_config *config,
                                 struct app_image_set *train_out, struct app_image_set *test_out,
                                 struct err_text *text);
void app_image_free(struct app_image_set *set);

/* Draw image @index of the generated set of @seed. Images to be tested with are numbered from
 * APP_IMAGE_COUNT_MAX on. */
void app_image_draw(uint64_t seed, uint32_t index, uint8_t *pixels, uint8_t *label_out);

/* Make floats of an image: about zero in the mean and one in deviation, by fixed figures (those of
 * Fashion-MNIST), because a worker sees only its part and all must do the same. */
void app_image_floats(const uint8_t *pixels, float *out);

#endif
