#include "app/idx.h"

#include "app/file.h"
#include "base/mem.h"

#include <stdio.h>

enum {
    IDX_MAGIC_LABELS = 0x801, /* Unsigned bytes in one dimension ... */
    IDX_MAGIC_IMAGES = 0x803, /* ... and in three. */
    IDX_LABELS_HEADER_BYTES = 8,
    IDX_IMAGES_HEADER_BYTES = 16,
    IDX_PATH_BYTES = 4096,
};

static const char *const idx_parts[] = {[APP_IDX_TRAIN] = "train", [APP_IDX_TEST] = "t10k"};

static uint32_t idx_load32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Check the first number, and that the header is whole. */
static enum err idx_open(const char *name, const uint8_t *bytes, size_t size, size_t header_bytes,
                         uint32_t magic, struct err_text *text)
{
    const char *what = magic == IDX_MAGIC_IMAGES ? "images" : "labels";
    uint32_t found = size < 4 ? 0 : idx_load32(bytes);

    if (size >= 4 && found == (magic ^ IDX_MAGIC_IMAGES ^ IDX_MAGIC_LABELS)) {
        return err_text_set(text, ERR_MALFORMED, "%.300s: holds %s, not %s; the files are swapped",
                            name, magic == IDX_MAGIC_IMAGES ? "labels" : "images", what);
    }
    if (size >= 4 && found != magic) {
        return err_text_set(text, ERR_MALFORMED,
                            "%.300s: is no IDX file of %s: it begins with %08x, not %08x", name,
                            what, found, magic);
    }
    if (size < header_bytes) {
        return err_text_set(text, ERR_MALFORMED,
                            "%.300s: has %zu bytes, less than the header of an IDX file", name,
                            size);
    }
    return OK;
}

static enum err idx_count(const char *name, uint32_t count, const char *what, struct err_text *text)
{
    if (count == 0) {
        return err_text_set(text, ERR_MALFORMED, "%.300s: holds no %s", name, what);
    }
    if (count > APP_IDX_COUNT_MAX) {
        return err_text_set(text, ERR_TOO_BIG, "%.300s: says %u %s; %u is the limit", name, count,
                            what, (uint32_t)APP_IDX_COUNT_MAX);
    }
    return OK;
}

static enum err idx_size(const char *name, uint64_t wanted, uint64_t size, struct err_text *text)
{
    if (size == wanted) {
        return OK;
    }
    return err_text_set(text, ERR_MALFORMED,
                        "%.300s: its header speaks of %llu bytes, there are %llu; get the file "
                        "again",
                        name, (unsigned long long)wanted, (unsigned long long)size);
}

enum err app_idx_images_decode(const char *name, const uint8_t *bytes, size_t size,
                               struct app_idx_images *images_out, struct err_text *text)
{
    struct app_idx_images i = {0};
    uint64_t wanted;
    enum err rc;

    rc = idx_open(name, bytes, size, IDX_IMAGES_HEADER_BYTES, IDX_MAGIC_IMAGES, text);
    if (rc != OK) {
        return rc;
    }
    i.count = idx_load32(bytes + 4);
    i.height = idx_load32(bytes + 8);
    i.width = idx_load32(bytes + 12);
    i.pixels = bytes + IDX_IMAGES_HEADER_BYTES;
    rc = idx_count(name, i.count, "images", text);
    if (rc != OK) {
        return rc;
    }
    if (i.height == 0 || i.width == 0) {
        return err_text_set(text, ERR_MALFORMED, "%.300s: its images have no points", name);
    }
    if (i.height > APP_IDX_SIDE_MAX || i.width > APP_IDX_SIDE_MAX) {
        return err_text_set(text, ERR_TOO_BIG, "%.300s: images of %u x %u points; %u is the limit",
                            name, i.width, i.height, (uint32_t)APP_IDX_SIDE_MAX);
    }
    wanted = IDX_IMAGES_HEADER_BYTES + (uint64_t)i.count * i.height * i.width;
    rc = idx_size(name, wanted, size, text);
    if (rc == OK) {
        *images_out = i;
    }
    return rc;
}

enum err app_idx_labels_decode(const char *name, const uint8_t *bytes, size_t size,
                               struct app_idx_labels *labels_out, struct err_text *text)
{
    struct app_idx_labels l = {0};
    enum err rc;

    rc = idx_open(name, bytes, size, IDX_LABELS_HEADER_BYTES, IDX_MAGIC_LABELS, text);
    if (rc != OK) {
        return rc;
    }
    l.count = idx_load32(bytes + 4);
    l.labels = bytes + IDX_LABELS_HEADER_BYTES;
    rc = idx_count(name, l.count, "labels", text);
    if (rc == OK) {
        rc = idx_size(name, IDX_LABELS_HEADER_BYTES + (uint64_t)l.count, size, text);
    }
    if (rc == OK) {
        *labels_out = l;
    }
    return rc;
}

/* Read FOLDER/PART-WHAT under the first of its names that is there; @path gets that name. */
static enum err idx_read(const char *folder, const char *stem, const char *suffix, char *path,
                         uint8_t **bytes_out, size_t *size_out, struct err_text *text)
{
    for (uint32_t i = 0; i < 6; i++) {
        const char *joint = i < 2 ? "-" : ".";
        const char *end = i % 2 == 0 ? "" : ".gz";
        enum err rc;
        int size;

        size = i < 4
                   ? snprintf(path, IDX_PATH_BYTES, "%s/%s%s%s%s", folder, stem, joint, suffix, end)
                   : snprintf(path, IDX_PATH_BYTES, "%s/%s%s", folder, stem, end);
        if (size < 0 || size >= IDX_PATH_BYTES) {
            (void)err_text_set(text, ERR_TOO_BIG, "%.200s...: the path is too long", folder);
            return ERR_TOO_BIG; /* In clear words, for the analyser. */
        }
        rc = app_file_read(path, APP_IDX_BYTES_MAX, bytes_out, size_out, text);
        if (rc != ERR_NOT_FOUND) {
            return rc;
        }
    }
    (void)err_text_set(text, ERR_NOT_FOUND,
                       "%.200s: there is no %s-%s in it, plain or .gz; name a folder with the four "
                       "IDX files, or none to generate images",
                       folder, stem, suffix);
    return ERR_NOT_FOUND;
}

static enum err idx_read_images(const char *folder, enum app_idx_part part, struct app_idx_set *set,
                                struct err_text *text)
{
    char path[IDX_PATH_BYTES], stem[16];
    size_t size = 0;
    enum err rc;

    (void)snprintf(stem, sizeof(stem), "%s-images", idx_parts[part]);
    rc = idx_read(folder, stem, "idx3-ubyte", path, &set->image_bytes, &size, text);
    if (rc != OK) {
        return rc;
    }
    return app_idx_images_decode(path, set->image_bytes, size, &set->images, text);
}

static enum err idx_read_labels(const char *folder, enum app_idx_part part, uint32_t classes,
                                struct app_idx_set *set, struct err_text *text)
{
    char path[IDX_PATH_BYTES], stem[16];
    size_t size = 0;
    enum err rc;

    (void)snprintf(stem, sizeof(stem), "%s-labels", idx_parts[part]);
    rc = idx_read(folder, stem, "idx1-ubyte", path, &set->label_bytes, &size, text);
    if (rc == OK) {
        rc = app_idx_labels_decode(path, set->label_bytes, size, &set->labels, text);
    }
    if (rc != OK) {
        return rc;
    }
    if (set->labels.count != set->images.count) {
        return err_text_set(text, ERR_MALFORMED,
                            "%.300s: %u labels for %u images; the files are not of one set", path,
                            set->labels.count, set->images.count);
    }
    for (uint32_t i = 0; i < set->labels.count; i++) {
        if (set->labels.labels[i] >= classes) {
            return err_text_set(text, ERR_MALFORMED,
                                "%.300s: the label of image %u is %u; there are %u classes, from 0",
                                path, i, set->labels.labels[i], classes);
        }
    }
    return OK;
}

enum err app_idx_set_read(const char *folder, enum app_idx_part part, uint32_t classes,
                          struct app_idx_set *set_out, struct err_text *text)
{
    struct app_idx_set set = {0};
    enum err rc;

    rc = idx_read_images(folder, part, &set, text);
    if (rc == OK) {
        rc = idx_read_labels(folder, part, classes, &set, text);
    }
    if (rc != OK) {
        app_idx_set_free(&set);
        return rc;
    }
    *set_out = set;
    return OK;
}

void app_idx_set_free(struct app_idx_set *set)
{
    mem_free(set->image_bytes);
    mem_free(set->label_bytes);
    *set = (struct app_idx_set){0};
}
