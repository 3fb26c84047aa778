/* What `strait bench push` does that its floor does not, each measured alone, in one process: so
 * that the report can say where the difference goes. */

#include "base/hash.h"
#include "base/limits.h"
#include "base/mem.h"
#include "cli/bench/push.h"
#include "loop/clock.h"
#include "table/kernel.h"

#include <string.h>

enum { COSTS_TURNS = 5, COSTS_BUFFERS = 16 };

struct costs_room {
    float *model;
    float *buffers; /* As frames in a pool are: not always the same. */
    uint64_t elements;
    volatile uint64_t sink; /* So that nothing is left out. */
};

static void costs_copy(struct costs_room *r, uint32_t chunk, uint64_t first, uint32_t count)
{
    memcpy(r->buffers + (size_t)(chunk % COSTS_BUFFERS) * LIMIT_CHUNK_ELEMENTS, r->model + first,
           count * sizeof(float));
}

/* What has just come or is about to go is in the cache. */
static void costs_check(struct costs_room *r, uint32_t chunk, uint64_t first, uint32_t count)
{
    (void)chunk;
    (void)first;
    r->sink += hash_bytes(r->buffers, count * sizeof(float));
}

static void costs_finite(struct costs_room *r, uint32_t chunk, uint64_t first, uint32_t count)
{
    (void)chunk;
    (void)first;
    r->sink += table_finite(r->buffers, count);
}

/* The best of some passes over the model, chunk by chunk. */
static int64_t costs_pass(struct costs_room *r, void (*one)(struct costs_room *r, uint32_t chunk,
                                                            uint64_t first, uint32_t count))
{
    int64_t best = INT64_MAX;

    for (uint32_t turn = 0; turn < COSTS_TURNS; turn++) {
        int64_t start = clock_mono_ns();
        uint32_t chunk = 0;

        for (uint64_t first = 0; first < r->elements; first += LIMIT_CHUNK_ELEMENTS) {
            uint64_t left = r->elements - first;

            one(r, chunk++, first,
                left < LIMIT_CHUNK_ELEMENTS ? (uint32_t)left : LIMIT_CHUNK_ELEMENTS);
        }
        start = clock_mono_ns() - start;
        best = start < best ? start : best;
    }
    return best;
}

enum err bench_push_costs(const struct bench_push *b, struct bench_push_costs *out)
{
    struct costs_room r = {.elements = b->elements};
    int64_t check;

    r.model = mem_calloc(b->elements, sizeof(float));
    r.buffers = mem_calloc((size_t)COSTS_BUFFERS * LIMIT_CHUNK_ELEMENTS, sizeof(float));
    if (r.model == NULL || r.buffers == NULL) {
        mem_free(r.model);
        mem_free(r.buffers);
        return ERR_NOMEM;
    }
    memset(r.model, 0, b->elements * sizeof(float)); /* Pages of its own. */
    out->copy_ns = costs_pass(&r, costs_copy) * b->workers;
    /* An update is checked at both ends; a sum where it is made, and by every worker. */
    check = costs_pass(&r, costs_check);
    out->check_ns = check * (3 * b->workers + 1);
    out->finite_ns = costs_pass(&r, costs_finite) * b->workers;
    mem_free(r.model);
    mem_free(r.buffers);
    return OK;
}
