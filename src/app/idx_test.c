/* IDX files: whole, cut short, lying, under all their names. */

#include "app/idx.h"

#include "app/idx_testing.h"

enum { COUNT = 5, HEIGHT = 3, WIDTH = 4, IMAGES_BYTES = 16 + COUNT * HEIGHT * WIDTH };

static struct idx_testing folder;
static uint8_t image_file[4096];
static uint8_t label_file[256];
static size_t image_size;
static size_t label_size;

static int setup(void **state)
{
    (void)state;
    idx_testing_open(&folder);
    image_size = idx_testing_images(image_file, COUNT, HEIGHT, WIDTH, 1);
    label_size = idx_testing_labels(label_file, COUNT, 2);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    idx_testing_close(&folder);
    return 0;
}

/* Decode from a block of exactly that size, so that the sanitizer sees a byte too far. */
static enum err decode(bool images, const uint8_t *bytes, size_t size, struct err_text *text)
{
    uint8_t *copy = malloc(size == 0 ? 1 : size);
    struct app_idx_images i;
    struct app_idx_labels l;
    enum err rc;

    assert_non_null(copy);
    memcpy(copy, bytes, size);
    rc = images ? app_idx_images_decode("file", copy, size, &i, text)
                : app_idx_labels_decode("file", copy, size, &l, text);
    free(copy);
    return rc;
}

static void test_images_and_labels_are_read(void **state)
{
    struct app_idx_images i;
    struct app_idx_labels l;
    struct err_text text;

    (void)state;
    assert_int_equal(app_idx_images_decode("f", image_file, image_size, &i, &text), OK);
    assert_int_equal(i.count, COUNT);
    assert_int_equal(i.height, HEIGHT);
    assert_int_equal(i.width, WIDTH);
    assert_ptr_equal(i.pixels, image_file + 16);
    assert_int_equal(app_idx_labels_decode("f", label_file, label_size, &l, &text), OK);
    assert_int_equal(l.count, COUNT);
    assert_ptr_equal(l.labels, label_file + 8);
}

static void test_a_file_that_is_cut_or_has_more_is_refused(void **state)
{
    struct err_text text;

    (void)state;
    for (size_t size = 0; size <= image_size + 4; size++) {
        assert_int_equal(decode(true, image_file, size, &text),
                         size == image_size ? OK : ERR_MALFORMED);
    }
    for (size_t size = 0; size <= label_size + 4; size++) {
        assert_int_equal(decode(false, label_file, size, &text),
                         size == label_size ? OK : ERR_MALFORMED);
    }
}

/* Put @value at @at of a copy of the images or labels: refused with @rc, and the text has @what. */
static void refused(bool images, uint32_t at, uint32_t value, enum err rc, const char *what)
{
    struct err_text text = {""};
    uint8_t copy[4096];

    memcpy(copy, images ? image_file : label_file, images ? image_size : label_size);
    (void)idx_testing_number(copy + at, value);
    assert_int_equal(decode(images, copy, images ? image_size : label_size, &text), rc);
    if (strstr(text.text, what) == NULL) {
        fail_msg("'%s' does not say '%s'", text.text, what);
    }
}

static void test_lies_of_the_header_are_refused(void **state)
{
    (void)state;
    refused(true, 0, 0x801, ERR_MALFORMED, "file: holds labels, not images");
    refused(false, 0, 0x803, ERR_MALFORMED, "file: holds images, not labels");
    refused(true, 0, 0x1f8b0800, ERR_MALFORMED,
            "file: is no IDX file of images: it begins with 1f8b0800, not 00000803");
    refused(false, 0, 0x802, ERR_MALFORMED, "no IDX file of labels");
    refused(true, 4, 0, ERR_MALFORMED, "holds no images");
    refused(false, 4, 0, ERR_MALFORMED, "holds no labels");
    refused(true, 4, COUNT + 1, ERR_MALFORMED, "speaks of 88 bytes, there are 76");
    refused(false, 4, COUNT - 1, ERR_MALFORMED, "speaks of 12 bytes, there are 13");
    refused(true, 4, APP_IDX_COUNT_MAX + 1, ERR_TOO_BIG, "says 4000001 images");
    refused(true, 4, UINT32_MAX, ERR_TOO_BIG, "4000000 is the limit");
    refused(false, 4, UINT32_MAX, ERR_TOO_BIG, "labels");
    refused(true, 8, 0, ERR_MALFORMED, "no points");
    refused(true, 12, 0, ERR_MALFORMED, "no points");
    refused(true, 8, APP_IDX_SIDE_MAX + 1, ERR_TOO_BIG, "4 x 1025 points");
    refused(true, 12, UINT32_MAX, ERR_TOO_BIG, "1024 is the limit");
    refused(true, 8, APP_IDX_SIDE_MAX, ERR_MALFORMED, "speaks of 20496 bytes");
}

static void test_a_folder_is_read_under_all_its_names(void **state)
{
    static const char *const names[][2] = {
        {"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"},
        {"t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"},
        {"t10k-images.idx3-ubyte", "t10k-labels.idx1-ubyte"},
        {"t10k-images.idx3-ubyte.gz", "t10k-labels-idx1-ubyte"},
        {"t10k-images", "t10k-labels"},
        {"t10k-images.gz", "t10k-labels.gz"},
    };

    (void)state;
    for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct app_idx_set set;
        struct err_text text = {""};

        idx_testing_write(&folder, names[i][0], image_file, image_size);
        idx_testing_write(&folder, names[i][1], label_file, label_size);
        if (app_idx_set_read(folder.folder, APP_IDX_TEST, 10, &set, &text) != OK) {
            fail_msg("%s: %s", names[i][0], text.text);
        }
        assert_int_equal(set.images.count, COUNT);
        assert_memory_equal(set.images.pixels, image_file + 16, image_size - 16);
        assert_memory_equal(set.labels.labels, label_file + 8, COUNT);
        app_idx_set_free(&set);
        assert_int_equal(app_idx_set_read(folder.folder, APP_IDX_TRAIN, 10, &set, &text),
                         ERR_NOT_FOUND);
        idx_testing_clear(&folder);
    }
}

static void assert_folder_refused(enum err rc, const char *what)
{
    struct err_text text = {""};
    struct app_idx_set set;

    assert_int_equal(app_idx_set_read(folder.folder, APP_IDX_TRAIN, 10, &set, &text), rc);
    if (strstr(text.text, what) == NULL) {
        fail_msg("'%s' does not say '%s'", text.text, what);
    }
    assert_int_equal(app_idx_set_read(folder.folder, APP_IDX_TRAIN, 10, &set, NULL), rc);
}

static void test_a_folder_that_is_not_whole_is_refused(void **state)
{
    uint8_t labels[256];

    (void)state;
    assert_folder_refused(ERR_NOT_FOUND, "there is no train-images-idx3-ubyte in it");
    idx_testing_write(&folder, "train-images-idx3-ubyte", image_file, image_size);
    assert_folder_refused(ERR_NOT_FOUND, "there is no train-labels-idx1-ubyte in it");
    idx_testing_write(&folder, "train-labels-idx1-ubyte", image_file, image_size);
    assert_folder_refused(ERR_MALFORMED, "train-labels-idx1-ubyte: holds images, not labels");
    idx_testing_write(&folder, "train-labels-idx1-ubyte", labels,
                      idx_testing_labels(labels, COUNT + 1, 1));
    assert_folder_refused(ERR_MALFORMED, "train-labels-idx1-ubyte: 6 labels for 5 images");
    memcpy(labels, label_file, label_size);
    labels[8 + 3] = 10;
    idx_testing_write(&folder, "train-labels-idx1-ubyte", labels, label_size);
    assert_folder_refused(ERR_MALFORMED, "the label of image 3 is 10; there are 10 classes");
    idx_testing_write(&folder, "train-images-idx3-ubyte", image_file, image_size - 1);
    assert_folder_refused(ERR_MALFORMED, "speaks of 76 bytes, there are 75");
    idx_testing_clear(&folder);
}

static void test_a_path_that_is_no_folder_or_too_long_is_refused(void **state)
{
    struct err_text text = {""};
    struct app_idx_set set;
    char path[5000];

    (void)state;
    assert_int_equal(app_idx_set_read("/dev/null", APP_IDX_TRAIN, 10, &set, &text), ERR_IO);
    assert_non_null(strstr(text.text, "/dev/null"));
    memset(path, 'a', sizeof(path));
    path[sizeof(path) - 1] = '\0';
    assert_int_equal(app_idx_set_read(path, APP_IDX_TRAIN, 10, &set, &text), ERR_TOO_BIG);
    assert_non_null(strstr(text.text, "too long"));
}

static void test_every_allocation_may_fail(void **state)
{
    struct app_idx_set set;
    enum err rc = ERR_NOMEM;
    uint64_t k;

    (void)state;
    idx_testing_write(&folder, "train-images-idx3-ubyte.gz", image_file, image_size);
    idx_testing_write(&folder, "train-labels-idx1-ubyte", label_file, label_size);
    for (k = 1; rc == ERR_NOMEM; k++) {
        struct err_text text;

        mem_fail_at(k, 1);
        rc = app_idx_set_read(folder.folder, APP_IDX_TRAIN, 10, &set, &text);
        mem_fail_at(0, 0);
    }
    assert_int_equal(rc, OK);
    assert_true(k > 2);
    app_idx_set_free(&set);
    idx_testing_clear(&folder);
}

static void test_fashion_mnist_is_read(void **state)
{
    struct err_text text = {""};
    struct app_idx_set set;
    uint32_t per_class[10] = {0};

    (void)state;
    if (access(IDX_TESTING_FASHION, R_OK) != 0) {
        print_message("SKIPPED [idx] no " IDX_TESTING_FASHION ": apt install "
                      "dataset-fashion-mnist\n");
        skip();
    }
    if (app_idx_set_read(IDX_TESTING_FASHION, APP_IDX_TEST, 10, &set, &text) != OK) {
        fail_msg("%s", text.text);
    }
    assert_int_equal(set.images.count, 10000);
    assert_int_equal(set.images.height, 28);
    assert_int_equal(set.images.width, 28);
    for (uint32_t i = 0; i < set.labels.count; i++) {
        per_class[set.labels.labels[i]]++;
    }
    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(per_class[i], 1000);
    }
    app_idx_set_free(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_images_and_labels_are_read),
        cmocka_unit_test(test_a_file_that_is_cut_or_has_more_is_refused),
        cmocka_unit_test(test_lies_of_the_header_are_refused),
        cmocka_unit_test(test_a_folder_is_read_under_all_its_names),
        cmocka_unit_test(test_a_folder_that_is_not_whole_is_refused),
        cmocka_unit_test(test_a_path_that_is_no_folder_or_too_long_is_refused),
        cmocka_unit_test(test_every_allocation_may_fail),
        cmocka_unit_test(test_fashion_mnist_is_read),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
