/* Lanes and workers over real sockets: rounds, deliveries, tables. */

#include "node/testing.h"

#include <stdlib.h>

static struct table_schema schema_of(const char *name, uint64_t rows, uint32_t width,
                                     const char *apply, const char *combine)
{
    struct table_schema_text in = {
        .name = name, .rows = rows, .width = width, .apply = apply, .combine = combine};
    struct table_schema out;
    struct err_text text;

    if (table_schema_parse(&in, &out, &text) != OK) {
        fail_msg("%s", text.text);
    }
    return out;
}

static void join_all(struct node_testing_site *t, const struct table_schema *schema,
                     uint16_t *id_out)
{
    struct node_op ops[TESTING_WORKERS] = {0};
    uint32_t n = t->site.sync.members_min;

    for (uint32_t i = 0; i < n; i++) {
        node_worker_table(t->workers[i], schema, &ops[i]);
    }
    testing_done(t, ops, n);
    *id_out = (uint16_t)ops[0].value;
    for (uint32_t i = 0; i < n; i++) {
        node_worker_join(t->workers[i], &ops[i]);
    }
    testing_done(t, ops, n);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(ops[i].value, 1);
    }
}

/* Nothing has changed, so nobody is sent anything. */
static void nothing_was_sent(const struct node_testing_site *t)
{
    for (uint32_t i = 0; i < t->site.lanes; i++) {
        struct node_lane_stats stats;

        node_lane_stats(t->lanes[i], &stats);
        assert_int_equal(stats.snapshots, 0);
    }
}

/* Every worker pushes whole numbers for some clocks; in the end everybody reads the exact sum. */
static void run_dense(const char *barrier, uint64_t staleness, enum node_delivery delivery,
                      uint32_t lanes, uint32_t workers)
{
    enum { ROWS = 300, WIDTH = 1000, CLOCKS = 6 };
    struct node_site site = testing_site_of(barrier, staleness, delivery, lanes, workers);
    struct table_schema schema = schema_of("model", ROWS, WIDTH, "add", "sum");
    struct node_op ops[TESTING_WORKERS] = {0};
    float *update = calloc(ROWS * WIDTH, sizeof(float));
    float *values = calloc(ROWS * WIDTH, sizeof(float));
    struct node_testing_site t;
    float expected = 0;
    uint16_t id;

    testing_site_open(&t, &site);
    join_all(&t, &schema, &id);
    nothing_was_sent(&t);
    for (uint32_t c = 1; c <= CLOCKS; c++) {
        for (uint32_t w = 0; w < workers; w++) {
            struct node_op op = {0};

            for (uint32_t i = 0; i < ROWS * WIDTH; i++) {
                update[i] = (float)(w + c);
            }
            expected += (float)(w + c);
            node_worker_push(t.workers[w], id, 0, ROWS * WIDTH, update, 1, &op);
            testing_done(&t, &op, 1);
            node_worker_clock(t.workers[w], 1, &ops[w]);
        }
        testing_done(&t, ops, workers);
    }
    for (uint32_t w = 0; w < workers; w++) {
        node_worker_leave(t.workers[w], &ops[w]);
    }
    testing_done(&t, ops, workers);
    testing_worker_start(&t, workers);
    {
        struct node_op op = {0};

        node_worker_table(t.workers[workers], &schema, &op);
        testing_done(&t, &op, 1);
        node_worker_join(t.workers[workers], &op);
        testing_done(&t, &op, 1);
        node_worker_read(t.workers[workers], id, 0, ROWS * WIDTH, values, &op);
        testing_done(&t, &op, 1);
    }
    for (uint32_t i = 0; i < ROWS * WIDTH; i++) {
        assert_float_equal(values[i], expected, 0);
    }
    testing_site_close(&t);
    free(update);
    free(values);
}

static void test_bsp_with_broadcast_counts_every_update(void **state)
{
    (void)state;
    run_dense("bsp", 0, NODE_BROADCAST, 1, 1);
    run_dense("bsp", 0, NODE_BROADCAST, 2, 3);
}

static void test_bsp_with_pull_counts_every_update(void **state)
{
    (void)state;
    run_dense("bsp", 0, NODE_PULL, 1, 2);
    run_dense("bsp", 0, NODE_PULL, 3, 4);
}

static void test_ssp_counts_every_update(void **state)
{
    (void)state;
    run_dense("ssp", 2, NODE_BROADCAST, 2, 3);
    run_dense("ssp", 2, NODE_PULL, 2, 3);
}

static void test_tap_counts_every_update(void **state)
{
    (void)state;
    run_dense("tap", 0, NODE_BROADCAST, 1, 3);
    run_dense("tap", 0, NODE_PULL, 2, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bsp_with_broadcast_counts_every_update),
        cmocka_unit_test(test_bsp_with_pull_counts_every_update),
        cmocka_unit_test(test_ssp_counts_every_update),
        cmocka_unit_test(test_tap_counts_every_update),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
