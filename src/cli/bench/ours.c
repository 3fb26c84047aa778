/* Our side of the benchmark: two processes, each with an endpoint, one session between them. */

#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "cli/bench/bench.h"
#include "loop/clock.h"
#include "net/session/endpoint.h"
#include "net/stream/tls.h"
#include "obs/metric.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    OURS_POOL_BYTES = 256 * 1024 * 1024,
    OURS_SERIES = 64,
    OURS_WARM_TRIPS = 1000,
    OURS_LIMIT_S = 120, /* A benchmark that takes longer is stuck. */
};

/* One process. */
struct ours {
    const struct bench_way *way;
    struct loop *loop;
    struct buf_pool *pool;
    struct obs_registry *registry;
    struct net_endpoint *endpoint;
    struct net_socket_transport plain;
    struct net_tls_transport *tls;
    struct net_peer *peer;
    struct loop_timer limit;
    enum err rc;
    struct err_text *text;

    /* The client's work. */
    struct bench_stream stream;
    uint64_t sent;
    struct buf *body;
    uint32_t trips_count;
    uint32_t trips_done;
    int64_t *trips;
    int64_t start_ns;
    int64_t end_ns;
    int64_t cpu_ns;
};

static void ours_end(struct ours *o, enum err rc, const char *why)
{
    o->rc = rc;
    if (rc != OK) {
        (void)err_text_set(o->text, rc, "session: %s", why);
    }
    loop_stop(o->loop);
}

static void ours_too_long(struct loop_timer *timer, void *user)
{
    (void)timer;
    ours_end(user, ERR_TIMEOUT, "no end in sight");
}

static void ours_lost(struct net_peer *peer, enum err why, const char *text, void *user)
{
    struct ours *o = user;

    (void)peer;
    o->peer = NULL;
    ours_end(o, why, text);
}

static void ours_connect_failed(struct net_peer *peer, enum err why, const char *text, void *user)
{
    (void)peer;
    ours_end(user, why, text);
}

/* Send as much of the stream as the session takes. */
static void ours_pump(struct ours *o)
{
    while (o->sent < o->stream.frames) {
        struct wire_header header = {
            .version = WIRE_VERSION_MAX,
            .type = WIRE_ROWS_PUSH,
            .body_bytes = o->stream.frame_bytes - WIRE_HEADER_BYTES,
            .chunk = 1,
            .clock = o->sent + 1 == o->stream.frames ? 1 : 0, /* The last one is answered. */
            .weight = 1,
        };
        struct buf *body = o->body == NULL ? NULL : buf_ref(o->body);

        /* As for a fresh chunk: what is sent is hashed each time. */
        header.body_check =
            hash_bytes(body == NULL ? "" : (const char *)buf_bytes(body), header.body_bytes);
        if (net_peer_send(o->peer, NET_DATA, &header, body) != OK) {
            buf_unref(body);
            return;
        }
        o->sent++;
    }
}

static enum err ours_send_small(struct net_peer *peer)
{
    struct wire_header header = {.version = WIRE_VERSION_MAX, .type = WIRE_CONTROL};

    header.body_check = hash_bytes("", 0);
    return net_peer_send(peer, NET_CONTROL, &header, NULL);
}

static void ours_client_up(struct net_peer *peer, bool restarted, void *user)
{
    struct ours *o = user;

    (void)restarted;
    o->cpu_ns = clock_cpu_ns();
    o->start_ns = clock_mono_ns();
    if (o->trips != NULL) {
        if (ours_send_small(peer) != OK) {
            ours_end(o, ERR_AGAIN, "the first frame was not taken");
        }
    } else {
        ours_pump(o);
    }
}

static void ours_client_writable(struct net_peer *peer, void *user)
{
    (void)peer;
    ours_pump(user);
}

static enum err ours_client_frame(struct net_peer *peer, const struct net_frame *frame, void *user)
{
    struct ours *o = user;
    int64_t now_ns = clock_mono_ns();

    (void)frame;
    if (o->trips == NULL) {
        o->end_ns = now_ns;
        o->cpu_ns = clock_cpu_ns() - o->cpu_ns;
        net_peer_close(peer, "done");
        return OK;
    }
    if (o->trips_done >= OURS_WARM_TRIPS) {
        o->trips[o->trips_done - OURS_WARM_TRIPS] = now_ns - o->start_ns;
    }
    if (++o->trips_done == o->trips_count + OURS_WARM_TRIPS) {
        net_peer_close(peer, "done");
        return OK;
    }
    o->start_ns = clock_mono_ns();
    return ours_send_small(peer);
}

static void ours_server_up(struct net_peer *peer, bool restarted, void *user)
{
    struct ours *o = user;

    (void)restarted;
    o->peer = peer;
}

static enum err ours_server_frame(struct net_peer *peer, const struct net_frame *frame, void *user)
{
    (void)user;
    if (frame->header.type == WIRE_CONTROL || frame->header.clock == 1) {
        return ours_send_small(peer);
    }
    return OK;
}

static const struct net_endpoint_events ours_client_events = {
    .up = ours_client_up,
    .frame = ours_client_frame,
    .writable = ours_client_writable,
    .connect_failed = ours_connect_failed,
    .lost = ours_lost,
};

static const struct net_endpoint_events ours_server_events = {
    .up = ours_server_up,
    .frame = ours_server_frame,
    .lost = ours_lost,
};

static enum err ours_open_tls(struct ours *o, const char *name)
{
    char cert[BENCH_PATH_BYTES + 32], key[BENCH_PATH_BYTES + 32], ca[BENCH_PATH_BYTES + 32];
    struct net_tls_config config = {
        .cert_path = cert,
        .key_path = key,
        .ca_path = ca,
        .roles_accepted = WIRE_ROLE_WORKER,
        .roles_dialled = WIRE_ROLE_SERVER,
        .options = o->plain.options,
    };

    (void)snprintf(cert, sizeof(cert), "%s/%s.crt", o->way->dir, name);
    (void)snprintf(key, sizeof(key), "%s/%s.key", o->way->dir, name);
    (void)snprintf(ca, sizeof(ca), "%s/ca.crt", o->way->dir);
    return net_tls_transport_create(o->loop, &config, &o->tls, o->text);
}

static void ours_close(struct ours *o)
{
    buf_unref(o->body);
    net_endpoint_destroy(o->endpoint);
    net_tls_transport_destroy(o->tls);
    loop_timer_deinit(&o->limit);
    obs_registry_destroy(o->registry);
    buf_pool_destroy(o->pool);
    loop_destroy(o->loop);
}

static enum err ours_open(struct ours *o, bool server)
{
    struct net_socket_options options = {0};
    struct net_endpoint_config config = {
        .unlimited = true, /* Its small frames are control, so that they overtake large ones. */
        .insecure = o->way->scheme != NET_SCHEME_TLS,
        .incarnation = 1,
        .seed = 1,
        .events = server ? &ours_server_events : &ours_client_events,
        .user = o,
    };
    const char *name = server ? "s1" : "w1";
    enum err rc = loop_create(&o->loop);

    memcpy(options.congestion, o->way->congestion, sizeof(options.congestion));
    if (rc == OK) {
        rc = buf_pool_create(OURS_POOL_BYTES, &o->pool);
    }
    if (rc == OK) {
        rc = obs_registry_create(OURS_SERIES, &o->registry);
    }
    if (rc == OK) {
        rc = loop_timer_init(&o->limit, o->loop, ours_too_long, o);
    }
    if (rc == OK) {
        rc = pki_identity_make(server ? WIRE_ROLE_SERVER : WIRE_ROLE_WORKER, "bench", name,
                               &config.identity, o->text);
    }
    if (rc == OK) {
        net_socket_transport_init(&o->plain, o->loop, &options);
        rc = o->way->scheme == NET_SCHEME_TLS ? ours_open_tls(o, name) : OK;
    }
    if (rc == OK) {
        loop_timer_start_in(&o->limit, (int64_t)OURS_LIMIT_S * 1000000000);
        config.loop = o->loop;
        config.pool = o->pool;
        config.registry = o->registry;
        rc = net_endpoint_create(&config, &o->endpoint);
    }
    return rc;
}

static struct net_transport *ours_transport(struct ours *o)
{
    return o->tls != NULL ? net_tls_transport_base(o->tls) : &o->plain.base;
}

/* The server's process: say where we listen, serve one session. */
static int ours_serve(const struct bench_way *way, int port_fd)
{
    struct err_text text = {0};
    struct ours o = {.way = way, .text = &text};
    struct net_address at = {.scheme = way->scheme, .host = "127.0.0.1", .port = "0"};
    struct net_address bound;
    enum err rc = ours_open(&o, true);

    if (way->scheme == NET_SCHEME_UNIX) {
        (void)snprintf(at.host, sizeof(at.host), "%.90s/bench.sock", way->dir);
        at.port[0] = '\0';
    }
    if (rc == OK) {
        rc = net_endpoint_listen(o.endpoint, ours_transport(&o), &at, &bound, &text);
    }
    if (rc == OK && write(port_fd, &bound, sizeof(bound)) == (ssize_t)sizeof(bound)) {
        loop_run(o.loop);
        rc = o.rc;
    }
    (void)close(port_fd);
    ours_close(&o);
    return rc == OK ? 0 : 1;
}

/* Fork a server and learn its address. */
static enum err ours_fork(const struct bench_way *way, struct net_address *address_out,
                          pid_t *child_out)
{
    int fds[2];
    ssize_t n;

    if (pipe(fds) != 0) {
        return ERR_IO;
    }
    *child_out = fork();
    if (*child_out == 0) {
        (void)close(fds[0]);
        _exit(ours_serve(way, fds[1]));
    }
    (void)close(fds[1]);
    n = *child_out < 0 ? -1 : read(fds[0], address_out, sizeof(*address_out));
    (void)close(fds[0]);
    return n == (ssize_t)sizeof(*address_out) ? OK : ERR_IO;
}

/* Run the client against a fresh server; the child's processor time goes to @child_ns_out. */
static enum err ours_run(struct ours *o, int64_t *child_ns_out)
{
    struct net_address address;
    struct rusage usage = {0};
    pid_t child = -1;
    int status = 1;
    enum err rc = ours_fork(o->way, &address, &child);

    if (rc != OK) {
        (void)err_text_set(o->text, rc, "session: the server process did not start");
    }
    if (rc == OK) {
        rc = ours_open(o, false);
    }
    if (rc == OK && o->stream.frame_bytes > WIRE_HEADER_BYTES) {
        rc = buf_take(o->pool, 0, o->stream.frame_bytes - WIRE_HEADER_BYTES, &o->body);
    }
    if (rc == OK) {
        if (o->body != NULL) {
            memset(buf_append(o->body, o->stream.frame_bytes - WIRE_HEADER_BYTES), 1,
                   o->stream.frame_bytes - WIRE_HEADER_BYTES);
        }
        rc = net_endpoint_dial(o->endpoint, ours_transport(o), &address, 1, &o->peer);
    }
    if (rc == OK) {
        loop_run(o->loop);
        rc = o->rc;
    } else if (child > 0) {
        (void)kill(child, SIGKILL);
    }
    ours_close(o);
    if (child > 0 && (wait4(child, &status, 0, &usage) != child || status != 0) && rc == OK) {
        rc = err_text_set(o->text, ERR_IO, "session: the server process failed");
    }
    *child_ns_out = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * INT64_C(1000000000) +
                    (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * INT64_C(1000);
    return rc;
}

enum err bench_ours_stream(const struct bench_way *way, const struct bench_stream *stream,
                           struct bench_stream_result *out, struct err_text *text)
{
    struct ours o = {.way = way, .text = text, .stream = *stream};
    int64_t child_ns;
    enum err rc = ours_run(&o, &child_ns);

    if (rc == OK) {
        out->wall_ns = o.end_ns - o.start_ns;
        out->cpu_ns = o.cpu_ns + child_ns;
    }
    return rc;
}

enum err bench_ours_trips(const struct bench_way *way, uint32_t count,
                          struct bench_trip_result *out, struct err_text *text)
{
    struct ours o = {.way = way, .text = text, .trips_count = count};
    int64_t child_ns;
    enum err rc;

    o.trips = mem_calloc(count, sizeof(*o.trips));
    if (o.trips == NULL) {
        return ERR_NOMEM;
    }
    rc = ours_run(&o, &child_ns);
    if (rc == OK) {
        out->p50_ns = bench_quantile(o.trips, count, 500000);
        out->p99_ns = bench_quantile(o.trips, count, 990000);
    }
    mem_free(o.trips);
    return rc;
}
