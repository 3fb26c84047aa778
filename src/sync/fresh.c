#include "sync/fresh.h"

/* What its clocks are here: as in mirror_may_read(). */
static uint64_t fresh_clock(const struct mirror_site *s)
{
    return s->clock + s->offset;
}

void fresh_init(struct fresh *f, double part)
{
    *f = (struct fresh){.part = part};
    for (uint32_t i = 0; i < MIRROR_SITES_MAX; i++) {
        f->sites[i].late_ns = MIRROR_NEVER;
    }
}

void fresh_begin(struct fresh *f, int64_t now_ns)
{
    f->closed_ns = now_ns;
    f->took_ns = 0;
}

/* A site that is as far as we are, or further, is not late. One that is further behind was late by
 * whole clocks, too. */
static int64_t fresh_late(const struct fresh *f, uint64_t clock, int64_t now_ns)
{
    uint64_t behind = clock < f->clock ? f->clock - clock : 0;

    return behind > 0 && f->took_ns > INT64_MAX / 2 / (int64_t)behind
               ? MIRROR_NEVER - 1
               : now_ns - f->closed_ns + (int64_t)behind * f->took_ns;
}

void fresh_look(struct fresh *f, const struct mirror *m, int64_t now_ns)
{
    for (uint32_t i = 1; i < m->sites_count; i++) {
        struct fresh_site *s = &f->sites[i];
        uint64_t clock = fresh_clock(&m->sites[i]);

        if (clock != s->clock) {
            s->clock = clock;
            s->late_ns = f->took_ns == 0 ? MIRROR_NEVER : fresh_late(f, clock, now_ns);
        }
    }
}

void fresh_closed(struct fresh *f, const struct mirror *m, uint64_t clock, int64_t now_ns)
{
    fresh_look(f, m, now_ns);
    if (clock <= f->clock) {
        return;
    }
    for (uint32_t i = 1; i < m->sites_count; i++) {
        if (f->sites[i].clock < f->clock) {
            f->sites[i].late_ns = fresh_late(f, f->sites[i].clock, now_ns); /* At least. */
        }
    }
    f->took_ns = now_ns - f->closed_ns;
    f->clock = clock;
    f->closed_ns = now_ns;
    for (uint32_t i = 1; i < m->sites_count; i++) {
        if (f->sites[i].clock >= clock) {
            f->sites[i].late_ns = 0; /* It was here before. */
        }
    }
}

bool fresh_may_read(struct fresh *f, const struct mirror *m, uint64_t clock, int64_t now_ns,
                    uint32_t *for_out, int64_t *until_ns_out)
{
    double worth_ns;
    int64_t until_ns;

    fresh_closed(f, m, clock - 1, now_ns);
    worth_ns = f->part * (double)f->took_ns;
    until_ns = f->closed_ns + (int64_t)worth_ns;
    if (clock != f->clock + 1 || now_ns >= until_ns) {
        return true;
    }
    for (uint32_t i = 1; i < m->sites_count; i++) {
        const struct mirror_site *s = &m->sites[i];

        if (s->up && !s->left_out && !s->done && fresh_clock(s) < f->clock &&
            (f->sites[i].late_ns == MIRROR_NEVER || (double)f->sites[i].late_ns <= worth_ns)) {
            *for_out = i;
            *until_ns_out = until_ns;
            return false;
        }
    }
    return true;
}
