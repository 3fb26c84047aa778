#include "cli/status/why.h"

#include <inttypes.h>
#include <string.h>

#define WHY_STILL_S 0.5 /* Rounds around a centre go on all the time. */

enum {
    WHY_TEXT_BYTES = 4096,
    WHY_NAMES_MAX = 5,    /* Named in one sentence; the others are counted. */
    WHY_SILENT_MS = 3000, /* Heartbeats come every second. */
    WHY_LANES_SHOWN = 8,
};

/* A sentence under construction. */
struct why_text {
    struct text text;
    char storage[WHY_TEXT_BYTES];
};

static void why_text_init(struct why_text *t)
{
    text_init_fixed(&t->text, t->storage, sizeof(t->storage));
}

int64_t why_number(const json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));

    return value < 0 ? 0 : value > WHY_NUMBER_MAX ? WHY_NUMBER_MAX : value;
}

static const char *why_string(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));

    return value == NULL ? "?" : value;
}

static bool why_flag(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

static bool why_is_in(const json_t *member)
{
    return strcmp(why_string(member, "state"), "in") == 0;
}

/* True if a barrier holds the member back: it is done with a clock and may not begin the next. */
static bool why_is_held(const json_t *status, const json_t *member)
{
    bool rounds = strcmp(why_string(status, "barrier"), "tap") != 0;

    return why_is_in(member) && !why_flag(member, "waited_for") && rounds &&
           (why_number(member, "held") > 0 ||
            why_number(member, "clock") >
                why_number(status, "version") + why_number(status, "staleness"));
}

static json_t *why_add(json_t *reasons, const char *kind, struct why_text *t)
{
    json_t *reason = json_pack("{s:s, s:s}", "kind", kind, "text", t->text.chars);

    (void)json_array_append_new(reasons, reason);
    return reason;
}

/* Lanes as people say it. */

static void why_add_lanes(struct text *out, const json_t *numbers)
{
    size_t count = json_array_size(numbers);

    text_addf(out, "%s ", count == 1 ? "lane" : "lanes");
    for (size_t i = 0; i < count && i < WHY_LANES_SHOWN; i++) {
        text_addf(out, "%s%" JSON_INTEGER_FORMAT,
                  i == 0           ? ""
                  : i + 1 == count ? " and "
                                   : ", ",
                  json_integer_value(json_array_get(numbers, i)));
    }
    if (count > WHY_LANES_SHOWN) {
        text_addf(out, " and %zu more", count - WHY_LANES_SHOWN);
    }
}

static const json_t *why_lanes(const json_t *report)
{
    return json_object_get(report, "lanes");
}

static const json_t *why_status(const json_t *report, size_t index)
{
    return json_object_get(json_array_get(why_lanes(report), index), "status");
}

static json_int_t why_lane_number(const json_t *report, size_t index)
{
    return why_number(json_array_get(why_lanes(report), index), "lane");
}

/* Lanes that are not there. */

static void why_unreachable(const json_t *report, json_t *reasons)
{
    for (size_t i = 0; i < json_array_size(why_lanes(report)); i++) {
        const json_t *lane = json_array_get(why_lanes(report), i);
        struct why_text t;
        json_t *reason;

        if (json_object_get(lane, "status") != NULL) {
            continue;
        }
        why_text_init(&t);
        text_addf(&t.text,
                  "lane %" PRId64 " at %s cannot be reached: %s; everybody waits for it: "
                  "does its server run?",
                  why_number(lane, "lane"), why_string(lane, "address"), why_string(lane, "error"));
        reason = why_add(reasons, "unreachable", &t);
        (void)json_object_set_new(reason, "lanes", json_pack("[I]", why_lane_number(report, i)));
    }
}

static void why_servers_missing(const json_t *report, json_t *reasons)
{
    const json_t *first = why_status(report, 0);
    const json_t *missing = json_object_get(first, "lanes_missing");
    struct why_text t;
    json_t *reason;

    if (json_array_size(missing) == 0) {
        return;
    }
    why_text_init(&t);
    text_addf(&t.text,
              "the site waits for other servers: %" PRId64 " of %" PRId64
              " lanes are known; missing: ",
              why_number(first, "lanes_known"), why_number(first, "lanes"));
    why_add_lanes(&t.text, missing);
    reason = why_add(reasons, "servers_missing", &t);
    (void)json_object_set(reason, "lanes", (json_t *)missing);
}

static void why_restoring(const json_t *report, json_t *reasons)
{
    for (size_t i = 0; i < json_array_size(why_lanes(report)); i++) {
        const json_t *status = why_status(report, i);
        const json_t *missing = json_object_get(status, "missing_ranks");
        const json_t *checkpoint = json_object_get(status, "checkpoint");
        struct why_text t;
        json_t *reason;

        if (!why_flag(status, "restoring")) {
            continue;
        }
        why_text_init(&t);
        text_addf(&t.text, "lane %" JSON_INTEGER_FORMAT " (%s) was restarted",
                  why_lane_number(report, i), why_string(status, "server"));
        if (checkpoint != NULL) {
            text_addf(&t.text, " from the checkpoint of clock %" PRId64,
                      why_number(checkpoint, "clock"));
        }
        text_add(&t.text, why_flag(status, "copyless")
                              ? " and has no parameters; the workers that have copies of them do "
                                "not answer, and it waits for one of these"
                              : " and waits for its workers to come back");
        if (json_object_get(status, "restoring_for_s") != NULL) {
            text_addf(&t.text, ", %.0f s at most",
                      json_number_value(json_object_get(status, "restoring_for_s")));
        }
        for (size_t m = 0; m < json_array_size(missing) && m < WHY_LANES_SHOWN; m++) {
            text_addf(&t.text, "%s%" JSON_INTEGER_FORMAT, m == 0 ? "; missing ranks: " : ", ",
                      json_integer_value(json_array_get(missing, m)));
        }
        reason = why_add(reasons, "restoring", &t);
        (void)json_object_set_new(reason, "lanes", json_pack("[I]", why_lane_number(report, i)));
    }
}

/* Checkpoints that cannot be written. */

/* Those whose window is full of updates that are in no checkpoint. */
static void why_store_workers(struct text *out, const json_t *members)
{
    int64_t count = 0;

    for (size_t i = 0; i < json_array_size(members); i++) {
        const json_t *m = json_array_get(members, i);

        if (why_flag(m, "waits_for_store") && count++ < WHY_NAMES_MAX) {
            text_addf(out, "%s%s (rank %" PRId64 ")",
                      count == 1 ? "; updates of these workers wait for one: " : ", ",
                      why_string(m, "name"), why_number(m, "rank"));
        }
    }
    if (count > WHY_NAMES_MAX) {
        text_addf(out, " and %" PRId64 " more", count - WHY_NAMES_MAX);
    }
}

static void why_store(const json_t *report, json_t *reasons)
{
    for (size_t i = 0; i < json_array_size(why_lanes(report)); i++) {
        const json_t *status = why_status(report, i);
        const json_t *checkpoint = json_object_get(status, "checkpoint");
        struct why_text t;
        json_t *reason;

        if (why_number(checkpoint, "failures") == 0) {
            continue;
        }
        why_text_init(&t);
        text_addf(&t.text,
                  "lane %" JSON_INTEGER_FORMAT
                  " (%s) cannot write checkpoints: the store fails since "
                  "%.0f s (%" PRId64 " attempts): %s; it goes on trying",
                  why_lane_number(report, i), why_string(status, "server"),
                  json_number_value(json_object_get(checkpoint, "failing_s")),
                  why_number(checkpoint, "failures"), why_string(checkpoint, "error"));
        why_store_workers(&t.text, json_object_get(status, "members"));
        reason = why_add(reasons, "store_fails", &t);
        (void)json_object_set_new(reason, "lanes", json_pack("[I]", why_lane_number(report, i)));
    }
}

/* Workers that are not there. */

static void why_workers_missing(const json_t *report, json_t *reasons)
{
    const json_t *first = why_status(report, 0);
    const json_t *members = json_object_get(first, "members");
    int64_t wanted = why_number(first, "workers_min");
    int64_t joined = 0, connected = 0;
    struct why_text t;
    json_t *reason;

    if (first == NULL || why_flag(first, "begun") || why_flag(first, "restoring")) {
        return;
    }
    for (size_t i = 0; i < json_array_size(members); i++) {
        const json_t *m = json_array_get(members, i);

        joined += strcmp(why_string(m, "state"), "joining") == 0;
        connected += strcmp(why_string(m, "state"), "connected") == 0;
    }
    if (joined >= wanted) {
        return; /* Another lane keeps them waiting. */
    }
    why_text_init(&t);
    text_addf(&t.text,
              "the site waits for %" PRId64 " more worker%s to start: %" PRId64 " of %" PRId64
              " have joined",
              wanted - joined, wanted - joined == 1 ? "" : "s", joined, wanted);
    if (connected > 0) {
        text_addf(&t.text, ", %" PRId64 " %s connected and did not ask to join yet", connected,
                  connected == 1 ? "is" : "are");
    }
    reason = why_add(reasons, "workers_missing", &t);
    (void)json_object_update_new(reason, json_pack("{s:I, s:I}", "wanted", (json_int_t)wanted,
                                                   "joined", (json_int_t)joined));
}

static void why_no_workers(const json_t *report, json_t *reasons)
{
    const json_t *first = why_status(report, 0);
    const json_t *members = json_object_get(first, "members");
    struct why_text t;

    if (first == NULL || !why_flag(first, "begun") || why_flag(first, "restoring")) {
        return;
    }
    for (size_t i = 0; i < json_array_size(members); i++) {
        const char *state = why_string(json_array_get(members, i), "state");

        if (strcmp(state, "in") == 0 || strcmp(state, "joining") == 0) {
            return;
        }
    }
    why_text_init(&t);
    text_addf(&t.text,
              "there are no workers: all have left after clock %" PRId64
              "; the site waits for others to join",
              why_number(first, "version"));
    (void)why_add(reasons, "no_workers", &t);
}

/* Clocks that wait. */

/* What keeps this one, as far as the lane can tell. */
static void why_detail(struct text *out, const json_t *member)
{
    int64_t silent_ms = why_number(member, "silent_ms");

    if (!why_flag(member, "up")) {
        text_add(out, "its connection is down");
        return;
    }
    if (silent_ms >= WHY_SILENT_MS) {
        text_addf(out, "silent for %.1f s", (double)silent_ms / 1e3);
        return;
    }
    text_addf(out, "last heard %.1f s ago", (double)silent_ms / 1e3);
    if (why_number(member, "unsafe_frames") > 0) {
        text_addf(out, ", %" PRId64 " of its updates wait for a checkpoint",
                  why_number(member, "unsafe_frames"));
    } else if (why_number(member, "behind_chunks") > 0) {
        text_addf(out, ", has still to get %" PRId64 " chunks",
                  why_number(member, "behind_chunks"));
    } else if (why_number(member, "held") > 0) {
        text_addf(out, ", what it sent waits for its turn");
    } else {
        text_add(out, ", computes or is slow");
    }
}

/* The same reason on several lanes is one reason: the same clock waits for the same ranks. */
static json_t *why_same_clock(json_t *reasons, json_int_t clock, const json_t *ranks)
{
    for (size_t i = 0; i < json_array_size(reasons); i++) {
        json_t *reason = json_array_get(reasons, i);

        if (strcmp(why_string(reason, "kind"), "clock") == 0 &&
            why_number(reason, "clock") == clock &&
            json_equal(json_object_get(reason, "ranks"), (json_t *)ranks)) {
            return reason;
        }
    }
    return NULL;
}

/* The members of a lane that are waited for, and how many are not. */
static json_t *why_waited(const json_t *status, json_t **ranks_out, json_int_t *done_out,
                          json_int_t *held_out)
{
    const json_t *members = json_object_get(status, "members");
    json_t *waited = json_array();

    *ranks_out = json_array();
    *done_out = why_number(status, "members_left_away");
    *held_out = 0;
    for (size_t i = 0; i < json_array_size(members); i++) {
        json_t *m = json_array_get(members, i);

        if (why_flag(m, "waited_for")) {
            struct why_text t;

            why_text_init(&t);
            why_detail(&t.text, m);
            (void)json_array_append_new(
                waited, json_pack("{s:s, s:I, s:s, s:I}", "name", why_string(m, "name"), "rank",
                                  (json_int_t)why_number(m, "rank"), "detail", t.text.chars,
                                  "silent_ms", (json_int_t)why_number(m, "silent_ms")));
            (void)json_array_append_new(*ranks_out, json_integer(why_number(m, "rank")));
        } else if (why_is_in(m)) {
            *done_out += 1;
            *held_out += why_is_held(status, m);
        }
    }
    return waited;
}

static void why_clock_lane(const json_t *status, json_int_t lane, json_t *reasons)
{
    json_int_t clock = why_number(status, "version") + 1;
    json_int_t done, held;
    json_t *ranks;
    json_t *waited = why_waited(status, &ranks, &done, &held);
    json_t *reason = why_same_clock(reasons, clock, ranks);

    if (json_array_size(waited) == 0) {
        json_decref(waited);
        json_decref(ranks);
        return;
    }
    if (reason != NULL) {
        (void)json_array_append_new(json_object_get(reason, "lanes"), json_integer(lane));
        json_decref(waited);
        json_decref(ranks);
        return;
    }
    reason = json_pack("{s:s, s:I, s:[I], s:o, s:o, s:I, s:I, s:O*, s:O*}", "kind", "clock",
                       "clock", clock, "lanes", lane, "workers", waited, "ranks", ranks, "done",
                       done, "held", held, "round_s", json_object_get(status, "round_s"),
                       "deadline_in_s", json_object_get(status, "deadline_in_s"));
    (void)json_array_append_new(reasons, reason);
}

static void why_clock_workers(struct text *out, const json_t *workers)
{
    size_t count = json_array_size(workers);

    if (count == 1) {
        const json_t *w = json_array_get(workers, 0);

        text_addf(out, "worker %s (rank %" PRId64 "): %s", why_string(w, "name"),
                  why_number(w, "rank"), why_string(w, "detail"));
        return;
    }
    text_addf(out, "%zu workers: ", count);
    for (size_t i = 0; i < count && i < WHY_NAMES_MAX; i++) {
        const json_t *w = json_array_get(workers, i);

        text_addf(out, "%s%s (rank %" PRId64 ", %s)", i == 0 ? "" : "; ", why_string(w, "name"),
                  why_number(w, "rank"), why_string(w, "detail"));
    }
    if (count > WHY_NAMES_MAX) {
        text_addf(out, "; and %zu more", count - WHY_NAMES_MAX);
    }
}

/* The sentence, when it is known on how many lanes it is so. */
static void why_clock_text(json_t *reason, size_t lanes)
{
    int64_t done = why_number(reason, "done");
    int64_t held = why_number(reason, "held");
    const json_t *deadline = json_object_get(reason, "deadline_in_s");
    size_t here = json_array_size(json_object_get(reason, "lanes"));
    struct why_text t;

    why_text_init(&t);
    text_addf(&t.text, "clock %" PRId64, why_number(reason, "clock"));
    if (here < lanes) {
        text_add(&t.text, " on ");
        why_add_lanes(&t.text, json_object_get(reason, "lanes"));
    }
    text_add(&t.text, " waits for ");
    why_clock_workers(&t.text, json_object_get(reason, "workers"));
    if (done > 0) {
        text_addf(&t.text, "; %" PRId64 " other%s done", done, done == 1 ? " is" : "s are");
        if (held < done) {
            text_addf(&t.text, ", %" PRId64 " of them held back", held);
        }
    }
    if (deadline != NULL) {
        text_addf(&t.text, "; begun %.0f s ago, deadline in %.0f s",
                  json_number_value(json_object_get(reason, "round_s")),
                  json_number_value(deadline));
    }
    (void)json_object_set_new(reason, "text", json_string(t.text.chars));
}

static void why_clocks(const json_t *report, json_t *reasons)
{
    size_t lanes = json_array_size(why_lanes(report));

    for (size_t i = 0; i < lanes; i++) {
        const json_t *status = why_status(report, i);

        if (status != NULL && !why_flag(status, "restoring")) {
            why_clock_lane(status, why_lane_number(report, i), reasons);
        }
    }
    for (size_t i = 0; i < json_array_size(reasons); i++) {
        json_t *reason = json_array_get(reasons, i);

        if (strcmp(why_string(reason, "kind"), "clock") == 0) {
            why_clock_text(reason, lanes);
        }
    }
}

/* Workers with an error that no clock waits for yet. */

static void why_member_reason(const json_t *member, json_int_t lane, const char *kind,
                              struct why_text *t, json_t *reasons)
{
    json_t *reason = why_add(reasons, kind, t);

    (void)json_object_update_new(reason, json_pack("{s:[I], s:[{s:s, s:I}]}", "lanes", lane,
                                                   "workers", "name", why_string(member, "name"),
                                                   "rank", (json_int_t)why_number(member, "rank")));
}

static void why_member(const json_t *member, json_int_t lane, json_t *reasons)
{
    struct why_text t;

    why_text_init(&t);
    if (!why_is_in(member) || why_flag(member, "waited_for")) {
        return;
    }
    if (!why_flag(member, "up")) {
        text_addf(&t.text,
                  "worker %s (rank %" PRId64 ") is away: its connection to lane %" PRId64
                  " is down; if it does not come back it is left out",
                  why_string(member, "name"), why_number(member, "rank"), (int64_t)lane);
        why_member_reason(member, lane, "worker_away", &t, reasons);
    } else if (why_number(member, "behind_chunks") > 0) {
        text_addf(&t.text,
                  "worker %s (rank %" PRId64 ") is behind: lane %" PRId64 " has %" PRId64
                  " chunks to send to it, %.1f MB are on the way",
                  why_string(member, "name"), why_number(member, "rank"), (int64_t)lane,
                  why_number(member, "behind_chunks"),
                  (double)why_number(member, "unacked_bytes") / 1e6);
        why_member_reason(member, lane, "worker_behind", &t, reasons);
    }
}

static void why_members(const json_t *report, json_t *reasons)
{
    for (size_t i = 0; i < json_array_size(why_lanes(report)); i++) {
        const json_t *members = json_object_get(why_status(report, i), "members");

        for (size_t m = 0; m < json_array_size(members); m++) {
            why_member(json_array_get(members, m), why_lane_number(report, i), reasons);
        }
    }
}

/* Other sites. */

static const json_t *why_site(const json_t *between, const char *name)
{
    const json_t *sites = json_object_get(between, "sites");

    for (size_t i = 0; i < json_array_size(sites); i++) {
        if (strcmp(why_string(json_array_get(sites, i), "site"), name) == 0) {
            return json_array_get(sites, i);
        }
    }
    return NULL;
}

/* Does it compute, or is what it shared on its way? */
static void why_site_clock(struct text *out, const json_t *site)
{
    int64_t here = why_number(site, "clock");
    int64_t said = why_number(site, "announced");

    if (said > here) {
        text_addf(out,
                  "it has ended clock %" PRId64
                  ", but what it shared has come only up to clock %" PRId64
                  ": its link is slow, or cut",
                  said, here);
    } else {
        text_addf(out, "it has not ended clock %" PRId64 " yet", here + 1);
    }
}

/* The same error at several lanes is one reason. False: it is not there yet. */
static bool why_same_site(json_t *reasons, const char *kind, const char *site, const char *about,
                          json_int_t lane)
{
    for (size_t i = 0; i < json_array_size(reasons); i++) {
        json_t *reason = json_array_get(reasons, i);

        if (strcmp(why_string(reason, "kind"), kind) == 0 &&
            strcmp(why_string(reason, "site"), site) == 0 &&
            strcmp(why_string(reason, "about"), about) == 0) {
            (void)json_array_append_new(json_object_get(reason, "lanes"), json_integer(lane));
            return true;
        }
    }
    return false;
}

static void why_add_site(json_t *reasons, const char *kind, const char *site, const char *about,
                         json_int_t lane, struct why_text *t)
{
    json_t *reason = why_add(reasons, kind, t);

    (void)json_object_update_new(
        reason, json_pack("{s:s, s:s, s:[I]}", "site", site, "about", about, "lanes", lane));
}

/* What rounds around a centre wait for. */
static void why_central(struct text *out, const json_t *between, const char *kind, double since)
{
    const json_t *central = json_object_get(between, "central");
    const char *name = why_string(between, "waits_for");
    bool centre = strcmp(why_string(central, "centre"), name) == 0;

    if (since >= WHY_STILL_S) {
        text_addf(out, "nothing has come for %.1f s: ", since);
    }
    if (strcmp(kind, "plan") == 0 && json_object_get(between, "waits_for") == NULL) {
        text_add(out, why_number(central, "epoch") == 0
                          ? "there is no plan yet; more than half of all sites must see each other"
                          : "this site has no part in the plan; another one follows when it is "
                            "seen, by more than half of all sites");
    } else if (strcmp(kind, "plan") == 0) {
        text_addf(out, "plan %" PRId64 " waits for site %s%s", why_number(central, "epoch"), name,
                  centre ? ", the centre, to begin it" : " to say how it stands");
    } else if (strcmp(kind, "copy") == 0) {
        text_addf(out, "this site takes a copy of site %s", name);
    } else if (strcmp(kind, "sum") == 0) {
        text_addf(out, "the round waits for what the workers of site %s made", name);
    } else if (strcmp(kind, "taken") == 0) {
        text_addf(out, "the round waits until site %s has got the result of the last one", name);
    } else {
        text_addf(out,
                  "this site waits for the result of the round from site %s, the centre; "
                  "there it is known who is missing",
                  name);
    }
}

static void why_site_waits(const json_t *between, json_int_t lane, json_t *reasons)
{
    const char *kind = why_string(between, "waits");
    const char *name = why_string(between, "waits_for");
    const json_t *site = why_site(between, name);
    double since = json_number_value(json_object_get(between, "waits_s"));
    struct why_text t;

    if (why_same_site(reasons, "sites", name, kind, lane)) {
        return;
    }
    why_text_init(&t);
    if (json_object_get(between, "central") != NULL) {
        why_central(&t.text, between, kind, since);
        why_add_site(reasons, "sites", name, kind, lane, &t);
        return;
    }
    text_addf(&t.text, "readers wait, since %.1f s, ", since);
    if (strcmp(kind, "clock") == 0) {
        text_addf(&t.text, "for site %s: ", name);
        why_site_clock(&t.text, site);
    } else if (strcmp(kind, "barrier") == 0) {
        text_addf(&t.text, "for elements that site %s has announced and not sent yet", name);
    } else if (strcmp(kind, "fresh") == 0) {
        text_addf(&t.text, "for what site %s made in the clock that is over: it is about to come",
                  name);
    } else if (json_object_get(between, "copies_from") != NULL) {
        text_addf(&t.text, "for the copy that this site takes of site %s",
                  why_string(between, "copies_from"));
    } else {
        text_addf(&t.text,
                  "because %" PRId64 " bytes are under way to other sites, and there is no room "
                  "for more",
                  why_number(between, "log_bytes"));
    }
    why_add_site(reasons, "sites", name, kind, lane, &t);
}

static void why_site_error(const json_t *site, json_int_t lane, json_t *reasons)
{
    const char *last_error = json_string_value(json_object_get(site, "last_error"));
    const char *about = last_error == NULL ? "away" : last_error;
    struct why_text t;

    if (why_flag(site, "up") ||
        why_same_site(reasons, "site", why_string(site, "site"), about, lane)) {
        return;
    }
    why_text_init(&t);
    text_addf(&t.text, "site %s is not there%s", why_string(site, "site"),
              why_flag(site, "left_out") ? ", and is left out until it is back" : "");
    if (last_error != NULL) {
        text_addf(&t.text, ": %s", last_error);
    }
    why_add_site(reasons, "site", why_string(site, "site"), about, lane, &t);
}

static void why_sites(const json_t *report, json_t *reasons)
{
    for (size_t i = 0; i < json_array_size(why_lanes(report)); i++) {
        const json_t *between = json_object_get(why_status(report, i), "between");
        const json_t *sites = json_object_get(between, "sites");

        if (json_object_get(between, "waits") != NULL) {
            why_site_waits(between, why_lane_number(report, i), reasons);
        }
        for (size_t k = 0; k < json_array_size(sites); k++) {
            why_site_error(json_array_get(sites, k), why_lane_number(report, i), reasons);
        }
    }
}

/* Members whose sessions were ended: they are why something may be missing, and nobody else. */
static void why_broke_rules(const json_t *report, json_t *reasons)
{
    for (size_t i = 0; i < json_array_size(why_lanes(report)); i++) {
        const json_t *blames = json_object_get(why_status(report, i), "broke_rules");

        for (size_t k = 0; k < json_array_size(blames); k++) {
            const json_t *blame = json_array_get(blames, k);
            struct why_text t;
            json_t *reason;

            why_text_init(&t);
            text_addf(&t.text,
                      "%s %s of site %s broke the rules, %.0f s ago, and lane %" PRId64
                      " ended its session: %s",
                      why_string(blame, "role"), why_string(blame, "name"),
                      why_string(blame, "site"), json_number_value(json_object_get(blame, "ago_s")),
                      (int64_t)why_lane_number(report, i), why_string(blame, "text"));
            reason = why_add(reasons, "broke_rules", &t);
            (void)json_object_set_new(reason, "name", json_string(why_string(blame, "name")));
        }
    }
}

json_t *why_reasons(const json_t *report)
{
    json_t *reasons = json_array();

    if (reasons != NULL) {
        why_unreachable(report, reasons);
        why_servers_missing(report, reasons);
        why_restoring(report, reasons);
        why_store(report, reasons);
        why_sites(report, reasons);
        why_workers_missing(report, reasons);
        why_no_workers(report, reasons);
        why_clocks(report, reasons);
        why_members(report, reasons);
        why_broke_rules(report, reasons);
    }
    return reasons;
}

/* What goes on. */

static int64_t why_count_in(const json_t *status)
{
    const json_t *members = json_object_get(status, "members");
    int64_t count = why_number(status, "members_left_away");

    for (size_t i = 0; i < json_array_size(members); i++) {
        count += why_is_in(json_array_get(members, i));
    }
    return count;
}

void why_headline(const json_t *report, struct text *out)
{
    const json_t *first = why_status(report, 0);
    int64_t lanes = why_number(first, "lanes");
    int64_t workers = why_count_in(first);

    text_addf(out, "site %s: clock %" PRId64 ", %" PRId64 " worker%s, %" PRId64 " lane%s, %s",
              why_string(report, "site"), why_number(first, "version"), workers,
              workers == 1 ? "" : "s", lanes, lanes == 1 ? "" : "s", why_string(first, "barrier"));
    if (strcmp(why_string(first, "barrier"), "ssp") == 0) {
        text_addf(out, " (staleness %" PRId64 ")", why_number(first, "staleness"));
    }
    text_addf(out, ", %s", why_string(first, "delivery"));
}

void why_nobody(const json_t *report, struct text *out)
{
    const json_t *first = why_status(report, 0);
    int64_t workers = why_count_in(first);

    text_addf(out, "nobody waits: %" PRId64 " worker%s clock %" PRId64 " or later", workers,
              workers == 1 ? " computes" : "s compute", why_number(first, "version") + 1);
}

bool why_overflowed(const json_t *report, struct text *out)
{
    int64_t all = 0;

    for (size_t i = 0; i < json_array_size(why_lanes(report)); i++) {
        int64_t count = why_number(why_status(report, i), "kept_elements");

        all = all > WHY_NUMBER_MAX - count ? WHY_NUMBER_MAX : all + count;
    }
    if (all == 0) {
        return false;
    }
    text_addf(out,
              "%" PRId64 " time%s an element kept its value because an update would have made it "
              "infinite: what these updates added is lost; lower the learning rate or clip updates",
              all, all == 1 ? "" : "s");
    return true;
}
