/* Faults of a run of processes: what can be had of what the file wants. Those of processes always,
 * those of links where the ground emulates them. */

#include "base/mem.h"
#include "run/live/state.h"

#include <signal.h>

static void fault_process(struct live *l, const struct sim_scenario_action *a)
{
    struct live_member *m = live_find(l, a->host);
    bool kills = a->kind == SIM_FAULT_KILL || a->kind == SIM_FAULT_POWER;

    if (m == NULL || !live_runs(m) || m->stopped) {
        return;
    }
    live_event(l, "fault", m->name, "%s", sim_fault_name(a->kind));
    if (kills) {
        m->again_ns = a->duration_ns;
        live_signal(m, SIGKILL);
    } else {
        m->stopped = true;
        live_signal(m, SIGSTOP);
        loop_timer_start_in(&m->timer, a->duration_ns);
    }
}

static void fault_happens(struct loop_timer *timer, void *user)
{
    struct live_fault *f = user;
    struct live *l = f->live;
    const struct sim_scenario_action *a = &f->action;

    (void)timer;
    if (a->host != NULL &&
        (a->kind == SIM_FAULT_KILL || a->kind == SIM_FAULT_POWER || a->kind == SIM_FAULT_PAUSE)) {
        fault_process(l, a);
    } else if (a->host == NULL && l->ground->fault != NULL && l->ground->fault(l, a)) {
        live_event(l, "fault", "", "%s", sim_fault_name(a->kind));
    } else {
        live_event(l, "left out", a->host == NULL ? "" : a->host,
                   "the fault '%s' is not to be had here", sim_fault_name(a->kind));
    }
}

enum err live_open_faults(struct live *l)
{
    uint32_t count = sim_scenario_actions(l->script);
    enum err rc = OK;

    l->faults = mem_calloc(count == 0 ? 1 : count, sizeof(*l->faults));
    if (l->faults == NULL) {
        return ERR_NOMEM;
    }
    for (uint32_t i = 0; i < count && rc == OK; i++) {
        l->faults[i] = (struct live_fault){.live = l, .action = sim_scenario_action(l->script, i)};
        rc = loop_timer_init(&l->faults[i].timer, l->loop, fault_happens, &l->faults[i]);
        l->faults_count += rc == OK;
    }
    return rc;
}

void live_begin_faults(struct live *l)
{
    for (uint32_t i = 0; i < l->faults_count; i++) {
        loop_timer_start_in(&l->faults[i].timer, l->faults[i].action.at_ns);
    }
}

void live_close_faults(struct live *l)
{
    for (uint32_t i = 0; i < l->faults_count; i++) {
        loop_timer_deinit(&l->faults[i].timer);
    }
    mem_free(l->faults);
}
