#include "loop/child.h"

#include "base/mem.h"
#include "loop/state.h"

struct loop_child {
    uv_process_t process;
    bool ended;
    void (*exited)(struct loop_child *child, int64_t status, int signum, void *user);
    void *user;
};

static void loop_child_freed(uv_handle_t *handle)
{
    mem_free(handle->data);
}

static void loop_child_exited(uv_process_t *process, int64_t status, int signum)
{
    struct loop_child *child = process->data;

    child->ended = true;
    if (child->exited != NULL) {
        child->exited(child, status, signum, child->user);
    }
}

static void loop_child_stdio(uv_stdio_container_t *stdio, int fd, int inherited)
{
    stdio->flags = UV_INHERIT_FD;
    stdio->data.fd = fd < 0 ? inherited : fd;
}

enum err loop_child_spawn(struct loop *loop, const struct loop_child_config *config,
                          struct loop_child **child_out)
{
    uv_stdio_container_t stdio[3] = {{.flags = UV_IGNORE}};
    uv_process_options_t options = {
        .file = config->argv[0],
        .args = (char **)(uintptr_t)config->argv,
        .env = (char **)(uintptr_t)config->env,
        .exit_cb = loop_child_exited,
        .stdio_count = 3,
        .stdio = stdio,
    };
    struct loop_child *child;
    int status;

    if (loop->manual) {
        return ERR_INVALID;
    }
    child = mem_zalloc(sizeof(*child));
    if (child == NULL) {
        return ERR_NOMEM;
    }
    if (config->stdin_fd > 0) {
        loop_child_stdio(&stdio[0], config->stdin_fd, 0);
    }
    loop_child_stdio(&stdio[1], config->stdout_fd, 1);
    loop_child_stdio(&stdio[2], config->stderr_fd, 2);
    child->process.data = child;
    child->exited = config->exited;
    child->user = config->user;
    status = uv_spawn(&loop->uv, &child->process, &options);
    if (status != 0) {
        /* libuv has registered the handle even though nothing was started. */
        uv_close((uv_handle_t *)&child->process, loop_child_freed);
        return loop_err(status);
    }
    *child_out = child;
    return OK;
}

int loop_child_pid(const struct loop_child *child)
{
    return child->process.pid;
}

enum err loop_child_signal(struct loop_child *child, int signum)
{
    int status = child->ended ? UV_ESRCH : uv_process_kill(&child->process, signum);

    return status == UV_ESRCH ? ERR_NOT_FOUND : loop_err(status);
}

void loop_child_destroy(struct loop_child *child)
{
    if (child != NULL) {
        child->exited = NULL;
        uv_close((uv_handle_t *)&child->process, loop_child_freed);
    }
}
