/* A writer that gathers its object in memory and lets it become due after a delay of the loop's
 * time: what backends without files have in common (store/memory.c, the simulator's disks).
 *
 *     open -> add ... -> commit -> due() -> report
 *
 * A backend keeps its writers in a list. Who calls due() still owns the writer. */

#ifndef STORE_GATHER_H
#define STORE_GATHER_H

#include "loop/loop.h"
#include "store/grow.h"
#include "store/store.h"

struct gather {
    struct store_writer base;
    struct list link; /* In the backend's list of writers. */
    char name[STORE_NAME_BYTES];
    struct grow content;
    bool committing;
    /* The rest is private to store/gather.c. */
    struct loop_timer timer;
    void (*due)(struct gather *g);
    void (*committed)(enum err rc, void *user);
    void *user;
};

/* Make a writer and put it at the end of @writers. ERR_NOMEM. */
MUST_USE enum err gather_open(struct loop *loop, struct list *writers, const char *name,
                              void (*due)(struct gather *g), struct gather **gather_out);

/* The writer behind a store's writer. */
static inline struct gather *gather_of(struct store_writer *w)
{
    return (struct gather *)w;
}

/* due() follows after @delay_ns, from the loop. */
void gather_commit(struct gather *g, int64_t delay_ns, void (*committed)(enum err rc, void *user),
                   void *user);

/* The writer is gone; then committed() is told @rc. */
void gather_report(struct gather *g, enum err rc);

/* The writer is gone, nobody is told. */
void gather_destroy(struct gather *g);

#endif
