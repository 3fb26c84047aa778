/* Child processes, watched by the loop. Real loops only. */

#ifndef LOOP_CHILD_H
#define LOOP_CHILD_H

#include "loop/loop.h"

struct loop_child;

struct loop_child_config {
    const char *const *argv; /* NULL-terminated; argv[0] is looked up in PATH. */
    const char *const *env;  /* NULL-terminated; NULL: as ours. */
    int stdin_fd;            /* The child's standard input; zero: none. */
    int stdout_fd;           /* Its standard output and error; negative: as ours. */
    int stderr_fd;
    /* The last call: exit status, and the signal that ended it or zero. */
    void (*exited)(struct loop_child *child, int64_t status, int signum, void *user);
    void *user;
};

MUST_USE enum err loop_child_spawn(struct loop *loop, const struct loop_child_config *config,
                                   struct loop_child **child_out);

int loop_child_pid(const struct loop_child *child);

/* ERR_NOT_FOUND if it has ended already. */
MUST_USE enum err loop_child_signal(struct loop_child *child, int signum);

/* Forget the child, running or not; exited() will not be called. NULL is allowed. */
void loop_child_destroy(struct loop_child *child);

#endif
