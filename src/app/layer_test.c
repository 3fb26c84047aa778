/* Layers one by one: against plain loops, and their derivatives against finite differences. The
 * scalar that is differentiated is the sum of the outputs times fixed random numbers. */

#include "app/layer.h"

#include "app/gemm.h"
#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROOM = 4096 };

static struct rng rng;

static int setup(void **state)
{
    (void)state;
    assert_int_equal(app_gemm_setup(NULL), OK);
    rng_init(&rng, 7);
    return 0;
}

static void fill(float *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        x[i] = (float)(rng_unit(&rng) * 2 - 1);
    }
}

static double dot(const float *x, const float *y, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++) {
        sum += (double)x[i] * (double)y[i];
    }
    return sum;
}

static void assert_close(double x, double y, double tolerance)
{
    if (!(fabs(x - y) <= tolerance * (1 + fabs(y)))) {
        fail_msg("%.9g is not within %g of %.9g", x, tolerance, y);
    }
}

/* A convolution, element by element. */
static double convolve(const struct app_layer_conv *c, const float *in, const float *weights,
                       uint32_t y, uint32_t x, uint32_t filter)
{
    double sum = 0;

    for (uint32_t ky = 0; ky < c->kernel; ky++) {
        for (uint32_t kx = 0; kx < c->kernel; kx++) {
            for (uint32_t k = 0; k < c->channels; k++) {
                uint32_t from = ((y + ky) * c->side + x + kx) * c->channels + k;
                uint32_t w = ((ky * c->kernel + kx) * c->channels + k) * c->filters + filter;

                sum += (double)in[from] * (double)weights[w];
            }
        }
    }
    return sum;
}

static const struct app_layer_conv convs[] = {
    {5, 1, 5, 1}, {7, 1, 3, 2}, {6, 3, 3, 4}, {9, 2, 5, 3}, {4, 5, 1, 6},
};

static void test_patches_make_a_convolution(void **state)
{
    static float in[ROOM], patches[ROOM], weights[ROOM], bias[16], out[ROOM];

    (void)state;
    for (uint32_t i = 0; i < sizeof(convs) / sizeof(convs[0]); i++) {
        const struct app_layer_conv *c = &convs[i];
        uint32_t side = app_layer_conv_side(c), points = side * side;
        struct app_layer_dense d = {app_layer_conv_patch(c), c->filters};
        uint32_t size = c->side * c->side * c->channels;

        assert_int_equal(side, c->side - c->kernel + 1);
        fill(in, 3 * size);
        fill(weights, d.inputs * d.outputs);
        fill(bias, d.outputs);
        app_layer_conv_spread(c, 3, in, patches);
        app_layer_dense_forward(&d, 3 * points, patches, weights, bias, out);
        for (uint32_t at = 0; at < 3 * points * c->filters; at++) {
            uint32_t point = at / c->filters % points, filter = at % c->filters;
            const float *image = in + at / c->filters / points * size;
            double expected = (double)bias[filter] +
                              convolve(c, image, weights, point / side, point % side, filter);

            assert_close((double)out[at], expected, 1e-5);
        }
    }
}

static void test_gathering_is_spreading_backward(void **state)
{
    static float in[ROOM], patches[ROOM], patches_d[ROOM], in_d[ROOM];

    (void)state;
    for (uint32_t i = 0; i < sizeof(convs) / sizeof(convs[0]); i++) {
        const struct app_layer_conv *c = &convs[i];
        uint32_t side = app_layer_conv_side(c);
        uint32_t size = 2 * c->side * c->side * c->channels;
        uint32_t elements = 2 * side * side * app_layer_conv_patch(c);

        fill(in, size);
        fill(patches_d, elements);
        fill(in_d, size); /* What is there does not matter. */
        app_layer_conv_spread(c, 2, in, patches);
        app_layer_conv_gather(c, 2, patches_d, in_d);
        /* One is the transpose of the other: <A x, y> = <x, A' y>. */
        assert_close(dot(patches, patches_d, elements), dot(in, in_d, size), 1e-5);
    }
}

static double dense_scalar(const struct app_layer_dense *d, uint32_t count, const float *in,
                           const float *weights, const float *bias, const float *factors)
{
    double sum = 0;

    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < d->outputs; j++) {
            double out = (double)bias[j];

            for (uint32_t k = 0; k < d->inputs; k++) {
                out += (double)in[i * d->inputs + k] * (double)weights[k * d->outputs + j];
            }
            sum += out * (double)factors[i * d->outputs + j];
        }
    }
    return sum;
}

/* Compare the derivative by each element of @x with a difference. */
static void differences(float *x, const float *x_d, uint32_t count, double *scalar(void))
{
    for (uint32_t i = 0; i < count; i++) {
        float old = x[i];
        double up, down;

        x[i] = old + 0.0625f;
        up = *scalar();
        x[i] = old - 0.0625f;
        down = *scalar();
        assert_close((double)x_d[i], (up - down) / ((double)(old + 0.0625f) - (double)x[i]), 1e-4);
        x[i] = old;
    }
}

static const struct app_layer_dense dense = {5, 3};
static float dense_in[4 * 5], dense_weights[5 * 3], dense_bias[3], dense_factors[4 * 3];

static double *dense_scalar_now(void)
{
    static double value;

    value = dense_scalar(&dense, 4, dense_in, dense_weights, dense_bias, dense_factors);
    return &value;
}

static void test_derivatives_of_a_dense_layer(void **state)
{
    float in_d[4 * 5], weights_d[5 * 3] = {0}, bias_d[3] = {0}, out[4 * 3];

    (void)state;
    fill(dense_in, 4 * 5);
    fill(dense_weights, 5 * 3);
    fill(dense_bias, 3);
    fill(dense_factors, 4 * 3);
    app_layer_dense_forward(&dense, 4, dense_in, dense_weights, dense_bias, out);
    assert_close(dot(out, dense_factors, 4 * 3), *dense_scalar_now(), 1e-6);
    app_layer_dense_backward(&dense, 4, dense_in, dense_weights, dense_factors, weights_d, bias_d,
                             in_d);
    differences(dense_in, in_d, 4 * 5, dense_scalar_now);
    differences(dense_weights, weights_d, 5 * 3, dense_scalar_now);
    differences(dense_bias, bias_d, 3, dense_scalar_now);
}

static void test_gradients_of_slices_add_up(void **state)
{
    float whole_w[5 * 3] = {0}, whole_b[3] = {0}, parts_w[5 * 3] = {0}, parts_b[3] = {0};

    (void)state;
    app_layer_dense_backward(&dense, 4, dense_in, dense_weights, dense_factors, whole_w, whole_b,
                             NULL);
    for (uint32_t i = 0; i < 4; i++) {
        app_layer_dense_backward(&dense, 1, dense_in + 5 * i, dense_weights, dense_factors + 3 * i,
                                 parts_w, parts_b, NULL);
    }
    for (uint32_t i = 0; i < 5 * 3; i++) {
        assert_close((double)parts_w[i], (double)whole_w[i], 1e-6);
    }
    for (uint32_t i = 0; i < 3; i++) {
        assert_close((double)parts_b[i], (double)whole_b[i], 1e-6);
    }
}

/* Where the largest of a square is, the first of equals. */
static uint32_t largest(uint32_t side, uint32_t channels, const float *in, uint32_t y, uint32_t x,
                        uint32_t c)
{
    uint32_t best = (2 * y * side + 2 * x) * channels + c;

    for (uint32_t i = 1; i < 4; i++) {
        uint32_t at = ((2 * y + i / 2) * side + 2 * x + i % 2) * channels + c;

        best = in[at] > in[best] ? at : best;
    }
    return best;
}

static void test_a_pool_takes_the_largest_and_gives_back_to_it(void **state)
{
    static float in[ROOM], out[ROOM], out_d[ROOM], in_d[ROOM], expected[ROOM];

    (void)state;
    for (uint32_t round = 0; round < 40; round++) {
        uint32_t side = 2 * (1 + round % 4), channels = 1 + round % 7, count = 1 + round % 3;
        uint32_t size = side * side * channels;

        memset(expected, 0, sizeof(expected));
        for (uint32_t i = 0; i < count * size; i++) {
            /* Few values, so that there are equals. */
            in[i] = (float)rng_below(&rng, 4) - 2;
        }
        fill(out_d, (size_t)count * size / 4);
        fill(in_d, (size_t)count * size);
        app_layer_pool_forward(side, channels, count, in, out);
        app_layer_pool_backward(side, channels, count, in, out, out_d, in_d);
        for (uint32_t i = 0; i < count * size / 4; i++) {
            uint32_t image = i / (size / 4), point = i % (size / 4) / channels;
            const float *from = in + image * size;
            uint32_t at =
                largest(side, channels, from, point / (side / 2), point % (side / 2), i % channels);

            assert_true(out[i] == from[at]);
            expected[image * size + at] += out_d[i];
        }
        assert_memory_equal(in_d, expected, count * size * sizeof(float));
    }
}

static void test_relu_lets_pass_what_is_above_zero(void **state)
{
    float x[] = {-2, -0.5f, 0, 0.5f, 2}, d[] = {1, 2, 3, 4, 5};
    float passed[] = {0, 0, 0, 0.5f, 2}, passed_d[] = {0, 0, 0, 4, 5};

    (void)state;
    app_layer_relu_forward(x, 5);
    app_layer_relu_backward(x, d, 5);
    assert_memory_equal(x, passed, sizeof(x));
    assert_memory_equal(d, passed_d, sizeof(d));
}

static float softmax_scores[6 * 4];
static const uint8_t softmax_labels[6] = {0, 1, 2, 3, 1, 1};

static double *softmax_now(void)
{
    static double value;

    value = 0;
    for (uint32_t i = 0; i < 6; i++) {
        double sum = 0;

        for (uint32_t c = 0; c < 4; c++) {
            sum += exp((double)softmax_scores[i * 4 + c]);
        }
        value -= log(exp((double)softmax_scores[i * 4 + softmax_labels[i]]) / sum);
    }
    return &value;
}

static void test_softmax_and_its_derivative(void **state)
{
    uint32_t correct = 100, expected = 100;
    float d[6 * 4];
    double loss;

    (void)state;
    fill(softmax_scores, 6 * 4);
    loss = app_layer_softmax(4, 6, softmax_scores, softmax_labels, d, &correct);
    assert_close(loss, *softmax_now(), 1e-12);
    for (uint32_t i = 0; i < 6; i++) {
        const float *row = softmax_scores + i * 4;
        uint32_t best = 0;

        for (uint32_t c = 1; c < 4; c++) {
            best = row[c] > row[best] ? c : best;
        }
        expected += best == softmax_labels[i];
    }
    assert_int_equal(correct, expected);
    for (uint32_t i = 0; i < 6 * 4; i++) {
        float old = softmax_scores[i];
        double up, down;

        softmax_scores[i] = old + 0x1p-10f;
        up = *softmax_now();
        softmax_scores[i] = old - 0x1p-10f;
        down = *softmax_now();
        softmax_scores[i] = old;
        assert_close((double)d[i], (up - down) / 0x1p-9, 1e-4);
    }
}

static void test_softmax_of_large_scores_does_not_overflow(void **state)
{
    const float scores[] = {1000, -1000, 999, 3e38f, -3e38f, 0};
    const uint8_t labels[] = {0, 1};
    uint32_t correct = 0;
    float d[6];
    double loss = app_layer_softmax(3, 2, scores, labels, d, &correct);

    (void)state;
    assert_int_equal(correct, 1);
    assert_true(isfinite(loss) && loss > 5e38);
    for (uint32_t i = 0; i < 6; i++) {
        assert_true(isfinite(d[i]));
    }
}

static void test_a_tie_is_not_a_right_answer(void **state)
{
    const float scores[] = {1, 1, 0, 2, 2, 2};
    const uint8_t labels[] = {0, 2};
    uint32_t correct = 0;

    (void)state;
    (void)app_layer_softmax(3, 2, scores, labels, NULL, &correct);
    assert_int_equal(correct, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patches_make_a_convolution),
        cmocka_unit_test(test_gathering_is_spreading_backward),
        cmocka_unit_test(test_derivatives_of_a_dense_layer),
        cmocka_unit_test(test_gradients_of_slices_add_up),
        cmocka_unit_test(test_a_pool_takes_the_largest_and_gives_back_to_it),
        cmocka_unit_test(test_relu_lets_pass_what_is_above_zero),
        cmocka_unit_test(test_softmax_and_its_derivative),
        cmocka_unit_test(test_softmax_of_large_scores_does_not_overflow),
        cmocka_unit_test(test_a_tie_is_not_a_right_answer),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
