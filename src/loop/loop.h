/* The event loop: timers, tasks, descriptors, signals, child processes.
 *
 * Two backends behind one interface. The real one is libuv. The manual one has no descriptors and
 * no clock: its owner advances time by hand; the simulator runs whole nodes on it.
 *
 * One turn: wait for descriptors, run what became ready, run due timers, then run the tasks that
 * all of these posted ("flush once before sleeping"). Nothing here is called from inside the call
 * that started it.
 *
 * One thread at a time owns a loop, and only its owner may touch it and what lives on it. Usually
 * that is the same thread for the loop's whole life. The owner may change between turns if
 * something orders the threads, as a lock does: loop/driver.h hands one loop round in this way.
 * Threads that never own it reach it by loop/mailbox.h. */

#ifndef LOOP_LOOP_H
#define LOOP_LOOP_H

#include "base/err.h"
#include "base/heap.h"
#include "base/list.h"

#include <stdbool.h>
#include <stdint.h>

struct loop;

#define LOOP_NEVER INT64_MAX

/* A loop on libuv. */
MUST_USE enum err loop_create(struct loop **loop_out);

/* A loop whose time starts at @now_ns and moves only by loop_manual_advance(). */
MUST_USE enum err loop_create_manual(int64_t now_ns, struct loop **loop_out);

/* Timers, polls, signals and children must have been released. NULL is allowed. */
void loop_destroy(struct loop *loop);

bool loop_is_manual(const struct loop *loop);

/* Monotonic time. */
int64_t loop_now_ns(const struct loop *loop);

/* Run turns until loop_stop(). Real loops only. */
void loop_run(struct loop *loop);

/* Make loop_run() return after this turn. */
void loop_stop(struct loop *loop);

/* Run one turn that waits at most @wait_ns for something to happen (LOOP_NEVER: as long as it
 * takes). Real loops only. */
void loop_turn(struct loop *loop, int64_t wait_ns);

/* Manual loops: when does it next want to run? At once if tasks wait; LOOP_NEVER if nothing does.
 */
int64_t loop_manual_next_ns(const struct loop *loop);

/* Manual loops: set the time, which never goes back, and run due timers and tasks. */
void loop_manual_advance(struct loop *loop, int64_t now_ns);

/* Manual loops: be told when loop_manual_next_ns() may have become earlier. */
void loop_manual_on_wake(struct loop *loop, void (*wake)(struct loop *loop, void *user),
                         void *user);

/* Embedded in its owner; fields are private to src/loop. */
struct loop_timer {
    struct heap_node node;
    struct list due; /* With the others that fire in this turn. */
    struct loop *loop;
    void (*fired)(struct loop_timer *timer, void *user);
    void *user;
};

/* Room for the timer is reserved here, so that starting it cannot fail. */
MUST_USE enum err loop_timer_init(struct loop_timer *timer, struct loop *loop,
                                  void (*fired)(struct loop_timer *timer, void *user), void *user);

/* Stops it too. A zeroed timer is allowed. */
void loop_timer_deinit(struct loop_timer *timer);

/* Fire once at @at_ns, or as soon as possible if that has passed: in the next turn if this one is
 * firing timers. Replaces an earlier time. */
void loop_timer_start(struct loop_timer *timer, int64_t at_ns);
void loop_timer_start_in(struct loop_timer *timer, int64_t delay_ns);
void loop_timer_stop(struct loop_timer *timer);
bool loop_timer_active(const struct loop_timer *timer);

/* Embedded in its owner; fields are private to src/loop. */
struct loop_task {
    struct list link;
    bool late;
    struct loop *loop;
    void (*run)(struct loop_task *task, void *user);
    void *user;
};

void loop_task_init(struct loop_task *task, struct loop *loop,
                    void (*run)(struct loop_task *task, void *user), void *user);

/* The same, but it runs after all others of its turn: what they produced goes out in one piece. */
void loop_task_init_late(struct loop_task *task, struct loop *loop,
                         void (*run)(struct loop_task *task, void *user), void *user);

/* Run once at the end of this turn. Posting again before that changes nothing. */
void loop_task_post(struct loop_task *task);

/* Take it back. A task that is not posted is allowed. */
void loop_task_cancel(struct loop_task *task);

enum { LOOP_READABLE = 1, LOOP_WRITABLE = 2 };

struct loop_poll;

/* Watch a descriptor, level-triggered. An error on it counts as everything that is watched for.
 * Real loops only. */
MUST_USE enum err loop_poll_create(struct loop *loop, int fd, void (*ready)(int events, void *user),
                                   void *user, struct loop_poll **poll_out);

/* Change what is watched for; zero: nothing. */
void loop_poll_want(struct loop_poll *poll, int events);

/* No call follows. The descriptor may be closed at once. NULL is allowed. */
void loop_poll_destroy(struct loop_poll *poll);

struct loop_signal;

/* Real loops only. */
MUST_USE enum err loop_signal_create(struct loop *loop, int signum,
                                     void (*caught)(int signum, void *user), void *user,
                                     struct loop_signal **signal_out);
void loop_signal_destroy(struct loop_signal *signal);

#endif
