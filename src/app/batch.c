#include "app/batch.h"

#include "base/mem.h"

enum err batch_init(struct batch *b, uint32_t count, uint32_t size, const struct rng *rng)
{
    CHECK(size > 0);
    *b = (struct batch){.count = count, .size = size, .rng = *rng};
    b->order = mem_calloc(count, sizeof(*b->order));
    return b->order == NULL ? ERR_NOMEM : OK;
}

void batch_deinit(struct batch *b)
{
    mem_free(b->order);
    *b = (struct batch){0};
}

static void batch_shuffle(struct batch *b)
{
    struct rng r = rng_fork(&b->rng, b->pass);

    for (uint32_t i = 0; i < b->count; i++) {
        uint32_t j = (uint32_t)rng_below(&r, (uint64_t)i + 1);

        b->order[i] = b->order[j];
        b->order[j] = i;
    }
}

const uint32_t *batch_at(struct batch *b, uint64_t clock, uint32_t *count_out)
{
    uint64_t per_pass = ((uint64_t)b->count + b->size - 1) / b->size;
    uint32_t first;

    CHECK(clock > 0);
    if (b->count == 0) {
        *count_out = 0;
        return b->order;
    }
    if ((clock - 1) / per_pass + 1 != b->pass) {
        b->pass = (clock - 1) / per_pass + 1;
        batch_shuffle(b);
    }
    first = (uint32_t)((clock - 1) % per_pass) * b->size;
    *count_out = b->count - first < b->size ? b->count - first : b->size;
    return b->order + first;
}
