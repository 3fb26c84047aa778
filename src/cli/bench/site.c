/* Processes of a site for benchmarks. */

#include "cli/bench/site.h"

#include "base/buf.h"
#include "base/mem.h"
#include "loop/clock.h"
#include "loop/loop.h"
#include "net/stream/socket.h"
#include "node/lane/lane.h"
#include "node/worker/worker.h"
#include "obs/metric.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SITE_SERIES = 512, SITE_WAIT_S = 600 };

struct site_run {
    const struct bench_site *b;
    struct node_site site;
    char addresses[BENCH_SERVERS_MAX][NET_ADDRESS_BYTES];
    pid_t servers[BENCH_SERVERS_MAX];
    uint32_t servers_count;
    pid_t workers[BENCH_WORKERS_MAX];
    uint32_t workers_count;
};

/* What each process has. */
struct site_process {
    struct loop *loop;
    struct obs_registry *registry;
    struct net_socket_transport transport;
};

static void site_die(const char *what, enum err rc)
{
    char line[128];
    int n = snprintf(line, sizeof(line), "bench push: %s: %s\n", what, err_string(rc));

    if (n > 0 && write(STDERR_FILENO, line, (size_t)n) < 0) {
        _exit(2);
    }
    _exit(1);
}

static void site_open(const struct site_run *o, struct site_process *p)
{
    struct net_socket_options options = {.pacing_bytes_per_s = 0};

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)snprintf(options.congestion, sizeof(options.congestion), "%s", o->b->congestion);
    if (loop_create(&p->loop) != OK || obs_registry_create(SITE_SERIES, &p->registry) != OK) {
        site_die("no memory", ERR_NOMEM);
    }
    net_socket_transport_init(&p->transport, p->loop, &options);
}

/* Servers. */

static void site_serve(const struct site_run *o, uint32_t number, int report)
{
    struct site_process p;
    struct node_place place = {.lane = number};
    struct node_lane_config config = {
        .incarnation = number + 1,
        .seed = number + 1,
        .insecure = true,
        .site = o->site,
        .number = number,
        .listen = {.scheme = NET_SCHEME_TCP, .host = "127.0.0.1", .port = "0"},
    };
    struct node_lane *lane;
    struct err_text text = {""};
    char name[16];
    enum err rc;

    site_open(o, &p);
    (void)snprintf(name, sizeof(name), "s%u", number);
    config.loop = p.loop;
    config.registry = p.registry;
    config.transport = &p.transport.base;
    rc = pki_identity_make(WIRE_ROLE_SERVER, o->site.name, name, &config.identity, &text);
    if (rc == OK && number > 0) {
        rc = net_address_parse(o->addresses[0], &config.first, &text);
    }
    if (rc == OK) {
        rc = node_lane_create(&config, &lane, &text);
    }
    if (rc == OK) {
        rc = node_lane_listen(lane, &text);
    }
    if (rc == OK) {
        (void)net_address_format(node_lane_address(lane), place.address);
        rc = node_lane_tell(lane, &place, 1);
    }
    if (rc != OK || write(report, place.address, sizeof(place.address)) < 0) {
        site_die(text.text, rc);
    }
    (void)close(report);
    loop_run(p.loop);
    _exit(0);
}

static enum err site_start_server(struct site_run *o, uint32_t number)
{
    int report[2];
    pid_t pid;
    ssize_t n;

    if (pipe(report) != 0) {
        return ERR_IO;
    }
    pid = fork();
    if (pid == 0) {
        (void)close(report[0]);
        site_serve(o, number, report[1]);
    }
    (void)close(report[1]);
    o->servers[o->servers_count++] = pid;
    n = read(report[0], o->addresses[number], sizeof(o->addresses[number]));
    (void)close(report[0]);
    return pid > 0 && n == (ssize_t)sizeof(o->addresses[number]) ? OK : ERR_IO;
}

/* Workers. */

void bench_member_wait(struct bench_member *m, const struct node_op *op, const char *what)
{
    int64_t until = loop_now_ns(m->loop) + (int64_t)SITE_WAIT_S * 1000000000;

    while (!op->done) {
        if (loop_now_ns(m->loop) > until) {
            site_die(what, ERR_TIMEOUT);
        }
        loop_turn(m->loop, 1000000000);
    }
    if (op->rc != OK) {
        site_die(op->text.text, op->rc);
    }
}

int64_t bench_member_cpu_ns(const struct bench_member *m)
{
    int64_t ns = clock_cpu_ns();

    for (uint32_t s = 0; m->number == 0 && s < m->servers_count; s++) {
        ns += clock_cpu_of_ns(m->servers[s]);
    }
    return ns;
}

uint16_t bench_member_join(struct bench_member *m, const struct table_schema_text *table)
{
    struct table_schema schema;
    struct node_op op = {.done = false};
    uint16_t id;
    enum err rc = table_schema_parse(table, &schema, NULL);

    if (rc != OK) {
        site_die("no such table", rc);
    }
    node_worker_table(m->node, &schema, &op);
    bench_member_wait(m, &op, "no table");
    id = (uint16_t)op.value;
    node_worker_join(m->node, &op);
    bench_member_wait(m, &op, "not let in");
    return id;
}

static void site_worker_start(const struct site_run *o, struct site_process *p,
                              struct bench_member *m)
{
    struct node_worker_config config = {
        .loop = p->loop,
        .registry = p->registry,
        .transport = &p->transport.base,
        .incarnation = 1000 + m->number,
        .seed = 1000 + m->number,
        .insecure = true,
        .rank = m->number,
    };
    char name[16];
    enum err rc;

    (void)snprintf(name, sizeof(name), "w%u", m->number);
    rc = pki_identity_make(WIRE_ROLE_WORKER, o->site.name, name, &config.identity, NULL);
    if (rc == OK) {
        rc = net_address_parse(o->addresses[0], &config.first, NULL);
    }
    if (rc == OK) {
        rc = buf_pool_create(UINT64_C(1) << 31, &config.pool);
    }
    if (rc == OK) {
        rc = node_worker_create(&config, &m->node);
    }
    if (rc != OK) {
        site_die("a worker cannot start", rc);
    }
}

static void site_work(const struct site_run *o, uint32_t number, int report)
{
    struct site_process p;
    struct bench_member m = {
        .number = number, .servers = o->servers, .servers_count = o->servers_count};
    struct node_op op = {.done = false};

    site_open(o, &p);
    m.loop = p.loop;
    m.registry = p.registry;
    site_worker_start(o, &p, &m);
    o->b->work(&m, o->b->user);
    if (write(report, m.figures, sizeof(m.figures)) != sizeof(m.figures)) {
        _exit(1);
    }
    node_worker_leave(m.node, &op);
    bench_member_wait(&m, &op, "cannot leave");
    _exit(0);
}

/* Everybody. */

/* Workers end by themselves, servers are ended. */
static void site_reap(struct site_run *o, struct bench_site_result *out)
{
    struct rusage u;

    for (uint32_t w = 0; w < o->workers_count; w++) {
        (void)waitpid(o->workers[w], NULL, 0);
    }
    for (uint32_t s = 0; s < o->servers_count; s++) {
        (void)kill(o->servers[s], SIGKILL);
        if (wait4(o->servers[s], NULL, 0, &u) > 0) {
            uint64_t bytes = (uint64_t)u.ru_maxrss * 1024;

            out->server_bytes = bytes > out->server_bytes ? bytes : out->server_bytes;
        }
    }
}

static enum err site_collect(struct site_run *o, struct bench_site_result *out)
{
    enum err rc = OK;
    int report[2];

    if (pipe(report) != 0) {
        return ERR_IO;
    }
    for (uint32_t w = 0; w < o->b->workers; w++) {
        pid_t pid = fork();

        if (pid == 0) {
            (void)close(report[0]);
            site_work(o, w, report[1]);
        }
        o->workers[o->workers_count++] = pid;
    }
    (void)close(report[1]);
    for (uint32_t w = 0; w < o->b->workers && rc == OK; w++) {
        size_t size = sizeof(out->figures[w]);

        rc = read(report[0], out->figures[w], size) == (ssize_t)size ? OK : ERR_IO;
    }
    (void)close(report[0]);
    return rc;
}

enum err bench_site_run(const struct bench_site *b, struct bench_site_result *out,
                        struct err_text *text)
{
    struct site_run o = {.b = b, .site = b->site};
    enum err rc = OK;

    o.site.lanes = b->servers;
    o.site.shards = b->servers;
    o.site.sync.members_min = b->workers;
    (void)snprintf(o.site.name, sizeof(o.site.name), "bench");
    *out = (struct bench_site_result){.server_bytes = 0};
    for (uint32_t s = 0; s < b->servers && rc == OK; s++) {
        rc = site_start_server(&o, s);
    }
    if (rc == OK) {
        rc = site_collect(&o, out);
    }
    site_reap(&o, out);
    return rc == OK ? OK : err_text_set(text, rc, "one of our processes died");
}
