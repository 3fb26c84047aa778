#include "emu/proxy/pipe.h"

#include "base/mem.h"
#include "base/rng.h"

enum {
    PIPE_PIECES_FIRST = 8,
    PIPE_WAIT_MS = 10, /* For who could not use its turn, for want of memory. */
    PIPE_RATE_UNLIMITED = 125 * 1000 * 1000, /* What windows of links without a rate are for. */
};

#define PIPE_S INT64_C(1000000000)
#define PIPE_DRAIN_GRAIN_PER_S 100 /* A sink that is read slowly takes something so often. */

struct emu_pipe {
    struct emu_shape shape;
    struct rng rng;
    uint32_t flows_max;
    uint32_t flows_count;
    struct list all;
    struct heap ready; /* By tag: who has sent least is first. */
    struct heap held;
    struct heap due;
    struct emu_busy link;
    int64_t tag;              /* Of the flow that was served last. */
    struct emu_flow *sending; /* Who sent the last piece; NULL: nobody who is still there. */
    uint64_t drain_bytes_per_s;
    bool stalled;
    bool cut;
    int64_t cut_ns;  /* Since when. */
    int64_t lost_ns; /* How long it has been cut before that: our time is behind by so much. */
    struct emu_pipe_stats stats;
};

enum err emu_shape_check(const struct emu_shape *shape, struct err_text *text)
{
    if (shape->bytes_per_s > EMU_RATE_MAX || shape->stream_bytes_per_s > EMU_RATE_MAX) {
        return err_text_set(text, ERR_INVALID, "a rate above 2 tbit is more than can be emulated");
    }
    if (shape->delay_ns < 0 || shape->delay_ns > EMU_DELAY_MAX_NS || shape->jitter_ns < 0 ||
        shape->jitter_ns > EMU_DELAY_MAX_NS) {
        return err_text_set(text, ERR_INVALID, "delay and jitter are from 0 to 1 h");
    }
    return OK;
}

/* Time in here: it stands still while the link is cut. */
static int64_t pipe_time(const struct emu_pipe *p, int64_t now_ns)
{
    return (p->cut ? p->cut_ns : now_ns) - p->lost_ns;
}

static int64_t pipe_later(int64_t a_ns, int64_t b_ns)
{
    return a_ns > b_ns ? a_ns : b_ns;
}

/* The line is busy with @bytes from @start_ns on. */
static void pipe_occupy(struct emu_busy *line, int64_t start_ns, uint64_t bytes, uint64_t rate)
{
    uint64_t parts;

    if (rate == 0) {
        *line = (struct emu_busy){.until_ns = start_ns};
        return;
    }
    parts = bytes * (uint64_t)PIPE_S + (start_ns == line->until_ns ? line->rest : 0);
    line->until_ns = start_ns + (int64_t)(parts / rate);
    line->rest = parts % rate;
}

/* What is left of a busy time goes at another rate. */
static void pipe_rescale(struct emu_busy *line, int64_t time_ns, uint64_t old_rate, uint64_t rate)
{
    if (line->until_ns > time_ns && old_rate != 0) {
        double left = (double)(line->until_ns - time_ns);

        line->until_ns =
            rate == 0 ? time_ns : time_ns + (int64_t)(left * (double)old_rate / (double)rate);
    }
    line->rest = 0;
}

/* Sizes. */

static uint64_t pipe_least(uint64_t a, uint64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

static uint64_t pipe_cap(const struct emu_pipe *p, const struct emu_flow *f)
{
    return pipe_least(f->cap_bytes_per_s, p->shape.stream_bytes_per_s);
}

static uint32_t pipe_quantum(uint64_t rate)
{
    uint64_t bytes = rate / 1000;

    if (rate == 0 || bytes > EMU_QUANTUM_BYTES_MAX) {
        return EMU_QUANTUM_BYTES_MAX;
    }
    return bytes < EMU_QUANTUM_BYTES_MIN ? EMU_QUANTUM_BYTES_MIN : (uint32_t)bytes;
}

static uint64_t pipe_window(const struct emu_pipe *p, uint64_t rate)
{
    /* Twice what fills the way, so that it is the rate that counts, also if the far end is looked
     * after late. */
    double way_s =
        (double)(p->shape.delay_ns + p->shape.jitter_ns + EMU_CATCH_UP_NS) / (double)PIPE_S;
    double bytes = 2 * (double)(rate == 0 ? PIPE_RATE_UNLIMITED : rate) * way_s;

    if (bytes > (double)EMU_WINDOW_BYTES_MAX) {
        return EMU_WINDOW_BYTES_MAX;
    }
    return bytes < (double)EMU_WINDOW_BYTES_MIN ? EMU_WINDOW_BYTES_MIN : (uint64_t)bytes;
}

/* The same for all, whatever their own caps. */
uint32_t emu_pipe_quantum(const struct emu_pipe *p)
{
    return pipe_quantum(pipe_least(p->shape.bytes_per_s, p->shape.stream_bytes_per_s));
}

uint64_t emu_pipe_window(const struct emu_pipe *p)
{
    return pipe_window(p, pipe_least(p->shape.bytes_per_s, p->shape.stream_bytes_per_s));
}

/* Is there room on the way for one more piece? */
static bool pipe_flow_fits(const struct emu_pipe *p, const struct emu_flow *f)
{
    uint64_t rate = pipe_least(p->shape.bytes_per_s, pipe_cap(p, f));

    return f->queued_bytes + emu_pipe_quantum(p) <= pipe_window(p, rate) &&
           f->pieces_count + EMU_MARKS_MAX < EMU_PIECES_MAX;
}

/* Places. A flow that may be served is held until its time has come: when its source had something,
 * and when its cap allows it. Then it is in line, by what it has sent so far; who was away begins
 * where the others are. */

static int64_t pipe_flow_from(const struct emu_pipe *p, const struct emu_flow *f)
{
    int64_t from_ns = pipe_later(f->held_ns, f->ready_ns);

    return pipe_cap(p, f) == 0 ? from_ns : pipe_later(from_ns, f->cap.until_ns);
}

static void pipe_place(struct emu_pipe *p, struct emu_flow *f)
{
    if (!f->wants || f->turn || f->stalled || !pipe_flow_fits(p, f)) {
        heap_remove(&p->ready, &f->ready);
        heap_remove(&p->held, &f->held);
    } else if (!heap_contains(&f->ready) && !heap_contains(&f->held)) {
        CHECK(heap_push(&p->held, &f->held, pipe_flow_from(p, f)) == OK);
    }
}

/* Those whose time has come by @free_ns, when the link is free, are in line. If there are none it
 * waits for the first that comes before @time_ns. */
static void pipe_line_up(struct emu_pipe *p, int64_t free_ns, int64_t time_ns)
{
    struct heap_node *node;
    int64_t at_ns;

    while ((node = heap_first(&p->held, &at_ns)) != NULL &&
           (at_ns <= free_ns || (p->ready.count == 0 && at_ns <= time_ns))) {
        struct emu_flow *f = LIST_ENTRY(node, struct emu_flow, held);

        heap_remove(&p->held, node);
        f->tag = pipe_later(f->tag, p->tag);
        CHECK(heap_push(&p->ready, &f->ready, f->tag) == OK);
    }
}

/* When the first piece may arrive. */
static void pipe_place_due(struct emu_pipe *p, struct emu_flow *f)
{
    int64_t due_ns;

    heap_remove(&p->due, &f->due);
    if (f->pieces_count == 0 || f->blocked || f->offering) {
        return;
    }
    due_ns = f->pieces[f->pieces_first].due_ns;
    if (p->drain_bytes_per_s != 0 && f->pieces[f->pieces_first].kind == EMU_DATA) {
        due_ns = pipe_later(due_ns, f->drain.until_ns);
    }
    CHECK(heap_push(&p->due, &f->due, due_ns) == OK);
}

/* The pipe. */

enum err emu_pipe_create(const struct emu_shape *shape, uint32_t flows_max, uint64_t seed,
                         struct emu_pipe **pipe_out)
{
    struct emu_pipe *p;

    if (flows_max == 0 || flows_max > EMU_FLOWS_LIMIT) {
        return ERR_TOO_BIG;
    }
    p = mem_zalloc(sizeof(*p));
    if (p == NULL) {
        return ERR_NOMEM;
    }
    p->shape = *shape;
    p->flows_max = flows_max;
    p->link.until_ns = INT64_MIN;
    rng_init(&p->rng, seed);
    list_init(&p->all);
    heap_init(&p->ready, flows_max);
    heap_init(&p->held, flows_max);
    heap_init(&p->due, flows_max);
    *pipe_out = p;
    return OK;
}

void emu_pipe_destroy(struct emu_pipe *p)
{
    if (p == NULL) {
        return;
    }
    CHECK(p->flows_count == 0);
    heap_deinit(&p->ready);
    heap_deinit(&p->held);
    heap_deinit(&p->due);
    mem_free(p);
}

const struct emu_shape *emu_pipe_shape(const struct emu_pipe *p)
{
    return &p->shape;
}

/* The piece that is being sent ends at another time than was thought. */
static void pipe_restamp(struct emu_pipe *p, int64_t by_ns)
{
    struct emu_flow *f = p->sending;
    struct emu_piece *last;
    int64_t least_ns = INT64_MIN;

    if (f == NULL || f->pieces_count == 0 || by_ns == 0) {
        return;
    }
    last = &f->pieces[(f->pieces_first + f->pieces_count - 1) & (f->pieces_room - 1)];
    if (f->pieces_count > 1) {
        least_ns = f->pieces[(f->pieces_first + f->pieces_count - 2) & (f->pieces_room - 1)].due_ns;
    }
    last->due_ns = pipe_later(last->due_ns + by_ns, least_ns);
    f->last_due_ns = last->due_ns;
    pipe_place_due(p, f);
}

void emu_pipe_reshape(struct emu_pipe *p, const struct emu_shape *shape, int64_t now_ns)
{
    const struct emu_shape old = p->shape;
    int64_t time_ns = pipe_time(p, now_ns);
    int64_t until_ns = p->link.until_ns;

    p->shape = *shape;
    if (shape->bytes_per_s != old.bytes_per_s) {
        pipe_rescale(&p->link, time_ns, old.bytes_per_s, shape->bytes_per_s);
        pipe_restamp(p, p->link.until_ns - until_ns);
        p->stats.busy_ns += p->link.until_ns - until_ns;
    }
    LIST_FOREACH (link, &p->all) {
        struct emu_flow *f = LIST_ENTRY(link, struct emu_flow, all);

        if (pipe_least(f->cap_bytes_per_s, old.stream_bytes_per_s) != pipe_cap(p, f)) {
            pipe_rescale(&f->cap, time_ns, pipe_least(f->cap_bytes_per_s, old.stream_bytes_per_s),
                         pipe_cap(p, f));
            heap_remove(&p->held, &f->held); /* It is held until another time. */
        }
        pipe_place(p, f);
    }
}

void emu_pipe_cut(struct emu_pipe *p, bool cut, int64_t now_ns)
{
    if (cut == p->cut) {
        return;
    }
    if (cut) {
        p->cut_ns = now_ns;
    } else {
        p->lost_ns += now_ns - p->cut_ns;
    }
    p->cut = cut;
}

void emu_pipe_stall(struct emu_pipe *p, bool stalled)
{
    p->stalled = stalled;
}

void emu_flow_stall(struct emu_pipe *p, struct emu_flow *f, bool stalled)
{
    f->stalled = stalled;
    pipe_place(p, f);
}

void emu_pipe_drain(struct emu_pipe *p, uint64_t bytes_per_s, int64_t now_ns)
{
    int64_t time_ns = pipe_time(p, now_ns);

    p->drain_bytes_per_s = bytes_per_s;
    LIST_FOREACH (link, &p->all) {
        struct emu_flow *f = LIST_ENTRY(link, struct emu_flow, all);

        f->drain = (struct emu_busy){.until_ns = time_ns};
        pipe_place_due(p, f);
    }
}

/* Flows. */

enum err emu_flow_add(struct emu_pipe *p, struct emu_flow *f, uint64_t cap_bytes_per_s, void *user)
{
    enum err rc;

    if (p->flows_count == p->flows_max) {
        return ERR_TOO_BIG;
    }
    rc = heap_reserve(&p->ready, p->flows_count + 1);
    if (rc == OK) {
        rc = heap_reserve(&p->held, p->flows_count + 1);
    }
    if (rc == OK) {
        rc = heap_reserve(&p->due, p->flows_count + 1);
    }
    if (rc != OK) {
        return rc;
    }
    *f = (struct emu_flow){.user = user, .cap_bytes_per_s = cap_bytes_per_s};
    f->pieces = mem_calloc(PIPE_PIECES_FIRST, sizeof(*f->pieces));
    if (f->pieces == NULL) {
        return ERR_NOMEM;
    }
    f->pieces_room = PIPE_PIECES_FIRST;
    f->cap.until_ns = f->drain.until_ns = f->held_ns = INT64_MIN;
    f->ready_ns = f->emptied_ns = f->last_due_ns = INT64_MIN;
    heap_node_init(&f->ready);
    heap_node_init(&f->held);
    heap_node_init(&f->due);
    list_init(&f->all);
    list_push_back(&p->all, &f->all);
    p->flows_count++;
    return OK;
}

void emu_flow_remove(struct emu_pipe *p, struct emu_flow *f)
{
    if (f->pieces == NULL) {
        return;
    }
    if (p->sending == f) {
        p->sending = NULL;
    }
    list_remove(&f->all);
    heap_remove(&p->ready, &f->ready);
    heap_remove(&p->held, &f->held);
    heap_remove(&p->due, &f->due);
    p->stats.queued_bytes -= f->queued_bytes;
    mem_free(f->pieces);
    *f = (struct emu_flow){0};
    p->flows_count--;
}

void emu_flow_want(struct emu_pipe *p, struct emu_flow *f, int64_t now_ns)
{
    int64_t time_ns = pipe_time(p, now_ns);

    if (f->wants) {
        return;
    }
    f->wants = true;
    f->ready_ns = f->emptied_ns != INT64_MIN && time_ns - f->emptied_ns <= EMU_GRAIN_NS
                      ? f->emptied_ns
                      : time_ns;
    pipe_place(p, f);
}

bool emu_flow_wants(const struct emu_flow *f)
{
    return f->wants;
}

/* Room for one more piece beside the marks, so that sending cannot fail. */
static bool pipe_flow_room(struct emu_flow *f)
{
    struct emu_piece *more;

    if (f->pieces_count + 1 + EMU_MARKS_MAX <= f->pieces_room) {
        return true;
    }
    more = mem_calloc((size_t)f->pieces_room * 2, sizeof(*more));
    if (more == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < f->pieces_count; i++) {
        more[i] = f->pieces[(f->pieces_first + i) & (f->pieces_room - 1)];
    }
    mem_free(f->pieces);
    f->pieces = more;
    f->pieces_first = 0;
    f->pieces_room *= 2;
    return true;
}

struct emu_flow *emu_pipe_turn(struct emu_pipe *p, int64_t now_ns, uint32_t *bytes_out)
{
    int64_t time_ns = pipe_time(p, now_ns);
    struct heap_node *node;

    if (p->cut || p->stalled || p->link.until_ns > time_ns + EMU_AHEAD_NS) {
        return NULL;
    }
    pipe_line_up(p, pipe_later(p->link.until_ns, time_ns - EMU_CATCH_UP_NS), time_ns);
    while ((node = heap_first(&p->ready, NULL)) != NULL) {
        struct emu_flow *f = LIST_ENTRY(node, struct emu_flow, ready);

        heap_remove(&p->ready, node);
        if (pipe_flow_room(f)) {
            p->tag = f->tag;
            f->turn = true;
            *bytes_out = emu_pipe_quantum(p);
            return f;
        }
        f->held_ns = time_ns + PIPE_WAIT_MS * INT64_C(1000000);
        pipe_place(p, f);
    }
    return NULL;
}

static void pipe_push(struct emu_pipe *p, struct emu_flow *f, enum emu_kind kind, uint32_t bytes,
                      int64_t sent_ns)
{
    int64_t due_ns = sent_ns + p->shape.delay_ns;

    if (p->shape.jitter_ns > 0) {
        due_ns += (int64_t)rng_below(&p->rng, (uint64_t)p->shape.jitter_ns + 1);
    }
    CHECK(f->pieces_count < f->pieces_room);
    f->last_due_ns = pipe_later(due_ns, f->last_due_ns);
    f->pieces[(f->pieces_first + f->pieces_count++) & (f->pieces_room - 1)] =
        (struct emu_piece){.due_ns = f->last_due_ns, .bytes = bytes, .kind = (uint8_t)kind};
    if (f->pieces_count == 1) {
        pipe_place_due(p, f);
    }
}

/* From when on a cap counts: what a flow could not use because others were before it, it may make
 * good, up to two turns. */
static int64_t pipe_cap_from(const struct emu_pipe *p, const struct emu_flow *f, int64_t time_ns)
{
    int64_t turns_ns = 2 * PIPE_S * (int64_t)emu_pipe_quantum(p) / (int64_t)pipe_cap(p, f);

    return pipe_later(f->ready_ns,
                      time_ns - (turns_ns > EMU_CATCH_UP_NS ? turns_ns : EMU_CATCH_UP_NS));
}

void emu_flow_sent(struct emu_pipe *p, struct emu_flow *f, uint32_t bytes, bool more,
                   int64_t now_ns)
{
    int64_t time_ns = pipe_time(p, now_ns);
    int64_t late_ns = pipe_later(f->ready_ns, time_ns - EMU_CATCH_UP_NS);
    uint64_t cap = pipe_cap(p, f);

    CHECK(f->turn && bytes <= EMU_QUANTUM_BYTES_MAX);
    f->turn = false;
    if (bytes > 0) {
        int64_t start_ns = pipe_later(p->link.until_ns, late_ns);

        if (cap > 0) {
            start_ns = pipe_later(start_ns, f->cap.until_ns);
            pipe_occupy(&f->cap, pipe_later(f->cap.until_ns, pipe_cap_from(p, f, time_ns)), bytes,
                        cap);
        }
        pipe_occupy(&p->link, start_ns, bytes, p->shape.bytes_per_s);
        p->stats.busy_ns += p->link.until_ns - start_ns;
        p->stats.sent_bytes += bytes;
        p->stats.queued_bytes += bytes;
        p->stats.pieces++;
        p->sending = f;
        f->queued_bytes += bytes;
        f->tag += bytes;
        pipe_push(p, f, EMU_DATA, bytes, p->link.until_ns + (p->link.rest > 0));
    }
    f->wants = more;
    if (!more) {
        f->emptied_ns = time_ns;
    } else if (bytes == 0) {
        f->held_ns = time_ns + PIPE_WAIT_MS * INT64_C(1000000);
    }
    pipe_place(p, f);
}

void emu_flow_mark(struct emu_pipe *p, struct emu_flow *f, enum emu_kind kind, int64_t now_ns)
{
    CHECK(kind != EMU_DATA);
    if (p->sending == f) {
        p->sending = NULL;
    }
    pipe_push(p, f, kind, 0, pipe_later(p->link.until_ns, pipe_time(p, now_ns)));
}

/* Arrivals. */

/* The first @count pieces are offered to the sink, some for the first time. */
static void pipe_seen(struct emu_pipe *p, struct emu_flow *f, uint32_t count, int64_t time_ns,
                      bool counted)
{
    for (uint32_t i = f->pieces_seen; i < count && counted; i++) {
        const struct emu_piece *piece = &f->pieces[(f->pieces_first + i) & (f->pieces_room - 1)];
        int64_t late_ns = time_ns - piece->due_ns;

        p->stats.late_count++;
        p->stats.late_sum_ns += late_ns;
        p->stats.late_max_ns = pipe_later(p->stats.late_max_ns, late_ns);
    }
    f->pieces_seen = count > f->pieces_seen ? count : f->pieces_seen;
}

static void pipe_pop(struct emu_flow *f)
{
    f->pieces_first = (f->pieces_first + 1) & (f->pieces_room - 1);
    f->pieces_count--;
    f->pieces_seen -= f->pieces_seen > 0;
}

/* The pieces with bytes that have arrived by now, and how many these are. */
static uint32_t pipe_arrived(const struct emu_flow *f, int64_t time_ns, uint64_t *bytes_out)
{
    uint32_t count = 0;

    *bytes_out = 0;
    for (; count < f->pieces_count; count++) {
        const struct emu_piece *piece =
            &f->pieces[(f->pieces_first + count) & (f->pieces_room - 1)];

        if (piece->due_ns > time_ns || piece->kind != EMU_DATA) {
            break;
        }
        *bytes_out += piece->bytes;
    }
    return count;
}

struct emu_flow *emu_pipe_arrival(struct emu_pipe *p, int64_t now_ns, struct emu_arrival *out)
{
    int64_t time_ns = pipe_time(p, now_ns), at_ns;
    struct heap_node *node = heap_first(&p->due, &at_ns);
    struct emu_flow *f;
    uint64_t most = p->drain_bytes_per_s / PIPE_DRAIN_GRAIN_PER_S;
    uint32_t count;

    if (p->cut || node == NULL || at_ns > time_ns) {
        return NULL;
    }
    f = LIST_ENTRY(node, struct emu_flow, due);
    out->kind = (enum emu_kind)f->pieces[f->pieces_first].kind;
    out->bytes = 0;
    if (out->kind != EMU_DATA) {
        pipe_pop(f);
        pipe_place_due(p, f);
        return f;
    }
    count = pipe_arrived(f, time_ns, &out->bytes);
    pipe_seen(p, f, count, time_ns, p->drain_bytes_per_s == 0);
    if (p->drain_bytes_per_s != 0 && out->bytes > most) {
        out->bytes = most > 0 ? most : 1;
    }
    f->offering = true;
    heap_remove(&p->due, node);
    return f;
}

void emu_flow_taken(struct emu_pipe *p, struct emu_flow *f, uint64_t bytes, bool blocked,
                    int64_t now_ns)
{
    int64_t time_ns = pipe_time(p, now_ns);

    CHECK(f->offering && bytes <= f->queued_bytes);
    f->offering = false;
    f->blocked = blocked;
    f->queued_bytes -= bytes;
    p->stats.queued_bytes -= bytes;
    p->stats.taken_bytes += bytes;
    if (p->drain_bytes_per_s != 0) {
        pipe_occupy(&f->drain, pipe_later(f->drain.until_ns, time_ns), bytes, p->drain_bytes_per_s);
    }
    while (bytes > 0) {
        struct emu_piece *piece = &f->pieces[f->pieces_first];

        CHECK(piece->kind == EMU_DATA);
        if (piece->bytes > bytes) {
            piece->bytes -= (uint32_t)bytes;
            break;
        }
        bytes -= piece->bytes;
        pipe_pop(f);
    }
    pipe_place_due(p, f);
    pipe_place(p, f);
}

void emu_flow_unblock(struct emu_pipe *p, struct emu_flow *f, int64_t now_ns)
{
    uint64_t bytes;

    if (f->blocked) {
        int64_t time_ns = pipe_time(p, now_ns);

        /* What came meanwhile is late by no fault of the pipe. */
        pipe_seen(p, f, pipe_arrived(f, time_ns, &bytes), time_ns, false);
        f->blocked = false;
        pipe_place_due(p, f);
    }
}

bool emu_flow_blocked(const struct emu_flow *f)
{
    return f->blocked;
}

int64_t emu_pipe_next_ns(const struct emu_pipe *p)
{
    int64_t next_ns = EMU_NEVER, at_ns;

    if (p->cut) {
        return EMU_NEVER;
    }
    if (heap_first(&p->due, &at_ns) != NULL) {
        next_ns = at_ns;
    }
    if (!p->stalled && p->ready.count > 0 && p->link.until_ns < next_ns) {
        next_ns = p->link.until_ns;
    }
    if (!p->stalled && heap_first(&p->held, &at_ns) != NULL) {
        at_ns = pipe_later(at_ns, p->link.until_ns);
        next_ns = at_ns < next_ns ? at_ns : next_ns;
    }
    return next_ns == EMU_NEVER ? EMU_NEVER : next_ns + p->lost_ns;
}

void emu_pipe_stats(const struct emu_pipe *p, struct emu_pipe_stats *out)
{
    *out = p->stats;
}
