/* This machine as the ground of a run: members on loopback, in the clear, and between any two
 * regions a process that carries what they say to each other as the link of the topology would
 * (`strait proxy`).
 *
 *     worker in region 2 --dials--> 127.3.1.1:P  proxy of the link 0-2  --> 127.0.0.1:P  server
 *
 * A server in region b listens at 127.0.0.1, and whoever dials it from region a is sent to
 * 127.(a+1).(b+1).1 by its detours (net/detour.h), where the proxy of the link between a and b is
 * at the same port, or nobody, if the two are not joined. */

#include "base/fd.h"
#include "base/mem.h"
#include "run/live/state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    LOCAL_STATUS_MS = 200,
    LOCAL_WORDS_BYTES = 320,
    LOCAL_LINK_BYTES = 2 * TOPO_NAME_BYTES, /* The name of one. */
    LOCAL_FAULTS_MAX = 16,
};

/* A fault of a link, and when it is over. */
struct local_fault {
    struct sim_scenario_action action;
    int64_t until_ns; /* Zero: none. */
};

/* The link between two regions, and the process that is it. */
struct local_link {
    struct live *live;
    uint32_t near;
    uint32_t far;
    struct run_child child;
    bool ready;
    bool bound; /* It was ready once. */
    int64_t started_ns;
    uint32_t quick;                              /* Deaths in a row soon after the start. */
    struct loop_timer timer;                     /* Until it is started again. */
    struct local_fault faults[LOCAL_FAULTS_MAX]; /* In force: a new process is told of them. */
    uint64_t there_before;                       /* Bytes by former processes, */
    uint64_t back_before;
    uint64_t there; /* and by all, from near to far, and back. */
    uint64_t back;
    json_t *status; /* What it said last; NULL: nothing. */
};

struct local {
    struct local_link *links;
    uint32_t count;
    bool again;       /* Those that run are ending: then all begin anew. */
    bool said;        /* The run was told that all are ready. */
    struct text text; /* For files that are written. */
};

static struct local *local_of(const struct live *l)
{
    return l->ground_state;
}

/* Files. */

static void local_path(const struct live *l, const char *what, const char *name, char *out,
                       size_t size)
{
    (void)snprintf(out, size, "%s/%s-%s.txt", l->options.dir, what, name);
}

static void local_link_name(const struct local_link *k, char out[LOCAL_LINK_BYTES])
{
    const struct topo *t = k->live->f->topo;

    (void)snprintf(out, LOCAL_LINK_BYTES, "%s-%s", topo_region_at(t, k->near)->name,
                   topo_region_at(t, k->far)->name);
}

static enum err local_write(struct live *l, const char *path)
{
    struct text *text = &local_of(l)->text;
    bool good;
    int fd = text->failed ? -1 : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

    if (fd < 0) {
        return text->failed ? ERR_NOMEM : ERR_IO;
    }
    good = fd_write_all(fd, text->chars, text->size);
    return close(fd) == 0 && good ? OK : ERR_IO;
}

/* Where members of region @from find those of @to. */
static void local_host(uint32_t from, uint32_t to, char out[16])
{
    (void)snprintf(out, 16, "127.%u.%u.1", (from + 1) & 0xff, (to + 1) & 0xff);
}

/* Each port of each server in region @to, for those in region @from: a line. */
static void local_add_lines(struct live *l, uint32_t from, uint32_t to, const char *way)
{
    struct text *text = &local_of(l)->text;
    char host[16];

    local_host(from, to, host);
    for (uint32_t i = 0; i < l->f->servers_count; i++) {
        const struct live_member *s = &l->servers[i];

        for (uint32_t k = 0; s->region == to && k < l->f->servers[i].lanes; k++) {
            unsigned port = (s->port + k) & 0xffff;

            if (way == NULL) {
                text_addf(text, "tcp://127.0.0.1:%u tcp://%s:%u\n", port, host, port);
            } else {
                text_addf(text, "%s:%s:%u=127.0.0.1:%u\n", way, host, port, port);
            }
        }
    }
}

static enum err local_write_detours(struct live *l, uint32_t region)
{
    char path[LIVE_PATH_BYTES + TOPO_NAME_BYTES];

    local_of(l)->text.size = 0;
    for (uint32_t to = 0; to < topo_regions(l->f->topo); to++) {
        if (to != region) {
            local_add_lines(l, region, to, NULL);
        }
    }
    local_path(l, "detours", topo_region_at(l->f->topo, region)->name, path, sizeof(path));
    return local_write(l, path);
}

static enum err local_write_routes(struct local_link *k)
{
    char path[LIVE_PATH_BYTES + LOCAL_LINK_BYTES], name[LOCAL_LINK_BYTES];

    local_of(k->live)->text.size = 0;
    local_add_lines(k->live, k->near, k->far, "there");
    local_add_lines(k->live, k->far, k->near, "back");
    local_link_name(k, name);
    local_path(k->live, "routes", name, path, sizeof(path));
    return local_write(k->live, path);
}

static enum err local_write_files(struct live *l)
{
    struct local *g = local_of(l);
    enum err rc = OK;

    for (uint32_t i = 0; i < topo_regions(l->f->topo) && rc == OK; i++) {
        rc = local_write_detours(l, i);
    }
    for (uint32_t i = 0; i < g->count && rc == OK; i++) {
        rc = local_write_routes(&g->links[i]);
    }
    return rc;
}

/* Links. */

static bool local_any(const struct local *g)
{
    for (uint32_t i = 0; i < g->count; i++) {
        if (run_child_runs(&g->links[i].child)) {
            return true;
        }
    }
    return false;
}

static void local_shape(struct live_args *a, const struct topo_link *link, const char *way)
{
    live_args_add(a, "--%srate", way);
    live_args_add(a, "%" PRIu64 "bit", link->bytes_per_s * 8);
    live_args_add(a, "--%sdelay", way);
    live_args_add(a, "%" PRId64 "us", link->delay_ns / 1000);
    live_args_add(a, "--%sjitter", way);
    live_args_add(a, "%" PRId64 "us", link->jitter_ns / 1000);
    if (link->stream_bytes_per_s > 0) {
        live_args_add(a, "--%sstream-rate", way);
        live_args_add(a, "%" PRIu64 "bit", link->stream_bytes_per_s * 8);
    }
    if (link->priced) {
        live_args_add(a, "--%sprice", way);
        live_args_add(a, "%.9f", (double)link->price_nusd_per_gb * 1e-9);
    }
}

static enum err local_start_link(struct local_link *k)
{
    const struct topo *t = k->live->f->topo;
    char path[LIVE_PATH_BYTES + LOCAL_LINK_BYTES], name[LOCAL_LINK_BYTES];
    struct live_args args = {.count = 0};
    enum err rc = ERR_NOMEM;

    local_link_name(k, name);
    local_path(k->live, "routes", name, path, sizeof(path));
    live_args_tie(k->live, &args);
    live_args_add(&args, "proxy");
    live_args_add(&args, "--routes");
    live_args_add(&args, "%s", path);
    local_shape(&args, topo_link_between(t, k->near, k->far), "");
    local_shape(&args, topo_link_between(t, k->far, k->near), "back-");
    live_args_add(&args, "--seed");
    live_args_add(&args, "%" PRIu64, k->live->f->seed % INT32_MAX);
    live_args_add(&args, "--every");
    live_args_add(&args, "%dms", LOCAL_STATUS_MS);
    live_args_add(&args, "--json");
    live_args_add(&args, "--no-color");
    if (!args.failed) {
        k->ready = false;
        k->started_ns = loop_now_ns(k->live->loop);
        rc = run_child_start(&k->child, (const char *const *)args.items, true);
    }
    live_args_free(&args);
    return rc;
}

static void local_start_or_fail(struct local_link *k)
{
    enum err rc = local_start_link(k);
    char name[LOCAL_LINK_BYTES];

    if (rc != OK) {
        local_link_name(k, name);
        live_fail(k->live, "the link %s cannot be started: %s", name, err_string(rc));
    }
}

static void local_begin_links(struct live *l)
{
    struct local *g = local_of(l);
    enum err rc = local_write_files(l);

    if (rc != OK) {
        live_fail(l, "%s: what is between regions cannot be written: %s", l->options.dir,
                  rc == ERR_IO ? strerror(errno) : err_string(rc));
        return;
    }
    for (uint32_t i = 0; i < g->count && l->phase == LIVE_STARTING; i++) {
        local_start_or_fail(&g->links[i]);
    }
    if (g->count == 0) {
        live_ground_ready(l);
    }
}

static void local_begin(struct live *l)
{
    struct local *g = local_of(l);

    g->said = false;
    for (uint32_t i = 0; i < g->count; i++) {
        loop_timer_stop(&g->links[i].timer);
    }
    if (!local_any(g)) {
        local_begin_links(l);
        return;
    }
    g->again = true;
    for (uint32_t i = 0; i < g->count; i++) {
        run_child_signal(&g->links[i].child, SIGKILL);
    }
}

/* What the link is told; false: it knows no such fault. */
static bool local_order(const struct local_link *k, const struct sim_scenario_action *a, char *out,
                        size_t size)
{
    const struct topo_link *link = topo_link_between(k->live->f->topo, a->from, a->to);
    const char *way = k->near == a->from ? "there" : "back";
    int64_t us = a->duration_ns / 1000;

    switch (a->kind) {
    case SIM_FAULT_CUT:
        (void)snprintf(out, size, "cut for %" PRId64 "us", us);
        return true;
    case SIM_FAULT_CUT_ONE:
        (void)snprintf(out, size, "cut %s for %" PRId64 "us", way, us);
        return true;
    case SIM_FAULT_SLOW:
        (void)snprintf(out, size, "rate %.0fbit %s for %" PRId64 "us",
                       (double)link->bytes_per_s * 8 * (double)a->amount * 1e-6, way, us);
        return true;
    case SIM_FAULT_SPIKE:
        (void)snprintf(out, size, "delay %" PRId64 "us %s for %" PRId64 "us",
                       (link->delay_ns + a->amount) / 1000, way, us);
        return true;
    default:
        return false;
    }
}

/* Tell a new process of the faults that are in force, for as long as they still are. */
static void local_tell_faults(struct local_link *k)
{
    int64_t now_ns = loop_now_ns(k->live->loop);

    for (size_t i = 0; i < LOCAL_FAULTS_MAX; i++) {
        struct sim_scenario_action rest = k->faults[i].action;
        char order[128];

        rest.duration_ns = k->faults[i].until_ns - now_ns;
        if (rest.duration_ns > 0 && local_order(k, &rest, order, sizeof(order)) &&
            run_child_tell(&k->child, order) != OK) {
            live_fail(k->live, "out of memory");
        }
    }
}

static void local_link_ready(struct local_link *k)
{
    struct local *g = local_of(k->live);

    k->ready = true;
    if (k->bound) {
        char name[LOCAL_LINK_BYTES];

        local_link_name(k, name);
        live_event(k->live, "back", name, "carries again");
        local_tell_faults(k);
    }
    k->bound = true;
    for (uint32_t i = 0; i < g->count; i++) {
        if (!g->links[i].ready) {
            return;
        }
    }
    if (!g->again && !g->said && k->live->phase == LIVE_STARTING) {
        g->said = true;
        live_ground_ready(k->live);
    }
}

static uint64_t local_bytes(const json_t *news, const char *way)
{
    json_int_t bytes =
        json_integer_value(json_object_get(json_object_get(news, way), "accepted_bytes"));

    return bytes < 0 ? 0 : (uint64_t)bytes;
}

static void local_said(struct run_child *c, const json_t *news, void *user)
{
    struct local_link *k = user;
    const char *event = json_string_value(json_object_get(news, "event"));

    (void)c;
    if (event != NULL && strcmp(event, "ready") == 0) {
        local_link_ready(k);
    } else if (event != NULL && strcmp(event, "status") == 0) {
        k->there = k->there_before + local_bytes(news, "there");
        k->back = k->back_before + local_bytes(news, "back");
        json_decref(k->status);
        k->status = json_incref((json_t *)(uintptr_t)news);
    }
}

/* Start it again after a moment, on the same ports. */
static void local_again(struct local_link *k)
{
    k->ready = false;
    k->there_before = k->there;
    k->back_before = k->back;
    loop_timer_start_in(&k->timer, (int64_t)LIVE_AGAIN_MS * 1000000);
}

static void local_timer(struct loop_timer *timer, void *user)
{
    struct local_link *k = user;

    (void)timer;
    if (!run_child_runs(&k->child) && k->live->phase < LIVE_ENDING) {
        k->live->result->restarts += k->bound;
        local_start_or_fail(k);
    }
}

/* Killed by somebody: it is started again, as members are. */
static void local_link_killed(struct local_link *k, const char *name, int signum)
{
    struct live *l = k->live;
    bool quick = loop_now_ns(l->loop) - k->started_ns < (int64_t)LIVE_QUICK_MS * 1000000;

    l->result->kills++;
    k->quick = quick ? k->quick + 1 : 0;
    live_event(l, "killed", name, "by signal %d", signum);
    if (k->quick >= LIVE_QUICK_MAX) {
        live_fail(l, "the link %s was killed %u times in a row, by signal %d at last", name,
                  k->quick, signum);
        return;
    }
    local_again(k);
}

static void local_link_lost(struct local_link *k, int64_t status, int signum)
{
    struct live *l = k->live;
    char words[LOCAL_WORDS_BYTES], name[LOCAL_LINK_BYTES];
    bool in_use;

    local_link_name(k, name);
    if (signum != 0) {
        local_link_killed(k, name, signum);
        return;
    }
    run_child_last_words(&k->child, words, sizeof(words));
    in_use = !k->ready && strstr(words, "in use") != NULL;
    if (in_use && l->phase == LIVE_STARTING && live_move(l, NULL)) {
        return;
    }
    if (in_use && l->phase > LIVE_STARTING && k->quick < LIVE_PORT_TRIES) {
        k->quick++; /* A port that was its own may be taken for a moment. */
        local_again(k);
        return;
    }
    live_fail(l, "the link %s ended with status %" PRId64 "%s%s", name, status,
              words[0] == '\0' ? "" : ": ", words);
}

static void local_ended(struct run_child *c, int64_t status, int signum, void *user)
{
    struct local_link *k = user;
    struct local *g = local_of(k->live);

    (void)c;
    if (k->live->phase == LIVE_ENDING && !local_any(g)) {
        live_ground_over(k->live);
    } else if (g->again && !local_any(g)) {
        g->again = false;
        local_begin_links(k->live);
    } else if (!g->again && k->live->phase < LIVE_ENDING) {
        local_link_lost(k, status, signum);
    }
}

static const struct run_child_events local_events = {.said = local_said, .ended = local_ended};

/* One that somebody dials into. */
static bool local_served(const struct live *l, uint32_t region)
{
    for (uint32_t i = 0; i < l->f->servers_count; i++) {
        if (l->f->servers[i].region == region) {
            return true;
        }
    }
    return false;
}

/* A region that somebody is in. */
static bool local_peopled(const struct live *l, uint32_t region)
{
    for (uint32_t i = 0; i < l->f->groups_count; i++) {
        if (l->f->groups[i].region == region) {
            return true;
        }
    }
    return local_served(l, region);
}

static enum err local_open_link(struct live *l, uint32_t near, uint32_t far)
{
    struct local *g = local_of(l);
    struct local_link *k = &g->links[g->count];
    char name[LOCAL_LINK_BYTES], log[LIVE_PATH_BYTES + LOCAL_LINK_BYTES];
    enum err rc;

    *k = (struct local_link){.live = l, .near = near, .far = far};
    local_link_name(k, name);
    (void)snprintf(log, sizeof(log), "%s/link-%s.log", l->options.dir, name);
    g->count++;
    rc = loop_timer_init(&k->timer, l->loop, local_timer, k);
    return rc == OK ? run_child_init(&k->child, l->loop, log, &local_events, k) : rc;
}

static enum err local_open(struct live *l, struct err_text *text)
{
    uint32_t n = topo_regions(l->f->topo);
    struct local *g = mem_zalloc(sizeof(*g));
    enum err rc = g == NULL ? ERR_NOMEM : text_init(&g->text, RUN_FILE_BYTES_MAX);

    (void)text;
    l->ground_state = g;
    if (rc == OK) {
        g->links = mem_calloc((size_t)n * n / 2 + 1, sizeof(*g->links));
        rc = g->links == NULL ? ERR_NOMEM : OK;
    }
    for (uint32_t i = 0; i < n && rc == OK; i++) {
        for (uint32_t k = i + 1; k < n && rc == OK; k++) {
            if (local_peopled(l, i) && local_peopled(l, k) &&
                (local_served(l, i) || local_served(l, k)) &&
                topo_link_between(l->f->topo, i, k) != NULL &&
                topo_link_between(l->f->topo, k, i) != NULL) {
                rc = local_open_link(l, i, k);
            }
        }
    }
    return rc;
}

/* Members. */

static void local_place(const struct live_member *m, uint32_t lane, struct net_address *out)
{
    *out = (struct net_address){.scheme = NET_SCHEME_TCP};
    (void)snprintf(out->host, sizeof(out->host), "127.0.0.1");
    (void)snprintf(out->port, sizeof(out->port), "%u", (m->port + lane) & 0xffff);
}

static void local_before(const struct live_member *m, struct live_args *args)
{
    live_args_tie(m->live, args);
}

static void local_options(const struct live_member *m, struct live_args *args)
{
    const char *region = topo_region_at(m->live->f->topo, m->region)->name;
    char path[LIVE_PATH_BYTES + TOPO_NAME_BYTES];

    if (m->server) {
        live_args_add(args, "--listen");
        live_args_add(args, "tcp://127.0.0.1:%u", m->port);
    }
    if (local_of(m->live)->count > 0) {
        local_path(m->live, "detours", region, path, sizeof(path));
        live_args_add(args, "--detours");
        live_args_add(args, "%s", path);
    }
    live_args_add(args, "--insecure");
}

/* Faults. */

static struct local_link *local_find(const struct live *l, uint32_t a, uint32_t b)
{
    struct local *g = local_of(l);

    for (uint32_t i = 0; i < g->count; i++) {
        struct local_link *k = &g->links[i];

        if ((k->near == a && k->far == b) || (k->near == b && k->far == a)) {
            return k;
        }
    }
    return NULL;
}

/* Remember it, in the place of one that is over. */
static void local_keep_fault(struct local_link *k, const struct sim_scenario_action *a)
{
    int64_t now_ns = loop_now_ns(k->live->loop);

    for (size_t i = 0; i < LOCAL_FAULTS_MAX; i++) {
        if (k->faults[i].until_ns <= now_ns) {
            k->faults[i] = (struct local_fault){.action = *a, .until_ns = now_ns + a->duration_ns};
            return;
        }
    }
}

/* Those of connections hit all that there are. */
static const char *local_order_all(enum sim_fault_kind kind)
{
    return kind == SIM_FAULT_RESET      ? "reset"
           : kind == SIM_FAULT_FLIP     ? "flip 1"
           : kind == SIM_FAULT_FRAGMENT ? "fragments on for 1s"
                                        : NULL;
}

static bool local_fault(struct live *l, const struct sim_scenario_action *a)
{
    struct local *g = local_of(l);
    char order[128];

    if (sim_fault_target(a->kind) == SIM_TARGET_LINK) {
        struct local_link *k = local_find(l, a->from, a->to);

        if (k == NULL || !local_order(k, a, order, sizeof(order))) {
            return false;
        }
        local_keep_fault(k, a);
        return !k->ready || run_child_tell(&k->child, order) == OK;
    }
    if (local_order_all(a->kind) == NULL || g->count == 0) {
        return false;
    }
    for (uint32_t i = 0; i < g->count; i++) {
        if (run_child_tell(&g->links[i].child, local_order_all(a->kind)) != OK) {
            return false;
        }
    }
    return true;
}

/* Looking, and the end. */

static void local_traffic(const struct live *l, struct run_traffic *traffic)
{
    const struct local *g = local_of(l);

    for (uint32_t i = 0; i < g->count; i++) {
        const struct local_link *k = &g->links[i];

        traffic->bytes[k->near * traffic->regions + k->far] = k->there;
        traffic->bytes[k->far * traffic->regions + k->near] = k->back;
    }
}

static void local_end(struct live *l)
{
    struct local *g = local_of(l);

    for (uint32_t i = 0; i < g->count; i++) {
        run_child_hush(&g->links[i].child); /* They say what they carried, and go. */
    }
    if (!local_any(g)) {
        live_ground_over(l);
    }
}

static json_t *local_describe(const struct live *l)
{
    const struct local *g = local_of(l);
    json_t *links = json_array();

    for (uint32_t i = 0; i < g->count; i++) {
        const struct local_link *k = &g->links[i];
        json_t *link = k->status == NULL ? json_object() : json_deep_copy(k->status);

        (void)json_object_del(link, "event");
        (void)json_object_del(link, "schema");
        (void)json_object_set_new(link, "near",
                                  json_string(topo_region_at(l->f->topo, k->near)->name));
        (void)json_object_set_new(link, "far",
                                  json_string(topo_region_at(l->f->topo, k->far)->name));
        (void)json_array_append_new(links, link);
    }
    return json_pack("{s:s, s:o}", "emulated_by", "proxy", "links", links);
}

static void local_close(struct live *l)
{
    struct local *g = local_of(l);

    if (g == NULL) {
        return;
    }
    for (uint32_t i = 0; i < g->count; i++) {
        loop_timer_deinit(&g->links[i].timer);
        run_child_release(&g->links[i].child);
        json_decref(g->links[i].status);
    }
    text_deinit(&g->text);
    mem_free(g->links);
    mem_free(g);
}

const struct live_ground live_ground_local = {
    .only_servers = true,
    .apart = true,
    .name = "local",
    .about = "links between regions are emulated",
    .open = local_open,
    .begin = local_begin,
    .place = local_place,
    .before = local_before,
    .options = local_options,
    .fault = local_fault,
    .traffic = local_traffic,
    .end = local_end,
    .describe = local_describe,
    .close = local_close,
};
