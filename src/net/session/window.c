#include "net/session/window.h"

#include <string.h>

static bool net_window_bit(const struct net_window *w, uint64_t sequence)
{
    uint64_t i = sequence % LIMIT_WINDOW_FRAMES;

    return (w->bits[i / 64] >> (i % 64)) & 1;
}

static void net_window_set(struct net_window *w, uint64_t sequence)
{
    uint64_t i = sequence % LIMIT_WINDOW_FRAMES;

    w->bits[i / 64] |= (uint64_t)1 << (i % 64);
}

static void net_window_clear(struct net_window *w, uint64_t sequence)
{
    uint64_t i = sequence % LIMIT_WINDOW_FRAMES;

    w->bits[i / 64] &= ~((uint64_t)1 << (i % 64));
}

void net_window_init(struct net_window *w, uint64_t base)
{
    memset(w, 0, sizeof(*w));
    w->base = base;
    w->last = base;
}

enum net_window_verdict net_window_judge(const struct net_window *w, uint64_t sequence)
{
    if (sequence <= w->base) {
        return NET_WINDOW_DUPLICATE;
    }
    if (sequence - w->base > LIMIT_WINDOW_FRAMES) {
        return NET_WINDOW_BEYOND;
    }
    return net_window_bit(w, sequence) ? NET_WINDOW_DUPLICATE : NET_WINDOW_NEW;
}

/* Move the base over what follows it without a gap. */
static void net_window_close_up(struct net_window *w)
{
    while (w->base < w->last && net_window_bit(w, w->base + 1)) {
        w->base++;
        net_window_clear(w, w->base);
    }
}

enum net_window_verdict net_window_add(struct net_window *w, uint64_t sequence)
{
    enum net_window_verdict verdict = net_window_judge(w, sequence);

    if (verdict == NET_WINDOW_NEW) {
        if (sequence > w->last) {
            w->last = sequence;
        }
        net_window_set(w, sequence);
        net_window_close_up(w);
    }
    return verdict;
}

void net_window_advance(struct net_window *w, uint64_t base)
{
    if (base <= w->base) {
        return;
    }
    if (base >= w->last) {
        net_window_init(w, base);
        return;
    }
    while (w->base < base) {
        w->base++;
        net_window_clear(w, w->base);
    }
    net_window_close_up(w);
}

void net_window_to_wire(const struct net_window *w, struct wire_window *out)
{
    memset(out, 0, sizeof(*out));
    out->base = w->base;
    for (uint64_t s = w->base + 1; s <= w->last; s++) {
        uint64_t i = s - w->base - 1;

        if (net_window_bit(w, s)) {
            out->bits[i / 64] |= (uint64_t)1 << (i % 64);
        }
    }
}

void net_window_from_wire(struct net_window *w, const struct wire_window *in)
{
    net_window_init(w, in->base);
    for (uint64_t i = 0; i < LIMIT_WINDOW_FRAMES; i++) {
        if ((in->bits[i / 64] >> (i % 64)) & 1) {
            w->last = in->base + 1 + i;
            net_window_set(w, w->last);
        }
    }
    net_window_close_up(w);
}
