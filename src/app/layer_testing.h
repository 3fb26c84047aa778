/* A network as one would write it down from a book, for tests to compare with: double precision,
 * one loop per index, no products of matrices, one image at a time. Its parameters are in the same
 * order as those of app/layer_stack.h and have no scales.
 *
 * Included by tests only; each is one program, so all functions are static. */

#ifndef APP_LAYER_TESTING_H
#define APP_LAYER_TESTING_H

#include "app/layer_stack.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NAIVE_LAYERS_MAX = 16 };

struct naive_layer {
    struct app_stack_layer is;
    uint32_t side, channels;         /* In. */
    uint32_t side_out, channels_out; /* Dense: side 1. */
    uint32_t inputs;                 /* Of one unit; zero without parameters. */
    double *weights;                 /* Inputs x units, then one bias per unit. */
    double *weights_d;
    double *in; /* As forward saw it. */
    double *in_d;
};

struct naive {
    uint32_t count;
    uint32_t elements; /* Parameters. */
    double *params;
    double *params_d;
    double *out; /* Of the last layer. */
    double *out_d;
    struct naive_layer layers[NAIVE_LAYERS_MAX];
};

static inline double *naive_array(size_t count)
{
    double *p = calloc(count, sizeof(*p));

    assert_non_null(p);
    return p;
}

static inline void naive_open(struct naive *n, uint32_t side, const struct app_stack_layer *layers,
                              uint32_t count)
{
    uint32_t channels = 1;
    uint32_t at = 0;

    memset(n, 0, sizeof(*n));
    assert_true(count <= NAIVE_LAYERS_MAX);
    n->count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct naive_layer *l = &n->layers[i];

        l->is = layers[i];
        l->side = l->side_out = side;
        l->channels = l->channels_out = channels;
        if (l->is.kind == APP_STACK_CONV) {
            l->side_out = side - l->is.kernel + 1;
            l->channels_out = l->is.size;
            l->inputs = l->is.kernel * l->is.kernel * channels;
        } else if (l->is.kind == APP_STACK_POOL) {
            l->side_out = side / 2;
        } else if (l->is.kind == APP_STACK_DENSE) {
            l->side_out = 1;
            l->channels_out = l->is.size;
            l->inputs = side * side * channels;
        }
        l->in = naive_array((size_t)side * side * channels);
        l->in_d = naive_array((size_t)side * side * channels);
        side = l->side_out;
        channels = l->channels_out;
        n->elements += l->inputs == 0 ? 0 : (l->inputs + 1) * channels;
    }
    n->out = naive_array((size_t)side * side * channels);
    n->out_d = naive_array((size_t)side * side * channels);
    n->params = naive_array(n->elements);
    n->params_d = naive_array(n->elements);
    for (uint32_t i = 0; i < count; i++) {
        struct naive_layer *l = &n->layers[i];

        l->weights = n->params + at;
        l->weights_d = n->params_d + at;
        at += l->inputs == 0 ? 0 : (l->inputs + 1) * l->channels_out;
    }
}

static inline void naive_close(struct naive *n)
{
    for (uint32_t i = 0; i < n->count; i++) {
        free(n->layers[i].in);
        free(n->layers[i].in_d);
    }
    free(n->params);
    free(n->params_d);
    free(n->out);
    free(n->out_d);
}

/* What the parameters of a layer are multiplied with in the table: layer_stack.h. */
static inline double naive_scale(const struct naive_layer *l)
{
    return 1 / sqrt(l->inputs);
}

static inline void naive_load(struct naive *n, const float *values)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < n->count; i++) {
        const struct naive_layer *l = &n->layers[i];

        for (uint32_t k = 0; l->inputs > 0 && k < (l->inputs + 1) * l->channels_out; k++, at++) {
            n->params[at] = (double)values[at] * naive_scale(l);
        }
    }
    assert_int_equal(at, n->elements);
}

/* Where point (x, y) of channel c is. */
static inline uint32_t naive_at(uint32_t side, uint32_t channels, uint32_t y, uint32_t x,
                                uint32_t c)
{
    return (y * side + x) * channels + c;
}

/* A unit at point (y, x) of a layer with weights: its sum, or with @d its part backward. A dense
 * unit is a filter as large as the image. */
static inline double naive_unit(struct naive_layer *l, uint32_t y, uint32_t x, uint32_t unit,
                                const double *d)
{
    uint32_t kernel = l->is.kind == APP_STACK_CONV ? l->is.kernel : l->side;
    uint32_t bias = l->inputs * l->channels_out + unit;
    double sum = l->weights[bias];

    if (d != NULL) {
        l->weights_d[bias] += *d;
    }
    for (uint32_t ky = 0; ky < kernel; ky++) {
        for (uint32_t kx = 0; kx < kernel; kx++) {
            for (uint32_t c = 0; c < l->channels; c++) {
                uint32_t in = naive_at(l->side, l->channels, y + ky, x + kx, c);
                uint32_t w = naive_at(kernel, l->channels, ky, kx, c) * l->channels_out + unit;

                sum += l->weights[w] * l->in[in];
                if (d != NULL) {
                    l->weights_d[w] += *d * l->in[in];
                    l->in_d[in] += *d * l->weights[w];
                }
            }
        }
    }
    return sum;
}

/* The largest of four points, the first of equals: where it is. */
static inline uint32_t naive_largest(const struct naive_layer *l, uint32_t y, uint32_t x,
                                     uint32_t c)
{
    uint32_t best = naive_at(l->side, l->channels, 2 * y, 2 * x, c);

    for (uint32_t i = 1; i < 4; i++) {
        uint32_t at = naive_at(l->side, l->channels, 2 * y + i / 2, 2 * x + i % 2, c);

        best = l->in[at] > l->in[best] ? at : best;
    }
    return best;
}

static inline void naive_up(struct naive_layer *l, double *out)
{
    for (uint32_t y = 0; y < l->side_out; y++) {
        for (uint32_t x = 0; x < l->side_out; x++) {
            for (uint32_t c = 0; c < l->channels_out; c++) {
                uint32_t at = naive_at(l->side_out, l->channels_out, y, x, c);

                if (l->is.kind == APP_STACK_POOL) {
                    out[at] = l->in[naive_largest(l, y, x, c)];
                } else if (l->is.kind == APP_STACK_RELU) {
                    out[at] = l->in[at] > 0 ? l->in[at] : 0;
                } else {
                    out[at] = naive_unit(l, y, x, c, NULL);
                }
            }
        }
    }
}

static inline void naive_down(struct naive_layer *l, const double *out_d)
{
    memset(l->in_d, 0, sizeof(*l->in_d) * l->side * l->side * l->channels);
    for (uint32_t y = 0; y < l->side_out; y++) {
        for (uint32_t x = 0; x < l->side_out; x++) {
            for (uint32_t c = 0; c < l->channels_out; c++) {
                uint32_t at = naive_at(l->side_out, l->channels_out, y, x, c);

                if (l->is.kind == APP_STACK_POOL) {
                    l->in_d[naive_largest(l, y, x, c)] += out_d[at];
                } else if (l->is.kind == APP_STACK_RELU) {
                    l->in_d[at] += l->in[at] > 0 ? out_d[at] : 0;
                } else {
                    (void)naive_unit(l, y, x, c, &out_d[at]);
                }
            }
        }
    }
}

/* Loss of one image; the gradient is added to .params_d if @learn. */
static inline double naive_image(struct naive *n, const float *image, uint8_t label, bool learn)
{
    uint32_t classes = n->layers[n->count - 1].channels_out;
    double sum = 0;

    for (uint32_t i = 0; i < n->layers[0].side * n->layers[0].side; i++) {
        n->layers[0].in[i] = (double)image[i];
    }
    for (uint32_t i = 0; i < n->count; i++) {
        naive_up(&n->layers[i], i + 1 == n->count ? n->out : n->layers[i + 1].in);
    }
    for (uint32_t c = 0; c < classes; c++) {
        sum += exp(n->out[c]);
    }
    for (uint32_t c = 0; c < classes; c++) {
        n->out_d[c] = exp(n->out[c]) / sum - (c == label);
    }
    for (uint32_t i = n->count; learn && i-- > 0;) {
        naive_down(&n->layers[i], i + 1 == n->count ? n->out_d : n->layers[i + 1].in_d);
    }
    return log(sum) - n->out[label];
}

/* The gradient by the values, in the order of the table: mean over @samples. */
static inline void naive_update(const struct naive *n, uint32_t samples, double *out)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < n->count; i++) {
        const struct naive_layer *l = &n->layers[i];

        for (uint32_t k = 0; l->inputs > 0 && k < (l->inputs + 1) * l->channels_out; k++, at++) {
            out[at] = n->params_d[at] / samples / naive_scale(l);
        }
    }
}

#endif
