/* strait lab: regions as network namespaces on this machine, with the links of a topology. */

#include "cli/lab/lab.h"

#include "base/private_dir.h"
#include "cli/command/commands.h"
#include "emu/lab/control.h"
#include "emu/lab/inside.h"
#include "emu/lab/lab.h"
#include "loop/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LAB_NAME_CHARS_MAX = 32, LAB_LOOK_MS = 20, LAB_LOCK_TRIES = 100 };

bool lab_place_of(const char *name, struct lab_place *p)
{
    if (!topo_name_valid(name) || strlen(name) > LAB_NAME_CHARS_MAX) {
        return false;
    }
    p->name = name;
    (void)snprintf(p->dir, sizeof(p->dir), LAB_FOLDER "/lab-%s", name);
    (void)snprintf(p->lock, sizeof(p->lock), LAB_FOLDER "/lab-%s/lock", name);
    (void)snprintf(p->control, sizeof(p->control), LAB_FOLDER "/lab-%s/control", name);
    (void)snprintf(p->state, sizeof(p->state), LAB_FOLDER "/lab-%s/state.json", name);
    (void)snprintf(p->log, sizeof(p->log), LAB_FOLDER "/lab-%s/log", name);
    return true;
}

enum cli_exit lab_place_given(struct cli_context *ctx, struct lab_place *place_out)
{
    if (!lab_place_of(cli_text(ctx, "name"), place_out)) {
        return cli_error(ctx, CLI_ERROR_BAD_VALUE, NULL,
                         "--name: 1 to %d letters, digits, dots, dashes or underscores",
                         LAB_NAME_CHARS_MAX);
    }
    return CLI_DONE;
}

int lab_lock(const struct lab_place *p, bool make)
{
    int tries = 0;

    for (;;) {
        struct stat st;
        int fd, error;

        if (make && ((mkdir(LAB_FOLDER, 0755) != 0 && errno != EEXIST) ||
                     private_dir_make(p->dir, NULL) != OK)) {
            if (errno == ENOENT && tries++ < LAB_LOCK_TRIES) {
                continue; /* Somebody has just taken a folder away. */
            }
            return -1;
        }
        fd = open(p->lock, O_RDWR | O_CLOEXEC | (make ? O_CREAT : 0), 0600);
        if (fd < 0) {
            if (make && errno == ENOENT) {
                continue; /* Somebody has just taken the folder away. */
            }
            return -1;
        }
        if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0 && st.st_nlink > 0) {
            return fd;
        }
        error = errno;
        (void)close(fd);
        if (error == EWOULDBLOCK) {
            errno = error;
            return -1;
        }
    }
}

int lab_lock_wait(const struct lab_place *p, int wait_ms)
{
    const struct timespec pause = {.tv_nsec = LAB_LOOK_MS * 1000000L};
    int64_t until_ns = clock_mono_ns() + (int64_t)wait_ms * 1000000;
    int fd;

    while ((fd = lab_lock(p, false)) < 0 && errno == EWOULDBLOCK && clock_mono_ns() < until_ns) {
        (void)nanosleep(&pause, NULL);
        errno = EWOULDBLOCK;
    }
    return fd;
}

pid_t lab_keeper(const struct lab_place *p)
{
    char chars[24] = "", path[64], held[LAB_PATH_BYTES] = "";
    int error = errno;
    int fd = open(p->lock, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, chars, sizeof(chars) - 1);
    long pid = n > 0 ? strtol(chars, NULL, 10) : 0;

    if (fd >= 0) {
        (void)close(fd);
    }
    (void)snprintf(path, sizeof(path), "/proc/%ld/fd/%d", pid, LAB_LOCK_FD);
    n = readlink(path, held, sizeof(held) - 1);
    errno = error;
    return pid > 1 && n > 0 && strcmp(held, p->lock) == 0 ? (pid_t)pid : 0;
}

uint32_t lab_clear_processes(const struct lab_place *p, uint32_t *left_out)
{
    char mark[LAB_MARK_BYTES];
    const struct lab_inside inside = {.mark = mark};

    (void)snprintf(mark, sizeof(mark), LAB_MARK "=%s", p->name);
    return lab_inside_end(&inside, LAB_PATIENCE_MS, left_out);
}

void lab_clear_files(const struct lab_place *p)
{
    (void)unlink(p->control);
    (void)unlink(p->state);
    (void)unlink(p->log);
    (void)unlink(p->lock);
    (void)rmdir(p->dir);
    (void)rmdir(LAB_FOLDER); /* If it was the last. */
}

/* Nobody answers: why? */
static enum cli_exit lab_not_there(struct cli_context *ctx, const struct lab_place *p,
                                   const char *why)
{
    if (access(p->control, F_OK) != 0 && errno == EACCES) {
        return cli_error(ctx, CLI_ERROR_LAB_REFUSED, NULL, "%s: %s; labs are root's", p->dir,
                         strerror(errno));
    }
    if (access(p->dir, F_OK) == 0) {
        return cli_error(ctx, CLI_ERROR_NO_LAB, "strait lab down",
                         "lab %s does not answer (%s): its keeper was killed, or is not yet ready",
                         p->name, why);
    }
    return cli_error(ctx, CLI_ERROR_NO_LAB, "strait lab up FILE", "no lab %s runs", p->name);
}

enum cli_exit lab_ask(struct cli_context *ctx, const struct lab_place *p, const char *line,
                      json_t **answer_out)
{
    struct err_text text = {""};
    json_t *answer = NULL;
    const char *event, *error;
    enum cli_exit status;

    switch (lab_control_ask(p->control, line, LAB_ANSWER_S, &answer, &text)) {
    case OK:
        break;
    case ERR_UNREACHABLE:
        return lab_not_there(ctx, p, text.text);
    default:
        return cli_error(ctx, CLI_ERROR_LAB, NULL, "%s", text.text);
    }
    event = json_string_value(json_object_get(answer, "event"));
    error = json_string_value(json_object_get(answer, "text"));
    if (event != NULL && strcmp(event, "error") != 0) {
        *answer_out = answer;
        return CLI_DONE;
    }
    status = cli_error(
        ctx, json_is_true(json_object_get(answer, "usage")) ? CLI_ERROR_BAD_VALUE : CLI_ERROR_LAB,
        NULL, "lab %s: %s", p->name, error == NULL ? "it failed" : error);
    json_decref(answer);
    return status;
}

const struct cli_command cli_command_lab = {
    .path = "lab",
    .summary = "regions as network namespaces, with real links between them",
    .group = CLI_GROUP_RUN,
    .paragraphs =
        (const char *const[]){
            "A lab is a topology on one machine: each region has a router and hosts, each a "
            "network "
            "namespace of its own, and each pair of regions a link with a rate, a delay, jitter "
            "and "
            "loss, which can be changed and cut while programs run. Programs are not changed and "
            "need not know: \"strait lab exec\" runs any.",
            "It needs root. Nothing of it outlives the lab, not even if its keeper is killed. The "
            "lab measures how late it delivers what it delays; when the mean is above 1 ms it says "
            "that results are not valid. docs/LAB.md has more.",
            NULL},
};
