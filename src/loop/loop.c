/* Both backends of the loop. Timers are ours on both: libuv's have a resolution of a millisecond,
 * which is too coarse for pacing; one timer descriptor wakes libuv for the earliest of ours. */

#include "loop/loop.h"

#include "base/mem.h"
#include "loop/clock.h"
#include "loop/state.h"

#include <sys/timerfd.h>
#include <unistd.h>

enum { LOOP_TASK_ROUNDS = 16 };

enum err loop_err(int uv_status)
{
    switch (uv_status) {
    case 0:
        return OK;
    case UV_ENOMEM:
        return ERR_NOMEM;
    case UV_ENOENT:
    case UV_EAI_NONAME:
    case UV_EAI_NODATA:
        return ERR_NOT_FOUND;
    case UV_EINVAL:
    case UV_EEXIST:
        return ERR_INVALID;
    case UV_ECANCELED:
        return ERR_CANCELLED;
    default:
        return ERR_IO;
    }
}

static void loop_alarm_rang(uv_poll_t *handle, int status, int events)
{
    struct loop *loop = handle->data;
    uint64_t count;

    (void)status;
    (void)events;
    loop->alarm_ns = LOOP_NEVER;
    (void)!read(loop->alarm_fd, &count, sizeof(count));
}

static enum err loop_open_alarm(struct loop *loop)
{
    int status;

    loop->alarm_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (loop->alarm_fd < 0) {
        return ERR_IO;
    }
    loop->alarm_ns = LOOP_NEVER;
    status = uv_poll_init(&loop->uv, &loop->alarm, loop->alarm_fd);
    if (status == 0) {
        loop->alarm.data = loop; /* Says also that there is something to close. */
        status = uv_poll_start(&loop->alarm, UV_READABLE, loop_alarm_rang);
    }
    return loop_err(status);
}

static struct loop *loop_alloc(bool manual)
{
    struct loop *loop = mem_zalloc(sizeof(*loop));

    if (loop != NULL) {
        loop->manual = manual;
        loop->alarm_fd = -1;
        heap_init(&loop->timers, LOOP_TIMERS_MAX);
        list_init(&loop->tasks);
        list_init(&loop->late_tasks);
    }
    return loop;
}

enum err loop_create(struct loop **loop_out)
{
    struct loop *loop = loop_alloc(false);
    enum err rc;

    if (loop == NULL) {
        return ERR_NOMEM;
    }
    rc = loop_err(uv_loop_init(&loop->uv));
    if (rc != OK) {
        mem_free(loop);
        return rc;
    }
    rc = loop_open_alarm(loop);
    if (rc != OK) {
        loop_destroy(loop);
        return rc;
    }
    *loop_out = loop;
    return OK;
}

enum err loop_create_manual(int64_t now_ns, struct loop **loop_out)
{
    struct loop *loop = loop_alloc(true);

    if (loop == NULL) {
        return ERR_NOMEM;
    }
    loop->now_ns = now_ns;
    *loop_out = loop;
    return OK;
}

/* What its owner did not release would keep the loop from ending. */
static void loop_check_released(uv_handle_t *handle, void *arg)
{
    (void)arg;
    CHECK(uv_is_closing(handle));
}

static void loop_close_uv(struct loop *loop)
{
    if (loop->alarm.data != NULL) {
        uv_close((uv_handle_t *)&loop->alarm, NULL);
    }
    uv_walk(&loop->uv, loop_check_released, NULL);
    /* Handles that were released in this turn and cancelled requests finish here. */
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
    CHECK(uv_loop_close(&loop->uv) == 0);
    if (loop->alarm_fd >= 0) {
        (void)close(loop->alarm_fd);
    }
}

void loop_destroy(struct loop *loop)
{
    if (loop == NULL) {
        return;
    }
    CHECK(loop->timers_reserved == 0);
    if (!loop->manual) {
        loop_close_uv(loop);
    }
    heap_deinit(&loop->timers);
    mem_free(loop);
}

bool loop_is_manual(const struct loop *loop)
{
    return loop->manual;
}

int64_t loop_now_ns(const struct loop *loop)
{
    return loop->manual ? loop->now_ns : clock_mono_ns();
}

/* Those that are due are set apart first: a timer that starts itself anew for a time that has
 * passed gets one call a turn and does not keep the others from theirs. */
static void loop_run_timers(struct loop *loop)
{
    int64_t now_ns = loop_now_ns(loop);
    int64_t at_ns;
    struct heap_node *node;
    struct list due, *link;

    list_init(&due);
    while ((node = heap_first(&loop->timers, &at_ns)) != NULL && at_ns <= now_ns) {
        heap_remove(&loop->timers, node);
        list_push_back(&due, &LIST_ENTRY(node, struct loop_timer, node)->due);
    }
    while ((link = list_first(&due)) != NULL) {
        struct loop_timer *timer = LIST_ENTRY(link, struct loop_timer, due);

        list_remove(link);
        timer->fired(timer, timer->user);
    }
}

static bool loop_has_tasks(const struct loop *loop)
{
    return !list_empty(&loop->tasks) || !list_empty(&loop->late_tasks);
}

/* Tasks that tasks post run too, but not for ever: descriptors must get their turn. The last round
 * is for the late ones, so that those who always post again do not keep them from theirs. */
static void loop_run_tasks(struct loop *loop)
{
    for (int round = 0; round < LOOP_TASK_ROUNDS && loop_has_tasks(loop); round++) {
        bool last = round == LOOP_TASK_ROUNDS - 1 && !list_empty(&loop->late_tasks);
        struct list batch;
        struct list *link;

        list_take(&batch, last || list_empty(&loop->tasks) ? &loop->late_tasks : &loop->tasks);
        while ((link = list_first(&batch)) != NULL) {
            struct loop_task *task = LIST_ENTRY(link, struct loop_task, link);

            list_remove(link);
            task->run(task, task->user);
        }
    }
}

/* Set the timer descriptor for the earliest timer, unless it is set well already. */
static void loop_set_alarm(struct loop *loop, int64_t at_ns)
{
    struct itimerspec spec = {0};

    if (at_ns == loop->alarm_ns) {
        return;
    }
    if (at_ns != LOOP_NEVER) {
        spec.it_value.tv_sec = at_ns / 1000000000;
        spec.it_value.tv_nsec = at_ns % 1000000000;
        if (at_ns <= 0) {
            spec.it_value.tv_nsec = 1; /* Zero would disarm it. */
        }
    }
    CHECK(timerfd_settime(loop->alarm_fd, TFD_TIMER_ABSTIME, &spec, NULL) == 0);
    loop->alarm_ns = at_ns;
}

/* When a turn that may wait until @until_ns has to end. */
static int64_t loop_wake_ns(const struct loop *loop, int64_t until_ns)
{
    int64_t timer_ns = LOOP_NEVER;

    (void)heap_first(&loop->timers, &timer_ns);
    return timer_ns < until_ns ? timer_ns : until_ns;
}

static void loop_run_turn(struct loop *loop, uv_run_mode mode)
{
    (void)uv_run(&loop->uv, mode);
    loop_run_timers(loop);
    loop_run_tasks(loop);
}

void loop_turn(struct loop *loop, int64_t wait_ns)
{
    int64_t now_ns = clock_mono_ns();
    int64_t wake_ns =
        loop_wake_ns(loop, wait_ns > LOOP_NEVER - now_ns ? LOOP_NEVER : now_ns + wait_ns);

    CHECK(!loop->manual);
    if (loop_has_tasks(loop) || wake_ns <= now_ns) {
        loop_run_turn(loop, UV_RUN_NOWAIT);
    } else {
        loop_set_alarm(loop, wake_ns);
        loop_run_turn(loop, UV_RUN_ONCE);
    }
}

void loop_wake_by(struct loop *loop, int64_t at_ns)
{
    if (at_ns < loop->alarm_ns) {
        loop_set_alarm(loop, at_ns);
    }
}

void loop_turn_until(struct loop *loop, int64_t until_ns)
{
    int64_t wake_ns = loop_wake_ns(loop, until_ns);

    if (loop_has_tasks(loop) || wake_ns <= clock_mono_ns()) {
        loop_run_turn(loop, UV_RUN_NOWAIT);
        return;
    }
    loop_wake_by(loop, wake_ns);
    loop_run_turn(loop, UV_RUN_ONCE);
}

/* Are there descriptors that libuv has not told the kernel of? */
static bool loop_has_new_watchers(const struct loop *loop)
{
#if UV_VERSION_HEX < 0x012c00
    return loop->uv.watcher_queue[0] != (const void *)&loop->uv.watcher_queue;
#else
    (void)loop; /* uv_backend_timeout() counts them since 1.44. */
    return false;
#endif
}

bool loop_settle(struct loop *loop)
{
    int64_t wake_ns = loop_wake_ns(loop, LOOP_NEVER);

    if (loop_has_tasks(loop) || loop_has_new_watchers(loop) || uv_backend_timeout(&loop->uv) == 0 ||
        wake_ns <= clock_mono_ns()) {
        return false;
    }
    loop_wake_by(loop, wake_ns);
    return true;
}

void loop_run(struct loop *loop)
{
    loop->stopped = false;
    while (!loop->stopped) {
        loop_turn(loop, LOOP_NEVER);
    }
}

void loop_stop(struct loop *loop)
{
    loop->stopped = true;
}

int64_t loop_manual_next_ns(const struct loop *loop)
{
    int64_t at_ns = LOOP_NEVER;

    CHECK(loop->manual);
    if (loop_has_tasks(loop)) {
        return loop->now_ns;
    }
    (void)heap_first(&loop->timers, &at_ns);
    return at_ns < loop->now_ns ? loop->now_ns : at_ns;
}

void loop_manual_advance(struct loop *loop, int64_t now_ns)
{
    CHECK(loop->manual && now_ns >= loop->now_ns);
    loop->now_ns = now_ns;
    loop_run_timers(loop);
    loop_run_tasks(loop);
}

void loop_manual_on_wake(struct loop *loop, void (*wake)(struct loop *loop, void *user), void *user)
{
    CHECK(loop->manual);
    loop->wake = wake;
    loop->wake_user = user;
}

static void loop_tell_wake(struct loop *loop)
{
    if (loop->wake != NULL) {
        loop->wake(loop, loop->wake_user);
    }
}

enum err loop_timer_init(struct loop_timer *timer, struct loop *loop,
                         void (*fired)(struct loop_timer *timer, void *user), void *user)
{
    enum err rc = heap_reserve(&loop->timers, loop->timers_reserved + 1);

    if (rc != OK) {
        return rc;
    }
    loop->timers_reserved++;
    *timer = (struct loop_timer){.loop = loop, .fired = fired, .user = user};
    heap_node_init(&timer->node);
    list_init(&timer->due);
    return OK;
}

void loop_timer_deinit(struct loop_timer *timer)
{
    if (timer->loop != NULL) {
        loop_timer_stop(timer);
        timer->loop->timers_reserved--;
        timer->loop = NULL;
    }
}

void loop_timer_start(struct loop_timer *timer, int64_t at_ns)
{
    struct heap *timers = &timer->loop->timers;

    list_remove(&timer->due);
    if (heap_contains(&timer->node)) {
        heap_move(timers, &timer->node, at_ns);
    } else {
        CHECK(heap_push(timers, &timer->node, at_ns) == OK);
    }
    if (heap_first(timers, NULL) == &timer->node) {
        loop_tell_wake(timer->loop);
    }
}

void loop_timer_start_in(struct loop_timer *timer, int64_t delay_ns)
{
    int64_t now_ns = loop_now_ns(timer->loop);

    loop_timer_start(timer, delay_ns > LOOP_NEVER - now_ns ? LOOP_NEVER : now_ns + delay_ns);
}

void loop_timer_stop(struct loop_timer *timer)
{
    if (timer->loop != NULL) {
        heap_remove(&timer->loop->timers, &timer->node);
        list_remove(&timer->due);
    }
}

bool loop_timer_active(const struct loop_timer *timer)
{
    return timer->loop != NULL && (heap_contains(&timer->node) || !list_empty(&timer->due));
}

void loop_task_init(struct loop_task *task, struct loop *loop,
                    void (*run)(struct loop_task *task, void *user), void *user)
{
    *task = (struct loop_task){.loop = loop, .run = run, .user = user};
    list_init(&task->link);
}

void loop_task_init_late(struct loop_task *task, struct loop *loop,
                         void (*run)(struct loop_task *task, void *user), void *user)
{
    loop_task_init(task, loop, run, user);
    task->late = true;
}

void loop_task_post(struct loop_task *task)
{
    struct loop *loop = task->loop;

    if (list_empty(&task->link)) {
        bool first = !loop_has_tasks(loop);

        list_push_back(task->late ? &loop->late_tasks : &loop->tasks, &task->link);
        if (first) {
            loop_tell_wake(loop);
        }
    }
}

void loop_task_cancel(struct loop_task *task)
{
    if (task->loop != NULL) {
        list_remove(&task->link);
    }
}
