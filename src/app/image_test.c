/* Images: drawn the same by everybody, and cut into parts that make up the whole. */

#include "app/image.h"

#include "app/idx_testing.h"
#include "base/hash.h"

#include <math.h>

enum { TRAIN = 23, TEST = 9 };

static struct idx_testing folder;
static uint8_t train_file[16 + TRAIN * APP_IMAGE_PIXELS], train_labels[8 + TRAIN];
static uint8_t test_file[16 + TEST * APP_IMAGE_PIXELS], test_labels[8 + TEST];

static int setup(void **state)
{
    (void)state;
    idx_testing_open(&folder);
    idx_testing_write(&folder, "train-images-idx3-ubyte.gz", train_file,
                      idx_testing_images(train_file, TRAIN, 28, 28, 1));
    idx_testing_write(&folder, "train-labels-idx1-ubyte.gz", train_labels,
                      idx_testing_labels(train_labels, TRAIN, 2));
    idx_testing_write(&folder, "t10k-images-idx3-ubyte", test_file,
                      idx_testing_images(test_file, TEST, 28, 28, 3));
    idx_testing_write(&folder, "t10k-labels-idx1-ubyte", test_labels,
                      idx_testing_labels(test_labels, TEST, 4));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    idx_testing_close(&folder);
    return 0;
}

static void read_sets(const struct app_image_config *config, struct app_image_set *train,
                      struct app_image_set *test)
{
    struct err_text text = {""};

    if (app_image_read(config, train, test, &text) != OK) {
        fail_msg("%s", text.text);
    }
}

/* The same bits by every compiler: what was drawn when this test was written. */
static void test_generated_images_stay_what_they_are(void **state)
{
    uint8_t pixels[100 * APP_IMAGE_PIXELS], labels[100];

    (void)state;
    for (uint32_t i = 0; i < 100; i++) {
        app_image_draw(1, i, pixels + i * APP_IMAGE_PIXELS, &labels[i]);
    }
    assert_int_equal(hash_bytes(pixels, sizeof(pixels)), 0x2eab07406dd97918);
    assert_int_equal(hash_bytes(labels, sizeof(labels)), 0x4aaf975daaf45a3e);
}

static void test_seeds_and_numbers_make_different_images(void **state)
{
    uint8_t one[APP_IMAGE_PIXELS], two[APP_IMAGE_PIXELS], label;
    uint32_t per_class[APP_IMAGE_CLASSES] = {0};

    (void)state;
    app_image_draw(1, 0, one, &label);
    app_image_draw(2, 0, two, &label);
    assert_memory_not_equal(one, two, sizeof(one));
    app_image_draw(1, 1, two, &label);
    assert_memory_not_equal(one, two, sizeof(one));
    for (uint32_t i = 0; i < 1000; i++) {
        app_image_draw(3, i, one, &label);
        assert_true(label < APP_IMAGE_CLASSES);
        per_class[label]++;
    }
    for (uint32_t i = 0; i < APP_IMAGE_CLASSES; i++) {
        assert_in_range(per_class[i], 60, 140);
    }
}

static void test_what_is_drawn_is_seen(void **state)
{
    uint8_t pixels[APP_IMAGE_PIXELS], label;

    (void)state;
    for (uint32_t i = 0; i < 1000; i++) {
        uint32_t bright = 0;

        app_image_draw(1, i, pixels, &label);
        for (uint32_t k = 0; k < APP_IMAGE_PIXELS; k++) {
            bright += pixels[k] > 54; /* More than the noise. */
        }
        /* A figure is neither missing nor all over the image. */
        assert_in_range(bright, 15, 500);
    }
}

/* Read all parts one after the other and compare with the whole. */
static void parts_make_up(const char *path, uint32_t workers, uint32_t train_max, uint32_t test_max)
{
    struct app_image_config config = {path, 7, 0, 1, train_max, test_max};
    struct app_image_set train, test, train_part, test_part;
    uint32_t train_at = 0, test_at = 0;

    read_sets(&config, &train, &test);
    config.workers = workers;
    for (config.rank = 0; config.rank < workers; config.rank++) {
        read_sets(&config, &train_part, &test_part);
        assert_true(train_at + train_part.count <= train.count);
        assert_true(test_at + test_part.count <= test.count);
        assert_memory_equal(train_part.labels, train.labels + train_at, train_part.count);
        assert_memory_equal(train_part.pixels, train.pixels + train_at * APP_IMAGE_PIXELS,
                            train_part.count * APP_IMAGE_PIXELS);
        assert_memory_equal(test_part.labels, test.labels + test_at, test_part.count);
        assert_memory_equal(test_part.pixels, test.pixels + test_at * APP_IMAGE_PIXELS,
                            test_part.count * APP_IMAGE_PIXELS);
        train_at += train_part.count;
        test_at += test_part.count;
        app_image_free(&train_part);
        app_image_free(&test_part);
    }
    assert_int_equal(train_at, train.count);
    assert_int_equal(test_at, test.count);
    app_image_free(&train);
    app_image_free(&test);
}

static void test_parts_of_workers_make_up_the_whole(void **state)
{
    static const uint32_t workers[] = {1, 2, 3, 7, 23, 40};

    (void)state;
    for (uint32_t i = 0; i < sizeof(workers) / sizeof(workers[0]); i++) {
        parts_make_up(folder.folder, workers[i], 0, 1000);
        parts_make_up(folder.folder, workers[i], 20, 5);
        parts_make_up(NULL, workers[i], 30, 12);
    }
}

static void test_a_folder_gives_what_is_in_its_files(void **state)
{
    struct app_image_config config = {folder.folder, 0, 0, 1, 0, 1000};
    struct app_image_set train, test;

    (void)state;
    read_sets(&config, &train, &test);
    assert_int_equal(train.count, TRAIN);
    assert_int_equal(test.count, TEST);
    assert_memory_equal(train.pixels, train_file + 16, TRAIN * APP_IMAGE_PIXELS);
    assert_memory_equal(train.labels, train_labels + 8, TRAIN);
    assert_memory_equal(test.pixels, test_file + 16, TEST * APP_IMAGE_PIXELS);
    assert_memory_equal(test.labels, test_labels + 8, TEST);
    app_image_free(&train);
    app_image_free(&test);
}

static void test_images_of_another_size_are_refused(void **state)
{
    struct app_image_config config = {NULL, 0, 0, 1, 0, 10};
    uint8_t file[16 + 32 * 30], labels[9];
    struct app_image_set train, test;
    struct err_text text = {""};
    struct idx_testing odd;

    (void)state;
    idx_testing_open(&odd);
    idx_testing_write(&odd, "train-images", file, idx_testing_images(file, 1, 32, 30, 1));
    idx_testing_write(&odd, "train-labels", labels, idx_testing_labels(labels, 1, 1));
    config.folder = odd.folder;
    assert_int_equal(app_image_read(&config, &train, &test, &text), ERR_INVALID);
    assert_non_null(strstr(text.text, "images of 30 x 32 points, not of 28 x 28"));
    idx_testing_close(&odd);
}

static void test_a_missing_test_set_is_an_error(void **state)
{
    struct app_image_config config = {NULL, 0, 0, 1, 0, 10};
    struct app_image_set train, test;
    struct err_text text = {""};
    struct idx_testing half;

    (void)state;
    idx_testing_open(&half);
    idx_testing_write(&half, "train-images", train_file, sizeof(train_file));
    idx_testing_write(&half, "train-labels", train_labels, sizeof(train_labels));
    config.folder = half.folder;
    assert_int_equal(app_image_read(&config, &train, &test, &text), ERR_NOT_FOUND);
    assert_non_null(strstr(text.text, "t10k-images-idx3-ubyte"));
    idx_testing_close(&half);
}

static void test_floats_have_mean_zero_and_deviation_one(void **state)
{
    uint8_t pixels[APP_IMAGE_PIXELS] = {0, 73, 255};
    float x[APP_IMAGE_PIXELS];

    (void)state;
    app_image_floats(pixels, x);
    assert_true(fabs((double)x[0] + 0.2860 / 0.3530) < 1e-6);
    assert_true(fabs((double)x[1]) < 0.01);
    assert_true(fabs((double)x[2] - (1 - 0.2860) / 0.3530) < 1e-6);
    assert_true(x[APP_IMAGE_PIXELS - 1] == x[0]);
}

static void test_every_allocation_may_fail(void **state)
{
    const char *const paths[] = {NULL, folder.folder};

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        struct app_image_config config = {paths[i], 0, 0, 1, 5, 3};
        struct app_image_set train, test;
        enum err rc = ERR_NOMEM;
        uint64_t k;

        for (k = 1; rc == ERR_NOMEM; k++) {
            struct err_text text;

            mem_fail_at(k, 1);
            rc = app_image_read(&config, &train, &test, &text);
            mem_fail_at(0, 0);
        }
        assert_int_equal(rc, OK);
        assert_true(k > 4);
        app_image_free(&train);
        app_image_free(&test);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_generated_images_stay_what_they_are),
        cmocka_unit_test(test_seeds_and_numbers_make_different_images),
        cmocka_unit_test(test_what_is_drawn_is_seen),
        cmocka_unit_test(test_parts_of_workers_make_up_the_whole),
        cmocka_unit_test(test_a_folder_gives_what_is_in_its_files),
        cmocka_unit_test(test_images_of_another_size_are_refused),
        cmocka_unit_test(test_a_missing_test_set_is_an_error),
        cmocka_unit_test(test_floats_have_mean_zero_and_deviation_one),
        cmocka_unit_test(test_every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
