/* A network that is a stack of layers: images in, scores out.
 *
 * All its parameters are one array of table values, layer after layer from the bottom, weights
 * before biases. A table starts every element with the same deviation, but a layer wants one that
 * suits its number of inputs (LeCun et al., 1998). So the table starts with deviation 1, and
 *
 *     parameter = value * scale of its layer,   scale = 1 / sqrt(inputs of a unit)
 *
 * and the update is the gradient by the parameter divided by the scale: then -lr * update on the
 * values is -lr * gradient on the parameters, and plain SGD or momentum is just that. All values
 * being of one size, a bound on |update| (F3) means the same in every layer; a relative one (G3)
 * does anyway. */

#ifndef APP_LAYER_STACK_H
#define APP_LAYER_STACK_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum { APP_STACK_LAYERS_MAX = 16 };

enum app_stack_kind {
    APP_STACK_CONV,  /* .size filters of .kernel x .kernel points. */
    APP_STACK_POOL,  /* Largest of 2 x 2. */
    APP_STACK_RELU,  /* Not at the bottom: it works in place. */
    APP_STACK_DENSE, /* .size outputs. */
};

struct app_stack_layer {
    enum app_stack_kind kind;
    uint32_t size;
    uint32_t kernel;
};

struct app_stack_config {
    uint32_t side;  /* Of an image with one channel. */
    uint32_t slice; /* Images at a time: what they need should stay in the cache. */
    uint32_t layer_count;
    const struct app_stack_layer *layers; /* Bottom first; the last is dense. Borrowed. */
};

struct app_stack;

/* Call app_gemm_setup() first. ERR_NOMEM. A stack that does not fit together is the caller's
 * mistake. */
MUST_USE enum err app_stack_create(const struct app_stack_config *config,
                                   struct app_stack **stack_out);

/* NULL is allowed. */
void app_stack_destroy(struct app_stack *s);

/* How many parameters there are, and what one image costs forward and backward. */
uint32_t app_stack_elements(const struct app_stack *s);
double app_stack_flops(const struct app_stack *s);

/* Take the parameters from table values. */
void app_stack_load(struct app_stack *s, const float *values);

/* Where to put the images, up to the slice; valid until destroyed. */
float *app_stack_images(struct app_stack *s);

/* Run @count images; the scores are valid until the next call. */
const float *app_stack_forward(struct app_stack *s, uint32_t count);

/* Where to put the derivative of the loss by the scores, after forward. */
float *app_stack_scores_d(struct app_stack *s);

/* Add the gradient by the parameters to @update, in the order of the values. */
void app_stack_backward(struct app_stack *s, uint32_t count, float *update);

/* Make the update for the values of a sum of @samples gradients. */
void app_stack_scale(const struct app_stack *s, uint32_t samples, float *update);

#endif
