#include "store/gather.h"

#include "base/mem.h"

#include <string.h>

static void gather_fired(struct loop_timer *timer, void *user)
{
    struct gather *g = user;

    (void)timer;
    g->due(g);
}

enum err gather_open(struct loop *loop, struct list *writers, const char *name,
                     void (*due)(struct gather *g), struct gather **gather_out)
{
    struct gather *g = mem_zalloc(sizeof(*g));
    enum err rc;

    if (g == NULL) {
        return ERR_NOMEM;
    }
    rc = loop_timer_init(&g->timer, loop, gather_fired, g);
    if (rc != OK) {
        mem_free(g);
        return rc;
    }
    memcpy(g->name, name, strlen(name) + 1);
    g->due = due;
    list_push_back(writers, &g->link);
    *gather_out = g;
    return OK;
}

void gather_commit(struct gather *g, int64_t delay_ns, void (*committed)(enum err rc, void *user),
                   void *user)
{
    CHECK(!g->committing);
    g->committing = true;
    g->committed = committed;
    g->user = user;
    loop_timer_start_in(&g->timer, delay_ns);
}

void gather_report(struct gather *g, enum err rc)
{
    void (*committed)(enum err rc, void *user) = g->committed;
    void *user = g->user;

    gather_destroy(g);
    committed(rc, user);
}

void gather_destroy(struct gather *g)
{
    list_remove(&g->link);
    loop_timer_deinit(&g->timer);
    grow_deinit(&g->content);
    mem_free(g);
}
