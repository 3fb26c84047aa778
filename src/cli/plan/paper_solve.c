/* The figures of the paper on APSP, reckoned. */

#include "base/mem.h"
#include "cli/plan/paper.h"
#include "topo/known.h"

#include <math.h>

#define PAPER_NEAR_MBPS TOPO_GRAPH_NEAR_MBPS
#define PAPER_SAME 1e-9

const struct cli_paper_net cli_paper_nets[CLI_PAPER_NETS] = {
    {"ResNet50", 92e6, {14.88, 12.54}, {7.36, 12.26}, {5.88, 9.82}},
    {"ResNet152", 240e6, {37.68, 32.72}, {19.20, 32.00}, {14.40, 25.60}},
    {"AlexNet", 256e6, {39.74, 34.90}, {20.48, 34.14}, {18.20, 27.30}},
    {"VGG-Net", 552e6, {87.18, 75.24}, {44.16, 73.60}, {39.26, 58.88}},
};

const char *const cli_paper_notes[CLI_PAPER_NOTES] = {
    "B4's places are assumed: its authors do not say where the twelve sites are. Rates follow from "
    "distances, so B4's seconds cannot be those of the paper.",
    "The paper says neither the rates of its links nor how it makes them of distances. Here they "
    "are linear: 5000 Mbit/s for the shortest link, 500 for the longest. That its Internet2 is "
    "this one follows from 9 regions and 13 links alone; its 21.7 % is no target.",
    "All times are linear in the size of the model, so percentages are the same for all four. In "
    "the paper they differ by up to 14 points; it draws at random, which may be why.",
    "A random server and the most connected one have the best paths here, proven. What is saved is "
    "by the place alone; routing is figure 6.",
    "APSP is the paper's algorithm with one draw per flow, since its own may leave a flow without "
    "a path: the best of 100 draws of seed 1, for each server. Exact is proven to be the least.",
    "With the model hops a relay sends on when it has all, as in the paper. Relays of Strait "
    "stream, which is the model pipelined: it may rank places differently.",
};

double cli_paper_lower(uint32_t step)
{
    return 500.0 * (step + 1);
}

double cli_paper_less(double time, double than)
{
    double percent = (than - time) / than * 100;

    return fabs(percent) < 1e-7 ? 0 : percent;
}

/* Solve, and reckon again from the paths alone. */
static enum err paper_place(const struct plan_place_problem *problem,
                            const struct plan_place_effort *effort,
                            struct plan_place_answer *answer, struct err_text *text)
{
    enum err rc = plan_place_solve(problem, effort, answer, text);
    double time_s, usd;

    if (rc != OK) {
        return rc;
    }
    if (!plan_place_measure(problem, answer->server, answer->flows, answer->flows_count, &time_s,
                            &usd) ||
        fabs(time_s - answer->time_s) > time_s * PAPER_SAME ||
        (effort->method == PLAN_PLACE_EXACT && !answer->optimal)) {
        plan_place_answer_deinit(answer);
        return err_text_set(text, ERR_INVALID,
                            "the plan for %s does not take what it says, or is not proven",
                            problem->graph->name);
    }
    return OK;
}

/* One server, with its best paths. */
static void paper_enter(struct cli_paper_ways *w, const struct topo_graph *g, uint32_t server,
                        const struct plan_place_answer *a)
{
    uint32_t most = g->nodes[w->connected].degree, degree = g->nodes[server].degree;

    w->random_s += a->time_s / g->nodes_count;
    if (server == 0 || degree > most) {
        w->connected = server;
        w->connected_s = a->time_s;
        w->tie_mean_s = 0;
        w->tie_worst_s = 0;
        w->ties = 0;
    }
    if (degree == g->nodes[w->connected].degree) {
        w->ties++;
        w->tie_mean_s += a->time_s;
        w->tie_worst_s = fmax(w->tie_worst_s, a->time_s);
    }
    if (server == 0 || a->time_s < w->exact_s * (1 - PAPER_SAME)) {
        w->exact = server;
        w->exact_s = a->time_s;
        w->shortest_s = a->baselines.shortest_s;
        w->balanced_s = a->baselines.balanced_s;
    }
}

static enum err paper_ways(const struct topo_graph *g, double bytes, enum plan_place_model model,
                           struct cli_paper_ways *w, struct err_text *text)
{
    const struct plan_place_effort exact = {
        .method = PLAN_PLACE_EXACT, .draws = CLI_PAPER_DRAWS, .seed = 1};
    const struct plan_place_effort draws = {
        .method = PLAN_PLACE_ROUND, .draws = CLI_PAPER_DRAWS, .seed = 1, .plain = true};
    struct plan_place_problem problem = {.graph = g,
                                         .bytes = bytes,
                                         .model = model,
                                         .duplex = TOPO_DUPLEX_SHARED,
                                         .paths = PLAN_PLACE_ALL};
    struct plan_place_answer a;
    enum err rc = OK;

    for (uint32_t n = 0; n < g->nodes_count && rc == OK; n++) {
        problem.server = n;
        rc = paper_place(&problem, &exact, &a, text);
        if (rc == OK) {
            paper_enter(w, g, n, &a);
            plan_place_answer_deinit(&a);
        }
    }
    w->tie_mean_s /= w->ties > 0 ? w->ties : 1;
    for (uint32_t i = 0; i < 2 && rc == OK; i++) {
        problem.server = i == 0 ? PLAN_PLACE_NOWHERE : w->exact;
        rc = paper_place(&problem, &draws, &a, text);
        if (rc == OK) {
            w->apsp = i == 0 ? a.server : w->apsp;
            *(i == 0 ? &w->apsp_s : &w->routed_s) = a.time_s;
            plan_place_answer_deinit(&a);
        }
    }
    return rc;
}

struct paper_done {
    uint32_t count;
    void (*progress)(double part, void *user);
    void *user;
};

static void paper_count(struct paper_done *d)
{
    d->count++;
    d->progress((double)d->count / (CLI_PAPER_MAPS * (CLI_PAPER_NETS * 2 + CLI_PAPER_STEPS)),
                d->user);
}

static enum err paper_map(struct cli_paper_map *m, struct paper_done *done, struct err_text *text)
{
    struct topo_graph *swept = NULL;
    enum err rc = topo_known_graph(m->file, &m->graph, text);

    for (uint32_t i = 0; i < CLI_PAPER_NETS * 2 && rc == OK; i++) {
        rc = paper_ways(m->graph, cli_paper_nets[i / 2].bytes,
                        i % 2 == 0 ? PLAN_PLACE_HOPS : PLAN_PLACE_PIPELINED,
                        &m->table[i / 2][i % 2], text);
        paper_count(done);
    }
    rc = rc == OK ? topo_known_graph(m->file, &swept, text) : rc;
    for (uint32_t i = 0; i < CLI_PAPER_STEPS && rc == OK; i++) {
        topo_graph_by_distance(swept, PAPER_NEAR_MBPS, cli_paper_lower(i));
        rc = paper_ways(swept, cli_paper_nets[CLI_PAPER_SWEPT].bytes, PLAN_PLACE_HOPS, &m->sweep[i],
                        text);
        paper_count(done);
    }
    topo_graph_free(swept);
    return rc;
}

enum err cli_paper_solve(struct cli_paper *p, void (*progress)(double part, void *user), void *user,
                         struct err_text *text)
{
    struct paper_done done = {.progress = progress, .user = user};
    enum err rc = OK;

    *p = (struct cli_paper){.maps = {{.name = "B4", .file = "b4.json"},
                                     {.name = "Internet2", .file = "internet2.json"}}};
    for (uint32_t i = 0; i < CLI_PAPER_MAPS && rc == OK; i++) {
        rc = paper_map(&p->maps[i], &done, text);
    }
    return rc;
}

void cli_paper_deinit(struct cli_paper *p)
{
    for (uint32_t i = 0; i < CLI_PAPER_MAPS; i++) {
        topo_graph_free(p->maps[i].graph);
    }
}
