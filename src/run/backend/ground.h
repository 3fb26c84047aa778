/* Where the processes of a run are, and what is between them: a table of functions for each kind of
 * place. Private to src/run/live*.c and src/run/ground*.c.
 *
 *     open -> begin -> live_ground_ready() ... members come and go ... end -> live_ground_over()
 *
 * A ground that cannot be made ready, or is lost, calls live_fail(). */

#ifndef RUN_BACKEND_GROUND_H
#define RUN_BACKEND_GROUND_H

#include "run/live/live.h"
#include "sim/scenario/scenario.h"

struct json_t;
struct live;
struct live_args;
struct live_member;

struct live_ground {
    const char *name;    /* As --on has it. */
    const char *about;   /* For people: what the links are. */
    bool only_servers;   /* Links lead to servers: workers do not reach each other over them. */
    bool apart;          /* Links have their rate each way, whatever the topology says. */
    bool has_cards;      /* Members have network cards of some rate, ... */
    bool has_background; /* ... and other people's traffic. */

    /* What it needs; nothing is started yet. With @text. May be NULL. */
    enum err (*open)(struct live *l, struct err_text *text);

    /* Make it ready for the servers, whose ports are known. Comes again if they had to move: what
     * there was is gone first. */
    void (*begin)(struct live *l);

    /* Choose the port of a server, after so many tries that met one in use. False: there is no
     * other than the one that it had. NULL: the run chooses. */
    bool (*port)(struct live_member *m, uint32_t tries);

    /* Where a lane of a server is, for the others. */
    void (*place)(const struct live_member *m, uint32_t lane, struct net_address *out);

    /* The words of its command that are of the ground: those before it, which start it where it
     * belongs, and options. */
    void (*before)(const struct live_member *m, struct live_args *args);
    void (*options)(const struct live_member *m, struct live_args *args);

    /* Start it by these words, in another way than as a process of this machine: then it is told
     * first of all that its child said, true: it is not for the run; and its end may be another one
     * than its child's. All three are NULL if not. */
    enum err (*launch)(struct live_member *m, const struct live_args *args);
    bool (*said)(struct live_member *m, const struct json_t *news);
    void (*ended)(struct live_member *m, int64_t *status, int *signum);

    /* Send it a signal; NULL: it is a process of this machine. */
    void (*signal)(struct live_member *m, int signum);

    /* Let a link have a fault. False: there is no such fault here. May be NULL. */
    bool (*fault)(struct live *l, const struct sim_scenario_action *action);

    /* What went over links, if the ground knows better than the members. May be NULL. */
    void (*traffic)(const struct live *l, struct run_traffic *traffic);

    /* All members are gone. May be NULL. */
    void (*end)(struct live *l);

    /* What is worth knowing of it, for the summary: an object, which the caller owns, or NULL. May
     * be NULL. */
    struct json_t *(*describe)(const struct live *l);

    void (*close)(struct live *l); /* Whatever there is, at once. May be NULL. */
};

extern const struct live_ground live_ground_local;
extern const struct live_ground live_ground_lab;
extern const struct live_ground live_ground_hosts;
extern const struct live_ground live_ground_slurm;

#endif
