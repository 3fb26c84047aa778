/* What `strait server` tells: how to join, who came and went, how it goes, for whom it waits. */

#include "base/units.h"
#include "cli/cert/cert.h"
#include "cli/member/advertise.h"
#include "cli/server/server.h"
#include "cli/status/why.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    SAY_CLOCK_MS = 10000,      /* How often the clock is said, if it moves. */
    SAY_WAIT_AFTER_MS = 5000,  /* Nothing moves for so long: say why. */
    SAY_WAIT_AGAIN_MS = 60000, /* And again, if it is still so. */
    SAY_BYTES = 4096,
};

void server_say_json(struct cli_context *ctx, json_t *object)
{
    json_t *whole = json_pack("{s:i}", "schema", CLI_JSON_SCHEMA);
    char *text = NULL;

    if (whole != NULL && object != NULL && json_object_update_missing(whole, object) == 0) {
        text = json_dumps(whole, JSON_COMPACT);
    }
    cli_out(ctx, "%s\n", text != NULL ? text : "{\"schema\":1,\"event\":\"no_memory\"}");
    free(text);
    json_decref(object);
    json_decref(whole);
    cli_flush(ctx);
}

void server_say_status(struct cli_context *ctx, const json_t *report)
{
    const json_t *lanes = json_object_get(report, "lanes");

    for (size_t i = 0; i < json_array_size(lanes); i++) {
        const json_t *lane = json_array_get(lanes, i);

        server_say_json(ctx, json_pack("{s:s, s:O, s:O?}", "event", "status", "lane",
                                       json_object_get(lane, "lane"), "status",
                                       json_object_get(lane, "status")));
    }
}

/* Commands for others. */

/* The options by which they get past the door. */
static const char *say_door(const struct net_address *address)
{
    return address->scheme == NET_SCHEME_TLS ? "--cert DIR"
           : security_is_local(address)      ? "--insecure"
                                             : "--insecure --insecure";
}

void server_say_join(struct cli_context *ctx, const struct net_address *first, char *out,
                     size_t size)
{
    char to[NET_ADDRESS_BYTES];

    (void)ctx;
    (void)snprintf(out, size, "strait worker --join %s %s", net_address_format(first, to),
                   say_door(first));
}

void server_say_further(struct cli_context *ctx, const struct server_plan *plan,
                        const struct net_address *first, uint32_t index, char *out, size_t size)
{
    char to[NET_ADDRESS_BYTES];
    bool local = security_is_local(first);

    /* On one machine they cannot all have the same port. */
    (void)snprintf(out, size,
                   "strait server --first %s --servers %" PRIu32 " --index %" PRIu32
                   " --lanes %s%s%s%s%s%s %s",
                   net_address_format(first, to), plan->servers, index, cli_text(ctx, "lanes"),
                   plan->sites == NULL ? "" : " --between ",
                   plan->sites == NULL ? "" : cli_text(ctx, "between"),
                   plan->store == NULL ? "" : " --store DIR", local ? " --listen " : "",
                   !local                            ? ""
                   : first->scheme == NET_SCHEME_TLS ? "tls://127.0.0.1:0"
                                                     : "tcp://127.0.0.1:0",
                   say_door(first));
}

/* At the start. */

static json_t *say_addresses(const struct node_server *server, bool told)
{
    json_t *out = json_array();

    for (uint32_t i = 0; i < node_server_lanes(server); i++) {
        char address[NET_ADDRESS_BYTES];

        (void)json_array_append_new(
            out, json_string(net_address_format(
                     told ? node_server_told(server, i) : node_server_bound(server, i), address)));
    }
    return out;
}

/* What is held back, and the way of sums: what of it was said, one by one. */
static void say_flow(const struct node_site *site,
                     void (*say)(void *to, const char *key, const char *what), void *to)
{
    char text[CODEC_CHAIN_TEXT_BYTES + NODE_TREE_TEXT_BYTES];
    struct units_text rate;

    if (site->push.on) {
        codec_chain_print(&site->push.chain, text, sizeof(text));
        say(to, "push", text);
    }
    if (site->broadcast.on) {
        codec_chain_print(&site->broadcast.chain, text, sizeof(text));
        say(to, "broadcast", text);
    }
    if (site->required > 0) {
        say(to, "required", units_rate_print(site->required, &rate));
    }
    if (site->tree.degree > 0) {
        node_tree_print(&site->tree, text, sizeof(text));
        say(to, "tree", text);
    }
}

static void say_flow_json(void *to, const char *key, const char *what)
{
    (void)json_object_set_new(to, key, json_string(what));
}

static void say_flow_row(void *to, const char *key, const char *what)
{
    cert_row(to, key, what);
}

/* The oldest checkpoint that our lanes go on from; NULL: none. */
static const json_t *say_restored(const json_t *report)
{
    const json_t *lanes = json_object_get(report, "lanes");
    const json_t *oldest = NULL;

    for (size_t i = 0; i < json_array_size(lanes); i++) {
        const json_t *status = json_object_get(json_array_get(lanes, i), "status");
        const json_t *checkpoint = json_object_get(status, "checkpoint");

        if (json_integer_value(json_object_get(checkpoint, "number")) == 0) {
            continue;
        }
        if (oldest == NULL || json_integer_value(json_object_get(checkpoint, "clock")) <
                                  json_integer_value(json_object_get(oldest, "clock"))) {
            oldest = checkpoint;
        }
    }
    return oldest;
}

static const struct net_address *say_first(const struct server_plan *plan,
                                           const struct node_server *server)
{
    return plan->index == 0 ? node_server_told(server, 0) : &plan->first;
}

static void say_ready_json(struct cli_context *ctx, const struct server_plan *plan,
                           const struct node_server *server, const json_t *report)
{
    const struct net_address *first = say_first(plan, server);
    const json_t *restored = say_restored(report);
    char command[SERVER_COMMAND_BYTES];
    json_t *further = json_array();
    json_t *out;

    for (uint32_t i = 1; i < plan->servers && plan->index == 0; i++) {
        server_say_further(ctx, plan, first, i, command, sizeof(command));
        (void)json_array_append_new(further, json_string(command));
    }
    server_say_join(ctx, first, command, sizeof(command));
    out = json_pack("{s:s, s:s, s:s, s:I, s:I, s:o, s:o, s:s, s:o, s:o, s:O?}", "event", "ready",
                    "site", plan->site.name, "server", plan->identity.name, "index",
                    (json_int_t)plan->index, "workers", (json_int_t)plan->site.sync.members_min,
                    "addresses", say_addresses(server, true), "listening",
                    say_addresses(server, false), "join", command, "servers", further, "sites",
                    server_sites_named(plan), "checkpoint", restored);
    say_flow(&plan->site, say_flow_json, out);
    server_say_json(ctx, out);
}

static void say_checkpoints(struct cli_context *ctx, const struct server_plan *plan,
                            const json_t *report)
{
    const json_t *restored = say_restored(report);
    char line[SAY_BYTES];

    if (plan->store == NULL) {
        cert_row(ctx, "checkpoints",
                 plan->site.delivery == NODE_PULL
                     ? "none: what is learnt is gone if this server ends"
                     : "none: what is learnt lives on in the workers only");
        return;
    }
    if (restored != NULL) {
        (void)snprintf(line, sizeof(line), "%s, goes on from number %" PRId64 " of clock %" PRId64,
                       plan->store,
                       (int64_t)json_integer_value(json_object_get(restored, "number")),
                       (int64_t)json_integer_value(json_object_get(restored, "clock")));
    } else {
        (void)snprintf(line, sizeof(line), "%s, none there yet: starts anew", plan->store);
    }
    cert_row(ctx, "checkpoints", line);
}

static void say_listening(struct cli_context *ctx, const struct node_server *server)
{
    for (uint32_t i = 0; i < node_server_lanes(server); i++) {
        char address[NET_ADDRESS_BYTES];

        cert_row(ctx, i == 0 ? "listening" : "",
                 net_address_format(node_server_bound(server, i), address));
    }
}

static void say_ready_people(struct cli_context *ctx, const struct server_plan *plan,
                             const struct node_server *server, const json_t *report)
{
    const struct net_address *first = say_first(plan, server);
    const struct node_site *site = &plan->site;
    char line[SERVER_COMMAND_BYTES];

    (void)snprintf(line, sizeof(line), "%s: %s, %s, %" PRIu32 " shard%s on %" PRIu32 " lane%s",
                   site->name, site->sync.policy->name, node_delivery_name(site->delivery),
                   site->shards, site->shards == 1 ? "" : "s", site->lanes,
                   site->lanes == 1 ? "" : "s");
    cert_row(ctx, "site", line);
    say_flow(site, say_flow_row, ctx);
    (void)snprintf(line, sizeof(line), "%s, %" PRIu32 " of %" PRIu32, plan->identity.name,
                   plan->index + 1, plan->servers);
    cert_row(ctx, "server", line);
    say_listening(ctx, server);
    server_sites_list(ctx, plan);
    say_checkpoints(ctx, plan, report);
    for (uint32_t i = 1; i < plan->servers && plan->index == 0; i++) {
        server_say_further(ctx, plan, first, i, line, sizeof(line));
        cert_row(ctx, i == 1 ? "servers with" : "", line);
    }
    server_say_join(ctx, first, line, sizeof(line));
    cert_row(ctx, "join with", line);
    cli_flush(ctx);
    if (security_is_local(first)) {
        cli_note(ctx, "Only this machine can reach that address.");
    }
    if (say_restored(report) != NULL) {
        cli_note(ctx, "Waiting for the workers of before to come back. Ctrl-C stops cleanly, twice "
                      "at once.");
    } else {
        cli_note(ctx, "Waiting for %" PRIu32 " worker%s. Ctrl-C stops cleanly, twice at once.",
                 site->sync.members_min, site->sync.members_min == 1 ? "" : "s");
    }
    net_address_format(first, line);
    cli_next(ctx, "strait why --join %s %s", line, say_door(first));
}

void server_say_ready(struct cli_context *ctx, const struct server_plan *plan,
                      const struct node_server *server, const json_t *report)
{
    if (ctx->json) {
        say_ready_json(ctx, plan, server, report);
    } else {
        say_ready_people(ctx, plan, server, report);
    }
}

/* News. */

static bool say_is_in(const json_t *member)
{
    const char *state = json_string_value(json_object_get(member, "state"));

    return state != NULL && strcmp(state, "in") == 0;
}

static uint32_t say_count_in(const json_t *members)
{
    uint32_t count = 0;
    const char *name;
    json_t *member;

    json_object_foreach((json_t *)members, name, member)
    {
        count += say_is_in(member);
    }
    return count;
}

/* The members of the first lane, by name. */
static json_t *say_members(const json_t *status)
{
    const json_t *list = json_object_get(status, "members");
    json_t *out = json_object();

    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *member = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(member, "name"));

        if (name != NULL) {
            (void)json_object_set(out, name, member);
        }
    }
    return out;
}

static void say_member(struct cli_context *ctx, const char *name, const json_t *before,
                       const json_t *now, uint32_t count)
{
    int64_t rank = json_integer_value(json_object_get(now != NULL ? now : before, "rank"));
    bool was = say_is_in(before);
    bool is = say_is_in(now);

    if (was && is &&
        !json_equal(json_object_get(before, "incarnation"), json_object_get(now, "incarnation"))) {
        cli_note(ctx, "worker %s (rank %" PRId64 ") was restarted and is back", name, rank);
    } else if (!was && is) {
        cli_note(ctx, "worker %s (rank %" PRId64 ") is in: %" PRIu32 " worker%s", name, rank, count,
                 count == 1 ? "" : "s");
    } else if (was && !is) {
        cli_note(ctx, "worker %s (rank %" PRId64 ") is out: %" PRIu32 " worker%s", name, rank,
                 count, count == 1 ? "" : "s");
    } else if (is && json_is_true(json_object_get(before, "up")) &&
               !json_is_true(json_object_get(now, "up"))) {
        cli_note(ctx, "worker %s (rank %" PRId64 ") is away: its connection is down", name, rank);
    } else if (is && !json_is_true(json_object_get(before, "up")) &&
               json_is_true(json_object_get(now, "up"))) {
        cli_note(ctx, "worker %s (rank %" PRId64 ") is back", name, rank);
    }
}

static void say_changes(struct cli_context *ctx, struct server_news *news, json_t *members,
                        uint64_t clock)
{
    uint32_t count = say_count_in(members);
    const char *name;
    json_t *member;

    if (count == 0 && say_count_in(news->members) == 0 && clock > news->moved_to) {
        cli_note(ctx, "workers came and went: clock %" PRIu64 " is complete", clock);
    }
    json_object_foreach(members, name, member)
    {
        say_member(ctx, name, json_object_get(news->members, name), member, count);
    }
    json_object_foreach(news->members, name, member)
    {
        if (json_object_get(members, name) == NULL) {
            say_member(ctx, name, member, NULL, count);
        }
    }
    json_decref(news->members);
    news->members = members;
}

static void say_clock(struct cli_context *ctx, struct server_news *news, const json_t *status,
                      int64_t now_ns)
{
    const json_t *progress = json_object_get(status, "progress");
    const json_t *loss = json_object_get(progress, "loss");
    uint64_t clock = (uint64_t)json_integer_value(json_object_get(status, "version"));
    double seconds = (double)(now_ns - news->clock_ns) / 1e9;
    char goes[64] = "";

    if (clock == news->clock || now_ns - news->clock_ns < SAY_CLOCK_MS * INT64_C(1000000)) {
        return;
    }
    if (loss != NULL) {
        (void)snprintf(goes, sizeof(goes), ", loss %.5g", json_number_value(loss));
    }
    cli_note(ctx, "clock %" PRIu64 ", %.3g clocks/s, %" PRIu32 " workers%s", clock,
             clock > news->clock ? (double)(clock - news->clock) / seconds : 0,
             say_count_in(news->members), goes);
    news->clock = clock;
    news->clock_ns = now_ns;
}

static void say_checkpoint(struct cli_context *ctx, struct server_news *news, const json_t *status)
{
    const json_t *checkpoint = json_object_get(status, "checkpoint");
    uint64_t number = (uint64_t)json_integer_value(json_object_get(checkpoint, "number"));

    if (news->checkpoint_known && number == news->checkpoint + 1 && number == 1) {
        cli_note(ctx, "the first checkpoint is written, of clock %" PRId64,
                 (int64_t)json_integer_value(json_object_get(checkpoint, "clock")));
    }
    news->checkpoint = number;
    news->checkpoint_known = true;
}

/* Also if nobody waits: an update that is in no checkpoint is lost if the server dies. */
static void say_store(struct cli_context *ctx, struct server_news *news, const json_t *report)
{
    const json_t *lanes = json_object_get(report, "lanes");
    const json_t *failing = NULL;

    for (size_t i = 0; i < json_array_size(lanes) && failing == NULL; i++) {
        const json_t *status = json_object_get(json_array_get(lanes, i), "status");
        const json_t *checkpoint = json_object_get(status, "checkpoint");

        failing = json_object_get(checkpoint, "failures") != NULL ? checkpoint : NULL;
    }
    if (failing != NULL && !news->store_fails) {
        cli_note(ctx, "checkpoints cannot be written: %s; trying again",
                 json_string_value(json_object_get(failing, "error")));
    } else if (failing == NULL && news->store_fails) {
        cli_note(ctx, "checkpoints are written again");
    }
    news->store_fails = failing != NULL;
}

/* Nothing has moved for a while: say why, but not all the time. */
static void say_waiting(struct cli_context *ctx, struct server_news *news, const json_t *report,
                        const json_t *status, int64_t now_ns)
{
    uint64_t clock = (uint64_t)json_integer_value(json_object_get(status, "version"));
    json_t *reasons;

    if (clock != news->moved_to || news->moved_ns == 0) {
        news->moved_to = clock;
        news->moved_ns = now_ns;
        news->waited_ns = 0;
        return;
    }
    if (now_ns - news->moved_ns < SAY_WAIT_AFTER_MS * INT64_C(1000000) ||
        (news->waited_ns != 0 && now_ns - news->waited_ns < SAY_WAIT_AGAIN_MS * INT64_C(1000000))) {
        return;
    }
    reasons = why_reasons(report);
    for (size_t i = 0; i < json_array_size(reasons) && i < 3; i++) {
        cli_note(ctx, "%s", json_string_value(json_object_get(json_array_get(reasons, i), "text")));
        news->waited_ns = now_ns;
    }
    json_decref(reasons);
}

void server_say_news(struct cli_context *ctx, struct server_news *news, const json_t *report,
                     int64_t now_ns)
{
    const json_t *status =
        json_object_get(json_array_get(json_object_get(report, "lanes"), 0), "status");
    uint64_t clock;

    if (status == NULL) {
        return;
    }
    clock = (uint64_t)json_integer_value(json_object_get(status, "version"));
    if (news->members == NULL) {
        news->clock_ns = now_ns;
        news->clock = clock;
        news->moved_to = clock;
    }
    say_changes(ctx, news, say_members(status), clock);
    say_clock(ctx, news, status, now_ns);
    say_checkpoint(ctx, news, status);
    say_store(ctx, news, report);
    server_sites_news(ctx, news, report, now_ns);
    say_waiting(ctx, news, report, status, now_ns);
}

void server_news_deinit(struct server_news *news)
{
    json_decref(news->members);
    json_decref(news->sites);
    news->members = news->sites = NULL;
}
