/* What a local run consists of. Private to src/run/local*.c. */

#ifndef RUN_LOCAL_STATE_H
#define RUN_LOCAL_STATE_H

#include "loop/child.h"
#include "loop/loop.h"
#include "run/local.h"
#include "run/process.h"
#include "run/watch.h"
#include "sim/scenario.h"

#include <jansson.h>

enum {
    LOCAL_ARGS_MAX = 160,
    LOCAL_LINE_BYTES = 32 * 1024, /* Of what a member says about itself. */
    LOCAL_PATH_BYTES = 1200,
};

enum local_phase {
    LOCAL_STARTING, /* Servers, one after the other. */
    LOCAL_TRAINING,
    LOCAL_LEAVING, /* Workers were told to. */
    LOCAL_CLOSING, /* Servers were told to. */
    LOCAL_OVER,
};

struct local;

/* A process of the run, or one that was. */
struct local_member {
    struct local *local;
    char name[LIMIT_NAME_BYTES + 1];
    bool server;
    uint32_t number;          /* Of a server its index, of a worker its rank. */
    struct loop_child *child; /* NULL: it does not run. */
    int out;                  /* What it says; negative: nothing. */
    struct loop_poll *poll;
    char *line;
    size_t line_size;
    bool ready;   /* A server: listens; a worker: joined, in this life. */
    bool done;    /* Ended as it should. */
    bool stopped; /* By SIGSTOP, until the timer. */
    uint32_t lives;
    uint32_t quick; /* Lives in a row that were short. */
    int64_t started_ns;
    int64_t again_ns; /* After a death: how long to wait. */
    struct loop_timer timer;

    /* Servers. */
    uint16_t port; /* Of its first lane. */
    bool bound;    /* It was ready there once. */
    uint32_t first_lane;

    /* Workers. */
    bool joined; /* Once. */
    const char *state;
    struct run_process_lane *before; /* By lane: of former lives, */
    struct run_process_lane *now;    /* and of this one. */
};

/* A fault that is still to come. */
struct local_fault {
    struct local *local;
    struct sim_scenario_action action;
    struct loop_timer timer;
};

struct local {
    const struct run_file *f;
    const struct run_watcher *watcher;
    struct run_local_options options;
    struct run_local_result *result;
    const struct app_ops *job;
    struct loop *loop;
    struct loop_timer tick;
    struct loop_timer limit; /* Of the file, then of the phase. */
    enum local_phase phase;
    struct local_member *servers;
    struct local_member *workers;
    struct net_address first; /* Lane 0. */
    struct run_watch *watch;
    struct run_tally *tally;
    struct run_traffic traffic;
    const char **states;
    char waits[256];
    struct sim_scenario *script;
    struct local_fault *faults;
    uint32_t faults_count;
    uint64_t ports; /* Where to look for free ones. */
    int64_t start_ns;
    bool failed;
};

/* local.c */
int64_t local_now(const struct local *l);
void local_event(struct local *l, const char *kind, const char *who, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
void local_fail(struct local *l, const char *fmt, ...) PRINTF_LIKE(2, 3);
void local_server_ready(struct local_member *m);
void local_died(struct local_member *m, int64_t status, int signum);
struct local_member *local_find(struct local *l, const char *name); /* NULL: nobody. */

/* local_said.c: a line of a member, and the status of lane 0. */
void local_said(struct local_member *m, const json_t *event);
void local_seen(const struct json_t *status, void *user);

/* local_look.c */
void local_row(const struct run_row *row, void *user);
void local_paint(struct local *l, struct run_picture *out);

/* local_child.c: start it; an error is of this machine. What it says comes to local_said(), its end
 * to local_died(), after all that it said. */
MUST_USE enum err local_start(struct local_member *m);
void local_signal(struct local_member *m, int signum);
void local_release(struct local_member *m); /* With its process, if there is one. */
/* Its last words on standard error, on one line. */
void local_last_words(const struct local_member *m, char *out, size_t size);

/* local_args.c: the command of a member. */
struct local_args {
    char *items[LOCAL_ARGS_MAX + 1];
    uint32_t count;
    bool failed;
};
MUST_USE enum err local_args_make(const struct local_member *m, struct local_args *out);
void local_args_free(struct local_args *args);

#endif
