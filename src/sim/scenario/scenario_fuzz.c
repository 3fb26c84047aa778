/* Fuzz target: scripts. Reading only; what is read well is not run. */

#include "sim/scenario/scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sim_scenario *scenario;
    struct err_text text;

    if (sim_scenario_parse("fuzz", (const char *)data, size, &scenario, &text) == OK) {
        sim_scenario_destroy(scenario);
    }
    return 0;
}
