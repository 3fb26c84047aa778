/* How a lane stands with the other sites: for `strait why` and `strait top`. */

#include "node/mirror/state.h"

static json_t *status_remote(struct node_mirror *r, const struct node_remote_site *f)
{
    const struct mirror_site *s = &r->m.sites[f->index];
    json_t *out = node_remote_status(f, f->up && s->up);
    uint64_t clock = s->clock + s->offset;

    (void)json_object_update_new(
        out, json_pack("{s:I, s:I, s:b, s:I, s:I, s:b}", "clock", (json_int_t)clock, "announced",
                       (json_int_t)s->announced, "left_out", (int)s->left_out, "waiting_bytes",
                       (json_int_t)mirror_waiting_bytes(&r->m, f->index), "delivery",
                       (json_int_t)node_drain_of(f)->busy_bytes_per_s, "announcing",
                       (int)node_drain_of(f)->raises));
    return out;
}

/* The reader that has waited longest. */
static const struct node_gate *status_gate(const struct node_mirror *r)
{
    const struct node_gate *gate = NULL;

    LIST_FOREACH (link, &r->lane->sessions) {
        const struct node_session *s = LIST_ENTRY(link, struct node_session, link);

        if (s->gate.wait != NODE_WAIT_NONE && (gate == NULL || s->gate.since_ns < gate->since_ns)) {
            gate = &s->gate;
        }
    }
    return gate;
}

static void status_waits(const struct node_mirror *r, json_t *out)
{
    static const char *const names[] = {"nothing", "clock", "barrier", "fresh", "room"};
    const struct node_gate *gate = status_gate(r);

    if (gate == NULL) {
        return;
    }
    (void)json_object_set_new(out, "waits", json_string(names[gate->wait]));
    (void)json_object_set_new(out, "waits_s",
                              json_real((double)(node_mirror_now(r) - gate->since_ns) / 1e9));
    if (gate->site != MIRROR_NOBODY) {
        (void)json_object_set_new(out, "waits_for",
                                  json_string(r->remotes.list[gate->site].site.name));
    }
}

/* Nothing moves any more: our workers are gone and all that they added is safe everywhere, the
 * others are done too, and what they made is here. Sites that are left out do not count. */
static bool status_settled(const struct node_mirror *r)
{
    bool settled = r->m.done && r->due_count == 0 && r->m.log_first == r->m.log_end &&
                   node_mirror_began(r) && r->early_count == 0;

    for (uint32_t i = 1; i < r->remotes.count && settled; i++) {
        const struct mirror_site *s = &r->m.sites[i];

        settled = s->left_out || (s->up && s->done && s->stable >= s->number);
    }
    return settled;
}

struct json_t *node_mirror_status(struct node_mirror *r)
{
    struct node_mirror_stats stats;
    json_t *sites = json_array();
    json_t *out;

    node_mirror_stats(r, &stats);
    for (uint32_t i = 1; i < r->remotes.count; i++) {
        (void)json_array_append_new(sites, status_remote(r, &r->remotes.list[i]));
    }
    out = json_pack(
        "{s:b, s:b, s:I, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:b, s:o}",
        "began", (int)node_mirror_began(r), "settled", (int)status_settled(r), "clock",
        (json_int_t)r->m.clock, "soft", stats.soft, "pieces_made", (json_int_t)stats.pieces_made,
        "pieces_taken", (json_int_t)stats.pieces_taken, "elements_judged",
        (json_int_t)stats.elements_judged, "elements_sent", (json_int_t)stats.elements_sent,
        "barriers_raised", (json_int_t)stats.barriers_raised, "barriers_met",
        (json_int_t)stats.barriers_met, "copies", (json_int_t)stats.copies, "log_bytes",
        (json_int_t)stats.log_bytes, "waited_clock_s", (double)stats.waited_clock_ns / 1e9,
        "waited_barrier_s", (double)stats.waited_barrier_ns / 1e9, "waited_room_s",
        (double)stats.waited_room_ns / 1e9, "budget_bound", (int)r->asp.bound, "sites", sites);
    (void)json_object_update_new(
        out,
        json_pack("{s:f, s:I, s:I, s:I, s:I, s:I}", "waited_fresh_s",
                  (double)stats.waited_fresh_ns / 1e9, "pieces_dropped",
                  (json_int_t)stats.pieces_dropped, "pieces_held", (json_int_t)stats.pieces_held,
                  "pieces_refused", (json_int_t)stats.pieces_refused, "relayed",
                  (json_int_t)stats.relayed, "barriers_passed", (json_int_t)stats.barriers_passed));
    status_waits(r, out);
    if (r->copy_from != MIRROR_NOBODY) {
        (void)json_object_set_new(out, "copies_from",
                                  json_string(r->remotes.list[r->copy_from].site.name));
    }
    return out;
}
