#include "cli/status/view.h"

#include "cli/command/context.h"
#include "cli/status/lines.h"
#include "cli/status/why.h"
#include "node/site/site.h"
#include "run/live/live.h"
#include "sync/mirror.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    VIEW_SENT_CHARS = 13, /* A column. */
    VIEW_REASONS_MAX = 5,
    VIEW_LANES_MAX = 8,
    VIEW_SITES_MAX = 12, /* On a screen. */
};

struct view_sites {
    struct view_site list[MIRROR_SITES_MAX];
    uint32_t count;
};

/* What members hold back of what they send. */
struct view_sparsified {
    uint32_t count; /* Members of whom it is known. */
    uint32_t upper; /* Whose links are too slow for the lower threshold. */
    double threshold;
    int64_t elements, sent_elements;
    int64_t link; /* The slowest, bytes per second; zero: not known. */
};

/* What workers passed on to other workers. */
struct view_passed {
    bool known;
    int64_t frames, bytes, dropped;
};

/* A worker as all lanes together see it. */
struct view_member {
    const char *name;
    int64_t rank;
    int64_t clock; /* The smallest. */
    bool in, up, waited_for, held;
    bool stopped; /* By a store that fails. */
    int64_t behind_chunks;
    int64_t silent_ms;
    int64_t rtt_us;
    int64_t delivery;
    struct view_sparsified sparsified;
    struct view_passed passed;
};

struct view_members {
    struct view_member list[SYNC_MEMBERS_MAX];
    uint32_t count;
    uint32_t in;
};

/* What is summed over lanes. */
struct view_sums {
    int64_t version; /* Of lane 0. */
    int64_t updates;
    int64_t refused;
    int64_t nonfinite;
    int64_t sent;
    int64_t received;
    int64_t table_bytes;
};

/* Gathering. */

static void view_sum_lane(const json_t *status, struct view_sums *sums)
{
    sums->updates += why_number(status, "updates");
    sums->refused += why_number(status, "refused");
    sums->nonfinite += why_number(status, "kept_elements");
    sums->sent += why_number(status, "sent_bytes");
    sums->received += why_number(status, "received_bytes");
    sums->table_bytes += why_number(status, "table_bytes");
}

static struct view_sums view_sum(const json_t *report)
{
    struct view_sums sums = {.version = why_number(view_status(report, 0), "version")};

    for (size_t i = 0; i < view_lanes(report); i++) {
        view_sum_lane(view_status(report, i), &sums);
    }
    return sums;
}

/* Add up what somebody says of it. */
static void view_add_sparsified(struct view_sparsified *sum, const json_t *member)
{
    const json_t *sparsified = json_object_get(member, "sparsified");
    int64_t link = why_number(sparsified, "link_bytes_per_s");
    double threshold = json_number_value(json_object_get(sparsified, "threshold"));

    if (why_number(sparsified, "elements") == 0) {
        return;
    }
    sum->count++;
    sum->upper += view_flag(sparsified, "upper");
    sum->threshold = threshold > sum->threshold ? threshold : sum->threshold;
    sum->elements += why_number(sparsified, "elements");
    sum->sent_elements += why_number(sparsified, "sent_elements");
    sum->link = link > 0 && (sum->link == 0 || link < sum->link) ? link : sum->link;
}

static void view_join_sparsified(struct view_sparsified *sum, const struct view_sparsified *more)
{
    sum->count += more->count;
    sum->upper += more->upper;
    sum->threshold = more->threshold > sum->threshold ? more->threshold : sum->threshold;
    sum->elements += more->elements;
    sum->sent_elements += more->sent_elements;
    sum->link =
        more->link > 0 && (sum->link == 0 || more->link < sum->link) ? more->link : sum->link;
}

static void view_add_passed(struct view_passed *sum, const json_t *member)
{
    const json_t *passed = json_object_get(member, "passed");

    sum->known = sum->known || passed != NULL;
    sum->frames += why_number(passed, "frames");
    sum->bytes += why_number(passed, "bytes");
    sum->dropped += why_number(passed, "dropped");
}

static struct view_member *view_find(struct view_members *all, const char *name)
{
    for (uint32_t i = 0; i < all->count; i++) {
        if (strcmp(all->list[i].name, name) == 0) {
            return &all->list[i];
        }
    }
    if (all->count == SYNC_MEMBERS_MAX) {
        return NULL;
    }
    all->list[all->count] =
        (struct view_member){.name = name, .rank = -1, .clock = INT64_MAX, .up = true};
    return &all->list[all->count++];
}

static void view_add_member(struct view_members *all, const json_t *status, const json_t *member)
{
    struct view_member *m = view_find(all, view_string(member, "name"));
    int64_t clock = why_number(member, "clock");
    int64_t silent = why_number(member, "silent_ms");
    bool first;

    if (m == NULL) {
        return;
    }
    first = m->clock == INT64_MAX;
    m->rank = json_object_get(member, "rank") == NULL ? m->rank : why_number(member, "rank");
    m->clock = clock < m->clock ? clock : m->clock;
    m->in = (first || m->in) && strcmp(view_string(member, "state"), "in") == 0;
    m->up = m->up && view_flag(member, "up");
    m->waited_for = m->waited_for || view_flag(member, "waited_for");
    m->stopped = m->stopped || view_flag(member, "waits_for_store");
    m->held = m->held || run_live_waits(status, member);
    m->behind_chunks += why_number(member, "behind_chunks");
    m->silent_ms = first || silent < m->silent_ms ? silent : m->silent_ms;
    m->rtt_us = why_number(member, "rtt_us") > m->rtt_us ? why_number(member, "rtt_us") : m->rtt_us;
    m->delivery += why_number(member, "delivery");
    view_add_sparsified(&m->sparsified, member);
    view_add_passed(&m->passed, member);
}

static int view_by_rank(const void *a, const void *b)
{
    const struct view_member *x = a;
    const struct view_member *y = b;

    return x->rank < y->rank ? -1 : x->rank > y->rank ? 1 : strcmp(x->name, y->name);
}

static void view_gather(const json_t *report, struct view_members *all)
{
    *all = (struct view_members){.count = 0};
    for (size_t i = 0; i < view_lanes(report); i++) {
        const json_t *status = view_status(report, i);
        const json_t *members = json_object_get(status, "members");

        for (size_t m = 0; m < json_array_size(members); m++) {
            view_add_member(all, status, json_array_get(members, m));
        }
    }
    for (uint32_t i = 0; i < all->count; i++) {
        all->in += all->list[i].in;
    }
    qsort(all->list, all->count, sizeof(all->list[0]), view_by_rank);
}

static const char *view_state(const struct view_member *m)
{
    return !m->up                 ? "away"
           : !m->in               ? "not in"
           : m->stopped           ? "waits"
           : m->waited_for        ? "waited for"
           : m->behind_chunks > 0 ? "behind"
           : m->held              ? "waits"
                                  : "computes";
}

/* How well it goes, as far as workers have said. */
static void view_progress(const json_t *first, struct text *out)
{
    const json_t *progress = json_object_get(first, "progress");
    const json_t *loss = json_object_get(progress, "loss");
    const json_t *objective = json_object_get(progress, "objective");
    const json_t *accuracy = json_object_get(progress, "accuracy");
    const json_t *stop = json_object_get(progress, "stop");

    if (loss != NULL) {
        text_addf(out, "  loss %.5g", json_number_value(loss));
    }
    if (objective != NULL) {
        text_addf(out, "  objective %.5g", json_number_value(objective));
    }
    if (json_number_value(accuracy) > 0) {
        text_addf(out, "  accuracy %.2f %%", json_number_value(accuracy) * 100);
    }
    if (objective != NULL) {
        text_addf(out, "  (at clock %" PRId64 ")", why_number(progress, "evaluated"));
    }
    if (stop != NULL) {
        text_addf(out, "  stops after clock %" PRId64, why_number(progress, "stop"));
    }
}

static void view_settings(struct view_out *o, const json_t *first)
{
    const json_t *checkpoint = json_object_get(first, "checkpoint");
    char line[VIEW_LINE_BYTES];
    struct text t;

    text_init_fixed(&t, line, sizeof(line));
    text_addf(&t, "%s", view_string(first, "barrier"));
    if (strcmp(view_string(first, "barrier"), "ssp") == 0) {
        text_addf(&t, " (staleness %" PRId64 ")", why_number(first, "staleness"));
    }
    text_addf(&t, ", %s", view_string(first, "delivery"));
    if (checkpoint == NULL) {
        text_add(&t, ", no checkpoints");
    } else if (why_number(checkpoint, "number") > 0) {
        text_addf(&t, ", checkpoint %" PRId64 " of clock %" PRId64 "%s",
                  why_number(checkpoint, "number"), why_number(checkpoint, "clock"),
                  view_flag(checkpoint, "saving") ? ", saving" : "");
    } else {
        text_add(&t, ", no checkpoint yet");
    }
    view_put(o, CLI_PLAIN, line);
    text_clear(&t);
    view_progress(first, &t);
    if (t.size > 0) {
        view_put(o, CLI_PLAIN, line + strspn(line, " "));
    }
}

static double view_sent(const struct view_sparsified *s)
{
    return s->elements > 0 ? (double)s->sent_elements / (double)s->elements * 100 : 0;
}

/* "workers hold back: low, delta 0.0012 now, 12.5 % of entries sent, slowest link 5.00 MB/s" */
static void view_sparsified_line(struct view_out *o, const char *who,
                                 const struct view_sparsified *s)
{
    char choice[VIEW_CELL_BYTES], link[VIEW_CELL_BYTES];

    if (s->count == 0) {
        return;
    }
    (void)snprintf(choice, sizeof(choice), "%s", s->upper == 0 ? "low" : "up");
    if (s->upper > 0 && s->upper < s->count) {
        (void)snprintf(choice, sizeof(choice), "%u of %u up", s->upper, s->count);
    }
    view_putf(o, CLI_PLAIN,
              "%s hold back: %s, delta %.3g now, %.1f %% of entries sent, slowest "
              "link %s",
              who, choice, s->threshold, view_sent(s),
              view_si(s->link > 0 ? (double)s->link : -1, "B/s", link));
}

/* How sums reach the workers, over all lanes. */
static void view_tree_line(struct view_out *o)
{
    int64_t direct = 0, fed = 0, detours = 0;

    for (size_t i = 0; i < view_lanes(o->v->now); i++) {
        const json_t *tree = json_object_get(view_status(o->v->now, i), "tree");

        direct += why_number(tree, "direct");
        fed += why_number(tree, "fed");
        detours += why_number(tree, "detours");
    }
    if (direct + fed > 0) {
        view_putf(o, CLI_PLAIN,
                  "sums go by trees: %" PRId64 " of %" PRId64
                  " ways to workers are through other workers, %" PRId64 " detours so far",
                  fed, direct + fed, detours);
    }
}

/* What of that went through workers. */
static void view_passed_line(struct view_out *o, const struct view_members *all)
{
    struct view_passed sum = {0};
    char bytes[VIEW_CELL_BYTES];

    for (uint32_t i = 0; i < all->count; i++) {
        const struct view_passed *p = &all->list[i].passed;

        sum.known = sum.known || p->known;
        sum.frames += p->frames;
        sum.bytes += p->bytes;
        sum.dropped += p->dropped;
    }
    if (sum.known) {
        view_putf(o, sum.dropped > 0 ? CLI_DOUBTFUL : CLI_PLAIN,
                  "workers passed on %s in %" PRId64 " frames; %" PRId64
                  " dropped for want of room",
                  view_si((double)sum.bytes, "B", bytes), sum.frames, sum.dropped);
    }
}

static void view_sparsified_lines(struct view_out *o, const struct view_members *all)
{
    struct view_sparsified workers = {0}, lanes = {0};

    for (uint32_t i = 0; i < all->count; i++) {
        view_join_sparsified(&workers, &all->list[i].sparsified);
    }
    for (size_t i = 0; i < view_lanes(o->v->now); i++) {
        view_add_sparsified(&lanes, view_status(o->v->now, i));
    }
    view_sparsified_line(o, "workers", &workers);
    view_sparsified_line(o, "lanes", &lanes);
}

static void view_head(struct view_out *o, const struct view_members *all)
{
    const struct status_view *v = o->v;
    const json_t *first = view_status(v->now, 0);
    struct view_sums now = view_sum(v->now);
    struct view_sums before = view_sum(v->before);
    char clocks[VIEW_CELL_BYTES], updates[VIEW_CELL_BYTES], in[VIEW_CELL_BYTES],
        out[VIEW_CELL_BYTES], model[VIEW_CELL_BYTES];

    view_putf(o, CLI_HEADING, "%s  clock %" PRId64 "  %s clocks/s  %u workers  %s",
              view_string(v->now, "site"), now.version,
              view_si(view_rate(v, before.version, now.version), "", clocks), all->in, v->time);
    view_putf(o, CLI_PLAIN, "updates %s/s  in %s  out %s  model and state %s  refused %" PRId64,
              view_si(view_rate(v, before.updates, now.updates), "", updates),
              view_si(view_rate(v, before.received, now.received), "B/s", in),
              view_si(view_rate(v, before.sent, now.sent), "B/s", out),
              view_si((double)now.table_bytes, "B", model), now.refused);
    if (now.nonfinite > 0) {
        view_putf(o, CLI_PLAIN, "overflowed elements %" PRId64 ": what was added to them is lost",
                  now.nonfinite);
    }
    view_settings(o, first);
    view_sparsified_lines(o, all);
    view_tree_line(o);
    view_passed_line(o, all);
}

static enum cli_style view_style(const struct view_member *m)
{
    return !m->up                                  ? CLI_BAD
           : m->waited_for || m->behind_chunks > 0 ? CLI_DOUBTFUL
           : m->in                                 ? CLI_PLAIN
                                                   : CLI_FAINT;
}

/* Columns that not every site has. */
struct view_columns {
    bool sent, passed;
};

static struct view_columns view_columns(const struct view_members *all)
{
    struct view_columns c = {.sent = false};

    for (uint32_t i = 0; i < all->count; i++) {
        c.sent = c.sent || all->list[i].sparsified.count > 0;
        c.passed = c.passed || all->list[i].passed.known;
    }
    return c;
}

/* "   10.0 % up    12.3 MB, 2 dropped" */
static void view_more_cells(const struct view_member *m, struct view_columns c, struct text *out)
{
    char cell[VIEW_CELL_BYTES] = "";

    if (m->sparsified.count > 0) {
        (void)snprintf(cell, sizeof(cell), "  %5.1f %% %s", view_sent(&m->sparsified),
                       m->sparsified.upper > 0 ? "up" : "low");
    }
    text_addf(out, "%-*s", c.sent && m->passed.known ? VIEW_SENT_CHARS : 0, cell);
    if (m->passed.known) {
        text_addf(out, "  %9s", view_si((double)m->passed.bytes, "B", cell));
    }
    if (m->passed.dropped > 0) {
        text_addf(out, ", %" PRId64 " dropped", m->passed.dropped);
    }
}

static void view_member_line(struct view_out *o, const struct view_member *m,
                             struct view_columns columns)
{
    char heard[VIEW_CELL_BYTES], rtt[VIEW_CELL_BYTES] = "-", rank[VIEW_CELL_BYTES] = "-";
    char state[VIEW_CELL_BYTES], rate[VIEW_CELL_BYTES], more[VIEW_CELL_BYTES * 3];
    struct text t;

    text_init_fixed(&t, more, sizeof(more));
    view_more_cells(m, columns, &t);
    if (m->rtt_us > 0) {
        (void)snprintf(rtt, sizeof(rtt), "%.1f ms", (double)m->rtt_us / 1e3);
    }
    if (m->rank >= 0) {
        (void)snprintf(rank, sizeof(rank), "%" PRId64, m->rank);
    }
    if (m->behind_chunks > 0) {
        (void)snprintf(state, sizeof(state), "behind %" PRId64, m->behind_chunks);
    } else {
        (void)snprintf(state, sizeof(state), "%s", view_state(m));
    }
    view_putf(o, view_style(m), "%-16.16s %4s %8" PRId64 "  %-12.12s %8s %9s %10s%s", m->name, rank,
              m->clock == INT64_MAX ? 0 : m->clock, state, view_seconds(m->silent_ms, heard), rtt,
              view_si((double)m->delivery, "B/s", rate), more);
}

/* Those that matter first, if there is no room for all. */
static void view_member_lines(struct view_out *o, const struct view_members *all, int room)
{
    struct view_columns columns = view_columns(all);
    uint32_t shown = 0;

    if (all->count == 0 || room < 2) {
        return;
    }
    view_putf(o, CLI_FAINT,
              "WORKER           RANK    CLOCK  STATE           HEARD       RTT       RATE%s%s",
              columns.sent ? "     SENT" : "",
              !columns.passed ? ""
              : columns.sent  ? "         PASSED"
                              : "     PASSED");
    room--;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < all->count; i++) {
            const struct view_member *m = &all->list[i];
            bool urgent = view_style(m) != CLI_PLAIN;

            if ((int)all->count <= room ? pass == 1 : urgent != (pass == 0)) {
                continue;
            }
            if ((int)all->count > room && (int)shown >= room - 1) {
                continue;
            }
            view_member_line(o, m, columns);
            shown++;
        }
    }
    if (shown < all->count) {
        view_putf(o, CLI_FAINT, "and %u more", all->count - shown);
    }
}

/* Other sites. */

static struct view_site *view_find_site(struct view_sites *all, const char *name)
{
    for (uint32_t i = 0; i < all->count; i++) {
        if (strcmp(all->list[i].name, name) == 0) {
            return &all->list[i];
        }
    }
    if (all->count == MIRROR_SITES_MAX) {
        return NULL;
    }
    all->list[all->count] = (struct view_site){.name = name, .up = true, .clock = INT64_MAX};
    return &all->list[all->count++];
}

static void view_add_site(struct view_sites *all, const json_t *site)
{
    struct view_site *s = view_find_site(all, view_string(site, "site"));
    int64_t clock = why_number(site, "clock"), rtt_us = why_number(site, "rtt_us");

    if (s == NULL) {
        return;
    }
    s->up = s->up && view_flag(site, "up");
    s->linked = !json_is_false(json_object_get(site, "linked"));
    s->left_out = s->left_out || view_flag(site, "left_out");
    s->announcing = s->announcing || view_flag(site, "announcing");
    s->clock = clock < s->clock ? clock : s->clock;
    s->queued_bytes += why_number(site, "waiting_bytes") + why_number(site, "unacked_bytes");
    s->sent_bytes += why_number(site, "sent_bytes");
    s->delivery += why_number(site, "delivery");
    s->rtt_us = rtt_us > s->rtt_us ? rtt_us : s->rtt_us;
}

static void view_gather_sites(const json_t *report, struct view_sites *all)
{
    all->count = 0;
    for (size_t i = 0; i < view_lanes(report); i++) {
        const json_t *between = json_object_get(view_status(report, i), "between");
        const json_t *sites = json_object_get(between, "sites");

        for (size_t k = 0; k < json_array_size(sites); k++) {
            view_add_site(all, json_array_get(sites, k));
        }
    }
}

static const char *view_site_state(const struct status_view *v, const struct view_site *s)
{
    return view_is_centre(v, s->name) ? "centre"
           : s->left_out              ? "left out"
           : !s->up                   ? "away"
           : s->announcing            ? "announces"
                                      : "there";
}

static int64_t view_site_behind(const struct status_view *v, const struct view_site *s)
{
    int64_t here = why_number(view_status(v->now, 0), "version");

    return s->clock < here ? here - s->clock : 0;
}

static int64_t view_site_sent(const struct view_sites *all, const char *name)
{
    for (uint32_t i = 0; i < all->count; i++) {
        if (strcmp(all->list[i].name, name) == 0) {
            return all->list[i].sent_bytes;
        }
    }
    return INT64_MAX; /* Then the rate is not known. */
}

static void view_site_line(struct view_out *o, const struct view_site *s,
                           const struct view_sites *before)
{
    char queued[VIEW_CELL_BYTES], out[VIEW_CELL_BYTES], drains[VIEW_CELL_BYTES];

    view_putf(o, s->up ? CLI_PLAIN : CLI_BAD,
              "%-16.16s %8" PRId64 " %7" PRId64 "  %-10s %9s %11s %11s  %6.1f ms", s->name,
              s->clock, view_site_behind(o->v, s), view_site_state(o->v, s),
              view_si((double)s->queued_bytes, "B", queued),
              view_si(view_rate(o->v, view_site_sent(before, s->name), s->sent_bytes), "B/s", out),
              s->delivery == 0 ? "-" : view_si((double)s->delivery, "B/s", drains),
              (double)s->rtt_us / 1e3);
}

/* What was shared so far, and how long readers waited for it: over all lanes. */
static void view_shared_line(struct view_out *o)
{
    const json_t *report = o->v->now;
    int64_t made = 0, taken = 0, raised = 0, met = 0, passed = 0;
    double clock_s = 0, barrier_s = 0, fresh_s = 0, room_s = 0, soft = 0;

    for (size_t i = 0; i < view_lanes(report); i++) {
        const json_t *b = json_object_get(view_status(report, i), "between");
        double its = json_number_value(json_object_get(b, "soft"));

        made += why_number(b, "pieces_made");
        taken += why_number(b, "pieces_taken");
        raised += why_number(b, "barriers_raised");
        met += why_number(b, "barriers_met");
        passed += why_number(b, "barriers_passed");
        clock_s += json_number_value(json_object_get(b, "waited_clock_s"));
        barrier_s += json_number_value(json_object_get(b, "waited_barrier_s"));
        fresh_s += json_number_value(json_object_get(b, "waited_fresh_s"));
        room_s += json_number_value(json_object_get(b, "waited_room_s"));
        soft = its > soft ? its : soft;
    }
    view_putf(o, CLI_PLAIN,
              "pieces %" PRId64 " made, %" PRId64 " taken  barriers %" PRId64 " raised, %" PRId64
              " met, %" PRId64 " passed on  soft %.2f",
              made, taken, raised, met, passed, soft);
    view_putf(o, CLI_PLAIN,
              "readers waited %.1f s for clocks, %.1f s for barriers, %.1f s for what was about to "
              "come, %.1f s for room",
              clock_s, barrier_s, fresh_s, room_s);
}

/* A line for each, if there are not too many. */
static void view_site_rows(struct view_out *o, const struct view_sites *all,
                           const struct view_sites *before, bool central)
{
    for (uint32_t i = 0; i < all->count && i < VIEW_SITES_MAX; i++) {
        const struct view_site *s = &all->list[i];

        if (central) {
            view_central_line(o, s,
                              view_rate(o->v, view_site_sent(before, s->name), s->sent_bytes));
        } else {
            view_site_line(o, s, before);
        }
    }
    if (all->count > VIEW_SITES_MAX) {
        view_putf(o, CLI_FAINT, "and %u more", all->count - VIEW_SITES_MAX);
    }
}

static void view_site_lines(struct view_out *o)
{
    bool central = view_is_central(o->v);
    struct view_sites all, before;

    view_gather_sites(o->v->now, &all);
    view_gather_sites(o->v->before, &before);
    if (all.count == 0) {
        return;
    }
    if (central) {
        view_central_head(o);
    } else {
        view_put(
            o, CLI_FAINT,
            "SITE                CLOCK  BEHIND  STATE         QUEUED        SENT      DRAINS   "
            "       RTT");
    }
    view_site_rows(o, &all, &before, central);
    if (central) {
        view_central_tail(o);
    } else {
        view_shared_line(o);
    }
    view_put(o, CLI_PLAIN, "");
}

static json_t *view_sites_json(const struct status_view *v)
{
    struct view_sites all, before;
    json_t *out = json_array();

    view_gather_sites(v->now, &all);
    view_gather_sites(v->before, &before);
    for (uint32_t i = 0; i < all.count; i++) {
        const struct view_site *s = &all.list[i];
        double rate = view_rate(v, view_site_sent(&before, s->name), s->sent_bytes);

        (void)json_array_append_new(
            out, json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:o, s:I, s:I, s:b}", "name", s->name,
                           "state", view_site_state(v, s), "clock", (json_int_t)s->clock, "behind",
                           (json_int_t)view_site_behind(v, s), "queued_bytes",
                           (json_int_t)s->queued_bytes, "sent_bytes", (json_int_t)s->sent_bytes,
                           "sent_bytes_per_s", rate < 0 ? json_null() : json_real(rate), "delivery",
                           (json_int_t)s->delivery, "rtt_us", (json_int_t)s->rtt_us, "announcing",
                           (int)s->announcing));
    }
    return out;
}

static void view_lane_line(struct view_out *o, size_t index)
{
    const struct status_view *v = o->v;
    const json_t *lane = view_lane(v->now, index);
    const json_t *status = view_status(v->now, index);
    const json_t *before = view_status(v->before, index);
    char updates[VIEW_CELL_BYTES], in[VIEW_CELL_BYTES], out[VIEW_CELL_BYTES];

    if (status == NULL) {
        view_putf(o, CLI_BAD, "%4zu %-12s %8s  %s: %s", index, "-", "-",
                  view_string(lane, "address"), view_string(lane, "error"));
        return;
    }
    view_putf(
        o, view_flag(status, "restoring") ? CLI_DOUBTFUL : CLI_PLAIN,
        "%4zu %-12.12s %8" PRId64 "  %7s/s  %10s %10s  %s%s", index, view_string(status, "server"),
        why_number(status, "version"),
        view_si(view_rate(v, why_number(before, "updates"), why_number(status, "updates")), "",
                updates),
        view_si(view_rate(v, why_number(before, "received_bytes"),
                          why_number(status, "received_bytes")),
                "B/s", in),
        view_si(view_rate(v, why_number(before, "sent_bytes"), why_number(status, "sent_bytes")),
                "B/s", out),
        view_string(lane, "address"), view_flag(status, "restoring") ? "  restoring" : "");
}

static void view_lane_lines(struct view_out *o, size_t lines)
{
    size_t lanes = view_lanes(o->v->now);

    view_put(o, CLI_FAINT, "LANE SERVER          CLOCK    UPDATES          IN        OUT  ADDRESS");
    for (size_t i = 0; i < lanes && i < lines; i++) {
        view_lane_line(o, i);
    }
    if (lanes > lines) {
        view_putf(o, CLI_FAINT, "and %zu more", lanes - lines);
    }
}

static void view_reason_lines(struct view_out *o, const json_t *reasons)
{
    char line[VIEW_LINE_BYTES];
    struct text t;

    for (size_t i = 0; i < json_array_size(reasons) && i < VIEW_REASONS_MAX; i++) {
        view_wrap(o, CLI_DOUBTFUL, view_string(json_array_get(reasons, i), "text"));
    }
    if (json_array_size(reasons) == 0) {
        text_init_fixed(&t, line, sizeof(line));
        why_nobody(o->v->now, &t);
        view_put(o, CLI_GOOD, line);
    }
}

void view_screen(const struct status_view *v, struct text *out)
{
    struct view_out o = {.v = v, .out = out, .left = v->height};
    json_t *reasons = why_reasons(v->now);
    size_t lanes = view_lanes(v->now);
    size_t shown = lanes > VIEW_LANES_MAX ? VIEW_LANES_MAX : lanes;
    struct view_members all;

    view_gather(v->now, &all);
    view_head(&o, &all);
    view_reason_lines(&o, reasons);
    view_put(&o, CLI_PLAIN, "");
    view_site_lines(&o);
    /* Lanes, their heading and the empty line before come last, and have their place. */
    view_member_lines(&o, &all, o.left - (int)shown - 2 - (lanes > shown));
    view_put(&o, CLI_PLAIN, "");
    view_lane_lines(&o, shown);
    json_decref(reasons);
}

void view_line(const struct status_view *v, struct text *out)
{
    const json_t *first = view_status(v->now, 0);
    struct view_sums now = view_sum(v->now);
    struct view_sums before = view_sum(v->before);
    json_t *reasons = why_reasons(v->now);
    char cells[4][VIEW_CELL_BYTES];
    char storage[VIEW_LINE_BYTES * 2];
    struct view_members all;
    struct text t;

    view_gather(v->now, &all);
    text_init_fixed(&t, storage, sizeof(storage));
    text_addf(&t, "%s  clock %" PRId64 "  %s clocks/s  %s updates/s  in %s  out %s  %u workers",
              v->time, now.version,
              view_si(view_rate(v, before.version, now.version), "", cells[0]),
              view_si(view_rate(v, before.updates, now.updates), "", cells[1]),
              view_si(view_rate(v, before.received, now.received), "B/s", cells[2]),
              view_si(view_rate(v, before.sent, now.sent), "B/s", cells[3]), all.in);
    view_progress(first, &t);
    if (json_array_size(reasons) > 0) {
        text_addf(&t, "  %s", view_string(json_array_get(reasons, 0), "text"));
    }
    text_add_printable(out, t.chars);
    text_add(out, "\n");
    json_decref(reasons);
}

/* NULL: nothing is known of it. */
static json_t *view_sparsified_json(const struct view_sparsified *s)
{
    return s->count == 0
               ? NULL
               : json_pack("{s:b, s:f, s:I, s:I, s:I}", "upper", s->upper > 0, "threshold",
                           s->threshold, "elements", (json_int_t)s->elements, "sent_elements",
                           (json_int_t)s->sent_elements, "link_bytes_per_s", (json_int_t)s->link);
}

static json_t *view_passed_json(const struct view_passed *p)
{
    return !p->known ? NULL
                     : json_pack("{s:I, s:I, s:I}", "frames", (json_int_t)p->frames, "bytes",
                                 (json_int_t)p->bytes, "dropped", (json_int_t)p->dropped);
}

static json_t *view_members_json(const struct view_members *all)
{
    json_t *out = json_array();

    for (uint32_t i = 0; i < all->count; i++) {
        const struct view_member *m = &all->list[i];

        (void)json_array_append_new(
            out,
            json_pack("{s:s, s:I, s:I, s:s, s:I, s:I, s:I, s:I, s:o*, s:o*}", "name", m->name,
                      "rank", (json_int_t)m->rank, "clock",
                      (json_int_t)(m->clock == INT64_MAX ? 0 : m->clock), "state", view_state(m),
                      "silent_ms", (json_int_t)m->silent_ms, "rtt_us", (json_int_t)m->rtt_us,
                      "behind_chunks", (json_int_t)m->behind_chunks, "delivery",
                      (json_int_t)m->delivery, "sparsified", view_sparsified_json(&m->sparsified),
                      "passed", view_passed_json(&m->passed)));
    }
    return out;
}

static json_t *view_rate_json(double rate)
{
    return rate < 0 ? json_null() : json_real(rate);
}

json_t *view_json(const struct status_view *v)
{
    const json_t *first = view_status(v->now, 0);
    struct view_sums now = view_sum(v->now);
    struct view_sums before = view_sum(v->before);
    struct view_members all;

    view_gather(v->now, &all);
    return json_pack(
        "{s:O?, s:I, s:o, s:I, s:o, s:I, s:o, s:I, s:o, s:I, s:O?, s:o, s:o, s:o, s:O}", "site",
        json_object_get(v->now, "site"), "clock", (json_int_t)now.version, "clocks_per_s",
        view_rate_json(view_rate(v, before.version, now.version)), "updates",
        (json_int_t)now.updates, "updates_per_s",
        view_rate_json(view_rate(v, before.updates, now.updates)), "received_bytes",
        (json_int_t)now.received, "received_bytes_per_s",
        view_rate_json(view_rate(v, before.received, now.received)), "sent_bytes",
        (json_int_t)now.sent, "sent_bytes_per_s",
        view_rate_json(view_rate(v, before.sent, now.sent)), "workers", (json_int_t)all.in,
        "progress", json_object_get(first, "progress"), "members", view_members_json(&all), "sites",
        view_sites_json(v), "reasons", why_reasons(v->now), "lanes",
        json_object_get(v->now, "lanes"));
}
