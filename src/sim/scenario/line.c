/* Words of a script's line as values. */

#include "sim/scenario/line.h"

#include "base/units.h"
#include "net/pki/pki.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum err scenario_fail(struct scenario_line *l, const char *fmt, ...)
{
    char what[ERR_TEXT_BYTES / 2];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    return err_text_set(l->text, ERR_MALFORMED, "%.128s:%u: %s", l->name, l->number, what);
}

/* Have a units function's complaint carry the place. */
static enum err scenario_units(struct scenario_line *l, enum err rc, const struct err_text *why)
{
    return rc == OK ? OK : scenario_fail(l, "%.200s", why->text);
}

enum err scenario_time(struct scenario_line *l, const char *word, int64_t *ns_out)
{
    struct err_text why = {0};

    return scenario_units(l, units_time_parse(word, ns_out, &why), &why);
}

enum err scenario_rate(struct scenario_line *l, const char *word, uint64_t *rate_out)
{
    struct err_text why = {0};

    return scenario_units(l, units_rate_parse(word, rate_out, &why), &why);
}

enum err scenario_percent(struct scenario_line *l, const char *word, uint32_t *ppm_out)
{
    struct err_text why = {0};

    return scenario_units(l, units_percent_parse(word, ppm_out, &why), &why);
}

enum err scenario_count(struct scenario_line *l, const char *word, uint64_t least, uint64_t most,
                        uint64_t *count_out)
{
    size_t size = strlen(word);
    uint64_t value;

    if (size == 0 || size > 18 || strspn(word, "0123456789") != size) {
        return scenario_fail(l, "'%.40s' is not a whole number", word);
    }
    value = strtoull(word, NULL, 10);
    if (value < least || value > most) {
        return scenario_fail(l, "%.40s is not between %llu and %llu", word,
                             (unsigned long long)least, (unsigned long long)most);
    }
    *count_out = value;
    return OK;
}

enum err scenario_price(struct scenario_line *l, const char *word, uint64_t *nusd_out)
{
    const char *point = strchr(word, '.');
    size_t whole = point == NULL ? strlen(word) : (size_t)(point - word);
    const char *decimals = point == NULL ? "" : point + 1;
    uint64_t nusd = 0;

    if (whole == 0 || whole > 6 || strspn(word, "0123456789") != whole || strlen(decimals) > 9 ||
        strspn(decimals, "0123456789") != strlen(decimals)) {
        return scenario_fail(l, "'%.40s' is no price; write dollars per gigabyte, as 0.02", word);
    }
    for (size_t i = 0; i < whole; i++) {
        nusd = nusd * 10 + (uint64_t)(word[i] - '0');
    }
    for (size_t i = 0; i < 9; i++) {
        nusd = nusd * 10 + (i < strlen(decimals) ? (uint64_t)(decimals[i] - '0') : 0);
    }
    *nusd_out = nusd;
    return OK;
}

enum err scenario_region(struct scenario_line *l, const char *word, uint32_t *region_out)
{
    for (uint32_t i = 0; i < l->s->regions_count; i++) {
        if (strcmp(l->s->regions[i], word) == 0) {
            *region_out = i;
            return OK;
        }
    }
    return scenario_fail(l, "no region '%.64s'; say 'region %.64s' before this line", word, word);
}

const char *scenario_value(const char *word, const char *key)
{
    size_t size = strlen(key);

    return strncmp(word, key, size) == 0 && word[size] == '=' ? word + size + 1 : NULL;
}

enum err scenario_name(struct scenario_line *l, const char *word, char *out)
{
    if (!pki_name_valid(word)) {
        return scenario_fail(l, "'%.64s' is no name; use 1 to 64 of A-Z a-z 0-9 . _ -", word);
    }
    (void)snprintf(out, SIM_SCENARIO_NAME_BYTES, "%s", word);
    return OK;
}

enum err scenario_need(struct scenario_line *l, uint32_t words, const char *form)
{
    return l->words_count >= words ? OK : scenario_fail(l, "write: %s", form);
}

enum err scenario_node_begin(struct scenario_line *l, struct scenario_node *n)
{
    struct sim_scenario *s = l->s;
    enum err rc = scenario_name(l, l->words[1], n->name);

    if (rc == OK) {
        rc = scenario_region(l, l->words[2], &n->region);
    }
    for (uint32_t i = 0; i < s->nodes_count && rc == OK; i++) {
        if (strcmp(s->nodes[i].name, n->name) == 0) {
            rc =
                scenario_fail(l, "'%s' is there already, since line %u", n->name, s->nodes[i].line);
        }
    }
    if (rc == OK && s->nodes_count == SIM_SCENARIO_NODES_MAX) {
        rc = scenario_fail(l, "more than %d hosts", SIM_SCENARIO_NODES_MAX);
    }
    n->line = l->number;
    return rc;
}

void scenario_node_add(struct sim_scenario *s, const struct scenario_node *n)
{
    s->nodes[s->nodes_count++] = *n;
    s->servers_count += n->kind == SCENARIO_SERVER;
    s->clients_count += n->kind == SCENARIO_CLIENT;
    s->workers_count += n->kind == SCENARIO_WORKER;
}

const struct scenario_node *scenario_find(const struct sim_scenario *s, const char *name)
{
    for (uint32_t i = 0; i < s->nodes_count; i++) {
        if (strcmp(s->nodes[i].name, name) == 0) {
            return &s->nodes[i];
        }
    }
    return NULL;
}
