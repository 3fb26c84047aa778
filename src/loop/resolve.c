#include "loop/resolve.h"

#include "base/mem.h"
#include "loop/state.h"

#include <netdb.h>

struct loop_resolve {
    uv_getaddrinfo_t request;
    void (*done)(enum err rc, const struct addrinfo *list, void *user);
    void *user;
};

static void loop_resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *list)
{
    struct loop_resolve *resolve = request->data;

    if (resolve->done != NULL) {
        resolve->done(status < 0 ? ERR_UNREACHABLE : OK, list, resolve->user);
    }
    uv_freeaddrinfo(list);
    mem_free(resolve);
}

enum err loop_resolve_start(struct loop *loop, const char *host, const char *port,
                            void (*done)(enum err rc, const struct addrinfo *list, void *user),
                            void *user, struct loop_resolve **resolve_out)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct loop_resolve *resolve;
    int status;

    if (loop->manual) {
        return ERR_INVALID;
    }
    resolve = mem_zalloc(sizeof(*resolve));
    if (resolve == NULL) {
        return ERR_NOMEM;
    }
    resolve->done = done;
    resolve->user = user;
    resolve->request.data = resolve;
    status = uv_getaddrinfo(&loop->uv, &resolve->request, loop_resolved, host, port, &hints);
    if (status != 0) {
        mem_free(resolve);
        return loop_err(status);
    }
    *resolve_out = resolve;
    return OK;
}

void loop_resolve_cancel(struct loop_resolve *resolve)
{
    resolve->done = NULL;
    (void)uv_cancel((uv_req_t *)&resolve->request);
}
