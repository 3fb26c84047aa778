/* Other people's traffic in a run of processes: one filler (`strait lab fill`) beside each member,
 * told by the run's clock what run/background.h has drawn. */

#include "base/mem.h"
#include "emu/traffic/filler_order.h"
#include "run/background.h"
#include "run/live/state.h"

#include <inttypes.h>
#include <stdio.h>

enum { BACKGROUND_PORT = 7399 };

_Static_assert((int)RUN_BACKGROUNDS_MAX <= (int)FILLER_KINDS_MAX, "each entry is a kind");

/* The process beside a member. */
struct live_filler {
    struct live *live;
    struct live_member *member;
    struct run_child child;
    uint64_t received[RUN_BACKGROUNDS_MAX];
};

/* An entry of the file. */
struct live_crowd {
    struct live *live;
    uint32_t kind;
    struct run_draw draw;
    struct run_pair *pairs;
    struct loop_timer next;
    bool on;
    uint64_t before; /* What had come of it when it came on. */
};

struct live_background {
    struct live_filler *fillers; /* By member. */
    struct live_crowd *crowds;
};

static uint64_t background_received(const struct live *l, uint32_t kind)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < run_members(l->f); i++) {
        sum += l->background->fillers[i].received[kind];
    }
    return sum;
}

uint64_t live_background_bytes(const struct live *l)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < l->f->backgrounds_count; i++) {
        sum += background_received(l, i);
    }
    return run_bytes_full(sum, l->f);
}

/* Fillers. */

static void filler_said(struct run_child *c, const json_t *news, void *user)
{
    struct live_filler *w = user;
    const json_t *bytes = json_object_get(news, "bytes");

    (void)c;
    for (uint32_t i = 0; i < w->live->f->backgrounds_count && i < json_array_size(bytes); i++) {
        json_int_t all = json_integer_value(json_array_get(bytes, i));

        w->received[i] = all > 0 ? (uint64_t)all : 0;
    }
}

static void filler_ended(struct run_child *c, int64_t status, int signum, void *user)
{
    struct live_filler *w = user;
    char words[320];

    if (w->live->phase >= LIVE_LEAVING) {
        return;
    }
    run_child_last_words(c, words, sizeof(words));
    live_fail(w->live,
              "the background traffic of %s ended with status %" PRId64 ", signal %d: %.240s",
              w->member->name, status, signum, words);
}

static const struct run_child_events filler_events = {.said = filler_said, .ended = filler_ended};

static void filler_place(const struct live_filler *w, struct net_address *out)
{
    w->live->ground->place(w->member, 0, out);
    (void)snprintf(out->port, sizeof(out->port), "%d", BACKGROUND_PORT);
}

static enum err filler_start(struct live_filler *w)
{
    struct live_args args = {.count = 0};
    char text[NET_ADDRESS_BYTES];
    struct net_address at;
    enum err rc;

    filler_place(w, &at);
    w->live->ground->before(w->member, &args);
    live_args_add(&args, "lab");
    live_args_add(&args, "fill");
    live_args_add(&args, "--listen");
    live_args_add(&args, "%s", net_address_format(&at, text));
    live_args_add(&args, "--no-color");
    rc =
        args.failed ? ERR_NOMEM : run_child_start(&w->child, (const char *const *)args.items, true);
    live_args_free(&args);
    return rc;
}

static void filler_tell(struct live_filler *w, const char *order)
{
    if (run_child_tell(&w->child, order) != OK) {
        live_event(w->live, "notice", w->member->name, "no memory to say: %s", order);
    }
}

/* Phases. */

static void crowd_off(struct live_crowd *c)
{
    struct live *l = c->live;
    char order[32];

    (void)snprintf(order, sizeof(order), "end %u", c->kind);
    for (uint32_t i = 0; i < run_members(l->f); i++) {
        filler_tell(&l->background->fillers[i], order);
    }
    c->on = false;
    /* What is on its way counts later. */
    live_event(l, "background", c->draw.b->name, "off, %" PRIu64 " bytes",
               run_bytes_full(background_received(l, c->kind) - c->before, l->f));
}

static void crowd_on(struct live_crowd *c)
{
    struct live *l = c->live;

    run_draw_pairs(&c->draw, c->pairs);
    c->on = true;
    c->before = background_received(l, c->kind);
    for (uint32_t i = 0; i < c->draw.b->flows; i++) {
        char order[FILLER_ORDER_BYTES_MAX], text[NET_ADDRESS_BYTES];
        struct net_address to;

        filler_place(&l->background->fillers[c->pairs[i].to], &to);
        (void)snprintf(order, sizeof(order), "begin %u %" PRIu64 " %s", c->kind,
                       c->draw.b->rate_run, net_address_format(&to, text));
        filler_tell(&l->background->fillers[c->pairs[i].from], order);
    }
    live_event(l, "background", c->draw.b->name, "on, %u flows", c->draw.b->flows);
}

static void crowd_next(struct loop_timer *timer, void *user)
{
    struct live_crowd *c = user;

    (void)timer;
    if (c->on) {
        crowd_off(c);
    }
    if (!run_draw_next(&c->draw)) {
        return;
    }
    if (c->draw.on) {
        crowd_on(c);
    }
    loop_timer_start(&c->next, c->live->start_ns + c->draw.to_ns);
}

/* All of it. */

static enum err background_open_filler(struct live *l, uint32_t member)
{
    struct live_filler *w = &l->background->fillers[member];
    char log[LIVE_PATH_BYTES + LIMIT_NAME_BYTES];

    w->live = l;
    w->member = member < l->f->servers_count ? &l->servers[member]
                                             : &l->workers[member - l->f->servers_count];
    (void)snprintf(log, sizeof(log), "%s/%s-background.log", l->options.dir, w->member->name);
    return run_child_init(&w->child, l->loop, log, &filler_events, w);
}

static enum err background_open_crowd(struct live *l, uint32_t kind)
{
    struct live_crowd *c = &l->background->crowds[kind];

    c->live = l;
    c->kind = kind;
    run_draw_open(&c->draw, l->f, kind);
    c->pairs = mem_calloc(c->draw.b->flows, sizeof(*c->pairs));
    return c->pairs == NULL ? ERR_NOMEM : loop_timer_init(&c->next, l->loop, crowd_next, c);
}

enum err live_background_open(struct live *l)
{
    uint32_t kinds = l->f->backgrounds_count, members = kinds == 0 ? 0 : run_members(l->f);
    struct live_background *b = mem_zalloc(sizeof(*b));
    enum err rc = b == NULL ? ERR_NOMEM : OK;

    l->background = b;
    if (rc == OK) {
        b->fillers = mem_calloc((size_t)members + 1, sizeof(*b->fillers));
        b->crowds = mem_calloc((size_t)kinds + 1, sizeof(*b->crowds));
        rc = b->fillers == NULL || b->crowds == NULL ? ERR_NOMEM : OK;
    }
    for (uint32_t i = 0; i < members && rc == OK; i++) {
        rc = background_open_filler(l, i);
    }
    for (uint32_t i = 0; i < kinds && rc == OK; i++) {
        rc = background_open_crowd(l, i);
    }
    return rc;
}

void live_background_start(struct live *l)
{
    for (uint32_t i = 0; l->f->backgrounds_count > 0 && i < run_members(l->f); i++) {
        struct live_filler *w = &l->background->fillers[i];
        enum err rc = run_child_runs(&w->child) ? OK : filler_start(w);

        if (rc != OK) {
            live_fail(l, "the background traffic of %s cannot be started: %s", w->member->name,
                      err_string(rc));
            return;
        }
    }
}

void live_background_begin(struct live *l)
{
    for (uint32_t i = 0; i < l->f->backgrounds_count; i++) {
        struct live_crowd *c = &l->background->crowds[i];

        loop_timer_start(&c->next, l->start_ns + c->draw.to_ns);
    }
}

void live_background_end(struct live *l)
{
    for (uint32_t i = 0; i < l->f->backgrounds_count; i++) {
        struct live_crowd *c = &l->background->crowds[i];

        loop_timer_stop(&c->next);
        if (c->on) {
            crowd_off(c);
        }
    }
}

void live_background_close(struct live *l)
{
    struct live_background *b = l->background;

    if (b == NULL) {
        return;
    }
    for (uint32_t i = 0; b->fillers != NULL && b->fillers[i].live != NULL; i++) {
        run_child_release(&b->fillers[i].child);
    }
    for (uint32_t i = 0; b->crowds != NULL && b->crowds[i].live != NULL; i++) {
        loop_timer_deinit(&b->crowds[i].next);
        mem_free(b->crowds[i].pairs);
    }
    mem_free(b->fillers);
    mem_free(b->crowds);
    mem_free(b);
}
