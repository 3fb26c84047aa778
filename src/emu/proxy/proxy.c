/* Listening, and moving what is to be moved: turns and arrivals of the two pipes. */

#include "emu/proxy/proxy.h"

#include "base/log.h"
#include "base/mem.h"
#include "emu/proxy/state.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* What kernels hold of a stream on either side: this much of its time, within limits. */
enum {
    PROXY_BUFFER_MS = 2,
    PROXY_BUFFER_BYTES_MIN = 64 * 1024,
    PROXY_BUFFER_BYTES_MAX = 1024 * 1024,
};

/* The timer wakes us no more often: what is due meanwhile goes out together. */
#define PROXY_BATCH_NS (INT64_C(250) * 1000)

static void proxy_arrivals(struct emu_proxy *proxy, uint32_t way)
{
    struct emu_arrival arrival;
    struct emu_flow *flow;
    int64_t now_ns = loop_now_ns(proxy->loop);

    while ((flow = emu_pipe_arrival(proxy->pipes[way], now_ns, &arrival)) != NULL) {
        emu_half_arrived(flow->user, &arrival);
    }
}

static void proxy_turns(struct emu_proxy *proxy, uint32_t way)
{
    struct emu_flow *flow;
    uint32_t bytes;

    while ((flow = emu_pipe_turn(proxy->pipes[way], loop_now_ns(proxy->loop), &bytes)) != NULL) {
        emu_half_read(flow->user, bytes);
    }
}

static void proxy_set_wake(struct emu_proxy *proxy)
{
    int64_t next_ns = EMU_NEVER;

    for (uint32_t way = 0; way < EMU_WAYS; way++) {
        int64_t at_ns = emu_pipe_next_ns(proxy->pipes[way]);

        next_ns = at_ns < next_ns ? at_ns : next_ns;
    }
    if (next_ns == EMU_NEVER) {
        loop_timer_stop(&proxy->wake);
    } else {
        int64_t least_ns = proxy->woken_ns + PROXY_BATCH_NS;

        loop_timer_start(&proxy->wake, next_ns < least_ns ? least_ns : next_ns);
    }
}

/* Room first, then what comes, then what of it is due at once. */
static void proxy_pump_run(struct loop_task *task, void *user)
{
    struct emu_proxy *proxy = user;
    struct list *link;

    (void)task;
    for (uint32_t way = 0; way < EMU_WAYS; way++) {
        proxy_arrivals(proxy, way);
        proxy_turns(proxy, way);
    }
    for (uint32_t way = 0; way < EMU_WAYS; way++) {
        proxy_arrivals(proxy, way);
    }
    while ((link = list_first(&proxy->touched)) != NULL) {
        list_remove(link);
        emu_conn_watch(LIST_ENTRY(link, struct emu_conn, touched));
    }
    proxy_set_wake(proxy);
}

void emu_proxy_pump(struct emu_proxy *proxy)
{
    loop_task_post(&proxy->pump);
}

static void proxy_woken(struct loop_timer *timer, void *user)
{
    struct emu_proxy *proxy = user;

    (void)timer;
    proxy->woken_ns = loop_now_ns(proxy->loop);
    emu_proxy_pump(proxy);
}

/* Sockets. */

static uint32_t proxy_buffer_bytes(const struct emu_shape *shape)
{
    uint64_t bytes = shape->bytes_per_s / 1000 * PROXY_BUFFER_MS;

    if (shape->bytes_per_s == 0 || bytes > PROXY_BUFFER_BYTES_MAX) {
        return PROXY_BUFFER_BYTES_MAX;
    }
    return bytes < PROXY_BUFFER_BYTES_MIN ? PROXY_BUFFER_BYTES_MIN : (uint32_t)bytes;
}

struct net_socket_options emu_proxy_tuning(const struct emu_proxy *proxy, uint32_t way)
{
    struct net_socket_options options = {
        .receive_buffer_bytes = proxy_buffer_bytes(&proxy->base[way]),
        .send_buffer_bytes = proxy_buffer_bytes(&proxy->base[1 - way]),
    };

    memcpy(options.congestion, proxy->congestion, sizeof(options.congestion));
    return options;
}

/* Some ways of congestion control are slow over the loopback: they take its short stops for those
 * of a slow link. These are not. */
static void proxy_choose_congestion(struct emu_proxy *proxy)
{
    static const char *const names[] = {"cubic", "reno"};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    for (size_t i = 0; i < 2 && fd >= 0 && proxy->congestion[0] == '\0'; i++) {
        if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, names[i], (socklen_t)strlen(names[i])) ==
            0) {
            (void)snprintf(proxy->congestion, sizeof(proxy->congestion), "%s", names[i]);
        }
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}

static bool proxy_admit(const struct net_source *source, void *user)
{
    struct emu_proxy *proxy = ((struct emu_gate *)user)->proxy;

    (void)source;
    if (proxy->refusing) {
        proxy->fired[EMU_FAULT_REFUSE]++;
        return false;
    }
    if (proxy->conns_count == proxy->conns_max) {
        LOG_WRN("emu", "turned a connection away: there are %u already", proxy->conns_count);
        proxy->away++;
        return false;
    }
    return true;
}

static void proxy_accepted(int fd, const struct net_source *source, void *user)
{
    struct emu_gate *gate = user;

    (void)source;
    emu_conn_accepted(gate->proxy, gate->route, fd);
}

static enum err proxy_listen(struct emu_proxy *proxy, const struct emu_routes *routes,
                             struct err_text *text)
{
    proxy->routes.list = mem_calloc(routes->count, sizeof(*routes->list));
    proxy->gates = mem_calloc(routes->count, sizeof(*proxy->gates));
    if (proxy->routes.list == NULL || proxy->gates == NULL) {
        return ERR_NOMEM;
    }
    memcpy(proxy->routes.list, routes->list, routes->count * sizeof(*routes->list));
    for (uint32_t i = 0; i < routes->count; i++) {
        const struct emu_route *route = &proxy->routes.list[i];
        const struct net_socket_options options = emu_proxy_tuning(proxy, route->way);
        enum err rc;

        proxy->gates[i] = (struct emu_gate){.proxy = proxy, .route = route};
        rc = net_acceptor_create(proxy->loop, &route->listen, &options, proxy_admit, proxy_accepted,
                                 &proxy->gates[i], &proxy->gates[i].listener, text);
        if (rc != OK) {
            return rc;
        }
        proxy->routes.count++;
    }
    return OK;
}

/* Beginning and end. */

static enum err proxy_open(struct emu_proxy *proxy, const struct emu_proxy_config *config,
                           struct err_text *text)
{
    enum err rc = loop_timer_init(&proxy->wake, proxy->loop, proxy_woken, proxy);

    if (rc == OK) {
        rc = emu_faults_init(proxy);
    }
    for (uint32_t way = 0; way < EMU_WAYS && rc == OK; way++) {
        struct rng rng = rng_fork(&proxy->rng, way + 1);

        rc = emu_pipe_create(&config->shapes[way], config->conns_max, rng_next(&rng),
                             &proxy->pipes[way]);
    }
    if (rc == OK) {
        proxy_choose_congestion(proxy);
        rc = proxy_listen(proxy, config->routes, text);
    }
    return rc;
}

enum err emu_proxy_create(const struct emu_proxy_config *config, struct emu_proxy **proxy_out,
                          struct err_text *text)
{
    struct emu_proxy *proxy;
    enum err rc = OK;

    for (uint32_t way = 0; way < EMU_WAYS && rc == OK; way++) {
        rc = emu_shape_check(&config->shapes[way], text);
    }
    if (rc == OK && (config->conns_max == 0 || config->conns_max > EMU_CONNS_MAX)) {
        rc = err_text_set(text, ERR_INVALID, "a link carries from 1 to %d connections",
                          EMU_CONNS_MAX);
    }
    if (rc == OK && config->routes->count == 0) {
        rc = err_text_set(text, ERR_INVALID, "a link without routes carries nothing");
    }
    if (rc != OK) {
        return rc;
    }
    proxy = mem_zalloc(sizeof(*proxy));
    if (proxy == NULL) {
        return err_text_set(text, ERR_NOMEM, "out of memory");
    }
    proxy->loop = config->loop;
    proxy->conns_max = config->conns_max;
    proxy->started_ns = loop_now_ns(config->loop);
    memcpy(proxy->base, config->shapes, sizeof(proxy->base));
    rng_init(&proxy->rng, config->seed);
    list_init(&proxy->conns);
    list_init(&proxy->touched);
    loop_task_init_late(&proxy->pump, proxy->loop, proxy_pump_run, proxy);
    rc = proxy_open(proxy, config, text);
    if (rc != OK) {
        emu_proxy_destroy(proxy);
        return rc == ERR_NOMEM ? err_text_set(text, rc, "out of memory") : rc;
    }
    *proxy_out = proxy;
    return OK;
}

void emu_proxy_destroy(struct emu_proxy *proxy)
{
    struct list *link;

    if (proxy == NULL) {
        return;
    }
    while ((link = list_first(&proxy->conns)) != NULL) {
        emu_conn_destroy(LIST_ENTRY(link, struct emu_conn, link), true);
    }
    for (uint32_t i = 0; i < proxy->routes.count; i++) {
        proxy->gates[i].listener->ops->destroy(proxy->gates[i].listener);
    }
    loop_task_cancel(&proxy->pump);
    loop_timer_deinit(&proxy->wake);
    emu_faults_deinit(proxy);
    for (uint32_t way = 0; way < EMU_WAYS; way++) {
        emu_pipe_destroy(proxy->pipes[way]);
    }
    emu_blocks_deinit(&proxy->blocks);
    mem_free(proxy->gates);
    mem_free(proxy->routes.list);
    mem_free(proxy);
}

const struct net_address *emu_proxy_bound(const struct emu_proxy *proxy, uint32_t index)
{
    return &proxy->gates[index].listener->address;
}
