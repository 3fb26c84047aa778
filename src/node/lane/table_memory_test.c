/* Tables that do not fit, and tables that are dropped: what is refused is refused with a reason and
 * leaves nothing behind on any lane. */

#include "net/pki/pki.h"
#include "node/control.h"
#include "node/testing.h"

#include <stdlib.h>

enum { LANES = 2, CHUNKS = 8, CHUNK = LIMIT_CHUNK_ELEMENTS };

static struct table_schema schema_of(const char *name, uint64_t chunks, const char *apply)
{
    struct table_schema_text in = {.name = name, .rows = chunks, .width = CHUNK, .apply = apply};
    struct table_schema out;

    assert_int_equal(table_schema_parse(&in, &out, NULL), OK);
    return out;
}

static struct node_op make(struct node_testing_site *t, uint32_t worker,
                           const struct table_schema *schema)
{
    struct node_op op = {0};

    node_worker_table(t->workers[worker], schema, &op);
    testing_wait(t, &op, 1);
    return op;
}

static uint64_t needed(const struct node_testing_site *t, uint32_t lane)
{
    struct node_lane_stats stats;

    node_lane_stats(t->lanes[lane], &stats);
    return stats.table_bytes_needed;
}

/* Until a lane has heard that the table is not used. */
static void wait_needed(struct node_testing_site *t, uint32_t lane, uint64_t bytes)
{
    int64_t until = loop_now_ns(t->loop) + (int64_t)TESTING_WAIT_S * 1000000000;

    while (needed(t, lane) != bytes) {
        assert_true(loop_now_ns(t->loop) < until);
        loop_turn(t->loop, 100000000);
    }
}

static void join(struct node_testing_site *t, uint32_t workers)
{
    struct node_op ops[TESTING_WORKERS] = {0};

    for (uint32_t i = 0; i < workers; i++) {
        node_worker_join(t->workers[i], &ops[i]);
    }
    testing_done(t, ops, workers);
}

/* Every worker adds @value to every element of the table, and ends the clock. */
static void train(struct node_testing_site *t, uint16_t id, uint32_t workers, float value)
{
    uint64_t count = table_elements(node_worker_schema(t->workers[0], id));
    float *update = malloc(count * sizeof(float));
    struct node_op ops[TESTING_WORKERS] = {0};

    assert_non_null(update);
    for (uint64_t i = 0; i < count; i++) {
        update[i] = value;
    }
    for (uint32_t i = 0; i < workers; i++) {
        node_worker_push(t->workers[i], id, 0, count, update, 1, &ops[i]);
    }
    testing_done(t, ops, workers);
    for (uint32_t i = 0; i < workers; i++) {
        node_worker_clock(t->workers[i], 1, &ops[i]);
    }
    testing_done(t, ops, workers);
    free(update);
}

static void expect(struct node_testing_site *t, uint32_t worker, uint16_t id, float expected)
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

/* Lane 0 has room and lane 1 has not: the table is made on neither, and a smaller one of that name
 * is as good as any. */
static void refused_and_undone(enum node_delivery delivery, const char *apply, uint32_t planes,
                               float expected)
{
    struct node_site site = testing_site_of("bsp", 0, delivery, LANES, 2);
    struct table_schema large = schema_of("model", CHUNKS, apply);
    struct table_schema small = schema_of("model", CHUNKS / 2, apply);
    struct table_schema other = schema_of("other", CHUNKS / 2, apply);
    uint64_t half = UINT64_C(4) * CHUNK * planes * (CHUNKS / 2) / LANES; /* Of .small, on a lane. */
    struct node_testing_site t;
    struct node_op op;

    testing_site_init(&t, &site);
    t.table_bytes[1] = 2 * half + half / 2;
    testing_site_start(&t);
    op = make(&t, 0, &other); /* What was there before stays. */
    assert_int_equal(op.rc, OK);
    op = make(&t, 0, &large);
    assert_int_equal(op.rc, ERR_TOO_BIG);
    assert_non_null(strstr(op.text.text, "table model needs"));
    assert_non_null(strstr(op.text.text, "on lane 1 of server s1"));
    assert_non_null(strstr(op.text.text, "--table-memory"));
    wait_needed(&t, 0, half);
    wait_needed(&t, 1, half);
    op = make(&t, 1, &small); /* Also by somebody else. */
    assert_int_equal(op.rc, OK);
    op = make(&t, 0, &small);
    assert_int_equal(op.rc, OK);
    join(&t, 2);
    train(&t, (uint16_t)op.value, 2, 1);
    expect(&t, 0, (uint16_t)op.value, expected);
    wait_needed(&t, 0, 2 * half);
    testing_site_close(&t);
}

static void test_a_table_that_one_lane_refuses_is_undone_everywhere(void **state)
{
    (void)state;
    refused_and_undone(NODE_PULL, "add", 2, 2);
    refused_and_undone(NODE_BROADCAST, "add", 2, 2);
    refused_and_undone(NODE_BROADCAST, "momentum lr=1 mu=0.5", 3, -2);
}

/* Two who want it at once and are both refused leave nothing either; somebody who uses a table of
 * that name that does fit keeps it. */
static void test_a_table_that_another_worker_uses_is_not_undone(void **state)
{
    struct node_site site = testing_site_of("bsp", 0, NODE_PULL, LANES, 2);
    struct table_schema large = schema_of("large", CHUNKS, "add");
    struct table_schema small = schema_of("model", CHUNKS / 2, "add");
    uint64_t half = UINT64_C(4) * CHUNK * 2 * (CHUNKS / 2) / LANES;
    struct node_op ops[2] = {{0}};
    struct node_testing_site t;
    uint16_t id;

    (void)state;
    testing_site_init(&t, &site);
    t.table_bytes[1] = half + half / 2;
    testing_site_start(&t);
    for (uint32_t i = 0; i < 2; i++) {
        node_worker_table(t.workers[i], &large, &ops[i]);
    }
    testing_wait(&t, ops, 2);
    assert_int_equal(ops[0].rc, ERR_TOO_BIG);
    assert_int_equal(ops[1].rc, ERR_TOO_BIG);
    wait_needed(&t, 0, 0);
    id = (uint16_t)make(&t, 0, &small).value;
    assert_int_equal(make(&t, 1, &small).rc, OK);
    join(&t, 2);
    train(&t, id, 2, 1);
    assert_int_equal(make(&t, 1, &large).rc, ERR_TOO_BIG);
    train(&t, id, 2, 1);
    expect(&t, 0, id, 4);
    testing_site_close(&t);
}

/* The lane that has no room is the only one: nothing reconnects, and the text has the numbers. */
static void test_a_table_beyond_the_limit_is_an_answer_and_not_a_reconnect(void **state)
{
    struct node_site site = testing_site_of("bsp", 0, NODE_BROADCAST, 1, 1);
    struct table_schema huge = schema_of("model", UINT64_C(1) << 18, "adagrad lr=0.1");
    struct node_testing_site t;
    struct node_op op;

    (void)state;
    testing_site_init(&t, &site);
    t.table_bytes[0] = 1 << 30;
    testing_site_start(&t);
    op = make(&t, 0, &huge);
    assert_int_equal(op.rc, ERR_TOO_BIG);
    assert_non_null(strstr(op.text.text, "needs 206"));      /* GB: values, state and sums. */
    assert_non_null(strstr(op.text.text, "of the 1.07 GB")); /* That tables may take. */
    assert_int_equal(needed(&t, 0), 0);
    testing_site_close(&t);
}

/* More than any machine gives: that too is an answer. */
static void test_a_table_for_which_the_system_has_no_memory_is_refused(void **state)
{
    struct node_site site = testing_site_of("bsp", 0, NODE_PULL, 1, 1);
    struct table_schema huge =
        schema_of("model", TABLE_ELEMENTS_MAX / CHUNK, "momentum lr=0.1 mu=0.5");
    FILE *file = fopen("/proc/sys/vm/overcommit_memory", "r");
    bool gives_all = file == NULL || fgetc(file) == '1';
    struct node_testing_site t;
    struct node_op op;

    (void)state;
    if (file != NULL) {
        (void)fclose(file);
    }
    if (gives_all) {
        skip();
    }
    testing_site_open(&t, &site);
    op = make(&t, 0, &huge);
    assert_int_equal(op.rc, ERR_TOO_BIG);
    assert_non_null(strstr(op.text.text, "needs 825 GB on lane 0"));
    assert_non_null(strstr(op.text.text, "ulimit -v"));
    assert_int_equal(needed(&t, 0), 0);
    huge = schema_of("model", 2, "add");
    assert_int_equal(make(&t, 0, &huge).rc, OK);
    testing_site_close(&t);
}

/* Memory that is short for a moment delays a table and no more, whichever allocation it hits. */
static void test_one_allocation_that_fails_is_tried_again(void **state)
{
    struct node_site site = testing_site_of("bsp", 0, NODE_BROADCAST, 1, 1);
    struct table_schema schema = schema_of("model", 1, "add");

    (void)state;
    for (uint64_t k = 1, failed = 1; failed > 0; k++) {
        struct node_testing_site t;
        struct node_op op = {0};

        testing_site_open(&t, &site);
        node_worker_meet(t.workers[0], &op);
        testing_done(&t, &op, 1);
        failed = mem_failures();
        node_worker_table(t.workers[0], &schema, &op);
        mem_fail_at(k, 1);
        testing_wait(&t, &op, 1);
        mem_fail_at(0, 0);
        failed = mem_failures() - failed;
        if (op.rc != OK) {
            assert_int_equal(op.rc, ERR_NOMEM); /* It could not be asked for. */
            node_worker_table(t.workers[0], &schema, &op);
            testing_done(&t, &op, 1);
        }
        testing_site_close(&t);
    }
}

/* Operators. */

struct operator
{
    struct buf_pool *pool;
    struct obs_registry *registry;
    struct net_endpoint *endpoint;
    struct net_peer *peer;
    bool up, answered, lost;
    enum err rc;
    bool dropped;
    struct err_text text;
};

static void operator_up(struct net_peer *peer, bool restarted, void *user)
{
    struct operator* o = user;

    (void)peer;
    (void)restarted;
    o->up = true;
}

static enum err operator_frame(struct net_peer *peer, const struct net_frame *frame, void *user)
{
    struct operator* o = user;
    uint16_t operation;
    uint32_t call;
    json_t *fields;

    (void)peer;
    assert_int_equal(node_control_read(frame, &operation, &call, &fields), OK);
    o->text.text[0] = '\0';
    o->rc = node_control_error(fields, &o->text);
    o->dropped = json_is_true(json_object_get(fields, "dropped"));
    o->answered = true;
    json_decref(fields);
    return OK;
}

static void operator_lost(struct net_peer *peer, enum err why, const char *text, void *user)
{
    (void)peer;
    (void)why;
    (void)text;
    ((struct operator*)user)->lost = true;
}

static const struct net_endpoint_events operator_events = {
    .up = operator_up, .frame = operator_frame, .lost = operator_lost};

static void operator_open(struct operator* o, struct node_testing_site *t, uint32_t lane)
{
    struct net_endpoint_config config = {.loop = t->loop,
                                         .incarnation = ++t->lives,
                                         .seed = 7,
                                         .insecure = true,
                                         .events = &operator_events,
                                         .user = o};

    *o = (struct operator){0};
    assert_int_equal(buf_pool_create(16 << 20, &o->pool), OK);
    assert_int_equal(obs_registry_create(512, &o->registry), OK);
    config.pool = o->pool;
    config.registry = o->registry;
    assert_int_equal(pki_identity_make(WIRE_ROLE_OPERATOR, "home", "me", &config.identity, NULL),
                     OK);
    assert_int_equal(net_endpoint_create(&config, &o->endpoint), OK);
    assert_int_equal(net_endpoint_dial(o->endpoint, &t->transport.base,
                                       node_lane_address(t->lanes[lane]), 1, &o->peer),
                     OK);
}

static void operator_close(struct operator* o)
{
    net_endpoint_destroy(o->endpoint);
    obs_registry_destroy(o->registry);
    buf_pool_destroy(o->pool);
}

/* Ask a lane to drop @name, again while it says so, and return its answer. */
static enum err drop(struct node_testing_site *t, uint32_t lane, const char *name, bool check,
                     struct operator* o)
{
    int64_t until = loop_now_ns(t->loop) + (int64_t)TESTING_WAIT_S * 1000000000;
    json_t *fields = json_pack("{s:s, s:b}", "name", name, "check", (int)check);

    operator_open(o, t, lane);
    do {
        while (!o->up) {
            loop_turn(t->loop, 100000000);
        }
        o->answered = false;
        assert_int_equal(node_control_send(o->peer, o->pool, NODE_OP_DROP, 1, fields), OK);
        while (!o->answered && !o->lost) {
            assert_true(loop_now_ns(t->loop) < until);
            loop_turn(t->loop, 100000000);
        }
        assert_true(o->answered);
    } while (o->rc == ERR_AGAIN);
    json_decref(fields);
    operator_close(o);
    return o->rc;
}

static void leave(struct node_testing_site *t, uint32_t worker)
{
    struct node_op op = {0};

    node_worker_leave(t->workers[worker], &op);
    testing_done(t, &op, 1);
    testing_worker_stop(t, worker);
}

static void wait_nobody(struct node_testing_site *t)
{
    for (uint32_t i = 0; i < t->site.lanes; i++) {
        while (node_lane_peers(t->lanes[i]) > (i == 0 ? t->site.lanes - 1 : 1)) {
            loop_turn(t->loop, 100000000);
        }
    }
}

static void test_a_table_in_use_is_not_dropped(void **state)
{
    struct node_site site = testing_site_of("bsp", 0, NODE_PULL, 1, 1);
    struct table_schema schema = schema_of("model", 2, "add");
    struct node_testing_site t;
    struct operator o;
    uint16_t id;

    (void)state;
    testing_site_open(&t, &site);
    assert_int_equal(drop(&t, 0, "model", false, &o), OK);
    assert_false(o.dropped); /* There is none. */
    id = (uint16_t)make(&t, 0, &schema).value;
    join(&t, 1);
    train(&t, id, 1, 1);
    assert_int_equal(drop(&t, 0, "model", false, &o), ERR_REFUSED);
    assert_non_null(strstr(o.text.text, "is used by worker w0"));
    train(&t, id, 1, 1);
    expect(&t, 0, id, 2);
    testing_site_close(&t);
}

/* Of three tables the one in the middle goes; the others are as they were, and a table of another
 * shape can take its name. */
static void test_a_dropped_table_gives_back_its_memory_and_its_name(void **state)
{
    struct node_site site = testing_site_of("bsp", 0, NODE_BROADCAST, LANES, 2);
    struct table_schema schemas[3] = {schema_of("first", 3, "add"), schema_of("middle", 5, "add"),
                                      schema_of("last", 4, "momentum lr=1 mu=0")};
    struct table_schema other = schema_of("middle", 2, "add");
    struct node_testing_site t;
    struct operator o;
    uint16_t ids[3], id;

    (void)state;
    testing_site_open(&t, &site);
    for (int i = 0; i < 3; i++) {
        ids[i] = (uint16_t)make(&t, 0, &schemas[i]).value;
    }
    for (uint32_t lane = 0; lane < LANES; lane++) {
        assert_int_equal(drop(&t, lane, "middle", true, &o), ERR_REFUSED);
    }
    testing_worker_stop(&t, 0);
    for (uint32_t lane = 0; lane < LANES; lane++) {
        while (drop(&t, lane, "middle", true, &o) == ERR_REFUSED) { /* Its session has an end. */
        }
        assert_true(o.dropped);
    }
    testing_worker_start(&t, 0);
    for (int i = 0; i < 3; i += 2) {
        assert_int_equal(make(&t, 0, &schemas[i]).value, ids[i]);
        assert_int_equal(make(&t, 1, &schemas[i]).value, ids[i]);
    }
    join(&t, 2);
    train(&t, ids[2], 2, 1);
    for (uint32_t lane = 0; lane < LANES; lane++) {
        assert_int_equal(drop(&t, lane, "middle", false, &o), OK);
        assert_true(o.dropped);
    }
    train(&t, ids[0], 2, 1);
    train(&t, ids[2], 2, 1);
    id = (uint16_t)make(&t, 0, &other).value;
    assert_int_equal(make(&t, 1, &other).value, id);
    train(&t, id, 2, 3);
    expect(&t, 0, ids[0], 2);
    expect(&t, 1, ids[2], -4);
    expect(&t, 1, id, 6);
    testing_site_close(&t);
}

/* A worker that was refused by one lane may die before it has taken the table back on the others;
 * who comes next gets it all the same, of any shape, unless somebody has used it. */
static void test_what_was_left_on_some_lanes_is_in_nobodys_way(void **state)
{
    struct node_site site = testing_site_of("bsp", 0, NODE_BROADCAST, LANES, 2);
    struct table_schema model = schema_of("model", CHUNKS, "add"),
                        wider = schema_of("model", CHUNKS + 2, "add"),
                        other = schema_of("other", CHUNKS, "add"),
                        used = schema_of("used", CHUNKS, "add");
    struct node_testing_site t;
    struct operator o;
    struct node_op op;

    (void)state;
    testing_site_open(&t, &site);
    assert_int_equal(make(&t, 0, &other).rc, OK);
    assert_int_equal(make(&t, 0, &model).rc, OK);
    testing_worker_stop(&t, 0);
    for (int i = 0; i < 2; i++) { /* On lane 1 both stay. */
        while (drop(&t, 0, i == 0 ? "other" : "model", false, &o) == ERR_REFUSED ||
               drop(&t, 1, "model", true, &o) == ERR_REFUSED) {
        }
        assert_true(o.dropped);
    }
    testing_worker_start(&t, 0);
    assert_int_equal(make(&t, 0, &wider).rc, OK); /* It has the number of .other there. */
    assert_int_equal(make(&t, 1, &wider).rc, OK);
    op = make(&t, 0, &used);
    assert_int_equal(op.rc, OK);
    assert_int_equal(make(&t, 1, &used).value, op.value);
    join(&t, 2);
    train(&t, (uint16_t)op.value, 2, 1);
    expect(&t, 1, (uint16_t)op.value, 2);
    leave(&t, 0);
    leave(&t, 1);
    wait_nobody(&t);
    testing_worker_stop(&t, 0);
    testing_worker_stop(&t, 1);
    while (drop(&t, 0, "used", false, &o) == ERR_REFUSED) {
    }
    testing_worker_start(&t, 0);
    used.rows += 2;
    op = make(&t, 0, &used);
    assert_int_equal(op.rc, ERR_EXISTS);
    testing_site_close(&t);
}

/* The drop is answered when a checkpoint without the table is durable, so no restart brings it
 * back; what was in the others is there. */
static void test_a_dropped_table_does_not_come_back_with_a_restart(void **state)
{
    struct node_site site = testing_site_of("bsp", 0, NODE_PULL, 1, 1);
    struct table_schema keep = schema_of("keep", 3, "add"), gone = schema_of("gone", 2, "add");
    struct store_memory_config config = {64 * 1024 * 1024, 0};
    struct node_op op = {0};
    struct node_testing_site t;
    struct operator o;
    uint16_t ids[2];

    (void)state;
    site.checkpoint_every = 1;
    testing_site_init(&t, &site);
    assert_int_equal(store_memory_create(&config, t.loop, &t.store), OK);
    testing_site_start(&t);
    ids[0] = (uint16_t)make(&t, 0, &gone).value;
    ids[1] = (uint16_t)make(&t, 0, &keep).value;
    join(&t, 1);
    train(&t, ids[0], 1, 1);
    train(&t, ids[1], 1, 5);
    node_worker_save(t.workers[0], &op);
    testing_done(&t, &op, 1);
    leave(&t, 0);
    wait_nobody(&t);
    while (drop(&t, 0, "gone", false, &o) == ERR_REFUSED) {
    }
    assert_int_equal(o.rc, OK);
    assert_true(o.dropped);
    testing_lane_restart(&t, 0);
    testing_worker_start(&t, 0);
    node_worker_lookup(t.workers[0], "gone", &op);
    testing_wait(&t, &op, 1);
    assert_int_equal(op.rc, ERR_NOT_FOUND);
    assert_int_equal(make(&t, 0, &keep).value, ids[1]);
    join(&t, 1);
    expect(&t, 0, ids[1], 5);
    testing_worker_stop(&t, 0);
    node_lane_destroy(t.lanes[0]);
    t.lanes[0] = NULL;
    store_destroy(t.store);
    testing_site_close(&t);
}

/* Numbers of tables do not run out when tables are dropped. */
static void test_numbers_of_dropped_tables_are_given_out_again(void **state)
{
    struct node_site site = testing_site_of("bsp", 0, NODE_PULL, 1, 1);
    struct node_testing_site t;
    struct operator o;
    char name[16];

    (void)state;
    testing_site_open(&t, &site);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < TABLE_COUNT_MAX / 2; i++) {
            struct table_schema schema = schema_of("x", (uint64_t)(1 + i % 2), "add");

            (void)snprintf(schema.name, sizeof(schema.name), "t%d", i);
            assert_int_equal(make(&t, 0, &schema).rc, OK);
        }
        testing_worker_stop(&t, 0);
        for (int i = 0; i < TABLE_COUNT_MAX / 2; i++) {
            (void)snprintf(name, sizeof(name), "t%d", i);
            while (drop(&t, 0, name, false, &o) == ERR_REFUSED) {
            }
            assert_true(o.dropped);
        }
        assert_int_equal(needed(&t, 0), 0);
        testing_worker_start(&t, 0);
    }
    testing_site_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_table_that_one_lane_refuses_is_undone_everywhere),
        cmocka_unit_test(test_a_table_that_another_worker_uses_is_not_undone),
        cmocka_unit_test(test_a_table_beyond_the_limit_is_an_answer_and_not_a_reconnect),
        cmocka_unit_test(test_a_table_for_which_the_system_has_no_memory_is_refused),
        cmocka_unit_test(test_one_allocation_that_fails_is_tried_again),
        cmocka_unit_test(test_a_table_in_use_is_not_dropped),
        cmocka_unit_test(test_a_dropped_table_gives_back_its_memory_and_its_name),
        cmocka_unit_test(test_what_was_left_on_some_lanes_is_in_nobodys_way),
        cmocka_unit_test(test_a_dropped_table_does_not_come_back_with_a_restart),
        cmocka_unit_test(test_numbers_of_dropped_tables_are_given_out_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
