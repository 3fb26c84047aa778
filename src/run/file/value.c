/* Values of run files: those that are there are checked, the others have their default. */

#include "base/nearest.h"
#include "base/units.h"
#include "run/file/state.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum err file_whole(const struct file_reader *r, const char *path, uint64_t *value,
                    uint64_t fallback, uint64_t least, uint64_t most)
{
    if (file_find(r, path) == NULL) {
        *value = fallback;
        return OK;
    }
    if (*value < least || *value > most) {
        return file_fail(r, ERR_MALFORMED, path,
                         "%" PRIu64 " is out of range: write a whole number from %" PRIu64
                         " to %" PRIu64,
                         *value, least, most);
    }
    return OK;
}

enum err file_u32(const struct file_reader *r, const char *path, uint32_t *value, uint32_t fallback,
                  uint32_t least, uint32_t most)
{
    uint64_t whole = *value;
    enum err rc = file_whole(r, path, &whole, fallback, least, most);

    if (rc == OK) {
        *value = (uint32_t)whole;
    }
    return rc;
}

enum err file_number(const struct file_reader *r, const char *path, double *value, double fallback,
                     double least, double most)
{
    if (file_find(r, path) == NULL) {
        *value = fallback;
        return OK;
    }
    if (!(*value >= least && *value <= most)) {
        return file_fail(r, ERR_MALFORMED, path, "%g is out of range: write a number from %g to %g",
                         *value, least, most);
    }
    return OK;
}

enum err file_time(const struct file_reader *r, const char *path, int64_t *ns_out, int64_t fallback,
                   int64_t least, int64_t most)
{
    const struct run_yaml *node = file_find(r, path);
    struct units_text low, high;
    struct err_text why;
    int64_t ns = 0;
    enum err rc;

    if (node == NULL) {
        *ns_out = fallback;
        return OK;
    }
    if (node->kind != RUN_YAML_TEXT) {
        return file_fail(r, ERR_MALFORMED, path, "has to be a time, such as 120s, but is %s",
                         run_yaml_kind_name(node->kind));
    }
    rc = units_time_parse(node->chars, &ns, &why);
    if (rc != OK) {
        return file_fail(r, ERR_MALFORMED, path, "%.300s", why.text);
    }
    if (ns < least || ns > most) {
        return file_fail(r, ERR_MALFORMED, path, "is out of range: write a time from %s to %s",
                         units_time_print(least, &low), units_time_print(most, &high));
    }
    *ns_out = ns;
    return OK;
}

/* A number, or one with "%": then it is read as with "e-2", which rounds once. */
bool file_read_part(const char *chars, double *out)
{
    size_t size = strlen(chars);
    char copy[32];
    char *end = NULL;

    if (size == 0 || size > sizeof(copy) - 4) {
        return false;
    }
    memcpy(copy, chars, size + 1);
    if (copy[size - 1] == '%') {
        if (strspn(copy, "0123456789.") != size - 1) {
            return false;
        }
        memcpy(copy + size - 1, "e-2", 4);
    }
    *out = strtod(copy, &end);
    return strspn(copy, "0123456789.eE+-") == strlen(copy) && *end == '\0' && isfinite(*out);
}

enum err file_name(const struct file_reader *r, const char *path, const char *name)
{
    if (!topo_name_valid(name)) {
        return file_fail(r, ERR_MALFORMED, path,
                         "'%.40s' is not a name: use 1 to %d of the characters A-Z a-z 0-9 . _ -",
                         name, LIMIT_NAME_BYTES);
    }
    return OK;
}

enum err file_region(const struct file_reader *r, const char *path, const char *name,
                     uint32_t *index_out)
{
    const struct topo *t = r->f->topo;
    struct nearest near;

    if (topo_region_find(t, name, index_out)) {
        return OK;
    }
    nearest_init(&near, name);
    for (uint32_t i = 0; i < topo_regions(t); i++) {
        nearest_offer(&near, topo_region_at(t, i)->name);
    }
    return file_fail(r, ERR_MALFORMED, path, "there is no region '%.40s' in the topology: %s", name,
                     nearest_hint(&near, "the regions are"));
}
