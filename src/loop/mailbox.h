/* The mailbox: the only crossing between threads. A bounded queue of messages that wakes the loop
 * that owns it. On a manual loop everything is one thread and messages arrive at the end of the
 * turn. For control and for calls from the application's threads, not for the data path. */

#ifndef LOOP_MAILBOX_H
#define LOOP_MAILBOX_H

#include "loop/loop.h"

struct mailbox;

/* @received is called on the loop's thread, once per message, in the order of posting. */
MUST_USE enum err mailbox_create(struct loop *loop, uint32_t messages_max,
                                 void (*received)(void *message, void *user), void *user,
                                 struct mailbox **mailbox_out);

/* Loop's thread, but not from received(). NULL is allowed. Messages still queued go to @dropped,
 * which may be NULL. */
void mailbox_destroy(struct mailbox *mailbox, void (*dropped)(void *message, void *user));

/* Any thread. The receiver owns @message on OK; ERR_AGAIN when full: the caller keeps it. */
MUST_USE enum err mailbox_post(struct mailbox *mailbox, void *message);

#endif
