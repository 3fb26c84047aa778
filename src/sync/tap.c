/* Totally asynchronous parallel: nobody waits for anybody. Every update is a round of its own; a
 * chunk's version counts them. For comparison: it need not converge. */

#include "sync/sync.h"

static enum sync_verdict tap_push(const struct sync_config *config, uint64_t clock,
                                  uint64_t version)
{
    (void)config;
    (void)clock;
    (void)version;
    return SYNC_NOW;
}

static bool tap_read(const struct sync_config *config, uint64_t clock, uint64_t version)
{
    (void)config;
    (void)clock;
    (void)version;
    return true;
}

const struct sync_policy sync_tap = {
    .name = "tap",
    .rounds = false,
    .push = tap_push,
    .read = tap_read,
};
