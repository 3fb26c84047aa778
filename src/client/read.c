/* Reading: ranges and rows, by waiting or in the background. */

#include "base/mem.h"
#include "client/data.h"
#include "client/op.h"

/* Enter, and take an operation if the worker is a member. The call is over on failure. */
static struct client_op *read_take(struct client_call *call, bool (*then)(struct client_op *op),
                                   int *code_out)
{
    struct client_op *op;

    *code_out = client_enter(call);
    if (*code_out != STRAIT_OK) {
        return NULL;
    }
    *code_out = client_member(call, true);
    op = *code_out == STRAIT_OK ? client_op_take(call, then, code_out) : NULL;
    if (op == NULL) {
        client_end(call, false);
    }
    return op;
}

/* Pin, and judge what was passed. */
static int read_check(const void *handle, int table, uint64_t first, uint64_t count,
                      const float *out, struct client_call *call)
{
    const struct client_shape *shape;
    int code = client_data_pin(handle, table, call, &shape);

    if (code != STRAIT_OK) {
        return code;
    }
    code = client_data_range(handle, shape, first, count, out);
    return code == STRAIT_OK ? STRAIT_OK : client_data_refuse(call, code);
}

int strait_read(strait *s, int table, uint64_t first, uint64_t count, float *out, double timeout_s)
{
    struct client_call call;
    struct client_op *op;
    int code = client_timeout(s, timeout_s);

    if (code == STRAIT_OK) {
        code = read_check(s, table, first, count, out, &call);
    }
    if (code != STRAIT_OK) {
        return code;
    }
    if (count == 0) {
        return client_data_refuse(&call, STRAIT_OK);
    }
    op = read_take(&call, NULL, &code);
    if (op == NULL) {
        return code;
    }
    node_worker_read(call.client->worker, (uint16_t)table, first, count, out, &op->node);
    return client_op_run(&call, op, timeout_s, NULL);
}

/* Rows in the application's order need a place to arrive in another one. */
struct read_rows {
    uint32_t width;
    struct client_rows rows;
    float *values; /* NULL: they may go where the application wants them. */
};

/* Pin, judge what was passed, and put the rows in order. */
static int read_rows_check(const void *handle, int table, const int64_t *rows, uint64_t count,
                           const float *out, struct client_call *call, struct read_rows *r)
{
    const struct client_shape *shape;
    struct err_text text = {""};
    enum err rc;
    int code = client_data_pin(handle, table, call, &shape);

    if (code != STRAIT_OK) {
        return code;
    }
    code = client_data_rows(handle, shape, rows, count, out);
    if (code != STRAIT_OK) {
        return client_data_refuse(call, code);
    }
    rc = client_rows_init(&r->rows, rows, count, shape->rows, &text);
    r->width = shape->width;
    r->values = NULL;
    if (rc == OK && r->rows.places != NULL) {
        r->values = mem_calloc(r->rows.count, (size_t)r->width * sizeof(float));
        rc = r->values == NULL ? ERR_NOMEM : OK;
    }
    if (rc != OK) {
        client_rows_deinit(&r->rows);
        return client_data_refuse(call, client_error_pass(handle, rc, text.text));
    }
    return STRAIT_OK;
}

static void read_rows_free(struct read_rows *r)
{
    client_rows_deinit(&r->rows);
    mem_free(r->values);
}

int strait_read_rows(strait *s, int table, const int64_t *rows, uint64_t count, float *out,
                     double timeout_s)
{
    struct client_call call;
    struct client_op *op;
    struct read_rows r = {0};
    int code = client_timeout(s, timeout_s);

    if (code == STRAIT_OK) {
        code = read_rows_check(s, table, rows, count, out, &call, &r);
    }
    if (code != STRAIT_OK) {
        return code;
    }
    op = read_take(&call, NULL, &code);
    if (op != NULL) {
        node_worker_read_rows(call.client->worker, (uint16_t)table, r.rows.rows, r.rows.count,
                              r.values != NULL ? r.values : out, &op->node);
        code = client_op_run(&call, op, timeout_s, NULL);
    }
    if (code == STRAIT_OK && r.values != NULL) {
        client_rows_spread(&r.rows, r.values, r.width, out);
    }
    read_rows_free(&r);
    return code;
}

/* In the background. */

static int read_no_place(const void *handle)
{
    return client_error(handle, STRAIT_E_INVALID, "there is no place for the operation");
}

static bool read_arrived(struct client_op *op)
{
    if (op->values != NULL) {
        client_rows_spread(&op->rows, op->values, op->width, op->out);
    }
    return false;
}

int strait_pull_begin(strait *s, int table, uint64_t first, uint64_t count, float *out,
                      strait_op **op_out)
{
    struct client_call call;
    struct client_op *op;
    int code = op_out == NULL ? read_no_place(s) : read_check(s, table, first, count, out, &call);

    if (code != STRAIT_OK) {
        return code;
    }
    op = read_take(&call, read_arrived, &code);
    if (op == NULL) {
        return code;
    }
    if (count == 0) {
        client_op_nothing(op);
    } else {
        node_worker_read(call.client->worker, (uint16_t)table, first, count, out, &op->node);
    }
    return client_op_begun(&call, op, op_out, true);
}

int strait_pull_rows_begin(strait *s, int table, const int64_t *rows, uint64_t count, float *out,
                           strait_op **op_out)
{
    struct client_call call;
    struct client_op *op;
    struct read_rows r = {0};
    int code =
        op_out == NULL ? read_no_place(s) : read_rows_check(s, table, rows, count, out, &call, &r);

    if (code != STRAIT_OK) {
        return code;
    }
    op = read_take(&call, read_arrived, &code);
    if (op == NULL) {
        read_rows_free(&r);
        return code;
    }
    client_rows_move(&op->rows, &r.rows);
    op->values = r.values;
    op->width = r.width;
    op->out = out;
    node_worker_read_rows(call.client->worker, (uint16_t)table, op->rows.rows, op->rows.count,
                          op->values != NULL ? op->values : out, &op->node);
    return client_op_begun(&call, op, op_out, true);
}
