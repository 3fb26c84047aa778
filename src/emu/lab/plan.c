#include "emu/lab/plan.h"

#include "base/mem.h"
#include "base/nearest.h"
#include "base/units.h"

#include <stdio.h>
#include <string.h>

enum {
    PLAN_HOST_FIRST = 2,                  /* The last number of the first host's address. */
    PLAN_QUEUE_BYTES_MIN = 2 * 68 * 1024, /* Twice what a host hands over at once. */
    PLAN_QUEUE_NS = 50 * 1000000,         /* At least so much of the rate may wait. */
    PLAN_CARD_QUEUE_NS = 10 * 1000000,
    PLAN_QUEUE_BYTES_MAX = 1 << 30, /* A kernel's queue counts in 32 bits. */
};

struct lab_link *lab_plan_link_at(struct lab_plan *plan, uint32_t from, uint32_t to)
{
    CHECK(from < plan->regions && to < plan->regions);
    return &plan->links[from * LAB_REGIONS_MAX + to];
}

const struct lab_link *lab_plan_link(const struct lab_plan *plan, uint32_t from, uint32_t to)
{
    CHECK(from < plan->regions && to < plan->regions);
    return &plan->links[from * LAB_REGIONS_MAX + to];
}

enum err lab_link_check(const struct lab_link *link, struct err_text *text)
{
    struct units_text a, b, c;

    if (link->bytes_per_s < LAB_RATE_MIN || link->bytes_per_s > TOPO_RATE_MAX) {
        return err_text_set(text, ERR_INVALID, "rate %s: a lab does %s to %s",
                            units_rate_print(link->bytes_per_s, &a),
                            units_rate_print(LAB_RATE_MIN, &b),
                            units_rate_print(TOPO_RATE_MAX, &c));
    }
    if (link->delay_ns > TOPO_TIME_MAX_NS || link->jitter_ns > TOPO_TIME_MAX_NS) {
        return err_text_set(
            text, ERR_INVALID, "%s %s: at most %s",
            link->delay_ns > TOPO_TIME_MAX_NS ? "delay" : "jitter",
            units_time_print(link->delay_ns > TOPO_TIME_MAX_NS ? link->delay_ns : link->jitter_ns,
                             &a),
            units_time_print(TOPO_TIME_MAX_NS, &b));
    }
    return OK;
}

static enum err plan_link(struct lab_plan *plan, uint32_t from, uint32_t to,
                          const struct topo_link *link, struct err_text *text)
{
    struct lab_link *out = lab_plan_link_at(plan, from, to);
    struct err_text why = {""};

    *out = (struct lab_link){.joined = true,
                             .bytes_per_s = link->bytes_per_s,
                             .delay_ns = link->delay_ns,
                             .jitter_ns = link->jitter_ns,
                             .loss_ppm = link->loss_ppm};
    plan->streams_capped = plan->streams_capped || link->stream_bytes_per_s > 0;
    return lab_link_check(out, &why) == OK
               ? OK
               : err_text_set(text, ERR_INVALID, "link %s to %s: %s", plan->names[from],
                              plan->names[to], why.text);
}

static enum err plan_links(struct lab_plan *plan, const struct topo *topo, struct err_text *text)
{
    enum err rc = OK;

    for (uint32_t from = 0; rc == OK && from < plan->regions; from++) {
        for (uint32_t to = 0; rc == OK && to < plan->regions; to++) {
            const struct topo_link *link = topo_link_between(topo, from, to);

            if (from != to && link != NULL) {
                rc = plan_link(plan, from, to, link, text);
            }
        }
    }
    return rc;
}

static enum err plan_fill(struct lab_plan *plan, const struct topo *topo, const uint32_t *hosts,
                          uint32_t mtu, struct err_text *text)
{
    uint64_t lan = topo_lan(topo)->bytes_per_s;

    plan->regions = topo_regions(topo);
    plan->mtu = mtu;
    plan->lan_bytes_per_s = lan < LAB_LAN_RATE_FREE ? lan : 0;
    if (plan->regions == 0) {
        return err_text_set(text, ERR_INVALID, "the topology has no region");
    }
    if (topo_duplex(topo) == TOPO_DUPLEX_SHARED) {
        return err_text_set(
            text, ERR_INVALID,
            "both directions of a link share its rate (duplex: shared), but in a "
            "lab each has its own: say duplex: full (in a run file: links: {duplex: "
            "full}), or use the simulator");
    }
    if (mtu < LAB_MTU_MIN || mtu > LAB_MTU_MAX) {
        return err_text_set(text, ERR_INVALID, "mtu %u: must be %d to %d", mtu, LAB_MTU_MIN,
                            LAB_MTU_MAX);
    }
    for (uint32_t i = 0; i < plan->regions; i++) {
        (void)snprintf(plan->names[i], TOPO_NAME_BYTES, "%s", topo_region_at(topo, i)->name);
        plan->hosts[i] = hosts[i];
        if (hosts[i] > LAB_HOSTS_MAX) {
            return err_text_set(text, ERR_INVALID, "region %s: %u hosts, at most %d",
                                plan->names[i], hosts[i], LAB_HOSTS_MAX);
        }
    }
    return plan_links(plan, topo, text);
}

enum err lab_plan_create(const struct topo *topo, const uint32_t *hosts, uint32_t mtu,
                         struct lab_plan **plan_out, struct err_text *text)
{
    struct lab_plan *plan = mem_zalloc(sizeof(*plan));
    enum err rc;

    if (plan == NULL) {
        return err_text_set(text, ERR_NOMEM, "no memory for a lab");
    }
    rc = plan_fill(plan, topo, hosts, mtu, text);
    if (rc != OK) {
        mem_free(plan);
        return rc;
    }
    *plan_out = plan;
    return OK;
}

enum err lab_plan_set_card(struct lab_plan *plan, uint64_t bytes_per_s, struct err_text *text)
{
    uint64_t most = plan->lan_bytes_per_s > 0 ? plan->lan_bytes_per_s : TOPO_RATE_MAX;
    struct units_text a, b, c;

    if (bytes_per_s < LAB_RATE_MIN || bytes_per_s > most) {
        return err_text_set(text, ERR_INVALID,
                            "card %s: a lab does %s to %s, and not more than the "
                            "LAN",
                            units_rate_print(bytes_per_s, &a), units_rate_print(LAB_RATE_MIN, &b),
                            units_rate_print(most, &c));
    }
    if (bytes_per_s < LAB_LAN_RATE_FREE) {
        plan->lan_bytes_per_s = bytes_per_s;
        plan->card_bytes_per_s = bytes_per_s;
    }
    return OK;
}

enum err lab_plan_find(const struct lab_plan *plan, const char *name, uint32_t *index_out,
                       struct err_text *text)
{
    struct nearest nearest;
    char shown[128];
    struct text t;

    nearest_init(&nearest, name);
    for (uint32_t i = 0; i < plan->regions; i++) {
        if (strcmp(plan->names[i], name) == 0) {
            *index_out = i;
            return OK;
        }
        nearest_offer(&nearest, plan->names[i]);
    }
    text_init_fixed(&t, shown, sizeof(shown));
    text_add_printable(&t, name);
    return err_text_set(text, ERR_INVALID, "no region '%s': %s", shown,
                        nearest_hint(&nearest, "there are"));
}

bool lab_plan_lossy(const struct lab_plan *plan, uint32_t region)
{
    for (uint32_t to = 0; to < plan->regions; to++) {
        if (lab_plan_link(plan, region, to)->loss_ppm > 0) {
            return true;
        }
    }
    return false;
}

/* Rates and times are within their limits: 2^38 bytes per second by 2^37 ns do not fit 64 bits. */
static uint64_t plan_product(uint64_t bytes_per_s, int64_t ns)
{
    double bytes = (double)bytes_per_s * ((double)ns * 1e-9);

    return bytes > PLAN_QUEUE_BYTES_MAX ? PLAN_QUEUE_BYTES_MAX : (uint64_t)bytes;
}

uint64_t lab_plan_queue_bytes(const struct lab_plan *plan, uint32_t from, uint32_t to)
{
    const struct lab_link *link = lab_plan_link(plan, from, to);
    const struct lab_link *back = lab_plan_link(plan, to, from);
    uint64_t flight = plan_product(link->bytes_per_s, link->delay_ns + back->delay_ns);
    uint64_t short_time = plan_product(link->bytes_per_s, PLAN_QUEUE_NS);
    uint64_t bytes = flight > short_time ? flight : short_time;

    return bytes > PLAN_QUEUE_BYTES_MIN ? bytes : PLAN_QUEUE_BYTES_MIN;
}

uint64_t lab_plan_card_queue_bytes(const struct lab_plan *plan)
{
    uint64_t bytes = plan_product(plan->card_bytes_per_s, PLAN_CARD_QUEUE_NS);

    return bytes > PLAN_QUEUE_BYTES_MIN ? bytes : PLAN_QUEUE_BYTES_MIN;
}

bool lab_plan_region_of(const struct lab_plan *plan, const uint8_t address[4], uint32_t *region_out)
{
    uint32_t region = (uint32_t)address[1] - LAB_NET_FIRST;

    if (address[0] != 10 || address[1] < LAB_NET_FIRST || region >= plan->regions) {
        return false;
    }
    *region_out = region;
    return true;
}

const char *lab_address_host(uint32_t region, uint32_t host, char *out)
{
    (void)snprintf(out, LAB_ADDRESS_BYTES, "10.%u.0.%u", (LAB_NET_FIRST + region) & 255,
                   (PLAN_HOST_FIRST + host) & 255);
    return out;
}

const char *lab_address_router(uint32_t region, char *out)
{
    (void)snprintf(out, LAB_ADDRESS_BYTES, "10.%u.0.1", (LAB_NET_FIRST + region) & 255);
    return out;
}

const char *lab_address_net(uint32_t region, char *out)
{
    (void)snprintf(out, LAB_ADDRESS_BYTES, "10.%u.0.0/16", (LAB_NET_FIRST + region) & 255);
    return out;
}
