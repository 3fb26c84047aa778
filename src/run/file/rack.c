/* Where members are in the racks of their region: names of edge switches and of the aggregation
 * switches above them. A name counts within its region; an edge switch is below one aggregation
 * switch. */

#include "run/file/state.h"

#include <stdio.h>
#include <string.h>

/* A server or a group of workers, as the file has it. */
struct rack_entry {
    const char *edge;
    const char *agg;
    uint32_t place; /* Its site or, without sites, its region. */
    struct file_path path;
};

static uint32_t rack_site(const struct run_file *f, bool server, uint32_t index)
{
    uint32_t i = 0;

    while (index >= (server ? f->parts[i].servers_first + f->parts[i].servers_count
                            : f->parts[i].groups_first + f->parts[i].groups_count)) {
        i++;
    }
    return i;
}

/* Servers come first, then groups. */
static struct rack_entry rack_entry_at(const struct run_file *f, uint32_t number)
{
    bool server = number < f->servers_count;
    uint32_t index = server ? number : number - f->servers_count;
    const char *list = server ? "servers" : "workers";
    struct rack_entry e = {.edge = server ? f->servers[index].edge : f->groups[index].edge,
                           .agg = server ? f->servers[index].agg : f->groups[index].agg,
                           .place = server ? f->servers[index].region : f->groups[index].region};

    if (f->parts_count == 0) {
        (void)snprintf(e.path.chars, sizeof(e.path.chars), "%s[%u]", list, index);
        return e;
    }
    e.place = rack_site(f, server, index);
    index -= server ? f->parts[e.place].servers_first : f->parts[e.place].groups_first;
    (void)snprintf(e.path.chars, sizeof(e.path.chars), "sites[%u].%s[%u]", e.place, list, index);
    return e;
}

static enum err rack_name(const struct file_reader *r, const struct rack_entry *e, const char *key,
                          const char *name)
{
    struct file_path path;

    (void)snprintf(path.chars, sizeof(path.chars), "%.40s.%s", e->path.chars, key);
    return name == NULL ? OK : file_name(r, path.chars, name);
}

/* The same edge switch is below the same aggregation switch. */
static enum err rack_match(const struct file_reader *r, const struct rack_entry *e,
                           const struct rack_entry *before)
{
    const char *agg = e->agg == NULL ? "" : e->agg;
    const char *other = before->agg == NULL ? "" : before->agg;
    struct file_path path;

    if (e->edge == NULL || before->edge == NULL || e->place != before->place ||
        strcmp(e->edge, before->edge) != 0 || strcmp(agg, other) == 0) {
        return OK;
    }
    (void)snprintf(path.chars, sizeof(path.chars), "%.40s.%s", e->path.chars,
                   e->agg == NULL ? "edge" : "agg");
    if (other[0] == '\0') {
        return file_fail(r, ERR_MALFORMED, path.chars,
                         "'%s' is below no agg in %s: write the same wherever it stands", e->edge,
                         before->path.chars);
    }
    return file_fail(r, ERR_MALFORMED, path.chars,
                     "'%s' is below '%s' in %s: write 'agg: %s' here too, or another edge", e->edge,
                     other, before->path.chars, other);
}

enum err file_racks(const struct file_reader *r)
{
    uint32_t count = r->f->servers_count + r->f->groups_count;
    enum err rc = OK;

    for (uint32_t i = 0; i < count && rc == OK; i++) {
        struct rack_entry e = rack_entry_at(r->f, i);

        rc = rack_name(r, &e, "edge", e.edge);
        if (rc == OK) {
            rc = rack_name(r, &e, "agg", e.agg);
        }
        for (uint32_t k = 0; k < i && rc == OK && e.edge != NULL; k++) {
            struct rack_entry before = rack_entry_at(r->f, k);

            rc = rack_match(r, &e, &before);
        }
    }
    return rc;
}
