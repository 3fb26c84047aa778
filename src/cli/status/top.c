/* strait top: a running site, live. Asks all lanes again and again and shows what cli/status/view.c
 * makes of the answers: on a terminal in place, elsewhere one line each time. */

#include "cli/command/commands.h"
#include "cli/member/security.h"
#include "cli/status/status.h"
#include "cli/status/view.h"
#include "loop/clock.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum {
    TOP_TEXT_BYTES = 256 * 1024,
    TOP_SIGNALS = 3,
    TOP_HEIGHT = 24, /* Of a terminal that does not say. */
};

struct top {
    struct cli_context *ctx;
    struct status_site site;
    struct loop_timer tick;
    struct loop_signal *signals[TOP_SIGNALS];
    struct loop_poll *keys;
    struct termios saved;
    bool raw;     /* .saved has to be brought back. */
    bool live;    /* In place, on a terminal. */
    bool entered; /* The screen is ours. */
    bool over;
    enum cli_exit status;
    json_t *before;
    json_t *now;
    int64_t before_ns;
    int64_t now_ns;
    int64_t asked_ns;
    char last_error[ERR_TEXT_BYTES]; /* Lane 0 does not answer any more. */
};

static void top_end(struct top *t, enum cli_exit status)
{
    t->over = true;
    t->status = status;
    loop_stop(t->site.member.loop);
}

/* The terminal. */

static void top_key(int events, void *user)
{
    struct top *t = user;
    char key = 0;

    (void)events;
    if (read(STDIN_FILENO, &key, 1) != 1) {
        loop_poll_want(t->keys, 0); /* Nobody types there any more. */
    } else if (key == 'q' || key == 'Q') {
        top_end(t, CLI_DONE);
    }
}

/* With the first answer: what goes wrong before stays to be read. */
static void top_enter(struct top *t)
{
    struct termios raw;

    t->entered = true;
    cli_out(t->ctx, "\033[?1049h\033[?25l");
    if (isatty(STDIN_FILENO) != 1 || tcgetattr(STDIN_FILENO, &t->saved) != 0) {
        return;
    }
    raw = t->saved;
    raw.c_lflag &= (tcflag_t) ~(unsigned)(ICANON | ECHO);
    t->raw = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
    if (t->raw && loop_poll_create(t->site.member.loop, STDIN_FILENO, top_key, t, &t->keys) == OK) {
        loop_poll_want(t->keys, LOOP_READABLE);
    }
}

static void top_leave(struct top *t)
{
    if (t->raw) {
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &t->saved);
    }
    if (t->entered) {
        cli_out(t->ctx, "\033[?25h\033[?1049l");
        cli_flush(t->ctx);
    }
}

/* Showing. */

static struct status_view top_view(const struct top *t, char *time_out, size_t time_size)
{
    struct winsize size;
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    time_t now_s = (time_t)(clock_wall_us() / 1000000);
    struct tm utc;

    if (gmtime_r(&now_s, &utc) == NULL || strftime(time_out, time_size, "%H:%M:%SZ", &utc) == 0) {
        time_out[0] = '\0';
    }
    return (struct status_view){.before = t->before,
                                .now = t->now,
                                .seconds = (double)(t->now_ns - t->before_ns) / 1e9,
                                .time = time_out,
                                .width = known ? size.ws_col : 200,
                                .height = known && size.ws_row > 0 ? size.ws_row - 1 : TOP_HEIGHT,
                                .color = t->ctx->color_out};
}

/* From the top left corner on; what was there before is wiped line by line, so nothing flickers. */
static void top_show_live(struct top *t, const char *screen)
{
    cli_out(t->ctx, "\033[H");
    while (*screen != '\0') {
        size_t size = strcspn(screen, "\n");

        cli_out(t->ctx, "%.*s\033[K\n", (int)size, screen);
        screen += size + (screen[size] == '\n');
    }
    if (t->last_error[0] != '\0') {
        cli_out(t->ctx, "%s%.200s%s\033[K\n", cli_style(t->ctx->color_out, CLI_BAD), t->last_error,
                cli_style(t->ctx->color_out, CLI_PLAIN));
    }
    cli_out(t->ctx, "\033[J");
}

/* One object on one line. */
static void top_show_json(struct top *t, const struct status_view *v)
{
    json_t *object = view_json(v);
    char *text = NULL;

    if (object != NULL &&
        json_object_set_new(object, "schema", json_integer(CLI_JSON_SCHEMA)) == 0) {
        text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(9));
    }
    cli_out(t->ctx, "%s\n", text != NULL ? text : "{\"schema\":1}");
    free(text);
    json_decref(object);
}

static void top_show(struct top *t)
{
    char time[16];
    struct status_view v = top_view(t, time, sizeof(time));
    bool screen = t->live || cli_flag(t->ctx, "once");
    struct text out;

    if (t->now == NULL) {
        return;
    }
    if (t->ctx->json) {
        top_show_json(t, &v);
    } else if (text_init(&out, TOP_TEXT_BYTES) == OK) {
        if (screen) {
            v.height = t->live ? v.height - (t->last_error[0] != '\0') : 1000;
            view_screen(&v, &out);
        } else {
            view_line(&v, &out);
        }
        if (t->live) {
            top_show_live(t, out.chars);
        } else {
            cli_out(t->ctx, "%s", out.chars);
        }
        text_deinit(&out);
    }
    cli_flush(t->ctx);
    if (t->ctx->out_errno != 0) {
        top_end(t, CLI_DONE); /* Nobody reads any more. */
    }
}

/* Asking. */

static void top_ask(struct top *t)
{
    t->asked_ns = loop_now_ns(t->site.member.loop);
    status_ask(&t->site, cli_number(t->ctx, "timeout") * 1000);
}

static void top_ticked(struct loop_timer *timer, void *user)
{
    (void)timer;
    top_ask(user);
}

static void top_answered(struct top *t, json_t *report)
{
    json_decref(t->before);
    t->before = t->now;
    t->before_ns = t->now_ns;
    t->now = report;
    t->now_ns = loop_now_ns(t->site.member.loop);
    t->last_error[0] = '\0';
    if (t->live && !t->entered) {
        top_enter(t);
    }
}

static void top_unanswered(struct top *t)
{
    struct text out;

    text_init_fixed(&out, t->last_error, sizeof(t->last_error));
    text_add(&out, "the first server cannot be reached: ");
    text_add_printable(&out, t->site.lanes[0]->last_error.text);
    if (!t->live) {
        cli_note(t->ctx, "%s", t->last_error);
    }
}

static void top_done(struct status_site *s, json_t *report, void *user)
{
    struct top *t = user;
    bool once = cli_flag(t->ctx, "once");

    if (status_first(report) != NULL) {
        top_answered(t, report);
    } else {
        json_decref(report);
        if (t->now == NULL || once) {
            top_end(t, status_unreached(s));
            return;
        }
        top_unanswered(t);
    }
    if (t->live || (t->last_error[0] == '\0' && (!once || t->before != NULL))) {
        top_show(t);
    }
    if (once && t->before != NULL) {
        top_end(t, CLI_DONE);
        return;
    }
    loop_timer_start(&t->tick, t->asked_ns + cli_number(t->ctx, "interval") * 1000);
}

static void top_caught(int signum, void *user)
{
    struct top *t = user;

    if (signum == SIGWINCH) {
        top_show(t);
    } else {
        top_end(t, signum == SIGINT ? CLI_INTERRUPTED : CLI_TERMINATED);
    }
}

/* Beginning and end. */

static enum err top_start(struct top *t)
{
    static const int signums[TOP_SIGNALS] = {SIGINT, SIGTERM, SIGWINCH};
    struct loop *loop = t->site.member.loop;
    enum err rc = loop_timer_init(&t->tick, loop, top_ticked, t);

    for (int i = 0; i < TOP_SIGNALS - !t->live && rc == OK; i++) {
        rc = loop_signal_create(loop, signums[i], top_caught, t, &t->signals[i]);
    }
    return rc;
}

static void top_close(struct top *t)
{
    loop_poll_destroy(t->keys);
    loop_timer_deinit(&t->tick);
    for (int i = 0; i < TOP_SIGNALS; i++) {
        if (t->signals[i] != NULL) {
            loop_signal_destroy(t->signals[i]);
        }
    }
    json_decref(t->before);
    json_decref(t->now);
    status_close(&t->site);
}

static enum cli_exit top_run(struct cli_context *ctx)
{
    struct top t = {.ctx = ctx, .status = CLI_DONE};
    struct status_config config = {.option = "join",
                                   .to = cli_text(ctx, "join"),
                                   .role = WIRE_ROLE_OPERATOR,
                                   .name = "top",
                                   .done = top_done,
                                   .user = &t};
    enum cli_exit status = status_open(ctx, &t.site, &config);

    t.live = ctx->color_out && isatty(STDOUT_FILENO) == 1 && !ctx->json && !cli_flag(ctx, "once");
    if (status != CLI_DONE) {
        status_close(&t.site);
        return status;
    }
    cli_note(ctx, "Asking %s ...", config.to);
    if (top_start(&t) == OK) {
        top_ask(&t);
        while (!t.over) {
            loop_run(t.site.member.loop);
        }
    } else {
        t.status = cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "cannot start: out of memory");
    }
    top_leave(&t);
    top_close(&t);
    return t.status;
}

const struct cli_command cli_command_top = {
    .path = "top",
    .summary = "watch a running site",
    .group = CLI_GROUP_RUN,
    .paragraphs =
        (const char *const[]){
            "Shows the clock and how fast it goes, updates and bytes per second, how well training "
            "goes, every worker with its clock and what it does, every lane, and who waits for "
            "whom. On a terminal the picture is renewed in place until you press q or Ctrl-C; "
            "elsewhere, or without colour, there is one line per interval.",
            "You take part as an operator: with certificates, one of the role operator is needed, "
            "and each \"strait top\" that runs at the same time needs one of its own.",
            NULL},
    .options = (const struct cli_option[]){STATUS_OPTION_JOIN,
                                           STATUS_OPTION_CERT,
                                           SECURITY_OPTION_NAME,
                                           SECURITY_OPTION_INSECURE,
                                           {.name = "once",
                                            .help = "look twice, one interval apart, print the "
                                                    "picture, and stop"},
                                           {.name = "interval",
                                            .placeholder = "TIME",
                                            .fallback = "1s",
                                            .kind = CLI_DURATION,
                                            .min = 100000,
                                            .max = INT64_C(3600) * 1000000,
                                            .help = "how often to look"},
                                           STATUS_OPTION_TIMEOUT,
                                           {0}},
    .examples =
        (const struct cli_example[]){
            {"strait top --join tls://s0.example.org:7400 --cert certs", "with your certificate"},
            {"strait top --join 127.0.0.1:7400 --insecure --once", "one look"},
            {"strait top --join 127.0.0.1:7400 --insecure --json --interval 10s",
             "one object per line, for programs"},
            {0}},
    .run = top_run,
};
