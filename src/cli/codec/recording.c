#include "cli/codec/recording.h"

#include "base/figure.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { RECORDING_TEXT_BYTES = 64 };

enum cli_exit recording_read(struct cli_context *ctx, struct run_recording *out)
{
    static const char *const others[] = {"record-every", "record-format", "record-large"};

    *out = (struct run_recording){
        .dir = cli_text(ctx, "record-updates"),
        .worker = RUN_RECORDING_ALL,
        .every = (uint32_t)cli_number(ctx, "record-every"),
        .lines = strcmp(cli_text(ctx, "record-format"), "jsonl") == 0,
        .large = cli_flag(ctx, "record-large"),
    };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]) && out->dir == NULL; i++) {
        if (cli_given(ctx, others[i])) {
            return cli_error(ctx, CLI_ERROR_SETTINGS, NULL,
                             "--%s: where to? Say --record-updates DIR", others[i]);
        }
    }
    return CLI_DONE;
}

/* "all", or the number of a worker of the run. */
static enum cli_exit recording_worker(struct cli_context *ctx, const struct run_file *f,
                                      uint32_t *out)
{
    const char *text = cli_text(ctx, "record-worker");
    char *end = NULL;
    unsigned long number = strtoul(text, &end, 10);

    if (strcmp(text, "all") == 0) {
        *out = RUN_RECORDING_ALL;
        return CLI_DONE;
    }
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || number >= f->workers) {
        return cli_error(
            ctx, CLI_ERROR_BAD_VALUE, NULL,
            "--record-worker %s: all, or a number from 0 to %u: the run has %u worker%s", text,
            f->workers - 1, f->workers, f->workers == 1 ? "" : "s");
    }
    *out = (uint32_t)number;
    return CLI_DONE;
}

static enum cli_exit recording_refused(struct cli_context *ctx, const struct run_file *f,
                                       const struct run_recording_plan *plan, enum err rc,
                                       const struct err_text *text)
{
    char chars[RECORDING_TEXT_BYTES];
    struct text bytes;

    text_init_fixed(&bytes, chars, sizeof(chars));
    figure_bytes(plan->bytes, &bytes);
    switch (rc) {
    case ERR_TOO_BIG:
        return cli_error(ctx, CLI_ERROR_SETTINGS, NULL,
                         "--record-updates: that would be %s%s; record every so many clocks "
                         "(--record-every), or say --record-large",
                         chars, plan->clocks == 0 ? " for each clock" : "");
    case ERR_EXISTS:
        return cli_error(ctx, CLI_ERROR_EXISTS, NULL, "--record-updates: %s", text->text);
    case ERR_IO:
    case ERR_FULL:
        return cli_error(ctx, CLI_ERROR_FILE, NULL, "--record-updates: %s%s", text->text,
                         rc == ERR_FULL ? "; make room there, or choose another folder" : "");
    case ERR_NOMEM:
        return cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "%s", text->text);
    default:
        return cli_error(ctx, CLI_ERROR_JOB, "strait worker --jobs", "%s:%u: %s",
                         cli_argument(ctx, 0), f->job.line, text->text);
    }
}

static void recording_say(struct cli_context *ctx, const struct run_recording *how,
                          const struct run_recording_plan *plan)
{
    char chars[RECORDING_TEXT_BYTES], clocks[RECORDING_TEXT_BYTES] = "each clock";
    struct text bytes;

    text_init_fixed(&bytes, chars, sizeof(chars));
    figure_bytes(plan->bytes, &bytes);
    if (plan->clocks > 0) {
        (void)snprintf(clocks, sizeof(clocks), "%" PRIu64 " clock%s", plan->clocks,
                       plan->clocks == 1 ? "" : "s");
    }
    cli_note(ctx, "records the updates of %u worker%s and %u table%s: %s%s for %s, in %s",
             plan->workers, plan->workers == 1 ? "" : "s", plan->tables,
             plan->tables == 1 ? "" : "s", how->lines ? "about " : "", chars, clocks, how->dir);
}

enum cli_exit recording_begin(struct cli_context *ctx, const struct run_file *f,
                              struct run_recording *out, char *dir, size_t size)
{
    const char *on = cli_text(ctx, "on");
    enum cli_exit status = recording_read(ctx, out);
    struct run_recording_plan plan;
    struct err_text text = {""};
    char whole[PATH_MAX];
    enum err rc;

    if (status != CLI_DONE || out->dir == NULL) {
        return status;
    }
    if (strcmp(on, "hosts") == 0 || strcmp(on, "slurm") == 0) {
        return cli_error(ctx, CLI_ERROR_SETTINGS, NULL,
                         "--record-updates: not with --on %s, where workers write to the disks of "
                         "other machines; record the run with --on sim, or on this machine with "
                         "--on local or lab",
                         on);
    }
    status = recording_worker(ctx, f, &out->worker);
    if (status != CLI_DONE) {
        return status;
    }
    rc = run_recording_begin(out, f, &plan, &text);
    if (rc != OK) {
        return recording_refused(ctx, f, &plan, rc, &text);
    }
    /* Workers may be started in another folder. */
    if (realpath(out->dir, whole) == NULL || snprintf(dir, size, "%s", whole) >= (int)size) {
        return cli_error(ctx, CLI_ERROR_FILE, NULL, "--record-updates %s: %s", out->dir,
                         strerror(errno));
    }
    recording_say(ctx, out, &plan);
    out->dir = dir;
    return CLI_DONE;
}

void recording_end(struct cli_context *ctx, const struct run_recording *how)
{
    struct err_text text = {""};

    if (how->dir != NULL && run_recording_end(how, &text) != OK) {
        cli_note(ctx, "%s; how many clocks were recorded is not said there; what was can be read",
                 text.text);
    }
}
