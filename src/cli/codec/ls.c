/* strait codec ls: what chains are made of. */

#include "cli/command/commands.h"
#include "cli/command/context.h"
#include "codec/chain.h"

enum { LS_INDENT = 17 };

static enum cli_exit ls_json(struct cli_context *ctx)
{
    json_t *list = json_array();

    for (const struct codec_word *w = codec_words; w->name != NULL; w++) {
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "stage",
                                              codec_stage_name(w->stage), "name", w->name,
                                              "written", w->written, "meaning", w->meaning));
    }
    return cli_json(ctx, json_pack("{s:o}", "words", list));
}

static enum cli_exit ls_run(struct cli_context *ctx)
{
    enum codec_stage stage = CODEC_STAGE_NONE;

    if (ctx->json) {
        return ls_json(ctx);
    }
    for (const struct codec_word *w = codec_words; w->name != NULL; w++) {
        if (w->stage != stage) {
            cli_out(ctx, "%s%s%s%s\n", stage == CODEC_STAGE_NONE ? "" : "\n",
                    cli_style(ctx->color_out, CLI_HEADING), codec_stage_name(w->stage),
                    cli_style(ctx->color_out, CLI_PLAIN));
            stage = w->stage;
        }
        cli_out(ctx, "  %s%-*s%s", cli_style(ctx->color_out, CLI_NAME), LS_INDENT - 2, w->written,
                cli_style(ctx->color_out, CLI_PLAIN));
        cli_wrap(ctx->out, w->meaning, LS_INDENT, LS_INDENT, ctx->width);
    }
    cli_out(ctx, "\n");
    cli_wrap(ctx->out,
             "A chain is cut | form | f16 | squeeze, each optional. For delta=D there may be "
             "low=L,up=U: two thresholds, between which the network chooses.",
             0, 0, ctx->width);
    return CLI_DONE;
}

const struct cli_command cli_command_codec_ls = {
    .path = "codec ls",
    .summary = "list the stages of chains, and what they mean",
    .examples = (const struct cli_example[]){{"strait codec ls", "find the name of a stage"}, {0}},
    .run = ls_run,
};
