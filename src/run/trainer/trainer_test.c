/* The machine alone: a job that only counts, over lanes on loopback. Whole jobs are in sim_test.c.
 */

#include "run/trainer/trainer.h"

#include "node/testing.h"
#include "store/memory.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROWS = 6, WIDTH = 3 };

/* A job that adds one to everything, and can be told to fail. */
struct counting {
    struct app app;
    enum err tables_differ;
    bool step_fails;
    bool evaluate_fails;
    bool diverges;
    bool grows; /* A row more in each clock. */
    uint32_t row_list[ROWS];
    uint32_t row_count; /* Zero: it has no data. */
    uint64_t steps;
    uint64_t evaluations;
    float seen; /* The first element, as step() saw it last. */
};

static uint32_t counting_tables(const struct app *a, struct app_table *out)
{
    const struct counting *c = (const struct counting *)a;

    out[0] = (struct app_table){.name = "dense",
                                .rows = c->tables_differ == OK ? ROWS : ROWS + 1,
                                .width = WIDTH,
                                .access = APP_DENSE,
                                .init = "zeros",
                                .apply = "add",
                                .combine = "sum"};
    out[1] = out[0];
    (void)snprintf(out[1].name, sizeof(out[1].name), "rows");
    out[1].access = APP_ROWS;
    return 2;
}

static enum err counting_rows(struct app *a, uint64_t clock, uint32_t table, const uint32_t **rows,
                              uint32_t *count)
{
    struct counting *c = (struct counting *)a;

    assert_int_equal(table, 1);
    assert_true(clock > 0);
    if (c->grows) {
        c->row_count = (uint32_t)(clock < ROWS ? clock : ROWS);
        for (uint32_t i = 0; i < c->row_count; i++) {
            c->row_list[i] = i;
        }
    }
    *rows = c->row_list;
    *count = c->row_count;
    return OK;
}

static enum err counting_step(struct app *a, struct app_view *views, struct app_step *step)
{
    struct counting *c = (struct counting *)a;

    c->steps++;
    c->seen = views[0].values[0];
    assert_null(views[0].rows);
    assert_int_equal(views[0].row_count, ROWS);
    assert_int_equal(views[1].row_count, c->row_count);
    for (uint32_t i = 0; i < ROWS * WIDTH; i++) {
        assert_true(views[0].update[i] == 0);
        views[0].update[i] = 1;
    }
    for (uint32_t i = 0; i < c->row_count * WIDTH; i++) {
        assert_true(views[1].update[i] == 0);
        views[1].update[i] = 1;
    }
    step->samples = 2;
    step->loss_sum = c->diverges ? (double)NAN : 4;
    step->flops = 100;
    step->seconds = 0.5;
    return c->step_fails ? ERR_INVALID : OK;
}

static enum err counting_evaluate(struct app *a, const struct app_view *views,
                                  struct app_score *score)
{
    struct counting *c = (struct counting *)a;

    c->evaluations++;
    *score = (struct app_score){.objective_sum = c->diverges ? (double)INFINITY
                                                             : (double)views[0].values[0] +
                                                                   (double)views[1].values[0],
                                .count = 1};
    return c->evaluate_fails ? ERR_NOMEM : OK;
}

/* What it keeps of its own: how many steps it has made. */
static uint64_t counting_size(const struct app *a)
{
    return sizeof(((const struct counting *)a)->steps);
}

static uint64_t counting_about(const struct app *a)
{
    (void)a;
    return 5;
}

static void counting_save(const struct app *a, uint64_t offset, uint8_t *out, size_t size)
{
    memcpy(out, (const uint8_t *)&((const struct counting *)a)->steps + offset, size);
}

static enum err counting_load(struct app *a, uint64_t offset, const uint8_t *bytes, size_t size)
{
    memcpy((uint8_t *)&((struct counting *)a)->steps + offset, bytes, size);
    return OK;
}

static const struct app_state_ops counting_state = {
    .exact = true,
    .size = counting_size,
    .about = counting_about,
    .save = counting_save,
    .load = counting_load,
};

static const struct app_ops counting_ops = {
    .name = "counting",
    .objective = "count",
    .tables = counting_tables,
    .rows = counting_rows,
    .step = counting_step,
    .evaluate = counting_evaluate,
    .state = &counting_state,
};

/* One worker and its trainer. */
struct bench {
    struct node_testing_site site;
    struct counting job;
    struct run_trainer *trainer;
    char dir[32]; /* Of its state; empty: it is not kept. */
    struct run_state *state;
    uint32_t state_every;
    char notice[ERR_TEXT_BYTES]; /* The last. */
    uint32_t notices;
    uint32_t joined;
    uint32_t due;
    uint32_t clocks;
    uint32_t evaluated;
    uint32_t ended;
    struct run_clock last;
    struct run_evaluation judged;
};

static void bench_joined(struct run_trainer *t, uint64_t clock, void *user)
{
    struct bench *b = user;

    (void)t;
    b->joined++;
    assert_true(clock == 1 || b->dir[0] != '\0');
}

static void bench_due(struct run_trainer *t, void *user)
{
    struct bench *b = user;

    assert_true(run_trainer_is_due(t));
    b->due++;
}

static void bench_clock(struct run_trainer *t, const struct run_clock *c, void *user)
{
    struct bench *b = user;

    (void)t;
    b->clocks++;
    b->last = *c;
}

static void bench_evaluated(struct run_trainer *t, const struct run_evaluation *e, void *user)
{
    struct bench *b = user;
    uint32_t count = 0;
    const struct app_view *views = run_trainer_tables(t, &count);

    b->evaluated++;
    b->judged = *e;
    assert_int_equal(count, 2);
    assert_non_null(views);
    assert_string_equal(run_trainer_schema(t, 1)->name, "rows");
}

static void bench_notice(struct run_trainer *t, const char *text, void *user)
{
    struct bench *b = user;

    (void)t;
    b->notices++;
    (void)snprintf(b->notice, sizeof(b->notice), "%s", text);
}

static void bench_ended(struct run_trainer *t, void *user)
{
    (void)t;
    ((struct bench *)user)->ended++;
}

static const struct run_trainer_events bench_events = {
    .joined = bench_joined,
    .due = bench_due,
    .clock = bench_clock,
    .evaluated = bench_evaluated,
    .notice = bench_notice,
    .ended = bench_ended,
};

static void bench_open(struct bench *b, enum node_delivery delivery)
{
    struct node_site site = testing_site_of("bsp", 0, delivery, 2, 1);

    *b = (struct bench){.job = {.app = {.ops = &counting_ops}, .row_list = {1, 4}, .row_count = 2}};
    testing_site_open(&b->site, &site);
}

static void bench_start(struct bench *b, uint64_t clocks, uint32_t evaluate_every)
{
    struct run_trainer_config config = {
        .loop = b->site.loop,
        .node = b->site.workers[0],
        .app = &b->job.app,
        .state = b->state,
        .state_every = b->state_every,
        .clocks = clocks,
        .evaluate_every = evaluate_every,
        .events = &bench_events,
        .user = b,
    };
    struct err_text text = {""};

    if (run_trainer_create(&config, &b->trainer, &text) != OK) {
        fail_msg("%s", text.text);
    }
}

static void bench_close(struct bench *b)
{
    run_trainer_destroy(b->trainer);
    run_state_destroy(b->state);
    testing_site_close(&b->site);
}

/* With a folder for the state, and one lane: there an update is counted whole or not at all. */
static void bench_open_keeping(struct bench *b, enum node_delivery delivery)
{
    struct node_site site = testing_site_of("bsp", 0, delivery, 1, 1);

    *b =
        (struct bench){.job = {.app = {.ops = &counting_ops}}, .dir = "/tmp/strait-trainer-XXXXXX"};
    testing_site_open(&b->site, &site);
    assert_non_null(mkdtemp(b->dir));
}

/* A new life of the job. */
static void bench_keep(struct bench *b)
{
    struct run_state_config config = {
        .loop = b->site.loop, .place = b->dir, .app = &b->job.app, .workers = 1};
    struct err_text text = {""};

    b->job.steps = 0;
    assert_int_equal(store_dir_create(b->dir, b->site.loop, &config.store, &text), OK);
    if (run_state_create(&config, &b->state, &text) != OK) {
        fail_msg("%s", text.text);
    }
}

static void bench_close_keeping(struct bench *b)
{
    char path[64];

    bench_close(b);
    (void)snprintf(path, sizeof(path), "%s/worker-0-a", b->dir);
    (void)unlink(path);
    (void)snprintf(path, sizeof(path), "%s/worker-0-b", b->dir);
    (void)unlink(path);
    assert_int_equal(rmdir(b->dir), 0);
}

/* As kill -9 does it. */
static void bench_kill(struct bench *b)
{
    run_trainer_destroy(b->trainer);
    run_state_destroy(b->state);
    b->trainer = NULL;
    b->state = NULL;
    testing_worker_stop(&b->site, 0);
    testing_worker_start(&b->site, 0);
}

/* Drive until it is our turn or over. */
static void bench_wait(struct bench *b)
{
    int64_t until = loop_now_ns(b->site.loop) + (int64_t)TESTING_WAIT_S * 1000000000;

    while (!*run_trainer_attention(b->trainer)) {
        assert_true(loop_now_ns(b->site.loop) < until);
        loop_turn(b->site.loop, 100000000);
    }
}

/* Our turn: compute. */
static void bench_compute(struct bench *b)
{
    double flops = -1, seconds = -1;

    run_trainer_compute(b->trainer, &flops, &seconds);
    assert_true(flops == 0 || (flops == 100 && seconds == 0.5));
    run_trainer_computed(b->trainer);
}

static enum err bench_run(struct bench *b, struct err_text *text)
{
    enum err rc = OK;

    bench_wait(b);
    while (!run_trainer_result(b->trainer, &rc, text)) {
        bench_compute(b);
        bench_wait(b);
    }
    assert_int_equal(b->ended, 1);
    assert_string_equal(run_trainer_state(b->trainer), "done");
    return rc;
}

static void test_it_reads_computes_sends_and_judges(void **state)
{
    (void)state;
    for (int delivery = NODE_PULL; delivery <= NODE_BROADCAST; delivery++) {
        struct err_text text = {""};
        struct bench b;

        bench_open(&b, (enum node_delivery)delivery);
        bench_start(&b, 7, 3);
        assert_int_equal(run_trainer_clock(b.trainer), 0);
        assert_int_equal(bench_run(&b, &text), OK);
        assert_int_equal(b.joined, 1);
        assert_int_equal(b.clocks, 7);
        assert_int_equal(b.job.steps, 7);
        assert_true(b.job.seen == 6);     /* What the six clocks before had added. */
        assert_int_equal(b.evaluated, 3); /* 3, 6, and the last one. */
        assert_int_equal(b.judged.clock, 7);
        assert_true(b.judged.score.objective_sum == 7 + 0);
        assert_int_equal(b.last.clock, 7);
        assert_int_equal(b.last.next, 8);
        assert_int_equal(b.last.samples, 2);
        assert_true(b.last.loss_sum == 4);
        assert_false(b.last.rebased);
        assert_int_equal(b.due, 10);
        bench_close(&b);
    }
}

/* Each clock adds one to each element: in clock 25 that is 4 % of what it becomes. */
static void test_changes_are_counted_by_their_size(void **state)
{
    struct err_text text = {""};
    struct bench b;

    (void)state;
    bench_open(&b, NODE_PULL);
    bench_start(&b, 25, 0);
    assert_int_equal(bench_run(&b, &text), OK);
    assert_int_equal(b.last.clock, 25);
    assert_int_equal(b.last.elements, (ROWS + b.job.row_count) * WIDTH);
    for (uint32_t i = 0; i < RUN_PARTS; i++) {
        assert_int_equal(b.last.large[i], i < 3 ? b.last.elements : 0);
    }
    bench_close(&b);
}

static void test_without_data_it_takes_part(void **state)
{
    struct err_text text = {""};
    struct bench b;

    (void)state;
    bench_open(&b, NODE_PULL);
    b.job.row_count = 0;
    bench_start(&b, 3, 0);
    assert_int_equal(bench_run(&b, &text), OK);
    assert_int_equal(b.clocks, 3);
    assert_int_equal(b.evaluated, 0);
    bench_close(&b);
}

/* Rows may be more from clock to clock: the room for them grows. */
static void test_rows_may_become_more(void **state)
{
    struct err_text text = {""};
    struct bench b;

    (void)state;
    bench_open(&b, NODE_BROADCAST);
    b.job.grows = true;
    bench_start(&b, ROWS, 1);
    assert_int_equal(bench_run(&b, &text), OK);
    assert_int_equal(b.clocks, ROWS);
    assert_int_equal(b.job.row_count, ROWS);
    assert_true(b.judged.score.objective_sum == 2 * ROWS); /* Row 0 in every clock. */
    bench_close(&b);
}

static void test_a_job_that_has_diverged_is_trained_on(void **state)
{
    struct err_text text = {""};
    struct bench b;

    (void)state;
    bench_open(&b, NODE_PULL);
    b.job.diverges = true;
    bench_start(&b, 4, 2);
    assert_int_equal(bench_run(&b, &text), OK);
    assert_int_equal(b.clocks, 4);
    assert_true(isnan(b.last.loss_sum));
    bench_close(&b);
}

static void test_a_step_that_fails_is_the_end(void **state)
{
    struct err_text text = {""};
    struct bench b;

    (void)state;
    bench_open(&b, NODE_PULL);
    b.job.step_fails = true;
    bench_start(&b, 4, 2);
    assert_int_equal(bench_run(&b, &text), ERR_INVALID);
    assert_string_equal(text.text, "the job could not compute a step");
    bench_close(&b);
}

static void test_an_evaluation_that_fails_is_the_end(void **state)
{
    struct err_text text = {""};
    struct bench b;

    (void)state;
    bench_open(&b, NODE_PULL);
    b.job.evaluate_fails = true;
    bench_start(&b, 4, 2);
    assert_int_equal(bench_run(&b, &text), ERR_NOMEM);
    assert_string_equal(text.text, "the job could not judge the model");
    assert_int_equal(b.clocks, 2);
    bench_close(&b);
}

static void test_a_table_of_another_shape_is_the_end(void **state)
{
    struct err_text text = {""};
    struct bench b;

    (void)state;
    bench_open(&b, NODE_PULL);
    bench_start(&b, 1, 0);
    assert_int_equal(bench_run(&b, &text), OK);
    run_trainer_destroy(b.trainer);
    testing_worker_stop(&b.site, 0);
    testing_worker_start(&b.site, 0);
    b.job.tables_differ = ERR_EXISTS;
    b.ended = 0;
    bench_start(&b, 1, 0);
    assert_int_equal(bench_run(&b, &text), ERR_EXISTS);
    assert_non_null(strstr(text.text, "another shape"));
    bench_close(&b);
}

/* At whatever moment it is told to leave, it does, and nobody waits for it. */
static void test_it_can_be_told_to_leave_at_any_time(void **state)
{
    (void)state;
    for (uint32_t turns = 0; turns < 60; turns++) {
        struct err_text text = {""};
        struct bench b;
        enum err rc = ERR_INVALID;

        bench_open(&b, turns % 2 == 0 ? NODE_PULL : NODE_BROADCAST);
        bench_start(&b, 1000, 2);
        for (uint32_t i = 0; i < turns; i++) {
            loop_turn(b.site.loop, 1000000);
            if (run_trainer_is_due(b.trainer) && i % 3 != 0) {
                bench_compute(&b);
            }
        }
        run_trainer_leave(b.trainer);
        run_trainer_leave(b.trainer); /* Once more changes nothing. */
        rc = bench_run(&b, &text);
        assert_int_equal(rc, OK);
        assert_int_equal(node_worker_clock_now(b.site.workers[0]), 0);
        bench_close(&b);
    }
}

/* The clock of the newest state that is saved. */
static uint64_t saved_clock(const struct bench *b)
{
    uint64_t newest = 0;

    for (char slot = 'a'; slot <= 'b'; slot++) {
        uint8_t bytes[RUN_STATE_HEAD_BYTES];
        struct run_state_head head = {.clock = 0};
        const char *why = "";
        char path[64];
        FILE *file;

        (void)snprintf(path, sizeof(path), "%s/worker-0-%c", b->dir, slot);
        file = fopen(path, "rb");
        if (file != NULL) {
            assert_int_equal(fread(bytes, 1, sizeof(bytes), file), sizeof(bytes));
            assert_int_equal(fclose(file), 0);
            assert_int_equal(run_state_head_decode(bytes, &head, &why), OK);
        }
        newest = head.clock > newest ? head.clock : newest;
    }
    return newest;
}

static void test_the_state_is_saved_before_the_update_goes_out(void **state)
{
    struct err_text text = {""};
    enum err rc = OK;
    struct bench b;

    (void)state;
    for (uint32_t every = 0; every < 4; every++) {
        bench_open_keeping(&b, NODE_PULL);
        bench_keep(&b);
        b.state_every = every;
        bench_start(&b, 9, 0);
        bench_wait(&b);
        while (!run_trainer_result(b.trainer, &rc, &text)) {
            uint64_t done = run_trainer_clock(b.trainer) - 1, step = every == 0 ? 1 : every;

            /* After the first clock, and then every so many. */
            assert_int_equal(saved_clock(&b), done == 0 ? 0 : (done - 1) / step * step + 1);
            bench_compute(&b);
            bench_wait(&b);
        }
        assert_int_equal(rc, OK);
        assert_int_equal(b.notices, 0);
        bench_close_keeping(&b);
    }
}

/* Killed after any number of turns, the next life goes on: in the end the tables hold each step
 * that the job knows of, once. */
static void test_a_life_goes_on_where_the_last_one_was_killed(void **state)
{
    uint32_t went_on = 0;

    (void)state;
    for (uint32_t turns = 0; turns < 80; turns += 3) {
        struct err_text text = {""};
        struct bench b;

        bench_open_keeping(&b, turns % 2 == 0 ? NODE_PULL : NODE_BROADCAST);
        bench_keep(&b);
        bench_start(&b, 1000, 0);
        for (uint32_t i = 0; i < turns; i++) {
            loop_turn(b.site.loop, 1000000);
            if (run_trainer_is_due(b.trainer) && i % 4 != 0) {
                bench_compute(&b);
            }
        }
        bench_kill(&b);
        bench_keep(&b);
        bench_start(&b, 25, 25);
        assert_int_equal(bench_run(&b, &text), OK);
        went_on += strncmp(b.notice, "goes on from the state", 22) == 0;
        assert_int_equal(b.judged.score.objective_sum, b.job.steps);
        bench_close_keeping(&b);
    }
    assert_true(went_on > 5);
}

/* Told to leave, it ends the clock that it has saved: the state is what the tables hold. */
static void test_whoever_leaves_has_sent_what_was_saved(void **state)
{
    (void)state;
    for (uint32_t turns = 0; turns < 60; turns += 3) {
        struct err_text text = {""};
        struct bench b;

        bench_open_keeping(&b, turns % 2 == 0 ? NODE_PULL : NODE_BROADCAST);
        bench_keep(&b);
        bench_start(&b, 1000, 2);
        for (uint32_t i = 0; i < turns; i++) {
            loop_turn(b.site.loop, 1000000);
            if (run_trainer_is_due(b.trainer) && i % 3 != 0) {
                bench_compute(&b);
            }
        }
        run_trainer_leave(b.trainer);
        assert_int_equal(bench_run(&b, &text), OK);
        b.ended = 0;
        bench_kill(&b);
        bench_keep(&b);
        bench_start(&b, 1000, 1);
        bench_wait(&b);
        bench_compute(&b); /* A step, and a judgement. */
        bench_wait(&b);
        bench_compute(&b);
        assert_int_equal(b.judged.score.objective_sum, b.job.steps);
        bench_close_keeping(&b);
    }
}

static void test_a_state_of_another_run_is_told_and_nobody_waits(void **state)
{
    struct err_text text = {""};
    struct bench b;
    char dir[32];

    (void)state;
    bench_open_keeping(&b, NODE_PULL);
    bench_keep(&b);
    bench_start(&b, 5, 0);
    assert_int_equal(bench_run(&b, &text), OK);
    (void)snprintf(dir, sizeof(dir), "%s", b.dir);
    bench_close(&b);
    bench_open_keeping(&b, NODE_PULL);
    assert_int_equal(rmdir(b.dir), 0);
    (void)snprintf(b.dir, sizeof(b.dir), "%s", dir);
    bench_keep(&b);
    bench_start(&b, 5, 0);
    assert_int_equal(bench_run(&b, &text), ERR_INVALID);
    assert_non_null(strstr(text.text, "is of clock 5, and the site is at clock 1"));
    assert_true(run_trainer_is_unfit(b.trainer));
    assert_int_equal(b.clocks, 0);
    assert_int_equal(node_worker_clock_now(b.site.workers[0]), 0); /* It has left. */
    bench_close_keeping(&b);
}

static void test_a_disk_that_fails_is_told_once(void **state)
{
    const struct store_memory_config memory = {64 << 20, 0};
    struct run_state_config config;
    struct err_text text = {""};
    struct bench b;

    (void)state;
    bench_open_keeping(&b, NODE_PULL);
    config = (struct run_state_config){
        .loop = b.site.loop, .place = b.dir, .app = &b.job.app, .workers = 1};
    assert_int_equal(store_memory_create(&memory, b.site.loop, &config.store), OK);
    assert_int_equal(run_state_create(&config, &b.state, &text), OK);
    bench_start(&b, 8, 0);
    for (uint32_t i = 0; i < 7; i++) {
        bench_wait(&b);
        store_memory_fault_at(config.store, STORE_FAULT_SYNC, i >= 2 && i < 5 ? 1 : 0);
        bench_compute(&b);
        assert_int_equal(b.notices, i < 3 ? 0 : i < 6 ? 1 : 2);
    }
    assert_string_equal(b.notice, "the state of this worker is saved again");
    assert_int_equal(bench_run(&b, &text), OK);
    assert_int_equal(b.clocks, 8);
    bench_close_keeping(&b);
}

static void test_it_can_be_destroyed_at_any_time(void **state)
{
    (void)state;
    for (uint32_t turns = 0; turns < 40; turns++) {
        struct bench b;

        bench_open(&b, turns % 2 == 0 ? NODE_PULL : NODE_BROADCAST);
        bench_start(&b, 1000, 2);
        for (uint32_t i = 0; i < turns; i++) {
            loop_turn(b.site.loop, 1000000);
            if (run_trainer_is_due(b.trainer)) {
                bench_compute(&b);
            }
        }
        run_trainer_destroy(b.trainer);
        b.trainer = NULL;
        for (uint32_t i = 0; i < 5; i++) {
            loop_turn(b.site.loop, 1000000); /* Answers that come later find nobody. */
        }
        assert_int_equal(b.ended, 0);
        bench_close(&b);
    }
}

static void test_no_memory_is_told(void **state)
{
    struct bench b;
    struct run_trainer_config config;
    enum err rc = ERR_NOMEM;
    uint64_t k;

    (void)state;
    bench_open(&b, NODE_PULL);
    config = (struct run_trainer_config){.loop = b.site.loop,
                                         .node = b.site.workers[0],
                                         .app = &b.job.app,
                                         .events = &bench_events,
                                         .user = &b};
    for (k = 1; rc == ERR_NOMEM && k < 10; k++) {
        struct err_text text = {""};

        mem_fail_at(k, 1);
        rc = run_trainer_create(&config, &b.trainer, &text);
        mem_fail_at(0, 0);
        assert_true(rc == OK || strcmp(text.text, "no memory to train") == 0);
    }
    assert_int_equal(rc, OK);
    assert_true(k > 2);
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_reads_computes_sends_and_judges),
        cmocka_unit_test(test_changes_are_counted_by_their_size),
        cmocka_unit_test(test_without_data_it_takes_part),
        cmocka_unit_test(test_rows_may_become_more),
        cmocka_unit_test(test_a_job_that_has_diverged_is_trained_on),
        cmocka_unit_test(test_a_step_that_fails_is_the_end),
        cmocka_unit_test(test_an_evaluation_that_fails_is_the_end),
        cmocka_unit_test(test_a_table_of_another_shape_is_the_end),
        cmocka_unit_test(test_it_can_be_told_to_leave_at_any_time),
        cmocka_unit_test(test_the_state_is_saved_before_the_update_goes_out),
        cmocka_unit_test(test_a_life_goes_on_where_the_last_one_was_killed),
        cmocka_unit_test(test_whoever_leaves_has_sent_what_was_saved),
        cmocka_unit_test(test_a_state_of_another_run_is_told_and_nobody_waits),
        cmocka_unit_test(test_a_disk_that_fails_is_told_once),
        cmocka_unit_test(test_it_can_be_destroyed_at_any_time),
        cmocka_unit_test(test_no_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
