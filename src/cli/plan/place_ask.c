/* strait plan place: from the command line and a network to a problem. */

#include "base/mem.h"
#include "base/nearest.h"
#include "cli/output/file.h"
#include "cli/plan/place.h"
#include "loop/clock.h"

#include <stdlib.h>
#include <string.h>

enum { ASK_COMMAS_MAX = 4 }; /* Of one name in a list. */

const char *cli_place_file(const char *argument)
{
    return strcmp(argument, "-") == 0 ? "standard input" : argument;
}

enum cli_exit cli_place_read(struct cli_context *ctx, const char *argument,
                             struct topo_graph **graph_out)
{
    struct err_text text = {"out of memory"};
    struct text bytes = {0};
    enum err rc = cli_file_read(argument, TOPO_GRAPH_FILE_BYTES_MAX, &bytes, &text);

    if (rc == OK) {
        rc = topo_graph_parse(cli_place_file(argument), bytes.chars, bytes.size, graph_out, &text);
        text_deinit(&bytes);
    }
    if (rc != OK) {
        return cli_error(ctx,
                         rc == ERR_NOT_FOUND || rc == ERR_IO ? CLI_ERROR_FILE
                         : rc == ERR_NOMEM                   ? CLI_ERROR_NO_MEMORY
                                                             : CLI_ERROR_TOPOLOGY,
                         NULL, "%s", text.text);
    }
    return CLI_DONE;
}

/* Regions by id or name. */

static bool ask_ambiguous(const struct topo_graph *g, const char *name)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < g->nodes_count; i++) {
        count += strcmp(g->nodes[i].name, name) == 0;
    }
    return count > 1;
}

static enum cli_exit ask_unknown(struct cli_place *p, const char *option, const char *id)
{
    const struct topo_graph *g = p->graph;
    struct nearest near;

    if (ask_ambiguous(g, id)) {
        return cli_error(p->ctx, CLI_ERROR_BAD_VALUE, NULL,
                         "--%s: several regions are called '%s': write the id", option, id);
    }
    nearest_init(&near, id);
    for (uint32_t i = 0; i < g->nodes_count; i++) {
        nearest_offer(&near, g->nodes[i].id);
    }
    for (uint32_t i = 0; i < g->nodes_count && near.best == NULL; i++) {
        if (strcmp(g->nodes[i].name, g->nodes[i].id) != 0) {
            struct nearest by_name;

            nearest_init(&by_name, id);
            nearest_offer(&by_name, g->nodes[i].name);
            near.best = by_name.best;
        }
    }
    return cli_error(p->ctx, CLI_ERROR_BAD_VALUE, NULL, "--%s: there is no region '%.128s': %s",
                     option, id, nearest_hint(&near, "the regions are"));
}

/* Finds one thing, a region or a link, by its text. */
typedef bool (*ask_find)(const struct topo_graph *g, char *chars, uint32_t *index_out);

static bool ask_find_node(const struct topo_graph *g, char *chars, uint32_t *index_out)
{
    return topo_graph_find(g, chars, index_out);
}

/* "A:B", where ids may have colons too. */
static bool ask_find_edge(const struct topo_graph *g, char *chars, uint32_t *index_out)
{
    for (char *colon = strchr(chars, ':'); colon != NULL; colon = strchr(colon + 1, ':')) {
        uint32_t a, b;
        bool found;

        *colon = '\0';
        found = topo_graph_find(g, chars, &a) && topo_graph_find(g, colon + 1, &b) && a != b &&
                topo_graph_edge(g, a, b, index_out);
        *colon = ':';
        if (found) {
            return true;
        }
    }
    return false;
}

/* The first thing of a list, which may have commas in its name: where the rest begins, or NULL. */
static char *ask_first(const struct topo_graph *g, char *list, ask_find find, uint32_t *index_out)
{
    char *comma = list;

    for (int i = 0; i < ASK_COMMAS_MAX && comma != NULL; i++) {
        bool found;

        comma = strchr(comma + (i > 0), ',');
        if (comma != NULL) {
            *comma = '\0';
        }
        found = find(g, list, index_out);
        if (found) {
            return comma == NULL ? list + strlen(list) : comma + 1;
        }
        if (comma != NULL) {
            *comma = ',';
        }
    }
    return NULL;
}

static enum cli_exit ask_no_link(struct cli_place *p, const char *option, char *item)
{
    uint32_t a, b;
    char *colon;

    item[strcspn(item, ",")] = '\0';
    colon = strchr(item, ':');
    if (colon == NULL) {
        return cli_error(p->ctx, CLI_ERROR_BAD_VALUE, NULL,
                         "--%s: '%s' is not a link: write its two regions as A:B", option, item);
    }
    *colon = '\0';
    if (!topo_graph_find(p->graph, item, &a)) {
        return ask_unknown(p, option, item);
    }
    if (!topo_graph_find(p->graph, colon + 1, &b)) {
        return ask_unknown(p, option, colon + 1);
    }
    return cli_error(p->ctx, CLI_ERROR_BAD_VALUE, NULL, "--%s: no link joins %s and %s", option,
                     p->labels[a].chars, p->labels[b].chars);
}

static enum cli_exit ask_mark_list(struct cli_place *p, const char *option, char *list,
                                   ask_find find, bool *marks)
{
    uint32_t index;

    for (char *rest; *list != '\0'; list = rest) {
        rest = ask_first(p->graph, list, find, &index);
        if (rest == NULL) {
            if (find == ask_find_edge) {
                return ask_no_link(p, option, list);
            }
            list[strcspn(list, ",")] = '\0';
            return ask_unknown(p, option, list);
        }
        marks[index] = true;
    }
    return CLI_DONE;
}

/* Mark what the values of an option name. *@marks stays NULL if it was not given. */
static enum cli_exit ask_marks(struct cli_place *p, const char *option, ask_find find, bool **marks)
{
    uint32_t count = find == ask_find_edge ? p->graph->edges_count : p->graph->nodes_count;
    enum cli_exit status = CLI_DONE;
    const char *value;

    for (size_t i = 0; status == CLI_DONE; i++) {
        char *copy;

        value = cli_text_at(p->ctx, option, i);
        if (value == NULL) {
            break;
        }
        copy = mem_strdup(value);
        if (*marks == NULL) {
            *marks = mem_calloc(count, sizeof(**marks));
        }
        if (copy == NULL || *marks == NULL) {
            status = cli_error(p->ctx, CLI_ERROR_NO_MEMORY, NULL, "out of memory");
        } else {
            status = ask_mark_list(p, option, copy, find, *marks);
        }
        mem_free(copy);
    }
    return status;
}

static enum cli_exit ask_regions(struct cli_place *p)
{
    const char *server = cli_text(p->ctx, "server");
    enum cli_exit status = CLI_DONE;

    p->problem.server = PLAN_PLACE_NOWHERE;
    if (server != NULL && !topo_graph_find(p->graph, server, &p->problem.server)) {
        status = ask_unknown(p, "server", server);
    }
    if (status == CLI_DONE) {
        status = ask_marks(p, "no-server", ask_find_node, &p->no_server);
    }
    if (status == CLI_DONE) {
        status = ask_marks(p, "no-relay", ask_find_node, &p->no_relay);
    }
    if (status == CLI_DONE) {
        status = ask_marks(p, "avoid", ask_find_edge, &p->no_edge);
    }
    if (status == CLI_DONE) {
        status = ask_marks(p, "only", ask_find_node, &p->silent);
    }
    for (uint32_t i = 0; i < p->graph->nodes_count && p->silent != NULL; i++) {
        p->silent[i] = !p->silent[i];
    }
    p->problem.no_server = p->no_server;
    p->problem.no_relay = p->no_relay;
    p->problem.no_edge = p->no_edge;
    p->problem.silent = p->silent;
    return status;
}

/* Figures. */

static enum cli_exit ask_paths(struct cli_place *p)
{
    const char *paths = cli_text(p->ctx, "paths");
    struct cli_value value;
    struct err_text why;

    p->problem.paths = PLAN_PLACE_AUTO;
    if (paths == NULL) {
        return CLI_DONE;
    }
    if (strcmp(paths, "all") == 0) {
        p->problem.paths = PLAN_PLACE_ALL;
        return CLI_DONE;
    }
    if (value_parse(CLI_NUMBER, NULL, 1, PLAN_ROUTES_K_MAX, paths, &value, &why) != OK) {
        return cli_error(p->ctx, CLI_ERROR_BAD_VALUE, NULL,
                         "--paths: \"%s\" %s; \"all\" is all simple paths", paths, why.text);
    }
    p->problem.paths = (uint32_t)value.number;
    return CLI_DONE;
}

/* "10%", or 0.1. */
static enum cli_exit ask_reserve(struct cli_place *p)
{
    const char *text = cli_text(p->ctx, "reserve");
    char *end;
    double part;

    if (text == NULL) {
        return CLI_DONE;
    }
    part = strtod(text, &end);
    if (end != text && strcmp(end, "%") == 0) {
        part /= 100;
        end++;
    }
    if (end == text || *end != '\0' || strpbrk(text, "xXnN") != NULL || !(part >= 0 && part < 1)) {
        return cli_error(p->ctx, CLI_ERROR_BAD_VALUE, NULL,
                         "--reserve: \"%s\" is not a part of a link: write 10%%, from 0%% to less "
                         "than 100%%",
                         text);
    }
    p->problem.reserve = part;
    return CLI_DONE;
}

static enum cli_exit ask_dollars(struct cli_place *p)
{
    bool dollars = strcmp(cli_text(p->ctx, "objective"), "dollars") == 0;
    double limit = cli_decimal(p->ctx, "usd-limit");

    p->problem.goal = dollars ? PLAN_PLACE_DOLLARS : PLAN_PLACE_TIME;
    p->problem.usd_limit = limit;
    if (cli_given(p->ctx, "usd-limit") && !(limit > 0 && limit < 1e15)) {
        return cli_error(p->ctx, CLI_ERROR_BAD_VALUE, NULL,
                         "--usd-limit: \"%s\" is not a price: it has to be above zero",
                         cli_text(p->ctx, "usd-limit"));
    }
    if (limit > 0 && dollars) {
        return cli_error(p->ctx, CLI_ERROR_SETTINGS, NULL,
                         "--usd-limit is for the least time within so many dollars; --objective "
                         "dollars finds the least dollars anyway");
    }
    return CLI_DONE;
}

static void ask_effort(struct cli_place *p)
{
    const char *method = cli_text(p->ctx, "method");
    const char *model = cli_text(p->ctx, "model");
    const char *duplex = cli_text(p->ctx, "duplex");
    int64_t limit_us = cli_number(p->ctx, "time");

    p->problem.graph = p->graph;
    p->problem.bytes = p->bytes;
    p->problem.model = strcmp(model, "hops") == 0 ? PLAN_PLACE_HOPS : PLAN_PLACE_PIPELINED;
    p->problem.duplex = duplex == NULL                  ? p->graph->duplex
                        : strcmp(duplex, "shared") == 0 ? TOPO_DUPLEX_SHARED
                                                        : TOPO_DUPLEX_FULL;
    p->effort = (struct plan_place_effort){
        .method = strcmp(method, "exact") == 0   ? PLAN_PLACE_EXACT
                  : strcmp(method, "round") == 0 ? PLAN_PLACE_ROUND
                                                 : PLAN_PLACE_LP,
        .draws = (uint32_t)cli_number(p->ctx, "draws"),
        .seed = (uint64_t)cli_number(p->ctx, "seed"),
        .left = cli_place_left,
        .spread = cli_place_spread,
        .user = p,
    };
    p->jobs =
        cli_given(p->ctx, "jobs") ? (uint32_t)cli_number(p->ctx, "jobs") : pool_jobs_default();
    p->limit_s = (double)limit_us * 1e-6;
}

/* What options contradict is theirs; what the file lacks is the file's. */
static enum cli_exit ask_check(struct cli_place *p)
{
    struct plan_place_problem timed = p->problem;
    struct err_text text = {""};

    timed.goal = PLAN_PLACE_TIME;
    timed.usd_limit = 0;
    if (plan_place_check(&timed, &text) != OK) {
        return cli_error(p->ctx, CLI_ERROR_SETTINGS, NULL, "%s", text.text);
    }
    if (plan_place_check(&p->problem, &text) != OK) {
        return cli_error(p->ctx, CLI_ERROR_TOPOLOGY, NULL, "%s: %s", p->file, text.text);
    }
    return CLI_DONE;
}

/* Names, with the id where several have the same. */
static enum cli_exit ask_labels(struct cli_place *p)
{
    const struct topo_graph *g = p->graph;

    p->labels = mem_calloc(g->nodes_count, sizeof(*p->labels));
    if (p->labels == NULL) {
        return cli_error(p->ctx, CLI_ERROR_NO_MEMORY, NULL, "out of memory");
    }
    for (uint32_t i = 0; i < g->nodes_count; i++) {
        const struct topo_node *n = &g->nodes[i];

        if (ask_ambiguous(g, n->name)) {
            (void)snprintf(p->labels[i].chars, sizeof(p->labels[i].chars), "%s (%s)", n->name,
                           n->id);
        } else {
            (void)strcpy(p->labels[i].chars, n->name);
        }
    }
    return CLI_DONE;
}

enum cli_exit cli_place_ask(struct cli_context *ctx, struct cli_place *p)
{
    enum cli_exit status;

    *p = (struct cli_place){.ctx = ctx, .shown = {.ctx = ctx}};
    status = cli_place_network(p);
    if (status == CLI_DONE) {
        status = ask_labels(p);
    }
    if (status == CLI_DONE) {
        ask_effort(p);
        status = ask_regions(p);
    }
    if (status == CLI_DONE) {
        status = ask_paths(p);
    }
    if (status == CLI_DONE) {
        status = ask_reserve(p);
    }
    if (status == CLI_DONE) {
        status = ask_dollars(p);
    }
    return status == CLI_DONE ? ask_check(p) : status;
}

void cli_place_deinit(struct cli_place *p)
{
    plan_place_answer_deinit(&p->answer);
    mem_free(p->used_mbps);
    mem_free(p->failures);
    mem_free(p->no_server);
    mem_free(p->silent);
    mem_free(p->no_relay);
    mem_free(p->no_edge);
    mem_free(p->labels);
    topo_graph_free(p->graph);
}
