/* The nodes of the Slurm job that we are in, as the hosts of a run. */

#include "cli/run/capture.h"
#include "cli/run/run.h"
#include "run/backend/slurm.h"
#include "run/file/arena.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    NODES_SAID_BYTES = 64 * 1024,
    NODES_PORT_FIRST = 20000, /* Jobs may share nodes: each has ports of its own, as far as */
    NODES_PORT_STEP = 64,     /* that goes. */
    NODES_PORT_STEPS = 180,
};

static enum cli_exit nodes_ask(struct cli_context *ctx, const char *const *argv, char *said)
{
    int status = 0;
    enum err rc = capture(argv, said, NODES_SAID_BYTES, &status);

    said[strcspn(said, "\n") == 0 ? 0 : strlen(said)] = '\0';
    if (rc == OK && status == 0) {
        return CLI_DONE;
    }
    return cli_error(ctx, CLI_ERROR_HOSTS, NULL, "scontrol show %s %.64s: %.300s", argv[2],
                     argv[3][0] == '-' ? argv[4] : argv[3], rc == OK ? said : err_string(rc));
}

/* Where the others reach it. */
static enum cli_exit nodes_address(struct cli_context *ctx, const char *node, char *said, char *out,
                                   size_t size)
{
    const char *const argv[] = {"scontrol", "show", "node", "-o", node, NULL};
    enum cli_exit status = nodes_ask(ctx, argv, said);

    if (status == CLI_DONE && !run_slurm_value(said, "NodeAddr", out, size)) {
        status =
            cli_error(ctx, CLI_ERROR_HOSTS, NULL, "scontrol does not say where node %s is", node);
    }
    return status;
}

/* For files on the nodes. */
static const char *nodes_dir(void)
{
    const char *tmp = getenv("TMPDIR");

    return tmp != NULL && run_slurm_path_good(tmp) && strstr(tmp, "..") == NULL ? tmp : "/tmp";
}

static enum cli_exit nodes_fill(struct cli_context *ctx, const struct run_file *f,
                                struct run_hosts *hosts, const char *names, char *said)
{
    char node[RUN_SLURM_NODE_BYTES], address[256];

    for (uint32_t i = 0; i < hosts->count; i++) {
        enum cli_exit status;

        names = run_slurm_next(names, node);
        if (names == NULL) {
            return cli_error(ctx, CLI_ERROR_HOSTS, NULL,
                             "the job has %u node%s, and the run needs %u: one for each site; say "
                             "--nodes=%u to sbatch",
                             i, i == 1 ? "" : "s", hosts->count, hosts->count);
        }
        status = nodes_address(ctx, node, said, address, sizeof(address));
        if (status != CLI_DONE) {
            return status;
        }
        hosts->items[i] = (struct run_host){.name = run_arena_strdup(hosts->arena, node),
                                            .way = RUN_HOST_SRUN,
                                            .region = run_slurm_region(f, i),
                                            .address = run_arena_strdup(hosts->arena, address),
                                            .dir = nodes_dir(),
                                            .slots = UINT32_MAX};
        hosts->items[i].at = hosts->items[i].name;
        if (hosts->items[i].name == NULL || hosts->items[i].address == NULL) {
            return cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "run: out of memory");
        }
    }
    return CLI_DONE;
}

enum cli_exit run_nodes_open(struct cli_context *ctx, const struct run_file *f,
                             struct run_hosts **out)
{
    static char said[NODES_SAID_BYTES], names[NODES_SAID_BYTES];
    const char *list = getenv("SLURM_JOB_NODELIST");
    const char *job = getenv("SLURM_JOB_ID");
    const char *const argv[] = {"scontrol", "show", "hostnames", list, NULL};
    enum cli_exit status;

    if (list == NULL || job == NULL) {
        return cli_error(ctx, CLI_ERROR_SETTINGS, NULL,
                         "run: --inside is for jobs of Slurm, and this is none: leave it away, and "
                         "one is submitted");
    }
    status = nodes_ask(ctx, argv, names);
    if (status != CLI_DONE) {
        return status;
    }
    if (run_hosts_create("the job", run_slurm_nodes(f), out) != OK) {
        return cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "run: out of memory");
    }
    (*out)->first =
        (uint16_t)(NODES_PORT_FIRST + strtoul(job, NULL, 10) % NODES_PORT_STEPS * NODES_PORT_STEP);
    return nodes_fill(ctx, f, *out, names, said);
}
