/* strait plan tree: who passes on to whom what servers broadcast to their workers. */

#include "cli/plan/tree.h"

#include "base/mem.h"
#include "cli/command/commands.h"
#include "cli/output/file.h"
#include "loop/clock.h"
#include "plan/tree_exact.h"

#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

double plan_tree_gap(const struct plan_tree_answer *a)
{
    return a->objective > 0 ? (a->objective - a->bound) / a->objective : 0;
}

/* The solver has the thread until it is done, so a signal counts the seconds on the terminal. */

enum { TREE_SHOWN_BYTES = 96 };

static volatile sig_atomic_t tree_seconds;
static char tree_shown[TREE_SHOWN_BYTES];

static void tree_tick(int signal_number)
{
    char digits[12];
    size_t at = sizeof(digits);
    unsigned left = (unsigned)++tree_seconds;

    (void)signal_number;
    do {
        digits[--at] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    (void)!write(STDERR_FILENO, tree_shown, strlen(tree_shown));
    (void)!write(STDERR_FILENO, digits + at, sizeof(digits) - at);
    (void)!write(STDERR_FILENO, " s", 2);
}

static void tree_show(const struct cli_context *ctx, uint32_t workers)
{
    const struct itimerval second = {.it_interval = {.tv_sec = 1}, .it_value = {.tv_sec = 1}};
    struct sigaction action = {.sa_handler = tree_tick, .sa_flags = SA_RESTART};

    if (ctx->progress) {
        (void)snprintf(tree_shown, sizeof(tree_shown),
                       "\r\033[Kplanning a tree of %u workers: ", workers);
        (void)sigemptyset(&action.sa_mask);
        (void)sigaction(SIGALRM, &action, NULL);
        (void)setitimer(ITIMER_REAL, &second, NULL);
    }
}

static void tree_show_end(const struct cli_context *ctx)
{
    const struct itimerval never = {0};

    if (ctx->progress) {
        (void)setitimer(ITIMER_REAL, &never, NULL);
        (void)signal(SIGALRM, SIG_DFL);
        if (tree_seconds > 0) {
            (void)fprintf(ctx->err, "\r\033[K");
            (void)fflush(ctx->err);
        }
    }
}

/* Results. */

static json_t *tree_parents(const struct plan_tree_file *f, const uint32_t *parent)
{
    json_t *all = json_object();

    for (uint32_t i = 0; i < f->problem.workers; i++) {
        uint32_t above = parent[i] == PLAN_TREE_ROOT ? f->problem.workers : parent[i];

        if (json_object_set_new(all, plan_tree_file_id(f, i),
                                json_string(plan_tree_file_id(f, above))) != 0) {
            json_decref(all);
            return NULL;
        }
    }
    return all;
}

static enum cli_exit tree_json(struct cli_context *ctx, const struct plan_tree_file *f,
                               const uint32_t *parent, const struct plan_tree_answer *a,
                               double seconds)
{
    return cli_json(
        ctx, json_pack("{s:f, s:b, s:o, s:I, s:I, s:f, s:f, s:s, s:f}", "objective", a->objective,
                       "optimal", (int)a->optimal, "parent", tree_parents(f, parent), "depth",
                       (json_int_t)a->depth, "leaves", (json_int_t)a->leaves, "bound", a->bound,
                       "gap", plan_tree_gap(a), "method",
                       a->method == PLAN_TREE_EXACT ? "exact" : "heuristic", "seconds", seconds));
}

static enum cli_exit tree_bad(struct cli_context *ctx, enum err rc, const char *text)
{
    return cli_error(ctx,
                     rc == ERR_NOT_FOUND || rc == ERR_IO ? CLI_ERROR_FILE
                     : rc == ERR_NOMEM                   ? CLI_ERROR_NO_MEMORY
                                                         : CLI_ERROR_PLAN_FILE,
                     NULL, "%s", text);
}

/* Of the file, in messages. */
static const char *tree_name(const struct cli_context *ctx)
{
    const char *path = cli_argument(ctx, 0);

    return strcmp(path, "-") == 0 ? "standard input" : path;
}

static enum cli_exit tree_plan(struct cli_context *ctx, const struct plan_tree_file *f)
{
    const struct plan_tree_effort effort = {.seconds = (double)cli_number(ctx, "time") * 1e-6,
                                            .relax = cli_flag(ctx, "heuristic")};
    uint32_t *parent = mem_calloc(f->problem.workers, sizeof(*parent));
    int64_t begun_ns = clock_mono_ns();
    struct plan_tree_answer answer = {0};
    struct err_text text = {"out of memory"};
    enum cli_exit status = CLI_DONE;
    double seconds;
    enum err rc;

    tree_show(ctx, f->problem.workers);
    rc = parent == NULL ? ERR_NOMEM : plan_tree_solve(&f->problem, &effort, parent, &answer, &text);
    tree_show_end(ctx);
    seconds = (double)(clock_mono_ns() - begun_ns) * 1e-9;
    if (rc != OK) {
        status = cli_error(ctx, rc == ERR_NOMEM ? CLI_ERROR_NO_MEMORY : CLI_ERROR_NO_TREE, NULL,
                           "%s: %s", tree_name(ctx), text.text);
    } else if (ctx->json) {
        status = tree_json(ctx, f, parent, &answer, seconds);
    } else {
        plan_tree_view(ctx, f, parent, &answer, seconds);
    }
    mem_free(parent);
    return status;
}

static enum cli_exit tree_run(struct cli_context *ctx)
{
    const char *server = cli_text(ctx, "server");
    struct plan_tree_file *f = NULL;
    struct err_text text = {""};
    struct text bytes = {0};
    enum cli_exit status;
    enum err rc = cli_file_read(cli_argument(ctx, 0), PLAN_TREE_FILE_BYTES_MAX, &bytes, &text);

    if (rc == OK) {
        rc = plan_tree_file_parse(tree_name(ctx), bytes.chars, bytes.size, &f, &text);
        text_deinit(&bytes);
    }
    if (rc != OK) {
        return tree_bad(ctx, rc, rc == ERR_NOMEM ? "out of memory" : text.text);
    }
    if (server != NULL && plan_tree_file_choose(f, server, &text) != OK) {
        status = cli_error(ctx, CLI_ERROR_BAD_VALUE, NULL, "--server %s: %s", server, text.text);
    } else {
        status = tree_plan(ctx, f);
    }
    plan_tree_file_free(f);
    return status;
}

const struct cli_command cli_command_plan_tree = {
    .path = "plan tree",
    .summary = "plan the tree by which servers broadcast to their workers",
    .paragraphs =
        (const char *const[]){
            "FILE says which workers and servers there are, in which rack (\"edge\") of which "
            "aggregation (\"agg\") each is, or what every pair costs; how many children a node "
            "may have (\"degree\"), how deep the tree may be (\"depth\"), and what a leaf costs. "
            "The answer is the tree of least cost: its edges, where one from the root counts once "
            "for each server, and its leaves. docs/PLAN.md has the file and the model.",
            "When the time is up the answer is the best tree that was found, with a bound: no "
            "tree costs less. With --heuristic it is the one that servers find for themselves in "
            "a moment, with the bound of the linear relaxation.",
            NULL},
    .arguments =
        (const struct cli_argument[]){{.placeholder = "FILE",
                                       .help = "the problem, as JSON; - for standard input",
                                       .kind = CLI_FILE},
                                      {0}},
    .options = (const struct cli_option[]){{.name = "time",
                                            .placeholder = "TIME",
                                            .fallback = "10s",
                                            .kind = CLI_DURATION,
                                            .min = 1000,
                                            .max = INT64_C(24) * 3600 * 1000000,
                                            .help = "how long the solver may take"},
                                           {.name = "heuristic",
                                            .help = "a good tree at once, not the best one"},
                                           {.name = "server",
                                            .placeholder = "ID",
                                            .help = "plan for this server alone; default: one tree "
                                                    "for all of them"},
                                           {0}},
    .examples =
        (const struct cli_example[]){
            {"strait plan tree racks.json", "the best tree, as a picture"},
            {"strait plan tree racks.json --time 1m --json", "take a minute; for programs"},
            {"strait plan tree racks.json --server s1", "the tree of one of the servers"},
            {0}},
    .run = tree_run,
};
