/* strait plan place --fail links: what each link is good for. */

#include "base/mem.h"
#include "cli/plan/place.h"
#include "loop/clock.h"

#include <math.h>
#include <string.h>

struct fail {
    struct cli_place *place;
    struct plan_place_effort effort; /* In one process. */
    bool *used;                      /* Links that the plan uses. */
    uint32_t *edges;                 /* Links to be looked at. */
    uint32_t count;
    char name[2 * CLI_PLACE_LABEL_BYTES + 32];
};

/* One plan without a link. */
struct fail_plan {
    bool there;
    uint32_t server;
    double value;
    double time_s;
    double bound;
};

static enum err fail_solve(const struct fail *f, const struct plan_place_problem *problem,
                           struct fail_plan *out, struct err_text *text)
{
    struct plan_place_answer answer;
    enum err rc = plan_place_solve(problem, &f->effort, &answer, text);

    *out = (struct fail_plan){.there = rc == OK, .bound = INFINITY};
    if (rc == OK) {
        rc = cli_place_verify(problem, &answer, text);
        *out = (struct fail_plan){.there = true,
                                  .server = answer.server,
                                  .value = answer.value,
                                  .time_s = answer.time_s,
                                  .bound = answer.bound};
        plan_place_answer_deinit(&answer);
    }
    return rc == ERR_NOT_FOUND ? OK : rc;
}

/* Keep @other if it is better. */
static void fail_better(struct fail_plan *best, const struct fail_plan *other)
{
    if (other->there && (!best->there || other->value < best->value)) {
        double bound = best->there ? best->bound : other->bound;

        *best = *other;
        best->bound = bound;
    }
}

/* Does the plan stay the best one, whatever the planner would say? */
static bool fail_harmless(const struct cli_place *p, const bool *used, uint32_t edge)
{
    const struct plan_place_answer *a = &p->answer;
    bool avoided = p->no_edge != NULL && p->no_edge[edge];

    return avoided || (!used[edge] && a->optimal && a->paths == PLAN_PLACE_ALL);
}

static struct fail_plan fail_as_it_is(const struct plan_place_answer *a)
{
    return (struct fail_plan){.there = true,
                              .server = a->server,
                              .value = a->value,
                              .time_s = a->time_s,
                              .bound = a->bound};
}

static struct cli_place_failure fail_of(uint32_t edge, const struct fail_plan *kept,
                                        const struct fail_plan *moved)
{
    return (struct cli_place_failure){.edge = edge,
                                      .kept = kept->there,
                                      .kept_s = kept->time_s,
                                      .moved = moved->there,
                                      .server = moved->server,
                                      .time_s = moved->time_s,
                                      .optimal = moved->there &&
                                                 moved->value <= moved->bound * (1 + 1e-9)};
}

static enum err fail_work(uint32_t piece, struct text *out, struct err_text *text, void *user)
{
    struct fail *f = user;
    struct cli_place *p = f->place;
    struct plan_place_problem problem = p->problem;
    struct fail_plan as_it_is = fail_as_it_is(&p->answer), kept, moved;
    uint32_t edge = f->edges[piece];
    bool *no_edge = mem_calloc(p->graph->edges_count, sizeof(*no_edge));
    struct cli_place_failure failure;
    enum err rc;

    if (no_edge == NULL) {
        return err_text_set(text, ERR_NOMEM, "out of memory");
    }
    if (p->no_edge != NULL) {
        memcpy(no_edge, p->no_edge, p->graph->edges_count * sizeof(*no_edge));
    }
    no_edge[edge] = true;
    problem.no_edge = no_edge;
    problem.paths = p->answer.paths;
    rc = fail_solve(f, &problem, &moved, text);
    problem.server = p->answer.server;
    if (rc == OK) {
        rc = fail_solve(f, &problem, &kept, text);
    }
    mem_free(no_edge);
    if (rc == OK) {
        if (!f->used[edge]) {
            fail_better(&kept, &as_it_is);
        }
        fail_better(&moved, &kept);
        failure = fail_of(edge, &kept, &moved);
        text_add_bytes(out, (const char *)&failure, sizeof(failure));
    }
    return rc;
}

static enum err fail_take(uint32_t piece, const char *bytes, size_t size, void *user)
{
    struct fail *f = user;
    struct cli_place_failure came;

    if (size != sizeof(came)) {
        return ERR_MALFORMED;
    }
    memcpy(&came, bytes, sizeof(came));
    if (came.edge != f->edges[piece] || came.server >= f->place->graph->nodes_count) {
        return ERR_MALFORMED;
    }
    f->place->failures[came.edge] = came;
    return OK;
}

static const char *fail_name(uint32_t piece, void *user)
{
    struct fail *f = user;
    const struct topo_edge *e = &f->place->graph->edges[f->edges[piece]];

    (void)snprintf(f->name, sizeof(f->name), "the link between %s and %s",
                   f->place->labels[e->a].chars, f->place->labels[e->b].chars);
    return f->name;
}

static void fail_tick(uint32_t done, void *user)
{
    cli_place_show_done(&((struct fail *)user)->place->shown, done);
}

/* Which links are worth a thought; the others are filled in. */
static void fail_choose(struct fail *f)
{
    struct cli_place *p = f->place;
    struct fail_plan as_it_is = fail_as_it_is(&p->answer);

    for (uint32_t i = 0; i < p->answer.flows_count; i++) {
        for (uint32_t h = 0; h < p->answer.flows[i].hops; h++) {
            f->used[p->answer.flows[i].edges[h]] = true;
        }
    }
    for (uint32_t e = 0; e < p->graph->edges_count; e++) {
        if (fail_harmless(p, f->used, e)) {
            p->failures[e] = fail_of(e, &as_it_is, &as_it_is);
        } else {
            f->edges[f->count++] = e;
        }
    }
}

enum err cli_place_fail(struct cli_place *p, struct err_text *text)
{
    uint32_t links = p->graph->edges_count;
    struct fail f = {.place = p, .effort = p->effort};
    struct pool_work work = {.jobs = p->jobs,
                             .work = fail_work,
                             .take = fail_take,
                             .name = fail_name,
                             .tick = fail_tick,
                             .user = &f};
    enum err rc = ERR_NOMEM;

    f.effort.spread = NULL;
    f.effort.method = p->effort.method == PLAN_PLACE_EXACT ? PLAN_PLACE_EXACT : PLAN_PLACE_ROUND;
    f.used = mem_calloc(links, sizeof(*f.used));
    f.edges = mem_calloc(links, sizeof(*f.edges));
    p->failures = mem_calloc(links, sizeof(*p->failures));
    if (f.used != NULL && f.edges != NULL && p->failures != NULL) {
        fail_choose(&f);
        work.count = f.count;
        p->until_ns = clock_mono_ns() + (int64_t)(p->limit_s * 1e9);
        cli_place_show(&p->shown, "links that fail", f.count);
        rc = pool_run(&work, text);
    }
    mem_free(f.used);
    mem_free(f.edges);
    return rc;
}

bool cli_place_fail_worse(const struct cli_place_failure *a, const struct cli_place_failure *b)
{
    if (a->moved != b->moved) {
        return !a->moved;
    }
    if (a->kept != b->kept) {
        return !a->kept;
    }
    if (a->kept && a->kept_s != b->kept_s) {
        return a->kept_s > b->kept_s;
    }
    return a->time_s > b->time_s;
}

uint32_t cli_place_fail_worst(const struct cli_place *p)
{
    uint32_t worst = 0;

    for (uint32_t e = 1; e < p->graph->edges_count; e++) {
        if (cli_place_fail_worse(&p->failures[e], &p->failures[worst])) {
            worst = e;
        }
    }
    return worst;
}
