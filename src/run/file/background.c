/* Other people's traffic in run files: what is said of it, and whether it has a way. */

#include "base/units.h"
#include "run/background.h"
#include "run/file/state.h"

#include <stdio.h>
#include <string.h>

#define BACKGROUND_PHASE_MIN_NS INT64_C(1000000)          /* A millisecond. */
#define BACKGROUND_PHASE_MAX_NS INT64_C(86400000000000)   /* A day. */
#define BACKGROUND_TIME_MAX_NS INT64_C(31536000000000000) /* A year. */

static const char *background_path(struct file_path *path, uint32_t index, const char *key)
{
    (void)snprintf(path->chars, sizeof(path->chars), "background[%u]%s%s", index,
                   key[0] == '\0' ? "" : ".", key);
    return path->chars;
}

static enum err background_name(struct file_reader *r, uint32_t index)
{
    struct run_background *b = &r->f->backgrounds[index];
    struct file_path path;
    char made[16];
    enum err rc;

    (void)snprintf(made, sizeof(made), "b%u", index);
    if (b->name == NULL) {
        b->name = run_arena_strdup(r->arena, made);
        if (b->name == NULL) {
            return ERR_NOMEM;
        }
    }
    rc = file_name(r, background_path(&path, index, "name"), b->name);
    for (uint32_t i = 0; i < index && rc == OK; i++) {
        if (strcmp(r->f->backgrounds[i].name, b->name) == 0) {
            rc = file_fail(r, ERR_MALFORMED, path.chars,
                           "background[%u] is called '%s' too: names have to differ", i, b->name);
        }
    }
    return rc;
}

static enum err background_rate(struct file_reader *r, uint32_t index)
{
    struct run_background *b = &r->f->backgrounds[index];
    struct units_text most;
    struct err_text why = {""};
    struct file_path path;

    (void)background_path(&path, index, "rate");
    if (b->rate == NULL) {
        return OK;
    }
    if (units_rate_parse(b->rate, &b->rate_full, &why) != OK) {
        return file_fail(r, ERR_MALFORMED, path.chars, "%.300s", why.text);
    }
    b->rate_run = b->rate_full;
    if (b->rate_full > TOPO_RATE_MAX || !file_links_rate(&b->rate_run, r->f->links.scale)) {
        return file_fail(r, ERR_MALFORMED, path.chars,
                         "is out of range: write a rate of at least 1 byte per second after "
                         "links.scale, up to %s",
                         units_rate_print(TOPO_RATE_MAX, &most));
    }
    return OK;
}

static enum err background_times(struct file_reader *r, uint32_t index)
{
    struct run_background *b = &r->f->backgrounds[index];
    struct file_path path;
    enum err rc = file_time(r, background_path(&path, index, "on"), &b->on_ns, 0,
                            BACKGROUND_PHASE_MIN_NS, BACKGROUND_PHASE_MAX_NS);

    if (rc == OK) {
        rc = file_time(r, background_path(&path, index, "off"), &b->off_ns, 0, 0,
                       BACKGROUND_PHASE_MAX_NS);
    }
    if (rc == OK) {
        rc = file_time(r, background_path(&path, index, "after"), &b->after_ns, 0, 0,
                       BACKGROUND_TIME_MAX_NS);
    }
    if (rc == OK) {
        rc = file_time(r, background_path(&path, index, "until"), &b->until_ns, 0, b->after_ns + 1,
                       BACKGROUND_TIME_MAX_NS);
    }
    return rc;
}

/* Any two of them may be a pair. */
static enum err background_ways(const struct file_reader *r, uint32_t index)
{
    const struct run_file *f = r->f;
    const struct run_background *b = &f->backgrounds[index];
    bool used[TOPO_REGIONS_MAX] = {false};
    struct file_path path;
    uint32_t first, count = run_background_hosts(f, b->among, &first);
    uint32_t regions = topo_regions(f->topo);

    if (count < 2) {
        return file_fail(r, ERR_MALFORMED, background_path(&path, index, ""),
                         "is traffic between two hosts, and among %s there is one: write 'among: "
                         "all'",
                         run_among_name(b->among));
    }
    for (uint32_t i = 0; i < count; i++) {
        used[run_member_region(f, first + i)] = true;
    }
    for (uint32_t i = 0; i < regions * regions; i++) {
        uint32_t from = i / regions, to = i % regions;

        if (used[from] && used[to] && topo_link_between(f->topo, from, to) == NULL) {
            return file_fail(r, ERR_MALFORMED, background_path(&path, index, ""),
                             "the topology has no link from %.64s to %.64s, and there are hosts in "
                             "both: add the link, or a default_link, or change 'among'",
                             topo_region_at(f->topo, from)->name,
                             topo_region_at(f->topo, to)->name);
        }
    }
    return OK;
}

enum err file_backgrounds(struct file_reader *r)
{
    enum err rc = OK;

    for (uint32_t i = 0; i < r->f->backgrounds_count && rc == OK; i++) {
        struct run_background *b = &r->f->backgrounds[i];
        struct file_path path;

        b->line = file_find(r, background_path(&path, i, ""))->place.line;
        rc = background_name(r, i);
        if (rc == OK) {
            rc = file_u32(r, background_path(&path, i, "flows"), &b->flows, 0, 1,
                          RUN_BACKGROUND_FLOWS_MAX);
        }
        if (rc == OK) {
            rc = background_rate(r, i);
        }
        if (rc == OK) {
            rc = background_times(r, i);
        }
        if (rc == OK) {
            rc = background_ways(r, i);
        }
    }
    return rc;
}
