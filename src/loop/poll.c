/* Descriptors and signals on libuv. */

#include "base/mem.h"
#include "loop/loop.h"
#include "loop/state.h"

struct loop_poll {
    uv_poll_t handle;
    int events;
    void (*ready)(int events, void *user);
    void *user;
};

struct loop_signal {
    uv_signal_t handle;
    void (*caught)(int signum, void *user);
    void *user;
};

static void loop_poll_freed(uv_handle_t *handle)
{
    mem_free(handle->data);
}

static int loop_poll_uv_events(int events)
{
    return (events & LOOP_READABLE ? UV_READABLE : 0) | (events & LOOP_WRITABLE ? UV_WRITABLE : 0);
}

static void loop_poll_ready(uv_poll_t *handle, int status, int uv_events)
{
    struct loop_poll *poll = handle->data;
    int events = 0;

    if (uv_events & UV_READABLE) {
        events |= LOOP_READABLE;
    }
    if (uv_events & UV_WRITABLE) {
        events |= LOOP_WRITABLE;
    }
    /* libuv stops watching after an error. We go on, because bytes that came before it may have to
     * be read first: the owner is called until it has met the error, or wants nothing more. */
    if (status < 0) {
        events = poll->events;
        CHECK(uv_poll_start(handle, loop_poll_uv_events(events), loop_poll_ready) == 0);
    }
    poll->ready(events & poll->events, poll->user);
}

enum err loop_poll_create(struct loop *loop, int fd, void (*ready)(int events, void *user),
                          void *user, struct loop_poll **poll_out)
{
    struct loop_poll *poll;
    int status;

    if (loop->manual) {
        return ERR_INVALID;
    }
    poll = mem_zalloc(sizeof(*poll));
    if (poll == NULL) {
        return ERR_NOMEM;
    }
    status = uv_poll_init(&loop->uv, &poll->handle, fd);
    if (status != 0) {
        mem_free(poll);
        return loop_err(status);
    }
    poll->handle.data = poll;
    poll->ready = ready;
    poll->user = user;
    *poll_out = poll;
    return OK;
}

void loop_poll_want(struct loop_poll *poll, int events)
{
    if (events == poll->events) {
        return;
    }
    poll->events = events;
    if (events == 0) {
        (void)uv_poll_stop(&poll->handle);
        return;
    }
    CHECK(uv_poll_start(&poll->handle, loop_poll_uv_events(events), loop_poll_ready) == 0);
}

void loop_poll_destroy(struct loop_poll *poll)
{
    if (poll != NULL) {
        uv_close((uv_handle_t *)&poll->handle, loop_poll_freed);
    }
}

static void loop_signal_caught(uv_signal_t *handle, int signum)
{
    struct loop_signal *signal = handle->data;

    signal->caught(signum, signal->user);
}

enum err loop_signal_create(struct loop *loop, int signum, void (*caught)(int signum, void *user),
                            void *user, struct loop_signal **signal_out)
{
    struct loop_signal *signal;
    int status;

    if (loop->manual) {
        return ERR_INVALID;
    }
    signal = mem_zalloc(sizeof(*signal));
    if (signal == NULL) {
        return ERR_NOMEM;
    }
    status = uv_signal_init(&loop->uv, &signal->handle);
    if (status != 0) {
        mem_free(signal);
        return loop_err(status);
    }
    signal->handle.data = signal;
    signal->caught = caught;
    signal->user = user;
    status = uv_signal_start(&signal->handle, loop_signal_caught, signum);
    if (status != 0) {
        loop_signal_destroy(signal);
        return loop_err(status);
    }
    *signal_out = signal;
    return OK;
}

void loop_signal_destroy(struct loop_signal *signal)
{
    if (signal != NULL) {
        uv_close((uv_handle_t *)&signal->handle, loop_poll_freed);
    }
}
