/* Lines of a drill's transcript: what sums are made of, what is restored, who waits for whom. */

#include "base/list.h"
#include "base/mem.h"
#include "sim/stress/drill_state.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>

enum {
    DRILL_LINE_BYTES = 400,
    DRILL_WAIT_MS = 500, /* Whoever waits so long is worth a line. */
};

void drill_say(struct drill *d, const struct sim_host *who, const char *fmt, ...)
{
    char line[DRILL_LINE_BYTES];
    struct mem_plan plan;
    va_list args;

    if (!sim_tracing(d->world)) {
        return;
    }
    va_start(args, fmt);
    (void)vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    plan = mem_fail_suspend();
    sim_trace(d->world, who, "%s", line);
    mem_fail_resume(plan);
}

/* What lanes tell. */

static struct sim_host *drill_host_of(const struct drill *d, uint16_t table)
{
    return d->lane_hosts[table_chunk_shard(table, 0, d->site.shards) % d->site.lanes];
}

static const char *drill_name_of(const struct drill *d, uint32_t rank)
{
    const struct sim_worker *w = rank < d->workers_count ? d->workers[rank].worker : NULL;

    return w == NULL ? "?" : sim_host_name(w->host);
}

static void drill_taken(uint16_t table, uint32_t chunk, uint32_t rank, uint64_t incarnation,
                        uint64_t clock, void *user)
{
    struct drill *d = user;
    struct drill_sum *sum = &d->sums[table];

    sim_witness_lane.taken(table, chunk, rank, incarnation, clock, d->witness);
    if (sum->down) {
        *sum = (struct drill_sum){0}; /* A lane that did not say so begins from nothing. */
    }
    if (sum->count < DRILL_PARTS_MAX) {
        sum->ranks[sum->count] = rank;
        sum->clocks[sum->count] = clock;
    }
    sum->count++;
}

/* "dense round 2 = w0@2 + w1@2", in the order in which they were added. */
static void drill_say_round(struct drill *d, uint16_t table)
{
    struct drill_sum *sum = &d->sums[table];
    uint32_t shown = sum->count < DRILL_PARTS_MAX ? sum->count : DRILL_PARTS_MAX;
    char parts[DRILL_LINE_BYTES / 2] = " nothing";
    size_t size = 0;

    for (uint32_t i = 0; i < shown && size < sizeof(parts); i++) {
        size +=
            (size_t)snprintf(parts + size, sizeof(parts) - size, "%s%s@%" PRIu64,
                             i == 0 ? " " : " + ", drill_name_of(d, sum->ranks[i]), sum->clocks[i]);
    }
    drill_say(d, drill_host_of(d, table), "%s round %" PRIu64 " =%s%s", drill_tables[table].name,
              sum->version, parts, shown < sum->count || size >= sizeof(parts) ? " ..." : "");
}

static void drill_closed(uint16_t table, uint32_t chunk, uint64_t version, const float *values,
                         uint32_t count, void *user)
{
    struct drill *d = user;

    sim_witness_lane.closed(table, chunk, version, values, count, d->witness);
    d->sums[table].version = version;
    drill_say_round(d, table);
    d->sums[table].count = 0;
}

static void drill_acknowledged(uint16_t table, uint32_t chunk, uint32_t rank, uint64_t incarnation,
                               uint64_t clock, void *user)
{
    struct drill *d = user;

    sim_witness_lane.acknowledged(table, chunk, rank, incarnation, clock, d->witness);
}

/* Whose copies were offered, with the round that each has. */
static void drill_offers(const struct drill *d, uint16_t table, char *out, size_t size)
{
    uint32_t lane = table_chunk_shard(table, 0, d->site.shards) % d->site.lanes;
    size_t used = 0;

    for (uint32_t i = 0; i < d->workers_count && used < size; i++) {
        const struct sim_worker *w = d->workers[i].worker;
        uint64_t version;

        if (w != NULL && w->node != NULL &&
            node_worker_standing(w->node, lane) == NODE_STANDING_OFFERED &&
            node_worker_chunk(w->node, table, 0, &version) != NULL) {
            used +=
                (size_t)snprintf(out + used, size - used, "%s%s %" PRIu64,
                                 used == 0 ? "; copies: " : ", ", sim_host_name(w->host), version);
        }
    }
}

static void drill_restored(uint16_t table, uint32_t chunk, uint64_t version, const float *values,
                           uint32_t count, void *user)
{
    struct drill *d = user;
    char offers[DRILL_LINE_BYTES / 2] = "";

    drill_offers(d, table, offers, sizeof(offers));
    drill_say(d, drill_host_of(d, table), "%s is restored to round %" PRIu64 " of %" PRIu64 "%s",
              drill_tables[table].name, version, d->sums[table].version,
              offers[0] != '\0' ? offers
              : version > 0     ? "; from its checkpoint"
                                : "");
    sim_witness_lane.restored(table, chunk, version, values, count, d->witness);
    d->sums[table] = (struct drill_sum){.version = version};
}

const struct node_lane_witness drill_lane_witness = {
    .taken = drill_taken,
    .closed = drill_closed,
    .acknowledged = drill_acknowledged,
    .restored = drill_restored,
};

/* Who waits. */

/* Whom the barrier of a lane waits for, by name. False if for nobody. */
static bool drill_waited_for(struct node_lane *l, char *out, size_t size)
{
    json_t *status = node_lane_status(l);
    const json_t *members = json_object_get(status, "members");
    size_t used = 0;

    for (size_t i = 0; i < json_array_size(members) && used < size; i++) {
        const json_t *m = json_array_get(members, i);

        if (json_is_true(json_object_get(m, "waited_for"))) {
            used += (size_t)snprintf(out + used, size - used, "%s%s", used == 0 ? "" : ", ",
                                     json_string_value(json_object_get(m, "name")));
        }
    }
    json_decref(status);
    return used > 0;
}

static void drill_say_wait(struct sim_event *event, struct sim_world *world)
{
    static const char *const why[] = {
        [DRILL_OPENING] = "to make its tables",  [DRILL_JOINING] = "to be let in",
        [DRILL_READING] = "to read for clock",   [DRILL_PUSHING] = "to push clock",
        [DRILL_ENDING] = "for the end of clock", [DRILL_LEAVING] = "to leave after clock"};
    struct drill_worker *w = LIST_ENTRY(event, struct drill_worker, wait);
    struct drill *d = w->drill;
    char whom[DRILL_LINE_BYTES / 2];

    if (sim_host_is_paused(w->worker->host)) {
        drill_waits(w);
        return;
    }
    if (w->state == DRILL_OPENING || w->state == DRILL_JOINING) {
        drill_say(d, w->worker->host, "waits %s", why[w->state]);
    } else {
        drill_say(d, w->worker->host, "waits %s %" PRIu64, why[w->state],
                  w->clock - (w->state == DRILL_LEAVING));
    }
    for (uint32_t i = 0; i < d->site.lanes; i++) {
        struct node_lane *l = sim_cluster_lane(d->cluster, i);

        if (l != NULL && drill_waited_for(l, whom, sizeof(whom))) {
            sim_trace(world, d->lane_hosts[i], "lane %u waits for %s", i, whom);
        }
    }
}

void drill_waits(struct drill_worker *w)
{
    struct sim_world *world = w->drill->world;

    if (w->wait.happen == NULL) {
        sim_event_init(&w->wait, drill_say_wait);
    }
    CHECK(sim_event_at(world, &w->wait,
                       sim_world_now_ns(world) + (int64_t)DRILL_WAIT_MS * 1000000) == OK);
}
