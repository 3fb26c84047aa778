/* strait plan place: tasks of the planner by child processes, what is shown meanwhile, and whether
 * what they found is true. */

#include "base/mem.h"
#include "cli/output/figure.h"
#include "cli/plan/place.h"
#include "loop/clock.h"

#include <math.h>
#include <string.h>

enum { SPREAD_SHOW_MS = 200, SPREAD_LINE_MS = 5000, SPREAD_BAR = 20, SPREAD_LINE_BYTES = 256 };

/* Of a time: sums in another order differ in the last bits. */
#define SPREAD_SAME 1e-9

double cli_place_left(void *user)
{
    const struct cli_place *p = user;

    return (double)(p->until_ns - clock_mono_ns()) * 1e-9;
}

/* What is shown. */

void cli_place_show(struct cli_place_shown *s, const char *what, uint32_t count)
{
    if (s->what == NULL || strcmp(s->what, what) != 0) {
        s->what = what;
        s->before = 0;
        s->begun_ns = clock_mono_ns();
        s->shown_ns = s->shown_ns == 0 ? s->begun_ns : s->shown_ns;
    }
    s->count = count;
}

static void spread_line(const struct cli_place_shown *s, uint32_t done, double seconds,
                        struct text *line)
{
    text_addf(line, "%s: ", s->what);
    if (s->count > 0 && s->ctx->progress) {
        figure_bar((double)done / s->count, SPREAD_BAR, figure_utf8(), line);
        text_add(line, " ");
    }
    text_addf(line, "%u", done);
    if (s->count > 0) {
        text_addf(line, " of %u", s->count);
    }
    text_add(line, " done, ");
    figure_time(seconds, line);
    if (s->count > 0 && done > 0) {
        text_add(line, ", about ");
        figure_time(seconds * (s->count - done) / done, line);
        text_add(line, " left");
    }
}

void cli_place_show_done(struct cli_place_shown *s, uint32_t done)
{
    int64_t every_ms = s->ctx->progress ? SPREAD_SHOW_MS : SPREAD_LINE_MS;
    int64_t now_ns = clock_mono_ns();
    char chars[SPREAD_LINE_BYTES];
    struct text line;

    if (s->ctx->quiet || now_ns - s->shown_ns < every_ms * 1000000) {
        return;
    }
    s->shown_ns = now_ns;
    text_init_fixed(&line, chars, sizeof(chars));
    spread_line(s, s->before + done, (double)(now_ns - s->begun_ns) * 1e-9, &line);
    if (s->ctx->progress) {
        (void)fprintf(s->ctx->err, "\r%s\033[K", chars);
        (void)fflush(s->ctx->err);
        s->drawn = true;
    } else {
        cli_note(s->ctx, "%s", chars);
    }
}

void cli_place_show_end(struct cli_place_shown *s)
{
    if (s->drawn) {
        (void)fprintf(s->ctx->err, "\r\033[K");
        (void)fflush(s->ctx->err);
        s->drawn = false;
    }
}

/* What is true. */

enum err cli_place_verify(const struct plan_place_problem *problem,
                          struct plan_place_answer *answer, struct err_text *text)
{
    double time_s = 0, usd = 0;

    if (!plan_place_measure(problem, answer->server, answer->flows, answer->flows_count, &time_s,
                            &usd)) {
        return err_text_set(text, ERR_CORRUPT,
                            "the planner's paths do not lead to the server as the file has it");
    }
    if (!(fabs(time_s - answer->time_s) <= SPREAD_SAME * time_s)) {
        return err_text_set(text, ERR_CORRUPT,
                            "the planner says %.17g s, but its paths take %.17g s", answer->time_s,
                            time_s);
    }
    if (answer->usd >= 0 && !(fabs(usd - answer->usd) <= SPREAD_SAME * fabs(usd))) {
        return err_text_set(text, ERR_CORRUPT,
                            "the planner says %.17g dollars, but its paths cost %.17g", answer->usd,
                            usd);
    }
    answer->usd = usd;
    return OK;
}

/* Tasks. */

struct spread {
    struct cli_place *place;
    struct plan_place_task *tasks;
};

static enum err spread_work(uint32_t piece, struct text *out, struct err_text *text, void *user)
{
    struct spread *s = user;
    struct plan_place_task task = s->tasks[piece];
    bool late = task.stage == PLAN_PLACE_PROOF_STAGE && cli_place_left(s->place) <= 0;
    enum err rc;

    task.text = text;
    rc = late ? OK : plan_place_do(&task); /* Then it stays as it is: not proven. */
    if (rc == OK) {
        text_add_bytes(out, (const char *)task.candidate, sizeof(*task.candidate));
        if (task.candidate->choice != NULL) {
            text_add_bytes(out, (const char *)task.candidate->choice,
                           task.candidate->flows * sizeof(*task.candidate->choice));
        }
    }
    return rc;
}

static enum err spread_take(uint32_t piece, const char *bytes, size_t size, void *user)
{
    struct spread *s = user;
    struct plan_place_candidate *into = s->tasks[piece].candidate;
    struct plan_place_candidate came;
    size_t choice_size;

    if (size < sizeof(came)) {
        return ERR_MALFORMED;
    }
    memcpy(&came, bytes, sizeof(came));
    choice_size = came.choice == NULL ? 0 : came.flows * sizeof(*came.choice);
    if (came.server != into->server || came.flows > s->place->graph->nodes_count ||
        size != sizeof(came) + choice_size) {
        return ERR_MALFORMED;
    }
    mem_free(into->choice);
    *into = came;
    if (came.choice != NULL) {
        into->choice = mem_calloc((size_t)came.flows + 1, sizeof(*into->choice));
        if (into->choice == NULL) {
            return ERR_NOMEM;
        }
        memcpy(into->choice, bytes + sizeof(came), choice_size);
    }
    return OK;
}

static const char *spread_name(uint32_t piece, void *user)
{
    struct spread *s = user;

    return s->place->labels[s->tasks[piece].candidate->server].chars;
}

static void spread_tick(uint32_t done, void *user)
{
    cli_place_show_done(&((struct spread *)user)->place->shown, done);
}

enum err cli_place_spread(struct plan_place_task *tasks, uint32_t count, void *user)
{
    struct cli_place *p = user;
    bool proofs = count > 0 && tasks[0].stage == PLAN_PLACE_PROOF_STAGE;
    struct spread s = {.place = p, .tasks = tasks};
    const struct pool_work work = {.count = count,
                                   .jobs = p->jobs,
                                   .work = spread_work,
                                   .take = spread_take,
                                   .name = spread_name,
                                   .tick = spread_tick,
                                   .user = &s};
    enum err rc;

    if (count == 0) {
        return OK;
    }
    cli_place_show(&p->shown, proofs ? "proofs" : "bounds of regions", proofs ? 0 : count);
    rc = pool_run(&work, tasks[0].text);
    p->shown.before += count;
    return rc;
}
