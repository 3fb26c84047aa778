/* The way in and out for calls of the application. */

#include "client/client.h"

#include <math.h>

static int call_refuse(const void *handle, enum client_handle_state state)
{
    switch (state) {
    case CLIENT_HANDLE_FORKED:
        return client_error(handle, STRAIT_E_FORKED,
                            "this handle belongs to the parent process: a child of fork can only "
                            "close it; open one of its own");
    case CLIENT_HANDLE_CLOSING:
        return client_error(handle, STRAIT_E_CLOSED, "another thread is closing this handle");
    case CLIENT_HANDLE_UNKNOWN:
    case CLIENT_HANDLE_OPEN:
        break;
    }
    return client_error(handle, STRAIT_E_HANDLE,
                        handle == NULL ? "the handle is NULL"
                                       : "not a handle of this kind, or it has been closed");
}

int client_pin(const void *handle, uint8_t kind, struct client_call *call)
{
    struct client_handle h = client_handle_unpack(handle);
    enum client_handle_state state =
        h.kind == kind ? client_handle_pin(h, &call->client) : CLIENT_HANDLE_UNKNOWN;

    if (state != CLIENT_HANDLE_OPEN) {
        return call_refuse(handle, state);
    }
    call->handle = client_handle_pack(call->client->handle);
    call->interrupts = client_handle_interrupts(h.place);
    return STRAIT_OK;
}

/* The last call to go tells the one who closes, who has stayed until then. */
void client_unpin(struct client_call *call)
{
    struct client *c = call->client;
    struct loop_driver *driver = c->driver;

    if (client_handle_unpin(c->handle.place)) {
        loop_driver_enter(driver);
        c->alone = true;
        loop_driver_leave(driver, false);
    }
}

void client_end(struct client_call *call, bool busy)
{
    struct client *c = call->client;

    if (client_handle_unpin(c->handle.place)) {
        c->alone = true;
    }
    loop_driver_leave(c->driver, busy);
}

static int call_closed(const struct client_call *call)
{
    return client_error(call->handle, STRAIT_E_CLOSED, "the handle was closed meanwhile");
}

int client_enter(struct client_call *call)
{
    loop_driver_enter(call->client->driver);
    if (call->client->closing) {
        client_end(call, false);
        return call_closed(call);
    }
    return STRAIT_OK;
}

int client_begin(const void *handle, struct client_call *call)
{
    int code = client_pin(handle, CLIENT_HANDLE_KIND_WORKER, call);

    return code == STRAIT_OK ? client_enter(call) : code;
}

int client_timeout(const void *handle, double timeout_s)
{
    return !isnan(timeout_s) ? STRAIT_OK
                             : client_error(handle, STRAIT_E_INVALID,
                                            "the timeout is not a number: seconds are wanted, "
                                            "negative for ever");
}

int client_begin_timed(const void *handle, double timeout_s, struct client_call *call)
{
    int code = client_timeout(handle, timeout_s);

    return code == STRAIT_OK ? client_begin(handle, call) : code;
}

int client_refuse(struct client_call *call, int code)
{
    client_end(call, false);
    return code;
}

bool client_interrupted(const struct client_call *call)
{
    return client_handle_interrupts(call->client->handle.place) != call->interrupts;
}

static bool call_interrupted(void *user)
{
    return client_interrupted(user);
}

enum err client_wait(struct client_call *call, const bool *done, double timeout_s)
{
    struct loop_driver *driver = call->client->driver;
    int64_t deadline_ns = LOOP_NEVER;

    if (*done) {
        return OK;
    }
    /* A century is for ever. */
    if (timeout_s >= 0 && timeout_s < 3e9) {
        deadline_ns = loop_now_ns(loop_driver_loop(driver)) + (int64_t)(timeout_s * 1e9);
    }
    return loop_driver_wait(driver, done, deadline_ns, call_interrupted, call);
}

int client_member(struct client_call *call, bool reading)
{
    struct client *c = call->client;

    if (c->lasting[CLIENT_LEAVING] != NULL) {
        return client_error(call->handle, STRAIT_E_BUSY,
                            "the worker is leaving: call strait_leave() again to wait for it");
    }
    if (node_worker_clock_now(c->worker) == 0) {
        return client_error(call->handle, STRAIT_E_NOT_JOINED,
                            "the worker is not a member: call strait_join() first");
    }
    if (!reading && (c->ending != NULL || c->lasting[CLIENT_CLOCKING] != NULL)) {
        return client_error(call->handle, STRAIT_E_BUSY,
                            "the clock is being ended: wait for that first");
    }
    return STRAIT_OK;
}

const struct client_shape *client_shape(struct client_call *call, int table, int *code_out)
{
    const struct client_shape *shape =
        table < 0 || table >= TABLE_COUNT_MAX ? NULL : &call->client->shapes[table];

    if (shape == NULL || !atomic_load_explicit(&shape->known, memory_order_acquire)) {
        *code_out = client_error(call->handle, STRAIT_E_NOT_FOUND,
                                 "there is no table %d here: strait_table_create() and "
                                 "strait_table_find() give the numbers",
                                 table);
        return NULL;
    }
    return shape;
}

void client_shape_note(struct client *c, uint16_t table)
{
    struct client_shape *shape = &c->shapes[table];
    const struct table_schema *schema = node_worker_schema(c->worker, table);

    if (atomic_load_explicit(&shape->known, memory_order_relaxed)) {
        return;
    }
    shape->rows = schema->rows;
    shape->width = schema->width;
    shape->elements = table_elements(schema);
    shape->chunk = table_chunk_elements(schema);
    shape->rows_named = table_has_rows(schema);
    shape->added = schema->apply.kind == TABLE_ADD && schema->combine == TABLE_SUM;
    atomic_store_explicit(&shape->known, true, memory_order_release);
}
