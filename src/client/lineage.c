/* A page that the kernel wipes in the child of a fork, so a child finds zero there. Where the
 * kernel cannot do that (before Linux 4.14), the process number is asked for each time. */

#include "client/lineage.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

static _Atomic(_Atomic uint32_t *) lineage_page;

/* The last number given out by this process or by one that it descends from. */
static _Atomic uint32_t lineage_last;

static _Atomic uint32_t *lineage_map(void)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    _Atomic uint32_t *expected = NULL;

    if (page == MAP_FAILED) {
        return NULL;
    }
    if (madvise(page, size, MADV_WIPEONFORK) != 0 ||
        !atomic_compare_exchange_strong(&lineage_page, &expected, page)) {
        (void)munmap(page, size);
        return expected;
    }
    return page;
}

uint32_t client_lineage_now(void)
{
    _Atomic uint32_t *page = atomic_load_explicit(&lineage_page, memory_order_acquire);

    return page == NULL ? (uint32_t)getpid() : atomic_load_explicit(page, memory_order_relaxed);
}

uint32_t client_lineage_begin(void)
{
    _Atomic uint32_t *page = atomic_load(&lineage_page);
    uint32_t number = 0;

    if (page == NULL) {
        page = lineage_map();
    }
    if (page == NULL) {
        return (uint32_t)getpid();
    }
    if (atomic_load(page) == 0) {
        uint32_t next = atomic_fetch_add(&lineage_last, 1) + 1;

        (void)atomic_compare_exchange_strong(page, &number, next);
    }
    return atomic_load(page);
}
