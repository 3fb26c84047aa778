/* Thresholds that follow the links; when a link needs a barrier. */

#include "sync/asp.h"

/* The soft threshold sinks slowly and rises fast: what is sent in vain costs time, what is not
 * sent costs little. Below the least of it nothing is worth a comparison. */
#define ASP_SINK 0.8
#define ASP_RISE 1.6
#define ASP_LEAST 0.01
#define ASP_SPARE 0.5 /* Sink while less than this part of a link is used. */
#define ASP_FULL 0.85 /* Rise when more than this is. */

void asp_init(struct asp *a, const struct asp_config *config)
{
    *a = (struct asp){.config = *config, .soft = 1};
}

/* What a link drains in a clock. */
static double asp_capacity(const struct asp_clock *clock, const struct asp_link *link)
{
    return (double)link->bytes_per_s * (double)clock->took_ns / 1e9;
}

/* How much of the busiest link is used: what it has to drain, to what it can in a clock. One that
 * was never busy has time to spare, though nobody knows how much. */
static double asp_use(const struct asp_clock *clock)
{
    double most = 0;

    for (uint32_t i = 0; i < clock->links_count; i++) {
        const struct asp_link *link = &clock->links[i];
        double capacity = asp_capacity(clock, link);
        double use = capacity > 0 ? (double)link->backlog_bytes / capacity : 0;

        most = use > most ? use : most;
    }
    return most;
}

/* May so much be sent in a clock, as far as the budget goes? */
static bool asp_affords(struct asp *a, const struct asp_clock *clock)
{
    uint64_t budget = a->config.budget_bytes;
    uint64_t clocks =
        a->config.clocks > clock->clock ? a->config.clocks - clock->clock : clock->clock + 1;
    uint64_t left = budget > a->sent_bytes ? budget - a->sent_bytes : 0;

    a->over = budget > 0 && left == 0;
    return budget == 0 || clock->made_bytes * clock->copies <= left / clocks;
}

void asp_step(struct asp *a, const struct asp_clock *clock)
{
    bool affords;
    double use;

    a->sent_bytes += clock->made_bytes * clock->copies;
    affords = asp_affords(a, clock);
    a->bound = !affords;
    if (a->config.goal == ASP_COST) {
        a->soft = 1;
        return;
    }
    use = asp_use(clock);
    if (!affords || use > ASP_FULL) {
        a->soft *= ASP_RISE;
    } else if (use < ASP_SPARE) {
        a->soft *= ASP_SINK;
    }
    a->soft = a->soft > 1 || a->over ? 1 : a->soft < ASP_LEAST ? ASP_LEAST : a->soft;
}

/* Clocks that a piece may be on its way before readers are told. Half of what the mirror clock
 * allows: a barrier stops those who read what is late, before the clock stops everybody. */
static double asp_patience(const struct asp *a)
{
    uint64_t half = a->config.staleness / 2;

    return a->config.staleness == UINT64_MAX || half == 0 ? 1 : (double)half;
}

bool asp_raises(const struct asp *a, const struct asp_clock *clock, const struct asp_link *link)
{
    double capacity = asp_capacity(clock, link);

    return a->config.barrier && clock->made_bytes + clock->passed_bytes > 0 && capacity > 0 &&
           (double)link->backlog_bytes > capacity * asp_patience(a);
}
