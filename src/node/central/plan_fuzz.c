/* Fuzz the JSON of plans: what is taken from a neighbour can be followed, as far as a site can tell
 * by itself, and is passed on as it came. The first byte says how many sites there are. */

#include "node/central/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_path(const struct node_plan *plan, uint32_t site, uint32_t sites)
{
    const struct node_path *path = &plan->paths[site];

    CHECK(path->count <= NODE_PATH_SITES_MAX && path->bytes_per_s <= LINKS_RATE_MAX);
    if (site == plan->centre) {
        CHECK(path->count == 0);
        return;
    }
    CHECK(path->count >= 2 && path->sites[0] == site);
    CHECK(path->sites[path->count - 1] == plan->centre);
    for (uint32_t i = 0; i < path->count; i++) {
        CHECK(path->sites[i] < sites);
        CHECK(i + 1 == path->count || path->rates[i] <= LINKS_RATE_MAX);
    }
}

static void fuzz_plan(const struct node_plan *plan, uint32_t sites)
{
    static struct node_plan back;
    json_t *said = node_plan_to_json(plan, sites), *again;

    CHECK(plan->epoch > 0 && plan->epoch <= LINKS_EPOCH_LAST && plan->centre < sites);
    CHECK((plan->active >> plan->centre & 1) != 0);
    CHECK(sites == CENTRAL_SITES_MAX || plan->active >> sites == 0);
    for (uint32_t i = 0; i < sites; i++) {
        if ((plan->active >> i & 1) != 0) {
            fuzz_path(plan, i, sites);
        }
    }
    CHECK(node_plan_from_json(said, sites, &back));
    again = node_plan_to_json(&back, sites);
    CHECK(json_equal(said, again));
    json_decref(again);
    json_decref(said);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct node_plan plan;
    uint32_t sites;
    json_t *fields;

    if (size == 0) {
        return 0;
    }
    sites = 1 + data[0] % CENTRAL_SITES_MAX;
    fields = json_loadb((const char *)data + 1, size - 1, JSON_REJECT_DUPLICATES, NULL);
    if (node_plan_from_json(fields, sites, &plan)) {
        fuzz_plan(&plan, sites);
    }
    json_decref(fields);
    return 0;
}
