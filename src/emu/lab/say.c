/* What a lab says of itself, as JSON. */

#include "emu/lab/budget.h"
#include "emu/lab/delay.h"
#include "emu/lab/queue.h"
#include "emu/lab/state.h"

#include <stdio.h>
#include <unistd.h>

enum {
    SAY_NOTE_BYTES = 1024,
    SAY_MISSED_PART = 1000, /* One packet in so many may be lost by the lab. */
};

json_t *lab_say_error(enum err rc, const char *text)
{
    return json_pack("{s:s, s:s, s:b}", "event", "error", "text", text, "usage",
                     rc == ERR_INVALID || rc == ERR_MALFORMED);
}

/* Who is where. A descriptor of ours is the way in; the number tells that it still is that. */
static json_t *say_place(const struct lab *lab, uint32_t region, int host, int ns, uint64_t number)
{
    char address[LAB_ADDRESS_BYTES], path[64];
    json_t *place;

    (void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), ns);
    if (host < 0) {
        (void)lab_address_router(region, address);
    } else {
        (void)lab_address_host(region, (uint32_t)host, address);
    }
    place = json_pack("{s:s, s:s, s:s, s:I}", "region", lab->plan->names[region], "address",
                      address, "ns", path, "number", (json_int_t)number);
    if (place != NULL && host >= 0) {
        (void)json_object_set_new(place, "index", json_integer(host));
    }
    return place;
}

static json_t *say_hosts(const struct lab *lab)
{
    json_t *hosts = json_array();

    for (uint32_t i = 0; i < lab->net.hosts_count; i++) {
        const struct lab_host *h = &lab->net.hosts[i];

        (void)json_array_append_new(hosts,
                                    say_place(lab, h->region, (int)h->index, h->ns, h->number));
    }
    return hosts;
}

static json_t *say_routers(const struct lab *lab)
{
    json_t *routers = json_array();

    for (uint32_t r = 0; r < lab->plan->regions; r++) {
        const struct lab_router *router = &lab->net.routers[r];

        (void)json_array_append_new(routers, say_place(lab, r, -1, router->ns, router->number));
    }
    return routers;
}

static json_t *say_notes(const struct lab *lab)
{
    const struct budget budget = budget_of(lab->plan);
    json_t *notes = json_array();
    char note[SAY_NOTE_BYTES];
    struct text text;

    text_init_fixed(&text, note, sizeof(note));
    budget_say(&budget, lab->plan->mtu, &text);
    if (text.size > 0) {
        (void)json_array_append_new(notes, json_string(note));
    }
    if (!atomic_load(&lab->shared->realtime)) {
        (void)json_array_append_new(
            notes, json_string("the relay has no real-time priority: lateness will be worse when "
                               "the processors are busy; it needs CAP_SYS_NICE"));
    }
    if (lab->plan->streams_capped) {
        (void)json_array_append_new(notes, json_string("what the topology says of one connection's "
                                                       "rate is not emulated"));
    }
    (void)json_array_append_new(notes,
                                json_string("delays inside a region are not emulated: they are "
                                            "those of this machine"));
    return notes;
}

json_t *lab_ready(const struct lab *lab)
{
    return json_pack("{s:s, s:i, s:i, s:I, s:b, s:o, s:o, s:o}", "event", "ready", "pid",
                     (int)getpid(), "mtu", (int)lab->plan->mtu, "since_us",
                     (json_int_t)lab->since_us, "realtime",
                     (int)atomic_load(&lab->shared->realtime), "hosts", say_hosts(lab), "routers",
                     say_routers(lab), "notes", say_notes(lab));
}

/* Counts. */

static uint64_t say_more(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

void lab_drops_reset(struct lab *lab)
{
    for (uint32_t from = 0; from < lab->plan->regions; from++) {
        (void)!lab_queue_read(lab->queues[from], &lab->before[from]); /* Else as it was. */
    }
}

static json_t *say_link(struct lab *lab, uint32_t from, uint32_t to, uint64_t drops)
{
    const struct lab_link *link = lab_plan_link(lab->plan, from, to);
    struct relay_link *relay = relay_link(lab->shared, from, to);
    uint64_t dropped = atomic_load(&relay->dropped) + say_more(drops, lab->before[from].drops[to]);

    return json_pack("{s:s, s:s, s:I, s:f, s:f, s:f, s:b, s:I, s:I, s:I}", "from",
                     lab->plan->names[from], "to", lab->plan->names[to], "rate_bps",
                     (json_int_t)link->bytes_per_s * 8, "delay_us", (double)link->delay_ns * 1e-3,
                     "jitter_us", (double)link->jitter_ns * 1e-3, "loss",
                     (double)link->loss_ppm * 1e-6, "cut", (int)link->cut, "bytes",
                     (json_int_t)atomic_load(&relay->bytes), "packets",
                     (json_int_t)atomic_load(&relay->packets), "dropped", (json_int_t)dropped);
}

/* What all links have carried, and what the lab itself has lost. */
struct say_totals {
    uint64_t packets;
    uint64_t missed;
};

static json_t *say_links(struct lab *lab, struct say_totals *totals)
{
    json_t *links = json_array();

    for (uint32_t from = 0; from < lab->plan->regions; from++) {
        struct lab_queue_counts now = lab->before[from];

        (void)!lab_queue_read(lab->queues[from], &now);
        totals->missed += say_more(now.missed, lab->before[from].missed);
        for (uint32_t to = 0; to < lab->plan->regions; to++) {
            const struct relay_link *relay = relay_link(lab->shared, from, to);

            if (lab_plan_link(lab->plan, from, to)->joined) {
                (void)json_array_append_new(links, say_link(lab, from, to, now.drops[to]));
                totals->packets += atomic_load(&relay->packets);
                totals->missed += atomic_load(&relay->dropped);
            }
        }
    }
    return links;
}

/* A lab that loses packets by itself is not what its topology says either. */
static bool say_valid(const struct delay_report *late, const struct say_totals *totals)
{
    return late->valid && totals->missed <= totals->packets / SAY_MISSED_PART;
}

json_t *lab_status(struct lab *lab)
{
    struct say_totals totals = {0};
    json_t *links = say_links(lab, &totals);
    struct obs_distribution late;
    struct delay_report report;

    obs_histogram_read(&lab->shared->late, &late);
    if (atomic_load(&lab->shared->resets) != atomic_load(&lab->shared->resets_done)) {
        obs_distribution_init(&late); /* The relay is about to forget them, and to count anew. */
        totals = (struct say_totals){0};
    }
    report = delay_report_of(&late);
    return json_pack("{s:s, s:{s:I, s:f, s:f, s:f}, s:b, s:I, s:I, s:o}", "event", "status",
                     "lateness_us", "count", (json_int_t)report.count, "mean", report.mean_us,
                     "p99", report.p99_us, "max", report.max_us, "valid",
                     (int)say_valid(&report, &totals), "missed", (json_int_t)totals.missed,
                     "strays", (json_int_t)atomic_load(&lab->shared->strays), "links", links);
}

json_t *lab_show(struct lab *lab)
{
    json_t *all = lab_ready(lab);
    json_t *status = lab_status(lab);

    if (all == NULL || status == NULL || json_object_update(all, status) != 0) {
        json_decref(all);
        json_decref(status);
        return lab_say_error(ERR_NOMEM, "out of memory");
    }
    json_decref(status);
    (void)json_object_set_new(all, "event", json_string("show"));
    return all;
}
