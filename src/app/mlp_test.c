/* The perceptron: against the naive network, alone and with others. */

#include "app/image_job_testing.h"
#include "app/jobs.h"

static const struct app_stack_layer layers[] = {
    {APP_STACK_DENSE, 5, 0},
    {APP_STACK_RELU, 0, 0},
    {APP_STACK_DENSE, 10, 0},
};
static const struct app_option sizes[] = {{"hidden", "5", 0}};
static const struct serial_case mlp = {&app_mlp, layers, 3, sizes, 1};

static void test_one_worker_is_the_naive_network(void **state)
{
    (void)state;
    serial_compare(&mlp);
}

static void test_updates_enter_the_table_bit_for_bit(void **state)
{
    (void)state;
    serial_compare_bits(&mlp);
}

static void test_several_workers_are_one(void **state)
{
    (void)state;
    serial_compare_workers(&mlp);
}

static void test_it_learns_more_than_a_linear_model_can(void **state)
{
    const struct app_option options[] = {
        {"train", "2000", 0}, {"eval", "500", 0}, {"batch", "32", 0}, {"hidden", "64", 0}};
    struct app_config config = {.workers = 2, .seed = 1, .option_count = 4, .options = options};
    struct testing_cluster c;
    struct app_score score;

    (void)state;
    if (getenv("STRAIT_VALGRIND") != NULL) {
        print_message("SKIPPED [mlp] learning takes too long under valgrind\n");
        skip();
    }
    testing_open(&c, &app_mlp, &config);
    testing_rounds(&c, 200);
    score = testing_evaluate(&c);
    assert_true(score.tested == 500);
    assert_true(score.correct / score.tested > 0.6);
    testing_close(&c);
}

static void test_every_allocation_may_fail(void **state)
{
    const struct app_option options[] = {{"train", "5", 0}, {"eval", "3", 0}};
    struct app_config config = {.workers = 1, .option_count = 2, .options = options};

    (void)state;
    testing_create_fails_clean(&app_mlp, &config);
    app_mlp.destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_worker_is_the_naive_network),
        cmocka_unit_test(test_updates_enter_the_table_bit_for_bit),
        cmocka_unit_test(test_several_workers_are_one),
        cmocka_unit_test(test_it_learns_more_than_a_linear_model_can),
        cmocka_unit_test(test_every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
