/* The picture that `strait plan tree` draws: a line for each worker below its parent, with its rack
 * and what the edge to it costs. */

#include "base/mem.h"
#include "cli/output/figure.h"
#include "cli/plan/tree.h"

#include <string.h>

/* Columns and, of box drawing characters, at most three times as many bytes. */
enum { VIEW_INDENT = 3, VIEW_BRANCH_BYTES = 3 * VIEW_INDENT, VIEW_CELL_BYTES = 320 };

struct tree_view {
    struct cli_context *ctx;
    const struct plan_tree_file *f;
    const uint32_t *parent;
    bool utf8;
    size_t name_columns; /* Of the widest line, without place and cost. */
    size_t place_columns;
    size_t indent_bytes;
    char indent[(PLAN_TREE_WORKERS_MAX + 1) * VIEW_BRANCH_BYTES];
};

static size_t view_columns(const char *chars)
{
    size_t columns = 0;

    for (; *chars != '\0'; chars++) {
        columns += ((unsigned char)*chars & 0xC0) != 0x80;
    }
    return columns;
}

static void view_place(const struct tree_view *v, uint32_t node, char *out)
{
    struct text place;

    text_init_fixed(&place, out, VIEW_CELL_BYTES);
    plan_tree_file_place(v->f, node, &place);
}

static uint32_t view_depth(const struct tree_view *v, uint32_t i)
{
    uint32_t depth = 1;

    for (; v->parent[i] != PLAN_TREE_ROOT; i = v->parent[i]) {
        depth++;
    }
    return depth;
}

static void view_measure(struct tree_view *v)
{
    for (uint32_t i = 0; i < v->f->problem.workers; i++) {
        size_t name =
            (size_t)view_depth(v, i) * VIEW_INDENT + view_columns(plan_tree_file_id(v->f, i));
        char place[VIEW_CELL_BYTES];

        view_place(v, i, place);
        v->name_columns = name > v->name_columns ? name : v->name_columns;
        v->place_columns =
            view_columns(place) > v->place_columns ? view_columns(place) : v->place_columns;
    }
}

static void view_worker(const struct tree_view *v, uint32_t i, bool last)
{
    struct cli_context *ctx = v->ctx;
    const char *id = plan_tree_file_id(v->f, i);
    size_t used = (view_columns(v->indent) + VIEW_INDENT) + view_columns(id);
    char place[VIEW_CELL_BYTES], cost[32];
    struct text number;

    view_place(v, i, place);
    text_init_fixed(&number, cost, sizeof(cost));
    figure_number(plan_tree_cost(&v->f->problem, v->parent[i], i), &number);
    cli_out(ctx, "%s%s%s%s%s%s%s", cli_style(ctx->color_out, CLI_FAINT), v->indent,
            v->utf8 ? (last ? "└─ " : "├─ ") : (last ? "`- " : "|- "),
            cli_style(ctx->color_out, CLI_PLAIN), cli_style(ctx->color_out, CLI_NAME), id,
            cli_style(ctx->color_out, CLI_PLAIN));
    cli_out(ctx, "%*s%s%s%s%*s%s\n", (int)(v->name_columns - used + 2), "",
            cli_style(ctx->color_out, CLI_FAINT), place, cli_style(ctx->color_out, CLI_PLAIN),
            (int)(v->place_columns - view_columns(place) + (v->place_columns > 0 ? 2 : 0)), "",
            cost);
}

static uint32_t view_next(const struct tree_view *v, uint32_t parent, uint32_t from)
{
    while (from < v->f->problem.workers && v->parent[from] != parent) {
        from++;
    }
    return from;
}

/* As deep as the tree, which is as deep as there are workers at most. */
static void view_below(struct tree_view *v, uint32_t parent)
{
    uint32_t workers = v->f->problem.workers;
    size_t bytes = v->indent_bytes;

    for (uint32_t i = view_next(v, parent, 0), next; i < workers; i = next) {
        const char *beside;

        next = view_next(v, parent, i + 1);
        view_worker(v, i, next == workers);
        beside = next == workers ? "   " : v->utf8 ? "│  " : "|  ";
        memcpy(v->indent + bytes, beside, strlen(beside) + 1);
        v->indent_bytes = bytes + strlen(beside);
        view_below(v, i);
        v->indent_bytes = bytes;
        v->indent[bytes] = '\0';
    }
}

static void view_summary(struct cli_context *ctx, const struct plan_tree_answer *a, double seconds)
{
    char objective[32], bound[32], time[32];
    struct text t;

    text_init_fixed(&t, objective, sizeof(objective));
    figure_number(a->objective, &t);
    text_init_fixed(&t, bound, sizeof(bound));
    figure_number(a->bound, &t);
    text_init_fixed(&t, time, sizeof(time));
    figure_time(seconds, &t);
    cli_out(ctx, "objective %s, bound %s, gap %.3g %%, depth %u, leaves %u, %s%s%s%s, %s\n",
            objective, bound, 100 * plan_tree_gap(a), a->depth, a->leaves,
            a->method == PLAN_TREE_EXACT ? "exact, " : "heuristic, ",
            cli_style(ctx->color_out, a->optimal ? CLI_GOOD : CLI_DOUBTFUL),
            a->optimal ? "optimal" : "not proven to be optimal",
            cli_style(ctx->color_out, CLI_PLAIN), time);
}

void plan_tree_view(struct cli_context *ctx, const struct plan_tree_file *f, const uint32_t *parent,
                    const struct plan_tree_answer *answer, double seconds)
{
    struct tree_view *v = mem_zalloc(sizeof(*v));

    if (v == NULL) {
        cli_note(ctx, "no memory for a picture of the tree");
    } else {
        v->ctx = ctx;
        v->f = f;
        v->parent = parent;
        v->utf8 = figure_utf8();
        cli_out(ctx, "%s%s%s", cli_style(ctx->color_out, CLI_HEADING),
                plan_tree_file_id(f, f->problem.workers), cli_style(ctx->color_out, CLI_PLAIN));
        if (f->problem.servers > 1) {
            cli_out(ctx, " and %u other server%s", f->problem.servers - 1,
                    f->problem.servers == 2 ? "" : "s");
        }
        cli_out(ctx, "\n");
        view_measure(v);
        view_below(v, PLAN_TREE_ROOT);
    }
    mem_free(v);
    view_summary(ctx, answer, seconds);
}
