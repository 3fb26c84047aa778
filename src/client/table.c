/* Tables: made, found, described. */

#include "client/op.h"
#include "client/option.h"

#include <stdio.h>
#include <string.h>

/* Wait for the number of the table, and remember its shape. */
static int table_run(struct client_call *call, struct client_op *op, double timeout_s,
                     int *table_out)
{
    int code = client_op_await(call, op, timeout_s);

    if (code == STRAIT_OK) {
        client_shape_note(call->client, (uint16_t)op->node.value);
        if (table_out != NULL) {
            *table_out = (int)op->node.value;
        }
    }
    client_op_release(op);
    return client_refuse(call, code);
}

int strait_table_create(strait *s, const char *name, uint64_t rows, uint32_t width,
                        const char *options, double timeout_s, int *table_out)
{
    struct table_schema schema;
    struct client_call call;
    struct client_op *op;
    struct err_text text = {""};
    enum err rc;
    int code = client_begin_timed(s, timeout_s, &call);

    if (code != STRAIT_OK) {
        return code;
    }
    rc = client_option_schema(name, rows, width, options, &schema, &text);
    if (rc != OK) {
        return client_refuse(&call, client_error_pass(s, rc, text.text));
    }
    op = client_op_take(&call, NULL, &code);
    if (op == NULL) {
        return client_refuse(&call, code);
    }
    node_worker_table(call.client->worker, &schema, &op->node);
    return table_run(&call, op, timeout_s, table_out);
}

int strait_table_find(strait *s, const char *name, double timeout_s, int *table_out)
{
    struct client_call call;
    struct client_op *op;
    int code = client_begin_timed(s, timeout_s, &call);

    if (code != STRAIT_OK) {
        return code;
    }
    if (name == NULL) {
        return client_refuse(&call, client_error(s, STRAIT_E_INVALID, "the table has no name"));
    }
    op = client_op_take(&call, NULL, &code);
    if (op == NULL) {
        return client_refuse(&call, code);
    }
    node_worker_lookup(call.client->worker, name, &op->node);
    return table_run(&call, op, timeout_s, table_out);
}

static void table_describe(const struct table_schema *schema, struct strait_table *out)
{
    out->rows = schema->rows;
    out->width = schema->width;
    out->chunk = table_chunk_elements(schema);
    (void)snprintf(out->name, sizeof(out->name), "%s", schema->name);
    (void)snprintf(out->combine, sizeof(out->combine), "%s", table_combine_name(schema->combine));
    table_apply_print(&schema->apply, out->apply, sizeof(out->apply));
    table_init_print(&schema->init, out->init, sizeof(out->init));
}

int strait_table_info(strait *s, int table, struct strait_table *info)
{
    struct strait_table now = {0};
    struct client_call call;
    int code = client_begin(s, &call);

    if (code != STRAIT_OK) {
        return code;
    }
    if (client_shape(&call, table, &code) == NULL) {
        return client_refuse(&call, code);
    }
    table_describe(node_worker_schema(call.client->worker, (uint16_t)table), &now);
    client_end(&call, false);
    return client_info_copy(s, info, &now, sizeof(now));
}
