/* What goes wrong with connections. */

#include "sim/net/stream.h"
#include "sim/net/tube.h"

static bool tube_open(const struct sim_tube *tube)
{
    for (int i = 0; i < 2; i++) {
        const struct sim_end *end = &tube->ends[i];

        if (end->state != SIM_END_OPEN || end->ready.loop == NULL || end->say_failed || end->late ||
            tube->stalled) {
            return false;
        }
    }
    return true;
}

/* Pick one of the open connections, or NULL. */
static struct sim_tube *tube_pick(struct sim_world *w, struct rng *rng)
{
    uint64_t count = 0, pick;

    LIST_FOREACH (link, &sim_tubes_of(w)->all) {
        count += tube_open(LIST_ENTRY(link, struct sim_tube, link));
    }
    if (count == 0) {
        return NULL;
    }
    pick = rng_below(rng, count);
    LIST_FOREACH (link, &sim_tubes_of(w)->all) {
        struct sim_tube *tube = LIST_ENTRY(link, struct sim_tube, link);

        if (tube_open(tube) && pick-- == 0) {
            return tube;
        }
    }
    return NULL;
}

static void tube_trace(struct sim_tube *tube, const char *what)
{
    sim_trace(tube->world, tube->ends[0].host, "connection %llu to %s %s",
              (unsigned long long)tube->number, tube->ends[1].host->name, what);
}

bool sim_stream_reset(struct sim_world *w, struct rng *rng)
{
    struct sim_tube *tube = tube_pick(w, rng);

    if (tube == NULL) {
        return false;
    }
    tube_trace(tube, "is reset");
    sim_pipe_stop(&tube->ends[0].out);
    sim_pipe_stop(&tube->ends[1].out);
    sim_end_fail(&tube->ends[0], ERR_CLOSED);
    sim_end_fail(&tube->ends[1], ERR_CLOSED);
    return true;
}

bool sim_stream_reset_late(struct sim_world *w, struct rng *rng, int64_t late_ns)
{
    struct sim_tube *tube = tube_pick(w, rng);
    struct sim_end *first, *second;

    if (tube == NULL) {
        return false;
    }
    first = &tube->ends[rng_below(rng, 2)];
    second = sim_end_other(first);
    if (sim_link_is_cut(first->out.link)) {
        return false;
    }
    tube_trace(tube, "is reset at one end");
    second->late = true;
    sim_end_tell(second, ERR_CLOSED, late_ns);
    sim_end_fail(first, ERR_CLOSED);
    return true;
}

static struct sim_pipe *pipe_pick(struct sim_world *w, struct rng *rng)
{
    struct sim_tube *tube = tube_pick(w, rng);

    return tube == NULL ? NULL : &tube->ends[rng_below(rng, 2)].out;
}

bool sim_stream_flip(struct sim_world *w, struct rng *rng)
{
    struct sim_pipe *pipe = pipe_pick(w, rng);

    if (pipe == NULL) {
        return false;
    }
    pipe->flip = true;
    return true;
}

bool sim_stream_duplicate(struct sim_world *w, struct rng *rng)
{
    struct sim_pipe *pipe = pipe_pick(w, rng);

    if (pipe == NULL) {
        return false;
    }
    pipe->duplicate = true;
    return true;
}

bool sim_stream_fragment(struct sim_world *w, struct rng *rng, uint32_t bytes)
{
    struct sim_pipe *pipe = pipe_pick(w, rng);

    if (pipe == NULL) {
        return false;
    }
    pipe->fragment_bytes = bytes;
    return true;
}

bool sim_stream_stall(struct sim_world *w, struct rng *rng)
{
    struct sim_tube *tube = tube_pick(w, rng);

    if (tube == NULL) {
        return false;
    }
    tube_trace(tube, "stalls");
    tube->stalled = true;
    return true;
}

void sim_stream_counts(const struct sim_world *w, struct sim_stream_counts *out)
{
    *out = w->tubes->counts;
}
