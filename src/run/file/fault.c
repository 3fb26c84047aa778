/* Faults of a run: lines of a scenario. The simulator reads them when it runs; here it is seen that
 * they name what there is, so that a slip is found before an hour has passed. */

#include "base/nearest.h"
#include "base/units.h"
#include "run/file/state.h"
#include "sim/fault.h"
#include "sim/scenario/scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAULT_WORDS_MAX = 10 };

_Static_assert((int)RUN_FAULTS_MAX <= (int)SIM_SCENARIO_ACTIONS_MAX, "the simulator takes as many");

/* One line being looked at. */
struct fault_line {
    const struct file_reader *r;
    struct file_path path;
    char chars[SIM_SCENARIO_LINE_BYTES];
    const char *words[FAULT_WORDS_MAX]; /* Empty behind the last. */
};

static void fault_split(struct fault_line *l)
{
    char *rest = NULL;
    char *word = strtok_r(l->chars, " ", &rest);

    for (size_t i = 0; i < FAULT_WORDS_MAX; i++) {
        l->words[i] = word == NULL ? "" : word;
        word = word == NULL ? NULL : strtok_r(NULL, " ", &rest);
    }
}

static enum err fault_time(const struct fault_line *l, const char *word)
{
    struct err_text why;
    int64_t ns;

    if (units_time_parse(word, &ns, &why) != OK) {
        return file_fail(l->r, ERR_MALFORMED, l->path.chars, "%.300s", why.text);
    }
    return OK;
}

static enum err fault_host(const struct fault_line *l, const char *name)
{
    const struct run_file *f = l->r->f;
    struct nearest near;
    char *end = NULL;

    if (name[0] == 'w' && name[1] >= '0' && name[1] <= '9' &&
        strtoul(name + 1, &end, 10) < f->workers && *end == '\0') {
        return OK;
    }
    nearest_init(&near, name);
    for (uint32_t i = 0; i < f->servers_count; i++) {
        if (strcmp(f->servers[i].name, name) == 0) {
            return OK;
        }
        nearest_offer(&near, f->servers[i].name);
    }
    return file_fail(l->r, ERR_MALFORMED, l->path.chars,
                     "there is no member '%.40s': there are servers %s and workers w0 to w%u", name,
                     near.list, f->workers - 1);
}

static const struct run_site *fault_find_site(const struct run_file *f, const char *name)
{
    for (uint32_t i = 0; i < f->parts_count; i++) {
        if (strcmp(f->parts[i].name, name) == 0) {
            return &f->parts[i];
        }
    }
    return NULL;
}

/* A server may be called "site" as well; then that is meant. */
static bool fault_is_site(const struct run_file *f, const char *word)
{
    bool server = false;

    for (uint32_t i = 0; i < f->servers_count; i++) {
        server = server || strcmp(f->servers[i].name, "site") == 0;
    }
    return strcmp(word, "site") == 0 && f->parts_count > 0 && !server;
}

static enum err fault_site(const struct fault_line *l, const char *name)
{
    const struct run_file *f = l->r->f;
    struct nearest near;

    if (fault_find_site(f, name) != NULL) {
        return OK;
    }
    nearest_init(&near, name);
    for (uint32_t i = 0; i < f->parts_count; i++) {
        nearest_offer(&near, f->parts[i].name);
    }
    return file_fail(l->r, ERR_MALFORMED, l->path.chars, "there is no site '%.40s': %s", name,
                     nearest_hint(&near, "the sites are"));
}

bool run_fault_site(const struct run_file *f, const char *line, struct run_fault_site *out)
{
    char word[8], name[LIMIT_NAME_BYTES + 1];
    int head = 0, size = 0;

    /* at TIME FAULT site NAME ... */
    if (sscanf(line, "at %*s %*s %n%7s %64s%n", &head, word, name, &size) != 2 ||
        !fault_is_site(f, word)) {
        return false;
    }
    *out = (struct run_fault_site){fault_find_site(f, name), head, line + size};
    return out->site != NULL;
}

static enum err fault_region(const struct fault_line *l, const char *name)
{
    const struct topo *t = l->r->f->topo;
    struct nearest near;
    uint32_t index;

    if (topo_region_find(t, name, &index)) {
        return OK;
    }
    nearest_init(&near, name);
    for (uint32_t i = 0; i < topo_regions(t); i++) {
        nearest_offer(&near, topo_region_at(t, i)->name);
    }
    return file_fail(l->r, ERR_MALFORMED, l->path.chars, "there is no region '%.40s': %s", name,
                     nearest_hint(&near, "the regions are"));
}

/* What is not joined cannot be cut. */
static enum err fault_link(const struct fault_line *l, const char *from, const char *to)
{
    const struct topo *t = l->r->f->topo;
    uint32_t a, b;

    if (topo_region_find(t, from, &a) && topo_region_find(t, to, &b) &&
        topo_link_between(t, a, b) != NULL) {
        return OK;
    }
    return file_fail(l->r, ERR_MALFORMED, l->path.chars,
                     "there is no link from '%.40s' to '%.40s' in the topology", from, to);
}

static enum err fault_kind(const struct fault_line *l, const char *name,
                           enum sim_fault_kind *kind_out)
{
    struct nearest near;

    *kind_out = sim_fault_parse(name);
    if (*kind_out != SIM_FAULT_KINDS) {
        return OK;
    }
    nearest_init(&near, name);
    for (int k = 0; k < SIM_FAULT_KINDS; k++) {
        nearest_offer(&near, sim_fault_name((enum sim_fault_kind)k));
    }
    return file_fail(l->r, ERR_MALFORMED, l->path.chars, "there is no fault '%.40s': %s", name,
                     nearest_hint(&near, "there are"));
}

/* at TIME FAULT [TARGET] ... */
static enum err fault_check_at(const struct fault_line *l)
{
    enum sim_fault_kind kind = SIM_FAULT_KINDS;
    enum err rc = fault_time(l, l->words[1]);

    if (rc == OK) {
        rc = fault_kind(l, l->words[2], &kind);
    }
    if (rc != OK) {
        return rc;
    }
    switch (sim_fault_target(kind)) {
    case SIM_TARGET_HOST:
        return fault_is_site(l->r->f, l->words[3]) ? fault_site(l, l->words[4])
                                                   : fault_host(l, l->words[3]);
    case SIM_TARGET_LINK:
        rc = fault_region(l, l->words[3]);
        if (rc == OK) {
            rc = fault_region(l, l->words[4]);
        }
        if (rc == OK) {
            rc = fault_link(l, l->words[3], l->words[4]);
        }
        return rc == OK && kind == SIM_FAULT_CUT ? fault_link(l, l->words[4], l->words[3]) : rc;
    case SIM_TARGET_CONNECTION:
        break;
    }
    return OK;
}

/* storm from TIME to TIME every TIME [only FAULT,...] */
static enum err fault_check_storm(const struct fault_line *l)
{
    static const char *const form[] = {"from", "to", "every"};
    enum err rc = OK;

    for (size_t i = 0; i < 3 && rc == OK; i++) {
        rc = strcmp(l->words[1 + 2 * i], form[i]) == 0
                 ? fault_time(l, l->words[2 + 2 * i])
                 : file_fail(l->r, ERR_MALFORMED, l->path.chars,
                             "write: storm from TIME to TIME every TIME [only FAULT,...]");
    }
    return rc;
}

static enum err fault_check(const struct file_reader *r, uint32_t index, const char *chars)
{
    struct fault_line l = {.r = r};

    (void)snprintf(l.path.chars, sizeof(l.path.chars), "faults[%u]", index);
    if (strlen(chars) >= sizeof(l.chars)) {
        return file_fail(r, ERR_MALFORMED, l.path.chars, "is longer than %zu bytes",
                         sizeof(l.chars) - 1);
    }
    (void)strcpy(l.chars, chars);
    fault_split(&l);
    if (strcmp(l.words[0], "at") == 0) {
        return fault_check_at(&l);
    }
    if (strcmp(l.words[0], "storm") == 0) {
        return fault_check_storm(&l);
    }
    return file_fail(r, ERR_MALFORMED, l.path.chars,
                     "write 'at TIME FAULT ...' or 'storm from TIME to TIME every TIME'");
}

enum err file_faults(struct file_reader *r)
{
    const struct run_yaml *list = file_find(r, "faults");
    struct run_file *f = r->f;
    enum err rc = OK;

    if (list == NULL) {
        return OK;
    }
    if (list->kind != RUN_YAML_LIST) {
        return file_fail(r, ERR_MALFORMED, "faults",
                         "has to be a list of texts, such as [\"at 3s kill s0 for 500ms\"]");
    }
    if (list->count > RUN_FAULTS_MAX) {
        return file_fail(r, ERR_MALFORMED, "faults", "are %u: at most %d are allowed", list->count,
                         RUN_FAULTS_MAX);
    }
    f->faults = run_arena_alloc(r->arena, list->count, sizeof(*f->faults));
    if (f->faults == NULL) {
        return ERR_NOMEM;
    }
    for (const struct run_yaml *n = list->first; n != NULL && rc == OK; n = n->next) {
        if (n->kind != RUN_YAML_TEXT) {
            struct file_path path;

            (void)snprintf(path.chars, sizeof(path.chars), "faults[%u]", f->faults_count);
            return file_fail(r, ERR_MALFORMED, path.chars,
                             "has to be a text, such as \"at 3s kill s0 for 500ms\", but is %s",
                             run_yaml_kind_name(n->kind));
        }
        rc = fault_check(r, f->faults_count, n->chars);
        f->faults[f->faults_count++] = (struct run_fault){n->chars, n->place.line};
    }
    return rc;
}
