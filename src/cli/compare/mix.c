/* Several run files, each run as it is, and records that there are, in any order. */

#include "base/mem.h"
#include "cli/compare/compare.h"
#include "run/file/set.h"
#include "run/sim/sim.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool mix_is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Called after its folder; two of one name after the whole path. */
static void mix_name_record(struct compare *c, const char *path)
{
    struct compare_run *r = &c->runs[c->count];
    char copy[COMPARE_PATH_BYTES];
    size_t size;
    char *slash;
    struct text name;

    (void)snprintf(r->record, sizeof(r->record), "%.1024s", path);
    (void)snprintf(copy, sizeof(copy), "%s", r->record);
    size = strlen(copy);
    while (size > 1 && copy[size - 1] == '/') {
        copy[--size] = '\0';
    }
    slash = strrchr(copy, '/');
    text_init_fixed(&name, r->name, sizeof(r->name));
    text_add_printable(&name, slash == NULL || slash[1] == '\0' ? copy : slash + 1);
    if (compare_find(c, r->name) != COMPARE_NONE) {
        text_clear(&name);
        text_add_printable(&name,
                           size >= sizeof(r->name) ? copy + size - sizeof(r->name) + 1 : copy);
    }
}

static enum cli_exit mix_record(struct cli_context *ctx, struct compare *c, const char *path)
{
    struct compare_run *r = &c->runs[c->count];
    struct err_text text = {""};

    mix_name_record(c, path);
    if (compare_load(r, NAN, &text) != OK) {
        return cli_error(ctx, CLI_ERROR_FILE, NULL, "%s", text.text);
    }
    r->known = true;
    r->state = COMPARE_DONE;
    r->reached = strcmp(r->outcome.end, "goal") == 0;
    c->count++;
    return CLI_DONE;
}

/* Called as the run is; two of one name have numbers. */
static enum cli_exit mix_file(struct cli_context *ctx, struct compare *c, const char *path,
                              const char *const *sets, uint32_t sets_count)
{
    struct compare_run *r = &c->runs[c->count];
    struct err_text text = {""};
    struct run_file *f = NULL;
    char name[COMPARE_NAME_BYTES];
    enum err rc = run_set_load(path, sets, sets_count, &f, &text);

    if (rc == OK) {
        rc = run_sim_check(f, path, &text);
    }
    if (rc != OK) {
        run_file_free(f);
        return compare_bad_file(ctx, rc, &text);
    }
    (void)snprintf(name, sizeof(name), "%.48s", f->name);
    run_file_free(f);
    for (unsigned i = 2; compare_find(c, name) != COMPARE_NONE; i++) {
        char *dash = strrchr(name, '-');

        (void)snprintf(dash != NULL && i > 2 ? dash : name + strlen(name), 12, "-%u", i);
    }
    memcpy(r->name, name, sizeof(name));
    r->path = path;
    r->state = COMPARE_WAITS;
    c->count++;
    return CLI_DONE;
}

/* All arguments; how many of them are files. */
static enum cli_exit mix_take(struct cli_context *ctx, struct compare *c, const char *const *sets,
                              uint32_t sets_count, uint32_t *files_out)
{
    enum cli_exit status = CLI_DONE;
    const char *path;

    *files_out = 0;
    for (uint32_t i = 0; (path = cli_argument(ctx, i)) != NULL && status == CLI_DONE; i++) {
        if (c->count == COMPARE_RUNS_MAX) {
            return cli_error(ctx, CLI_ERROR_BAD_VALUE, NULL, "more than %d runs", COMPARE_RUNS_MAX);
        }
        if (mix_is_folder(path)) {
            status = mix_record(ctx, c, path);
        } else {
            status = mix_file(ctx, c, path, sets, sets_count);
            (*files_out)++;
        }
    }
    return status;
}

static enum cli_exit mix_base(struct cli_context *ctx, struct compare *c)
{
    const char *base = cli_text(ctx, "base");

    c->base = base == NULL ? 0 : compare_find(c, base);
    return c->base != COMPARE_NONE
               ? CLI_DONE
               : cli_error(ctx, CLI_ERROR_BAD_VALUE, NULL,
                           "--base: there is no run '%s' among them; the first is '%s'", base,
                           c->runs[0].name);
}

/* Run what is to be run. */
static enum cli_exit mix_go(struct cli_context *ctx, struct compare *c, const char *const *sets,
                            uint32_t sets_count)
{
    const char *on = cli_text(ctx, "on");
    long cores = strcmp(on, "sim") == 0 ? sysconf(_SC_NPROCESSORS_ONLN) : 1;
    struct compare_go_config config = {.sets = sets,
                                       .sets_count = sets_count,
                                       .jobs = (uint32_t)cli_number(ctx, "jobs"),
                                       .on = on,
                                       .resume = cli_flag(ctx, "resume")};

    config.jobs = config.jobs > 0 ? config.jobs : cores > 0 ? (uint32_t)cores : 1;
    return compare_go(ctx, &config, c);
}

static enum cli_exit mix_all(struct cli_context *ctx, struct compare *c, const char *const *sets,
                             uint32_t sets_count)
{
    enum cli_exit status, shown;
    uint32_t files = 0;

    c->lan = COMPARE_NONE;
    c->setter = COMPARE_NONE;
    status = mix_take(ctx, c, sets, sets_count, &files);
    if (status == CLI_DONE) {
        status = mix_base(ctx, c);
    }
    (void)snprintf(c->title, sizeof(c->title), "%u %s", c->count, files == 0 ? "records" : "runs");
    if (status == CLI_DONE && (files > 0 || cli_text(ctx, "output") != NULL)) {
        status = compare_open_dir(ctx, c->runs[0].name, c);
    }
    if (status != CLI_DONE) {
        return status;
    }
    if (files > 0) {
        status = mix_go(ctx, c, sets, sets_count);
    }
    if (status == CLI_FAILED) {
        return status;
    }
    shown = compare_show(ctx, c);
    return status != CLI_DONE  ? status
           : shown != CLI_DONE ? shown
           : files > 0         ? compare_verdict(c)
                               : CLI_DONE;
}

enum cli_exit compare_mix(struct cli_context *ctx, const char *const *sets, uint32_t sets_count)
{
    struct compare *c;
    enum cli_exit status;

    if (cli_text(ctx, "only") != NULL) {
        return cli_error(ctx, CLI_ERROR_BAD_VALUE, "strait help compare",
                         "--only chooses ways to run one file; several files and records are "
                         "compared as they are");
    }
    c = mem_zalloc(sizeof(*c));
    if (c == NULL) {
        return cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "cannot compare anything");
    }
    status = mix_all(ctx, c, sets, sets_count);
    compare_free(c);
    return status;
}
