#include "run/updates/recorder.h"

#include "base/fd.h"
#include "base/mem.h"
#include "client/npy.h"
#include "run/record/record.h"
#include "run/updates/updates.h"
#include "store/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    RECORDER_BLOCK_BYTES = 64 * 1024,
    RECORDER_HEAD_BYTES = 40, /* Of a line, up to its clock. */
};

struct recorder_table {
    char path[PATH_MAX];
    int fd;
    bool rows; /* Updates have some rows only. */
    uint32_t width;
    uint64_t elements;
    uint64_t written; /* Arrays: rows; lines: the last clock. */
    uint64_t bytes;   /* Where the next line goes. */
    float *whole;     /* The update as it is written, if it has some rows only. */
};

struct run_recorder {
    struct run_recording how;
    bool stopped;
    uint32_t count;
    struct recorder_table tables[APP_TABLES_MAX];
    char *block; /* Lines on their way. */
    size_t used;
};

void run_recording_name(const struct run_recording *how, uint32_t worker, const char *table,
                        char *out, size_t size)
{
    (void)snprintf(out, size, "w%u-%s.%s", worker, table, how->lines ? "jsonl" : "npy");
}

static enum err recorder_failed(const struct recorder_table *t, struct err_text *text)
{
    return err_text_set(text, errno == ENOSPC || errno == EDQUOT ? ERR_FULL : ERR_IO, "%.300s: %s",
                        t->path, strerror(errno));
}

static enum err recorder_else(const struct recorder_table *t, struct err_text *text)
{
    return err_text_set(text, ERR_INVALID,
                        "%.300s: something else is there; record into an empty folder", t->path);
}

/* A disk that is full is the reader's to mend. */
static const char *recorder_advice(enum err rc)
{
    return rc == ERR_FULL ? "; make room there, or record less (--record-every)" : "";
}

static bool recorder_put(const struct recorder_table *t, const void *bytes, uint64_t size,
                         uint64_t at)
{
    const char *from = bytes;

    while (size > 0) {
        ssize_t n = pwrite(t->fd, from, size, (off_t)at);

        if (n < 0 && errno != EINTR) {
            return false;
        }
        n = n < 0 ? 0 : n;
        from += n;
        at += (uint64_t)n;
        size -= (uint64_t)n;
    }
    return true;
}

/* Arrays. */

static uint64_t recorder_row_at(const struct recorder_table *t, uint64_t row)
{
    return NPY_HEADER_BYTES + row * t->elements * sizeof(float);
}

static bool recorder_put_header(const struct recorder_table *t, uint64_t rows)
{
    uint8_t header[NPY_HEADER_BYTES];

    npy_header(rows, (uint32_t)t->elements, header);
    return recorder_put(t, header, sizeof(header), 0);
}

/* How many rows there are; what a killed process has begun behind them goes. */
static enum err recorder_resume_array(struct recorder_table *t, uint64_t size,
                                      struct err_text *text)
{
    uint8_t header[NPY_HEADER_BYTES] = {0};
    struct client_npy npy = {.axes = 0};
    uint64_t header_bytes = 0;

    if (size < sizeof(header)) {
        return recorder_put_header(t, 0) ? OK : recorder_failed(t, text);
    }
    if (pread(t->fd, header, sizeof(header), 0) != (ssize_t)sizeof(header)) {
        return recorder_failed(t, text);
    }
    if (client_npy_start(header, &header_bytes, NULL) != OK || header_bytes != sizeof(header) ||
        client_npy_parse(header, header_bytes, &npy, NULL) != OK || npy.axes != 2 ||
        npy.shape[1] != t->elements ||
        npy.shape[0] > (size - sizeof(header)) / sizeof(float) / t->elements) {
        return recorder_else(t, text);
    }
    t->written = npy.shape[0];
    return ftruncate(t->fd, (off_t)recorder_row_at(t, t->written)) == 0 ? OK
                                                                        : recorder_failed(t, text);
}

/* The header follows the row that it counts: whoever reads meanwhile has whole rows. */
static enum err recorder_write_row(struct recorder_table *t, uint64_t row, const float *values,
                                   struct err_text *text)
{
    if (row < t->written) {
        return OK;
    }
    if (!recorder_put(t, values, t->elements * sizeof(float), recorder_row_at(t, row)) ||
        !recorder_put_header(t, row + 1)) {
        return recorder_failed(t, text);
    }
    t->written = row + 1;
    return OK;
}

/* Lines. */

/* Where the last whole line ends, and which clock it has. */
static enum err recorder_resume_lines(struct run_recorder *r, struct recorder_table *t,
                                      struct err_text *text)
{
    char head[RECORDER_HEAD_BYTES] = "";
    uint64_t at = 0, in_line = 0;
    ssize_t n;

    while ((n = pread(t->fd, r->block, RECORDER_BLOCK_BYTES, (off_t)at)) > 0) {
        for (ssize_t i = 0; i < n; i++) {
            if (r->block[i] != '\n') {
                if (in_line < sizeof(head) - 1) {
                    head[in_line] = r->block[i];
                    head[in_line + 1] = '\0';
                }
                in_line++;
                continue;
            }
            if (sscanf(head, "{\"clock\":%" SCNu64 ",", &t->written) != 1) {
                return recorder_else(t, text);
            }
            t->bytes = at + (uint64_t)i + 1;
            in_line = 0;
        }
        at += (uint64_t)n;
    }
    return n < 0 || ftruncate(t->fd, (off_t)t->bytes) != 0 ? recorder_failed(t, text) : OK;
}

/* What there is of a clock that could not be written goes, and makes room. */
static void recorder_cut(const struct run_recorder *r, const struct recorder_table *t)
{
    uint64_t end = r->how.lines ? t->bytes : recorder_row_at(t, t->written);

    (void)!ftruncate(t->fd, (off_t)end);
}

static bool recorder_flush(struct run_recorder *r, struct recorder_table *t)
{
    size_t used = r->used;

    r->used = 0;
    t->bytes += used;
    return recorder_put(t, r->block, used, t->bytes - used);
}

static enum err recorder_write_line(struct run_recorder *r, struct recorder_table *t,
                                    uint64_t clock, const float *values, struct err_text *text)
{
    uint64_t begun = t->bytes;
    bool good = true;

    if (clock <= t->written) {
        return OK;
    }
    r->used = (size_t)snprintf(r->block, RECORDER_BLOCK_BYTES,
                               "{\"clock\":%" PRIu64 ",\"values\":[", clock);
    for (uint64_t i = 0; i < t->elements && good; i++) {
        if (r->used + 32 > RECORDER_BLOCK_BYTES) {
            good = recorder_flush(r, t);
        }
        r->used +=
            (size_t)snprintf(r->block + r->used, 32, "%s%.9g", i > 0 ? "," : "", (double)values[i]);
    }
    memcpy(r->block + r->used, "]}\n", 3);
    r->used += 3;
    if (!good || !recorder_flush(r, t)) {
        t->bytes = begun;
        return recorder_failed(t, text);
    }
    t->written = clock;
    return OK;
}

/* Both. */

static enum err recorder_open(struct run_recorder *r, const char *name, struct recorder_table *t,
                              const struct app_table *is, struct err_text *text)
{
    struct stat status;

    t->rows = is->access == APP_ROWS;
    t->width = is->width;
    t->elements = is->rows * is->width;
    if (snprintf(t->path, sizeof(t->path), "%s/%s", r->how.dir, name) >= (int)sizeof(t->path)) {
        return err_text_set(text, ERR_TOO_BIG, "the path of the folder for updates is too long");
    }
    if (is->rows > RUN_UPDATES_ELEMENTS_MAX || t->elements > RUN_UPDATES_ELEMENTS_MAX) {
        return err_text_set(text, ERR_TOO_BIG,
                            "table %s has more than %d elements, which cannot be recorded",
                            is->name, RUN_UPDATES_ELEMENTS_MAX);
    }
    if (t->rows) {
        t->whole = mem_calloc(t->elements, sizeof(float));
        if (t->whole == NULL) {
            return err_text_set(text, ERR_NOMEM, "no memory to record updates");
        }
    }
    t->fd = open(t->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (t->fd < 0 || fstat(t->fd, &status) != 0) {
        return recorder_failed(t, text);
    }
    if (!S_ISREG(status.st_mode)) {
        return recorder_else(t, text);
    }
    return r->how.lines ? recorder_resume_lines(r, t, text)
                        : recorder_resume_array(t, (uint64_t)status.st_size, text);
}

enum err run_recorder_create(const struct run_recording *how, uint32_t worker,
                             const struct app_table *tables, uint32_t count,
                             struct run_recorder **out, struct err_text *text)
{
    struct run_recorder *r = mem_zalloc(sizeof(*r));
    struct err_text why = {""};
    enum err rc;

    CHECK(how->every >= 1 && count <= APP_TABLES_MAX);
    if (r != NULL) {
        r->how = *how;
        r->block = mem_zalloc(RECORDER_BLOCK_BYTES);
    }
    if (r == NULL || r->block == NULL) {
        run_recorder_destroy(r);
        return err_text_set(text, ERR_NOMEM, "no memory to record updates");
    }
    rc = run_folder_make(how->dir, &why);
    for (uint32_t i = 0; i < count && rc == OK; i++) {
        char name[RUN_RECORDING_NAME_BYTES];

        run_recording_name(how, worker, tables[i].name, name, sizeof(name));
        r->tables[i].fd = -1;
        r->count++;
        rc = recorder_open(r, name, &r->tables[i], &tables[i], &why);
    }
    if (rc != OK) {
        run_recorder_destroy(r);
        return err_text_set(text, rc, "%.440s%s", why.text, recorder_advice(rc));
    }
    *out = r;
    return OK;
}

void run_recorder_destroy(struct run_recorder *r)
{
    if (r == NULL) {
        return;
    }
    for (uint32_t i = 0; i < r->count; i++) {
        if (r->tables[i].fd >= 0) {
            (void)close(r->tables[i].fd);
        }
        mem_free(r->tables[i].whole);
    }
    mem_free(r->block);
    mem_free(r);
}

/* All of the table: zeros where the update has no row. */
static const float *recorder_spread(struct recorder_table *t, const struct app_view *v)
{
    if (!t->rows) {
        return v->update;
    }
    memset(t->whole, 0, t->elements * sizeof(float));
    for (uint32_t i = 0; i < v->row_count; i++) {
        memcpy(t->whole + (uint64_t)v->rows[i] * t->width, v->update + (uint64_t)i * t->width,
               t->width * sizeof(float));
    }
    return t->whole;
}

/* How large the files are now, or will be with another row. */
static uint64_t recorder_bytes(const struct run_recorder *r, uint64_t row)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < r->count; i++) {
        sum += r->how.lines ? r->tables[i].bytes : recorder_row_at(&r->tables[i], row + 1);
    }
    return sum;
}

/* It is over: say how far it got. */
static enum err recorder_end(struct run_recorder *r, uint64_t clock, enum err rc, const char *why,
                             struct err_text *text)
{
    char far[48] = "for no clock";

    r->stopped = true;
    if (clock > r->how.every) {
        (void)snprintf(far, sizeof(far), "up to clock %" PRIu64, clock - r->how.every);
    }
    return err_text_set(text, rc, "updates are recorded %s: %.360s%s", far, why,
                        recorder_advice(rc));
}

enum err run_recorder_write(struct run_recorder *r, uint64_t clock, const struct app_view *views,
                            struct err_text *text)
{
    uint64_t row = (clock - 1) / r->how.every;
    struct err_text why = {""};
    enum err rc = OK;

    if (r->stopped || (clock - 1) % r->how.every != 0) {
        return OK;
    }
    if (!r->how.large && recorder_bytes(r, row) > RUN_RECORDING_BYTES_MAX) {
        rc = err_text_set(&why, ERR_TOO_BIG,
                          "their files have reached %d GiB; --record-large allows more",
                          (int)(RUN_RECORDING_BYTES_MAX >> 30));
    }
    for (uint32_t i = 0; i < r->count && rc == OK; i++) {
        struct recorder_table *t = &r->tables[i];
        const float *values = recorder_spread(t, &views[i]);

        rc = r->how.lines ? recorder_write_line(r, t, clock, values, &why)
                          : recorder_write_row(t, row, values, &why);
        if (rc != OK) {
            recorder_cut(r, t);
        }
    }
    return rc == OK ? OK : recorder_end(r, clock, rc, why.text, text);
}
