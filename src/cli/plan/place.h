/* What the files of `strait plan place` share. */

#ifndef CLI_PLAN_PLACE_H
#define CLI_PLAN_PLACE_H

#include "cli/command/context.h"
#include "cli/plan/pool.h"
#include "plan/place.h"

enum { CLI_PLACE_LABEL_BYTES = TOPO_GRAPH_NAME_BYTES + TOPO_GRAPH_ID_BYTES + 4 };

struct cli_place_label {
    char chars[CLI_PLACE_LABEL_BYTES];
};

/* What becomes of the plan when a link fails. */
struct cli_place_failure {
    uint32_t edge;
    bool kept;     /* The server can stay where it is, */
    double kept_s; /* and takes that long by other paths. */
    bool moved;    /* There is a best server, maybe the same: */
    uint32_t server;
    double time_s;
    bool optimal; /* That is proven. */
};

/* What is on the screen while it goes on. */
struct cli_place_shown {
    struct cli_context *ctx;
    const char *what; /* "bounds". */
    uint32_t before;  /* Done in earlier rounds of the same kind. */
    uint32_t count;   /* Zero: nobody knows. */
    int64_t begun_ns; /* This kind of work. */
    int64_t shown_ns;
    bool drawn; /* There is a line to take away. */
};

/* A problem, and what was found. Everything here is owned. */
struct cli_place {
    struct cli_context *ctx;
    const char *file; /* Its name, in messages; or the address of a cluster. */
    struct topo_graph *graph;
    double bytes;                   /* To push, and to pull. */
    struct cli_place_label *labels; /* Of regions, for people: nobody else has the same. */
    struct plan_place_problem problem;
    struct plan_place_effort effort;
    bool *no_server;
    bool *silent;
    bool *no_relay;
    bool *no_edge;
    uint32_t jobs;
    double limit_s;
    int64_t until_ns; /* When time is up. */
    struct cli_place_shown shown;

    struct plan_place_answer answer;
    double *used_mbps;                  /* Of each link. */
    struct cli_place_failure *failures; /* Of each link; NULL: nobody asked. */
    double seconds;
};

/* The file of @argument: "-" is standard input. CLI_DONE, or an error was.
 * plan/place_ask.c */
enum cli_exit cli_place_read(struct cli_context *ctx, const char *argument,
                             struct topo_graph **graph_out);

/* "standard input" for "-". */
const char *cli_place_file(const char *argument);

/* Get .graph and .bytes from where the command line says: a file, or a running cluster. CLI_DONE,
 * or an error was. plan/place_cluster.c */
enum cli_exit cli_place_network(struct cli_place *p);

/* Make a problem of the command line. cli_place_deinit() also after an error. plan/place_ask.c */
enum cli_exit cli_place_ask(struct cli_context *ctx, struct cli_place *p);
void cli_place_deinit(struct cli_place *p);

/* For plan_place_effort: do tasks by child processes; .user is a struct cli_place.
 * plan/place_spread.c */
enum err cli_place_spread(struct plan_place_task *tasks, uint32_t count, void *user);
double cli_place_left(void *user);

/* Does the answer take what it says, by paths and links alone? ERR_CORRUPT with @text if not. */
MUST_USE enum err cli_place_verify(const struct plan_place_problem *problem,
                                   struct plan_place_answer *answer, struct err_text *text);

/* What is shown while it goes on: begin with a kind of work, go on, take away. */
void cli_place_show(struct cli_place_shown *s, const char *what, uint32_t count);
void cli_place_show_done(struct cli_place_shown *s, uint32_t done);
void cli_place_show_end(struct cli_place_shown *s);

/* Each link fails, one at a time. plan/place_fail.c */
MUST_USE enum err cli_place_fail(struct cli_place *p, struct err_text *text);

/* Is the failure @a worse than @b? First where the server cannot stay, then by how long it takes if
 * it does, then by how long it takes if it does not. */
bool cli_place_fail_worse(const struct cli_place_failure *a, const struct cli_place_failure *b);

/* The link that is missed most, the first of several. */
uint32_t cli_place_fail_worst(const struct cli_place *p);

/* Of what there is: how far the value may be from the best, as a part of it. */
double cli_place_gap(const struct plan_place_answer *a);

/* Is nothing left to be found there that would be better than the answer? */
bool cli_place_settled(const struct cli_place *p, const struct plan_place_candidate *c);

/* Write the page where --html says. CLI_DONE, or an error was. plan/place_page.c */
enum cli_exit cli_place_page(const struct cli_place *p);

/* The answer for programs, and for people. plan/place_json.c, plan/place_view.c */
json_t *cli_place_json(const struct cli_place *p);
void cli_place_view(struct cli_place *p);

#endif
