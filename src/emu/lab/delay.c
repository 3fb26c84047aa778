#include "emu/lab/delay.h"

#include "base/heap.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/rng.h"

__extension__ typedef unsigned __int128 delay_wide;

enum { DELAY_ENDS_MAX = 1024 };

#define DELAY_NS_PER_S UINT64_C(1000000000)
#define DELAY_SEND_MAX_NS (INT64_C(3600) * 1000000000) /* No time overflows. */

struct delay_entry {
    struct list link; /* In its line, or with the free ones. */
    struct delay_item item;
};

/* One direction between two ends: first in, first out. */
struct delay_line {
    struct heap_node node; /* Queued by the time of the first entry, if there is one. */
    struct list entries;
    struct delay_link link;
    int64_t last_due_ns;
};

struct delay {
    uint32_t ends;
    uint32_t count;
    struct delay_line *lines; /* From end i to end j: [i * ends + j]. */
    struct delay_entry *entries;
    struct list free;
    struct heap due;
    struct rng rng;
};

static enum err delay_fill(struct delay *d, const struct delay_config *config)
{
    uint32_t lines = config->ends * config->ends;

    d->lines = mem_calloc(lines, sizeof(*d->lines));
    d->entries = mem_calloc(config->items_max, sizeof(*d->entries));
    if (d->lines == NULL || d->entries == NULL || heap_reserve(&d->due, lines) != OK) {
        return ERR_NOMEM;
    }
    for (uint32_t i = 0; i < lines; i++) {
        heap_node_init(&d->lines[i].node);
        list_init(&d->lines[i].entries);
    }
    for (uint32_t i = 0; i < config->items_max; i++) {
        list_push_back(&d->free, &d->entries[i].link);
    }
    return OK;
}

enum err delay_create(const struct delay_config *config, struct delay **delay_out)
{
    struct delay *d;

    if (config->ends == 0 || config->ends > DELAY_ENDS_MAX || config->items_max == 0) {
        return ERR_INVALID;
    }
    d = mem_zalloc(sizeof(*d));
    if (d == NULL) {
        return ERR_NOMEM;
    }
    d->ends = config->ends;
    list_init(&d->free);
    heap_init(&d->due, config->ends * config->ends);
    rng_init(&d->rng, config->seed);
    if (delay_fill(d, config) != OK) {
        delay_destroy(d);
        return ERR_NOMEM;
    }
    *delay_out = d;
    return OK;
}

void delay_destroy(struct delay *d)
{
    if (d != NULL) {
        heap_deinit(&d->due);
        mem_free(d->entries);
        mem_free(d->lines);
        mem_free(d);
    }
}

static struct delay_line *delay_line(struct delay *d, uint32_t from, uint32_t to)
{
    CHECK(from < d->ends && to < d->ends);
    return &d->lines[from * d->ends + to];
}

void delay_link_set(struct delay *d, uint32_t from, uint32_t to, const struct delay_link *link)
{
    CHECK(link->delay_ns >= 0 && link->jitter_ns >= 0);
    delay_line(d, from, to)->link = *link;
}

/* How long the link is busy with so many bytes. */
static int64_t delay_send_ns(const struct delay_link *link, uint32_t bytes)
{
    delay_wide ns;

    if (link->bytes_per_s == 0) {
        return 0;
    }
    ns = (delay_wide)bytes * DELAY_NS_PER_S / link->bytes_per_s;
    return ns > (delay_wide)DELAY_SEND_MAX_NS ? DELAY_SEND_MAX_NS : (int64_t)ns;
}

enum err delay_push(struct delay *d, const struct delay_item *item, int64_t now_ns)
{
    struct delay_line *line = delay_line(d, item->from, item->to);
    struct list *free = list_first(&d->free);
    struct delay_entry *e;
    int64_t due_ns = now_ns + line->link.delay_ns + delay_send_ns(&line->link, item->bytes);

    if (free == NULL) {
        return ERR_AGAIN;
    }
    if (line->link.jitter_ns > 0) {
        due_ns += rng_between(&d->rng, 0, line->link.jitter_ns);
    }
    due_ns = due_ns < line->last_due_ns ? line->last_due_ns : due_ns;
    line->last_due_ns = due_ns;
    e = LIST_ENTRY(free, struct delay_entry, link);
    e->item = *item;
    e->item.due_ns = due_ns;
    list_remove(&e->link);
    if (list_empty(&line->entries)) {
        CHECK(heap_push(&d->due, &line->node, due_ns) == OK); /* There is room for every line. */
    }
    list_push_back(&line->entries, &e->link);
    d->count++;
    return OK;
}

int64_t delay_next_ns(const struct delay *d)
{
    int64_t due_ns = DELAY_NEVER;

    (void)heap_first(&d->due, &due_ns);
    return due_ns;
}

bool delay_pop(struct delay *d, int64_t now_ns, struct delay_item *item_out)
{
    int64_t due_ns = DELAY_NEVER;
    struct heap_node *node = heap_first(&d->due, &due_ns);
    struct delay_line *line;
    struct delay_entry *e;

    if (node == NULL || due_ns > now_ns) {
        return false;
    }
    line = LIST_ENTRY(node, struct delay_line, node);
    e = LIST_ENTRY(list_first(&line->entries), struct delay_entry, link);
    *item_out = e->item;
    list_remove(&e->link);
    /* To the front: the next one is still in the cache. */
    list_push_back(d->free.next, &e->link);
    d->count--;
    if (list_empty(&line->entries)) {
        heap_remove(&d->due, &line->node);
    } else {
        e = LIST_ENTRY(list_first(&line->entries), struct delay_entry, link);
        heap_move(&d->due, &line->node, e->item.due_ns);
    }
    return true;
}

uint32_t delay_count(const struct delay *d)
{
    return d->count;
}

int64_t delay_item_late_ns(const struct delay_item *item, int64_t now_ns)
{
    int64_t after_ns = now_ns > item->due_ns ? now_ns - item->due_ns : 0;

    return after_ns + item->waited_ns;
}

struct delay_report delay_report_of(const struct obs_distribution *late)
{
    struct delay_report r = {.count = late->count, .valid = true};
    double mean_ns;

    if (late->count == 0) {
        return r;
    }
    mean_ns = (double)late->sum / (double)late->count;
    r.mean_us = mean_ns * 1e-3;
    r.p99_us = (double)obs_distribution_quantile(late, 0.99) * 1e-3;
    r.max_us = (double)late->max * 1e-3;
    r.valid = mean_ns <= (double)DELAY_LATE_MAX_NS;
    return r;
}
