/* strait doctor: is this machine ready to train? */

#include "cli/doctor/doctor.h"

#include "cli/command/commands.h"
#include "cli/member/security.h"

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

static enum cli_exit doctor_finish(struct doctor *d, json_t *peer)
{
    const unsigned *counts = d->counts;
    enum cli_exit status = counts[DOCTOR_FAIL] > 0 ? CLI_FAILED : CLI_DONE;

    if (d->ctx->json) {
        json_t *object =
            json_pack("{s:b, s:i, s:i, s:i, s:o, s:o*}", "ready", (int)(counts[DOCTOR_FAIL] == 0),
                      "ok", (int)counts[DOCTOR_OK], "warn", (int)counts[DOCTOR_WARN], "fail",
                      (int)counts[DOCTOR_FAIL], "checks", d->list, "peer", peer);
        enum cli_exit printed = cli_json(d->ctx, object);

        return printed != CLI_DONE ? CLI_FAILED : status;
    }
    cli_out(d->ctx, "\n%u ok, %u warnings, %u failures: %s\n", counts[DOCTOR_OK],
            counts[DOCTOR_WARN], counts[DOCTOR_FAIL], status == CLI_DONE ? "ready" : "not ready");
    return status;
}

/* Another member, rather than this machine. */
static enum cli_exit doctor_run_peer(struct doctor *d, const char *address)
{
    json_t *peer = NULL;
    enum cli_exit status = doctor_peer(d, address, &peer);

    if (status != CLI_DONE) {
        json_decref(d->list);
        return status;
    }
    return doctor_finish(d, peer);
}

static enum cli_exit doctor_run(struct cli_context *ctx)
{
    struct doctor d = {.ctx = ctx};
    const char *peer = cli_text(ctx, "peer"), *listen_at = cli_text(ctx, "listen");
    const char *dir;

    if (peer != NULL && listen_at != NULL) {
        return cli_error(ctx, CLI_ERROR_BAD_VALUE, NULL,
                         "--peer and --listen are the two sides of one check: run it twice");
    }
    if (listen_at != NULL) {
        return doctor_listen(ctx, listen_at);
    }
    d.list = ctx->json ? json_array() : NULL;
    if (peer != NULL) {
        return doctor_run_peer(&d, peer);
    }
    doctor_machine(&d);
    doctor_net(&d, cli_text(ctx, "address"));
    for (size_t i = 0; (dir = cli_text_at(ctx, "cert", i)) != NULL; i++) {
        doctor_certs(&d, dir);
    }
    return doctor_finish(&d, NULL);
}

const struct cli_command cli_command_doctor = {
    .path = "doctor",
    .summary = "check this machine before training",
    .group = CLI_GROUP_HELP,
    .paragraphs =
        (const char *const[]){
            "Each check says ok, warn or fail, what it found, and what to do. Nothing is changed, "
            "and without --peer nothing is sent to other machines. With --quiet only what is not "
            "ok is shown. Exit status 1 if a check failed; warnings do not count.",
            "--peer reaches a running member instead: who it is, encryption, round trip, and the "
            "bandwidth that is free now on the way to it, for one stream (10 to 50 MB are sent for "
            "that; a member that is busy sending to us is not disturbed). Exit status 69 if it is "
            "not reached, 77 if one side refuses the other. --listen is the other side where "
            "nothing runs yet: swap the two to check both directions before training.",
            NULL},
    .options =
        (const struct cli_option[]){{.name = "cert",
                                     .placeholder = "DIR",
                                     .kind = CLI_DIR,
                                     .repeats = true,
                                     .help = "also check the certificates in this folder; with "
                                             "--peer and --listen: who we are"},
                                    {.name = "address",
                                     .placeholder = "HOST",
                                     .help = "the address of this machine that others shall use, "
                                             "instead of the one that Strait would choose"},
                                    {.name = "peer",
                                     .placeholder = "ADDRESS",
                                     .help = "check the way to the member at this address"},
                                    {.name = "listen",
                                     .placeholder = "ADDRESS",
                                     .help = "be a member that only answers doctors, until Ctrl-C"},
                                    SECURITY_OPTION_NAME,
                                    SECURITY_OPTION_INSECURE,
                                    {.name = "timeout",
                                     .placeholder = "DURATION",
                                     .kind = CLI_DURATION,
                                     .fallback = "5s",
                                     .min = 1000,
                                     .max = INT64_C(3600000000),
                                     .help = "how long --peer waits for an answer"},
                                    {.name = "for",
                                     .placeholder = "DURATION",
                                     .kind = CLI_DURATION,
                                     .min = 1000,
                                     .max = INT64_C(365) * 24 * 3600 * 1000000,
                                     .help = "end --listen after this time"},
                                    {0}},
    .examples =
        (const struct cli_example[]){{"strait doctor --cert certs", "with a member's certificates"},
                                     {"strait doctor -q || echo not ready", "in a script"},
                                     {"strait doctor --listen 0.0.0.0:7000 --cert certs",
                                      "here, before anything runs, and then"},
                                     {"strait doctor --peer HOST:7000 --cert certs",
                                      "there, with an operator's certificate"},
                                     {0}},
    .run = doctor_run,
};
