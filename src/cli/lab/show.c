/* strait lab show: what a lab is like just now. */

#include "base/units.h"
#include "cli/command/commands.h"
#include "cli/lab/lab.h"
#include "cli/output/figure.h"
#include "loop/clock.h"

#include <string.h>

enum { SHOW_CELL_BYTES = 32 };

static const char *show_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text == NULL ? "?" : text;
}

static double show_number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static void show_link(struct cli_context *ctx, const json_t *link)
{
    struct units_text rate, loss;
    char delay[SHOW_CELL_BYTES], jitter[SHOW_CELL_BYTES], bytes[SHOW_CELL_BYTES];
    struct text carried;
    bool cut = json_is_true(json_object_get(link, "cut"));

    (void)units_rate_print((uint64_t)show_number(link, "rate_bps") / 8, &rate);
    (void)units_percent_print((uint32_t)(show_number(link, "loss") * 1e6 + 0.5), &loss);
    (void)snprintf(delay, sizeof(delay), "%.4gms", show_number(link, "delay_us") * 1e-3);
    (void)snprintf(jitter, sizeof(jitter), "%.4gms", show_number(link, "jitter_us") * 1e-3);
    text_init_fixed(&carried, bytes, sizeof(bytes));
    figure_bytes((uint64_t)show_number(link, "bytes"), &carried);
    cli_out(ctx, "  %-14s %-14s %10s %9s %8s %7s %11s %8.0f%s%s%s\n", show_text(link, "from"),
            show_text(link, "to"), rate.chars, delay, jitter, loss.chars, bytes,
            show_number(link, "dropped"), cut ? cli_style(ctx->color_out, CLI_BAD) : "",
            cut ? "  CUT" : "", cut ? cli_style(ctx->color_out, CLI_PLAIN) : "");
}

static void show_hosts(struct cli_context *ctx, const json_t *hosts)
{
    const char *before = "";
    const json_t *host;
    size_t i;

    json_array_foreach(hosts, i, host)
    {
        const char *region = show_text(host, "region");

        if (strcmp(region, before) != 0) {
            cli_out(ctx, "%s  %-14s", i == 0 ? "" : "\n", region);
            before = region;
        }
        cli_out(ctx, " %s", show_text(host, "address"));
    }
    cli_out(ctx, i == 0 ? "  no hosts\n" : "\n");
}

static void show_lateness(struct cli_context *ctx, const json_t *show)
{
    const json_t *late = json_object_get(show, "lateness_us");
    bool valid = json_is_true(json_object_get(show, "valid"));

    if (late == NULL) {
        return;
    }
    cli_out(ctx, "%s%s%s  delivered late by %.0f us in the mean, p99 %.0f us, at most %.0f us",
            cli_style(ctx->color_out, valid ? CLI_GOOD : CLI_BAD), valid ? "valid" : "NOT VALID",
            cli_style(ctx->color_out, CLI_PLAIN), show_number(late, "mean"),
            show_number(late, "p99"), show_number(late, "max"));
    if (show_number(show, "missed") > 0) {
        cli_out(ctx, "; %.0f packets lost by the lab itself", show_number(show, "missed"));
    }
    cli_out(ctx, "\n");
}

void lab_print(struct cli_context *ctx, const char *name, const json_t *show)
{
    double seconds = (double)clock_wall_us() * 1e-6 - show_number(show, "since_us") * 1e-6;
    char age[SHOW_CELL_BYTES];
    const json_t *entry;
    struct text text;
    size_t i;

    text_init_fixed(&text, age, sizeof(age));
    figure_time(seconds > 0 ? seconds : 0, &text);
    cli_out(ctx, "%slab %s%s  up for %s, keeper %.0f, mtu %.0f%s\n",
            cli_style(ctx->color_out, CLI_HEADING), name, cli_style(ctx->color_out, CLI_PLAIN), age,
            show_number(show, "pid"), show_number(show, "mtu"),
            json_is_true(json_object_get(show, "realtime")) ? ", relay in real time" : "");
    show_hosts(ctx, json_object_get(show, "hosts"));
    cli_out(ctx, "%s  %-14s %-14s %10s %9s %8s %7s %11s %8s%s\n",
            cli_style(ctx->color_out, CLI_FAINT), "FROM", "TO", "RATE", "DELAY", "JITTER", "LOSS",
            "CARRIED", "DROPPED", cli_style(ctx->color_out, CLI_PLAIN));
    json_array_foreach(json_object_get(show, "links"), i, entry)
    {
        show_link(ctx, entry);
    }
    show_lateness(ctx, show);
    json_array_foreach(json_object_get(show, "notes"), i, entry)
    {
        if (!ctx->quiet && json_string_value(entry) != NULL) {
            cli_out(ctx, "  note: ");
            cli_wrap(ctx->out, json_string_value(entry), 8, 8, ctx->width);
        }
    }
}

static enum cli_exit show_run(struct cli_context *ctx)
{
    struct lab_place place;
    json_t *show = NULL;
    enum cli_exit status = lab_place_given(ctx, &place);

    if (status == CLI_DONE) {
        status = lab_ask(ctx, &place, "show", &show);
    }
    if (status != CLI_DONE) {
        return status;
    }
    if (ctx->json) {
        return cli_json(ctx, show);
    }
    lab_print(ctx, place.name, show);
    json_decref(show);
    return CLI_DONE;
}

const struct cli_command cli_command_lab_show = {
    .path = "lab show",
    .summary = "show hosts and links of a lab, and whether it keeps time",
    .paragraphs =
        (const char *const[]){
            "CARRIED is what has passed a link in that direction, DROPPED what its queue had no "
            "room for. Delays are one way. The last line says how much later than the links' delay "
            "packets were delivered: results of a lab that is late by more than 1 ms in the mean, "
            "or loses more than a packet in a thousand by itself, are not valid.",
            NULL},
    .options = (const struct cli_option[]){LAB_OPTION_NAME, {0}},
    .examples = (const struct cli_example[]){{"strait lab show", "what there is"},
                                             {"strait lab show --json", "the same for programs"},
                                             {0}},
    .run = show_run,
};
