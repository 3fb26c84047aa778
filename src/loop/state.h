/* What a loop consists of; for the files of src/loop only. */

#ifndef LOOP_STATE_H
#define LOOP_STATE_H

#include "loop/loop.h"

#include <uv.h>

enum { LOOP_TIMERS_MAX = 1 << 20 };

struct loop {
    bool manual;
    bool stopped;
    struct heap timers;
    uint32_t timers_reserved;
    struct list tasks;
    struct list late_tasks; /* Run when no other is left. */
    int64_t now_ns;         /* Manual only. */
    void (*wake)(struct loop *loop, void *user);
    void *wake_user;
    uv_loop_t uv; /* Real only, as is all below. */
    uv_poll_t alarm;
    int alarm_fd;
    int64_t alarm_ns; /* When the timer descriptor is set to fire. */
};

/* Have uv_backend_fd() readable at @at_ns, which is in the future, or earlier: an alarm that is set
 * already is left alone, for an idle turn costs less than setting it for every turn. */
void loop_wake_by(struct loop *loop, int64_t at_ns);

/* A turn as loop_turn() runs it, but it may end early with nothing done: see loop_wake_by(). */
void loop_turn_until(struct loop *loop, int64_t until_ns);

/* May the loop be left alone until uv_backend_fd() is readable? Sees to it that this is in time for
 * the timers. If not, something wants a turn now. Owner only. */
bool loop_settle(struct loop *loop);

/* libuv's error as ours. */
enum err loop_err(int uv_status);

#endif
