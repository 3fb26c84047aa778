/* Reading scripts, statement by statement. */

#include "base/mem.h"
#include "sim/scenario/line.h"

#include <string.h>

#define SCENARIO_RUN_DEFAULT_NS INT64_C(600000000000)

static enum err scenario_do_seed(struct scenario_line *l)
{
    enum err rc = scenario_need(l, 2, "seed NUMBER");

    return rc == OK ? scenario_count(l, l->words[1], 0, UINT64_MAX, &l->s->seed) : rc;
}

static enum err scenario_do_lan(struct scenario_line *l)
{
    enum err rc = scenario_need(l, 2, "lan [rate=RATE] [delay=TIME] [host=RATE]");

    for (uint32_t i = 1; i < l->words_count && rc == OK; i++) {
        const char *value;

        if ((value = scenario_value(l->words[i], "rate")) != NULL) {
            rc = scenario_rate(l, value, &l->s->world.lan_rate);
        } else if ((value = scenario_value(l->words[i], "delay")) != NULL) {
            rc = scenario_time(l, value, &l->s->world.lan_delay_ns);
        } else if ((value = scenario_value(l->words[i], "host")) != NULL) {
            rc = scenario_rate(l, value, &l->s->world.host_rate);
        } else {
            rc = scenario_fail(l, "'%.40s' is not of rate= delay= host=", l->words[i]);
        }
    }
    return rc;
}

static enum err scenario_do_region(struct scenario_line *l)
{
    struct sim_scenario *s = l->s;
    enum err rc = scenario_need(l, 2, "region NAME");

    if (rc != OK) {
        return rc;
    }
    if (s->regions_count == SIM_REGIONS_MAX) {
        return scenario_fail(l, "more than %d regions", SIM_REGIONS_MAX);
    }
    for (uint32_t i = 0; i < s->regions_count; i++) {
        if (strcmp(s->regions[i], l->words[1]) == 0) {
            return scenario_fail(l, "region '%.64s' is there already", l->words[1]);
        }
    }
    rc = scenario_name(l, l->words[1], s->regions[s->regions_count]);
    s->regions_count += rc == OK;
    return rc;
}

static enum err scenario_link_option(struct scenario_line *l, const char *word,
                                     struct sim_link_config *config)
{
    const char *value;

    if ((value = scenario_value(word, "rate")) != NULL) {
        return scenario_rate(l, value, &config->bytes_per_s);
    }
    if ((value = scenario_value(word, "stream")) != NULL) {
        return scenario_rate(l, value, &config->stream_bytes_per_s);
    }
    if ((value = scenario_value(word, "delay")) != NULL) {
        return scenario_time(l, value, &config->delay_ns);
    }
    if ((value = scenario_value(word, "jitter")) != NULL) {
        return scenario_time(l, value, &config->jitter_ns);
    }
    if ((value = scenario_value(word, "loss")) != NULL) {
        return scenario_percent(l, value, &config->loss_ppm);
    }
    if ((value = scenario_value(word, "price")) != NULL) {
        return scenario_price(l, value, &config->price_nusd_per_gb);
    }
    return scenario_fail(l, "'%.40s' is not of rate= delay= jitter= loss= price= stream=", word);
}

static enum err scenario_do_link(struct scenario_line *l)
{
    struct sim_scenario *s = l->s;
    struct scenario_link link = {.line = l->number};
    enum err rc = scenario_need(l, 4, "link REGION REGION rate=RATE delay=TIME ...");

    if (rc == OK) {
        rc = scenario_region(l, l->words[1], &link.a);
    }
    if (rc == OK) {
        rc = scenario_region(l, l->words[2], &link.b);
    }
    for (uint32_t i = 3; i < l->words_count && rc == OK; i++) {
        rc = scenario_link_option(l, l->words[i], &link.config);
    }
    if (rc != OK) {
        return rc;
    }
    if (link.a == link.b) {
        return scenario_fail(l, "a link joins two regions; the inside of one is 'lan'");
    }
    if (link.config.bytes_per_s == 0 || link.config.bytes_per_s > SIM_FABRIC_RATE_MAX) {
        return scenario_fail(l, "the link needs a rate, at most 2.2tbit: rate=100mbit");
    }
    if (s->links_count == SIM_SCENARIO_LINKS_MAX) {
        return scenario_fail(l, "more than %d links", SIM_SCENARIO_LINKS_MAX);
    }
    s->links[s->links_count++] = link;
    return OK;
}

static enum err scenario_client_option(struct scenario_line *l, const char *word,
                                       struct scenario_node *n)
{
    const char *value;
    uint64_t count = 0;
    enum err rc;

    if ((value = scenario_value(word, "server")) != NULL) {
        return scenario_name(l, value, n->server_name);
    }
    if ((value = scenario_value(word, "gap")) != NULL) {
        return scenario_time(l, value, &n->client.gap_ns);
    }
    if ((value = scenario_value(word, "updates")) != NULL) {
        return scenario_count(l, value, 1, 1 << 23, &n->client.updates);
    }
    if ((value = scenario_value(word, "floats")) != NULL) {
        rc = scenario_count(l, value, 1, LIMIT_CHUNK_ELEMENTS, &count);
        n->client.floats_max = (uint32_t)count;
        return rc;
    }
    if ((value = scenario_value(word, "window")) != NULL) {
        rc = scenario_count(l, value, 1, 256, &count);
        n->client.window = (uint32_t)count;
        return rc;
    }
    if ((value = scenario_value(word, "streams")) != NULL) {
        rc = scenario_count(l, value, 1, LIMIT_STREAMS_PER_PEER, &count);
        n->client.streams = (uint16_t)count;
        return rc;
    }
    return scenario_fail(l,
                         "'%.40s' is not of server= updates= gap= floats= window= streams=", word);
}

static enum err scenario_do_server(struct scenario_line *l)
{
    struct scenario_node n = {.kind = SCENARIO_SERVER};
    enum err rc = scenario_need(l, 3, "server NAME REGION [lanes=N]");

    if (rc == OK) {
        rc = scenario_node_begin(l, &n);
    }
    for (uint32_t i = 3; i < l->words_count && rc == OK; i++) {
        rc = scenario_server_option(l, l->words[i], &n);
    }
    if (rc == OK) {
        scenario_node_add(l->s, &n);
    }
    return rc;
}

static enum err scenario_do_client(struct scenario_line *l)
{
    struct scenario_node n = {.kind = SCENARIO_CLIENT, .client.updates = 100};
    enum err rc = scenario_need(l, 4, "client NAME REGION server=NAME [updates=N] [gap=TIME] ...");

    if (rc == OK) {
        rc = scenario_node_begin(l, &n);
    }
    for (uint32_t i = 3; i < l->words_count && rc == OK; i++) {
        rc = scenario_client_option(l, l->words[i], &n);
    }
    if (rc == OK && n.server_name[0] == '\0') {
        rc = scenario_fail(l, "the client needs a server: server=NAME");
    }
    if (rc == OK) {
        scenario_node_add(l->s, &n);
    }
    return rc;
}

/* The amount that stands behind a fault's target. */
static enum err scenario_amount(struct scenario_line *l, struct scenario_action *a, uint32_t *at)
{
    const char *word = *at < l->words_count ? l->words[*at] : "";
    uint32_t ppm = 0;
    uint64_t count = 1;
    bool back = false;
    enum err rc = OK;

    switch (sim_fault_amount(a->fault.kind)) {
    case SIM_AMOUNT_NONE:
        return OK;
    case SIM_AMOUNT_PPM:
        rc = scenario_percent(l, word, &ppm);
        a->fault.amount = ppm;
        break;
    case SIM_AMOUNT_TIME:
        back = word[0] == '-'; /* Clocks may jump back. */
        rc = scenario_time(l, word + back, &a->fault.amount);
        if (rc == OK && back) {
            if (a->fault.kind != SIM_FAULT_CLOCK) {
                return scenario_fail(l, "'%.40s' is negative", word);
            }
            a->fault.amount = -a->fault.amount;
        }
        break;
    case SIM_AMOUNT_COUNT:
        rc = scenario_count(l, word, 1, 1 << 20, &count);
        a->fault.amount = (int64_t)count;
        break;
    }
    (*at)++;
    return rc;
}

static enum err scenario_target(struct scenario_line *l, struct scenario_action *a, uint32_t *at)
{
    enum err rc = OK;

    switch (sim_fault_target(a->fault.kind)) {
    case SIM_TARGET_HOST:
        rc = scenario_need(l, *at + 1, "at TIME FAULT HOST ...");
        if (rc == OK) {
            rc = scenario_name(l, l->words[(*at)++], a->host);
        }
        break;
    case SIM_TARGET_LINK:
        rc = scenario_need(l, *at + 2, "at TIME FAULT REGION REGION ...");
        if (rc == OK) {
            rc = scenario_region(l, l->words[(*at)++], &a->a);
        }
        if (rc == OK) {
            rc = scenario_region(l, l->words[(*at)++], &a->b);
        }
        break;
    case SIM_TARGET_CONNECTION:
        break;
    }
    return rc;
}

static enum err scenario_do_at(struct scenario_line *l)
{
    struct sim_scenario *s = l->s;
    struct scenario_action a = {.line = l->number};
    uint32_t at = 3;
    enum err rc = scenario_need(l, 3, "at TIME FAULT [TARGET] [AMOUNT] [for TIME]");

    if (rc == OK) {
        rc = scenario_time(l, l->words[1], &a.at_ns);
    }
    if (rc != OK) {
        return rc;
    }
    a.fault.kind = sim_fault_parse(l->words[2]);
    if (a.fault.kind == SIM_FAULT_KINDS) {
        return scenario_fail(l, "no fault '%.40s'; 'strait sim --faults' lists them", l->words[2]);
    }
    rc = scenario_target(l, &a, &at);
    if (rc == OK) {
        rc = scenario_amount(l, &a, &at);
    }
    if (rc == OK && sim_fault_lasts(a.fault.kind)) {
        if (at + 2 > l->words_count || strcmp(l->words[at], "for") != 0) {
            return scenario_fail(l, "'%s' lasts: end the line with 'for TIME'",
                                 sim_fault_name(a.fault.kind));
        }
        rc = scenario_time(l, l->words[at + 1], &a.fault.duration_ns);
        at += 2;
    }
    if (rc == OK && at < l->words_count) {
        return scenario_fail(l, "'%.40s' is too much here", l->words[at]);
    }
    if (rc == OK && s->actions_count == SIM_SCENARIO_ACTIONS_MAX) {
        return scenario_fail(l, "more than %d faults", SIM_SCENARIO_ACTIONS_MAX);
    }
    if (rc == OK) {
        s->actions[s->actions_count++] = a;
    }
    return rc;
}

/* "kill,cut,flip" as a mask. */
static enum err scenario_kinds(struct scenario_line *l, char *words, uint64_t *mask_out)
{
    uint64_t mask = 0;
    char *rest = NULL;

    for (char *w = strtok_r(words, ",", &rest); w != NULL; w = strtok_r(NULL, ",", &rest)) {
        enum sim_fault_kind kind = sim_fault_parse(w);

        if (kind == SIM_FAULT_KINDS) {
            return scenario_fail(l, "no fault '%.40s'; 'strait sim --faults' lists them", w);
        }
        mask |= UINT64_C(1) << kind;
    }
    *mask_out = mask;
    return mask == 0 ? scenario_fail(l, "'only' needs names of faults") : OK;
}

static enum err scenario_do_storm(struct scenario_line *l)
{
    struct scenario_storm storm = {.line = l->number, .on = true, .mask = SIM_FAULTS_ALL};
    const char *form = "storm from TIME to TIME every TIME [only FAULT,FAULT...]";
    enum err rc = scenario_need(l, 7, form);

    if (rc == OK && (strcmp(l->words[1], "from") != 0 || strcmp(l->words[3], "to") != 0 ||
                     strcmp(l->words[5], "every") != 0)) {
        rc = scenario_fail(l, "write: %s", form);
    }
    if (rc == OK) {
        rc = scenario_time(l, l->words[2], &storm.from_ns);
    }
    if (rc == OK) {
        rc = scenario_time(l, l->words[4], &storm.until_ns);
    }
    if (rc == OK) {
        rc = scenario_time(l, l->words[6], &storm.mean_ns);
    }
    if (rc == OK && (storm.mean_ns == 0 || storm.from_ns >= storm.until_ns)) {
        rc = scenario_fail(l, "the storm has no length");
    }
    if (rc == OK && l->words_count > 7) {
        if (l->words_count != 9 || strcmp(l->words[7], "only") != 0) {
            return scenario_fail(l, "write: %s", form);
        }
        rc = scenario_kinds(l, l->words[8], &storm.mask);
    }
    if (rc == OK) {
        l->s->storm = storm;
    }
    return rc;
}

static enum err scenario_do_run(struct scenario_line *l)
{
    enum err rc = scenario_need(l, 2, "run TIME");

    return rc == OK ? scenario_time(l, l->words[1], &l->s->run_ns) : rc;
}

static const struct {
    const char *word;
    enum err (*read)(struct scenario_line *l);
} scenario_statements[] = {
    {"seed", scenario_do_seed}, {"lan", scenario_do_lan},       {"region", scenario_do_region},
    {"link", scenario_do_link}, {"server", scenario_do_server}, {"client", scenario_do_client},
    {"at", scenario_do_at},     {"storm", scenario_do_storm},   {"run", scenario_do_run},
    {"site", scenario_do_site}, {"worker", scenario_do_worker}, {"expect", scenario_do_expect},
};

static enum err scenario_read_line(struct scenario_line *l)
{
    char *rest = NULL;

    l->chars[strcspn(l->chars, "#")] = '\0';
    l->words_count = 0;
    for (char *w = strtok_r(l->chars, " \t\r", &rest); w != NULL;
         w = strtok_r(NULL, " \t\r", &rest)) {
        if (l->words_count == SCENARIO_WORDS_MAX) {
            return scenario_fail(l, "more than %d words", SCENARIO_WORDS_MAX);
        }
        l->words[l->words_count++] = w;
    }
    if (l->words_count == 0) {
        return OK;
    }
    for (size_t i = 0; i < sizeof(scenario_statements) / sizeof(scenario_statements[0]); i++) {
        if (strcmp(l->words[0], scenario_statements[i].word) == 0) {
            return scenario_statements[i].read(l);
        }
    }
    return scenario_fail(l,
                         "'%.40s' is no statement; there are seed lan region link server client "
                         "site worker at storm expect run",
                         l->words[0]);
}

/* Names that may be used before the line that makes them. */
static enum err scenario_check_names(struct scenario_line *l)
{
    struct sim_scenario *s = l->s;
    uint32_t last = l->number;

    for (uint32_t i = 0; i < s->nodes_count; i++) {
        const struct scenario_node *server = scenario_find(s, s->nodes[i].server_name);

        l->number = s->nodes[i].line;
        if (s->nodes[i].kind == SCENARIO_CLIENT &&
            (server == NULL || server->kind != SCENARIO_SERVER)) {
            return scenario_fail(l, "no server '%s'", s->nodes[i].server_name);
        }
    }
    for (uint32_t i = 0; i < s->actions_count; i++) {
        const struct scenario_action *a = &s->actions[i];

        l->number = a->line;
        if (sim_fault_target(a->fault.kind) == SIM_TARGET_HOST &&
            scenario_find(s, a->host) == NULL) {
            return scenario_fail(l, "no host '%s'", a->host);
        }
    }
    l->number = last + 1;
    return OK;
}

static enum err scenario_read(struct scenario_line *l, const char *script, size_t size)
{
    const char *end = script + size;
    enum err rc = OK;

    while (script < end && rc == OK) {
        const char *stop = memchr(script, '\n', (size_t)(end - script));
        size_t length = (size_t)((stop == NULL ? end : stop) - script);

        l->number++;
        if (length >= sizeof(l->chars)) {
            return scenario_fail(l, "the line is longer than %zu characters", sizeof(l->chars) - 1);
        }
        if (memchr(script, '\0', length) != NULL) {
            return scenario_fail(l, "the line has a zero byte");
        }
        memcpy(l->chars, script, length);
        l->chars[length] = '\0';
        rc = scenario_read_line(l);
        script += length + 1;
    }
    if (rc == OK) {
        rc = scenario_check_site(l);
    }
    if (rc == OK) {
        rc = scenario_check_names(l);
    }
    if (rc == OK && l->s->clients_count == 0 && l->s->workers_count == 0) {
        rc = scenario_fail(l, "nobody does anything: add a client, or a site with workers");
    }
    return rc;
}

enum err sim_scenario_parse(const char *name, const char *script, size_t size,
                            struct sim_scenario **scenario_out, struct err_text *text)
{
    struct scenario_line l = {.name = name, .text = text};
    enum err rc;

    if (size > SIM_SCENARIO_BYTES_MAX) {
        return err_text_set(text, ERR_TOO_BIG, "%.200s: larger than %d bytes", name,
                            SIM_SCENARIO_BYTES_MAX);
    }
    l.s = mem_zalloc(sizeof(*l.s));
    if (l.s == NULL) {
        return err_text_set(text, ERR_NOMEM, "%.200s: out of memory", name);
    }
    l.s->seed = 1;
    l.s->run_ns = SCENARIO_RUN_DEFAULT_NS;
    rc = scenario_read(&l, script, size);
    if (rc != OK) {
        sim_scenario_destroy(l.s);
        return rc;
    }
    *scenario_out = l.s;
    return OK;
}

void sim_scenario_destroy(struct sim_scenario *s)
{
    mem_free(s);
}

uint64_t sim_scenario_seed(const struct sim_scenario *s)
{
    return s->seed;
}
