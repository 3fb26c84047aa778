/* What a run of processes consists of. Private to src/run/live*.c. */

#ifndef RUN_LIVE_STATE_H
#define RUN_LIVE_STATE_H

#include "loop/loop.h"
#include "run/backend/ground.h"
#include "run/live/child.h"
#include "run/live/process.h"
#include "run/predict.h"

#include <jansson.h>

enum {
    LIVE_ARGS_MAX = 160,
    LIVE_PATH_BYTES = 1200,
    LIVE_STATUS_MS = 200, /* How often servers say how they are. */
    LIVE_AGAIN_MS = 500,  /* A process that was killed is started again after this. */
    LIVE_QUICK_MS = 2000, /* If it ran for less, it was killed before it got anywhere; */
    LIVE_QUICK_MAX = 5,   /* so many times in a row end the run. */
    /* One that found no memory, descriptor, thread or space on disk may find it later: the pause is
     * doubled each time, up to this many times, and the run ends when it goes on for so long. */
    LIVE_DOUBLINGS = 3,
    LIVE_STARVED_S = 300,
    LIVE_PORT_TRIES = 30,
    LIVE_TRY_AGAIN = 75, /* The exit status of who got no memory, descriptor, thread or space. */
    LIVE_REFUSED = 77,   /* The exit status of who may not do what was asked. */
};

enum live_phase {
    LIVE_STARTING, /* Servers, one after the other. */
    LIVE_TRAINING,
    LIVE_LEAVING,  /* Workers were told to. */
    LIVE_SETTLING, /* Several sites: until all have what each of them shared. */
    LIVE_CLOSING,  /* Servers were told to. */
    LIVE_ENDING,   /* The ground goes. */
    LIVE_OVER,
};

struct live;

/* A process of the run, or one that was. */
struct live_member {
    struct live *live;
    char name[LIMIT_NAME_BYTES + 1];
    bool server;
    uint32_t number; /* In the file: of a server its index, of a worker its rank. */
    uint32_t site;
    uint32_t region;
    const char *dir; /* Where it keeps its files. */
    struct run_child child;
    bool ready;   /* A server: listens; a worker: joined, in this life. */
    bool done;    /* Ended as it should. */
    bool stopped; /* By SIGSTOP, until the timer. */
    uint32_t lives;
    uint32_t quick;         /* Lives in a row that were short. */
    int64_t quick_since_ns; /* When the first of them ended. */
    int64_t started_ns;
    int64_t again_ns; /* After a death: how long to wait. */
    struct loop_timer timer;

    /* Servers. */
    uint16_t port; /* Of its first lane; zero: it has to choose one. */
    bool bound;    /* It was ready there once. */
    uint32_t first_lane;

    /* Workers. */
    bool joined; /* Once. */
    const char *state;
    struct run_process_lane *before; /* By lane: of former lives, */
    struct run_process_lane *now;    /* and of this one. */
};

/* A fault that is still to come. */
struct live_fault {
    struct live *live;
    struct sim_scenario_action action;
    struct loop_timer timer;
};

/* What a lane has sent to another site: in former lives of its process, and in this one. */
struct live_sent {
    uint64_t before;
    uint64_t now;
};

struct live_background;

struct live {
    const struct run_file *f;
    const struct run_watcher *watcher;
    struct run_live_options options;
    const struct live_ground *ground;
    void *ground_state; /* Its own. */
    struct run_live_result *result;
    const struct app_ops *job;
    struct loop *loop;
    struct loop_timer tick;
    struct loop_timer limit; /* Of the file, then of the phase. */
    enum live_phase phase;
    struct live_member *servers;
    struct live_member *workers;
    struct net_address *firsts; /* By site: lane 0. */
    json_t **statuses;          /* By site and lane: what it said last; NULL: nothing yet. */
    struct live_sent *sent;     /* By site, lane and other site. */
    struct run_share *shares;
    uint32_t port_tries;
    bool watched;     /* Some lane has answered. */
    uint32_t planned; /* The last plan around a centre that was told, by epoch. */
    bool moving;      /* Some port was taken: all servers end, and begin elsewhere. */
    struct run_tally *tally;
    struct run_judge judge;
    struct run_traffic traffic;
    const char **states;
    struct sim_scenario *script;
    struct live_fault *faults;
    uint32_t faults_count;
    struct live_background *background;
    uint64_t ports;   /* Where to look for free ones. */
    int64_t start_ns; /* When all servers were there. */
    int64_t took_ns;  /* Until then; zero: it is not over. */
    int64_t move_ns;  /* How long data was moved before. */
    bool failed;
};

/* live.c */
int64_t live_now(const struct live *l);
void live_event(struct live *l, const char *kind, const char *who, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
void live_fail(struct live *l, const char *fmt, ...) PRINTF_LIKE(2, 3);
void live_judge(struct live *l); /* After each evaluation. */
void live_server_ready(struct live_member *m);
void live_settled(struct live *l); /* Perhaps. */
void live_died(struct live_member *m, int64_t status, int signum);
void live_timer(struct loop_timer *timer, void *user); /* Of a member. */
/* A port of @who is taken, or (NULL) that of some server: all begin again, @who or all of them
 * elsewhere. False: enough of it. */
bool live_move(struct live *l, struct live_member *who);
void live_ground_ready(struct live *l); /* Servers may start. */
void live_ground_over(struct live *l);  /* The last. */

/* live/said.c: a line of a member. */
void live_said(struct live_member *m, const json_t *event);

/* live/sites.c */
MUST_USE enum err live_sites_open(struct live *l);
void live_sites_close(struct live *l);
/* Tell the servers of each site of the others: a file for each. */
MUST_USE enum err live_sites_write(struct live *l);
void live_sites_path(const struct live *l, uint32_t site, char *out, size_t size);
void live_sites_seen(struct live *l, uint32_t lane, const json_t *status);
void live_sites_gone(struct live *l, const struct live_member *server); /* It has ended. */
bool live_sites_settled(const struct live *l);
void live_sites_traffic(const struct live *l, struct run_traffic *traffic);
const struct run_share *live_sites_shares(struct live *l);
struct node_sparsify_totals
live_sites_sparsified(const struct live *l); /* As lanes said it last. */
void live_sites_waits(const struct live *l, char *out, size_t size);

/* live/look.c */
void live_row(const struct run_row *row, void *user);
void live_paint(struct live *l, struct run_picture *out);

/* live/member.c: start it; an error is of this machine. What it says comes to live_said(), its end
 * to live_died(), after all that it said. */
MUST_USE enum err live_open_members(struct live *l);
MUST_USE enum err live_start(struct live_member *m);
bool live_runs(const struct live_member *m);
void live_signal(struct live_member *m, int signum);
void live_release(struct live_member *m); /* With its process, if there is one. */
struct live_member *live_find(struct live *l, const char *name); /* NULL: nobody. */

/* live/fault.c */
MUST_USE enum err live_open_faults(struct live *l);
void live_begin_faults(struct live *l);
void live_close_faults(struct live *l);

/* live/background.c: opened with the rest; its processes start when the ground is ready, its phases
 * begin with the training, and end with it. Bytes are as at full size. */
MUST_USE enum err live_background_open(struct live *l);
void live_background_start(struct live *l);
void live_background_begin(struct live *l);
void live_background_end(struct live *l);
void live_background_close(struct live *l);
uint64_t live_background_bytes(const struct live *l);

/* live/args.c: the command of a member. */
struct live_args {
    char *items[LIVE_ARGS_MAX + 1];
    uint32_t count;
    bool failed;
};
MUST_USE enum err live_args_make(const struct live_member *m, struct live_args *out);
void live_args_add(struct live_args *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* A command that ties a process of this machine to ours, and the program: its own words follow. */
void live_args_tie(const struct live *l, struct live_args *a);
void live_args_free(struct live_args *args);

#endif
