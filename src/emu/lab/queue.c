#include "emu/lab/queue.h"

#include "emu/lab/text.h"

#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { QUEUE_ANSWER_BYTES = 32 * 1024 };

struct queue_request {
    struct nlmsghdr header;
    struct tcmsg about;
};

struct queue_device {
    struct nlmsghdr header;
    struct ifinfomsg about;
    struct rtattr name;
    char chars[8];
};

int lab_queue_open(void)
{
    return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
}

/* The attribute of that type among those of @size bytes, or NULL. */
static const struct rtattr *queue_attribute(const struct rtattr *first, size_t size,
                                            unsigned short type)
{
    const struct rtattr *a = first;
    size_t left = size;

    while (left >= sizeof(*a) && a->rta_len >= sizeof(*a) && a->rta_len <= left) {
        size_t step = RTA_ALIGN((size_t)a->rta_len);

        if ((a->rta_type & NLA_TYPE_MASK) == type) {
            return a;
        }
        if (step > left) {
            break;
        }
        left -= step;
        a = (const struct rtattr *)(const void *)((const char *)a + step);
    }
    return NULL;
}

static const struct rtattr *queue_nested(const struct rtattr *a, unsigned short type)
{
    return queue_attribute((const struct rtattr *)RTA_DATA(a), RTA_PAYLOAD(a), type);
}

/* An attribute of a message that begins with @about bytes of its own, or NULL. */
static const struct rtattr *queue_find(const struct nlmsghdr *message, size_t about,
                                       unsigned short type)
{
    size_t head = NLMSG_LENGTH(NLMSG_ALIGN(about));

    if (message->nlmsg_len < head) {
        return NULL;
    }
    return queue_attribute((const struct rtattr *)(const void *)((const char *)message + head),
                           message->nlmsg_len - head, type);
}

static void queue_take_drops(const struct nlmsghdr *message, struct lab_queue_counts *counts)
{
    const struct rtattr *stats = queue_find(message, sizeof(struct tcmsg), TCA_STATS2);
    const struct rtattr *queue = stats == NULL ? NULL : queue_nested(stats, TCA_STATS_QUEUE);
    struct gnet_stats_queue said;
    struct tcmsg about;

    if (queue == NULL || RTA_PAYLOAD(queue) < sizeof(said)) {
        return;
    }
    memcpy(&about, NLMSG_DATA(message), sizeof(about));
    memcpy(&said, RTA_DATA(queue), sizeof(said));
    for (uint32_t to = 0; to < LAB_REGIONS_MAX; to++) {
        if (about.tcm_handle == lab_text_queue_handle(to)) {
            counts->drops[to] = said.drops;
        }
    }
}

static void queue_take_missed(const struct nlmsghdr *message, struct lab_queue_counts *counts)
{
    const struct rtattr *stats = queue_find(message, sizeof(struct ifinfomsg), IFLA_STATS64);
    size_t at = offsetof(struct rtnl_link_stats64, tx_dropped);

    if (stats != NULL && RTA_PAYLOAD(stats) >= at + sizeof(counts->missed)) {
        memcpy(&counts->missed, (const char *)RTA_DATA(stats) + at, sizeof(counts->missed));
    }
}

bool lab_queue_parse(const void *bytes, size_t size, struct lab_queue_counts *counts)
{
    const struct nlmsghdr *message = bytes;
    size_t left = size;

    while (left >= sizeof(*message) && message->nlmsg_len >= sizeof(*message) &&
           message->nlmsg_len <= left) {
        size_t step = NLMSG_ALIGN((size_t)message->nlmsg_len);

        if (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR) {
            return true;
        }
        if (message->nlmsg_type == RTM_NEWLINK) {
            queue_take_missed(message, counts);
            return true; /* Of one device only. */
        }
        if (message->nlmsg_type == RTM_NEWQDISC) {
            queue_take_drops(message, counts);
        }
        if (step >= left) {
            break;
        }
        left -= step;
        message = (const struct nlmsghdr *)(const void *)((const char *)message + step);
    }
    return false;
}

static enum err queue_ask(int socket, const void *request, size_t size,
                          struct lab_queue_counts *counts)
{
    _Alignas(struct nlmsghdr) char answer[QUEUE_ANSWER_BYTES];
    bool last = false;

    if (send(socket, request, size, 0) != (ssize_t)size) {
        return ERR_IO;
    }
    while (!last) {
        ssize_t n = recv(socket, answer, sizeof(answer), 0);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return ERR_IO;
        }
        last = lab_queue_parse(answer, (size_t)n, counts);
    }
    return OK;
}

enum err lab_queue_read(int socket, struct lab_queue_counts *counts_out)
{
    const struct queue_request queues = {
        .header = {.nlmsg_len = sizeof(queues),
                   .nlmsg_type = RTM_GETQDISC,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
    };
    const struct queue_device device = {
        .header = {.nlmsg_len = sizeof(device),
                   .nlmsg_type = RTM_GETLINK,
                   .nlmsg_flags = NLM_F_REQUEST},
        .name = {.rta_len = sizeof(struct rtattr) + sizeof(device.chars), .rta_type = IFLA_IFNAME},
        .chars = "wan0",
    };
    struct lab_queue_counts counts = {.missed = 0};
    enum err rc = queue_ask(socket, &queues, sizeof(queues), &counts);

    if (rc == OK) {
        rc = queue_ask(socket, &device, sizeof(device), &counts);
    }
    if (rc == OK) {
        *counts_out = counts;
    }
    return rc;
}
