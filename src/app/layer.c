#include "app/layer.h"

#include "app/gemm.h"

#include <math.h>
#include <string.h>

uint32_t app_layer_conv_side(const struct app_layer_conv *c)
{
    return c->side - c->kernel + 1;
}

uint32_t app_layer_conv_patch(const struct app_layer_conv *c)
{
    return c->kernel * c->kernel * c->channels;
}

/* Where a patch begins in its image, by its number. */
static size_t layer_patch_start(const struct app_layer_conv *c, uint32_t patch)
{
    uint32_t side = app_layer_conv_side(c);

    return ((size_t)(patch / side) * c->side + patch % side) * c->channels;
}

void app_layer_conv_spread(const struct app_layer_conv *c, uint32_t count, const float *in,
                           float *patches)
{
    uint32_t side = app_layer_conv_side(c);
    size_t run = (size_t)c->kernel * c->channels;
    size_t line = (size_t)c->side * c->channels;

    for (uint32_t i = 0; i < count; i++, in += c->side * line) {
        for (uint32_t p = 0; p < side * side; p++) {
            const float *from = in + layer_patch_start(c, p);

            for (uint32_t y = 0; y < c->kernel; y++, from += line, patches += run) {
                /* Not memcpy: the runs of a first layer are short. */
                for (size_t x = 0; x < run; x++) {
                    patches[x] = from[x];
                }
            }
        }
    }
}

void app_layer_conv_gather(const struct app_layer_conv *c, uint32_t count, const float *patches,
                           float *in_d)
{
    uint32_t side = app_layer_conv_side(c);
    size_t run = (size_t)c->kernel * c->channels;
    size_t line = (size_t)c->side * c->channels;

    memset(in_d, 0, sizeof(*in_d) * count * c->side * line);
    for (uint32_t i = 0; i < count; i++, in_d += c->side * line) {
        for (uint32_t p = 0; p < side * side; p++) {
            float *to = in_d + layer_patch_start(c, p);

            for (uint32_t y = 0; y < c->kernel; y++, to += line, patches += run) {
                for (size_t x = 0; x < run; x++) {
                    to[x] += patches[x];
                }
            }
        }
    }
}

void app_layer_dense_forward(const struct app_layer_dense *d, uint32_t count, const float *in,
                             const float *weights, const float *bias, float *out)
{
    for (uint32_t i = 0; i < count; i++) {
        memcpy(out + (size_t)i * d->outputs, bias, sizeof(*out) * d->outputs);
    }
    app_gemm(count, d->outputs, d->inputs, in, weights, 1.0f, out);
}

void app_layer_dense_backward(const struct app_layer_dense *d, uint32_t count, const float *in,
                              const float *weights, const float *out_d, float *weights_d,
                              float *bias_d, float *in_d)
{
    for (uint32_t i = 0; i < count; i++) {
        const float *row = out_d + (size_t)i * d->outputs;

        for (uint32_t j = 0; j < d->outputs; j++) {
            bias_d[j] += row[j];
        }
    }
    app_gemm_at(d->inputs, d->outputs, count, in, out_d, 1.0f, weights_d);
    if (in_d != NULL) {
        app_gemm_bt(count, d->inputs, d->outputs, out_d, weights, 0.0f, in_d);
    }
}

void app_layer_pool_forward(uint32_t side, uint32_t channels, uint32_t count, const float *in,
                            float *out)
{
    size_t line = (size_t)side * channels;
    size_t half = side / 2;

    /* Lines of all images follow each other, and sides are even: two lines in, one line out. */
    for (size_t y = 0; y < count * half; y++, in += 2 * line) {
        for (size_t x = 0; x < half; x++, out += channels) {
            const float *a = in + 2 * x * channels;
            const float *b = a + line;

            for (uint32_t c = 0; c < channels; c++) {
                float top = a[c] < a[channels + c] ? a[channels + c] : a[c];
                float low = b[c] < b[channels + c] ? b[channels + c] : b[c];

                out[c] = top < low ? low : top;
            }
        }
    }
}

void app_layer_pool_backward(uint32_t side, uint32_t channels, uint32_t count, const float *in,
                             const float *out, const float *out_d, float *in_d)
{
    size_t line = (size_t)side * channels;
    size_t half = side / 2;

    for (size_t y = 0; y < count * half; y++, in += 2 * line, in_d += 2 * line) {
        for (size_t x = 0; x < half; x++, out += channels, out_d += channels) {
            const float *a = in + 2 * x * channels;
            float *to = in_d + 2 * x * channels;

            for (uint32_t c = 0; c < channels; c++) {
                float d = out_d[c];

                to[c] = a[c] < out[c] ? 0.0f : d;
                d = a[c] < out[c] ? d : 0.0f;
                to[channels + c] = a[channels + c] < out[c] ? 0.0f : d;
                d = a[channels + c] < out[c] ? d : 0.0f;
                to[line + c] = a[line + c] < out[c] ? 0.0f : d;
                d = a[line + c] < out[c] ? d : 0.0f;
                to[line + channels + c] = d;
            }
        }
    }
}

void app_layer_relu_forward(float *x, uint32_t elements)
{
    for (uint32_t i = 0; i < elements; i++) {
        /* So written, a NaN stays one. */
        x[i] = x[i] < 0.0f ? 0.0f : x[i];
    }
}

void app_layer_relu_backward(const float *x, float *d, uint32_t elements)
{
    for (uint32_t i = 0; i < elements; i++) {
        d[i] = x[i] > 0.0f ? d[i] : 0.0f;
    }
}

double app_layer_softmax(uint32_t classes, uint32_t count, const float *scores,
                         const uint8_t *labels, float *scores_d, uint32_t *correct)
{
    double loss = 0;

    for (uint32_t i = 0; i < count; i++, scores += classes) {
        float right = scores[labels[i]];
        float top = scores[0];
        uint32_t not_below = 0;
        double sum;

        for (uint32_t c = 0; c < classes; c++) {
            top = scores[c] > top ? scores[c] : top;
            not_below += !(scores[c] < right);
        }
        sum = exp((double)scores[0] - (double)top);
        for (uint32_t c = 1; c < classes; c++) {
            sum += exp((double)scores[c] - (double)top);
        }
        *correct += not_below == 1;
        loss += log(sum) - ((double)right - (double)top);
        for (uint32_t c = 0; scores_d != NULL && c < classes; c++) {
            double p = exp((double)scores[c] - (double)top) / sum;

            scores_d[(size_t)i * classes + c] = (float)(p - (c == labels[i] ? 1.0 : 0.0));
        }
    }
    return loss;
}
