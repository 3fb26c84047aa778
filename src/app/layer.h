/* Layers of a network, forward and backward: plain functions on arrays of floats.
 *
 * An array holds @count images one after the other; an image is side x side points, and the
 * channels of a point are neighbours, so that a row of a patch is one run in memory. Weights are
 * (inputs x outputs). Backward functions get the derivative of the loss by what the forward
 * function wrote; those of weights and biases are added to what is there, so that a batch may come
 * in slices. */

#ifndef APP_LAYER_H
#define APP_LAYER_H

#include <stdint.h>

/* Convolution with every whole patch, no border: side out = side - kernel + 1. */
struct app_layer_conv {
    uint32_t side; /* In. */
    uint32_t channels;
    uint32_t kernel;
    uint32_t filters; /* Channels out. */
};

uint32_t app_layer_conv_side(const struct app_layer_conv *c);  /* Out. */
uint32_t app_layer_conv_patch(const struct app_layer_conv *c); /* Elements: inputs of a filter. */

/* Spread the patches into rows: @patches has count * side out * side out rows. */
void app_layer_conv_spread(const struct app_layer_conv *c, uint32_t count, const float *in,
                           float *patches);

/* The other way: add each element of each patch to where it came from; @in_d is zeroed first. */
void app_layer_conv_gather(const struct app_layer_conv *c, uint32_t count, const float *patches,
                           float *in_d);

/* out (count x outputs) = in (count x inputs) weights + bias. With patches for @in this is a
 * convolution too. */
struct app_layer_dense {
    uint32_t inputs;
    uint32_t outputs;
};

void app_layer_dense_forward(const struct app_layer_dense *d, uint32_t count, const float *in,
                             const float *weights, const float *bias, float *out);

/* @in_d may be NULL: not wanted. */
void app_layer_dense_backward(const struct app_layer_dense *d, uint32_t count, const float *in,
                              const float *weights, const float *out_d, float *weights_d,
                              float *bias_d, float *in_d);

/* Largest of each square of 2 x 2 points; @side is even. Backward wants both sides of forward; the
 * derivative goes to the first of equals. */
void app_layer_pool_forward(uint32_t side, uint32_t channels, uint32_t count, const float *in,
                            float *out);
void app_layer_pool_backward(uint32_t side, uint32_t channels, uint32_t count, const float *in,
                             const float *out, const float *out_d, float *in_d);

/* In place: the larger of x and 0. Backward: @x is what forward left. */
void app_layer_relu_forward(float *x, uint32_t elements);
void app_layer_relu_backward(const float *x, float *d, uint32_t elements);

/* Cross-entropy of softmax. Return its sum over @count rows of @classes scores; add the number of
 * rows whose label has the largest score (alone) to *correct; write the derivative by the scores
 * to @scores_d unless that is NULL. */
double app_layer_softmax(uint32_t classes, uint32_t count, const float *scores,
                         const uint8_t *labels, float *scores_d, uint32_t *correct);

#endif
