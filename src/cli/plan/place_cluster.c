/* strait plan place: where the network comes from, a file or a running cluster. */

#include "base/figure.h"
#include "base/mem.h"
#include "cli/plan/cluster_ask.h"
#include "cli/plan/place.h"
#include "topo/graph_build.h"

#include <string.h>

enum { NETWORK_NAMES_BYTES = 100 };

/* What is needed to ask a cluster says nothing about a file. */
static enum cli_exit network_check_file(struct cli_context *ctx)
{
    static const char *const theirs[] = {"cert", "name", "insecure", "timeout", "assume"};

    for (size_t i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++) {
        if (cli_given(ctx, theirs[i])) {
            return cli_error(ctx, CLI_ERROR_SETTINGS, "strait help plan place",
                             "--%s is for --join, and there is a file: leave it away", theirs[i]);
        }
    }
    if (!cli_given(ctx, "bytes")) {
        return cli_error(ctx, CLI_ERROR_MISSING_ARGUMENT, "strait help plan place",
                         "plan place: missing option --bytes SIZE: what each region pushes, and "
                         "pulls: the size of the model");
    }
    return CLI_DONE;
}

/* What the cluster's model has. */
static enum cli_exit network_bytes(struct cli_place *p, const struct cluster_links *links)
{
    uint64_t bytes = cluster_links_bytes(links);
    char chars[64];
    struct text size;

    if (cli_given(p->ctx, "bytes")) {
        p->bytes = (double)cli_number(p->ctx, "bytes");
        return CLI_DONE;
    }
    if (bytes == 0) {
        return cli_error(p->ctx, CLI_ERROR_SETTINGS, NULL,
                         "%s: nobody who answered has a whole model yet: say its size with --bytes",
                         p->file);
    }
    p->bytes = (double)bytes;
    text_init_fixed(&size, chars, sizeof(chars));
    figure_bytes(bytes, &size);
    topo_graph_note(p->graph, "%s %s, so that is planned for; --bytes says otherwise",
                    links->round_bytes > 0
                        ? "a round of the sites has"
                        : "the tables of a site, with the state of their optimiser, have",
                    chars);
    return CLI_DONE;
}

/* Mark those whom the operator has told the sites not to use so, and say whom. */
static void network_rule(struct cli_place *p, const struct cluster_links *links, bool relay,
                         bool *marks)
{
    char chars[NETWORK_NAMES_BYTES];
    struct text names;
    uint32_t node;

    text_init_fixed(&names, chars, sizeof(chars));
    for (uint32_t i = 0; i < links->count; i++) {
        const struct cluster_site *s = &links->sites[i];

        if ((relay ? s->no_relay : s->no_centre) && topo_graph_find(p->graph, s->name, &node)) {
            marks[node] = true;
            text_addf(&names, "%s%s", names.size == 0 ? "" : ", ", s->name);
        }
    }
    if (names.size > 0) {
        topo_graph_note(p->graph, "the sites are told who may not %s: %s%s",
                        relay ? "pass on what is for others" : "be the centre", chars,
                        names.failed ? " and others" : "");
    }
}

static enum cli_exit network_rules(struct cli_place *p, const struct cluster_links *links)
{
    p->no_server = mem_calloc(p->graph->nodes_count, sizeof(*p->no_server));
    p->no_relay = mem_calloc(p->graph->nodes_count, sizeof(*p->no_relay));
    if (p->no_server == NULL || p->no_relay == NULL) {
        return cli_error(p->ctx, CLI_ERROR_NO_MEMORY, NULL, "out of memory");
    }
    network_rule(p, links, false, p->no_server);
    network_rule(p, links, true, p->no_relay);
    if (links->reserve > 0 && cli_text(p->ctx, "reserve") == NULL) {
        p->problem.reserve = links->reserve;
        topo_graph_note(p->graph, "the sites are told to leave %g%% of each link to others",
                        links->reserve * 100);
    }
    return CLI_DONE;
}

static enum cli_exit network_of_cluster(struct cli_place *p)
{
    struct cluster_links *links = NULL;
    enum cli_exit status = cluster_ask(p->ctx, &links);

    if (status == CLI_DONE) {
        status = cluster_ask_graph(p->ctx, links, &p->graph);
    }
    if (status == CLI_DONE) {
        status = network_bytes(p, links);
    }
    if (status == CLI_DONE) {
        status = network_rules(p, links);
    }
    cluster_links_destroy(links);
    return status;
}

enum cli_exit cli_place_network(struct cli_place *p)
{
    const char *file = cli_argument(p->ctx, 0), *join = cli_text(p->ctx, "join");
    enum cli_exit status;

    if (file == NULL && join == NULL) {
        return cli_error(
            p->ctx, CLI_ERROR_MISSING_ARGUMENT, "strait help plan place",
            "plan place: missing argument TOPOLOGY: the network; or --join ADDRESS for "
            "that of a running cluster");
    }
    if (file != NULL && join != NULL) {
        return cli_error(p->ctx, CLI_ERROR_SETTINGS, "strait help plan place",
                         "--join %s: the network is that of %s already: leave one of the two out",
                         join, cli_place_file(file));
    }
    if (join != NULL) {
        p->file = join;
        return network_of_cluster(p);
    }
    p->file = cli_place_file(file);
    p->bytes = (double)cli_number(p->ctx, "bytes");
    status = network_check_file(p->ctx);
    return status == CLI_DONE ? cli_place_read(p->ctx, file, &p->graph) : status;
}
