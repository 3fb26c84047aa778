#include "run/sim/sim.h"

#include "base/limits.h"
#include "base/mem.h"
#include "base/units.h"
#include "loop/loop.h"
#include "run/cost/move.h"
#include "run/map/plan_news.h"
#include "run/sim/background.h"
#include "run/sim/patience.h"
#include "run/wan/between.h"
#include "sim/cluster.h"
#include "sim/net/fabric.h"
#include "sim/net/link.h"
#include "sim/scenario/scenario.h"
#include "sim/store.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum {
    SIM_LOOK_EVENTS = 256, /* So often somebody may look. */
    SIM_HEARTBEAT_S_MAX = 60,
    SIM_SCRIPT_BYTES_MAX = SIM_SCENARIO_BYTES_MAX,
};

struct sim_run;

/* One worker and its brain. */
struct sim_trainee {
    struct sim_run *run;
    struct sim_worker *worker; /* While its host is on. */
    uint32_t rank;             /* Among all workers of the run; its site has its own for it. */
    char name[16];
    double slowdown;
    struct app *app;
    struct run_state *state;
    struct run_trainer *trainer;
    struct loop_timer timer; /* The step takes its time. */
    int64_t codec_ns;        /* What sparsification has cost so far, and steps have taken. */
    bool done;
};

/* A site. */
struct sim_part {
    struct sim_cluster *cluster;
};

struct sim_run {
    const struct run_file *f;
    const struct app_ops *job;
    const struct run_watcher *watcher;
    struct run_sim_options options;
    struct sim_world *world;
    struct sim_part *parts; /* By site. */
    struct run_betweens *betweens;
    struct run_share *shares;
    struct sim_scenario *script;
    struct sim_scenario_faults *faults;
    struct run_sim_background *background;
    struct run_tally *tally;
    struct run_traffic traffic;
    struct sim_trainee *workers;
    const char **states;
    uint32_t done;
    uint64_t judged; /* The clock of the last score that was looked at. */
    struct run_judge judge;
    struct codec_costs costs;
    bool over; /* It has ended the run: how is in the next. What ends from then on is not news. */
    struct run_result verdict;
    int64_t move_ns;                 /* How long data was moved before. */
    int64_t moved_ns;                /* When a clock or a step ended last. */
    uint64_t fired[SIM_FAULT_KINDS]; /* Faults that were told, ... */
    uint32_t planned;                /* ... and plans, by epoch. */
    bool failed;
    struct err_text why;
};

/* Telling. */

/* Data that was moved first has taken its time already. */
static int64_t sim_now(const struct sim_run *r)
{
    return r->move_ns + sim_world_now_ns(r->world);
}

static void sim_event(struct sim_run *r, const char *kind, const char *who, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

static void sim_event(struct sim_run *r, const char *kind, const char *who, const char *fmt, ...)
{
    char text[ERR_TEXT_BYTES];
    va_list args;

    if (r->watcher->event == NULL) {
        return;
    }
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    r->watcher->event(sim_now(r), kind, who, text, r->watcher->user);
}

static void sim_count_traffic(struct sim_run *r)
{
    uint32_t n = r->traffic.regions;

    for (uint32_t i = 0; i < n * n; i++) {
        struct sim_link *link = sim_link_between(r->world, sim_world_region_at(r->world, i / n),
                                                 sim_world_region_at(r->world, i % n));

        r->traffic.bytes[i] = link == NULL ? 0 : sim_link_bytes(r->world, link);
    }
    run_traffic_complete(&r->traffic, r->f);
}

static void sim_row(const struct run_row *row, void *user)
{
    struct sim_run *r = user;

    if (r->watcher->row != NULL) {
        sim_count_traffic(r);
        r->watcher->row(row, &r->traffic, r->watcher->user);
    }
}

static void sim_background_told(const struct run_background *b, uint32_t flows, uint64_t bytes,
                                void *user)
{
    struct sim_run *r = user;

    if (flows > 0) {
        sim_event(r, "background", b->name, "on, %u flows", flows);
    } else {
        sim_event(r, "background", b->name, "off, %" PRIu64 " bytes", run_bytes_full(bytes, r->f));
    }
}

static void sim_fail(struct sim_run *r, const char *who, const char *text)
{
    if (!r->failed) {
        r->failed = true;
        (void)err_text_set(&r->why, OK, "%s%s%s", who, who[0] != '\0' ? ": " : "", text);
    }
}

/* Workers. */

static void sim_joined(struct run_trainer *t, uint64_t clock, void *user)
{
    struct sim_trainee *w = user;

    (void)t;
    run_tally_joined(w->run->tally, w->rank, clock);
    sim_event(w->run, "joined", w->name, "from clock %" PRIu64, clock);
}

/* Compression is computing too: what it cost since the last step, that one takes longer. */
static double sim_codec_s(struct sim_trainee *w)
{
    const struct node_sparsifier *sparsify = node_worker_sparsifier(w->worker->node);
    int64_t before_ns = w->codec_ns;

    if (sparsify == NULL) {
        return 0;
    }
    w->codec_ns = sparsify->totals.encode_ns + sparsify->totals.decode_ns;
    return (double)(w->codec_ns - before_ns) * 1e-9;
}

/* The step is computed at once; that it takes its time is for the others to see. */
static void sim_due(struct run_trainer *t, void *user)
{
    struct sim_trainee *w = user;
    const struct run_compute *c = &w->run->f->compute;
    const int64_t *measured = w->run->options.compute_ns;
    bool steps = run_trainer_steps(t);
    double flops, seconds;

    run_trainer_compute(t, &flops, &seconds);
    if (steps && measured != NULL) {
        seconds = (double)measured[w->rank] * 1e-9 + sim_codec_s(w);
    } else if (steps && c->time_ns > 0) {
        seconds = ((double)c->time_ns * 1e-9 + sim_codec_s(w)) * w->slowdown;
    } else {
        seconds = (seconds + flops / (c->gflops * 1e9) + (steps ? sim_codec_s(w) : (double)0)) *
                  w->slowdown;
    }
    loop_timer_start_in(&w->timer, (int64_t)(seconds * 1e9));
}

static void sim_timer(struct loop_timer *timer, void *user)
{
    struct sim_trainee *w = user;

    (void)timer;
    w->run->moved_ns = sim_now(w->run);
    run_trainer_computed(w->trainer);
}

static void sim_clock(struct run_trainer *t, const struct run_clock *c, void *user)
{
    struct sim_trainee *w = user;
    char lost[RUN_LOST_BYTES];

    (void)t;
    w->run->moved_ns = sim_now(w->run);
    run_tally_clock(w->run->tally, w->rank, c, sim_now(w->run));
    if (c->rebased) {
        run_clock_lost_text(c, lost);
        sim_event(w->run, "rebased", w->name, "%s", lost);
    }
}

static void sim_evaluated(struct run_trainer *t, const struct run_evaluation *e, void *user)
{
    struct sim_trainee *w = user;

    if (w->run->options.tables != NULL) {
        w->run->options.tables(t, w->rank, e->clock, w->run->options.user);
    }
    run_tally_evaluated(w->run->tally, w->rank, e, sim_now(w->run));
}

static void sim_ended(struct run_trainer *t, void *user)
{
    struct sim_trainee *w = user;
    struct err_text text;
    enum err rc;

    CHECK(run_trainer_result(t, &rc, &text));
    w->done = true;
    w->run->done++;
    if (rc != OK) {
        sim_fail(w->run, w->name, text.text);
        run_tally_away(w->run->tally, w->rank);
    } else {
        run_tally_left(w->run->tally, w->rank);
        sim_event(w->run, "left", w->name, "%s", "");
    }
}

static void sim_notice(struct run_trainer *t, const char *text, void *user)
{
    struct sim_trainee *w = user;

    (void)t;
    sim_event(w->run, "notice", w->name, "%s", text);
}

static void sim_unrecorded(struct run_trainer *t, const char *text, void *user)
{
    struct sim_trainee *w = user;

    (void)t;
    sim_event(w->run, "unrecorded", w->name, "%s", text);
}

static const struct run_trainer_events sim_trainer_events = {
    .joined = sim_joined,
    .due = sim_due,
    .clock = sim_clock,
    .evaluated = sim_evaluated,
    .notice = sim_notice,
    .unrecorded = sim_unrecorded,
    .ended = sim_ended,
};

static void sim_brain_stop(struct sim_worker *worker, void *user)
{
    struct sim_trainee *w = user;

    (void)worker;
    if (!w->done && w->trainer != NULL && !w->run->over) {
        run_tally_away(w->run->tally, w->rank);
        sim_event(w->run, "down", w->name, "its process is gone");
    }
    run_trainer_destroy(w->trainer);
    run_state_destroy(w->state);
    app_destroy(w->app);
    loop_timer_deinit(&w->timer);
    memset(&w->timer, 0, sizeof(w->timer));
    w->trainer = NULL;
    w->state = NULL;
    w->app = NULL;
    w->worker = NULL;
}

/* What the job keeps of its own is on the host's disk, and survives what kills the host. Writing
 * takes no virtual time: a local disk is not what is studied here. */
static enum err sim_open_state(struct sim_trainee *w, struct loop *loop, struct err_text *text)
{
    struct run_state_config config = {
        .loop = loop,
        .place = w->name,
        .app = w->app,
        .rank = w->rank,
        .workers = w->run->f->workers,
    };
    enum err rc;

    if (w->app->ops->state == NULL) {
        return OK;
    }
    rc = sim_store_create(sim_host_disk(w->worker->host), loop, 0, &config.store);
    if (rc == OK) {
        rc = run_state_create(&config, &w->state, text);
        if (rc != OK) {
            store_destroy(config.store);
        }
    }
    return rc;
}

/* Each life makes the job anew. */
static enum err sim_brain_start(struct sim_worker *worker, void *user)
{
    struct sim_trainee *w = user;
    struct sim_run *r = w->run;
    struct app_config app = run_app_config(r->f, w->rank);
    struct run_trainer_config config = {
        .loop = sim_host_loop(worker->host),
        .node = worker->node,
        .workers = r->f->workers,
        .number = w->rank,
        .recording = r->options.recording,
        .clocks = r->f->stop.clocks,
        .evaluate_every = r->f->evaluate.every,
        .state_every = r->f->state.every,
        .events = &sim_trainer_events,
        .user = w,
    };
    struct err_text text = {""};
    enum err rc;

    w->worker = worker;
    w->codec_ns = 0;
    if (w->done) {
        return OK;
    }
    rc = loop_timer_init(&w->timer, config.loop, sim_timer, w);
    if (rc == OK) {
        rc = app_create(&app, &w->app, &text);
    }
    if (rc == OK) {
        rc = sim_open_state(w, config.loop, &text);
    }
    if (rc == OK) {
        config.app = w->app;
        config.state = w->state;
        rc = run_trainer_create(&config, &w->trainer, &text);
    }
    if (rc != OK && rc != ERR_NOMEM) {
        sim_fail(r, w->name, text.text);
    }
    return rc; /* What there is goes with stop(), which follows. */
}

static const struct sim_brain sim_brain = {.start = sim_brain_start, .stop = sim_brain_stop};

/* Faults: the lines of the file behind a script that names its regions and members. */

/* All hosts of a site have the same fault. */
static void sim_script_site(const struct run_file *f, const char *line,
                            const struct run_fault_site *hit, struct text *out)
{
    const struct run_site *s = hit->site;

    for (uint32_t i = 0; i < s->servers_count; i++) {
        text_addf(out, "%.*s%s%s\n", hit->head, line, f->servers[s->servers_first + i].name,
                  hit->rest);
    }
    for (uint32_t i = 0; i < s->workers; i++) {
        text_addf(out, "%.*sw%u%s\n", hit->head, line, s->workers_first + i, hit->rest);
    }
}

/* @lines_out: how many lines are before those of the faults. */
static void sim_script(const struct run_file *f, struct text *out, uint32_t *lines_out)
{
    struct run_fault_site hit;

    for (uint32_t i = 0; i < topo_regions(f->topo); i++) {
        text_addf(out, "region %s\n", topo_region_at(f->topo, i)->name);
    }
    for (uint32_t i = 0; i < f->servers_count; i++) {
        text_addf(out, "server %s %s\n", f->servers[i].name, f->servers[i].region_name);
    }
    for (uint32_t i = 0; i < f->workers; i++) {
        text_addf(out, "client w%u %s server=%s\n", i, run_worker_group(f, i)->region_name,
                  f->servers[0].name);
    }
    for (uint32_t i = 0; i < f->faults_count; i++) {
        if (run_fault_site(f, f->faults[i].chars, &hit)) {
            sim_script_site(f, f->faults[i].chars, &hit, out);
        } else {
            text_addf(out, "%s\n", f->faults[i].chars);
        }
    }
    *lines_out = topo_regions(f->topo) + f->servers_count + f->workers;
}

/* The fault that became line @line of the script, counted from the first of them. */
static uint32_t sim_script_fault(const struct run_file *f, uint32_t line)
{
    uint32_t i = 0, end = 0;

    for (; i + 1 < f->faults_count; i++) {
        struct run_fault_site hit;

        end += run_fault_site(f, f->faults[i].chars, &hit)
                   ? hit.site->servers_count + hit.site->workers
                   : 1;
        if (line < end) {
            break;
        }
    }
    return i;
}

enum err run_sim_script(const struct run_file *f, const char *name,
                        struct sim_scenario **script_out, struct err_text *text)
{
    struct err_text why = {""};
    struct text script;
    uint32_t before = 0, line = 0;
    int skipped = 0;
    enum err rc = text_init(&script, SIM_SCRIPT_BYTES_MAX);

    if (rc == OK) {
        sim_script(f, &script, &before);
        rc = script.failed
                 ? ERR_NOMEM
                 : sim_scenario_parse("faults", script.chars, script.size, script_out, &why);
        text_deinit(&script);
    }
    if (rc == ERR_NOMEM) {
        return err_text_set(text, rc, "no memory for the faults of the run");
    }
    if (rc != OK) {
        bool placed = sscanf(why.text, "faults:%u: %n", &line, &skipped) == 1 && line > before &&
                      f->faults_count > 0;
        uint32_t fault = placed ? sim_script_fault(f, line - before - 1) : 0;

        return placed ? err_text_set(text, rc, "%.128s:%u: faults[%u]: %s", name,
                                     f->faults[fault].line, fault, why.text + skipped)
                      : err_text_set(text, rc, "%.128s: %s", name, why.text);
    }
    return OK;
}

enum err run_sim_check(const struct run_file *f, const char *name, struct err_text *text)
{
    struct sim_scenario *script = NULL;
    enum err rc = run_sim_script(f, name, &script, text);

    sim_scenario_destroy(script);
    return rc;
}

/* Building. */

/* Both directions share their rate, if the topology has it so. */
static enum err sim_build_shared(struct sim_run *r)
{
    uint32_t n = topo_regions(r->f->topo);
    enum err rc = OK;

    for (uint32_t i = 0; i < n * n && rc == OK; i++) {
        struct sim_region *a = sim_world_region_at(r->world, i / n);
        struct sim_region *b = sim_world_region_at(r->world, i % n);

        if (i / n < i % n && sim_link_between(r->world, a, b) != NULL) {
            rc = sim_link_share(r->world, a, b);
        }
    }
    return rc;
}

static enum err sim_build_links(struct sim_run *r)
{
    const struct topo *t = r->f->topo;
    uint32_t n = topo_regions(t);
    enum err rc = OK;

    for (uint32_t i = 0; i < n && rc == OK; i++) {
        struct sim_region *region;

        rc = sim_region_create(r->world, topo_region_at(t, i)->name, &region);
    }
    for (uint32_t i = 0; i < n * n && rc == OK; i++) {
        const struct topo_link *link = topo_link_between(t, i / n, i % n);

        /* A way without a way back carries nothing. */
        if (i / n != i % n && link != NULL && topo_link_between(t, i % n, i / n) != NULL) {
            struct sim_link_config config = {
                .bytes_per_s = link->bytes_per_s,
                .stream_bytes_per_s = link->stream_bytes_per_s,
                .delay_ns = link->delay_ns,
                .jitter_ns = link->jitter_ns,
                .loss_ppm = link->loss_ppm,
                .price_nusd_per_gb = link->price_nusd_per_gb,
            };

            rc = sim_link_set_one(r->world, sim_world_region_at(r->world, i / n),
                                  sim_world_region_at(r->world, i % n), &config);
        }
    }
    return rc == OK && topo_duplex(t) == TOPO_DUPLEX_SHARED ? sim_build_shared(r) : rc;
}

static void sim_place(const struct run_file *f, uint32_t site, struct net_address *out, void *user)
{
    (void)user;
    sim_cluster_place(f->servers[f->sites[site].servers_first].name, out);
}

static enum err sim_build_worker(struct sim_run *r, uint32_t site, uint32_t index)
{
    const struct run_group *g = run_worker_group(r->f, index);
    struct sim_trainee *w = &r->workers[index];
    enum err rc;

    w->run = r;
    w->rank = index;
    w->slowdown = g->slowdown;
    (void)snprintf(w->name, sizeof(w->name), "w%u", index);
    rc = sim_cluster_add_worker(r->parts[site].cluster, w->name,
                                sim_world_region_at(r->world, g->region), (uint16_t)g->streams,
                                &sim_brain, w);
    if (rc == OK) {
        sim_cluster_rack_worker(r->parts[site].cluster, g->agg, g->edge);
    }
    return rc;
}

/* Heartbeats do not shrink with the model: at scale they would fill links that they are nothing to
 * at full size. So there are fewer of them. */
static int64_t sim_heartbeat_ns(const struct run_file *f)
{
    double every_s = LIMIT_HEARTBEAT_MS / 1e3 / f->links.scale;

    return (int64_t)((every_s < SIM_HEARTBEAT_S_MAX ? every_s : SIM_HEARTBEAT_S_MAX) * 1e9);
}

/* The chunks of a small model are small, and links are slow for that: so is compression. A model of
 * real processes compresses as fast as these do. */
static void sim_costs(struct sim_run *r)
{
    double factor = r->options.compute_ns != NULL ? 1 : 1 / r->f->links.scale;
    uint32_t ps[sizeof(r->costs) / sizeof(uint32_t)];

    memcpy(ps, &codec_costs_default, sizeof(ps));
    for (size_t i = 0; i < sizeof(ps) / sizeof(ps[0]); i++) {
        double cost = (double)ps[i] * factor + 0.5;

        ps[i] = cost < (double)UINT32_MAX ? (uint32_t)cost : UINT32_MAX;
    }
    memcpy(&r->costs, ps, sizeof(ps));
}

static enum err sim_build_site(struct sim_run *r, uint32_t index)
{
    const struct run_file *f = r->f;
    const struct run_site *s = &f->sites[index];
    struct sim_cluster_config config = {.between = run_between_at(r->betweens, index),
                                        .costs = &r->costs,
                                        .heartbeat_ns = sim_heartbeat_ns(f)};
    enum err rc;

    run_site(f, index, &config.site);
    rc = sim_cluster_create(r->world, &config, &r->parts[index].cluster);
    for (uint32_t i = s->servers_first; i < s->servers_first + s->servers_count && rc == OK; i++) {
        rc = sim_cluster_add_server(r->parts[index].cluster, f->servers[i].name,
                                    sim_world_region_at(r->world, f->servers[i].region),
                                    f->servers[i].lanes);
        if (rc == OK) {
            sim_cluster_rack_server(r->parts[index].cluster, f->servers[i].agg, f->servers[i].edge);
        }
    }
    for (uint32_t i = s->workers_first; i < s->workers_first + s->workers && rc == OK; i++) {
        rc = sim_build_worker(r, index, i);
    }
    return rc;
}

/* Between the cards of machines is a switch that holds nobody back. */
static enum err sim_build_world(struct sim_run *r)
{
    struct sim_world_config world = {
        .seed = r->f->seed,
        .trace = r->options.trace,
        .host_rate = r->f->links.card_rate,
        .lan_rate = SIM_FABRIC_RATE_MAX,
        .lan_delay_ns = topo_lan(r->f->topo)->delay_ns,
    };
    enum err rc = sim_world_create(&world, &r->world);

    return rc == OK ? sim_build_links(r) : rc;
}

static enum err sim_build(struct sim_run *r, struct err_text *text)
{
    const struct run_file *f = r->f;
    enum err rc = run_tally_create(f->workers, sim_row, r, &r->tally);

    sim_costs(r);
    r->workers = mem_calloc(f->workers, sizeof(*r->workers));
    r->states = mem_calloc(f->workers, sizeof(*r->states));
    r->parts = mem_calloc(f->sites_count, sizeof(*r->parts));
    r->shares = mem_calloc(f->sites_count, sizeof(*r->shares));
    if (rc == OK &&
        (r->workers == NULL || r->states == NULL || r->parts == NULL || r->shares == NULL)) {
        rc = ERR_NOMEM;
    }
    if (rc == OK) {
        rc = run_traffic_init(&r->traffic, topo_regions(f->topo));
    }
    if (rc == OK) {
        rc = run_betweens_create(f, sim_place, NULL, &r->betweens, text);
    }
    if (rc == OK) {
        rc = sim_build_world(r);
    }
    for (uint32_t i = 0; i < f->sites_count && rc == OK; i++) {
        rc = sim_build_site(r, i);
    }
    if (rc == OK) {
        rc = sim_scenario_faults_create(r->script, r->world, f->seed, &r->faults);
    }
    if (rc == OK) {
        rc = run_sim_background_create(r->world, f, sim_background_told, r, &r->background);
    }
    for (uint32_t i = 0; i < f->sites_count && rc == OK; i++) {
        rc = sim_cluster_start(r->parts[i].cluster, text);
    }
    return rc;
}

static void sim_destroy(struct sim_run *r)
{
    sim_scenario_faults_destroy(r->faults);
    run_sim_background_destroy(r->background);
    for (uint32_t i = 0; r->parts != NULL && i < r->f->sites_count; i++) {
        sim_cluster_destroy(r->parts[i].cluster);
    }
    sim_world_destroy(r->world);
    sim_scenario_destroy(r->script);
    run_betweens_destroy(r->betweens);
    run_tally_destroy(r->tally);
    run_traffic_deinit(&r->traffic);
    mem_free(r->parts);
    mem_free(r->shares);
    mem_free(r->states);
    mem_free(r->workers);
    mem_free(r);
}

/* Looking. */

/* Whom the first lane that waits for somebody waits for. */
static void sim_waits(struct sim_run *r, char *out, size_t size)
{
    bool waits = false;

    out[0] = '\0';
    for (uint32_t i = 0; i < r->f->sites_count * r->f->lanes && !waits; i++) {
        struct node_lane *lane =
            sim_cluster_lane(r->parts[i / r->f->lanes].cluster, i % r->f->lanes);
        struct json_t *status = lane == NULL ? NULL : node_lane_status(lane);

        waits = status != NULL && run_waits(status, out, size);
        json_decref(status);
    }
}

static void sim_paint(struct sim_run *r, struct run_picture *out)
{
    *out = (struct run_picture){
        .file = r->f,
        .job = r->job,
        .simulated = true,
        .now_ns = sim_now(r),
        .tally = r->tally,
        .traffic = &r->traffic,
        .background_bytes = run_bytes_full(run_sim_background_bytes(r->background), r->f),
        .states = r->states,
    };

    for (uint32_t i = 0; i < r->f->workers; i++) {
        const struct sim_trainee *w = &r->workers[i];

        r->states[i] = w->trainer != NULL ? run_trainer_state(w->trainer) : NULL;
    }
    sim_count_traffic(r);
    sim_waits(r, out->waits, sizeof(out->waits));
}

/* Tell of faults that have happened since we looked. */
static void sim_tell_faults(struct sim_run *r)
{
    for (int i = 0; i < SIM_FAULT_KINDS; i++) {
        enum sim_fault_kind kind = (enum sim_fault_kind)i;
        uint64_t fired = sim_scenario_faults_fired(r->faults, kind);

        for (; r->fired[i] < fired; r->fired[i]++) {
            sim_event(r, "fault", "", "%s", sim_fault_name(kind));
        }
    }
}

/* Plans of rounds around a centre. Lanes have their own: what the first of them does is told. */
static void sim_tell_plans(struct sim_run *r)
{
    for (uint32_t i = 0; i < r->f->sites_count; i++) {
        struct node_lane *lane = sim_cluster_lane(r->parts[i].cluster, 0);
        struct node_central *central = lane == NULL ? NULL : node_lane_central(lane);
        struct node_central_stats stats = {0};

        if (central != NULL) {
            node_central_stats(central, &stats);
        }
        if (stats.epoch > r->planned && stats.begun) {
            json_t *status = node_lane_status(lane);
            char text[RUN_PLAN_NEWS_BYTES];

            if (run_plan_news(json_object_get(status, "between"), &r->planned, text,
                              sizeof(text))) {
                sim_event(r, "plan", "", "%s", text);
            }
            json_decref(status);
        }
    }
}

/* True: somebody wants it to stop. */
static bool sim_look(struct sim_run *r)
{
    enum run_wish wish =
        r->watcher->tick == NULL ? RUN_WISH_NOTHING : r->watcher->tick(r->watcher->user);

    sim_tell_faults(r);
    sim_tell_plans(r);
    if (wish == RUN_WISH_PICTURE && r->watcher->show != NULL) {
        struct run_picture picture;

        sim_paint(r, &picture);
        r->watcher->show(&picture, r->watcher->user);
    }
    return wish == RUN_WISH_STOP;
}

/* True: the newest evaluation ends the run. Files with sites have their goal judged here, because
 * nobody but us sees all sites; in all layouts, so that they end at the same moment of their
 * training. */
static bool sim_judge(struct sim_run *r)
{
    const struct run_tally_score *score = run_tally_score(r->tally);

    if (!r->over && score->clock > r->judged) {
        r->judged = score->clock;
        if (r->f->parts_count > 0 && run_goal_reached(r->f, score)) {
            r->verdict.end = RUN_END_GOAL;
            r->over = true;
        } else {
            r->over = run_judge_look(&r->judge, r->tally, &r->verdict);
        }
    }
    return r->over;
}

/* The bytes of the tables, as far as they are known. */
static uint64_t sim_model_bytes(const struct sim_run *r)
{
    uint64_t most = 0;

    for (uint32_t i = 0; i < r->f->workers; i++) {
        struct run_trainer *t = r->workers[i].trainer;
        uint64_t bytes = 0;
        uint32_t count = 0;

        if (t != NULL) {
            (void)run_trainer_tables(t, &count);
        }
        for (uint32_t k = 0; k < count; k++) {
            bytes += table_elements(run_trainer_schema(t, k)) * sizeof(float);
        }
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* Since when has nothing moved? A step that is being computed moves, and so does a fault that lasts
 * or has just ended. */
static int64_t sim_still_since(const struct sim_run *r)
{
    int64_t now_ns = sim_now(r), since_ns = r->moved_ns;

    for (uint32_t i = 0; i < r->f->workers; i++) {
        if (r->workers[i].worker != NULL && loop_timer_active(&r->workers[i].timer)) {
            return now_ns;
        }
    }
    for (uint32_t i = 0; i < sim_scenario_actions(r->script); i++) {
        struct sim_scenario_action a = sim_scenario_action(r->script, i);

        if (r->move_ns + a.at_ns <= now_ns && r->move_ns + a.at_ns + a.duration_ns > since_ns) {
            since_ns = r->move_ns + a.at_ns + a.duration_ns;
        }
    }
    return since_ns;
}

/* Nothing has moved for hours: say who hangs where. */
static void sim_stuck(struct sim_run *r, const struct run_patience *p)
{
    char slow[2 * TOPO_NAME_BYTES + 96] = "";
    struct units_text rate;

    if (p->hopeless) {
        (void)snprintf(slow, sizeof(slow), "; from %s to %s go only %s: too little for connections",
                       topo_region_at(r->f->topo, p->from)->name,
                       topo_region_at(r->f->topo, p->to)->name,
                       units_rate_print(p->bytes_per_s, &rate));
    }
    for (uint32_t i = 0; i < r->f->workers; i++) {
        const struct sim_trainee *w = &r->workers[i];
        char why[256] = "its host is off";

        if (w->done) {
            continue;
        }
        if (w->worker != NULL && w->worker->node != NULL &&
            !node_worker_why(w->worker->node, why, sizeof(why))) {
            (void)snprintf(why, sizeof(why), "nothing is under way");
        }
        (void)err_text_set(&r->why, OK,
                           "nothing has moved for %.0f hours of virtual time: worker %s at clock "
                           "%" PRIu64 " waits: %s%s",
                           (double)(sim_now(r) - r->moved_ns) / 3600e9, w->name,
                           w->trainer == NULL ? 0 : run_trainer_clock(w->trainer), why, slow);
        r->failed = true;
        return;
    }
}

static void sim_check_moves(struct sim_run *r)
{
    const int64_t least_ns = (int64_t)RUN_PATIENCE_S * 1000000000;
    struct run_patience patience;
    int64_t still_ns;

    if (sim_now(r) - r->moved_ns <= least_ns) {
        return;
    }
    still_ns = sim_now(r) - sim_still_since(r);
    if (still_ns <= least_ns) {
        return;
    }
    run_patience_of(r->f, sim_model_bytes(r), &patience);
    if (still_ns > patience.ns) {
        sim_stuck(r, &patience);
    }
}

static enum run_end sim_go(struct sim_run *r)
{
    int64_t until_ns = r->f->stop.time_ns > 0 ? r->f->stop.time_ns - r->move_ns : SIM_NEVER;
    const char *broken;

    if (until_ns <= 0) {
        return RUN_END_TIME;
    }

    while (r->done < r->f->workers && !r->failed) {
        for (uint32_t i = 0; i < SIM_LOOK_EVENTS && r->done < r->f->workers && !r->failed; i++) {
            if (!sim_world_step(r->world, until_ns)) {
                return RUN_END_TIME;
            }
            if (sim_judge(r)) {
                r->why = r->verdict.text;
                return r->verdict.end;
            }
        }
        if (sim_look(r)) {
            return RUN_END_INTERRUPTED;
        }
        broken = sim_world_broken(r->world);
        if (broken != NULL) {
            sim_fail(r, "", broken);
        } else {
            sim_check_moves(r);
        }
    }
    if (r->failed) {
        return RUN_END_FAILED;
    }
    return r->f->stop.clocks != 0 && run_tally_clock_all(r->tally) >= r->f->stop.clocks
               ? RUN_END_CLOCKS
               : RUN_END_GOAL;
}

/* What the sites shared; a lane whose server is off is left out. */
static void sim_count_shares(struct sim_run *r)
{
    for (uint32_t i = 0; i < r->f->sites_count * r->f->lanes; i++) {
        struct node_lane *lane =
            sim_cluster_lane(r->parts[i / r->f->lanes].cluster, i % r->f->lanes);
        json_t *status = lane == NULL ? NULL : node_lane_status(lane);
        const json_t *between = json_object_get(status, "between");

        if (between != NULL) {
            run_share_add_status(&r->shares[i / r->f->lanes], between);
        }
        json_decref(status);
    }
}

static struct node_sparsify_totals sim_served(const struct sim_run *r)
{
    struct node_sparsify_totals sum = {0};

    for (uint32_t i = 0; i < r->f->sites_count * r->f->lanes; i++) {
        struct node_lane *lane =
            sim_cluster_lane(r->parts[i / r->f->lanes].cluster, i % r->f->lanes);

        if (lane != NULL && node_lane_sparsifier(lane) != NULL) {
            node_sparsify_totals_add(&sum, &node_lane_sparsifier(lane)->totals);
        }
    }
    return sum;
}

static void sim_over(struct sim_run *r, struct run_sim_result *out)
{
    r->over = true;
    run_tally_finish(r->tally);
    out->base.took_ns = sim_now(r);
    out->base.text = r->why;
    out->events = sim_world_events(r->world);
    out->transcript_hash = sim_world_transcript_hash(r->world);
    for (int i = 0; i < SIM_FAULT_KINDS; i++) {
        out->fired[i] = sim_scenario_faults_fired(r->faults, (enum sim_fault_kind)i);
    }
    if (r->watcher->over != NULL) {
        struct run_picture picture;

        sim_paint(r, &picture);
        picture.served = sim_served(r);
        if (r->f->sites_count > 1) {
            sim_count_shares(r);
            picture.shares = r->shares;
        }
        r->watcher->over(&picture, &out->base, r->watcher->user);
    }
}

enum err run_sim(const struct run_file *f, const struct run_watcher *watcher,
                 const struct run_sim_options *options, struct run_sim_result *result_out,
                 struct err_text *text)
{
    struct sim_run *r = mem_zalloc(sizeof(*r));
    struct run_move move;
    enum err rc = r == NULL ? ERR_NOMEM : run_job_try(f, text);

    if (rc == OK) {
        r->f = f;
        r->job = app_find(f->job.name);
        r->watcher = watcher;
        run_judge_open(f, &r->judge);
        run_move_of(f, &move);
        r->move_ns = move.took_ns;
        r->moved_ns = move.took_ns;
        if (options != NULL) {
            r->options = *options;
        }
        rc = run_sim_script(f, f->name, &r->script, text);
    }
    if (rc == OK) {
        rc = sim_build(r, text);
    }
    if (rc == OK) {
        *result_out = (struct run_sim_result){.base = {.end = sim_go(r)}};
        sim_over(r, result_out);
    }
    if (rc == ERR_NOMEM) {
        (void)err_text_set(text, rc, "no memory for the simulation");
    }
    if (r != NULL) {
        sim_destroy(r);
    }
    return rc;
}
