/* strait doctor: is this machine ready to train? */

#include "cli/doctor.h"

#include "cli/commands.h"

#include <stdarg.h>

enum { DOCTOR_COLUMN = 26 };

static const char *const doctor_words[] = {"ok", "warn", "fail"};

void doctor_report(struct doctor *d, enum doctor_verdict verdict, const char *check,
                   const char *remedy, const char *fmt, ...)
{
    static const enum cli_style styles[] = {CLI_GOOD, CLI_DOUBTFUL, CLI_BAD};
    struct cli_context *ctx = d->ctx;
    char found[512];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(found, sizeof(found), fmt, args);
    va_end(args);
    d->counts[verdict]++;
    if (d->list != NULL) {
        json_array_append_new(d->list, json_pack("{s:s, s:s, s:s+, s:s?}", "check", check,
                                                 "verdict", doctor_words[verdict], "found", found,
                                                 "", "remedy", remedy));
        return;
    }
    if (ctx->quiet && verdict == DOCTOR_OK) {
        return;
    }
    cli_out(ctx, "  %s%-4s%s  %-16s  ", cli_style(ctx->color_out, styles[verdict]),
            doctor_words[verdict], cli_style(ctx->color_out, CLI_PLAIN), check);
    cli_wrap(ctx->out, found, DOCTOR_COLUMN, DOCTOR_COLUMN, ctx->width);
    if (remedy != NULL) {
        cli_out(ctx, "%*s%sdo:%s ", DOCTOR_COLUMN, "", cli_style(ctx->color_out, CLI_FAINT),
                cli_style(ctx->color_out, CLI_PLAIN));
        cli_wrap(ctx->out, remedy, DOCTOR_COLUMN + 4, DOCTOR_COLUMN + 4, ctx->width);
    }
    cli_flush(ctx);
}

static enum cli_exit doctor_run(struct cli_context *ctx)
{
    struct doctor d = {.ctx = ctx, .list = ctx->json ? json_array() : NULL};
    const char *dir;

    doctor_machine(&d);
    doctor_net(&d, cli_text(ctx, "address"));
    for (size_t i = 0; (dir = cli_text_at(ctx, "cert", i)) != NULL; i++) {
        doctor_certs(&d, dir);
    }
    if (ctx->json) {
        enum cli_exit status = cli_json(
            ctx, json_pack("{s:b, s:i, s:i, s:i, s:o}", "ready", (int)(d.counts[DOCTOR_FAIL] == 0),
                           "ok", (int)d.counts[DOCTOR_OK], "warn", (int)d.counts[DOCTOR_WARN],
                           "fail", (int)d.counts[DOCTOR_FAIL], "checks", d.list));

        return status != CLI_DONE || d.counts[DOCTOR_FAIL] > 0 ? CLI_FAILED : CLI_DONE;
    }
    cli_out(ctx, "\n%u ok, %u warnings, %u failures: %s\n", d.counts[DOCTOR_OK],
            d.counts[DOCTOR_WARN], d.counts[DOCTOR_FAIL],
            d.counts[DOCTOR_FAIL] > 0 ? "not ready" : "ready");
    return d.counts[DOCTOR_FAIL] > 0 ? CLI_FAILED : CLI_DONE;
}

const struct cli_command cli_command_doctor = {
    .path = "doctor",
    .summary = "check this machine before training",
    .group = CLI_GROUP_HELP,
    .paragraphs =
        (const char *const[]){
            "Each check says ok, warn or fail, what it found, and what to do. Nothing is changed, "
            "and nothing is sent to other machines. With --quiet only what is not ok is shown. "
            "Exit "
            "status 1 if a check failed; warnings do not count.",
            NULL},
    .options =
        (const struct cli_option[]){{.name = "cert",
                                     .placeholder = "DIR",
                                     .kind = CLI_DIR,
                                     .repeats = true,
                                     .help = "also check the certificates in this folder"},
                                    {.name = "address",
                                     .placeholder = "HOST",
                                     .help = "the address of this machine that others shall use, "
                                             "instead of the one that Strait would choose"},
                                    {0}},
    .examples =
        (const struct cli_example[]){{"strait doctor --cert certs", "with a member's certificates"},
                                     {"strait doctor -q || echo not ready", "in a script"},
                                     {0}},
    .run = doctor_run,
};
