/* What the tests of drivers share: a rig that checks at every step that the loop has one owner, and
 * that the owner was told when the loop came from another thread. CHECK, for cmocka's assertions
 * are for the main thread only. */

#ifndef LOOP_TESTING_DRIVER_H
#define LOOP_TESTING_DRIVER_H

#include "loop/clock.h"
#include "loop/driver.h"
#include "loop/testing.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

/* None of it is locked: the driver has to see to that, and the thread sanitizer to the driver. */
struct rig {
    struct loop_driver *driver;
    struct loop *loop;
    uint64_t holder; /* Who was told last that the loop is now on its thread. */
    bool inside;
    bool moving;
    uint64_t moves;
    uint64_t count;
};

/* Counts in any thread, for one that must not drive. */
struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint32_t count;
};

static inline void gate_init(struct gate *gate)
{
    *gate = (struct gate){PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
}

static inline void gate_pass(struct gate *gate)
{
    (void)pthread_mutex_lock(&gate->mutex);
    gate->count++;
    (void)pthread_cond_broadcast(&gate->changed);
    (void)pthread_mutex_unlock(&gate->mutex);
}

static inline void gate_await(struct gate *gate, uint32_t count)
{
    struct timespec limit;

    (void)clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += TESTING_LIMIT_NS / 1000000000;
    (void)pthread_mutex_lock(&gate->mutex);
    while (gate->count < count) {
        CHECK(pthread_cond_timedwait(&gate->changed, &gate->mutex, &limit) == 0);
    }
    (void)pthread_mutex_unlock(&gate->mutex);
}

/* A number for the calling thread; pthread_self() may be that of one that has ended. */
static inline uint64_t rig_self(void)
{
    static _Atomic uint64_t threads;
    static _Thread_local uint64_t self;

    if (self == 0) {
        self = ++threads;
    }
    return self;
}

static inline bool rig_is_mine(const struct rig *rig)
{
    return !rig->moving && rig->holder == rig_self();
}

static inline void rig_moved(void *user)
{
    struct rig *rig = user;

    CHECK(!rig->moving && !rig->inside);
    rig->moving = true;
    CHECK(rig->holder != rig_self());
    rig->holder = rig_self();
    rig->moves++;
    rig->moving = false;
}

static inline void rig_open(struct rig *rig)
{
    memset(rig, 0, sizeof(*rig));
    CHECK(loop_driver_create("driver", &rig->driver) == OK);
    loop_driver_enter(rig->driver);
    rig->loop = loop_driver_loop(rig->driver);
    rig->holder = rig_self();
    loop_driver_on_move(rig->driver, rig_moved, rig);
    loop_driver_leave(rig->driver, false);
}

static inline void rig_close(struct rig *rig)
{
    loop_driver_enter(rig->driver);
    loop_driver_on_move(rig->driver, NULL, NULL);
    loop_driver_leave(rig->driver, false);
    loop_driver_destroy(rig->driver);
}

static inline void rig_enter(struct rig *rig)
{
    loop_driver_enter(rig->driver);
    CHECK(rig_is_mine(rig) && !rig->inside);
    rig->inside = true;
}

static inline void rig_leave(struct rig *rig, bool busy)
{
    CHECK(rig_is_mine(rig) && rig->inside);
    rig->inside = false;
    loop_driver_leave(rig->driver, busy);
}

static inline enum err rig_wait_as(struct rig *rig, const bool *done, int64_t deadline_ns,
                                   bool (*interrupted)(void *user), void *user)
{
    enum err rc;

    CHECK(rig_is_mine(rig) && rig->inside);
    rig->inside = false;
    rc = loop_driver_wait(rig->driver, done, deadline_ns, interrupted, user);
    CHECK(rig_is_mine(rig) && !rig->inside);
    rig->inside = true;
    return rc;
}

/* Wait for what has to come. */
static inline void rig_wait(struct rig *rig, const bool *done)
{
    CHECK(rig_wait_as(rig, done, clock_mono_ns() + TESTING_LIMIT_NS, NULL, NULL) == OK);
    CHECK(*done);
}

static inline void rig_count(struct rig *rig, bool busy)
{
    rig_enter(rig);
    rig->count++;
    rig_leave(rig, busy);
}

/* One of several threads that do the same. */
struct actor {
    struct rig *rig;
    pthread_t thread;
    uint64_t index;
    uint64_t self;
    struct loop_timer timer;
    struct loop_poll *poll;
    int fd;
    bool done;
    bool returned;
    uint64_t calls;
    char byte;
};

static inline void actors_start(struct actor *actors, uint64_t count, struct rig *rig,
                                void *(*act)(void *arg))
{
    for (uint64_t i = 0; i < count; i++) {
        actors[i] = (struct actor){.rig = rig, .index = i};
    }
    for (uint64_t i = 0; i < count; i++) {
        CHECK(pthread_create(&actors[i].thread, NULL, act, &actors[i]) == 0);
    }
}

static inline void actors_join(struct actor *actors, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        CHECK(pthread_join(actors[i].thread, NULL) == 0);
    }
}

#endif
