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

/* libuv's error as ours. */
enum err loop_err(int uv_status);

#endif
