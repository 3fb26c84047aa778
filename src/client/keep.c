/* Tables to and from .npy files, piece by piece. */

#include "base/mem.h"
#include "client/data.h"
#include "client/file.h"
#include "client/op.h"
#include "loop/clock.h"

#include <string.h>

/* Whole chunks that are read or sent in one go. */
enum { KEEP_CHUNKS = 16 };

struct table_file_io {
    const void *handle;
    const char *path;
    int table;
    const struct client_shape *shape;
    int64_t start_ns;
    double timeout_s;
    struct client_file *file;
    uint64_t piece; /* Elements. */
    float *values;
    float *now; /* Loading: what the table has. */
};

/* What is left of the time for all of it. */
static double keep_left_s(const struct table_file_io *k)
{
    double left_s = k->timeout_s - (double)(clock_mono_ns() - k->start_ns) / 1e9;

    return k->timeout_s < 0 ? -1 : left_s < 0 ? 0 : left_s;
}

static int keep_file_code(const void *handle, enum err rc, const char *text)
{
    int code = rc == ERR_NOMEM       ? STRAIT_E_NO_MEMORY
               : rc == ERR_TOO_BIG   ? STRAIT_E_TOO_BIG
               : rc == ERR_NOT_FOUND ? STRAIT_E_NOT_FOUND
                                     : STRAIT_E_FILE;

    return client_error(handle, code, "%s", text);
}

static int keep_init(struct table_file_io *k, strait *s, const char *path, double timeout_s,
                     struct client_call *call)
{
    int code = path == NULL ? client_error(s, STRAIT_E_INVALID, "the file has no path")
                            : client_timeout(s, timeout_s);

    k->handle = s;
    k->path = path;
    k->timeout_s = timeout_s;
    k->start_ns = clock_mono_ns();
    if (code == STRAIT_OK) {
        code = client_data_pin(s, k->table, call, &k->shape);
    }
    if (code != STRAIT_OK) {
        return code;
    }
    k->piece = (uint64_t)k->shape->chunk * KEEP_CHUNKS;
    k->values = mem_calloc(k->piece, sizeof(float));
    k->now = mem_calloc(k->piece, sizeof(float));
    return STRAIT_OK;
}

static int keep_no_memory(const struct table_file_io *k)
{
    return k->values == NULL || k->now == NULL ? client_error_pass(k->handle, ERR_NOMEM, NULL)
                                               : STRAIT_OK;
}

/* Release all, unpin, and return @code. */
static int keep_deinit(struct table_file_io *k, struct client_call *call, int code)
{
    client_file_close(k->file);
    mem_free(k->values);
    mem_free(k->now);
    return client_data_refuse(call, code);
}

/* One piece more, unless somebody does not want to wait. */
static int keep_go_on(const struct table_file_io *k, struct client_call *call)
{
    return !client_interrupted(call) ? STRAIT_OK
                                     : client_error(k->handle, STRAIT_E_CANCELLED, "interrupted");
}

static uint64_t keep_some(const struct table_file_io *k, uint64_t at)
{
    uint64_t left = k->shape->elements - at;

    return left < k->piece ? left : k->piece;
}

int strait_table_save(strait *s, int table, const char *path, double timeout_s)
{
    struct client_call call;
    struct err_text text = {""};
    struct table_file_io k = {.table = table};
    enum err rc = OK;
    int code = keep_init(&k, s, path, timeout_s, &call);

    if (code != STRAIT_OK) {
        return code;
    }
    code = keep_no_memory(&k);
    if (code == STRAIT_OK) {
        rc = client_file_create(path, k.shape->rows, k.shape->width, &k.file, &text);
    }
    for (uint64_t at = 0; at < k.shape->elements && code == STRAIT_OK && rc == OK; at += k.piece) {
        code = keep_go_on(&k, &call);
        if (code == STRAIT_OK) {
            code = strait_read(s, table, at, keep_some(&k, at), k.values, keep_left_s(&k));
        }
        if (code == STRAIT_OK) {
            rc = client_file_write(k.file, k.values, keep_some(&k, at), &text);
        }
    }
    if (code == STRAIT_OK && rc == OK) {
        rc = client_file_commit(k.file, &text);
        k.file = NULL;
    }
    code = rc == OK ? code : keep_file_code(s, rc, text.text);
    return keep_deinit(&k, &call, code);
}

/* Send what makes the table's values those of the file. Chunks that have them stay as they are. */
static int keep_send(struct table_file_io *k, strait *s, uint64_t at, uint64_t some)
{
    strait_op *op;
    int code;

    for (uint64_t i = 0; i < some; i++) {
        k->values[i] -= k->now[i];
    }
    code = client_data_finite(s, k->values, some);
    if (code != STRAIT_OK) {
        return client_error(s, STRAIT_E_FILE,
                            "%.400s: it holds NaN or infinity, or what cannot be reached from "
                            "there",
                            k->path);
    }
    code = strait_push_begin(s, k->table, at, some, k->values, 1, &op);
    if (code == STRAIT_OK) {
        code = strait_wait(op, keep_left_s(k));
        (void)strait_op_free(op);
    }
    return code;
}

int strait_table_load(strait *s, int table, const char *path, double timeout_s)
{
    struct client_call call;
    struct err_text text = {""};
    struct table_file_io k = {.table = table};
    enum err rc = OK;
    int code = keep_init(&k, s, path, timeout_s, &call);

    if (code != STRAIT_OK) {
        return code;
    }
    code = keep_no_memory(&k);
    if (code == STRAIT_OK && !k.shape->added) {
        code = client_error(s, STRAIT_E_INVALID,
                            "only a table with apply \"add\" and combine \"sum\" can be loaded: in "
                            "others an update is not what is added");
    }
    if (code == STRAIT_OK) {
        rc = client_file_open(path, k.shape->rows, k.shape->width, &k.file, &text);
    }
    for (uint64_t at = 0; at < k.shape->elements && code == STRAIT_OK && rc == OK; at += k.piece) {
        uint64_t some = keep_some(&k, at);

        code = keep_go_on(&k, &call);
        if (code == STRAIT_OK) {
            rc = client_file_read(k.file, k.values, some, &text);
        }
        if (code == STRAIT_OK && rc == OK) {
            code = strait_read(s, table, at, some, k.now, keep_left_s(&k));
        }
        if (rc == OK && code == STRAIT_OK && memcmp(k.values, k.now, some * sizeof(float)) != 0) {
            code = keep_send(&k, s, at, some);
        }
    }
    code = rc == OK ? code : keep_file_code(s, rc, text.text);
    return keep_deinit(&k, &call, code);
}
