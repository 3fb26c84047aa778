#include "cli/run/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void capture_read(int fd, char *out, size_t size)
{
    char rest[512];
    size_t used = 0;
    ssize_t n;

    do {
        n = used + 1 < size ? read(fd, out + used, size - 1 - used) : read(fd, rest, sizeof(rest));
        used += n > 0 && used + 1 < size ? (size_t)n : 0;
    } while (n > 0 || (n < 0 && errno == EINTR));
    out[used] = '\0';
}

enum err capture(const char *const *argv, char *out, size_t size, int *status_out)
{
    posix_spawn_file_actions_t actions;
    int ends[2], status = 0, rc;
    pid_t pid = 0;

    if (pipe2(ends, O_CLOEXEC) != 0) {
        return ERR_IO;
    }
    rc = posix_spawn_file_actions_init(&actions);
    if (rc == 0) {
        rc = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        rc = rc == 0 ? posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO) : rc;
        rc = rc == 0 ? posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
                                                        O_RDONLY, 0)
                     : rc;
        rc = rc == 0 ? posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv,
                                    environ)
                     : rc;
        (void)posix_spawn_file_actions_destroy(&actions);
    }
    (void)close(ends[1]);
    if (rc == 0) {
        capture_read(ends[0], out, size);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
        *status_out = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
    (void)close(ends[0]);
    return rc == 0 ? OK : rc == ENOENT ? ERR_NOT_FOUND : ERR_IO;
}
