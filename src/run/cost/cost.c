#include "run/cost/cost.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>

#define COST_HOUR_NS UINT64_C(3600000000000)
#define COST_GB_BYTES UINT64_C(1000000000)

/* The largest price times the largest time or count has less than 2^114. */
__extension__ typedef unsigned __int128 cost_wide;

struct run_cost {
    uint32_t regions_count;
    struct run_cost_part total;
    uint64_t total_nusd;
    struct run_cost_part regions[TOPO_REGIONS_MAX];
    uint64_t links[]; /* [from * regions_count + to] */
};

/* @amount at @price per @unit. False if the result does not fit. */
static bool cost_of(uint64_t amount, uint64_t price, uint64_t unit, uint64_t *nusd_out)
{
    cost_wide nusd = ((cost_wide)amount * price + unit / 2) / unit;

    *nusd_out = (uint64_t)nusd;
    return nusd <= UINT64_MAX;
}

bool run_cost_time(uint64_t ns, uint64_t nusd_per_hour, uint64_t *nusd_out)
{
    return cost_of(ns, nusd_per_hour, COST_HOUR_NS, nusd_out);
}

bool run_cost_bytes(uint64_t bytes, uint64_t nusd_per_gb, uint64_t *nusd_out)
{
    return cost_of(bytes, nusd_per_gb, COST_GB_BYTES, nusd_out);
}

static bool cost_add(uint64_t *sum, uint64_t nusd)
{
    return !__builtin_add_overflow(*sum, nusd, sum);
}

static bool cost_add_ns(int64_t *sum, int64_t ns)
{
    CHECK(ns >= 0);
    return !__builtin_add_overflow(*sum, ns, sum);
}

static enum err cost_too_big(const struct run_cost_config *config, struct err_text *text)
{
    return err_text_set(text, ERR_TOO_BIG,
                        "%.128s: the cost is beyond what can be counted: look for a price, a time "
                        "or a count that is far too large",
                        config->file);
}

/* Which classes the region has, or that it has none. */
static enum err cost_no_machine(const struct run_cost_config *config, uint32_t region,
                                const char *class, struct err_text *text)
{
    const struct topo_region *r = topo_region_at(config->topo, region);
    char known[TOPO_CLASSES_MAX * (TOPO_CLASS_BYTES + 2)] = "";
    struct text list;

    text_init_fixed(&list, known, sizeof(known));
    for (uint32_t i = 0; i < r->prices_count; i++) {
        text_addf(&list, "%s%s", i > 0 ? ", " : "", r->prices[i].class);
    }
    return err_text_set(text, ERR_INVALID,
                        "%.128s: region %s has no price for machines of class '%.16s'%s%s: add "
                        "\"%.16s\" (dollars per hour) to the \"usd_per_hour\" of that region",
                        config->file, r->name, class, known[0] != '\0' ? ", only for " : "", known,
                        class);
}

static enum err cost_no_link(const struct run_cost_config *config, uint32_t from, uint32_t to,
                             struct err_text *text)
{
    const char *a = topo_region_at(config->topo, from)->name;
    const char *b = topo_region_at(config->topo, to)->name;

    if (topo_link_between(config->topo, from, to) == NULL) {
        return err_text_set(text, ERR_INVALID,
                            "%.128s: there is no link from %s to %s, but traffic: add one to "
                            "\"links\", with a \"price\"",
                            config->file, a, b);
    }
    return err_text_set(text, ERR_INVALID,
                        "%.128s: the link from %s to %s has no price: add \"price\" (dollars per "
                        "gigabyte, 0 if it is free) to %s",
                        config->file, a, b,
                        topo_link_own(config->topo, from, to) != NULL
                            ? "that entry of \"links\""
                            : "\"default_link\", which it has");
}

/* What the machines of one region cost that move data, or the others. */
static enum err cost_machines(struct run_cost *c, const struct run_cost_config *config,
                              uint32_t region, bool moves, struct err_text *text)
{
    struct run_cost_part *part = &c->regions[region];
    const char *class = moves ? config->move_class : config->class;
    uint64_t price = 0, compute_nusd = 0, wait_nusd = 0;
    int64_t compute_ns = 0, wait_ns = 0;
    bool here = false, fits = true;

    for (uint32_t i = 0; i < config->members_count; i++) {
        const struct run_cost_member *m = &config->members[i];

        if (m->region == region && m->moves == moves) {
            here = true;
            fits = fits && cost_add_ns(&compute_ns, m->compute_ns) &&
                   cost_add_ns(&wait_ns, m->wait_ns);
        }
    }
    if (here && !topo_region_price(config->topo, region, class, &price)) {
        return cost_no_machine(config, region, class, text);
    }
    fits = fits && run_cost_time((uint64_t)compute_ns, price, &compute_nusd) &&
           run_cost_time((uint64_t)wait_ns, price, &wait_nusd) &&
           cost_add(&part->compute_nusd, compute_nusd) && cost_add(&part->wait_nusd, wait_nusd);
    return fits ? OK : cost_too_big(config, text);
}

bool run_cost_transfer(const struct topo *t, const struct run_traffic *traffic, uint32_t from,
                       uint32_t to, uint64_t *nusd_out)
{
    const struct topo_link *link = topo_link_between(t, from, to);
    uint64_t bytes = run_traffic_between(traffic, from, to);

    if (from == to || bytes == 0) {
        *nusd_out = 0;
        return true;
    }
    return link != NULL && link->priced && run_cost_bytes(bytes, link->price_nusd_per_gb, nusd_out);
}

bool run_cost_transfer_total(const struct topo *t, const struct run_traffic *traffic,
                             uint64_t *nusd_out)
{
    uint32_t n = traffic->regions;
    uint64_t total = 0, nusd;

    for (uint32_t i = 0; i < n * n; i++) {
        if (!run_cost_transfer(t, traffic, i / n, i % n, &nusd) || !cost_add(&total, nusd)) {
            return false;
        }
    }
    *nusd_out = total;
    return true;
}

/* What the traffic costs that leaves one region. */
static enum err cost_traffic(struct run_cost *c, const struct run_cost_config *config,
                             uint32_t from, struct err_text *text)
{
    for (uint32_t to = 0; to < c->regions_count; to++) {
        const struct topo_link *link = topo_link_between(config->topo, from, to);
        uint64_t bytes = run_traffic_between(config->traffic, from, to);
        uint64_t *nusd = &c->links[(size_t)from * c->regions_count + to];

        if (from == to || bytes == 0) {
            continue;
        }
        if (link == NULL || !link->priced) {
            return cost_no_link(config, from, to, text);
        }
        if (!run_cost_transfer(config->topo, config->traffic, from, to, nusd) ||
            !cost_add(&c->regions[from].transfer_nusd, *nusd)) {
            return cost_too_big(config, text);
        }
    }
    return OK;
}

static bool cost_sum(struct run_cost *c)
{
    bool fits = true;

    for (uint32_t i = 0; i < c->regions_count && fits; i++) {
        fits = cost_add(&c->total.compute_nusd, c->regions[i].compute_nusd) &&
               cost_add(&c->total.wait_nusd, c->regions[i].wait_nusd) &&
               cost_add(&c->total.transfer_nusd, c->regions[i].transfer_nusd);
    }
    return fits && cost_add(&c->total_nusd, c->total.compute_nusd) &&
           cost_add(&c->total_nusd, c->total.wait_nusd) &&
           cost_add(&c->total_nusd, c->total.transfer_nusd);
}

enum err run_cost_create(const struct run_cost_config *config, struct run_cost **cost_out,
                         struct err_text *text)
{
    uint32_t n = topo_regions(config->topo);
    struct run_cost *c = mem_zalloc(sizeof(*c) + (size_t)n * n * sizeof(c->links[0]));
    enum err rc = OK;

    CHECK(config->traffic->regions == n);
    if (c == NULL) {
        return err_text_set(text, ERR_NOMEM, "%.128s: out of memory", config->file);
    }
    c->regions_count = n;
    for (uint32_t i = 0; i < config->members_count; i++) {
        CHECK(config->members[i].region < n);
    }
    for (uint32_t i = 0; i < n && rc == OK; i++) {
        rc = cost_machines(c, config, i, false, text);
        if (rc == OK) {
            rc = cost_machines(c, config, i, true, text);
        }
        if (rc == OK) {
            rc = cost_traffic(c, config, i, text);
        }
    }
    if (rc == OK && !cost_sum(c)) {
        rc = cost_too_big(config, text);
    }
    if (rc != OK) {
        run_cost_destroy(c);
        return rc;
    }
    *cost_out = c;
    return OK;
}

void run_cost_destroy(struct run_cost *c)
{
    mem_free(c);
}

const struct run_cost_part *run_cost_region(const struct run_cost *c, uint32_t region)
{
    CHECK(region < c->regions_count);
    return &c->regions[region];
}

uint64_t run_cost_link(const struct run_cost *c, uint32_t from, uint32_t to)
{
    CHECK(from < c->regions_count && to < c->regions_count);
    return c->links[(size_t)from * c->regions_count + to];
}

const struct run_cost_part *run_cost_parts(const struct run_cost *c)
{
    return &c->total;
}

uint64_t run_cost_total(const struct run_cost *c)
{
    return c->total_nusd;
}

const char *run_cost_print(uint64_t nusd, struct run_cost_text *out)
{
    uint64_t rounded = nusd / 100000 + (nusd % 100000 >= 50000);

    (void)snprintf(out->chars, sizeof(out->chars), "%" PRIu64 ".%04" PRIu64, rounded / 10000,
                   rounded % 10000);
    return out->chars;
}
