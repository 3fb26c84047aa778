/* The barrier of one shard as a pure machine: when may an update enter a chunk, when is a chunk's
 * round complete, when may a worker read, who is in.
 *
 *     event -> sync_step() -> actions -> the driver does them, in order -> more events
 *
 * A machine never sees a socket, a clock or a parameter. The same events give the same actions.
 *
 * Every worker sends at most one update per chunk and clock, then says that the clock is over; what
 * it did not send counts as nothing. A chunk's *version* is the last round that is closed in it,
 * and the shard's version is that of its oldest chunk. What a policy (bsp, ssp, tap) decides is in
 * struct sync_policy; membership and deadline are the same for all:
 *
 *   - the members are the active list; a joiner enters at the first clock that nobody has begun;
 *     where nobody waits (tap), at the one after the slowest member's, or after its own last one;
 *   - a member's word moves nobody further than the barrier allows: a clock beyond that counts as
 *     far as it does, and the rest later; one that no correct member can have reached
 *     (LIMIT_CLOCKS_AHEAD) is refused, and so are updates and reads;
 *   - a member that leaves, or that is not done when the deadline of a round passes, is no longer
 *     waited for; what it sends afterwards is refused with a reason (D3). With a fixed order only
 *     the first in that order is given up at a time: the others may have been held back by it;
 *   - when the last one is gone, what was begun is complete.
 *
 * The driver offers a member's updates of a chunk in the order of their clocks, and a clock only
 * when all updates before it are dealt with: one that comes after a later one counts as known.
 * Reads may overtake.
 *
 * After a restart: sync_restore() for each chunk; a join with .resume, then sync_restore_member(),
 * for each member that comes back; then SYNC_CONTINUE. What a member sent and what is not in the
 * checkpoint it sends again, clocks too. */

#ifndef SYNC_SYNC_H
#define SYNC_SYNC_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SYNC_MEMBERS_MAX = 256,
    SYNC_ACTIONS_MAX = SYNC_MEMBERS_MAX + 64,
    SYNC_STALENESS_MAX = 1024, /* Clocks. */
};

#define SYNC_NEVER INT64_MAX

/* Clocks are counted from one; nobody lives to see this one. */
#define SYNC_CLOCK_LAST ((uint64_t)INT64_MAX)

enum sync_event_type {
    SYNC_JOIN,     /* .member is new, with .rank; .resume: it was in, is done up to .clock, and
                    * will send nothing of that again. Refused if that is too far ahead. */
    SYNC_LEAVE,    /* .member is gone. */
    SYNC_PUSH,     /* .member has an update of .chunk for .clock. */
    SYNC_CLOCK,    /* .member has sent everything it has for clocks up to .clock. */
    SYNC_READ,     /* .member, about to compute .clock, wants .chunk. */
    SYNC_RELEASE,  /* .chunk is complete up to .clock at all sites; .counted: with what was
                    * gathered here, else that is in the sum still. Any time after the version. */
    SYNC_TIMEOUT,  /* sync_deadline() has passed. */
    SYNC_CONTINUE, /* There were more actions than fit; or those who resume are back. */
    SYNC_EVENTS,
};

struct sync_event {
    int64_t now_ns;
    enum sync_event_type type;
    uint32_t member; /* Below SYNC_MEMBERS_MAX; chosen by the driver. */
    uint32_t rank;   /* Join only: the order of addition, and nothing else, depends on it. */
    bool resume;     /* Join only: after a restart of the server. */
    bool counted;    /* Release only. */
    uint32_t chunk;  /* Below the machine's chunks. */
    uint64_t clock;
};

enum sync_action_type {
    SYNC_ADMIT,   /* .member is in: its first clock is .clock. */
    SYNC_TAKE,    /* Add the update to the chunk's sum. */
    SYNC_WAIT,    /* Not yet: offer the same event again after others. Nothing has changed, except
                   * that with a fixed order the round has begun. */
    SYNC_DROP,    /* It is counted already. */
    SYNC_REFUSE,  /* It will never count: .reason; .clock: the first that would. */
    SYNC_ANSWER,  /* The chunk may be read. */
    SYNC_GATHER,  /* .chunk: all members' updates for round .clock are in the sum; it stays as it is
                   * until SYNC_RELEASE. */
    SYNC_CLOSE,   /* .chunk: the sum is complete up to round .clock: apply it, deliver it. */
    SYNC_ADVANCE, /* All chunks have closed round .clock. */
    SYNC_EXPIRE,  /* .member missed the deadline of round .clock and is no longer in. */
    SYNC_ACTIONS,
};

enum sync_reason {
    SYNC_REASON_NONE,
    SYNC_LATE,     /* The round is closed. */
    SYNC_STRANGER, /* Not a member: it left, or missed a deadline. */
    SYNC_AHEAD,    /* Further than any correct member can be; .clock: what the barrier allows. */
    SYNC_REASONS,
};

struct sync_action {
    enum sync_action_type type;
    enum sync_reason reason;
    uint32_t member;
    uint32_t chunk;
    uint64_t clock;
};

struct sync_update {
    struct sync_action actions[SYNC_ACTIONS_MAX];
    uint32_t count;
    bool more; /* Step again with SYNC_CONTINUE before any other event. */
};

struct sync_policy;

struct sync_config {
    const struct sync_policy *policy;
    uint64_t staleness;   /* ssp: how many clocks a worker may be ahead. */
    bool fixed_order;     /* bsp: add in the order of ranks, so that sums have the same bits. */
    bool outside;         /* bsp: a round closes when other sites are done too: SYNC_RELEASE. */
    int64_t deadline_ns;  /* From the first contribution to a round; zero: none. */
    uint32_t members_min; /* Nobody is admitted before so many have joined once. */
};

enum sync_verdict { SYNC_NOW, SYNC_LATER, SYNC_TOO_LATE };

/* What makes a barrier. Pure functions of a few numbers. */
struct sync_policy {
    const char *name;
    bool rounds; /* A chunk closes when all members are in; else at every update. */
    /* May an update of @clock enter a chunk of @version? */
    enum sync_verdict (*push)(const struct sync_config *config, uint64_t clock, uint64_t version);
    /* May a worker that is about to compute @clock do so with @version? */
    bool (*read)(const struct sync_config *config, uint64_t clock, uint64_t version);
};

extern const struct sync_policy sync_bsp;
extern const struct sync_policy sync_ssp;
extern const struct sync_policy sync_tap;

/* The policy of that name, or NULL. */
const struct sync_policy *sync_policy_find(const char *name);

struct sync_member {
    bool present;
    bool admitted;
    uint32_t rank;
    uint64_t first; /* Updates of clocks before this are none of ours. */
    uint64_t clock; /* All it has up to here is in; at most what the barrier allows. */
    uint64_t said;  /* The same by its own word. */
};

/* Embedded in its owner; fields are private to src/sync. */
struct sync {
    struct sync_config config;
    struct sync_member *members;
    uint32_t members_capacity;
    uint32_t members_count; /* Present. */
    bool started;           /* members_min was reached once. */
    uint32_t chunks_count;
    uint32_t chunks_capacity;
    uint64_t *versions;  /* By chunk. */
    uint64_t *gathered;  /* By chunk: the round, if it is after the version. */
    uint64_t *pushed;    /* By chunk and member: its last clock in the sum or closed. */
    uint64_t *contained; /* The same when the chunk was last closed. */
    uint64_t version;    /* Of the shard. */
    uint64_t seen;       /* The largest clock that anybody has begun to send. */
    int64_t deadline_ns;
    uint32_t sweep;  /* Next chunk to look at; chunks_count: none. */
    uint32_t behind; /* Where to look first for a chunk of the shard's version. */
    bool resumed;    /* Members came back, and chunks were not looked at since. */
};

/* Start with no members and no chunks. ERR_INVALID if the settings do not go together. */
MUST_USE enum err sync_init(struct sync *s, const struct sync_config *config,
                            struct err_text *text);
void sync_deinit(struct sync *s);

/* Room for @count more chunks. ERR_NOMEM, ERR_TOO_BIG. */
MUST_USE enum err sync_reserve(struct sync *s, uint32_t count);

/* @count more chunks, of the shard's version; not while an update has more. ERR_NOMEM (not after
 * sync_reserve()), ERR_TOO_BIG: nothing has changed. */
MUST_USE enum err sync_grow(struct sync *s, uint32_t count);

/* Forget the chunks from @first on, @count of them; the others move down. Not while an update has
 * more. SYNC_CONTINUE is due: they may have been the oldest. */
void sync_shrink(struct sync *s, uint32_t first, uint32_t count);

/* Feed one event; on OK @update holds what to do, in order. ERR_NOMEM (joining only),
 * ERR_PEER if no correct peer could have caused it: nothing has changed then. */
MUST_USE enum err sync_step(struct sync *s, const struct sync_event *event,
                            struct sync_update *update);

/* When a SYNC_TIMEOUT is wanted, or SYNC_NEVER. */
static inline int64_t sync_deadline(const struct sync *s)
{
    return s->deadline_ns;
}

/* After a restart: the site has begun long ago, nobody waits for members_min. Those who do already
 * are let in by the next SYNC_JOIN or SYNC_CONTINUE. */
void sync_restart(struct sync *s);

/* Whoever joins from now on begins with this clock, or a later one. */
void sync_defer(struct sync *s, uint64_t clock);

/* After a restart, before anybody has joined: what the chunk holds. */
void sync_restore(struct sync *s, uint32_t chunk, uint64_t version);

/* And the clock that all had ended, if no chunk tells: there are none, or they count updates. */
void sync_restore_clock(struct sync *s, uint64_t clock);

/* After a join that resumes, before any other event: updates of the member up to @clock are
 * contained in the chunk. */
void sync_restore_member(struct sync *s, uint32_t chunk, uint32_t member, uint64_t clock);

static inline uint64_t sync_version(const struct sync *s)
{
    return s->version;
}

static inline uint64_t sync_chunk_version(const struct sync *s, uint32_t chunk)
{
    return s->versions[chunk];
}

/* Up to which clock the member's updates are contained in the chunk as last closed; of one that has
 * left, until its place is taken again. */
uint64_t sync_contained(const struct sync *s, uint32_t chunk, uint32_t member);

/* Is the sum of the chunk's open round whole, and waits for other sites? */
static inline bool sync_gathered(const struct sync *s, uint32_t chunk)
{
    return s->gathered[chunk] > s->versions[chunk];
}

bool sync_is_member(const struct sync *s, uint32_t member);
/* It has joined, and is let in when enough others have. */
bool sync_is_waiting(const struct sync *s, uint32_t member);
uint64_t sync_member_clock(const struct sync *s, uint32_t member);

/* The first clock of which an update of the member would count now. */
uint64_t sync_open_clock(const struct sync *s, uint32_t chunk, uint32_t member);

/* For those who ask why: does the shard wait for this member to close the round after version()? */
bool sync_waits_for(const struct sync *s, uint32_t member);

/* Were members_min here once? */
static inline bool sync_has_started(const struct sync *s)
{
    return s->started;
}

/* What must always hold, for tests and simulations. */
bool sync_invariant(const struct sync *s);

/* Words for transcripts and logs. */
const char *sync_event_name(enum sync_event_type type);
const char *sync_action_name(enum sync_action_type type);
const char *sync_reason_name(enum sync_reason reason);

#endif
