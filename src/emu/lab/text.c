#include "emu/lab/text.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    TEXT_CLASS_FIRST = 0x100, /* Of region 0. */
    TEXT_BURST_NS = 2 * 1000 * 1000,
    TEXT_QUANTUM = 60000, /* Unused, for no class lends to another; but the kernel wants one. */
    TEXT_SEGMENTS = 65535,
    TEXT_WAN_QUEUE = 8000, /* Packets that the relay may have to read. */
    TEXT_FLOWS = 256,      /* That are told apart on a card. */
};

#define TEXT_NET 0xfff00000u  /* Where BPF has the header of IP. */
#define TEXT_HASH 2654435761u /* 2^32 by the golden ratio. */

uint32_t lab_text_queue_handle(uint32_t to)
{
    return (TEXT_CLASS_FIRST + to) << 16;
}

void lab_text_router(const struct lab_plan *plan, uint32_t region, const int *host_fds,
                     struct text *out)
{
    char address[LAB_ADDRESS_BYTES];

    text_addf(out, "link set lo up\nlink add lan0 mtu %" PRIu32 " type bridge mcast_snooping 0\n",
              plan->mtu);
    text_addf(out, "address add %s/16 dev lan0\n", lab_address_router(region, address));
    for (uint32_t i = 0; i < plan->hosts[region]; i++) {
        text_addf(out,
                  "link add h%" PRIu32 " mtu %" PRIu32 " type veth peer name eth0 mtu %" PRIu32
                  " netns /proc/self/fd/%d\nlink set h%" PRIu32 " master lan0 up\n",
                  i, plan->mtu, plan->mtu, host_fds[i], i);
    }
    text_addf(out, "link set lan0 up\nlink set wan0 mtu %" PRIu32 " txqueuelen %d up\n", plan->mtu,
              TEXT_WAN_QUEUE);
    for (uint32_t to = 0; to < plan->regions; to++) {
        if (to != region) {
            text_addf(out, "route add %s%s%s\n",
                      lab_plan_link(plan, region, to)->joined ? "" : "unreachable ",
                      lab_address_net(to, address),
                      lab_plan_link(plan, region, to)->joined ? " dev wan0" : "");
        }
    }
}

void lab_text_host(const struct lab_plan *plan, uint32_t region, uint32_t host, struct text *out)
{
    char address[LAB_ADDRESS_BYTES];

    text_addf(out, "link set lo up\naddress add %s/16 dev eth0\n",
              lab_address_host(region, host, address));
    if (lab_plan_lossy(plan, region)) {
        lab_text_segments(true, out);
    }
    text_addf(out, "link set eth0 up\nroute add default via %s\n",
              lab_address_router(region, address));
}

void lab_text_segments(bool one_by_one, struct text *out)
{
    text_addf(out, "link set eth0 gso_max_segs %d\n", one_by_one ? 1 : TEXT_SEGMENTS);
}

/* A class may be ahead by what it would send in two milliseconds, so that late wake-ups do not make
 * it slower, and by two packets at least. */
static uint64_t text_burst(uint64_t bytes_per_s, uint32_t mtu)
{
    uint64_t bytes = bytes_per_s / (1000000000 / TEXT_BURST_NS);

    return bytes > (uint64_t)mtu * 2 ? bytes : (uint64_t)mtu * 2;
}

static void text_class(const struct lab_plan *plan, const char *verb, const char *device,
                       uint32_t minor, uint64_t bytes_per_s, struct text *out)
{
    uint64_t burst = text_burst(bytes_per_s, plan->mtu);

    text_addf(out,
              "class %s dev %s parent 1: classid 1:%" PRIx32 " htb rate %" PRIu64
              "bit burst %" PRIu64 " cburst %" PRIu64 " quantum %d\n",
              verb, device, minor, bytes_per_s * 8, burst, burst, TEXT_QUANTUM);
}

static void text_queue(const struct lab_plan *plan, const char *verb, uint32_t from, uint32_t to,
                       struct text *out)
{
    text_addf(
        out, "qdisc %s dev wan0 parent 1:%" PRIx32 " handle %" PRIx32 ": bfifo limit %" PRIu64 "\n",
        verb, TEXT_CLASS_FIRST + to, lab_text_queue_handle(to) >> 16,
        lab_plan_queue_bytes(plan, from, to));
}

void lab_text_rates(const struct lab_plan *plan, uint32_t from, struct text *out)
{
    char net[LAB_ADDRESS_BYTES];

    text_add(out, "qdisc add dev wan0 root handle 1: htb\n");
    for (uint32_t to = 0; to < plan->regions; to++) {
        const struct lab_link *link = lab_plan_link(plan, from, to);

        if (!link->joined) {
            continue;
        }
        text_class(plan, "add", "wan0", TEXT_CLASS_FIRST + to, link->bytes_per_s, out);
        text_queue(plan, "add", from, to, out);
        text_addf(out,
                  "filter add dev wan0 parent 1: protocol ip prio 1 u32 match ip dst %s "
                  "flowid 1:%" PRIx32 "\n",
                  lab_address_net(to, net), TEXT_CLASS_FIRST + to);
    }
}

void lab_text_rate(const struct lab_plan *plan, uint32_t from, uint32_t to, struct text *out)
{
    text_class(plan, "change", "wan0", TEXT_CLASS_FIRST + to,
               lab_plan_link(plan, from, to)->bytes_per_s, out);
    text_queue(plan, "change", from, to, out);
}

/* One of the flows of a card: it has its part, and what others leave. */
static void text_flow(const struct lab_plan *plan, const char *device, uint32_t minor,
                      struct text *out)
{
    uint64_t all = plan->card_bytes_per_s, part = all / TEXT_FLOWS;

    text_addf(out,
              "class add dev %s parent 1:1 classid 1:%" PRIx32 " htb rate %" PRIu64
              "bit ceil %" PRIu64 "bit burst %" PRIu64 " cburst %" PRIu64 " quantum %d\n"
              "qdisc add dev %s parent 1:%" PRIx32 " bfifo limit %" PRIu64 "\n",
              device, minor, part * 8, all * 8, text_burst(part, plan->mtu),
              text_burst(all, plan->mtu), TEXT_QUANTUM, device, minor,
              lab_plan_card_queue_bytes(plan));
}

/* A program of the old kind of BPF, whose answer is the class. */
static void text_hash(const char *device, struct text *out)
{
    text_addf(out,
              "filter add dev %s parent 1: protocol all prio 1 bpf bytecode \"12,"
              "32 0 0 %u,"    /* a = the sender's address, */
              "7 0 0 0,"      /* x = a, */
              "32 0 0 %u,"    /* a = the receiver's, */
              "12 0 0 0,"     /* a += x, */
              "7 0 0 0,"      /* x = a, */
              "32 0 0 %u,"    /* a = both ports, */
              "172 0 0 0,"    /* a ^= x, */
              "36 0 0 %u,"    /* a *= a large odd number, */
              "116 0 0 24,"   /* whose upper eight bits */
              "84 0 0 %d,"    /* are the flow, */
              "4 0 0 %u,"     /* and its class is behind the first, */
              "22 0 0 0\"\n", /* which is the answer. */
              device, TEXT_NET + 12, TEXT_NET + 16, TEXT_NET + 20, TEXT_HASH, TEXT_FLOWS - 1,
              (1u << 16) + TEXT_CLASS_FIRST);
}

/* Flows share a card fairly, however much of each of them waits. */
static void text_card(const struct lab_plan *plan, const char *device, struct text *out)
{
    text_addf(out, "qdisc add dev %s root handle 1: htb default %x\n", device, TEXT_CLASS_FIRST);
    text_class(plan, "add", device, 1, plan->card_bytes_per_s, out);
    for (uint32_t i = 0; i < TEXT_FLOWS; i++) {
        text_flow(plan, device, TEXT_CLASS_FIRST + i, out);
    }
    text_hash(device, out);
}

void lab_text_lan(const struct lab_plan *plan, struct text *out)
{
    if (plan->card_bytes_per_s > 0) {
        text_card(plan, "eth0", out);
    } else if (plan->lan_bytes_per_s > 0) {
        text_add(out, "qdisc add dev eth0 root handle 1: htb default 1\n");
        text_class(plan, "add", "eth0", 1, plan->lan_bytes_per_s, out);
    }
}

void lab_text_cards(const struct lab_plan *plan, uint32_t region, struct text *out)
{
    for (uint32_t i = 0; i < plan->hosts[region] && plan->card_bytes_per_s > 0; i++) {
        char device[16];

        (void)snprintf(device, sizeof(device), "h%" PRIu32, i);
        text_card(plan, device, out);
    }
}

void lab_text_rules(const struct lab_plan *plan, uint32_t from, struct text *out)
{
    char net[LAB_ADDRESS_BYTES];

    /* To add what is there is no error, but to delete what is not there is one. */
    text_add(out, "add table ip strait\ndelete table ip strait\nadd table ip strait\n"
                  "add chain ip strait forward { type filter hook forward priority 0 ; }\n");
    for (uint32_t to = 0; to < plan->regions; to++) {
        const struct lab_link *link = lab_plan_link(plan, from, to);

        if (!link->joined || (!link->cut && link->loss_ppm == 0)) {
            continue;
        }
        text_addf(out, "add rule ip strait forward oifname \"wan0\" ip daddr %s ",
                  lab_address_net(to, net));
        if (!link->cut) {
            text_addf(out, "numgen random mod 1000000 < %" PRIu32 " ", link->loss_ppm);
        }
        text_add(out, "drop\n");
    }
}

void lab_text_probe_rates(struct text *out)
{
    text_add(out, "qdisc add dev lo root handle 1: htb\n"
                  "class add dev lo parent 1: classid 1:100 htb rate 1mbit quantum 60000\n"
                  "qdisc add dev lo parent 1:100 handle 100: bfifo limit 100000\n"
                  "filter add dev lo parent 1: protocol ip prio 1 u32 match ip dst 10.64.0.0/16 "
                  "flowid 1:100\n"
                  "qdisc del dev lo root\n");
}

void lab_text_probe_cards(struct text *out)
{
    text_addf(out, "qdisc add dev lo root handle 1: htb default %x\n", TEXT_CLASS_FIRST);
    text_hash("lo", out);
    text_add(out, "qdisc del dev lo root\n");
}

void lab_text_probe_rules(struct text *out)
{
    text_add(out, "add table ip strait\n"
                  "add chain ip strait forward { type filter hook forward priority 0 ; }\n"
                  "add rule ip strait forward oifname \"wan0\" ip daddr 10.64.0.0/16 "
                  "numgen random mod 1000000 < 1 drop\n"
                  "delete table ip strait\n");
}
