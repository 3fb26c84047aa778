/* Asking a running cluster for its links: one site by the command line, then all others whom it
 * names, at the same time. */

#ifndef CLI_PLAN_CLUSTER_ASK_H
#define CLI_PLAN_CLUSTER_ASK_H

#include "cli/command/context.h"
#include "cli/plan/cluster_links.h"

/* For the table of a command that has --join and the options of every command that asks a site
 * (cli/status/status.h, cli/member/security.h). */
#define CLUSTER_OPTION_ASSUME                                                                      \
    {                                                                                              \
        .name = "assume", .placeholder = "RATE", .kind = CLI_RATE, .min = 1000,                    \
        .max = INT64_C(1000000000000000),                                                          \
        .help = "the rate of links that are not measured yet, as in 100M; default: they are left " \
                "out"                                                                              \
    }

/* Ask the site of --join, and all others. Sites that cannot be reached, or say something else than
 * a site of that cluster would, are noted. CLI_DONE with *links_out, which the caller releases, or
 * the error is printed. */
enum cli_exit cluster_ask(struct cli_context *ctx, struct cluster_links **links_out);

/* The network of these links, with --assume; called as the address of --join. The error is
 * printed. */
enum cli_exit cluster_ask_graph(struct cli_context *ctx, const struct cluster_links *links,
                                struct topo_graph **graph_out);

#endif
