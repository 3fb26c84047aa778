/* Being a member: join, leave, clock, save. */

#include "client/op.h"

/* Take an operation for @which. */
static struct client_op *member_last(struct client_call *call, enum client_lasting which, int *code)
{
    struct client_op *op = client_op_take(call, NULL, code);

    call->client->lasting[which] = op;
    return op;
}

int strait_join(strait *s, double timeout_s, uint64_t *clock_out)
{
    struct client_call call;
    struct client *c;
    int code = client_begin_timed(s, timeout_s, &call);

    if (code != STRAIT_OK) {
        return code;
    }
    c = call.client;
    if (c->lasting[CLIENT_LEAVING] != NULL) {
        return client_refuse(&call, client_member(&call, true));
    }
    if (c->lasting[CLIENT_JOINING] == NULL && node_worker_clock_now(c->worker) != 0) {
        if (clock_out != NULL) {
            *clock_out = node_worker_clock_now(c->worker);
        }
        return client_refuse(&call, STRAIT_OK);
    }
    if (c->lasting[CLIENT_JOINING] == NULL) {
        struct client_op *op = member_last(&call, CLIENT_JOINING, &code);

        if (op == NULL) {
            return client_refuse(&call, code);
        }
        node_worker_join(c->worker, &op->node);
    }
    return client_op_last(&call, CLIENT_JOINING, timeout_s, clock_out);
}

int strait_leave(strait *s, double timeout_s)
{
    struct client_call call;
    struct client *c;
    int code = client_begin_timed(s, timeout_s, &call);

    if (code != STRAIT_OK) {
        return code;
    }
    c = call.client;
    if (c->lasting[CLIENT_LEAVING] == NULL) {
        struct client_op *op = member_last(&call, CLIENT_LEAVING, &code);

        if (op == NULL) {
            return client_refuse(&call, code);
        }
        client_op_end_all(c, op, "given up: the worker left");
        node_worker_leave(c->worker, &op->node);
    }
    return client_op_last(&call, CLIENT_LEAVING, timeout_s, NULL);
}

static int member_weight(const void *handle, uint32_t weight)
{
    return weight > 0 ? STRAIT_OK
                      : client_error(handle, STRAIT_E_INVALID,
                                     "the weight is 0: say how many samples are behind the update, "
                                     "at least 1");
}

int strait_clock(strait *s, uint32_t weight, double timeout_s, uint64_t *next_out)
{
    struct client_call call;
    struct client *c;
    int code = client_begin_timed(s, timeout_s, &call);

    if (code != STRAIT_OK) {
        return code;
    }
    c = call.client;
    if (c->lasting[CLIENT_CLOCKING] == NULL) {
        struct client_op *op = NULL;

        code = client_member(&call, false);
        if (code == STRAIT_OK) {
            code = member_weight(s, weight);
        }
        if (code == STRAIT_OK) {
            op = member_last(&call, CLIENT_CLOCKING, &code);
        }
        if (op == NULL) {
            return client_refuse(&call, code);
        }
        node_worker_clock(c->worker, weight, &op->node);
    }
    return client_op_last(&call, CLIENT_CLOCKING, timeout_s, next_out);
}

static bool member_clocked(struct client_op *op)
{
    op->value = op->node.value;
    return false;
}

int strait_clock_begin(strait *s, uint32_t weight, strait_op **op_out)
{
    struct client_call call;
    struct client_op *op = NULL;
    int code = op_out == NULL
                   ? client_error(s, STRAIT_E_INVALID, "there is no place for the operation")
                   : client_begin(s, &call);

    if (code != STRAIT_OK) {
        return code;
    }
    code = client_member(&call, false);
    if (code == STRAIT_OK) {
        code = member_weight(s, weight);
    }
    if (code == STRAIT_OK) {
        op = client_op_take(&call, member_clocked, &code);
    }
    if (op == NULL) {
        return client_refuse(&call, code);
    }
    op->bound = true;
    call.client->ending = op;
    node_worker_clock(call.client->worker, weight, &op->node);
    return client_op_begun(&call, op, op_out, true);
}

int strait_save(strait *s, double timeout_s, uint64_t *number_out)
{
    struct client_call call;
    struct client_op *op = NULL;
    int code = client_begin_timed(s, timeout_s, &call);

    if (code != STRAIT_OK) {
        return code;
    }
    code = client_member(&call, true);
    if (code == STRAIT_OK) {
        op = client_op_take(&call, NULL, &code);
    }
    if (op == NULL) {
        return client_refuse(&call, code);
    }
    node_worker_save(call.client->worker, &op->node);
    return client_op_run(&call, op, timeout_s, number_out);
}
