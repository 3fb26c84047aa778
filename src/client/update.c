/* Updating: collecting ranges and rows for the end of the clock. */

#include "base/mem.h"
#include "client/data.h"
#include "client/op.h"

/* Enter as a member that may send. The call is over on failure. */
static int update_enter(struct client_call *call)
{
    int code = client_enter(call);

    if (code != STRAIT_OK) {
        return code;
    }
    code = client_member(call, false);
    return code == STRAIT_OK ? STRAIT_OK : client_refuse(call, code);
}

/* What became of collecting. */
static int update_code(const void *handle, enum err rc)
{
    if (rc == ERR_EXISTS) {
        return client_error(handle, STRAIT_E_EXISTS,
                            "a chunk of it was pushed in this clock already");
    }
    if (rc == ERR_AGAIN) {
        return client_error(handle, STRAIT_E_NO_MEMORY,
                            "the pool is full: give more with the option \"pool_mb\"");
    }
    return client_error_pass(handle, rc, NULL);
}

int strait_update(strait *s, int table, uint64_t first, uint64_t count, const float *update)
{
    const struct client_shape *shape;
    struct client_call call;
    enum err rc = OK;
    int code = client_data_pin(s, table, &call, &shape);

    if (code != STRAIT_OK) {
        return code;
    }
    code = client_data_range(s, shape, first, count, update);
    if (code == STRAIT_OK) {
        code = client_data_finite(s, update, count);
    }
    if (code != STRAIT_OK || count == 0) {
        return client_data_refuse(&call, code);
    }
    code = update_enter(&call);
    if (code != STRAIT_OK) {
        return code;
    }
    rc = node_worker_update(call.client->worker, (uint16_t)table, first, count, update);
    client_end(&call, false);
    return update_code(s, rc);
}

/* The rows that were named, ascending and each once, with what to add to them. */
struct update_rows {
    struct client_rows rows;
    const float *values;
    float *sums; /* NULL: .values is the application's. */
};

static int update_rows_check(const void *handle, const struct client_shape *shape,
                             const int64_t *rows, uint64_t count, const float *update,
                             struct update_rows *u)
{
    struct err_text text = {""};
    enum err rc;
    int code = client_data_rows(handle, shape, rows, count, update);

    if (code == STRAIT_OK && count <= UINT32_MAX) {
        code = client_data_finite(handle, update, count * shape->width);
    }
    if (code != STRAIT_OK) {
        return code;
    }
    rc = client_rows_init(&u->rows, rows, count, shape->rows, &text);
    if (rc == OK && u->rows.places != NULL) {
        u->sums = mem_calloc(u->rows.count, (size_t)shape->width * sizeof(float));
        rc = u->sums == NULL ? ERR_NOMEM : OK;
    }
    if (rc != OK) {
        client_rows_deinit(&u->rows);
        return client_error_pass(handle, rc, text.text);
    }
    if (u->sums != NULL) {
        client_rows_gather(&u->rows, update, shape->width, u->sums);
    }
    u->values = u->sums != NULL ? u->sums : update;
    return STRAIT_OK;
}

int strait_update_rows(strait *s, int table, const int64_t *rows, uint64_t count,
                       const float *update)
{
    const struct client_shape *shape;
    struct update_rows u = {.sums = NULL};
    struct client_call call;
    enum err rc = OK;
    int code = client_data_pin(s, table, &call, &shape);

    if (code != STRAIT_OK) {
        return code;
    }
    code = update_rows_check(s, shape, rows, count, update, &u);
    if (code != STRAIT_OK) {
        return client_data_refuse(&call, code);
    }
    code = update_enter(&call);
    if (code == STRAIT_OK) {
        rc = node_worker_update_rows(call.client->worker, (uint16_t)table, u.rows.rows,
                                     u.rows.count, u.values);
        client_end(&call, false);
        code = update_code(s, rc);
    }
    client_rows_deinit(&u.rows);
    mem_free(u.sums);
    return code;
}
