/* What the files of `strait plan paper` share. */

#ifndef CLI_PLAN_PAPER_H
#define CLI_PLAN_PAPER_H

#include "cli/command/context.h"
#include "plan/place.h"

enum {
    CLI_PAPER_MAPS = 2,
    CLI_PAPER_NETS = 4,   /* The models that the paper trains, which are networks, too. */
    CLI_PAPER_STEPS = 10, /* Of the sweep. */
    CLI_PAPER_SWEPT = 1,  /* The model of the sweep: ResNet152. */
    CLI_PAPER_DRAWS = 100,
    CLI_PAPER_NOTES = 6,
    CLI_PAPER_TEXT_MAX = 1 << 20,
};

/* What each way takes, in seconds, on one network. Every server has its best paths, proven, but for
 * APSP's draws and where the routing is said. */
struct cli_paper_ways {
    double random_s;    /* The mean of all servers. */
    uint32_t connected; /* The region with the most links, the first of several, ... */
    double connected_s;
    double tie_mean_s; /* ... and all with as many. */
    double tie_worst_s;
    uint32_t ties;
    uint32_t apsp; /* The best of CLI_PAPER_DRAWS draws for each server. */
    double apsp_s;
    uint32_t exact;
    double exact_s;
    double shortest_s; /* At the exact server: by shortest paths, ... */
    double balanced_s; /* ... by load, ... */
    double routed_s;   /* ... by APSP's draws. */
};

struct cli_paper_map {
    const char *name;
    const char *file;
    struct topo_graph *graph;
    struct cli_paper_ways table[CLI_PAPER_NETS][2]; /* By enum plan_place_model. */
    struct cli_paper_ways sweep[CLI_PAPER_STEPS];   /* Of the hop model. */
};

struct cli_paper {
    struct cli_paper_map maps[CLI_PAPER_MAPS];
};

/* What the paper says. */
struct cli_paper_net {
    const char *name;
    double bytes;
    double random_s[CLI_PAPER_MAPS]; /* Table III. */
    double connected_s[CLI_PAPER_MAPS];
    double apsp_s[CLI_PAPER_MAPS];
};

extern const struct cli_paper_net cli_paper_nets[CLI_PAPER_NETS];

/* What differs from the paper, and why. */
extern const char *const cli_paper_notes[CLI_PAPER_NOTES];

/* The lower bound of rates of a step, Mbit/s. */
double cli_paper_lower(uint32_t step);

/* How much less @time is than @than, in percent. */
double cli_paper_less(double time, double than);

/* Solve everything. plan/paper_solve.c. ERR_NOMEM, or ERR_INVALID if a plan does not take what it
 * says, with @text. */
MUST_USE enum err cli_paper_solve(struct cli_paper *p, void (*progress)(double part, void *user),
                                  void *user, struct err_text *text);
void cli_paper_deinit(struct cli_paper *p);

/* For people, for programs, and as files. plan/paper_view.c */
void cli_paper_view(struct cli_context *ctx, const struct cli_paper *p);
json_t *cli_paper_json(const struct cli_paper *p);
void cli_paper_table3(const struct cli_paper *p, struct text *out);
void cli_paper_fig4(const struct cli_paper *p, struct text *out);
void cli_paper_fig5(const struct cli_paper *p, struct text *out);
void cli_paper_fig6(const struct cli_paper *p, struct text *out);

/* The page, and figures that stand alone. plan/paper_page.c. ERR_NOMEM. */
MUST_USE enum err cli_paper_page(const struct cli_paper *p, struct text *out);
void cli_paper_svg5(const struct cli_paper *p, struct text *out);
void cli_paper_svg6(const struct cli_paper *p, struct text *out);

#endif
