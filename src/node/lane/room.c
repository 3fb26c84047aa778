/* Room for frames in a lane: what comes must always find a buffer, or acknowledgements behind it on
 * the same stream are never read and nothing gets free again. So each worker has a window that the
 * lane can hold, and what goes out takes only what all windows and all sums leave over: a sum for
 * which there is no room is not queued, and its chunk goes out whole later. */

#include "node/lane/state.h"

enum {
    ROOM_WINDOW_MIN = 1 << 20,    /* A few chunks: or a round is many round trips. */
    ROOM_STREAM_BYTES = 128 << 10 /* To read into, beside whole frames. */
};

/* What a worker may have under way here. */
static uint64_t room_window(const struct node_lane *l)
{
    uint64_t workers = l->config.site.sync.members_min > 0 ? l->config.site.sync.members_min : 1;
    uint64_t window = l->config.in_flight_bytes / 2 / workers;

    window = window < ROOM_WINDOW_MIN ? ROOM_WINDOW_MIN : window;
    return window > LIMIT_WINDOW_BYTES ? LIMIT_WINDOW_BYTES : window;
}

/* Buffers are somewhat larger than what is in them. */
static uint64_t room_needed(const struct node_session *s)
{
    return s->window_bytes + s->window_bytes / 4 +
           (uint64_t)net_peer_streams(s->peer) * ROOM_STREAM_BYTES;
}

void node_room_open(struct node_session *s)
{
    struct node_lane *l = s->lane;
    uint64_t wanted;

    s->window_bytes = node_session_is_worker(s) ? room_window(l) : 0;
    l->coming_bytes += room_needed(s);
    wanted = l->coming_bytes + l->coming_bytes / 4;
    if (wanted > l->in_flight_bytes) { /* More workers than were expected. */
        buf_pool_raise(l->pool, wanted - l->in_flight_bytes);
        l->in_flight_bytes = wanted;
    }
}

void node_room_close(struct node_session *s)
{
    s->lane->coming_bytes -= room_needed(s);
}

bool node_room_spare(struct node_lane *l)
{
    uint64_t sums = (uint64_t)(l->chunks_count - l->sums_count) * NODE_SUM_BYTES;

    return buf_pool_free_bytes(l->pool) >= l->coming_bytes + sums;
}
