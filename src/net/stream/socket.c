/* The descriptor itself: options, facts from the kernel, closing. */

#include "net/stream/socket.h"

#include "base/log.h"
#include "net/stream/socket_fd.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* The kernel's tcp_info as far as we read it; libc's header ends before the fields that matter. */
struct net_tcp_info {
    uint8_t state[8];
    uint32_t words_before_heard[11];
    uint32_t last_data_recv_ms;
    uint32_t words_before_rtt[3];
    uint32_t rtt_us;
    uint32_t words_before_pacing[8];
    uint64_t pacing_rate;
    uint64_t max_pacing_rate;
    uint64_t bytes_acked;
    uint64_t bytes_received;
    uint32_t segs_out;
    uint32_t segs_in;
    uint32_t notsent_bytes;
    uint32_t min_rtt;
    uint32_t data_segs_in;
    uint32_t data_segs_out;
    uint64_t delivery_rate;
};

_Static_assert(offsetof(struct net_tcp_info, last_data_recv_ms) == 52, "as in linux/tcp.h");
_Static_assert(offsetof(struct net_tcp_info, rtt_us) == 68, "as in linux/tcp.h");
_Static_assert(offsetof(struct net_tcp_info, bytes_acked) == 120, "as in linux/tcp.h");
_Static_assert(offsetof(struct net_tcp_info, delivery_rate) == 160, "as in linux/tcp.h");

enum err net_socket_err(int error)
{
    switch (error) {
    case EAGAIN:
    case EINTR:
        return ERR_AGAIN;
    case ECONNREFUSED:
    case ENETUNREACH:
    case EHOSTUNREACH:
    case EHOSTDOWN:
    case ENETDOWN:
    case EADDRNOTAVAIL:
    case ENOENT:
        return ERR_UNREACHABLE;
    case ETIMEDOUT:
        return ERR_TIMEOUT;
    case ENOMEM:
    case ENOBUFS:
        return ERR_NOMEM;
    case EMFILE:
    case ENFILE:
        return ERR_IO;
    default:
        return ERR_CLOSED;
    }
}

static void net_socket_set(int fd, int level, int option, uint32_t value, const char *what)
{
    if (value != 0 && setsockopt(fd, level, option, &value, sizeof(value)) != 0) {
        LOG_WRN("net", "%s %u not set: %s", what, value, strerror(errno));
    }
}

void net_socket_tune(int fd, bool tcp, const struct net_socket_options *options)
{
    net_socket_set(fd, SOL_SOCKET, SO_SNDBUF, options->send_buffer_bytes, "send buffer");
    net_socket_set(fd, SOL_SOCKET, SO_RCVBUF, options->receive_buffer_bytes, "receive buffer");
    if (!tcp) {
        return;
    }
    net_socket_set(fd, IPPROTO_TCP, TCP_NODELAY, 1, "nodelay");
    net_socket_set(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, options->unsent_bytes_max, "unsent limit");
    if (options->congestion[0] != '\0' &&
        setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, options->congestion,
                   (socklen_t)strlen(options->congestion)) != 0) {
        LOG_WRN("net", "congestion control '%s' not set: %s", options->congestion, strerror(errno));
    }
    if (options->pacing_bytes_per_s != 0) {
        (void)net_socket_pace(fd, options->pacing_bytes_per_s);
    }
}

enum err net_socket_pace(int fd, uint64_t bytes_per_s)
{
    uint64_t rate = bytes_per_s == 0 ? UINT64_MAX : bytes_per_s;
    int domain = 0;
    socklen_t size = sizeof(domain);

    /* A unix socket takes the option, and takes no notice of it. */
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 ||
        (domain == AF_UNIX && bytes_per_s != 0)) {
        return ERR_INVALID;
    }
    if (setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof(rate)) != 0) {
        return ERR_INVALID;
    }
    return OK;
}

void net_socket_info(int fd, struct net_stream_info *out)
{
    struct net_tcp_info info = {0};
    socklen_t size = sizeof(info);
    int unsent = 0;

    *out = (struct net_stream_info){0};
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0) {
        out->rtt_ns = (int64_t)info.rtt_us * 1000;
        out->rtt_least_ns = (int64_t)info.min_rtt * 1000;
        out->delivery_bytes_per_s = info.delivery_rate;
        out->acked_bytes = info.bytes_acked;
        out->unsent_bytes = info.notsent_bytes;
        out->silent_ns = (int64_t)info.last_data_recv_ms * 1000000;
    } else if (ioctl(fd, SIOCOUTQ, &unsent) == 0) {
        out->unsent_bytes = (uint64_t)unsent;
    }
}

void net_socket_finish(int fd)
{
    (void)shutdown(fd, SHUT_WR);
}

void net_socket_close(int fd, bool abort)
{
    if (abort) {
        struct linger now = {.l_onoff = 1, .l_linger = 0};

        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    }
    (void)close(fd);
}

enum err net_socket_write(int fd, const struct iovec *iov, int count, size_t *done_out)
{
    struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)iov,
                             .msg_iovlen = (size_t)count};
    ssize_t n;

    do {
        n = count == 1 ? send(fd, iov->iov_base, iov->iov_len, MSG_NOSIGNAL | MSG_DONTWAIT)
                       : sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        return net_socket_err(errno);
    }
    *done_out = (size_t)n;
    return OK;
}

enum err net_socket_read(int fd, const struct iovec *iov, int count, size_t *done_out)
{
    ssize_t n;

    do {
        n = count == 1 ? recv(fd, iov->iov_base, iov->iov_len, MSG_DONTWAIT)
                       : readv(fd, iov, count);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        return net_socket_err(errno);
    }
    if (n == 0) {
        return ERR_CLOSED;
    }
    *done_out = (size_t)n;
    return OK;
}
