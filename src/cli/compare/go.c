/* The runs of a comparison, as processes of their own: first the one that sets the goal, then all
 * others, a few at a time. Files that are run as they are have no such run among them. */

#include "base/mem.h"
#include "cli/compare/compare.h"
#include "cli/output/figure.h"
#include "cli/output/screen.h"
#include "loop/child.h"
#include "loop/clock.h"
#include "loop/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    GO_TICK_MS = 200,
    GO_TIMES_SETTER = 10, /* The others may take so many times its clocks, if the file is silent. */
    GO_ARGS_MAX = 512,
    GO_ARG_BYTES = 4096,
    GO_LOG_BYTES_MAX = 1 << 16,
    GO_SCREEN_BYTES = 64 * 1024,
};

struct go;

struct go_child {
    struct go *go;
    uint32_t run;
    struct loop_child *child;
    char log[COMPARE_PATH_BYTES + 16];
};

struct go {
    struct cli_context *ctx;
    const struct compare_go_config *config;
    struct compare *c;
    struct loop *loop;
    struct loop_timer tick;
    struct loop_signal *signals[2];
    struct screen screen;
    char program[PATH_MAX];
    struct go_child children[COMPARE_RUNS_MAX];
    uint32_t running;
    bool first; /* The run that sets the goal is on its way. */
    int caught; /* The signal that ends it; zero: none. */
    enum cli_exit status;
};

/* The folder of its record. */
static void go_place(const struct compare *c, struct compare_run *run, const char *name)
{
    char path[COMPARE_PATH_BYTES];

    (void)snprintf(path, sizeof(path), "%.1024s/%.63s", c->dir, name);
    memcpy(run->record, path, sizeof(path));
}

/* Arguments. */

struct go_args {
    char *items[GO_ARGS_MAX + 1];
    uint32_t count;
    bool failed;
};

static void go_arg(struct go_args *a, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void go_arg(struct go_args *a, const char *fmt, ...)
{
    char item[GO_ARG_BYTES];
    va_list args;
    int size;

    va_start(args, fmt);
    size = vsnprintf(item, sizeof(item), fmt, args);
    va_end(args);
    a->failed = a->failed || size < 0 || size >= (int)sizeof(item) || a->count == GO_ARGS_MAX;
    if (!a->failed) {
        a->items[a->count] = mem_strdup(item);
        a->failed = a->items[a->count] == NULL;
        a->count += !a->failed;
    }
}

static void go_args_free(struct go_args *a)
{
    for (uint32_t i = 0; i < a->count; i++) {
        mem_free(a->items[i]);
    }
}

/* What makes it what it is, after its own; a file that is run as it is has nothing of ours. */
static void go_settings(const struct go *g, const struct compare_run *run,
                        struct compare_settings *out)
{
    out->count = 0;
    if (run->path != NULL) {
        return;
    }
    if (run->own == NULL) {
        compare_settings(g->config->file, run->name, out);
    }
    if (g->first) {
        compare_settings_converge(g->config->file, &g->c->goal, out);
    } else {
        compare_settings_reach(g->config->file, &g->c->goal, out);
    }
}

/* Tied to our own process first, as the members of a run are. */
static void go_args(const struct go *g, const struct compare_run *run, struct go_args *a)
{
    const struct compare_go_config *config = g->config;
    struct compare_settings settings;

    *a = (struct go_args){.count = 0};
    go_arg(a, "%s", g->program);
    go_arg(a, "tied");
    go_arg(a, "%d", (int)getpid());
    go_arg(a, "--");
    go_arg(a, "%s", g->program);
    go_arg(a, "run");
    go_arg(a, "--on=%s", config->on);
    go_arg(a, "--quiet");
    go_arg(a, "--json");
    go_arg(a, "--no-color");
    go_arg(a, "--output=%s", run->record);
    go_settings(g, run, &settings);
    for (uint32_t i = 0; i < config->sets_count; i++) {
        go_arg(a, "--set=%s", config->sets[i]);
    }
    for (uint32_t i = 0; run->own != NULL && i < run->own->settings_count; i++) {
        go_arg(a, "--set=%s", run->own->settings[i]);
    }
    for (uint32_t i = 0; i < settings.count; i++) {
        go_arg(a, "--set=%s", settings.items[i]);
    }
    go_arg(a, "--");
    go_arg(a, "%s", run->path != NULL ? run->path : config->path);
}

/* Progress. */

static void go_line(const struct compare_run *run, struct text *out)
{
    double objective = NAN;

    text_addf(out, "  %-14s ", run->name);
    if (run->state == COMPARE_RUNS) {
        text_addf(out, "clock %" PRIu64, run_scalars_peek(run->record, &objective));
        if (isfinite(objective)) {
            text_add(out, "  objective ");
            figure_number(objective, out);
        }
    } else if (run->state == COMPARE_WAITS) {
        text_add(out, "waits");
    } else if (!run->known) {
        text_addf(out, "%.60s", run->why.text);
    } else {
        text_addf(out, "%s at clock %" PRIu64 ", after ", run->outcome.end, run->outcome.clocks);
        figure_time(run->outcome.time_s, out);
    }
}

static void go_show(struct go *g)
{
    struct text out;

    if (!g->ctx->progress || text_init(&out, GO_SCREEN_BYTES) != OK) {
        return;
    }
    if (g->config->heading != NULL) {
        text_addf(&out, "  %s, ", g->config->heading);
        figure_time((double)(clock_mono_ns() - g->config->since_ns) * 1e-9, &out);
        text_add(&out, " so far\n");
    }
    for (uint32_t i = 0; i < g->c->count; i++) {
        go_line(&g->c->runs[i], &out);
        text_add(&out, "\n");
    }
    screen_draw(&g->screen, out.chars);
    text_deinit(&out);
}

/* Elsewhere: a line when something has changed. */
static void go_say(struct go *g, const struct compare_run *run)
{
    char line[512];
    struct text out;

    if (!g->ctx->progress) {
        text_init_fixed(&out, line, sizeof(line));
        go_line(run, &out);
        cli_note(g->ctx, "%s", line);
    }
}

static void go_tick(struct loop_timer *timer, void *user)
{
    struct go *g = user;

    go_show(g);
    loop_timer_start_in(timer, (int64_t)GO_TICK_MS * 1000000);
}

/* Ends. */

/* What it said before it ended: the message of its error. */
static void go_words(const struct go_child *child, struct err_text *out)
{
    char log[GO_LOG_BYTES_MAX + 1];
    int fd = open(child->log, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, log, sizeof(log) - 1);
    char *line, *rest = NULL;

    if (fd >= 0) {
        (void)close(fd);
    }
    log[size < 0 ? 0 : size] = '\0';
    for (line = strtok_r(log, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        json_t *object = json_loads(line, 0, NULL);
        const char *message =
            json_string_value(json_object_get(json_object_get(object, "error"), "message"));

        if (message != NULL) {
            (void)err_text_set(out, OK, "%s", message);
        }
        json_decref(object);
    }
}

static void go_read(struct go_child *child, int64_t status, int signum)
{
    struct compare *c = child->go->c;
    struct compare_run *run = &c->runs[child->run];
    double goal = c->goal.there ? c->goal.objective : (double)NAN;
    struct err_text why = {""};

    run->known = compare_load(run, goal, &why) == OK;
    if (run->known) {
        run->reached = strcmp(run->outcome.end, "goal") == 0;
    } else {
        run->why = why;
        go_words(child, &run->why);
    }
    if (signum != 0) {
        (void)err_text_set(&run->why, OK, "it was ended by signal %d", signum);
    }
    if (status == 0 && signum == 0) {
        (void)unlink(child->log); /* It had nothing to say. */
    }
}

static void go_start_some(struct go *g);

/* Did it come to an end that others can be sent to? */
static bool go_sets_goal(const struct compare_run *setter)
{
    const char *end = setter->outcome.end;

    return setter->known && setter->scalars.last_clock > 0 &&
           (strcmp(end, "converged") == 0 || strcmp(end, "clocks") == 0 ||
            strcmp(end, "time") == 0);
}

/* The first has come to its end: what it has is what the others are to reach. */
static void go_set_goal(struct go *g)
{
    struct compare *c = g->c;
    struct compare_run *setter = &c->runs[c->setter];
    const struct run_stop *stop = &g->config->file->stop;

    g->first = false;
    if (g->caught != 0) {
        return;
    }
    if (!go_sets_goal(setter)) {
        const char *why = setter->why.text[0] != '\0' ? setter->why.text
                          : setter->known && setter->outcome.why.text[0] != '\0'
                              ? setter->outcome.why.text
                              : "it was over before its first evaluation";

        screen_clear(&g->screen);
        g->status = cli_error(g->ctx, CLI_ERROR_RUN_FAILED, NULL, "%s, which sets the goal: %s",
                              setter->name, why);
        return;
    }
    c->goal.there = true;
    c->goal.objective = setter->scalars.last;
    c->goal.converged = strcmp(setter->outcome.end, "converged") == 0;
    c->goal.clock = setter->scalars.first_clock;
    c->goal.limit_said = stop->clocks > 0 || stop->time_ns > 0;
    c->goal.limit_clocks =
        c->goal.limit_said ? stop->clocks : GO_TIMES_SETTER * setter->scalars.last_clock;
    setter->reached = true;
    setter->scalars.reached_clock = (double)setter->scalars.last_clock;
    setter->scalars.reached_s = setter->scalars.last_s;
    if (setter->scalars.first_clock < setter->scalars.last_clock) {
        /* It was that good before: once more, so that its time and cost are those of then. */
        go_place(c, setter, setter->name);
        setter->state = COMPARE_WAITS;
        setter->reached = false;
    }
}

static void go_exited(struct loop_child *loop_child, int64_t status, int signum, void *user)
{
    struct go_child *child = user;
    struct go *g = child->go;

    loop_child_destroy(loop_child);
    child->child = NULL;
    g->running--;
    g->c->runs[child->run].state = COMPARE_DONE;
    go_read(child, status, signum);
    go_say(g, &g->c->runs[child->run]);
    if (g->first) {
        go_set_goal(g);
    }
    go_show(g);
    go_start_some(g);
}

/* Beginnings. */

static enum err go_spawn(struct go *g, struct go_child *child)
{
    struct loop_child_config config = {.exited = go_exited, .user = child};
    struct compare_run *run = &g->c->runs[child->run];
    struct go_args args;
    enum err rc;

    (void)snprintf(child->log, sizeof(child->log), "%s.log", run->record);
    go_args(g, run, &args);
    config.argv = (const char *const *)args.items;
    config.stdout_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    config.stderr_fd = open(child->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    rc = args.failed ? ERR_NOMEM : config.stdout_fd < 0 || config.stderr_fd < 0 ? ERR_IO : OK;
    if (rc == OK) {
        rc = loop_child_spawn(g->loop, &config, &child->child);
    }
    if (config.stdout_fd >= 0) {
        (void)close(config.stdout_fd);
    }
    if (config.stderr_fd >= 0) {
        (void)close(config.stderr_fd);
    }
    go_args_free(&args);
    return rc;
}

/* What there is of an earlier time: a record that came to its end is taken, what was cut off is put
 * aside. False: the run has to be run. */
static bool go_take(struct go *g, struct go_child *child)
{
    struct compare_run *run = &g->c->runs[child->run];
    struct compare_settings settings;
    struct compare_earlier earlier = {.record = run->record,
                                      .path = run->path != NULL ? run->path : g->config->path,
                                      .on = g->config->on,
                                      .sets = g->config->sets,
                                      .sets_count = g->config->sets_count,
                                      .own = run->own,
                                      .settings = &settings};
    bool taken = false;
    enum err rc;

    go_settings(g, run, &settings);
    rc = compare_earlier(&earlier, &taken, &run->why);
    if (rc == OK && taken) {
        go_read(child, 1, 0);
    }
    if (rc != OK || taken) {
        run->state = COMPARE_DONE;
        go_say(g, run);
    }
    return rc != OK || taken;
}

static void go_start(struct go *g, uint32_t index)
{
    struct compare_run *run = &g->c->runs[index];
    struct go_child *child = &g->children[index];
    enum err rc;

    child->go = g;
    child->run = index;
    if (g->config->resume && go_take(g, child)) {
        return;
    }
    rc = go_spawn(g, child);
    if (rc == OK) {
        run->state = COMPARE_RUNS;
        g->running++;
    } else {
        run->state = COMPARE_DONE;
        (void)err_text_set(&run->why, OK, "it cannot be started: %s", err_string(rc));
        go_say(g, run);
    }
}

/* As many as may run at once; if none does and none is left, it is over. */
static void go_start_some(struct go *g)
{
    bool may = g->c->goal.there || g->c->setter == COMPARE_NONE;

    for (uint32_t i = 0; i < g->c->count && g->caught == 0 && may; i++) {
        if (g->c->runs[i].state == COMPARE_WAITS && g->running < g->config->jobs) {
            go_start(g, i);
        }
    }
    if (g->running == 0) {
        loop_stop(g->loop);
    }
}

/* The first one asks those that run to finish their records, the second one waits for nobody. */
static void go_caught(int signum, void *user)
{
    struct go *g = user;

    for (uint32_t i = 0; i < g->c->count; i++) {
        if (g->children[i].child != NULL) {
            /* One that has ended just now is on its way to us. */
            enum err rc =
                loop_child_signal(g->children[i].child, g->caught == 0 ? SIGTERM : SIGKILL);

            CHECK(rc == OK || rc == ERR_NOT_FOUND);
        }
    }
    g->caught = signum;
}

static enum err go_open(struct go *g)
{
    ssize_t size = readlink("/proc/self/exe", g->program, sizeof(g->program) - 1);
    enum err rc = loop_create(&g->loop);

    if (size < 0) {
        return ERR_IO;
    }
    if (rc == OK) {
        rc = loop_timer_init(&g->tick, g->loop, go_tick, g);
    }
    if (rc == OK) {
        rc = loop_signal_create(g->loop, SIGINT, go_caught, g, &g->signals[0]);
    }
    if (rc == OK) {
        rc = loop_signal_create(g->loop, SIGTERM, go_caught, g, &g->signals[1]);
    }
    return rc;
}

static void go_close(struct go *g)
{
    for (uint32_t i = 0; i < g->c->count; i++) {
        loop_child_destroy(g->children[i].child);
    }
    loop_timer_deinit(&g->tick);
    loop_signal_destroy(g->signals[0]);
    loop_signal_destroy(g->signals[1]);
    loop_destroy(g->loop);
    mem_free(g);
}

/* False: not even the first can be started. */
static bool go_begin(struct go *g)
{
    struct compare *c = g->c;

    for (uint32_t i = 0; i < c->count; i++) {
        if (c->runs[i].state == COMPARE_WAITS) {
            char name[COMPARE_NAME_BYTES + 16]; /* The record of what sets the goal has its own. */

            (void)snprintf(name, sizeof(name), "%s%s", c->runs[i].name,
                           i == c->setter ? "-converged" : "");
            go_place(c, &c->runs[i], name);
        }
    }
    loop_timer_start_in(&g->tick, 0);
    if (c->setter == COMPARE_NONE) {
        go_start_some(g);
        return true;
    }
    g->first = true;
    go_start(g, c->setter);
    if (g->running == 0) { /* It is there from an earlier time, or it cannot be. */
        go_set_goal(g);
        go_start_some(g);
    }
    return c->goal.there || g->running > 0;
}

static void go_all(struct go *g)
{
    struct compare *c = g->c;

    if (!go_begin(g)) {
        return;
    }
    if (g->running > 0) {
        loop_run(g->loop);
    }
    screen_clear(&g->screen);
    for (uint32_t i = 0; i < c->count; i++) {
        if (c->runs[i].state == COMPARE_WAITS) {
            (void)err_text_set(&c->runs[i].why, OK, "it did not begin");
        }
    }
    if (g->caught != 0 && g->status == CLI_DONE) {
        g->status = g->caught == SIGTERM ? CLI_TERMINATED : CLI_INTERRUPTED;
    }
}

enum cli_exit compare_go(struct cli_context *ctx, const struct compare_go_config *config,
                         struct compare *c)
{
    struct go *g = mem_zalloc(sizeof(*g));
    enum cli_exit status;
    enum err rc;

    if (g == NULL) {
        return cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "cannot run anything");
    }
    g->ctx = ctx;
    g->config = config;
    g->c = c;
    g->screen.ctx = ctx;
    g->status = CLI_DONE;
    rc = go_open(g);
    if (rc == OK) {
        go_all(g);
        status = g->status;
    } else {
        status = cli_error(ctx, CLI_ERROR_FILE, NULL, "cannot run anything: %s", err_string(rc));
    }
    go_close(g);
    return status;
}
