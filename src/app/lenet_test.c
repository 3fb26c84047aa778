/* LeNet: against the naive network, alone and with others; what it learns; its options. The test
 * with Fashion-MNIST takes about a minute and runs if STRAIT_LONG is set, as in the clang stage. */

#include "app/gemm.h"
#include "app/idx_testing.h"
#include "app/image_job_testing.h"
#include "app/jobs.h"
#include "app/layer.h"

#include <time.h>

static const struct app_stack_layer layers[] = {
    {APP_STACK_CONV, 2, 5},  {APP_STACK_POOL, 0, 0}, {APP_STACK_RELU, 0, 0},
    {APP_STACK_CONV, 3, 5},  {APP_STACK_POOL, 0, 0}, {APP_STACK_RELU, 0, 0},
    {APP_STACK_DENSE, 6, 0}, {APP_STACK_RELU, 0, 0}, {APP_STACK_DENSE, 10, 0},
};
static const struct app_option sizes[] = {{"conv1", "2", 0}, {"conv2", "3", 0}, {"hidden", "6", 0}};
static const struct serial_case lenet = {&app_lenet, layers, 9, sizes, 3};

static void test_one_worker_is_the_naive_network(void **state)
{
    (void)state;
    serial_compare(&lenet);
}

static void test_updates_enter_the_table_bit_for_bit(void **state)
{
    (void)state;
    serial_compare_bits(&lenet);
}

static void test_several_workers_are_one(void **state)
{
    (void)state;
    serial_compare_workers(&lenet);
}

/* What a linear model gets right of the same test images after a longer training. */
static double linear_accuracy(uint32_t train, uint32_t tested, uint32_t clocks)
{
    const struct app_stack_layer dense = {APP_STACK_DENSE, APP_IMAGE_CLASSES, 0};
    struct app_stack_config config = {APP_IMAGE_SIDE, 32, 1, &dense};
    float values[7850] = {0}, update[7850];
    uint8_t pixels[APP_IMAGE_PIXELS], labels[32];
    uint32_t correct = 0;
    struct app_stack *s;

    assert_int_equal(app_gemm_setup(NULL), OK);
    assert_int_equal(app_stack_create(&config, &s), OK);
    assert_int_equal(app_stack_elements(s), 7850);
    for (uint32_t t = 0; t < clocks + tested / 32; t++) {
        uint32_t base = t < clocks ? 0 : APP_IMAGE_COUNT_MAX;
        uint32_t first = t < clocks ? t * 32 % train : (t - clocks) * 32;

        for (uint32_t i = 0; i < 32; i++) {
            app_image_draw(1, base + first + i, pixels, &labels[i]);
            app_image_floats(pixels, app_stack_images(s) + i * APP_IMAGE_PIXELS);
        }
        app_stack_load(s, values);
        memset(update, 0, sizeof(update));
        correct = t == clocks ? 0 : correct;
        (void)app_layer_softmax(APP_IMAGE_CLASSES, 32, app_stack_forward(s, 32), labels,
                                app_stack_scores_d(s), &correct);
        app_stack_backward(s, 32, update);
        app_stack_scale(s, 32, update);
        for (uint32_t i = 0; i < 7850 && t < clocks; i++) {
            values[i] -= 0.01f * update[i];
        }
    }
    app_stack_destroy(s);
    return correct / (double)(tested / 32 * 32);
}

static void test_it_learns_what_a_linear_model_cannot(void **state)
{
    const struct app_option options[] = {
        {"train", "4000", 0}, {"eval", "512", 0}, {"batch", "32", 0},
        {"conv1", "8", 0},    {"conv2", "16", 0}, {"hidden", "32", 0},
    };
    struct app_config config = {.workers = 2, .seed = 1, .option_count = 6, .options = options};
    struct testing_cluster c;
    struct app_score score;
    double linear;

    (void)state;
    if (getenv("STRAIT_VALGRIND") != NULL) {
        print_message("SKIPPED [lenet] learning takes too long under valgrind\n");
        skip();
    }
    testing_open(&c, &app_lenet, &config);
    testing_rounds(&c, 250);
    score = testing_evaluate(&c);
    linear = linear_accuracy(4000, 512, 1000);
    print_message("lenet %.3f, linear %.3f\n", score.correct / score.tested, linear);
    assert_true(score.tested == 512);
    assert_true(score.correct / score.tested > 0.9);
    assert_true(linear < 0.75);
    testing_close(&c);
}

static void test_workers_without_images_do_no_harm(void **state)
{
    const struct app_option options[] = {{"train", "3", 0}, {"eval", "2", 0}, {"batch", "4", 0}};
    struct app_config config = {.workers = 5, .seed = 1, .option_count = 3, .options = options};
    struct testing_cluster c;
    struct app_score score;

    (void)state;
    testing_open(&c, &app_lenet, &config);
    testing_rounds(&c, 5);
    assert_int_equal(c.total.samples, 5);
    score = testing_evaluate(&c);
    assert_true(score.count == 2 && score.tested == 2);
    testing_close(&c);
}

/* The tables of a job with these options. */
static struct app_table table_of(const struct app_option *options, uint32_t count, uint64_t seed)
{
    struct app_config config = {
        .job = "lenet", .workers = 1, .seed = seed, .option_count = count, .options = options};
    struct err_text text = {""};
    struct app_table table;
    struct app *app;

    if (app_lenet.create(&config, &app, &text) != OK) {
        fail_msg("%s", text.text);
    }
    assert_int_equal(app_lenet.tables(app, &table), 1);
    app_lenet.destroy(app);
    return table;
}

static void test_the_table_is_as_the_options_say(void **state)
{
    const struct app_option few[] = {{"train", "1", 0}, {"eval", "1", 0}};
    const struct app_option exp_[] = {
        {"train", "1", 0}, {"lr", "1e-3", 0}, {"decay", "exp", 0}, {"factor", "0.999", 0}};
    const struct app_option sqrt_[] = {
        {"train", "1", 0}, {"decay", "sqrt", 0}, {"mu", "0", 0}, {"warmup", "0", 0}};
    struct app_table table = table_of(few, 2, 7);

    (void)state;
    assert_string_equal(table.name, "model");
    assert_int_equal(table.access, APP_DENSE);
    assert_int_equal(table.rows * table.width, 80202);
    assert_string_equal(table.init, "normal 1 seed=7");
    assert_string_equal(table.combine, "samples");
    assert_string_equal(table.apply,
                        "momentum lr=0.03 mu=0.9 decay=step every=1000 factor=0.4 warmup=100");
    table = table_of(exp_, 4, 0);
    assert_string_equal(table.init, "normal 1");
    assert_string_equal(table.apply, "momentum lr=1e-3 mu=0.9 decay=exp factor=0.999 warmup=100");
    table = table_of(sqrt_, 4, 0);
    assert_string_equal(table.apply, "momentum lr=0.03 mu=0 decay=sqrt warmup=0");
}

static void refused(const char *key, const char *value, const char *data, enum err rc,
                    const char *what)
{
    const struct app_option option = {key, value, 12};
    struct app_config config = {.job = "lenet",
                                .workers = 1,
                                .data = data,
                                .option_count = key != NULL,
                                .options = &option};
    struct err_text text = {""};
    struct app *app;

    assert_int_equal(app_lenet.create(&config, &app, &text), rc);
    if (strstr(text.text, what) == NULL) {
        fail_msg("'%s' does not say '%s'", text.text, what);
    }
}

static void test_wrong_options_and_data_are_refused(void **state)
{
    (void)state;
    refused("batc", "3", NULL, ERR_INVALID, "did you mean 'batch'");
    refused("batch", "0", NULL, ERR_INVALID, "option batch (line 12)");
    refused("conv1", "513", NULL, ERR_INVALID, "from 1 to 512");
    refused("hidden", "0", NULL, ERR_INVALID, "hidden");
    refused("lr", "-1", NULL, ERR_INVALID, "lr");
    refused("mu", "1", NULL, ERR_INVALID, "mu");
    refused("eval", "0", NULL, ERR_INVALID, "eval");
    refused("train", "1000001", NULL, ERR_INVALID, "train");
    refused("decay", "linear", NULL, ERR_INVALID, "'linear' is not none, step, sqrt or exp");
    refused("lr", "0.0000000000000000000000000000000000000000000000000000000000000000001", NULL,
            ERR_INVALID, "lr");
    refused("lr", "0.0300000000000000000000000000000000000000000000000000000000000000000", NULL,
            ERR_INVALID, "too many digits");
    refused(NULL, NULL, "/nowhere/at/all", ERR_NOT_FOUND, "/nowhere/at/all");
}

static void test_every_allocation_may_fail(void **state)
{
    const struct app_option options[] = {{"train", "5", 0}, {"eval", "3", 0}};
    struct app_config config = {.workers = 1, .option_count = 2, .options = options};

    (void)state;
    testing_create_fails_clean(&app_lenet, &config);
    app_lenet.destroy(NULL);
}

static void test_nine_in_ten_of_fashion_mnist(void **state)
{
    const struct app_option options[] = {{"eval", "10000", 0}};
    struct app_config config = {.workers = 1,
                                .seed = 1,
                                .data = IDX_TESTING_FASHION,
                                .option_count = 1,
                                .options = options};
    double accuracy = 0, trained_s = 0;
    struct testing_cluster c;

    (void)state;
    if (getenv("STRAIT_LONG") == NULL) {
        print_message(
            "SKIPPED [lenet] Fashion-MNIST is for STRAIT_LONG=1, as in the clang stage\n");
        skip();
    }
    if (access(IDX_TESTING_FASHION, R_OK) != 0) {
        print_message("SKIPPED [lenet] no " IDX_TESTING_FASHION ": apt install "
                      "dataset-fashion-mnist\n");
        skip();
    }
    testing_open(&c, &app_lenet, &config);
    while (accuracy < 0.9 && c.clock < 6000) {
        clock_t started = clock();
        struct app_score score;

        testing_rounds(&c, 100);
        trained_s += (double)(clock() - started) / CLOCKS_PER_SEC;
        score = testing_evaluate(&c);
        accuracy = score.correct / score.tested;
        print_message("clock %4u: %.4f right, loss %.4f, %.1f s of training\n", (unsigned)c.clock,
                      accuracy, score.objective_sum / score.count, trained_s);
    }
    assert_true(accuracy >= 0.9);
    testing_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_worker_is_the_naive_network),
        cmocka_unit_test(test_updates_enter_the_table_bit_for_bit),
        cmocka_unit_test(test_several_workers_are_one),
        cmocka_unit_test(test_it_learns_what_a_linear_model_cannot),
        cmocka_unit_test(test_workers_without_images_do_no_harm),
        cmocka_unit_test(test_the_table_is_as_the_options_say),
        cmocka_unit_test(test_wrong_options_and_data_are_refused),
        cmocka_unit_test(test_every_allocation_may_fail),
        cmocka_unit_test(test_nine_in_ten_of_fashion_mnist),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
