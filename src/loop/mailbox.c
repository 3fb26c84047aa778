#include "loop/mailbox.h"

#include "base/mem.h"
#include "base/ring.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct mailbox {
    struct loop *loop;
    pthread_mutex_t mutex; /* Guards the ring and .waking. */
    struct ring ring;
    bool waking; /* The loop will deliver what is in the ring, and was told so. */
    int wake_fd; /* Real loops. */
    struct loop_poll *poll;
    struct loop_task task; /* Manual loops. */
    void (*received)(void *message, void *user);
    void *user;
};

static void *mailbox_pop(struct mailbox *mailbox)
{
    void *message;

    pthread_mutex_lock(&mailbox->mutex);
    message = ring_pop(&mailbox->ring);
    pthread_mutex_unlock(&mailbox->mutex);
    return message;
}

/* Deliver what was there at the start: posting from received() waits for the next turn. */
static void mailbox_deliver(struct mailbox *mailbox)
{
    uint32_t count;

    pthread_mutex_lock(&mailbox->mutex);
    count = ring_count(&mailbox->ring);
    mailbox->waking = false;
    pthread_mutex_unlock(&mailbox->mutex);
    for (uint32_t i = 0; i < count; i++) {
        mailbox->received(mailbox_pop(mailbox), mailbox->user);
    }
}

static void mailbox_ready(int events, void *user)
{
    struct mailbox *mailbox = user;
    uint64_t count;

    (void)events;
    (void)!read(mailbox->wake_fd, &count, sizeof(count));
    mailbox_deliver(mailbox);
}

static void mailbox_turn(struct loop_task *task, void *user)
{
    (void)task;
    mailbox_deliver(user);
}

static enum err mailbox_open_wake(struct mailbox *mailbox)
{
    enum err rc;

    mailbox->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (mailbox->wake_fd < 0) {
        return ERR_IO;
    }
    rc = loop_poll_create(mailbox->loop, mailbox->wake_fd, mailbox_ready, mailbox, &mailbox->poll);
    if (rc == OK) {
        loop_poll_want(mailbox->poll, LOOP_READABLE);
    }
    return rc;
}

enum err mailbox_create(struct loop *loop, uint32_t messages_max,
                        void (*received)(void *message, void *user), void *user,
                        struct mailbox **mailbox_out)
{
    struct mailbox *mailbox = mem_zalloc(sizeof(*mailbox));
    enum err rc;

    if (mailbox == NULL) {
        return ERR_NOMEM;
    }
    CHECK(pthread_mutex_init(&mailbox->mutex, NULL) == 0);
    mailbox->loop = loop;
    mailbox->wake_fd = -1;
    mailbox->received = received;
    mailbox->user = user;
    loop_task_init(&mailbox->task, loop, mailbox_turn, mailbox);
    rc = ring_init(&mailbox->ring, messages_max);
    if (rc == OK && !loop_is_manual(loop)) {
        rc = mailbox_open_wake(mailbox);
    }
    if (rc != OK) {
        mailbox_destroy(mailbox, NULL);
        return rc;
    }
    *mailbox_out = mailbox;
    return OK;
}

void mailbox_destroy(struct mailbox *mailbox, void (*dropped)(void *message, void *user))
{
    void *message;

    if (mailbox == NULL) {
        return;
    }
    while (mailbox->ring.slots != NULL && (message = mailbox_pop(mailbox)) != NULL) {
        if (dropped != NULL) {
            dropped(message, mailbox->user);
        }
    }
    loop_poll_destroy(mailbox->poll);
    loop_task_cancel(&mailbox->task);
    if (mailbox->wake_fd >= 0) {
        (void)close(mailbox->wake_fd);
    }
    ring_deinit(&mailbox->ring);
    (void)pthread_mutex_destroy(&mailbox->mutex);
    mem_free(mailbox);
}

enum err mailbox_post(struct mailbox *mailbox, void *message)
{
    const uint64_t one = 1;
    enum err rc;
    bool wake;

    CHECK(message != NULL);
    pthread_mutex_lock(&mailbox->mutex);
    rc = ring_push(&mailbox->ring, message);
    wake = rc == OK && !mailbox->waking;
    mailbox->waking = mailbox->waking || wake;
    pthread_mutex_unlock(&mailbox->mutex);
    if (!wake) {
        return rc;
    }
    if (loop_is_manual(mailbox->loop)) {
        loop_task_post(&mailbox->task);
    } else {
        (void)!write(mailbox->wake_fd, &one, sizeof(one));
    }
    return OK;
}
