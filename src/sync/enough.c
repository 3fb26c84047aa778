#include "sync/enough.h"

enum enough_verdict {
    ENOUGH_SHORT,
    ENOUGH_UNKNOWN,
    ENOUGH_JUST, /* Above what is required, but not by far. */
    ENOUGH_GOOD,
};

void enough_init(struct enough *e, const struct enough_config *config)
{
    *e = (struct enough){.config = *config, .up = true};
    if (e->config.patience == 0) {
        e->config.patience = ENOUGH_PATIENCE;
    }
}

static enum enough_verdict enough_judge(const struct enough *e, const struct enough_link *link)
{
    uint64_t required = e->config.required, tenth = required / 10;

    if (!link->known || (link->at_least && link->bytes_per_s <= required)) {
        return ENOUGH_UNKNOWN;
    }
    if (link->bytes_per_s <= required) {
        return ENOUGH_SHORT;
    }
    return link->bytes_per_s - required > tenth ? ENOUGH_GOOD : ENOUGH_JUST;
}

uint32_t enough_wanted(const struct enough *e, const struct enough_link *links, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (enough_judge(e, &links[i]) == ENOUGH_UNKNOWN) {
            return i;
        }
    }
    return ENOUGH_NO_LINK;
}

uint32_t enough_step(struct enough *e, const struct enough_link *links, uint32_t count)
{
    enum enough_verdict worst = ENOUGH_GOOD;

    if (count == 0) {
        return ENOUGH_NO_LINK;
    }
    for (uint32_t i = 0; i < count; i++) {
        enum enough_verdict verdict = enough_judge(e, &links[i]);

        worst = verdict < worst ? verdict : worst;
    }
    e->good = worst == ENOUGH_GOOD ? e->good + 1 : 0;
    if (worst == ENOUGH_SHORT) {
        e->up = true;
    } else if (e->good >= e->config.patience) {
        e->up = false;
        e->good = e->config.patience; /* It counts no further. */
    }
    return enough_wanted(e, links, count);
}
