/* What the files of the fabric share: private to src/sim/fabric*.c.
 *
 *     fabric.c        links, flows, segments, time: the functions of fabric.h
 *     fabric_group.c  flows of one rate, and which of them completes first
 *     fabric_share.c  which flow gets which rate
 *
 * Rates are integers of 2^-24 bytes per second. Work is rate x nanoseconds, in 128 bits: one byte
 * is 2^24 x 10^9. Sums of integers are exact in any order, so loads never drift. */

#ifndef SIM_NET_FABRIC_STATE_H
#define SIM_NET_FABRIC_STATE_H

#include "base/heap.h"
#include "sim/net/fabric.h"

enum {
    FABRIC_RATE_SHIFT = 24,
    FABRIC_ID_SHIFT = 12, /* Bits of a flow id that tell the uses of a slot apart. */
    FABRIC_HOP_SHIFT = 2, /* A hop is (flow << 2 | position in its path). */
    FABRIC_HOP_MASK = (1 << FABRIC_HOP_SHIFT) - 1,
};

#define FABRIC_NONE UINT32_MAX
#define FABRIC_UNBOUND UINT64_MAX /* No rate. */

_Static_assert(1 << FABRIC_HOP_SHIFT == SIM_FABRIC_PATH_LINKS_MAX, "a hop fits its bits");
_Static_assert(SIM_FABRIC_FLOWS_LIMIT <= 1 << (32 - FABRIC_ID_SHIFT), "a flow's slot fits its id");
_Static_assert(SIM_FABRIC_RATE_MAX <= UINT64_C(1) << (62 - FABRIC_RATE_SHIFT), "work fits 127 bit");

/* Signed: a target may lie behind the service within an instant. */
__extension__ typedef __int128 fabric_work;

/* Of a segment that does not end: 2^24 s at the largest rate. */
#define FABRIC_ENDLESS_BYTES (UINT64_C(1) << 62)

#define FABRIC_BYTE_WORK (INT64_C(1000000000) << FABRIC_RATE_SHIFT)

/* Flows that have one bottleneck and so one rate: group g is that of link g, or flow g - links_max
 * alone, at its cap. The group keeps one number for all, the service that each member got; the
 * first segment of a member is done when the service reaches the flow's target. When the rate
 * changes, nobody touches the members. */
struct fabric_group {
    fabric_work service; /* Until .stamp_ns. */
    int64_t stamp_ns;
    uint64_t level;        /* The rate of each member. */
    uint32_t members;      /* With those whose completion is being reported. */
    uint32_t root;         /* Of the members' heap. */
    struct heap_node node; /* In .due, by the time of the first completion. */
    bool stale;            /* Listed: its place in .due must be looked at. */
};

struct fabric_link {
    uint64_t capacity;
    uint64_t load; /* The sum of the active flows' rates. */
    uint32_t hops; /* Active flows: the first hop of a list. */
    bool dirty;    /* Listed: its capacity or its flows changed. */

    /* Used while sharing. */
    uint32_t fixed;       /* Members of its group that keep their rate. */
    uint32_t hungry;      /* Freed flows on it that have no rate yet. */
    uint32_t joined;      /* Freed flows that have found their bottleneck here. */
    uint64_t epoch;       /* Of the sharing for which these fields hold. */
    uint64_t left;        /* Capacity that nobody has. */
    uint64_t fixed_level; /* The rate of the fixed and joined ones, or FABRIC_UNBOUND. */
    uint64_t key;         /* Its lowest place in .shares, or FABRIC_UNBOUND. */

    /* Accounts. */
    uint64_t bytes;
    int64_t carried_ns;
    fabric_work carried; /* The integral of .load until .carried_ns. */
};

struct fabric_flow {
    fabric_work target; /* In the group's service; from zero without a group. */
    uint64_t rate;
    uint32_t group; /* FABRIC_NONE: not yet. */
    uint32_t links_count;
    uint32_t links[SIM_FABRIC_PATH_LINKS_MAX];
    uint32_t hop_next[SIM_FABRIC_PATH_LINKS_MAX];
    uint64_t epoch; /* Of the sharing that it was freed for. */
    bool live;
    bool endless; /* Its only segment will not be done. */
    bool active;  /* On its links' lists: takes part in the sharing. */
    bool queued;  /* In its group's heap. */
    bool changed; /* Listed: it started, or ran dry. */
    bool fed;     /* The sharing has found the following two. */
    uint32_t next_group;
    uint64_t next_rate;
    uint64_t cap; /* FABRIC_UNBOUND: none. */
    uint32_t hop_prev[SIM_FABRIC_PATH_LINKS_MAX];
    uint32_t child, sibling, before; /* In the group's heap. */
    uint32_t first, last;            /* Segments. */
    sim_flow_id id;
    uint64_t backlog;
    uint32_t next_free;
};

struct fabric_segment {
    uint64_t bytes;
    uint64_t token;
    uint32_t next;
};

struct fabric_share {
    uint64_t rate;
    uint32_t group;
};

struct sim_fabric {
    struct sim_fabric_limits limits;
    int64_t now_ns;
    bool reporting; /* In callbacks of sim_fabric_advance(). */
    struct fabric_link *links;
    struct fabric_flow *flows;
    struct fabric_group *groups;
    struct fabric_segment *segments;
    uint32_t links_count;
    uint32_t flows_used; /* Slots ever used. */
    uint32_t flows_free;
    uint32_t segments_used;
    uint32_t segments_free;
    struct heap due; /* Groups. */

    /* What changed since the last sharing, without repeats. */
    uint32_t *changed; /* Flows. */
    uint32_t *dirty;   /* Links. */
    uint32_t *stale;   /* Groups. */
    uint32_t changed_count, dirty_count, stale_count;

    /* Room for sharing. */
    uint64_t epoch;
    uint32_t *freed;             /* Flows. */
    uint32_t *concerned;         /* Links with freed flows. */
    struct fabric_share *shares; /* A heap by rate, then group. */
    uint32_t freed_count, concerned_count, shares_count;
    uint32_t hungry; /* Freed flows that have no rate yet. */

    sim_flow_id *done; /* Flows that complete at this instant. */
    uint32_t done_count;
    struct sim_fabric_stats stats;
};

/* Prepare an empty group. */
void fabric_group_init(struct fabric_group *g);

/* Bring the group's service up to now, and list it as stale: every change of its level or of its
 * members comes after this. */
struct fabric_group *fabric_group_touch(struct sim_fabric *f, uint32_t group);

/* Join the group, which was touched, or leave one's own, if any; the target is moved with the flow.
 * Joining does not queue. */
void fabric_group_join(struct sim_fabric *f, uint32_t group, uint32_t flow);
void fabric_group_leave(struct sim_fabric *f, uint32_t flow);

/* Put a member into, or take it from, the heap of those that wait for their target. */
void fabric_group_queue(struct sim_fabric *f, uint32_t flow);
void fabric_group_unqueue(struct sim_fabric *f, uint32_t flow);

/* Give every stale group its place in .due. */
void fabric_group_place_all(struct sim_fabric *f);

/* List a link as dirty, a flow as changed. */
void fabric_share_link_note(struct sim_fabric *f, uint32_t link);
void fabric_share_flow_note(struct sim_fabric *f, uint32_t flow);

/* Bring the integral of the load up to now: every change of the load comes after this. */
void fabric_share_carry(struct sim_fabric *f, struct fabric_link *l);

/* Take part in the sharing, or no more. */
void fabric_share_enter(struct sim_fabric *f, uint32_t flow);
void fabric_share_exit(struct sim_fabric *f, uint32_t flow);

/* Bring all rates up to date with what changed. */
void fabric_share_all(struct sim_fabric *f);

#endif
