/* Sites of scripts, run as drills: the same witness, the same judgement. */

#include "base/mem.h"
#include "sim/scenario/state.h"

#include <inttypes.h>
#include <stdio.h>

static const char scenario_builtin_site[] =
    "site barrier=bsp delivery=pull checkpoints=2 clocks=20 tables=3\n"
    "region eu\n"
    "region us\n"
    "region ap\n"
    "link eu us rate=100mbit delay=40ms jitter=5ms price=0.02\n"
    "link eu ap rate=50mbit delay=90ms jitter=10ms price=0.09\n"
    "link us ap rate=80mbit delay=70ms jitter=5ms price=0.09\n"
    "server s1 eu lanes=2\n"
    "server s2 us\n"
    "worker w1 eu\n"
    "worker w2 us streams=2\n"
    "worker w3 ap compute=100ms\n"
    "worker w4 eu joins=3s\n"
    "at 1s kill s1 for 500ms\n"
    "at 4s cut eu ap for 2s\n"
    "storm from 8s to 15s every 400ms\n"
    "run 180s\n";

const char *sim_scenario_builtin_site(void)
{
    return scenario_builtin_site;
}

/* A run under way. */
struct scenario_drill {
    const struct sim_scenario *s;
    uint64_t seed;
    struct sim_scenario_faults *faults;
    struct sim_drill_server servers[SIM_DRILL_SERVERS_MAX];
    struct sim_drill_worker workers[SIM_DRILL_WORKERS_MAX];
    struct sim_drill_script script;
    struct sim_scenario_result *out;
    enum err rc; /* Of the report. */
};

static enum err scenario_drill_places(struct sim_world *w, void *user)
{
    return scenario_places(((struct scenario_drill *)user)->s, w);
}

static enum err scenario_drill_faults(struct sim_world *w, void *user)
{
    struct scenario_drill *r = user;

    return sim_scenario_faults_create(r->s, w, r->seed, &r->faults);
}

static void scenario_drill_over(struct sim_world *w, void *user)
{
    struct scenario_drill *r = user;

    for (int i = 0; i < SIM_FAULT_KINDS && r->faults != NULL; i++) {
        r->out->fired[i] = sim_scenario_faults_fired(r->faults, (enum sim_fault_kind)i);
    }
    r->rc = scenario_report_links(w, r->out);
    sim_scenario_faults_destroy(r->faults);
}

static void scenario_drill_describe(struct scenario_drill *r)
{
    const struct sim_scenario *s = r->s;
    struct sim_drill_script *d = &r->script;

    *d = (struct sim_drill_script){.world = s->world,
                                   .site = s->site.site,
                                   .commit_ns = s->site.commit_ns,
                                   .grace_ns = s->site.grace_ns,
                                   .restore_ns = s->site.restore_ns,
                                   .tables = s->site.tables,
                                   .clocks = s->site.clocks,
                                   .servers = r->servers,
                                   .workers = r->workers,
                                   .faults_ns = scenario_faults_end(s),
                                   .until_ns = s->run_ns,
                                   .places = scenario_drill_places,
                                   .faults = scenario_drill_faults,
                                   .user = r};
    for (uint32_t i = 0; i < s->nodes_count; i++) {
        const struct scenario_node *n = &s->nodes[i];

        if (n->kind == SCENARIO_SERVER) {
            r->servers[d->servers_count++] =
                (struct sim_drill_server){.name = n->name, .region = n->region, .lanes = n->lanes};
        } else {
            struct sim_drill_worker *w = &r->workers[d->workers_count++];

            *w = n->worker;
            w->name = n->name;
            w->region = n->region;
        }
    }
}

/* What the script says must come out. */
static void scenario_drill_expect(const struct sim_scenario *s, struct sim_scenario_result *out)
{
    const uint64_t counts[SCENARIO_COUNTS] = {[SCENARIO_UPDATES] = out->site.updates,
                                              [SCENARIO_REBASES] = out->site.rebases,
                                              [SCENARIO_RESTORES] = out->site.restores,
                                              [SCENARIO_REFUSED] = out->site.refused,
                                              [SCENARIO_DUPLICATES] = out->site.duplicates,
                                              [SCENARIO_CHECKPOINTS] = out->site.checkpoints};

    for (int i = 0; i < SCENARIO_COUNTS && out->verdict[0] == '\0'; i++) {
        if (s->expected[i].on && s->expected[i].count != counts[i]) {
            (void)snprintf(out->verdict, sizeof(out->verdict),
                           "line %u expects %s=%" PRIu64 ", but it is %" PRIu64, s->expected_line,
                           scenario_count_name((enum scenario_count_kind)i), s->expected[i].count,
                           counts[i]);
        }
    }
}

static void scenario_drill_report(const struct sim_scenario *s, struct sim_drill_result *from,
                                  struct sim_scenario_result *out)
{
    (void)snprintf(out->verdict, sizeof(out->verdict), "%.255s", from->verdict);
    (void)snprintf(out->about, sizeof(out->about), "%s", from->about);
    out->is_site = true;
    out->barrier = from->site.sync.policy == NULL ? "" : from->site.sync.policy->name;
    out->delivery = from->site.delivery;
    out->now_ns = from->now_ns;
    out->events = from->events;
    out->transcript_hash = from->transcript_hash;
    out->transcript = from->transcript; /* It is ours now. */
    out->values_hash = from->values_hash;
    out->lost_all = from->lost_all;
    out->site = from->totals;
    for (int i = 0; i < SIM_FAULT_KINDS && s->drawn; i++) {
        out->fired[i] = from->fired[i];
    }
    scenario_drill_expect(s, out);
}

enum err scenario_drill(const struct sim_scenario *s, const struct sim_scenario_options *options,
                        struct sim_scenario_result *out, struct err_text *text)
{
    struct scenario_drill *r = mem_zalloc(sizeof(*r));
    struct sim_drill_config config = {.seed = options->seed,
                                      .delivery = -1,
                                      .checkpoints = -1,
                                      .faults = SIM_FAULTS_ALL,
                                      .rough = s->site.rough,
                                      .trace = options->trace,
                                      .untraced = options->untraced,
                                      .over = scenario_drill_over,
                                      .user = r};
    struct sim_drill_result result;
    enum err rc;

    if (r == NULL) {
        return ERR_NOMEM;
    }
    r->s = s;
    r->seed = options->seed;
    r->out = out;
    if (!s->drawn) {
        scenario_drill_describe(r);
        config.script = &r->script;
    }
    rc = sim_drill_run(&config, &result, text);
    scenario_drill_report(s, &result, out);
    rc = rc == OK ? r->rc : rc;
    mem_free(r);
    return rc;
}

enum err sim_scenario_draw_site(struct sim_scenario **scenario_out)
{
    struct sim_scenario *s = mem_zalloc(sizeof(*s));

    if (s == NULL) {
        return ERR_NOMEM;
    }
    s->seed = 1;
    s->drawn = true;
    *scenario_out = s;
    return OK;
}

bool sim_scenario_is_site(const struct sim_scenario *s)
{
    return s->drawn || s->site.line != 0;
}
