/* What every conformance test stands on: two sides that can reach each other over one carrier.
 *
 *     a (a worker, dials)  <-- tcp | tls | unix | sim -->  b (a server, listens)
 *
 * Both sides run on the calling thread: on one libuv loop, or on two hosts of a simulated world.
 * Nothing sleeps: a test runs the world until a condition holds, with a limit in the carrier's own
 * time. */

#ifndef CONFORMANCE_FIXTURE_H
#define CONFORMANCE_FIXTURE_H

#include "base/buf.h"
#include "loop/loop.h"
#include "net/counters.h"
#include "net/stream/socket.h"
#include "net/stream/tls.h"
#include "sim/net/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define CONF_MS INT64_C(1000000)
#define CONF_S (1000 * CONF_MS)
#define CONF_LIMIT_NS (20 * CONF_S) /* For what should happen at once. */

enum { CONF_POOL_BYTES = 96 * 1024 * 1024, CONF_PATH_BYTES = 256, CONF_THINGS_MAX = 512 };

struct conf_world;

/* Something on a side that must be ended before the side is: a connection, a listener. */
struct conf_thing {
    void (*end)(void *thing);
    void *thing;
};

/* One of the two. The fields below .transport belong to the carrier. */
struct conf_side {
    struct conf_world *world;
    struct pki_identity identity;
    struct loop *loop;
    struct buf_pool *pool;
    struct obs_registry *registry;
    struct net_counters counters;
    struct net_transport *transport;

    struct net_socket_transport socket;
    struct net_tls_transport *tls;
    struct sim_transport sim;
    struct sim_host *host;

    struct conf_thing things[CONF_THINGS_MAX];
    uint32_t things_count;
};

struct conf_carrier {
    const char *name;
    bool simulated;
    bool authenticated; /* Streams know who is at the other end. */
    void (*open)(struct conf_world *w);
    void (*close)(struct conf_world *w);
};

struct conf_world {
    const struct conf_carrier *carrier;
    struct conf_side a;
    struct conf_side b;
    struct net_address at;     /* Where b may listen. */
    struct net_address closed; /* Where nobody does. */
    struct loop *loop;         /* Real carriers. */
    struct sim_world *sim;
    char dir[CONF_PATH_BYTES];
    int calls; /* Calls of ours under way: no callback may come then. */
};

extern const struct conf_carrier conf_tcp, conf_tls, conf_unix, conf_sim;

/* The carrier of this process, for the setup of each test. */
extern const struct conf_carrier *conf_carrier;

/* For cmocka: a fresh world in *@state, and its end. */
int conf_setup(void **state);
int conf_teardown(void **state);

/* Make a thing of @size zeroed bytes on @side. @end(thing) ends what it holds, in the reverse order
 * of making: when the world ends, also after a failed test, and when a simulated host loses its
 * power. It may be called twice. The memory lives as long as the world. */
void *conf_new(struct conf_side *side, size_t size, void (*end)(void *thing));

/* End all things of @side. */
void conf_side_end(struct conf_side *side);

int64_t conf_now_ns(const struct conf_world *w);

/* Let the next thing happen, at the latest at @until_ns. False when that time has come. */
bool conf_step(struct conf_world *w, int64_t until_ns);

/* Run until @done(@user), or fail the test after @limit_ns. */
void conf_until(struct conf_world *w, bool (*done)(void *user), void *user, int64_t limit_ns);

/* Let that much time pass. */
void conf_pass(struct conf_world *w, int64_t ns);

/* Run until what is under way has been done: a few turns, or a little virtual time. */
void conf_settle(struct conf_world *w);

/* Failing allocations from the k-th on, in what follows on side a and b. Zero: none. */
void conf_fail_alloc(struct conf_world *w, uint32_t k);

/* The folder of certificates that all tests of this process share: DIR/ca, DIR/a, DIR/b. */
const char *conf_pki_dir(void);
void conf_pki_remove(void);

/* A path in it; good until the eighth next call. */
const char *conf_pki_path(const char *leaf);

/* Guard a call that must not call back. */
#define CONF_CALL(w, expr)                                                                         \
    do {                                                                                           \
        (w)->calls++;                                                                              \
        (expr);                                                                                    \
        (w)->calls--;                                                                              \
    } while (0)

/* One test, run on a fresh world. */
#define CONF_TEST(function)                                                                        \
    {                                                                                              \
#function, function, conf_setup, conf_teardown, NULL                                       \
    }

#endif
