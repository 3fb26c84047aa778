#include "run/backend.h"

#include "base/figure.h"
#include "base/mem.h"
#include "run/cost/move.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

enum err run_traffic_init(struct run_traffic *t, uint32_t regions)
{
    t->regions = regions;
    t->bytes = mem_calloc((size_t)regions * regions, sizeof(*t->bytes));
    return t->bytes == NULL ? ERR_NOMEM : OK;
}

void run_traffic_deinit(struct run_traffic *t)
{
    mem_free(t->bytes);
    t->bytes = NULL;
}

uint64_t run_traffic_between(const struct run_traffic *t, uint32_t from, uint32_t to)
{
    CHECK(from < t->regions && to < t->regions);
    return t->bytes[(size_t)from * t->regions + to];
}

uint64_t run_bytes_full(uint64_t bytes, const struct run_file *f)
{
    return f->links.scale < 1 ? (uint64_t)((double)bytes / f->links.scale + 0.5) : bytes;
}

void run_traffic_complete(struct run_traffic *t, const struct run_file *f)
{
    struct run_move m;

    for (uint32_t i = 0; i < t->regions * t->regions; i++) {
        t->bytes[i] = run_bytes_full(t->bytes[i], f);
    }
    run_move_of(f, &m);
    for (uint32_t i = 0; i < m.parts_count; i++) {
        t->bytes[(size_t)m.parts[i].region * t->regions + m.to] += m.parts[i].bytes;
    }
}

uint64_t run_traffic_total(const struct run_traffic *t)
{
    uint64_t total = 0;

    for (uint32_t i = 0; i < t->regions * t->regions; i++) {
        total += i / t->regions != i % t->regions ? t->bytes[i] : 0;
    }
    return total;
}

uint64_t run_traffic_all(const struct run_traffic *t)
{
    uint64_t all = 0;

    for (uint32_t i = 0; i < t->regions * t->regions; i++) {
        all += t->bytes[i];
    }
    return all;
}

const struct run_group *run_worker_group(const struct run_file *f, uint32_t rank)
{
    uint32_t i = 0;

    CHECK(rank < f->workers);
    while (rank >= f->groups[i].count) {
        rank -= f->groups[i++].count;
    }
    return &f->groups[i];
}

uint32_t run_members(const struct run_file *f)
{
    return f->servers_count + f->workers;
}

uint32_t run_member_region(const struct run_file *f, uint32_t member)
{
    return member < f->servers_count ? f->servers[member].region
                                     : run_worker_group(f, member - f->servers_count)->region;
}

const char *run_end_name(enum run_end end)
{
    static const char *const names[] = {
        [RUN_END_CLOCKS] = "clocks",       [RUN_END_GOAL] = "goal",
        [RUN_END_CONVERGED] = "converged", [RUN_END_DIVERGED] = "diverged",
        [RUN_END_TIME] = "time",           [RUN_END_INTERRUPTED] = "interrupted",
        [RUN_END_FAILED] = "failed",
    };

    return names[end];
}

bool run_waits(const struct json_t *status, char *out, size_t size)
{
    const json_t *members = json_object_get(status, "members");
    json_int_t version = json_integer_value(json_object_get(status, "version"));
    struct text text;

    text_init_fixed(&text, out, size);
    for (size_t i = 0; i < json_array_size(members); i++) {
        const json_t *member = json_array_get(members, i);
        const char *name = json_string_value(json_object_get(member, "name"));

        if (!json_is_true(json_object_get(member, "waited_for")) || name == NULL) {
            continue;
        }
        if (text.size == 0) {
            text_addf(&text, "clock %" JSON_INTEGER_FORMAT " waits for ", version + 1);
        } else {
            text_add(&text, ", ");
        }
        text_add_printable(&text, name);
    }
    return text.size > 0;
}

static bool backend_rises(const struct run_file *f)
{
    const struct app_ops *job = app_find(f->job.name);

    return job != NULL && job->rising;
}

bool run_goal_reached(const struct run_file *f, const struct run_tally_score *score)
{
    const struct run_stop *stop = &f->stop;
    bool objective = backend_rises(f) ? score->objective >= stop->objective
                                      : score->objective <= stop->objective;

    return score->clock > 0 && ((stop->has_objective && objective) ||
                                (stop->accuracy > 0 && score->accuracy >= stop->accuracy));
}

void run_judge_open(const struct run_file *f, struct run_judge *j)
{
    run_judge_init(j, f->stop.converged.clocks, f->stop.converged.change, backend_rises(f));
    j->after = f->stop.converged.after;
}

bool run_judge_look(struct run_judge *j, const struct run_tally *t, struct run_result *result_out)
{
    const struct run_tally_score *score = run_tally_score(t);
    enum run_verdict verdict = RUN_GOES_ON;
    struct text text;
    char value[32];

    if (score->clock > 0 && score->judged) {
        verdict = run_judge_next(j, score->clock, score->objective);
    }
    if (verdict == RUN_DIVERGED) {
        text_init_fixed(&text, value, sizeof(value));
        figure_value(score->objective, &text);
        (void)err_text_set(&result_out->text, OK,
                           "the objective was %s at clock %" PRIu64 ": this training has diverged",
                           value, score->clock);
    }
    if (verdict != RUN_GOES_ON) {
        result_out->end = verdict == RUN_CONVERGED ? RUN_END_CONVERGED : RUN_END_DIVERGED;
    }
    return verdict != RUN_GOES_ON;
}

void run_site(const struct run_file *f, uint32_t site, struct node_site *site_out)
{
    static const struct sync_policy *const policies[] = {
        [RUN_BSP] = &sync_bsp, [RUN_SSP] = &sync_ssp, [RUN_TAP] = &sync_tap};
    const struct run_site *s = &f->sites[site];

    *site_out = (struct node_site){
        .shards = f->shards,
        .lanes = s->lanes,
        .delivery = f->sync.delivery,
        .push = f->sync.push,
        .broadcast = f->sync.broadcast,
        .required = f->sync.required,
        .tree = f->sync.tree,
        .sync = {.policy = policies[f->sync.barrier],
                 .staleness = f->sync.staleness,
                 .fixed_order = f->sync.order == RUN_FIXED,
                 .deadline_ns = f->sync.deadline_ns,
                 .members_min = s->workers},
        .checkpoint_every = f->checkpoint.every,
        .checkpoint_keep = f->checkpoint.keep,
    };
    if (f->sites_count == 1) {
        site_out->goal = (struct node_goal){.has_objective = f->stop.has_objective,
                                            .rising = backend_rises(f),
                                            .objective = f->stop.objective,
                                            .accuracy = f->stop.accuracy};
    }
    (void)snprintf(site_out->name, sizeof(site_out->name), "%s", s->name);
}

bool run_sparsifies(const struct run_file *f)
{
    return f->sync.push.on || f->sync.broadcast.on;
}

struct app_config run_app_config(const struct run_file *f, uint32_t rank)
{
    return (struct app_config){
        .job = f->job.name,
        .data = f->job.data,
        .rank = rank,
        .workers = f->workers,
        .seed = f->seed,
        .option_count = f->job.options_count,
        .options = f->job.options,
    };
}

enum err run_job_try(const struct run_file *f, struct err_text *text)
{
    struct app_config config = run_app_config(f, 0);
    struct app *app = NULL;
    enum err rc = app_create(&config, &app, text);

    app_destroy(app);
    return rc;
}
