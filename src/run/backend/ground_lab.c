/* Network namespaces as the ground of a run: every member has a host of its own in a lab (docs/
 * LAB.md) that lives as long as the run. The lab's keeper is a child of ours: if it goes, or we do,
 * all of it is gone. */

#include "base/mem.h"
#include "base/units.h"
#include "run/live/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAB_PORT = 7400, LAB_NS_BYTES = 64, LAB_HOSTS_MAX = 250, LAB_ORDER_BYTES = 256 };

struct lab_backend_host {
    char address[64];
    char ns[LAB_NS_BYTES]; /* The way in. */
};

/* A fault that ends by an order. */
struct lab_heal {
    struct live *live;
    char order[LAB_ORDER_BYTES];
    struct loop_timer timer;
};

struct lab_ground {
    struct run_child keeper;
    struct lab_backend_host *hosts; /* Of servers, then of workers. */
    uint32_t *counts;               /* By region. */
    struct lab_heal *heals;
    uint32_t heals_count;
    uint32_t heals_room;
    json_t *notes;
    json_t *status; /* What it said last; NULL: nothing. */
    char error[ERR_TEXT_BYTES];
    bool ready;
};

static struct lab_ground *lab_of(const struct live *l)
{
    return l->ground_state;
}

static const char *lab_region(const struct live *l, uint32_t region)
{
    return topo_region_at(l->f->topo, region)->name;
}

static uint32_t lab_members(const struct live *l)
{
    return l->f->servers_count + l->f->workers;
}

static const struct live_member *lab_member(const struct live *l, uint32_t i)
{
    return i < l->f->servers_count ? &l->servers[i] : &l->workers[i - l->f->servers_count];
}

static struct lab_backend_host *lab_host_of(const struct live_member *m)
{
    const struct live *l = m->live;

    return &lab_of(l)->hosts[m->server ? m->number : l->f->servers_count + m->number];
}

/* The keeper. */

static void lab_take_host(struct live *l, const json_t *host)
{
    const char *region = json_string_value(json_object_get(host, "region"));
    const char *address = json_string_value(json_object_get(host, "address"));
    const char *ns = json_string_value(json_object_get(host, "ns"));
    json_int_t index = json_integer_value(json_object_get(host, "index"));
    struct lab_ground *g = lab_of(l);

    for (uint32_t i = 0; i < lab_members(l) && region != NULL; i++) {
        const struct live_member *m = lab_member(l, i);

        if (strcmp(lab_region(l, m->region), region) == 0 && index-- == 0 && address != NULL &&
            ns != NULL) {
            (void)snprintf(g->hosts[i].address, sizeof(g->hosts[i].address), "%s", address);
            (void)snprintf(g->hosts[i].ns, sizeof(g->hosts[i].ns), "%s", ns);
        }
    }
}

static void lab_is_ready(struct live *l, const json_t *news)
{
    struct lab_ground *g = lab_of(l);
    const json_t *hosts = json_object_get(news, "hosts");
    json_t *notes = json_object_get(news, "notes");

    for (size_t i = 0; i < json_array_size(hosts); i++) {
        lab_take_host(l, json_array_get(hosts, i));
    }
    for (uint32_t i = 0; i < lab_members(l); i++) {
        if (g->hosts[i].ns[0] == '\0') {
            live_fail(l, "the lab has no host for %s", lab_member(l, i)->name);
            return;
        }
    }
    g->notes = json_incref(notes);
    for (size_t i = 0; i < json_array_size(notes); i++) {
        live_event(l, "note", "lab", "%s", json_string_value(json_array_get(notes, i)));
    }
    g->ready = true;
    live_ground_ready(l);
}

static void lab_said(struct run_child *c, const json_t *news, void *user)
{
    struct live *l = user;
    struct lab_ground *g = lab_of(l);
    const char *event = json_string_value(json_object_get(news, "event"));

    (void)c;
    if (event == NULL) {
        return;
    }
    if (strcmp(event, "ready") == 0 && l->phase == LIVE_STARTING) {
        lab_is_ready(l, news);
    } else if (strcmp(event, "status") == 0) {
        json_decref(g->status);
        g->status = json_incref((json_t *)(uintptr_t)news);
    } else if (strcmp(event, "error") == 0) {
        const char *text = json_string_value(json_object_get(news, "text"));

        (void)snprintf(g->error, sizeof(g->error), "%s", text == NULL ? "" : text);
        if (g->ready) {
            live_event(l, "notice", "lab", "%s", g->error);
        }
    }
}

static void lab_ended(struct run_child *c, int64_t status, int signum, void *user)
{
    struct live *l = user;
    struct lab_ground *g = lab_of(l);
    char words[320];

    if (l->phase >= LIVE_ENDING) {
        live_ground_over(l);
        return;
    }
    run_child_last_words(c, words, sizeof(words));
    if (!g->ready && status == LIVE_REFUSED) {
        l->result->base.refused = true;
    }
    if (g->error[0] != '\0' || signum == 0) {
        live_fail(l, "the lab ended with status %" PRId64 ": %s", status,
                  g->error[0] != '\0' ? g->error : words);
    } else {
        live_fail(l, "the lab was ended by signal %d", signum);
    }
}

static const struct run_child_events lab_events = {.said = lab_said, .ended = lab_ended};

static enum err lab_open(struct live *l, struct err_text *text)
{
    struct lab_ground *g = mem_zalloc(sizeof(*g));
    char log[LIVE_PATH_BYTES];

    l->ground_state = g;
    if (g == NULL) {
        return ERR_NOMEM;
    }
    g->hosts = mem_calloc(lab_members(l), sizeof(*g->hosts));
    g->counts = mem_calloc(topo_regions(l->f->topo), sizeof(*g->counts));
    g->heals = mem_calloc(l->f->faults_count + 1, sizeof(*g->heals));
    g->heals_room = l->f->faults_count;
    (void)snprintf(log, sizeof(log), "%s/lab.log", l->options.dir);
    if (run_child_init(&g->keeper, l->loop, log, &lab_events, l) != OK || g->hosts == NULL ||
        g->counts == NULL || g->heals == NULL) {
        return ERR_NOMEM;
    }
    for (uint32_t i = 0; i < lab_members(l); i++) {
        uint32_t region = lab_member(l, i)->region;

        if (++g->counts[region] > LAB_HOSTS_MAX) {
            return err_text_set(text, ERR_INVALID,
                                "more than %d members in region %s: a lab has no more hosts in one",
                                LAB_HOSTS_MAX, lab_region(l, region));
        }
    }
    return OK;
}

/* What the lab is to be, as one line. */
static enum err lab_describe_wanted(const struct live *l, char **line_out)
{
    const struct lab_ground *g = lab_of(l);
    json_t *hosts = json_array();
    json_t *wanted = NULL;
    struct units_text card;
    struct text text;
    enum err rc = text_init(&text, TOPO_PRINT_BYTES_MAX);

    for (uint32_t i = 0; i < topo_regions(l->f->topo); i++) {
        (void)json_array_append_new(hosts, json_integer(g->counts[i] > 0 ? g->counts[i] : 1));
    }
    if (rc == OK) {
        topo_print(l->f->topo, 0, &text);
        wanted = json_pack("{s:o, s:O}", "topology",
                           text.failed ? NULL : json_loadb(text.chars, text.size, 0, NULL), "hosts",
                           hosts);
        text_deinit(&text);
    }
    if (l->f->links.card != NULL) {
        (void)json_object_set_new(wanted, "card",
                                  json_string(units_rate_print(l->f->links.card_rate, &card)));
    }
    *line_out = wanted == NULL ? NULL : json_dumps(wanted, JSON_COMPACT);
    json_decref(wanted);
    json_decref(hosts);
    return *line_out == NULL ? ERR_NOMEM : OK;
}

static enum err lab_start(struct live *l)
{
    struct lab_ground *g = lab_of(l);
    struct live_args args = {.count = 0};
    char *line = NULL;
    enum err rc = lab_describe_wanted(l, &line);

    live_args_tie(l, &args);
    live_args_add(&args, "lab");
    live_args_add(&args, "keep");
    live_args_add(&args, "--json");
    live_args_add(&args, "--no-color");
    if (rc == OK) {
        rc = args.failed ? ERR_NOMEM
                         : run_child_start(&g->keeper, (const char *const *)args.items, true);
    }
    if (rc == OK) {
        rc = run_child_tell(&g->keeper, line);
    }
    live_args_free(&args);
    free(line);
    return rc;
}

static void lab_begin(struct live *l)
{
    enum err rc = OK;

    if (lab_of(l)->ready) {
        live_ground_ready(l);
        return;
    }
    rc = run_child_runs(&lab_of(l)->keeper) ? OK : lab_start(l);
    if (rc != OK) {
        live_fail(l, "the lab cannot be started: %s", err_string(rc));
    }
}

/* Members. */

static void lab_place(const struct live_member *m, uint32_t lane, struct net_address *out)
{
    *out = (struct net_address){.scheme = NET_SCHEME_TCP};
    (void)snprintf(out->host, sizeof(out->host), "%s", lab_host_of(m)->address);
    (void)snprintf(out->port, sizeof(out->port), "%u", (LAB_PORT + lane) & 0xffff);
}

static void lab_before(const struct live_member *m, struct live_args *args)
{
    live_args_tie(m->live, args);
    live_args_add(args, "lab");
    live_args_add(args, "enter");
    live_args_add(args, "%s", lab_host_of(m)->ns);
    live_args_add(args, "--");
    live_args_add(args, "%s", m->live->options.program);
}

static void lab_options(const struct live_member *m, struct live_args *args)
{
    if (m->server) {
        live_args_add(args, "--listen");
        live_args_add(args, "tcp://%s:%d", lab_host_of(m)->address, LAB_PORT);
    }
    live_args_add(args, "--insecure");
    live_args_add(args, "--insecure");
}

/* Faults. */

static void lab_heals(struct loop_timer *timer, void *user)
{
    const struct lab_heal *h = user;

    (void)timer;
    if (run_child_tell(&lab_of(h->live)->keeper, h->order) != OK) {
        live_event(h->live, "notice", "lab", "no memory to say: %s", h->order);
    }
}

/* The order, and the one that ends it; false: the lab knows no such fault. */
static bool lab_orders(const struct live *l, const struct sim_scenario_action *a, char *begin,
                       char *end)
{
    const struct topo_link *link = topo_link_between(l->f->topo, a->from, a->to);
    const char *from = lab_region(l, a->from), *to = lab_region(l, a->to);
    const char *way = a->kind == SIM_FAULT_CUT_ONE ? " there" : "";

    switch (a->kind) {
    case SIM_FAULT_CUT:
    case SIM_FAULT_CUT_ONE:
        (void)snprintf(begin, LAB_ORDER_BYTES, "cut %s %s%s", from, to, way);
        (void)snprintf(end, LAB_ORDER_BYTES, "heal %s %s%s", from, to, way);
        return true;
    case SIM_FAULT_SLOW:
        (void)snprintf(begin, LAB_ORDER_BYTES, "set %s %s there rate=%.0fbit", from, to,
                       (double)link->bytes_per_s * 8 * (double)a->amount * 1e-6);
        (void)snprintf(end, LAB_ORDER_BYTES, "set %s %s there rate=%" PRIu64 "bit", from, to,
                       link->bytes_per_s * 8);
        return true;
    case SIM_FAULT_SPIKE:
        (void)snprintf(begin, LAB_ORDER_BYTES, "set %s %s there delay=%" PRId64 "us", from, to,
                       (link->delay_ns + a->amount) / 1000);
        (void)snprintf(end, LAB_ORDER_BYTES, "set %s %s there delay=%" PRId64 "us", from, to,
                       link->delay_ns / 1000);
        return true;
    case SIM_FAULT_LOSS:
        (void)snprintf(begin, LAB_ORDER_BYTES, "set %s %s there loss=%.4f%%", from, to,
                       (double)a->amount * 1e-4);
        (void)snprintf(end, LAB_ORDER_BYTES, "set %s %s there loss=%.4f%%", from, to,
                       (double)link->loss_ppm * 1e-4);
        return true;
    default:
        return false;
    }
}

static bool lab_fault(struct live *l, const struct sim_scenario_action *a)
{
    struct lab_ground *g = lab_of(l);
    struct lab_heal *h = &g->heals[g->heals_count];
    char order[LAB_ORDER_BYTES];

    if (sim_fault_target(a->kind) != SIM_TARGET_LINK || g->heals_count == g->heals_room ||
        !lab_orders(l, a, order, h->order)) {
        return false;
    }
    h->live = l;
    if (run_child_tell(&g->keeper, order) != OK ||
        loop_timer_init(&h->timer, l->loop, lab_heals, h) != OK) {
        return false;
    }
    g->heals_count++;
    loop_timer_start_in(&h->timer, a->duration_ns);
    return true;
}

/* The end. */

static void lab_end(struct live *l)
{
    run_child_hush(&lab_of(l)->keeper);
    if (!run_child_runs(&lab_of(l)->keeper)) {
        live_ground_over(l);
    }
}

static json_t *lab_describe(const struct live *l)
{
    const struct lab_ground *g = lab_of(l);
    json_t *out = g->status == NULL ? json_object() : json_deep_copy(g->status);

    (void)json_object_del(out, "event");
    (void)json_object_del(out, "schema");
    (void)json_object_set_new(out, "emulated_by", json_string("lab"));
    (void)json_object_set(out, "notes", g->notes);
    return out;
}

static void lab_close(struct live *l)
{
    struct lab_ground *g = lab_of(l);

    if (g == NULL) {
        return;
    }
    for (uint32_t i = 0; i < g->heals_count; i++) {
        loop_timer_deinit(&g->heals[i].timer);
    }
    run_child_release(&g->keeper);
    json_decref(g->notes);
    json_decref(g->status);
    mem_free(g->heals);
    mem_free(g->counts);
    mem_free(g->hosts);
    mem_free(g);
}

const struct live_ground live_ground_lab = {
    .name = "lab",
    .about = "each in its own network namespace, with emulated links",
    .apart = true,
    .has_cards = true,
    .has_background = true,
    .open = lab_open,
    .begin = lab_begin,
    .place = lab_place,
    .before = lab_before,
    .options = lab_options,
    .fault = lab_fault,
    .end = lab_end,
    .describe = lab_describe,
    .close = lab_close,
};
