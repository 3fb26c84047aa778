/* strait sim: the part that is in another file. */

#ifndef CLI_SIM_H
#define CLI_SIM_H

#include "cli/context.h"

/* Fleets from @seed on, as the options say. */
enum cli_exit cli_sim_fleet(struct cli_context *ctx, uint64_t seed);

#endif
