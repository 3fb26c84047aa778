/* What strait plan diff says, for people and for programs. */

#include "cli/output/figure.h"
#include "cli/output/grid.h"
#include "cli/plan/diff.h"

#include <math.h>
#include <string.h>

enum { VIEW_LINKS_MAX = 5, VIEW_PATH_BYTES = 3072, VIEW_SENTENCE_BYTES = 1024 };

static const char *const view_states[] = {
    [PLAN_DIFF_SAME] = "same",   [PLAN_DIFF_RATE] = "rate",       [PLAN_DIFF_PATH] = "path",
    [PLAN_DIFF_ADDED] = "added", [PLAN_DIFF_REMOVED] = "removed",
};

/* An id for people: its name, if the answer has one. */
static void view_add_region(const struct plan_diff_answer *a, const json_t *id, struct text *out)
{
    char key[TOPO_GRAPH_ID_BYTES];
    const char *name;

    (void)snprintf(key, sizeof(key), "%" JSON_INTEGER_FORMAT, json_integer_value(id));
    if (json_is_string(id)) {
        (void)snprintf(key, sizeof(key), "%s", json_string_value(id));
    }
    name = json_string_value(json_object_get(json_object_get(a->root, "names"), key));
    text_add_printable(out, name != NULL ? name : key);
}

static bool view_moved(const struct plan_diff *d)
{
    struct text before, after;
    char was[VIEW_SENTENCE_BYTES], is[VIEW_SENTENCE_BYTES];

    text_init_fixed(&before, was, sizeof(was));
    text_init_fixed(&after, is, sizeof(is));
    view_add_region(&(struct plan_diff_answer){0}, plan_diff_server(&d->before), &before);
    view_add_region(&(struct plan_diff_answer){0}, plan_diff_server(&d->after), &after);
    return strcmp(was, is) != 0;
}

static double view_change(const struct plan_diff *d)
{
    return d->after.time_s / d->before.time_s - 1;
}

/* For programs. */

static json_t *view_flow_json(const struct plan_diff_flow *f)
{
    return f == NULL ? json_null()
                     : json_pack("{s:O, s:f}", "path", (json_t *)f->path, "mbps", f->mbps);
}

static json_t *view_flows_json(const struct plan_diff *d)
{
    json_t *list = json_array();

    for (size_t i = 0; i < d->flows_count; i++) {
        const struct plan_diff_pair *p = &d->flows[i];
        const struct plan_diff_flow *one = p->before != NULL ? p->before : p->after;

        (void)json_array_append_new(list, json_pack("{s:O, s:s, s:o, s:o}", "from", one->from.value,
                                                    "state", view_states[p->state], "before",
                                                    view_flow_json(p->before), "after",
                                                    view_flow_json(p->after)));
    }
    return list;
}

static json_t *view_links_json(const struct plan_diff *d)
{
    json_t *list = json_array();

    for (size_t i = 0; i < d->links_count; i++) {
        const struct plan_diff_use *u = &d->links[i];
        const struct plan_diff_link *one = u->before != NULL ? u->before : u->after;

        (void)json_array_append_new(
            list,
            json_pack("{s:O, s:O, s:o, s:o}", "a", one->a.value, "b", one->b.value, "before_mbps",
                      u->before == NULL ? json_null() : json_real(u->before->used_mbps),
                      "after_mbps",
                      u->after == NULL ? json_null() : json_real(u->after->used_mbps)));
    }
    return list;
}

static bool view_same(const struct plan_diff *d)
{
    bool same = !view_moved(d) && d->links_count == 0;

    for (size_t i = 0; i < d->flows_count; i++) {
        same = same && d->flows[i].state == PLAN_DIFF_SAME;
    }
    return same;
}

json_t *plan_diff_json(const struct plan_diff *d)
{
    json_t *notes = json_array();

    for (size_t i = 0; i < d->notes_count; i++) {
        (void)json_array_append_new(notes, json_string(d->notes[i]));
    }
    return json_pack("{s:b, s:{s:O, s:O, s:b}, s:{s:f, s:f, s:f}, s:o, s:o, s:o}", "same",
                     (int)view_same(d), "server", "before", plan_diff_server(&d->before), "after",
                     plan_diff_server(&d->after), "moved", (int)view_moved(d), "time_s", "before",
                     d->before.time_s, "after", d->after.time_s, "change", view_change(d), "flows",
                     view_flows_json(d), "links", view_links_json(d), "notes", notes);
}

/* For people. */

static void view_add_path(const struct plan_diff_answer *a, const struct plan_diff_flow *f,
                          struct text *out)
{
    const char *arrow = figure_utf8() ? " → " : " > ";

    for (size_t i = 0; i < json_array_size(f->path); i++) {
        text_add(out, i > 0 ? arrow : "");
        view_add_region(a, json_array_get(f->path, i), out);
    }
}

static void view_headline(struct cli_context *ctx, const struct plan_diff *d)
{
    double change = 100 * view_change(d);
    char chars[VIEW_SENTENCE_BYTES];
    struct text s;

    text_init_fixed(&s, chars, sizeof(chars));
    text_add(&s, view_moved(d) ? "The server moves from " : "The server stays in ");
    view_add_region(&d->before, plan_diff_server(&d->before), &s);
    if (view_moved(d)) {
        text_add(&s, " to ");
        view_add_region(&d->after, plan_diff_server(&d->after), &s);
    }
    if (fabs(change) < 1e-4) {
        text_addf(&s, "; a push and pull takes %.4g s, as before.", d->after.time_s);
    } else {
        text_addf(&s, "; a push and pull takes %.4g s instead of %.4g s, %.3g %% %s.",
                  d->after.time_s, d->before.time_s, fabs(change), change < 0 ? "less" : "more");
    }
    cli_wrap(ctx->out, chars, 0, 0, ctx->width);
}

/* A row of one side; the region is named in the first. */
static void view_flow(const struct plan_diff_answer *a, const struct plan_diff_flow *f,
                      const char *side, bool named, bool same_path, struct grid *g)
{
    char chars[VIEW_PATH_BYTES];
    struct text t;

    text_init_fixed(&t, chars, sizeof(chars));
    if (named) {
        view_add_region(a, f->from.value, &t);
    }
    grid_add(g, "%s", chars);
    grid_add(g, "%s", side);
    text_clear(&t);
    if (same_path) {
        text_add(&t, "by the same path");
    } else {
        view_add_path(a, f, &t);
    }
    grid_add(g, "%s", t.failed ? "..." : chars);
    grid_add(g, "%.4g", f->mbps);
}

static void view_flows(struct cli_context *ctx, const struct plan_diff *d)
{
    size_t same = 0;
    struct grid g;

    if (grid_init(&g, "lllr") != OK) {
        return;
    }
    grid_add(&g, "from");
    grid_add(&g, "%s", "");
    grid_add(&g, "path");
    grid_add(&g, "Mbit/s");
    for (size_t i = 0; i < d->flows_count; i++) {
        const struct plan_diff_pair *p = &d->flows[i];

        same += p->state == PLAN_DIFF_SAME;
        if (p->state != PLAN_DIFF_SAME && p->before != NULL) {
            view_flow(&d->before, p->before, p->after == NULL ? "no more" : "before", true, false,
                      &g);
        }
        if (p->state != PLAN_DIFF_SAME && p->after != NULL) {
            view_flow(&d->after, p->after, p->before == NULL ? "new" : "after", p->before == NULL,
                      p->state == PLAN_DIFF_RATE, &g);
        }
    }
    if (same < d->flows_count) {
        cli_out(ctx, "\n");
        grid_print(ctx, &g);
    }
    cli_out(ctx, "%s%zu of %zu flows %s as before.\n", same < d->flows_count ? "  " : "", same,
            d->flows_count, same == 1 ? "is" : "are");
    grid_deinit(&g);
}

static void view_link(const struct plan_diff *d, const struct plan_diff_use *u, struct grid *g)
{
    const struct plan_diff_answer *a = u->after != NULL ? &d->after : &d->before;
    const struct plan_diff_link *one = u->after != NULL ? u->after : u->before;
    char chars[VIEW_SENTENCE_BYTES];
    struct text t;

    text_init_fixed(&t, chars, sizeof(chars));
    view_add_region(a, one->a.value, &t);
    text_add(&t, figure_utf8() ? " – " : " - ");
    view_add_region(a, one->b.value, &t);
    grid_add(g, "%s", chars);
    grid_add(g, "%.4g", u->before == NULL ? 0 : u->before->used_mbps);
    grid_add(g, "%.4g", u->after == NULL ? 0 : u->after->used_mbps);
    grid_add(g, "%+.4g", u->change_mbps);
}

static void view_links(struct cli_context *ctx, const struct plan_diff *d)
{
    struct grid g;

    if (d->links_count == 0 || grid_init(&g, "lrrr") != OK) {
        return;
    }
    grid_add(&g, "Mbit/s on links");
    grid_add(&g, "before");
    grid_add(&g, "after");
    grid_add(&g, "%s", "");
    for (size_t i = 0; i < d->links_count && i < VIEW_LINKS_MAX; i++) {
        view_link(d, &d->links[i], &g);
    }
    cli_out(ctx, "\n");
    grid_print(ctx, &g);
    grid_deinit(&g);
    if (d->links_count > VIEW_LINKS_MAX) {
        cli_out(ctx, "  and %zu more: --json has all\n", d->links_count - VIEW_LINKS_MAX);
    }
}

void plan_diff_view(struct cli_context *ctx, const struct plan_diff *d)
{
    for (size_t i = 0; i < d->notes_count; i++) {
        cli_note(ctx, "note: %s", d->notes[i]);
    }
    view_headline(ctx, d);
    view_flows(ctx, d);
    view_links(ctx, d);
}
