/* Sending an update in the background: push, and exchange. */

#include "client/data.h"
#include "client/op.h"

#include <inttypes.h>

/* What is to be sent. */
struct push {
    int table;
    uint64_t first;
    uint64_t count;
    bool whole; /* The table, whatever .first and .count are. */
    const float *update;
    uint32_t weight;
};

static int push_check(const void *handle, const struct client_shape *shape, const struct push *p)
{
    uint64_t end = p->first + p->count;
    int code = client_data_range(handle, shape, p->first, p->count, p->update);

    if (code != STRAIT_OK) {
        return code;
    }
    if (p->weight == 0) {
        return client_error(handle, STRAIT_E_INVALID,
                            "the weight is 0: say how many samples are behind the update, at "
                            "least 1");
    }
    if (p->first % shape->chunk != 0 || (end != shape->elements && end % shape->chunk != 0)) {
        return client_error(handle, STRAIT_E_INVALID,
                            "the range does not cover whole chunks of %" PRIu32
                            " elements: use strait_update() for parts of them",
                            shape->chunk);
    }
    return STRAIT_OK;
}

/* Pin, judge, enter, take an operation. NULL: the call is over, with a code. */
static struct client_op *push_take(const void *handle, struct push *p,
                                   bool (*then)(struct client_op *op), struct client_call *call,
                                   int *code_out)
{
    const struct client_shape *shape;
    struct client_op *op = NULL;
    int code = client_data_pin(handle, p->table, call, &shape);

    if (code == STRAIT_OK) {
        p->first = p->whole ? 0 : p->first;
        p->count = p->whole ? shape->elements : p->count;
        code = push_check(handle, shape, p);
        code = code == STRAIT_OK ? client_enter(call) : client_data_refuse(call, code);
    }
    if (code == STRAIT_OK) {
        code = client_member(call, false);
        op = code == STRAIT_OK ? client_op_take(call, then, &code) : NULL;
        if (op == NULL) {
            client_end(call, false);
        }
    }
    *code_out = code;
    return op;
}

static int push_no_place(const void *handle)
{
    return client_error(handle, STRAIT_E_INVALID, "there is no place for the operation");
}

static bool push_pushed(struct client_op *op)
{
    (void)op;
    return false;
}

int strait_push_begin(strait *s, int table, uint64_t first, uint64_t count, const float *update,
                      uint32_t weight, strait_op **op_out)
{
    struct push p = {
        .table = table, .first = first, .count = count, .update = update, .weight = weight};
    struct client_call call;
    struct client_op *op;
    int code;

    if (op_out == NULL) {
        return push_no_place(s);
    }
    op = push_take(s, &p, push_pushed, &call, &code);
    if (op == NULL) {
        return code;
    }
    if (count == 0) {
        client_op_nothing(op);
    } else {
        node_worker_push(call.client->worker, (uint16_t)table, first, count, update, weight,
                         &op->node);
    }
    return client_op_begun(&call, op, op_out, true);
}

enum { PUSH_SENDING, PUSH_CLOCKING, PUSH_READING };

/* The next step of an exchange. */
static bool push_exchanged(struct client_op *op)
{
    struct client *c = op->client;

    if (op->step == PUSH_SENDING) {
        op->step = PUSH_CLOCKING;
        op->bound = true;
        node_worker_clock(c->worker, op->weight, &op->node);
        return true;
    }
    if (op->step == PUSH_CLOCKING) {
        op->value = op->node.value;
        op->bound = false;
        c->ending = NULL;
        if (op->freed) {
            return false;
        }
        op->step = PUSH_READING;
        node_worker_read(c->worker, op->table, 0, c->shapes[op->table].elements, op->out,
                         &op->node);
        return true;
    }
    return false;
}

int strait_exchange_begin(strait *s, int table, const float *update, uint32_t weight, float *out,
                          strait_op **op_out)
{
    struct push p = {.table = table, .whole = true, .update = update, .weight = weight};
    struct client_call call;
    struct client_op *op;
    int code;

    if (op_out == NULL || out == NULL) {
        return op_out == NULL
                   ? push_no_place(s)
                   : client_error(s, STRAIT_E_INVALID, "there is no place for the values");
    }
    op = push_take(s, &p, push_exchanged, &call, &code);
    if (op == NULL) {
        return code;
    }
    op->table = (uint16_t)table;
    op->weight = weight;
    op->out = out;
    op->step = PUSH_SENDING;
    call.client->ending = op;
    node_worker_push(call.client->worker, op->table, 0, p.count, update, weight, &op->node);
    return client_op_begun(&call, op, op_out, true);
}
