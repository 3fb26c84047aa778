/* Fuzz target: IDX files of images and of labels. What decodes must speak of just the bytes that
 * are there. */

#include "app/idx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct app_idx_images images;
    struct app_idx_labels labels;
    struct err_text text;

    if (app_idx_images_decode("fuzz", data, size, &images, &text) == OK) {
        CHECK(images.pixels + (size_t)images.count * images.height * images.width == data + size);
    }
    if (app_idx_labels_decode("fuzz", data, size, &labels, &text) == OK) {
        CHECK(labels.labels + labels.count == data + size);
    }
    return 0;
}
