#include "run/cost/move.h"

#include "run/cost/cost.h"

#include <string.h>

#define MOVE_TIME_MAX_NS 1e18 /* Beyond all patience. */

static const char *move_class(const struct run_file *f)
{
    uint64_t price;

    for (uint32_t i = 0; i < f->parts_count; i++) {
        if (!topo_region_price(f->topo, f->parts[i].region, RUN_MOVE_CLASS, &price)) {
            return f->machine;
        }
    }
    return RUN_MOVE_CLASS;
}

/* Rates are those of a model at scale, bytes those at full size. */
static int64_t move_time(const struct run_file *f, uint32_t from, uint32_t to, uint64_t bytes)
{
    const struct topo_link *link = topo_link_between(f->topo, from, to);
    double ns =
        (double)bytes * f->links.scale / (double)link->bytes_per_s * 1e9 + (double)link->delay_ns;

    return ns > MOVE_TIME_MAX_NS ? (int64_t)MOVE_TIME_MAX_NS : (int64_t)(ns + 0.5);
}

void run_move_to(const struct run_file *f, uint32_t to, struct run_move *out)
{
    *out = (struct run_move){.moves = true, .to = to, .class = move_class(f)};
    for (uint32_t i = 0; i < f->parts_count; i++) {
        const struct run_site *site = &f->parts[i];
        struct run_move_part *p = &out->parts[out->parts_count];

        if (site->region == to) {
            continue;
        }
        p->region = site->region;
        p->bytes = (uint64_t)(f->job.data_gb * 1e9 * site->workers / f->workers + 0.5);
        p->took_ns = move_time(f, p->region, to, p->bytes);
        out->bytes += p->bytes;
        out->took_ns = p->took_ns > out->took_ns ? p->took_ns : out->took_ns;
        out->parts_count++;
    }
}

void run_move_of(const struct run_file *f, struct run_move *out)
{
    if (f->layout == RUN_CENTRALISED) {
        run_move_to(f, f->sites[0].region, out);
    } else {
        *out = (struct run_move){.moves = false};
    }
}

/* So many machines of a region for that time. */
static bool move_machines(const struct run_file *f, const struct run_move *m, uint32_t region,
                          int64_t ns, uint64_t *sum)
{
    uint64_t price, nusd;

    return topo_region_price(f->topo, region, m->class, &price) &&
           run_cost_time((uint64_t)ns * f->links.machines, price, &nusd) &&
           !__builtin_add_overflow(*sum, nusd, sum);
}

bool run_move_cost(const struct run_file *f, const struct run_move *m, uint64_t *machines_nusd_out,
                   uint64_t *transfer_nusd_out)
{
    uint64_t machines = 0, transfer = 0, nusd;
    bool known = m->parts_count == 0 || move_machines(f, m, m->to, m->took_ns, &machines);

    for (uint32_t i = 0; i < m->parts_count && known; i++) {
        const struct run_move_part *p = &m->parts[i];
        const struct topo_link *link = topo_link_between(f->topo, p->region, m->to);

        known = link->priced && run_cost_bytes(p->bytes, link->price_nusd_per_gb, &nusd) &&
                !__builtin_add_overflow(transfer, nusd, &transfer) &&
                move_machines(f, m, p->region, p->took_ns, &machines);
    }
    if (known) {
        *machines_nusd_out = machines;
        *transfer_nusd_out = transfer;
    }
    return known;
}

/* What it would be to move all to a region, for comparison. */
struct move_option {
    bool priced;
    double nusd;
    uint64_t hour_nusd;
    int64_t took_ns;
};

static void move_option(const struct run_file *f, uint32_t to, struct move_option *out)
{
    uint64_t machines = 0, transfer = 0;
    struct run_move m;

    run_move_to(f, to, &m);
    *out = (struct move_option){.took_ns = m.took_ns};
    out->priced = run_move_cost(f, &m, &machines, &transfer) &&
                  topo_region_price(f->topo, to, f->machine, &out->hour_nusd);
    out->nusd = (double)machines + (double)transfer;
}

static bool move_better(const struct move_option *a, const struct move_option *b, bool priced)
{
    if (!priced) {
        return a->took_ns < b->took_ns;
    }
    return a->nusd < b->nusd || (a->nusd == b->nusd && a->hour_nusd < b->hour_nusd);
}

uint32_t run_move_cheapest(const struct run_file *f)
{
    struct move_option best, other;
    uint32_t region = f->parts[0].region;
    bool priced = true;

    for (uint32_t i = 0; i < f->parts_count; i++) {
        move_option(f, f->parts[i].region, &other);
        priced = priced && other.priced;
    }
    move_option(f, region, &best);
    for (uint32_t i = 1; i < f->parts_count; i++) {
        move_option(f, f->parts[i].region, &other);
        if (move_better(&other, &best, priced)) {
            best = other;
            region = f->parts[i].region;
        }
    }
    return region;
}
