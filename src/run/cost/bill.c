#include "run/cost/bill.h"

#include "base/mem.h"
#include "run/cost/move.h"

/* For how many machines a worker stands, as a fraction. */
static void bill_machines(const struct run_file *f, uint32_t worker, int64_t *above, int64_t *below)
{
    const struct run_site *p = f->parts;
    uint32_t region = run_worker_group(f, worker)->region;

    *above = f->links.machines;
    *below = f->links.machines;
    if (f->links.machines == 1) {
        return;
    }
    if (f->parts_count > 0) {
        while (worker >= p->workers_first + p->workers) {
            p++;
        }
        *below = p->workers;
        return;
    }
    *below = 0;
    for (uint32_t i = 0; i < f->groups_count; i++) {
        *below += f->groups[i].region == region ? f->groups[i].count : 0;
    }
}

/* The same in nanoseconds; what is beyond counting is for run_cost_create() to refuse. */
static int64_t bill_time(int64_t ns, int64_t above, int64_t below)
{
    double value = (double)ns * (double)above / (double)below;

    return above == below ? ns : value >= (double)INT64_MAX ? INT64_MAX : (int64_t)(value + 0.5);
}

/* The machines at both ends of each way that data was moved. Returns how many entries these are. */
static uint32_t bill_movers(const struct run_file *f, const struct run_move *m,
                            struct run_cost_member *out)
{
    if (m->parts_count == 0) {
        return 0;
    }
    for (uint32_t i = 0; i < m->parts_count; i++) {
        out[i] = (struct run_cost_member){.region = m->parts[i].region,
                                          .wait_ns =
                                              bill_time(m->parts[i].took_ns, f->links.machines, 1),
                                          .moves = true};
    }
    out[m->parts_count] = (struct run_cost_member){
        .region = m->to, .wait_ns = bill_time(m->took_ns, f->links.machines, 1), .moves = true};
    return m->parts_count + 1;
}

enum err run_bill_create(const struct run_picture *p, struct run_cost **cost_out,
                         struct err_text *text)
{
    const struct run_file *f = p->file;
    struct run_cost_member *members =
        mem_calloc((size_t)f->workers + RUN_SERVERS_MAX + 1, sizeof(*members));
    struct run_move move;
    struct run_cost_config config = {.topo = f->topo,
                                     .file = f->topology != NULL ? f->topology : f->name,
                                     .class = f->machine,
                                     .members = members,
                                     .members_count = f->workers,
                                     .traffic = p->traffic};
    enum err rc;

    if (members == NULL) {
        return err_text_set(text, ERR_NOMEM, "%.128s: out of memory", config.file);
    }
    for (uint32_t i = 0; i < f->workers; i++) {
        const struct run_tally_worker *w = run_tally_worker(p->tally, i);
        int64_t above, below;

        bill_machines(f, i, &above, &below);
        members[i] =
            (struct run_cost_member){.region = run_worker_group(f, i)->region,
                                     .compute_ns = bill_time(w->compute_ns, above, below),
                                     .wait_ns = bill_time(w->read_ns + w->end_ns, above, below)};
    }
    run_move_of(f, &move);
    config.move_class = move.class;
    config.members_count += bill_movers(f, &move, members + f->workers);
    rc = run_cost_create(&config, cost_out, text);
    mem_free(members);
    return rc;
}

void run_bill_site(const struct run_cost *c, const struct run_file *f, uint32_t site,
                   struct run_cost_part *out)
{
    *out = f->sites_count == 1 ? *run_cost_parts(c) : *run_cost_region(c, f->sites[site].region);
}

bool run_bill_has_budget(const struct run_file *f)
{
    return f->budget.max_usd > 0 || f->budget.max_gb > 0;
}

bool run_bill_bound(const struct run_picture *p)
{
    const struct run_budget *b = &p->file->budget;
    uint64_t nusd = 0;
    bool bound = b->max_gb > 0 && (double)run_traffic_total(p->traffic) >= b->max_gb * 1e9;

    if (b->max_usd > 0 && run_cost_transfer_total(p->file->topo, p->traffic, &nusd)) {
        bound = bound || (double)nusd >= b->max_usd * 1e9;
    }
    for (uint32_t i = 0; p->shares != NULL && i < p->file->sites_count; i++) {
        bound = bound || p->shares[i].bound;
    }
    return run_bill_has_budget(p->file) && bound;
}

bool run_bill_holds(const struct run_picture *p)
{
    const struct run_budget *b = &p->file->budget;
    uint64_t nusd = 0;
    bool gb = b->max_gb <= 0 || (double)run_traffic_total(p->traffic) <= b->max_gb * 1e9;
    bool usd = b->max_usd <= 0 || (run_cost_transfer_total(p->file->topo, p->traffic, &nusd) &&
                                   (double)nusd <= b->max_usd * 1e9);

    return gb && usd;
}
