/* What a run costs: machines while they compute, machines while they wait for the network, and
 * traffic between regions, by the prices of the topology. Pure: times and bytes come in as values.
 *
 *     region r:     compute_nusd, wait_nusd     price of its machines by the hour x their time
 *                   transfer_nusd               what the links that leave it cost
 *     link a to b:  nusd                        its price by the gigabyte x its bytes
 *     in total:     the sums of the regions, and the sum of these three
 *
 * All is in billionths of a dollar. There are two roundings, each to the nearest one, halves up:
 * of the time that all machines of a class computed (or waited) in a region, and of the bytes of a
 * link. All else is addition, so parts add up to the total exactly. Inside a region traffic is
 * free. One thread. */

#ifndef RUN_COST_COST_H
#define RUN_COST_COST_H

#include "run/backend.h"

/* A machine: a worker or a server. */
struct run_cost_member {
    uint32_t region;    /* Of the topology. */
    int64_t compute_ns; /* Not negative. */
    int64_t wait_ns;    /* Likewise. */
    bool moves;         /* It is of .move_class. */
};

struct run_cost_config {
    const struct topo *topo;
    const char *file;       /* That holds the topology, for complaints. */
    const char *class;      /* Of all machines, "cpu": topo_region_price(). */
    const char *move_class; /* Of those that only move data; may be NULL if there are none. */
    const struct run_cost_member *members;
    uint32_t members_count;
    const struct run_traffic *traffic; /* Of as many regions as the topology has. */
};

struct run_cost_part {
    uint64_t compute_nusd;
    uint64_t wait_nusd;
    uint64_t transfer_nusd;
};

struct run_cost;

/* Add it all up; nothing of @config is kept. ERR_INVALID with @text if a price is not known: that
 * of a machine which is there, or of a link that carried something; also for traffic between
 * regions that are not joined. ERR_TOO_BIG with @text beyond 18 * 10^9 dollars or 292 years of the
 * machines of a region. ERR_NOMEM. */
MUST_USE enum err run_cost_create(const struct run_cost_config *config, struct run_cost **cost_out,
                                  struct err_text *text);

/* NULL is allowed. */
void run_cost_destroy(struct run_cost *c);

/* Traffic counts for the region that it leaves. */
const struct run_cost_part *run_cost_region(const struct run_cost *c, uint32_t region);
uint64_t run_cost_link(const struct run_cost *c, uint32_t from, uint32_t to);
const struct run_cost_part *run_cost_parts(const struct run_cost *c);
uint64_t run_cost_total(const struct run_cost *c);

/* So much time at a price by the hour, so many bytes at one by the gigabyte. False: too much. */
MUST_USE bool run_cost_time(uint64_t ns, uint64_t nusd_per_hour, uint64_t *nusd_out);
MUST_USE bool run_cost_bytes(uint64_t bytes, uint64_t nusd_per_gb, uint64_t *nusd_out);

/* What a link has carried so far costs, and what all have: without machines. False: a price that
 * is needed is not known, or the sum is beyond what can be counted. */
MUST_USE bool run_cost_transfer(const struct topo *t, const struct run_traffic *traffic,
                                uint32_t from, uint32_t to, uint64_t *nusd_out);
MUST_USE bool run_cost_transfer_total(const struct topo *t, const struct run_traffic *traffic,
                                      uint64_t *nusd_out);

enum { RUN_COST_TEXT_BYTES = 24 };

struct run_cost_text {
    char chars[RUN_COST_TEXT_BYTES];
};

/* Print as dollars with four decimals, rounded to the nearest, halves up: "12.3457". Returns
 * @out's characters. */
const char *run_cost_print(uint64_t nusd, struct run_cost_text *out);

#endif
