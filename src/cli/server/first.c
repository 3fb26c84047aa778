/* A further server asks the first one what the site is: nobody has to type it twice. */

#include "cli/server/server.h"
#include "cli/status/status.h"
#include "node/control.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>

enum { FIRST_TIMEOUT_MS = 3000, FIRST_AGAIN_MS = 1000, FIRST_SAY_MS = 15000 };

struct first {
    struct cli_context *ctx;
    struct status_site site;
    struct loop_timer again;
    struct loop_signal *signals[2];
    json_t *report; /* With an answer. */
    enum cli_exit status;
    bool over;
    int64_t said_ns; /* That we wait. */
};

static void first_end(struct first *f, enum cli_exit status)
{
    f->status = status;
    f->over = true;
    loop_stop(f->site.member.loop);
}

/* It may start later than we do. */
static void first_done(struct status_site *s, json_t *report, void *user)
{
    struct first *f = user;
    const struct status_lane *l = s->lanes[0];
    int64_t now_ns = loop_now_ns(s->member.loop);

    if (status_first(report) != NULL) {
        f->report = report;
        first_end(f, CLI_DONE);
        return;
    }
    json_decref(report);
    if (l->why == ERR_TLS || l->why == ERR_REFUSED || l->why == ERR_VERSION) {
        first_end(f, status_unreached(s));
        return;
    }
    if (f->said_ns == 0 || now_ns - f->said_ns > FIRST_SAY_MS * INT64_C(1000000)) {
        f->said_ns = now_ns;
        cli_note(f->ctx, "waiting for the first server at %s: %s", cli_text(f->ctx, "first"),
                 l->last_error.text[0] != '\0' ? l->last_error.text : "no answer yet");
    }
    loop_timer_start_in(&f->again, FIRST_AGAIN_MS * INT64_C(1000000));
}

static void first_again(struct loop_timer *timer, void *user)
{
    struct first *f = user;

    (void)timer;
    status_ask(&f->site, FIRST_TIMEOUT_MS * INT64_C(1000000));
}

static void first_caught(int signum, void *user)
{
    first_end(user, signum == SIGINT ? CLI_INTERRUPTED : CLI_TERMINATED);
}

static enum err first_start(struct first *f)
{
    struct loop *loop = f->site.member.loop;
    enum err rc = loop_timer_init(&f->again, loop, first_again, f);

    if (rc == OK) {
        rc = loop_signal_create(loop, SIGINT, first_caught, f, &f->signals[0]);
    }
    if (rc == OK) {
        rc = loop_signal_create(loop, SIGTERM, first_caught, f, &f->signals[1]);
    }
    return rc;
}

static void first_close(struct first *f)
{
    loop_timer_deinit(&f->again);
    for (int i = 0; i < 2; i++) {
        if (f->signals[i] != NULL) {
            loop_signal_destroy(f->signals[i]);
        }
    }
    json_decref(f->report);
    status_close(&f->site);
}

static enum cli_exit first_differs(struct cli_context *ctx, const char *key, const json_t *here,
                                   const json_t *there)
{
    char *ours = json_dumps(here, JSON_ENCODE_ANY);
    char *theirs = json_dumps(there, JSON_ENCODE_ANY);
    enum cli_exit status =
        cli_error(ctx, CLI_ERROR_SITE_DIFFERS, NULL,
                  "%s is %s here and %s at the first server: leave it away, and this server does "
                  "as the first one",
                  key, ours == NULL ? "not said" : ours, theirs == NULL ? "not said" : theirs);

    free(ours);
    free(theirs);
    return status;
}

/* Which settings differ from those of the first server. */
static enum cli_exit first_compare(struct cli_context *ctx, const struct node_site *theirs,
                                   const struct node_site *ours)
{
    json_t *a = node_site_to_json(theirs);
    json_t *b = node_site_to_json(ours);
    enum cli_exit status = CLI_DONE;
    const char *key;
    json_t *value;

    /* Theirs with ours on top: what was not said here is in both. */
    json_object_foreach(b, key, value)
    {
        const json_t *other = json_object_get(a, key);

        if (status == CLI_DONE && !json_equal(value, other)) {
            status = first_differs(ctx, key, value, other);
        }
    }
    json_decref(a);
    json_decref(b);
    return status;
}

static enum cli_exit first_take(struct cli_context *ctx, struct server_plan *plan,
                                const json_t *report)
{
    const json_t *first = status_first(report);
    uint32_t lanes = plan->site.lanes;
    struct node_site theirs;
    enum cli_exit status;

    if (json_integer_value(json_object_get(first, "lane")) != 0 ||
        node_site_from_json(json_object_get(first, "settings"), &theirs) != OK) {
        return cli_error(ctx, CLI_ERROR_SITE_DIFFERS, NULL,
                         "--first %s: that is not the first server of a site, or it is of another "
                         "version",
                         cli_text(ctx, "first"));
    }
    if (theirs.lanes != lanes) {
        return cli_error(ctx, CLI_ERROR_SITE_DIFFERS, NULL,
                         "--servers and --lanes make %" PRIu32
                         " lanes here, the first server says %" PRIu32
                         ": give all servers the same ones",
                         lanes, theirs.lanes);
    }
    if ((json_object_get(first, "between") != NULL) != cli_given(ctx, "between")) {
        return cli_error(ctx, CLI_ERROR_SITE_DIFFERS, NULL,
                         "--between: the first server %s; give it to all servers of the site, or "
                         "to none",
                         cli_given(ctx, "between") ? "knows of no other sites"
                                                   : "shares its model with other sites");
    }
    plan->history = node_history_parse(json_string_value(json_object_get(first, "history")));
    plan->begun =
        json_is_true(json_object_get(first, "begun")) ||
        json_is_true(json_object_get(first, "restoring")) ||
        json_integer_value(json_object_get(json_object_get(first, "checkpoint"), "number")) > 0;
    plan->site = theirs;
    status = server_plan_site(ctx, false, plan);
    if (status == CLI_DONE) {
        status = first_compare(ctx, &theirs, &plan->site);
    }
    if (status == CLI_DONE && plan->site.checkpoint_every > 0 && plan->store == NULL) {
        status = cli_error(ctx, CLI_ERROR_SITE_DIFFERS, NULL,
                           "the site keeps checkpoints: give this server a --store DIR too");
    }
    return status;
}

enum cli_exit server_first_ask(struct cli_context *ctx, struct server_plan *plan)
{
    struct first f = {.ctx = ctx};
    struct status_config config = {.option = "first",
                                   .to = cli_text(ctx, "first"),
                                   .role = WIRE_ROLE_SERVER,
                                   .name = "asking",
                                   .only_first = true,
                                   .done = first_done,
                                   .user = &f};
    enum cli_exit status = status_open(ctx, &f.site, &config);

    if (status == CLI_DONE) {
        cli_note(ctx, "Asking %s what the site is ...", config.to);
        if (first_start(&f) != OK) {
            status = cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "cannot start: out of memory");
        } else {
            status_ask(&f.site, FIRST_TIMEOUT_MS * INT64_C(1000000));
            while (!f.over) {
                loop_run(f.site.member.loop);
            }
            status = f.status == CLI_DONE ? first_take(ctx, plan, f.report) : f.status;
        }
    }
    first_close(&f);
    return status;
}
