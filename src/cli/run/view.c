#include "cli/run/view.h"

#include "cli/command/context.h"
#include "cli/output/figure.h"
#include "run/cost/bill.h"
#include "run/cost/move.h"
#include "run/predict.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    VIEW_BAR = 24,         /* Cells of the bar of clocks. */
    VIEW_PACE_CLOCKS = 3,  /* Fewer say little about how many there are a second. */
    VIEW_CURVE = 32,       /* Cells of the curve of the objective. */
    VIEW_REGIONS_MAX = 12, /* Lines of a screen; then they share one. */
    VIEW_LINKS_MAX = 12,   /* Lines of the table. */
    VIEW_LINKS_SHOWN = 4,  /* On a screen. */
    VIEW_LINK_BAR = 10,    /* Cells of the bar of a link. */
    VIEW_LINE_BYTES = 1024,
};

/* Small parts. */

static void view_time(int64_t ns, struct text *out)
{
    figure_time((double)ns * 1e-9, out);
}

static void view_figure(const char *name, double value, struct text *out)
{
    if (isfinite(value)) {
        text_addf(out, "  %s ", name);
        figure_number(value, out);
    }
}

/* A line of the screen: cut to the width, in columns. What is beyond ASCII is one column wide. */
static void view_add_line(const struct run_view *v, const char *chars, struct text *out)
{
    int columns = 0;
    bool escape = false;
    const char *at = chars;

    for (; *at != '\0'; at++) {
        bool continues = ((unsigned char)*at & 0xc0) == 0x80;

        if (*at == '\033') {
            escape = true;
        } else if (escape) {
            escape = *at != 'm';
        } else if (!continues && ++columns > v->width) {
            break;
        }
    }
    text_add_bytes(out, chars, (size_t)(at - chars));
    text_addf(out, "%s\n", *at != '\0' ? cli_style(v->color, CLI_PLAIN) : "");
}

/* The objective over time, lowest to highest. */
static void view_curve(const struct run_view *v, struct text *out)
{
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const plain[] = {"_", ".", ",", "-", "=", "+", "*", "#"};
    uint32_t count = 0;
    const double *history = run_tally_history(v->picture->tally, &count);
    double low = INFINITY, high = -INFINITY;
    uint32_t cells = count < VIEW_CURVE ? count : VIEW_CURVE;

    for (uint32_t i = 0; i < count; i++) {
        low = history[i] < low ? history[i] : low;
        high = history[i] > high ? history[i] : high;
    }
    for (uint32_t i = 0; i < cells; i++) {
        double value = history[cells == 1 ? 0 : i * (count - 1) / (cells - 1)];
        int level = high > low && isfinite(value) ? (int)((value - low) / (high - low) * 7.99) : 0;

        text_add(out, isfinite(value) ? (v->utf8 ? blocks[level] : plain[level]) : "?");
    }
}

/* Parts of the screen. */

/* Clocks a second: lately, or if those were few since the beginning. */
static double view_pace(const struct run_view *v, uint64_t clock)
{
    const struct run_picture *p = v->picture;
    uint64_t lately = clock - v->clock_before;

    if (lately < VIEW_PACE_CLOCKS && !p->simulated && p->now_ns > 0) {
        return (double)clock * 1e9 / (double)p->now_ns;
    }
    return (double)lately / v->seconds;
}

static void view_head(const struct run_view *v, struct text *out)
{
    const struct run_picture *p = v->picture;
    uint64_t clock = run_tally_clock_all(p->tally), clocks = p->file->stop.clocks;
    char line[VIEW_LINE_BYTES];
    struct text t;

    text_init_fixed(&t, line, sizeof(line));
    text_addf(&t, "%s%s%s clock %" PRIu64, cli_style(v->color, CLI_HEADING), p->file->name,
              cli_style(v->color, CLI_PLAIN), clock);
    if (clocks > 0) {
        text_addf(&t, "/%" PRIu64 " %s", clocks, cli_style(v->color, CLI_NAME));
        figure_bar((double)clock / (double)clocks, VIEW_BAR, v->utf8, &t);
        text_add(&t, cli_style(v->color, CLI_PLAIN));
    }
    text_add(&t, "  ");
    view_time(p->now_ns, &t);
    text_add(&t, p->simulated ? " of virtual time" : "");
    if (v->seconds > 0 && clock >= v->clock_before) {
        text_addf(&t, ", %.3g clocks/s", view_pace(v, clock));
    }
    view_add_line(v, line, out);
}

static void view_quality(const struct run_view *v, struct text *out)
{
    const struct run_tally_score *score = run_tally_score(v->picture->tally);
    char line[VIEW_LINE_BYTES];
    struct text t;

    text_init_fixed(&t, line, sizeof(line));
    text_addf(&t, "  %s ", v->picture->job->objective);
    figure_number(score->objective, &t);
    text_add(&t, "  ");
    view_curve(v, &t);
    view_figure("accuracy", score->accuracy, &t);
    view_figure("loss", run_tally_last(v->picture->tally)->loss, &t);
    view_add_line(v, line, out);
}

/* The workers of a region: how many do what, and where they are. */
static void view_region(const struct run_view *v, uint32_t region, struct text *t)
{
    const struct run_picture *p = v->picture;
    const char *words[8];
    uint32_t counts[8] = {0}, kinds = 0;
    uint64_t low = UINT64_MAX, high = 0;

    for (uint32_t i = 0; i < p->file->workers; i++) {
        const struct run_tally_worker *w = run_tally_worker(p->tally, i);
        const char *word = p->states[i] == NULL ? "away" : p->states[i];
        uint32_t k = 0;

        if (run_worker_group(p->file, i)->region != region) {
            continue;
        }
        low = w->clock < low ? w->clock : low;
        high = w->clock > high ? w->clock : high;
        while (k < kinds && strcmp(words[k], word) != 0) {
            k++;
        }
        if (k < sizeof(words) / sizeof(words[0])) {
            words[k] = word;
            counts[k]++;
            kinds = k == kinds ? kinds + 1 : kinds;
        }
    }
    for (uint32_t k = 0; k < kinds; k++) {
        text_addf(t, "%s%u %s", k == 0 ? "" : ", ", counts[k], words[k]);
    }
    if (low == high) {
        text_addf(t, " (clock %" PRIu64 ")", low);
    } else {
        text_addf(t, " (clocks %" PRIu64 " to %" PRIu64 ")", low, high);
    }
}

static bool view_has_workers(const struct run_file *f, uint32_t region)
{
    for (uint32_t i = 0; i < f->groups_count; i++) {
        if (f->groups[i].region == region) {
            return true;
        }
    }
    return false;
}

static void view_regions(const struct run_view *v, struct text *out)
{
    const struct run_file *f = v->picture->file;
    uint32_t lines = 0;

    for (uint32_t r = 0; r < topo_regions(f->topo) && lines < VIEW_REGIONS_MAX; r++) {
        char line[VIEW_LINE_BYTES];
        struct text t;

        if (view_has_workers(f, r)) {
            text_init_fixed(&t, line, sizeof(line));
            text_addf(&t, "  %-14s ", topo_region_at(f->topo, r)->name);
            view_region(v, r, &t);
            view_add_line(v, line, out);
            lines++;
        }
    }
}

/* The pair of regions with the most bytes that is not above (@below, @after) in that order. */
static bool view_next_link(const struct run_traffic *t, uint64_t *bytes, uint32_t *pair)
{
    uint32_t n = t->regions, best = UINT32_MAX;

    for (uint32_t i = 0; i < n * n; i++) {
        bool later = t->bytes[i] < *bytes || (t->bytes[i] == *bytes && i > *pair);

        if (i / n != i % n && t->bytes[i] > 0 && (*pair == UINT32_MAX || later) &&
            (best == UINT32_MAX || t->bytes[i] > t->bytes[best])) {
            best = i;
        }
    }
    if (best != UINT32_MAX) {
        *bytes = t->bytes[best];
        *pair = best;
    }
    return best != UINT32_MAX;
}

static void view_usd(bool known, uint64_t nusd, struct text *out)
{
    if (known) {
        text_addf(out, "$%.6f", (double)nusd * 1e-9);
    } else {
        text_add(out, "not all priced");
    }
}

static void view_transfer(const struct run_picture *p, struct text *out)
{
    uint64_t nusd = 0;
    bool known = run_cost_transfer_total(p->file->topo, p->traffic, &nusd);

    view_usd(known, nusd, out);
}

static double view_carried(const struct run_view *v, uint32_t pair)
{
    uint64_t now = v->picture->traffic->bytes[pair];

    return now < v->links_before[pair] ? (double)NAN : (double)(now - v->links_before[pair]);
}

/* How busy a link was since the picture before, 0 to 1; NaN: not known. */
static double view_busy(const struct run_view *v, uint32_t pair)
{
    const struct run_file *f = v->picture->file;
    uint32_t n = v->picture->traffic->regions;
    const struct topo_link *link = topo_link_between(f->topo, pair / n, pair % n);
    double bytes;

    if (v->links_before == NULL || v->seconds <= 0 || link == NULL) {
        return (double)NAN;
    }
    bytes = view_carried(v, pair);
    if (topo_duplex(f->topo) == TOPO_DUPLEX_SHARED) {
        bytes += view_carried(v, pair % n * n + pair / n);
    }
    return bytes * f->links.scale / v->seconds / (double)link->bytes_per_s;
}

/* "eu > us  ####......  45 % of 100 Mbit/s, 1.23 MB" */
static void view_link(const struct run_view *v, uint32_t pair, uint64_t bytes, struct text *out)
{
    const struct topo *topo = v->picture->file->topo;
    uint32_t n = v->picture->traffic->regions;
    const struct topo_link *link = topo_link_between(topo, pair / n, pair % n);
    double busy = view_busy(v, pair);
    char line[VIEW_LINE_BYTES], name[2 * TOPO_NAME_BYTES + 4];
    struct text t;

    text_init_fixed(&t, line, sizeof(line));
    (void)snprintf(name, sizeof(name), "%s > %s", topo_region_at(topo, pair / n)->name,
                   topo_region_at(topo, pair % n)->name);
    text_addf(&t, "  %-22s ", name);
    if (isfinite(busy) && link != NULL) {
        figure_bar(busy > 1 ? 1 : busy, VIEW_LINK_BAR, v->utf8, &t);
        text_addf(&t, " %3.0f %% of %.4g Mbit/s%s, ", busy * 100, (double)link->bytes_per_s * 8e-6,
                  topo_duplex(topo) == TOPO_DUPLEX_SHARED ? " both ways" : "");
    }
    figure_bytes(bytes, &t);
    view_add_line(v, line, out);
}

static void view_links(const struct run_view *v, struct text *out)
{
    const struct run_picture *p = v->picture;
    uint64_t total = run_traffic_total(p->traffic), bytes = 0;
    uint32_t pair = UINT32_MAX;
    char line[VIEW_LINE_BYTES];
    struct text t;

    text_init_fixed(&t, line, sizeof(line));
    text_add(&t, "  WAN ");
    figure_bytes(total, &t);
    if (v->seconds > 0 && total >= v->bytes_before) {
        text_add(&t, " (");
        figure_bytes((uint64_t)((double)(total - v->bytes_before) / v->seconds), &t);
        text_add(&t, "/s)");
    }
    text_add(&t, ", ");
    view_transfer(p, &t);
    if (p->file->links.scale < 1) {
        text_addf(&t, " (scale 1:%.6g)", 1 / p->file->links.scale);
    }
    view_add_line(v, line, out);
    for (int i = 0; i < VIEW_LINKS_SHOWN && view_next_link(p->traffic, &bytes, &pair); i++) {
        view_link(v, pair, bytes, out);
    }
}

static void view_waits(const struct run_view *v, struct text *out)
{
    char line[VIEW_LINE_BYTES];
    struct text t;

    text_init_fixed(&t, line, sizeof(line));
    text_addf(&t, "  waiting %.0f %% of the time", run_tally_waiting(v->picture->tally) * 100);
    if (v->picture->waits[0] != '\0') {
        text_addf(&t, "; now %s", v->picture->waits);
    }
    view_add_line(v, line, out);
}

void run_view_screen(const struct run_view *v, struct text *out)
{
    view_head(v, out);
    view_quality(v, out);
    view_regions(v, out);
    view_links(v, out);
    view_waits(v, out);
    if (v->news != NULL && v->news[0] != '\0') {
        char line[VIEW_LINE_BYTES];
        struct text t;

        text_init_fixed(&t, line, sizeof(line));
        text_addf(&t, "  %s%s%s", cli_style(v->color, CLI_DOUBTFUL), v->news,
                  cli_style(v->color, CLI_PLAIN));
        view_add_line(v, line, out);
    }
}

void run_view_line(const struct run_view *v, struct text *out)
{
    const struct run_picture *p = v->picture;
    const struct run_tally_score *score = run_tally_score(p->tally);

    view_time(p->now_ns, out);
    text_addf(out, "  clock %" PRIu64, run_tally_clock_all(p->tally));
    if (p->file->stop.clocks > 0) {
        text_addf(out, "/%" PRIu64, p->file->stop.clocks);
    }
    view_figure("loss", run_tally_last(p->tally)->loss, out);
    view_figure("objective", score->objective, out);
    view_figure("accuracy", score->accuracy, out);
    text_add(out, "  WAN ");
    figure_bytes(run_traffic_total(p->traffic), out);
    text_addf(out, "  waiting %.0f %%", run_tally_waiting(p->tally) * 100);
    if (p->waits[0] != '\0') {
        text_addf(out, "  (%s)", p->waits);
    }
}

/* The end. */

void run_view_end(const struct run_picture *p, const struct run_result *result, struct text *out)
{
    uint64_t clock = run_tally_clock_all(p->tally);

    switch (result->end) {
    case RUN_END_CLOCKS:
        text_addf(out, "all %" PRIu64 " clocks", clock);
        break;
    case RUN_END_GOAL:
        text_addf(out, "the goal was reached by clock %" PRIu64, clock);
        break;
    case RUN_END_CONVERGED:
        text_addf(out, "converged by clock %" PRIu64, clock);
        break;
    case RUN_END_DIVERGED:
        text_addf(out, "diverged by clock %" PRIu64, clock);
        break;
    case RUN_END_TIME:
        text_addf(out, "the time was up at clock %" PRIu64, clock);
        break;
    case RUN_END_INTERRUPTED:
        text_addf(out, "interrupted at clock %" PRIu64, clock);
        break;
    case RUN_END_FAILED:
        text_addf(out, "failed at clock %" PRIu64, clock);
        break;
    }
    text_add(out, ", after ");
    view_time(result->took_ns, out);
    text_add(out, p->simulated ? " of virtual time" : "");
}

static void view_row(const struct run_view *v, const char *name, struct text *out)
{
    text_addf(out, "  %s%-10s%s ", cli_style(v->color, CLI_FAINT), name,
              cli_style(v->color, CLI_PLAIN));
}

/* What was done before anything was trained. */
static void view_move(const struct run_view *v, const struct run_result *result, struct text *out)
{
    const struct run_file *f = v->picture->file;
    uint64_t machines = 0, transfer = 0;
    struct run_move m;

    run_move_of(f, &m);
    if (!m.moves) {
        return;
    }
    view_row(v, "moved", out);
    figure_bytes(m.bytes, out);
    text_addf(out, " to %s in ", f->lan_region);
    view_time(m.took_ns, out);
    if (run_move_cost(f, &m, &machines, &transfer)) {
        struct run_cost_text total;

        text_addf(out, " for $%s, by machines of class %s",
                  run_cost_print(machines + transfer, &total), m.class);
    }
    text_add(out, "; then trained for ");
    view_time(result->took_ns - m.took_ns, out);
    text_add(out, "\n");
}

static void view_table_links(const struct run_view *v, struct text *out)
{
    const struct run_picture *p = v->picture;
    const struct topo *topo = p->file->topo;
    uint32_t pair = UINT32_MAX, n = p->traffic->regions, count = 0;
    uint64_t bytes = 0;

    while (view_next_link(p->traffic, &bytes, &pair)) {
        uint64_t nusd = 0;
        bool known = run_cost_transfer(topo, p->traffic, pair / n, pair % n, &nusd);

        count++;
        if (count > VIEW_LINKS_MAX) {
            continue;
        }
        view_row(v, count == 1 ? "links" : "", out);
        text_addf(out, "%-14s to %-14s %10.3f MB  ", topo_region_at(topo, pair / n)->name,
                  topo_region_at(topo, pair % n)->name, (double)bytes * 1e-6);
        if (known) {
            view_usd(true, nusd, out);
        } else {
            text_add(out, "no price");
        }
        text_add(out, "\n");
    }
    if (count > VIEW_LINKS_MAX) {
        view_row(v, "", out);
        text_addf(out, "and %u more\n", count - VIEW_LINKS_MAX);
    }
}

static void view_part(const struct run_cost_part *part, struct text *out)
{
    struct run_cost_text compute, wait, transfer;

    text_addf(out, "computing $%s, waiting $%s, transfer $%s",
              run_cost_print(part->compute_nusd, &compute), run_cost_print(part->wait_nusd, &wait),
              run_cost_print(part->transfer_nusd, &transfer));
}

/* What a site paid, if that is known, and what it shared, if there are others. */
static void view_site(const struct run_view *v, const struct run_cost *cost, uint32_t site,
                      struct text *out)
{
    const struct run_picture *p = v->picture;
    const struct run_share *share = p->shares == NULL ? NULL : &p->shares[site];

    view_row(v, site == 0 ? "sites" : "", out);
    text_addf(out, "%-14s ", p->file->sites[site].name);
    if (cost != NULL) {
        struct run_cost_part part;

        run_bill_site(cost, p->file, site, &part);
        view_part(&part, out);
        text_add(out, share != NULL ? "; " : "");
    }
    if (share != NULL && share->around) {
        const struct node_central_stats *c = &share->central;

        text_addf(out, "%" PRIu64 " sums to the centre, %" PRIu64 " results from it", c->sums_sent,
                  c->results_taken);
        if (c->sums_taken > 0) {
            text_addf(out, "; as the centre %" PRIu64 " and %" PRIu64, c->sums_taken,
                      c->results_sent);
        }
        if (c->passed_bytes > 0) {
            text_add(out, "; passed on ");
            figure_bytes(run_bytes_full(c->passed_bytes, p->file), out);
        }
    } else if (share != NULL) {
        double insignificant = run_share_insignificant(share);

        text_addf(out, "%.1f %% kept back, %" PRIu64 " pieces, %" PRIu64 " barriers, soft %.2g",
                  isnan(insignificant) ? 0 : insignificant * 100, share->sums.pieces_made,
                  share->sums.barriers_raised, share->sums.soft);
    }
    text_add(out, "\n");
}

static void view_budget(const struct run_view *v, struct text *out)
{
    const struct run_picture *p = v->picture;
    const struct run_budget *b = &p->file->budget;

    if (!run_bill_has_budget(p->file)) {
        return;
    }
    view_row(v, "budget", out);
    if (b->max_usd > 0) {
        view_transfer(p, out);
        text_addf(out, " of $%g%s", b->max_usd, b->max_gb > 0 ? ", " : "");
    }
    if (b->max_gb > 0) {
        figure_bytes(run_traffic_total(p->traffic), out);
        text_addf(out, " of %g GB", b->max_gb);
    }
    text_addf(out, "; %s%s\n",
              run_bill_bound(p) ? "it is used up, or held something back" : "it held nothing back",
              run_bill_holds(p) ? "" : "; it does not hold: what is significant is sent anyway");
}

/* What was counted is not what is shown. */
static void view_scale(const struct run_view *v, struct text *out)
{
    double scale = v->picture->file->links.scale;

    if (scale < 1) {
        view_row(v, "scale", out);
        text_addf(out, "1:%.6g: bytes and dollars as at full size\n", 1 / scale);
    }
}

/* Other people's traffic, which nobody here pays for. */
static void view_background(const struct run_view *v, struct text *out)
{
    const struct run_file *f = v->picture->file;

    if (f->backgrounds_count > 0) {
        view_row(v, "background", out);
        figure_bytes(v->picture->background_bytes, out);
        text_add(out, "\n");
    }
    for (uint32_t i = 0; i < f->backgrounds_count; i++) {
        const struct run_background *b = &f->backgrounds[i];

        view_row(v, "", out);
        text_addf(out, "%s: %u flows among %s, ", b->name, b->flows, run_among_name(b->among));
        view_time(b->on_ns, out);
        text_add(out, " on, ");
        view_time(b->off_ns, out);
        text_add(out, " off\n");
    }
}

static void view_money(const struct run_view *v, struct text *out)
{
    const struct run_picture *p = v->picture;
    struct run_cost *cost = NULL;
    struct err_text why = {""};
    bool known = run_bill_create(p, &cost, &why) == OK;

    view_row(v, "cost", out);
    if (known) {
        struct run_cost_text total;

        text_addf(out, "$%s: ", run_cost_print(run_cost_total(cost), &total));
        view_part(run_cost_parts(cost), out);
        text_addf(out, " (a machine of class %s per worker)\n", p->file->machine);
    } else {
        text_addf(out, "not known: %s\n", why.text);
    }
    for (uint32_t i = 0; i < p->file->sites_count && p->file->sites_count > 1; i++) {
        view_site(v, cost, i, out);
    }
    view_budget(v, out);
    run_cost_destroy(cost);
}

/* Of a real run: what the simulator says, and whether its links were what they should be. */
static void view_ground(const struct run_view *v, const struct run_result *result, struct text *out)
{
    const struct run_prediction *s = v->picture->prediction;
    const json_t *valid = json_object_get(v->picture->network, "valid");

    if (s != NULL && s->known && s->time_s > 0) {
        double more = (double)result->took_ns * 1e-9 / s->time_s - 1;

        view_row(v, "simulated", out);
        figure_time(s->time_s, out);
        text_addf(out, " with steps of ");
        figure_time(s->compute_s, out);
        text_addf(out, ", as measured: the run took %.1f %% %s\n", fabs(more) * 100,
                  more < 0 ? "less" : "more");
    }
    if (json_is_false(valid)) {
        view_row(v, "NOT VALID", out);
        text_add(out, "the lab was late by more than 1 ms on average: this machine is too slow for "
                      "these links, or too busy\n");
    }
}

void run_view_table(const struct run_view *v, const struct run_result *result, struct text *out)
{
    const struct run_picture *p = v->picture;
    const struct run_tally_score *score = run_tally_score(p->tally);
    uint64_t rebased = 0;

    text_addf(out, "%s%s%s  ", cli_style(v->color, CLI_HEADING), p->file->name,
              cli_style(v->color, CLI_PLAIN));
    run_view_end(p, result, out);
    text_add(out, "\n");
    view_move(v, result, out);
    if (score->clock > 0) {
        view_row(v, "objective", out);
        figure_number(score->objective, out);
        text_addf(out, " %s, at clock %" PRIu64 "\n", p->job->objective, score->clock);
    }
    if (isfinite(score->accuracy)) {
        view_row(v, "accuracy", out);
        text_addf(out, "%.4f\n", score->accuracy);
    }
    view_row(v, "loss", out);
    figure_number(run_tally_last(p->tally)->loss, out);
    text_addf(out, " per sample, in clock %" PRIu64 "\n", run_tally_last(p->tally)->clock);
    view_row(v, "waiting", out);
    text_addf(out, "%.1f %% of the workers' time\n", run_tally_waiting(p->tally) * 100);
    view_ground(v, result, out);
    for (uint32_t i = 0; i < run_tally_workers(p->tally); i++) {
        rebased += run_tally_worker(p->tally, i)->rebased;
    }
    if (rebased > 0) {
        view_row(v, "rebased", out);
        text_addf(out, "%" PRIu64 " clocks of workers that were left out for a while\n", rebased);
    }
    view_row(v, "WAN", out);
    figure_bytes(run_traffic_total(p->traffic), out);
    text_add(out, ", ");
    view_transfer(p, out);
    text_add(out, "\n");
    view_scale(v, out);
    view_table_links(v, out);
    view_background(v, out);
    view_money(v, out);
}
