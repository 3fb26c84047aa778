#include "run/backend/slurm.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Nodes. */

static bool slurm_peopled(const struct run_file *f, uint32_t region)
{
    for (uint32_t i = 0; i < f->servers_count; i++) {
        if (f->servers[i].region == region) {
            return true;
        }
    }
    for (uint32_t i = 0; i < f->groups_count; i++) {
        if (f->groups[i].region == region) {
            return true;
        }
    }
    return false;
}

uint32_t run_slurm_nodes(const struct run_file *f)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < topo_regions(f->topo); i++) {
        count += slurm_peopled(f, i);
    }
    return count;
}

const char *run_slurm_region(const struct run_file *f, uint32_t index)
{
    uint32_t region = 0;

    CHECK(index < run_slurm_nodes(f));
    for (uint32_t before = 0;; region++) {
        if (slurm_peopled(f, region) && before++ == index) {
            return topo_region_at(f->topo, region)->name;
        }
    }
}

/* The script. */

bool run_slurm_path_good(const char *path)
{
    return path[0] == '/' &&
           strspn(path, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                        "/._+-@:,=~") == strlen(path);
}

static void slurm_head(const struct run_slurm_script *s, struct text *out)
{
    uint32_t nodes = run_slurm_nodes(s->file);

    text_addf(
        out,
        "#!/bin/bash\n"
        "# The run '%s' as a job of Slurm. To submit it by hand: sbatch %s/job.sbatch\n"
        "#\n"
        "# It needs %u node%s: the first has the members of %s, and so on; members are\n"
        "# started with srun, and talk to each other over the network of the nodes. This\n"
        "# folder has to be there on the first node, strait on all of them at the same path.\n"
        "#\n"
        "#SBATCH --job-name=strait-%s\n"
        "#SBATCH --nodes=%u\n"
        "#SBATCH --ntasks-per-node=1\n"
        "#SBATCH --exclusive\n"
        "#SBATCH --output=%s/slurm-%%j.out\n"
        "#SBATCH --error=%s/slurm-%%j.err\n"
        "# A minute before its time is over the run ends by itself, with a whole record.\n"
        "#SBATCH --signal=B:TERM@60\n",
        s->file->name, s->dir, nodes, nodes == 1 ? "" : "s", run_slurm_region(s->file, 0),
        s->file->name, nodes, s->dir, s->dir);
}

void run_slurm_script(const struct run_slurm_script *s, struct text *out)
{
    slurm_head(s, out);
    if (s->limit_s > 0) {
        /* Slurm counts minutes. */
        text_addf(out, "#SBATCH --time=%" PRId64 "\n", (s->limit_s + 59) / 60);
    }
    if (s->partition != NULL) {
        text_addf(out, "#SBATCH --partition=%s\n", s->partition);
    }
    if (s->extra != NULL) {
        text_addf(out, "#SBATCH %s\n", s->extra);
    }
    text_addf(out, "\nexec %s run %s/job.yaml --on slurm --inside -o %s", s->program, s->dir,
              s->dir);
    if (s->data[0] != '\0') {
        text_addf(out, " \\\n    --set job.data=%s", s->data);
    }
    if (s->library[0] != '\0') {
        text_addf(out, " \\\n    --set between.library=%s", s->library);
    }
    for (uint32_t i = 0; i < s->insecure; i++) {
        text_add(out, " --insecure");
    }
    text_add(out, s->tidy ? " --tidy\n" : "\n");
}

/* What its commands say. */

uint64_t run_slurm_job(const char *said)
{
    uint64_t job = 0;

    for (const char *line = said; line != NULL; line = strchr(line, '\n')) {
        size_t digits;

        line += *line == '\n';
        digits = strspn(line, "0123456789");
        if (digits > 0 && digits < 18 && strchr("\n;", line[digits]) != NULL) {
            job = strtoull(line, NULL, 10);
        }
    }
    return job;
}

bool run_slurm_value(const char *said, const char *key, char *out, size_t size)
{
    size_t length = strlen(key);

    for (const char *at = strstr(said, key); at != NULL; at = strstr(at + 1, key)) {
        size_t n = at[length] == '=' ? strcspn(at + length + 1, " \n") : size;

        if ((at == said || isspace((unsigned char)at[-1])) && n < size) {
            memcpy(out, at + length + 1, n);
            out[n] = '\0';
            return true;
        }
    }
    return false;
}

enum run_slurm_state run_slurm_state(const char *name)
{
    static const struct {
        const char *name;
        enum run_slurm_state state;
    } states[] = {
        {"PENDING", RUN_SLURM_WAITS},       {"CONFIGURING", RUN_SLURM_WAITS},
        {"REQUEUED", RUN_SLURM_WAITS},      {"RUNNING", RUN_SLURM_RUNS},
        {"COMPLETING", RUN_SLURM_RUNS},     {"SUSPENDED", RUN_SLURM_RUNS},
        {"STOPPED", RUN_SLURM_RUNS},        {"COMPLETED", RUN_SLURM_DONE},
        {"FAILED", RUN_SLURM_DONE},         {"CANCELLED", RUN_SLURM_CANCELLED},
        {"PREEMPTED", RUN_SLURM_CANCELLED}, {"TIMEOUT", RUN_SLURM_TIMEOUT},
        {"DEADLINE", RUN_SLURM_TIMEOUT},
    };

    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        if (strcmp(states[i].name, name) == 0) {
            return states[i].state;
        }
    }
    return RUN_SLURM_FAILED;
}

const char *run_slurm_next(const char *said, char out[RUN_SLURM_NODE_BYTES])
{
    size_t n;

    said += strspn(said, " \n");
    n = strcspn(said, " \n");
    if (n == 0 || n >= RUN_SLURM_NODE_BYTES) {
        return NULL;
    }
    memcpy(out, said, n);
    out[n] = '\0';
    return said + n;
}
