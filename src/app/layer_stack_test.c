/* The stack as a whole against the naive network, whose own derivatives are held against finite
 * differences first. */

#include "app/layer_stack.h"

#include "app/gemm.h"
#include "app/layer.h"
#include "app/layer_testing.h"
#include "base/mem.h"
#include "base/rng.h"

enum { SIDE = 12, IMAGES = 7, CLASSES = 4 };

static const struct app_stack_layer deep[] = {
    {APP_STACK_CONV, 3, 3},  {APP_STACK_POOL, 0, 0}, {APP_STACK_RELU, 0, 0},
    {APP_STACK_CONV, 5, 2},  {APP_STACK_RELU, 0, 0}, {APP_STACK_POOL, 0, 0},
    {APP_STACK_DENSE, 6, 0}, {APP_STACK_RELU, 0, 0}, {APP_STACK_DENSE, CLASSES, 0},
};
static const struct app_stack_layer flat[] = {
    {APP_STACK_DENSE, 9, 0},
    {APP_STACK_RELU, 0, 0},
    {APP_STACK_DENSE, CLASSES, 0},
};
static const struct app_stack_layer pooled[] = {
    {APP_STACK_POOL, 0, 0},
    {APP_STACK_DENSE, CLASSES, 0},
};

static const struct {
    const struct app_stack_layer *layers;
    uint32_t count;
} stacks[] = {{deep, 9}, {flat, 3}, {pooled, 2}};

enum { STACKS = sizeof(stacks) / sizeof(stacks[0]) };

static float images[IMAGES * SIDE * SIDE];
static const uint8_t labels[IMAGES] = {0, 1, 2, 3, 3, 2, 0};
static float values[4096];

static int setup(void **state)
{
    struct rng r;

    (void)state;
    assert_int_equal(app_gemm_setup(NULL), OK);
    rng_init(&r, 3);
    for (uint32_t i = 0; i < IMAGES * SIDE * SIDE; i++) {
        images[i] = (float)(rng_unit(&r) * 2 - 1);
    }
    for (uint32_t i = 0; i < 4096; i++) {
        values[i] = (float)(rng_unit(&r) * 3 - 1.5);
    }
    return 0;
}

static struct app_stack *open_stack(uint32_t which, uint32_t slice)
{
    struct app_stack_config config = {SIDE, slice, stacks[which].count, stacks[which].layers};
    struct app_stack *s;

    assert_int_equal(app_stack_create(&config, &s), OK);
    assert_true(app_stack_elements(s) <= 4096);
    return s;
}

static double naive_losses(struct naive *n, bool learn)
{
    double loss = 0;

    if (learn) {
        memset(n->params_d, 0, n->elements * sizeof(double));
    }
    for (uint32_t i = 0; i < IMAGES; i++) {
        loss += naive_image(n, images + i * SIDE * SIDE, labels[i], learn);
    }
    return loss;
}

/* All images through the stack in slices; the update is a mean. */
static double run(struct app_stack *s, uint32_t slice, float *update)
{
    uint32_t correct = 0, count;
    double loss = 0;

    app_stack_load(s, values);
    for (uint32_t i = 0; i < IMAGES; i += count) {
        const float *scores;

        count = IMAGES - i < slice ? IMAGES - i : slice;
        memcpy(app_stack_images(s), images + i * SIDE * SIDE, count * SIDE * SIDE * sizeof(float));
        scores = app_stack_forward(s, count);
        loss +=
            app_layer_softmax(CLASSES, count, scores, labels + i, app_stack_scores_d(s), &correct);
        app_stack_backward(s, count, update);
    }
    app_stack_scale(s, IMAGES, update);
    return loss;
}

static void test_the_naive_network_has_the_right_derivatives(void **state)
{
    const double h = 1e-6;

    (void)state;
    for (uint32_t which = 0; which < STACKS; which++) {
        struct naive n;

        naive_open(&n, SIDE, stacks[which].layers, stacks[which].count);
        naive_load(&n, values);
        (void)naive_losses(&n, true);
        for (uint32_t i = 0; i < n.elements; i++) {
            double old = n.params[i], found = n.params_d[i], up, down;

            n.params[i] = old + h;
            up = naive_losses(&n, false);
            n.params[i] = old - h;
            down = naive_losses(&n, false);
            n.params[i] = old;
            assert_true(fabs((up - down) / (2 * h) - found) < 1e-6 * (1 + fabs(found)));
        }
        naive_close(&n);
    }
}

static void test_loss_and_update_are_those_of_the_naive_network(void **state)
{
    (void)state;
    for (uint32_t which = 0; which < STACKS; which++) {
        struct app_stack *s = open_stack(which, IMAGES);
        static float update[4096];
        double expected[4096], loss;
        struct naive n;

        naive_open(&n, SIDE, stacks[which].layers, stacks[which].count);
        assert_int_equal(app_stack_elements(s), n.elements);
        naive_load(&n, values);
        loss = naive_losses(&n, true);
        naive_update(&n, IMAGES, expected);
        memset(update, 0, sizeof(update));
        assert_true(fabs(run(s, IMAGES, update) - loss) < 1e-5 * loss);
        for (uint32_t i = 0; i < n.elements; i++) {
            assert_true(fabs((double)update[i] - expected[i]) < 1e-5 * (1 + fabs(expected[i])));
        }
        naive_close(&n);
        app_stack_destroy(s);
    }
}

static void test_a_batch_may_come_in_slices(void **state)
{
    (void)state;
    for (uint32_t slice = 1; slice < IMAGES; slice++) {
        struct app_stack *whole = open_stack(0, IMAGES), *sliced = open_stack(0, slice);
        static float expected[4096], update[4096];
        double loss;

        memset(expected, 0, sizeof(expected));
        memset(update, 0, sizeof(update));
        loss = run(whole, IMAGES, expected);
        assert_true(fabs(run(sliced, slice, update) - loss) < 1e-5 * loss);
        for (uint32_t i = 0; i < app_stack_elements(whole); i++) {
            assert_true(fabs((double)(update[i] - expected[i])) <
                        1e-5 * (1 + fabs((double)expected[i])));
        }
        app_stack_destroy(whole);
        app_stack_destroy(sliced);
    }
}

static void test_the_same_calls_give_the_same_bits(void **state)
{
    struct app_stack *a = open_stack(0, 4), *b = open_stack(0, 4);
    static float one[4096], two[4096];

    (void)state;
    (void)run(a, 4, one);
    memset(one, 0, sizeof(one));
    assert_true(run(a, 4, one) == run(b, 4, two));
    assert_memory_equal(one, two, sizeof(one));
    app_stack_destroy(a);
    app_stack_destroy(b);
}

/* One step down the update must be a step of plain SGD on the parameters. */
static void test_a_step_on_the_values_is_one_on_the_parameters(void **state)
{
    struct app_stack *s = open_stack(0, IMAGES);
    static float update[4096], moved[4096];
    const double lr = 0.125;
    struct naive n, after;

    (void)state;
    memset(update, 0, sizeof(update));
    (void)run(s, IMAGES, update);
    naive_open(&n, SIDE, deep, 9);
    naive_open(&after, SIDE, deep, 9);
    naive_load(&n, values);
    (void)naive_losses(&n, true);
    for (uint32_t i = 0; i < n.elements; i++) {
        moved[i] = values[i] - (float)lr * update[i];
    }
    naive_load(&after, moved);
    for (uint32_t i = 0; i < n.elements; i++) {
        double expected = n.params[i] - lr * n.params_d[i] / IMAGES;

        assert_true(fabs(after.params[i] - expected) < 1e-5);
    }
    naive_close(&n);
    naive_close(&after);
    app_stack_destroy(s);
}

static void test_parameters_and_work_are_counted(void **state)
{
    struct app_stack *s = open_stack(0, 1);
    double products = 100 * 9 * 3 + 16 * 12 * 5 + 20 * 6 + 6 * 4;

    (void)state;
    assert_int_equal(app_stack_elements(s), 10 * 3 + 13 * 5 + 21 * 6 + 7 * 4);
    assert_true(app_stack_flops(s) == 3 * 2 * products);
    app_stack_destroy(s);
    app_stack_destroy(NULL);
}

static void test_every_allocation_may_fail(void **state)
{
    struct app_stack_config config = {SIDE, 2, 9, deep};
    struct app_stack *s = NULL;
    enum err rc = ERR_NOMEM;
    uint64_t k;

    (void)state;
    for (k = 1; rc == ERR_NOMEM; k++) {
        mem_fail_at(k, 1);
        rc = app_stack_create(&config, &s);
        mem_fail_at(0, 0);
    }
    assert_int_equal(rc, OK);
    assert_true(k > 10);
    app_stack_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_naive_network_has_the_right_derivatives),
        cmocka_unit_test(test_loss_and_update_are_those_of_the_naive_network),
        cmocka_unit_test(test_a_batch_may_come_in_slices),
        cmocka_unit_test(test_the_same_calls_give_the_same_bits),
        cmocka_unit_test(test_a_step_on_the_values_is_one_on_the_parameters),
        cmocka_unit_test(test_parameters_and_work_are_counted),
        cmocka_unit_test(test_every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
