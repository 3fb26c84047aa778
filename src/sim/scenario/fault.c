/* The faults of a script, in a world that is somebody else's: each at its time, and the storm. */

#include "base/list.h"
#include "base/mem.h"
#include "sim/scenario/state.h"

struct sim_scenario_faults {
    const struct sim_scenario *s;
    struct sim_world *world;
    struct sim_faults *faults;
    struct sim_event next; /* The next line that begins with "at". */
    struct sim_event storm;
    uint32_t order[SIM_SCENARIO_ACTIONS_MAX]; /* Actions by time, then line. */
    uint32_t done;
    uint64_t seed;
};

uint32_t sim_scenario_actions(const struct sim_scenario *s)
{
    return s->actions_count;
}

struct sim_scenario_action sim_scenario_action(const struct sim_scenario *s, uint32_t index)
{
    const struct scenario_action *a = &s->actions[index];

    CHECK(index < s->actions_count);
    return (struct sim_scenario_action){
        .at_ns = a->at_ns,
        .kind = a->fault.kind,
        .host = sim_fault_target(a->fault.kind) == SIM_TARGET_HOST ? a->host : NULL,
        .from = a->a,
        .to = a->b,
        .duration_ns = a->fault.duration_ns,
        .amount = a->fault.amount,
    };
}

static void scenario_act(struct sim_event *event, struct sim_world *w)
{
    struct sim_scenario_faults *f = LIST_ENTRY(event, struct sim_scenario_faults, next);
    const struct sim_scenario *s = f->s;

    while (f->done < s->actions_count &&
           s->actions[f->order[f->done]].at_ns <= sim_world_now_ns(w)) {
        const struct scenario_action *a = &s->actions[f->order[f->done++]];
        struct sim_fault fault = a->fault;

        if (sim_fault_target(fault.kind) == SIM_TARGET_HOST) {
            fault.host = sim_world_host(w, a->host);
        } else if (sim_fault_target(fault.kind) == SIM_TARGET_LINK) {
            fault.link =
                sim_link_between(w, sim_world_region_at(w, a->a), sim_world_region_at(w, a->b));
        }
        (void)sim_fault_inject(f->faults, &fault);
    }
    if (f->done < s->actions_count) {
        CHECK(sim_event_at(w, event, s->actions[f->order[f->done]].at_ns) == OK);
    }
}

static void scenario_begin_storm(struct sim_event *event, struct sim_world *w)
{
    struct sim_scenario_faults *f = LIST_ENTRY(event, struct sim_scenario_faults, storm);
    const struct scenario_storm *storm = &f->s->storm;

    (void)w;
    sim_faults_storm(f->faults, f->seed, storm->mask, storm->mean_ns, storm->until_ns);
}

/* Order the actions by time; equal times stay in the order of the script. */
static void scenario_sort(struct sim_scenario_faults *f)
{
    for (uint32_t i = 0; i < f->s->actions_count; i++) {
        uint32_t at = i;

        for (; at > 0 && f->s->actions[f->order[at - 1]].at_ns > f->s->actions[i].at_ns; at--) {
            f->order[at] = f->order[at - 1];
        }
        f->order[at] = i;
    }
}

enum err sim_scenario_faults_create(const struct sim_scenario *s, struct sim_world *w,
                                    uint64_t seed, struct sim_scenario_faults **faults_out)
{
    struct sim_scenario_faults *f = mem_zalloc(sizeof(*f));
    enum err rc = f == NULL ? ERR_NOMEM : sim_faults_create(w, seed, &f->faults);

    if (rc != OK) {
        mem_free(f);
        return rc;
    }
    f->s = s;
    f->world = w;
    f->seed = seed;
    sim_event_init(&f->next, scenario_act);
    sim_event_init(&f->storm, scenario_begin_storm);
    scenario_sort(f);
    if (s->actions_count > 0) {
        rc = sim_event_at(w, &f->next, s->actions[f->order[0]].at_ns);
    }
    if (rc == OK && s->storm.on) {
        rc = sim_event_at(w, &f->storm, s->storm.from_ns);
    }
    if (rc != OK) {
        sim_scenario_faults_destroy(f);
        return rc;
    }
    *faults_out = f;
    return OK;
}

void sim_scenario_faults_destroy(struct sim_scenario_faults *f)
{
    if (f != NULL) {
        sim_event_cancel(f->world, &f->next);
        sim_event_cancel(f->world, &f->storm);
        sim_faults_destroy(f->faults);
        mem_free(f);
    }
}

uint64_t sim_scenario_faults_fired(const struct sim_scenario_faults *f, enum sim_fault_kind kind)
{
    return sim_faults_fired(f->faults, kind);
}
