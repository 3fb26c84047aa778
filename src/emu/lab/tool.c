#include "emu/lab/tool.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    TOOL_NOT_THERE = 127,
    TOOL_NO_NAMESPACE = 126,
    TOOL_OUTPUT_BYTES = 4096,
    TOOL_LINE_CHARS = 160, /* Of a batch, as shown. */
};

static const char *const tool_names[] = {[LAB_IP] = "ip", [LAB_TC] = "tc", [LAB_NFT] = "nft"};
static const char *const tool_batch[] = {
    [LAB_IP] = "-batch", [LAB_TC] = "-batch", [LAB_NFT] = "-f"};

/* In the child: nothing that allocates, and no way back. */
_Noreturn static void tool_become(const struct lab_tool_config *config, int input, int output)
{
    static const char *const folders[] = {"/usr/sbin/", "/sbin/", "/usr/bin/", "/bin/",
                                          "/usr/local/sbin/"};
    const char *const argv[] = {tool_names[config->name], tool_batch[config->name], "-", NULL};
    const char *const env[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", NULL};
    char path[64];
    sigset_t none;

    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (setns(config->ns, CLONE_NEWNET) != 0) {
        _exit(TOOL_NO_NAMESPACE);
    }
    for (uint32_t i = 0; i < config->keep_count; i++) {
        (void)fcntl(config->keep[i], F_SETFD, 0);
    }
    if (dup2(input, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
        dup2(output, STDERR_FILENO) < 0) {
        _exit(TOOL_NO_NAMESPACE);
    }
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s%s", folders[i], argv[0]);
        (void)execve(path, (char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)env);
    }
    _exit(TOOL_NOT_THERE);
}

static enum err tool_bad(struct err_text *text, const struct lab_tool_config *config)
{
    return err_text_set(text, ERR_IO, "%s cannot be started: %s", tool_names[config->name],
                        strerror(errno));
}

/* The batch as a file that can be read from the beginning. */
static int tool_input(const char *batch)
{
    int fd = memfd_create("batch", MFD_CLOEXEC);

    if (fd >= 0 && (!fd_write_all(fd, batch, strlen(batch)) || lseek(fd, 0, SEEK_SET) != 0)) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

static enum err tool_fork(const struct lab_tool_config *config, int input, struct lab_tool *tool,
                          struct err_text *text)
{
    tool->pid = fork();
    if (tool->pid == 0) {
        tool_become(config, input, tool->output);
    }
    if (tool->pid < 0) {
        return tool_bad(text, config);
    }
    tool->pid_fd = (int)syscall(SYS_pidfd_open, tool->pid, 0);
    if (tool->pid_fd < 0) {
        enum err rc = tool_bad(text, config);

        (void)kill(tool->pid, SIGKILL);
        (void)waitpid(tool->pid, NULL, 0);
        return rc;
    }
    return OK;
}

enum err lab_tool_start(const struct lab_tool_config *config, struct lab_tool *tool_out,
                        struct err_text *text)
{
    struct lab_tool tool = {.name = config->name, .pid_fd = -1, .output = -1};
    int input = tool_input(config->batch);
    enum err rc = OK;

    tool.output = memfd_create("output", MFD_CLOEXEC);
    if (input < 0 || tool.output < 0) {
        rc = tool_bad(text, config);
    }
    if (rc == OK) {
        rc = tool_fork(config, input, &tool, text);
    }
    if (input >= 0) {
        (void)close(input);
    }
    if (rc == OK) {
        *tool_out = tool;
    } else if (tool.output >= 0) {
        (void)close(tool.output);
    }
    return rc;
}

int lab_tool_fd(const struct lab_tool *tool)
{
    return tool->pid_fd;
}

static enum err tool_failed(enum lab_tool_name name, int status, const char *batch,
                            const char *output, struct err_text *text)
{
    char complaint[ERR_TEXT_BYTES];
    struct text t;

    if (WIFEXITED(status) && WEXITSTATUS(status) == TOOL_NOT_THERE) {
        return err_text_set(text, ERR_NOT_FOUND, "%s is not installed: install the package %s",
                            tool_names[name], name == LAB_NFT ? "nftables" : "iproute2");
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == TOOL_NO_NAMESPACE) {
        return err_text_set(text, ERR_IO, "%s cannot enter its namespace", tool_names[name]);
    }
    if (WIFSIGNALED(status)) {
        return err_text_set(text, ERR_IO, "%s was ended by signal %d", tool_names[name],
                            WTERMSIG(status));
    }
    text_init_fixed(&t, complaint, sizeof(complaint));
    lab_tool_complaint(name, batch, output, &t);
    return err_text_set(text, ERR_IO, "%s", complaint);
}

enum err lab_tool_end(struct lab_tool *tool, const char *batch, struct err_text *text)
{
    char output[TOOL_OUTPUT_BYTES] = "";
    int status = 0;
    pid_t done;
    ssize_t n;

    do {
        done = waitpid(tool->pid, &status, 0);
    } while (done < 0 && errno == EINTR);
    CHECK(done == tool->pid);
    (void)lseek(tool->output, 0, SEEK_SET);
    n = fd_read_all(tool->output, output, sizeof(output) - 1);
    output[n > 0 ? n : 0] = '\0';
    (void)close(tool->output);
    (void)close(tool->pid_fd);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        return OK;
    }
    return tool_failed(tool->name, status, batch, output, text);
}

enum err lab_tool_run(const struct lab_tool_config *config, struct err_text *text)
{
    struct lab_tool tool;
    enum err rc = OK;

    if (config->batch[0] != '\0') {
        rc = lab_tool_start(config, &tool, text);
        if (rc == OK) {
            rc = lab_tool_end(&tool, config->batch, text);
        }
    }
    return rc;
}

/* Both ways of saying where: "Command failed -:3" and "/dev/stdin:3:1-5: Error: ...". */
static unsigned long tool_line_number(const char *output)
{
    static const char *const marks[] = {"Command failed -:", "/dev/stdin:"};

    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        const char *found = strstr(output, marks[i]);

        if (found != NULL) {
            return strtoul(found + strlen(marks[i]), NULL, 10);
        }
    }
    return 0;
}

/* The first line that is not only about where it was. */
static const char *tool_first_words(const char *output, size_t *size_out)
{
    const char *at = output;

    for (;;) {
        const char *error = strstr(at, "Error: ");
        size_t size = strcspn(at, "\n");

        if (size > 0 && strncmp(at, "Command failed", 14) != 0) {
            if (strncmp(at, "/dev/stdin:", 11) == 0 && error != NULL && error < at + size) {
                size -= (size_t)(error - at);
                at = error;
            }
            *size_out = size;
            return at;
        }
        if (at[size] == '\0') {
            *size_out = strlen("no reason given");
            return "no reason given";
        }
        at += size + 1;
    }
}

static void tool_add_shown(const char *chars, size_t size, struct text *out)
{
    char piece[TOOL_LINE_CHARS + 1];

    (void)snprintf(piece, sizeof(piece), "%.*s", (int)size, chars);
    text_add_printable(out, piece);
}

void lab_tool_complaint(enum lab_tool_name name, const char *batch, const char *output,
                        struct text *out)
{
    unsigned long number = tool_line_number(output);
    const char *line = batch;
    const char *words;
    size_t size;

    for (unsigned long i = 1; i < number && line != NULL; i++) {
        line = strchr(line, '\n');
        line = line == NULL ? NULL : line + 1;
    }
    words = tool_first_words(output, &size);
    text_add(out, tool_names[name]);
    if (number > 0 && line != NULL) {
        text_addf(out, ", line %lu, \"", number);
        tool_add_shown(line, strcspn(line, "\n"), out);
        text_add(out, "\"");
    }
    text_add(out, ": ");
    tool_add_shown(words, size, out);
}
