#include "run/suite/cells.h"

#include "base/nearest.h"
#include "run/file/state.h"
#include "topo/file.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CELLS_NAME_MAX = 48 };

static const char *const cells_shows[RUN_SHOWS + 1] = {
    [RUN_SHOW_TIME] = "time",
    [RUN_SHOW_SPEED] = "speed",
    [RUN_SHOW_BY_LAN] = "by_lan",
    [RUN_SHOW_CLOCKS] = "clocks",
    [RUN_SHOW_DOLLARS] = "dollars",
    [RUN_SHOW_CHEAPER] = "cheaper",
    [RUN_SHOW_BYTES] = "bytes",
    [RUN_SHOW_INSIGNIFICANT] = "insignificant",
    [RUN_SHOW_OBJECTIVE] = "objective",
    [RUN_SHOW_SAVED] = "saved",
    [RUN_SHOW_COMMUNICATION] = "communication",
    [RUN_SHOW_COMPUTATION] = "computation",
};

/* A set being read. */
struct cells_reader {
    struct file_reader r;
    const char *const *runs; /* Names of those that there are, ... */
    const char *always;      /* ... and the one that every cell has. */
    struct run_cells *s;
};

/* A key that a mapping may have. */
struct cells_key {
    const char *name;
    const char *example; /* How to write one that must be there; NULL: it may be missing. */
    enum run_yaml_kind kind;
};

static const struct cells_key cells_keys[] = {
    {"set", "set: NAME", RUN_YAML_TEXT},
    {"about", NULL, RUN_YAML_TEXT},
    {"source", NULL, RUN_YAML_TEXT},
    {"show", "show: speed", RUN_YAML_TEXT},
    {"base", NULL, RUN_YAML_TEXT},
    {"against", NULL, RUN_YAML_MAPPING},
    {"runs", NULL, RUN_YAML_MAPPING},
    {"also", NULL, RUN_YAML_LIST},
    {"cells", "cells: [{name: NAME, file: FILE.yaml, only: [NAME]}]", RUN_YAML_LIST},
    {NULL, NULL, RUN_YAML_TEXT},
};

static const struct cells_key cells_cell_keys[] = {
    {"name", "name: NAME", RUN_YAML_TEXT},
    {"about", NULL, RUN_YAML_TEXT},
    {"file", "file: FILE.yaml", RUN_YAML_TEXT},
    {"only", NULL, RUN_YAML_LIST},
    {"set", NULL, RUN_YAML_MAPPING},
    {"on", NULL, RUN_YAML_TEXT},
    {"twin", NULL, RUN_YAML_TEXT},
    {"paper", NULL, RUN_YAML_MAPPING},
    {NULL, NULL, RUN_YAML_TEXT},
};

static const struct cells_key cells_also_keys[] = {
    {"name", "name: NAME", RUN_YAML_TEXT}, {"about", NULL, RUN_YAML_TEXT},
    {"source", NULL, RUN_YAML_TEXT},       {"show", "show: saved", RUN_YAML_TEXT},
    {"only", NULL, RUN_YAML_LIST},         {"against", NULL, RUN_YAML_MAPPING},
    {"paper", NULL, RUN_YAML_MAPPING},     {NULL, NULL, RUN_YAML_TEXT},
};

/* "cells[3].only", or "only" at the top. */
static const char *cells_path(struct file_path *path, const char *at, const char *key)
{
    (void)snprintf(path->chars, sizeof(path->chars), "%.24s%s%.32s", at, at[0] != '\0' ? "." : "",
                   key);
    return path->chars;
}

static enum err cells_kind(const struct cells_reader *c, const struct run_yaml *node,
                           const char *path, enum run_yaml_kind kind)
{
    bool empty = node->kind == RUN_YAML_TEXT && node->chars[0] == '\0';

    return node->kind == kind && !empty
               ? OK
               : file_fail_at(&c->r, ERR_MALFORMED, node->place, path, "has to be %s, but is %s",
                              run_yaml_kind_name(kind),
                              empty ? "empty" : run_yaml_kind_name(node->kind));
}

/* A word that is not one of @words, which end with NULL. */
static enum err cells_no_word(const struct cells_reader *c, struct topo_place place,
                              const char *path, const char *word, const char *what,
                              const char *const *words)
{
    struct nearest near;

    nearest_init(&near, word);
    for (; *words != NULL; words++) {
        nearest_offer(&near, *words);
    }
    return file_fail_at(&c->r, ERR_MALFORMED, place, path, "there is no %s '%.40s': %s", what, word,
                        nearest_hint(&near, "there are"));
}

/* All keys are known, are of their kind, and none is missing. */
static enum err cells_check(const struct cells_reader *c, const struct run_yaml *node,
                            const char *at, const struct cells_key *keys)
{
    enum err rc = cells_kind(c, node, at, RUN_YAML_MAPPING);
    struct file_path path;

    for (const struct run_yaml *n = rc == OK ? node->first : NULL; n != NULL && rc == OK;
         n = n->next) {
        const struct cells_key *k = keys;
        struct nearest near;

        nearest_init(&near, n->key);
        for (; k->name != NULL && strcmp(k->name, n->key) != 0; k++) {
            nearest_offer(&near, k->name);
        }
        rc = k->name == NULL
                 ? file_fail_at(&c->r, ERR_MALFORMED, n->key_place, cells_path(&path, at, n->key),
                                "no such key: %s", nearest_hint(&near, "there are"))
                 : cells_kind(c, n, cells_path(&path, at, n->key), k->kind);
    }
    for (const struct cells_key *k = keys; k->name != NULL && rc == OK; k++) {
        if (k->example != NULL && run_yaml_get(node, k->name) == NULL) {
            rc = file_fail_at(&c->r, ERR_MALFORMED, node->place, at,
                              "'%s' is missing: add a line such as '%s'", k->name, k->example);
        }
    }
    return rc;
}

/* The text of that key, which was checked, or @fallback. */
static const char *cells_text(const struct run_yaml *node, const char *key, const char *fallback)
{
    const struct run_yaml *n = run_yaml_get(node, key);

    return n != NULL ? n->chars : fallback;
}

static bool cells_has(const char *const *words, const char *word)
{
    while (*words != NULL && strcmp(*words, word) != 0) {
        words++;
    }
    return *words != NULL;
}

/* Is it the name of a run? */
static enum err cells_run(const struct cells_reader *c, struct topo_place place, const char *path,
                          const char *run)
{
    return cells_has(c->runs, run) ? OK : cells_no_word(c, place, path, run, "run", c->runs);
}

static enum err cells_only(struct cells_reader *c, const struct run_yaml *node, const char *path,
                           const char ***only_out, uint32_t *count_out)
{
    const char **only;
    uint32_t count = 0;
    enum err rc = OK;

    if (node->count == 0 || node->count > RUN_CELLS_RUNS_MAX) {
        return file_fail_at(&c->r, ERR_MALFORMED, node->place, path, "has to have 1 to %d runs",
                            RUN_CELLS_RUNS_MAX);
    }
    only = run_arena_alloc(c->r.arena, node->count, sizeof(*only));
    if (only == NULL) {
        return ERR_NOMEM;
    }
    for (const struct run_yaml *n = node->first; n != NULL && rc == OK; n = n->next) {
        rc = cells_kind(c, n, path, RUN_YAML_TEXT);
        if (rc == OK) {
            rc = cells_run(c, n->place, path, n->chars);
        }
        for (uint32_t i = 0; i < count && rc == OK; i++) {
            if (strcmp(only[i], n->chars) == 0) {
                rc = file_fail_at(&c->r, ERR_MALFORMED, n->place, path, "'%s' is there twice",
                                  n->chars);
            }
        }
        if (rc == OK) {
            only[count++] = n->chars;
        }
    }
    *only_out = only;
    *count_out = count;
    return rc;
}

/* Ask for a run, and for what figures compare it with, and so on. */
static void cells_want(const struct run_cells *s, const char *run, bool *wanted)
{
    uint32_t at = (uint32_t)(run_cells_find(s, run) - s->runs);

    if (wanted[at]) {
        return;
    }
    wanted[at] = true;
    for (uint32_t i = 0; i < s->figures_count; i++) {
        if (run_cells_shows(&s->figures[i], run)) {
            cells_want(s, run_cells_against(s, &s->figures[i], run), wanted);
        }
    }
}

/* Of a set's own runs: those that were named, or all, in the order of the set. */
static enum err cells_pick(struct cells_reader *c, struct run_cell *cell)
{
    const char **all = run_arena_alloc(c->r.arena, c->s->runs_count, sizeof(*all));
    bool wanted[RUN_CELLS_RUNS_MAX] = {false};
    uint32_t count = 0;

    if (all == NULL) {
        return ERR_NOMEM;
    }
    cells_want(c->s, c->always, wanted);
    for (uint32_t i = 0; i < cell->only_count; i++) {
        cells_want(c->s, cell->only[i], wanted);
    }
    for (uint32_t i = 0; i < c->s->runs_count; i++) {
        if (wanted[i] || cell->only_count == 0) {
            all[count++] = c->s->runs[i].name;
        }
    }
    cell->only = all;
    cell->only_count = count;
    return OK;
}

static enum err cells_runs_of(struct cells_reader *c, const struct run_yaml *node, const char *at,
                              struct run_cell *cell)
{
    const struct run_yaml *only = run_yaml_get(node, "only");
    struct file_path path;
    enum err rc = OK;

    if (only != NULL) {
        rc = cells_only(c, only, cells_path(&path, at, "only"), &cell->only, &cell->only_count);
    } else if (c->s->runs_count == 0) {
        rc = file_fail_at(&c->r, ERR_MALFORMED, node->place, at,
                          "'only' is missing: add a line such as 'only: [plain-bsp, gaia-bsp]'");
    }
    return rc == OK && c->s->runs_count > 0 ? cells_pick(c, cell) : rc;
}

/* As on the command line: "stop.clocks=400". */
static enum err cells_settings(struct cells_reader *c, const struct run_yaml *node,
                               const char *path, const char ***settings_out, uint32_t *count_out)
{
    const char **settings;

    if (node->count > RUN_CELLS_SETTINGS_MAX) {
        return file_fail_at(&c->r, ERR_MALFORMED, node->place, path, "more than %d settings",
                            RUN_CELLS_SETTINGS_MAX);
    }
    settings = run_arena_alloc(c->r.arena, node->count + 1, sizeof(*settings));
    if (settings == NULL) {
        return ERR_NOMEM;
    }
    *settings_out = settings;
    for (const struct run_yaml *n = node->first; n != NULL; n = n->next) {
        size_t size;
        char *setting;

        if (n->kind != RUN_YAML_TEXT || strchr(n->key, '=') != NULL || n->key[0] == '\0') {
            return file_fail_at(&c->r, ERR_MALFORMED, n->key_place, path,
                                "a setting is a key and a text, such as stop.clocks: 400; lists "
                                "and mappings are written in quotes");
        }
        size = strlen(n->key) + strlen(n->chars) + 2;
        setting = run_arena_alloc(c->r.arena, size, 1);
        if (setting == NULL) {
            return ERR_NOMEM;
        }
        (void)snprintf(setting, size, "%s=%s", n->key, n->chars);
        settings[(*count_out)++] = setting;
    }
    return OK;
}

/* "3.8", "95.2%", or [1.3, 3.0]. */
static enum err cells_number(const struct cells_reader *c, const struct run_yaml *node,
                             const char *path, struct run_cells_paper *out)
{
    const struct run_yaml *low = node->kind == RUN_YAML_LIST ? node->first : node;
    const struct run_yaml *high = node->kind == RUN_YAML_LIST ? node->last : node;
    bool good = low != NULL && low->kind == RUN_YAML_TEXT && high->kind == RUN_YAML_TEXT &&
                (node->kind != RUN_YAML_LIST || node->count == 2);

    good = good && file_read_part(low->chars, &out->low) &&
           file_read_part(high->chars, &out->high) && out->low <= out->high;
    return good ? OK
                : file_fail_at(&c->r, ERR_MALFORMED, node->place, path,
                               "has to be a number, a percentage, or a range such as [1.3, 3.0]");
}

static enum err cells_paper(struct cells_reader *c, const struct run_yaml *node, const char *path,
                            const struct run_cells_figure *f, uint32_t index)
{
    const struct run_cell *cell = &c->s->cells[index];
    struct run_cells_papers *papers = &f->papers[index];
    struct run_cells_paper *paper = run_arena_alloc(c->r.arena, node->count + 1, sizeof(*paper));
    enum err rc = paper == NULL ? ERR_NOMEM : OK;

    papers->of = paper;
    for (const struct run_yaml *n = node->first; n != NULL && rc == OK; n = n->next) {
        bool there = strcmp(n->key, c->always) == 0;

        rc = cells_run(c, n->key_place, path, n->key);
        for (uint32_t i = 0; i < cell->only_count; i++) {
            there = there || strcmp(cell->only[i], n->key) == 0;
        }
        if (rc == OK && (!there || !run_cells_shows(f, n->key))) {
            rc = file_fail_at(&c->r, ERR_MALFORMED, n->key_place, path,
                              "'%s' is not among 'only' of %s %s: add it there, or leave it out "
                              "here",
                              n->key, there ? "figure" : "cell", there ? f->name : cell->name);
        }
        if (rc == OK) {
            rc = cells_number(c, n, path, &paper[papers->count]);
            paper[papers->count++].run = n->key;
        }
    }
    return rc;
}

/* From the folder of the set. */
static enum err cells_file(struct cells_reader *c, const struct run_yaml *node, const char *path,
                           struct run_cell *cell)
{
    char from[PATH_MAX];
    int size = snprintf(from, sizeof(from), "%s%s%s", node->chars[0] == '/' ? "" : c->r.folder,
                        node->chars[0] == '/' ? "" : "/", node->chars);

    if (size >= (int)sizeof(from)) {
        return file_fail_at(&c->r, ERR_TOO_BIG, node->place, path, "too long a path");
    }
    cell->path = run_arena_strdup(c->r.arena, from);
    return cell->path == NULL ? ERR_NOMEM : OK;
}

/* It is the name of a folder or of files, too. */
static enum err cells_name(const struct cells_reader *c, const struct run_yaml *node,
                           const char *path)
{
    bool good = topo_name_valid(node->chars) && node->chars[0] != '.' &&
                strlen(node->chars) <= CELLS_NAME_MAX;

    return good ? OK
                : file_fail_at(&c->r, ERR_MALFORMED, node->place, path,
                               "'%.40s' is not a name: use 1 to %d of the characters A-Z a-z 0-9 "
                               ". _ -, no point first",
                               node->chars, CELLS_NAME_MAX);
}

static enum err cells_cell_name(const struct cells_reader *c, const struct run_yaml *node,
                                const char *path, struct run_cell *cell)
{
    enum err rc = cells_name(c, node, path);

    for (const struct run_cell *other = c->s->cells; other < cell && rc == OK; other++) {
        if (strcmp(other->name, node->chars) == 0) {
            rc = file_fail_at(&c->r, ERR_MALFORMED, node->place, path,
                              "the cell in line %u is called '%s' too: names have to differ",
                              other->line, other->name);
        }
    }
    cell->name = node->chars;
    return rc;
}

static enum err cells_on(const struct cells_reader *c, const struct run_yaml *node,
                         const char *path, struct run_cell *cell)
{
    static const char *const places[] = {"sim", "local", NULL};
    const struct run_yaml *on = run_yaml_get(node, "on");

    cell->local = on != NULL && strcmp(on->chars, "local") == 0;
    return on == NULL || cells_has(places, on->chars)
               ? OK
               : cells_no_word(c, on->place, path, on->chars, "place", places);
}

static enum err cells_cell(struct cells_reader *c, const struct run_yaml *node, uint32_t index)
{
    struct run_cell *cell = &c->s->cells[index];
    const struct run_yaml *set = run_yaml_get(node, "set"), *paper = run_yaml_get(node, "paper");
    struct file_path at, path;
    enum err rc;

    (void)snprintf(at.chars, sizeof(at.chars), "cells[%u]", index);
    rc = cells_check(c, node, at.chars, cells_cell_keys);
    if (rc != OK) {
        return rc;
    }
    *cell = (struct run_cell){
        .about = cells_text(node, "about", ""), .twin = RUN_CELLS_MAX, .line = node->place.line};
    rc = cells_cell_name(c, run_yaml_get(node, "name"), cells_path(&path, at.chars, "name"), cell);
    if (rc == OK) {
        rc = cells_file(c, run_yaml_get(node, "file"), cells_path(&path, at.chars, "file"), cell);
    }
    if (rc == OK) {
        rc = cells_runs_of(c, node, at.chars, cell);
    }
    if (rc == OK && set != NULL) {
        rc = cells_settings(c, set, cells_path(&path, at.chars, "set"), &cell->settings,
                            &cell->settings_count);
    }
    if (rc == OK) {
        rc = cells_on(c, node, cells_path(&path, at.chars, "on"), cell);
    }
    return rc == OK && paper != NULL
               ? cells_paper(c, paper, cells_path(&path, at.chars, "paper"), c->s->figures, index)
               : rc;
}

/* The cell of that name, once all are known, unless it is the one of @index. */
static enum err cells_find(const struct cells_reader *c, struct topo_place place, const char *path,
                           const char *name, uint32_t index, uint32_t *found_out)
{
    const char *names[RUN_CELLS_MAX + 1] = {NULL};
    uint32_t count = 0;

    for (uint32_t i = 0; i < c->s->count; i++) {
        if (i != index && strcmp(c->s->cells[i].name, name) == 0) {
            *found_out = i;
            return OK;
        }
        if (i != index) {
            names[count++] = c->s->cells[i].name;
        }
    }
    return cells_no_word(c, place, path, name, index < RUN_CELLS_MAX ? "other cell" : "cell",
                         names);
}

static enum err cells_twin(const struct cells_reader *c, const struct run_yaml *node,
                           uint32_t index)
{
    const struct run_yaml *twin = run_yaml_get(node, "twin");
    struct file_path path;

    (void)snprintf(path.chars, sizeof(path.chars), "cells[%u].twin", index);
    return twin == NULL ? OK
                        : cells_find(c, twin->place, path.chars, twin->chars, index,
                                     &c->s->cells[index].twin);
}

static enum err cells_all(struct cells_reader *c, const struct run_yaml *list)
{
    uint32_t index = 0;
    enum err rc = OK;

    if (list->count == 0 || list->count > RUN_CELLS_MAX) {
        return file_fail_at(&c->r, ERR_MALFORMED, list->place, "cells", "has to have 1 to %d cells",
                            RUN_CELLS_MAX);
    }
    c->s->cells = run_arena_alloc(c->r.arena, list->count, sizeof(*c->s->cells));
    if (c->s->cells == NULL) {
        return ERR_NOMEM;
    }
    for (const struct run_yaml *n = list->first; n != NULL && rc == OK; n = n->next) {
        rc = cells_cell(c, n, index++);
    }
    c->s->count = index;
    index = 0;
    for (const struct run_yaml *n = list->first; n != NULL && rc == OK; n = n->next) {
        rc = cells_twin(c, n, index++);
    }
    return rc;
}

/* Of folders in that of the cell, beside files that it has. */
static enum err cells_run_name(const struct cells_reader *c, const struct run_yaml *node)
{
    static const char *const ends[] = {"-converged", ".log", ".csv", ".json", ".html"};
    const char *name = node->key;
    size_t size = strlen(name);
    struct file_path path;

    (void)cells_path(&path, "runs", name);
    if (!topo_name_valid(name) || name[0] == '.' || size > RUN_CELLS_RUN_NAME_MAX) {
        return file_fail_at(&c->r, ERR_MALFORMED, node->key_place, path.chars,
                            "'%.40s' is not a name: use 1 to %d of the characters A-Z a-z 0-9 . _ "
                            "-, no point first",
                            name, RUN_CELLS_RUN_NAME_MAX);
    }
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        size_t end = strlen(ends[i]);

        if (size >= end && strcmp(name + size - end, ends[i]) == 0) {
            return file_fail_at(&c->r, ERR_MALFORMED, node->key_place, path.chars,
                                "names that end with %s are taken: use another", ends[i]);
        }
    }
    return OK;
}

/* The goal ends a run, so what it says of its end itself would count for nothing. */
static enum err cells_run_ends(const struct cells_reader *c, const struct run_yaml *node,
                               const char *path)
{
    for (const struct run_yaml *n = node->first; n != NULL; n = n->next) {
        if (strncmp(n->key, "stop", 4) == 0 && (n->key[4] == '\0' || n->key[4] == '.')) {
            return file_fail_at(&c->r, ERR_MALFORMED, n->key_place, path,
                                "'%.40s' is the same for all runs of a cell: say it in "
                                "cells[].set, or in the file",
                                n->key);
        }
    }
    return OK;
}

static enum err cells_own_run(struct cells_reader *c, const struct run_yaml *node,
                              struct run_cells_run *run)
{
    struct file_path path;
    enum err rc = cells_run_name(c, node);

    (void)cells_path(&path, "runs", node->key);
    if (rc == OK) {
        rc = cells_kind(c, node, path.chars, RUN_YAML_MAPPING);
    }
    if (rc == OK) {
        rc = cells_run_ends(c, node, path.chars);
    }
    run->name = node->key;
    return rc == OK ? cells_settings(c, node, path.chars, &run->settings, &run->settings_count)
                    : rc;
}

/* A set's own runs take the place of those that everybody knows. */
static enum err cells_own(struct cells_reader *c, const struct run_yaml *node)
{
    struct run_cells_run *runs;
    const char **names;
    enum err rc = OK;

    if (node->count == 0 || node->count > RUN_CELLS_RUNS_MAX) {
        return file_fail_at(&c->r, ERR_MALFORMED, node->place, "runs", "has to have 1 to %d runs",
                            RUN_CELLS_RUNS_MAX);
    }
    runs = run_arena_alloc(c->r.arena, node->count, sizeof(*runs));
    names = run_arena_alloc(c->r.arena, node->count + 1, sizeof(*names));
    if (runs == NULL || names == NULL) {
        return ERR_NOMEM;
    }
    c->s->runs = runs;
    c->runs = names;
    for (const struct run_yaml *n = node->first; n != NULL && rc == OK; n = n->next) {
        names[c->s->runs_count] = n->key;
        rc = cells_own_run(c, n, &runs[c->s->runs_count++]);
    }
    return rc;
}

/* What others are compared with; of a set's own runs it has to be one, and sets the goal. */
static enum err cells_base(struct cells_reader *c)
{
    const struct run_yaml *base = run_yaml_get(c->r.root, "base");
    const struct run_yaml *runs = run_yaml_get(c->r.root, "runs");
    bool plain = base != NULL && runs == NULL && strcmp(base->chars, "plain") == 0;
    enum err rc = runs != NULL ? cells_own(c, runs) : OK;

    c->s->base = base != NULL ? base->chars : "plain-bsp";
    c->always = runs != NULL ? c->s->base : "lan";
    if (rc == OK && runs != NULL && base == NULL) {
        rc = file_fail_at(&c->r, ERR_MALFORMED, runs->key_place, "runs",
                          "'base' is missing, the run that sets the goal: add a line such as "
                          "'base: %s'",
                          runs->first->key);
    }
    return rc == OK && base != NULL && !plain ? cells_run(c, base->place, "base", base->chars) : rc;
}

static enum err cells_show(const struct cells_reader *c, const struct run_yaml *node,
                           const char *path, enum run_cells_show *show_out)
{
    if (!cells_has(cells_shows, node->chars)) {
        return cells_no_word(c, node->place, path, node->chars, "figure", cells_shows);
    }
    for (int i = 0; i < RUN_SHOWS; i++) {
        *show_out = strcmp(cells_shows[i], node->chars) == 0 ? (enum run_cells_show)i : *show_out;
    }
    return c->s->runs_count > 0 && *show_out == RUN_SHOW_BY_LAN
               ? file_fail_at(&c->r, ERR_MALFORMED, node->place, path,
                              "a set with 'runs' has no lan: use speed or time")
               : OK;
}

/* What runs are compared with instead of the base. */
static enum err cells_against(struct cells_reader *c, const struct run_yaml *node, const char *path,
                              const char **against)
{
    enum err rc = OK;

    if (c->s->runs_count == 0) {
        return file_fail_at(&c->r, ERR_MALFORMED, node->key_place, path,
                            "only a set with 'runs' can have it: use 'base'");
    }
    for (const struct run_yaml *n = node->first; n != NULL && rc == OK; n = n->next) {
        rc = cells_run(c, n->key_place, path, n->key);
        if (rc == OK) {
            rc = cells_kind(c, n, path, RUN_YAML_TEXT);
        }
        if (rc == OK) {
            rc = cells_run(c, n->place, path, n->chars);
        }
        if (rc == OK) {
            against[run_cells_find(c->s, n->key) - c->s->runs] = n->chars;
        }
    }
    return rc;
}

/* All but what a paper has, which names cells. */
static enum err cells_figure(struct cells_reader *c, const struct run_yaml *node, const char *at,
                             struct run_cells_figure *f)
{
    const struct run_yaml *against = run_yaml_get(node, "against");
    const struct run_yaml *only = run_yaml_get(node, "only");
    struct file_path path;
    enum err rc;

    f->about = cells_text(node, "about", "");
    f->source = cells_text(node, "source", "");
    f->against = run_arena_alloc(c->r.arena, c->s->runs_count + 1, sizeof(*f->against));
    f->papers = run_arena_alloc(c->r.arena, RUN_CELLS_MAX, sizeof(*f->papers));
    if (f->against == NULL || f->papers == NULL) {
        return ERR_NOMEM;
    }
    rc = cells_show(c, run_yaml_get(node, "show"), cells_path(&path, at, "show"), &f->show);
    if (rc == OK && only != NULL) {
        rc = cells_only(c, only, cells_path(&path, at, "only"), &f->only, &f->only_count);
    }
    return rc == OK && against != NULL
               ? cells_against(c, against, cells_path(&path, at, "against"), f->against)
               : rc;
}

static enum err cells_also(struct cells_reader *c, const struct run_yaml *node, uint32_t index)
{
    struct run_cells *s = c->s;
    const struct run_yaml *name = run_yaml_get(node, "name");
    struct file_path at, path;
    enum err rc;

    (void)snprintf(at.chars, sizeof(at.chars), "also[%u]", index);
    rc = cells_check(c, node, at.chars, cells_also_keys);
    if (rc != OK) {
        return rc;
    }
    (void)cells_path(&path, at.chars, "name");
    rc = cells_name(c, name, path.chars);
    for (uint32_t i = 0; i < s->figures_count && rc == OK; i++) {
        if (strcmp(s->figures[i].name, name->chars) == 0) {
            rc = file_fail_at(&c->r, ERR_MALFORMED, name->place, path.chars,
                              "%s is called '%s' too: names have to differ",
                              i == 0 ? "the set" : "another figure", name->chars);
        }
    }
    s->figures[s->figures_count].name = name->chars;
    return rc == OK ? cells_figure(c, node, at.chars, &s->figures[s->figures_count++]) : rc;
}

/* The first is what the set says itself. */
static enum err cells_figures(struct cells_reader *c)
{
    const struct run_yaml *also = run_yaml_get(c->r.root, "also");
    uint32_t index = 0;
    enum err rc;

    if (also != NULL && (also->count == 0 || also->count > RUN_CELLS_ALSO_MAX)) {
        return file_fail_at(&c->r, ERR_MALFORMED, also->place, "also",
                            "has to have 1 to %d figures", RUN_CELLS_ALSO_MAX);
    }
    c->s->figures = run_arena_alloc(c->r.arena, 1 + RUN_CELLS_ALSO_MAX, sizeof(*c->s->figures));
    if (c->s->figures == NULL) {
        return ERR_NOMEM;
    }
    c->s->figures[0].name = c->s->name;
    c->s->figures_count = 1;
    rc = cells_figure(c, c->r.root, "", &c->s->figures[0]);
    for (const struct run_yaml *n = also != NULL ? also->first : NULL; n != NULL && rc == OK;
         n = n->next) {
        rc = cells_also(c, n, index++);
    }
    return rc;
}

/* What the paper has for a figure after the first, by cell. */
static enum err cells_papers(struct cells_reader *c, const struct run_yaml *node, uint32_t index)
{
    const struct run_yaml *paper = run_yaml_get(node, "paper");
    struct file_path at, path;
    enum err rc = OK;

    (void)snprintf(at.chars, sizeof(at.chars), "also[%u].paper", index);
    for (const struct run_yaml *n = paper != NULL ? paper->first : NULL; n != NULL && rc == OK;
         n = n->next) {
        uint32_t cell = 0;

        (void)cells_path(&path, at.chars, n->key);
        rc = cells_find(c, n->key_place, at.chars, n->key, RUN_CELLS_MAX, &cell);
        if (rc == OK) {
            rc = cells_kind(c, n, path.chars, RUN_YAML_MAPPING);
        }
        if (rc == OK) {
            rc = cells_paper(c, n, path.chars, &c->s->figures[1 + index], cell);
        }
    }
    return rc;
}

static enum err cells_head(struct cells_reader *c)
{
    enum err rc;

    c->s->name = cells_text(c->r.root, "set", "");
    rc = file_name(&c->r, "set", c->s->name);
    if (rc == OK) {
        rc = cells_base(c);
    }
    return rc == OK ? cells_figures(c) : rc;
}

static enum err cells_read(struct cells_reader *c)
{
    struct file_reader *r = &c->r;
    const struct run_yaml *also;
    uint32_t index = 0;
    enum err rc = run_yaml_parse(r->arena, r->name, r->bytes, r->size, &r->root, r->text);

    if (rc == OK) {
        rc = cells_check(c, r->root, "", cells_keys);
    }
    if (rc == OK) {
        c->s = run_arena_alloc(r->arena, 1, sizeof(*c->s));
        rc = c->s == NULL ? ERR_NOMEM : cells_head(c);
    }
    if (rc == OK) {
        rc = cells_all(c, run_yaml_get(r->root, "cells"));
    }
    also = rc == OK ? run_yaml_get(r->root, "also") : NULL;
    for (const struct run_yaml *n = also != NULL ? also->first : NULL; n != NULL && rc == OK;
         n = n->next) {
        rc = cells_papers(c, n, index++);
    }
    return rc;
}

enum err run_cells_parse(const char *name, const char *folder, const char *bytes, size_t size,
                         const char *const *runs, struct run_cells **cells_out,
                         struct err_text *text)
{
    struct cells_reader c = {
        .r = {.name = name, .folder = folder, .bytes = bytes, .size = size, .text = text},
        .runs = runs};
    enum err rc;

    if (size > RUN_CELLS_BYTES_MAX) {
        return err_text_set(text, ERR_TOO_BIG, "%.128s:1:1: larger than %d bytes", name,
                            RUN_CELLS_BYTES_MAX);
    }
    rc = run_arena_create(&c.r.arena);
    if (rc == OK) {
        rc = cells_read(&c);
    }
    if (rc != OK) {
        run_arena_destroy(c.r.arena);
        return rc == ERR_NOMEM ? err_text_set(text, rc, "%.128s: out of memory", name) : rc;
    }
    c.s->arena = c.r.arena;
    *cells_out = c.s;
    return OK;
}

enum err run_cells_load(const char *path, const char *const *runs, struct run_cells **cells_out,
                        struct err_text *text)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX];
    struct text bytes = {0};
    enum err rc;

    if (strlen(path) >= sizeof(folder)) {
        return err_text_set(text, ERR_TOO_BIG, "%.128s...: too long a path", path);
    }
    (void)snprintf(folder, sizeof(folder), "%.*s", slash == NULL ? 1 : (int)(slash - path),
                   slash == NULL ? "." : path);
    rc = topo_file_read(path, RUN_CELLS_BYTES_MAX, &bytes, text);
    if (rc == OK) {
        rc = run_cells_parse(path, folder, bytes.chars, bytes.size, runs, cells_out, text);
        text_deinit(&bytes);
    }
    return rc;
}

void run_cells_free(struct run_cells *s)
{
    if (s != NULL) {
        run_arena_destroy(s->arena);
    }
}

const char *run_cells_show_name(enum run_cells_show show)
{
    return cells_shows[show];
}

const struct run_cells_run *run_cells_find(const struct run_cells *s, const char *run)
{
    for (uint32_t i = 0; i < s->runs_count; i++) {
        if (strcmp(s->runs[i].name, run) == 0) {
            return &s->runs[i];
        }
    }
    return NULL;
}

bool run_cells_shows(const struct run_cells_figure *figure, const char *run)
{
    uint32_t i = 0;

    while (i < figure->only_count && strcmp(figure->only[i], run) != 0) {
        i++;
    }
    return figure->only_count == 0 || i < figure->only_count;
}

const char *run_cells_against(const struct run_cells *s, const struct run_cells_figure *figure,
                              const char *run)
{
    const struct run_cells_run *own = run_cells_find(s, run);
    const char *against = own != NULL ? figure->against[own - s->runs] : NULL;

    return against != NULL ? against : s->base;
}

const struct run_cells_paper *run_cells_paper(const struct run_cells_figure *figure, uint32_t cell,
                                              const char *run)
{
    const struct run_cells_papers *papers = &figure->papers[cell];

    for (uint32_t i = 0; i < papers->count; i++) {
        if (strcmp(papers->of[i].run, run) == 0) {
            return &papers->of[i];
        }
    }
    return NULL;
}
