/* Operations under way: what a call has started and somebody, perhaps the same call, waits for.
 *
 * Those with a handle are finished by the loop, step after step (.then), and wait for strait_wait()
 * and strait_op_free(). Those without are over when their call is, but for the lasting ones
 * (client.h). All of it is the loop's owner's, but for what strait_test() looks at. */

#ifndef CLIENT_OP_H
#define CLIENT_OP_H

#include "client/client.h"
#include "client/rows.h"

struct client_op {
    struct list link; /* In the client's .live or .idle, or in none. */
    struct client *client;
    uint16_t index;                     /* In the client's .ops. */
    _Atomic uint32_t generation;        /* Of its handle; zero: it has none. */
    _Atomic bool ready;                 /* As .complete, for those who do not own the loop. */
    struct node_op node;                /* The step that is under way. */
    bool (*then)(struct client_op *op); /* The step is done: true if there is another. */
    bool complete;                      /* With a handle: all is done, and .code is valid. */
    bool freed;                         /* Nobody has the handle any more. */
    bool bound;                         /* Cannot be given up: it ends the clock. */
    uint32_t waiters;
    int code;
    uint64_t value;

    /* What it works on. */
    uint16_t table;
    uint16_t step;
    uint32_t weight;
    uint32_t width;
    float *out;
    struct client_rows rows;
    float *values; /* Rows as they came, if they were named in another order. */
};

/* An operation, to be started next. @then: it gets a handle, and is finished by that; NULL: it has
 * none. NULL and a code with its sentence. */
struct client_op *client_op_take(struct client_call *call, bool (*then)(struct client_op *op),
                                 int *code_out);

/* It is over, and nobody knows it. */
void client_op_release(struct client_op *op);

/* Wait for an operation without a handle; one that is not done in time is given up. Returns its
 * code, with its sentence. */
int client_op_await(struct client_call *call, struct client_op *op, double timeout_s);

/* The same, and release the operation and end the call. */
int client_op_run(struct client_call *call, struct client_op *op, double timeout_s,
                  uint64_t *value_out);

/* The same for one that goes on, and is then found in @which by the next call. */
int client_op_last(struct client_call *call, enum client_lasting which, double timeout_s,
                   uint64_t *value_out);

/* There is nothing to do: it is done at once. */
void client_op_nothing(struct client_op *op);

/* It has been started: end the call, and give out the handle. One that has failed in doing so is
 * released, and that is the call's code. @busy: as in client_end(). */
int client_op_begun(struct client_call *call, struct client_op *op, strait_op **op_out, bool busy);

/* End all operations but @but, with a sentence for those who wait. */
void client_op_end_all(struct client *c, const struct client_op *but, const char *why);

/* NULL is allowed. */
void client_op_destroy(struct client_op *op);

#endif
