/* strait plan links: the links of a running cluster, for people, and as a network to plan with. */

#include "base/text.h"
#include "cli/command/commands.h"
#include "cli/member/security.h"
#include "cli/output/file.h"
#include "cli/output/grid.h"
#include "cli/plan/cluster_ask.h"
#include "cli/status/status.h"

#include <stdlib.h>
#include <string.h>

enum { LINKS_SENTENCE_BYTES = 1024, LINKS_FIGURE_BYTES = 32 };

struct links_counts {
    uint32_t all;
    uint32_t measured;
    uint32_t unmeasured; /* But up. */
    uint32_t down;
    uint32_t unsaid;
};

static struct links_counts links_count(const struct cluster_links *c)
{
    struct links_counts n = {0};

    for (uint32_t a = 0; a < c->count; a++) {
        for (uint32_t b = a + 1; b < c->count; b++) {
            struct cluster_link link;

            if (!cluster_links_get(c, a, b, &link)) {
                continue;
            }
            n.all++;
            n.down += link.state == CLUSTER_DOWN;
            n.unsaid += link.state == CLUSTER_UNSAID;
            n.measured += link.state == CLUSTER_UP && link.bytes_per_s > 0;
            n.unmeasured += link.state == CLUSTER_UP && link.bytes_per_s == 0;
        }
    }
    return n;
}

/* The table. */

static const char *links_rate(uint64_t bytes_per_s, char out[LINKS_FIGURE_BYTES])
{
    double mbps = (double)bytes_per_s * 8e-6;

    if (bytes_per_s == 0) {
        return "-";
    }
    (void)snprintf(out, LINKS_FIGURE_BYTES, mbps < 1000 ? "%.4g" : "%.0f", mbps);
    return out;
}

static const char *links_rtt(uint64_t rtt_us, char out[LINKS_FIGURE_BYTES])
{
    if (rtt_us == 0) {
        return "-";
    }
    (void)snprintf(out, LINKS_FIGURE_BYTES, "%.3g", (double)rtt_us * 1e-3);
    return out;
}

static const char *links_state(const struct cluster_link *link)
{
    return link->state == CLUSTER_DOWN     ? "down"
           : link->state == CLUSTER_UNSAID ? "not known"
           : link->bytes_per_s > 0         ? "up"
                                           : "up, not measured yet";
}

static const char *links_who(const struct cluster_links *c, const struct cluster_link *link)
{
    if (link->by_a && link->by_b) {
        return "both";
    }
    if (link->by_a || link->by_b) {
        return c->sites[link->by_a ? link->a : link->b].name;
    }
    return link->by == CLUSTER_NOBODY ? "nobody" : c->sites[link->by].name;
}

static void links_row(const struct cluster_links *c, const struct cluster_link *link,
                      struct grid *g)
{
    char rate[LINKS_FIGURE_BYTES], rtt[LINKS_FIGURE_BYTES];

    grid_add(g, "%s", c->sites[link->a].name);
    grid_add(g, "%s", c->sites[link->b].name);
    grid_add(g, "%s", links_rate(link->bytes_per_s, rate));
    grid_add(g, "%s", links_rtt(link->rtt_us, rtt));
    grid_add(g, "%s", links_state(link));
    grid_add(g, "%s", links_who(c, link));
}

static void links_table(struct cli_context *ctx, const struct cluster_links *c)
{
    static const char *const headings[] = {"A", "B", "Mbit/s", "RTT ms", "state", "said by"};
    struct grid g;

    if (grid_init(&g, "llrrll") != OK) {
        return;
    }
    for (size_t i = 0; i < sizeof(headings) / sizeof(headings[0]); i++) {
        grid_add(&g, "%s", headings[i]);
    }
    for (uint32_t a = 0; a < c->count; a++) {
        for (uint32_t b = a + 1; b < c->count; b++) {
            struct cluster_link link;

            if (cluster_links_get(c, a, b, &link)) {
                links_row(c, &link, &g);
            }
        }
    }
    grid_print(ctx, &g);
    grid_deinit(&g);
}

/* The sentence below it. */

static void links_sentence(struct cli_context *ctx, const struct cluster_links *c)
{
    struct links_counts n = links_count(c);
    char chars[LINKS_SENTENCE_BYTES];
    struct text s;

    text_init_fixed(&s, chars, sizeof(chars));
    text_addf(&s, "%u sites, %u link%s", c->count, n.all, n.all == 1 ? "" : "s");
    if (n.measured == n.all) {
        text_add(&s, ", up and of known rate");
    } else {
        text_addf(&s, ": %u up and of known rate", n.measured);
    }
    if (n.unmeasured > 0) {
        text_addf(&s, ", %u up and not measured yet", n.unmeasured);
    }
    if (n.down > 0) {
        text_addf(&s, ", %u down", n.down);
    }
    if (n.unsaid > 0) {
        text_addf(&s, ", %u of which nobody who answered knows", n.unsaid);
    }
    text_add(&s, c->shared ? ". Both directions of a link share its rate."
                           : ". Each direction of a link has its rate; if they differ, the slower "
                             "one's is shown.");
    if (n.unmeasured + n.unsaid > 0 && !cli_given(ctx, "assume")) {
        text_add(&s, " Plans leave out what is not measured, unless --assume RATE says otherwise.");
    }
    cli_out(ctx, "\n");
    cli_wrap(ctx->out, chars, 0, 0, ctx->width);
}

static void links_next(struct cli_context *ctx)
{
    const char *path = cli_text(ctx, "output");
    const char *cert = cli_text(ctx, "cert");
    char how[LINKS_SENTENCE_BYTES];
    struct text s;

    if (path != NULL) {
        cli_next(ctx, "strait plan place %s --bytes SIZE", path);
        return;
    }
    text_init_fixed(&s, how, sizeof(how));
    for (unsigned i = 0; i < security_insecure(ctx); i++) {
        text_add(&s, " --insecure");
    }
    if (cert != NULL) {
        text_addf(&s, " --cert %s", cert);
    }
    cli_next(ctx, "strait plan place --join %s%s", cli_text(ctx, "join"), how);
}

/* The file. */

static json_t *links_json(struct cli_context *ctx, const struct topo_graph *g)
{
    char source[LINKS_SENTENCE_BYTES];
    struct text s;

    text_init_fixed(&s, source, sizeof(source));
    text_add(&s, "what the sites of a running cluster say of their links, asked by way of ");
    text_add_printable(&s, cli_text(ctx, "join"));
    return cluster_links_json(g, source);
}

static enum cli_exit links_write(struct cli_context *ctx, const char *path,
                                 const struct topo_graph *g)
{
    json_t *object = links_json(ctx, g);
    char *text =
        object == NULL ? NULL : json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    struct err_text why = {""};
    struct text file;
    enum err rc = text == NULL ? ERR_NOMEM : text_init(&file, TOPO_GRAPH_FILE_BYTES_MAX);

    if (rc == OK) {
        text_addf(&file, "%s\n", text);
        rc = file.failed ? ERR_NOMEM : cli_file_write(path, file.chars, file.size, &why);
        text_deinit(&file);
    }
    free(text);
    json_decref(object);
    return rc == OK ? CLI_DONE
           : rc == ERR_NOMEM
               ? cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "out of memory")
               : cli_error(ctx, CLI_ERROR_FILE, NULL, "the network was not written: %s", why.text);
}

/* As a network: printed, written, or both. */
static enum cli_exit links_network(struct cli_context *ctx, const struct cluster_links *c)
{
    const char *path = cli_text(ctx, "output");
    struct topo_graph *g = NULL;
    enum cli_exit status = cluster_ask_graph(ctx, c, &g);

    for (uint32_t i = 0; status == CLI_DONE && i < g->notes_count; i++) {
        cli_note(ctx, "note: %s", g->notes[i]);
    }
    if (status == CLI_DONE && path != NULL && strcmp(path, "-") != 0) {
        status = links_write(ctx, path, g);
    }
    if (status == CLI_DONE && (ctx->json || (path != NULL && strcmp(path, "-") == 0))) {
        status = cli_json(ctx, links_json(ctx, g));
    }
    topo_graph_free(g);
    return status;
}

static enum cli_exit links_run(struct cli_context *ctx)
{
    const char *path = cli_text(ctx, "output");
    bool table = !ctx->json && (path == NULL || strcmp(path, "-") != 0);
    struct cluster_links *c = NULL;
    enum cli_exit status = cluster_ask(ctx, &c);

    if (status == CLI_DONE && table) {
        links_table(ctx, c);
        links_sentence(ctx, c);
    }
    if (status == CLI_DONE && (ctx->json || path != NULL)) {
        status = links_network(ctx, c);
    }
    if (status == CLI_DONE && table) {
        links_next(ctx);
    }
    cluster_links_destroy(c);
    return status;
}

const struct cli_command cli_command_plan_links = {
    .path = "plan links",
    .summary = "show the links of a running cluster, to plan with",
    .paragraphs =
        (const char *const[]){
            "Asks a site, and then all others whom it names, what they know of the links between "
            "them: whether they are up, what they carry, and how long a round trip takes. Sites "
            "measure their links by what they send, so nothing is sent for this. Sites that cannot "
            "be asked are noted.",
            "With --json, or in the file of --output, it is a network as \"strait plan place\" "
            "reads it. Links that are down are not in it, nor are those that are not measured yet, "
            "unless --assume gives them a rate; what is left out is said.",
            "You take part as an operator: with certificates, one of the role operator is needed.",
            NULL},
    .options = (const struct cli_option[]){STATUS_OPTION_JOIN,
                                           STATUS_OPTION_CERT,
                                           SECURITY_OPTION_NAME,
                                           SECURITY_OPTION_INSECURE,
                                           STATUS_OPTION_TIMEOUT,
                                           CLUSTER_OPTION_ASSUME,
                                           {.name = "output",
                                            .letter = 'o',
                                            .placeholder = "FILE",
                                            .kind = CLI_FILE,
                                            .help = "write the network to a file; - for standard "
                                                    "output, without the table"},
                                           {0}},
    .examples =
        (const struct cli_example[]){
            {"strait plan links --join tls://s0.example.org:7400 --cert certs",
             "with your certificate"},
            {"strait plan links --join 127.0.0.1:7400 --insecure -o net.json",
             "keep them as a file, to change it and plan with it"},
            {"strait plan links --join 127.0.0.1:7400 --insecure --assume 100M --json",
             "with a guess where nothing is measured"},
            {0}},
    .run = links_run,
};
