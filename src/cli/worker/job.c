#include "cli/worker/job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static enum cli_exit job_error(struct cli_context *ctx, const char *option,
                               const struct err_text *text)
{
    return cli_error(ctx, CLI_ERROR_BAD_VALUE, NULL, "--%s: %s", option, text->text);
}

static enum cli_exit job_options(struct cli_context *ctx, struct run_work *w)
{
    struct err_text text = {""};
    const char *given;

    for (size_t i = 0; (given = cli_text_at(ctx, "option", i)) != NULL; i++) {
        const char *equals = strchr(given, '=');

        if (equals == NULL) {
            return cli_error(ctx, CLI_ERROR_BAD_VALUE, "strait worker --jobs",
                             "--option %s: write KEY=VALUE", given);
        }
        if (run_work_set_option(w, given, (size_t)(equals - given), equals + 1, &text) != OK) {
            return job_error(ctx, "option", &text);
        }
    }
    return CLI_DONE;
}

/* All 64 bits, as in a run file. */
static bool job_seed(const char *chars, uint64_t *out)
{
    errno = 0;
    *out = strtoull(chars, NULL, 10);
    return errno == 0 && chars[0] != '\0' && strspn(chars, "0123456789") == strlen(chars);
}

enum cli_exit worker_job_read(struct cli_context *ctx, struct run_work *w)
{
    struct err_text text = {""};

    if (cli_given(ctx, "job")) {
        if (app_find(cli_text(ctx, "job")) == NULL) {
            return cli_error(ctx, CLI_ERROR_JOB, "strait worker --jobs",
                             "--job %s: there is no such job", cli_text(ctx, "job"));
        }
        if (strcmp(w->job, cli_text(ctx, "job")) != 0) {
            w->options_count = 0; /* Those of another job. */
            w->data[0] = '\0';
        }
        if (run_work_set_job(w, cli_text(ctx, "job"), &text) != OK) {
            return job_error(ctx, "job", &text);
        }
    }
    if (cli_given(ctx, "data") && run_work_set_data(w, cli_text(ctx, "data"), &text) != OK) {
        return job_error(ctx, "data", &text);
    }
    if (cli_given(ctx, "seed") && !job_seed(cli_text(ctx, "seed"), &w->seed)) {
        return cli_error(ctx, CLI_ERROR_BAD_VALUE, NULL,
                         "--seed %s: a whole number below 2^64 is wanted", cli_text(ctx, "seed"));
    }
    if (cli_given(ctx, "clocks")) {
        w->clocks = (uint64_t)cli_number(ctx, "clocks");
    }
    if (cli_given(ctx, "evaluate-every")) {
        w->evaluate_every = (uint32_t)cli_number(ctx, "evaluate-every");
    }
    return job_options(ctx, w);
}

enum cli_exit worker_job_text(struct cli_context *ctx, char out[NODE_JOB_BYTES])
{
    static const char *const others[] = {"data", "option", "seed", "clocks", "evaluate-every"};
    struct run_work work;
    enum cli_exit status;

    out[0] = '\0';
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (cli_given(ctx, others[i]) && !cli_given(ctx, "job")) {
            return cli_error(ctx, CLI_ERROR_SETTINGS, "strait worker --jobs",
                             "--%s: for which job? Say --job NAME", others[i]);
        }
    }
    if (!cli_given(ctx, "job")) {
        return CLI_DONE;
    }
    run_work_init(&work);
    status = worker_job_read(ctx, &work);
    if (status == CLI_DONE && run_work_print(&work, out) != OK) {
        status = cli_error(ctx, CLI_ERROR_BAD_VALUE, NULL,
                           "--option: what workers are to be told is longer than %d bytes",
                           NODE_JOB_BYTES);
    }
    return status;
}

static void job_list_options(struct cli_context *ctx, const char *help)
{
    while (*help != '\0') {
        size_t size = strcspn(help, "\n");
        size_t key = strcspn(help, " \n");

        cli_out(ctx, "    %s%-16.*s%s %.*s\n", cli_style(ctx->color_out, CLI_NAME),
                (int)(key < size ? key : size), help, cli_style(ctx->color_out, CLI_PLAIN),
                (int)(key < size ? size - key - 1 : 0), help + key + (key < size));
        help += size + (help[size] == '\n');
    }
}

static json_t *job_json(const struct app_ops *job)
{
    return json_pack("{s:s, s:s, s:s, s:b, s:s+}", "name", job->name, "summary", job->summary,
                     "objective", job->objective, "rising", (int)job->rising, "options",
                     job->options_help, app_options_help);
}

enum cli_exit worker_job_list(struct cli_context *ctx)
{
    uint32_t count = 0;
    const struct app_ops *const *jobs = app_all(&count);
    json_t *list = json_array();

    for (uint32_t i = 0; i < count; i++) {
        (void)json_array_append_new(list, job_json(jobs[i]));
        if (!ctx->json) {
            cli_out(ctx, "%s%s%s  %s\n", cli_style(ctx->color_out, CLI_HEADING), jobs[i]->name,
                    cli_style(ctx->color_out, CLI_PLAIN), jobs[i]->summary);
            cli_out(ctx, "    objective: %s, %s is better\n", jobs[i]->objective,
                    jobs[i]->rising ? "more" : "less");
            job_list_options(ctx, jobs[i]->options_help);
            job_list_options(ctx, app_options_help);
        }
    }
    if (ctx->json) {
        return cli_json(ctx, json_pack("{s:o}", "jobs", list));
    }
    json_decref(list);
    return CLI_DONE;
}
