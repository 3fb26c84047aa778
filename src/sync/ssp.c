/* Stale synchronous parallel (F2): a worker may be ahead by some clocks. The sum that closes round
 * t carries the guaranteed updates up to t and the extra ones, up to t + staleness + 1, that are in
 * by then. A worker waits when its clock minus its version exceeds the staleness. */

#include "sync/sync.h"

static enum sync_verdict ssp_push(const struct sync_config *config, uint64_t clock,
                                  uint64_t version)
{
    if (clock <= version) {
        return SYNC_TOO_LATE;
    }
    return clock <= version + config->staleness + 1 ? SYNC_NOW : SYNC_LATER;
}

static bool ssp_read(const struct sync_config *config, uint64_t clock, uint64_t version)
{
    return clock <= version + config->staleness + 1;
}

const struct sync_policy sync_ssp = {
    .name = "ssp",
    .rounds = true,
    .push = ssp_push,
    .read = ssp_read,
};
