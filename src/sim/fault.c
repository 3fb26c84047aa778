#include "sim/fault.h"

#include "base/mem.h"
#include "sim/disk.h"
#include "sim/net/stream.h"
#include "sim/world_state.h"

#include <string.h>

enum { SIM_FAULTS_MAX = 4096 }; /* Lasting at once. */

#define MS INT64_C(1000000)

enum sim_fault_span {
    SIM_MOMENT,
    SIM_LASTS,
    SIM_OUTLASTS, /* Storms do not cut it short. */
};

struct sim_fault_info {
    const char *name;
    enum sim_fault_target target;
    enum sim_fault_amount amount;
    enum sim_fault_span span;
    int64_t amount_low; /* What a storm picks from. */
    int64_t amount_high;
    int64_t duration_low_ns;
    int64_t duration_high_ns;
};

static const struct sim_fault_info sim_fault_infos[SIM_FAULT_KINDS] = {
    [SIM_FAULT_KILL] = {"kill", SIM_TARGET_HOST, SIM_AMOUNT_NONE, SIM_LASTS, 0, 0, 1 * MS,
                        4000 * MS},
    [SIM_FAULT_POWER] = {"power", SIM_TARGET_HOST, SIM_AMOUNT_NONE, SIM_LASTS, 0, 0, 1 * MS,
                         6000 * MS},
    [SIM_FAULT_PAUSE] = {"pause", SIM_TARGET_HOST, SIM_AMOUNT_NONE, SIM_LASTS, 0, 0, 100 * MS,
                         8000 * MS},
    [SIM_FAULT_CUT] = {"cut", SIM_TARGET_LINK, SIM_AMOUNT_NONE, SIM_LASTS, 0, 0, 50 * MS,
                       6000 * MS},
    [SIM_FAULT_CUT_ONE] = {"cut-one", SIM_TARGET_LINK, SIM_AMOUNT_NONE, SIM_LASTS, 0, 0, 50 * MS,
                           6000 * MS},
    [SIM_FAULT_SLOW] = {"slow", SIM_TARGET_LINK, SIM_AMOUNT_PPM, SIM_LASTS, 1000, 500000, 100 * MS,
                        5000 * MS},
    [SIM_FAULT_SPIKE] = {"spike", SIM_TARGET_LINK, SIM_AMOUNT_TIME, SIM_LASTS, 10 * MS, 2000 * MS,
                         100 * MS, 3000 * MS},
    [SIM_FAULT_LOSS] = {"loss", SIM_TARGET_LINK, SIM_AMOUNT_PPM, SIM_LASTS, 10000, 300000, 100 * MS,
                        3000 * MS},
    [SIM_FAULT_RESET] = {"reset", SIM_TARGET_CONNECTION, SIM_AMOUNT_NONE, SIM_MOMENT, 0, 0, 0, 0},
    [SIM_FAULT_REORDER] = {"reorder", SIM_TARGET_CONNECTION, SIM_AMOUNT_TIME, SIM_MOMENT, 1 * MS,
                           500 * MS, 0, 0},
    [SIM_FAULT_DUPLICATE] = {"duplicate", SIM_TARGET_CONNECTION, SIM_AMOUNT_NONE, SIM_MOMENT, 0, 0,
                             0, 0},
    [SIM_FAULT_FLIP] = {"flip", SIM_TARGET_CONNECTION, SIM_AMOUNT_NONE, SIM_MOMENT, 0, 0, 0, 0},
    [SIM_FAULT_FRAGMENT] = {"fragment", SIM_TARGET_CONNECTION, SIM_AMOUNT_COUNT, SIM_MOMENT, 1, 200,
                            0, 0},
    [SIM_FAULT_CLOCK] = {"clock", SIM_TARGET_HOST, SIM_AMOUNT_TIME, SIM_MOMENT, -3600000 * MS,
                         3600000 * MS, 0, 0},
    [SIM_FAULT_MEMORY] = {"memory", SIM_TARGET_HOST, SIM_AMOUNT_COUNT, SIM_MOMENT, 1, 6, 0, 0},
    [SIM_FAULT_DISK_FULL] = {"disk-full", SIM_TARGET_HOST, SIM_AMOUNT_COUNT, SIM_MOMENT, 1, 5, 0,
                             0},
    [SIM_FAULT_DISK_SHORT] = {"disk-short", SIM_TARGET_HOST, SIM_AMOUNT_COUNT, SIM_MOMENT, 1, 3, 0,
                              0},
    [SIM_FAULT_DISK_SYNC] = {"disk-sync", SIM_TARGET_HOST, SIM_AMOUNT_COUNT, SIM_MOMENT, 1, 3, 0,
                             0},
    [SIM_FAULT_DISK_RENAME] = {"disk-rename", SIM_TARGET_HOST, SIM_AMOUNT_COUNT, SIM_MOMENT, 1, 3,
                               0, 0},
    [SIM_FAULT_FREEZE] = {"freeze", SIM_TARGET_HOST, SIM_AMOUNT_NONE, SIM_OUTLASTS, 0, 0,
                          12000 * MS, 150000 * MS},
    [SIM_FAULT_DESCRIPTORS] = {"descriptors", SIM_TARGET_HOST, SIM_AMOUNT_NONE, SIM_LASTS, 0, 0,
                               500 * MS, 8000 * MS},
    [SIM_FAULT_MEMORY_LIMIT] = {"memory-limit", SIM_TARGET_HOST, SIM_AMOUNT_COUNT, SIM_LASTS, 64,
                                8192, 100 * MS, 3000 * MS},
    [SIM_FAULT_DISK_SLOW] = {"disk-slow", SIM_TARGET_HOST, SIM_AMOUNT_TIME, SIM_LASTS, 50 * MS,
                             3000 * MS, 500 * MS, 6000 * MS},
    [SIM_FAULT_LOSE_SHARD] = {"lose-shard", SIM_TARGET_HOST, SIM_AMOUNT_NONE, SIM_LASTS, 0, 0,
                              100 * MS, 8000 * MS},
    [SIM_FAULT_DAMAGE] = {"damage", SIM_TARGET_HOST, SIM_AMOUNT_NONE, SIM_LASTS, 0, 0, 100 * MS,
                          8000 * MS},
    [SIM_FAULT_STALL] = {"stall", SIM_TARGET_CONNECTION, SIM_AMOUNT_NONE, SIM_MOMENT, 0, 0, 0, 0},
};

/* A fault that lasts, waiting for its end. */
struct sim_lasting {
    struct sim_event end;
    struct list link;
    struct sim_faults *faults;
    struct sim_fault fault;
    uint32_t put_back; /* As sim_disk_mend() wants it. */
};

struct sim_faults {
    struct sim_world *world;
    struct list lasting;
    uint32_t lasting_count;
    uint64_t fired[SIM_FAULT_KINDS];
    int64_t over_ns;
    struct sim_event storm;
    struct rng rng;
    uint64_t storm_mask;
    int64_t storm_mean_ns;
    int64_t storm_until_ns;
};

const char *sim_fault_name(enum sim_fault_kind kind)
{
    return sim_fault_infos[kind].name;
}

enum sim_fault_kind sim_fault_parse(const char *name)
{
    for (int i = 0; i < SIM_FAULT_KINDS; i++) {
        if (strcmp(sim_fault_infos[i].name, name) == 0) {
            return (enum sim_fault_kind)i;
        }
    }
    return SIM_FAULT_KINDS;
}

enum sim_fault_target sim_fault_target(enum sim_fault_kind kind)
{
    return sim_fault_infos[kind].target;
}

enum sim_fault_amount sim_fault_amount(enum sim_fault_kind kind)
{
    return sim_fault_infos[kind].amount;
}

bool sim_fault_lasts(enum sim_fault_kind kind)
{
    return sim_fault_infos[kind].span != SIM_MOMENT;
}

static struct sim_link *sim_fault_back(struct sim_world *w, struct sim_link *link)
{
    return sim_link_between(w, sim_link_to(link), sim_link_from(link));
}

/* Undo a fault whose time is over. */
static void sim_fault_end(struct sim_event *event, struct sim_world *w)
{
    struct sim_lasting *l = LIST_ENTRY(event, struct sim_lasting, end);
    struct sim_fault *fault = &l->fault;

    switch (fault->kind) {
    case SIM_FAULT_KILL:
    case SIM_FAULT_POWER:
        sim_host_start(fault->host);
        break;
    case SIM_FAULT_CUT:
        sim_link_heal(w, sim_fault_back(w, fault->link));
        sim_link_heal(w, fault->link);
        break;
    case SIM_FAULT_CUT_ONE:
        sim_link_heal(w, fault->link);
        break;
    case SIM_FAULT_SLOW:
        sim_link_unslow(w, fault->link, (uint32_t)fault->amount);
        break;
    case SIM_FAULT_SPIKE:
        sim_link_delay(fault->link, -fault->amount);
        break;
    case SIM_FAULT_LOSS:
        sim_link_lose(fault->link, -(int32_t)fault->amount);
        break;
    case SIM_FAULT_DESCRIPTORS:
        sim_host_starve(fault->host, false);
        break;
    case SIM_FAULT_MEMORY_LIMIT:
        sim_host_limit_memory(fault->host, 0);
        break;
    case SIM_FAULT_DISK_SLOW:
        sim_disk_slow(sim_host_disk(fault->host), -fault->amount);
        break;
    case SIM_FAULT_LOSE_SHARD:
    case SIM_FAULT_DAMAGE:
        sim_trace(w, fault->host, "has its files back");
        sim_disk_mend(sim_host_disk(fault->host), l->put_back);
        sim_host_start(fault->host);
        break;
    default:
        break;
    }
    if (fault->link != NULL) {
        sim_trace(w, NULL, "%s %s-%s ends", sim_fault_name(fault->kind),
                  sim_region_name(sim_link_from(fault->link)),
                  sim_region_name(sim_link_to(fault->link)));
    }
    list_remove(&l->link);
    l->faults->lasting_count--;
    mem_free(l);
}

enum err sim_faults_create(struct sim_world *w, uint64_t seed, struct sim_faults **faults_out)
{
    struct sim_faults *f = mem_zalloc(sizeof(*f));

    if (f == NULL) {
        return ERR_NOMEM;
    }
    f->world = w;
    rng_init(&f->rng, seed);
    list_init(&f->lasting);
    *faults_out = f;
    return OK;
}

void sim_faults_destroy(struct sim_faults *f)
{
    struct list *link;

    if (f == NULL) {
        return;
    }
    while ((link = list_first(&f->lasting)) != NULL) {
        struct sim_lasting *l = LIST_ENTRY(link, struct sim_lasting, link);

        sim_event_cancel(f->world, &l->end);
        list_remove(link);
        mem_free(l);
    }
    sim_event_cancel(f->world, &f->storm);
    mem_free(f);
}

static bool sim_fault_last(struct sim_faults *f, const struct sim_fault *fault, uint32_t put_back)
{
    struct sim_lasting *l;

    if (f->lasting_count == SIM_FAULTS_MAX) {
        return false;
    }
    l = mem_zalloc(sizeof(*l));
    if (l == NULL) {
        return false;
    }
    l->faults = f;
    l->fault = *fault;
    l->put_back = put_back;
    sim_event_init(&l->end, sim_fault_end);
    if (sim_event_at(f->world, &l->end, sim_world_now_ns(f->world) + fault->duration_ns) != OK) {
        mem_free(l);
        return false;
    }
    list_push_back(&f->lasting, &l->link);
    f->lasting_count++;
    return true;
}

/* Kill the server and have it start without some of its files: it must not go on beside others, nor
 * from anything else than what it was told to be there. */
static bool sim_fault_lose(const struct sim_fault *fault, uint32_t *put_back_out)
{
    struct sim_host *host = fault->host;

    if (!sim_host_is_on(host)) {
        return false;
    }
    *put_back_out = sim_disk_lose(sim_host_disk(host), "+shard-", fault->kind == SIM_FAULT_DAMAGE);
    if (*put_back_out == 0) {
        return false;
    }
    sim_host_crash(host, false);
    sim_host_start(host);
    return true;
}

static bool sim_fault_on_host(struct sim_faults *f, const struct sim_fault *fault,
                              uint32_t *put_back_out)
{
    struct sim_host *host = fault->host;
    int64_t now_ns = sim_world_now_ns(f->world);

    switch (fault->kind) {
    case SIM_FAULT_KILL:
    case SIM_FAULT_POWER:
        if (!sim_host_is_on(host)) {
            return false;
        }
        sim_host_crash(host, fault->kind == SIM_FAULT_POWER);
        return true;
    case SIM_FAULT_PAUSE:
    case SIM_FAULT_FREEZE:
        if (!sim_host_is_on(host) || sim_host_is_paused(host)) {
            return false;
        }
        sim_host_pause(host, now_ns + fault->duration_ns);
        return true;
    case SIM_FAULT_CLOCK:
        sim_host_jump_clock(host, fault->amount / 1000);
        return true;
    case SIM_FAULT_MEMORY:
        sim_host_fail_alloc(host, (uint32_t)fault->amount);
        return true;
    case SIM_FAULT_DESCRIPTORS:
        sim_host_starve(host, true);
        return true;
    case SIM_FAULT_MEMORY_LIMIT:
        sim_host_limit_memory(host, (size_t)fault->amount);
        return true;
    case SIM_FAULT_DISK_SLOW:
        sim_disk_slow(sim_host_disk(host), fault->amount);
        return true;
    case SIM_FAULT_LOSE_SHARD:
    case SIM_FAULT_DAMAGE:
        return sim_fault_lose(fault, put_back_out);
    default:
        sim_disk_fault_set(sim_host_disk(host),
                           (enum sim_disk_fault)(fault->kind - SIM_FAULT_DISK_FULL),
                           (uint32_t)fault->amount);
        return true;
    }
}

_Static_assert((int)SIM_DISK_RENAME - (int)SIM_DISK_FULL ==
                   (int)SIM_FAULT_DISK_RENAME - (int)SIM_FAULT_DISK_FULL,
               "the disk's faults stand in the same order here and there");

static void sim_fault_on_link(struct sim_faults *f, const struct sim_fault *fault)
{
    struct sim_world *w = f->world;

    switch (fault->kind) {
    case SIM_FAULT_CUT:
        sim_link_cut(w, fault->link);
        sim_link_cut(w, sim_fault_back(w, fault->link));
        break;
    case SIM_FAULT_CUT_ONE:
        sim_link_cut(w, fault->link);
        break;
    case SIM_FAULT_SLOW:
        sim_link_slow(w, fault->link, (uint32_t)fault->amount);
        break;
    case SIM_FAULT_SPIKE:
        sim_link_delay(fault->link, fault->amount);
        break;
    default:
        sim_link_lose(fault->link, (int32_t)fault->amount);
        break;
    }
}

static bool sim_fault_on_connection(struct sim_faults *f, const struct sim_fault *fault)
{
    struct sim_world *w = f->world;

    switch (fault->kind) {
    case SIM_FAULT_RESET:
        return sim_stream_reset(w, &f->rng);
    case SIM_FAULT_REORDER:
        return sim_stream_reset_late(w, &f->rng, fault->amount);
    case SIM_FAULT_DUPLICATE:
        return sim_stream_duplicate(w, &f->rng);
    case SIM_FAULT_FLIP:
        return sim_stream_flip(w, &f->rng);
    case SIM_FAULT_STALL:
        return sim_stream_stall(w, &f->rng);
    default:
        return sim_stream_fragment(w, &f->rng, (uint32_t)fault->amount);
    }
}

static void sim_fault_trace(struct sim_faults *f, const struct sim_fault *fault)
{
    const struct sim_fault_info *info = &sim_fault_infos[fault->kind];

    if (info->target == SIM_TARGET_LINK) {
        sim_trace(f->world, NULL, "%s %s-%s", info->name,
                  sim_region_name(sim_link_from(fault->link)),
                  sim_region_name(sim_link_to(fault->link)));
    } else if (info->target == SIM_TARGET_HOST) {
        sim_trace(f->world, NULL, "%s %s", info->name, sim_host_name(fault->host));
    } else {
        sim_trace(f->world, NULL, "%s", info->name);
    }
}

bool sim_fault_inject(struct sim_faults *f, const struct sim_fault *fault)
{
    const struct sim_fault_info *info = &sim_fault_infos[fault->kind];
    bool happened = true;
    uint32_t put_back = 0;

    if (info->target == SIM_TARGET_LINK &&
        (fault->link == NULL ||
         (fault->kind == SIM_FAULT_CUT && sim_fault_back(f->world, fault->link) == NULL))) {
        return false; /* They are not joined. */
    }
    sim_fault_trace(f, fault);
    switch (info->target) {
    case SIM_TARGET_HOST:
        happened = sim_fault_on_host(f, fault, &put_back);
        break;
    case SIM_TARGET_LINK:
        sim_fault_on_link(f, fault);
        break;
    case SIM_TARGET_CONNECTION:
        happened = sim_fault_on_connection(f, fault);
        break;
    }
    if (happened && info->span != SIM_MOMENT && fault->duration_ns > 0 &&
        fault->kind != SIM_FAULT_PAUSE && fault->kind != SIM_FAULT_FREEZE) {
        CHECK(sim_fault_last(f, fault, put_back));
    }
    if (happened) {
        int64_t over_ns = sim_world_now_ns(f->world) + fault->duration_ns;

        f->fired[fault->kind]++;
        f->over_ns = over_ns > f->over_ns ? over_ns : f->over_ns;
    }
    return happened;
}

static struct sim_link *sim_storm_link(struct sim_faults *f)
{
    struct sim_world *w = f->world;
    uint64_t n = sim_world_regions(w);

    for (int tries = 0; tries < 64; tries++) {
        struct sim_region *a = sim_world_region_at(w, (uint32_t)rng_below(&f->rng, n));
        struct sim_region *b = sim_world_region_at(w, (uint32_t)rng_below(&f->rng, n));
        struct sim_link *link = sim_link_between(w, a, b);

        if (link != NULL && (a != b || n == 1)) {
            return link;
        }
    }
    return NULL;
}

static enum sim_fault_kind sim_storm_kind(struct sim_faults *f)
{
    uint64_t pick = rng_below(&f->rng, (uint64_t)__builtin_popcountll(f->storm_mask));

    for (int i = 0; i < SIM_FAULT_KINDS; i++) {
        if (((f->storm_mask >> i) & 1) && pick-- == 0) {
            return (enum sim_fault_kind)i;
        }
    }
    return SIM_FAULT_KINDS;
}

/* One gust: a fault of a random kind, and the time of the next. */
static void sim_storm_gust(struct sim_event *event, struct sim_world *w)
{
    struct sim_faults *f = LIST_ENTRY(event, struct sim_faults, storm);
    struct sim_fault fault = {.kind = sim_storm_kind(f)};
    const struct sim_fault_info *info = &sim_fault_infos[fault.kind];
    int64_t now_ns = sim_world_now_ns(w);
    int64_t next_ns = now_ns + rng_between(&f->rng, 1, 2 * f->storm_mean_ns);

    fault.amount = rng_between(&f->rng, info->amount_low, info->amount_high);
    fault.duration_ns = rng_between(&f->rng, info->duration_low_ns, info->duration_high_ns);
    if (info->span != SIM_OUTLASTS && fault.duration_ns > f->storm_until_ns - now_ns) {
        fault.duration_ns = f->storm_until_ns - now_ns;
    }
    fault.host = sim_world_host_at(w, (uint32_t)rng_below(&f->rng, sim_world_hosts(w)));
    fault.link = info->target == SIM_TARGET_LINK ? sim_storm_link(f) : NULL;
    if (info->target != SIM_TARGET_LINK || fault.link != NULL) {
        (void)sim_fault_inject(f, &fault);
    }
    if (next_ns < f->storm_until_ns) {
        CHECK(sim_event_at(w, event, next_ns) == OK);
    }
}

void sim_faults_storm(struct sim_faults *f, uint64_t seed, uint64_t mask, int64_t mean_ns,
                      int64_t until_ns)
{
    CHECK(mask != 0 && mean_ns > 0);
    rng_init(&f->rng, seed);
    f->storm_mask = mask & SIM_FAULTS_ALL;
    f->storm_mean_ns = mean_ns;
    f->storm_until_ns = until_ns;
    sim_event_init(&f->storm, sim_storm_gust);
    CHECK(sim_event_at(f->world, &f->storm,
                       sim_world_now_ns(f->world) + rng_between(&f->rng, 1, 2 * mean_ns)) == OK);
}

static uint64_t sim_faults_losses(struct sim_world *w)
{
    uint64_t sum = 0;

    for (uint32_t a = 0; a < sim_world_regions(w); a++) {
        for (uint32_t b = 0; b < sim_world_regions(w); b++) {
            struct sim_link *link =
                sim_link_between(w, sim_world_region_at(w, a), sim_world_region_at(w, b));

            sum += link == NULL ? 0 : sim_link_losses(link);
        }
    }
    return sum;
}

/* What hosts and their disks have met of it. */
static uint64_t sim_fault_met(struct sim_host *host, enum sim_fault_kind kind)
{
    struct sim_disk *disk = sim_host_disk(host);

    switch (kind) {
    case SIM_FAULT_MEMORY:
        return sim_host_alloc_failures(host);
    case SIM_FAULT_MEMORY_LIMIT:
        return sim_host_memory_denied(host);
    case SIM_FAULT_DESCRIPTORS:
        return sim_host_starved_count(host);
    case SIM_FAULT_DISK_SLOW:
        return sim_disk_slow_count(disk);
    case SIM_FAULT_LOSE_SHARD:
    case SIM_FAULT_DAMAGE:
        return sim_disk_lost_count(disk, kind == SIM_FAULT_DAMAGE);
    default:
        return sim_disk_fault_count(disk, (enum sim_disk_fault)(kind - SIM_FAULT_DISK_FULL));
    }
}

int64_t sim_faults_patience_ns(const struct sim_faults *f, int64_t from_ns, uint32_t seconds)
{
    return (from_ns > f->over_ns ? from_ns : f->over_ns) + (int64_t)seconds * 1000000000;
}

uint64_t sim_faults_fired(const struct sim_faults *f, enum sim_fault_kind kind)
{
    struct sim_stream_counts counts;
    uint64_t sum = 0;

    sim_stream_counts(f->world, &counts);
    switch (kind) {
    case SIM_FAULT_LOSS:
        return sim_faults_losses(f->world);
    case SIM_FAULT_REORDER:
        return counts.late;
    case SIM_FAULT_DUPLICATE:
        return counts.duplicates;
    case SIM_FAULT_FLIP:
        return counts.flips;
    case SIM_FAULT_FRAGMENT:
        return counts.fragments;
    case SIM_FAULT_STALL:
        return counts.stalled;
    case SIM_FAULT_KILL:
    case SIM_FAULT_POWER:
    case SIM_FAULT_PAUSE:
    case SIM_FAULT_FREEZE:
    case SIM_FAULT_CUT:
    case SIM_FAULT_CUT_ONE:
    case SIM_FAULT_SLOW:
    case SIM_FAULT_SPIKE:
    case SIM_FAULT_RESET:
    case SIM_FAULT_CLOCK:
        return f->fired[kind];
    default:
        for (uint32_t i = 0; i < sim_world_hosts(f->world); i++) {
            sum += sim_fault_met(sim_world_host_at(f->world, i), kind);
        }
        return sum;
    }
}
