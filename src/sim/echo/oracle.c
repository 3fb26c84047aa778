#include "sim/echo/oracle.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ORACLE_FIRST = 64, ORACLE_UPDATES_MAX = 1 << 24 };

struct oracle_update {
    uint64_t value;
    bool counted;
    bool acked;
    bool echoed;
    bool excused;
};

struct oracle_life { /* One incarnation of a client. */
    struct oracle_life *older;
    uint64_t incarnation;
    struct oracle_update *updates; /* By number - 1. */
    uint64_t count;
    uint64_t capacity;
    uint64_t acked;   /* Everything up to here. */
    uint64_t excused; /* So many of the first. */
    uint64_t missing; /* Echoes that are due. */
};

/* An echo is due once the update is acknowledged. */
static bool oracle_due(const struct oracle_update *u)
{
    return u->acked && !u->echoed && !u->excused;
}

struct oracle_client {
    struct oracle_life *newest;
    uint64_t acked_count;
    uint64_t counted_count;
    uint64_t counted_sum;
};

struct sim_oracle {
    struct oracle_client *clients;
    uint32_t clients_count;
    char broken[256];
};

enum err sim_oracle_create(uint32_t clients, struct sim_oracle **oracle_out)
{
    struct sim_oracle *o = mem_zalloc(sizeof(*o));

    if (o == NULL) {
        return ERR_NOMEM;
    }
    o->clients_count = clients;
    o->clients = mem_calloc(clients == 0 ? 1 : clients, sizeof(*o->clients));
    if (o->clients == NULL) {
        mem_free(o);
        return ERR_NOMEM;
    }
    *oracle_out = o;
    return OK;
}

void sim_oracle_destroy(struct sim_oracle *o)
{
    if (o == NULL) {
        return;
    }
    for (uint32_t i = 0; i < o->clients_count; i++) {
        struct oracle_life *life = o->clients[i].newest;

        while (life != NULL) {
            struct oracle_life *older = life->older;

            mem_free(life->updates);
            mem_free(life);
            life = older;
        }
    }
    mem_free(o->clients);
    mem_free(o);
}

static void oracle_break(struct sim_oracle *o, const char *what, uint32_t client,
                         uint64_t incarnation, uint64_t number)
{
    if (o->broken[0] == '\0') {
        (void)snprintf(o->broken, sizeof(o->broken),
                       "update %" PRIu64 " of client %u, incarnation %" PRIu64 ": %s", number,
                       client, incarnation, what);
    }
}

static struct oracle_life *oracle_life(struct sim_oracle *o, uint32_t client, uint64_t incarnation)
{
    for (struct oracle_life *l = o->clients[client].newest; l != NULL; l = l->older) {
        if (l->incarnation == incarnation) {
            return l;
        }
    }
    return NULL;
}

static struct oracle_update *oracle_find(struct sim_oracle *o, uint32_t client,
                                         uint64_t incarnation, uint64_t number)
{
    struct oracle_life *life = oracle_life(o, client, incarnation);

    if (life == NULL || number == 0 || number > life->count) {
        oracle_break(o, "was never sent", client, incarnation, number);
        return NULL;
    }
    return &life->updates[number - 1];
}

static void oracle_grow(struct oracle_life *life)
{
    uint64_t capacity = life->capacity == 0 ? ORACLE_FIRST : life->capacity * 2;
    struct oracle_update *updates = mem_calloc(capacity, sizeof(*updates));

    CHECK(updates != NULL && capacity <= ORACLE_UPDATES_MAX);
    if (life->count > 0) {
        memcpy(updates, life->updates, life->count * sizeof(*updates));
    }
    mem_free(life->updates);
    life->updates = updates;
    life->capacity = capacity;
}

void sim_oracle_sent(struct sim_oracle *o, uint32_t client, uint64_t incarnation, uint64_t number,
                     uint64_t value)
{
    struct mem_plan plan = mem_fail_suspend(); /* The witness never runs out of memory. */
    struct oracle_life *life = oracle_life(o, client, incarnation);

    if (life == NULL) {
        life = mem_zalloc(sizeof(*life));
        CHECK(life != NULL);
        life->incarnation = incarnation;
        life->older = o->clients[client].newest;
        o->clients[client].newest = life;
    }
    if (number != life->count + 1) {
        oracle_break(o, "has a number that does not follow the last", client, incarnation, number);
    } else {
        if (life->count == life->capacity) {
            oracle_grow(life);
        }
        life->updates[life->count++] = (struct oracle_update){.value = value};
    }
    mem_fail_resume(plan);
}

void sim_oracle_counted(struct sim_oracle *o, uint32_t client, uint64_t incarnation,
                        uint64_t number, uint64_t value)
{
    struct oracle_update *u = oracle_find(o, client, incarnation, number);

    if (u == NULL) {
        return;
    }
    if (u->counted) {
        oracle_break(o, "was counted twice", client, incarnation, number);
    }
    if (u->value != value) {
        oracle_break(o, "was counted with another value", client, incarnation, number);
    }
    u->counted = true;
    o->clients[client].counted_count++;
    o->clients[client].counted_sum += value;
}

void sim_oracle_delivered_twice(struct sim_oracle *o, uint32_t client, uint64_t incarnation,
                                uint64_t number)
{
    oracle_break(o, "was delivered twice", client, incarnation, number);
}

void sim_oracle_recovered(struct sim_oracle *o, uint32_t client, uint64_t incarnation,
                          uint64_t number, uint64_t value)
{
    struct oracle_update *u = oracle_find(o, client, incarnation, number);

    if (u != NULL && !u->counted) {
        sim_oracle_counted(o, client, incarnation, number, value);
        oracle_life(o, client, incarnation)->missing -= oracle_due(u);
        u->excused = true; /* Nobody sent an echo for it. */
    } else if (u != NULL && u->value != value) {
        oracle_break(o, "is on disk with another value", client, incarnation, number);
    }
}

void sim_oracle_acked(struct sim_oracle *o, uint32_t client, uint64_t incarnation, uint64_t number)
{
    struct oracle_life *life = oracle_life(o, client, incarnation);

    if (number == 0) {
        return;
    }
    if (life == NULL || number > life->count) {
        oracle_break(o, "was acknowledged but never sent", client, incarnation, number);
        return;
    }
    if (number < life->acked) {
        oracle_break(o, "acknowledgements went back", client, incarnation, number);
    }
    for (; life->acked < number; life->acked++) {
        struct oracle_update *u = &life->updates[life->acked];

        if (!u->counted) {
            oracle_break(o, "was acknowledged but not counted", client, incarnation,
                         life->acked + 1);
        }
        u->acked = true;
        life->missing += oracle_due(u);
        o->clients[client].acked_count++;
    }
}

void sim_oracle_echoed(struct sim_oracle *o, uint32_t client, uint64_t incarnation, uint64_t number,
                       uint64_t value)
{
    struct oracle_update *u = oracle_find(o, client, incarnation, number);

    if (u == NULL) {
        return;
    }
    if (u->echoed) {
        oracle_break(o, "came back twice", client, incarnation, number);
    }
    if (!u->counted) {
        oracle_break(o, "came back before it was counted", client, incarnation, number);
    }
    if (u->value != value) {
        oracle_break(o, "came back with another value", client, incarnation, number);
    }
    oracle_life(o, client, incarnation)->missing -= oracle_due(u);
    u->echoed = true;
}

void sim_oracle_excuse_echoes(struct sim_oracle *o)
{
    for (uint32_t i = 0; i < o->clients_count; i++) {
        struct oracle_life *life = o->clients[i].newest;

        for (; life != NULL && life->excused < life->count; life->excused++) {
            struct oracle_update *u = &life->updates[life->excused];

            life->missing -= oracle_due(u);
            u->excused = true;
        }
    }
}

uint64_t sim_oracle_acked_count(const struct sim_oracle *o, uint32_t client)
{
    return o->clients[client].acked_count;
}

uint64_t sim_oracle_counted_count(const struct sim_oracle *o, uint32_t client)
{
    return o->clients[client].counted_count;
}

uint64_t sim_oracle_counted_sum(const struct sim_oracle *o, uint32_t client)
{
    return o->clients[client].counted_sum;
}

uint64_t sim_oracle_echoes_missing(const struct sim_oracle *o, uint32_t client)
{
    const struct oracle_life *life = o->clients[client].newest;

    return life == NULL ? 0 : life->missing;
}

const char *sim_oracle_broken(const struct sim_oracle *o)
{
    return o->broken[0] == '\0' ? NULL : o->broken;
}
