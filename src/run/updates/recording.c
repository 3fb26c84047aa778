#include "run/updates/recording.h"

#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"
#include "client/npy.h"
#include "run/backend.h"
#include "run/record/record.h"
#include "run/updates/updates.h"
#include "store/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    RECORDING_LINE_BYTES = 13, /* Of a value in a line, about. */
    RECORDING_BLOCK_BYTES = 64 * 1024,
};

static enum err recording_no_memory(struct err_text *text)
{
    return err_text_set(text, ERR_NOMEM, "no memory to describe recorded updates");
}

/* The tables of the job, as one of its workers has them. */
static enum err recording_tables(const struct run_file *f, struct app_table *tables,
                                 uint32_t *count_out, struct err_text *text)
{
    struct app_config config = run_app_config(f, 0);
    struct app *app = NULL;
    enum err rc = app_create(&config, &app, text);

    if (rc == OK) {
        *count_out = app->ops->tables(app, tables);
    }
    app_destroy(app);
    return rc;
}

static struct run_recording_plan recording_plan(const struct run_recording *how,
                                                const struct run_file *f,
                                                const struct app_table *tables, uint32_t count)
{
    struct run_recording_plan plan = {
        .workers = how->worker == RUN_RECORDING_ALL ? f->workers : 1,
        .tables = count,
        .clocks = f->stop.clocks == 0 ? 0 : (f->stop.clocks - 1) / how->every + 1,
    };
    double bytes = 0;

    for (uint32_t i = 0; i < count; i++) {
        bytes += (double)tables[i].rows * tables[i].width *
                 (how->lines ? RECORDING_LINE_BYTES : (double)sizeof(float));
    }
    bytes *= (double)plan.workers * (double)(plan.clocks == 0 ? 1 : plan.clocks);
    plan.bytes = bytes < 1e18 ? (uint64_t)bytes : UINT64_C(1000000000000000000);
    return plan;
}

static json_t *recording_file(const struct run_recording *how, uint32_t worker,
                              const struct app_table *t)
{
    char name[RUN_RECORDING_NAME_BYTES], who[16];

    run_recording_name(how, worker, t->name, name, sizeof(name));
    (void)snprintf(who, sizeof(who), "w%u", worker);
    return json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:s, s:s}", "file", name, "worker", who,
                     "table", t->name, "rows", (json_int_t)t->rows, "width", (json_int_t)t->width,
                     "elements", (json_int_t)t->rows * (json_int_t)t->width, "apply", t->apply,
                     "combine", t->combine);
}

/* @meta is released; NULL: no memory. */
static enum err recording_put(const char *dir, json_t *meta, struct err_text *text)
{
    char *chars = meta == NULL ? NULL : json_dumps(meta, JSON_INDENT(2));
    struct text whole = {.failed = true};
    enum err rc = chars == NULL ? ERR_NOMEM : text_init(&whole, RUN_UPDATES_META_BYTES_MAX);

    if (rc == OK) {
        text_addf(&whole, "%s\n", chars);
        rc = whole.failed ? recording_no_memory(text)
                          : run_folder_put(dir, RUN_UPDATES_META, whole.chars, whole.size, text);
        text_deinit(&whole);
    } else {
        rc = recording_no_memory(text);
    }
    free(chars);
    json_decref(meta);
    return rc;
}

static enum err recording_describe(const struct run_recording *how, const struct run_file *f,
                                   const struct app_table *tables, uint32_t count,
                                   struct err_text *text)
{
    uint32_t first = how->worker == RUN_RECORDING_ALL ? 0 : how->worker;
    uint32_t end = how->worker == RUN_RECORDING_ALL ? f->workers : first + 1;
    json_t *list = json_array();

    for (uint32_t w = first; w < end; w++) {
        for (uint32_t i = 0; i < count; i++) {
            (void)json_array_append_new(list, recording_file(how, w, &tables[i]));
        }
    }
    return recording_put(how->dir,
                         json_pack("{s:i, s:s, s:s, s:i, s:s, s:o}", "schema", RUN_UPDATES_SCHEMA,
                                   "run", f->name, "job", f->job.name, "every", (int)how->every,
                                   "format", how->lines ? "jsonl" : "npy", "updates", list),
                         text);
}

/* No updates of another run may be there: files are gone on with. */
static enum err recording_folder(const char *dir, struct err_text *text)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof(path), "%s/%s", dir, RUN_UPDATES_META) >= (int)sizeof(path)) {
        return err_text_set(text, ERR_INVALID, "the path of the folder is too long");
    }
    if (access(path, F_OK) == 0) {
        return err_text_set(text, ERR_EXISTS,
                            "%.300s holds updates of a run; choose another folder", dir);
    }
    return run_folder_make(dir, text);
}

enum err run_recording_begin(const struct run_recording *how, const struct run_file *f,
                             struct run_recording_plan *plan_out, struct err_text *text)
{
    struct app_table tables[APP_TABLES_MAX];
    uint32_t count = 0;
    enum err rc;

    memset(tables, 0, sizeof(tables));
    *plan_out = (struct run_recording_plan){.workers = 0};
    rc = recording_tables(f, tables, &count, text);
    if (rc != OK) {
        return rc;
    }
    *plan_out = recording_plan(how, f, tables, count);
    if (!how->large && plan_out->bytes > RUN_RECORDING_BYTES_MAX) {
        return err_text_set(text, ERR_TOO_BIG, "the files would be too large");
    }
    rc = recording_folder(how->dir, text);
    return rc == OK ? recording_describe(how, f, tables, count, text) : rc;
}

/* The end. */

/* Clocks in a file: rows of an array, or whole lines. Zero: it is not there, or not to be read. */
static uint64_t recording_clocks(const char *dir, const char *name, char *block)
{
    char path[PATH_MAX];
    struct client_npy npy = {.axes = 0};
    uint64_t header_bytes = 0, lines = 0;
    ssize_t n = 0;
    int fd = -1;

    if (snprintf(path, sizeof(path), "%s/%s", dir, name) < (int)sizeof(path)) {
        fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    if (fd < 0) {
        return 0;
    }
    n = fd_read_all(fd, block, NPY_HEADER_BYTES);
    if (n == NPY_HEADER_BYTES && client_npy_start((uint8_t *)block, &header_bytes, NULL) == OK) {
        (void)close(fd);
        return header_bytes == NPY_HEADER_BYTES &&
                       client_npy_parse((uint8_t *)block, header_bytes, &npy, NULL) == OK
                   ? npy.shape[0]
                   : 0;
    }
    for (; n > 0; n = fd_read_all(fd, block, RECORDING_BLOCK_BYTES)) {
        for (ssize_t i = 0; i < n; i++) {
            lines += block[i] == '\n';
        }
    }
    (void)close(fd);
    return lines;
}

enum err run_recording_end(const struct run_recording *how, struct err_text *text)
{
    char path[PATH_MAX];
    char *block = mem_zalloc(RECORDING_BLOCK_BYTES);
    json_t *meta, *entry;
    size_t i;

    if (block == NULL) {
        return recording_no_memory(text);
    }
    (void)snprintf(path, sizeof(path), "%s/%s", how->dir, RUN_UPDATES_META);
    meta = json_load_file(path, 0, NULL);
    if (meta == NULL) {
        mem_free(block);
        return err_text_set(text, ERR_IO, "%.300s: cannot be read", path);
    }
    json_array_foreach(json_object_get(meta, "updates"), i, entry)
    {
        const char *name = json_string_value(json_object_get(entry, "file"));
        uint64_t clocks = name == NULL ? 0 : recording_clocks(how->dir, name, block);

        (void)json_object_set_new(entry, "clocks", json_integer((json_int_t)clocks));
    }
    mem_free(block);
    return recording_put(how->dir, meta, text);
}
