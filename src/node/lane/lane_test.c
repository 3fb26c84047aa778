/* Lanes over real sockets when things go wrong: restarts, updates that cannot count, workers that
 * come late, and memory that must not grow. */

#include "node/testing.h"

#include <math.h>
#include <stdlib.h>

enum { ELEMENTS = 5000, WORKERS = 2 };

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

static uint16_t join_all(struct node_testing_site *t, const struct table_schema *schema)
{
    struct node_op ops[TESTING_WORKERS] = {0};
    uint32_t n = t->site.sync.members_min;
    uint16_t id;

    for (uint32_t i = 0; i < n; i++) {
        node_worker_table(t->workers[i], schema, &ops[i]);
    }
    testing_done(t, ops, n);
    id = (uint16_t)ops[0].value;
    for (uint32_t i = 0; i < n; i++) {
        node_worker_join(t->workers[i], &ops[i]);
    }
    testing_done(t, ops, n);
    return id;
}

/* Push the same number into all elements of a table. */
static void push(struct node_testing_site *t, uint32_t worker, uint16_t id, float number,
                 uint32_t weight)
{
    const struct table_schema *schema = node_worker_schema(t->workers[worker], id);
    uint64_t count = table_elements(schema);
    float *update = calloc(count, sizeof(float));
    struct node_op op = {0};

    assert_non_null(update);
    for (uint64_t i = 0; i < count; i++) {
        update[i] = number;
    }
    node_worker_push(t->workers[worker], id, 0, count, update, weight, &op);
    testing_done(t, &op, 1);
    free(update);
}

static void clock_all(struct node_testing_site *t)
{
    struct node_op ops[TESTING_WORKERS] = {0};
    uint32_t n = t->site.sync.members_min;

    for (uint32_t i = 0; i < n; i++) {
        node_worker_clock(t->workers[i], 1, &ops[i]);
    }
    testing_done(t, ops, n);
}

/* All elements are @expected, as the worker reads them. */
static void assert_read(struct node_testing_site *t, uint32_t worker, uint16_t id, float expected)
{
    uint64_t count = table_elements(node_worker_schema(t->workers[worker], id));
    float *values = calloc(count, sizeof(float));
    struct node_op op = {0};

    assert_non_null(values);
    node_worker_read(t->workers[worker], id, 0, count, values, &op);
    testing_done(t, &op, 1);
    for (uint64_t i = 0; i < count; i++) {
        assert_float_equal(values[i], expected, 0);
    }
    free(values);
}

/* Two workers push one and two in every clock, and the lane dies in between. */
static void train_through_restarts(struct node_testing_site *t)
{
    struct table_schema schema = schema_of("model", 1, ELEMENTS, "add", "sum");
    uint16_t id = join_all(t, &schema);

    for (uint32_t c = 1; c <= 9; c++) {
        push(t, 0, id, 1, 1);
        if (c % 3 == 0) {
            testing_lane_restart(t, 0); /* With one update of the round, perhaps, and not two. */
        }
        push(t, 1, id, 2, 1);
        clock_all(t);
        assert_read(t, c % 2, id, 3 * (float)c);
    }
    assert_int_equal(node_worker_rebases(t->workers[0]), 0);
    assert_int_equal(node_worker_rebases(t->workers[1]), 0);
}

static void test_a_restarted_lane_goes_on_from_its_checkpoint(void **state)
{
    struct node_site site = testing_site_of("bsp", 0, NODE_PULL, 1, WORKERS);
    struct store_memory_config config = {64 * 1024 * 1024, 0};
    struct node_testing_site t;

    (void)state;
    site.checkpoint_every = 2;
    testing_site_init(&t, &site);
    assert_int_equal(store_memory_create(&config, t.loop, &t.store), OK);
    testing_site_start(&t);
    train_through_restarts(&t);
    for (uint32_t i = 0; i < WORKERS; i++) {
        testing_worker_stop(&t, i);
    }
    node_lane_destroy(t.lanes[0]);
    t.lanes[0] = NULL;
    store_destroy(t.store);
    testing_site_close(&t);
}

static void test_a_restarted_lane_gets_its_chunks_back_from_copies(void **state)
{
    struct node_site site = testing_site_of("bsp", 0, NODE_BROADCAST, 1, WORKERS);
    struct node_testing_site t;

    (void)state;
    testing_site_open(&t, &site);
    train_through_restarts(&t);
    testing_site_close(&t);
}

static void test_an_update_that_is_not_finite_is_refused_and_counted(void **state)
{
    struct node_site site = testing_site_of("bsp", 0, NODE_BROADCAST, 1, WORKERS);
    struct table_schema schema = schema_of("model", 1, ELEMENTS, "add", "sum");
    struct node_lane_stats stats;
    struct node_testing_site t;
    uint16_t id;

    (void)state;
    testing_site_open(&t, &site);
    id = join_all(&t, &schema);
    push(&t, 0, id, NAN, 1);
    push(&t, 1, id, 2, 1);
    clock_all(&t);
    assert_read(&t, 0, id, 2);
    push(&t, 0, id, INFINITY, 1);
    push(&t, 1, id, 2, 1);
    clock_all(&t);
    assert_read(&t, 1, id, 4);
    node_lane_stats(t.lanes[0], &stats);
    assert_int_equal(stats.refused, 2);
    assert_int_equal(stats.updates, 2);
    assert_int_equal(node_worker_refused(t.workers[0]), 2);
    assert_int_equal(node_worker_refused(t.workers[1]), 0);
    testing_site_close(&t);
}

static void test_a_table_of_another_shape_is_refused(void **state)
{
    struct node_site site = testing_site_of("bsp", 0, NODE_PULL, 2, WORKERS);
    struct table_schema schema = schema_of("model", 1, ELEMENTS, "add", "sum");
    struct table_schema other = schema_of("model", 2, ELEMENTS, "add", "sum");
    struct node_testing_site t;
    struct node_op op = {0};
    uint16_t id;

    (void)state;
    testing_site_open(&t, &site);
    id = join_all(&t, &schema);
    testing_worker_start(&t, WORKERS);
    node_worker_table(t.workers[WORKERS], &other, &op);
    testing_wait(&t, &op, 1);
    assert_int_equal(op.rc, ERR_EXISTS);
    node_worker_push(t.workers[0], id, 1, ELEMENTS, NULL, 1, &op);
    testing_wait(&t, &op, 1);
    assert_int_equal(op.rc, ERR_INVALID);
    node_worker_read(t.workers[0], (uint16_t)(id + 1), 0, 1, NULL, &op);
    testing_wait(&t, &op, 1);
    assert_int_equal(op.rc, ERR_INVALID);
    testing_site_close(&t);
}

static void test_who_misses_the_deadline_is_left_out_and_comes_back(void **state)
{
    struct node_site site = testing_site_of("bsp", 0, NODE_BROADCAST, 1, WORKERS);
    struct table_schema schema = schema_of("model", 1, ELEMENTS, "add", "sum");
    struct node_testing_site t;
    struct node_op op = {0};
    uint16_t id;

    (void)state;
    site.sync.deadline_ns = 50000000;
    testing_site_open(&t, &site);
    id = join_all(&t, &schema);
    push(&t, 0, id, 1, 1);
    node_worker_clock(t.workers[0], 1, &op);
    testing_done(&t, &op, 1); /* The other one has not said a word: it is given up. */
    assert_read(&t, 0, id, 1);
    while (node_worker_rebases(t.workers[1]) == 0) {
        loop_turn(t.loop, 100000000); /* Until it knows, and is in again. */
    }
    push(&t, 1, id, 100, 1); /* Of a clock that does not count for it. */
    node_worker_clock(t.workers[1], 1, &op);
    testing_done(&t, &op, 1);
    assert_int_equal(op.value, 2);
    assert_int_equal(node_worker_rebases(t.workers[0]), 0);
    assert_read(&t, 1, id, 1);
    testing_site_close(&t);
}

/* What comes out of 2 with weight 1 and 6 with weight 3. */
static float combined(const char *combine, enum node_delivery delivery)
{
    struct node_site site = testing_site_of("bsp", 0, delivery, 1, WORKERS);
    struct table_schema schema = schema_of("model", 1, 1, "add", combine);
    struct node_op op = {0};
    struct node_testing_site t;
    float value = 0;
    uint16_t id;

    testing_site_open(&t, &site);
    id = join_all(&t, &schema);
    push(&t, 0, id, 2, 1);
    push(&t, 1, id, 6, 3);
    clock_all(&t);
    node_worker_read(t.workers[0], id, 0, 1, &value, &op);
    testing_done(&t, &op, 1);
    testing_site_close(&t);
    return value;
}

static void test_updates_are_combined_as_the_table_says(void **state)
{
    (void)state;
    assert_float_equal(combined("sum", NODE_PULL), 8, 0);
    assert_float_equal(combined("sum", NODE_BROADCAST), 8, 0);
    assert_float_equal(combined("mean", NODE_PULL), 4, 0);
    assert_float_equal(combined("mean", NODE_BROADCAST), 4, 0);
    assert_float_equal(combined("samples", NODE_PULL), 5, 0);
    assert_float_equal(combined("samples", NODE_BROADCAST), 5, 0);
}

static void test_rows_are_cached_as_long_as_the_staleness_allows(void **state)
{
    static const uint32_t rows[] = {3, 7, 40};
    struct node_site site = testing_site_of("ssp", 2, NODE_PULL, 2, WORKERS);
    struct table_schema schema = schema_of("rows", 50, 4, "add", "sum");
    struct node_op op = {0};
    struct node_testing_site t;
    float update[12], values[12];
    uint64_t sent[2] = {0}, before = 0, received;
    uint16_t id;

    (void)state;
    for (uint32_t i = 0; i < 12; i++) {
        update[i] = (float)(i + 1);
    }
    testing_site_open(&t, &site);
    id = join_all(&t, &schema);
    for (uint32_t c = 1; c <= 6; c++) {
        for (uint32_t w = 0; w < WORKERS; w++) {
            node_worker_read_rows(t.workers[w], id, rows, 3, values, &op);
            testing_done(&t, &op, 1);
            for (uint32_t i = 0; i < 12; i++) {
                /* Own updates are seen at once, those of others at most two clocks late. */
                assert_true(values[i] >= (float)(c - 1) * update[i]);
                assert_true(values[i] + 2 * update[i] >= 2 * (float)(c - 1) * update[i]);
                assert_true(values[i] <= 2 * (float)c * update[i]);
            }
            assert_int_equal(node_worker_update_rows(t.workers[w], id, rows, 3, update), OK);
        }
        clock_all(&t);
    }
    /* Read again in the same clock: nothing is asked. */
    node_worker_read_rows(t.workers[0], id, rows, 3, values, &op);
    testing_done(&t, &op, 1);
    for (uint32_t l = 0; l < 2; l++) {
        node_worker_traffic(t.workers[0], l, &sent[l], &received);
        before += sent[l];
    }
    node_worker_read_rows(t.workers[0], id, rows, 3, values, &op);
    assert_true(op.done);
    for (uint32_t l = 0; l < 2; l++) {
        node_worker_traffic(t.workers[0], l, &sent[l], &received);
    }
    assert_true(sent[0] + sent[1] == before);
    testing_site_close(&t);
}

static void test_three_streams_keep_updates_and_clocks_in_order(void **state)
{
    static const char *const barriers[] = {"bsp", "ssp", "tap"};

    (void)state;
    for (uint32_t b = 0; b < 6; b++) {
        struct node_site site = testing_site_of(barriers[b % 3], b % 3 == 1 ? 2 : 0,
                                                b < 3 ? NODE_PULL : NODE_BROADCAST, 2, WORKERS);
        struct table_schema schema = schema_of("model", 10, 50000, "add", "sum");
        struct node_op ops[WORKERS] = {0};
        struct node_testing_site t;
        uint16_t id;

        testing_site_init(&t, &site);
        t.streams = 3;
        testing_site_start(&t);
        id = join_all(&t, &schema);
        for (uint32_t c = 1; c <= 4; c++) {
            push(&t, 0, id, 1, 1);
            push(&t, 1, id, 2, 1);
            clock_all(&t);
        }
        for (uint32_t w = 0; w < WORKERS; w++) {
            node_worker_leave(t.workers[w], &ops[w]);
        }
        testing_done(&t, ops, WORKERS);
        testing_worker_start(&t, WORKERS);
        node_worker_table(t.workers[WORKERS], &schema, &ops[0]);
        testing_done(&t, ops, 1);
        node_worker_join(t.workers[WORKERS], &ops[0]);
        testing_done(&t, ops, 1);
        assert_read(&t, WORKERS, id, 12);
        testing_site_close(&t);
    }
}

/* A thousand; under valgrind, where they take minutes, a hundred. */
static uint32_t many_rounds(void)
{
    return getenv("STRAIT_VALGRIND") != NULL ? 100 : 1000;
}

static void test_a_thousand_failed_rounds_cost_no_memory(void **state)
{
    enum { IN_FLIGHT = 8 << 20 };
    uint32_t rounds = many_rounds();
    struct node_site site = testing_site_of("bsp", 0, NODE_BROADCAST, 1, WORKERS);
    struct table_schema schema = schema_of("model", 2, 65536, "add", "sum");
    struct node_lane_stats stats;
    struct node_testing_site t;
    uint64_t limit;
    uint16_t id;

    (void)state;
    testing_site_init(&t, &site);
    t.in_flight_bytes = IN_FLIGHT;
    testing_site_start(&t);
    id = join_all(&t, &schema);
    for (uint32_t c = 1; c <= rounds; c++) {
        push(&t, 0, id, c % 2 == 0 ? NAN : 1, 1);
        if (c % 4 == 0) {
            push(&t, 1, id, INFINITY, 1);
        }
        clock_all(&t);
        node_lane_stats(t.lanes[0], &stats);
        limit = stats.table_bytes * 22 / 10 + IN_FLIGHT;
        assert_true(stats.pool_bytes + stats.table_bytes <= limit);
        assert_int_equal(stats.held_frames, 0);
    }
    assert_int_equal(stats.refused, 2 * (rounds / 2 + rounds / 4));
    assert_read(&t, 1, id, (float)(rounds / 2));
    testing_site_close(&t);
}

static void assert_read_at_least(struct node_testing_site *t, uint32_t worker, uint16_t id,
                                 float least)
{
    struct node_op op = {0};
    float one;

    node_worker_read(t->workers[worker], id, 0, 1, &one, &op);
    testing_done(t, &op, 1);
    assert_true(one >= least);
}

/* One worker runs ahead as far as it may, the other comes late with every round and reads seldom.
 */
static void run_slow_rounds(const char *barrier, uint64_t staleness, enum node_delivery delivery)
{
    enum { IN_FLIGHT = 16 << 20, AHEAD = 3 };
    struct node_site site = testing_site_of(barrier, staleness, delivery, 1, WORKERS);
    struct table_schema schema = schema_of("model", 2, 65536, "add", "sum");
    struct node_lane_stats stats;
    struct node_testing_site t;
    uint32_t ahead = staleness > 0 ? AHEAD : 1, rounds = many_rounds();
    float stale = site.sync.policy == &sync_tap ? (float)rounds : (float)staleness;
    uint16_t id;

    testing_site_init(&t, &site);
    t.in_flight_bytes = IN_FLIGHT;
    testing_site_start(&t);
    id = join_all(&t, &schema);
    for (uint32_t c = 0; c < rounds + ahead; c++) {
        for (uint32_t i = 0; i < WORKERS; i++) {
            struct node_op op = {0};

            if (i == 0 ? c < rounds : c >= ahead) {
                push(&t, i, id, 1, 1);
                node_worker_clock(t.workers[i], 1, &op);
                testing_done(&t, &op, 1);
            }
        }
        node_lane_stats(t.lanes[0], &stats);
        assert_true(stats.pool_bytes + stats.table_bytes <=
                    stats.table_bytes * 22 / 10 + IN_FLIGHT);
        if (c % 100 == 99 && c < rounds) {
            assert_read_at_least(&t, 1, id, 2 * ((float)(c - ahead) - stale));
        }
    }
    assert_int_equal(stats.refused, 0);
    assert_read_at_least(&t, 0, id, 2 * ((float)rounds - stale));
    testing_site_close(&t);
}

static void test_a_thousand_slow_rounds_cost_no_memory(void **state)
{
    (void)state;
    run_slow_rounds("ssp", 4, NODE_BROADCAST);
    run_slow_rounds("ssp", 4, NODE_PULL);
    run_slow_rounds("tap", 0, NODE_BROADCAST);
    run_slow_rounds("bsp", 0, NODE_PULL);
}

/* A slow disk: the second one is asked for while the first is being written. */
static void test_a_checkpoint_has_all_that_came_before_it_was_asked_for(void **state)
{
    struct node_site site = testing_site_of("tap", 0, NODE_PULL, 1, 1);
    struct store_memory_config config = {64 * 1024 * 1024, 50 * 1000000};
    struct table_schema schema = schema_of("model", 1, ELEMENTS, "add", "sum");
    struct node_op ops[6] = {0};
    struct node_testing_site t;

    (void)state;
    site.checkpoint_every = 1000;
    testing_site_init(&t, &site);
    assert_int_equal(store_memory_create(&config, t.loop, &t.store), OK);
    testing_site_start(&t);
    push(&t, 0, join_all(&t, &schema), 1, 1);
    for (uint32_t i = 0; i < 6; i++) {
        node_worker_save(t.workers[0], &ops[i]);
    }
    for (uint32_t i = 0; i < 6; i++) {
        testing_wait(&t, &ops[i], 1);
        assert_int_equal(ops[i].rc, i < 4 ? OK : ERR_AGAIN);
        assert_int_equal(ops[i].value, i >= 4 ? 0 : i == 0 ? 1 : 2);
    }
    assert_non_null(strstr(ops[5].text.text, "wait for one of them"));
    testing_worker_stop(&t, 0);
    node_lane_destroy(t.lanes[0]);
    t.lanes[0] = NULL;
    store_destroy(t.store);
    testing_site_close(&t);
}

/* The caller has its array back at once, and the update counts whole. */
static void test_a_push_that_is_let_go_counts_whole(void **state)
{
    struct node_site site = testing_site_of("bsp", 0, NODE_PULL, 2, 1);
    struct table_schema schema = schema_of("model", 40, 65536, "add", "sum");
    float *update = calloc(40 * 65536, sizeof(float));
    struct node_op op = {0};
    struct node_testing_site t;
    uint16_t id;

    (void)state;
    testing_site_open(&t, &site);
    id = join_all(&t, &schema);
    for (uint32_t i = 0; i < 40 * 65536; i++) {
        update[i] = 3;
    }
    node_worker_push(t.workers[0], id, 0, 40 * 65536, update, 1, &op);
    assert_false(op.done);
    node_worker_cancel(t.workers[0], &op);
    assert_true(op.done && op.rc == OK);
    free(update);
    clock_all(&t);
    assert_read(&t, 0, id, 3);
    testing_site_close(&t);
}

static void test_tables_that_cannot_all_be_named_are_refused_and_the_rest_works(void **state)
{
    static const char apply[] = "momentum lr=0.00123456 mu=0.98765432 decay=step every=123456789 "
                                "factor=0.12345678 warmup=123456789";
    struct node_site site = testing_site_of("bsp", 0, NODE_BROADCAST, 2, 1);
    struct table_schema schema;
    struct node_op op = {0};
    struct node_testing_site t;
    uint32_t made = 0;

    (void)state;
    if (getenv("STRAIT_VALGRIND") != NULL) {
        print_message("SKIPPED [lane] hundreds of tables take too long under valgrind\n");
        skip();
    }
    testing_site_open(&t, &site);
    while (op.rc == OK) {
        char name[TABLE_NAME_BYTES] = "";

        memset(name, 'x', sizeof(name) - 1);
        (void)snprintf(name, 4, "%03u", made);
        name[3] = 'x';
        schema = schema_of(name, 1, 1, apply, "samples");
        node_worker_table(t.workers[0], &schema, &op);
        testing_wait(&t, &op, 1);
        made += op.rc == OK;
        assert_true(made < TABLE_COUNT_MAX);
    }
    assert_int_equal(op.rc, ERR_TOO_BIG);
    assert_non_null(strstr(op.text.text, "fewer tables"));
    assert_true(made > TABLE_COUNT_MAX / 2);
    testing_worker_stop(&t, 0); /* Its join names them all; so does the answer to the next. */
    testing_worker_start(&t, 0);
    node_worker_join(t.workers[0], &op);
    testing_done(&t, &op, 1);
    testing_site_close(&t);
}

/* The other worker does nothing: whoever waits for it must still be able to go. */
static void leave_from_the_barrier(bool rows)
{
    static const uint32_t some[2] = {1, 3};
    struct node_site site = testing_site_of("bsp", 0, NODE_PULL, 2, WORKERS);
    struct table_schema schema = schema_of("model", 5, 1000, "add", "sum");
    struct node_op clock = {0}, read = {0}, leave = {0};
    float out[5000];
    struct node_testing_site t;
    uint16_t id;

    testing_site_open(&t, &site);
    id = join_all(&t, &schema);
    push(&t, 0, id, 1, 1);
    node_worker_clock(t.workers[0], 1, &clock);
    testing_done(&t, &clock, 1);
    if (rows) {
        node_worker_read_rows(t.workers[0], id, some, 2, out, &read);
    } else {
        node_worker_read(t.workers[0], id, 0, 5000, out, &read);
    }
    node_worker_leave(t.workers[0], &leave);
    testing_done(&t, &leave, 1);
    testing_wait(&t, &read, 1);
    assert_int_equal(read.rc, ERR_CANCELLED);
    assert_non_null(strstr(read.text.text, "leaves"));
    node_worker_clock(t.workers[1], 1, &clock);
    testing_done(&t, &clock, 1);
    assert_read(&t, 1, id, 1);
    node_worker_join(t.workers[0], &leave); /* And come back. */
    testing_done(&t, &leave, 1);
    assert_read(&t, 0, id, 1);
    testing_site_close(&t);
}

static void test_leaving_waits_for_no_other_worker(void **state)
{
    (void)state;
    leave_from_the_barrier(false);
    leave_from_the_barrier(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_restarted_lane_goes_on_from_its_checkpoint),
        cmocka_unit_test(test_a_restarted_lane_gets_its_chunks_back_from_copies),
        cmocka_unit_test(test_an_update_that_is_not_finite_is_refused_and_counted),
        cmocka_unit_test(test_a_table_of_another_shape_is_refused),
        cmocka_unit_test(test_who_misses_the_deadline_is_left_out_and_comes_back),
        cmocka_unit_test(test_updates_are_combined_as_the_table_says),
        cmocka_unit_test(test_rows_are_cached_as_long_as_the_staleness_allows),
        cmocka_unit_test(test_three_streams_keep_updates_and_clocks_in_order),
        cmocka_unit_test(test_a_thousand_failed_rounds_cost_no_memory),
        cmocka_unit_test(test_a_thousand_slow_rounds_cost_no_memory),
        cmocka_unit_test(test_a_checkpoint_has_all_that_came_before_it_was_asked_for),
        cmocka_unit_test(test_leaving_waits_for_no_other_worker),
        cmocka_unit_test(test_a_push_that_is_let_go_counts_whole),
        cmocka_unit_test(test_tables_that_cannot_all_be_named_are_refused_and_the_rest_works),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
