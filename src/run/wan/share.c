#include "run/wan/share.h"

#include <jansson.h>
#include <math.h>

static uint64_t share_count(const json_t *between, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(between, key));

    return value < 0 ? 0 : (uint64_t)value;
}

static int64_t share_time(const json_t *between, const char *key)
{
    double seconds = json_number_value(json_object_get(between, key));

    return seconds > 0 && seconds < 1e9 ? (int64_t)(seconds * 1e9) : 0;
}

/* Rounds around a centre. */
static void share_add_central(struct run_share *s, const json_t *stats)
{
    struct node_central_stats *c = &s->central;

    s->around = true;
    c->sums_sent += share_count(stats, "sums_sent");
    c->sums_taken += share_count(stats, "sums_taken");
    c->results_sent += share_count(stats, "results_sent");
    c->results_taken += share_count(stats, "results_taken");
    c->wholes_sent += share_count(stats, "wholes_sent");
    c->wholes_taken += share_count(stats, "wholes_taken");
    c->passed += share_count(stats, "passed");
    c->passed_bytes += share_count(stats, "passed_bytes");
    c->stale += share_count(stats, "stale");
    c->refused += share_count(stats, "refused");
    c->plans += share_count(stats, "plans");
    c->words_sent += share_count(stats, "words_sent");
    c->plans_sent += share_count(stats, "plans_sent");
    c->carried += share_count(stats, "carried");
}

void run_share_add_status(struct run_share *s, const struct json_t *between)
{
    struct node_mirror_stats *sums = &s->sums;
    const json_t *central = json_object_get(between, "central");
    double soft = json_number_value(json_object_get(between, "soft"));

    s->lanes++;
    if (central != NULL) {
        share_add_central(s, json_object_get(central, "stats"));
        return;
    }
    s->bound = s->bound || json_is_true(json_object_get(between, "budget_bound"));
    sums->pieces_made += share_count(between, "pieces_made");
    sums->elements_sent += share_count(between, "elements_sent");
    sums->elements_judged += share_count(between, "elements_judged");
    sums->pieces_taken += share_count(between, "pieces_taken");
    sums->pieces_dropped += share_count(between, "pieces_dropped");
    sums->pieces_held += share_count(between, "pieces_held");
    sums->pieces_refused += share_count(between, "pieces_refused");
    sums->relayed += share_count(between, "relayed");
    sums->barriers_raised += share_count(between, "barriers_raised");
    sums->barriers_met += share_count(between, "barriers_met");
    sums->barriers_passed += share_count(between, "barriers_passed");
    sums->copies += share_count(between, "copies");
    sums->log_bytes += share_count(between, "log_bytes");
    sums->waited_clock_ns += share_time(between, "waited_clock_s");
    sums->waited_barrier_ns += share_time(between, "waited_barrier_s");
    sums->waited_fresh_ns += share_time(between, "waited_fresh_s");
    sums->waited_room_ns += share_time(between, "waited_room_s");
    sums->soft = soft > sums->soft ? soft : sums->soft;
}

double run_share_insignificant(const struct run_share *s)
{
    return s->sums.elements_judged == 0
               ? (double)NAN
               : 1 - (double)s->sums.elements_sent / (double)s->sums.elements_judged;
}

json_t *run_share_to_json(const struct run_share *s, double scale)
{
    const struct node_mirror_stats *sums = &s->sums;
    double insignificant = run_share_insignificant(s);

    return json_pack(
        "{s:i, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, "
        "s:f, "
        "s:b}",
        "lanes", (int)s->lanes, "insignificant",
        isnan(insignificant) ? json_null() : json_real(insignificant), "elements_judged",
        (json_int_t)sums->elements_judged, "elements_sent", (json_int_t)sums->elements_sent,
        "pieces_made", (json_int_t)sums->pieces_made, "pieces_taken",
        (json_int_t)sums->pieces_taken, "pieces_dropped", (json_int_t)sums->pieces_dropped,
        "relayed", (json_int_t)sums->relayed, "barriers_raised", (json_int_t)sums->barriers_raised,
        "barriers_met", (json_int_t)sums->barriers_met, "barriers_passed",
        (json_int_t)sums->barriers_passed, "copies", (json_int_t)sums->copies, "log_bytes",
        (json_int_t)((double)sums->log_bytes / scale), "waited_clock_s",
        (double)sums->waited_clock_ns * 1e-9, "waited_barrier_s",
        (double)sums->waited_barrier_ns * 1e-9, "waited_fresh_s",
        (double)sums->waited_fresh_ns * 1e-9, "waited_room_s", (double)sums->waited_room_ns * 1e-9,
        "soft", sums->soft, "budget_bound", (int)s->bound);
}

json_t *run_share_around_to_json(const struct run_share *s, double scale)
{
    const struct node_central_stats *c = &s->central;

    return json_pack("{s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "lanes",
                     (int)s->lanes, "sums_sent", (json_int_t)c->sums_sent, "sums_taken",
                     (json_int_t)c->sums_taken, "results_sent", (json_int_t)c->results_sent,
                     "results_taken", (json_int_t)c->results_taken, "wholes_sent",
                     (json_int_t)c->wholes_sent, "wholes_taken", (json_int_t)c->wholes_taken,
                     "passed", (json_int_t)c->passed, "passed_bytes",
                     (json_int_t)((double)c->passed_bytes / scale), "stale", (json_int_t)c->stale,
                     "carried", (json_int_t)c->carried, "plans", (json_int_t)c->plans);
}
