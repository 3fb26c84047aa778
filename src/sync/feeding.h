/* Who feeds whom: for one lane, which workers get sums from it and which from another worker (F7,
 * F8). A pure machine: who came and went, what workers report, and the trees that a planner makes
 * go in; whom to tell what comes out.
 *
 *     member comes or goes, a parent fails  ->  a tree is due (feeding_due_ns)
 *     feeding_plan(parents)                 ->  members whose parent changed are told
 *     told member: ON                       ->  the lane need not send to it
 *     told member: OFF                      ->  it must, and a new tree is due
 *
 * A member whose parent changes is sent to by the lane until it says that the new one feeds it, so
 * nothing can fall between two parents. What does all the same, as with one that dies, workers find
 * out and ask for. A parent of which somebody complains is no parent for a while, each time twice
 * as long. */

#ifndef SYNC_FEEDING_H
#define SYNC_FEEDING_H

#include "sync/sync.h"

#define FEEDING_LANE UINT32_MAX /* As a parent: the lane itself. */

enum {
    FEEDING_SETTLE_MS = 20,      /* From a change to a new tree: others may come, too. */
    FEEDING_SHUN_MS = 5000,      /* After the first complaint, */
    FEEDING_SHUN_DOUBLINGS = 6,  /* doubled so many times at most, */
    FEEDING_FORGIVE_MS = 600000, /* forgotten after so long without another. */
};

struct feeding_member {
    bool present;
    bool relays;      /* It can be dialled. */
    bool on;          /* Its parent feeds it. */
    uint32_t parent;  /* A rank, or FEEDING_LANE. */
    uint32_t epoch;   /* Of its last parent. */
    uint32_t shunned; /* How often, */
    int64_t shun_ns;  /* and until when. */
};

/* Fields are private to sync/feeding.c. */
struct feeding {
    struct feeding_member members[SYNC_MEMBERS_MAX];
    uint32_t count;
    uint32_t epoch;
    int64_t due_ns; /* SYNC_NEVER: the tree is as it should be. */
    int64_t shun_ends_ns;
};

void feeding_init(struct feeding *f);

/* A member came, anew if it was one; it went. Whoever it fed is the lane's again. */
void feeding_join(struct feeding *f, uint32_t rank, bool relays, int64_t now_ns);
void feeding_leave(struct feeding *f, uint32_t rank, int64_t now_ns);

/* A worker says that the parent of that epoch feeds it. False: another one has been decided on
 * since. */
bool feeding_on(struct feeding *f, uint32_t rank, uint32_t epoch);

/* It says that it does not. True: its parent is complained of. */
bool feeding_off(struct feeding *f, uint32_t rank, uint32_t epoch, int64_t now_ns);

/* When a tree is wanted, or SYNC_NEVER. */
int64_t feeding_due_ns(const struct feeding *f);

/* May the member be a parent now? */
bool feeding_relays(const struct feeding *f, uint32_t rank, int64_t now_ns);

static inline bool feeding_present(const struct feeding *f, uint32_t rank)
{
    return f->members[rank].present;
}

/* Must the lane send to the member itself? */
static inline bool feeding_direct(const struct feeding *f, uint32_t rank)
{
    return !f->members[rank].on;
}

static inline uint32_t feeding_parent(const struct feeding *f, uint32_t rank)
{
    return f->members[rank].parent;
}

static inline uint32_t feeding_epoch(const struct feeding *f, uint32_t rank)
{
    return f->members[rank].epoch;
}

/* Take a tree: @parents by rank, those of absent members do not count. Ranks to be told, ascending,
 * go to @told, which has room for SYNC_MEMBERS_MAX; returns how many. NULL: there is no tree, the
 * lane feeds all. */
uint32_t feeding_plan(struct feeding *f, const uint32_t *parents, int64_t now_ns, uint32_t *told);

/* What must always hold: nobody is fed by who is not there or by itself, and the way from every
 * member leads to the lane. */
bool feeding_invariant(const struct feeding *f);

#endif
