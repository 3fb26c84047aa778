/* strait table drop: every lane forgets a table. First all lanes are asked whether they would; then
 * lane 0, which gives tables their numbers, drops it, and then the others: so a command that is cut
 * short leaves a table that cannot be used, and never one that is half anew. */

#include "cli/command/commands.h"
#include "cli/command/context.h"
#include "cli/member/security.h"
#include "cli/status/status.h"
#include "node/control.h"

#include <string.h>

enum { DROP_AGAIN_MS = 200 };

struct drop {
    struct cli_context *ctx;
    const char *name;
    struct status_site site;
    json_t *report;
    struct loop_timer timer; /* The end, or the next try. */
    int64_t until_ns;
    bool over;
    uint32_t call;
    bool answered;
    enum err rc;
    struct err_text text;
    bool had;
};

static void drop_reported(struct status_site *s, json_t *report, void *user)
{
    struct drop *d = user;

    (void)s;
    d->report = report;
    d->over = true;
    loop_stop(d->site.member.loop);
}

static void drop_answered(struct status_lane *l, uint16_t operation, uint32_t call,
                          const json_t *fields, void *user)
{
    struct drop *d = user;

    if (operation == (NODE_OP_DROP | NODE_ANSWER) && call == d->call) {
        d->answered = true;
        d->rc = node_control_error(fields, &d->text);
        d->had = json_is_true(json_object_get(fields, "dropped"));
        loop_stop(l->site->member.loop);
    }
}

static void drop_woken(struct loop_timer *timer, void *user)
{
    struct drop *d = user;

    (void)timer;
    loop_stop(d->site.member.loop);
}

static void drop_wait(struct drop *d, int64_t ns)
{
    loop_timer_start_in(&d->timer, ns);
    loop_run(d->site.member.loop);
    loop_timer_stop(&d->timer);
}

/* Ask one lane, again while it says so. Its answer is in @d. */
static void drop_ask(struct drop *d, struct status_lane *l, bool check)
{
    struct loop *loop = d->site.member.loop;

    for (;;) {
        json_t *fields = json_pack("{s:s, s:b}", "name", d->name, "check", (int)check);

        d->answered = false;
        d->text.text[0] = '\0';
        d->rc = l->peer == NULL ? err_text_set(&d->text, ERR_CLOSED, "the connection is gone")
                                : node_control_send(l->peer, d->site.member.pool, NODE_OP_DROP,
                                                    ++d->call, fields);
        json_decref(fields);
        while (d->rc == OK && !d->answered && loop_now_ns(loop) < d->until_ns && l->peer != NULL) {
            drop_wait(d, d->until_ns - loop_now_ns(loop));
        }
        if (d->rc == OK && !d->answered) {
            d->rc = err_text_set(&d->text, ERR_TIMEOUT, "no answer in time");
        }
        if (d->rc != ERR_AGAIN || loop_now_ns(loop) >= d->until_ns) {
            return;
        }
        drop_wait(d, (int64_t)DROP_AGAIN_MS * 1000000);
    }
}

static enum cli_exit drop_refused(struct drop *d, uint32_t lane)
{
    return cli_error(d->ctx, CLI_ERROR_TABLE_STAYS, NULL, "lane %u: %s", lane,
                     d->text.text[0] != '\0' ? d->text.text : err_string(d->rc));
}

/* All lanes have answered: are they all there? */
static enum cli_exit drop_check(struct drop *d)
{
    const json_t *lanes = json_object_get(d->report, "lanes");
    size_t expected = (size_t)json_integer_value(json_object_get(status_first(d->report), "lanes"));

    for (size_t i = 0; i < json_array_size(lanes); i++) {
        if (json_object_get(json_array_get(lanes, i), "status") == NULL) {
            expected = 0;
        }
    }
    if (json_array_size(lanes) != expected) {
        return cli_error(d->ctx, CLI_ERROR_UNREACHABLE, NULL,
                         "table %s stays: not all lanes can be asked; see strait why", d->name);
    }
    return CLI_DONE;
}

static enum cli_exit drop_all(struct drop *d)
{
    enum cli_exit status = drop_check(d);
    bool had = false;

    for (uint32_t pass = 0; pass < 2 && status == CLI_DONE; pass++) {
        for (uint32_t i = 0; i < d->site.lanes_count; i++) {
            drop_ask(d, d->site.lanes[i], pass == 0);
            if (d->rc != OK) {
                return drop_refused(d, i);
            }
            had = had || d->had;
        }
        if (!had) {
            return cli_error(d->ctx, CLI_ERROR_NO_TABLE, NULL, "the site has no table %s", d->name);
        }
    }
    return status;
}

static enum cli_exit drop_run(struct cli_context *ctx)
{
    static struct drop d; /* Too large for the stack. */
    struct status_config config = {.option = "join",
                                   .to = cli_text(ctx, "join"),
                                   .role = WIRE_ROLE_OPERATOR,
                                   .name = "table",
                                   .done = drop_reported,
                                   .answered = drop_answered,
                                   .user = &d};
    int64_t timeout_ns = cli_number(ctx, "timeout") * 1000;
    enum cli_exit status;

    d = (struct drop){.ctx = ctx, .name = cli_argument(ctx, 0)};
    status = status_open(ctx, &d.site, &config);
    if (status == CLI_DONE && loop_timer_init(&d.timer, d.site.member.loop, drop_woken, &d) != OK) {
        status = cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "cannot start: out of memory");
    }
    if (status == CLI_DONE) {
        d.until_ns = loop_now_ns(d.site.member.loop) + timeout_ns;
        status_ask(&d.site, timeout_ns);
        while (!d.over) {
            loop_run(d.site.member.loop);
        }
        status = status_first(d.report) == NULL ? status_unreached(&d.site) : drop_all(&d);
    }
    if (status == CLI_DONE) {
        cli_note(ctx, "table %s is dropped", d.name);
    }
    json_decref(d.report);
    loop_timer_deinit(&d.timer);
    status_close(&d.site);
    return status;
}

const struct cli_command cli_command_table = {
    .path = "table", .summary = "look after the tables of a running site", .group = CLI_GROUP_RUN};

const struct cli_command cli_command_table_drop = {
    .path = "table drop",
    .summary = "drop a table that no worker uses",
    .paragraphs =
        (const char *const[]){
            "All lanes of the site forget the table and give its memory back; its name can be used "
            "for another one. With a --store the servers make a checkpoint without it first, so it "
            "does not come back when they are started again.",
            "It is refused while a worker uses the table: stop those first. A site that shares its "
            "model with others drops nothing, since the others would bring it back.",
            "You take part as an operator: with certificates, one of the role operator and of this "
            "site is needed.",
            NULL},
    .arguments =
        (const struct cli_argument[]){{.placeholder = "NAME", .help = "of the table"}, {0}},
    .options = (const struct cli_option[]){STATUS_OPTION_JOIN,
                                           STATUS_OPTION_CERT,
                                           SECURITY_OPTION_NAME,
                                           SECURITY_OPTION_INSECURE,
                                           {.name = "timeout",
                                            .placeholder = "TIME",
                                            .fallback = "60s",
                                            .kind = CLI_DURATION,
                                            .min = 100000,
                                            .max = INT64_C(3600) * 1000000,
                                            .help = "wait so long for all answers; with a store "
                                                    "they need a checkpoint"},
                                           {0}},
    .examples =
        (const struct cli_example[]){
            {"strait table drop model --join tls://s0.example.org:7400 --cert certs",
             "with your certificate"},
            {0}},
    .run = drop_run,
};
