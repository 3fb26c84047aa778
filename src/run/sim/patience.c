#include "run/sim/patience.h"

#include "base/limits.h"
#include "run/backend.h"

#include <stddef.h>

enum {
    PATIENCE_MAX_S = 365 * 24 * 3600, /* As long as a run may take at all. */
    PATIENCE_WAYS = 4,  /* Values and updates, and both again after a connection was lost. */
    PATIENCE_RATE = 500 /* A link with less has no room for greetings, heartbeats and answers. */
};

/* Is the link between these regions the slowest one so far? */
static void patience_look(const struct run_file *f, uint32_t from, uint32_t to,
                          struct run_patience *out)
{
    const struct topo_link *link = from == to ? NULL : topo_link_between(f->topo, from, to);
    uint64_t rate = link == NULL ? 0 : link->bytes_per_s;

    if (rate > 0 && link->stream_bytes_per_s > 0 && link->stream_bytes_per_s < rate) {
        rate = link->stream_bytes_per_s;
    }
    if (rate > 0 && (out->bytes_per_s == 0 || rate < out->bytes_per_s)) {
        out->bytes_per_s = rate;
        out->from = from;
        out->to = to;
    }
}

static void patience_slowest(const struct run_file *f, struct run_patience *out)
{
    for (uint32_t i = 0; i < f->servers_count; i++) {
        for (uint32_t k = 0; k < f->servers_count; k++) {
            patience_look(f, f->servers[i].region, f->servers[k].region, out);
        }
    }
    for (uint32_t i = 0; i < f->sites_count; i++) {
        const struct run_site *s = &f->sites[i];

        for (uint32_t k = 0; k < s->servers_count * s->workers; k++) {
            uint32_t server = f->servers[s->servers_first + k / s->workers].region;
            uint32_t worker = run_worker_group(f, s->workers_first + k % s->workers)->region;

            patience_look(f, server, worker, out);
            patience_look(f, worker, server, out);
        }
    }
}

void run_patience_of(const struct run_file *f, uint64_t model_bytes, struct run_patience *out)
{
    double seconds = RUN_PATIENCE_S;

    *out = (struct run_patience){.hopeless = false};
    patience_slowest(f, out);
    out->hopeless = out->bytes_per_s > 0 && out->bytes_per_s < PATIENCE_RATE;
    if (out->bytes_per_s >= LIMIT_FRAME_HEADER_BYTES) {
        seconds += (double)model_bytes * PATIENCE_WAYS * (f->workers + f->servers_count) /
                   (double)out->bytes_per_s;
    }
    out->ns = (int64_t)((seconds < PATIENCE_MAX_S ? seconds : PATIENCE_MAX_S) * 1e9);
}
