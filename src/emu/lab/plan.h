/* What a lab consists of: regions, hosts, addresses and links, from a topology. Pure.
 *
 *     region r                                          another region
 *     host 0  10.(64+r).0.2 --+                            +-- host 0
 *     host 1  10.(64+r).0.3 --+-- router 10.(64+r).0.1 ====+-- ...
 *                            lan0                     wan0
 *
 * Each host and each router is a network namespace; ==== is the relay (emu/lab/relay.h). */

#ifndef EMU_LAB_PLAN_H
#define EMU_LAB_PLAN_H

#include "topo/topo.h"

enum {
    LAB_REGIONS_MAX = TOPO_REGIONS_MAX,
    LAB_HOSTS_MAX = 250, /* Of a region. */
    LAB_MTU = 9000,
    LAB_MTU_MIN = 576,
    LAB_MTU_MAX = 32000,
    LAB_ADDRESS_BYTES = sizeof("255.255.255.255/32"),
    LAB_NET_FIRST = 64,      /* Region r has 10.(64+r).0.0/16. */
    LAB_RATE_MIN = 8 * 1000, /* Bytes per second: 64 kbit/s. */
};

/* Faster than this is not held back: no machine that emulates reaches it. */
#define LAB_LAN_RATE_FREE UINT64_C(2500000000) /* 20 Gbit/s. */

/* One direction. */
struct lab_link {
    bool joined;
    bool cut;
    uint64_t bytes_per_s;
    int64_t delay_ns;
    int64_t jitter_ns;
    uint32_t loss_ppm;
};

struct lab_plan {
    uint32_t regions;
    uint32_t mtu;
    uint64_t lan_bytes_per_s;  /* What a host may send; zero: as fast as it can. */
    uint64_t card_bytes_per_s; /* What comes to a host, the same; it is not more than the above. */
    bool streams_capped;       /* The topology has caps for one connection: not emulated. */
    char names[LAB_REGIONS_MAX][TOPO_NAME_BYTES];
    uint32_t hosts[LAB_REGIONS_MAX];
    struct lab_link links[LAB_REGIONS_MAX * LAB_REGIONS_MAX];
};

/* Make a plan of @topo, with hosts as in @hosts (one count for each region). ERR_INVALID with
 * @text if a lab cannot be so; ERR_NOMEM. The caller releases it with mem_free(). */
MUST_USE enum err lab_plan_create(const struct topo *topo, const uint32_t *hosts, uint32_t mtu,
                                  struct lab_plan **plan_out, struct err_text *text);

/* Hosts send and get this much, instead of sending as much as the LAN has. ERR_INVALID with @text
 * if a lab cannot do that, or the LAN has less. */
MUST_USE enum err lab_plan_set_card(struct lab_plan *plan, uint64_t bytes_per_s,
                                    struct err_text *text);

struct lab_link *lab_plan_link_at(struct lab_plan *plan, uint32_t from, uint32_t to);
const struct lab_link *lab_plan_link(const struct lab_plan *plan, uint32_t from, uint32_t to);

/* ERR_INVALID with @text, which names the nearest or all regions. */
MUST_USE enum err lab_plan_find(const struct lab_plan *plan, const char *name, uint32_t *index_out,
                                struct err_text *text);

/* The figures of a link are within what can be emulated. ERR_INVALID with @text. */
MUST_USE enum err lab_link_check(const struct lab_link *link, struct err_text *text);

/* True if some link out of the region loses packets. */
bool lab_plan_lossy(const struct lab_plan *plan, uint32_t region);

/* Bytes that may wait for their turn on a link: a round trip's worth, 50 ms, or two packets of the
 * largest size that hosts hand over at once, whichever is most. */
uint64_t lab_plan_queue_bytes(const struct lab_plan *plan, uint32_t from, uint32_t to);

/* The same for each flow on a host's card: 10 ms of it, or two such packets. */
uint64_t lab_plan_card_queue_bytes(const struct lab_plan *plan);

/* The region that an address (in the order of the net) belongs to; false if it is none. */
bool lab_plan_region_of(const struct lab_plan *plan, const uint8_t address[4],
                        uint32_t *region_out);

/* Write an address to @out, which has LAB_ADDRESS_BYTES, and return it. */
const char *lab_address_host(uint32_t region, uint32_t host, char *out);
const char *lab_address_router(uint32_t region, char *out);
const char *lab_address_net(uint32_t region, char *out); /* "10.64.0.0/16" */

#endif
