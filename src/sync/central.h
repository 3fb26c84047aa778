/* Rounds of several sites around one of them, the centre, as a pure machine: one lane's part in it
 * (APSP, Algorithm 1). A site gathers the sum of its workers' updates of a chunk and sends it to
 * the centre; that adds up the sums of all sites, and the result of the round goes back to all,
 * who enter it alike. So copies are equal, round by round, to the last bit.
 *
 * A *plan* says who is the centre and which sites are active; it has an epoch, and the highest one
 * counts. When a plan comes, rounds stop; each active site says how it stands, and when all have,
 * the centre begins:
 *
 *     adopt -> stand (to the centre) -> begin -> go (to all) -> sums, results, copies
 *
 * What was under way by the plan before is forgotten: sums are sent again. What was closed by it is
 * not: whoever has the newest version of a chunk gives it to those who have not, whole. Of several
 * the word of those counts who went by the latest plan; others take copies.
 * Each chunk names the last round that a site's sum was in, so a site that was left out knows what
 * of it counts, and sends the rest with the next round: nothing is lost, nothing counts twice. A
 * round closes only when all active sites have the one before, so no two of them are further apart
 * than a round, and to keep one's own sum of the last one is enough.
 *
 * Plans must have more than half of all sites, and of those that remember anything: else what the
 * others closed is forgotten.
 *
 * A site whose workers have left is idle: it gets results, and nobody waits for it. */

#ifndef SYNC_CENTRAL_H
#define SYNC_CENTRAL_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum { CENTRAL_SITES_MAX = 64 };

#define CENTRAL_EVER UINT64_MAX
#define CENTRAL_NONE UINT64_MAX                  /* No version: it has to get a copy. */
#define CENTRAL_VOID (UINT64_C(1) << 63)         /* In a stand: not to be believed. */
#define CENTRAL_ROUND_LAST ((uint64_t)INT64_MAX) /* Rounds are counted from one. */

struct central_plan {
    uint32_t epoch;  /* Not zero. */
    uint32_t centre; /* A site by index, active. */
    uint64_t active; /* Bits by index. */
};

/* How a site stands when a plan begins. */
struct central_stand {
    uint32_t epoch;
    uint32_t last;  /* Epoch of the last plan that began here; zero: none. */
    uint64_t since; /* Rounds that it has sums for: since ... */
    uint64_t until; /* ... until; CENTRAL_EVER: it has workers. */
    uint32_t chunks;
    const uint64_t *versions; /* Of each chunk, perhaps with CENTRAL_VOID: borrowed. */
};

struct central_ring {
    uint32_t *at;
    uint32_t first;
    uint32_t count;
};

struct central_chunk {
    uint64_t version;  /* That is here. */
    uint64_t gathered; /* The round whose sum is whole here, or zero. */
    uint64_t kept;     /* The last round with a sum of this site in it, until the next has closed;
                        * zero: none. */
    bool empty;        /* .version is not to be believed. */
    bool queued;       /* The sum is to be sent. */
    bool sent;         /* It was, or is to be, by this plan. */
    uint64_t top;      /* Centre: the newest version there is. */
    uint32_t holder;   /* Centre: who has it. */
    uint64_t in;       /* Centre: whose sums for the round after .top are in. */
};

struct central_site {
    bool stood;
    uint32_t last;
    uint64_t since;
    uint64_t until;
    uint64_t *versions; /* As it stood. */
    uint32_t versions_count;
    struct central_ring queue; /* Chunks of which it does not have the newest version. */
};

/* Fields are private to src/sync. */
struct central {
    uint32_t sites;
    uint32_t self;
    bool ordered;
    struct central_plan plan;
    bool begun;
    bool alive;     /* A plan has begun since it was made. */
    uint64_t unfit; /* Centre: bits of sites that know a round that does not count. */
    uint32_t last;
    uint64_t since;
    uint64_t until;
    struct central_chunk *chunks;
    uint32_t chunks_count;
    uint32_t chunks_capacity;
    uint64_t *counted; /* By chunk and site: the last round that its sum is in. */
    uint64_t *has;     /* Centre, likewise: the version that the site has or will have. */
    uint64_t *acked;   /* Centre, likewise: that it has. */
    uint64_t *queued;  /* Centre, by chunk: bits of sites. */
    uint64_t *said;    /* Versions, for a stand. */
    struct central_site *list;
    struct central_ring sums; /* Chunks whose sums are to be sent. */
    struct central_ring asks; /* Centre: of which it needs a copy. */
    uint32_t sweep;           /* Centre: next chunk that may be complete; chunks_count: none. */
};

/* @sites in all, of which this is @self. @ordered: sums are added in the order of sites.
 * ERR_NOMEM. */
MUST_USE enum err central_init(struct central *c, uint32_t sites, uint32_t self, bool ordered);
void central_deinit(struct central *c);

/* @count more chunks of @version; not before room was made for them. */
MUST_USE enum err central_reserve(struct central *c, uint32_t count); /* ERR_NOMEM. */
void central_grow(struct central *c, uint32_t count, uint64_t version);

/* After a restart, before any plan: what the chunk holds, and whose sums are in it. */
void central_restore(struct central *c, uint32_t chunk, uint64_t version, const uint64_t *counted);
void central_restore_last(struct central *c, uint32_t epoch);

/* A plan. False if it is not newer. Then, if this site is active, it has to say how it stands. */
MUST_USE bool central_adopt(struct central *c, const struct central_plan *plan);
struct central_stand central_stand(struct central *c);

/* Centre: a site stands so, this one too. ERR_AGAIN: it has other chunks than this site, or it is
 * of another plan: nothing has changed. ERR_PEER: it cannot be. ERR_NOMEM. */
MUST_USE enum err central_stood(struct central *c, uint32_t site,
                                const struct central_stand *stand);

/* Centre: all have said so; begin. False: not yet, or with central_is_unfit() never: another plan
 * is needed. Then all others are to be told to go. */
MUST_USE bool central_begin(struct central *c);
static inline bool central_is_unfit(const struct central *c)
{
    return (c->unfit >> c->self & 1) != 0;
}

/* Then the centre of the next plan must not be one of these, or two that are unfit would name each
 * other for ever. At least one active site is none of them. */
static inline uint64_t central_unfit(const struct central *c)
{
    return c->unfit;
}

/* Centre, just after: bits of chunks of which the site is not believed; room for all chunks. To be
 * told when to go, as the next. */
void central_voids(const struct central *c, uint32_t site, uint64_t *bits_out);

/* Centre: the first round that a site has sums for. */
uint64_t central_since(const struct central *c, uint32_t site);

/* The centre says that the plan begins, with @voids and @since as above. */
void central_go(struct central *c, uint32_t epoch, const uint64_t *voids, uint64_t since);

/* This site's sum of a chunk for @round is whole: the round after the version. */
void central_gathered(struct central *c, uint32_t chunk, uint64_t round);

/* Not the centre: a sum that is to be sent there now, or false. */
MUST_USE bool central_next_sum(struct central *c, uint32_t *chunk_out, uint64_t *round_out);

enum central_verdict {
    CENTRAL_TAKE,
    CENTRAL_LATER, /* Ordered: others come first. Offer it again. */
    CENTRAL_KNOWN, /* It is in already. */
    CENTRAL_STALE, /* Of another plan. */
    CENTRAL_WRONG, /* No correct peer sends that. */
};

/* Centre: a site's sum came. On CENTRAL_TAKE it is to be added, and counts as added. This site's
 * own is offered so, too, when central_own() says so. */
MUST_USE enum central_verdict central_sum(struct central *c, uint32_t epoch, uint32_t site,
                                          uint32_t chunk, uint64_t round);

/* Centre: is the chunk's own sum whole, and not in yet? */
bool central_own(const struct central *c, uint32_t chunk);

/* Centre: a chunk whose round is complete, or false. Looks at @chunk, or with CENTRAL_SWEEP at
 * those that idle sites or a new plan may have completed. */
#define CENTRAL_SWEEP UINT32_MAX
MUST_USE bool central_complete(struct central *c, uint32_t chunk, uint32_t *chunk_out);

/* What becomes of this site's own sums when a chunk has a newer version. */
enum central_fate {
    CENTRAL_STAYS, /* As it is. The open sum: it goes with the next round. */
    CENTRAL_KEEP,  /* Of the open sum: it counts, and is to be kept in place of the one before. */
    CENTRAL_DROP,  /* It counts for good. */
    CENTRAL_ADD,   /* Of the kept one: it does not count. Add it to the open sum. */
};

struct central_own {
    enum central_fate open;
    enum central_fate kept;
};

/* Centre: the result of the chunk's round is in the values here. @sites_out: bits of those whose
 * sums are in it. */
struct central_own central_closed(struct central *c, uint32_t chunk, uint64_t *sites_out);

/* Centre: what a site has to get next, or false: version @top_out of a chunk, of which it has the
 * one before, or must have it whole. It counts as sent. */
MUST_USE bool central_next_result(struct central *c, uint32_t site, uint32_t *chunk_out,
                                  bool *whole_out);

/* Centre: a chunk that it must ask for, and of whom; or false. */
MUST_USE bool central_next_ask(struct central *c, uint32_t *site_out, uint32_t *chunk_out);

/* A result came, and should be entered on CENTRAL_TAKE: then central_entered(). */
MUST_USE enum central_verdict central_result(const struct central *c, uint32_t epoch,
                                             uint32_t chunk, uint64_t round);
/* A whole chunk came, likewise: then central_copied(). */
MUST_USE enum central_verdict central_copy(const struct central *c, uint32_t epoch, uint32_t chunk,
                                           uint64_t version);

/* Round @round is in the values, with the sums of @sites. */
struct central_own central_entered(struct central *c, uint32_t chunk, uint64_t round,
                                   uint64_t sites);

/* The chunk is as @version has it; @counted of each site. */
struct central_own central_copied(struct central *c, uint32_t chunk, uint64_t version,
                                  const uint64_t *counted);

/* Centre: that site says that it has a version of a chunk. */
void central_acked(struct central *c, uint32_t epoch, uint32_t site, uint32_t chunk,
                   uint64_t version);

/* This site has no sums after round @after; or it has again, from which round on? The centre says,
 * and is told by messages; it calls these for itself too. */
void central_idle(struct central *c, uint32_t site, uint64_t after);
uint64_t central_busy(struct central *c, uint32_t site);
/* Not the centre: as above, for this site. */
void central_set_busy(struct central *c, uint64_t since, uint64_t until);

static inline bool central_is_centre(const struct central *c)
{
    return c->plan.epoch != 0 && c->plan.centre == c->self;
}

static inline bool central_is_active(const struct central *c, uint32_t site)
{
    return (c->plan.active >> site & 1) != 0;
}

/* Is all that is here to be believed? If not, workers must wait: for a plan to begin, and for
 * copies. What they made in an earlier life of this process may be in these. */
bool central_is_whole(const struct central *c);

/* For whom this site waits. */
enum central_wait {
    CENTRAL_WAIT_NOBODY,
    CENTRAL_WAIT_PLAN,   /* To say how it stands, or that the plan begins; perhaps for nobody. */
    CENTRAL_WAIT_COPY,   /* For whole chunks from there. */
    CENTRAL_WAIT_SUM,    /* Centre: for its sums. */
    CENTRAL_WAIT_TAKEN,  /* Centre: to have got the last results. */
    CENTRAL_WAIT_RESULT, /* For results of the centre. */
};

/* @site_out: the one that is missing most often; CENTRAL_SITES_MAX: none. */
enum central_wait central_waits(const struct central *c, uint32_t *site_out);

/* Nothing of this site, or for others at the centre, is under way any more. */
bool central_is_quiet(const struct central *c);

static inline uint64_t central_counted(const struct central *c, uint32_t chunk, uint32_t site)
{
    return c->counted[(uint64_t)chunk * c->sites + site];
}

/* What must always hold, for tests and simulations: NULL, or what does not. */
const char *central_broken(const struct central *c);

#endif
