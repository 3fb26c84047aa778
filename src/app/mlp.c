/* A perceptron with one hidden layer, on the same images as LeNet: the smallest job of its kind
 * that is not linear. */

#include "app/image.h"
#include "app/image_job.h"
#include "app/jobs.h"
#include "app/option.h"

enum { MLP_HIDDEN_MAX = 65536 };

static const char *const mlp_keys[] = {"hidden", APP_IMAGE_JOB_KEYS, NULL};

static enum err mlp_create(const struct app_config *config, struct app **app_out,
                           struct err_text *text)
{
    struct app_stack_layer layers[] = {
        {APP_STACK_DENSE, 0, 0},
        {APP_STACK_RELU, 0, 0},
        {APP_STACK_DENSE, APP_IMAGE_CLASSES, 0},
    };
    enum err rc = app_option_u32(config, "hidden", 128, 1, MLP_HIDDEN_MAX, &layers[0].size, text);

    if (rc == OK) {
        rc = app_image_job_create(config, &app_mlp, mlp_keys, layers,
                                  sizeof(layers) / sizeof(layers[0]), app_out, text);
    }
    return rc;
}

const struct app_ops app_mlp = {
    .name = "mlp",
    .summary = "image classification by a perceptron with one hidden layer",
    .objective = "cross-entropy per test image",
    .options_help = "hidden=128 units of the hidden layer\n" APP_IMAGE_JOB_HELP,
    .create = mlp_create,
    .destroy = app_image_job_destroy,
    .tables = app_image_job_tables,
    .step = app_image_job_step,
    .evaluate = app_image_job_evaluate,
};
