/* The view, the record and the end of a run. */

#include "base/mem.h"
#include "cli/output/figure.h"
#include "cli/run/run.h"
#include "loop/clock.h"
#include "run/report/report.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

enum {
    SHOWN_SCREEN_MS = 100,
    SHOWN_FIRST_MS = 1000, /* Elsewhere: the first line, */
    SHOWN_LINE_MS = 5000,  /* and the others. */
    SHOWN_BYTES_MAX = 64 * 1024,
};

/* What a signal has to say; the handler can do nothing else. */
static volatile sig_atomic_t shown_signal;

static void shown_caught(int signum)
{
    shown_signal = signum;
}

static void shown_signals(bool ours)
{
    /* The second one ends the program, as it would without us. */
    struct sigaction action = {.sa_flags = (int)SA_RESETHAND};

    action.sa_handler = ours ? shown_caught : SIG_DFL;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

static struct run_view shown_view(const struct run_shown *s, const struct run_picture *picture)
{
    return (struct run_view){
        .width = screen_width(),
        .color = s->ctx->color_err,
        .utf8 = s->utf8,
        .picture = picture,
        .seconds = s->before_ns > 0 ? (double)(picture->now_ns - s->before_ns) * 1e-9 : (double)0,
        .clock_before = s->clock_before,
        .bytes_before = s->bytes_before,
        .links_before = s->links_before,
        .news = s->news,
    };
}

/* The watcher. */

/* The disk of the record became full, or has space again. */
static void shown_waits(struct run_shown *s, int64_t now_ns)
{
    bool waits = run_record_waits(s->record);

    if (waits == s->record_waits) {
        return;
    }
    s->record_waits = waits;
    run_shown_clear(s);
    if (waits) {
        run_record_event(s->record, now_ns, "disk full", "", "lines of the record are kept");
        cli_note(s->ctx, "%s: the disk is full: the record is kept in memory until it has space",
                 run_record_dir(s->record));
    } else {
        cli_note(s->ctx, "%s: the disk has space again: the record is whole",
                 run_record_dir(s->record));
    }
}

static void shown_row(const struct run_row *row, const struct run_traffic *traffic, void *user)
{
    struct run_shown *s = user;

    if (s->record != NULL) {
        run_record_row(s->record, row, traffic);
        shown_waits(s, row->now_ns);
    }
}

/* Trouble, and its end, are shown at once; that members come and go is not. */
static bool shown_is_news(const char *kind)
{
    static const char *const kinds[] = {"fault",     "killed",   "down", "back", "rebased",
                                        "continued", "left out", "lost", "ended"};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kind, kinds[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Others may look too: the first server to be ready is the first of its site. */
static void shown_ready(struct run_shown *s, const char *text)
{
    unsigned port = 0;

    if (!s->ready && strcmp(s->backend, "local") == 0 &&
        sscanf(text, "listens on port %u", &port) == 1) {
        s->ready = true;
        run_shown_clear(s);
        cli_next(s->ctx, "strait top --join tcp://127.0.0.1:%u --insecure (in another terminal)",
                 port);
    }
}

/* The run goes on; that the recording is not whole is said now, and in the end. */
static void shown_unrecorded(struct run_shown *s, const char *who, const char *text)
{
    run_shown_clear(s);
    cli_note(s->ctx, "%s: %s", who, text);
    if (s->unrecorded++ == 0) {
        (void)snprintf(s->unrecorded_why, sizeof(s->unrecorded_why), "%s: %s", who, text);
    }
}

static void shown_event(int64_t now_ns, const char *kind, const char *who, const char *text,
                        void *user)
{
    struct run_shown *s = user;

    if (s->record != NULL) {
        run_record_event(s->record, now_ns, kind, who, text);
        shown_waits(s, now_ns);
    }
    if (strcmp(kind, "ready") == 0) {
        shown_ready(s, text);
    } else if (strcmp(kind, "look") == 0) {
        run_shown_clear(s);
        cli_next(s->ctx, "%s (in another terminal)", text);
    } else if (strcmp(kind, "kept") == 0 || strcmp(kind, "note") == 0) {
        run_shown_clear(s);
        cli_note(s->ctx, "%s", text);
    } else if (strcmp(kind, "unrecorded") == 0) {
        shown_unrecorded(s, who, text);
    } else if (shown_is_news(kind)) {
        (void)snprintf(s->news, sizeof(s->news), "%.1f s  %s%s%s%s%s", (double)now_ns * 1e-9, who,
                       who[0] == '\0' ? "" : " ", kind, text[0] == '\0' ? "" : ": ", text);
        if (!s->ctx->progress) {
            cli_note(s->ctx, "%s", s->news);
        }
    }
}

static enum run_wish shown_tick(void *user)
{
    struct run_shown *s = user;
    int64_t now_ns = clock_mono_ns();

    if (s->opening != NULL) {
        cli_note(s->ctx, "%s", s->opening);
        s->opening = NULL;
    }
    if (shown_signal != 0) {
        return RUN_WISH_STOP;
    }
    if (s->ctx->quiet || now_ns < s->next_ns) {
        return RUN_WISH_NOTHING;
    }
    s->next_ns = now_ns + (int64_t)(s->ctx->progress ? SHOWN_SCREEN_MS : SHOWN_LINE_MS) * 1000000;
    return RUN_WISH_PICTURE;
}

void run_shown_clear(struct run_shown *s)
{
    screen_clear(&s->screen);
}

static void shown_remember_links(struct run_shown *s, const struct run_traffic *t)
{
    size_t count = (size_t)t->regions * t->regions;

    if (s->links_before == NULL) {
        s->links_before = mem_calloc(count, sizeof(*s->links_before));
    }
    if (s->links_before != NULL) {
        memcpy(s->links_before, t->bytes, count * sizeof(*s->links_before));
    }
}

static void shown_show(const struct run_picture *picture, void *user)
{
    struct run_shown *s = user;
    struct run_view view = shown_view(s, picture);
    struct text text;

    if (text_init(&text, SHOWN_BYTES_MAX) != OK) {
        return;
    }
    if (s->ctx->progress) {
        run_view_screen(&view, &text);
        screen_draw(&s->screen, text.chars);
    } else {
        run_view_line(&view, &text);
        cli_note(s->ctx, "%s", text.chars);
    }
    text_deinit(&text);
    /* Rates are over a second or so. */
    if (picture->now_ns - s->before_ns > INT64_C(1000000000)) {
        s->before_ns = picture->now_ns;
        s->clock_before = run_tally_clock_all(picture->tally);
        s->bytes_before = run_traffic_total(picture->traffic);
        shown_remember_links(s, picture->traffic);
    }
}

static void shown_print(struct run_shown *s, const struct run_picture *picture,
                        const struct run_result *result)
{
    struct run_view view = shown_view(s, picture);
    struct text text;

    view.color = s->ctx->color_out;
    if (text_init(&text, SHOWN_BYTES_MAX) == OK) {
        run_view_table(&view, result, &text);
        cli_out(s->ctx, "%s", text.chars);
        text_deinit(&text);
    }
}

/* The record, and its page. A record that is too large for a page is still one. */
static void shown_keep(struct run_shown *s, const struct run_picture *picture)
{
    struct err_text text = {""};
    enum err rc = run_record_finish(s->record, s->json, picture, &text);

    if (rc == OK) {
        rc = run_report_keep(run_record_dir(s->record), &text);
        if (rc == ERR_TOO_BIG) {
            cli_note(s->ctx, "no report.html: %s", text.text);
            return;
        }
    }
    if (rc != OK) {
        s->status = cli_error(s->ctx, CLI_ERROR_FILE, NULL, "%s", text.text);
    }
}

static void shown_over(const struct run_picture *picture, const struct run_result *result,
                       void *user)
{
    struct run_shown *s = user;

    run_shown_clear(s);
    s->json = (json_t *)run_summary(picture, s->backend, result);
    if (!s->ctx->json) {
        shown_print(s, picture, result);
    }
    if (s->record != NULL) {
        run_record_event(s->record, result->took_ns, "end", "", run_end_name(result->end));
        shown_keep(s, picture);
    }
    if (result->end == RUN_END_FAILED || result->end == RUN_END_DIVERGED) {
        s->status =
            cli_error(s->ctx, result->refused ? CLI_ERROR_LAB_REFUSED : CLI_ERROR_RUN_FAILED, NULL,
                      "%s", result->text.text);
    } else if (result->end == RUN_END_INTERRUPTED) {
        s->status = shown_signal == SIGTERM ? CLI_TERMINATED : CLI_INTERRUPTED;
    }
}

/* Beginning and end. */

void run_shown_begin(struct run_shown *s, struct cli_context *ctx, const char *backend,
                     struct run_record *record)
{
    *s = (struct run_shown){
        .ctx = ctx,
        .screen = {.ctx = ctx},
        .backend = backend,
        .record = record,
        .watcher = {.row = shown_row,
                    .event = shown_event,
                    .tick = shown_tick,
                    .show = shown_show,
                    .over = shown_over,
                    .user = NULL},
        .utf8 = figure_utf8(),
        .next_ns = clock_mono_ns() + (ctx->progress ? 0 : (int64_t)SHOWN_FIRST_MS * 1000000),
        .status = CLI_DONE,
    };
    s->watcher.user = s;
    shown_signal = 0;
    shown_signals(true);
}

void run_shown_add(struct run_shown *s, const char *key, json_t *object)
{
    if (s->json == NULL || json_object_set_new(s->json, key, object) != 0) {
        json_decref(object);
    }
}

enum cli_exit run_shown_end(struct run_shown *s)
{
    struct cli_context *ctx = s->ctx;

    shown_signals(false);
    run_shown_clear(s);
    if (s->unrecorded > 0) {
        enum cli_exit status =
            cli_error(ctx, CLI_ERROR_FILE, NULL, "--record-updates: %s%s", s->unrecorded_why,
                      s->unrecorded > 1 ? "; others too" : "");

        s->status = s->status == CLI_DONE ? status : s->status;
    }
    mem_free(s->links_before);
    s->links_before = NULL;
    if (s->json != NULL && ctx->json) {
        enum cli_exit status;

        if (s->record != NULL) {
            run_shown_add(s, "record", json_string(run_record_dir(s->record)));
        }
        status = cli_json(ctx, s->json);
        s->status = s->status == CLI_DONE ? status : s->status;
    } else {
        json_decref(s->json);
        if (s->json != NULL && s->record != NULL) {
            cli_out(ctx, "  %s%-10s%s %s\n", cli_style(ctx->color_out, CLI_FAINT), "record",
                    cli_style(ctx->color_out, CLI_PLAIN), run_record_dir(s->record));
        }
    }
    s->json = NULL;
    return s->status;
}
