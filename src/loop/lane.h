/* A lane: a thread with a loop of its own, and everything that runs there. The data path stays on
 * one lane; other threads reach it by lane_post(). On a manual loop a lane runs inline. */

#ifndef LOOP_LANE_H
#define LOOP_LANE_H

#include "loop/loop.h"

struct lane;

/* Start a thread with a loop. */
MUST_USE enum err lane_start(const char *name, struct lane **lane_out);

/* A lane without a thread, on the caller's manual loop. */
MUST_USE enum err lane_start_inline(struct loop *loop, struct lane **lane_out);

/* The lane's loop; to be touched on the lane only. */
struct loop *lane_loop(struct lane *lane);

/* Any thread: have @run(@user) called on the lane, in the order of posting. ERR_AGAIN when too many
 * wait. */
MUST_USE enum err lane_post(struct lane *lane, void (*run)(void *user), void *user);

/* A call in the caller's memory, for those who must not fail for want of some. */
struct lane_call {
    void (*run)(void *user);
    void *user;
    bool owned; /* Private to loop/lane.c. */
};

/* The same without an allocation: @call must stay where it is until it runs; from then on it may be
 * posted again, or released. */
MUST_USE enum err lane_post_call(struct lane *lane, struct lane_call *call);

/* Wait until all that was posted before has been run; an inline lane runs it now. Blocks: for the
 * end of an owner's life. Not from the lane itself, and not by two threads at once. */
void lane_wait(struct lane *lane);

/* Finish what was posted, then end the thread; what the caller made on the lane must have been
 * released there. Not from the lane itself. NULL is allowed. */
void lane_stop(struct lane *lane);

#endif
