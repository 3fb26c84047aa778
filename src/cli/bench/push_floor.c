/* The floor of `strait bench push`: bare sockets, a process each, nothing but bytes and additions.
 *
 * A worker sends its update chunk by chunk to the servers in turn; a server adds the chunks of all
 * workers, the first becoming the sum, enters the sum in its values and sends it to all; a worker
 * enters it in its own. No header, no check, no acknowledgement, no memory of what was sent. */

#include "base/limits.h"
#include "base/mem.h"
#include "cli/bench/push.h"
#include "loop/clock.h"
#include "table/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct floor_plan {
    const struct bench_push *b;
    uint32_t chunks;
    int fds[BENCH_WORKERS_MAX][BENCH_SERVERS_MAX][2]; /* 0: worker's end, 1: server's. */
    pid_t servers[BENCH_SERVERS_MAX];
};

/* What a worker reports. */
struct floor_took {
    int64_t round_ns;
    int64_t cpu_ns;
};

/* A sum on its way to everybody. */
struct floor_sum {
    float *floats;
    uint32_t refs;
};

/* One connection: what comes in, what goes out. */
struct floor_pipe {
    int fd;
    uint32_t in_chunk; /* Of the round, counted on this connection. */
    size_t in_bytes;
    float *in;
    struct floor_sum **out; /* A ring of chunks to send. */
    uint32_t out_first, out_count;
    size_t out_bytes;
    bool over; /* The other end is done. */
};

static uint32_t floor_elements(const struct floor_plan *p, uint32_t chunk)
{
    uint64_t first = (uint64_t)chunk * LIMIT_CHUNK_ELEMENTS;
    uint64_t left = p->b->elements - first;

    return left < LIMIT_CHUNK_ELEMENTS ? (uint32_t)left : LIMIT_CHUNK_ELEMENTS;
}

/* How many chunks a server has; its i-th is chunk i * servers + server. */
static uint32_t floor_share(const struct floor_plan *p, uint32_t server)
{
    return (p->chunks - server + p->b->servers - 1) / p->b->servers;
}

static void *floor_room(size_t bytes)
{
    void *room = mem_zalloc(bytes);

    if (room == NULL) {
        _exit(1);
    }
    memset(room, 0, bytes);
    return room;
}

/* Move what can be moved; true if something was. */
static bool floor_receive(struct floor_pipe *c, size_t want)
{
    ssize_t n = recv(c->fd, (uint8_t *)c->in + c->in_bytes, want - c->in_bytes, 0);

    if (n < 0 && errno != EAGAIN) {
        _exit(0);
    }
    c->over = n == 0;
    c->in_bytes += n > 0 ? (size_t)n : 0;
    return n > 0;
}

static bool floor_transmit(int fd, const void *bytes, size_t size, size_t *done)
{
    ssize_t n = send(fd, (const uint8_t *)bytes + *done, size - *done, MSG_NOSIGNAL);

    if (n < 0 && errno != EAGAIN) {
        _exit(0);
    }
    *done += n > 0 ? (size_t)n : 0;
    return n > 0;
}

/* The server's process. */

struct floor_server {
    const struct floor_plan *plan;
    uint32_t number;
    uint32_t share;
    struct floor_pipe pipes[BENCH_WORKERS_MAX];
    float *values;
    float **sums; /* By own chunk: the sum so far. */
    uint32_t *counts;
    float **spare;
    uint32_t spare_count;
};

static float *floor_take(struct floor_server *s)
{
    return s->spare_count > 0 ? s->spare[--s->spare_count] : floor_room(LIMIT_CHUNK_BYTES);
}

static void floor_sum_done(struct floor_server *s, uint32_t own, uint32_t elements)
{
    struct floor_sum *sum = floor_room(sizeof(*sum));

    sum->floats = s->sums[own];
    sum->refs = s->plan->b->workers;
    table_add(s->values + (size_t)own * LIMIT_CHUNK_ELEMENTS, sum->floats, elements);
    for (uint32_t w = 0; w < s->plan->b->workers; w++) {
        struct floor_pipe *c = &s->pipes[w];

        c->out[(c->out_first + c->out_count++) % s->share] = sum;
    }
    s->sums[own] = NULL;
    s->counts[own] = 0;
}

static void floor_server_in(struct floor_server *s, struct floor_pipe *c)
{
    for (;;) {
        uint32_t own = c->in_chunk;
        uint32_t elements = floor_elements(s->plan, own * s->plan->b->servers + s->number);

        if (!floor_receive(c, elements * sizeof(float))) {
            return;
        }
        if (c->in_bytes < elements * sizeof(float)) {
            continue;
        }
        if (s->counts[own]++ == 0) {
            s->sums[own] = c->in;
            c->in = floor_take(s);
        } else {
            table_add(s->sums[own], c->in, elements);
        }
        if (s->counts[own] == s->plan->b->workers) {
            floor_sum_done(s, own, elements);
        }
        c->in_bytes = 0;
        c->in_chunk = (own + 1) % s->share;
    }
}

static void floor_server_out(struct floor_server *s, struct floor_pipe *c, uint32_t *position)
{
    while (c->out_count > 0) {
        struct floor_sum *sum = c->out[c->out_first % s->share];
        size_t bytes =
            floor_elements(s->plan, *position * s->plan->b->servers + s->number) * sizeof(float);

        if (!floor_transmit(c->fd, sum->floats, bytes, &c->out_bytes)) {
            return;
        }
        if (c->out_bytes == bytes) {
            c->out_bytes = 0;
            c->out_first++;
            c->out_count--;
            *position = (*position + 1) % s->share;
            if (--sum->refs == 0) {
                s->spare[s->spare_count++] = sum->floats;
                mem_free(sum);
            }
        }
    }
}

static void floor_serve(const struct floor_plan *p, uint32_t number)
{
    struct floor_server s = {.plan = p, .number = number, .share = floor_share(p, number)};
    struct pollfd polls[BENCH_WORKERS_MAX];
    uint32_t positions[BENCH_WORKERS_MAX] = {0};
    uint32_t n = p->b->workers;

    s.values = floor_room((size_t)s.share * LIMIT_CHUNK_BYTES);
    s.sums = floor_room(s.share * sizeof(*s.sums));
    s.counts = floor_room(s.share * sizeof(*s.counts));
    s.spare = floor_room(((size_t)s.share + 2) * 2 * (n + 1) * sizeof(*s.spare));
    for (uint32_t w = 0; w < n; w++) {
        s.pipes[w] = (struct floor_pipe){.fd = p->fds[w][number][1],
                                         .in = floor_room(LIMIT_CHUNK_BYTES),
                                         .out = floor_room(s.share * sizeof(void *))};
    }
    for (uint32_t over = 0; over < n;) {
        for (uint32_t w = 0; w < n; w++) {
            polls[w] = (struct pollfd){
                .fd = s.pipes[w].over ? -1 : s.pipes[w].fd,
                .events = (short)(POLLIN | (s.pipes[w].out_count > 0 ? POLLOUT : 0))};
        }
        (void)poll(polls, n, -1);
        for (uint32_t w = 0; w < n; w++) {
            if ((polls[w].revents & (POLLIN | POLLHUP)) != 0) {
                floor_server_in(&s, &s.pipes[w]);
            }
        }
        over = 0;
        for (uint32_t w = 0; w < n; w++) {
            floor_server_out(&s, &s.pipes[w], &positions[w]);
            over += s.pipes[w].over;
        }
    }
    _exit(0);
}

/* The worker's process. */

struct floor_worker {
    const struct floor_plan *plan;
    float *update;
    float *values;
    struct floor_pipe pipes[BENCH_SERVERS_MAX];
    uint32_t sent[BENCH_SERVERS_MAX]; /* Chunks of this round. */
};

static void floor_worker_out(struct floor_worker *w, uint32_t server)
{
    struct floor_pipe *c = &w->pipes[server];
    uint32_t share = floor_share(w->plan, server);

    while (w->sent[server] < share) {
        uint32_t chunk = w->sent[server] * w->plan->b->servers + server;
        size_t bytes = floor_elements(w->plan, chunk) * sizeof(float);

        if (!floor_transmit(c->fd, w->update + (size_t)chunk * LIMIT_CHUNK_ELEMENTS, bytes,
                            &c->out_bytes)) {
            return;
        }
        if (c->out_bytes == bytes) {
            c->out_bytes = 0;
            w->sent[server]++;
        }
    }
}

static void floor_worker_in(struct floor_worker *w, uint32_t server)
{
    struct floor_pipe *c = &w->pipes[server];

    while (c->in_chunk < floor_share(w->plan, server)) {
        uint32_t chunk = c->in_chunk * w->plan->b->servers + server;
        uint32_t elements = floor_elements(w->plan, chunk);

        if (!floor_receive(c, elements * sizeof(float))) {
            return;
        }
        if (c->in_bytes == elements * sizeof(float)) {
            table_add(w->values + (size_t)chunk * LIMIT_CHUNK_ELEMENTS, c->in, elements);
            c->in_bytes = 0;
            c->in_chunk++;
        }
    }
}

static void floor_worker_round(struct floor_worker *w)
{
    uint32_t servers = w->plan->b->servers;
    bool done = false;

    for (uint32_t s = 0; s < servers; s++) {
        w->sent[s] = 0;
        w->pipes[s].in_chunk = 0;
    }
    while (!done) {
        struct pollfd polls[BENCH_SERVERS_MAX];

        done = true;
        for (uint32_t s = 0; s < servers; s++) {
            floor_worker_out(w, s);
            floor_worker_in(w, s);
            polls[s] = (struct pollfd){
                .fd = w->pipes[s].fd,
                .events = (short)(POLLIN | (w->sent[s] < floor_share(w->plan, s) ? POLLOUT : 0))};
            done = done && w->pipes[s].in_chunk == floor_share(w->plan, s);
        }
        if (!done) {
            (void)poll(polls, servers, -1);
        }
    }
}

/* What this worker has used so far, and worker 0 also what all servers have. */
static int64_t floor_cpu(const struct floor_plan *p, uint32_t number)
{
    int64_t ns = clock_cpu_ns();

    for (uint32_t s = 0; number == 0 && s < p->b->servers; s++) {
        ns += clock_cpu_of_ns(p->servers[s]);
    }
    return ns;
}

static void floor_work(const struct floor_plan *p, uint32_t number, int report)
{
    struct floor_worker w = {.plan = p};
    struct floor_took took = {0};

    w.update = floor_room((size_t)p->chunks * LIMIT_CHUNK_BYTES);
    w.values = floor_room((size_t)p->chunks * LIMIT_CHUNK_BYTES);
    for (uint32_t s = 0; s < p->b->servers; s++) {
        w.pipes[s] =
            (struct floor_pipe){.fd = p->fds[number][s][0], .in = floor_room(LIMIT_CHUNK_BYTES)};
    }
    for (uint32_t r = 0; r < BENCH_PUSH_WARM + p->b->rounds; r++) {
        if (r == BENCH_PUSH_WARM) {
            took.round_ns = clock_mono_ns();
            took.cpu_ns = floor_cpu(p, number);
        }
        floor_worker_round(&w);
    }
    took.round_ns = clock_mono_ns() - took.round_ns;
    took.cpu_ns = floor_cpu(p, number) - took.cpu_ns;
    if (write(report, &took, sizeof(took)) != sizeof(took)) {
        _exit(1);
    }
    _exit(0);
}

/* Everybody. */

static enum err floor_connect(const struct bench_push *b, int fds[2])
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    const int one = 1;

    fds[0] = socket(AF_INET, SOCK_STREAM, 0);
    fds[1] = -1;
    if (bind(listener, (struct sockaddr *)&at, size) == 0 && listen(listener, 1) == 0 &&
        getsockname(listener, (struct sockaddr *)&at, &size) == 0 &&
        connect(fds[0], (struct sockaddr *)&at, size) == 0) {
        fds[1] = accept(listener, NULL, NULL);
    }
    (void)close(listener);
    for (int i = 0; i < 2 && fds[1] >= 0; i++) {
        (void)setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        (void)setsockopt(fds[i], IPPROTO_TCP, TCP_CONGESTION, b->congestion,
                         (socklen_t)strlen(b->congestion));
        (void)fcntl(fds[i], F_SETFL, O_NONBLOCK);
    }
    return fds[1] >= 0 ? OK : ERR_IO;
}

static void floor_close_but(const struct floor_plan *p, int64_t worker, int64_t server)
{
    for (uint32_t w = 0; w < p->b->workers; w++) {
        for (uint32_t s = 0; s < p->b->servers; s++) {
            if (w != worker) {
                (void)close(p->fds[w][s][0]);
            }
            if (s != server) {
                (void)close(p->fds[w][s][1]);
            }
        }
    }
}

enum err bench_push_floor(const struct bench_push *b, struct bench_push_result *out,
                          struct err_text *text)
{
    struct floor_plan plan = {
        .b = b,
        .chunks = (uint32_t)((b->elements + LIMIT_CHUNK_ELEMENTS - 1) / LIMIT_CHUNK_ELEMENTS)};
    int64_t longest = 0, cpu = 0;
    int report[2];
    enum err rc = pipe(report) == 0 ? OK : ERR_IO;

    for (uint32_t w = 0; w < b->workers && rc == OK; w++) {
        for (uint32_t s = 0; s < b->servers && rc == OK; s++) {
            rc = floor_connect(b, plan.fds[w][s]);
        }
    }
    if (rc != OK) {
        return err_text_set(text, rc, "no sockets for the floor");
    }
    for (uint32_t s = 0; s < b->servers; s++) {
        plan.servers[s] = fork();
        if (plan.servers[s] == 0) {
            floor_close_but(&plan, -1, s);
            floor_serve(&plan, s);
        }
    }
    for (uint32_t w = 0; w < b->workers; w++) {
        if (fork() == 0) {
            floor_close_but(&plan, w, -1);
            floor_work(&plan, w, report[1]);
        }
    }
    floor_close_but(&plan, -1, -1);
    (void)close(report[1]);
    for (uint32_t w = 0; w < b->workers; w++) {
        struct floor_took took = {0};

        if (read(report[0], &took, sizeof(took)) != sizeof(took)) {
            rc = err_text_set(text, ERR_IO, "a process of the floor died");
        }
        longest = took.round_ns > longest ? took.round_ns : longest;
        cpu += took.cpu_ns;
    }
    (void)close(report[0]);
    while (wait(NULL) > 0) {
    }
    *out = (struct bench_push_result){.round_ns = longest / b->rounds, .cpu_ns = cpu / b->rounds};
    return rc;
}
