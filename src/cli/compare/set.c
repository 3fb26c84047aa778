/* The settings that `strait compare` runs a file with: what each of them is called, and what has to
 * be said for it. The rest is as in the file. */

#include "base/units.h"
#include "cli/compare/compare.h"
#include "run/trainer/judge.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

enum {
    SET_LAN_CLOCKS = 10000, /* If nothing of the file ends lan before it converges. */
    SET_STALENESS = 2,      /* Of ssp, if the file has none. */
};

const char *const compare_names[] = {"lan",           "plain-bsp", "plain-ssp", "gaia-bsp",
                                     "gaia-ssp",      "async",     "central",   "centralised",
                                     "gaia-bsp-free", "lan-ssp",   NULL};

static void set_add(struct compare_settings *s, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void set_add(struct compare_settings *s, const char *fmt, ...)
{
    va_list args;

    CHECK(s->count < COMPARE_SETTINGS_MAX);
    va_start(args, fmt);
    (void)vsnprintf(s->items[s->count++], COMPARE_SETTING_BYTES, fmt, args);
    va_end(args);
}

/* All of it at once: what belongs to one barrier is refused with another. */
static void set_sync(const struct run_file *f, bool ssp, struct compare_settings *s)
{
    const char *delivery = f->sync.delivery == NODE_PULL ? "pull" : "broadcast";
    char filters[COMPARE_SETTING_BYTES - 128];
    struct units_text deadline;
    struct text t;

    text_init_fixed(&t, filters, sizeof(filters));
    run_sync_print_sparsify(&f->sync, &t);
    CHECK(!t.failed);
    (void)units_time_print(f->sync.deadline_ns, &deadline);
    if (ssp) {
        set_add(s, "sync={barrier: ssp, staleness: %u, delivery: %s, deadline: %s%s}",
                f->sync.barrier == RUN_SSP ? f->sync.staleness : SET_STALENESS, delivery,
                deadline.chars, filters);
    } else {
        set_add(s, "sync={barrier: bsp, delivery: %s, deadline: %s, order: %s%s}", delivery,
                deadline.chars, run_order_name(f->sync.order), filters);
    }
}

/* Around a centre nothing of the rest of between has a meaning, and the other way round: then it is
 * the defaults. */
static void set_between(const struct run_file *f, const char *name, struct compare_settings *s)
{
    bool central = strcmp(name, "central") == 0, was = f->between.preset == RUN_CENTRAL;

    if (central != was) {
        set_add(s, "between={preset: %s}", central ? "central" : "gaia");
    } else if (strncmp(name, "gaia-", 5) == 0 && f->between.preset != RUN_GAIA) {
        set_add(s, "between.preset=gaia");
    }
}

void compare_settings(const struct run_file *f, const char *name, struct compare_settings *out)
{
    bool plain = strncmp(name, "plain-", 6) == 0;
    bool lan = strncmp(name, "lan", 3) == 0, alone = lan || strcmp(name, "centralised") == 0;
    size_t size = strlen(name);

    *out = (struct compare_settings){.count = 0};
    set_add(out, "layout=%s", plain ? "plain" : lan ? "lan" : alone ? name : "sites");
    set_sync(f, size > 4 && strcmp(name + size - 4, "-ssp") == 0, out);
    set_between(f, name, out);
    if (strcmp(name, "async") == 0) {
        set_add(out, "between.preset=async");
        set_add(out, "between.staleness=none");
        set_add(out, "between.barrier=false");
        set_add(out, "between.fresh=0");
    }
    if (strcmp(name, "gaia-bsp-free") == 0) {
        set_add(out, "budget={max_gb: 1000000000}"); /* As much as there can be. */
    }
}

/* "{ending, clocks: N, time: T}" */
static void set_stop(const struct run_file *f, const char *ending, uint64_t clocks,
                     struct compare_settings *s)
{
    char text[COMPARE_SETTING_BYTES];
    struct units_text time;
    struct text t;

    text_init_fixed(&t, text, sizeof(text));
    text_addf(&t, "stop={%s", ending);
    if (clocks > 0) {
        text_addf(&t, ", clocks: %" PRIu64, clocks);
    }
    if (f->stop.time_ns > 0) {
        text_addf(&t, ", time: %s", units_time_print(f->stop.time_ns, &time));
    }
    text_add(&t, "}");
    set_add(s, "%s", text);
}

void compare_settings_converge(const struct run_file *f, struct compare_goal *goal,
                               struct compare_settings *out)
{
    const struct run_converged *said = &f->stop.converged;
    bool limited = f->stop.clocks > 0 || f->stop.time_ns > 0;
    char ending[96];

    goal->change = said->clocks > 0 ? said->change : RUN_JUDGE_CHANGE;
    goal->change_clocks = said->clocks > 0                       ? said->clocks
                          : f->evaluate.every > RUN_JUDGE_CLOCKS ? f->evaluate.every
                                                                 : RUN_JUDGE_CLOCKS;
    (void)snprintf(ending, sizeof(ending), "converged: {change: %.17g, clocks: %u, after: %u}",
                   goal->change, goal->change_clocks, said->after);
    set_stop(f, ending, limited ? f->stop.clocks : SET_LAN_CLOCKS, out);
}

void compare_settings_reach(const struct run_file *f, const struct compare_goal *goal,
                            struct compare_settings *out)
{
    char ending[96];

    (void)snprintf(ending, sizeof(ending), "objective: %.17g", goal->objective);
    set_stop(f, ending, goal->limit_clocks, out);
}
