/* Time, events and the transcript. */

#include "sim/world.h"

#include "base/hash.h"
#include "base/mem.h"
#include "sim/world_state.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    SIM_LINE_BYTES = 512,
    SIM_BUSY_NS = 1000000,         /* More events than this in so short a time are a livelock: */
    SIM_BUSY_EVENTS_MAX = 3000000, /* somebody tries again without waiting. */
};

#define SIM_HOST_RATE_DEFAULT UINT64_C(1250000000)
#define SIM_LAN_RATE_DEFAULT UINT64_C(5000000000)
#define SIM_LAN_DELAY_DEFAULT_NS INT64_C(50000)

enum err sim_world_create(const struct sim_world_config *config, struct sim_world **world_out)
{
    struct sim_fabric_limits limits = {.links_max = SIM_FABRIC_LINKS};
    struct sim_world *w = mem_zalloc(sizeof(*w));
    enum err rc;

    if (w == NULL) {
        return ERR_NOMEM;
    }
    w->config = *config;
    if (w->config.host_rate == 0) {
        w->config.host_rate = SIM_HOST_RATE_DEFAULT;
    }
    if (w->config.lan_rate == 0) {
        w->config.lan_rate = SIM_LAN_RATE_DEFAULT;
    }
    if (w->config.lan_delay_ns == 0) {
        w->config.lan_delay_ns = SIM_LAN_DELAY_DEFAULT_NS;
    }
    if (w->config.flows_max == 0) {
        w->config.flows_max = SIM_FABRIC_FLOWS_DEFAULT;
    }
    if (w->config.segments_max == 0) {
        w->config.segments_max = SIM_FABRIC_SEGMENTS_DEFAULT;
    }
    limits.flows_max = w->config.flows_max;
    limits.segments_max = w->config.segments_max;
    heap_init(&w->heap, SIM_EVENTS_MAX);
    rng_init(&w->rng, config->seed);
    rc = text_init(&w->trace, config->trace_bytes_max);
    if (rc == OK) {
        rc = sim_fabric_create(&limits, &w->fabric);
    }
    if (rc == OK) {
        rc = sim_streams_create(w);
    }
    if (rc != OK) {
        sim_world_destroy(w);
        return rc;
    }
    *world_out = w;
    return OK;
}

static void sim_host_destroy(struct sim_host *host)
{
    sim_event_cancel(host->world, &host->wake);
    sim_event_cancel(host->world, &host->retry);
    sim_disk_destroy(host->disk);
    mem_free(host);
}

void sim_world_destroy(struct sim_world *w)
{
    if (w == NULL) {
        return;
    }
    /* Connections know both their hosts. */
    for (uint32_t i = 0; i < w->hosts_count; i++) {
        sim_host_crash(w->hosts[i], true);
    }
    for (uint32_t i = 0; i < w->hosts_count; i++) {
        sim_host_destroy(w->hosts[i]);
    }
    for (uint32_t i = 0; i < w->regions_count; i++) {
        mem_free(w->regions[i]);
    }
    sim_streams_destroy(w);
    sim_fabric_destroy(w->fabric);
    heap_deinit(&w->heap);
    text_deinit(&w->trace);
    mem_free(w);
}

int64_t sim_world_now_ns(const struct sim_world *w)
{
    return w->now_ns;
}

uint64_t sim_world_events(const struct sim_world *w)
{
    return w->events;
}

struct rng *sim_world_rng(struct sim_world *w)
{
    return &w->rng;
}

struct sim_fabric *sim_world_fabric(struct sim_world *w)
{
    return w->fabric;
}

void sim_world_set_checker(struct sim_world *w, const char *(*check)(void *user), void *user)
{
    w->check = check;
    w->check_user = user;
}

const char *sim_world_broken(const struct sim_world *w)
{
    return w->broken;
}

void sim_event_init(struct sim_event *event,
                    void (*happen)(struct sim_event *event, struct sim_world *w))
{
    heap_node_init(&event->node);
    event->happen = happen;
}

enum err sim_event_at(struct sim_world *w, struct sim_event *event, int64_t at_ns)
{
    int64_t due_ns = at_ns < w->now_ns ? w->now_ns : at_ns;
    struct mem_plan plan;
    enum err rc;

    if (heap_contains(&event->node)) {
        heap_move(&w->heap, &event->node, due_ns);
        return OK;
    }
    plan = mem_fail_suspend();
    rc = heap_push(&w->heap, &event->node, due_ns);
    mem_fail_resume(plan);
    return rc;
}

void sim_event_cancel(struct sim_world *w, struct sim_event *event)
{
    if (event->happen != NULL) {
        heap_remove(&w->heap, &event->node);
    }
}

bool sim_event_queued(const struct sim_event *event)
{
    return event->happen != NULL && heap_contains(&event->node);
}

/* Segments leave links before anything else of the same instant happens. */
static bool sim_world_next(struct sim_world *w, int64_t until_ns)
{
    int64_t fabric_ns = sim_fabric_next_ns(w->fabric);
    int64_t event_ns = SIM_NEVER;
    struct heap_node *node = heap_first(&w->heap, &event_ns);

    if (fabric_ns <= event_ns && fabric_ns <= until_ns && fabric_ns != SIM_NEVER) {
        w->now_ns = fabric_ns;
        w->events += sim_fabric_advance(w->fabric, fabric_ns, sim_stream_transmitted, w);
        return true;
    }
    if (node != NULL && event_ns <= until_ns) {
        struct sim_event *event = LIST_ENTRY(node, struct sim_event, node);

        w->now_ns = event_ns;
        (void)sim_fabric_advance(w->fabric, event_ns, sim_stream_transmitted, w);
        heap_remove(&w->heap, node);
        w->events++;
        event->happen(event, w);
        return true;
    }
    if (until_ns != SIM_NEVER && until_ns > w->now_ns) {
        w->now_ns = until_ns;
        (void)sim_fabric_advance(w->fabric, until_ns, sim_stream_transmitted, w);
    }
    return false;
}

bool sim_world_step(struct sim_world *w, int64_t until_ns)
{
    if (w->broken != NULL || !sim_world_next(w, until_ns)) {
        return false;
    }
    if (w->check != NULL) {
        w->broken = w->check(w->check_user);
    }
    if (w->now_ns - w->busy_since_ns > SIM_BUSY_NS) {
        w->busy_since_ns = w->now_ns;
        w->busy_before = w->events;
    } else if (w->broken == NULL && w->events - w->busy_before > SIM_BUSY_EVENTS_MAX) {
        w->broken = "I6: three million events within a millisecond";
    }
    return w->broken == NULL;
}

bool sim_tracing(const struct sim_world *w)
{
    return w->config.trace;
}

void sim_trace(struct sim_world *w, const struct sim_host *who, const char *fmt, ...)
{
    char line[SIM_LINE_BYTES];
    va_list args;
    int head, body;
    size_t size;

    if (!w->config.trace) {
        return;
    }
    head = snprintf(line, sizeof(line), "[%5" PRId64 ".%09" PRId64 "] %s: ", w->now_ns / 1000000000,
                    w->now_ns % 1000000000, who == NULL ? "world" : who->name);
    va_start(args, fmt);
    body = vsnprintf(line + head, sizeof(line) - (size_t)head, fmt, args);
    va_end(args);
    CHECK(body >= 0);
    if (head + body > (int)sizeof(line) - 2) {
        body = (int)sizeof(line) - 2 - head;
    }
    size = (size_t)head + (size_t)body + 1;
    line[size - 1] = '\n';
    line[size] = '\0';
    /* Each line's hash is mixed with what came before, so order counts. */
    w->trace_hash = w->trace_hash * 0x9e3779b97f4a7c15u + hash_bytes(line, size);
    w->trace_lines++;
    if (w->config.keep_trace) {
        text_add_bytes(&w->trace, line, size);
    }
}

enum err sim_world_transcript(const struct sim_world *w, struct text *out)
{
    enum err rc = text_init(out, w->trace.size);

    if (rc == OK) {
        text_add_bytes(out, w->trace.chars, w->trace.size);
    }
    return rc;
}

uint64_t sim_world_transcript_hash(const struct sim_world *w)
{
    return w->trace_hash;
}
