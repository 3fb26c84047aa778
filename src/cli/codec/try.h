/* What the parts of strait codec try share. */

#ifndef CLI_CODEC_TRY_H
#define CLI_CODEC_TRY_H

#include "cli/command/context.h"
#include "run/updates/replay.h"

/* A chain at one of its thresholds, and what came of it. */
struct codec_try {
    struct run_replay_config config;
    const char *which; /* "low" or "up" if it has two thresholds, else NULL. */
    char name[CODEC_CHAIN_TEXT_BYTES + 16];
    uint64_t clocks;
    struct run_replay_clock total;
    json_t *list; /* With --json: of its clocks. */
};

/* The table of clocks: its head, and a line. */
void codec_try_head(struct cli_context *ctx, const struct codec_try *t);
void codec_try_line(struct cli_context *ctx, const struct run_replay_clock *c);

/* What came of it, in words. */
void codec_try_total(struct cli_context *ctx, const struct codec_try *t);

/* Several, one line for each, beside the first. */
void codec_try_compare(struct cli_context *ctx, const struct codec_try *tries, uint32_t count);

json_t *codec_try_clock_json(const struct run_replay_clock *c);
json_t *codec_try_json(struct codec_try *t); /* Takes the list over. */

#endif
