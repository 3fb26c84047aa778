#include "emu/lab/inside.h"

#include "base/fd.h"
#include "loop/clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    INSIDE_MAX = 1024,  /* At once; there may be more in the next round. */
    INSIDE_ROUNDS = 64, /* Of making them end: each finds what the last one's have started. */
    INSIDE_ENVIRONMENT_BYTES = 128 * 1024, /* The kernel gives no more to a new process. */
    INSIDE_KILL_MS = 50,                   /* For the system to be through with one round. */
};

uint64_t lab_inside_number(int ns)
{
    struct stat st;

    return fstat(ns, &st) == 0 ? (uint64_t)st.st_ino : 0;
}

static uint64_t inside_number_of(pid_t pid)
{
    char path[64];
    struct stat st;

    (void)snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
    return stat(path, &st) == 0 ? (uint64_t)st.st_ino : 0;
}

bool lab_inside_marked(const char *environment, size_t size, const char *mark)
{
    size_t wanted = strlen(mark) + 1; /* With its end. */

    for (size_t at = 0; at < size;) {
        size_t next = at + strnlen(environment + at, size - at) + 1;

        if (next - at == wanted && next <= size && memcmp(environment + at, mark, wanted) == 0) {
            return true;
        }
        at = next;
    }
    return false;
}

static bool inside_has_mark(pid_t pid, const char *mark)
{
    char bytes[INSIDE_ENVIRONMENT_BYTES];
    char path[64];
    ssize_t n = -1;
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        n = fd_read_all(fd, bytes, sizeof(bytes));
        (void)close(fd);
    }
    return n > 0 && lab_inside_marked(bytes, (size_t)n, mark);
}

static bool inside_is(const struct lab_inside *inside, pid_t pid)
{
    uint64_t number = inside_number_of(pid);

    for (uint32_t i = 0; i < inside->count; i++) {
        if (inside->numbers[i] == number) {
            return number != 0;
        }
    }
    return inside->mark != NULL && number != 0 && number != inside_number_of(getpid()) &&
           inside_has_mark(pid, inside->mark);
}

uint32_t lab_inside_find(const struct lab_inside *inside, pid_t *out, uint32_t max)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    uint32_t found = 0;

    while (proc != NULL && found < max && (entry = readdir(proc)) != NULL) {
        long pid = strtol(entry->d_name, NULL, 10);

        if (pid > 0 && pid <= INT32_MAX && pid != getpid() && inside_is(inside, (pid_t)pid)) {
            out[found++] = (pid_t)pid;
        }
    }
    if (proc != NULL) {
        (void)closedir(proc);
    }
    return found;
}

/* A process by descriptor, for its number may get another owner; -1 if it is not inside any more.
 */
static int inside_open(const struct lab_inside *inside, pid_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);

    if (fd >= 0 && !inside_is(inside, pid)) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

/* Give them all a signal, and wait until they are gone or @wait_ms have passed. Returns how many
 * there were. */
static uint32_t inside_signal(const struct lab_inside *inside, int signum, int wait_ms)
{
    int64_t until_ns = clock_mono_ns() + (int64_t)wait_ms * 1000000;
    pid_t pids[INSIDE_MAX];
    int fds[INSIDE_MAX];
    uint32_t found = lab_inside_find(inside, pids, INSIDE_MAX);

    for (uint32_t i = 0; i < found; i++) {
        fds[i] = inside_open(inside, pids[i]);
        if (fds[i] >= 0) {
            (void)syscall(SYS_pidfd_send_signal, fds[i], signum, NULL, 0);
        }
    }
    for (uint32_t i = 0; i < found; i++) {
        struct pollfd ended = {.fd = fds[i], .events = POLLIN};
        int64_t left_ns = until_ns - clock_mono_ns();

        if (fds[i] >= 0) {
            (void)poll(&ended, 1, left_ns > 0 ? (int)(left_ns / 1000000) + 1 : 0);
            (void)close(fds[i]);
        }
    }
    return found;
}

uint32_t lab_inside_end(const struct lab_inside *inside, int patience_ms, uint32_t *left_out)
{
    uint32_t found = inside_signal(inside, SIGTERM, patience_ms);
    uint32_t left = found;

    for (int round = 0; round < INSIDE_ROUNDS && left > 0; round++) {
        left = inside_signal(inside, SIGKILL, INSIDE_KILL_MS);
    }
    *left_out = left;
    return found;
}
