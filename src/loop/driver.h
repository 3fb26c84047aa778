/* A driver: one loop that several threads drive in turn, for a library whose calls come from the
 * application's threads.
 *
 * A call that waits drives the loop itself, so what it waits for is found by the thread that wants
 * it: no other has to be woken. While no call waits, a background thread drives, so that heartbeats
 * and transfers go on while the application computes.
 *
 *     enter -- use what lives on the loop -- wait -- use it -- leave
 *
 * One thread at a time owns the loop: between enter and leave, but for wait, where the others get
 * in. Of several threads that wait one drives and the others sleep; it wakes those whose condition
 * came true, and one of them takes over when it leaves. Who asked first is served first.
 *
 * The background thread owns the loop only for turns that do not sleep. It sleeps beside the loop,
 * on libuv's descriptor, so a caller finds the loop free and has nobody to interrupt. */

#ifndef LOOP_DRIVER_H
#define LOOP_DRIVER_H

#include "loop/loop.h"

/* So long after a leave the background thread keeps off, for the next call is often close behind.
 */
#define LOOP_DRIVER_IDLE_NS INT64_C(1000000)

/* But not longer than this while calls follow each other closely and none of them waits. */
#define LOOP_DRIVER_IDLE_MAX_NS INT64_C(10000000)

/* At least so often a wait asks whether it was interrupted. */
#define LOOP_DRIVER_POLL_NS INT64_C(100000000)

struct loop_driver;

/* Make a real loop and the background thread, which gets no signals. */
MUST_USE enum err loop_driver_create(const char *thread_name, struct loop_driver **driver_out);

/* Everybody has left, and what lived on the loop has been released inside enter and leave. Ends the
 * background thread. NULL is allowed. */
void loop_driver_destroy(struct loop_driver *driver);

/* In the child of a fork, which has no background thread: the driver is not to be used again there.
 * Takes no lock and makes no system call, for the parent's loop shares its descriptors. The memory
 * and the descriptors stay with the child until it ends or calls exec. */
void loop_driver_forget(struct loop_driver *driver);

/* To be touched by the owner only, that is inside enter and leave and by what runs on the loop. The
 * owner may also run a turn that does not wait: loop_turn(loop, 0). */
struct loop *loop_driver_loop(struct loop_driver *driver);

/* The calling thread owns the loop until it leaves. Waits for those who asked before, interrupting
 * a wait. Not recursive, and not from what runs on the loop. */
void loop_driver_enter(struct loop_driver *driver);

/* Give the loop up. @busy: there is work that must not wait, as unsent data, and the background
 * thread looks after it at once. Else it does so after LOOP_DRIVER_IDLE_NS. If others queue for the
 * loop and somebody needs a turn, one is run here, so what is on the loop may be called. */
void loop_driver_leave(struct loop_driver *driver, bool busy);

/* Inside enter and leave, but not from what runs on the loop: run turns until *@done is true. It is
 * set by the owner of the loop, whoever that is: by what runs on it, or inside enter and leave.
 *
 * ERR_TIMEOUT when @deadline_ns has passed (loop_now_ns()'s clock; LOOP_NEVER: none); a time in the
 * past still lets what is ready happen. ERR_CANCELLED when @interrupted returned true: it may be
 * NULL, is called on this thread at each turn it drives and every LOOP_DRIVER_POLL_NS or more
 * often, not always as the owner of the loop, so it must not touch what lives there.
 *
 * The others may have owned the loop meanwhile, but this thread does again on return. */
MUST_USE enum err loop_driver_wait(struct loop_driver *driver, const bool *done,
                                   int64_t deadline_ns, bool (*interrupted)(void *user),
                                   void *user);

/* Have @moved called whenever the loop has changed threads, on the new owner's thread and before
 * that does anything with it: buffer pools must be adopted (base/buf.h). Inside enter and leave;
 * the calling thread counts as told. NULL: no more calls, to be said before @user goes. */
void loop_driver_on_move(struct loop_driver *driver, void (*moved)(void *user), void *user);

#endif
