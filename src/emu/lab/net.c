#include "emu/lab/net.h"

#include "base/mem.h"
#include "emu/lab/inside.h"
#include "emu/lab/text.h"
#include "emu/lab/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { NET_FILES_SPARE = 64 };

/* Settings of a namespace. Buffers are for long fat links: 64 MB are 1.7 Gbit/s at 300 ms. */
struct net_setting {
    const char *path;
    const char *value;
    bool router_only;
    bool optional; /* Not every kernel has it. */
};

static const struct net_setting net_settings[] = {
    {"ipv4/tcp_rmem", "4096 131072 67108864", false, false},
    {"ipv4/tcp_wmem", "4096 65536 67108864", false, false},
    {"ipv4/tcp_no_metrics_save", "1", false, false},
    {"ipv4/conf/all/rp_filter", "0", false, false},
    {"ipv4/conf/default/rp_filter", "0", false, false},
    {"ipv6/conf/all/disable_ipv6", "1", false, true},
    {"ipv6/conf/default/disable_ipv6", "1", false, true},
    {"ipv4/ip_forward", "1", true, false},
};

static enum err net_set(const struct net_setting *s, struct err_text *text)
{
    char path[128];
    size_t size = strlen(s->value);
    enum err rc = OK;
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/sys/net/%s", s->path);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT && s->optional) {
        return OK;
    }
    if (fd < 0 || write(fd, s->value, size) != (ssize_t)size) {
        rc = err_text_set(text, ERR_REFUSED,
                          "%s cannot be written: %s; in a container, /proc/sys must not be "
                          "read-only",
                          path, strerror(errno));
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return rc;
}

/* We are inside afterwards. */
static enum err net_namespace(bool router, int *ns_out, uint64_t *number_out, struct err_text *text)
{
    int ns;

    if (unshare(CLONE_NEWNET) != 0) {
        return err_text_set(
            text, ERR_REFUSED, "network namespaces cannot be made: %s%s", strerror(errno),
            errno == EPERM ? "; a lab needs root (CAP_SYS_ADMIN and CAP_NET_ADMIN)" : "");
    }
    ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (ns < 0) {
        return err_text_set(text, errno == EMFILE ? ERR_REFUSED : ERR_IO, "/proc/self/ns/net: %s%s",
                            strerror(errno),
                            errno == EMFILE ? "; raise the limit of open files (ulimit -n)" : "");
    }
    *ns_out = ns;
    *number_out = lab_inside_number(ns);
    for (size_t i = 0; i < sizeof(net_settings) / sizeof(net_settings[0]); i++) {
        if (router || !net_settings[i].router_only) {
            enum err rc = net_set(&net_settings[i], text);

            if (rc != OK) {
                return rc;
            }
        }
    }
    return OK;
}

/* wan0 of the namespace that we are in. Packets come with a header of virtio, and as many at once
 * as TCP hands over: a link's cost is by packets. */
static enum err net_tun(int *tun_out, struct err_text *text)
{
    struct ifreq request = {.ifr_name = "wan0"};
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0) {
        return err_text_set(text, ERR_REFUSED,
                            "/dev/net/tun: %s; load the module tun (modprobe tun), or let the "
                            "container have the device",
                            strerror(errno));
    }
    request.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR;
    if (ioctl(fd, TUNSETIFF, &request) != 0 ||
        ioctl(fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6) != 0) {
        enum err rc = err_text_set(text, ERR_REFUSED,
                                   "wan0: this kernel's tun does not take "
                                   "offloads: %s",
                                   strerror(errno));

        (void)close(fd);
        return rc;
    }
    *tun_out = fd;
    return OK;
}

static enum err net_home(const struct lab_net *net, struct err_text *text)
{
    return setns(net->home, CLONE_NEWNET) == 0
               ? OK
               : err_text_set(text, ERR_IO, "cannot return to the first namespace: %s",
                              strerror(errno));
}

static enum err net_namespaces(struct lab_net *net, struct err_text *text)
{
    enum err rc = OK;

    for (uint32_t r = 0; rc == OK && r < net->plan->regions; r++) {
        struct lab_router *router = &net->routers[r];

        rc = net_namespace(true, &router->ns, &router->number, text);
        if (rc == OK) {
            rc = net_tun(&router->tun, text);
        }
        router->hosts_first = net->hosts_count;
        for (uint32_t h = 0; rc == OK && h < net->plan->hosts[r]; h++) {
            struct lab_host *host = &net->hosts[net->hosts_count++];

            *host = (struct lab_host){.region = r, .index = h, .ns = -1};
            rc = net_namespace(false, &host->ns, &host->number, text);
        }
    }
    return rc;
}

/* One batch; @why it cannot be, and @needs. */
static enum err net_probe_one(const struct lab_net *net, enum lab_tool_name name,
                              struct text *batch, const char *why, const char *needs,
                              struct err_text *text)
{
    struct lab_tool_config config = {.name = name, .ns = net->routers[0].ns, .batch = batch->chars};
    struct err_text said = {""};
    enum err rc = lab_tool_run(&config, &said);

    text_clear(batch);
    if (rc == ERR_IO) {
        return err_text_set(text, ERR_REFUSED, "%s cannot be emulated: %.300s; the kernel needs %s",
                            why, said.text, needs);
    }
    return rc == OK ? OK : err_text_set(text, ERR_REFUSED, "%.480s", said.text);
}

/* Does this machine have all that a batch of ours needs? */
static enum err net_probe(const struct lab_net *net, struct text *batch, struct err_text *text)
{
    enum err rc;

    text_clear(batch);
    lab_text_probe_rates(batch);
    rc = net_probe_one(net, LAB_TC, batch, "rates", "htb, u32 and bfifo (modprobe sch_htb cls_u32)",
                       text);
    if (rc == OK && net->plan->card_bytes_per_s > 0) {
        lab_text_probe_cards(batch);
        rc = net_probe_one(net, LAB_TC, batch, "network cards", "cls_bpf (modprobe cls_bpf)", text);
    }
    if (rc == OK) {
        lab_text_probe_rules(batch);
        rc = net_probe_one(net, LAB_NFT, batch, "loss and cuts",
                           "nf_tables with numgen (modprobe nf_tables nft_numgen)", text);
    }
    return rc;
}

static enum err net_run(enum lab_tool_name name, int ns, const struct text *batch, const int *keep,
                        uint32_t keep_count, struct err_text *text)
{
    const struct lab_tool_config config = {
        .name = name, .ns = ns, .batch = batch->chars, .keep = keep, .keep_count = keep_count};

    return batch->failed ? err_text_set(text, ERR_NOMEM, "no memory for a batch")
                         : lab_tool_run(&config, text);
}

static enum err net_router(const struct lab_net *net, uint32_t region, struct text *batch,
                           struct err_text *text)
{
    const struct lab_router *router = &net->routers[region];
    uint32_t count = net->plan->hosts[region];
    int fds[LAB_HOSTS_MAX];
    enum err rc;

    for (uint32_t i = 0; i < count; i++) {
        fds[i] = net->hosts[router->hosts_first + i].ns;
    }
    text_clear(batch);
    lab_text_router(net->plan, region, fds, batch);
    rc = net_run(LAB_IP, router->ns, batch, fds, count, text);
    if (rc == OK) {
        text_clear(batch);
        lab_text_rates(net->plan, region, batch);
        lab_text_cards(net->plan, region, batch);
        rc = net_run(LAB_TC, router->ns, batch, NULL, 0, text);
    }
    if (rc == OK && lab_plan_lossy(net->plan, region)) {
        text_clear(batch);
        lab_text_rules(net->plan, region, batch);
        rc = net_run(LAB_NFT, router->ns, batch, NULL, 0, text);
    }
    return rc;
}

static enum err net_host(const struct lab_net *net, const struct lab_host *host, struct text *batch,
                         struct err_text *text)
{
    enum err rc;

    text_clear(batch);
    lab_text_host(net->plan, host->region, host->index, batch);
    rc = net_run(LAB_IP, host->ns, batch, NULL, 0, text);
    if (rc == OK) {
        text_clear(batch);
        lab_text_lan(net->plan, batch);
        rc = net_run(LAB_TC, host->ns, batch, NULL, 0, text);
    }
    return rc;
}

static enum err net_configure(const struct lab_net *net, struct err_text *text)
{
    struct text batch = {0};
    enum err rc = text_init(&batch, LAB_TEXT_BYTES_MAX);

    if (rc != OK) {
        return err_text_set(text, rc, "no memory for a batch");
    }
    rc = net_probe(net, &batch, text);
    for (uint32_t r = 0; rc == OK && r < net->plan->regions; r++) {
        rc = net_router(net, r, &batch, text);
    }
    for (uint32_t i = 0; rc == OK && i < net->hosts_count; i++) {
        rc = net_host(net, &net->hosts[i], &batch, text);
    }
    text_deinit(&batch);
    return rc;
}

/* A descriptor for each namespace, and one for each tun. */
static enum err net_room(struct lab_net *net, struct err_text *text)
{
    rlim_t wanted = NET_FILES_SPARE + net->plan->regions * 2;
    struct rlimit limit = {0};
    uint32_t hosts = 0;

    for (uint32_t r = 0; r < net->plan->regions; r++) {
        hosts += net->plan->hosts[r];
    }
    wanted += hosts;
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < wanted) {
        limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    if (limit.rlim_cur < wanted) {
        return err_text_set(text, ERR_REFUSED,
                            "%u hosts need %llu open files, and %llu are allowed: raise the limit "
                            "(ulimit -n), or take fewer hosts",
                            hosts, (unsigned long long)wanted, (unsigned long long)limit.rlim_cur);
    }
    net->hosts = mem_calloc(hosts + 1, sizeof(*net->hosts));
    net->numbers = mem_calloc(hosts + net->plan->regions, sizeof(*net->numbers));
    if (net->hosts == NULL || net->numbers == NULL) {
        return err_text_set(text, ERR_NOMEM, "no memory for %u hosts", hosts);
    }
    return OK;
}

static void net_number(struct lab_net *net)
{
    for (uint32_t r = 0; r < net->plan->regions; r++) {
        net->numbers[net->numbers_count++] = net->routers[r].number;
    }
    for (uint32_t i = 0; i < net->hosts_count; i++) {
        net->numbers[net->numbers_count++] = net->hosts[i].number;
    }
}

enum err lab_net_create(const struct lab_plan *plan, struct lab_net *net_out, struct err_text *text)
{
    struct lab_net net = {.plan = plan};
    enum err rc;

    for (uint32_t r = 0; r < LAB_REGIONS_MAX; r++) {
        net.routers[r].ns = -1;
        net.routers[r].tun = -1;
    }
    net.home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (net.home < 0) {
        return err_text_set(text, ERR_IO, "/proc/self/ns/net: %s", strerror(errno));
    }
    rc = net_room(&net, text);
    if (rc == OK) {
        rc = net_namespaces(&net, text);
    }
    if (rc == OK) {
        rc = net_home(&net, text);
    } else {
        (void)net_home(&net, NULL);
    }
    if (rc == OK) {
        rc = net_configure(&net, text);
    }
    if (rc == OK) {
        net_number(&net);
        *net_out = net;
    } else {
        lab_net_destroy(&net);
    }
    return rc;
}

static void net_close(int fd)
{
    if (fd > 0) {
        (void)close(fd);
    }
}

void lab_net_destroy(struct lab_net *net)
{
    if (net->plan == NULL) {
        return;
    }
    for (uint32_t r = 0; r < net->plan->regions; r++) {
        net_close(net->routers[r].tun);
        net_close(net->routers[r].ns);
    }
    for (uint32_t i = 0; i < net->hosts_count; i++) {
        net_close(net->hosts[i].ns);
    }
    net_close(net->home);
    mem_free(net->hosts);
    mem_free(net->numbers);
    *net = (struct lab_net){0};
}

const struct lab_host *lab_net_hosts(const struct lab_net *net, uint32_t region)
{
    return &net->hosts[net->routers[region].hosts_first];
}
