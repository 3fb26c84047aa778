/* What the jobs that classify images share: data, batches, the table "model", and a stack of layers
 * between them. A job of this kind is the list of its layers.
 *
 * The update is the mean gradient of a clock's batch, in the scales of layer_stack.h; the table
 * enters it by momentum, and combines those of several workers by their samples. A worker without
 * images says zero, with the weight of one sample. */

#ifndef APP_IMAGE_JOB_H
#define APP_IMAGE_JOB_H

#include "app/app.h"
#include "app/layer_stack.h"

/* Options of every job of this kind, for its list of keys and its help. */
#define APP_IMAGE_JOB_KEYS                                                                         \
    "batch", "lr", "mu", "l2", "decay", "every", "factor", "warmup", "train", "eval"

#define APP_IMAGE_JOB_HELP                                                                         \
    "batch=64 images per clock and worker\n"                                                       \
    "lr=0.03 learning rate\n"                                                                      \
    "mu=0.9 momentum; 0 is plain SGD\n"                                                            \
    "l2=0.0005 pull of the parameters towards zero\n"                                              \
    "decay=step how the rate falls: none, step, sqrt (of the clock) or exp\n"                      \
    "every=1000 clocks after which step multiplies the rate\n"                                     \
    "factor=0.4 by which step and exp multiply the rate\n"                                         \
    "warmup=100 clocks until the rate is whole; 0: at once\n"                                      \
    "train=0 images to learn from, of all workers; 0: all, 10000 if generated\n"                   \
    "eval=2000 images to be tested with, of all workers\n"

/* Create a job of these layers. The layers are borrowed; ops->name and @keys (NULL at the end) are
 * for errors. */
MUST_USE enum err app_image_job_create(const struct app_config *config, const struct app_ops *ops,
                                       const char *const *keys,
                                       const struct app_stack_layer *layers, uint32_t layer_count,
                                       struct app **app_out, struct err_text *text);

/* The rest of its struct app_ops. */
void app_image_job_destroy(struct app *a);
uint32_t app_image_job_tables(const struct app *a, struct app_table *tables_out);
enum err app_image_job_step(struct app *a, struct app_view *views, struct app_step *step);
enum err app_image_job_evaluate(struct app *a, const struct app_view *views,
                                struct app_score *score);

#endif
