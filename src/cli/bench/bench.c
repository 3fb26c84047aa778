/* strait bench: the heading, and what the benchmarks share. */

#include "cli/bench/bench.h"

#include "cli/command/commands.h"

#include <stdlib.h>

static int bench_compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

int64_t bench_quantile(int64_t *values, uint32_t count, uint32_t ppm)
{
    uint64_t index = (uint64_t)count * ppm / 1000000;

    CHECK(count > 0);
    qsort(values, count, sizeof(*values), bench_compare);
    return values[index < count ? index : count - 1];
}

const struct cli_command cli_command_bench = {
    .path = "bench",
    .summary = "measure this machine and this build",
    .group = CLI_GROUP_MEASURE,
    .paragraphs =
        (const char *const[]){"Benchmarks run both sides of a comparison in one go and print their "
                              "ratio: machines are shared and noisy, ratios travel.",
                              NULL},
};
