/* Can one machine emulate these links? What the relay gets through was measured: packets a second
 * on one core, whatever their size. Pure. */

#ifndef EMU_LAB_BUDGET_H
#define EMU_LAB_BUDGET_H

#include "base/text.h"
#include "emu/lab/plan.h"

enum { BUDGET_PACKETS_PER_S = 35 * 1000 };

struct budget {
    uint64_t wanted_bytes_per_s; /* Of all links at once. */
    uint64_t able_bytes_per_s;
    uint64_t widest_bytes_per_s; /* Of one link. */
    bool enough;
};

/* All links at their rates; cut ones too, they may be healed. */
struct budget budget_of(const struct lab_plan *plan);

/* A warning with figures and what to do; nothing if it is enough. @text must be long enough. */
void budget_say(const struct budget *b, uint32_t mtu, struct text *out);

#endif
