/* What the options of `strait server` say. */

#include "cli/cert/cert.h"
#include "cli/doctor/machine.h"
#include "cli/server/server.h"
#include "cli/worker/job.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    PLAN_IN_FLIGHT_MIN = 8 << 20,
    PLAN_IN_FLIGHT_USUAL = 576 << 20, /* What four workers may take where nothing limits it. */
};

static enum cli_exit plan_error(struct cli_context *ctx, const char *text)
{
    return cli_error(ctx, CLI_ERROR_SETTINGS, "strait server --help", "%s", text);
}

/* "2", or "2,1,1": one number for each server. */
static enum cli_exit plan_lanes(struct cli_context *ctx, struct server_plan *plan)
{
    const char *text = cli_text(ctx, "lanes");
    const char *at = text;
    uint32_t count = 0;

    while (*at != '\0' && count < SERVER_SERVERS_MAX) {
        char *end;
        unsigned long lanes = strtoul(at, &end, 10);

        if (*at < '0' || *at > '9' || lanes < 1 || lanes > SERVER_LANES_MAX ||
            (*end != '\0' && *end != ',') || (*end == ',' && end[1] == '\0')) {
            return cli_error(ctx, CLI_ERROR_BAD_VALUE, NULL,
                             "--lanes %s: a number from 1 to %d, or one for each server: 2,1,1",
                             text, SERVER_LANES_MAX);
        }
        plan->lanes[count++] = (uint32_t)lanes;
        at = *end == ',' ? end + 1 : end;
    }
    if (count == 1) {
        for (; count < plan->servers; count++) {
            plan->lanes[count] = plan->lanes[0];
        }
    }
    if (count != plan->servers) {
        return cli_error(ctx, CLI_ERROR_SETTINGS, NULL,
                         "--lanes %s: %" PRIu32 " numbers for %" PRIu32
                         " servers; give one, or one for each server",
                         text, count, plan->servers);
    }
    return CLI_DONE;
}

static enum cli_exit plan_place(struct cli_context *ctx, struct server_plan *plan)
{
    enum cli_exit status;

    plan->servers = (uint32_t)cli_number(ctx, "servers");
    plan->index = (uint32_t)cli_number(ctx, "index");
    if (plan->index >= plan->servers) {
        return cli_error(ctx, CLI_ERROR_SETTINGS, NULL,
                         "--index %" PRIu32 ": with --servers %" PRIu32 " it is 0 to %" PRIu32,
                         plan->index, plan->servers, plan->servers - 1);
    }
    if (plan->index == 0 && cli_given(ctx, "first")) {
        return plan_error(ctx, "--first is for further servers: say which one this is with --index "
                               "1, 2, ...");
    }
    if (plan->index > 0 && !cli_given(ctx, "first")) {
        return plan_error(ctx, "--index: a further server has to know where the first one is: "
                               "--first ADDRESS, which that one prints");
    }
    status = plan_lanes(ctx, plan);
    plan->site.lanes = 0;
    for (uint32_t i = 0; i < plan->servers && status == CLI_DONE; i++) {
        plan->first_number += i < plan->index ? plan->lanes[i] : 0;
        plan->site.lanes += plan->lanes[i];
    }
    return status;
}

/* Where to listen. Without TLS and with one --insecure only on this machine. */
static enum cli_exit plan_listen(struct cli_context *ctx, struct server_plan *plan)
{
    char fallback[NET_ADDRESS_BYTES];
    const char *text = cli_text(ctx, "listen");
    enum cli_exit status;

    (void)snprintf(fallback, sizeof(fallback), "%s:%d",
                   security_insecure(ctx) == 1 ? "127.0.0.1" : "0.0.0.0", SERVER_PORT);
    status = security_address(ctx, "listen", text == NULL ? fallback : text, &plan->listen);
    if (status == CLI_DONE && plan->listen.scheme == NET_SCHEME_UNIX) {
        status =
            cli_error(ctx, CLI_ERROR_BAD_VALUE, NULL,
                      "--listen %s: a server listens on tls://, or in the clear on tcp://", text);
    }
    plan->tls = plan->listen.scheme == NET_SCHEME_TLS;
    if (status == CLI_DONE && plan->index > 0) {
        status = security_address(ctx, "first", cli_text(ctx, "first"), &plan->first);
    }
    if (status == CLI_DONE && plan->index > 0 && plan->first.scheme != plan->listen.scheme) {
        status = plan_error(ctx, "--first and --listen: servers of one site all speak TLS, or all "
                                 "do not");
    }
    return status;
}

/* --restore newest, none, or a clock. */
static enum cli_exit plan_restore(struct cli_context *ctx, struct server_plan *plan)
{
    const char *text = cli_text(ctx, "restore");
    char *end;

    if (cli_given(ctx, "restore") && plan->store == NULL) {
        return plan_error(ctx, "--restore: what to start from is in a --store DIR");
    }
    if (strcmp(text, "newest") == 0) {
        plan->restore = NODE_RESTORE_NEWEST;
        return CLI_DONE;
    }
    if (strcmp(text, "none") == 0) {
        plan->restore = NODE_RESTORE_NONE;
        return CLI_DONE;
    }
    plan->restore = NODE_RESTORE_CLOCK;
    plan->restore_clock = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || plan->restore_clock > INT64_MAX) {
        return cli_error(ctx, CLI_ERROR_BAD_VALUE, NULL,
                         "--restore %s: newest, none, or the clock of a checkpoint as in \"strait "
                         "store ls\"",
                         text);
    }
    return CLI_DONE;
}

/* Tables may have three quarters of the memory that there is. Frames take what they need of the
 * rest; where the process is limited, not more than that. */
static void plan_memory(struct cli_context *ctx, struct server_plan *plan)
{
    bool limited;
    uint64_t most = machine_memory_max(&limited);
    uint64_t flight = most / 4 > PLAN_IN_FLIGHT_MIN ? most / 4 : PLAN_IN_FLIGHT_MIN;

    plan->in_flight_bytes = (uint64_t)cli_number(ctx, "in-flight");
    plan->table_bytes = (uint64_t)cli_number(ctx, "table-memory");
    if (!cli_given(ctx, "table-memory") && most != UINT64_MAX) {
        plan->table_bytes = most / 4 * 3;
    }
    if (!cli_given(ctx, "in-flight") && limited && flight < PLAN_IN_FLIGHT_USUAL) {
        plan->in_flight_bytes = flight;
    }
}

enum cli_exit server_plan_read(struct cli_context *ctx, struct server_plan *out)
{
    enum cli_exit status;

    *out = (struct server_plan){.store = cli_text(ctx, "store"),
                                .pace_bytes_per_s = (uint64_t)cli_number(ctx, "pace") / 8,
                                .agg = cli_text(ctx, "agg"),
                                .edge = cli_text(ctx, "edge"),
                                .status_every_ns = cli_number(ctx, "status-every") * 1000};
    plan_memory(ctx, out);
    status = plan_place(ctx, out);
    if (status == CLI_DONE) {
        status = plan_listen(ctx, out);
    }
    if (status == CLI_DONE) {
        status = plan_restore(ctx, out);
    }
    if (status == CLI_DONE && out->tls) {
        status = security_find(ctx, &out->files);
    }
    if (status == CLI_DONE && cli_given(ctx, "pace") && out->pace_bytes_per_s == 0) {
        status = cli_error(ctx, CLI_ERROR_BAD_VALUE, NULL, "--pace: at least a byte per second");
    }
    return status;
}

/* The site. */

static bool plan_wants(struct cli_context *ctx, bool all, const char *name)
{
    return all || cli_given(ctx, name);
}

static void plan_sync(struct cli_context *ctx, bool all, struct sync_config *sync)
{
    if (plan_wants(ctx, all, "barrier")) {
        sync->policy = sync_policy_find(cli_text(ctx, "barrier"));
    }
    if (cli_given(ctx, "staleness")) {
        sync->staleness = (uint64_t)cli_number(ctx, "staleness");
    } else if (all) {
        sync->staleness = sync->policy == &sync_ssp ? (uint64_t)cli_number(ctx, "staleness") : 0;
    }
    if (plan_wants(ctx, all, "deadline")) {
        sync->deadline_ns = cli_number(ctx, "deadline") * 1000;
    }
    if (plan_wants(ctx, all, "order")) {
        sync->fixed_order = strcmp(cli_text(ctx, "order"), "fixed") == 0;
    }
    if (plan_wants(ctx, all, "workers")) {
        sync->members_min = (uint32_t)cli_number(ctx, "workers");
    }
}

static void plan_checkpoints(struct cli_context *ctx, bool all, const struct server_plan *plan,
                             struct node_site *site)
{
    if (cli_given(ctx, "checkpoint-every")) {
        site->checkpoint_every = (uint32_t)cli_number(ctx, "checkpoint-every");
    } else if (all) {
        site->checkpoint_every =
            plan->store == NULL ? 0 : (uint32_t)cli_number(ctx, "checkpoint-every");
    }
    if (plan_wants(ctx, all, "keep")) {
        site->checkpoint_keep = (uint32_t)cli_number(ctx, "keep");
    }
}

static enum cli_exit plan_goal(struct cli_context *ctx, struct node_goal *goal)
{
    goal->has_objective = cli_given(ctx, "stop-objective");
    goal->objective = cli_decimal(ctx, "stop-objective");
    goal->rising = cli_flag(ctx, "rising");
    goal->accuracy = cli_decimal(ctx, "stop-accuracy");
    if (cli_given(ctx, "stop-accuracy") && (goal->accuracy <= 0 || goal->accuracy > 1)) {
        return cli_error(ctx, CLI_ERROR_BAD_VALUE, NULL,
                         "--stop-accuracy %s: a part of the test set, above 0 and at most 1",
                         cli_text(ctx, "stop-accuracy"));
    }
    return CLI_DONE;
}

static enum cli_exit plan_site_name(struct cli_context *ctx, struct node_site *site)
{
    const char *name = cli_text(ctx, "site");

    if (name == NULL) {
        return CLI_DONE;
    }
    if (!pki_name_valid(name)) {
        return cli_error(ctx, CLI_ERROR_BAD_IDENTITY, NULL, "--site \"%s\": not a name of a site",
                         name);
    }
    (void)snprintf(site->name, sizeof(site->name), "%s", name);
    return CLI_DONE;
}

static enum cli_exit plan_chain(struct cli_context *ctx, const char *name,
                                struct node_sparsify_config *out)
{
    struct err_text why = {""};

    if (!cli_given(ctx, name)) {
        return CLI_DONE;
    }
    if (codec_chain_parse(cli_text(ctx, name), &out->chain, &why) != OK) {
        return cli_error(ctx, CLI_ERROR_BAD_VALUE, NULL, "--%s: %s", name, why.text);
    }
    out->on = true;
    return CLI_DONE;
}

/* What is held back, and the way of sums. */
static enum cli_exit plan_flow(struct cli_context *ctx, struct node_site *site)
{
    struct err_text why = {""};
    enum cli_exit status = plan_chain(ctx, "push", &site->push);

    if (status == CLI_DONE) {
        status = plan_chain(ctx, "broadcast", &site->broadcast);
    }
    if (cli_given(ctx, "required")) {
        site->required = (uint64_t)cli_number(ctx, "required") / 8;
    }
    if (status == CLI_DONE && cli_given(ctx, "tree") &&
        node_tree_parse(cli_text(ctx, "tree"), &site->tree, &why) != OK) {
        status = cli_error(ctx, CLI_ERROR_BAD_VALUE, NULL, "--tree: %s", why.text);
    }
    return status;
}

enum cli_exit server_plan_site(struct cli_context *ctx, bool all, struct server_plan *plan)
{
    struct node_site *site = &plan->site;
    enum cli_exit status = plan_site_name(ctx, site);

    if (status == CLI_DONE) {
        status = plan_goal(ctx, &site->goal);
    }
    if (status == CLI_DONE && (all || cli_given(ctx, "job"))) {
        status = worker_job_text(ctx, site->job);
    }
    if (status != CLI_DONE) {
        return status;
    }
    if (site->name[0] == '\0') {
        return cli_error(ctx, CLI_ERROR_MISSING_ARGUMENT, NULL, "server: --site NAME is needed");
    }
    if (cli_given(ctx, "shards")) {
        site->shards = (uint32_t)cli_number(ctx, "shards");
    } else if (all) {
        site->shards = site->lanes;
    }
    if (plan_wants(ctx, all, "delivery") &&
        node_delivery_parse(cli_text(ctx, "delivery"), &site->delivery) != OK) {
        return plan_error(ctx, "--delivery: pull or broadcast");
    }
    plan_sync(ctx, all, &site->sync);
    plan_checkpoints(ctx, all, plan, site);
    return plan_flow(ctx, site);
}

enum cli_exit server_plan_check(struct cli_context *ctx, const struct server_plan *plan)
{
    const struct node_site *site = &plan->site;
    struct err_text text = {""};

    if (site->checkpoint_every > 0 && plan->store == NULL) {
        return plan_error(ctx, "--checkpoint-every: where to? Say --store DIR");
    }
    if (node_site_check(site, &text) != OK) {
        return plan_error(ctx, text.text);
    }
    if (site->required == 0 &&
        (node_sparsify_is_adaptive(&site->push) || node_sparsify_is_adaptive(&site->broadcast))) {
        return plan_error(ctx, "two thresholds, low and up: say with --required RATE when links "
                               "are too slow for the lower one");
    }
    return CLI_DONE;
}

/* Without certificates only loopback is safe, for other sites as for everybody. */
static enum cli_exit plan_judge_sites(struct cli_context *ctx, const struct node_between *between)
{
    for (uint32_t i = 0; i < between->others_count; i++) {
        const struct node_other_site *o = &between->others[i];
        char address[NET_ADDRESS_BYTES];

        if (o->first.scheme != NET_SCHEME_TLS && security_insecure(ctx) < 2 &&
            !security_is_local(&o->first)) {
            return cli_error(ctx, CLI_ERROR_INSECURE, NULL,
                             "--between %s: site %s at %s: not encrypted, and not on this machine; "
                             "if that is really wanted, give --insecure twice",
                             cli_text(ctx, "between"), o->name,
                             net_address_format(&o->first, address));
        }
    }
    return CLI_DONE;
}

enum cli_exit server_plan_between(struct cli_context *ctx, struct server_plan *plan)
{
    const struct run_sites_reader reader = {
        .site = plan->site.name, .lanes = plan->site.lanes, .tls = plan->tls};
    const char *path = cli_text(ctx, "between");
    struct err_text text = {""};
    enum err rc;

    if (path == NULL) {
        return CLI_DONE;
    }
    rc = run_sites_load(path, &reader, &plan->sites, &text);
    if (rc == ERR_NOMEM) {
        return cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "--between %s", text.text);
    }
    if (rc != OK) {
        return cli_error(ctx, rc == ERR_MALFORMED ? CLI_ERROR_RUN_FILE : CLI_ERROR_FILE, NULL,
                         "--between %s", text.text);
    }
    return plan_judge_sites(ctx, run_sites_between(plan->sites));
}

/* Who we are. */

static enum cli_exit plan_certificate(struct cli_context *ctx, struct server_plan *plan)
{
    char who[PKI_IDENTITY_TEXT_BYTES];
    struct pki_description d;
    enum cli_exit status = cert_read(ctx, plan->files.cert, &d);

    if (status != CLI_DONE) {
        return status;
    }
    plan->identity = d.identity;
    if (!d.identified || d.identity.role != WIRE_ROLE_SERVER) {
        return cli_error(ctx, CLI_ERROR_BAD_IDENTITY, "strait cert issue CA server/SITE/NAME",
                         "%s: the certificate is that of %s: a server's is needed",
                         plan->files.cert,
                         d.identified ? pki_identity_format(&d.identity, who) : "nobody");
    }
    if (plan->site.name[0] == '\0') {
        (void)snprintf(plan->site.name, sizeof(plan->site.name), "%s", d.identity.site);
    }
    if (strcmp(plan->site.name, d.identity.site) != 0) {
        return cli_error(ctx, CLI_ERROR_BAD_IDENTITY, "strait cert issue CA server/SITE/NAME",
                         "%s: the certificate is that of %s: it is for another site than %s",
                         plan->files.cert, pki_identity_format(&d.identity, who), plan->site.name);
    }
    return CLI_DONE;
}

enum cli_exit server_plan_identity(struct cli_context *ctx, struct server_plan *plan)
{
    const char *given = cli_text(ctx, "name");
    struct err_text text = {""};
    char name[16];

    if (plan->tls) {
        return plan_certificate(ctx, plan);
    }
    (void)snprintf(name, sizeof(name), "s%" PRIu32, plan->index);
    if (plan->site.name[0] == '\0') {
        return cli_error(ctx, CLI_ERROR_MISSING_ARGUMENT, NULL, "server: --site NAME is needed");
    }
    if (pki_identity_make(WIRE_ROLE_SERVER, plan->site.name, given == NULL ? name : given,
                          &plan->identity, &text) != OK) {
        return cli_error(ctx, CLI_ERROR_BAD_IDENTITY, NULL, "server: %s", text.text);
    }
    return CLI_DONE;
}
