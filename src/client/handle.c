#include "client/handle.h"

#include "base/err.h"
#include "client/lineage.h"

#include <stdatomic.h>

_Static_assert(sizeof(void *) == 8, "a handle has 64 bits");
_Static_assert(CLIENT_HANDLE_PLACES - 1 == UINT8_MAX, "a place has 8 bits");

/* The word of a place: generation, two flags, pins. */
#define HANDLE_GENERATION_SHIFT 32
#define HANDLE_FLAG_OPEN (UINT64_C(1) << 31)
#define HANDLE_FLAG_CLOSING (UINT64_C(1) << 30)
#define HANDLE_PINS (HANDLE_FLAG_CLOSING - 1)

struct handle_place {
    _Atomic uint64_t word;
    _Atomic uint32_t interrupts;
    _Atomic uint32_t lineage; /* The process that opened it. */
    _Atomic(struct client *) client;
};

static struct handle_place handle_places[CLIENT_HANDLE_PLACES];

struct client_handle client_handle_unpack(const void *pointer)
{
    uint64_t bits = (uint64_t)(uintptr_t)pointer;

    return (struct client_handle){.kind = (uint8_t)(bits >> 56),
                                  .place = (uint8_t)(bits >> 48),
                                  .index = (uint16_t)(bits >> 32),
                                  .generation = (uint32_t)bits};
}

void *client_handle_pack(struct client_handle handle)
{
    uint64_t bits = (uint64_t)handle.kind << 56 | (uint64_t)handle.place << 48 |
                    (uint64_t)handle.index << 32 | handle.generation;

    return (void *)(uintptr_t)bits;
}

static uint32_t handle_generation(uint64_t word)
{
    return (uint32_t)(word >> HANDLE_GENERATION_SHIFT);
}

/* The word of a free place is its last generation, with no flags and one pin while it is filled. */
static bool handle_take(struct handle_place *p, uint32_t *generation_out)
{
    uint64_t word = atomic_load(&p->word);

    if ((word & (HANDLE_FLAG_OPEN | HANDLE_PINS)) != 0 ||
        !atomic_compare_exchange_strong(&p->word, &word, word + 1)) {
        return false;
    }
    *generation_out = handle_generation(word) + 1;
    return true;
}

bool client_handle_open(struct client *client, struct client_handle *handle_out)
{
    for (uint32_t i = 0; i < CLIENT_HANDLE_PLACES; i++) {
        struct handle_place *p = &handle_places[i];
        uint32_t generation;

        if (handle_take(p, &generation)) {
            atomic_store(&p->client, client);
            atomic_store(&p->lineage, client_lineage_begin());
            atomic_store(&p->interrupts, 0);
            atomic_store(&p->word,
                         (uint64_t)generation << HANDLE_GENERATION_SHIFT | HANDLE_FLAG_OPEN);
            *handle_out = (struct client_handle){
                .kind = CLIENT_HANDLE_KIND_WORKER, .place = (uint8_t)i, .generation = generation};
            return true;
        }
    }
    return false;
}

/* What the handle is worth now. */
static enum client_handle_state handle_judge(struct client_handle handle, uint64_t word)
{
    const struct handle_place *p = &handle_places[handle.place];

    if ((word & HANDLE_FLAG_OPEN) == 0 ||
        (handle.kind == CLIENT_HANDLE_KIND_WORKER &&
         (handle.index != 0 || handle_generation(word) != handle.generation))) {
        return CLIENT_HANDLE_UNKNOWN;
    }
    if (atomic_load_explicit(&p->lineage, memory_order_relaxed) != client_lineage_now()) {
        return CLIENT_HANDLE_FORKED;
    }
    return (word & HANDLE_FLAG_CLOSING) != 0 ? CLIENT_HANDLE_CLOSING : CLIENT_HANDLE_OPEN;
}

enum client_handle_state client_handle_pin(struct client_handle handle, struct client **client_out)
{
    struct handle_place *p = &handle_places[handle.place];
    uint64_t word = atomic_load_explicit(&p->word, memory_order_acquire);
    enum client_handle_state state;

    if (handle.kind != CLIENT_HANDLE_KIND_WORKER && handle.kind != CLIENT_HANDLE_KIND_OPERATION) {
        return CLIENT_HANDLE_UNKNOWN;
    }
    do {
        state = handle_judge(handle, word);
        if (state != CLIENT_HANDLE_OPEN) {
            return state;
        }
    } while (!atomic_compare_exchange_weak(&p->word, &word, word + 1));
    *client_out = atomic_load_explicit(&p->client, memory_order_relaxed);
    return CLIENT_HANDLE_OPEN;
}

bool client_handle_unpin(uint8_t place)
{
    uint64_t before = atomic_fetch_sub(&handle_places[place].word, 1);

    CHECK((before & HANDLE_PINS) != 0);
    return (before & HANDLE_FLAG_CLOSING) != 0 && (before & HANDLE_PINS) == 2;
}

bool client_handle_close(uint8_t place)
{
    uint64_t before = atomic_fetch_or(&handle_places[place].word, HANDLE_FLAG_CLOSING);

    CHECK((before & HANDLE_FLAG_CLOSING) == 0);
    return (before & HANDLE_PINS) == 1;
}

void client_handle_release(uint8_t place)
{
    struct handle_place *p = &handle_places[place];
    uint64_t word = atomic_load(&p->word);

    CHECK((word & HANDLE_FLAG_CLOSING) != 0 && (word & HANDLE_PINS) == 1);
    atomic_store(&p->client, NULL);
    atomic_store(&p->word, (uint64_t)handle_generation(word) << HANDLE_GENERATION_SHIFT);
}

struct client *client_handle_disown(struct client_handle handle)
{
    struct handle_place *p = &handle_places[handle.place];
    uint64_t word = atomic_load(&p->word);
    struct client *client = atomic_load(&p->client);

    /* Pins are those of the parent's threads, which are not here. */
    if (handle_judge(handle, word) != CLIENT_HANDLE_FORKED ||
        !atomic_compare_exchange_strong(
            &p->word, &word, word & ~(HANDLE_FLAG_OPEN | HANDLE_FLAG_CLOSING | HANDLE_PINS))) {
        return NULL;
    }
    return client;
}

uint32_t client_handle_interrupts(uint8_t place)
{
    return atomic_load_explicit(&handle_places[place].interrupts, memory_order_relaxed);
}

void client_handle_interrupt(struct client_handle handle)
{
    for (uint32_t i = 0; i < CLIENT_HANDLE_PLACES; i++) {
        struct handle_place *p = &handle_places[i];
        uint64_t word = atomic_load(&p->word);

        if ((word & HANDLE_FLAG_OPEN) != 0 &&
            (handle.kind == 0 || (handle.kind == CLIENT_HANDLE_KIND_WORKER && handle.place == i &&
                                  handle_generation(word) == handle.generation))) {
            (void)atomic_fetch_add(&p->interrupts, 1);
        }
    }
}
