/* The figures of the paper on APSP: for people, for programs, and as CSV. */

#include "base/text.h"
#include "cli/plan/paper.h"

#include <math.h>

enum { VIEW_CELL_BYTES = 48 };

static const char *const view_models[] = {"hops", "pipelined"};

static const char *view_name(const struct cli_paper_map *m, uint32_t node)
{
    return m->graph->nodes[node].name;
}

/* For people. */

/* "11.00 (14.40)", the paper's in brackets; below zero: it has none. */
static void view_cell(struct cli_context *ctx, double ours, double paper)
{
    char cell[VIEW_CELL_BYTES];

    if (paper >= 0) {
        (void)snprintf(cell, sizeof(cell), "%.2f (%.2f)", ours, paper);
    } else {
        (void)snprintf(cell, sizeof(cell), "%.2f", ours);
    }
    cli_out(ctx, "  %13s", cell);
}

static void view_row(struct cli_context *ctx, const struct cli_paper_ways *w, uint32_t map,
                     uint32_t net, bool paper)
{
    const struct cli_paper_net *n = &cli_paper_nets[net];

    cli_out(ctx, "  %-10s %3.0f MB", n->name, n->bytes * 1e-6);
    view_cell(ctx, w->random_s, paper ? n->random_s[map] : -1);
    view_cell(ctx, w->connected_s, paper ? n->connected_s[map] : -1);
    view_cell(ctx, w->apsp_s, paper ? n->apsp_s[map] : -1);
    cli_out(ctx, "  %7.2f\n", w->exact_s);
}

/* The least and the most that the paper's APSP saves of another way. */
static void view_range(uint32_t map, bool random, double *low, double *high)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (uint32_t i = 0; i < CLI_PAPER_NETS; i++) {
        const struct cli_paper_net *n = &cli_paper_nets[i];
        double than = random ? n->random_s[map] : n->connected_s[map];

        *low = fmin(*low, cli_paper_less(n->apsp_s[map], than));
        *high = fmax(*high, cli_paper_less(n->apsp_s[map], than));
    }
}

static void view_saved(struct cli_context *ctx, const struct cli_paper_map *m, uint32_t map,
                       uint32_t model)
{
    const struct cli_paper_ways *w = &m->table[CLI_PAPER_SWEPT][model];
    double low, high;

    cli_out(ctx, "  The server goes to %s: %.1f %% less than a random one", view_name(m, w->exact),
            cli_paper_less(w->exact_s, w->random_s));
    view_range(map, true, &low, &high);
    if (model == PLAN_PLACE_HOPS) {
        cli_out(ctx, " (paper: %.1f to %.1f %%)", low, high);
    }
    cli_out(ctx, ",\n  %.1f %% less than the most connected, %s",
            cli_paper_less(w->exact_s, w->connected_s), view_name(m, w->connected));
    view_range(map, false, &low, &high);
    if (model == PLAN_PLACE_HOPS) {
        cli_out(ctx, " (%.1f to %.1f %%)", low, high);
    }
    if (w->ties > 1) {
        cli_out(ctx,
                ",\n  %.1f %% less than the mean of all %u with as many links, %.1f %% less "
                "than the worst",
                cli_paper_less(w->exact_s, w->tie_mean_s), w->ties,
                cli_paper_less(w->exact_s, w->tie_worst_s));
    }
    cli_out(ctx, ".\n\n");
}

static void view_table(struct cli_context *ctx, const struct cli_paper *p)
{
    for (uint32_t i = 0; i < CLI_PAPER_MAPS; i++) {
        const struct cli_paper_map *m = &p->maps[i];

        for (uint32_t model = 0; model < 2; model++) {
            cli_out(ctx, "%s, model %s: seconds for a push and pull%s\n\n", m->name,
                    view_models[model], model == PLAN_PLACE_HOPS ? ", and the paper's" : "");
            cli_out(ctx, "  %-17s  %13s  %13s  %13s  %7s\n", "", "random", "most linked", "APSP",
                    "exact");
            for (uint32_t net = 0; net < CLI_PAPER_NETS; net++) {
                view_row(ctx, &m->table[net][model], i, net, model == PLAN_PLACE_HOPS);
            }
            cli_out(ctx, "\n");
            view_saved(ctx, m, i, model);
        }
    }
}

static void view_sweep(struct cli_context *ctx, const struct cli_paper *p)
{
    for (uint32_t i = 0; i < CLI_PAPER_MAPS; i++) {
        const struct cli_paper_map *m = &p->maps[i];

        cli_out(ctx, "%s, figures 5 and 6: ResNet152, rates of %.0f down to the least Mbit/s\n\n",
                m->name, TOPO_GRAPH_NEAR_MBPS);
        cli_out(ctx, "  least  random  most linked   APSP  exact  at           shortest  balanced  "
                     "APSP there\n");
        for (uint32_t k = 0; k < CLI_PAPER_STEPS; k++) {
            const struct cli_paper_ways *w = &m->sweep[k];

            cli_out(ctx, "  %5.0f  %6.2f  %11.2f  %5.2f  %5.2f  %-11s  %8.2f  %8.2f  %10.2f\n",
                    cli_paper_lower(k), w->random_s, w->connected_s, w->apsp_s, w->exact_s,
                    view_name(m, w->exact), w->shortest_s, w->balanced_s, w->routed_s);
        }
        cli_out(ctx, "\n");
    }
}

void cli_paper_view(struct cli_context *ctx, const struct cli_paper *p)
{
    view_table(ctx, p);
    view_sweep(ctx, p);
    for (uint32_t i = 0; i < CLI_PAPER_NOTES; i++) {
        cli_out(ctx, "- ");
        cli_wrap(ctx->out, cli_paper_notes[i], 2, 2, ctx->width);
    }
}

/* For programs. */

static json_t *view_ways(const struct cli_paper_map *m, const struct cli_paper_ways *w)
{
    return json_pack("{s:f, s:{s:s, s:f, s:I, s:f, s:f}, s:{s:s, s:f}, s:{s:s, s:f}}", "random_s",
                     w->random_s, "most_connected", "server", view_name(m, w->connected), "time_s",
                     w->connected_s, "ties", (json_int_t)w->ties, "tie_mean_s", w->tie_mean_s,
                     "tie_worst_s", w->tie_worst_s, "apsp", "server", view_name(m, w->apsp),
                     "time_s", w->apsp_s, "exact", "server", view_name(m, w->exact), "time_s",
                     w->exact_s);
}

static json_t *view_routing(const struct cli_paper_map *m, const struct cli_paper_ways *w)
{
    return json_pack("{s:s, s:f, s:f, s:f, s:f}", "server", view_name(m, w->exact),
                     "shortest_path_s", w->shortest_s, "load_balancing_s", w->balanced_s, "apsp_s",
                     w->routed_s, "exact_s", w->exact_s);
}

static json_t *view_json_table(const struct cli_paper_map *m, uint32_t map)
{
    json_t *rows = json_array();

    for (uint32_t i = 0; i < CLI_PAPER_NETS; i++) {
        const struct cli_paper_net *n = &cli_paper_nets[i];

        if (json_array_append_new(
                rows,
                json_pack("{s:s, s:f, s:o, s:o, s:{s:f, s:f, s:f}}", "model", n->name, "bytes",
                          n->bytes, "hops", view_ways(m, &m->table[i][PLAN_PLACE_HOPS]),
                          "pipelined", view_ways(m, &m->table[i][PLAN_PLACE_PIPELINED]), "paper",
                          "random_s", n->random_s[map], "most_connected_s", n->connected_s[map],
                          "apsp_s", n->apsp_s[map])) != 0) {
            json_decref(rows);
            return NULL;
        }
    }
    return rows;
}

static json_t *view_json_sweep(const struct cli_paper_map *m)
{
    json_t *rows = json_array();

    for (uint32_t i = 0; i < CLI_PAPER_STEPS; i++) {
        if (json_array_append_new(rows,
                                  json_pack("{s:f, s:o, s:o}", "lower_mbps", cli_paper_lower(i),
                                            "placing", view_ways(m, &m->sweep[i]), "routing",
                                            view_routing(m, &m->sweep[i]))) != 0) {
            json_decref(rows);
            return NULL;
        }
    }
    return rows;
}

json_t *cli_paper_json(const struct cli_paper *p)
{
    json_t *maps = json_array(), *notes = json_array();
    int failed = 0;

    for (uint32_t i = 0; i < CLI_PAPER_MAPS; i++) {
        const struct cli_paper_map *m = &p->maps[i];

        failed |= json_array_append_new(
            maps, json_pack("{s:s, s:s, s:I, s:I, s:o, s:o}", "topology", m->name, "file", m->file,
                            "regions", (json_int_t)m->graph->nodes_count, "links",
                            (json_int_t)m->graph->edges_count, "table3", view_json_table(m, i),
                            "sweep", view_json_sweep(m)));
    }
    for (uint32_t i = 0; i < CLI_PAPER_NOTES; i++) {
        failed |= json_array_append_new(notes, json_string(cli_paper_notes[i]));
    }
    if (failed != 0) {
        json_decref(maps);
        json_decref(notes);
        return NULL;
    }
    return json_pack("{s:I, s:I, s:o, s:o}", "draws", (json_int_t)CLI_PAPER_DRAWS, "seed",
                     (json_int_t)1, "topologies", maps, "notes", notes);
}

/* Files. */

void cli_paper_table3(const struct cli_paper *p, struct text *out)
{
    text_add(out, "topology,model,bytes,reckoning,random_s,most_connected,most_connected_s,ties,"
                  "tie_mean_s,tie_worst_s,apsp,apsp_s,exact,exact_s,less_than_random_percent,"
                  "less_than_most_connected_percent,paper_random_s,paper_most_connected_s,"
                  "paper_apsp_s\n");
    for (uint32_t i = 0; i < CLI_PAPER_MAPS * CLI_PAPER_NETS * 2; i++) {
        uint32_t map = i / (CLI_PAPER_NETS * 2), model = i / CLI_PAPER_NETS % 2;
        const struct cli_paper_net *n = &cli_paper_nets[i % CLI_PAPER_NETS];
        const struct cli_paper_map *m = &p->maps[map];
        const struct cli_paper_ways *w = &m->table[i % CLI_PAPER_NETS][model];

        text_addf(out, "%s,%s,%.0f,%s,%.6f,%s,%.6f,%u,%.6f,%.6f,%s,%.6f,%s,%.6f,%.3f,%.3f", m->name,
                  n->name, n->bytes, view_models[model], w->random_s, view_name(m, w->connected),
                  w->connected_s, w->ties, w->tie_mean_s, w->tie_worst_s, view_name(m, w->apsp),
                  w->apsp_s, view_name(m, w->exact), w->exact_s,
                  cli_paper_less(w->exact_s, w->random_s),
                  cli_paper_less(w->exact_s, w->connected_s));
        if (model == PLAN_PLACE_HOPS) {
            text_addf(out, ",%.2f,%.2f,%.2f\n", n->random_s[map], n->connected_s[map],
                      n->apsp_s[map]);
        } else {
            text_add(out, ",,,\n");
        }
    }
}

void cli_paper_fig4(const struct cli_paper *p, struct text *out)
{
    text_add(out, "topology,model,way,seconds,paper_seconds\n");
    for (uint32_t i = 0; i < CLI_PAPER_MAPS * CLI_PAPER_NETS; i++) {
        uint32_t map = i / CLI_PAPER_NETS;
        const struct cli_paper_net *n = &cli_paper_nets[i % CLI_PAPER_NETS];
        const struct cli_paper_ways *w = &p->maps[map].table[i % CLI_PAPER_NETS][PLAN_PLACE_HOPS];
        const char *name = p->maps[map].name;

        text_addf(out, "%s,%s,random,%.6f,%.2f\n", name, n->name, w->random_s, n->random_s[map]);
        text_addf(out, "%s,%s,most_connected,%.6f,%.2f\n", name, n->name, w->connected_s,
                  n->connected_s[map]);
        text_addf(out, "%s,%s,apsp,%.6f,%.2f\n", name, n->name, w->apsp_s, n->apsp_s[map]);
        text_addf(out, "%s,%s,exact,%.6f,\n", name, n->name, w->exact_s);
    }
}

void cli_paper_fig5(const struct cli_paper *p, struct text *out)
{
    text_add(out, "topology,lower_mbps,random_s,most_connected,most_connected_s,ties,tie_mean_s,"
                  "tie_worst_s,apsp,apsp_s,exact,exact_s\n");
    for (uint32_t i = 0; i < CLI_PAPER_MAPS * CLI_PAPER_STEPS; i++) {
        const struct cli_paper_map *m = &p->maps[i / CLI_PAPER_STEPS];
        const struct cli_paper_ways *w = &m->sweep[i % CLI_PAPER_STEPS];

        text_addf(out, "%s,%.0f,%.6f,%s,%.6f,%u,%.6f,%.6f,%s,%.6f,%s,%.6f\n", m->name,
                  cli_paper_lower(i % CLI_PAPER_STEPS), w->random_s, view_name(m, w->connected),
                  w->connected_s, w->ties, w->tie_mean_s, w->tie_worst_s, view_name(m, w->apsp),
                  w->apsp_s, view_name(m, w->exact), w->exact_s);
    }
}

void cli_paper_fig6(const struct cli_paper *p, struct text *out)
{
    text_add(out, "topology,lower_mbps,server,shortest_path_s,load_balancing_s,apsp_s,exact_s\n");
    for (uint32_t i = 0; i < CLI_PAPER_MAPS * CLI_PAPER_STEPS; i++) {
        const struct cli_paper_map *m = &p->maps[i / CLI_PAPER_STEPS];
        const struct cli_paper_ways *w = &m->sweep[i % CLI_PAPER_STEPS];

        text_addf(out, "%s,%.0f,%s,%.6f,%.6f,%.6f,%.6f\n", m->name,
                  cli_paper_lower(i % CLI_PAPER_STEPS), view_name(m, w->exact), w->shortest_s,
                  w->balanced_s, w->routed_s, w->exact_s);
    }
}
