#include "run/file/file.h"

#include "run/file/state.h"
#include "sim/world.h"
#include "topo/file.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Any run file can be simulated. */
_Static_assert((int)TOPO_REGIONS_MAX <= (int)SIM_REGIONS_MAX, "regions");
_Static_assert(RUN_WORKERS_MAX + RUN_SERVERS_MAX <= (int)SIM_HOSTS_MAX, "hosts");

static void file_describe(const struct file_reader *r, struct topo_place place, const char *path,
                          const char *fmt, va_list args) PRINTF_LIKE(4, 0);

static void file_describe(const struct file_reader *r, struct topo_place place, const char *path,
                          const char *fmt, va_list args)
{
    char what[ERR_TEXT_BYTES - 128];
    char shown[RUN_FILE_PATH_BYTES * 4];
    struct text whole;

    (void)vsnprintf(what, sizeof(what), fmt, args);
    text_init_fixed(&whole, shown, sizeof(shown));
    text_add_printable(&whole, path);
    (void)err_text_set(r->text, OK, "%.128s:%u:%u: %s%s%s", r->name, place.line, place.column,
                       shown, shown[0] != '\0' ? ": " : "", what);
}

enum err file_fail(const struct file_reader *r, enum err rc, const char *path, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    file_describe(r, run_yaml_find(r->root, path, NULL)->place, path, fmt, args);
    va_end(args);
    return rc;
}

enum err file_fail_at(const struct file_reader *r, enum err rc, struct topo_place place,
                      const char *path, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    file_describe(r, place, path, fmt, args);
    va_end(args);
    return rc;
}

const struct run_yaml *file_find(const struct file_reader *r, const char *path)
{
    bool found = false;
    const struct run_yaml *node = run_yaml_find(r->root, path, &found);

    return found ? node : NULL;
}

static enum err file_read(struct file_reader *r)
{
    enum err rc = run_yaml_parse(r->arena, r->name, r->bytes, r->size, &r->root, r->text);

    if (rc == OK) {
        rc = file_check(r);
    }
    if (rc == OK) {
        rc = file_load(r);
    }
    if (rc == OK) {
        rc = file_topology(r);
    }
    if (rc == OK) {
        rc = file_links(r);
    }
    if (rc == OK) {
        rc = file_fill(r);
    }
    if (rc == OK) {
        rc = file_backgrounds(r);
    }
    return rc == OK ? file_faults(r) : rc;
}

static enum err file_parse(struct file_reader *r, struct run_file **file_out)
{
    enum err rc;

    if (r->size > RUN_FILE_BYTES_MAX) {
        return err_text_set(r->text, ERR_TOO_BIG, "%.128s: larger than %d bytes", r->name,
                            RUN_FILE_BYTES_MAX);
    }
    rc = run_arena_create(&r->arena);
    if (rc == OK) {
        rc = file_read(r);
    }
    if (rc != OK) {
        topo_destroy(r->f != NULL ? r->f->topo : NULL);
        topo_destroy(r->f != NULL ? r->f->map : NULL);
        run_arena_destroy(r->arena);
        return rc == ERR_NOMEM ? err_text_set(r->text, rc, "%.128s: out of memory", r->name) : rc;
    }
    r->f->arena = r->arena;
    *file_out = r->f;
    return OK;
}

enum err run_file_parse(const char *name, const char *folder, const char *bytes, size_t size,
                        struct run_file **file_out, struct err_text *text)
{
    struct file_reader r = {.name = name,
                            .folder = folder,
                            .data_folder = folder,
                            .bytes = bytes,
                            .size = size,
                            .text = text};

    return file_parse(&r, file_out);
}

/* The folder that @path is in. */
static enum err file_folder(const char *path, char out[PATH_MAX], struct err_text *text)
{
    const char *slash = strrchr(path, '/');
    int size = slash == NULL   ? snprintf(out, PATH_MAX, ".")
               : slash == path ? snprintf(out, PATH_MAX, "/")
                               : snprintf(out, PATH_MAX, "%.*s", (int)(slash - path), path);

    return size < PATH_MAX ? OK
                           : err_text_set(text, ERR_TOO_BIG, "%.128s...: too long a path", path);
}

enum err run_file_load(const char *path, struct run_file **file_out, struct err_text *text)
{
    char folder[PATH_MAX], data_folder[PATH_MAX];
    struct file_reader r = {
        .name = path, .folder = folder, .data_folder = data_folder, .text = text};
    struct text bytes = {0};
    enum err rc = file_folder(path, folder, text);

    if (rc == OK) {
        rc = topo_file_read(path, RUN_FILE_BYTES_MAX, &bytes, text);
    }
    if (rc != OK) {
        return rc;
    }
    /* The path of the data has to stay good in the record, and in other working directories. */
    if (realpath(folder, data_folder) == NULL) {
        rc = err_text_set(text, ERR_IO, "%.200s: %s", folder, strerror(errno));
    } else {
        r.bytes = bytes.chars;
        r.size = bytes.size;
        rc = file_parse(&r, file_out);
    }
    text_deinit(&bytes);
    return rc;
}

void run_file_free(struct run_file *f)
{
    if (f != NULL) {
        topo_destroy(f->topo);
        topo_destroy(f->map);
        run_arena_destroy(f->arena);
    }
}
