/* strait sim: the parts that are in other files. */

#ifndef CLI_SIM_SIM_H
#define CLI_SIM_SIM_H

#include "cli/command/context.h"

/* Fleets, feeds, convoys from @seed on, as the options say. */
enum cli_exit cli_sim_fleet(struct cli_context *ctx, uint64_t seed);
enum cli_exit cli_sim_feed(struct cli_context *ctx, uint64_t seed);
enum cli_exit cli_sim_convoy(struct cli_context *ctx, uint64_t seed);

/* Seeds one after the other, as many as the options say, until one does not end well. */
struct cli_seeds {
    const char *what; /* "fleets" */
    enum cli_exit (*one)(struct cli_context *ctx, uint64_t seed, bool trace, void *user);
    enum cli_exit (*report)(struct cli_context *ctx, uint64_t seed, int64_t took_ns, void *user);
    void *user;
};
enum cli_exit cli_sim_seeds(struct cli_context *ctx, uint64_t seed, const struct cli_seeds *seeds);

/* How often each fault happened: by its kind; on a line. */
json_t *cli_sim_faults_json(const uint64_t *fired);
void cli_sim_faults_line(struct cli_context *ctx, const uint64_t *fired);

/* An invariant did not hold: say which, and how to see it again. @what: "--fleet" */
enum cli_exit cli_sim_broken(struct cli_context *ctx, const char *what, uint64_t seed,
                             const char *verdict, const char *about);

#endif
