#include "run/bill.h"

#include "base/mem.h"

enum err run_bill_create(const struct run_picture *p, struct run_cost **cost_out,
                         struct err_text *text)
{
    const struct run_file *f = p->file;
    struct run_cost_member *members = mem_calloc(f->workers, sizeof(*members));
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

        members[i] = (struct run_cost_member){.region = run_worker_group(f, i)->region,
                                              .compute_ns = w->compute_ns,
                                              .wait_ns = w->read_ns + w->end_ns};
    }
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
