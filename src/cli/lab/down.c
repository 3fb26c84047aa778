/* strait lab down: end a lab and all that runs in it, whatever state it is in. */

#include "cli/command/commands.h"
#include "cli/lab/lab.h"
#include "emu/lab/control.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum {
    DOWN_WAIT_MS = 10 * 1000, /* For a lab that goes by itself. */
    DOWN_KILLED_MS = 5 * 1000,
    DOWN_LABS_MAX = 256,
};

/* A running lab: ask it, then make it. Its lock, or -1. */
static int down_end(const struct lab_place *p)
{
    struct err_text text;
    json_t *answer = NULL;
    pid_t keeper;
    int lock;

    if (lab_control_ask(p->control, "quit", DOWN_WAIT_MS / 1000, &answer, &text) == OK) {
        json_decref(answer);
    }
    lock = lab_lock_wait(p, DOWN_WAIT_MS);
    keeper = lock < 0 && errno == EWOULDBLOCK ? lab_keeper(p) : 0;
    if (keeper > 0) {
        (void)kill(keeper, SIGKILL);
        lock = lab_lock_wait(p, DOWN_KILLED_MS);
    }
    return lock;
}

static enum cli_exit down_bad(struct cli_context *ctx, const struct lab_place *p, int error)
{
    if (error == EACCES || error == EPERM) {
        return cli_error(ctx, CLI_ERROR_LAB_REFUSED, NULL, "%s: %s; labs are root's", p->lock,
                         strerror(error));
    }
    if (error == EWOULDBLOCK) {
        return cli_error(ctx, CLI_ERROR_LAB, NULL,
                         "lab %s does not end: somebody still holds %s (fuser %s says who)",
                         p->name, p->lock, p->lock);
    }
    return cli_error(ctx, CLI_ERROR_FILE, NULL, "%s: %s", p->lock, strerror(error));
}

/* One lab. @was_out: there was something to end. */
static enum cli_exit down_one(struct cli_context *ctx, const struct lab_place *p, bool *was_out)
{
    int lock = lab_lock(p, false);
    int error = lock < 0 ? errno : 0;
    bool ran = error == EWOULDBLOCK;
    uint32_t ended, left = 0;

    *was_out = ran || access(p->dir, F_OK) == 0;
    if (ran) {
        lock = down_end(p);
        error = lock < 0 ? errno : 0;
    }
    /* It takes its folder away itself; without a lock there is none that could run. */
    if (error != 0 && error != ENOENT) {
        return down_bad(ctx, p, error);
    }
    ended = lab_clear_processes(p, &left);
    lab_clear_files(p);
    if (lock >= 0) {
        (void)close(lock);
    }
    if (left > 0) {
        return cli_error(ctx, CLI_ERROR_LAB, NULL, "lab %s: %u processes inside do not end",
                         p->name, left);
    }
    if (*was_out) {
        cli_note(ctx, ran ? "lab %s is down" : "lab %s was dead already, and is cleared", p->name);
    }
    if (ended > 0) {
        cli_note(ctx, "%u processes that it had left were ended", ended);
    }
    return CLI_DONE;
}

static enum cli_exit down_all(struct cli_context *ctx, json_t *names)
{
    static const char prefix[] = "lab-";
    DIR *folder = opendir(LAB_FOLDER);
    char found[DOWN_LABS_MAX][64];
    size_t count = 0;
    struct dirent *entry;
    enum cli_exit status = CLI_DONE;

    while (folder != NULL && count < DOWN_LABS_MAX && (entry = readdir(folder)) != NULL) {
        const char *name = entry->d_name + sizeof(prefix) - 1;

        if (strncmp(entry->d_name, prefix, sizeof(prefix) - 1) == 0 && strlen(name) < 64) {
            (void)snprintf(found[count++], 64, "%.63s", name);
        }
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    for (size_t i = 0; i < count; i++) {
        struct lab_place place;
        bool was = false;

        if (lab_place_of(found[i], &place)) {
            enum cli_exit one = down_one(ctx, &place, &was);

            status = one != CLI_DONE ? one : status;
            (void)json_array_append_new(names, json_string(place.name));
        }
    }
    return status;
}

static enum cli_exit down_run(struct cli_context *ctx)
{
    json_t *names = json_array();
    struct lab_place place;
    bool was = false;
    enum cli_exit status;

    if (cli_flag(ctx, "all")) {
        status = down_all(ctx, names);
    } else {
        status = lab_place_given(ctx, &place);
        if (status == CLI_DONE) {
            status = down_one(ctx, &place, &was);
        }
        if (was) {
            (void)json_array_append_new(names, json_string(place.name));
        }
    }
    if (status == CLI_DONE && json_array_size(names) == 0) {
        cli_note(ctx, "there is no lab to take down");
    }
    if (status == CLI_DONE && ctx->json) {
        return cli_json(ctx, json_pack("{s:o}", "down", names));
    }
    json_decref(names);
    return status;
}

const struct cli_command cli_command_lab_down = {
    .path = "lab down",
    .summary = "end a lab and everything that runs in it",
    .paragraphs =
        (const char *const[]){
            "Programs inside are asked to end, and after two seconds made to. Also clears what is "
            "left of a lab whose keeper was killed. It is no error if there is none.",
            NULL},
    .options =
        (const struct cli_option[]){
            LAB_OPTION_NAME, {.name = "all", .help = "all labs, whatever they are called"}, {0}},
    .examples = (const struct cli_example[]){{"strait lab down", "the lab called lab"},
                                             {"strait lab down --all", "every lab of this machine"},
                                             {0}},
    .run = down_run,
};
