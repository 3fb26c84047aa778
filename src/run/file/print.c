/* Run files as text, complete: every default is spelled out and the topology is inside. */

#include "base/units.h"
#include "run/file/state.h"
#include "sync/mirror.h"

#include <inttypes.h>
#include <math.h>

/* Without quotes where that is the same. */
static void print_word(const char *word, struct text *out)
{
    bool plain = (word[0] >= '0' && word[0] <= '9') || (word[0] >= 'A' && word[0] <= 'Z') ||
                 (word[0] >= 'a' && word[0] <= 'z');

    if (plain && topo_name_valid(word)) {
        text_add(out, word);
    } else {
        text_add_json(out, word);
    }
}

/* As a fraction, if it was one. */
static void print_scale(double scale, struct text *out)
{
    double whole = floor(1 / scale + 0.5);

    if (whole > 1 && 1 / whole == scale) {
        text_addf(out, "1/%.0f", whole);
    } else {
        topo_print_number(scale, out);
    }
}

static void print_links(const struct run_file *f, struct text *out)
{
    const struct run_links *l = &f->links;
    struct units_text rate, delay;

    text_add(out, "links: {scale: ");
    print_scale(l->scale, out);
    text_addf(out, ", machines: %u", l->machines);
    if (l->duplex != topo_duplex(f->map)) {
        text_addf(out, ", duplex: %s", l->duplex == TOPO_DUPLEX_SHARED ? "shared" : "full");
    }
    text_addf(out, ", lan: {rate: %s, delay: %s}", units_rate_print(l->lan.link.bytes_per_s, &rate),
              units_time_print(l->lan.link.delay_ns, &delay));
    if (l->card != NULL) {
        text_addf(out, ", card: %s", units_rate_print(l->card_full, &rate));
    }
    text_add(out, "}\n");
}

static void print_rack(const char *edge, const char *agg, struct text *out)
{
    if (edge != NULL) {
        text_add(out, ", edge: ");
        print_word(edge, out);
    }
    if (agg != NULL) {
        text_add(out, ", agg: ");
        print_word(agg, out);
    }
    text_add(out, "}\n");
}

static void print_servers(const struct run_file *f, struct text *out)
{
    text_add(out, "servers:\n");
    for (uint32_t i = 0; i < f->servers_count; i++) {
        const struct run_server *s = &f->servers[i];

        text_add(out, "  - {name: ");
        print_word(s->name, out);
        text_add(out, ", region: ");
        print_word(s->region_name, out);
        text_addf(out, ", lanes: %u", s->lanes);
        print_rack(s->edge, s->agg, out);
    }
}

static void print_groups(const struct run_file *f, struct text *out)
{
    text_add(out, "workers:\n");
    for (uint32_t i = 0; i < f->groups_count; i++) {
        const struct run_group *g = &f->groups[i];

        text_add(out, "  - {region: ");
        print_word(g->region_name, out);
        text_addf(out, ", count: %u, streams: %u, slowdown: ", g->count, g->streams);
        topo_print_number(g->slowdown, out);
        print_rack(g->edge, g->agg, out);
    }
}

static void print_site(const struct run_file *f, const struct run_site *s, struct text *out)
{
    text_add(out, "  - name: ");
    print_word(s->name, out);
    text_add(out, "\n    region: ");
    print_word(s->region_name, out);
    text_add(out, "\n    servers:\n");
    for (uint32_t i = 0; i < s->servers_count; i++) {
        const struct run_server *server = &f->servers[s->servers_first + i];

        text_add(out, "      - {name: ");
        print_word(server->name, out);
        text_addf(out, ", lanes: %u", server->lanes);
        print_rack(server->edge, server->agg, out);
    }
    text_add(out, "    workers:\n");
    for (uint32_t i = 0; i < s->groups_count; i++) {
        const struct run_group *g = &f->groups[s->groups_first + i];

        text_addf(out, "      - {count: %u, streams: %u, slowdown: ", g->count, g->streams);
        topo_print_number(g->slowdown, out);
        print_rack(g->edge, g->agg, out);
    }
}

static void print_names(const struct run_file *f, const uint32_t *sites, uint32_t count,
                        struct text *out)
{
    text_add(out, "[");
    for (uint32_t i = 0; i < count; i++) {
        text_add(out, i == 0 ? "" : ", ");
        print_word(f->parts[sites[i]].name, out);
    }
    text_add(out, "]");
}

static void print_circle(const struct run_file *f, const struct run_circle *c, struct text *out)
{
    text_add(out, "    - name: ");
    print_word(c->name, out);
    text_add(out, "\n      sites: [");
    for (uint32_t i = 0; i < c->sites_count; i++) {
        text_add(out, i == 0 ? "" : ", ");
        print_word(c->site_names[i], out);
    }
    text_add(out, "]\n      hubs: {");
    for (uint32_t i = 0; i < c->hubs_count; i++) {
        text_add(out, i == 0 ? "" : ", ");
        print_word(f->between.circles[c->hubs[i].to].name, out);
        text_add(out, ": ");
        print_names(f, c->hubs[i].sites, c->hubs[i].count, out);
    }
    text_add(out, "}\n");
}

/* Rounds around a centre have few of the choices. */
static void print_between_central(const struct run_file *f, double factor, struct text *out)
{
    const struct run_between *b = &f->between;
    struct units_text away;

    text_addf(out, "between:\n  preset: %s\n  streams: %u\n  away: %s\n  leave_out: %s\n",
              run_preset_name(b->preset), b->streams, units_time_print(b->away_ns, &away),
              run_leave_out_name(b->leave_out));
    file_print_central(f, factor, out);
}

void file_print_between(const struct run_file *f, double factor, struct text *out)
{
    const struct run_between *b = &f->between;
    char filter[CODEC_FILTER_TEXT_BYTES];
    struct units_text away;

    if (b->preset == RUN_CENTRAL) {
        print_between_central(f, factor, out);
        return;
    }
    codec_filter_print(&b->filter, filter, sizeof(filter));
    text_addf(out, "between:\n  preset: %s\n  significance: ", run_preset_name(b->preset));
    print_word(filter, out);
    if (b->library[0] != '\0') {
        text_add(out, "\n  library: ");
        print_word(b->library, out);
    }
    text_addf(out, "\n  grain: %s\n  threshold: ", codec_grain_name(b->filter.grain));
    topo_print_number(b->threshold, out);
    text_addf(out, "\n  goal: %s\n  staleness: ", run_goal_name(b->goal));
    if (b->staleness == MIRROR_UNBOUNDED) {
        text_add(out, "none");
    } else {
        text_addf(out, "%" PRIu64, b->staleness);
    }
    text_addf(out, "\n  barrier: %s\n  fresh: ", b->barrier ? "true" : "false");
    topo_print_number(b->fresh, out);
    text_addf(out, "\n  weight: %s\n  streams: %u\n  away: %s\n  leave_out: %s\n",
              run_weight_name(b->weight), b->streams, units_time_print(b->away_ns, &away),
              run_leave_out_name(b->leave_out));
    text_add(out, b->circles_count > 0 ? "  groups:\n" : "");
    for (uint32_t i = 0; i < b->circles_count; i++) {
        print_circle(f, &b->circles[i], out);
    }
}

static void print_budget(const struct run_budget *b, struct text *out)
{
    if (b->max_usd > 0 || b->max_gb > 0) {
        text_add(out, "budget: {");
        if (b->max_usd > 0) {
            text_add(out, "max_usd: ");
            topo_print_number(b->max_usd, out);
        }
        if (b->max_gb > 0) {
            text_add(out, b->max_usd > 0 ? ", max_gb: " : "max_gb: ");
            topo_print_number(b->max_gb, out);
        }
        text_add(out, "}\n");
    }
}

static void print_sites(const struct run_file *f, struct text *out)
{
    text_add(out, "sites:\n");
    for (uint32_t i = 0; i < f->parts_count; i++) {
        print_site(f, &f->parts[i], out);
    }
    file_print_between(f, 1, out);
    text_addf(out, "layout: %s\n", run_layout_name(f->layout));
    if (f->lan_region_said || f->layout == RUN_LAN || f->layout == RUN_CENTRALISED) {
        text_add(out, "lan_region: ");
        print_word(f->lan_region, out);
        text_add(out, "\n");
    }
    print_budget(&f->budget, out);
}

static void print_job(const struct run_job *job, struct text *out)
{
    text_addf(out, "job:\n  name: %s\n  data: ", job->name);
    text_add_json(out, job->data);
    if (job->data_gb > 0) {
        text_add(out, "\n  data_gb: ");
        topo_print_number(job->data_gb, out);
    }
    text_add(out, job->options_count > 0 ? "\n  options:\n" : "\n  options: {}\n");
    for (uint32_t i = 0; i < job->options_count; i++) {
        text_add(out, "    ");
        print_word(job->options[i].key, out);
        text_add(out, ": ");
        print_word(job->options[i].value, out);
        text_add(out, "\n");
    }
}

static void print_sync(const struct run_sync *s, struct text *out)
{
    struct units_text deadline;

    text_addf(out, "sync: {barrier: %s", run_barrier_name(s->barrier));
    if (s->barrier == RUN_SSP) {
        text_addf(out, ", staleness: %u", s->staleness);
    }
    text_addf(out, ", delivery: %s, deadline: %s, order: %s", node_delivery_name(s->delivery),
              units_time_print(s->deadline_ns, &deadline), run_order_name(s->order));
    run_sync_print_sparsify(s, out);
    text_add(out, "}\n");
}

static void print_stop(const struct run_stop *s, struct text *out)
{
    const char *comma = "";
    struct units_text time;

    text_add(out, "stop: {");
    if (s->clocks > 0) {
        text_addf(out, "clocks: %" PRIu64, s->clocks);
        comma = ", ";
    }
    if (s->has_objective) {
        text_addf(out, "%sobjective: ", comma);
        topo_print_number(s->objective, out);
        comma = ", ";
    }
    if (s->accuracy > 0) {
        text_addf(out, "%saccuracy: ", comma);
        topo_print_number(s->accuracy, out);
        comma = ", ";
    }
    if (s->converged.clocks > 0) {
        text_addf(out, "%sconverged: {change: ", comma);
        topo_print_number(s->converged.change, out);
        text_addf(out, ", clocks: %u, after: %u}", s->converged.clocks, s->converged.after);
        comma = ", ";
    }
    if (s->time_ns > 0) {
        text_addf(out, "%stime: %s", comma, units_time_print(s->time_ns, &time));
    }
    text_add(out, "}\n");
}

static void print_faults(const struct run_file *f, struct text *out)
{
    text_add(out, f->faults_count > 0 ? "faults:\n" : "faults: []\n");
    for (uint32_t i = 0; i < f->faults_count; i++) {
        text_add(out, "  - ");
        text_add_json(out, f->faults[i].chars);
        text_add(out, "\n");
    }
}

static void print_background(const struct run_background *b, struct text *out)
{
    struct units_text on, off, after, until, rate;

    text_add(out, "  - {name: ");
    print_word(b->name, out);
    text_addf(out, ", flows: %u, on: %s, off: %s, steady: %s, among: %s, after: %s", b->flows,
              units_time_print(b->on_ns, &on), units_time_print(b->off_ns, &off),
              b->steady ? "true" : "false", run_among_name(b->among),
              units_time_print(b->after_ns, &after));
    if (b->rate_full > 0) {
        text_addf(out, ", rate: %s", units_rate_print(b->rate_full, &rate));
    }
    if (b->until_ns > 0) {
        text_addf(out, ", until: %s", units_time_print(b->until_ns, &until));
    }
    text_add(out, "}\n");
}

static void print_backgrounds(const struct run_file *f, struct text *out)
{
    text_add(out, f->backgrounds_count > 0 ? "background:\n" : "");
    for (uint32_t i = 0; i < f->backgrounds_count; i++) {
        print_background(&f->backgrounds[i], out);
    }
}

void run_file_print(const struct run_file *f, struct text *out)
{
    text_add(out, "run: ");
    print_word(f->name, out);
    text_addf(out, "\nseed: %" PRIu64 "\ntopology: ", f->seed);
    topo_print(f->map, 2, out); /* JSON is YAML. */
    text_add(out, "\n");
    print_links(f, out);
    text_addf(out, "shards: %u\n", f->shards);
    if (f->parts_count > 0) {
        print_sites(f, out);
    } else {
        print_servers(f, out);
        print_groups(f, out);
    }
    if (f->machine_said) {
        text_add(out, "machine: ");
        print_word(f->machine, out);
        text_add(out, "\n");
    }
    print_job(&f->job, out);
    print_sync(&f->sync, out);
    text_addf(out, "checkpoint: {every: %u, keep: %u}\n", f->checkpoint.every, f->checkpoint.keep);
    text_addf(out, "evaluate: {every: %u}\n", f->evaluate.every);
    text_addf(out, "state: {every: %u}\n", f->state.every);
    print_stop(&f->stop, out);
    print_faults(f, out);
    print_backgrounds(f, out);
    if (f->compute.time_ns > 0) {
        text_addf(out, "compute: {time: %" PRId64 "ns}\n", f->compute.time_ns);
    } else {
        text_add(out, "compute: {gflops: ");
        topo_print_number(f->compute.gflops, out);
        text_add(out, "}\n");
    }
}
