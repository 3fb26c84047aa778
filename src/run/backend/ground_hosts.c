/* Other machines as the ground of a run: each member is kept by a `strait hold` on its host, which
 * is reached by ssh, or by srun inside of a Slurm job, or is on this machine. What the member says
 * comes back through it, and what it needs goes there in the first line (run/live/parcel.h). Links
 * are the real ones. */

#include "base/mem.h"
#include "loop/clock.h"
#include "net/entropy.h"
#include "run/backend/hosts.h"
#include "run/live/badges.h"
#include "run/live/parcel.h"
#include "run/live/state.h"
#include "topo/file.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    HOSTS_STILL_S = 5, /* How often those who keep members hear that we are there. */
    HOSTS_WORDS_BYTES = 320,
    HOSTS_SSH_FAILED = 255, /* What ssh ends with if it could not do its work. */
};

/* How a member ended, as it was told. */
struct hosts_held {
    bool told;
    int64_t status;
    int signum;
};

struct hosts_remover {
    struct live *live;
    const struct run_host *host;
    struct run_child child;
    bool done;
};

struct hosts {
    struct run_deal deal;
    char folder[RUN_PARCEL_NAME_BYTES]; /* Of this run, below that of each host. */
    char cwd[LIVE_PATH_BYTES];
    struct run_badges *badges; /* NULL: in the clear. */
    struct hosts_held *held;   /* Servers, then workers. */
    struct loop_timer still;
    struct hosts_remover *removers; /* By host. */
    uint32_t removing;
    bool looked; /* It was said how to look at it. */
};

static struct hosts *hosts_of(const struct live *l)
{
    return l->ground_state;
}

static const struct run_host *hosts_host(const struct live_member *m)
{
    const struct hosts *g = hosts_of(m->live);

    return &m->live->options.hosts
                ->items[m->server ? g->deal.servers[m->number] : g->deal.workers[m->number]];
}

static struct hosts_held *hosts_held(const struct live_member *m)
{
    return &hosts_of(m->live)->held[m->server ? m->number : m->live->f->servers_count + m->number];
}

static enum err hosts_start(const struct live *l, const struct run_host *host,
                            struct run_child *child)
{
    struct run_hosts_start start;

    run_hosts_start(host, l->options.program, l->options.command, (int)getpid(), &start);
    return run_child_start(child, start.words, true);
}

/* What goes in the first line is ours to release. */
static enum err hosts_tell(struct run_child *child, const struct run_parcel *parcel)
{
    char *line = run_parcel_print(parcel);
    enum err rc = line == NULL ? ERR_NOMEM : run_child_tell(child, line);

    if (line != NULL) {
        explicit_bzero(line, strlen(line));
    }
    free(line);
    return rc;
}

/* Opening. */

/* Not to be guessed by others on the hosts, and different each time. */
static enum err hosts_folder(struct live *l)
{
    uint64_t number = 0;
    enum err rc = entropy_u64(&number);

    (void)snprintf(hosts_of(l)->folder, sizeof(hosts_of(l)->folder), "%.64s-%016" PRIx64,
                   l->f->name, number);
    return rc;
}

/* They hear that we are there, even if the way to them does not break but falls silent. */
static void hosts_still(struct loop_timer *timer, void *user)
{
    struct live *l = user;

    for (uint32_t i = 0; i < l->f->servers_count + l->f->workers; i++) {
        struct live_member *m =
            i < l->f->servers_count ? &l->servers[i] : &l->workers[i - l->f->servers_count];

        if (live_runs(m) && run_child_tell(&m->child, "still") != OK) {
            run_child_signal(&m->child, SIGKILL);
        }
    }
    loop_timer_start_in(timer, HOSTS_STILL_S * INT64_C(1000000000));
}

static void hosts_set_dirs(struct live *l)
{
    /* The folder that each one is started in is its own. */
    for (uint32_t i = 0; i < l->f->servers_count; i++) {
        l->servers[i].dir = ".";
    }
    for (uint32_t i = 0; i < l->f->workers; i++) {
        l->workers[i].dir = ".";
    }
}

static enum err hosts_open(struct live *l, struct err_text *text)
{
    struct hosts *g = mem_zalloc(sizeof(*g));
    enum err rc = OK;

    CHECK(l->options.hosts != NULL);
    l->ground_state = g;
    if (g == NULL) {
        return ERR_NOMEM;
    }
    g->held = mem_calloc(l->f->servers_count + l->f->workers, sizeof(*g->held));
    g->removers = mem_calloc(l->options.hosts->count, sizeof(*g->removers));
    if (g->held == NULL || g->removers == NULL) {
        return ERR_NOMEM;
    }
    if (getcwd(g->cwd, sizeof(g->cwd)) == NULL) {
        return err_text_set(text, ERR_IO, "the working directory: %s", strerror(errno));
    }
    rc = hosts_folder(l);
    if (rc == OK) {
        rc = run_hosts_deal(l->options.hosts, l->f, &g->deal, text);
    }
    if (rc == OK) {
        rc = loop_timer_init(&g->still, l->loop, hosts_still, l);
    }
    if (rc == OK && l->options.insecure == 0) {
        rc = run_badges_create(l->f, l->options.dir, clock_wall_us() / 1000000, &g->badges, text);
    }
    hosts_set_dirs(l);
    return rc;
}

static void hosts_begin(struct live *l)
{
    if (!loop_timer_active(&hosts_of(l)->still)) {
        loop_timer_start_in(&hosts_of(l)->still, HOSTS_STILL_S * INT64_C(1000000000));
    }
    live_ground_ready(l);
}

static bool hosts_port(struct live_member *m, uint32_t tries)
{
    const struct hosts *g = hosts_of(m->live);
    uint16_t port = run_hosts_port(m->live->options.hosts, m->live->f, &g->deal, m->number, tries);

    if (port == 0) {
        return false;
    }
    m->port = port;
    return tries == 0 || hosts_host(m)->port == 0;
}

static void hosts_place(const struct live_member *m, uint32_t lane, struct net_address *out)
{
    *out = (struct net_address){.scheme = hosts_of(m->live)->badges == NULL ? NET_SCHEME_TCP
                                                                            : NET_SCHEME_TLS};
    (void)snprintf(out->host, sizeof(out->host), "%.253s", hosts_host(m)->address);
    (void)snprintf(out->port, sizeof(out->port), "%u", (m->port + lane) & 0xffff);
}

/* The command of a member. */

static void hosts_before(const struct live_member *m, struct live_args *args)
{
    (void)m;
    live_args_add(args, "strait");
}

/* Where it listens: everywhere, for its address may not be one of the machine; but an address of
 * loopback is. */
static void hosts_listen(const struct live_member *m, struct live_args *args)
{
    const char *address = hosts_host(m)->address;
    const char *scheme = hosts_of(m->live)->badges == NULL ? "tcp" : "tls";
    bool six = strchr(address, ':') != NULL;
    bool loopback = strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;

    live_args_add(args, "--listen");
    live_args_add(args, "%s://%s%s%s:%u", scheme, six ? "[" : "",
                  loopback ? address
                  : six    ? "::"
                           : "0.0.0.0",
                  six ? "]" : "", m->port);
    live_args_add(args, "--advertise");
    live_args_add(args, "%s", address);
}

static void hosts_options(const struct live_member *m, struct live_args *args)
{
    if (m->server) {
        hosts_listen(m, args);
    }
    if (hosts_of(m->live)->badges != NULL) {
        live_args_add(args, "--cert");
        live_args_add(args, ".");
    }
    for (uint32_t i = 0; i < m->live->options.insecure; i++) {
        live_args_add(args, "--insecure");
    }
}

static void hosts_add_file(struct run_parcel *p, const char *name, const char *text, bool secret)
{
    p->files[p->files_count++] =
        (struct run_parcel_file){.name = name, .text = text, .secret = secret};
}

/* Its words, as they are, but for the path of the data: that is the same on all hosts, so it
 * begins at the root. */
static void hosts_add_args(const struct live_member *m, const struct live_args *args, char *data,
                           size_t size, struct run_parcel *p)
{
    for (uint32_t i = 0; i < args->count; i++) {
        p->argv[p->argv_count++] = args->items[i];
        if (i > 0 && strcmp(args->items[i - 1], "--data") == 0 && args->items[i][0] != '/') {
            (void)snprintf(data, size, "%s/%s", hosts_of(m->live)->cwd, args->items[i]);
            p->argv[i] = data;
        }
    }
}

static enum err hosts_ship(struct live_member *m, const struct live_args *args,
                           const struct text *between)
{
    const struct live *l = m->live;
    const struct hosts *g = hosts_of(l);
    char dir[LIVE_PATH_BYTES], data[2 * LIVE_PATH_BYTES], cert[LIMIT_NAME_BYTES + 8],
        key[LIMIT_NAME_BYTES + 8], sites[LIMIT_NAME_BYTES + 16];
    struct run_parcel p = {.kind = RUN_PARCEL_HOLD,
                           .dir = dir,
                           .member = m->name,
                           .folders = {m->server ? "checkpoints" : "state"},
                           .folders_count = 1};

    (void)snprintf(dir, sizeof(dir), "%s/%s", hosts_host(m)->dir, g->folder);
    hosts_add_args(m, args, data, sizeof(data), &p);
    if (g->badges != NULL) {
        struct run_badge b = m->server ? run_badge_server(g->badges, m->number)
                                       : run_badge_worker(g->badges, m->number);

        (void)snprintf(cert, sizeof(cert), "%s.crt", m->name);
        (void)snprintf(key, sizeof(key), "%s.key", m->name);
        hosts_add_file(&p, "ca.crt", run_badges_ca(g->badges), false);
        hosts_add_file(&p, cert, b.cert, false);
        hosts_add_file(&p, key, b.key, true);
    }
    if (between->chars != NULL) {
        (void)snprintf(sites, sizeof(sites), "between-%s.yaml", l->f->sites[m->site].name);
        hosts_add_file(&p, sites, between->chars, false);
    }
    return hosts_tell(&m->child, &p);
}

static enum err hosts_launch(struct live_member *m, const struct live_args *args)
{
    struct live *l = m->live;
    char path[LIVE_PATH_BYTES];
    struct text between = {0};
    enum err rc = OK;

    *hosts_held(m) = (struct hosts_held){.told = false};
    if (m->server && l->f->sites_count > 1) {
        live_sites_path(l, m->site, path, sizeof(path));
        rc = topo_file_read(path, RUN_FILE_BYTES_MAX, &between, NULL);
    }
    if (rc == OK) {
        rc = hosts_start(l, hosts_host(m), &m->child);
    }
    if (rc == OK) {
        rc = hosts_ship(m, args, &between);
    }
    text_deinit(&between);
    return rc;
}

/* How it goes. */

/* The first server of the first site can be looked at from here. */
static void hosts_look(const struct live_member *m)
{
    struct live *l = m->live;
    struct hosts *g = hosts_of(l);
    char address[NET_ADDRESS_BYTES];
    struct net_address at;

    if (g->looked || !m->server || m->number != 0 || l->options.temporary) {
        return;
    }
    g->looked = true;
    hosts_place(m, 0, &at);
    if (g->badges != NULL) {
        live_event(l, "look", m->name, "strait top --join %s --cert %s/operator",
                   net_address_format(&at, address), l->options.dir);
    } else {
        live_event(l, "look", m->name, "strait top --join %s --insecure --insecure",
                   net_address_format(&at, address));
    }
}

static bool hosts_said(struct live_member *m, const json_t *news)
{
    const char *event = json_string_value(json_object_get(news, "event"));

    if (event != NULL && strcmp(event, "held-end") == 0) {
        *hosts_held(m) =
            (struct hosts_held){.told = true,
                                .status = json_integer_value(json_object_get(news, "status")),
                                .signum = (int)json_integer_value(json_object_get(news, "signal"))};
        return true;
    }
    if (event != NULL && strcmp(event, "ready") == 0) {
        hosts_look(m);
    }
    return false;
}

/* What it ended with is what was told; without a word the way to it was lost, which is as good as
 * a kill: whoever keeps it there ends it. */
static void hosts_ended(struct live_member *m, int64_t *status, int *signum)
{
    const struct hosts_held *held = hosts_held(m);
    char words[HOSTS_WORDS_BYTES];

    if (held->told) {
        *status = held->status;
        *signum = held->signum;
    } else if (*signum == 0 && hosts_host(m)->way == RUN_HOST_SSH && *status == HOSTS_SSH_FAILED) {
        run_child_last_words(&m->child, words, sizeof(words));
        live_event(m->live, "lost", m->name, "the connection to %s was lost%s%s",
                   hosts_host(m)->name, words[0] == '\0' ? "" : ": ", words);
        *signum = SIGHUP;
    }
}

static void hosts_signal(struct live_member *m, int signum)
{
    const char *order = signum == SIGTERM   ? "signal TERM"
                        : signum == SIGINT  ? "signal INT"
                        : signum == SIGSTOP ? "signal STOP"
                        : signum == SIGCONT ? "signal CONT"
                                            : "signal KILL";

    if (run_child_tell(&m->child, order) != OK) {
        run_child_signal(&m->child, SIGKILL); /* Then it is the end of the other side too. */
    }
}

/* The end: what was put there is removed. */

static void hosts_removed(struct run_child *c, int64_t status, int signum, void *user)
{
    struct hosts_remover *r = user;
    char words[HOSTS_WORDS_BYTES];

    run_child_last_words(c, words, sizeof(words));
    if (!r->done) {
        live_event(r->live, "notice", "",
                   "%s/%s stays on host %s: status %" PRId64 ", signal %d%s%s", r->host->dir,
                   hosts_of(r->live)->folder, r->host->name, status, signum,
                   words[0] == '\0' ? "" : ": ", words);
    }
    if (r->done || words[0] == '\0') {
        (void)unlink(c->log);
    }
    if (--hosts_of(r->live)->removing == 0) {
        live_ground_over(r->live);
    }
}

static void hosts_remover_said(struct run_child *c, const json_t *news, void *user)
{
    struct hosts_remover *r = user;
    const char *event = json_string_value(json_object_get(news, "event"));

    (void)c;
    r->done = r->done || (event != NULL && strcmp(event, "removed") == 0);
}

static const struct run_child_events hosts_remover_events = {.said = hosts_remover_said,
                                                             .ended = hosts_removed};

static bool hosts_used(const struct live *l, uint32_t host)
{
    const struct run_deal *deal = &hosts_of(l)->deal;

    for (uint32_t i = 0; i < l->f->servers_count; i++) {
        if (deal->servers[i] == host && l->servers[i].lives > 0) {
            return true;
        }
    }
    for (uint32_t i = 0; i < l->f->workers; i++) {
        if (deal->workers[i] == host && l->workers[i].lives > 0) {
            return true;
        }
    }
    return false;
}

static void hosts_remove(struct live *l, uint32_t host)
{
    struct hosts_remover *r = &hosts_of(l)->removers[host];
    char dir[LIVE_PATH_BYTES], log[LIVE_PATH_BYTES + LIMIT_NAME_BYTES];
    const struct run_parcel p = {.kind = RUN_PARCEL_REMOVE, .dir = dir};
    enum err rc;

    *r = (struct hosts_remover){.live = l, .host = &l->options.hosts->items[host]};
    (void)snprintf(dir, sizeof(dir), "%s/%s", r->host->dir, hosts_of(l)->folder);
    (void)snprintf(log, sizeof(log), "%s/host-%s.log", l->options.dir, r->host->name);
    rc = run_child_init(&r->child, l->loop, log, &hosts_remover_events, r);
    if (rc == OK) {
        rc = hosts_start(l, r->host, &r->child);
    }
    if (rc == OK) {
        hosts_of(l)->removing++;
        rc = hosts_tell(&r->child, &p);
    }
    if (rc != OK) {
        live_event(l, "notice", "", "%s stays on host %s: %s", dir, r->host->name, err_string(rc));
        run_child_signal(&r->child, SIGKILL);
    }
}

static void hosts_end(struct live *l)
{
    struct hosts *g = hosts_of(l);
    bool keeps = l->f->checkpoint.every > 0 && !l->options.tidy;

    loop_timer_stop(&g->still);
    for (uint32_t i = 0; i < l->options.hosts->count; i++) {
        const struct run_host *host = &l->options.hosts->items[i];

        if (hosts_used(l, i) && keeps) {
            live_event(l, "kept", "", "checkpoints are on host %s in %s/%s", host->name, host->dir,
                       g->folder);
        } else if (hosts_used(l, i)) {
            hosts_remove(l, i);
        }
    }
    if (g->removing == 0) {
        live_ground_over(l);
    }
}

static json_t *hosts_describe(const struct live *l)
{
    const struct hosts *g = hosts_of(l);
    json_t *hosts = json_array();

    for (uint32_t i = 0; i < l->options.hosts->count; i++) {
        const struct run_host *host = &l->options.hosts->items[i];
        json_t *members = json_array();

        for (uint32_t k = 0; k < l->f->servers_count; k++) {
            if (g->deal.servers[k] == i) {
                (void)json_array_append_new(members, json_string(l->servers[k].name));
            }
        }
        for (uint32_t k = 0; k < l->f->workers; k++) {
            if (g->deal.workers[k] == i) {
                (void)json_array_append_new(members, json_string(l->workers[k].name));
            }
        }
        (void)json_array_append_new(hosts, json_pack("{s:s, s:s, s:s, s:o}", "name", host->name,
                                                     "region", host->region, "address",
                                                     host->address, "members", members));
    }
    return json_pack("{s:b, s:o}", "encrypted", (int)(g->badges != NULL), "hosts", hosts);
}

static void hosts_close(struct live *l)
{
    struct hosts *g = hosts_of(l);

    if (g == NULL) {
        return;
    }
    for (uint32_t i = 0; g->removers != NULL && i < l->options.hosts->count; i++) {
        if (g->removers[i].live != NULL) {
            run_child_release(&g->removers[i].child);
        }
    }
    loop_timer_deinit(&g->still);
    run_badges_destroy(g->badges);
    run_deal_free(&g->deal);
    mem_free(g->removers);
    mem_free(g->held);
    mem_free(g);
}

#define HOSTS_FUNCTIONS                                                                            \
    .open = hosts_open, .begin = hosts_begin, .port = hosts_port, .place = hosts_place,            \
    .before = hosts_before, .options = hosts_options, .launch = hosts_launch, .said = hosts_said,  \
    .ended = hosts_ended, .signal = hosts_signal, .end = hosts_end, .describe = hosts_describe,    \
    .close = hosts_close

const struct live_ground live_ground_hosts = {
    .name = "hosts", .about = "on other machines, over the links that there are", HOSTS_FUNCTIONS};

const struct live_ground live_ground_slurm = {
    .name = "slurm", .about = "on the nodes of this job", HOSTS_FUNCTIONS};
