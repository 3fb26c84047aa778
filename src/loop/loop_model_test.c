/* The manual loop against a naive model: thousands of random operations, from outside and from
 * inside callbacks. The model is a table of flags; who comes next is found by searching it. */

#include "base/rng.h"
#include "loop/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { TIMERS = 24, TASKS = 10, TASKS_LATE = 3, STEPS = 6000, SEEDS = 8, TASK_ROUNDS = 16 };

struct model_timer {
    bool active;
    bool due; /* Set apart for this turn. */
    int64_t at_ns;
    uint64_t order;
};

struct model_task {
    bool posted;
    bool round; /* Will run in this round. */
    uint64_t order;
};

static struct {
    struct loop *loop;
    struct rng rng;
    int64_t now_ns;
    uint64_t order;
    int rounds;
    bool advancing;
    uint64_t calls;
    struct loop_timer timers[TIMERS];
    struct loop_task tasks[TASKS];
    struct model_timer model_timers[TIMERS];
    struct model_task model_tasks[TASKS];
} m;

static int model_first_timer(bool due)
{
    int first = -1;

    for (int i = 0; i < TIMERS; i++) {
        const struct model_timer *t = &m.model_timers[i];
        const struct model_timer *f = first < 0 ? NULL : &m.model_timers[first];

        if ((due ? t->due : t->active) &&
            (f == NULL || t->at_ns < f->at_ns || (t->at_ns == f->at_ns && t->order < f->order))) {
            first = i;
        }
    }
    return first;
}

static int model_first_task(void)
{
    int first = -1;

    for (int i = 0; i < TASKS; i++) {
        if (m.model_tasks[i].round &&
            (first < 0 || m.model_tasks[i].order < m.model_tasks[first].order)) {
            first = i;
        }
    }
    return first;
}

/* The last few tasks are late ones. */
static bool model_late(int task)
{
    return task >= TASKS - TASKS_LATE;
}

static bool model_posted(bool late)
{
    for (int i = 0; i < TASKS; i++) {
        if (m.model_tasks[i].posted && model_late(i) == late) {
            return true;
        }
    }
    return false;
}

static bool model_any_posted(void)
{
    return model_posted(false) || model_posted(true);
}

static int64_t model_next_ns(void)
{
    int first = model_first_timer(false);

    if (model_any_posted()) {
        return m.now_ns;
    }
    if (first < 0) {
        return LOOP_NEVER;
    }
    return m.model_timers[first].at_ns < m.now_ns ? m.now_ns : m.model_timers[first].at_ns;
}

static void timer_fired(struct loop_timer *timer, void *user);

static void operate_timer(int i)
{
    struct model_timer *t = &m.model_timers[i];
    int64_t at_ns = m.now_ns + rng_between(&m.rng, -20, 100);

    switch (rng_below(&m.rng, 4)) {
    case 0:
        loop_timer_stop(&m.timers[i]);
        *t = (struct model_timer){0};
        break;
    case 1:
        loop_timer_deinit(&m.timers[i]);
        assert_int_equal(loop_timer_init(&m.timers[i], m.loop, timer_fired, t), OK);
        *t = (struct model_timer){0};
        break;
    case 2:
        loop_timer_start_in(&m.timers[i], at_ns - m.now_ns);
        *t = (struct model_timer){.active = true, .at_ns = at_ns, .order = m.order++};
        break;
    default:
        loop_timer_start(&m.timers[i], at_ns);
        *t = (struct model_timer){.active = true, .at_ns = at_ns, .order = m.order++};
        break;
    }
    assert_int_equal(loop_timer_active(&m.timers[i]), t->active || t->due);
}

static void operate_task(int i)
{
    struct model_task *t = &m.model_tasks[i];

    if (rng_chance(&m.rng, 700000)) {
        loop_task_post(&m.tasks[i]);
        if (!t->posted) {
            *t = (struct model_task){.posted = true, .order = m.order++};
        }
    } else {
        loop_task_cancel(&m.tasks[i]);
        *t = (struct model_task){0};
    }
}

static void operate(uint64_t count)
{
    for (uint64_t n = 0; n < count; n++) {
        if (rng_chance(&m.rng, 600000)) {
            operate_timer((int)rng_below(&m.rng, TIMERS));
        } else {
            operate_task((int)rng_below(&m.rng, TASKS));
        }
    }
}

static void timer_fired(struct loop_timer *timer, void *user)
{
    struct model_timer *t = user;

    assert_true(m.advancing);
    assert_int_equal(timer - m.timers, model_first_timer(true));
    assert_ptr_equal(t, &m.model_timers[timer - m.timers]);
    assert_int_equal(m.rounds, 0);
    t->due = false;
    m.calls++;
    operate(rng_below(&m.rng, 4));
}

static void begin_round(void)
{
    bool late = !model_posted(false) || (m.rounds == TASK_ROUNDS - 1 && model_posted(true));

    m.rounds++;
    assert_true(m.rounds <= TASK_ROUNDS);
    for (int i = 0; i < TASKS; i++) {
        m.model_tasks[i].round = m.model_tasks[i].posted && model_late(i) == late;
    }
}

static void task_run(struct loop_task *task, void *user)
{
    struct model_task *t = user;

    assert_true(m.advancing);
    assert_int_equal(model_first_timer(true), -1);
    if (model_first_task() < 0) {
        begin_round();
    }
    assert_int_equal(task - m.tasks, model_first_task());
    *t = (struct model_task){0};
    m.calls++;
    operate(rng_below(&m.rng, 3));
}

static void advance(void)
{
    m.now_ns += rng_between(&m.rng, 0, 40);
    if (rng_chance(&m.rng, 300000) && loop_manual_next_ns(m.loop) != LOOP_NEVER &&
        loop_manual_next_ns(m.loop) > m.now_ns) {
        m.now_ns = loop_manual_next_ns(m.loop);
    }
    for (int i = 0; i < TIMERS; i++) {
        struct model_timer *t = &m.model_timers[i];

        t->due = t->active && t->at_ns <= m.now_ns;
        t->active = t->active && !t->due;
    }
    m.rounds = 0;
    m.advancing = true;
    loop_manual_advance(m.loop, m.now_ns);
    m.advancing = false;
    assert_int_equal(model_first_timer(true), -1);
    assert_int_equal(model_first_task(), -1);
    assert_true(!model_any_posted() || m.rounds == TASK_ROUNDS);
    assert_int_equal(loop_now_ns(m.loop), m.now_ns);
}

static void model_begin(uint64_t seed)
{
    memset(&m, 0, sizeof(m));
    rng_init(&m.rng, seed);
    m.now_ns = 1000;
    assert_int_equal(loop_create_manual(m.now_ns, &m.loop), OK);
    for (int i = 0; i < TIMERS; i++) {
        assert_int_equal(loop_timer_init(&m.timers[i], m.loop, timer_fired, &m.model_timers[i]),
                         OK);
    }
    for (int i = 0; i < TASKS; i++) {
        if (model_late(i)) {
            loop_task_init_late(&m.tasks[i], m.loop, task_run, &m.model_tasks[i]);
        } else {
            loop_task_init(&m.tasks[i], m.loop, task_run, &m.model_tasks[i]);
        }
    }
}

static void test_random_operations_agree_with_the_model(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        model_begin(seed);
        for (int step = 0; step < STEPS; step++) {
            if (rng_chance(&m.rng, 300000)) {
                advance();
            } else {
                operate(1);
            }
            assert_true(loop_manual_next_ns(m.loop) == model_next_ns());
        }
        assert_true(m.calls > STEPS / 10);
        for (int i = 0; i < TIMERS; i++) {
            loop_timer_deinit(&m.timers[i]);
        }
        loop_destroy(m.loop);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_operations_agree_with_the_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
