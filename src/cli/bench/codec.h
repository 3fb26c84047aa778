/* The second half of strait bench codec: ways to write an update, the paper's and ours. */

#ifndef CLI_BENCH_CODEC_H
#define CLI_BENCH_CODEC_H

#include "cli/command/context.h"

/* Measure each way at 80 % and 95 % zeros, @turns times, and print it. The result is for the answer
 * in JSON: "ways" and "costs_ps". NULL: *status says what was wrong, which was printed. */
json_t *bench_codec_ways(struct cli_context *ctx, uint32_t chunks, uint32_t turns,
                         enum cli_exit *status);

#endif
