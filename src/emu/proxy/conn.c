/* One connection: from its opening to its end, and the bytes of both directions. */

#include "base/log.h"
#include "base/mem.h"
#include "emu/proxy/state.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONN_FRAGMENTS_PER_TURN = 256 };

static struct emu_pipe *half_pipe(const struct emu_half *half)
{
    return half->conn->proxy->pipes[half->way];
}

static int64_t conn_now_ns(const struct emu_conn *conn)
{
    return loop_now_ns(conn->proxy->loop);
}

/* What is waited for. */

void emu_conn_touch(struct emu_conn *conn)
{
    if (list_empty(&conn->touched)) {
        list_push_back(&conn->proxy->touched, &conn->touched);
    }
    emu_proxy_pump(conn->proxy);
}

void emu_conn_watch(struct emu_conn *conn)
{
    for (uint32_t i = 0; i < 2; i++) {
        const struct emu_half *out = &conn->halves[i], *in = &conn->halves[1 - i];
        int events = 0;

        if (conn->ends[i].poll == NULL) {
            continue;
        }
        if (out->open && !out->ended && !emu_flow_wants(&out->flow)) {
            events |= LOOP_READABLE;
        }
        if (emu_flow_blocked(&in->flow)) {
            events |= LOOP_WRITABLE;
        }
        loop_poll_want(conn->ends[i].poll, events);
    }
}

static void conn_ready(struct emu_conn *conn, uint32_t end, int events)
{
    struct emu_half *out = &conn->halves[end], *in = &conn->halves[1 - end];
    int64_t now_ns = conn_now_ns(conn);

    if (events & LOOP_READABLE) {
        emu_flow_want(half_pipe(out), &out->flow, now_ns);
    }
    if (events & LOOP_WRITABLE) {
        emu_flow_unblock(half_pipe(in), &in->flow, now_ns);
    }
    emu_conn_touch(conn);
}

static void conn_ready_client(int events, void *user)
{
    conn_ready(user, 0, events);
}

static void conn_ready_target(int events, void *user)
{
    conn_ready(user, 1, events);
}

/* Beginning and end. */

void emu_conn_destroy(struct emu_conn *conn, bool abort)
{
    struct emu_proxy *proxy = conn->proxy;

    net_dialer_cancel(conn->dialer);
    for (uint32_t i = 0; i < 2; i++) {
        struct emu_half *half = &conn->halves[i];

        emu_flow_remove(half_pipe(half), &half->flow);
        emu_queue_clear(&half->queue, &proxy->blocks);
        loop_poll_destroy(conn->ends[i].poll);
        if (conn->ends[i].fd >= 0) {
            net_socket_close(conn->ends[i].fd, abort);
        }
    }
    list_remove(&conn->link);
    list_remove(&conn->touched);
    proxy->conns_count--;
    mem_free(conn);
    emu_proxy_pump(proxy);
}

static enum err conn_open(struct emu_conn *conn)
{
    enum err rc = OK;

    for (uint32_t i = 0; i < 2 && rc == OK; i++) {
        rc = emu_flow_add(half_pipe(&conn->halves[i]), &conn->halves[i].flow, 0, &conn->halves[i]);
    }
    if (rc == OK) {
        rc = loop_poll_create(conn->proxy->loop, conn->ends[0].fd, conn_ready_client, conn,
                              &conn->ends[0].poll);
    }
    return rc;
}

void emu_conn_accepted(struct emu_proxy *proxy, const struct emu_route *route, int fd)
{
    struct emu_conn *conn = mem_zalloc(sizeof(*conn));

    proxy->conns_total++;
    if (conn == NULL) {
        net_socket_close(fd, true);
        return;
    }
    conn->proxy = proxy;
    conn->route = route;
    conn->armed = proxy->resetting;
    conn->ends[0].fd = fd;
    conn->ends[1].fd = -1;
    for (uint32_t i = 0; i < 2; i++) {
        conn->halves[i].conn = conn;
        conn->halves[i].from = i;
        conn->halves[i].way = i == 0 ? route->way : 1 - route->way;
    }
    list_init(&conn->touched);
    list_init(&conn->link);
    list_push_back(&proxy->conns, &conn->link);
    proxy->conns_count++;
    if (conn_open(conn) != OK) {
        emu_conn_destroy(conn, true);
        return;
    }
    emu_flow_mark(half_pipe(&conn->halves[0]), &conn->halves[0].flow, EMU_OPEN, conn_now_ns(conn));
    emu_proxy_pump(proxy);
}

static void conn_mark(struct emu_half *half, enum emu_kind kind)
{
    emu_flow_mark(half_pipe(half), &half->flow, kind, conn_now_ns(half->conn));
    emu_conn_touch(half->conn);
}

/* One socket was reset, or never came to be: the other one will hear of it in due course. */
static void conn_lost(struct emu_conn *conn, uint32_t end)
{
    if (!conn->ends[end].dead) {
        conn->ends[end].dead = true;
        conn->halves[end].ended = true;
        conn_mark(&conn->halves[end], EMU_RESET);
    }
}

static void conn_dialled(enum err rc, int fd, const char *why, void *user)
{
    struct emu_conn *conn = user;
    char target[NET_ADDRESS_BYTES];

    conn->dialer = NULL;
    if (rc != OK) {
        LOG_WRN("emu", "cannot reach %s: %s; its client is reset",
                net_address_format(&conn->route->target, target), why);
        conn->proxy->missed++;
        conn_lost(conn, 1);
        return;
    }
    conn->ends[1].fd = fd;
    if (loop_poll_create(conn->proxy->loop, fd, conn_ready_target, conn, &conn->ends[1].poll) !=
        OK) {
        emu_conn_destroy(conn, true);
        return;
    }
    conn->halves[1].open = true;
    conn_mark(&conn->halves[1], EMU_OPEN);
}

/* The packet that opens it has come to the other end. */
static void conn_opened(struct emu_half *half)
{
    struct emu_conn *conn = half->conn;
    const struct net_socket_options options = emu_proxy_tuning(conn->proxy, conn->halves[1].way);

    if (half->from == 1) {
        conn->halves[0].open = true;
        emu_conn_touch(conn);
    } else if (net_dialer_start(conn->proxy->loop, &conn->route->target, &options, conn_dialled,
                                conn, &conn->dialer) != OK) {
        conn->proxy->missed++;
        conn_lost(conn, 1);
    }
}

/* Reading. */

void emu_half_read(struct emu_half *half, uint32_t bytes)
{
    struct emu_conn *conn = half->conn;
    struct emu_proxy *proxy = conn->proxy;
    struct iovec iov[EMU_QUEUE_IOV_MAX];
    int count, error;
    ssize_t n;

    emu_conn_touch(conn);
    if (emu_queue_reserve(&half->queue, &proxy->blocks, bytes, iov, &count) != OK) {
        emu_flow_sent(half_pipe(half), &half->flow, 0, true, conn_now_ns(conn));
        return;
    }
    do {
        n = readv(conn->ends[half->from].fd, iov, count);
    } while (n < 0 && errno == EINTR);
    error = errno;
    emu_queue_commit(&half->queue, &proxy->blocks, n > 0 ? (uint32_t)n : 0);
    if (n > 0) {
        emu_faults_piece(half, (uint32_t)n);
    }
    emu_flow_sent(half_pipe(half), &half->flow, n > 0 ? (uint32_t)n : 0, n == (ssize_t)bytes,
                  conn_now_ns(conn));
    if (n == 0) {
        half->ended = true;
        conn_mark(half, EMU_FIN);
    } else if (n < 0 && error != EAGAIN) {
        conn_lost(conn, half->from);
    }
}

/* Writing. */

/* Write what is due; returns how much was taken. An error is told by *@rc_out. */
static uint64_t half_write(struct emu_half *half, uint64_t bytes, enum err *rc_out)
{
    struct emu_conn *conn = half->conn;
    struct iovec iov[EMU_QUEUE_IOV_MAX];
    uint64_t done = 0;

    *rc_out = OK;
    while (done < bytes) {
        struct msghdr message = {.msg_iov = iov};
        ssize_t n;

        message.msg_iovlen = (size_t)emu_queue_peek(&half->queue, bytes - done, iov);
        n = sendmsg(conn->ends[1 - half->from].fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            *rc_out = errno == EAGAIN ? ERR_AGAIN : ERR_CLOSED;
            break;
        }
        emu_queue_drop(&half->queue, &conn->proxy->blocks, (uint64_t)n);
        done += (uint64_t)n;
    }
    return done;
}

/* The same, byte by byte, and not many in one turn: others want to live too. */
static uint64_t half_write_fragments(struct emu_half *half, uint64_t bytes, enum err *rc_out)
{
    uint64_t done = 0;

    *rc_out = OK;
    while (done < bytes && *rc_out == OK && done < CONN_FRAGMENTS_PER_TURN) {
        done += half_write(half, 1, rc_out);
    }
    half->conn->proxy->fired[EMU_FAULT_FRAGMENTS] += done;
    if (*rc_out == OK && done < bytes) {
        *rc_out = ERR_AGAIN; /* The socket is writable: it goes on in the next turn. */
    }
    return done;
}

static void half_deliver(struct emu_half *half, uint64_t bytes)
{
    struct emu_conn *conn = half->conn;
    struct emu_proxy *proxy = conn->proxy;
    bool reset = conn->armed;
    enum err rc;
    uint64_t done;

    if (reset) {
        bytes = 1 + 2 * rng_below(&proxy->rng, (bytes + 1) / 2);
    }
    done = proxy->faults[half->way].fragments ? half_write_fragments(half, bytes, &rc)
                                              : half_write(half, bytes, &rc);
    if (rc == ERR_CLOSED) {
        conn_lost(conn, 1 - half->from);
    }
    emu_flow_taken(half_pipe(half), &half->flow, done, rc == ERR_AGAIN, conn_now_ns(conn));
    emu_conn_touch(conn);
    if (reset && done > 0) {
        proxy->fired[EMU_FAULT_RESET]++;
        emu_conn_destroy(conn, true);
    }
}

/* To a socket that is gone. */
static void half_discard(struct emu_half *half, uint64_t bytes)
{
    struct emu_proxy *proxy = half->conn->proxy;

    emu_queue_drop(&half->queue, &proxy->blocks, bytes);
    proxy->dropped_bytes[half->way] += bytes;
    emu_flow_taken(half_pipe(half), &half->flow, bytes, false, conn_now_ns(half->conn));
    emu_conn_touch(half->conn);
}

static void half_finish(struct emu_half *half)
{
    struct emu_conn *conn = half->conn;

    half->closed = true;
    if (conn->halves[1 - half->from].closed) {
        emu_conn_destroy(conn, false);
    } else if (!conn->ends[1 - half->from].dead) {
        (void)shutdown(conn->ends[1 - half->from].fd, SHUT_WR);
    }
}

void emu_half_arrived(struct emu_half *half, const struct emu_arrival *arrival)
{
    switch (arrival->kind) {
    case EMU_OPEN:
        conn_opened(half);
        break;
    case EMU_DATA:
        if (half->conn->ends[1 - half->from].dead) {
            half_discard(half, arrival->bytes);
        } else {
            half_deliver(half, arrival->bytes);
        }
        break;
    case EMU_FIN:
        half_finish(half);
        break;
    case EMU_RESET:
        emu_conn_destroy(half->conn, true);
        break;
    }
}
