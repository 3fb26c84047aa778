/* Servers of several sites, with threads, over loopback: they share, restart, and refuse. */

#include "base/log.h"
#include "loop/clock.h"
#include "net/counters.h"
#include "net/pki/ca.h"
#include "node/control.h"
#include "node/server/testing.h"
#include "wire/hello.h"
#include "wire/mirror.h"

#include <stdatomic.h>

#ifdef __SANITIZE_THREAD__
#include <dlfcn.h>
#include <sys/syscall.h>

/* libuv closes descriptors by syscall(), and files are opened by openat(): ThreadSanitizer follows
 * neither, and takes a folder that got the number of a closed epoll for that epoll, and its closing
 * for a race with the thread that used the loop. So it is told what libuv closes. */
void __sanitizer_syscall_pre_impl_close(long fd);

__attribute__((visibility("default"))) long syscall(long number, ...)
{
    static _Atomic(long (*)(long, ...)) real;
    long (*call)(long, ...) = real;
    long arguments[6];
    va_list list;

    if (call == NULL) {
        *(void **)&call = dlsym(RTLD_NEXT, "syscall");
        real = call;
    }
    va_start(list, number);
    for (int i = 0; i < 6; i++) {
        arguments[i] = va_arg(list, long);
    }
    va_end(list);
    if (number == SYS_close) {
        __sanitizer_syscall_pre_impl_close(arguments[0]);
    }
    return call(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                arguments[5]);
}
#endif

/* Two sites that share, each with its servers' threads and its workers. */

enum { PAIR_LANES = 2, PAIR_WORKERS = 2, PAIR_TRIES = 50 };

struct pair {
    struct loop *loop;
    struct node_site sites[2];
    struct node_other_site others[2]; /* What each is told of the other. */
    struct node_between betweens[2];
    struct owner owners[2];
    struct crew crews[2];
    char folder[32];   /* What the second site stores; empty: nothing. */
    const char *certs; /* The folder of an authority's members; NULL: in the clear. */
};

static struct net_tls_config tls_of(const char *certs, const char *name, char paths[3][256])
{
    (void)snprintf(paths[0], 256, "%s/%s/%s.crt", certs, name, name);
    (void)snprintf(paths[1], 256, "%s/%s/%s.key", certs, name, name);
    (void)snprintf(paths[2], 256, "%s/%s/ca.crt", certs, name);
    return (struct net_tls_config){.cert_path = paths[0],
                                   .key_path = paths[1],
                                   .ca_path = paths[2],
                                   .roles_accepted =
                                       WIRE_ROLE_WORKER | WIRE_ROLE_SERVER | WIRE_ROLE_OPERATOR,
                                   .roles_dialled = WIRE_ROLE_SERVER};
}

static void pair_init(struct pair *p, struct loop *loop, enum node_delivery delivery, bool stored)
{
    static const char *const names[] = {"east", "west"};

    *p = (struct pair){.loop = loop};
    if (stored) {
        (void)snprintf(p->folder, sizeof(p->folder), "/tmp/strait-pair-XXXXXX");
        assert_non_null(mkdtemp(p->folder));
    }
    for (int i = 0; i < 2; i++) {
        p->owners[i].loop = loop;
        p->sites[i] = testing_site_of("bsp", 0, delivery, PAIR_LANES, PAIR_WORKERS);
        p->sites[i].checkpoint_every = stored && i == 1 ? 2 : 0;
        p->sites[i].checkpoint_keep = 2;
        (void)snprintf(p->sites[i].name, sizeof(p->sites[i].name), "%s", names[i]);
        (void)snprintf(p->others[i].name, sizeof(p->others[i].name), "%s", names[1 - i]);
        node_between_init(&p->betweens[i]);
        p->betweens[i].others = &p->others[i];
        p->betweens[i].others_count = 1;
        p->betweens[i].threshold = 0;
        p->betweens[i].mean = false;
        p->betweens[i].staleness = 8;
    }
}

/* True: it listens where the other one was told that it would. */
static bool pair_start_one(struct pair *p, int i)
{
    struct owner *o = &p->owners[i];
    struct node_server_config config = config_of(o, &p->sites[i]);
    struct node_between gone = p->betweens[i];
    struct err_text text = {""};
    char paths[3][256];

    if (p->certs != NULL) {
        config.tls = tls_of(p->certs, p->sites[i].name, paths);
        assert_int_equal(pki_identity_make(WIRE_ROLE_SERVER, p->sites[i].name, p->sites[i].name,
                                           &config.identity, NULL),
                         OK);
    }
    config.listen = p->others[1 - i].first;
    config.between = &gone;
    config.store = p->folder[0] == '\0' || i == 0 ? NULL : p->folder;
    o->listening = o->ready = o->stopped = o->failed = false;
    if (node_server_create(&config, &o->server, &text) != OK) {
        fail_msg("%s", text.text);
    }
    gone = (struct node_between){.others_count = 7}; /* It was copied. */
    owner_wait(o, &o->listening, &o->failed);
    if (o->failed) {
        assert_non_null(strstr(o->text, "in use"));
        node_server_destroy(o->server);
        o->server = NULL;
        return false;
    }
    node_server_tell(o->server, NULL);
    owner_wait(o, &o->ready, &o->failed);
    assert_true(o->ready);
    return true;
}

static void pair_start(struct pair *p)
{
    bool both = false;

    for (unsigned tries = 0; !both; tries++) {
        assert_true(tries < PAIR_TRIES);
        for (unsigned i = 0; i < 2; i++) {
            unsigned port = 20000 + ((unsigned)getpid() * 8 + tries * 56 + i * 4) % 12000;

            p->others[1 - i].first = (struct net_address){
                .scheme = p->certs == NULL ? NET_SCHEME_TCP : NET_SCHEME_TLS, .host = "127.0.0.1"};
            (void)snprintf(p->others[1 - i].first.port, sizeof(p->others[1 - i].first.port), "%u",
                           port);
        }
        both = pair_start_one(p, 0) && pair_start_one(p, 1);
        for (int i = 0; i < 2 && !both; i++) {
            node_server_destroy(p->owners[i].server);
            p->owners[i].server = NULL;
        }
    }
}

/* Workers of both; the tables of the second site have so many rows. */
static void pair_crews(struct pair *p, uint64_t lives, uint64_t rows)
{
    struct table_schema schemas[2] = {crew_schema(ROWS), crew_schema(rows)};
    struct node_op ops[2][PAIR_WORKERS] = {0};

    for (int i = 0; i < 2; i++) {
        struct crew *c = &p->crews[i];

        *c = (struct crew){.t = {.loop = p->loop, .lives = lives + 100 * (uint64_t)i},
                           .count = PAIR_WORKERS,
                           .elements = (i == 0 ? ROWS : rows) * WIDTH};
        assert_int_equal(obs_registry_create(512, &c->t.registry), OK);
        net_socket_transport_init(&c->t.transport, p->loop, NULL);
        for (uint32_t w = 0; w < PAIR_WORKERS; w++) {
            testing_worker_start_at(&c->t, w, node_server_told(p->owners[i].server, 0));
            node_worker_table(c->t.workers[w], &schemas[i], &ops[i][w]);
        }
    }
    for (int i = 0; i < 2; i++) {
        testing_done(&p->crews[i].t, ops[i], PAIR_WORKERS);
        p->crews[i].table = (uint16_t)ops[i][0].value;
        for (uint32_t w = 0; w < PAIR_WORKERS; w++) {
            node_worker_join(p->crews[i].t.workers[w], &ops[i][w]);
        }
    }
    for (int i = 0; i < 2; i++) {
        testing_done(&p->crews[i].t, ops[i], PAIR_WORKERS);
    }
}

/* The smallest and the largest element, as the first worker of a site reads them. */
static void pair_read(struct pair *p, int i, float *least, float *most)
{
    struct crew *c = &p->crews[i];
    float *values = calloc(c->elements, sizeof(float));
    struct node_op op = {0};

    assert_non_null(values);
    node_worker_read(c->t.workers[0], c->table, 0, c->elements, values, &op);
    testing_done(&c->t, &op, 1);
    *least = *most = values[0];
    for (uint64_t k = 1; k < c->elements; k++) {
        *least = values[k] < *least ? values[k] : *least;
        *most = values[k] > *most ? values[k] : *most;
    }
    free(values);
}

/* In the end every element has @expected at both; never more. */
static void pair_expect(struct pair *p, float expected)
{
    int64_t until = loop_now_ns(p->loop) + (int64_t)TESTING_WAIT_S * 1000000000;

    for (int i = 0; i < 2; i++) {
        float least = 0, most = 0;

        while (least != expected || most != expected) {
            pair_read(p, i, &least, &most);
            assert_true(most <= expected);
            if (loop_now_ns(p->loop) > until) {
                fail_msg("site %d has %g to %g, not %g", i, (double)least, (double)most,
                         (double)expected);
            }
            loop_turn(p->loop, 1000000);
        }
    }
}

/* Both are done, and each has all that the other made. */
static void pair_settled(struct pair *p)
{
    int64_t until = loop_now_ns(p->loop) + (int64_t)TESTING_WAIT_S * 1000000000;

    for (int i = 0; i < 2; i++) {
        for (uint32_t lane = 0; lane < PAIR_LANES; lane++) {
            bool settled = false;

            while (!settled) {
                const json_t *between = json_object_get(owner_ask(&p->owners[i], lane), "between");

                assert_true(loop_now_ns(p->loop) < until);
                settled = json_is_true(json_object_get(between, "settled"));
            }
        }
    }
}

static void pair_close(struct pair *p)
{
    for (int i = 0; i < 2; i++) {
        if (p->crews[i].count > 0) {
            crew_close(&p->crews[i]);
        }
        node_server_destroy(p->owners[i].server);
        json_decref(p->owners[i].status);
    }
    if (p->folder[0] != '\0') {
        remove_folder(p->folder);
    }
    loop_destroy(p->loop);
}

static struct pair *pair_open(enum node_delivery delivery, bool stored)
{
    static struct pair p;
    struct loop *loop;

    assert_int_equal(loop_create(&loop), OK);
    pair_init(&p, loop, delivery, stored);
    pair_start(&p);
    pair_crews(&p, 10, ROWS);
    return &p;
}

static void pair_shares(enum node_delivery delivery)
{
    struct pair *p = pair_open(delivery, false);
    const json_t *between, *site;

    for (int round = 0; round < 5; round++) {
        crew_round(&p->crews[0]);
        crew_round(&p->crews[1]);
    }
    pair_expect(p, 5 * 2 * PAIR_WORKERS);
    between = json_object_get(owner_ask(&p->owners[0], 1), "between");
    site = json_array_get(json_object_get(between, "sites"), 0);
    assert_string_equal(json_string_value(json_object_get(site, "site")), "west");
    assert_true(json_is_true(json_object_get(site, "up")));
    assert_false(json_is_true(json_object_get(between, "settled")));
    assert_true(number_of(between, "pieces_taken") > 0);
    crew_leave(&p->crews[0]);
    crew_leave(&p->crews[1]);
    pair_settled(p);
    pair_close(p);
}

static void test_two_sites_share_what_their_workers_add(void **state)
{
    (void)state;
    pair_shares(NODE_PULL);
    pair_shares(NODE_BROADCAST);
}

/* As if its process had been killed; what it had acknowledged is in its store. */
static void test_a_site_that_comes_back_catches_up(void **state)
{
    struct pair *p = pair_open(NODE_PULL, true);

    (void)state;
    for (int round = 0; round < 3; round++) {
        crew_round(&p->crews[0]);
        crew_round(&p->crews[1]);
    }
    node_server_destroy(p->owners[1].server);
    p->owners[1].server = NULL;
    for (int round = 0; round < 2; round++) {
        crew_round(&p->crews[0]);
    }
    for (int tries = 0; !pair_start_one(p, 1); tries++) {
        assert_true(tries < PAIR_TRIES);
    }
    for (int round = 0; round < 2; round++) {
        crew_round(&p->crews[1]);
    }
    pair_expect(p, 5 * 2 * PAIR_WORKERS);
    crew_leave(&p->crews[0]);
    crew_leave(&p->crews[1]);
    pair_settled(p);
    pair_close(p);
}

/* Meeting. */

/* What site @i says of the other one, on its last lane. */
static const json_t *pair_other(struct pair *p, int i)
{
    const json_t *status = owner_ask(&p->owners[i], p->sites[i].lanes - 1);

    return json_array_get(json_object_get(json_object_get(status, "between"), "sites"), 0);
}

static void pair_wait_up(struct pair *p, int i)
{
    int64_t until = loop_now_ns(p->loop) + (int64_t)TESTING_WAIT_S * 1000000000;

    while (!json_is_true(json_object_get(pair_other(p, i), "up"))) {
        assert_true(loop_now_ns(p->loop) < until);
        loop_turn(p->loop, 1000000);
    }
}

static void pair_wait_begun(struct pair *p, int i)
{
    int64_t until = loop_now_ns(p->loop) + (int64_t)TESTING_WAIT_S * 1000000000;
    bool begun = false;

    for (uint32_t lane = 0; lane < p->sites[i].lanes; lane += begun) {
        const json_t *between = json_object_get(owner_ask(&p->owners[i], lane), "between");

        begun = json_is_true(json_object_get(between, "began"));
        assert_true(loop_now_ns(p->loop) < until);
        loop_turn(p->loop, 1000000);
    }
}

static void pair_wait_error(struct pair *p, int i, const char *part)
{
    int64_t until = loop_now_ns(p->loop) + (int64_t)TESTING_WAIT_S * 1000000000;

    for (;;) {
        const json_t *site = pair_other(p, i);
        const char *error = json_string_value(json_object_get(site, "last_error"));

        if (error != NULL && strstr(error, part) != NULL) {
            assert_false(json_is_true(json_object_get(site, "up")));
            return;
        }
        if (loop_now_ns(p->loop) > until) {
            fail_msg("\"%s\" does not say \"%s\"", error == NULL ? "" : error, part);
        }
        loop_turn(p->loop, 1000000);
    }
}

static struct pair *pair_new(const char *certs)
{
    static struct pair p;
    struct loop *loop;

    assert_int_equal(loop_create(&loop), OK);
    pair_init(&p, loop, NODE_PULL, false);
    p.certs = certs;
    return &p;
}

static void pair_restart(struct pair *p, int i)
{
    node_server_destroy(p->owners[i].server);
    p->owners[i].server = NULL;
    for (int tries = 0; !pair_start_one(p, i); tries++) {
        assert_true(tries < PAIR_TRIES);
    }
}

static void test_sites_with_other_terms_refuse_each_other_until_one_is_put_right(void **state)
{
    struct pair *p = pair_new(NULL);

    (void)state;
    p->betweens[1].threshold = 0.5F;
    pair_start(p);
    pair_wait_error(p, 0, "threshold: 0 at site east, 0.5 at site west: all sites must have the");
    pair_wait_error(p, 1, "threshold: 0 at site east, 0.5 at site west: all sites must have the");
    p->betweens[1].threshold = 0;
    p->betweens[1].staleness = 3;
    pair_restart(p, 1);
    pair_wait_error(p, 0, "staleness: 8 at site east, 3 at site west");
    p->betweens[1].staleness = 8;
    p->betweens[1].groups = 2;
    p->others[1].group = 1;
    pair_restart(p, 1);
    pair_wait_error(p, 0, "groups: 0 at site east, {\"west\":0,\"east\":1} at site west");
    p->betweens[1].groups = 0;
    pair_restart(p, 1);
    pair_wait_up(p, 0);
    pair_wait_up(p, 1);
    pair_close(p);
}

/* Means over sites, majorities and who is waited for depend on it. */
static void test_sites_with_other_lists_refuse_each_other_until_one_is_put_right(void **state)
{
    static const char *const words =
        "site north is in the list of site west and not in that of site east: all sites must have "
        "the same list; start one of them again with the other's";
    struct pair *p = pair_new(NULL);
    struct node_other_site three[2];

    (void)state;
    pair_start(p);
    three[0] = p->others[1];
    three[1] = (struct node_other_site){
        .name = "north", .first = {.scheme = NET_SCHEME_TCP, .host = "127.0.0.1", .port = "9"}};
    p->betweens[1].others = three;
    p->betweens[1].others_count = 2;
    pair_restart(p, 1);
    pair_wait_error(p, 0, words);
    pair_wait_error(p, 1, words);
    p->betweens[1].others = &p->others[1];
    p->betweens[1].others_count = 1;
    pair_restart(p, 1);
    pair_wait_up(p, 0);
    pair_wait_up(p, 1);
    pair_close(p);
}

static void test_sites_with_other_lanes_refuse_each_other(void **state)
{
    struct pair *p = pair_new(NULL);

    (void)state;
    p->sites[1].lanes = 1;
    pair_start(p);
    pair_wait_error(p, 0, "fewer lanes than this site");
    pair_wait_error(p, 1, "lanes: 2 at site east, 1 at site west");
    pair_close(p);
}

static void test_sites_with_other_tables_refuse_each_other_and_go_on_alone(void **state)
{
    struct pair *p = pair_new(NULL);

    (void)state;
    p->betweens[0].staleness = p->betweens[1].staleness = MIRROR_UNBOUNDED;
    pair_start(p);
    pair_wait_begun(p, 0);
    pair_wait_begun(p, 1);
    pair_crews(p, 10, ROWS / 2);
    pair_wait_error(p, 0, "table model is 400 x 1000 at site east and 200 x 1000 at site west");
    pair_wait_error(p, 1, "table model is 400 x 1000 at site east and 200 x 1000 at site west");
    crew_round(&p->crews[0]);
    crew_round(&p->crews[1]);
    crew_expect(&p->crews[0], PAIR_WORKERS);
    crew_expect(&p->crews[1], PAIR_WORKERS);
    pair_close(p);
}

static void test_a_site_at_the_address_of_another_is_refused(void **state)
{
    struct pair *p = pair_new(NULL);

    (void)state;
    pair_start(p);
    (void)snprintf(p->others[0].name, sizeof(p->others[0].name), "north");
    pair_restart(p, 0);
    pair_wait_error(p, 0, "is a server of site west, not site north");
    pair_wait_error(p, 1,
                    "site west is not in the list of site east: all sites must have the "
                    "same list; start the servers of site east again with site west in it");
    pair_close(p);
}

static void test_a_site_that_is_not_there_is_told_as_such(void **state)
{
    struct pair *p = pair_new(NULL);

    (void)state;
    pair_start(p);
    node_server_destroy(p->owners[1].server);
    p->owners[1].server = NULL;
    pair_restart(p, 0);
    pair_wait_error(p, 0, "efused");
    pair_close(p);
}

/* Another version. */

enum {
    FAKE_CONNS = 64,
    FAKE_HELLOS = 4 * NODE_BETWEEN_STREAMS,
    FAKE_MIN = WIRE_VERSION_MAX + 1,
    FAKE_MAX = WIRE_VERSION_MAX + 2,
};

/* A server of site west of a later release, frame by frame. */
struct fake {
    struct loop *loop;
    struct buf_pool *pool;
    struct obs_registry *registry;
    struct net_counters counters;
    struct net_socket_transport transport;
    struct net_listener *listener;
    struct net_conn *conns[FAKE_CONNS];
    uint32_t count;
    enum wire_type answer; /* To hello. */
    uint32_t hellos;
    bool refused, over;
    char text[LIMIT_REASON_BYTES + 1]; /* By which it was. */
};

static struct wire_hello fake_hello(void)
{
    return (struct wire_hello){.version_min = FAKE_MIN,
                               .version_max = FAKE_MAX,
                               .role = WIRE_ROLE_SERVER,
                               .stream_count = 1,
                               .incarnation = 4711,
                               .site = {"west", 4},
                               .name = {"w0", 2}};
}

static enum err fake_frame(struct net_conn *conn, const struct net_frame *frame, void *user)
{
    struct fake *k = user;
    struct wire_hello hello = fake_hello();
    struct wire_refuse refuse;
    struct buf *out;

    if (frame->header.type == WIRE_REFUSE) {
        assert_int_equal(wire_refuse_decode(frame->body, frame->header.body_bytes, &refuse), OK);
        assert_int_equal(refuse.code, WIRE_REFUSAL_VERSION);
        (void)snprintf(k->text, sizeof(k->text), "%.*s", (int)refuse.text_bytes, refuse.text);
        k->refused = true;
        return OK;
    }
    assert_int_equal(frame->header.type, WIRE_HELLO);
    k->hellos++;
    if (k->answer == WIRE_REFUSE) {
        assert_int_equal(wire_refuse_encode(k->pool, WIRE_REFUSE, WIRE_REFUSAL_VERSION,
                                            "versions 1 to 1 of the protocol at east/s0, 2 to 3 at "
                                            "west/w0: run the same release of Strait at both",
                                            &out),
                         OK);
    } else {
        assert_int_equal(wire_hello_encode(k->pool, WIRE_WELCOME, &hello, &out), OK);
    }
    assert_int_equal(net_conn_send_sealed(conn, NET_CONTROL, out), OK);
    if (k->answer == WIRE_REFUSE) {
        net_conn_close_soft(conn);
    }
    return OK;
}

static void fake_opened(struct net_conn *conn, void *user)
{
    struct fake *k = user;
    struct wire_hello hello = fake_hello();
    struct buf *out;

    if (k->listener == NULL) {
        assert_int_equal(wire_hello_encode(k->pool, WIRE_HELLO, &hello, &out), OK);
        assert_int_equal(net_conn_send_sealed(conn, NET_CONTROL, out), OK);
    }
}

static void fake_closed(struct net_conn *conn, enum err why, const char *text, void *user)
{
    struct fake *k = user;

    (void)why;
    (void)text;
    for (uint32_t i = 0; i < k->count; i++) {
        if (k->conns[i] == conn) {
            k->conns[i] = k->conns[--k->count];
            break;
        }
    }
    k->over = true;
}

static void fake_takes(struct net_stream *stream, const struct net_source *source, void *user)
{
    static const struct net_conn_events events = {
        .opened = fake_opened, .frame = fake_frame, .closed = fake_closed};
    struct fake *k = user;
    struct net_conn_config config = {.loop = k->loop,
                                     .pool = k->pool,
                                     .counters = &k->counters,
                                     .dialled = k->listener == NULL,
                                     .events = &events,
                                     .user = k};

    (void)source;
    assert_non_null(stream);
    assert_true(k->count < FAKE_CONNS);
    assert_int_equal(net_conn_create(&config, stream, &k->conns[k->count++]), OK);
}

static bool fake_admits(const struct net_source *source, void *user)
{
    (void)source;
    (void)user;
    return true;
}

static void fake_open(struct fake *k, struct loop *loop)
{
    *k = (struct fake){.loop = loop};
    assert_int_equal(buf_pool_create(16 << 20, &k->pool), OK);
    assert_int_equal(obs_registry_create(512, &k->registry), OK);
    assert_int_equal(net_counters_init(&k->counters, k->registry), OK);
    net_socket_transport_init(&k->transport, loop, NULL);
}

static void fake_close(struct fake *k)
{
    if (k->listener != NULL) {
        k->listener->ops->destroy(k->listener);
    }
    while (k->count > 0) {
        net_conn_abandon(k->conns[--k->count]);
    }
    obs_registry_destroy(k->registry);
    buf_pool_destroy(k->pool);
}

/* Be site west, where east looks for it. */
static void fake_listen(struct fake *k, struct pair *p, enum wire_type answer)
{
    struct net_address at = {.scheme = NET_SCHEME_TCP, .host = "127.0.0.1", .port = "0"};
    struct net_accept accept = {.admit = fake_admits, .accepted = fake_takes, .user = k};

    k->answer = answer;
    assert_int_equal(
        k->transport.base.ops->listen(&k->transport.base, &at, &accept, &k->listener, NULL), OK);
    p->others[0].first = k->listener->address;
    p->others[1].first = at;
}

static atomic_uint fake_logged;

static void fake_log(const char *line, size_t size, void *user)
{
    (void)user;
    if (memmem(line, size, "site west: ", 11) != NULL &&
        memmem(line, size, "same release of Strait", 22) != NULL) {
        atomic_fetch_add(&fake_logged, 1);
    }
}

static int64_t fake_wall_us(void *user)
{
    (void)user;
    return 0;
}

/* East dials it, and says why it cannot be met: to operators who ask, and once in the log. */
static void fake_is_met(enum wire_type answer, const char *expected)
{
    const struct log_config log = {.filter = "info", .wall_us = fake_wall_us, .write = fake_log};
    struct pair *p = pair_new(NULL);
    int64_t until = loop_now_ns(p->loop) + (int64_t)TESTING_WAIT_S * 1000000000;
    const char *error;
    struct fake k;

    fake_logged = 0;
    assert_int_equal(log_setup(&log, NULL), OK);
    fake_open(&k, p->loop);
    fake_listen(&k, p, answer);
    assert_true(pair_start_one(p, 0));
    pair_wait_error(p, 0, expected);
    while (k.hellos < FAKE_HELLOS || fake_logged < PAIR_LANES) { /* It is asked again, and again. */
        assert_true(loop_now_ns(p->loop) < until);
        loop_turn(p->loop, 10000000);
    }
    error = json_string_value(json_object_get(pair_other(p, 0), "last_error"));
    assert_string_equal(error, expected);
    assert_int_equal(fake_logged, PAIR_LANES);
    fake_close(&k);
    pair_close(p);
    log_teardown();
}

static void test_a_site_of_another_version_is_named_with_both_versions(void **state)
{
    (void)state;
    fake_is_met(WIRE_REFUSE, "versions 1 to 1 of the protocol at east/s0, 2 to 3 at west/w0: run "
                             "the same release of Strait at both");
    fake_is_met(WIRE_WELCOME, "versions 2 to 3 of the protocol at west/w0, 1 to 1 at east/s0: run "
                              "the same release of Strait at both");
}

static void test_a_site_of_another_version_is_told_so_and_harms_nobody(void **state)
{
    struct pair *p = pair_new(NULL);
    struct net_stream *stream;
    struct fake k;

    (void)state;
    pair_start(p);
    pair_wait_up(p, 0);
    fake_open(&k, p->loop);
    assert_int_equal(k.transport.base.ops->dial(&k.transport.base,
                                                node_server_told(p->owners[0].server, 0), &stream),
                     OK);
    fake_takes(stream, NULL, &k);
    owner_wait(&p->owners[0], &k.refused, &k.over);
    assert_string_equal(k.text,
                        "versions 2 to 3 of the protocol at west/w0, 1 to 1 at east/s0: run "
                        "the same release of Strait at both");
    assert_true(json_is_true(json_object_get(pair_other(p, 0), "up")));
    fake_close(&k);
    pair_close(p);
}

/* With certificates. */

static void authority_issue(struct pki_ca *ca, const char *dir, enum wire_role role,
                            const char *site, const char *name)
{
    struct pki_order order = {.now_s = clock_wall_us() / 1000000};
    struct err_text text = {""};
    char folder[256];

    (void)snprintf(folder, sizeof(folder), "%s/%s", dir, name);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(pki_identity_make(role, site, name, &order.identity, &text), OK);
    if (pki_ca_issue_to(ca, &order, folder, false, &text) != OK) {
        fail_msg("%s", text.text);
    }
}

/* Servers of three sites, and others who have no business between them. */
static int authority_setup(void **state)
{
    static char dir[64];
    struct err_text text = {""};
    char path[128];
    struct pki_ca *ca;

    (void)snprintf(dir, sizeof(dir), "/tmp/strait-sites-XXXXXX");
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof(path), "%s/ca", dir);
    assert_int_equal(pki_ca_create(path, "test", clock_wall_us() / 1000000, 0, &text), OK);
    assert_int_equal(pki_ca_open(path, &ca, &text), OK);
    authority_issue(ca, dir, WIRE_ROLE_SERVER, "east", "east");
    authority_issue(ca, dir, WIRE_ROLE_SERVER, "west", "west");
    authority_issue(ca, dir, WIRE_ROLE_SERVER, "north", "north");
    authority_issue(ca, dir, WIRE_ROLE_SERVER, "east", "second");
    authority_issue(ca, dir, WIRE_ROLE_WORKER, "west", "worker");
    authority_issue(ca, dir, WIRE_ROLE_OPERATOR, "west", "operator");
    authority_issue(ca, dir, WIRE_ROLE_OPERATOR, "east", "at-home");
    pki_ca_close(ca);
    *state = dir;
    return 0;
}

static int authority_teardown(void **state)
{
    remove_folder(*state);
    return 0;
}

static void test_sites_meet_with_certificates_of_servers(void **state)
{
    struct pair *p = pair_new(*state);

    pair_start(p);
    pair_wait_up(p, 0);
    pair_wait_up(p, 1);
    pair_close(p);
}

/* Somebody who dials a lane and says one thing. */
struct guest {
    struct loop *loop;
    struct buf_pool *pool;
    struct obs_registry *registry;
    struct net_tls_transport *tls;
    struct net_endpoint *endpoint;
    struct net_peer *peer;
    bool up, answered, lost;
    char text[512];
};

static void guest_up(struct net_peer *peer, bool restarted, void *user)
{
    struct guest *g = user;

    (void)peer;
    (void)restarted;
    g->up = true;
}

static enum err guest_frame(struct net_peer *peer, const struct net_frame *frame, void *user)
{
    struct guest *g = user;
    struct err_text text = {""};
    uint16_t operation;
    uint32_t call;
    json_t *fields;

    (void)peer;
    assert_int_equal(frame->header.type, WIRE_CONTROL);
    assert_int_equal(node_control_read(frame, &operation, &call, &fields), OK);
    assert_int_not_equal(node_control_error(fields, &text), OK); /* Nobody gets in. */
    (void)snprintf(g->text, sizeof(g->text), "%s", text.text);
    json_decref(fields);
    g->answered = true;
    return OK;
}

static void guest_lost(struct net_peer *peer, enum err why, const char *text, void *user)
{
    struct guest *g = user;

    (void)peer;
    (void)why;
    g->lost = true;
    (void)snprintf(g->text, sizeof(g->text), "%s", text);
}

static const struct net_endpoint_events guest_events = {
    .up = guest_up, .frame = guest_frame, .lost = guest_lost};

static void guest_open(struct guest *g, struct pair *p, const char *name)
{
    static uint64_t lives = 1000;
    struct net_endpoint_config config = {
        .loop = p->loop, .incarnation = ++lives, .seed = 7, .events = &guest_events, .user = g};
    struct err_text text = {""};
    struct net_tls_config tls;
    char paths[3][256];

    *g = (struct guest){.loop = p->loop};
    tls = tls_of(p->certs, name, paths);
    assert_int_equal(buf_pool_create(16 << 20, &g->pool), OK);
    assert_int_equal(obs_registry_create(512, &g->registry), OK);
    assert_int_equal(net_tls_transport_create(p->loop, &tls, &g->tls, &text), OK);
    config.pool = g->pool;
    config.registry = g->registry;
    config.identity = *net_tls_identity(g->tls);
    assert_int_equal(net_endpoint_create(&config, &g->endpoint), OK);
    assert_int_equal(net_endpoint_dial(g->endpoint, net_tls_transport_base(g->tls),
                                       node_server_told(p->owners[0].server, 0), 1, &g->peer),
                     OK);
    owner_wait(&p->owners[0], &g->up, &g->lost);
    assert_true(g->up);
}

static void guest_close(struct guest *g)
{
    net_endpoint_destroy(g->endpoint);
    net_tls_transport_destroy(g->tls);
    obs_registry_destroy(g->registry);
    buf_pool_destroy(g->pool);
}

/* Ask lane 0 of the first site; the answer must be a refusal that says @part. */
static void guest_asks(struct pair *p, const char *name, uint16_t operation, json_t *fields,
                       const char *part)
{
    struct guest g;

    guest_open(&g, p, name);
    assert_int_equal(node_control_send(g.peer, g.pool, operation, 1, fields), OK);
    json_decref(fields);
    owner_wait(&p->owners[0], &g.answered, &g.lost);
    if (strstr(g.text, part) == NULL) {
        fail_msg("%s: \"%s\" does not say \"%s\"", name, g.text, part);
    }
    guest_close(&g);
}

/* Its configuration is right, but it is the wrong site. */
static void guest_handshake(struct pair *p, const char *name, const char *part)
{
    guest_asks(p, name, NODE_OP_HANDSHAKE,
               json_pack("{s:s, s:i, s:o, s:[]}", "site", "west", "lane", 0, "shared_config",
                         node_between_to_json(&p->betweens[1], &p->sites[1]), "tables"),
               part);
}

static void guest_reports(struct pair *p, const char *name)
{
    struct wire_report report = {.clock = 1000000, .number = 5, .stable = 5};
    struct buf *frame;
    struct guest g;

    guest_open(&g, p, name);
    assert_int_equal(wire_report_encode(g.pool, &report, &frame), OK);
    assert_int_equal(net_peer_send_sealed(g.peer, NET_CONTROL, frame), OK);
    owner_wait(&p->owners[0], &g.lost, &g.answered);
    assert_true(g.lost);
    guest_close(&g);
}

static void guest_moves_in(struct pair *p, const char *name)
{
    json_t *fields = json_pack("{s:[{s:i, s:s}], s:b}", "places", "lane", 1, "address",
                               "tls://127.0.0.1:9", "begun", 1);
    struct guest g;

    guest_open(&g, p, name);
    assert_int_equal(node_control_send(g.peer, g.pool, NODE_OP_LANE, 0, fields), OK);
    json_decref(fields);
    owner_wait(&p->owners[0], &g.lost, &g.answered);
    assert_true(g.lost);
    guest_close(&g);
}

/* A table of another shape under the name that the site's own workers use would stop them. */
static void test_only_workers_of_the_site_itself_make_its_tables(void **state)
{
    struct pair *p = pair_new(*state);
    struct table_schema schema = crew_schema(1);

    pair_start(p);
    guest_asks(p, "at-home", NODE_OP_TABLE, node_schema_to_json(&schema),
               "operation table is not for the role operator");
    guest_asks(p, "worker", NODE_OP_TABLE, node_schema_to_json(&schema),
               "your certificate is for site west, and this is site east");
    guest_asks(p, "worker", NODE_OP_JOIN, json_pack("{s:i, s:[]}", "rank", 0, "tables"),
               "your certificate is for site west");
    guest_asks(p, "worker", NODE_OP_STATUS, json_object(), "your certificate is for site west");
    guest_asks(p, "operator", NODE_OP_SAVE, json_object(), "your certificate is for site west");
    guest_asks(p, "operator", 99, json_object(), "not known here");
    assert_int_equal(number_of(owner_ask(&p->owners[0], 0), "operations_refused"), 6);
    pair_close(p);
}

/* The mirror session of the real site stays as it is. */
static void test_nobody_else_can_speak_for_a_site(void **state)
{
    struct pair *p = pair_new(*state);

    pair_start(p);
    pair_wait_up(p, 0);
    guest_handshake(p, "worker", "operation handshake is not for the role worker");
    guest_handshake(p, "operator", "operation handshake is not for the role operator");
    guest_handshake(p, "second", "operation handshake is for the role server of another site");
    guest_handshake(p, "north", "site north is not in the list of site east");
    guest_reports(p, "worker");
    guest_reports(p, "operator");
    guest_reports(p, "second");
    guest_reports(p, "north");
    guest_moves_in(p, "north");
    guest_moves_in(p, "west");
    assert_true(json_is_true(json_object_get(pair_other(p, 0), "up")));
    pair_close(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_sites_share_what_their_workers_add),
        cmocka_unit_test(test_a_site_that_comes_back_catches_up),
        cmocka_unit_test(test_sites_with_other_terms_refuse_each_other_until_one_is_put_right),
        cmocka_unit_test(test_sites_with_other_lists_refuse_each_other_until_one_is_put_right),
        cmocka_unit_test(test_sites_with_other_lanes_refuse_each_other),
        cmocka_unit_test(test_sites_with_other_tables_refuse_each_other_and_go_on_alone),
        cmocka_unit_test(test_a_site_at_the_address_of_another_is_refused),
        cmocka_unit_test(test_a_site_that_is_not_there_is_told_as_such),
        cmocka_unit_test(test_a_site_of_another_version_is_named_with_both_versions),
        cmocka_unit_test(test_a_site_of_another_version_is_told_so_and_harms_nobody),
        cmocka_unit_test(test_sites_meet_with_certificates_of_servers),
        cmocka_unit_test(test_only_workers_of_the_site_itself_make_its_tables),
        cmocka_unit_test(test_nobody_else_can_speak_for_a_site),
    };

    return cmocka_run_group_tests(tests, authority_setup, authority_teardown);
}
