/* Updates that are finite and whose sum is not: the value stays what it was, and that is counted
 * where it happened and told where it can be known. */

#include "node/testing.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

enum { ELEMENTS = 3000, OVER = 7, WORKERS = 2 };

static struct node_site site_of(enum node_delivery delivery, const char *chain)
{
    struct node_site site = testing_site_of("bsp", 0, delivery, 1, WORKERS);

    site.push.on = chain != NULL;
    assert_true(chain == NULL || codec_chain_parse(chain, &site.push.chain, NULL) == OK);
    return site;
}

static uint16_t join(struct node_testing_site *t)
{
    struct table_schema_text in = {.name = "model", .rows = 1, .width = ELEMENTS};
    struct node_op ops[WORKERS] = {{0}};
    struct table_schema schema;
    uint16_t id;

    assert_int_equal(table_schema_parse(&in, &schema, NULL), OK);
    for (uint32_t i = 0; i < WORKERS; i++) {
        node_worker_table(t->workers[i], &schema, &ops[i]);
    }
    testing_done(t, ops, WORKERS);
    id = (uint16_t)ops[0].value;
    for (uint32_t i = 0; i < WORKERS; i++) {
        node_worker_join(t->workers[i], &ops[i]);
    }
    testing_done(t, ops, WORKERS);
    return id;
}

/* Each worker adds @large to the first elements of the table, and @others to the others. */
static void train(struct node_testing_site *t, uint16_t id, float large, float others)
{
    struct node_op ops[WORKERS] = {{0}};
    float update[ELEMENTS];

    for (int i = 0; i < ELEMENTS; i++) {
        update[i] = i < OVER ? large : others;
    }
    for (uint32_t i = 0; i < WORKERS; i++) {
        node_worker_push(t->workers[i], id, 0, ELEMENTS, update, 1, &ops[i]);
    }
    testing_done(t, ops, WORKERS);
    for (uint32_t i = 0; i < WORKERS; i++) {
        node_worker_clock(t->workers[i], 1, &ops[i]);
    }
    testing_done(t, ops, WORKERS);
}

static void expect(struct node_testing_site *t, uint32_t worker, float first, float others)
{
    struct node_op op = {0};
    float values[ELEMENTS];

    node_worker_read(t->workers[worker], 0, 0, ELEMENTS, values, &op);
    testing_done(t, &op, 1);
    for (int i = 0; i < ELEMENTS; i++) {
        assert_float_equal(values[i], i < OVER ? first : others, 0);
    }
    assert_memory_equal(values, node_lane_values(t->lanes[0], 0, 0), sizeof(values));
}

static uint64_t counted(struct node_testing_site *t, enum node_place_of_sum place)
{
    struct node_lane_stats stats;

    node_lane_stats(t->lanes[0], &stats);
    return stats.nonfinite[place];
}

static int64_t status_of(struct node_testing_site *t, const char *place)
{
    json_t *status = (json_t *)node_lane_status(t->lanes[0]);
    int64_t count =
        json_integer_value(json_object_get(json_object_get(status, "nonfinite_elements"), place));

    json_decref(status);
    return count;
}

static void overflow(enum node_delivery delivery, uint64_t told)
{
    struct node_site site = site_of(delivery, NULL);
    struct node_testing_site t;

    testing_site_open(&t, &site);
    train(&t, join(&t), 1e38F, 1);
    expect(&t, 0, 2e38F, 2);
    assert_int_equal(status_of(&t, "values"), 0);
    train(&t, 0, 3e38F, 1); /* The updates of a round overflow by themselves. */
    train(&t, 0, 1e38F, 1); /* Their sum is finite, and the value would not be. */
    expect(&t, 0, 2e38F, 6);
    expect(&t, 1, 2e38F, 6);
    assert_int_equal(counted(&t, NODE_IN_VALUES), 2 * OVER);
    assert_int_equal(status_of(&t, "values"), 2 * OVER);
    assert_int_equal(node_worker_nonfinite(t.workers[0]), told);
    assert_int_equal(node_worker_nonfinite(t.workers[1]), told);
    testing_site_close(&t);
}

static void test_updates_that_overflow_are_counted(void **state)
{
    (void)state;
    overflow(NODE_PULL, 0);
    overflow(NODE_BROADCAST, 2 * OVER); /* Workers apply the same to their copies. */
}

/* A filtered update goes straight into the sum, which keeps what it had: without a count nobody
 * would ever know. */
static void test_filtered_updates_that_overflow_are_counted(void **state)
{
    struct node_site site = site_of(NODE_PULL, "dvf:delta=0.001 | sparse");
    int64_t members = 0;
    struct node_testing_site t;
    json_t *status;

    (void)state;
    testing_site_open(&t, &site);
    train(&t, join(&t), 3e38F, 0);
    expect(&t, 0, 3e38F, 0);
    assert_int_equal(counted(&t, NODE_IN_SUM), OVER);
    assert_int_equal(status_of(&t, "sum"), OVER);
    status = (json_t *)node_lane_status(t.lanes[0]);
    for (size_t i = 0; i < WORKERS; i++) { /* It is known whose update it was. */
        members += json_integer_value(json_object_get(
            json_array_get(json_object_get(status, "members"), i), "nonfinite_elements"));
    }
    json_decref(status);
    assert_int_equal(members, OVER);
    testing_site_close(&t);
}

static void test_places_have_names(void **state)
{
    (void)state;
    assert_string_equal(node_place_of_sum_name(NODE_IN_SUM), "sum");
    assert_string_equal(node_place_of_sum_name(NODE_IN_CENTRAL), "central");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_updates_that_overflow_are_counted),
        cmocka_unit_test(test_filtered_updates_that_overflow_are_counted),
        cmocka_unit_test(test_places_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
