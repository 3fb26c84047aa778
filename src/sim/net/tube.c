/* Pipes: how bytes get from a write to a read. */

#include "sim/net/tube.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "wire/frame.h"

#include <string.h>

enum { TUBE_LENGTH_AT = 8 }; /* Where a frame's header says how long its body is. */

static struct sim_end *pipe_reader(struct sim_pipe *pipe)
{
    return &pipe->tube->ends[1 - pipe->from];
}

static struct sim_end *pipe_writer(struct sim_pipe *pipe)
{
    return &pipe->tube->ends[pipe->from];
}

/* The link that acknowledgements and resets of this pipe take. */
static struct sim_link *pipe_back(struct sim_pipe *pipe)
{
    return pipe_reader(pipe)->out.link;
}

uint32_t sim_pipe_room(const struct sim_pipe *pipe)
{
    return SIM_WINDOW_BYTES - (uint32_t)(pipe->w - pipe->k);
}

/* Make the ring hold @bytes. */
static enum err pipe_grow_ring(struct sim_pipe *pipe, uint64_t bytes)
{
    uint32_t size = pipe->ring_bytes == 0 ? SIM_RING_FIRST : pipe->ring_bytes;
    uint8_t *ring;

    while (size < bytes) {
        size *= 2;
    }
    if (size == pipe->ring_bytes) {
        return OK;
    }
    ring = mem_zalloc(size);
    if (ring == NULL) {
        return ERR_NOMEM;
    }
    for (uint64_t p = pipe->r; p < pipe->w;) {
        uint64_t from = p & (pipe->ring_bytes - 1), to = p & (size - 1);
        uint64_t n = pipe->w - p;

        n = n < pipe->ring_bytes - from ? n : pipe->ring_bytes - from;
        n = n < size - to ? n : size - to;
        memcpy(ring + to, pipe->ring + from, n);
        p += n;
    }
    mem_free(pipe->ring);
    pipe->ring = ring;
    pipe->ring_bytes = size;
    return OK;
}

static void pipe_put(struct sim_pipe *pipe, const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        size_t at = pipe->w & (pipe->ring_bytes - 1);
        size_t n = size < pipe->ring_bytes - at ? size : pipe->ring_bytes - at;

        memcpy(pipe->ring + at, bytes, n);
        bytes += n;
        size -= n;
        pipe->w += n;
    }
}

static void pipe_get(struct sim_pipe *pipe, uint64_t position, uint8_t *out, size_t size)
{
    while (size > 0) {
        size_t at = position & (pipe->ring_bytes - 1);
        size_t n = size < pipe->ring_bytes - at ? size : pipe->ring_bytes - at;

        memcpy(out, pipe->ring + at, n);
        out += n;
        size -= n;
        position += n;
    }
}

static uint32_t pipe_segments(const struct sim_pipe *pipe)
{
    return pipe->segments_end - pipe->travelling_first;
}

static struct sim_segment *pipe_segment(struct sim_pipe *pipe, uint32_t index)
{
    return &pipe->segments[index & (pipe->segments_max - 1)];
}

static enum err pipe_grow_segments(struct sim_pipe *pipe)
{
    uint32_t max = pipe->segments_max == 0 ? SIM_SEGMENTS_FIRST : pipe->segments_max * 2;
    struct sim_segment *segments = mem_calloc(max, sizeof(*segments));

    if (segments == NULL) {
        return ERR_NOMEM;
    }
    for (uint32_t i = pipe->travelling_first; i != pipe->segments_end; i++) {
        segments[i & (max - 1)] = *pipe_segment(pipe, i);
    }
    mem_free(pipe->segments);
    pipe->segments = segments;
    pipe->segments_max = max;
    return OK;
}

/* Put a segment on the links. */
static enum err pipe_send(struct sim_pipe *pipe, uint32_t bytes, bool fin)
{
    struct sim_world *w = pipe->tube->world;
    enum err rc = OK;

    if (pipe_segments(pipe) == SIM_SEGMENTS_MAX) {
        return ERR_AGAIN; /* Only an end of stream meets this. */
    }
    if (pipe_segments(pipe) == pipe->segments_max) {
        rc = pipe_grow_segments(pipe);
    }
    if (rc == OK) {
        rc = sim_fabric_flow_enqueue(w->fabric, pipe->flow, fin ? SIM_FIN_BYTES : bytes,
                                     (uint64_t)(uintptr_t)pipe, w->now_ns);
    }
    if (rc == OK) {
        *pipe_segment(pipe, pipe->segments_end++) = (struct sim_segment){bytes, fin, 0};
    }
    return rc;
}

/* Follow the frames that are written; repeat the last one if a fault asks for it and it fits. */
static void pipe_follow_frames(struct sim_pipe *pipe, uint64_t before)
{
    struct sim_tubes *tubes = sim_tubes_of(pipe->tube->world);

    while (pipe->frame_next <= pipe->w && pipe->w - pipe->frame_next >= TUBE_LENGTH_AT + 4) {
        uint8_t length[4];

        pipe_get(pipe, pipe->frame_next + TUBE_LENGTH_AT, length, sizeof(length));
        pipe->frame_start = pipe->frame_next;
        pipe->frame_next += WIRE_HEADER_BYTES + (uint64_t)bytes_load32(length);
    }
    if (pipe->duplicate && pipe->frame_next == pipe->w && pipe->frame_start >= before) {
        uint64_t size = pipe->w - pipe->frame_start;
        uint64_t from = pipe->frame_start;

        if (size <= sim_pipe_room(pipe) && pipe_grow_ring(pipe, pipe->w - pipe->r + size) == OK) {
            for (uint64_t i = 0; i < size; i++) {
                uint8_t byte = pipe->ring[(from + i) & (pipe->ring_bytes - 1)];

                pipe_put(pipe, &byte, 1);
            }
            pipe->frame_start = pipe->frame_next;
            pipe->frame_next = pipe->w;
            pipe->duplicate = false;
            tubes->counts.duplicates++;
        }
    }
}

/* Of what carries @rate for so many @pipes. */
static uint64_t pipe_piece_of(uint64_t rate, uint32_t pipes)
{
    return rate / (pipes > SIM_PIECES_PER_S ? pipes : (uint32_t)SIM_PIECES_PER_S);
}

/* How much arrives at once. Over a slow link or card, or one that many share, it is little: a
 * large frame must be seen to move. */
static uint32_t pipe_piece(struct sim_pipe *pipe)
{
    const struct sim_fabric *fabric = pipe->tube->world->fabric;
    const struct sim_host *from = pipe_writer(pipe)->host, *to = pipe_reader(pipe)->host;
    uint64_t rate = sim_fabric_link_capacity(fabric, pipe->link->fabric_id);
    uint32_t pipes = pipe->link->pipes;
    uint64_t pieces[3];
    uint64_t piece = SIM_PIECE_MAX;

    rate = rate == 0 ? pipe->link->config.bytes_per_s : rate;
    rate = pipe->pace != 0 && pipe->pace < rate ? pipe->pace : rate;
    pipes += pipe->link->shares != NULL ? pipe->link->shares->pipes : 0;
    pieces[0] = pipe_piece_of(rate, pipes);
    pieces[1] = pipe_piece_of(sim_fabric_link_capacity(fabric, from->egress), from->pipes_out);
    pieces[2] = pipe_piece_of(sim_fabric_link_capacity(fabric, to->ingress), to->pipes_in);
    for (size_t i = 0; i < 3; i++) {
        piece = pieces[i] < piece ? pieces[i] : piece;
    }
    return piece < SIM_PIECE_MIN ? SIM_PIECE_MIN : (uint32_t)piece;
}

/* Send what was written since @before; if the world has no room for it, it was not written. */
static enum err pipe_send_pieces(struct sim_pipe *pipe, uint64_t before)
{
    uint32_t piece = pipe_piece(pipe);
    uint64_t pieces = (pipe->w - before + piece - 1) / piece;
    struct sim_fabric_stats stats;

    sim_fabric_stats(pipe->tube->world->fabric, &stats);
    if (pieces + stats.segments_queued >= pipe->tube->world->config.segments_max ||
        pieces + pipe_segments(pipe) >= SIM_SEGMENTS_MAX) {
        pipe->w = before;
        return ERR_AGAIN;
    }
    for (uint64_t at = before; at < pipe->w; at += piece) {
        uint64_t n = pipe->w - at < piece ? pipe->w - at : piece;

        CHECK(pipe_send(pipe, (uint32_t)n, false) == OK);
    }
    return OK;
}

enum err sim_pipe_write(struct sim_pipe *pipe, const struct iovec *iov, int count, size_t *done_out)
{
    size_t room = sim_pipe_room(pipe);
    size_t wanted = 0, taken = 0;
    uint64_t before = pipe->w;
    enum err rc;

    for (int i = 0; i < count; i++) {
        wanted += iov[i].iov_len;
    }
    wanted = wanted < room ? wanted : room;
    if (wanted == 0) {
        return ERR_AGAIN;
    }
    rc = pipe_grow_ring(pipe, pipe->w - pipe->r + wanted);
    if (rc != OK) {
        return rc;
    }
    for (int i = 0; i < count && taken < wanted; i++) {
        size_t n = iov[i].iov_len < wanted - taken ? iov[i].iov_len : wanted - taken;

        pipe_put(pipe, iov[i].iov_base, n);
        taken += n;
    }
    pipe_follow_frames(pipe, before);
    rc = pipe_send_pieces(pipe, before);
    if (rc != OK) {
        return rc;
    }
    *done_out = taken;
    return OK;
}

void sim_pipe_pace(struct sim_pipe *pipe, uint64_t bytes_per_s)
{
    struct sim_world *w = pipe->tube->world;
    uint64_t cap = pipe->link->config.stream_bytes_per_s;

    pipe->pace = bytes_per_s < SIM_FABRIC_RATE_MAX ? bytes_per_s : SIM_FABRIC_RATE_MAX;
    if (pipe->pace != 0 && (cap == 0 || pipe->pace < cap)) {
        cap = pipe->pace;
    }
    if (pipe->flowing) {
        CHECK(sim_fabric_flow_set(w->fabric, pipe->flow, cap, w->now_ns) == OK);
    }
}

void sim_pipe_finish(struct sim_pipe *pipe)
{
    if (!pipe->fin_written && pipe_send(pipe, 0, true) == OK) {
        pipe->fin_written = true;
    }
}

/* An acknowledgement of everything read so far sets out. */
static void pipe_ack(struct sim_pipe *pipe)
{
    struct sim_world *w = pipe->tube->world;
    struct sim_link *back = pipe_back(pipe);
    int64_t at_ns = w->now_ns + back->config.delay_ns + back->extra_delay_ns;
    struct sim_ack *last = &pipe->acks[(pipe->acks_end - 1) % SIM_ACKS_MAX];
    bool any = pipe->acks_end != pipe->acks_first;

    if (any && (last->arrive_ns >= at_ns || pipe->acks_end - pipe->acks_first == SIM_ACKS_MAX)) {
        last->position = pipe->r;
        return;
    }
    pipe->acks[pipe->acks_end++ % SIM_ACKS_MAX] = (struct sim_ack){pipe->r, at_ns};
    if (!any && !pipe->heal.waiting) {
        CHECK(sim_event_at(w, &pipe->acked, at_ns) == OK);
    }
}

enum err sim_pipe_read(struct sim_pipe *pipe, const struct iovec *iov, int count, size_t *done_out)
{
    uint64_t ready = pipe->a - pipe->r;
    size_t done = 0;

    if (ready == 0) {
        return pipe->fin_arrived ? ERR_CLOSED : ERR_AGAIN;
    }
    if (pipe->fragment_bytes != 0 && ready > pipe->fragment_bytes) {
        ready = pipe->fragment_bytes;
        sim_tubes_of(pipe->tube->world)->counts.fragments++;
    }
    for (int i = 0; i < count && done < ready; i++) {
        size_t n = iov[i].iov_len < ready - done ? iov[i].iov_len : ready - done;

        pipe_get(pipe, pipe->r, iov[i].iov_base, n);
        pipe->r += n;
        done += n;
    }
    pipe_ack(pipe);
    if (pipe->a > pipe->r || pipe->fin_arrived) {
        sim_end_poke(pipe_reader(pipe));
    }
    *done_out = done;
    return OK;
}

static void pipe_acked(struct sim_event *event, struct sim_world *w)
{
    struct sim_pipe *pipe = LIST_ENTRY(event, struct sim_pipe, acked);
    struct sim_link *back = pipe_back(pipe);

    if (sim_link_is_cut(back)) {
        sim_link_wait(back, &pipe->heal);
        return;
    }
    if (pipe->tube->stalled) {
        return;
    }
    pipe->k = pipe->acks[pipe->acks_first++ % SIM_ACKS_MAX].position;
    if (pipe->acks_first != pipe->acks_end) {
        CHECK(sim_event_at(w, event, pipe->acks[pipe->acks_first % SIM_ACKS_MAX].arrive_ns) == OK);
    }
    if (pipe_writer(pipe)->wanted & NET_STREAM_WRITABLE) {
        sim_end_poke(pipe_writer(pipe));
    }
}

static void pipe_healed(struct sim_waiter *waiter, struct sim_world *w)
{
    struct sim_pipe *pipe = LIST_ENTRY(waiter, struct sim_pipe, heal);

    CHECK(sim_event_at(w, &pipe->acked, w->now_ns + pipe_back(pipe)->config.delay_ns) == OK);
}

void sim_stream_transmitted(sim_flow_id flow, uint64_t token, int64_t at_ns, void *user)
{
    struct sim_pipe *pipe = (struct sim_pipe *)(uintptr_t)token;
    struct sim_world *w = user;
    struct sim_segment *s = pipe_segment(pipe, pipe->fabric_first);
    int64_t arrive_ns = at_ns + sim_link_travel_ns(w, pipe->link);

    CHECK(pipe->flow == flow);
    if (arrive_ns < pipe->last_ns) {
        arrive_ns = pipe->last_ns;
    }
    pipe->last_ns = arrive_ns;
    pipe->rate = sim_fabric_flow_rate(w->fabric, flow);
    s->arrive_ns = arrive_ns;
    pipe->t += s->bytes;
    pipe->fabric_first++;
    if (!sim_event_queued(&pipe->arrive)) {
        CHECK(sim_event_at(w, &pipe->arrive, arrive_ns) == OK);
    }
}

static void pipe_flip(struct sim_pipe *pipe, uint32_t bytes)
{
    struct rng *rng = &pipe->link->rng;
    uint64_t at = pipe->a + rng_below(rng, bytes);

    pipe->ring[at & (pipe->ring_bytes - 1)] ^= (uint8_t)(1u << rng_below(rng, 8));
    pipe->flip = false;
    sim_tubes_of(pipe->tube->world)->counts.flips++;
}

/* Take the next segment off the wire. */
static void pipe_arrive(struct sim_event *event, struct sim_world *w)
{
    struct sim_pipe *pipe = LIST_ENTRY(event, struct sim_pipe, arrive);
    struct sim_segment s = *pipe_segment(pipe, pipe->travelling_first++);
    struct sim_end *reader = pipe_reader(pipe);

    if (pipe->travelling_first != pipe->fabric_first) {
        CHECK(sim_event_at(w, event, pipe_segment(pipe, pipe->travelling_first)->arrive_ns) == OK);
    }
    if (!reader->host->on) {
        return; /* Nobody is there, not even to say so. */
    }
    if (pipe->tube->stalled) {
        sim_tubes_of(w)->counts.stalled++;
        return;
    }
    if (reader->state == SIM_END_GONE) {
        sim_end_tell(pipe_writer(pipe), ERR_CLOSED, 0);
        return;
    }
    if (pipe->flip && s.bytes > 0) {
        pipe_flip(pipe, s.bytes);
    }
    if (reader->late) {
        sim_tubes_of(w)->counts.late++;
    }
    pipe->a += s.bytes;
    pipe->fin_arrived = pipe->fin_arrived || s.fin;
    if (reader->wanted & NET_STREAM_READABLE) {
        sim_end_poke(reader);
    }
}

void sim_pipe_stop(struct sim_pipe *pipe)
{
    struct sim_world *w = pipe->tube->world;

    if (pipe->flowing) {
        (void)sim_fabric_flow_remove(w->fabric, pipe->flow, w->now_ns, NULL, NULL);
        pipe->flowing = false;
        pipe->link->pipes--;
        pipe_writer(pipe)->host->pipes_out--;
        pipe_reader(pipe)->host->pipes_in--;
    }
    pipe->segments_end = pipe->fabric_first;
}

static enum err pipe_init(struct sim_pipe *pipe, struct sim_tube *tube, uint8_t from,
                          struct sim_host *a, struct sim_host *b)
{
    struct sim_world *w = tube->world;
    struct sim_link *link = sim_link_between(w, a->region, b->region);
    sim_link_id path[SIM_FABRIC_PATH_LINKS_MAX];
    enum err rc;

    pipe->tube = tube;
    pipe->from = from;
    pipe->link = link;
    pipe->heal.healed = pipe_healed;
    sim_event_init(&pipe->arrive, pipe_arrive);
    sim_event_init(&pipe->acked, pipe_acked);
    if (link == NULL) {
        return ERR_UNREACHABLE;
    }
    rc = sim_fabric_flow_add(w->fabric, path, sim_link_path(link, a, b, path),
                             link->config.stream_bytes_per_s, &pipe->flow);
    pipe->flowing = rc == OK;
    link->pipes += rc == OK;
    a->pipes_out += rc == OK;
    b->pipes_in += rc == OK;
    return rc;
}

static void pipe_deinit(struct sim_pipe *pipe)
{
    struct sim_world *w = pipe->tube->world;

    sim_event_cancel(w, &pipe->arrive);
    sim_event_cancel(w, &pipe->acked);
    if (pipe->heal.waiting) {
        sim_link_unwait(pipe_back(pipe), &pipe->heal);
    }
    sim_pipe_stop(pipe);
    mem_free(pipe->ring);
    mem_free(pipe->segments);
}

enum err sim_tube_create(struct sim_world *w, struct sim_host *a, struct sim_host *b,
                         struct sim_tube **tube_out)
{
    struct sim_tube *tube = mem_zalloc(sizeof(*tube));
    enum err rc;

    if (tube == NULL) {
        return ERR_NOMEM;
    }
    tube->world = w;
    tube->number = ++w->connections;
    list_init(&tube->backlog);
    list_push_back(&sim_tubes_of(w)->all, &tube->link);
    for (uint8_t i = 0; i < 2; i++) {
        tube->ends[i].tube = tube;
        tube->ends[i].index = i;
        tube->ends[i].host = i == 0 ? a : b;
        list_init(&tube->ends[i].link);
    }
    rc = pipe_init(&tube->ends[0].out, tube, 0, a, b);
    if (rc == OK) {
        rc = pipe_init(&tube->ends[1].out, tube, 1, b, a);
    }
    if (rc != OK) {
        sim_tube_free(tube);
        return rc;
    }
    *tube_out = tube;
    return OK;
}

void sim_tube_free(struct sim_tube *tube)
{
    for (uint8_t i = 0; i < 2; i++) {
        struct sim_end *end = &tube->ends[i];

        if (end->out.tube != NULL) {
            pipe_deinit(&end->out);
        }
        sim_event_cancel(tube->world, &end->told);
        list_remove(&end->link);
    }
    sim_event_cancel(tube->world, &tube->syn);
    if (tube->syn_heal.waiting) {
        sim_link_unwait(tube->ends[0].out.link, &tube->syn_heal);
    }
    list_remove(&tube->backlog);
    list_remove(&tube->link);
    mem_free(tube);
}
