/* Who feeds whom. */

#include "sync/feeding.h"

static int64_t feeding_ms(int64_t ms)
{
    return ms * 1000000;
}

void feeding_init(struct feeding *f)
{
    *f = (struct feeding){.due_ns = SYNC_NEVER, .shun_ends_ns = SYNC_NEVER};
    for (uint32_t r = 0; r < SYNC_MEMBERS_MAX; r++) {
        f->members[r].parent = FEEDING_LANE;
    }
}

static void feeding_change(struct feeding *f, int64_t now_ns)
{
    if (f->due_ns == SYNC_NEVER) {
        f->due_ns = now_ns + feeding_ms(FEEDING_SETTLE_MS);
    }
}

/* All that it fed are the lane's. */
static void feeding_orphan(struct feeding *f, uint32_t rank)
{
    for (uint32_t r = 0; r < SYNC_MEMBERS_MAX; r++) {
        struct feeding_member *m = &f->members[r];

        if (m->present && m->parent == rank) {
            m->parent = FEEDING_LANE;
            m->on = false;
        }
    }
}

void feeding_join(struct feeding *f, uint32_t rank, bool relays, int64_t now_ns)
{
    struct feeding_member *m = &f->members[rank];

    if (m->present) {
        feeding_leave(f, rank, now_ns);
    }
    m->present = true;
    m->relays = relays;
    m->on = false;
    m->parent = FEEDING_LANE;
    f->count++;
    feeding_change(f, now_ns);
}

void feeding_leave(struct feeding *f, uint32_t rank, int64_t now_ns)
{
    struct feeding_member *m = &f->members[rank];

    if (m->present) {
        m->present = false;
        m->on = false;
        m->parent = FEEDING_LANE;
        f->count--;
        feeding_orphan(f, rank);
        feeding_change(f, now_ns);
    }
}

bool feeding_on(struct feeding *f, uint32_t rank, uint32_t epoch)
{
    struct feeding_member *m = &f->members[rank];

    if (!m->present || m->epoch != epoch || m->parent == FEEDING_LANE) {
        return false;
    }
    m->on = true;
    return true;
}

static void feeding_shun(struct feeding *f, uint32_t rank, int64_t now_ns)
{
    struct feeding_member *m = &f->members[rank];
    bool forgiven = now_ns - m->shun_ns > feeding_ms(FEEDING_FORGIVE_MS);

    m->shunned = m->shunned == 0 || forgiven ? 1 : m->shunned + (m->shun_ns <= now_ns);
    m->shunned = m->shunned > FEEDING_SHUN_DOUBLINGS ? FEEDING_SHUN_DOUBLINGS : m->shunned;
    m->shun_ns = now_ns + (feeding_ms(FEEDING_SHUN_MS) << (m->shunned - 1));
    if (m->shun_ns < f->shun_ends_ns) {
        f->shun_ends_ns = m->shun_ns;
    }
}

bool feeding_off(struct feeding *f, uint32_t rank, uint32_t epoch, int64_t now_ns)
{
    struct feeding_member *m = &f->members[rank];
    uint32_t parent = m->parent;

    if (!m->present || m->epoch != epoch || parent == FEEDING_LANE) {
        return false; /* That parent is gone already. */
    }
    m->on = false;
    m->parent = FEEDING_LANE;
    feeding_shun(f, parent, now_ns);
    feeding_change(f, now_ns);
    return true;
}

int64_t feeding_due_ns(const struct feeding *f)
{
    return f->due_ns < f->shun_ends_ns ? f->due_ns : f->shun_ends_ns;
}

bool feeding_relays(const struct feeding *f, uint32_t rank, int64_t now_ns)
{
    const struct feeding_member *m = &f->members[rank];

    return m->present && m->relays && (m->shunned == 0 || m->shun_ns <= now_ns);
}

/* The next moment at which somebody may be a parent again. */
static int64_t feeding_next_ns(const struct feeding *f, int64_t now_ns)
{
    int64_t next_ns = SYNC_NEVER;

    for (uint32_t r = 0; r < SYNC_MEMBERS_MAX; r++) {
        const struct feeding_member *m = &f->members[r];

        if (m->present && m->relays && m->shunned > 0 && m->shun_ns > now_ns &&
            m->shun_ns < next_ns) {
            next_ns = m->shun_ns;
        }
    }
    return next_ns;
}

uint32_t feeding_plan(struct feeding *f, const uint32_t *parents, int64_t now_ns, uint32_t *told)
{
    uint32_t count = 0;

    f->due_ns = SYNC_NEVER;
    f->shun_ends_ns = feeding_next_ns(f, now_ns);
    for (uint32_t r = 0; r < SYNC_MEMBERS_MAX; r++) {
        struct feeding_member *m = &f->members[r];
        uint32_t parent = m->present && parents != NULL ? parents[r] : FEEDING_LANE;

        if (m->present && m->parent != parent) {
            m->parent = parent;
            m->on = false;
            m->epoch = ++f->epoch;
            told[count++] = r;
        }
    }
    return count;
}

bool feeding_invariant(const struct feeding *f)
{
    uint32_t present = 0;

    for (uint32_t r = 0; r < SYNC_MEMBERS_MAX; r++) {
        const struct feeding_member *m = &f->members[r];
        uint32_t up = m->parent;
        uint32_t hops = 0;

        present += m->present;
        if (!m->present && (m->on || up != FEEDING_LANE)) {
            return false;
        }
        if (m->on && up == FEEDING_LANE) {
            return false;
        }
        while (up != FEEDING_LANE && hops <= f->count && f->members[up].present) {
            up = f->members[up].parent;
            hops++;
        }
        if (up != FEEDING_LANE) {
            return false;
        }
    }
    return present == f->count;
}
