/* strait compare: the same file with different ways to synchronise, or several files and records
 * as they are. */

#include "cli/compare/compare.h"

#include "base/mem.h"
#include "base/nearest.h"
#include "cli/command/commands.h"
#include "cli/output/figure.h"
#include "cli/run/run.h"
#include "run/cost/bill.h"
#include "run/file/set.h"
#include "run/sim/sim.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    COMPARE_SETS_MAX = 48, /* A run takes 64, and we have some of our own. */
    COMPARE_JOBS_MAX = 256,
    COMPARE_TEXT_BYTES_MAX = 1 << 20,
    COMPARE_CURVES_BYTES_MAX = 512 << 20,
};

/* What is asked for. */

static bool compare_is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The next of "lan,gaia-bsp"; false: there is none. */
static bool compare_next_name(const char **list, char out[COMPARE_NAME_BYTES])
{
    size_t size = strcspn(*list, ",");

    if (**list == '\0') {
        return false;
    }
    (void)snprintf(out, COMPARE_NAME_BYTES, "%.*s",
                   size < COMPARE_NAME_BYTES ? (int)size : COMPARE_NAME_BYTES - 1, *list);
    *list += size + ((*list)[size] == ',');
    return true;
}

static enum cli_exit compare_check_only(struct cli_context *ctx, const char *only)
{
    char name[COMPARE_NAME_BYTES];

    while (only != NULL && compare_next_name(&only, name)) {
        struct nearest near;
        bool found = false;

        nearest_init(&near, name);
        for (size_t i = 0; compare_names[i] != NULL; i++) {
            found = found || strcmp(compare_names[i], name) == 0;
            nearest_offer(&near, compare_names[i]);
        }
        if (!found) {
            return cli_error(ctx, CLI_ERROR_BAD_VALUE, "strait help compare",
                             "--only: there is no setting '%s': %s", name,
                             nearest_hint(&near, "there are"));
        }
    }
    return CLI_DONE;
}

static bool compare_wanted(const char *only, const char *name)
{
    char one[COMPARE_NAME_BYTES];

    if (only == NULL) {
        return true;
    }
    while (compare_next_name(&only, one)) {
        if (strcmp(one, name) == 0) {
            return true;
        }
    }
    return false;
}

static void compare_add(struct compare *c, const char *name)
{
    CHECK(c->count < COMPARE_RUNS_MAX);
    (void)snprintf(c->runs[c->count++].name, COMPARE_NAME_BYTES, "%s", name);
}

enum cli_exit compare_choose(struct cli_context *ctx, const struct compare_go_config *config,
                             const char *only, struct compare *c)
{
    const struct run_file *f = config->file;
    bool budget = run_bill_has_budget(f);

    for (size_t i = 0; compare_names[i] != NULL; i++) {
        const char *name = compare_names[i];
        bool moves = strcmp(name, "centralised") == 0, free = strcmp(name, "gaia-bsp-free") == 0;
        bool central = strcmp(name, "central") == 0;
        bool asked = only != NULL && compare_wanted(only, name);

        if (!compare_wanted(only, name) && i > 0) {
            continue;
        }
        if (moves && f->job.data_gb <= 0) {
            if (asked) {
                return cli_error(ctx, CLI_ERROR_RUN_FILE, NULL,
                                 "%s: centralised moves the data first, and the file does not say "
                                 "how much that is: add data_gb to its job",
                                 config->path);
            }
            (void)err_text_set(&c->note, OK,
                               "Centralised is left out: the file does not say how much data it "
                               "would move (job.data_gb).");
            continue;
        }
        if (strcmp(name, "lan-ssp") == 0 && !asked) {
            continue;
        }
        if (central && budget) {
            if (asked) {
                return cli_error(ctx, CLI_ERROR_RUN_FILE, NULL,
                                 "%s: central sends the same in every round, and the file has a "
                                 "budget for what is sent: leave one of the two out",
                                 config->path);
            }
            continue;
        }
        if (free && !budget) {
            if (asked) {
                return cli_error(ctx, CLI_ERROR_RUN_FILE, NULL,
                                 "%s: gaia-bsp-free is gaia-bsp without its budget, and the file "
                                 "has none",
                                 config->path);
            }
            continue;
        }
        compare_add(c, name);
    }
    c->lan = 0;
    c->setter = 0;
    c->base = compare_find(c, "plain-bsp");
    return CLI_DONE;
}

void compare_choose_own(const struct run_cells *set, const struct run_cell *cell, struct compare *c)
{
    for (uint32_t i = 0; i < cell->only_count; i++) {
        c->runs[c->count].own = run_cells_find(set, cell->only[i]);
        compare_add(c, cell->only[i]);
    }
    c->lan = COMPARE_NONE;
    c->base = compare_find(c, set->base);
    c->setter = c->base;
}

/* Output. */

static enum cli_exit compare_write(struct cli_context *ctx, const char *dir, const char *name,
                                   const char *chars)
{
    struct err_text text = {""};

    return run_folder_put(dir, name, chars, strlen(chars), &text) == OK
               ? CLI_DONE
               : cli_error(ctx, CLI_ERROR_FILE, NULL, "%s", text.text);
}

/* The curves, and the page. */
static enum cli_exit compare_keep_pictures(struct cli_context *ctx, const struct compare *c)
{
    enum cli_exit status = CLI_DONE;
    struct text text;

    if (text_init(&text, COMPARE_CURVES_BYTES_MAX) != OK) {
        return cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "cannot write curves.csv");
    }
    compare_curves(c, &text);
    status = text.failed ? cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "cannot write curves.csv")
                         : compare_write(ctx, c->dir, "curves.csv", text.chars);
    text_clear(&text);
    if (status == CLI_DONE) {
        status = compare_page(c, &text) != OK || text.failed
                     ? cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "cannot write compare.html")
                     : compare_write(ctx, c->dir, "compare.html", text.chars);
    }
    text_deinit(&text);
    return status;
}

/* All of it beside the records; compare.json comes last, and says that the others are there. */
static enum cli_exit compare_keep(struct cli_context *ctx, const struct compare *c,
                                  const json_t *json, const char *csv)
{
    enum cli_exit status;
    char *chars;

    if (c->dir[0] == '\0') {
        return CLI_DONE;
    }
    status = compare_write(ctx, c->dir, "compare.csv", csv);
    if (status == CLI_DONE) {
        status = compare_keep_pictures(ctx, c);
    }
    chars = json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    if (status == CLI_DONE) {
        status = chars == NULL
                     ? cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "cannot write compare.json")
                     : compare_write(ctx, c->dir, "compare.json", chars);
    }
    free(chars);
    return status;
}

static void compare_print(struct cli_context *ctx, const struct compare *c)
{
    struct compare_view view = {.compare = c,
                                .wide = cli_flag(ctx, "wide"),
                                .color = ctx->color_out,
                                .utf8 = figure_utf8(),
                                .width = ctx->width};
    struct text text;

    if (text_init(&text, COMPARE_TEXT_BYTES_MAX) == OK) {
        compare_view(&view, &text);
        cli_out(ctx, "%s", text.chars);
        text_deinit(&text);
    }
    if (c->dir[0] != '\0') {
        cli_out(ctx, "  %skept in%s %s: compare.html, compare.csv, curves.csv, records\n",
                cli_style(ctx->color_out, CLI_FAINT), cli_style(ctx->color_out, CLI_PLAIN), c->dir);
    }
}

/* What came out, in both forms, and kept; no form: there is no memory. */
static enum cli_exit compare_form(struct cli_context *ctx, struct compare *c, json_t **json_out,
                                  struct text *csv)
{
    compare_align(c);
    *json_out = compare_json(c);
    if (*json_out == NULL || text_init(csv, COMPARE_TEXT_BYTES_MAX) != OK) {
        json_decref(*json_out);
        *json_out = NULL;
        return cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "cannot show what came out");
    }
    compare_csv(c, csv);
    return compare_keep(ctx, c, *json_out, csv->chars);
}

enum cli_exit compare_keep_quietly(struct cli_context *ctx, struct compare *c)
{
    struct text csv = {0};
    json_t *json;
    enum cli_exit status = compare_form(ctx, c, &json, &csv);

    text_deinit(&csv);
    json_decref(json);
    return status;
}

enum cli_exit compare_show(struct cli_context *ctx, struct compare *c)
{
    struct text csv = {0};
    json_t *json;
    enum cli_exit status = compare_form(ctx, c, &json, &csv);

    if (json == NULL) {
        return status;
    }
    if (ctx->json) {
        enum cli_exit printed = cli_json(ctx, json);

        status = status == CLI_DONE ? printed : status;
    } else {
        if (cli_flag(ctx, "csv")) {
            cli_out(ctx, "%s", csv.chars);
        } else {
            compare_print(ctx, c);
        }
        json_decref(json);
    }
    text_deinit(&csv);
    return status;
}

enum cli_exit compare_verdict(const struct compare *c)
{
    for (uint32_t i = 0; i < c->count; i++) {
        const struct compare_run *r = &c->runs[i];

        if (!r->known || strcmp(r->outcome.end, "failed") == 0) {
            return CLI_FAILED;
        }
    }
    return CLI_DONE;
}

/* A run file. */

enum cli_exit compare_open_dir(struct cli_context *ctx, const char *name, struct compare *c)
{
    char path[COMPARE_PATH_BYTES + 32], folder[COMPARE_NAME_BYTES + 16];
    struct err_text text = {""};
    const char *said = cli_text(ctx, "output");

    if (said == NULL && cli_flag(ctx, "resume")) {
        return cli_error(ctx, CLI_ERROR_BAD_VALUE, "strait help compare",
                         "--resume goes on in a folder that there is: say which with --output");
    }
    if (said != NULL && strlen(said) > 1000) {
        return cli_error(ctx, CLI_ERROR_BAD_VALUE, NULL, "--output: too long a path");
    }
    (void)snprintf(folder, sizeof(folder), "%.64s-compare", name);
    if (said != NULL) {
        (void)snprintf(c->dir, sizeof(c->dir), "%s", said);
    } else {
        enum cli_exit status = run_default_dir(ctx, folder, c->dir, sizeof(c->dir));

        if (status != CLI_DONE) {
            return status;
        }
    }
    (void)snprintf(path, sizeof(path), "%s/compare.json", c->dir);
    if (access(path, F_OK) == 0 && !cli_flag(ctx, "resume")) {
        return cli_error(ctx, CLI_ERROR_EXISTS, NULL,
                         "%s holds another comparison: choose another folder, or go on with it "
                         "(--resume)",
                         c->dir);
    }
    return run_folder_make(c->dir, &text) == OK
               ? CLI_DONE
               : cli_error(ctx, CLI_ERROR_FILE, NULL, "%s", text.text);
}

static enum cli_exit compare_run_file(struct cli_context *ctx, const struct run_file *f,
                                      const char *const *sets, uint32_t sets_count)
{
    struct compare *c = mem_zalloc(sizeof(*c));
    struct compare_go_config config = {.path = cli_argument(ctx, 0),
                                       .file = f,
                                       .sets = sets,
                                       .sets_count = sets_count,
                                       .jobs = (uint32_t)cli_number(ctx, "jobs"),
                                       .on = "sim",
                                       .resume = cli_flag(ctx, "resume")};
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    enum cli_exit status;

    if (c == NULL) {
        return cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "cannot compare anything");
    }
    (void)snprintf(c->title, sizeof(c->title), "%.63s", f->name);
    config.jobs = config.jobs > 0 ? config.jobs : cores > 0 ? (uint32_t)cores : 1;
    status = compare_choose(ctx, &config, cli_text(ctx, "only"), c);
    if (status == CLI_DONE) {
        status = compare_open_dir(ctx, f->name, c);
    }
    if (status == CLI_DONE) {
        status = compare_go(ctx, &config, c);
        if (status == CLI_DONE || (status != CLI_FAILED && c->runs[c->setter].known)) {
            enum cli_exit shown = compare_show(ctx, c);

            status = status != CLI_DONE ? status : shown != CLI_DONE ? shown : compare_verdict(c);
        }
    }
    compare_free(c);
    return status;
}

enum cli_exit compare_check_evaluated(struct cli_context *ctx, const char *path,
                                      const struct run_file *f)
{
    return f->evaluate.every > 0
               ? CLI_DONE
               : cli_error(ctx, CLI_ERROR_RUN_FILE, NULL,
                           "%s: evaluate.every is 0, and runs are compared by their evaluations: "
                           "write a number of clocks",
                           path);
}

enum cli_exit compare_check_file(struct cli_context *ctx, const char *path,
                                 const struct run_file *f)
{
    if (f->parts_count < 2) {
        return cli_error(ctx, CLI_ERROR_RUN_FILE, NULL,
                         "%s: it has %s, and layouts can be compared for several sites only: write "
                         "sites instead of servers and workers",
                         path, f->parts_count == 0 ? "no sites" : "one site");
    }
    return compare_check_evaluated(ctx, path, f);
}

enum cli_exit compare_bad_file(struct cli_context *ctx, enum err rc, const struct err_text *text)
{
    return rc == ERR_NOT_FOUND || rc == ERR_IO
               ? cli_error(ctx, CLI_ERROR_FILE, NULL, "%s", text->text)
           : rc == ERR_INVALID
               ? cli_error(ctx, CLI_ERROR_BAD_VALUE, "strait help compare", "--set %s", text->text)
               : cli_error(ctx, CLI_ERROR_RUN_FILE, NULL, "%s", text->text);
}

static enum cli_exit compare_file(struct cli_context *ctx, const char *const *sets, uint32_t count)
{
    const char *path = cli_argument(ctx, 0);
    struct err_text text = {""};
    struct run_file *f = NULL;
    enum cli_exit status;
    enum err rc;

    if (strcmp(cli_text(ctx, "on"), "sim") != 0) {
        return cli_error(ctx, CLI_ERROR_BAD_VALUE, "strait help compare",
                         "--on: one file is simulated in every way; --on %s is for several files, "
                         "each as it is",
                         cli_text(ctx, "on"));
    }
    rc = run_set_load(path, sets, count, &f, &text);
    if (rc == OK) {
        rc = run_sim_check(f, path, &text);
    }
    if (rc != OK) {
        run_file_free(f);
        return compare_bad_file(ctx, rc, &text);
    }
    status = compare_check_file(ctx, path, f);
    if (status == CLI_DONE) {
        status = compare_run_file(ctx, f, sets, count);
    }
    run_file_free(f);
    return status;
}

/* Files and records, without a set. */
static enum cli_exit compare_files(struct cli_context *ctx, const char *const *sets, uint32_t count)
{
    const char *path = cli_argument(ctx, 0);

    if (path == NULL) {
        return cli_error(ctx, CLI_ERROR_MISSING_ARGUMENT, "strait help compare",
                         "what is to be compared? Name a run file, several of them, records, or a "
                         "set (--set FILE)");
    }
    if (cli_flag(ctx, "dry-run") || cli_given(ctx, "cell")) {
        return cli_error(ctx, CLI_ERROR_BAD_VALUE, "strait help compare",
                         "--dry-run and --cell are for sets: name one with --set");
    }
    if (cli_argument(ctx, 1) != NULL) {
        return compare_mix(ctx, sets, count);
    }
    return compare_is_folder(path)
               ? cli_error(ctx, CLI_ERROR_MISSING_ARGUMENT, "strait help compare",
                           "%s is one record: name two or more, or a run file", path)
               : compare_file(ctx, sets, count);
}

/* What is no setting, and names a file or a folder, is a set. */
static enum cli_exit compare_run(struct cli_context *ctx)
{
    enum cli_exit status = compare_check_only(ctx, cli_text(ctx, "only"));
    const char *sets[COMPARE_SETS_MAX], *set = NULL;
    char path[COMPARE_PATH_BYTES], found[COMPARE_PATH_BYTES];
    uint32_t count = 0;
    const char *s;

    if (status != CLI_DONE) {
        return status;
    }
    for (uint32_t i = 0; (s = cli_text_at(ctx, "set", i)) != NULL; i++) {
        if (count == COMPARE_SETS_MAX) {
            return cli_error(ctx, CLI_ERROR_BAD_VALUE, NULL, "--set: more than %d settings",
                             COMPARE_SETS_MAX);
        }
        bool setting = strchr(s, '=') != NULL;

        if (!setting && !compare_cells_find(s, found)) {
            return cli_error(ctx, CLI_ERROR_BAD_VALUE, "strait help compare",
                             "--set %s: neither a setting (write KEY=VALUE) nor a set: there "
                             "is no file %s, %s.yaml or %s/set.yaml",
                             s, s, s, s);
        }
        if (setting) {
            sets[count++] = s;
        } else if (set != NULL) {
            return cli_error(ctx, CLI_ERROR_BAD_VALUE, NULL,
                             "--set: %s is a second set: name one at a time", s);
        } else {
            memcpy(path, found, sizeof(path));
            set = path;
        }
    }
    return set != NULL ? compare_cells(ctx, set, sets, count) : compare_files(ctx, sets, count);
}

const struct cli_command cli_command_compare = {
    .path = "compare",
    .summary = "compare ways to synchronise, run files, and records",
    .group = CLI_GROUP_RUN,
    .paragraphs =
        (const char *const[]){
            "FILE is a run file with several sites. It is simulated with all of it in one region "
            "(lan) until the objective has converged; then as one site that is stretched over all "
            "regions (plain-bsp, plain-ssp), with a copy of the model at each site (gaia-bsp, "
            "gaia-ssp), with copies that wait for nobody (async), with rounds of all sites around "
            "one "
            "of them (central), and after moving all data into one region (centralised, if the "
            "file has job.data_gb), each until it is as good as "
            "lan was. If the file has a budget, gaia-bsp-free runs without it. The table has "
            "the time to that goal, clocks, traffic, dollars and the part of all changes that was "
            "not significant.",
            "Every run is a process of its own with a record of its own, in one folder with "
            "compare.html (a page with curves), compare.csv, curves.csv and compare.json. Runs are "
            "limited by stop.clocks and stop.time of the file, else by ten times lan's clocks. "
            "Ctrl-C ends them and shows what there is.",
            "With several arguments each is a run file, which is run as it is (--on), or the "
            "folder "
            "of a record of an earlier run. They are compared up to the objective that all of them "
            "came to; the first is what the others are compared to, or that of --base. Of records "
            "alone files are written only where --output says.",
            "--set with a file (with or without .yaml) or with a folder that has a set.yaml takes "
            "a set: a file that names several such comparisons, its cells, and what a paper has "
            "for each. All cells are run, each in a folder of its own, and one table has what came "
            "out beside the paper; set.html, set.svg, set.csv and set.json are kept with them. "
            "What has a = in it is a setting in any case, and holds for all cells.",
            "--resume goes on in the folder of --output: runs whose records are there and came to "
            "their end are read and not run again, what was cut off is put aside.",
            NULL},
    .arguments =
        (const struct cli_argument[]){{.placeholder = "FILE",
                                       .help = "a run file with sites, or two or more run files "
                                               "and records; none with a set",
                                       .kind = CLI_FILE,
                                       .optional = true,
                                       .repeats = true},
                                      {0}},
    .options =
        (const struct cli_option[]){
            {.name = "set",
             .placeholder = "KEY=VALUE|SET",
             .repeats = true,
             .help = "take this instead of what the file says, as in job.options.lr=0.1; without "
                     "=: the file of a set"},
            {.name = "cell",
             .placeholder = "NAME",
             .repeats = true,
             .help = "only this cell of the set"},
            {.name = "only",
             .placeholder = "NAMES",
             .help = "only these, with commas: plain-bsp, plain-ssp, gaia-bsp, gaia-ssp, async, "
                     "central, centralised, gaia-bsp-free, lan-ssp; lan is always run"},
            {.name = "on",
             .placeholder = "WHERE",
             .fallback = "sim",
             .kind = CLI_WORDS,
             .words = "sim local",
             .help = "where several files are run: sim, or local for processes on this machine; "
                     "with a set: only the cells that run there"},
            CLI_OPTION_NUMBER("jobs", "N", NULL,
                              "runs at once; default: as many as there are processors, and one "
                              "with --on local",
                              1, COMPARE_JOBS_MAX),
            {.name = "base", .placeholder = "NAME", .help = "the run to compare others with"},
            {.name = "output",
             .letter = 'o',
             .placeholder = "DIR",
             .kind = CLI_DIR,
             .help = "where to keep the records, tables and the page; default: a new folder below "
                     "~/.local/state/strait/runs"},
            {.name = "resume", .help = "go on with what is in the folder of --output"},
            {.name = "dry-run", .help = "check a set and its files, and say what would be run"},
            {.name = "wide", .help = "more columns, and where the time went in every run"},
            {.name = "csv", .help = "print the table as CSV"},
            {0}},
    .examples =
        (const struct cli_example[]){
            {"strait compare runs/gaia-mf-3.yaml", "all of them"},
            {"strait compare runs/gaia-mf-3.yaml --only plain-bsp,gaia-bsp -o here", "two of them"},
            {"strait compare a.yaml b.yaml here/lan", "two files as they are, and a record"},
            {"strait compare here/lan here/gaia-bsp -o there", "records that there are"},
            {"strait compare --set runs/gaia/fig8 -o fig8", "a figure of a paper"},
            {0}},
    .run = compare_run,
};
