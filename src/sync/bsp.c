/* Bulk synchronous parallel: everybody is in the same round. An update enters the open round only,
 * and a worker reads when the round before is closed. */

#include "sync/sync.h"

static enum sync_verdict bsp_push(const struct sync_config *config, uint64_t clock,
                                  uint64_t version)
{
    (void)config;
    if (clock <= version) {
        return SYNC_TOO_LATE;
    }
    return clock == version + 1 ? SYNC_NOW : SYNC_LATER;
}

static bool bsp_read(const struct sync_config *config, uint64_t clock, uint64_t version)
{
    (void)config;
    return clock <= version + 1;
}

const struct sync_policy sync_bsp = {
    .name = "bsp",
    .rounds = true,
    .push = bsp_push,
    .read = bsp_read,
};
