/* Copies that a site takes of another one. */

#include "node/testing_duo.h"

#include <jansson.h>

enum { ELEMENTS = 400, ROUNDS = 3, TABLE = 0 };

static struct table_schema model_schema(void)
{
    struct table_schema_text in = {.name = "model", .rows = 4, .width = 100};
    struct table_schema out;

    assert_int_equal(table_schema_parse(&in, &out, NULL), OK);
    return out;
}

/* A worker that has the table and is in. */
static void worker_begin(struct node_testing_site *t, struct duo *d, int i)
{
    struct table_schema schema = model_schema();
    struct node_op ops[2] = {0};

    *t = (struct node_testing_site){.loop = d->loop,
                                    .registry = d->registries[i],
                                    .transport = d->transport,
                                    .lives = 10 * ++d->lives};
    testing_worker_start_at(t, 0, node_lane_address(d->lanes[i]));
    node_worker_table(t->workers[0], &schema, &ops[0]);
    node_worker_join(t->workers[0], &ops[1]);
    testing_done(t, ops, 2);
}

static void worker_round(struct node_testing_site *t)
{
    float values[ELEMENTS];
    struct node_op op = {0};

    for (uint32_t k = 0; k < ELEMENTS; k++) {
        values[k] = 1;
    }
    node_worker_push(t->workers[0], TABLE, 0, ELEMENTS, values, 1, &op);
    testing_done(t, &op, 1);
    op = (struct node_op){0};
    node_worker_clock(t->workers[0], 1, &op);
    testing_done(t, &op, 1);
}

static float worker_read(struct node_testing_site *t)
{
    float values[ELEMENTS];
    struct node_op op = {0};

    node_worker_read(t->workers[0], TABLE, 0, ELEMENTS, values, &op);
    testing_done(t, &op, 1);
    for (uint32_t k = 1; k < ELEMENTS; k++) {
        assert_float_equal(values[k], values[0], 0);
    }
    return values[0];
}

static void duo_turn(struct duo *d, int64_t until_ns)
{
    assert_true(loop_now_ns(d->loop) < until_ns);
    loop_turn(d->loop, 10000000);
}

static bool duo_began(struct duo *d, int i)
{
    json_t *status = node_lane_status(d->lanes[i]);
    bool began = json_is_true(json_object_get(json_object_get(status, "between"), "began"));

    json_decref(status);
    return began;
}

static bool duo_keeps_nothing(struct duo *d, int i)
{
    json_t *status = node_lane_status(d->lanes[i]);
    const json_t *between = json_object_get(status, "between");
    bool nothing = json_integer_value(json_object_get(between, "log_bytes")) == 0;

    json_decref(status);
    return nothing;
}

/* A server that has nothing any more takes its copy before any worker has made the table. */
static void test_a_copy_of_a_table_that_is_not_made_yet_is_kept(void **state)
{
    struct node_testing_site east, west;
    int64_t until_ns;
    struct duo d;

    (void)state;
    duo_init(&d);
    until_ns = loop_now_ns(d.loop) + (int64_t)TESTING_WAIT_S * 1000000000;
    for (int i = 0; i < 2; i++) {
        d.betweens[i].threshold = 0;
        d.betweens[i].mean = false;
        d.betweens[i].staleness = MIRROR_UNBOUNDED;
    }
    duo_open(&d);
    worker_begin(&east, &d, 0);
    worker_begin(&west, &d, 1);
    for (int round = 0; round < ROUNDS; round++) {
        worker_round(&east);
    }
    while (worker_read(&west) != ROUNDS || !duo_keeps_nothing(&d, 0)) {
        duo_turn(&d, until_ns);
    }
    testing_worker_stop(&west, 0);
    node_lane_destroy(d.lanes[1]);
    while (!duo_start(&d, 1)) {
        duo_turn(&d, until_ns);
    }
    while (!duo_began(&d, 1)) {
        duo_turn(&d, until_ns);
    }
    worker_begin(&west, &d, 1);
    assert_float_equal(worker_read(&west), ROUNDS, 0);
    assert_float_equal(worker_read(&east), ROUNDS, 0);
    testing_worker_stop(&east, 0);
    testing_worker_stop(&west, 0);
    duo_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_copy_of_a_table_that_is_not_made_yet_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
