/* Statements of sites: what a site is, who is in it, what must come out; and whether all of that
 * goes together. */

#include "sim/scenario/line.h"

#include <inttypes.h>
#include <string.h>

enum {
    SITE_CLOCKS = 5, /* Unless the script says otherwise. */
    SITE_CLOCKS_MAX = 1000,
    SITE_STALENESS = 1,
    SITE_CHECKPOINTS_MAX = 1000,
    SITE_LANES_MAX = 16, /* Of one server. */
};

#define SITE_DEADLINE_NS INT64_C(120000000000) /* As of strait server. */

/* Settings, one function for each word. */

static enum err site_barrier(struct scenario_line *l, const char *value)
{
    const struct sync_policy *policy = sync_policy_find(value);

    if (policy == NULL) {
        return scenario_fail(l, "no barrier '%.40s'; there are bsp ssp tap", value);
    }
    l->s->site.site.sync.policy = policy;
    return OK;
}

static enum err site_staleness(struct scenario_line *l, const char *value)
{
    return scenario_count(l, value, 0, SYNC_STALENESS_MAX, &l->s->site.site.sync.staleness);
}

static enum err site_delivery(struct scenario_line *l, const char *value)
{
    if (node_delivery_parse(value, &l->s->site.site.delivery) != OK) {
        return scenario_fail(l, "no delivery '%.40s'; there are pull broadcast", value);
    }
    return OK;
}

/* A number into a smaller field. */
static enum err site_number(struct scenario_line *l, const char *value, uint64_t least,
                            uint64_t most, uint32_t *out)
{
    uint64_t count = 0;
    enum err rc = scenario_count(l, value, least, most, &count);

    if (rc == OK) {
        *out = (uint32_t)count;
    }
    return rc;
}

static enum err site_checkpoints(struct scenario_line *l, const char *value)
{
    return site_number(l, value, 0, SITE_CHECKPOINTS_MAX, &l->s->site.site.checkpoint_every);
}

static enum err site_deadline(struct scenario_line *l, const char *value)
{
    return scenario_time(l, value, &l->s->site.site.sync.deadline_ns);
}

static enum err site_order(struct scenario_line *l, const char *value)
{
    bool fixed = strcmp(value, "fixed") == 0;

    if (!fixed && strcmp(value, "any") != 0) {
        return scenario_fail(l, "no order '%.40s'; there are fixed any", value);
    }
    l->s->site.site.sync.fixed_order = fixed;
    return OK;
}

static enum err site_updates(struct scenario_line *l, const char *value)
{
    bool thirds = strcmp(value, "thirds") == 0;

    if (!thirds && strcmp(value, "whole") != 0) {
        return scenario_fail(l, "no updates '%.40s'; there are whole thirds", value);
    }
    l->s->site.rough = thirds;
    return OK;
}

static enum err site_clocks(struct scenario_line *l, const char *value)
{
    return scenario_count(l, value, 1, SITE_CLOCKS_MAX, &l->s->site.clocks);
}

static enum err site_tables(struct scenario_line *l, const char *value)
{
    return site_number(l, value, 1, SIM_DRILL_TABLES, &l->s->site.tables);
}

static enum err site_shards(struct scenario_line *l, const char *value)
{
    return site_number(l, value, 1, NODE_SHARDS_MAX, &l->s->site.site.shards);
}

static enum err site_commit(struct scenario_line *l, const char *value)
{
    return scenario_time(l, value, &l->s->site.commit_ns);
}

static enum err site_grace(struct scenario_line *l, const char *value)
{
    return scenario_time(l, value, &l->s->site.grace_ns);
}

static enum err site_restore(struct scenario_line *l, const char *value)
{
    return scenario_time(l, value, &l->s->site.restore_ns);
}

static const struct {
    const char *key;
    enum err (*read)(struct scenario_line *l, const char *value);
} site_options[] = {
    {"barrier", site_barrier},         {"staleness", site_staleness}, {"delivery", site_delivery},
    {"checkpoints", site_checkpoints}, {"deadline", site_deadline},   {"order", site_order},
    {"updates", site_updates},         {"clocks", site_clocks},       {"tables", site_tables},
    {"shards", site_shards},           {"commit", site_commit},       {"grace", site_grace},
    {"restore", site_restore},
};

static enum err site_option(struct scenario_line *l, const char *word)
{
    for (size_t i = 0; i < sizeof(site_options) / sizeof(site_options[0]); i++) {
        const char *value = scenario_value(word, site_options[i].key);

        if (value != NULL) {
            return site_options[i].read(l, value);
        }
    }
    return scenario_fail(l,
                         "'%.40s' is not of barrier= staleness= delivery= checkpoints= deadline= "
                         "order= updates= clocks= tables= shards= commit= grace= restore=",
                         word);
}

enum err scenario_do_site(struct scenario_line *l)
{
    struct scenario_site *site = &l->s->site;
    enum err rc = OK;

    if (site->line != 0) {
        return scenario_fail(l, "the site is described already, in line %u", site->line);
    }
    *site = (struct scenario_site){
        .line = l->number,
        .site = {.sync = {.policy = &sync_bsp,
                          .staleness = UINT64_MAX,
                          .deadline_ns = SITE_DEADLINE_NS}},
        .tables = SIM_DRILL_TABLES,
        .clocks = SITE_CLOCKS,
    };
    for (uint32_t i = 1; i < l->words_count && rc == OK; i++) {
        rc = site_option(l, l->words[i]);
    }
    if (rc == OK && site->site.sync.staleness == UINT64_MAX) {
        site->site.sync.staleness = site->site.sync.policy == &sync_ssp ? SITE_STALENESS : 0;
    }
    return rc;
}

/* Hosts. */

enum err scenario_server_option(struct scenario_line *l, const char *word, struct scenario_node *n)
{
    const char *value = scenario_value(word, "lanes");

    if (value == NULL) {
        return scenario_fail(l, "'%.40s' is not of lanes=", word);
    }
    return site_number(l, value, 1, SITE_LANES_MAX, &n->lanes);
}

static enum err worker_option(struct scenario_line *l, const char *word, struct sim_drill_worker *w)
{
    const char *value;

    if ((value = scenario_value(word, "streams")) != NULL) {
        uint32_t streams = 0;
        enum err rc = site_number(l, value, 1, LIMIT_STREAMS_PER_PEER, &streams);

        w->streams = (uint16_t)streams;
        return rc;
    }
    if ((value = scenario_value(word, "compute")) != NULL) {
        return scenario_time(l, value, &w->compute_ns);
    }
    if ((value = scenario_value(word, "joins")) != NULL) {
        return scenario_time(l, value, &w->joins_ns);
    }
    if ((value = scenario_value(word, "leaves")) != NULL) {
        return scenario_count(l, value, 1, SITE_CLOCKS_MAX, &w->leaves);
    }
    return scenario_fail(l, "'%.40s' is not of streams= compute= joins= leaves=", word);
}

enum err scenario_do_worker(struct scenario_line *l)
{
    struct scenario_node n = {.kind = SCENARIO_WORKER, .worker.streams = 1};
    enum err rc = scenario_need(
        l, 3, "worker NAME REGION [streams=N] [compute=TIME] [joins=TIME] [leaves=CLOCK]");

    if (rc == OK) {
        rc = scenario_node_begin(l, &n);
    }
    for (uint32_t i = 3; i < l->words_count && rc == OK; i++) {
        rc = worker_option(l, l->words[i], &n.worker);
    }
    if (rc == OK && l->s->workers_count == SIM_DRILL_WORKERS_MAX) {
        rc = scenario_fail(l, "more than %d workers", SIM_DRILL_WORKERS_MAX);
    }
    if (rc == OK) {
        scenario_node_add(l->s, &n);
    }
    return rc;
}

/* What must come out. */

const char *scenario_count_name(enum scenario_count_kind kind)
{
    static const char *const names[SCENARIO_COUNTS] = {"updates",    "rebases", "restores",
                                                       "duplicates", "refused", "checkpoints"};

    return names[kind];
}

static enum err expect_option(struct scenario_line *l, const char *word)
{
    for (int i = 0; i < SCENARIO_COUNTS; i++) {
        const char *value = scenario_value(word, scenario_count_name((enum scenario_count_kind)i));

        if (value != NULL) {
            l->s->expected[i].on = true;
            return scenario_count(l, value, 0, UINT32_MAX, &l->s->expected[i].count);
        }
    }
    return scenario_fail(l,
                         "'%.40s' is not of updates= rebases= restores= duplicates= refused= "
                         "checkpoints=",
                         word);
}

enum err scenario_do_expect(struct scenario_line *l)
{
    enum err rc = scenario_need(l, 2, "expect [rebases=N] [restores=N] [updates=N] ...");

    l->s->expected_line = l->number;
    for (uint32_t i = 1; i < l->words_count && rc == OK; i++) {
        rc = expect_option(l, l->words[i]);
    }
    return rc;
}

/* Checks. */

/* Without a site there are no workers, lanes and expectations; with one there are no clients. */
static enum err site_check_kinds(struct scenario_line *l)
{
    const struct sim_scenario *s = l->s;
    bool site = s->site.line != 0;

    for (uint32_t i = 0; i < s->nodes_count; i++) {
        const struct scenario_node *n = &s->nodes[i];

        l->number = n->line;
        if (site && n->kind == SCENARIO_CLIENT) {
            return scenario_fail(l,
                                 "a client is of an echo cluster, but line %u describes a site: "
                                 "write 'worker', or remove that line",
                                 s->site.line);
        }
        if (!site && n->kind == SCENARIO_WORKER) {
            return scenario_fail(l, "a worker needs a site: add a line 'site barrier=bsp', or "
                                    "write 'client'");
        }
        if (!site && n->lanes != 0) {
            return scenario_fail(l, "lanes are of a site: add a line 'site barrier=bsp'");
        }
    }
    l->number = s->expected_line;
    return !site && s->expected_line != 0
               ? scenario_fail(l, "only sites have these counts: add a line 'site barrier=bsp'")
               : OK;
}

static enum err site_check_hosts(struct scenario_line *l)
{
    const struct sim_scenario *s = l->s;
    uint64_t updates = s->workers_count * s->site.clocks * s->site.tables;

    l->number = s->site.line;
    if (s->servers_count == 0 || s->workers_count == 0) {
        return scenario_fail(l, "a site needs %s: add '%s NAME REGION'",
                             s->servers_count == 0 ? "a server" : "a worker",
                             s->servers_count == 0 ? "server" : "worker");
    }
    if (s->servers_count > SIM_DRILL_SERVERS_MAX) {
        return scenario_fail(l, "more than %d servers", SIM_DRILL_SERVERS_MAX);
    }
    if (updates > SIM_DRILL_UPDATES_MAX / 2) {
        return scenario_fail(l,
                             "%" PRIu64 " updates of %u tables by %u workers are too many: at "
                             "most %d; take fewer clocks or tables",
                             updates, s->site.tables, s->workers_count, SIM_DRILL_UPDATES_MAX / 2);
    }
    for (uint32_t i = 0; i < s->nodes_count; i++) {
        l->number = s->nodes[i].line;
        if (s->nodes[i].worker.leaves > s->site.clocks) {
            return scenario_fail(
                l, "leaves=%" PRIu64 ", but the site has %" PRIu64 " clocks: take an earlier one",
                s->nodes[i].worker.leaves, s->site.clocks);
        }
    }
    return OK;
}

/* What the site's own rules say, with the lanes that its servers have. */
static enum err site_check_rules(struct scenario_line *l)
{
    struct sim_scenario *s = l->s;
    struct node_site site = s->site.site;
    struct err_text why = {0};

    for (uint32_t i = 0; i < s->nodes_count; i++) {
        struct scenario_node *n = &s->nodes[i];

        if (n->kind == SCENARIO_SERVER) {
            n->lanes = n->lanes == 0 ? 1 : n->lanes;
            site.lanes += n->lanes;
        }
    }
    (void)memcpy(site.name, "home", sizeof("home"));
    site.shards = site.shards == 0 ? site.lanes : site.shards;
    l->number = s->site.line;
    return node_site_check(&site, &why) == OK ? OK : scenario_fail(l, "%.200s", why.text);
}

static bool site_server_dies(const struct sim_scenario *s, const struct scenario_action *a)
{
    const struct scenario_node *n = scenario_find(s, a->host);

    return (SIM_FAULT_BIT(a->fault.kind) & SIM_FAULTS_DEATHS) != 0 && n != NULL &&
           n->kind == SCENARIO_SERVER;
}

/* Pull without checkpoints acknowledges at once: that a server's death loses updates is no news. */
static enum err site_check_deaths(struct scenario_line *l)
{
    const struct sim_scenario *s = l->s;
    uint32_t line = 0;

    if (s->site.site.delivery != NODE_PULL || s->site.site.checkpoint_every > 0) {
        return OK;
    }
    for (uint32_t i = 0; i < s->actions_count && line == 0; i++) {
        line = site_server_dies(s, &s->actions[i]) ? s->actions[i].line : 0;
    }
    if (line == 0 && s->storm.on && (s->storm.mask & SIM_FAULTS_DEATHS) != 0) {
        line = s->storm.line;
    }
    l->number = line;
    return line == 0
               ? OK
               : scenario_fail(l, "a server may die, and nobody else has what it knows: write "
                                  "'site checkpoints=2' or 'site delivery=broadcast'");
}

enum err scenario_check_site(struct scenario_line *l)
{
    uint32_t last = l->number;
    enum err rc = site_check_kinds(l);

    if (rc == OK && l->s->site.line != 0) {
        rc = site_check_hosts(l);
        if (rc == OK) {
            rc = site_check_rules(l);
        }
        if (rc == OK) {
            rc = site_check_deaths(l);
        }
    }
    if (rc == OK) {
        l->number = last;
    }
    return rc;
}
