/* The schema of run files, in libcyaml's tables. libcyaml loads by it; before that the tree is
 * checked against the same tables, because libcyaml's complaints have neither the right words nor,
 * always, a place. What a table cannot say (free keys, "a path or a mapping", times with units) is
 * CYAML_FIELD_IGNORE here and read from the tree elsewhere. */

#include "base/nearest.h"
#include "run/file/state.h"
#include "sync/mirror.h"

#include <cyaml/cyaml.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const cyaml_strval_t schema_barriers[] = {
    {"bsp", RUN_BSP}, {"ssp", RUN_SSP}, {"tap", RUN_TAP}};
static const cyaml_strval_t schema_deliveries[] = {{"pull", NODE_PULL},
                                                   {"broadcast", NODE_BROADCAST}};
static const cyaml_strval_t schema_orders[] = {{"arrival", RUN_ARRIVAL}, {"fixed", RUN_FIXED}};
static const cyaml_strval_t schema_presets[] = {
    {"gaia", RUN_GAIA}, {"async", RUN_ASYNC}, {"central", RUN_CENTRAL}};
static const cyaml_strval_t schema_flows[] = {{"parameter-flow", RUN_FLOW_PARAMETER}};
static const cyaml_strval_t schema_thresholds[] = {
    {"both", RUN_BOTH}, {"low", RUN_LOW}, {"up", RUN_UP}};
static const cyaml_strval_t schema_goals[] = {{"speed", ASP_SPEED}, {"cost", ASP_COST}};
static const cyaml_strval_t schema_weights[] = {{"mean", RUN_MEAN}, {"sum", RUN_SUM}};
static const cyaml_strval_t schema_leaves[] = {{"majority", RUN_MAJORITY}, {"any", RUN_ANY}};
static const cyaml_strval_t schema_layouts[] = {
    {"sites", RUN_SITES}, {"plain", RUN_PLAIN}, {"lan", RUN_LAN}, {"centralised", RUN_CENTRALISED}};

static const cyaml_strval_t schema_duplexes[] = {{"shared", TOPO_DUPLEX_SHARED},
                                                 {"full", TOPO_DUPLEX_FULL}};

static const cyaml_strval_t schema_amongs[] = {
    {"all", RUN_AMONG_ALL}, {"workers", RUN_AMONG_WORKERS}, {"servers", RUN_AMONG_SERVERS}};

#define OPTIONAL CYAML_FLAG_OPTIONAL
#define CHOICE (CYAML_FLAG_OPTIONAL | CYAML_FLAG_STRICT)

static const cyaml_schema_field_t schema_server_fields[] = {
    CYAML_FIELD_STRING_PTR("name", OPTIONAL, struct run_server, name, 0, CYAML_UNLIMITED),
    CYAML_FIELD_STRING_PTR("region", 0, struct run_server, region_name, 0, CYAML_UNLIMITED),
    CYAML_FIELD_UINT("lanes", OPTIONAL, struct run_server, lanes),
    CYAML_FIELD_STRING_PTR("edge", OPTIONAL, struct run_server, edge, 0, CYAML_UNLIMITED),
    CYAML_FIELD_STRING_PTR("agg", OPTIONAL, struct run_server, agg, 0, CYAML_UNLIMITED),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t schema_group_fields[] = {
    CYAML_FIELD_STRING_PTR("region", 0, struct run_group, region_name, 0, CYAML_UNLIMITED),
    CYAML_FIELD_UINT("count", OPTIONAL, struct run_group, count),
    CYAML_FIELD_UINT("streams", OPTIONAL, struct run_group, streams),
    CYAML_FIELD_FLOAT("slowdown", OPTIONAL, struct run_group, slowdown),
    CYAML_FIELD_STRING_PTR("edge", OPTIONAL, struct run_group, edge, 0, CYAML_UNLIMITED),
    CYAML_FIELD_STRING_PTR("agg", OPTIONAL, struct run_group, agg, 0, CYAML_UNLIMITED),
    CYAML_FIELD_END,
};

/* "servers" and "workers" are numbers or lists; the lists are checked by the next two. */
static const cyaml_schema_field_t schema_site_fields[] = {
    CYAML_FIELD_STRING_PTR("name", OPTIONAL, struct run_site, name, 0, CYAML_UNLIMITED),
    CYAML_FIELD_STRING_PTR("region", 0, struct run_site, region_name, 0, CYAML_UNLIMITED),
    CYAML_FIELD_IGNORE("servers", OPTIONAL),
    CYAML_FIELD_UINT("lanes", OPTIONAL, struct run_site, lanes),
    CYAML_FIELD_IGNORE("workers", OPTIONAL),
    CYAML_FIELD_UINT("streams", OPTIONAL, struct run_site, streams),
    CYAML_FIELD_FLOAT("slowdown", OPTIONAL, struct run_site, slowdown),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t schema_site_server_fields[] = {
    CYAML_FIELD_STRING_PTR("name", OPTIONAL, struct run_server, name, 0, CYAML_UNLIMITED),
    CYAML_FIELD_UINT("lanes", OPTIONAL, struct run_server, lanes),
    CYAML_FIELD_STRING_PTR("edge", OPTIONAL, struct run_server, edge, 0, CYAML_UNLIMITED),
    CYAML_FIELD_STRING_PTR("agg", OPTIONAL, struct run_server, agg, 0, CYAML_UNLIMITED),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t schema_site_group_fields[] = {
    CYAML_FIELD_UINT("count", OPTIONAL, struct run_group, count),
    CYAML_FIELD_UINT("streams", OPTIONAL, struct run_group, streams),
    CYAML_FIELD_FLOAT("slowdown", OPTIONAL, struct run_group, slowdown),
    CYAML_FIELD_STRING_PTR("edge", OPTIONAL, struct run_group, edge, 0, CYAML_UNLIMITED),
    CYAML_FIELD_STRING_PTR("agg", OPTIONAL, struct run_group, agg, 0, CYAML_UNLIMITED),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t schema_site_name = {
    CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, CYAML_UNLIMITED)};

static const cyaml_schema_field_t schema_circle_fields[] = {
    CYAML_FIELD_STRING_PTR("name", 0, struct run_circle, name, 0, CYAML_UNLIMITED),
    CYAML_FIELD_SEQUENCE_COUNT("sites", CYAML_FLAG_POINTER, struct run_circle, site_names,
                               sites_count, &schema_site_name, 1, MIRROR_SITES_MAX),
    CYAML_FIELD_IGNORE("hubs", OPTIONAL),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t schema_circle = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct run_circle, schema_circle_fields)};

static const cyaml_schema_field_t schema_between_fields[] = {
    CYAML_FIELD_ENUM("preset", CHOICE, struct run_between, preset, schema_presets,
                     CYAML_ARRAY_LEN(schema_presets)),
    CYAML_FIELD_STRING_PTR("significance", OPTIONAL, struct run_between, significance, 0,
                           CYAML_UNLIMITED),
    CYAML_FIELD_STRING_PTR("grain", OPTIONAL, struct run_between, grain, 0, CYAML_UNLIMITED),
    CYAML_FIELD_STRING_PTR("library", OPTIONAL, struct run_between, library, 0, CYAML_UNLIMITED),
    CYAML_FIELD_IGNORE("threshold", OPTIONAL),
    CYAML_FIELD_ENUM("goal", CHOICE, struct run_between, goal, schema_goals,
                     CYAML_ARRAY_LEN(schema_goals)),
    CYAML_FIELD_IGNORE("staleness", OPTIONAL),
    CYAML_FIELD_BOOL("barrier", OPTIONAL, struct run_between, barrier),
    CYAML_FIELD_IGNORE("fresh", OPTIONAL),
    CYAML_FIELD_ENUM("weight", CHOICE, struct run_between, weight, schema_weights,
                     CYAML_ARRAY_LEN(schema_weights)),
    CYAML_FIELD_UINT("streams", OPTIONAL, struct run_between, streams),
    CYAML_FIELD_IGNORE("away", OPTIONAL),
    CYAML_FIELD_ENUM("leave_out", CHOICE, struct run_between, leave_out, schema_leaves,
                     CYAML_ARRAY_LEN(schema_leaves)),
    CYAML_FIELD_SEQUENCE_COUNT("groups", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                               struct run_between, circles, circles_count, &schema_circle, 1,
                               MIRROR_GROUPS_MAX),
    CYAML_FIELD_STRING_PTR("centre", OPTIONAL, struct run_between, central.centre_name, 0,
                           CYAML_UNLIMITED),
    CYAML_FIELD_SEQUENCE_COUNT("no_centre", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                               struct run_between, central.no_centre_names, central.no_centre_count,
                               &schema_site_name, 0, MIRROR_SITES_MAX),
    CYAML_FIELD_SEQUENCE_COUNT("no_relay", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                               struct run_between, central.no_relay_names, central.no_relay_count,
                               &schema_site_name, 0, MIRROR_SITES_MAX),
    CYAML_FIELD_IGNORE("reserve", OPTIONAL),
    CYAML_FIELD_IGNORE("move_gain", OPTIONAL),
    CYAML_FIELD_IGNORE("replan", OPTIONAL),
    CYAML_FIELD_IGNORE("plan", OPTIONAL),
    CYAML_FIELD_END,
};

/* What servers are told of sites (run/file/sites_file.h): "address", "pace" and "links" are read
 * from the tree. */
static const cyaml_schema_field_t schema_place_fields[] = {
    CYAML_FIELD_STRING_PTR("name", 0, struct run_site, name, 0, CYAML_UNLIMITED),
    CYAML_FIELD_IGNORE("address", 0),
    CYAML_FIELD_IGNORE("pace", OPTIONAL),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t schema_place_budget_fields[] = {
    CYAML_FIELD_FLOAT("max_gb", 0, struct run_budget, max_gb),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t schema_place_stop_fields[] = {
    CYAML_FIELD_UINT("clocks", 0, struct run_stop, clocks),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t schema_place = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct run_site, schema_place_fields)};

static const cyaml_schema_field_t schema_places_fields[] = {
    CYAML_FIELD_SEQUENCE_COUNT("sites", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct run_file,
                               sites, sites_count, &schema_place, 2, MIRROR_SITES_MAX),
    CYAML_FIELD_IGNORE("links", OPTIONAL),
    CYAML_FIELD_BOOL("shared", OPTIONAL, struct run_file, between.central.shared),
    CYAML_FIELD_MAPPING("between", OPTIONAL, struct run_file, between, schema_between_fields),
    CYAML_FIELD_MAPPING("budget", OPTIONAL, struct run_file, budget, schema_place_budget_fields),
    CYAML_FIELD_MAPPING("stop", OPTIONAL, struct run_file, stop, schema_place_stop_fields),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t schema_places_root = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct run_file, schema_places_fields)};

/* "delay" is a time, "scale" a number or a fraction. */
static const cyaml_schema_field_t schema_lan_fields[] = {
    CYAML_FIELD_STRING_PTR("rate", OPTIONAL, struct run_lan, rate, 0, CYAML_UNLIMITED),
    CYAML_FIELD_IGNORE("delay", OPTIONAL),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t schema_links_fields[] = {
    CYAML_FIELD_IGNORE("scale", OPTIONAL),
    CYAML_FIELD_UINT("machines", OPTIONAL, struct run_links, machines),
    CYAML_FIELD_ENUM("duplex", CHOICE, struct run_links, duplex, schema_duplexes,
                     CYAML_ARRAY_LEN(schema_duplexes)),
    CYAML_FIELD_MAPPING("lan", OPTIONAL, struct run_links, lan, schema_lan_fields),
    CYAML_FIELD_STRING_PTR("card", OPTIONAL, struct run_links, card, 0, CYAML_UNLIMITED),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t schema_budget_fields[] = {
    CYAML_FIELD_FLOAT("max_usd", OPTIONAL, struct run_budget, max_usd),
    CYAML_FIELD_FLOAT("max_gb", OPTIONAL, struct run_budget, max_gb),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t schema_job_fields[] = {
    CYAML_FIELD_STRING_PTR("name", 0, struct run_job, name, 0, CYAML_UNLIMITED),
    CYAML_FIELD_STRING_PTR("data", OPTIONAL, struct run_job, data, 0, CYAML_UNLIMITED),
    CYAML_FIELD_FLOAT("data_gb", OPTIONAL, struct run_job, data_gb),
    CYAML_FIELD_IGNORE("options", OPTIONAL),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t schema_tree_fields[] = {
    CYAML_FIELD_UINT("degree", OPTIONAL, struct node_tree, degree),
    CYAML_FIELD_UINT("depth", OPTIONAL, struct node_tree, depth),
    CYAML_FIELD_FLOAT("leaf_cost", OPTIONAL, struct node_tree, leaf_cost),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t schema_sync_fields[] = {
    CYAML_FIELD_ENUM("preset", CHOICE, struct run_sync, preset, schema_flows,
                     CYAML_ARRAY_LEN(schema_flows)),
    CYAML_FIELD_ENUM("barrier", CHOICE, struct run_sync, barrier, schema_barriers,
                     CYAML_ARRAY_LEN(schema_barriers)),
    CYAML_FIELD_UINT("staleness", OPTIONAL, struct run_sync, staleness),
    CYAML_FIELD_ENUM("delivery", CHOICE, struct run_sync, delivery, schema_deliveries,
                     CYAML_ARRAY_LEN(schema_deliveries)),
    CYAML_FIELD_IGNORE("deadline", OPTIONAL),
    CYAML_FIELD_ENUM("order", CHOICE, struct run_sync, order, schema_orders,
                     CYAML_ARRAY_LEN(schema_orders)),
    CYAML_FIELD_STRING_PTR("filter", OPTIONAL, struct run_sync, filter_said, 0, CYAML_UNLIMITED),
    CYAML_FIELD_STRING_PTR("push", OPTIONAL, struct run_sync, push_said, 0, CYAML_UNLIMITED),
    CYAML_FIELD_STRING_PTR("broadcast", OPTIONAL, struct run_sync, broadcast_said, 0,
                           CYAML_UNLIMITED),
    CYAML_FIELD_STRING_PTR("required", OPTIONAL, struct run_sync, required_said, 0,
                           CYAML_UNLIMITED),
    CYAML_FIELD_ENUM("threshold", CHOICE, struct run_sync, threshold, schema_thresholds,
                     CYAML_ARRAY_LEN(schema_thresholds)),
    CYAML_FIELD_MAPPING("tree", OPTIONAL, struct run_sync, tree, schema_tree_fields),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t schema_checkpoint_fields[] = {
    CYAML_FIELD_UINT("every", OPTIONAL, struct run_checkpoint, every),
    CYAML_FIELD_UINT("keep", OPTIONAL, struct run_checkpoint, keep),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t schema_evaluate_fields[] = {
    CYAML_FIELD_UINT("every", OPTIONAL, struct run_evaluate, every),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t schema_state_fields[] = {
    CYAML_FIELD_UINT("every", OPTIONAL, struct run_keep, every),
    CYAML_FIELD_END,
};

/* "change" is a number or a percentage. */
static const cyaml_schema_field_t schema_converged_fields[] = {
    CYAML_FIELD_IGNORE("change", OPTIONAL),
    CYAML_FIELD_UINT("clocks", OPTIONAL, struct run_converged, clocks),
    CYAML_FIELD_UINT("after", OPTIONAL, struct run_converged, after),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t schema_stop_fields[] = {
    CYAML_FIELD_UINT("clocks", OPTIONAL, struct run_stop, clocks),
    CYAML_FIELD_FLOAT("objective", OPTIONAL, struct run_stop, objective),
    CYAML_FIELD_FLOAT("accuracy", OPTIONAL, struct run_stop, accuracy),
    CYAML_FIELD_IGNORE("converged", OPTIONAL),
    CYAML_FIELD_IGNORE("time", OPTIONAL),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t schema_background_fields[] = {
    CYAML_FIELD_STRING_PTR("name", OPTIONAL, struct run_background, name, 0, CYAML_UNLIMITED),
    CYAML_FIELD_UINT("flows", 0, struct run_background, flows),
    CYAML_FIELD_IGNORE("on", 0),
    CYAML_FIELD_IGNORE("off", OPTIONAL),
    CYAML_FIELD_BOOL("steady", OPTIONAL, struct run_background, steady),
    CYAML_FIELD_ENUM("among", CHOICE, struct run_background, among, schema_amongs,
                     CYAML_ARRAY_LEN(schema_amongs)),
    CYAML_FIELD_STRING_PTR("rate", OPTIONAL, struct run_background, rate, 0, CYAML_UNLIMITED),
    CYAML_FIELD_IGNORE("after", OPTIONAL),
    CYAML_FIELD_IGNORE("until", OPTIONAL),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t schema_background = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct run_background, schema_background_fields)};

static const cyaml_schema_field_t schema_compute_fields[] = {
    CYAML_FIELD_FLOAT("gflops", OPTIONAL, struct run_compute, gflops),
    CYAML_FIELD_IGNORE("time", OPTIONAL),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t schema_server = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct run_server, schema_server_fields)};
static const cyaml_schema_value_t schema_group = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct run_group, schema_group_fields)};
static const cyaml_schema_value_t schema_site = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct run_site, schema_site_fields)};
static const cyaml_schema_value_t schema_site_server = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct run_server, schema_site_server_fields)};
static const cyaml_schema_value_t schema_site_group = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct run_group, schema_site_group_fields)};
static const cyaml_schema_value_t schema_site_servers = {CYAML_VALUE_SEQUENCE(
    CYAML_FLAG_POINTER, struct run_server, &schema_site_server, 1, RUN_SERVERS_MAX)};
static const cyaml_schema_value_t schema_site_groups = {CYAML_VALUE_SEQUENCE(
    CYAML_FLAG_POINTER, struct run_group, &schema_site_group, 1, RUN_WORKERS_MAX)};

static const cyaml_schema_value_t schema_converged = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct run_converged, schema_converged_fields)};

static const cyaml_schema_field_t schema_fields[] = {
    CYAML_FIELD_STRING_PTR("run", 0, struct run_file, name, 0, CYAML_UNLIMITED),
    CYAML_FIELD_UINT("seed", OPTIONAL, struct run_file, seed),
    CYAML_FIELD_IGNORE("topology", 0),
    CYAML_FIELD_MAPPING("links", OPTIONAL, struct run_file, links, schema_links_fields),
    CYAML_FIELD_UINT("shards", OPTIONAL, struct run_file, shards),
    CYAML_FIELD_SEQUENCE("servers", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct run_file,
                         servers, &schema_server, 1, RUN_SERVERS_MAX),
    CYAML_FIELD_SEQUENCE_COUNT("workers", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct run_file,
                               groups, groups_count, &schema_group, 1, RUN_WORKERS_MAX),
    CYAML_FIELD_SEQUENCE("sites", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct run_file, sites,
                         &schema_site, 1, MIRROR_SITES_MAX),
    CYAML_FIELD_MAPPING("between", OPTIONAL, struct run_file, between, schema_between_fields),
    CYAML_FIELD_ENUM("layout", CHOICE, struct run_file, layout, schema_layouts,
                     CYAML_ARRAY_LEN(schema_layouts)),
    CYAML_FIELD_STRING_PTR("lan_region", OPTIONAL, struct run_file, lan_region, 0, CYAML_UNLIMITED),
    CYAML_FIELD_STRING_PTR("machine", OPTIONAL, struct run_file, machine, 0, CYAML_UNLIMITED),
    CYAML_FIELD_MAPPING("budget", OPTIONAL, struct run_file, budget, schema_budget_fields),
    CYAML_FIELD_MAPPING("job", 0, struct run_file, job, schema_job_fields),
    CYAML_FIELD_MAPPING("sync", OPTIONAL, struct run_file, sync, schema_sync_fields),
    CYAML_FIELD_MAPPING("checkpoint", OPTIONAL, struct run_file, checkpoint,
                        schema_checkpoint_fields),
    CYAML_FIELD_MAPPING("evaluate", OPTIONAL, struct run_file, evaluate, schema_evaluate_fields),
    CYAML_FIELD_MAPPING("state", OPTIONAL, struct run_file, state, schema_state_fields),
    CYAML_FIELD_MAPPING("stop", 0, struct run_file, stop, schema_stop_fields),
    CYAML_FIELD_IGNORE("faults", OPTIONAL),
    CYAML_FIELD_SEQUENCE_COUNT("background", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                               struct run_file, backgrounds, backgrounds_count, &schema_background,
                               1, RUN_BACKGROUNDS_MAX),
    CYAML_FIELD_MAPPING("compute", OPTIONAL, struct run_file, compute, schema_compute_fields),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t schema_root = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct run_file, schema_fields)};

/* How to write what must be there. */
static const char *schema_example(const char *key)
{
    static const char *const examples[][2] = {
        {"run", "run: NAME"},
        {"topology", "topology: FILE.json"},
        {"sites", "sites: [NAME, NAME]"},
        {"region", "region: NAME"},
        {"address", "address: tls://HOST:PORT"},
        {"max_gb", "max_gb: NUMBER"},
        {"clocks", "clocks: NUMBER"},
        {"job", "job: {name: NAME}"},
        {"name", "name: NAME"},
        {"stop", "stop: {clocks: 200}"},
        {"flows", "flows: NUMBER"},
        {"on", "on: 10s"},
    };
    size_t i = 0;

    while (strcmp(examples[i][0], key) != 0) {
        i++;
        CHECK(i < sizeof(examples) / sizeof(examples[0]));
    }
    return examples[i][1];
}

static enum err schema_wrong_kind(const struct file_reader *r, const struct run_yaml *node,
                                  const char *path, const char *wanted)
{
    return file_fail_at(r, ERR_MALFORMED, node->place, path, "has to be %s, but is %s", wanted,
                        node->kind == RUN_YAML_TEXT && node->chars[0] == '\0'
                            ? "empty"
                            : run_yaml_kind_name(node->kind));
}

static enum err schema_unknown_key(const struct file_reader *r, const struct run_yaml *node,
                                   const char *path, const cyaml_schema_field_t *fields)
{
    struct nearest near;

    nearest_init(&near, node->key);
    for (; fields->key != NULL; fields++) {
        nearest_offer(&near, fields->key);
    }
    return file_fail_at(r, ERR_MALFORMED, node->key_place, path, "no such key: %s",
                        nearest_hint(&near, "there are"));
}

/* Written as people do: no sign, no leading zero (libcyaml would take it for octal). */
static enum err schema_check_uint(const struct file_reader *r, const struct run_yaml *node,
                                  const char *path, uint32_t bytes)
{
    const char *c = node->chars;
    size_t size = strlen(c);
    unsigned long long most = bytes == 8 ? UINT64_MAX : (1ULL << (bytes * 8)) - 1;
    unsigned long long value;

    if (size == 0 || strspn(c, "0123456789") != size || (c[0] == '0' && size > 1)) {
        return file_fail_at(r, ERR_MALFORMED, node->place, path, "'%.40s' is not a whole number",
                            c);
    }
    errno = 0;
    value = strtoull(c, NULL, 10);
    if (errno != 0 || value > most) {
        return file_fail_at(r, ERR_MALFORMED, node->place, path, "%.40s is too large a number", c);
    }
    return OK;
}

static enum err schema_check_float(const struct file_reader *r, const struct run_yaml *node,
                                   const char *path)
{
    const char *c = node->chars;
    char *end;
    double value = strtod(c, &end);

    if (c[0] == '\0' || *end != '\0' || strspn(c, "0123456789.eE+-") != strlen(c)) {
        return file_fail_at(r, ERR_MALFORMED, node->place, path, "'%.40s' is not a number", c);
    }
    if (!isfinite(value)) {
        return file_fail_at(r, ERR_MALFORMED, node->place, path, "%.40s is too large a number", c);
    }
    return OK;
}

static enum err schema_check_bool(const struct file_reader *r, const struct run_yaml *node,
                                  const char *path)
{
    if (strcmp(node->chars, "true") != 0 && strcmp(node->chars, "false") != 0) {
        return file_fail_at(r, ERR_MALFORMED, node->place, path,
                            "'%.40s' is neither true nor false", node->chars);
    }
    return OK;
}

static enum err schema_check_choice(const struct file_reader *r, const struct run_yaml *node,
                                    const char *path, const cyaml_schema_value_t *schema)
{
    struct nearest near;

    nearest_init(&near, node->chars);
    for (uint32_t i = 0; i < schema->enumeration.count; i++) {
        if (strcmp(schema->enumeration.strings[i].str, node->chars) == 0) {
            return OK;
        }
        nearest_offer(&near, schema->enumeration.strings[i].str);
    }
    return file_fail_at(r, ERR_MALFORMED, node->place, path, "'%.40s' is not one of %s%s%s",
                        node->chars, near.list, near.best != NULL ? ": " : "",
                        near.best != NULL ? nearest_hint(&near, "") : "");
}

static enum err schema_check_text(const struct file_reader *r, const struct run_yaml *node,
                                  const char *path, const cyaml_schema_value_t *schema)
{
    switch (schema->type) {
    case CYAML_UINT:
        return node->kind != RUN_YAML_TEXT ? schema_wrong_kind(r, node, path, "a whole number")
                                           : schema_check_uint(r, node, path, schema->data_size);
    case CYAML_FLOAT:
        return node->kind != RUN_YAML_TEXT ? schema_wrong_kind(r, node, path, "a number")
                                           : schema_check_float(r, node, path);
    case CYAML_BOOL:
        return node->kind != RUN_YAML_TEXT ? schema_wrong_kind(r, node, path, "true or false")
                                           : schema_check_bool(r, node, path);
    case CYAML_ENUM:
        return node->kind != RUN_YAML_TEXT ? schema_wrong_kind(r, node, path, "a word")
                                           : schema_check_choice(r, node, path, schema);
    case CYAML_STRING:
        return node->kind != RUN_YAML_TEXT ? schema_wrong_kind(r, node, path, "a text") : OK;
    default:
        CHECK(schema->type == CYAML_IGNORE);
        return OK;
    }
}

static enum err schema_check(const struct file_reader *r, const struct run_yaml *node,
                             const char *path, const cyaml_schema_value_t *schema);

static enum err schema_check_list(const struct file_reader *r, const struct run_yaml *node,
                                  const char *path, const cyaml_schema_value_t *schema)
{
    uint32_t index = 0;
    enum err rc = OK;

    if (node->kind != RUN_YAML_LIST) {
        return schema_wrong_kind(r, node, path, "a list");
    }
    if (node->count < schema->sequence.min || node->count > schema->sequence.max) {
        return file_fail_at(r, ERR_MALFORMED, node->place, path,
                            "has %u entries: write %u to %u of them", node->count,
                            schema->sequence.min, schema->sequence.max);
    }
    for (const struct run_yaml *n = node->first; n != NULL && rc == OK; n = n->next) {
        struct file_path entry;

        (void)snprintf(entry.chars, sizeof(entry.chars), "%.40s[%u]", path, index++);
        rc = schema_check(r, n, entry.chars, schema->sequence.entry);
    }
    return rc;
}

static const cyaml_schema_field_t *schema_field(const cyaml_schema_field_t *fields, const char *key)
{
    while (fields->key != NULL && strcmp(fields->key, key) != 0) {
        fields++;
    }
    return fields->key != NULL ? fields : NULL;
}

static enum err schema_check_mapping(const struct file_reader *r, const struct run_yaml *node,
                                     const char *path, const cyaml_schema_field_t *fields)
{
    enum err rc = OK;

    if (node->kind != RUN_YAML_MAPPING) {
        return schema_wrong_kind(r, node, path, "a mapping (key: value)");
    }
    for (const struct run_yaml *n = node->first; n != NULL && rc == OK; n = n->next) {
        const cyaml_schema_field_t *field = schema_field(fields, n->key);
        struct file_path member;

        (void)snprintf(member.chars, sizeof(member.chars), "%.28s%s%.32s", path,
                       path[0] != '\0' ? "." : "", n->key);
        rc = field == NULL ? schema_unknown_key(r, n, member.chars, fields)
                           : schema_check(r, n, member.chars, &field->value);
    }
    for (const cyaml_schema_field_t *f = fields; f->key != NULL && rc == OK; f++) {
        if ((f->value.flags & CYAML_FLAG_OPTIONAL) == 0 && run_yaml_get(node, f->key) == NULL) {
            rc = file_fail_at(r, ERR_MALFORMED, node->place, path, "'%s' is missing: write %s",
                              f->key, schema_example(f->key));
        }
    }
    return rc;
}

static enum err schema_check(const struct file_reader *r, const struct run_yaml *node,
                             const char *path, const cyaml_schema_value_t *schema)
{
    switch (schema->type) {
    case CYAML_MAPPING:
        return schema_check_mapping(r, node, path, schema->mapping.fields);
    case CYAML_SEQUENCE:
        return schema_check_list(r, node, path, schema);
    default:
        return schema_check_text(r, node, path, schema);
    }
}

const char *run_barrier_name(enum run_barrier barrier)
{
    return schema_barriers[barrier].str;
}

const char *run_order_name(enum run_order order)
{
    return schema_orders[order].str;
}

const char *run_preset_name(enum run_preset preset)
{
    return schema_presets[preset].str;
}

const char *run_weight_name(enum run_weight weight)
{
    return schema_weights[weight].str;
}

const char *run_leave_out_name(enum run_leave_out leave_out)
{
    return schema_leaves[leave_out].str;
}

const char *run_layout_name(enum run_layout layout)
{
    return schema_layouts[layout].str;
}

const char *run_goal_name(enum asp_goal goal)
{
    return schema_goals[goal].str;
}

const char *run_among_name(enum run_among among)
{
    return schema_amongs[among].str;
}

/* A file has sites, or servers and workers, which are those of one. */
static enum err schema_check_form(const struct file_reader *r)
{
    static const char *const ones[][2] = {{"servers", "[{region: NAME}]"},
                                          {"workers", "[{region: NAME, count: 2}]"}};
    static const char *const many[] = {"between", "layout", "lan_region", "budget"};
    bool sites = file_find(r, "sites") != NULL;

    for (size_t i = 0; i < 2; i++) {
        const struct run_yaml *node = run_yaml_get(r->root, ones[i][0]);

        if (sites && node != NULL) {
            return file_fail_at(r, ERR_MALFORMED, node->key_place, ones[i][0],
                                "the file has sites: give each of them its %s instead", ones[i][0]);
        }
        if (!sites && node == NULL) {
            return file_fail(r, ERR_MALFORMED, "", "'%s' is missing: write %s: %s, or sites",
                             ones[i][0], ones[i][0], ones[i][1]);
        }
    }
    for (size_t i = 0; i < sizeof(many) / sizeof(many[0]); i++) {
        const struct run_yaml *node = run_yaml_get(r->root, many[i]);

        if (!sites && node != NULL) {
            return file_fail_at(r, ERR_MALFORMED, node->key_place, many[i],
                                "belongs to files with sites: leave it out, or write sites instead "
                                "of servers and workers");
        }
    }
    return OK;
}

enum err file_check(const struct file_reader *r)
{
    enum err rc;

    if (file_find(r, "set") != NULL && file_find(r, "cells") != NULL) {
        return file_fail(r, ERR_MALFORMED, "set",
                         "this is a set of comparisons, not a run: strait compare --set %.128s",
                         r->name);
    }
    rc = schema_check(r, r->root, "", r->places ? &schema_places_root : &schema_root);

    if (r->places) {
        return rc;
    }
    return rc == OK ? schema_check_form(r) : rc;
}

enum err file_check_servers(const struct file_reader *r, const struct run_yaml *node,
                            const char *path)
{
    return schema_check(r, node, path, &schema_site_servers);
}

enum err file_check_workers(const struct file_reader *r, const struct run_yaml *node,
                            const char *path)
{
    return schema_check(r, node, path, &schema_site_groups);
}

enum err file_check_converged(const struct file_reader *r, const struct run_yaml *node,
                              const char *path)
{
    return schema_check(r, node, path, &schema_converged);
}

enum err file_load(struct file_reader *r)
{
    const cyaml_config_t config = {
        .mem_fn = run_arena_realloc,
        .mem_ctx = r->arena,
        .log_level = CYAML_LOG_ERROR,
        .flags = CYAML_CFG_NO_ALIAS,
    };
    cyaml_data_t *data = NULL;
    cyaml_err_t rc = cyaml_load_data((const uint8_t *)r->bytes, r->size, &config,
                                     r->places ? &schema_places_root : &schema_root, &data, NULL);

    if (rc == CYAML_ERR_OOM) {
        return ERR_NOMEM;
    }
    if (rc != CYAML_OK) {
        return file_fail(r, ERR_INVALID, "", "libcyaml cannot load it: %s", cyaml_strerror(rc));
    }
    r->f = data;
    return OK;
}
