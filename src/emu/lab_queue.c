#include "emu/lab_queue.h"

#include "emu/lab_text.h"

#include <errno.h>
#include <linux/gen_stats.h>
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

static void queue_take(const struct nlmsghdr *message, uint64_t drops_out[LAB_REGIONS_MAX])
{
    const struct tcmsg *about = NLMSG_DATA(message);
    const struct rtattr *stats, *queue;
    size_t head = NLMSG_LENGTH(NLMSG_ALIGN(sizeof(*about)));
    struct gnet_stats_queue counts;

    if (message->nlmsg_type != RTM_NEWQDISC || message->nlmsg_len < head) {
        return;
    }
    stats = queue_attribute((const struct rtattr *)(const void *)((const char *)message + head),
                            message->nlmsg_len - head, TCA_STATS2);
    queue = stats == NULL ? NULL : queue_nested(stats, TCA_STATS_QUEUE);
    if (queue == NULL || RTA_PAYLOAD(queue) < sizeof(counts)) {
        return;
    }
    memcpy(&counts, RTA_DATA(queue), sizeof(counts));
    for (uint32_t to = 0; to < LAB_REGIONS_MAX; to++) {
        if (about->tcm_handle == lab_text_queue_handle(to)) {
            drops_out[to] = counts.drops;
        }
    }
}

bool lab_queue_parse(const void *bytes, size_t size, uint64_t drops_out[LAB_REGIONS_MAX])
{
    const struct nlmsghdr *message = bytes;
    size_t left = size;

    while (left >= sizeof(*message) && message->nlmsg_len >= sizeof(*message) &&
           message->nlmsg_len <= left) {
        size_t step = NLMSG_ALIGN((size_t)message->nlmsg_len);

        if (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR) {
            return true;
        }
        queue_take(message, drops_out);
        if (step >= left) {
            break;
        }
        left -= step;
        message = (const struct nlmsghdr *)(const void *)((const char *)message + step);
    }
    return false;
}

enum err lab_queue_read(int socket, uint64_t drops_out[LAB_REGIONS_MAX])
{
    const struct queue_request request = {
        .header = {.nlmsg_len = sizeof(request),
                   .nlmsg_type = RTM_GETQDISC,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
    };
    _Alignas(struct nlmsghdr) char answer[QUEUE_ANSWER_BYTES];
    bool last = false;

    if (send(socket, &request, sizeof(request), 0) != (ssize_t)sizeof(request)) {
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
        last = lab_queue_parse(answer, (size_t)n, drops_out);
    }
    return OK;
}
