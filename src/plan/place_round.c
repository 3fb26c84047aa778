/* From shares to paths: one categorical draw per flow (A3), the best of many. */

#include "base/mem.h"
#include "base/rng.h"
#include "plan/place_core.h"

#include <math.h>
#include <string.h>

/* One of the flow's paths, with the probability of its share. */
static uint32_t round_draw(const struct place_core *c, uint32_t flow, const double *share,
                           struct rng *rng)
{
    uint32_t first = c->routes.first[flow];
    uint32_t count = c->routes.first[flow + 1] - first;
    double sum = 0;
    double at;
    uint32_t last = 0;

    for (uint32_t i = 0; i < count; i++) {
        sum += share[first + i];
    }
    at = rng_unit(rng) * sum;
    for (uint32_t i = 0; i < count; i++) {
        if (share[first + i] > 0) {
            last = i;
            if (at < share[first + i]) {
                break;
            }
            at -= share[first + i];
        }
    }
    return last;
}

/* The cheapest path of each flow: if there is a choice within the limit, this often is. */
static void round_cheapest(const struct place_core *c, uint32_t *choice)
{
    for (uint32_t f = 0; f < c->routes.flows; f++) {
        choice[f] = 0;
        for (uint32_t q = c->routes.first[f]; q < c->routes.first[f + 1]; q++) {
            if (c->usd[q] < c->usd[c->routes.first[f] + choice[f]]) {
                choice[f] = q - c->routes.first[f];
            }
        }
    }
}

/* Keep @choice if it is better. */
static void round_take(struct place_core *c, const uint32_t *choice, struct place_cost *best,
                       uint32_t *choice_out)
{
    struct place_cost cost = place_cost_of(c, choice);

    if (cost.value < best->value) {
        *best = cost;
        memcpy(choice_out, choice, c->routes.flows * sizeof(*choice));
    }
}

enum err place_round(struct place_core *c, const double *share,
                     const struct plan_place_effort *effort, uint32_t *choice_out,
                     struct place_cost *cost_out)
{
    struct place_cost best = {.value = INFINITY};
    uint32_t *choice = mem_calloc((size_t)c->routes.flows + 1, sizeof(*choice));
    struct rng seed;
    struct rng rng;

    if (choice == NULL) {
        return ERR_NOMEM;
    }
    rng_init(&seed, effort->seed);
    rng = rng_fork(&seed, c->routes.target);
    for (uint32_t i = 0; i < effort->draws; i++) {
        for (uint32_t f = 0; f < c->routes.flows; f++) {
            choice[f] = round_draw(c, f, share, &rng);
        }
        round_take(c, choice, &best, choice_out);
    }
    if (c->usd != NULL) {
        round_cheapest(c, choice);
        round_take(c, choice, &best, choice_out);
    }
    if (!effort->plain && best.value < INFINITY) {
        memcpy(choice, choice_out, c->routes.flows * sizeof(*choice));
        place_improve(c, choice);
        round_take(c, choice, &best, choice_out);
    }
    mem_free(choice);
    *cost_out = best;
    return OK;
}
