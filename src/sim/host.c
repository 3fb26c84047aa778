/* Hosts: on, off, paused, with a clock of their own and a disk. */

#include "base/mem.h"
#include "sim/world_state.h"

#include <stdio.h>
#include <string.h>

#define SIM_DISK_BYTES_DEFAULT (UINT64_C(64) << 20)
#define SIM_START_RETRY_NS INT64_C(1000000000)
#define SIM_WALL_START_US INT64_C(1767225600000000) /* 2026-01-01. */

enum { SIM_DISK_FILES = 16 * 1024 }; /* Three checkpoints of 4,096 shards, and some. */

/* Queue the host for when its loop next wants to run. */
static void sim_host_schedule(struct sim_host *host)
{
    int64_t next_ns = loop_manual_next_ns(host->loop);
    int64_t at_ns = next_ns == LOOP_NEVER ? SIM_NEVER : next_ns - host->clock_offset_ns;

    if (at_ns == SIM_NEVER) {
        sim_event_cancel(host->world, &host->wake);
        return;
    }
    if (at_ns < host->paused_until_ns) {
        at_ns = host->paused_until_ns;
    }
    CHECK(sim_event_at(host->world, &host->wake, at_ns) == OK);
}

static void sim_host_woken(struct loop *loop, void *user)
{
    struct sim_host *host = user;

    (void)loop;
    if (!host->running) {
        sim_host_schedule(host);
    }
}

/* Run the host's code with its faults of memory armed. */
static void sim_host_enter(struct sim_host *host)
{
    host->running = true;
    if (host->fail_alloc != 0) {
        mem_fail_at(host->fail_alloc, 1);
    }
    mem_fail_above(host->memory_above);
}

static void sim_host_leave(struct sim_host *host, uint64_t failures_before)
{
    uint64_t failed = mem_failures() - failures_before;

    if (failed > 0 && host->memory_above != 0) {
        host->memory_denied += failed;
    } else if (failed > 0) {
        host->alloc_failures += failed;
        host->fail_alloc = 0;
        sim_trace(host->world, host, "an allocation failed");
    } else if (host->fail_alloc != 0) {
        host->fail_alloc = host->fail_alloc > 1 ? host->fail_alloc - 1 : 1;
    }
    mem_fail_at(0, 0);
    mem_fail_above(0);
    host->running = false;
}

static void sim_host_run(struct sim_event *event, struct sim_world *w)
{
    struct sim_host *host = LIST_ENTRY(event, struct sim_host, wake);
    uint64_t failures = mem_failures();

    if (!host->on) {
        return;
    }
    if (w->now_ns < host->paused_until_ns) {
        CHECK(sim_event_at(w, &host->wake, host->paused_until_ns) == OK);
        return;
    }
    sim_host_enter(host);
    loop_manual_advance(host->loop, w->now_ns + host->clock_offset_ns);
    sim_host_leave(host, failures);
    sim_host_schedule(host);
}

static void sim_host_retry(struct sim_event *event, struct sim_world *w)
{
    (void)w;
    sim_host_start(LIST_ENTRY(event, struct sim_host, retry));
}

static enum err sim_host_wire_up(struct sim_host *host, const struct sim_host_config *config)
{
    struct sim_world *w = host->world;
    struct sim_disk_config disk = {
        .capacity_bytes = config->disk_bytes == 0 ? SIM_DISK_BYTES_DEFAULT : config->disk_bytes,
        .files_max = SIM_DISK_FILES,
        .seed = rng_next(&w->rng),
    };
    uint64_t rate = config->rate == 0 ? w->config.host_rate : config->rate;
    enum err rc = sim_fabric_link_add(w->fabric, rate, &host->egress);

    if (rc == OK) {
        rc = sim_fabric_link_add(w->fabric, rate, &host->ingress);
    }
    if (rc == OK) {
        rc = sim_disk_create(&disk, &host->disk);
    }
    return rc;
}

enum err sim_host_create(struct sim_world *w, const struct sim_host_config *config,
                         const struct sim_program *program, struct sim_host **host_out)
{
    struct sim_host *host;
    enum err rc;

    if (w->hosts_count == SIM_HOSTS_MAX || strlen(config->name) >= SIM_NAME_BYTES) {
        return ERR_TOO_BIG;
    }
    if (sim_world_host(w, config->name) != NULL) {
        return ERR_EXISTS;
    }
    host = mem_zalloc(sizeof(*host));
    if (host == NULL) {
        return ERR_NOMEM;
    }
    host->world = w;
    host->index = w->hosts_count;
    host->region = config->region;
    host->program = *program;
    host->port_next = 1;
    (void)snprintf(host->name, sizeof(host->name), "%s", config->name);
    host->clock_offset_ns = rng_between(&w->rng, 1, 1000) * 1000000000;
    host->wall_offset_us = SIM_WALL_START_US + rng_between(&w->rng, -500000, 500000);
    list_init(&host->ends);
    list_init(&host->listeners);
    sim_event_init(&host->wake, sim_host_run);
    sim_event_init(&host->retry, sim_host_retry);
    rc = sim_host_wire_up(host, config);
    if (rc != OK) {
        sim_disk_destroy(host->disk);
        mem_free(host);
        return rc;
    }
    w->hosts[w->hosts_count++] = host;
    *host_out = host;
    return OK;
}

void sim_host_start(struct sim_host *host)
{
    struct sim_world *w = host->world;
    uint64_t failures = mem_failures();
    enum err rc;

    if (host->on) {
        return;
    }
    host->starts++;
    host->paused_until_ns = 0;
    sim_host_enter(host);
    rc = loop_create_manual(w->now_ns + host->clock_offset_ns, &host->loop);
    if (rc == OK) {
        loop_manual_on_wake(host->loop, sim_host_woken, host);
        host->on = true;
        rc = host->program.start(host, host->program.user);
        if (rc != OK) {
            host->on = false;
            sim_stream_host_off(host, true);
            loop_destroy(host->loop);
        }
    }
    sim_host_leave(host, failures);
    if (rc != OK) {
        host->loop = NULL;
        sim_trace(w, host, "cannot start: %s", err_string(rc));
        CHECK(sim_event_at(w, &host->retry, w->now_ns + SIM_START_RETRY_NS) == OK);
        return;
    }
    sim_trace(w, host, "starts");
    sim_host_schedule(host);
}

void sim_host_crash(struct sim_host *host, bool silent)
{
    if (!host->on) {
        return;
    }
    CHECK(!host->running);
    sim_trace(host->world, host, silent ? "loses power" : "is killed");
    host->on = false;
    /* First the connections, so that the program's clean-up has nobody to tell. */
    sim_stream_host_off(host, silent);
    host->program.stop(host, host->program.user);
    loop_destroy(host->loop);
    host->loop = NULL;
    sim_event_cancel(host->world, &host->wake);
    sim_event_cancel(host->world, &host->retry);
    sim_disk_crash(host->disk);
}

void sim_host_pause(struct sim_host *host, int64_t until_ns)
{
    if (host->on && until_ns > host->paused_until_ns) {
        host->paused_until_ns = until_ns;
        sim_trace(host->world, host, "is stopped");
        sim_host_schedule(host);
    }
}

void sim_host_jump_clock(struct sim_host *host, int64_t by_us)
{
    host->wall_offset_us += by_us;
}

void sim_host_fail_alloc(struct sim_host *host, uint32_t k)
{
    host->fail_alloc = k;
}

void sim_host_limit_memory(struct sim_host *host, size_t bytes)
{
    host->memory_above = bytes;
}

void sim_host_starve(struct sim_host *host, bool starved)
{
    host->starved = starved ? host->starved + 1 : host->starved - 1;
    sim_disk_starve(host->disk, starved);
    if (host->starved == 0) {
        sim_stream_host_fed(host);
    }
}

struct sim_world *sim_host_world(const struct sim_host *host)
{
    return host->world;
}

struct sim_region *sim_host_region(const struct sim_host *host)
{
    return host->region;
}

const char *sim_host_name(const struct sim_host *host)
{
    return host->name;
}

uint32_t sim_host_number(const struct sim_host *host)
{
    return host->index;
}

struct loop *sim_host_loop(const struct sim_host *host)
{
    return host->loop;
}

struct sim_disk *sim_host_disk(const struct sim_host *host)
{
    return host->disk;
}

bool sim_host_is_on(const struct sim_host *host)
{
    return host->on;
}

bool sim_host_is_paused(const struct sim_host *host)
{
    return host->on && host->world->now_ns < host->paused_until_ns;
}

uint64_t sim_host_starts(const struct sim_host *host)
{
    return host->starts;
}

int64_t sim_host_wall_us(const struct sim_host *host)
{
    return host->world->now_ns / 1000 + host->wall_offset_us;
}

uint64_t sim_host_alloc_failures(const struct sim_host *host)
{
    return host->alloc_failures;
}

uint64_t sim_host_memory_denied(const struct sim_host *host)
{
    return host->memory_denied;
}

uint64_t sim_host_starved_count(const struct sim_host *host)
{
    return host->starved_met + sim_disk_starved_count(host->disk);
}

struct sim_host *sim_world_host(struct sim_world *w, const char *name)
{
    for (uint32_t i = 0; i < w->hosts_count; i++) {
        if (strcmp(w->hosts[i]->name, name) == 0) {
            return w->hosts[i];
        }
    }
    return NULL;
}

struct sim_host *sim_world_host_at(struct sim_world *w, uint32_t index)
{
    return index < w->hosts_count ? w->hosts[index] : NULL;
}

uint32_t sim_world_hosts(const struct sim_world *w)
{
    return w->hosts_count;
}
