/* Sets: the cells that a file names, each a comparison in a folder of its own, one after the other,
 * and one table of all of them. */

#include "cli/compare/cells.h"

#include "base/mem.h"
#include "base/nearest.h"
#include "loop/clock.h"
#include "run/file/set.h"
#include "run/record/record.h"
#include "run/sim/sim.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    CELLS_SETS_MAX = 48, /* Of a cell, of --set and of a run: 64 are taken, and we have some. */
    CELLS_ONLY_BYTES = RUN_CELLS_RUNS_MAX * COMPARE_NAME_BYTES,
    CELLS_TEXT_BYTES_MAX = 32 << 20,
};

/* What a cell is run with. */
struct cells_plan {
    struct run_file *f;
    const char *sets[CELLS_SETS_MAX];
    uint32_t sets_count;
    char only[CELLS_ONLY_BYTES];
};

struct cells {
    struct cli_context *ctx;
    struct compare_cells s;
    struct run_cells *set;
    const char *const *sets; /* Of the command line. */
    uint32_t sets_count;
    int64_t since_ns;
};

static bool cells_is_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

bool compare_cells_find(const char *name, char out[COMPARE_PATH_BYTES])
{
    static const char *const ends[] = {"", ".yaml", "/set.yaml"};

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        int size = snprintf(out, COMPARE_PATH_BYTES, "%s%s", name, ends[i]);

        if (size < COMPARE_PATH_BYTES && cells_is_file(out)) {
            return true;
        }
    }
    return false;
}

/* Which cells. */

static enum cli_exit cells_mark(struct cells *k, const char *name)
{
    struct nearest near;

    nearest_init(&near, name);
    for (uint32_t i = 0; i < k->s.count; i++) {
        nearest_offer(&near, k->s.cells[i].cell->name);
        if (strcmp(k->s.cells[i].cell->name, name) == 0) {
            k->s.cells[i].chosen = true;
            return CLI_DONE;
        }
    }
    return cli_error(k->ctx, CLI_ERROR_BAD_VALUE, NULL, "--cell: the set has no cell '%s': %s",
                     name, nearest_hint(&near, "there are"));
}

static enum cli_exit cells_choose(struct cells *k)
{
    const char *on = cli_given(k->ctx, "on") ? cli_text(k->ctx, "on") : NULL;
    enum cli_exit status = CLI_DONE;
    uint32_t chosen = 0;
    const char *name;

    k->s.count = k->set->count;
    for (uint32_t i = 0; i < k->s.count; i++) {
        k->s.cells[i].cell = &k->set->cells[i];
        k->s.cells[i].chosen = cli_text_at(k->ctx, "cell", 0) == NULL;
    }
    for (uint32_t i = 0; (name = cli_text_at(k->ctx, "cell", i)) != NULL && status == CLI_DONE;
         i++) {
        status = cells_mark(k, name);
    }
    for (uint32_t i = 0; i < k->s.count; i++) {
        bool there = on == NULL || (strcmp(on, "local") == 0) == k->s.cells[i].cell->local;

        k->s.cells[i].chosen = k->s.cells[i].chosen && there;
        chosen += k->s.cells[i].chosen;
    }
    return status != CLI_DONE || chosen > 0
               ? status
               : cli_error(k->ctx, CLI_ERROR_BAD_VALUE, NULL,
                           "--on: none of the cells that were asked for runs on %s", on);
}

/* The file of a cell, as it is for all of its runs, or for one of the set's own; the caller
 * releases it. */
static enum cli_exit cells_load(struct cells *k, const struct run_cell *cell,
                                const struct run_cells_run *own, const struct cells_plan *plan,
                                struct run_file **f_out)
{
    const char *sets[CELLS_SETS_MAX + RUN_CELLS_SETTINGS_MAX];
    uint32_t count = plan->sets_count;
    struct err_text text = {""};
    enum err rc;

    memcpy(sets, plan->sets, count * sizeof(sets[0]));
    for (uint32_t i = 0; own != NULL && i < own->settings_count; i++) {
        sets[count++] = own->settings[i];
    }
    rc = run_set_load(cell->path, sets, count, f_out, &text);
    if (rc == OK) {
        rc = run_sim_check(*f_out, cell->path, &text);
    }
    if (rc != OK) {
        char words[sizeof(text.text)];

        memcpy(words, text.text, sizeof(words));
        (void)err_text_set(&text, OK, "cell %.48s%s%.32s: %.400s", cell->name,
                           own != NULL ? ", run " : "", own != NULL ? own->name : "", words);
        return rc == ERR_INVALID ? cli_error(k->ctx, CLI_ERROR_RUN_FILE, NULL, "%s", text.text)
                                 : compare_bad_file(k->ctx, rc, &text);
    }
    return CLI_DONE;
}

/* The most settings that one of the set's own runs has. */
static uint32_t cells_own_most(const struct run_cells *set)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < set->runs_count; i++) {
        most = set->runs[i].settings_count > most ? set->runs[i].settings_count : most;
    }
    return most;
}

/* What a cell needs; the caller releases plan->f. */
static enum cli_exit cells_plan(struct cells *k, const struct run_cell *cell,
                                struct cells_plan *plan)
{
    enum cli_exit status;
    struct text only;

    *plan = (struct cells_plan){.f = NULL};
    if (cell->settings_count + k->sets_count + cells_own_most(k->set) > CELLS_SETS_MAX) {
        return cli_error(k->ctx, CLI_ERROR_BAD_VALUE, NULL,
                         "--set: more than %d settings with those of cell %s", CELLS_SETS_MAX,
                         cell->name);
    }
    text_init_fixed(&only, plan->only, sizeof(plan->only));
    for (uint32_t i = 0; i < cell->only_count; i++) {
        text_addf(&only, "%s%s", i > 0 ? "," : "", cell->only[i]);
    }
    for (uint32_t i = 0; i < cell->settings_count; i++) {
        plan->sets[plan->sets_count++] = cell->settings[i];
    }
    for (uint32_t i = 0; i < k->sets_count; i++) {
        plan->sets[plan->sets_count++] = k->sets[i];
    }
    status = cells_load(k, cell, NULL, plan, &plan->f);
    return status != CLI_DONE        ? status
           : k->set->runs_count == 0 ? compare_check_file(k->ctx, cell->path, plan->f)
                                     : compare_check_evaluated(k->ctx, cell->path, plan->f);
}

/* Every run that the set makes of the file is good before the first begins. */
static enum cli_exit cells_check_own(struct cells *k, const struct run_cell *cell,
                                     const struct cells_plan *plan)
{
    enum cli_exit status = CLI_DONE;

    for (uint32_t i = 0; k->set->runs_count > 0 && i < cell->only_count && status == CLI_DONE;
         i++) {
        struct run_file *f = NULL;

        status = cells_load(k, cell, run_cells_find(k->set, cell->only[i]), plan, &f);
        if (status == CLI_DONE) {
            status = compare_check_evaluated(k->ctx, cell->path, f);
        }
        run_file_free(f);
    }
    return status;
}

/* The comparison of a cell, before anything is run; NULL: that was said. */
static struct compare *cells_open(struct cells *k, const struct run_cell *cell,
                                  const struct cells_plan *plan, struct compare_go_config *config)
{
    long cores = cell->local ? 1 : sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t jobs = cell->local ? 1 : (uint32_t)cli_number(k->ctx, "jobs");
    struct compare *c = mem_zalloc(sizeof(*c));

    *config = (struct compare_go_config){.path = cell->path,
                                         .file = plan->f,
                                         .sets = plan->sets,
                                         .sets_count = plan->sets_count,
                                         .jobs = jobs > 0    ? jobs
                                                 : cores > 0 ? (uint32_t)cores
                                                             : 1,
                                         .on = cell->local ? "local" : "sim",
                                         .resume = cli_flag(k->ctx, "resume"),
                                         .since_ns = k->since_ns};
    if (c == NULL) {
        (void)cli_error(k->ctx, CLI_ERROR_NO_MEMORY, NULL, "cannot compare anything");
        return NULL;
    }
    (void)snprintf(c->title, sizeof(c->title), "%.63s", cell->name);
    if (k->set->runs_count > 0) {
        compare_choose_own(k->set, cell, c);
    } else if (compare_choose(k->ctx, config, plan->only, c) != CLI_DONE) {
        compare_free(c);
        return NULL;
    }
    return c;
}

/* All files of the set are good before the first cell begins. */
static enum cli_exit cells_check(struct cells *k)
{
    enum cli_exit status = CLI_DONE;

    for (uint32_t i = 0; i < k->s.count && status == CLI_DONE; i++) {
        struct compare_go_config config;
        struct cells_plan plan;

        status = cells_plan(k, k->s.cells[i].cell, &plan);
        if (status == CLI_DONE) {
            status = cells_check_own(k, k->s.cells[i].cell, &plan);
        }
        if (status == CLI_DONE) {
            struct compare *c = cells_open(k, k->s.cells[i].cell, &plan, &config);

            status = c == NULL ? CLI_BAD_CONFIGURATION : CLI_DONE;
            compare_free(c);
        }
        run_file_free(plan.f);
    }
    return status;
}

/* Running. */

static uint32_t cells_chosen(const struct cells *k, uint32_t before)
{
    uint32_t chosen = 0;

    for (uint32_t i = 0; i < before; i++) {
        chosen += k->s.cells[i].chosen;
    }
    return chosen;
}

/* What is said of a cell of which there is no goal. */
static void cells_why(struct compare_cell *cell)
{
    const struct compare_run *setter = &cell->c->runs[cell->c->setter];
    const char *why = setter->why.text[0] != '\0'           ? setter->why.text
                      : setter->outcome.why.text[0] != '\0' ? setter->outcome.why.text
                                                            : "it came to no end";

    (void)err_text_set(&cell->why, OK, "%s, which sets the goal: %.300s", setter->name, why);
}

/* Run it, and keep what came out. */
static enum cli_exit cells_go(struct cells *k, struct compare_cell *cell,
                              const struct compare_go_config *config)
{
    struct err_text text = {""};
    enum cli_exit status, kept;
    int size = snprintf(cell->c->dir, sizeof(cell->c->dir), "%s/%s", k->s.dir, cell->cell->name);

    if (size >= (int)sizeof(cell->c->dir)) {
        return cli_error(k->ctx, CLI_ERROR_BAD_VALUE, NULL, "--output: too long a path");
    }
    if (run_folder_make(cell->c->dir, &text) != OK) {
        return cli_error(k->ctx, CLI_ERROR_FILE, NULL, "%s", text.text);
    }
    status = compare_go(k->ctx, config, cell->c);
    if (status == CLI_FAILED || !cell->c->goal.there) {
        cell->state = status == CLI_FAILED ? COMPARE_CELL_FAILED : COMPARE_CELL_CUT;
        cells_why(cell);
        return status;
    }
    cell->state = status == CLI_DONE ? COMPARE_CELL_DONE : COMPARE_CELL_CUT;
    kept = compare_keep_quietly(k->ctx, cell->c);
    return status != CLI_DONE ? status : kept != CLI_DONE ? kept : compare_verdict(cell->c);
}

static enum cli_exit cells_run_one(struct cells *k, uint32_t index)
{
    struct compare_cell *cell = &k->s.cells[index];
    char heading[COMPARE_NAME_BYTES + 64];
    struct compare_go_config config;
    struct cells_plan plan;
    enum cli_exit status = cells_plan(k, cell->cell, &plan);

    (void)snprintf(heading, sizeof(heading), "cell %u of %u: %s (%s)", cells_chosen(k, index) + 1,
                   cells_chosen(k, k->s.count), cell->cell->name,
                   cell->cell->local ? "local" : "sim");
    if (status == CLI_DONE) {
        cell->c = cells_open(k, cell->cell, &plan, &config);
        status = cell->c == NULL ? CLI_BAD_CONFIGURATION : CLI_DONE;
    }
    if (status == CLI_DONE) {
        config.heading = heading;
        if (!k->ctx->progress) {
            cli_note(k->ctx, "  %s, %.0f s so far", heading,
                     (double)(clock_mono_ns() - k->since_ns) * 1e-9);
        }
        status = cells_go(k, cell, &config);
    }
    run_file_free(plan.f);
    return status;
}

/* A cell that fails does not keep the others from running; a signal does. */
static enum cli_exit cells_run(struct cells *k)
{
    enum cli_exit worst = CLI_DONE;

    for (uint32_t i = 0; i < k->s.count; i++) {
        enum cli_exit status = k->s.cells[i].chosen ? cells_run_one(k, i) : CLI_DONE;

        if (status != CLI_DONE && status != CLI_FAILED) {
            return status;
        }
        worst = status == CLI_DONE ? worst : status;
    }
    return worst;
}

/* Output. */

static enum cli_exit cells_put(struct cells *k, const char *name, struct text *t)
{
    struct err_text text = {""};
    enum cli_exit status = CLI_DONE;

    if (t->failed) {
        status = cli_error(k->ctx, CLI_ERROR_NO_MEMORY, NULL, "cannot write %s", name);
    } else if (run_folder_put(k->s.dir, name, t->chars, t->size, &text) != OK) {
        status = cli_error(k->ctx, CLI_ERROR_FILE, NULL, "%s", text.text);
    }
    text_clear(t);
    return status;
}

static enum cli_exit cells_keep_figure(struct cells *k, const struct run_cells_figure *f,
                                       struct text *t)
{
    char file[COMPARE_CELLS_FILE_BYTES];
    enum cli_exit status;

    compare_cells_csv(&k->s, f, t);
    compare_cells_file(&k->s, f, "csv", file);
    status = cells_put(k, file, t);
    if (status == CLI_DONE) {
        compare_cells_svg(&k->s, f, true, t);
        compare_cells_file(&k->s, f, "svg", file);
        status = cells_put(k, file, t);
    }
    return status;
}

static enum cli_exit cells_keep(struct cells *k, const json_t *json, struct text *t)
{
    enum cli_exit status = CLI_DONE;
    char *chars = json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(12));

    for (uint32_t i = 0; i < k->set->figures_count && status == CLI_DONE; i++) {
        status = cells_keep_figure(k, &k->set->figures[i], t);
    }
    if (status == CLI_DONE) {
        compare_cells_page(&k->s, t);
        status = cells_put(k, "set.html", t);
    }
    if (status == CLI_DONE && chars == NULL) {
        status = cli_error(k->ctx, CLI_ERROR_NO_MEMORY, NULL, "cannot write set.json");
    }
    if (status == CLI_DONE) {
        text_add(t, chars);
        status = cells_put(k, "set.json", t);
    }
    free(chars);
    return status;
}

static enum cli_exit cells_print(struct cells *k, json_t *json, struct text *t)
{
    bool several = k->set->figures_count > 1;

    if (k->ctx->json) {
        return cli_json(k->ctx, json_incref(json));
    }
    if (cli_flag(k->ctx, "csv")) {
        compare_cells_csv_all(&k->s, t);
        cli_out(k->ctx, "%s", t->chars);
        return CLI_DONE;
    }
    for (uint32_t i = 0; i < k->set->figures_count; i++) {
        compare_cells_view(&k->s, &k->set->figures[i], k->ctx->color_out, t);
    }
    cli_out(k->ctx, "%s", t->chars);
    cli_out(k->ctx, "  %skept in%s %s: set.html, %s, and a folder for each cell\n",
            cli_style(k->ctx->color_out, CLI_FAINT), cli_style(k->ctx->color_out, CLI_PLAIN),
            k->s.dir, several ? "set*.svg, set*.csv" : "set.svg, set.csv");
    return CLI_DONE;
}

static enum cli_exit cells_show(struct cells *k)
{
    json_t *json = compare_cells_json(&k->s);
    enum cli_exit status, printed;
    struct text t;

    if (json == NULL || text_init(&t, CELLS_TEXT_BYTES_MAX) != OK) {
        json_decref(json);
        return cli_error(k->ctx, CLI_ERROR_NO_MEMORY, NULL, "cannot show what came out");
    }
    status = cells_keep(k, json, &t);
    printed = cells_print(k, json, &t);
    text_deinit(&t);
    json_decref(json);
    return status != CLI_DONE ? status : printed;
}

/* What would be run. */

static void cells_dry_say(struct cells *k, const struct run_cell *cell)
{
    bool own = k->set->runs_count > 0;

    cli_out(k->ctx, "  %-24s %-5s  %s %s", cell->name, cell->local ? "local" : "sim", cell->path,
            own ? "" : " lan");
    for (uint32_t i = 0; i < cell->only_count; i++) {
        if (own || strcmp(cell->only[i], "lan") != 0) {
            cli_out(k->ctx, " %s", cell->only[i]);
        }
    }
    for (uint32_t i = 0; i < cell->settings_count; i++) {
        cli_out(k->ctx, "  --set %s", cell->settings[i]);
    }
    cli_out(k->ctx, "\n");
}

static void cells_dry_say_own(struct cells *k)
{
    for (uint32_t i = 0; i < k->set->runs_count; i++) {
        const struct run_cells_run *run = &k->set->runs[i];

        cli_out(k->ctx, "  run %s", run->name);
        for (uint32_t j = 0; j < run->settings_count; j++) {
            cli_out(k->ctx, "  --set %s", run->settings[j]);
        }
        cli_out(k->ctx, "\n");
    }
}

static json_t *cells_dry_list(const char *const *words, uint32_t count)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < count; i++) {
        (void)json_array_append_new(list, json_string(words[i]));
    }
    return list;
}

static json_t *cells_dry_own(const struct run_cells *set)
{
    json_t *runs = json_object();

    for (uint32_t i = 0; i < set->runs_count; i++) {
        const struct run_cells_run *run = &set->runs[i];

        (void)json_object_set_new(runs, run->name,
                                  cells_dry_list(run->settings, run->settings_count));
    }
    return runs;
}

static json_t *cells_dry_json(const struct run_cell *cell)
{
    json_t *only = cells_dry_list(cell->only, cell->only_count);
    json_t *set = cells_dry_list(cell->settings, cell->settings_count);

    return json_pack("{s:s, s:s, s:s, s:o, s:o}", "name", cell->name, "on",
                     cell->local ? "local" : "sim", "file", cell->path, "only", only, "set", set);
}

static enum cli_exit cells_dry(struct cells *k)
{
    json_t *cells = json_array();

    if (!k->ctx->json) {
        cells_dry_say_own(k);
    }
    for (uint32_t i = 0; i < k->s.count; i++) {
        if (k->s.cells[i].chosen && k->ctx->json) {
            (void)json_array_append_new(cells, cells_dry_json(k->s.cells[i].cell));
        } else if (k->s.cells[i].chosen) {
            cells_dry_say(k, k->s.cells[i].cell);
        }
    }
    if (k->ctx->json) {
        return cli_json(k->ctx, json_pack("{s:s, s:o, s:o}", "set", k->set->name, "runs",
                                          cells_dry_own(k->set), "cells", cells));
    }
    json_decref(cells);
    return CLI_DONE;
}

/* The folder; what it holds of another time is gone on with, or left alone. */
static enum cli_exit cells_folder(struct cells *k)
{
    struct compare *c = mem_zalloc(sizeof(*c));
    char path[COMPARE_PATH_BYTES + 32];
    enum cli_exit status;

    if (c == NULL) {
        return cli_error(k->ctx, CLI_ERROR_NO_MEMORY, NULL, "cannot compare anything");
    }
    status = compare_open_dir(k->ctx, k->set->name, c);
    memcpy(k->s.dir, c->dir, sizeof(c->dir));
    compare_free(c);
    (void)snprintf(path, sizeof(path), "%s/set.json", k->s.dir);
    if (status == CLI_DONE && access(path, F_OK) == 0 && !cli_flag(k->ctx, "resume")) {
        status = cli_error(k->ctx, CLI_ERROR_EXISTS, NULL,
                           "%s holds another set: choose another folder, or go on with it "
                           "(--resume)",
                           k->s.dir);
    }
    return status;
}

static enum cli_exit cells_all(struct cells *k)
{
    enum cli_exit status = cells_choose(k), shown;

    if (status == CLI_DONE) {
        status = cells_check(k);
    }
    if (status != CLI_DONE || cli_flag(k->ctx, "dry-run")) {
        return status != CLI_DONE ? status : cells_dry(k);
    }
    status = cells_folder(k);
    if (status != CLI_DONE) {
        return status;
    }
    status = cells_run(k);
    if (status == CLI_USAGE || status == CLI_BAD_CONFIGURATION) {
        return status;
    }
    shown = cells_show(k);
    return status != CLI_DONE ? status : shown;
}

enum cli_exit compare_cells(struct cli_context *ctx, const char *path, const char *const *sets,
                            uint32_t sets_count)
{
    struct cells *k;
    struct err_text text = {""};
    struct run_cells *set = NULL;
    enum cli_exit status;
    enum err rc;

    if (cli_argument(ctx, 0) != NULL || cli_text(ctx, "only") != NULL ||
        cli_text(ctx, "base") != NULL) {
        return cli_error(ctx, CLI_ERROR_BAD_VALUE, "strait help compare",
                         "%s is a set, and says itself which files are run in which ways: leave "
                         "out FILE, --only and --base",
                         path);
    }
    rc = run_cells_load(path, compare_names, &set, &text);
    if (rc != OK) {
        return compare_bad_file(ctx, rc, &text);
    }
    k = mem_zalloc(sizeof(*k));
    if (k == NULL) {
        run_cells_free(set);
        return cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "cannot compare anything");
    }
    k->ctx = ctx;
    k->set = set;
    k->s.set = set;
    k->sets = sets;
    k->sets_count = sets_count;
    k->since_ns = clock_mono_ns();
    status = cells_all(k);
    for (uint32_t i = 0; i < k->s.count; i++) {
        compare_free(k->s.cells[i].c);
    }
    mem_free(k);
    run_cells_free(set);
    return status;
}
