/* A worker as the application has it: a driven loop with a node_worker on it, and the way in for
 * calls from any thread.
 *
 *     begin (pin, enter) -- start an operation -- wait -- end (unpin, leave)
 *
 * Whoever is between begin and end owns the loop and all that is on it; so nothing here is locked
 * but by that. Calls that only look at what never changes pin without entering. */

#ifndef CLIENT_CLIENT_H
#define CLIENT_CLIENT_H

#include "base/list.h"
#include "client/error.h"
#include "client/handle.h"
#include "loop/driver.h"
#include "net/stream/socket.h"
#include "net/stream/tls.h"
#include "node/worker/worker.h"

#include <stdatomic.h>

struct client_op;

enum {
    CLIENT_HANDLES_MAX = 4096, /* Operations of one worker with a handle, not yet freed. */
    CLIENT_OPS_MAX = 5120,     /* All: the rest is for threads that wait without one. */
};

_Static_assert(CLIENT_OPS_MAX - 1 <= CLIENT_HANDLE_INDEX_MAX, "an operation has an index");

/* Calls that go on after their wait has ended, and are waited for by calling again. */
enum client_lasting { CLIENT_JOINING, CLIENT_LEAVING, CLIENT_CLOCKING, CLIENT_LASTING };

/* What a table is, for those who do not own the loop. Written once, before .known. */
struct client_shape {
    _Atomic bool known;
    bool rows_named; /* Rows can be read and updated by number. */
    bool added;      /* What is sent is added, as it is. */
    uint32_t width;
    uint32_t chunk; /* Elements. */
    uint64_t rows;
    uint64_t elements;
};

struct client {
    struct client_handle handle;
    struct loop_driver *driver;
    struct buf_pool *pool;
    struct obs_registry *registry;
    struct net_socket_transport plain;
    struct net_tls_transport *tls; /* NULL: not used. */
    struct client_shape shapes[TABLE_COUNT_MAX];
    _Atomic(struct client_op *) ops[CLIENT_OPS_MAX]; /* Written by the owner. */

    /* The owner's. */
    struct node_worker *worker;
    bool closing;
    bool alone; /* While closing: no other call is left. */
    uint32_t ops_count;
    uint32_t handles_count; /* Of those that have one. */
    struct list live;       /* Operations under way. */
    struct list idle;       /* Operations that may be used again. */
    struct client_op *lasting[CLIENT_LASTING];
    struct client_op *ending; /* Has a handle, and ends the clock. */
};

/* A call of the application. */
struct client_call {
    struct client *client;
    const void *handle;  /* The worker's. */
    uint32_t interrupts; /* When it began. */
};

/* Find what a handle stands for, and keep it from being closed. A code with its sentence, if it is
 * not a handle of that kind. */
int client_pin(const void *handle, uint8_t kind, struct client_call *call);
void client_unpin(struct client_call *call);

/* Own the loop. STRAIT_E_CLOSED: it was closed meanwhile, and the call is unpinned. */
int client_enter(struct client_call *call);

/* Both, for a worker's handle. */
int client_begin(const void *handle, struct client_call *call);

/* The same for a call that may wait so long: a timeout that is not a number is refused. */
int client_begin_timed(const void *handle, double timeout_s, struct client_call *call);

/* Leave the loop and unpin. @busy: something waits to be sent. */
void client_end(struct client_call *call, bool busy);

/* The same, and return @code: for what was found before anything was started. */
int client_refuse(struct client_call *call, int code);

/* STRAIT_OK, or a code with its sentence if the timeout is not a number. */
int client_timeout(const void *handle, double timeout_s);

/* Has somebody interrupted the waits since the call began? */
bool client_interrupted(const struct client_call *call);

/* Between begin and end: wait until *@done. ERR_TIMEOUT, ERR_CANCELLED. */
MUST_USE enum err client_wait(struct client_call *call, const bool *done, double timeout_s);

/* STRAIT_OK if it is a member and no clock is being ended; else a code with its sentence. @reading:
 * the latter does not matter. */
int client_member(struct client_call *call, bool reading);

/* The shape of a table that was made or found, or NULL and a code with its sentence. Pinned. */
const struct client_shape *client_shape(struct client_call *call, int table, int *code_out);

/* Give the application as much of @now as its structure @info has room for, which says so in its
 * first field. */
int client_info_copy(const void *handle, void *info, void *now, size_t now_size);

/* Remember the shape of a table that is open. Owner. */
void client_shape_note(struct client *c, uint16_t table);

#endif
