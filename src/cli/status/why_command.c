/* strait why: who waits for whom, and for what. Asks all lanes once; cli/status/why.c finds the
 * words. */

#include "cli/command/commands.h"
#include "cli/member/security.h"
#include "cli/status/status.h"
#include "cli/status/why.h"

enum { WHY_LINE_BYTES = 8192 };

struct why_call {
    json_t *report;
    bool over;
};

static void why_done(struct status_site *s, json_t *report, void *user)
{
    struct why_call *call = user;

    call->report = report;
    call->over = true;
    loop_stop(s->member.loop);
}

/* What came from elsewhere stays on its line. */
static void why_print(struct cli_context *ctx, const char *bullet, const char *text)
{
    char storage[WHY_LINE_BYTES];
    struct text line;

    text_init_fixed(&line, storage, sizeof(storage));
    text_add_printable(&line, text);
    cli_out(ctx, "%s", bullet);
    cli_wrap(ctx->out, line.chars, 2, 2, ctx->width);
}

static enum cli_exit why_report(struct cli_context *ctx, const json_t *report)
{
    char storage[WHY_LINE_BYTES];
    json_t *reasons = why_reasons(report);
    struct text line;

    text_init_fixed(&line, storage, sizeof(storage));
    if (ctx->json) {
        return cli_json(ctx,
                        json_pack("{s:O, s:b, s:o, s:O}", "site", json_object_get(report, "site"),
                                  "waiting", (int)(json_array_size(reasons) > 0), "reasons",
                                  reasons, "lanes", json_object_get(report, "lanes")));
    }
    why_headline(report, &line);
    cli_out(ctx, "%s", cli_style(ctx->color_out, CLI_HEADING));
    text_add(&line, cli_style(ctx->color_out, CLI_PLAIN));
    cli_out(ctx, "%s\n", line.chars);
    for (size_t i = 0; i < json_array_size(reasons); i++) {
        const json_t *reason = json_array_get(reasons, i);

        why_print(ctx, "- ", json_string_value(json_object_get(reason, "text")));
    }
    if (json_array_size(reasons) == 0) {
        text_clear(&line);
        why_nobody(report, &line);
        why_print(ctx, "  ", line.chars);
    }
    text_clear(&line);
    if (why_overflowed(report, &line)) {
        why_print(ctx, "- ", line.chars);
    }
    json_decref(reasons);
    return CLI_DONE;
}

static enum cli_exit why_run(struct cli_context *ctx)
{
    struct status_site site;
    struct why_call call = {.report = NULL};
    struct status_config config = {.option = "join",
                                   .to = cli_text(ctx, "join"),
                                   .role = WIRE_ROLE_OPERATOR,
                                   .name = "why",
                                   .done = why_done,
                                   .user = &call};
    enum cli_exit status = status_open(ctx, &site, &config);

    if (status == CLI_DONE) {
        cli_note(ctx, "Asking %s ...", config.to);
        status_ask(&site, cli_number(ctx, "timeout") * 1000);
        while (!call.over) {
            loop_run(site.member.loop);
        }
        status = status_first(call.report) == NULL ? status_unreached(&site)
                                                   : why_report(ctx, call.report);
    }
    json_decref(call.report);
    status_close(&site);
    return status;
}

const struct cli_command cli_command_why = {
    .path = "why",
    .summary = "say who waits for whom in a running site",
    .group = CLI_GROUP_RUN,
    .paragraphs =
        (const char *const[]){
            "Asks every lane of the site how it is, and says in words what keeps it: which clock "
            "waits for which workers and since when, who has not come or has gone, which server "
            "cannot be reached. If nobody waits it says so.",
            "You take part as an operator: with certificates, one of the role operator is needed.",
            NULL},
    .options = (const struct cli_option[]){STATUS_OPTION_JOIN,
                                           STATUS_OPTION_CERT,
                                           SECURITY_OPTION_NAME,
                                           SECURITY_OPTION_INSECURE,
                                           STATUS_OPTION_TIMEOUT,
                                           {0}},
    .examples =
        (const struct cli_example[]){
            {"strait why --join tls://s0.example.org:7400 --cert certs", "with your certificate"},
            {"strait why --join 127.0.0.1:7400 --insecure --json", "as data"},
            {0}},
    .run = why_run,
};
