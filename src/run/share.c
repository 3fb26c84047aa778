#include "run/share.h"

#include <jansson.h>
#include <math.h>

void run_share_add(struct run_share *s, struct node_mirror *lane)
{
    struct node_mirror_stats *sums = &s->sums, stats;
    json_t *status = node_mirror_status(lane);

    if (status == NULL) {
        return;
    }
    s->bound = s->bound || json_is_true(json_object_get(status, "budget_bound"));
    json_decref(status);
    node_mirror_stats(lane, &stats);
    sums->pieces_made += stats.pieces_made;
    sums->elements_sent += stats.elements_sent;
    sums->elements_judged += stats.elements_judged;
    sums->pieces_taken += stats.pieces_taken;
    sums->pieces_dropped += stats.pieces_dropped;
    sums->pieces_held += stats.pieces_held;
    sums->pieces_refused += stats.pieces_refused;
    sums->relayed += stats.relayed;
    sums->barriers_raised += stats.barriers_raised;
    sums->barriers_met += stats.barriers_met;
    sums->copies += stats.copies;
    sums->log_bytes += stats.log_bytes;
    sums->waited_clock_ns += stats.waited_clock_ns;
    sums->waited_barrier_ns += stats.waited_barrier_ns;
    sums->waited_room_ns += stats.waited_room_ns;
    sums->soft = stats.soft > sums->soft ? stats.soft : sums->soft;
    s->lanes++;
}

double run_share_insignificant(const struct run_share *s)
{
    return s->sums.elements_judged == 0
               ? (double)NAN
               : 1 - (double)s->sums.elements_sent / (double)s->sums.elements_judged;
}

json_t *run_share_to_json(const struct run_share *s)
{
    const struct node_mirror_stats *sums = &s->sums;
    double insignificant = run_share_insignificant(s);

    return json_pack(
        "{s:i, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:b}",
        "lanes", (int)s->lanes, "insignificant",
        isnan(insignificant) ? json_null() : json_real(insignificant), "elements_judged",
        (json_int_t)sums->elements_judged, "elements_sent", (json_int_t)sums->elements_sent,
        "pieces_made", (json_int_t)sums->pieces_made, "pieces_taken",
        (json_int_t)sums->pieces_taken, "pieces_dropped", (json_int_t)sums->pieces_dropped,
        "relayed", (json_int_t)sums->relayed, "barriers_raised", (json_int_t)sums->barriers_raised,
        "barriers_met", (json_int_t)sums->barriers_met, "copies", (json_int_t)sums->copies,
        "log_bytes", (json_int_t)sums->log_bytes, "waited_clock_s",
        (double)sums->waited_clock_ns * 1e-9, "waited_barrier_s",
        (double)sums->waited_barrier_ns * 1e-9, "waited_room_s",
        (double)sums->waited_room_ns * 1e-9, "soft", sums->soft, "budget_bound", (int)s->bound);
}
