/* Faults: set by orders, ended by orders or by time, and counted when they really happen. */

#include "emu/proxy/state.h"

/* What heals go back to, or what an order with a time has put in its place. */
static void fault_reshape(struct emu_proxy *proxy, enum emu_fault fault, uint32_t way,
                          uint64_t amount, bool lasting)
{
    struct emu_shape shape = *emu_pipe_shape(proxy->pipes[way]);
    struct emu_shape *base = &proxy->base[way];

    if (fault == EMU_FAULT_RATE) {
        shape.bytes_per_s = amount;
        base->bytes_per_s = lasting ? amount : base->bytes_per_s;
    } else if (fault == EMU_FAULT_DELAY) {
        shape.delay_ns = (int64_t)amount;
        base->delay_ns = lasting ? (int64_t)amount : base->delay_ns;
    } else {
        shape.jitter_ns = (int64_t)amount;
        base->jitter_ns = lasting ? (int64_t)amount : base->jitter_ns;
    }
    emu_pipe_reshape(proxy->pipes[way], &shape, loop_now_ns(proxy->loop));
}

static void fault_flip(struct emu_way_faults *f, uint64_t amount, bool every)
{
    f->flip_pieces = every ? 0 : amount;
    f->flip_every_bytes = every ? amount : 0;
    f->flip_in_bytes = f->flip_every_bytes;
}

static void fault_arm(struct emu_proxy *proxy, bool armed)
{
    LIST_FOREACH (link, &proxy->conns) {
        LIST_ENTRY(link, struct emu_conn, link)->armed = armed;
    }
}

static void fault_begin(struct emu_proxy *proxy, const struct emu_order *o, uint32_t way)
{
    struct emu_way_faults *f = &proxy->faults[way];
    int64_t now_ns = loop_now_ns(proxy->loop);

    switch (o->fault) {
    case EMU_FAULT_RATE:
    case EMU_FAULT_DELAY:
    case EMU_FAULT_JITTER:
        fault_reshape(proxy, o->fault, way, o->amount, o->for_ns == 0);
        break;
    case EMU_FAULT_CUT:
        f->cut = true;
        emu_pipe_cut(proxy->pipes[way], true, now_ns);
        break;
    case EMU_FAULT_STALL:
        f->stalled = true;
        emu_pipe_stall(proxy->pipes[way], true);
        break;
    case EMU_FAULT_DRAIN:
        f->drain_bytes_per_s = o->amount;
        emu_pipe_drain(proxy->pipes[way], o->amount, now_ns);
        break;
    case EMU_FAULT_FLIP:
        fault_flip(f, o->amount, o->every);
        break;
    case EMU_FAULT_FRAGMENTS:
        f->fragments = o->amount != 0;
        break;
    case EMU_FAULT_RESET:
        fault_arm(proxy, true);
        proxy->resetting = o->for_ns > 0;
        break;
    case EMU_FAULT_REFUSE:
        proxy->refusing = true;
        break;
    case EMU_FAULTS:
        break;
    }
}

static uint64_t fault_base(const struct emu_shape *base, enum emu_fault fault)
{
    return fault == EMU_FAULT_RATE    ? base->bytes_per_s
           : fault == EMU_FAULT_DELAY ? (uint64_t)base->delay_ns
                                      : (uint64_t)base->jitter_ns;
}

/* Go back to how it is without. */
static void fault_end(struct emu_proxy *proxy, enum emu_fault fault, uint32_t way)
{
    struct emu_way_faults *f = &proxy->faults[way];
    int64_t now_ns = loop_now_ns(proxy->loop);

    loop_timer_stop(&proxy->ends[fault][way].timer);
    switch (fault) {
    case EMU_FAULT_RATE:
    case EMU_FAULT_DELAY:
    case EMU_FAULT_JITTER:
        fault_reshape(proxy, fault, way, fault_base(&proxy->base[way], fault), false);
        break;
    case EMU_FAULT_CUT:
        f->cut = false;
        emu_pipe_cut(proxy->pipes[way], false, now_ns);
        break;
    case EMU_FAULT_STALL:
        f->stalled = false;
        emu_pipe_stall(proxy->pipes[way], false);
        break;
    case EMU_FAULT_DRAIN:
        f->drain_bytes_per_s = 0;
        emu_pipe_drain(proxy->pipes[way], 0, now_ns);
        break;
    case EMU_FAULT_FLIP:
        fault_flip(f, 0, false);
        break;
    case EMU_FAULT_FRAGMENTS:
        f->fragments = false;
        break;
    case EMU_FAULT_RESET:
        fault_arm(proxy, false);
        proxy->resetting = false;
        break;
    case EMU_FAULT_REFUSE:
        proxy->refusing = false;
        break;
    case EMU_FAULTS:
        break;
    }
    emu_proxy_pump(proxy);
}

static void fault_ended(struct loop_timer *timer, void *user)
{
    struct emu_fault_end *end = user;

    (void)timer;
    fault_end(end->proxy, end->fault, end->way);
}

/* Some are counted by what they do, the others by their beginning. */
static bool fault_begins(const struct emu_order *o)
{
    switch (o->fault) {
    case EMU_FAULT_RATE:
    case EMU_FAULT_DELAY:
    case EMU_FAULT_JITTER:
    case EMU_FAULT_CUT:
    case EMU_FAULT_STALL:
        return true;
    case EMU_FAULT_DRAIN:
        return o->amount != 0;
    case EMU_FAULT_FLIP:
    case EMU_FAULT_FRAGMENTS:
    case EMU_FAULT_RESET:
    case EMU_FAULT_REFUSE:
    case EMU_FAULTS:
        break;
    }
    return false;
}

void emu_proxy_order(struct emu_proxy *proxy, const struct emu_order *o)
{
    for (uint32_t way = 0; way < EMU_WAYS; way++) {
        if ((o->ways >> way & 1) == 0) {
            continue;
        }
        for (uint32_t i = 0; o->verb == EMU_VERB_HEAL && i < EMU_FAULTS; i++) {
            fault_end(proxy, (enum emu_fault)i, way);
        }
        if (o->verb == EMU_VERB_FAULT) {
            struct loop_timer *timer = &proxy->ends[o->fault][way].timer;

            fault_begin(proxy, o, way);
            proxy->fired[o->fault] += fault_begins(o);
            loop_timer_stop(timer);
            if (o->for_ns > 0) {
                loop_timer_start_in(timer, o->for_ns);
            }
        }
    }
    emu_proxy_pump(proxy);
}

void emu_faults_piece(struct emu_half *half, uint32_t bytes)
{
    struct emu_proxy *proxy = half->conn->proxy;
    struct emu_way_faults *f = &proxy->faults[half->way];
    bool flip = f->flip_pieces > 0;

    f->flip_pieces -= flip;
    if (f->flip_every_bytes > 0) {
        flip = f->flip_in_bytes <= bytes;
        f->flip_in_bytes = flip ? f->flip_every_bytes : f->flip_in_bytes - bytes;
    }
    if (flip) {
        uint64_t at = emu_queue_bytes(&half->queue) - 1 - rng_below(&proxy->rng, bytes);

        *emu_queue_at(&half->queue, at) ^= (uint8_t)(1U << rng_below(&proxy->rng, 8));
        proxy->fired[EMU_FAULT_FLIP]++;
    }
}

enum err emu_faults_init(struct emu_proxy *proxy)
{
    for (uint32_t i = 0; i < EMU_FAULTS; i++) {
        for (uint32_t way = 0; way < EMU_WAYS; way++) {
            struct emu_fault_end *end = &proxy->ends[i][way];
            enum err rc = loop_timer_init(&end->timer, proxy->loop, fault_ended, end);

            if (rc != OK) {
                return rc;
            }
            end->proxy = proxy;
            end->fault = (enum emu_fault)i;
            end->way = way;
        }
    }
    return OK;
}

void emu_faults_deinit(struct emu_proxy *proxy)
{
    for (uint32_t i = 0; i < EMU_FAULTS; i++) {
        for (uint32_t way = 0; way < EMU_WAYS; way++) {
            loop_timer_deinit(&proxy->ends[i][way].timer);
        }
    }
}

static bool fault_active(const struct emu_proxy *proxy, enum emu_fault fault, uint32_t way)
{
    const struct emu_way_faults *f = &proxy->faults[way];

    switch (fault) {
    case EMU_FAULT_RATE:
    case EMU_FAULT_DELAY:
    case EMU_FAULT_JITTER:
        return loop_timer_active(&proxy->ends[fault][way].timer);
    case EMU_FAULT_CUT:
        return f->cut;
    case EMU_FAULT_STALL:
        return f->stalled;
    case EMU_FAULT_DRAIN:
        return f->drain_bytes_per_s != 0;
    case EMU_FAULT_FLIP:
        return f->flip_pieces > 0 || f->flip_every_bytes > 0;
    case EMU_FAULT_FRAGMENTS:
        return f->fragments;
    case EMU_FAULT_RESET:
        return proxy->resetting;
    case EMU_FAULT_REFUSE:
        return proxy->refusing;
    case EMU_FAULTS:
        break;
    }
    return false;
}

void emu_proxy_stats(const struct emu_proxy *proxy, struct emu_proxy_stats *out)
{
    *out = (struct emu_proxy_stats){
        .now_ns = loop_now_ns(proxy->loop) - proxy->started_ns,
        .open = proxy->conns_count,
        .total = proxy->conns_total,
        .away = proxy->away,
        .missed = proxy->missed,
    };
    for (uint32_t way = 0; way < EMU_WAYS; way++) {
        struct emu_way_stats *w = &out->ways[way];

        w->shape = *emu_pipe_shape(proxy->pipes[way]);
        emu_pipe_stats(proxy->pipes[way], &w->pipe);
        w->delivered_bytes = w->pipe.taken_bytes - proxy->dropped_bytes[way];
        for (uint32_t i = 0; i < EMU_FAULTS; i++) {
            out->active[i][way] = fault_active(proxy, (enum emu_fault)i, way);
        }
    }
    for (uint32_t i = 0; i < EMU_FAULTS; i++) {
        out->fired[i] = proxy->fired[i];
    }
}
