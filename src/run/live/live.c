#include "run/live/live.h"

#include "base/mem.h"
#include "run/cost/move.h"
#include "run/live/state.h"
#include "run/sim/sim.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
    LIVE_TICK_MS = 50,
    LIVE_START_S = 120,      /* For all servers to be ready. */
    LIVE_LEAVE_S = 30,       /* For workers to leave, */
    LIVE_SETTLE_S = 20,      /* for sites to share the rest, */
    LIVE_CLOSE_S = 20,       /* for servers to stop, */
    LIVE_END_S = 10,         /* and for the ground to go. */
    LIVE_PORT_FIRST = 20000, /* Below those that the system gives to who dials. */
    LIVE_PORT_COUNT = 12000,
    LIVE_TOLD_BYTES = 512,
};

static const struct live_ground *const live_grounds[] = {&live_ground_local, &live_ground_lab,
                                                         &live_ground_hosts, &live_ground_slurm};

const char *const run_live_grounds[] = {"local", "lab", "hosts", "slurm", NULL};

static const struct live_ground *live_ground_find(const char *on)
{
    for (size_t i = 0; i < sizeof(live_grounds) / sizeof(live_grounds[0]); i++) {
        if (strcmp(live_grounds[i]->name, on) == 0) {
            return live_grounds[i];
        }
    }
    return NULL;
}

const char *run_live_about(const char *on)
{
    return live_ground_find(on)->about;
}

/* Are workers of one site in different regions? */
static bool live_scattered(const struct run_file *f)
{
    for (uint32_t i = 0; i < f->sites_count; i++) {
        const struct run_group *first = &f->groups[f->sites[i].groups_first];

        for (uint32_t k = 1; k < f->sites[i].groups_count; k++) {
            if (first[k].region != first->region) {
                return true;
            }
        }
    }
    return false;
}

enum err run_live_check(const struct run_file *f, const char *on, struct err_text *text)
{
    const struct live_ground *ground = live_ground_find(on);
    bool card = f->links.card != NULL && !ground->has_cards;

    if (f->sync.tree.degree > 0 && ground->only_servers && live_scattered(f)) {
        return err_text_set(text, ERR_INVALID,
                            "sync.tree: with --on %s there are no links between workers of "
                            "different regions: use --on sim or --on lab",
                            on);
    }
    if (topo_duplex(f->topo) == TOPO_DUPLEX_SHARED && ground->apart) {
        return err_text_set(text, ERR_INVALID,
                            "both directions of a link share its rate (duplex: shared), but with "
                            "--on %s each has its own: say links: {duplex: full}, or use --on sim",
                            on);
    }
    if (!card && (f->backgrounds_count == 0 || ground->has_background)) {
        return OK;
    }
    return err_text_set(text, ERR_INVALID,
                        "%s is not there with --on %s: leave it out, or use --on sim or --on lab",
                        card ? "links.card" : "background", on);
}

/* Telling. */

int64_t live_now(const struct live *l)
{
    /* Until all servers are there, nothing has begun. */
    return l->move_ns + (l->start_ns == 0 ? 0 : loop_now_ns(l->loop) - l->start_ns);
}

void live_event(struct live *l, const char *kind, const char *who, const char *fmt, ...)
{
    char text[ERR_TEXT_BYTES];
    va_list args;

    if (l->watcher->event == NULL) {
        return;
    }
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    l->watcher->event(live_now(l), kind, who, text, l->watcher->user);
}

static void live_set_limit(struct live *l, int64_t seconds)
{
    loop_timer_start_in(&l->limit, seconds * 1000000000);
}

/* Phases. */

static bool live_any(const struct live_member *members, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (live_runs(&members[i])) {
            return true;
        }
    }
    return false;
}

void live_ground_over(struct live *l)
{
    l->phase = LIVE_OVER;
    loop_stop(l->loop);
}

/* All members are gone. */
static void live_over(struct live *l)
{
    l->phase = LIVE_ENDING;
    if (l->ground->end == NULL) {
        live_ground_over(l);
        return;
    }
    live_set_limit(l, LIVE_END_S);
    l->ground->end(l);
}

static void live_signal_all(struct live_member *members, uint32_t count, int signum)
{
    for (uint32_t i = 0; i < count; i++) {
        loop_timer_stop(&members[i].timer);
        if (members[i].stopped) {
            live_signal(&members[i], SIGCONT);
        }
        live_signal(&members[i], signum);
    }
}

static void live_close(struct live *l)
{
    l->phase = LIVE_CLOSING;
    live_set_limit(l, LIVE_CLOSE_S);
    live_signal_all(l->servers, l->f->servers_count, SIGTERM);
    if (!live_any(l->servers, l->f->servers_count)) {
        live_over(l);
    }
}

/* Workers are gone: their sites share what they have held back. */
static void live_settle(struct live *l)
{
    if (l->f->sites_count == 1 || l->failed || !l->watched) {
        live_close(l);
        return;
    }
    l->phase = LIVE_SETTLING;
    live_set_limit(l, LIVE_SETTLE_S);
}

void live_settled(struct live *l)
{
    if (l->phase == LIVE_SETTLING && live_sites_settled(l)) {
        live_close(l);
    }
}

/* Workers leave, then servers close. After a failure nobody needs to be polite. */
static void live_leave(struct live *l)
{
    if (l->phase >= LIVE_LEAVING) {
        return;
    }
    l->took_ns = live_now(l);
    l->phase = LIVE_LEAVING;
    live_background_end(l);
    live_set_limit(l, LIVE_LEAVE_S);
    live_signal_all(l->workers, l->f->workers, l->failed ? SIGKILL : SIGTERM);
    if (!live_any(l->workers, l->f->workers)) {
        live_settle(l);
    }
}

static void live_set_failed(struct live *l, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void live_set_failed(struct live *l, const char *fmt, ...)
{
    va_list args;

    l->failed = true;
    l->result->base.end = RUN_END_FAILED;
    va_start(args, fmt);
    (void)vsnprintf(l->result->base.text.text, sizeof(l->result->base.text.text), fmt, args);
    va_end(args);
    live_event(l, "failed", "", "%s", l->result->base.text.text);
}

void live_fail(struct live *l, const char *fmt, ...)
{
    char text[ERR_TEXT_BYTES];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (!l->failed && l->phase < LIVE_LEAVING) {
        live_set_failed(l, "%s", text);
    }
    live_leave(l);
}

/* A site's servers judge the goal, if it is the only one. Whether it converges or diverges, and
 * the goal of several sites, is for whoever sees all evaluations. */
void live_judge(struct live *l)
{
    if (l->phase != LIVE_TRAINING) {
        return;
    }
    if (run_judge_look(&l->judge, l->tally, &l->result->base)) {
        live_leave(l);
    } else if (l->f->sites_count > 1 && run_goal_reached(l->f, run_tally_score(l->tally))) {
        l->result->base.end = RUN_END_GOAL;
        live_leave(l);
    }
}

/* The time of the file, or the patience of the phase, is over. */
static void live_limit(struct loop_timer *timer, void *user)
{
    struct live *l = user;

    (void)timer;
    switch (l->phase) {
    case LIVE_STARTING:
        live_fail(l, "the servers are not ready after %d s: see their words in %s", LIVE_START_S,
                  l->options.dir);
        break;
    case LIVE_TRAINING:
        l->result->base.end = RUN_END_TIME;
        live_leave(l);
        break;
    case LIVE_LEAVING:
        live_event(l, "killed", "", "workers do not leave: they are ended");
        live_signal_all(l->workers, l->f->workers, SIGKILL);
        break;
    case LIVE_SETTLING:
        live_event(l, "notice", "", "the sites have not shared all after %d s", LIVE_SETTLE_S);
        live_close(l);
        break;
    case LIVE_CLOSING:
        live_event(l, "killed", "", "servers do not stop: they are ended");
        live_signal_all(l->servers, l->f->servers_count, SIGKILL);
        break;
    case LIVE_ENDING:
        live_ground_over(l);
        break;
    case LIVE_OVER:
        break;
    }
}

static void live_start_or_fail(struct live_member *m)
{
    enum err rc = live_start(m);

    if (rc != OK) {
        live_fail(m->live, "%s cannot be started: %s", m->name, err_string(rc));
    }
}

static void live_train(struct live *l)
{
    l->phase = LIVE_TRAINING;
    l->start_ns = loop_now_ns(l->loop);
    loop_timer_stop(&l->limit);
    if (l->f->stop.time_ns > 0) {
        loop_timer_start_in(&l->limit,
                            l->f->stop.time_ns > l->move_ns ? l->f->stop.time_ns - l->move_ns : 0);
    }
    live_begin_faults(l);
    live_background_begin(l);
    for (uint32_t i = 0; i < l->f->workers && l->phase == LIVE_TRAINING; i++) {
        live_start_or_fail(&l->workers[i]);
    }
}

/* Servers. */

/* Does it share a port with another server? */
static bool live_overlaps(const struct live_member *m)
{
    const struct run_server *servers = m->live->f->servers;

    for (uint32_t i = 0; i < m->live->f->servers_count; i++) {
        const struct live_member *o = &m->live->servers[i];

        if (o != m && m->port < o->port + servers[o->number].lanes &&
            o->port < m->port + servers[m->number].lanes) {
            return true;
        }
    }
    return false;
}

/* A place to listen that is perhaps free, for all lanes in a row. */
static void live_choose_port(struct live_member *m)
{
    struct live *l = m->live;

    if (l->ground->port != NULL) {
        (void)l->ground->port(m, l->port_tries);
        return;
    }
    if (m->port != 0) {
        return;
    }
    do {
        l->ports = l->ports * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        m->port = (uint16_t)(LIVE_PORT_FIRST + (l->ports >> 33) % LIVE_PORT_COUNT);
    } while (live_overlaps(m));
}

/* Choose ports, and let the ground get ready for them. */
static void live_begin(struct live *l)
{
    l->moving = false;
    for (uint32_t i = 0; i < l->f->servers_count; i++) {
        l->servers[i].bound = l->servers[i].ready = false;
        live_choose_port(&l->servers[i]);
    }
    l->ground->begin(l);
}

bool live_move(struct live *l, struct live_member *who)
{
    if (l->port_tries++ >= LIVE_PORT_TRIES) {
        return false;
    }
    for (uint32_t i = 0; i < l->f->servers_count; i++) {
        if (who == NULL || who == &l->servers[i]) {
            l->servers[i].port = 0;
        }
    }
    l->moving = true;
    live_signal_all(l->servers, l->f->servers_count, SIGKILL);
    if (!live_any(l->servers, l->f->servers_count)) {
        live_begin(l);
    }
    return true;
}

void live_ground_ready(struct live *l)
{
    live_background_start(l);
    if (live_sites_write(l) != OK) {
        live_fail(l, "%s: the servers cannot be told of the sites: %s", l->options.dir,
                  strerror(errno));
    }
    for (uint32_t i = 0; i < l->f->sites_count && l->phase == LIVE_STARTING; i++) {
        live_start_or_fail(&l->servers[l->f->sites[i].servers_first]);
    }
}

void live_server_ready(struct live_member *m)
{
    struct live *l = m->live;
    const struct run_site *site = &l->f->sites[m->site];

    m->ready = true;
    m->quick = 0;
    if (m->bound) {
        live_event(l, "back", m->name, "serves again");
        return;
    }
    if (l->phase != LIVE_STARTING || l->moving) {
        return; /* It is told to end, and had not heard that when it said so. */
    }
    m->bound = true;
    if (m->number == site->servers_first) {
        l->ground->place(m, 0, &l->firsts[m->site]);
        for (uint32_t i = 1; i < site->servers_count && l->phase == LIVE_STARTING; i++) {
            live_start_or_fail(&l->servers[m->number + i]);
        }
    }
    live_event(l, "ready", m->name, "listens on port %u", m->port);
    for (uint32_t i = 0; i < l->f->servers_count; i++) {
        if (!l->servers[i].bound) {
            return;
        }
    }
    live_train(l);
}

/* Ends. */

/* What it sent in this life counts for good. */
static void live_worker_gone(struct live_member *m)
{
    for (uint32_t i = 0; i < m->live->f->lanes; i++) {
        m->before[i].sent += m->now[i].sent;
        m->before[i].received += m->now[i].received;
        m->now[i] = (struct run_process_lane){0};
    }
    if (m->done) {
        run_tally_left(m->live->tally, m->number);
    } else {
        run_tally_away(m->live->tally, m->number);
    }
}

/* A server that could not listen tries elsewhere, as long as nobody knows where it is; a place that
 * was its own may be taken for a moment. True: it was that. */
static bool live_port_taken(struct live_member *m, const char *words)
{
    struct live *l = m->live;

    if (!m->server || strstr(words, "in use") == NULL || m->quick >= LIVE_PORT_TRIES) {
        return false;
    }
    if (!m->bound) {
        /* The others were told that it is there. */
        return (l->ground->port == NULL || l->ground->port(m, l->port_tries + 1)) &&
               live_move(l, m);
    }
    m->quick++;
    loop_timer_start_in(&m->timer, (int64_t)LIVE_AGAIN_MS * 1000000);
    return true;
}

/* What one says who reports a death: the last words, and where there are more of them. */
static void live_add_words(const struct live_member *m, const char *words, char *out, size_t size)
{
    const struct live *l = m->live;
    const char *colon = words[0] == '\0' ? "" : ": ";

    if (l->options.temporary) {
        (void)snprintf(out, size, "%s%.240s (without a record its log is not kept)", colon, words);
    } else {
        (void)snprintf(out, size, "%s%.240s (more in %.160s/%.64s.log)", colon, words,
                       l->options.dir, m->name);
    }
}

/* Has it ended so often before it got anywhere that it never will? */
static bool live_gives_up(const struct live_member *m, bool killed)
{
    if (killed) {
        return m->quick >= LIVE_QUICK_MAX;
    }
    return m->quick > 0 &&
           live_now(m->live) - m->quick_since_ns > (int64_t)LIVE_STARVED_S * 1000000000;
}

/* Killed by somebody, or ended because the machine gave it no memory, descriptor or thread: it is
 * started again. */
static void live_killed(struct live_member *m, int64_t status, int signum)
{
    struct live *l = m->live;
    char words[320], told[LIVE_TOLD_BYTES], how[48];
    bool quick = live_now(l) - m->started_ns < (int64_t)LIVE_QUICK_MS * 1000000;
    int64_t pause_ns;

    run_child_last_words(&m->child, words, sizeof(words));
    if (signum != 0) {
        (void)snprintf(how, sizeof(how), "by signal %d", signum);
        live_event(l, "killed", m->name, "%s", how);
    } else {
        (void)snprintf(how, sizeof(how), "with status %d", (int)status);
        live_event(l, "ended", m->name, "%s: %.240s", how, words);
    }
    l->result->kills++;
    m->quick = quick ? m->quick + 1 : 0;
    m->quick_since_ns = m->quick <= 1 ? live_now(l) : m->quick_since_ns;
    if (live_gives_up(m, signum != 0)) {
        live_add_words(m, words, told, sizeof(told));
        live_fail(l, "%s %s %u times in a row, %s at last%s", m->name,
                  signum != 0 ? "was killed" : "ended", m->quick, how, told);
        return;
    }
    pause_ns = (int64_t)LIVE_AGAIN_MS * 1000000;
    if (signum == 0 && m->quick > 0) {
        pause_ns <<= m->quick - 1 < LIVE_DOUBLINGS ? m->quick - 1 : LIVE_DOUBLINGS;
    }
    loop_timer_start_in(&m->timer, m->again_ns > 0 ? m->again_ns : pause_ns);
    m->again_ns = 0;
}

static void live_ended(struct live_member *m, int64_t status, int signum)
{
    struct live *l = m->live;
    char words[320], told[LIVE_TOLD_BYTES];

    if (signum != 0 || status == LIVE_TRY_AGAIN) {
        live_killed(m, status, signum);
        return;
    }
    run_child_last_words(&m->child, words, sizeof(words));
    if (live_port_taken(m, words)) {
        return;
    }
    live_add_words(m, words, told, sizeof(told));
    live_fail(l, "%s ended with status %" PRId64 "%s", m->name, status, told);
}

/* Sites may still share what workers added when these have left. */
static enum live_phase live_needed_until(const struct live_member *m)
{
    return m->server ? LIVE_CLOSING : LIVE_LEAVING;
}

/* A server that was told to stop did not write its last checkpoint: the model is not whole. */
static void live_unsaved(struct live_member *m, int64_t status, int signum)
{
    struct live *l = m->live;
    char words[320], told[LIVE_TOLD_BYTES], how[48];

    if (l->f->checkpoint.every == 0 || l->failed) {
        return;
    }
    (void)snprintf(how, sizeof(how),
                   signum != 0 ? "was ended by signal %d" : "ended with status %d",
                   signum != 0 ? signum : (int)status);
    run_child_last_words(&m->child, words, sizeof(words));
    live_add_words(m, words, told, sizeof(told));
    live_set_failed(l, "%s %s before its last checkpoint was whole%s", m->name, how, told);
}

void live_died(struct live_member *m, int64_t status, int signum)
{
    struct live *l = m->live;

    m->done = !m->server && status == 0 && signum == 0;
    if (m->server) {
        live_sites_gone(l, m);
    } else {
        live_worker_gone(m);
    }
    if (m->done) {
        live_event(l, "left", m->name, "%s", "");
    } else if (l->phase < live_needed_until(m) && !l->moving) {
        live_ended(m, status, signum);
    } else if (m->server && l->phase == LIVE_CLOSING && (status != 0 || signum != 0)) {
        live_unsaved(m, status, signum);
    }
    if (l->moving && l->phase == LIVE_STARTING && !live_any(l->servers, l->f->servers_count)) {
        live_begin(l);
    }
    if (l->phase == LIVE_LEAVING && !live_any(l->workers, l->f->workers)) {
        live_settle(l);
    } else if (l->phase == LIVE_CLOSING && !live_any(l->servers, l->f->servers_count)) {
        live_over(l);
    } else if (l->phase == LIVE_TRAINING) {
        for (uint32_t i = 0; i < l->f->workers; i++) {
            if (!l->workers[i].done) {
                return;
            }
        }
        l->result->base.end =
            l->f->stop.clocks != 0 && run_tally_clock_all(l->tally) >= l->f->stop.clocks
                ? RUN_END_CLOCKS
                : RUN_END_GOAL;
        live_leave(l);
    }
}

/* A member's own timer: to be started again, or to go on. */
void live_timer(struct loop_timer *timer, void *user)
{
    struct live_member *m = user;

    (void)timer;
    if (m->stopped) {
        m->stopped = false;
        live_signal(m, SIGCONT);
        live_event(m->live, "continued", m->name, "%s", "");
    } else if (!live_runs(m) && m->live->phase < live_needed_until(m)) {
        m->live->result->restarts += m->bound || m->joined;
        live_start_or_fail(m);
    }
}

static void live_tick(struct loop_timer *timer, void *user)
{
    struct live *l = user;
    enum run_wish wish =
        l->watcher->tick == NULL ? RUN_WISH_NOTHING : l->watcher->tick(l->watcher->user);

    loop_timer_start_in(timer, (int64_t)LIVE_TICK_MS * 1000000);
    if (wish == RUN_WISH_PICTURE && l->watcher->show != NULL) {
        struct run_picture picture;

        live_paint(l, &picture);
        l->watcher->show(&picture, l->watcher->user);
    }
    if (wish == RUN_WISH_STOP && l->phase < LIVE_LEAVING) {
        l->result->base.end = RUN_END_INTERRUPTED;
        live_event(l, "interrupted", "", "%s", "");
        live_leave(l);
    }
}

/* Building. */

/* The folder of all checkpoints; each server makes its own in there. */
static enum err live_open_store(struct live *l, struct err_text *text)
{
    char path[LIVE_PATH_BYTES];

    if (l->f->checkpoint.every == 0 || l->ground->launch != NULL) {
        return OK;
    }
    (void)snprintf(path, sizeof(path), "%s/checkpoints", l->options.dir);
    return mkdir(path, 0777) == 0 ? OK
                                  : err_text_set(text, ERR_IO, "%.400s: %s", path, strerror(errno));
}

static enum err live_open(struct live *l, struct err_text *text)
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
        rc = loop_timer_init(&l->tick, l->loop, live_tick, l);
    }
    if (rc == OK) {
        rc = loop_timer_init(&l->limit, l->loop, live_limit, l);
    }
    if (rc == OK) {
        rc = run_tally_create(f->workers, live_row, l, &l->tally);
    }
    if (rc == OK) {
        rc = run_traffic_init(&l->traffic, topo_regions(f->topo));
    }
    if (rc == OK) {
        rc = live_sites_open(l);
    }
    if (rc == OK) {
        rc = live_open_members(l);
    }
    if (rc == OK && l->ground->open != NULL) {
        rc = l->ground->open(l, text);
    }
    if (rc == OK) {
        rc = run_sim_script(f, f->name, &l->script, text);
    }
    if (rc == OK) {
        rc = live_open_store(l, text);
    }
    if (rc == OK) {
        rc = live_background_open(l);
    }
    return rc == OK ? live_open_faults(l) : rc;
}

static void live_destroy(struct live *l)
{
    for (uint32_t i = 0; l->servers != NULL && i < l->f->servers_count; i++) {
        if (l->servers[i].live != NULL) {
            live_release(&l->servers[i]);
        }
    }
    for (uint32_t i = 0; l->workers != NULL && i < l->f->workers; i++) {
        if (l->workers[i].live != NULL) {
            live_release(&l->workers[i]);
        }
    }
    live_close_faults(l);
    live_background_close(l);
    if (l->ground->close != NULL) {
        l->ground->close(l);
    }
    live_sites_close(l);
    loop_timer_deinit(&l->tick);
    loop_timer_deinit(&l->limit);
    loop_destroy(l->loop);
    sim_scenario_destroy(l->script);
    run_tally_destroy(l->tally);
    run_traffic_deinit(&l->traffic);
    mem_free(l->states);
    mem_free(l->servers);
    mem_free(l->workers);
    mem_free(l);
}

/* What the simulator says of it, if it came to an end of its own. */
static void live_predict(struct live *l, struct run_prediction *out)
{
    enum run_end end = l->result->base.end;
    struct err_text text = {""};

    *out = (struct run_prediction){.known = false};
    if (!l->options.predict || end == RUN_END_FAILED || end == RUN_END_INTERRUPTED ||
        end == RUN_END_DIVERGED) {
        return;
    }
    if (run_predict(l->f, l->tally, l->watcher->tick, l->watcher->user, out, &text) != OK) {
        live_event(l, "notice", "", "the simulator cannot say how long it takes: %s", text.text);
    }
}

static void live_go(struct live *l)
{
    live_set_limit(l, LIVE_START_S);
    loop_timer_start_in(&l->tick, 0);
    live_begin(l);
    while (l->phase != LIVE_OVER) {
        loop_run(l->loop);
    }
    run_tally_finish(l->tally);
    l->result->base.took_ns = l->took_ns;
    if (l->watcher->over != NULL) {
        struct run_prediction prediction;
        struct run_picture picture;
        json_t *network = l->ground->describe == NULL ? NULL : l->ground->describe(l);

        live_paint(l, &picture);
        live_predict(l, &prediction);
        picture.now_ns = l->took_ns;
        picture.shares = live_sites_shares(l);
        picture.served = live_sites_sparsified(l);
        picture.network = network;
        picture.prediction = &prediction;
        l->watcher->over(&picture, &l->result->base, l->watcher->user);
        json_decref(network);
    }
}

enum err run_live(const struct run_file *f, const struct run_watcher *watcher,
                  const struct run_live_options *options, struct run_live_result *result_out,
                  struct err_text *text)
{
    struct live *l = mem_zalloc(sizeof(*l));
    struct run_move move;
    enum err rc = l == NULL ? ERR_NOMEM : run_live_check(f, options->on, text);

    if (rc == OK) {
        rc = run_job_try(f, text);
    }

    if (rc == OK) {
        *result_out = (struct run_live_result){.kills = 0};
        l->f = f;
        l->watcher = watcher;
        run_judge_open(f, &l->judge);
        run_move_of(f, &move);
        l->move_ns = move.took_ns;
        l->options = *options;
        l->ground = live_ground_find(options->on);
        CHECK(l->ground != NULL);
        l->result = result_out;
        l->job = app_find(f->job.name);
        rc = live_open(l, text);
    }
    if (rc == OK) {
        live_go(l);
    }
    if (l != NULL && l->f != NULL) {
        live_destroy(l);
    } else {
        mem_free(l);
    }
    return rc == ERR_NOMEM ? err_text_set(text, rc, "no memory for the run") : rc;
}
