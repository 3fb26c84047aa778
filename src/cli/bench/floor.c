/* The floor: bare blocking sockets, one process a side, nothing but the bytes. */

#include "base/limits.h"
#include "base/mem.h"
#include "cli/bench/bench.h"
#include "loop/clock.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    FLOOR_BATCH_BYTES = 64 * 1024, /* Small frames are written and read so many bytes at a time. */
    FLOOR_WARM_TRIPS = 1000,
};

static bool floor_write(int fd, const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        ssize_t n = send(fd, bytes, size, MSG_NOSIGNAL);

        if (n <= 0) {
            return false;
        }
        bytes += n;
        size -= (size_t)n;
    }
    return true;
}

static bool floor_read(int fd, uint8_t *bytes, size_t size)
{
    while (size > 0) {
        ssize_t n = recv(fd, bytes, size, MSG_WAITALL);

        if (n <= 0) {
            return false;
        }
        bytes += n;
        size -= (size_t)n;
    }
    return true;
}

static void floor_tune(int fd, const struct bench_way *way)
{
    const int one = 1;

    if (way->scheme != NET_SCHEME_UNIX) {
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        if (way->congestion[0] != '\0') {
            (void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, way->congestion,
                             (socklen_t)strlen(way->congestion));
        }
    }
}

/* A connected pair: @fds_out[0] for the client, [1] for the server. */
static enum err floor_pair_tcp(const struct bench_way *way, int fds_out[2])
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int server = -1;

    if (listener >= 0 && client >= 0) {
        floor_tune(client, way);
        if (bind(listener, (struct sockaddr *)&at, size) == 0 && listen(listener, 1) == 0 &&
            getsockname(listener, (struct sockaddr *)&at, &size) == 0 &&
            connect(client, (struct sockaddr *)&at, size) == 0) {
            server = accept(listener, NULL, NULL);
        }
    }
    if (listener >= 0) {
        (void)close(listener);
    }
    if (server < 0) {
        if (client >= 0) {
            (void)close(client);
        }
        return ERR_IO;
    }
    floor_tune(server, way);
    fds_out[0] = client;
    fds_out[1] = server;
    return OK;
}

static enum err floor_pair(const struct bench_way *way, int fds_out[2])
{
    if (way->scheme == NET_SCHEME_UNIX) {
        return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds_out) == 0 ? OK : ERR_IO;
    }
    return floor_pair_tcp(way, fds_out);
}

static size_t floor_piece(const struct bench_stream *stream)
{
    return stream->frame_bytes >= FLOOR_BATCH_BYTES / 2
               ? stream->frame_bytes
               : FLOOR_BATCH_BYTES / stream->frame_bytes * stream->frame_bytes;
}

/* Read everything, then say so with one frame. */
static int floor_sink(int fd, const struct bench_stream *stream, uint8_t *buffer)
{
    uint64_t left = stream->frames * stream->frame_bytes;
    size_t piece = floor_piece(stream);

    while (left > 0) {
        size_t n = left < piece ? (size_t)left : piece;

        if (!floor_read(fd, buffer, n)) {
            return 1;
        }
        left -= n;
    }
    return floor_write(fd, buffer, LIMIT_FRAME_HEADER_BYTES) ? 0 : 1;
}

static bool floor_source(int fd, const struct bench_stream *stream, uint8_t *buffer)
{
    uint64_t left = stream->frames * stream->frame_bytes;
    size_t piece = floor_piece(stream);

    while (left > 0) {
        size_t n = left < piece ? (size_t)left : piece;

        if (!floor_write(fd, buffer, n)) {
            return false;
        }
        left -= n;
    }
    return floor_read(fd, buffer, LIMIT_FRAME_HEADER_BYTES);
}

/* Wait for the child and return the processor time it used, or -1. */
static int64_t floor_reap(pid_t child)
{
    struct rusage usage = {0};
    int status;

    if (wait4(child, &status, 0, &usage) != child || status != 0) {
        return -1;
    }
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * INT64_C(1000000000) +
           (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * INT64_C(1000);
}

static enum err floor_run_stream(int fds[2], const struct bench_stream *stream, uint8_t *buffer,
                                 struct bench_stream_result *out)
{
    int64_t start_ns, cpu_ns, child_ns;
    bool good;
    pid_t child = fork();

    if (child < 0) {
        return ERR_IO;
    }
    if (child == 0) {
        (void)close(fds[0]);
        _exit(floor_sink(fds[1], stream, buffer));
    }
    (void)close(fds[1]);
    fds[1] = -1;
    cpu_ns = clock_cpu_ns();
    start_ns = clock_mono_ns();
    good = floor_source(fds[0], stream, buffer);
    out->wall_ns = clock_mono_ns() - start_ns;
    cpu_ns = clock_cpu_ns() - cpu_ns;
    child_ns = floor_reap(child);
    out->cpu_ns = cpu_ns + child_ns;
    return good && child_ns >= 0 ? OK : ERR_IO;
}

static void floor_close(int fds[2])
{
    for (int i = 0; i < 2; i++) {
        if (fds[i] >= 0) {
            (void)close(fds[i]);
        }
    }
}

enum err bench_floor_stream(const struct bench_way *way, const struct bench_stream *stream,
                            struct bench_stream_result *out, struct err_text *text)
{
    uint8_t *buffer = mem_zalloc(floor_piece(stream));
    int fds[2] = {-1, -1};
    enum err rc = buffer == NULL ? ERR_NOMEM : floor_pair(way, fds);

    if (rc == OK) {
        memset(buffer, 1, floor_piece(stream)); /* Pages that exist. */
        rc = floor_run_stream(fds, stream, buffer, out);
    }
    floor_close(fds);
    mem_free(buffer);
    return rc == OK ? OK : err_text_set(text, rc, "bare sockets: %s", strerror(errno));
}

static int floor_mirror(int fd, uint32_t count)
{
    uint8_t frame[LIMIT_FRAME_HEADER_BYTES];

    for (uint32_t i = 0; i < count; i++) {
        if (!floor_read(fd, frame, sizeof(frame)) || !floor_write(fd, frame, sizeof(frame))) {
            return 1;
        }
    }
    return 0;
}

static bool floor_trips(int fd, uint32_t count, int64_t *trips)
{
    uint8_t frame[LIMIT_FRAME_HEADER_BYTES] = {1};

    for (uint32_t i = 0; i < count + FLOOR_WARM_TRIPS; i++) {
        int64_t start_ns = clock_mono_ns();

        if (!floor_write(fd, frame, sizeof(frame)) || !floor_read(fd, frame, sizeof(frame))) {
            return false;
        }
        if (i >= FLOOR_WARM_TRIPS) {
            trips[i - FLOOR_WARM_TRIPS] = clock_mono_ns() - start_ns;
        }
    }
    return true;
}

enum err bench_floor_trips(const struct bench_way *way, uint32_t count,
                           struct bench_trip_result *out, struct err_text *text)
{
    int64_t *trips = mem_calloc(count, sizeof(*trips));
    int fds[2] = {-1, -1};
    enum err rc = trips == NULL ? ERR_NOMEM : floor_pair(way, fds);
    pid_t child = rc == OK ? fork() : -1;

    if (rc == OK && child == 0) {
        (void)close(fds[0]);
        _exit(floor_mirror(fds[1], count + FLOOR_WARM_TRIPS));
    }
    if (rc == OK && child > 0) {
        (void)close(fds[1]);
        fds[1] = -1;
        rc = floor_trips(fds[0], count, trips) ? OK : ERR_IO;
        floor_close(fds);
        fds[0] = -1;
        rc = floor_reap(child) < 0 ? ERR_IO : rc;
    } else if (rc == OK) {
        rc = ERR_IO;
    }
    if (rc == OK) {
        out->p50_ns = bench_quantile(trips, count, 500000);
        out->p99_ns = bench_quantile(trips, count, 990000);
    }
    floor_close(fds);
    mem_free(trips);
    return rc == OK ? OK : err_text_set(text, rc, "bare sockets: %s", strerror(errno));
}
