#include "emu/lab/budget.h"

#include <inttypes.h>

struct budget budget_of(const struct lab_plan *plan)
{
    struct budget b = {.able_bytes_per_s = (uint64_t)BUDGET_PACKETS_PER_S * plan->mtu};

    for (uint32_t from = 0; from < plan->regions; from++) {
        for (uint32_t to = 0; to < plan->regions; to++) {
            const struct lab_link *link = lab_plan_link(plan, from, to);

            if (from == to || !link->joined || plan->hosts[from] == 0 || plan->hosts[to] == 0) {
                continue;
            }
            if (__builtin_add_overflow(b.wanted_bytes_per_s, link->bytes_per_s,
                                       &b.wanted_bytes_per_s)) {
                b.wanted_bytes_per_s = UINT64_MAX;
            }
            if (link->bytes_per_s > b.widest_bytes_per_s) {
                b.widest_bytes_per_s = link->bytes_per_s;
            }
        }
    }
    b.enough = b.wanted_bytes_per_s <= b.able_bytes_per_s;
    return b;
}

static double budget_gbit(uint64_t bytes_per_s)
{
    return (double)bytes_per_s * 8e-9;
}

void budget_say(const struct budget *b, uint32_t mtu, struct text *out)
{
    uint64_t factor;

    if (b->enough) {
        return;
    }
    factor = (b->wanted_bytes_per_s - 1) / b->able_bytes_per_s + 1;
    text_addf(out,
              "the links have %.1f Gbit/s in all, and one machine emulates about %.1f (%d packets "
              "a second of %" PRIu32 " bytes): fine if they are not all full at once, else "
              "lateness will show it; to be safe divide the rates by %" PRIu64
              " (links.scale in a run "
              "file, or strait lab set), or take fewer regions",
              budget_gbit(b->wanted_bytes_per_s), budget_gbit(b->able_bytes_per_s),
              BUDGET_PACKETS_PER_S, mtu, factor);
    if (b->widest_bytes_per_s > b->able_bytes_per_s) {
        text_addf(out, "; one link alone has %.1f Gbit/s", budget_gbit(b->widest_bytes_per_s));
    }
    if (mtu < LAB_MTU) {
        text_addf(out, "; --mtu %d carries %.1f Gbit/s", LAB_MTU,
                  budget_gbit((uint64_t)BUDGET_PACKETS_PER_S * LAB_MTU));
    }
}
