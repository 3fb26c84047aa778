#include "run/local.h"

#include "base/mem.h"
#include "net/entropy.h"
#include "run/local_state.h"
#include "run/move.h"
#include "run/sim.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
    LOCAL_TICK_MS = 50,
    LOCAL_STATUS_MS = 500,
    LOCAL_AGAIN_MS = 500,     /* A member that was killed is back after this. */
    LOCAL_QUICK_MS = 2000,    /* A life that is shorter is no life; */
    LOCAL_QUICK_MAX = 5,      /* so many in a row are the end. */
    LOCAL_START_S = 120,      /* For all servers to be ready. */
    LOCAL_LEAVE_S = 30,       /* For workers to leave, */
    LOCAL_SETTLE_S = 20,      /* for sites to share the rest, */
    LOCAL_SETTLE_MS = 100,    /* which is looked at so often, */
    LOCAL_CLOSE_S = 20,       /* and for servers to stop. */
    LOCAL_PORT_FIRST = 20000, /* Below those that the system gives to who dials. */
    LOCAL_PORT_COUNT = 12000,
    LOCAL_PORT_TRIES = 30,
    LOCAL_TOLD_BYTES = 512,
};

/* Telling. */

int64_t local_now(const struct local *l)
{
    return l->move_ns + loop_now_ns(l->loop) - l->start_ns;
}

void local_event(struct local *l, const char *kind, const char *who, const char *fmt, ...)
{
    char text[400];
    va_list args;

    if (l->watcher->event == NULL) {
        return;
    }
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    l->watcher->event(local_now(l), kind, who, text, l->watcher->user);
}

static void local_set_limit(struct local *l, int64_t seconds)
{
    loop_timer_start_in(&l->limit, seconds * 1000000000);
}

/* Phases. */

static bool local_any(const struct local_member *members, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (members[i].child != NULL) {
            return true;
        }
    }
    return false;
}

static void local_over(struct local *l)
{
    l->phase = LOCAL_OVER;
    loop_stop(l->loop);
}

static void local_signal_all(struct local_member *members, uint32_t count, int signum)
{
    for (uint32_t i = 0; i < count; i++) {
        loop_timer_stop(&members[i].timer);
        if (members[i].stopped) {
            local_signal(&members[i], SIGCONT);
        }
        local_signal(&members[i], signum);
    }
}

static void local_close(struct local *l)
{
    l->phase = LOCAL_CLOSING;
    local_set_limit(l, LOCAL_CLOSE_S);
    local_signal_all(l->servers, l->f->servers_count, SIGTERM);
    if (!local_any(l->servers, l->f->servers_count)) {
        local_over(l);
    }
}

/* Workers are gone: their sites share what they have held back. */
static void local_settle(struct local *l)
{
    if (l->f->sites_count == 1 || l->failed || !l->watched) {
        local_close(l);
        return;
    }
    l->phase = LOCAL_SETTLING;
    local_set_limit(l, LOCAL_SETTLE_S);
    run_watch_every(l->watch, (int64_t)LOCAL_SETTLE_MS * 1000000);
}

void local_settled(struct local *l)
{
    if (l->phase == LOCAL_SETTLING && local_sites_settled(l)) {
        local_close(l);
    }
}

/* Workers leave, then servers close. After a failure nobody needs to be polite. */
static void local_leave(struct local *l)
{
    if (l->phase >= LOCAL_LEAVING) {
        return;
    }
    l->phase = LOCAL_LEAVING;
    local_set_limit(l, LOCAL_LEAVE_S);
    local_signal_all(l->workers, l->f->workers, l->failed ? SIGKILL : SIGTERM);
    if (!local_any(l->workers, l->f->workers)) {
        local_settle(l);
    }
}

void local_fail(struct local *l, const char *fmt, ...)
{
    char text[ERR_TEXT_BYTES];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (!l->failed && l->phase < LOCAL_LEAVING) {
        l->failed = true;
        l->result->base.end = RUN_END_FAILED;
        (void)err_text_set(&l->result->base.text, OK, "%s", text);
        local_event(l, "failed", "", "%s", text);
    }
    local_leave(l);
}

/* A site's servers judge the goal, if it is the only one. Whether it converges or diverges, and
 * the goal of several sites, is for whoever sees all evaluations. */
void local_judge(struct local *l)
{
    if (l->phase != LOCAL_TRAINING) {
        return;
    }
    if (run_judge_look(&l->judge, l->tally, &l->result->base)) {
        local_leave(l);
    } else if (l->f->sites_count > 1 && run_goal_reached(l->f, run_tally_score(l->tally))) {
        l->result->base.end = RUN_END_GOAL;
        local_leave(l);
    }
}

/* The time of the file, or the patience of the phase, is over. */
static void local_limit(struct loop_timer *timer, void *user)
{
    struct local *l = user;

    (void)timer;
    switch (l->phase) {
    case LOCAL_STARTING:
        local_fail(l, "the servers are not ready after %d s: see their words in %s", LOCAL_START_S,
                   l->options.dir);
        break;
    case LOCAL_TRAINING:
        l->result->base.end = RUN_END_TIME;
        local_leave(l);
        break;
    case LOCAL_LEAVING:
        local_event(l, "killed", "", "workers do not leave: they are ended");
        local_signal_all(l->workers, l->f->workers, SIGKILL);
        break;
    case LOCAL_SETTLING:
        local_event(l, "notice", "", "the sites have not shared all after %d s", LOCAL_SETTLE_S);
        local_close(l);
        break;
    case LOCAL_CLOSING:
        local_event(l, "killed", "", "servers do not stop: they are ended");
        local_signal_all(l->servers, l->f->servers_count, SIGKILL);
        break;
    case LOCAL_OVER:
        break;
    }
}

static void local_start_or_fail(struct local_member *m)
{
    enum err rc = local_start(m);

    if (rc != OK) {
        local_fail(m->local, "%s cannot be started: %s", m->name, err_string(rc));
    }
}

static void local_train(struct local *l)
{
    l->phase = LOCAL_TRAINING;
    loop_timer_stop(&l->limit);
    if (l->f->stop.time_ns > 0) {
        loop_timer_start_in(&l->limit,
                            l->f->stop.time_ns > l->move_ns ? l->f->stop.time_ns - l->move_ns : 0);
    }
    for (uint32_t i = 0; i < l->faults_count; i++) {
        loop_timer_start_in(&l->faults[i].timer, l->faults[i].action.at_ns);
    }
    if (local_sites_watch(l, (int64_t)LOCAL_STATUS_MS * 1000000) != OK) {
        l->watch = NULL; /* Nobody is told who waits; training goes on. */
    }
    for (uint32_t i = 0; i < l->f->workers; i++) {
        local_start_or_fail(&l->workers[i]);
    }
}

/* Servers. */

/* Does it share a port with a server before it? */
static bool local_overlaps(const struct local_member *m)
{
    const struct run_server *servers = m->local->f->servers;

    for (const struct local_member *o = m->local->servers; o < m; o++) {
        if (m->port < o->port + servers[o->number].lanes &&
            o->port < m->port + servers[m->number].lanes) {
            return true;
        }
    }
    return false;
}

/* A place to listen that is perhaps free, for all lanes in a row. */
static void local_choose_port(struct local_member *m)
{
    struct local *l = m->local;

    do {
        l->ports = l->ports * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        m->port = (uint16_t)(LOCAL_PORT_FIRST + (l->ports >> 33) % LOCAL_PORT_COUNT);
    } while (local_overlaps(m));
}

void local_begin(struct local *l)
{
    l->moving = false;
    for (uint32_t i = 0; i < l->f->servers_count; i++) {
        l->servers[i].bound = l->servers[i].ready = false;
        local_choose_port(&l->servers[i]);
    }
    if (local_sites_write(l) != OK) {
        local_fail(l, "%s: the servers cannot be told of the sites: %s", l->options.dir,
                   strerror(errno));
        return;
    }
    for (uint32_t i = 0; i < l->f->sites_count; i++) {
        local_start_or_fail(&l->servers[l->f->sites[i].servers_first]);
    }
}

void local_place(const struct local_member *m, uint32_t lane, struct net_address *out)
{
    *out = (struct net_address){.scheme = NET_SCHEME_TCP};
    (void)snprintf(out->host, sizeof(out->host), "127.0.0.1");
    (void)snprintf(out->port, sizeof(out->port), "%u", (m->port + lane) & 0xffff);
}

void local_server_ready(struct local_member *m)
{
    struct local *l = m->local;
    const struct run_site *site = &l->f->sites[m->site];

    m->ready = true;
    m->quick = 0;
    if (m->bound) {
        local_event(l, "back", m->name, "serves again");
        return;
    }
    m->bound = true;
    if (m->number == site->servers_first) {
        local_place(m, 0, &l->firsts[m->site]);
        for (uint32_t i = 1; i < site->servers_count; i++) {
            local_start_or_fail(&l->servers[m->number + i]);
        }
    }
    local_event(l, "ready", m->name, "listens on port %u", m->port);
    for (uint32_t i = 0; i < l->f->servers_count; i++) {
        if (!l->servers[i].bound) {
            return;
        }
    }
    local_train(l);
}

/* Ends. */

/* What it sent in this life counts for good. */
static void local_worker_gone(struct local_member *m)
{
    for (uint32_t i = 0; i < m->local->f->lanes; i++) {
        m->before[i].sent += m->now[i].sent;
        m->before[i].received += m->now[i].received;
        m->now[i] = (struct run_process_lane){0};
    }
    if (m->done) {
        run_tally_left(m->local->tally, m->number);
    } else {
        run_tally_away(m->local->tally, m->number);
    }
}

/* A server that could not listen tries elsewhere, as long as nobody knows where it is; a place that
 * was its own may be taken for a moment. True: it was that. */
static bool local_port_taken(struct local_member *m, const char *words)
{
    struct local *l = m->local;

    if (!m->server || strstr(words, "in use") == NULL || m->quick >= LOCAL_PORT_TRIES ||
        l->port_tries >= LOCAL_PORT_TRIES) {
        return false;
    }
    if (!m->bound && l->f->sites_count > 1) {
        /* The other sites were told that it is there. */
        l->port_tries++;
        l->moving = true;
        local_signal_all(l->servers, l->f->servers_count, SIGKILL);
        return true;
    }
    m->quick++;
    if (!m->bound) {
        local_choose_port(m);
    }
    loop_timer_start_in(&m->timer, m->bound ? (int64_t)LOCAL_AGAIN_MS * 1000000 : 0);
    return true;
}

/* What one says who reports a death: the last words, and where there are more of them. */
static void local_add_words(const struct local_member *m, const char *words, char *out, size_t size)
{
    const struct local *l = m->local;
    const char *colon = words[0] == '\0' ? "" : ": ";

    if (l->options.temporary) {
        (void)snprintf(out, size, "%s%.240s (without a record its log is not kept)", colon, words);
    } else {
        (void)snprintf(out, size, "%s%.240s (more in %.160s/%.64s.log)", colon, words,
                       l->options.dir, m->name);
    }
}

/* Killed by somebody: it is started again. */
static void local_killed(struct local_member *m, int signum)
{
    struct local *l = m->local;
    char words[320], told[LOCAL_TOLD_BYTES];
    bool quick = local_now(l) - m->started_ns < (int64_t)LOCAL_QUICK_MS * 1000000;

    l->result->kills++;
    m->quick = quick ? m->quick + 1 : 0;
    local_event(l, "killed", m->name, "by signal %d", signum);
    if (m->quick >= LOCAL_QUICK_MAX) {
        local_last_words(m, words, sizeof(words));
        local_add_words(m, words, told, sizeof(told));
        local_fail(l, "%s was killed %u times in a row, by signal %d at last%s", m->name, m->quick,
                   signum, told);
        return;
    }
    loop_timer_start_in(&m->timer,
                        m->again_ns > 0 ? m->again_ns : (int64_t)LOCAL_AGAIN_MS * 1000000);
    m->again_ns = 0;
}

static void local_ended(struct local_member *m, int64_t status, int signum)
{
    struct local *l = m->local;
    char words[320], told[LOCAL_TOLD_BYTES];

    if (signum != 0) {
        local_killed(m, signum);
        return;
    }
    local_last_words(m, words, sizeof(words));
    if (local_port_taken(m, words)) {
        return;
    }
    local_add_words(m, words, told, sizeof(told));
    local_fail(l, "%s ended with status %" PRId64 "%s", m->name, status, told);
}

void local_died(struct local_member *m, int64_t status, int signum)
{
    struct local *l = m->local;

    m->done = !m->server && status == 0 && signum == 0;
    if (m->server) {
        local_sites_gone(l, m);
    } else {
        local_worker_gone(m);
    }
    if (m->done) {
        local_event(l, "left", m->name, "%s", "");
    } else if (l->phase < LOCAL_LEAVING && !l->moving) {
        local_ended(m, status, signum);
    }
    if (l->moving && l->phase == LOCAL_STARTING && !local_any(l->servers, l->f->servers_count)) {
        local_begin(l);
    }
    if (l->phase == LOCAL_LEAVING && !local_any(l->workers, l->f->workers)) {
        local_settle(l);
    } else if (l->phase == LOCAL_CLOSING && !local_any(l->servers, l->f->servers_count)) {
        local_over(l);
    } else if (l->phase == LOCAL_TRAINING) {
        for (uint32_t i = 0; i < l->f->workers; i++) {
            if (!l->workers[i].done) {
                return;
            }
        }
        l->result->base.end =
            l->f->stop.clocks != 0 && run_tally_clock_all(l->tally) >= l->f->stop.clocks
                ? RUN_END_CLOCKS
                : RUN_END_GOAL;
        local_leave(l);
    }
}

/* A member's own timer: to be started again, or to go on. */
static void local_timer(struct loop_timer *timer, void *user)
{
    struct local_member *m = user;

    (void)timer;
    if (m->stopped) {
        m->stopped = false;
        local_signal(m, SIGCONT);
        local_event(m->local, "continued", m->name, "%s", "");
    } else if (m->child == NULL && m->local->phase < LOCAL_LEAVING) {
        m->local->result->restarts += m->bound || m->joined;
        local_start_or_fail(m);
    }
}

/* Faults: those of processes can be had here. */

struct local_member *local_find(struct local *l, const char *name)
{
    for (uint32_t i = 0; i < l->f->servers_count; i++) {
        if (strcmp(l->servers[i].name, name) == 0) {
            return &l->servers[i];
        }
    }
    for (uint32_t i = 0; i < l->f->workers; i++) {
        if (strcmp(l->workers[i].name, name) == 0) {
            return &l->workers[i];
        }
    }
    return NULL;
}

static void local_fault(struct loop_timer *timer, void *user)
{
    struct local_fault *f = user;
    struct local_member *m = f->action.host == NULL ? NULL : local_find(f->local, f->action.host);
    bool kills = f->action.kind == SIM_FAULT_KILL || f->action.kind == SIM_FAULT_POWER;

    (void)timer;
    if (m == NULL || (!kills && f->action.kind != SIM_FAULT_PAUSE)) {
        local_event(f->local, "left out", f->action.host == NULL ? "" : f->action.host,
                    "the fault '%s' is for the simulator only", sim_fault_name(f->action.kind));
        return;
    }
    if (m->child == NULL || m->stopped) {
        return;
    }
    local_event(f->local, "fault", m->name, "%s", sim_fault_name(f->action.kind));
    if (kills) {
        m->again_ns = f->action.duration_ns;
        local_signal(m, SIGKILL);
    } else {
        m->stopped = true;
        local_signal(m, SIGSTOP);
        loop_timer_start_in(&m->timer, f->action.duration_ns);
    }
}

static void local_tick(struct loop_timer *timer, void *user)
{
    struct local *l = user;
    enum run_wish wish =
        l->watcher->tick == NULL ? RUN_WISH_NOTHING : l->watcher->tick(l->watcher->user);

    loop_timer_start_in(timer, (int64_t)LOCAL_TICK_MS * 1000000);
    if (wish == RUN_WISH_PICTURE && l->watcher->show != NULL) {
        struct run_picture picture;

        local_paint(l, &picture);
        l->watcher->show(&picture, l->watcher->user);
    }
    if (wish == RUN_WISH_STOP && l->phase < LOCAL_LEAVING) {
        l->result->base.end = RUN_END_INTERRUPTED;
        local_event(l, "interrupted", "", "%s", "");
        local_leave(l);
    }
}

/* Building. */

static enum err local_open_member(struct local *l, struct local_member *m, const char *name,
                                  uint32_t number, bool server)
{
    const struct run_site *s = l->f->sites;
    enum err rc;

    m->local = l;
    m->number = number;
    while (server ? number >= s[m->site].servers_first + s[m->site].servers_count
                  : number >= s[m->site].workers_first + s[m->site].workers) {
        m->site++;
    }
    m->server = server;
    m->out = -1;
    (void)snprintf(m->name, sizeof(m->name), "%s", name);
    m->line = mem_zalloc(LOCAL_LINE_BYTES);
    m->before = mem_calloc(l->f->lanes, sizeof(*m->before));
    m->now = mem_calloc(l->f->lanes, sizeof(*m->now));
    rc = loop_timer_init(&m->timer, l->loop, local_timer, m);
    return rc == OK && (m->line == NULL || m->before == NULL || m->now == NULL) ? ERR_NOMEM : rc;
}

static enum err local_open_members(struct local *l)
{
    const struct run_file *f = l->f;
    enum err rc = entropy_u64(&l->ports);

    for (uint32_t i = 0; i < f->servers_count && rc == OK; i++) {
        rc = local_open_member(l, &l->servers[i], f->servers[i].name, i, true);
    }
    for (uint32_t i = 0; i < f->workers && rc == OK; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "w%u", i);
        rc = local_open_member(l, &l->workers[i], name, i, false);
    }
    return rc;
}

static enum err local_open_faults(struct local *l)
{
    uint32_t count = sim_scenario_actions(l->script);
    enum err rc = OK;

    l->faults = mem_calloc(count == 0 ? 1 : count, sizeof(*l->faults));
    if (l->faults == NULL) {
        return ERR_NOMEM;
    }
    for (uint32_t i = 0; i < count && rc == OK; i++) {
        l->faults[i] =
            (struct local_fault){.local = l, .action = sim_scenario_action(l->script, i)};
        rc = loop_timer_init(&l->faults[i].timer, l->loop, local_fault, &l->faults[i]);
        l->faults_count += rc == OK;
    }
    return rc;
}

/* The folder of all checkpoints; each server makes its own in there. */
static enum err local_open_store(struct local *l, struct err_text *text)
{
    char path[LOCAL_PATH_BYTES];

    if (l->f->checkpoint.every == 0) {
        return OK;
    }
    (void)snprintf(path, sizeof(path), "%s/checkpoints", l->options.dir);
    return mkdir(path, 0777) == 0 ? OK
                                  : err_text_set(text, ERR_IO, "%.400s: %s", path, strerror(errno));
}

static enum err local_open(struct local *l, struct err_text *text)
{
    const struct run_file *f = l->f;
    enum err rc = loop_create(&l->loop);

    l->servers = mem_calloc(f->servers_count, sizeof(*l->servers));
    l->workers = mem_calloc(f->workers, sizeof(*l->workers));
    l->states = mem_calloc(f->workers, sizeof(*l->states));
    if (rc == OK && (l->servers == NULL || l->workers == NULL || l->states == NULL)) {
        rc = ERR_NOMEM;
    }
    if (rc == OK) {
        rc = loop_timer_init(&l->tick, l->loop, local_tick, l);
    }
    if (rc == OK) {
        rc = loop_timer_init(&l->limit, l->loop, local_limit, l);
    }
    if (rc == OK) {
        rc = run_tally_create(f->workers, local_row, l, &l->tally);
    }
    if (rc == OK) {
        rc = run_traffic_init(&l->traffic, topo_regions(f->topo));
    }
    if (rc == OK) {
        rc = local_sites_open(l);
    }
    if (rc == OK) {
        rc = local_open_members(l);
    }
    if (rc == OK) {
        rc = run_sim_script(f, f->name, &l->script, text);
    }
    if (rc == OK) {
        rc = local_open_store(l, text);
    }
    return rc == OK ? local_open_faults(l) : rc;
}

static void local_destroy(struct local *l)
{
    for (uint32_t i = 0; l->servers != NULL && i < l->f->servers_count; i++) {
        if (l->servers[i].local != NULL) {
            local_release(&l->servers[i]);
        }
    }
    for (uint32_t i = 0; l->workers != NULL && i < l->f->workers; i++) {
        if (l->workers[i].local != NULL) {
            local_release(&l->workers[i]);
        }
    }
    for (uint32_t i = 0; i < l->faults_count; i++) {
        loop_timer_deinit(&l->faults[i].timer);
    }
    run_watch_destroy(l->watch);
    local_sites_close(l);
    loop_timer_deinit(&l->tick);
    loop_timer_deinit(&l->limit);
    loop_destroy(l->loop);
    sim_scenario_destroy(l->script);
    run_tally_destroy(l->tally);
    run_traffic_deinit(&l->traffic);
    mem_free(l->faults);
    mem_free(l->states);
    mem_free(l->servers);
    mem_free(l->workers);
    mem_free(l);
}

static void local_go(struct local *l)
{
    l->start_ns = loop_now_ns(l->loop);
    local_set_limit(l, LOCAL_START_S);
    loop_timer_start_in(&l->tick, 0);
    local_begin(l);
    while (l->phase != LOCAL_OVER) {
        loop_run(l->loop);
    }
    run_tally_finish(l->tally);
    l->result->base.took_ns = local_now(l);
    if (l->watcher->over != NULL) {
        struct run_picture picture;

        local_paint(l, &picture);
        picture.shares = local_sites_shares(l);
        l->watcher->over(&picture, &l->result->base, l->watcher->user);
    }
}

enum err run_local(const struct run_file *f, const struct run_watcher *watcher,
                   const struct run_local_options *options, struct run_local_result *result_out,
                   struct err_text *text)
{
    struct local *l = mem_zalloc(sizeof(*l));
    struct run_move move;
    enum err rc = l == NULL ? ERR_NOMEM : run_job_try(f, text);

    if (rc == OK) {
        *result_out = (struct run_local_result){.kills = 0};
        l->f = f;
        l->watcher = watcher;
        run_judge_open(f, &l->judge);
        run_move_of(f, &move);
        l->move_ns = move.took_ns;
        l->options = *options;
        l->result = result_out;
        l->job = app_find(f->job.name);
        rc = local_open(l, text);
    }
    if (rc == OK) {
        local_go(l);
    }
    if (l != NULL && l->f != NULL) {
        local_destroy(l);
    } else {
        mem_free(l);
    }
    return rc == ERR_NOMEM ? err_text_set(text, rc, "no memory for the run") : rc;
}
