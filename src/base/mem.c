#include "base/mem.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local struct {
    uint64_t countdown;  /* Allocations until the first failure; zero: never. */
    uint64_t fail_count; /* Failures still to come once the countdown is over. */
    size_t above;        /* Larger ones fail; zero: none. */
    uint64_t failures;
    uint64_t allocations;
    int64_t bytes_held;
} mem_state;

static int mem_should_fail(size_t size)
{
    mem_state.allocations++;
    if (mem_state.above != 0 && size > mem_state.above) {
        mem_state.failures++;
        return 1;
    }
    if (mem_state.countdown == 0) {
        return 0;
    }
    if (mem_state.countdown > 1) {
        mem_state.countdown--;
        return 0;
    }
    mem_state.failures++;
    if (--mem_state.fail_count == 0) {
        mem_state.countdown = 0;
    }
    return 1;
}

void *mem_zalloc(size_t size)
{
    return mem_calloc(1, size);
}

void *mem_calloc(size_t count, size_t size)
{
    size_t total;
    bool too_big = __builtin_mul_overflow(count, size, &total);
    void *p;

    /* Checked here, because calloc stops the process under AddressSanitizer. */
    if (mem_should_fail(total) || too_big) {
        return NULL;
    }
    p = calloc(1, total);
    mem_state.bytes_held += (int64_t)malloc_usable_size(p);
    return p;
}

char *mem_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = mem_calloc(1, size);

    if (copy != NULL) {
        memcpy(copy, text, size);
    }
    return copy;
}

void mem_free(void *p)
{
    mem_state.bytes_held -= (int64_t)malloc_usable_size(p);
    free(p);
}

void mem_fail_at(uint64_t k, uint64_t count)
{
    mem_state.countdown = count == 0 ? 0 : k;
    mem_state.fail_count = count;
}

void mem_fail_above(size_t bytes)
{
    mem_state.above = bytes;
}

struct mem_plan mem_fail_suspend(void)
{
    struct mem_plan plan = {mem_state.countdown, mem_state.fail_count, mem_state.above};

    mem_fail_at(0, 0);
    mem_fail_above(0);
    return plan;
}

void mem_fail_resume(struct mem_plan plan)
{
    mem_state.countdown = plan.countdown;
    mem_state.fail_count = plan.fail_count;
    mem_state.above = plan.above;
}

uint64_t mem_failures(void)
{
    return mem_state.failures;
}

uint64_t mem_allocations(void)
{
    return mem_state.allocations;
}

int64_t mem_bytes_held(void)
{
    return mem_state.bytes_held;
}
