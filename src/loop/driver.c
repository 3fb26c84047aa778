/* Who owns the loop is said by a few fields under one mutex, which is held for moments and never
 * during a turn. The loop is handed on, not grabbed: the one who gives it up says who has it next,
 * so nobody can be overtaken for ever. If nobody owns it, nobody waits for it. */

#include "loop/driver.h"

#include "base/mem.h"
#include "loop/clock.h"
#include "loop/state.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { DRIVER_NAME_BYTES = 16 }; /* The kernel's limit for names of threads. */

/* What the background thread is doing. */
enum driver_background {
    DRIVER_AWAKE,    /* It will look at everything anew. */
    DRIVER_TICKING,  /* Asleep for a while; calls follow each other closely. */
    DRIVER_RESTING,  /* Asleep until somebody leaves the loop. */
    DRIVER_WATCHING, /* Asleep on the loop's descriptor. */
};

/* A thread that sleeps until the loop is its own. Lives on that thread's stack. */
struct driver_guest {
    struct list link; /* In .entering or .waiting, until the loop is granted. */
    pthread_cond_t wake;
    uint64_t thread;
    const bool *done; /* What it waits for. NULL: only for the loop. */
    bool entering;
    bool granted;
};

/* What loop_driver_wait() was asked for. */
struct driver_wish {
    const bool *done;
    int64_t deadline_ns;
    bool (*interrupted)(void *user);
    void *user;
};

struct loop_driver {
    char name[DRIVER_NAME_BYTES];
    struct loop *loop; /* The owner's, as are the next two. */
    void (*moved)(void *user);
    void *moved_user;
    int wake_fd; /* Ends the sleep of a turn, and of the background thread when it watches. */
    struct loop_poll *wake_poll;
    pthread_t thread;
    pthread_condattr_t monotonic;

    pthread_mutex_t mutex; /* Guards all below. */
    bool owned;
    bool sleeping;        /* The owner is in a turn that may sleep. */
    bool moving;          /* The owner is another than the one before. */
    bool woken;           /* .wake_fd was written to and not read since. */
    uint64_t owner;       /* The present or the last one. */
    struct list entering; /* Those who want the loop now, in order. */
    struct list waiting;  /* Those who wait for something on it while another drives. */
    int64_t left_ns;      /* When it was last left to the background thread. */
    bool urgent;          /* It was left with work that must not wait. */
    int64_t due_ns;       /* When that thread no longer keeps off; LOOP_NEVER: a turn was run. */
    bool stopping;
    enum driver_background background;
    pthread_cond_t background_wake;

    bool forgotten; /* Only in a child, where nothing guards it. */
};

/* A number for the calling thread. The system's may come again when a thread has ended. */
static uint64_t driver_self(void)
{
    static _Atomic uint64_t threads;
    static _Thread_local uint64_t self;

    if (self == 0) {
        self = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) + 1;
    }
    return self;
}

static void driver_lock(struct loop_driver *driver)
{
    (void)pthread_mutex_lock(&driver->mutex);
}

static void driver_unlock(struct loop_driver *driver)
{
    (void)pthread_mutex_unlock(&driver->mutex);
}

/* Sleep until @wake is signalled, until @until_ns, or for no reason. */
static void driver_sleep(struct loop_driver *driver, pthread_cond_t *wake, int64_t until_ns)
{
    struct timespec until = {0};

    if (until_ns == LOOP_NEVER) {
        (void)pthread_cond_wait(wake, &driver->mutex);
        return;
    }
    if (until_ns > 0) {
        until.tv_sec = until_ns / 1000000000;
        until.tv_nsec = until_ns % 1000000000;
    }
    (void)pthread_cond_timedwait(wake, &driver->mutex, &until);
}

/* Make the loop's descriptor readable. */
static void driver_wake(struct loop_driver *driver)
{
    const uint64_t one = 1;

    if (!driver->woken) {
        driver->woken = true;
        (void)!write(driver->wake_fd, &one, sizeof(one));
    }
}

/* Who asks for the loop between the read and the lock is seen when the turn is over. */
static void driver_woken(int events, void *user)
{
    struct loop_driver *driver = user;
    uint64_t count;

    (void)events;
    (void)!read(driver->wake_fd, &count, sizeof(count));
    driver_lock(driver);
    driver->woken = false;
    driver_unlock(driver);
}

static void driver_guest_init(struct driver_guest *guest, struct loop_driver *driver,
                              const bool *done)
{
    *guest = (struct driver_guest){.thread = driver_self(), .done = done};
    list_init(&guest->link);
    CHECK(pthread_cond_init(&guest->wake, &driver->monotonic) == 0);
}

/* Queue for the loop, and wake the one that sleeps with it. */
static void driver_ask(struct loop_driver *driver, struct driver_guest *guest)
{
    list_remove(&guest->link);
    list_push_back(&driver->entering, &guest->link);
    guest->entering = true;
    if (driver->sleeping) {
        driver_wake(driver);
    }
}

static void driver_assign(struct loop_driver *driver, uint64_t thread)
{
    driver->owned = true;
    driver->moving = driver->owner != thread;
    driver->owner = thread;
}

/* Owner only: who waits for something that has come true wants the loop now. */
static void driver_promote(struct loop_driver *driver)
{
    struct list *link = driver->waiting.next;

    while (link != &driver->waiting) {
        struct driver_guest *guest = LIST_ENTRY(link, struct driver_guest, link);

        link = link->next;
        if (*guest->done) {
            driver_ask(driver, guest);
        }
    }
}

/* Owner only: hand the loop on, to one who wants it or else to one who will drive it. False if
 * there is nobody. */
static bool driver_pass(struct loop_driver *driver)
{
    struct driver_guest *guest;
    struct list *link;

    driver_promote(driver);
    link = list_first(list_empty(&driver->entering) ? &driver->waiting : &driver->entering);
    if (link == NULL) {
        return false;
    }
    list_remove(link);
    guest = LIST_ENTRY(link, struct driver_guest, link);
    guest->granted = true;
    driver_assign(driver, guest->thread);
    /* While locked: the guest is gone as soon as it sees that. */
    (void)pthread_cond_signal(&guest->wake);
    return true;
}

/* Get the loop; locked. */
static void driver_acquire(struct loop_driver *driver)
{
    struct driver_guest guest;

    CHECK(!driver->owned || driver->owner != driver_self());
    if (!driver->owned) {
        driver_assign(driver, driver_self());
        return;
    }
    driver_guest_init(&guest, driver, NULL);
    driver_ask(driver, &guest);
    while (!guest.granted) {
        driver_sleep(driver, &guest.wake, LOOP_NEVER);
    }
    (void)pthread_cond_destroy(&guest.wake);
}

/* Unlock as the new owner, and say so to those who have to know. */
static void driver_arrive(struct loop_driver *driver)
{
    bool moving = driver->moving;

    driver_unlock(driver);
    if (moving && driver->moved != NULL) {
        driver->moved(driver->moved_user);
    }
}

/* Owner only: nobody else wants the loop. The background thread is woken at once only if it has to
 * be: what it does next to a call that follows closely would slow that down. */
static void driver_leave_to_background(struct loop_driver *driver, int64_t now_ns)
{
    driver->owned = false;
    driver->left_ns = now_ns;
    if (driver->background == DRIVER_TICKING && driver->urgent) {
        (void)pthread_cond_signal(&driver->background_wake);
    } else if (driver->background == DRIVER_WATCHING && !loop_settle(driver->loop)) {
        if (driver->urgent) {
            driver_wake(driver);
        } else {
            loop_wake_by(driver->loop, now_ns + LOOP_DRIVER_IDLE_NS);
        }
    }
}

/* A turn is about to be run: nothing is overdue. */
static void driver_reset_due(struct loop_driver *driver)
{
    driver->urgent = false;
    driver->due_ns = LOOP_NEVER;
}

static void driver_rest(struct loop_driver *driver, int64_t until_ns)
{
    driver->background = until_ns == LOOP_NEVER ? DRIVER_RESTING : DRIVER_TICKING;
    driver_sleep(driver, &driver->background_wake, until_ns);
    driver->background = DRIVER_AWAKE;
}

/* Sleep beside the loop, which is free. */
static void driver_watch(struct loop_driver *driver)
{
    struct pollfd fd = {.fd = uv_backend_fd(&driver->loop->uv), .events = POLLIN};

    driver->background = DRIVER_WATCHING;
    driver_unlock(driver);
    (void)poll(&fd, 1, -1);
    driver_lock(driver);
    driver->background = DRIVER_AWAKE;
}

/* Run turns until nothing is left to do or somebody wants the loop. */
static void driver_work(struct loop_driver *driver)
{
    bool settled;

    driver_acquire(driver);
    driver_reset_due(driver);
    driver_arrive(driver);
    for (;;) {
        loop_turn(driver->loop, 0);
        settled = loop_settle(driver->loop);
        driver_lock(driver);
        if (settled || !list_empty(&driver->entering)) {
            break;
        }
        driver_unlock(driver);
    }
    if (driver_pass(driver)) {
        return;
    }
    driver->owned = false;
    driver_watch(driver);
}

/* While others own the loop it looks again after a while, for as long as they come and go; when one
 * stays it rests until that one leaves. So calls in quick succession need not wake it, but if none
 * of them runs a turn for long, it queues for the loop like everybody else. */
static void *driver_main(void *arg)
{
    struct loop_driver *driver = arg;
    int64_t seen_ns = 0;

    driver_lock(driver);
    while (!driver->stopping) {
        int64_t now_ns = clock_mono_ns();
        int64_t look_ns = (driver->owned ? now_ns : driver->left_ns) + LOOP_DRIVER_IDLE_NS;
        bool stays = driver->owned && driver->left_ns == seen_ns && driver->due_ns == LOOP_NEVER;

        seen_ns = driver->left_ns;
        if (look_ns > driver->due_ns) {
            look_ns = driver->due_ns;
        }
        if (now_ns >= look_ns || (driver->urgent && !driver->owned)) {
            driver_work(driver);
        } else {
            driver_rest(driver, stays ? LOOP_NEVER : look_ns);
        }
    }
    driver_unlock(driver);
    return NULL;
}

/* Signals are for the application's threads. */
static int driver_spawn(struct loop_driver *driver)
{
    sigset_t all, before;
    int status;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    status = pthread_create(&driver->thread, NULL, driver_main, driver);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (status == 0) {
        (void)pthread_setname_np(driver->thread, driver->name);
    }
    return status;
}

static void driver_free(struct loop_driver *driver)
{
    loop_poll_destroy(driver->wake_poll);
    loop_destroy(driver->loop);
    if (driver->wake_fd >= 0) {
        (void)close(driver->wake_fd);
    }
    (void)pthread_cond_destroy(&driver->background_wake);
    (void)pthread_condattr_destroy(&driver->monotonic);
    (void)pthread_mutex_destroy(&driver->mutex);
    mem_free(driver);
}

static enum err driver_open(struct loop_driver *driver)
{
    enum err rc = loop_create(&driver->loop);

    if (rc != OK) {
        return rc;
    }
    driver->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (driver->wake_fd < 0) {
        return ERR_IO;
    }
    rc = loop_poll_create(driver->loop, driver->wake_fd, driver_woken, driver, &driver->wake_poll);
    if (rc != OK) {
        return rc;
    }
    loop_poll_want(driver->wake_poll, LOOP_READABLE);
    return driver_spawn(driver) == 0 ? OK : ERR_IO;
}

enum err loop_driver_create(const char *thread_name, struct loop_driver **driver_out)
{
    struct loop_driver *driver = mem_zalloc(sizeof(*driver));
    enum err rc;

    if (driver == NULL) {
        return ERR_NOMEM;
    }
    (void)snprintf(driver->name, sizeof(driver->name), "%s", thread_name);
    driver->wake_fd = -1;
    driver->due_ns = LOOP_NEVER;
    list_init(&driver->entering);
    list_init(&driver->waiting);
    CHECK(pthread_mutex_init(&driver->mutex, NULL) == 0);
    CHECK(pthread_condattr_init(&driver->monotonic) == 0);
    CHECK(pthread_condattr_setclock(&driver->monotonic, CLOCK_MONOTONIC) == 0);
    CHECK(pthread_cond_init(&driver->background_wake, &driver->monotonic) == 0);
    rc = driver_open(driver);
    if (rc != OK) {
        driver_free(driver);
        return rc;
    }
    *driver_out = driver;
    return OK;
}

void loop_driver_destroy(struct loop_driver *driver)
{
    if (driver == NULL) {
        return;
    }
    CHECK(!driver->forgotten);
    driver_lock(driver);
    driver_acquire(driver); /* The background thread may be in a turn. */
    CHECK(list_empty(&driver->entering) && list_empty(&driver->waiting));
    driver->stopping = true;
    (void)pthread_cond_signal(&driver->background_wake);
    driver_wake(driver);
    driver_unlock(driver);
    CHECK(pthread_join(driver->thread, NULL) == 0);
    driver_free(driver);
}

void loop_driver_forget(struct loop_driver *driver)
{
    driver->forgotten = true;
}

struct loop *loop_driver_loop(struct loop_driver *driver)
{
    return driver->loop;
}

void loop_driver_enter(struct loop_driver *driver)
{
    CHECK(!driver->forgotten);
    driver_lock(driver);
    driver_acquire(driver);
    driver_arrive(driver);
}

void loop_driver_leave(struct loop_driver *driver, bool busy)
{
    int64_t now_ns = clock_mono_ns();

    driver_lock(driver);
    CHECK(driver->owned && driver->owner == driver_self() && !driver->sleeping);
    driver->urgent = driver->urgent || busy;
    /* Those who queue may be many and not wait: then the turns are run by the way. */
    if (!list_empty(&driver->entering) && (driver->urgent || !list_empty(&driver->waiting))) {
        driver_reset_due(driver);
        driver_unlock(driver);
        loop_turn(driver->loop, 0);
        driver_lock(driver);
    }
    if (driver->due_ns == LOOP_NEVER) {
        driver->due_ns = now_ns + LOOP_DRIVER_IDLE_MAX_NS;
        if (driver->background == DRIVER_RESTING) {
            (void)pthread_cond_signal(&driver->background_wake);
        }
    }
    if (!driver_pass(driver)) {
        driver_leave_to_background(driver, now_ns);
    }
    driver_unlock(driver);
}

/* False if somebody else wants the loop. */
static bool driver_begin_turn(struct loop_driver *driver)
{
    bool alone;

    driver_lock(driver);
    CHECK(driver->owned && driver->owner == driver_self() && !driver->sleeping);
    driver_promote(driver);
    alone = list_empty(&driver->entering);
    driver->sleeping = alone;
    if (alone) {
        driver_reset_due(driver);
    }
    driver_unlock(driver);
    return alone;
}

static void driver_end_turn(struct loop_driver *driver)
{
    driver_lock(driver);
    driver->sleeping = false;
    driver_unlock(driver);
}

/* When the wait has to look about if nothing happens. */
static int64_t driver_look_ns(const struct driver_wish *wish, int64_t now_ns)
{
    int64_t poll_ns = wish->interrupted != NULL ? now_ns + LOOP_DRIVER_POLL_NS : LOOP_NEVER;

    return wish->deadline_ns < poll_ns ? wish->deadline_ns : poll_ns;
}

/* Let the others have the loop, and sleep until it is granted again. True if interrupted. */
static bool driver_follow(struct loop_driver *driver, const struct driver_wish *wish)
{
    struct driver_guest guest;
    bool cancelled = false;

    driver_guest_init(&guest, driver, wish->done);
    driver_lock(driver);
    list_push_back(&driver->waiting, &guest.link);
    CHECK(driver_pass(driver));
    while (!guest.granted) {
        driver_sleep(driver, &guest.wake,
                     guest.entering ? LOOP_NEVER : driver_look_ns(wish, clock_mono_ns()));
        if (guest.granted || guest.entering) {
            continue;
        }
        if (wish->interrupted != NULL) {
            driver_unlock(driver);
            cancelled = wish->interrupted(wish->user);
            driver_lock(driver);
        }
        if ((cancelled || clock_mono_ns() >= wish->deadline_ns) && !guest.granted &&
            !guest.entering) {
            driver_ask(driver, &guest);
        }
    }
    driver_arrive(driver);
    (void)pthread_cond_destroy(&guest.wake);
    return cancelled;
}

enum err loop_driver_wait(struct loop_driver *driver, const bool *done, int64_t deadline_ns,
                          bool (*interrupted)(void *user), void *user)
{
    struct driver_wish wish = {done, deadline_ns, interrupted, user};
    bool turned = false;

    while (!*done) {
        int64_t now_ns = clock_mono_ns();

        if (interrupted != NULL && interrupted(user)) {
            return ERR_CANCELLED;
        }
        if (turned && now_ns >= deadline_ns) {
            return ERR_TIMEOUT;
        }
        turned = true;
        if (driver_begin_turn(driver)) {
            loop_turn_until(driver->loop, driver_look_ns(&wish, now_ns));
            driver_end_turn(driver);
        } else if (driver_follow(driver, &wish)) {
            return ERR_CANCELLED;
        }
    }
    return OK;
}

void loop_driver_on_move(struct loop_driver *driver, void (*moved)(void *user), void *user)
{
    driver->moved = moved;
    driver->moved_user = user;
}
