/* How a lane goes, as an object: for `strait why` and `strait top`. What is zero or false is left
 * away where there are many of it: the answer for 256 workers must fit one frame. */

#include "net/counters.h"
#include "node/lane/report.h"
#include "node/lane/state.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    STATUS_MEMBERS_BYTES_MAX = 40 * 1024, /* Leaves room for the rest of the frame, ... */
    STATUS_BOTH_BYTES_MAX = 52 * 1024,    /* ... also together with what is between sites. */
    STATUS_LIST_MAX = 64,                 /* Of missing lanes or ranks. */
};

static const char *status_state(const struct node_session *s)
{
    static const char *const names[] = {"connected", "joining", "in", "out"};

    return names[s->state];
}

/* For what the head of its inbox waits, if anything does. */
static const char *status_held(const struct node_session *s)
{
    const struct wire_header *head = node_session_head(s);
    const struct wire_type_info *type = head == NULL ? NULL : wire_type_info(head->type);

    return type == NULL ? "unknown" : type->name;
}

static void status_put(json_t *out, const char *key, json_int_t value)
{
    if (value != 0) {
        (void)json_object_set_new(out, key, json_integer(value));
    }
}

static bool status_waited_for(struct node_lane *l, const struct node_session *s)
{
    return s->rank != NODE_RANK_ANY && l->by_rank[s->rank] == s &&
           sync_waits_for(&l->sync, s->rank);
}

static json_t *status_member(struct node_lane *l, const struct node_session *s)
{
    struct net_peer_stats stats;
    char incarnation[20];
    json_t *out;

    net_peer_stats(s->peer, &stats);
    (void)snprintf(incarnation, sizeof(incarnation), "%016" PRIx64, net_peer_incarnation(s->peer));
    out =
        json_pack("{s:s, s:s, s:s, s:b}", "name", net_peer_identity(s->peer)->name, "state",
                  status_state(s), "incarnation", incarnation, "up", (int)net_peer_is_up(s->peer));
    if (s->rank != NODE_RANK_ANY) {
        (void)json_object_set_new(out, "rank", json_integer(s->rank));
        status_put(out, "clock", (json_int_t)sync_member_clock(&l->sync, s->rank));
    }
    if (s->rank != NODE_RANK_ANY && l->names[s->rank].report.sparsifies) {
        (void)json_object_set_new(
            out, "sparsified", node_sparsify_state_to_json(&l->names[s->rank].report.sparsified));
    }
    if (s->rank != NODE_RANK_ANY && l->names[s->rank].report.passes) {
        (void)json_object_set_new(out, "passed",
                                  node_passed_to_json(&l->names[s->rank].report.passed));
    }
    if (status_waited_for(l, s)) {
        (void)json_object_set_new(out, "waited_for", json_true());
    }
    if (s->held_count > 0) {
        status_put(out, "held", (json_int_t)s->held_count);
        (void)json_object_set_new(out, "held_for", json_string(status_held(s)));
    }
    if (l->save_failures > 0) {
        status_put(out, "unsafe_frames", (json_int_t)s->unacked_frames);
    }
    if (l->save_failures > 0 && (s->unacked_frames >= LIMIT_WINDOW_FRAMES ||
                                 s->unacked_bytes + LIMIT_CHUNK_BYTES > s->window_bytes)) {
        (void)json_object_set_new(out, "waits_for_store", json_true());
    }
    status_put(out, "nonfinite_elements", (json_int_t)s->nonfinite);
    status_put(out, "behind_chunks", (json_int_t)s->dirty_count);
    status_put(out, "unacked_bytes", (json_int_t)stats.unacked_bytes);
    status_put(out, "silent_ms", (json_int_t)(stats.silent_ns / 1000000));
    status_put(out, "rtt_us", (json_int_t)(stats.rtt_ns / 1000));
    status_put(out, "delivery", (json_int_t)stats.delivery_bytes_per_s);
    return out;
}

/* Workers, those that are waited for first: if there are too many, the others are left away. */
static json_t *status_members(struct node_lane *l, size_t bytes_max, uint32_t *left_away_out)
{
    json_t *members = json_array();
    size_t bytes = 0;

    *left_away_out = 0;
    for (int pass = 0; pass < 2; pass++) {
        LIST_FOREACH (link, &l->sessions) {
            struct node_session *s = LIST_ENTRY(link, struct node_session, link);
            json_t *member;

            if (!node_session_is_worker(s) || status_waited_for(l, s) != (pass == 0)) {
                continue;
            }
            member = status_member(l, s);
            bytes += json_dumpb(member, NULL, 0, JSON_COMPACT) + 1;
            if (bytes <= bytes_max) {
                (void)json_array_append_new(members, member);
            } else {
                *left_away_out += 1;
                json_decref(member);
            }
        }
    }
    return members;
}

/* Lane 0: whose addresses are not known yet. */
static json_t *status_missing_lanes(const struct node_lane *l)
{
    json_t *missing = json_array();

    for (uint32_t i = 0; i < l->config.site.lanes && json_array_size(missing) < STATUS_LIST_MAX;
         i++) {
        if (l->lanes[i][0] == '\0') {
            (void)json_array_append_new(missing, json_integer(i));
        }
    }
    return missing;
}

/* While restoring: the ranks of those who were in and are not back. */
static json_t *status_missing_ranks(const struct node_lane *l)
{
    json_t *missing = json_array();

    for (uint32_t r = 0; r < SYNC_MEMBERS_MAX && json_array_size(missing) < STATUS_LIST_MAX; r++) {
        if (l->restored_incarnation[r] != 0 && l->by_rank[r] == NULL) {
            (void)json_array_append_new(missing, json_integer(r));
        }
    }
    return missing;
}

/* What was refused, by reason: only what there was. */

static void status_reason(json_t *out, const char *key, const char *reason,
                          const struct obs_counter *counter)
{
    json_t *reasons = json_object_get(out, key);
    json_int_t count = (json_int_t)obs_counter_value(counter);

    if (count > 0 && reasons == NULL) {
        reasons = json_object();
        (void)json_object_set_new(out, key, reasons);
    }
    if (count > 0) {
        (void)json_object_set_new(reasons, reason, json_integer(count));
    }
}

static void status_refusals(struct node_lane *l, const struct net_counters *net, json_t *out)
{
    for (int i = 1; i < NODE_REFUSALS; i++) {
        status_reason(out, "refused_updates", wire_late_name((enum wire_late)i),
                      l->counters.refused[i]);
    }
    for (int i = 1; i < WIRE_REASON_COUNT; i++) {
        status_reason(out, "refused_frames", wire_reason_name((enum wire_reason)i),
                      net->refused[i]);
    }
    for (int i = 0; i < NET_EXPELS; i++) {
        status_reason(out, "expelled", net_expel_name((enum net_expel)i), net->expelled[i]);
    }
    status_reason(out, "refused_peers", "strangers", net->strangers_refused);
    status_reason(out, "refused_peers", "hellos", net->hellos_refused);
}

static void status_counts(struct node_lane *l, json_t *out)
{
    struct node_lane_stats stats;
    struct net_counters net;

    node_lane_stats(l, &stats);
    (void)json_object_update_new(
        out,
        json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "updates",
                  (json_int_t)stats.updates, "duplicates", (json_int_t)stats.duplicates, "refused",
                  (json_int_t)stats.refused, "broadcasts", (json_int_t)stats.broadcasts,
                  "snapshots", (json_int_t)stats.snapshots, "checkpoints",
                  (json_int_t)stats.checkpoints, "held_frames", (json_int_t)stats.held_frames,
                  "kept_elements", (json_int_t)stats.kept_elements, "table_bytes",
                  (json_int_t)stats.table_bytes, "pool_bytes", (json_int_t)stats.pool_bytes));
    if (stats.kept_elements > 0) {
        json_t *places = json_object();

        for (int i = 0; i < NODE_PLACES; i++) {
            status_put(places, node_place_of_sum_name((enum node_place_of_sum)i),
                       (json_int_t)stats.nonfinite[i]);
        }
        (void)json_object_set_new(out, "nonfinite_elements", places);
    }
    status_put(out, "table_bytes_needed", (json_int_t)stats.table_bytes_needed);
    status_put(out, "table_bytes_max", (json_int_t)stats.table_bytes_max);
    status_put(out, "operations_refused", (json_int_t)stats.operations_refused);
    if (net_counters_init(&net, l->config.registry) == OK) {
        (void)json_object_update_new(
            out, json_pack("{s:I, s:I}", "sent_bytes",
                           (json_int_t)obs_counter_value(net.sent_bytes[NET_CONTROL]) +
                               (json_int_t)obs_counter_value(net.sent_bytes[NET_DATA]),
                           "received_bytes", (json_int_t)obs_counter_value(net.received_bytes)));
        status_refusals(l, &net, out);
    }
}

static void status_checkpoint(const struct node_lane *l, json_t *out)
{
    if (l->config.store != NULL) {
        const struct manifest *m = &l->manifest;
        json_t *checkpoint = json_pack(
            "{s:I, s:I, s:b}", "number", (json_int_t)(m->count > 0 ? m->checkpoints[0].number : 0),
            "clock", (json_int_t)l->saved_clock, "saving", (int)l->saving);

        if (l->save_failures > 0) {
            (void)json_object_update_new(
                checkpoint,
                json_pack("{s:I, s:s, s:f}", "failures", (json_int_t)l->save_failures, "error",
                          l->save_fault, "failing_s",
                          (double)(loop_now_ns(l->config.loop) - l->save_failing_ns) / 1e9));
        }
        (void)json_object_set_new(out, "checkpoint", checkpoint);
    }
}

static void status_first(struct node_lane *l, json_t *out)
{
    char history[NODE_HISTORY_BYTES];

    (void)json_object_set_new(out, "progress", node_report_status(l));
    (void)json_object_set_new(out, "lanes_known", json_integer(l->lanes_known));
    if (l->lanes_known < l->config.site.lanes) {
        (void)json_object_set_new(out, "lanes_missing", status_missing_lanes(l));
    }
    (void)json_object_set_new(out, "settings", node_site_to_json(&l->config.site));
    node_history_print(l->history, history);
    (void)json_object_set_new(out, "history", json_string(history));
}

/* While restoring the barrier knows nothing yet: the checkpoint does. */
static json_int_t status_version(const struct node_lane *l)
{
    return (json_int_t)(l->restoring ? l->restored_clock : sync_version(&l->sync));
}

/* NULL: there is one site. */
static json_t *status_between(struct node_lane *l)
{
    return l->mirror != NULL    ? node_mirror_status(l->mirror)
           : l->central != NULL ? node_central_status(l->central)
                                : NULL;
}

/* What is left for members. */
static size_t status_room(const json_t *between)
{
    size_t taken = between == NULL ? 0 : json_dumpb(between, NULL, 0, JSON_COMPACT);
    size_t left = taken < STATUS_BOTH_BYTES_MAX ? STATUS_BOTH_BYTES_MAX - taken : 0;

    return left < STATUS_MEMBERS_BYTES_MAX ? left : STATUS_MEMBERS_BYTES_MAX;
}

struct json_t *node_lane_status(struct node_lane *l)
{
    const struct node_site *site = &l->config.site;
    int64_t deadline = sync_deadline(&l->sync);
    uint32_t left_away;
    json_t *blames = node_blame_status(l);
    json_t *between = status_between(l);
    json_t *members = status_members(l, status_room(between), &left_away);
    json_t *out =
        json_pack("{s:s, s:s, s:i, s:i, s:I, s:i, s:s, s:I, s:s, s:b, s:b, s:o}", "site",
                  site->name, "server", l->config.identity.name, "lane", (int)l->config.number,
                  "lanes", (int)site->lanes, "version", status_version(l), "workers_min",
                  (int)site->sync.members_min, "barrier", site->sync.policy->name, "staleness",
                  (json_int_t)site->sync.staleness, "delivery", node_delivery_name(site->delivery),
                  "begun", (int)!l->fresh, "restoring", (int)l->restoring, "members", members);

    if (left_away > 0) {
        (void)json_object_set_new(out, "members_left_away", json_integer(left_away));
    }
    if (deadline != SYNC_NEVER) {
        double left_s = (double)(deadline - loop_now_ns(l->config.loop)) / 1e9;

        (void)json_object_set_new(out, "deadline_in_s", json_real(left_s));
        (void)json_object_set_new(out, "round_s",
                                  json_real((double)site->sync.deadline_ns / 1e9 - left_s));
    }
    if (l->restoring && l->patience_until_ns > 0) {
        (void)json_object_set_new(
            out, "restoring_for_s",
            json_real((double)(l->patience_until_ns - loop_now_ns(l->config.loop)) / 1e9));
    }
    if (l->copyless) {
        (void)json_object_set_new(out, "copyless", json_true());
    }
    if (l->restoring && l->roster) {
        (void)json_object_set_new(out, "missing_ranks", status_missing_ranks(l));
    }
    status_counts(l, out);
    status_checkpoint(l, out);
    if (blames != NULL) {
        (void)json_object_set_new(out, "broke_rules", blames);
    }
    if (node_lane_sparsifier(l) != NULL) {
        struct node_sparsify_state sparsified = node_sparsify_state(&l->sparsifier);

        (void)json_object_set_new(out, "sparsified", node_sparsify_state_to_json(&sparsified));
    }
    if (node_tree_on(l)) {
        (void)json_object_set_new(out, "tree", node_tree_status(l));
    }
    if (between != NULL) {
        (void)json_object_set_new(out, "between", between);
    }
    if (l->config.number == 0) {
        status_first(l, out);
    }
    return out;
}

uint32_t node_lane_peers(struct node_lane *l)
{
    uint32_t count = 0;

    while (net_endpoint_peer(l->endpoint, count) != NULL) {
        count++;
    }
    return count;
}
