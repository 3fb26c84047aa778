/* A process that a run has started: it tells its news as lines of JSON on standard output, may take
 * orders as lines on standard input, and what it says to people goes to a file. Everything happens
 * on the owner's loop. */

#ifndef RUN_LIVE_CHILD_H
#define RUN_LIVE_CHILD_H

#include "loop/child.h"

#include <stdbool.h>
#include <stddef.h>

enum { RUN_CHILD_LINE_BYTES = 256 * 1024, RUN_CHILD_PATH_BYTES = 1300 };

struct json_t;
struct run_child;

struct run_child_events {
    /* A line that is an object; what is none is left out. */
    void (*said)(struct run_child *c, const struct json_t *news, void *user);
    /* After all that it said. It may be started again in here. */
    void (*ended)(struct run_child *c, int64_t status, int signum, void *user);
};

/* Fields are for reading; .user is for whoever has it. */
struct run_child {
    struct loop *loop;
    const struct run_child_events *events;
    void *user;
    char log[RUN_CHILD_PATH_BYTES];
    struct loop_child *process; /* NULL: it does not run. */
    int out;                    /* What it says; negative: nothing. */
    struct loop_poll *hears;
    char *line;
    size_t line_size;
    int in; /* Orders; negative: it takes none. */
    struct loop_poll *tells;
    char *orders; /* Not taken yet. */
    size_t orders_size;
    size_t orders_room;
};

/* Not started. @log is the path of its words. ERR_NOMEM, ERR_TOO_BIG; run_child_release() is due in
 * any case. */
MUST_USE enum err run_child_init(struct run_child *c, struct loop *loop, const char *log,
                                 const struct run_child_events *events, void *user);

/* Start @argv, NULL-terminated; with @orders it takes some. An error is of this machine. */
MUST_USE enum err run_child_start(struct run_child *c, const char *const *argv, bool orders);

bool run_child_runs(const struct run_child *c);

/* Nothing if it does not run. */
void run_child_signal(struct run_child *c, int signum);

/* Give it an order: a line without its end. It may not be taken at once, and is lost if the process
 * ends before. ERR_NOMEM. */
MUST_USE enum err run_child_tell(struct run_child *c, const char *line);

/* No orders will follow: its standard input ends, after those that were given. */
void run_child_hush(struct run_child *c);

/* With its process, if there is one, by SIGKILL. */
void run_child_release(struct run_child *c);

/* Its last words to people, on one line: the error if it printed one. */
void run_child_last_words(const struct run_child *c, char *out, size_t size);

#endif
