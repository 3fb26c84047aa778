/* Run files as text, complete: every default is spelled out and the topology is inside. */

#include "base/units.h"
#include "run/file.h"

#include <inttypes.h>

/* Without quotes where that is the same. */
static void print_word(const char *word, struct text *out)
{
    bool plain = (word[0] >= '0' && word[0] <= '9') || (word[0] >= 'A' && word[0] <= 'Z') ||
                 (word[0] >= 'a' && word[0] <= 'z');

    if (plain && topo_name_valid(word)) {
        text_add(out, word);
    } else {
        text_add_json(out, word);
    }
}

static void print_servers(const struct run_file *f, struct text *out)
{
    text_add(out, "servers:\n");
    for (uint32_t i = 0; i < f->servers_count; i++) {
        const struct run_server *s = &f->servers[i];

        text_add(out, "  - {name: ");
        print_word(s->name, out);
        text_add(out, ", region: ");
        print_word(s->region_name, out);
        text_addf(out, ", lanes: %u}\n", s->lanes);
    }
}

static void print_groups(const struct run_file *f, struct text *out)
{
    text_add(out, "workers:\n");
    for (uint32_t i = 0; i < f->groups_count; i++) {
        const struct run_group *g = &f->groups[i];

        text_add(out, "  - {region: ");
        print_word(g->region_name, out);
        text_addf(out, ", count: %u, streams: %u, slowdown: ", g->count, g->streams);
        topo_print_number(g->slowdown, out);
        text_add(out, "}\n");
    }
}

static void print_job(const struct run_job *job, struct text *out)
{
    text_addf(out, "job:\n  name: %s\n  data: ", job->name);
    text_add_json(out, job->data);
    text_add(out, job->options_count > 0 ? "\n  options:\n" : "\n  options: {}\n");
    for (uint32_t i = 0; i < job->options_count; i++) {
        text_add(out, "    ");
        print_word(job->options[i].key, out);
        text_add(out, ": ");
        print_word(job->options[i].value, out);
        text_add(out, "\n");
    }
}

static void print_sync(const struct run_sync *s, struct text *out)
{
    struct units_text deadline;

    text_addf(out, "sync: {barrier: %s", run_barrier_name(s->barrier));
    if (s->barrier == RUN_SSP) {
        text_addf(out, ", staleness: %u", s->staleness);
    }
    text_addf(out, ", delivery: %s, deadline: %s, order: %s}\n",
              s->delivery == NODE_PULL ? "pull" : "broadcast",
              units_time_print(s->deadline_ns, &deadline), run_order_name(s->order));
}

static void print_stop(const struct run_stop *s, struct text *out)
{
    const char *comma = "";
    struct units_text time;

    text_add(out, "stop: {");
    if (s->clocks > 0) {
        text_addf(out, "clocks: %" PRIu64, s->clocks);
        comma = ", ";
    }
    if (s->has_objective) {
        text_addf(out, "%sobjective: ", comma);
        topo_print_number(s->objective, out);
        comma = ", ";
    }
    if (s->accuracy > 0) {
        text_addf(out, "%saccuracy: ", comma);
        topo_print_number(s->accuracy, out);
        comma = ", ";
    }
    if (s->time_ns > 0) {
        text_addf(out, "%stime: %s", comma, units_time_print(s->time_ns, &time));
    }
    text_add(out, "}\n");
}

static void print_faults(const struct run_file *f, struct text *out)
{
    text_add(out, f->faults_count > 0 ? "faults:\n" : "faults: []\n");
    for (uint32_t i = 0; i < f->faults_count; i++) {
        text_add(out, "  - ");
        text_add_json(out, f->faults[i].chars);
        text_add(out, "\n");
    }
}

void run_file_print(const struct run_file *f, struct text *out)
{
    text_add(out, "run: ");
    print_word(f->name, out);
    text_addf(out, "\nseed: %" PRIu64 "\ntopology: ", f->seed);
    topo_print(f->topo, 2, out); /* JSON is YAML. */
    text_addf(out, "\nshards: %u\n", f->shards);
    print_servers(f, out);
    print_groups(f, out);
    print_job(&f->job, out);
    print_sync(&f->sync, out);
    text_addf(out, "checkpoint: {every: %u, keep: %u}\n", f->checkpoint.every, f->checkpoint.keep);
    text_addf(out, "evaluate: {every: %u}\n", f->evaluate.every);
    text_addf(out, "state: {every: %u}\n", f->state.every);
    print_stop(&f->stop, out);
    print_faults(f, out);
    text_add(out, "compute: {gflops: ");
    topo_print_number(f->compute.gflops, out);
    text_add(out, "}\n");
}
