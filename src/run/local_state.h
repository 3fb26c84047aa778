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
    LOCAL_LEAVING,  /* Workers were told to. */
    LOCAL_SETTLING, /* Several sites: until all have what each of them shared. */
    LOCAL_CLOSING,  /* Servers were told to. */
    LOCAL_OVER,
};

struct local;

/* A process of the run, or one that was. */
struct local_member {
    struct local *local;
    char name[LIMIT_NAME_BYTES + 1];
    bool server;
    uint32_t number; /* In the file: of a server its index, of a worker its rank. */
    uint32_t site;
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

/* What a lane has sent to another site: in former lives of its process, and in this one. */
struct local_sent {
    uint64_t before;
    uint64_t now;
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
    struct net_address *firsts; /* By site: lane 0. */
    struct run_watch *watch;
    json_t **statuses;       /* By site and lane: what it said last; NULL: nothing yet. */
    struct local_sent *sent; /* By site, lane and other site. */
    struct run_share *shares;
    uint32_t port_tries;
    bool watched; /* Some lane has answered. */
    bool moving;  /* Some port was taken: all servers end, and begin elsewhere. */
    struct run_tally *tally;
    struct run_judge judge;
    struct run_traffic traffic;
    const char **states;
    struct sim_scenario *script;
    struct local_fault *faults;
    uint32_t faults_count;
    uint64_t ports; /* Where to look for free ones. */
    int64_t start_ns;
    int64_t move_ns; /* How long data was moved before. */
    bool failed;
};

/* local.c */
int64_t local_now(const struct local *l);
void local_event(struct local *l, const char *kind, const char *who, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
void local_fail(struct local *l, const char *fmt, ...) PRINTF_LIKE(2, 3);
void local_judge(struct local *l); /* After each evaluation. */
void local_server_ready(struct local_member *m);
void local_place(const struct local_member *m, uint32_t lane, struct net_address *out);
void local_settled(struct local *l); /* Perhaps. */
void local_died(struct local_member *m, int64_t status, int signum);
struct local_member *local_find(struct local *l, const char *name); /* NULL: nobody. */

void local_begin(struct local *l); /* Choose ports, and start the first server of each site. */

/* local_said.c: a line of a member, and the status of a lane. */
void local_said(struct local_member *m, const json_t *event);
void local_seen(uint32_t lane, const struct json_t *status, void *user);

/* local_sites.c */
MUST_USE enum err local_sites_open(struct local *l);
void local_sites_close(struct local *l);
/* Tell the servers of each site of the others: a file for each. */
MUST_USE enum err local_sites_write(struct local *l);
void local_sites_path(const struct local *l, uint32_t site, char *out, size_t size);
/* Lanes to be looked at: all, or the first if there is only one site. */
MUST_USE enum err local_sites_watch(struct local *l, int64_t every_ns);
void local_sites_seen(struct local *l, uint32_t lane, const json_t *status);
void local_sites_gone(struct local *l, const struct local_member *server); /* It has ended. */
bool local_sites_settled(const struct local *l);
void local_sites_traffic(const struct local *l, struct run_traffic *traffic);
const struct run_share *local_sites_shares(struct local *l);
void local_sites_waits(const struct local *l, char *out, size_t size);

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
