/* Running scenarios: build the world, let the faults come, judge. */

#include "sim/scenario/scenario.h"

#include "base/mem.h"
#include "sim/scenario/state.h"

#include <stdio.h>
#include <string.h>

enum {
    SCENARIO_QUIET_MS = 1000,      /* Go on so long after everything is done. */
    SCENARIO_FLOWS_PER_HOST = 128, /* Streams both ways, and some that nobody has closed yet. */
    SCENARIO_SEGMENTS_PER_FLOW = 64,
};

static const char scenario_builtin[] = "region eu\n"
                                       "region us\n"
                                       "region ap\n"
                                       "link eu us rate=100mbit delay=40ms jitter=5ms price=0.02\n"
                                       "link eu ap rate=50mbit delay=90ms jitter=10ms price=0.09\n"
                                       "link us ap rate=80mbit delay=70ms jitter=5ms price=0.09\n"
                                       "server s1 eu\n"
                                       "server s2 us\n"
                                       "client w1 eu server=s1 updates=100 gap=50ms\n"
                                       "client w2 us server=s1 updates=100 gap=50ms streams=2\n"
                                       "client w3 ap server=s1 updates=100 gap=20ms floats=2000\n"
                                       "client w4 eu server=s2 updates=100 gap=50ms streams=3\n"
                                       "client w5 ap server=s2 updates=500 gap=0 window=32\n"
                                       "storm from 200ms to 15s every 250ms\n"
                                       "run 180s\n";

const char *sim_scenario_builtin(void)
{
    return scenario_builtin;
}

/* A run under way. */
struct scenario_run {
    const struct sim_scenario *s;
    struct sim_world *world;
    struct sim_echo *echo;
    struct sim_scenario_faults *faults;
    uint64_t seed;
};

enum err scenario_places(const struct sim_scenario *s, struct sim_world *w)
{
    struct sim_region *region;
    enum err rc = OK;

    for (uint32_t i = 0; i < s->regions_count && rc == OK; i++) {
        rc = sim_region_create(w, s->regions[i], &region);
    }
    for (uint32_t i = 0; i < s->links_count && rc == OK; i++) {
        const struct scenario_link *l = &s->links[i];

        rc =
            sim_link_set(w, sim_world_region_at(w, l->a), sim_world_region_at(w, l->b), &l->config);
    }
    return rc;
}

static enum err scenario_build_nodes(struct scenario_run *r)
{
    const struct sim_scenario *s = r->s;
    enum err rc = sim_echo_create(r->world, s->clients_count, &r->echo);

    for (uint32_t i = 0; i < s->nodes_count && rc == OK; i++) {
        const struct scenario_node *n = &s->nodes[i];
        struct sim_region *region = sim_world_region_at(r->world, n->region);
        struct sim_echo_client client = n->client;

        client.server = n->server_name;
        rc = n->kind == SCENARIO_SERVER ? sim_echo_add_server(r->echo, n->name, region)
                                        : sim_echo_add_client(r->echo, n->name, region, &client);
    }
    return rc;
}

int64_t scenario_faults_end(const struct sim_scenario *s)
{
    int64_t end_ns = s->storm.on ? s->storm.until_ns : 0;

    for (uint32_t i = 0; i < s->actions_count; i++) {
        int64_t ns = s->actions[i].at_ns + s->actions[i].fault.duration_ns;

        end_ns = ns > end_ns ? ns : end_ns;
    }
    return end_ns;
}

static void scenario_go(struct scenario_run *r)
{
    int64_t faults_ns = scenario_faults_end(r->s);
    int64_t quiet_ns = SIM_NEVER;

    sim_echo_start(r->echo);
    while (sim_world_step(r->world, quiet_ns < r->s->run_ns ? quiet_ns : r->s->run_ns)) {
        if (quiet_ns == SIM_NEVER && sim_world_now_ns(r->world) >= faults_ns &&
            sim_echo_done(r->echo)) {
            quiet_ns = sim_world_now_ns(r->world) + (int64_t)SCENARIO_QUIET_MS * 1000000;
        }
    }
}

enum err scenario_report_links(struct sim_world *w, struct sim_scenario_result *out)
{
    uint32_t n = sim_world_regions(w);
    double seconds = (double)sim_world_now_ns(w) * 1e-9;

    out->links = mem_calloc((size_t)n * n, sizeof(*out->links));
    if (out->links == NULL) {
        return ERR_NOMEM;
    }
    for (uint32_t i = 0; i < n * n; i++) {
        struct sim_region *from = sim_world_region_at(w, i / n),
                          *to = sim_world_region_at(w, i % n);
        struct sim_link *link = sim_link_between(w, from, to);
        struct sim_link_report *report = &out->links[out->links_count];

        if (from == to || link == NULL) {
            continue;
        }
        (void)snprintf(report->from, sizeof(report->from), "%s", sim_region_name(from));
        (void)snprintf(report->to, sizeof(report->to), "%s", sim_region_name(to));
        report->bytes = sim_link_bytes(w, link);
        report->cost_nusd = sim_link_cost_nusd(w, link);
        report->utilisation = seconds <= 0.0 ? 0.0
                                             : (double)report->bytes / seconds /
                                                   (double)sim_link_config(link)->bytes_per_s;
        out->links_count++;
    }
    return OK;
}

static enum err scenario_report(struct scenario_run *r, bool trace, struct sim_scenario_result *out)
{
    const char *verdict = sim_echo_verdict(r->echo);
    enum err rc = scenario_report_links(r->world, out);

    (void)snprintf(out->verdict, sizeof(out->verdict), "%s", verdict == NULL ? "" : verdict);
    out->now_ns = sim_world_now_ns(r->world);
    out->events = sim_world_events(r->world);
    out->transcript_hash = sim_world_transcript_hash(r->world);
    sim_echo_totals(r->echo, &out->totals);
    for (int i = 0; i < SIM_FAULT_KINDS; i++) {
        out->fired[i] = sim_scenario_faults_fired(r->faults, (enum sim_fault_kind)i);
    }
    if (rc == OK && trace) {
        rc = sim_world_transcript(r->world, &out->transcript);
    }
    return rc;
}

static enum err scenario_echo(const struct sim_scenario *s,
                              const struct sim_scenario_options *options,
                              struct sim_scenario_result *out)
{
    struct sim_world_config config = s->world;
    struct scenario_run *r = mem_zalloc(sizeof(*r));
    enum err rc;

    if (r == NULL) {
        return ERR_NOMEM;
    }
    r->s = s;
    r->seed = options->seed;
    config.seed = options->seed;
    config.trace = !options->untraced;
    config.keep_trace = options->trace;
    config.trace_bytes_max = options->trace_bytes_max;
    config.flows_max = s->nodes_count * SCENARIO_FLOWS_PER_HOST;
    config.segments_max = config.flows_max * SCENARIO_SEGMENTS_PER_FLOW;
    rc = sim_world_create(&config, &r->world);
    if (rc == OK) {
        rc = scenario_places(s, r->world);
    }
    if (rc == OK) {
        rc = scenario_build_nodes(r);
    }
    if (rc == OK) {
        rc = sim_scenario_faults_create(s, r->world, r->seed, &r->faults);
    }
    if (rc == OK) {
        scenario_go(r);
        rc = scenario_report(r, options->trace, out);
    }
    sim_scenario_faults_destroy(r->faults);
    sim_echo_destroy(r->echo);
    sim_world_destroy(r->world);
    mem_free(r);
    return rc;
}

enum err sim_scenario_run(const struct sim_scenario *s, const struct sim_scenario_options *options,
                          struct sim_scenario_result *result_out, struct err_text *text)
{
    struct sim_scenario_result result = {0};
    struct err_text why = {0};
    enum err rc = sim_scenario_is_site(s) ? scenario_drill(s, options, &result, &why)
                                          : scenario_echo(s, options, &result);

    if (rc != OK) {
        sim_scenario_result_deinit(&result);
        return err_text_set(text, rc, "cannot run the scenario: %s",
                            why.text[0] != '\0' ? why.text : err_string(rc));
    }
    *result_out = result;
    return OK;
}

void sim_scenario_result_deinit(struct sim_scenario_result *result)
{
    mem_free(result->links);
    text_deinit(&result->transcript);
}
