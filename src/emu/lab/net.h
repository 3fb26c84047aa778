/* Network namespaces without a name: they live as long as somebody has a descriptor of them, or is
 * inside. So whatever ends the process that made them ends all that is in them: devices, addresses,
 * queues, rules. */

#ifndef EMU_LAB_NET_H
#define EMU_LAB_NET_H

#include "emu/lab/plan.h"

struct lab_host {
    uint32_t region;
    uint32_t index;
    int ns;
    uint64_t number; /* Of the namespace, as in /proc/PID/ns/net. */
};

struct lab_router {
    int ns;
    uint64_t number;
    int tun;              /* wan0, for the relay; -1 when it was handed on. */
    uint32_t hosts_first; /* In .hosts. */
};

struct lab_net {
    const struct lab_plan *plan; /* Borrowed. */
    int home;                    /* The namespace that we are in. */
    struct lab_router routers[LAB_REGIONS_MAX];
    struct lab_host *hosts;
    uint32_t hosts_count;
    uint64_t *numbers; /* Of all namespaces, routers first. */
    uint32_t numbers_count;
};

/* Make all of it. ERR_REFUSED with @text if this machine cannot, which says what is missing and
 * what to do; ERR_IO, ERR_NOMEM. Nothing is left after an error. */
MUST_USE enum err lab_net_create(const struct lab_plan *plan, struct lab_net *net_out,
                                 struct err_text *text);

/* A zeroed one is allowed. */
void lab_net_destroy(struct lab_net *net);

/* The hosts of a region, plan->hosts[region] of them. */
const struct lab_host *lab_net_hosts(const struct lab_net *net, uint32_t region);

#endif
