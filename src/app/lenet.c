/* LeNet (G10, F9, D): two convolutions of 5 x 5 with a pool behind each, and two dense layers, with
 * relu. More than twice as wide as the original by default: of Fashion-MNIST's test images 8 and 16
 * filters did not get 90 % right within five passes, and 24 and 48 got there in fewer clocks but
 * took longer. */

#include "app/image.h"
#include "app/image_job.h"
#include "app/jobs.h"
#include "app/option.h"

enum { LENET_KERNEL = 5, LENET_WIDTH_MAX = 512, LENET_HIDDEN_MAX = 4096 };

static const char *const lenet_keys[] = {"conv1", "conv2", "hidden", APP_IMAGE_JOB_KEYS, NULL};

static enum err lenet_create(const struct app_config *config, struct app **app_out,
                             struct err_text *text)
{
    struct app_stack_layer layers[] = {
        {APP_STACK_CONV, 0, LENET_KERNEL},
        {APP_STACK_POOL, 0, 0},
        {APP_STACK_RELU, 0, 0}, /* After the pool: the same, and a quarter of the work. */
        {APP_STACK_CONV, 0, LENET_KERNEL},
        {APP_STACK_POOL, 0, 0},
        {APP_STACK_RELU, 0, 0},
        {APP_STACK_DENSE, 0, 0},
        {APP_STACK_RELU, 0, 0},
        {APP_STACK_DENSE, APP_IMAGE_CLASSES, 0},
    };
    enum err rc = app_option_u32(config, "conv1", 16, 1, LENET_WIDTH_MAX, &layers[0].size, text);

    if (rc == OK) {
        rc = app_option_u32(config, "conv2", 32, 1, LENET_WIDTH_MAX, &layers[3].size, text);
    }
    if (rc == OK) {
        rc = app_option_u32(config, "hidden", 128, 1, LENET_HIDDEN_MAX, &layers[6].size, text);
    }
    if (rc == OK) {
        rc = app_image_job_create(config, &app_lenet, lenet_keys, layers,
                                  sizeof(layers) / sizeof(layers[0]), app_out, text);
    }
    return rc;
}

const struct app_ops app_lenet = {
    .name = "lenet",
    .summary = "image classification by a convolutional network (LeNet)",
    .objective = "cross-entropy per test image",
    .options_help = "conv1=16 filters of the first convolution\n"
                    "conv2=32 filters of the second\n"
                    "hidden=128 units of the dense layer\n" APP_IMAGE_JOB_HELP,
    .create = lenet_create,
    .destroy = app_image_job_destroy,
    .tables = app_image_job_tables,
    .step = app_image_job_step,
    .evaluate = app_image_job_evaluate,
};
