#include "client/op.h"

#include "base/mem.h"

#include <stdio.h>

/* Handles of operations differ for ever, whichever worker they belong to. */
static _Atomic uint32_t op_generation;

static void op_finished(struct node_op *node, void *user);

static struct client_op *op_make(struct client *c)
{
    struct client_op *op =
        c->ops_count == CLIENT_OPS_MAX ? NULL : (struct client_op *)mem_zalloc(sizeof(*op));

    if (op == NULL) {
        return NULL;
    }
    list_init(&op->link);
    op->client = c;
    op->index = (uint16_t)c->ops_count;
    atomic_store_explicit(&c->ops[c->ops_count++], op, memory_order_release);
    return op;
}

/* Give it a handle. */
static void op_open(struct client_op *op, bool (*then)(struct client_op *op))
{
    uint32_t generation = 0;

    while (generation == 0) {
        generation = atomic_fetch_add(&op_generation, 1) + 1;
    }
    op->client->handles_count++;
    op->then = then;
    op->node.finished = op_finished;
    op->node.user = op;
    atomic_store_explicit(&op->ready, false, memory_order_relaxed);
    atomic_store_explicit(&op->generation, generation, memory_order_release);
}

struct client_op *client_op_take(struct client_call *call, bool (*then)(struct client_op *op),
                                 int *code_out)
{
    struct client *c = call->client;
    bool full = then != NULL && c->handles_count == CLIENT_HANDLES_MAX;
    struct list *link = list_first(&c->idle);
    struct client_op *op = full           ? NULL
                           : link == NULL ? op_make(c)
                                          : LIST_ENTRY(link, struct client_op, link);

    if (op == NULL) {
        full = full || c->ops_count == CLIENT_OPS_MAX;
        *code_out = full ? client_error(call->handle, STRAIT_E_BUSY,
                                        "%d operations are under way or have not been freed: wait "
                                        "for them and call strait_op_free()",
                                        CLIENT_HANDLES_MAX)
                         : client_error_pass(call->handle, ERR_NOMEM, NULL);
        return NULL;
    }
    list_remove(&op->link);
    list_push_back(&c->live, &op->link);
    op->node = (struct node_op){0};
    op->then = NULL;
    op->complete = false;
    op->freed = false;
    op->bound = false;
    op->code = STRAIT_OK;
    op->value = 0;
    op->step = 0;
    op->out = NULL;
    if (then != NULL) {
        op_open(op, then);
    }
    return op;
}

void client_op_release(struct client_op *op)
{
    CHECK(op->waiters == 0);
    client_rows_deinit(&op->rows);
    mem_free(op->values);
    op->values = NULL;
    op->client->handles_count -= op->then != NULL;
    atomic_store_explicit(&op->generation, 0, memory_order_relaxed);
    list_remove(&op->link);
    list_push_back(&op->client->idle, &op->link);
}

void client_op_destroy(struct client_op *op)
{
    if (op != NULL) {
        client_rows_deinit(&op->rows);
        mem_free(op->values);
        mem_free(op);
    }
}

/* Why a wait ended too early, as the code and the sentence of the call. */
static int op_not_in_time(struct client_call *call, enum err rc, double timeout_s)
{
    char why[256] = "";

    if (rc == ERR_CANCELLED) {
        return client_error(call->handle, STRAIT_E_CANCELLED, "interrupted");
    }
    if (!node_worker_why(call->client->worker, why, sizeof(why))) {
        why[0] = '\0';
    }
    return client_error(call->handle, STRAIT_E_TIMEOUT, "not done after %g s%s%s", timeout_s,
                        why[0] != '\0' ? ": " : "", why);
}

/* The code of a step that is done. */
static int op_code(struct client_call *call, const struct client_op *op)
{
    if (call->client->closing) {
        return client_error(call->handle, STRAIT_E_CLOSED, "the handle was closed meanwhile");
    }
    if (op->node.rc == ERR_AGAIN) {
        return client_error(call->handle, STRAIT_E_NO_MEMORY,
                            "the pool is full: give more with the option \"pool_mb\"");
    }
    return client_error_pass(call->handle, op->node.rc, op->node.text.text);
}

int client_op_await(struct client_call *call, struct client_op *op, double timeout_s)
{
    enum err rc = client_wait(call, &op->node.done, timeout_s);
    int code;

    if (op->node.done) {
        return op_code(call, op);
    }
    code = op_not_in_time(call, rc, timeout_s);
    node_worker_cancel(call->client->worker, &op->node);
    return code;
}

int client_op_run(struct client_call *call, struct client_op *op, double timeout_s,
                  uint64_t *value_out)
{
    int code = client_op_await(call, op, timeout_s);
    uint64_t value = op->node.value;

    client_op_release(op);
    client_end(call, false);
    if (code == STRAIT_OK && value_out != NULL) {
        *value_out = value;
    }
    return code;
}

int client_op_last(struct client_call *call, enum client_lasting which, double timeout_s,
                   uint64_t *value_out)
{
    struct client *c = call->client;
    struct client_op *op = c->lasting[which];
    enum err rc;
    int code;

    op->waiters++;
    rc = client_wait(call, &op->node.done, timeout_s);
    op->waiters--;
    code = op->node.done ? op_code(call, op) : op_not_in_time(call, rc, timeout_s);
    if (code == STRAIT_OK && value_out != NULL) {
        *value_out = op->node.value;
    }
    if (op->node.done) {
        /* Whoever comes first takes it off; the last of those who wait for it lets go. */
        c->lasting[which] = c->lasting[which] == op ? NULL : c->lasting[which];
        if (op->waiters == 0) {
            client_op_release(op);
        }
    }
    client_end(call, false);
    return code;
}

/* Operations with a handle. */

static void op_complete(struct client_op *op, int code, const char *text)
{
    struct client *c = op->client;

    c->ending = c->ending == op ? NULL : c->ending;
    op->code = code;
    (void)err_text_set(&op->node.text, OK, "%s", text);
    op->complete = true;
    list_remove(&op->link);
    list_init(&op->link);
    atomic_store_explicit(&op->ready, true, memory_order_release);
    if (op->freed && op->waiters == 0) {
        client_op_release(op);
    }
}

/* A step is done. */
static void op_finished(struct node_op *node, void *user)
{
    struct client_op *op = user;
    struct err_text text = node->text;
    enum err rc = node->rc;

    if (rc == OK && op->then(op)) {
        return;
    }
    if (rc == ERR_AGAIN) {
        (void)err_text_set(&text, rc, "the pool is full: give more with the option \"pool_mb\"");
    }
    op_complete(op, client_error_code(rc),
                text.text[0] != '\0' || rc == OK ? text.text : err_string(rc));
}

void client_op_nothing(struct client_op *op)
{
    op_complete(op, STRAIT_OK, "");
}

int client_op_begun(struct client_call *call, struct client_op *op, strait_op **op_out, bool busy)
{
    struct client_handle handle = {.kind = CLIENT_HANDLE_KIND_OPERATION,
                                   .place = call->client->handle.place,
                                   .index = op->index,
                                   .generation = atomic_load(&op->generation)};
    int code = STRAIT_OK;

    if (op->node.rc != OK) {
        /* Refused at once: it ends here, and not by the loop. */
        code = op_code(call, op);
        op->node.finished = NULL;
        node_worker_cancel(call->client->worker, &op->node);
        op->client->ending = op->client->ending == op ? NULL : op->client->ending;
        client_op_release(op);
    }
    client_end(call, busy);
    if (code == STRAIT_OK) {
        *op_out = client_handle_pack(handle);
    }
    return code;
}

void client_op_end_all(struct client *c, const struct client_op *but, const char *why)
{
    struct list *next;

    for (struct list *link = c->live.next; link != &c->live; link = next) {
        struct client_op *op = LIST_ENTRY(link, struct client_op, link);

        next = link->next;
        if (op == but) {
            continue;
        }
        node_worker_cancel(c->worker, &op->node);
        if (op->then != NULL) {
            op_complete(op, STRAIT_E_CANCELLED, why);
        } else if (op->node.rc == ERR_CANCELLED) {
            (void)err_text_set(&op->node.text, OK, "%s", why);
        }
    }
    for (int i = 0; i < CLIENT_LASTING; i++) {
        struct client_op *op = c->lasting[i];

        if (op != NULL && op != but && op->waiters == 0) {
            c->lasting[i] = NULL;
            client_op_release(op);
        }
    }
}

/* What the application does with its handles. */

/* Pinned, and perhaps not entered: the operation, or NULL. */
static struct client_op *op_find(const struct client_call *call, const strait_op *handle)
{
    struct client_handle h = client_handle_unpack(handle);
    struct client_op *op =
        h.index >= CLIENT_OPS_MAX
            ? NULL
            : atomic_load_explicit(&call->client->ops[h.index], memory_order_acquire);

    return op != NULL && h.generation != 0 &&
                   atomic_load_explicit(&op->generation, memory_order_acquire) == h.generation
               ? op
               : NULL;
}

static int op_unknown(const void *handle)
{
    return client_error(handle, STRAIT_E_HANDLE, "not an operation, or it has been freed");
}

/* Begin a call about an operation. */
static int op_begin(strait_op *handle, struct client_call *call, struct client_op **op_out)
{
    int code = client_pin(handle, CLIENT_HANDLE_KIND_OPERATION, call);

    if (code == STRAIT_OK) {
        code = client_enter(call);
    }
    if (code != STRAIT_OK) {
        return code;
    }
    *op_out = op_find(call, handle);
    if (*op_out == NULL) {
        client_end(call, false);
        return op_unknown(call->handle);
    }
    return STRAIT_OK;
}

int strait_wait(strait_op *handle, double timeout_s)
{
    struct client_call call;
    struct client_op *op;
    enum err rc;
    int code = client_timeout(handle, timeout_s);

    if (code == STRAIT_OK) {
        code = op_begin(handle, &call, &op);
    }
    if (code != STRAIT_OK) {
        return code;
    }
    op->waiters++;
    rc = client_wait(&call, &op->complete, timeout_s);
    op->waiters--;
    if (!op->complete) {
        code = op_not_in_time(&call, rc, timeout_s);
    } else if (call.client->closing) {
        code = client_error(call.handle, STRAIT_E_CLOSED, "the handle was closed meanwhile");
    } else if (op->code != STRAIT_OK) {
        code = client_error(call.handle, op->code, "%s", op->node.text.text);
    }
    if (op->complete && op->freed && op->waiters == 0) {
        client_op_release(op);
    }
    client_end(&call, false);
    return code;
}

int strait_test(strait_op *handle)
{
    struct client_call call;
    struct client_op *op;
    int code = client_pin(handle, CLIENT_HANDLE_KIND_OPERATION, &call);

    if (code != STRAIT_OK) {
        return code;
    }
    op = op_find(&call, handle);
    if (op == NULL) {
        code = op_unknown(call.handle);
    } else {
        code = atomic_load_explicit(&op->ready, memory_order_acquire);
    }
    client_unpin(&call);
    return code;
}

int strait_op_value(strait_op *handle, uint64_t *value_out)
{
    struct client_call call;
    struct client_op *op;
    int code = op_begin(handle, &call, &op);

    if (code != STRAIT_OK) {
        return code;
    }
    if (!op->complete) {
        code = client_error(call.handle, STRAIT_E_BUSY, "the operation is not done");
    } else if (op->code != STRAIT_OK) {
        code = client_error(call.handle, op->code, "%s", op->node.text.text);
    } else if (value_out != NULL) {
        *value_out = op->value;
    }
    client_end(&call, false);
    return code;
}

int strait_op_free(strait_op *handle)
{
    struct client_call call;
    struct client_op *op;
    int code;

    if (handle == NULL) {
        return STRAIT_OK;
    }
    code = op_begin(handle, &call, &op);
    if (code != STRAIT_OK) {
        return code;
    }
    atomic_store_explicit(&op->generation, 0, memory_order_relaxed);
    op->freed = true;
    op->out = NULL;
    if (!op->complete && !op->bound) {
        node_worker_cancel(call.client->worker, &op->node);
        op_complete(op, STRAIT_E_CANCELLED, "the operation was freed");
    } else if (op->complete && op->waiters == 0) {
        client_op_release(op);
    }
    client_end(&call, false);
    return STRAIT_OK;
}
