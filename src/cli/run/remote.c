/* Runs on other machines, before they begin: which machines, do they fit, do they answer. */

#include "base/mem.h"
#include "cli/member/security.h"
#include "cli/run/run.h"
#include "run/backend/hosts_ask.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

enum { FAR_TOLD_BYTES = 16 * 1024 };

/* Options. */

/* Which options are for which grounds. */
static enum cli_exit remote_options(struct cli_context *ctx, struct run_remote *remote)
{
    static const struct {
        const char *option;
        const char *on;
        const char *also; /* NULL: no other. */
    } only[] = {{"hosts", "hosts", NULL},     {"ssh", "hosts", NULL},
                {"tidy", "hosts", "slurm"},   {"insecure", "hosts", "slurm"},
                {"inside", "slurm", NULL},    {"time", "slurm", NULL},
                {"partition", "slurm", NULL}, {"sbatch", "slurm", NULL},
                {"submit", "slurm", NULL},    {"detach", "slurm", NULL}};
    const char *on = cli_text(ctx, "on");

    remote->insecure = security_insecure(ctx);
    for (size_t i = 0; i < sizeof(only) / sizeof(only[0]); i++) {
        bool fits =
            strcmp(on, only[i].on) == 0 || (only[i].also != NULL && strcmp(on, only[i].also) == 0);

        if (!fits && cli_given(ctx, only[i].option)) {
            return cli_error(ctx, CLI_ERROR_SETTINGS, NULL,
                             "run: --%s is of no use with --on %s: say --on %s, or leave it away",
                             only[i].option, on, only[i].on);
        }
    }
    return CLI_DONE;
}

/* The words of --ssh. */
static enum cli_exit remote_command(struct cli_context *ctx, struct run_remote *remote)
{
    const char *given = cli_text(ctx, "ssh");
    char *rest = NULL;
    size_t count = 0;

    if (given == NULL) {
        return CLI_DONE;
    }
    remote->words = mem_strdup(given);
    if (remote->words == NULL) {
        return cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "run: out of memory");
    }
    for (char *word = strtok_r(remote->words, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        if (count == RUN_HOSTS_COMMAND_MAX) {
            return cli_error(ctx, CLI_ERROR_BAD_VALUE, NULL, "--ssh: more than %d words",
                             RUN_HOSTS_COMMAND_MAX);
        }
        remote->command[count++] = word;
    }
    return count > 0 ? CLI_DONE
                     : cli_error(ctx, CLI_ERROR_BAD_VALUE, NULL,
                                 "--ssh: no command, such as \"ssh -p 2222\"");
}

/* In the clear only where somebody said so, and said it twice for what leaves the machine. */
static enum cli_exit remote_judge(struct cli_context *ctx, const struct run_remote *remote)
{
    for (uint32_t i = 0; remote->insecure == 1 && i < remote->hosts->count; i++) {
        struct net_address at = {.scheme = NET_SCHEME_TCP};

        (void)snprintf(at.host, sizeof(at.host), "%.253s", remote->hosts->items[i].address);
        if (!security_is_local(&at)) {
            return cli_error(ctx, CLI_ERROR_INSECURE, NULL,
                             "--insecure: host %s is at %s, which is not this machine; if members "
                             "are really to talk in the clear, give --insecure twice",
                             remote->hosts->items[i].name, at.host);
        }
    }
    return CLI_DONE;
}

/* Asking. */

static const char *remote_way(const struct run_host *host)
{
    return host->way == RUN_HOST_SSH ? "ssh " : host->way == RUN_HOST_SRUN ? "srun " : "";
}

/* All that cannot be used, in one message. */
static enum cli_exit remote_tell(struct cli_context *ctx, const struct run_hosts *hosts,
                                 const struct run_asked *answers)
{
    enum run_asked_as worst = RUN_ASKED_GOOD;
    uint32_t count = 0;
    struct text text;
    enum cli_exit status;

    if (text_init(&text, FAR_TOLD_BYTES) != OK) {
        return cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "run: out of memory");
    }
    for (uint32_t i = 0; i < hosts->count; i++) {
        const struct run_asked *a = &answers[i];
        const struct run_host *host = &hosts->items[i];

        if (a->as == RUN_ASKED_GOOD) {
            continue;
        }
        count++;
        worst = worst == RUN_ASKED_GOOD || a->as < worst ? a->as : worst;
        text_addf(&text, "\n  %s (%s%s): ", host->name, remote_way(host),
                  host->at == NULL ? "this machine" : host->at);
        text_add_printable(&text, a->why);
    }
    status = count == 0 ? CLI_DONE
                        : cli_error(ctx,
                                    worst == RUN_ASKED_SILENT  ? CLI_ERROR_UNREACHABLE
                                    : worst == RUN_ASKED_OTHER ? CLI_ERROR_PEER_REFUSED
                                                               : CLI_ERROR_HOSTS,
                                    NULL, "%s: %u of %u hosts cannot be used:%s", hosts->path,
                                    count, hosts->count, text.chars);
    text_deinit(&text);
    return status;
}

static void remote_note_versions(struct cli_context *ctx, const struct run_hosts *hosts,
                                 const struct run_asked *answers)
{
    for (uint32_t i = 0; i < hosts->count; i++) {
        if (strcmp(answers[i].version, STRAIT_VERSION) != 0) {
            cli_note(ctx, "host %s has strait %s, and this is " STRAIT_VERSION,
                     hosts->items[i].name, answers[i].version);
        }
    }
}

static enum cli_exit remote_ask_in(struct cli_context *ctx, struct run_hosts_ask *ask)
{
    struct run_asked *answers = mem_calloc(ask->hosts->count, sizeof(*answers));
    enum cli_exit status;

    if (answers == NULL || run_hosts_ask(ask, answers) != OK) {
        status = cli_error(ctx, CLI_ERROR_NO_MEMORY, NULL, "run: the hosts cannot be asked");
    } else {
        status = remote_tell(ctx, ask->hosts, answers);
        if (status == CLI_DONE) {
            remote_note_versions(ctx, ask->hosts, answers);
        }
    }
    mem_free(answers);
    return status;
}

static enum cli_exit remote_ask(struct cli_context *ctx, const struct run_file *f,
                                const struct run_remote *remote, const char *program)
{
    char dir[256], cwd[PATH_MAX], data[2 * PATH_MAX];
    const char *paths[2];
    struct run_hosts_ask ask = {.hosts = remote->hosts,
                                .program = program,
                                .command = remote->words == NULL ? NULL : remote->command,
                                .dir = dir,
                                .paths = paths};
    enum cli_exit status;

    if (getcwd(cwd, sizeof(cwd)) == NULL) {
        return cli_error(ctx, CLI_ERROR_FILE, NULL, "the working directory: %s", strerror(errno));
    }
    if (f->job.data[0] != '\0') {
        (void)snprintf(data, sizeof(data), "%s%s%s", f->job.data[0] == '/' ? "" : cwd,
                       f->job.data[0] == '/' ? "" : "/", f->job.data);
        paths[ask.paths_count++] = data;
    }
    if (f->between.library != NULL && f->between.library[0] != '\0') {
        paths[ask.paths_count++] = f->between.library;
    }
    status = run_temporary(ctx, dir, sizeof(dir));
    if (status == CLI_DONE) {
        status = remote_ask_in(ctx, &ask);
        run_temporary_remove(dir);
    }
    return status;
}

/* All together. */

static enum cli_exit remote_fits(struct cli_context *ctx, const struct run_file *f,
                                 const struct run_remote *remote)
{
    struct err_text text = {""};
    struct run_deal deal = {0};

    if (f->between.library != NULL && f->between.library[0] != '\0' &&
        f->between.library[0] != '/') {
        return cli_error(ctx, CLI_ERROR_HOSTS, NULL,
                         "%s: between.library: %s: on other machines it has to be a path from the "
                         "root, which is the same on all of them",
                         cli_argument(ctx, 0), f->between.library);
    }
    if (run_hosts_deal(remote->hosts, f, &deal, &text) != OK) {
        return cli_error(ctx, CLI_ERROR_HOSTS, NULL, "%s", text.text);
    }
    run_deal_free(&deal);
    return remote_judge(ctx, remote);
}

static enum cli_exit remote_load(struct cli_context *ctx, struct run_remote *remote)
{
    const char *path = cli_text(ctx, "hosts");
    struct err_text text = {""};
    enum err rc;

    if (path == NULL) {
        return cli_error(ctx, CLI_ERROR_MISSING_ARGUMENT, NULL,
                         "run: on which machines? Say --hosts FILE; docs/RUNS.md has one");
    }
    rc = run_hosts_load(path, &remote->hosts, &text);
    if (rc != OK) {
        return cli_error(ctx,
                         rc == ERR_NOT_FOUND || rc == ERR_IO ? CLI_ERROR_FILE : CLI_ERROR_HOSTS,
                         NULL, "%s", text.text);
    }
    return remote_command(ctx, remote);
}

enum cli_exit run_remote_open(struct cli_context *ctx, const struct run_file *f,
                              const char *program, struct run_remote *remote)
{
    const char *on = cli_text(ctx, "on");
    enum cli_exit status = remote_options(ctx, remote);

    if (status == CLI_DONE && strcmp(on, "hosts") == 0) {
        status = remote_load(ctx, remote);
    } else if (status == CLI_DONE && strcmp(on, "slurm") == 0 && cli_flag(ctx, "inside")) {
        status = run_nodes_open(ctx, f, &remote->hosts);
    }
    if (status == CLI_DONE && remote->hosts != NULL) {
        status = remote_fits(ctx, f, remote);
    }
    return status == CLI_DONE && remote->hosts != NULL ? remote_ask(ctx, f, remote, program)
                                                       : status;
}

void run_remote_close(struct run_remote *remote)
{
    run_hosts_free(remote->hosts);
    mem_free(remote->words);
}
