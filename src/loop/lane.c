#include "loop/lane.h"

#include "base/limits.h"
#include "base/mem.h"
#include "loop/mailbox.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>

enum { LANE_NAME_BYTES = 16 }; /* The kernel's limit for names of threads. */

struct lane {
    char name[LANE_NAME_BYTES];
    struct loop *loop;
    struct mailbox *mailbox;
    pthread_t thread;
    bool inlined;
    struct lane_call end;  /* Posted last; part of the lane so that stopping cannot fail. */
    struct lane_call mark; /* Of lane_wait(), which cannot fail either. */
    pthread_mutex_t mutex; /* Guards .reached, */
    pthread_cond_t told;   /* which has become true. */
    bool reached;
};

static void lane_received(void *message, void *user)
{
    struct lane_call *call = message;
    bool owned = call->owned; /* Another's may be gone once it has run. */

    (void)user;
    call->run(call->user);
    if (owned) {
        mem_free(call);
    }
}

static void *lane_main(void *arg)
{
    struct lane *lane = arg;

    loop_run(lane->loop);
    return NULL;
}

/* Signals are for the application's threads: a lane gets none. */
static int lane_spawn(struct lane *lane)
{
    sigset_t all, before;
    int status;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    status = pthread_create(&lane->thread, NULL, lane_main, lane);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (status == 0) {
        (void)pthread_setname_np(lane->thread, lane->name);
    }
    return status;
}

static void lane_init(struct lane *lane)
{
    CHECK(pthread_mutex_init(&lane->mutex, NULL) == 0);
    CHECK(pthread_cond_init(&lane->told, NULL) == 0);
}

enum err lane_start(const char *name, struct lane **lane_out)
{
    struct lane *lane = mem_zalloc(sizeof(*lane));
    enum err rc;

    if (lane == NULL) {
        return ERR_NOMEM;
    }
    lane_init(lane);
    (void)snprintf(lane->name, sizeof(lane->name), "%s", name);
    rc = loop_create(&lane->loop);
    if (rc != OK) {
        goto err_free;
    }
    rc = mailbox_create(lane->loop, LIMIT_MAILBOX_MESSAGES, lane_received, lane, &lane->mailbox);
    if (rc != OK) {
        goto err_loop;
    }
    if (lane_spawn(lane) != 0) {
        rc = ERR_IO;
        goto err_mailbox;
    }
    *lane_out = lane;
    return OK;

err_mailbox:
    mailbox_destroy(lane->mailbox, NULL);
err_loop:
    loop_destroy(lane->loop);
err_free:
    mem_free(lane);
    return rc;
}

enum err lane_start_inline(struct loop *loop, struct lane **lane_out)
{
    struct lane *lane = mem_zalloc(sizeof(*lane));
    enum err rc;

    CHECK(loop_is_manual(loop));
    if (lane == NULL) {
        return ERR_NOMEM;
    }
    lane_init(lane);
    lane->inlined = true;
    lane->loop = loop;
    rc = mailbox_create(loop, LIMIT_MAILBOX_MESSAGES, lane_received, lane, &lane->mailbox);
    if (rc != OK) {
        mem_free(lane);
        return rc;
    }
    *lane_out = lane;
    return OK;
}

struct loop *lane_loop(struct lane *lane)
{
    return lane->loop;
}

enum err lane_post(struct lane *lane, void (*run)(void *user), void *user)
{
    struct lane_call *call = mem_zalloc(sizeof(*call));
    enum err rc;

    if (call == NULL) {
        return ERR_NOMEM;
    }
    *call = (struct lane_call){run, user, true};
    rc = mailbox_post(lane->mailbox, call);
    if (rc != OK) {
        mem_free(call);
    }
    return rc;
}

enum err lane_post_call(struct lane *lane, struct lane_call *call)
{
    call->owned = false;
    return mailbox_post(lane->mailbox, call);
}

static void lane_end(void *user)
{
    loop_stop(((struct lane *)user)->loop);
}

static void lane_dropped(void *message, void *user)
{
    struct lane_call *call = message;

    (void)user;
    if (call->owned) {
        mem_free(call);
    }
}

static void lane_reached(void *user)
{
    struct lane *lane = user;

    pthread_mutex_lock(&lane->mutex);
    lane->reached = true;
    pthread_cond_signal(&lane->told);
    pthread_mutex_unlock(&lane->mutex);
}

void lane_wait(struct lane *lane)
{
    lane->mark = (struct lane_call){lane_reached, lane, false};
    lane->reached = false;
    while (mailbox_post(lane->mailbox, &lane->mark) == ERR_AGAIN) {
        (void)sched_yield();
    }
    if (lane->inlined) {
        while (!lane->reached) {
            loop_manual_advance(lane->loop, loop_now_ns(lane->loop));
        }
        return;
    }
    pthread_mutex_lock(&lane->mutex);
    while (!lane->reached) {
        pthread_cond_wait(&lane->told, &lane->mutex);
    }
    pthread_mutex_unlock(&lane->mutex);
}

void lane_stop(struct lane *lane)
{
    if (lane == NULL) {
        return;
    }
    if (!lane->inlined) {
        lane->end = (struct lane_call){lane_end, lane, false};
        while (mailbox_post(lane->mailbox, &lane->end) == ERR_AGAIN) {
            (void)sched_yield();
        }
        CHECK(pthread_join(lane->thread, NULL) == 0);
    }
    /* An inline lane finishes here what was posted; a thread has done so before its end. */
    mailbox_destroy(lane->mailbox, lane->inlined ? lane_received : lane_dropped);
    if (!lane->inlined) {
        loop_destroy(lane->loop);
    }
    (void)pthread_mutex_destroy(&lane->mutex);
    (void)pthread_cond_destroy(&lane->told);
    mem_free(lane);
}
