/* Pools keep one free list per size class. Slabs come from mmap, aligned to huge pages: touching
 * fresh small pages costs more than sending what is in them. */

#include "base/buf.h"

#include "base/mem.h"

#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define BUF_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BUF_ASAN 1
#endif
#endif
#ifdef BUF_ASAN
#include <sanitizer/asan_interface.h>
#define BUF_POISON(p, n) ASAN_POISON_MEMORY_REGION((p), (n))
#define BUF_UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION((p), (n))
#else
#define BUF_POISON(p, n) ((void)(p), (void)(n))
#define BUF_UNPOISON(p, n) ((void)(p), (void)(n))
#endif

enum {
    BUF_CLASSES = 7,
    BUF_SLAB_BYTES = 256 * 1024,      /* For classes smaller than this. */
    BUF_HUGE_BYTES = 2 * 1024 * 1024, /* Slabs of at least this size ask for huge pages. */
};

/* The large classes are a power of two plus a page: a header fits beside a full body. */
static const uint32_t buf_class_bytes[BUF_CLASSES] = {
    256, 2048, 16 * 1024, 64 * 1024 + 4096, 256 * 1024 + 4096, 1024 * 1024 + 4096, BUF_BYTES_MAX,
};

struct buf_slab {
    struct buf_slab *next;
    uint8_t *storage;
    size_t storage_bytes;
    uint64_t reserved_bytes; /* What it counts for in the pool. */
    uint32_t class_index;
    uint32_t used_count; /* Buffers that somebody holds, or that are not yet sorted in. */
    bool leaving;        /* About to be given back to the system. */
    struct buf *bufs;
};

struct buf_pool {
    uint64_t bytes_limit;
    uint64_t bytes_reserved;
    uint64_t bytes_used;
    uint64_t bytes_used_max;
    uint64_t buffers_used;
    struct buf *free[BUF_CLASSES];
    struct buf_slab *slabs;
    _Atomic(const void *) owner;   /* Token of the owning thread. */
    _Atomic(struct buf *) foreign; /* Given back by other threads, not yet sorted. */
};

/* Its address tells threads apart without asking the system. */
static _Thread_local char buf_thread;

static bool buf_pool_is_mine(const struct buf_pool *pool)
{
    return atomic_load_explicit(&pool->owner, memory_order_relaxed) == &buf_thread;
}

enum err buf_pool_create(uint64_t bytes_limit, struct buf_pool **pool_out)
{
    struct buf_pool *pool = mem_zalloc(sizeof(*pool));

    if (pool == NULL) {
        return ERR_NOMEM;
    }
    pool->bytes_limit = bytes_limit;
    buf_pool_adopt(pool);
    *pool_out = pool;
    return OK;
}

static void buf_put_free(struct buf_pool *pool, struct buf *b)
{
    b->next_free = pool->free[b->class_index];
    pool->free[b->class_index] = b;
    b->slab->used_count--;
    pool->bytes_used -= b->capacity;
    pool->buffers_used--;
}

/* Sort in what other threads gave back. */
static void buf_pool_collect(struct buf_pool *pool)
{
    struct buf *b = atomic_exchange_explicit(&pool->foreign, NULL, memory_order_acquire);

    while (b != NULL) {
        struct buf *next = b->next_free;

        buf_put_free(pool, b);
        b = next;
    }
}

static void buf_slab_free(struct buf_slab *slab)
{
    BUF_UNPOISON(slab->storage, slab->storage_bytes);
    (void)munmap(slab->storage, slab->storage_bytes);
    mem_free(slab->bufs);
    mem_free(slab);
}

void buf_pool_raise(struct buf_pool *pool, uint64_t more)
{
    pool->bytes_limit += more;
}

void buf_pool_destroy(struct buf_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    buf_pool_collect(pool);
    CHECK(pool->buffers_used == 0);
    while (pool->slabs != NULL) {
        struct buf_slab *slab = pool->slabs;

        pool->slabs = slab->next;
        buf_slab_free(slab);
    }
    mem_free(pool);
}

void buf_pool_adopt(struct buf_pool *pool)
{
    atomic_store_explicit(&pool->owner, &buf_thread, memory_order_relaxed);
}

void buf_pool_stats(struct buf_pool *pool, struct buf_pool_stats *stats_out)
{
    if (buf_pool_is_mine(pool)) {
        buf_pool_collect(pool);
    }
    *stats_out = (struct buf_pool_stats){
        .bytes_limit = pool->bytes_limit,
        .bytes_reserved = pool->bytes_reserved,
        .bytes_used = pool->bytes_used,
        .bytes_used_max = pool->bytes_used_max,
        .buffers_used = pool->buffers_used,
    };
}

uint64_t buf_pool_free_bytes(struct buf_pool *pool)
{
    CHECK(buf_pool_is_mine(pool));
    buf_pool_collect(pool);
    return pool->bytes_limit - pool->bytes_used;
}

/* How many buffers of a class come in one slab: few of the large ones, so that a small pool can
 * still hold every class. */
static uint32_t buf_slab_count(const struct buf_pool *pool, uint32_t bytes)
{
    uint64_t left = pool->bytes_limit - pool->bytes_reserved;
    uint64_t count = bytes < BUF_SLAB_BYTES ? BUF_SLAB_BYTES / bytes : 1;

    return (uint32_t)(left / bytes < count ? left / bytes : count);
}

static enum err buf_slab_map(struct buf_slab *slab, size_t bytes)
{
    void *p;

    slab->storage_bytes = (bytes + 4095) & ~(size_t)4095;
    p = mmap(NULL, slab->storage_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        return ERR_NOMEM;
    }
    if (slab->storage_bytes >= BUF_HUGE_BYTES) {
        (void)madvise(p, slab->storage_bytes, MADV_HUGEPAGE);
    }
    slab->storage = p;
    return OK;
}

/* Cut a slab into free buffers, the first of them first. */
static void buf_slab_cut(struct buf_pool *pool, struct buf_slab *slab, uint32_t count)
{
    uint32_t bytes = buf_class_bytes[slab->class_index];

    for (uint32_t i = count; i-- > 0;) {
        slab->bufs[i] = (struct buf){
            .storage = slab->storage + (size_t)i * bytes,
            .capacity = bytes,
            .class_index = slab->class_index,
            .pool = pool,
            .slab = slab,
            .next_free = pool->free[slab->class_index],
        };
        pool->free[slab->class_index] = &slab->bufs[i];
    }
    BUF_POISON(slab->storage, slab->storage_bytes);
}

/* Take one more slab of the class from the system. */
static enum err buf_pool_grow(struct buf_pool *pool, uint32_t class_index)
{
    uint32_t bytes = buf_class_bytes[class_index];
    uint32_t count = buf_slab_count(pool, bytes);
    struct buf_slab *slab;
    enum err rc;

    if (count == 0) {
        return ERR_AGAIN;
    }
    slab = mem_zalloc(sizeof(*slab));
    if (slab == NULL) {
        return ERR_NOMEM;
    }
    slab->bufs = mem_calloc(count, sizeof(*slab->bufs));
    rc = slab->bufs == NULL ? ERR_NOMEM : buf_slab_map(slab, (size_t)count * bytes);
    if (rc != OK && slab->bufs != NULL && pool->buffers_used > 0) {
        rc = ERR_AGAIN; /* The system's limit is the pool's: what is held comes back. */
    }
    if (rc != OK) {
        mem_free(slab->bufs);
        mem_free(slab);
        return rc;
    }
    slab->class_index = class_index;
    slab->reserved_bytes = (uint64_t)count * bytes;
    buf_slab_cut(pool, slab, count);
    slab->next = pool->slabs;
    pool->slabs = slab;
    pool->bytes_reserved += slab->reserved_bytes;
    return OK;
}

static uint32_t buf_class_of(size_t bytes)
{
    uint32_t class_index = 0;

    while (buf_class_bytes[class_index] < bytes) {
        class_index++;
    }
    return class_index;
}

enum err buf_pool_reserve(struct buf_pool *pool, size_t size, uint32_t count, uint64_t more)
{
    struct buf_slab *before = pool->slabs;
    struct buf *free_before;
    uint32_t class_index;
    uint64_t made = 0;
    enum err rc = OK;

    CHECK(buf_pool_is_mine(pool));
    if (size > BUF_BYTES_MAX) {
        return ERR_TOO_BIG;
    }
    class_index = buf_class_of(size);
    free_before = pool->free[class_index];
    pool->bytes_limit += more;
    while (made < (uint64_t)count * buf_class_bytes[class_index] && rc == OK) {
        rc = buf_pool_grow(pool, class_index);
        made += rc == OK ? pool->slabs->reserved_bytes : 0;
    }
    if (rc == OK) {
        return OK;
    }
    pool->free[class_index] = free_before; /* The new ones are before it. */
    while (pool->slabs != before) {
        struct buf_slab *slab = pool->slabs;

        pool->slabs = slab->next;
        pool->bytes_reserved -= slab->reserved_bytes;
        buf_slab_free(slab);
    }
    pool->bytes_limit -= more;
    return ERR_NOMEM;
}

/* Take the buffers of slabs that leave out of the free lists. */
static void buf_pool_unlist(struct buf_pool *pool)
{
    for (uint32_t i = 0; i < BUF_CLASSES; i++) {
        struct buf **link = &pool->free[i];

        while (*link != NULL) {
            if ((*link)->slab->leaving) {
                *link = (*link)->next_free;
            } else {
                link = &(*link)->next_free;
            }
        }
    }
}

void buf_pool_lower(struct buf_pool *pool, uint64_t less)
{
    uint64_t wanted = less < pool->bytes_limit ? pool->bytes_limit - less : 0;
    struct buf_slab **link = &pool->slabs;

    CHECK(buf_pool_is_mine(pool));
    buf_pool_collect(pool);
    for (struct buf_slab *slab = pool->slabs; slab != NULL && pool->bytes_reserved > wanted;
         slab = slab->next) {
        slab->leaving = slab->used_count == 0;
        pool->bytes_reserved -= slab->leaving ? slab->reserved_bytes : 0;
    }
    buf_pool_unlist(pool);
    while (*link != NULL) {
        struct buf_slab *slab = *link;

        if (slab->leaving) {
            *link = slab->next;
            buf_slab_free(slab);
        } else {
            link = &slab->next;
        }
    }
    pool->bytes_limit = wanted > pool->bytes_reserved ? wanted : pool->bytes_reserved;
}

/* Take the buffers of an unused slab out of the free list. */
static void buf_slab_unlist(struct buf_pool *pool, const struct buf_slab *slab)
{
    struct buf **link = &pool->free[slab->class_index];

    while (*link != NULL) {
        if ((*link)->slab == slab) {
            *link = (*link)->next_free;
        } else {
            link = &(*link)->next_free;
        }
    }
}

/* Give unused slabs back to the system if that makes room for @bytes. Without this, memory that was
 * once cut into small buffers could never again become a large one. */
static bool buf_pool_reclaim(struct buf_pool *pool, uint32_t bytes)
{
    uint64_t possible = pool->bytes_limit - pool->bytes_reserved;
    struct buf_slab **link = &pool->slabs;

    for (const struct buf_slab *slab = pool->slabs; slab != NULL; slab = slab->next) {
        possible += slab->used_count == 0 ? slab->reserved_bytes : 0;
    }
    if (possible < bytes) {
        return false;
    }
    while (pool->bytes_limit - pool->bytes_reserved < bytes) {
        struct buf_slab *slab = *link;

        CHECK(slab != NULL); /* The sum above says so. */
        if (slab->used_count != 0) {
            link = &slab->next;
            continue;
        }
        *link = slab->next;
        pool->bytes_reserved -= slab->reserved_bytes;
        buf_slab_unlist(pool, slab);
        buf_slab_free(slab);
    }
    return true;
}

/* At the limit, a free buffer of a larger class is better than none. */
static struct buf *buf_pool_larger(struct buf_pool *pool, uint32_t class_index)
{
    for (uint32_t i = class_index + 1; i < BUF_CLASSES; i++) {
        if (pool->free[i] != NULL) {
            struct buf *b = pool->free[i];

            pool->free[i] = b->next_free;
            return b;
        }
    }
    return NULL;
}

static enum err buf_pool_pick(struct buf_pool *pool, uint32_t class_index, struct buf **buf_out)
{
    enum err rc = OK;

    if (pool->free[class_index] == NULL) {
        buf_pool_collect(pool);
    }
    if (pool->free[class_index] == NULL) {
        rc = buf_pool_grow(pool, class_index);
    }
    if (rc != OK) {
        *buf_out = buf_pool_larger(pool, class_index);
        if (*buf_out != NULL) {
            return OK;
        }
        if (rc != ERR_AGAIN || !buf_pool_reclaim(pool, buf_class_bytes[class_index])) {
            return rc;
        }
        rc = buf_pool_grow(pool, class_index);
        if (rc != OK) {
            return rc;
        }
    }
    *buf_out = pool->free[class_index];
    pool->free[class_index] = (*buf_out)->next_free;
    return OK;
}

enum err buf_take(struct buf_pool *pool, size_t headroom, size_t size, struct buf **buf_out)
{
    uint32_t class_index;
    struct buf *b;
    enum err rc;

    CHECK(buf_pool_is_mine(pool));
    if (size > BUF_BYTES_MAX || headroom > BUF_BYTES_MAX - size) {
        return ERR_TOO_BIG;
    }
    class_index = buf_class_of(headroom + size);
    if (buf_class_bytes[class_index] > pool->bytes_limit) {
        return ERR_TOO_BIG;
    }
    rc = buf_pool_pick(pool, class_index, &b);
    if (rc != OK) {
        return rc;
    }
    BUF_UNPOISON(b->storage, b->capacity);
    b->head = (uint32_t)headroom;
    b->size = 0;
    b->next_free = NULL;
    atomic_store_explicit(&b->refs, 1, memory_order_relaxed);
    b->slab->used_count++;
    pool->bytes_used += b->capacity;
    pool->buffers_used++;
    if (pool->bytes_used > pool->bytes_used_max) {
        pool->bytes_used_max = pool->bytes_used;
    }
    *buf_out = b;
    return OK;
}

struct buf *buf_ref(struct buf *b)
{
    uint32_t before = atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);

    CHECK(before > 0 && before < UINT32_MAX);
    return b;
}

static void buf_give_back(struct buf *b)
{
    struct buf_pool *pool = b->pool;
    struct buf *head;

    BUF_POISON(b->storage, b->capacity);
    if (buf_pool_is_mine(pool)) {
        buf_put_free(pool, b);
        return;
    }
    head = atomic_load_explicit(&pool->foreign, memory_order_relaxed);
    do {
        b->next_free = head;
    } while (!atomic_compare_exchange_weak_explicit(&pool->foreign, &head, b, memory_order_release,
                                                    memory_order_relaxed));
}

void buf_unref(struct buf *b)
{
    uint32_t before;

    if (b == NULL) {
        return;
    }
    /* The only reference needs no atomic exchange: nobody else can see the buffer. */
    if (atomic_load_explicit(&b->refs, memory_order_acquire) == 1) {
        atomic_store_explicit(&b->refs, 0, memory_order_relaxed);
        buf_give_back(b);
        return;
    }
    before = atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel);
    CHECK(before > 0);
    if (before == 1) {
        buf_give_back(b);
    }
}

uint8_t *buf_append(struct buf *b, size_t size)
{
    uint8_t *at = buf_bytes(b) + b->size;

    CHECK(size <= buf_tailroom(b));
    b->size += (uint32_t)size;
    return at;
}

uint8_t *buf_prepend(struct buf *b, size_t size)
{
    CHECK(size <= b->head);
    b->head -= (uint32_t)size;
    b->size += (uint32_t)size;
    return buf_bytes(b);
}

void buf_trim_front(struct buf *b, size_t size)
{
    CHECK(size <= b->size);
    b->head += (uint32_t)size;
    b->size -= (uint32_t)size;
}

void buf_truncate(struct buf *b, size_t size)
{
    CHECK(size <= b->size);
    b->size = (uint32_t)size;
}
