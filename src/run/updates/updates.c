#include "run/updates/updates.h"

#include "base/mem.h"
#include "run/updates/file.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* One series of clocks. Its next row is read ahead: so all know which clock is the next. */
struct updates_series {
    char *const *paths;
    uint32_t count;
    uint32_t at; /* The file that is open, or the next. */
    uint64_t every;
    bool ended;
    struct updates_file file;
    struct updates_row row;
    struct run_updates_part part;
};

struct run_updates {
    char **paths;
    uint32_t paths_count;
    struct updates_series *series;
    uint32_t count;
    uint32_t torn;
};

static enum err updates_no_memory(struct err_text *text)
{
    return err_text_set(text, ERR_NOMEM, "no memory to read updates");
}

/* Rows. */

static enum err updates_advance(struct run_updates *u, struct updates_series *s,
                                struct err_text *text)
{
    bool got = false;
    enum err rc = OK;

    while (rc == OK && !got) {
        if (s->file.file == NULL) {
            if (s->at == s->count) {
                s->ended = true;
                return OK;
            }
            rc = updates_file_open(&s->file, s->paths[s->at], text);
        }
        if (rc == OK) {
            rc = updates_file_next(&s->file, s->every, &s->row, &got, text);
        }
        if (rc == OK && !got) {
            u->torn += s->file.torn;
            updates_file_close(&s->file);
            s->at++;
        }
    }
    return rc;
}

static enum err updates_begin(struct run_updates *u, struct err_text *text)
{
    enum err rc = OK;

    for (uint32_t i = 0; i < u->count && rc == OK; i++) {
        struct updates_series *s = &u->series[i];

        rc = updates_advance(u, s, text);
        if (rc == OK && s->ended) {
            rc = err_text_set(text, ERR_INVALID, "%.300s: there is no clock in it", s->paths[0]);
        }
        s->part = (struct run_updates_part){.path = s->paths[0], .elements = s->row.elements};
    }
    return rc;
}

enum err run_updates_next(struct run_updates *u, uint64_t *clock_out, struct err_text *text)
{
    uint64_t clock = UINT64_MAX;
    enum err rc = OK;

    for (uint32_t i = 0; i < u->count && rc == OK; i++) {
        struct updates_series *s = &u->series[i];

        if (s->part.values != NULL) {
            rc = updates_advance(u, s, text);
        }
        s->part.values = NULL;
        clock = !s->ended && s->row.clock < clock ? s->row.clock : clock;
    }
    if (rc != OK) {
        return rc;
    }
    *clock_out = clock == UINT64_MAX ? 0 : clock;
    for (uint32_t i = 0; i < u->count; i++) {
        struct updates_series *s = &u->series[i];

        if (!s->ended && s->row.clock == clock) {
            s->part.values = s->row.values;
            s->part.path = s->paths[s->at];
        }
    }
    return OK;
}

uint32_t run_updates_parts(const struct run_updates *u)
{
    return u->count;
}

const struct run_updates_part *run_updates_part(const struct run_updates *u, uint32_t index)
{
    CHECK(index < u->count);
    return &u->series[index].part;
}

uint32_t run_updates_torn(const struct run_updates *u)
{
    return u->torn;
}

/* Which files. */

static enum err updates_add_path(struct run_updates *u, const char *dir, const char *name,
                                 struct err_text *text)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof(path), "%s%s%s", dir, dir[0] == '\0' ? "" : "/", name) >=
        (int)sizeof(path)) {
        return err_text_set(text, ERR_TOO_BIG, "%.300s: the path is too long", name);
    }
    u->paths[u->paths_count] = mem_strdup(path);
    if (u->paths[u->paths_count] == NULL) {
        return updates_no_memory(text);
    }
    u->paths_count++;
    return OK;
}

static enum err updates_room(struct run_updates *u, uint32_t paths, uint32_t series,
                             struct err_text *text)
{
    u->paths = mem_calloc(paths, sizeof(*u->paths));
    u->series = mem_calloc(series, sizeof(*u->series));
    return u->paths == NULL || u->series == NULL ? updates_no_memory(text) : OK;
}

/* All paths are one series. */
static void updates_one_series(struct run_updates *u, uint64_t every)
{
    u->count = 1;
    u->series[0].paths = u->paths;
    u->series[0].count = u->paths_count;
    u->series[0].every = every;
}

static int updates_is_ours(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');

    return entry->d_name[0] != '.' && dot != NULL &&
           (strcmp(dot, ".npy") == 0 || strcmp(dot, ".jsonl") == 0);
}

/* A folder that anybody has filled. */
static enum err updates_list(struct run_updates *u, const char *dir, struct err_text *text)
{
    struct dirent **names = NULL;
    int count = scandir(dir, &names, updates_is_ours, alphasort);
    enum err rc = OK;

    if (count < 0) {
        return err_text_set(text, ERR_IO, "%.300s: %s", dir, strerror(errno));
    }
    if (count == 0 || count > RUN_UPDATES_FILES_MAX) {
        rc = err_text_set(text, ERR_INVALID, "%.300s: %s", dir,
                          count == 0 ? "there is no .npy or .jsonl file in it"
                                     : "there are too many files in it");
    }
    if (rc == OK) {
        rc = updates_room(u, (uint32_t)count, 1, text);
    }
    for (int i = 0; i < count; i++) {
        if (rc == OK) {
            rc = updates_add_path(u, dir, names[i]->d_name, text);
        }
        free(names[i]);
    }
    free(names);
    if (rc == OK) {
        updates_one_series(u, 1);
    }
    return rc;
}

/* A folder that a run has filled, or another. */
static enum err updates_folder(struct run_updates *u, const char *dir, struct err_text *text)
{
    struct updates_meta meta;
    enum err rc = updates_meta_read(dir, &meta, text);

    if (rc != OK) {
        return rc == ERR_NOT_FOUND ? updates_list(u, dir, text) : rc;
    }
    rc = updates_room(u, meta.count, meta.count, text);
    for (uint32_t i = 0; i < meta.count && rc == OK; i++) {
        rc = updates_add_path(u, dir, meta.names[i], text);
        if (rc == OK) {
            u->series[i].paths = &u->paths[i];
            u->series[i].count = 1;
            u->series[i].every = meta.every;
            u->count++;
        }
    }
    updates_meta_free(&meta);
    return rc;
}

/* How often a clock was written to the file, as what stands beside it says. */
static enum err updates_every(const char *path, uint64_t *out, struct err_text *text)
{
    struct updates_meta meta;
    char copy[PATH_MAX];
    const char *name = strrchr(path, '/') == NULL ? path : strrchr(path, '/') + 1;
    enum err rc;

    *out = 1;
    if (snprintf(copy, sizeof(copy), "%s", path) >= (int)sizeof(copy)) {
        return OK;
    }
    rc = updates_meta_read(dirname(copy), &meta, text);
    if (rc != OK) {
        return rc == ERR_NOT_FOUND ? OK : rc;
    }
    for (uint32_t i = 0; i < meta.count; i++) {
        *out = strcmp(meta.names[i], name) == 0 ? meta.every : *out;
    }
    updates_meta_free(&meta);
    return OK;
}

static enum err updates_files(struct run_updates *u, const char *const *paths, uint32_t count,
                              struct err_text *text)
{
    uint64_t every = 1;
    enum err rc = updates_room(u, count, 1, text);

    for (uint32_t i = 0; i < count && rc == OK; i++) {
        struct stat status;

        rc = count > 1 && stat(paths[i], &status) == 0 && S_ISDIR(status.st_mode)
                 ? err_text_set(text, ERR_INVALID,
                                "%.300s: a folder; name one folder and nothing else, or files",
                                paths[i])
                 : updates_add_path(u, "", paths[i], text);
    }
    if (rc == OK) {
        rc = updates_every(paths[0], &every, text);
    }
    if (rc == OK) {
        updates_one_series(u, every);
    }
    return rc;
}

enum err run_updates_open(const char *const *paths, uint32_t count, struct run_updates **out,
                          struct err_text *text)
{
    struct run_updates *u = mem_zalloc(sizeof(*u));
    struct stat status;
    enum err rc;

    CHECK(count >= 1);
    if (u == NULL) {
        return updates_no_memory(text);
    }
    rc = count == 1 && stat(paths[0], &status) == 0 && S_ISDIR(status.st_mode)
             ? updates_folder(u, paths[0], text)
             : updates_files(u, paths, count, text);
    if (rc == OK) {
        rc = updates_begin(u, text);
    }
    if (rc != OK) {
        run_updates_close(u);
        return rc;
    }
    *out = u;
    return OK;
}

enum err run_updates_open_stream(FILE *file, const char *name, uint64_t size,
                                 struct run_updates **out, struct err_text *text)
{
    struct run_updates *u = mem_zalloc(sizeof(*u));
    enum err rc;

    if (u == NULL) {
        (void)fclose(file);
        return updates_no_memory(text);
    }
    rc = updates_room(u, 1, 1, text);
    if (rc == OK) {
        rc = updates_add_path(u, "", name, text);
    }
    if (rc != OK) {
        (void)fclose(file);
    } else {
        updates_one_series(u, 1);
        rc = updates_file_begin(&u->series[0].file, file, u->paths[0], size, text);
    }
    if (rc == OK) {
        rc = updates_begin(u, text);
    }
    if (rc != OK) {
        run_updates_close(u);
        return rc;
    }
    *out = u;
    return OK;
}

void run_updates_close(struct run_updates *u)
{
    if (u == NULL) {
        return;
    }
    for (uint32_t i = 0; i < u->count; i++) {
        updates_file_close(&u->series[i].file);
        mem_free(u->series[i].row.values);
    }
    for (uint32_t i = 0; i < u->paths_count; i++) {
        mem_free(u->paths[i]);
    }
    mem_free(u->paths);
    mem_free(u->series);
    mem_free(u);
}
