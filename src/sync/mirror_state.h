/* What a mirror machine keeps; for sync/mirror*.c only. */

#ifndef SYNC_MIRROR_STATE_H
#define SYNC_MIRROR_STATE_H

#include "sync/mirror.h"

/* What pieces and relays begin with: when they are over, only this counts. */
struct mirror_payload {
    struct list link;
    void *token;
};

/* What our site adds to one chunk, until all sites have it. */
struct mirror_piece {
    struct mirror_payload base; /* In the list of its chunk, in order; or released. */
    uint32_t chunk;
    uint32_t bytes;
    uint64_t place; /* In the log. */
    uint64_t prev;
    uint64_t number;
    uint64_t clock;
    uint64_t sent;   /* Bits: sites that we sent it to ourselves. */
    uint64_t known;  /* Bits: sites that may have it, as it was sent once. */
    uint32_t passed; /* Bits: groups it went to by hubs. */
};

/* What came from a site and goes on to another one. */
struct mirror_relay {
    struct mirror_payload base; /* In the list of the next hop; or released. */
    uint32_t chunk;
    uint32_t groups;
    uint32_t bytes;
    uint32_t count;
    uint64_t made; /* Its number among those for its next hop. */
    uint64_t clock;
    struct mirror_range ranges[];
};

static inline uint64_t mirror_bit(uint32_t site)
{
    return UINT64_C(1) << site;
}

static inline struct mirror_piece *mirror_at(const struct mirror *m, uint64_t place)
{
    return m->log[place & (m->log_capacity - 1)];
}

/* mirror.c */
/* The site has all up to @stable and wants the rest directly. */
void mirror_rewind(struct mirror *m, uint32_t site, uint64_t stable);
/* Something of @site is missing here: ask for it. */
void mirror_ask(struct mirror *m, uint32_t site);

static inline struct mirror_piece *mirror_piece_of(struct list *link)
{
    return LIST_ENTRY(link, struct mirror_piece, base.link);
}

static inline struct mirror_relay *mirror_relay_of(struct list *link)
{
    return LIST_ENTRY(link, struct mirror_relay, base.link);
}

/* mirror_way.c */
/* Look again who are hubs: somebody came or went. @restarted: that one has lost what it was to pass
 * on; or MIRROR_NOBODY. */
void mirror_ways_look(struct mirror *m, uint32_t restarted);
/* Do pieces of that number go to the site without a hub? */
bool mirror_is_straight(const struct mirror *m, uint32_t site, uint64_t number);
/* The next hop to a group, or MIRROR_NOBODY. */
uint32_t mirror_way_hop(const struct mirror *m, uint32_t group);
/* A mark of a site of our group has come, or our own clock has advanced. */
void mirror_gathered(struct mirror *m, uint32_t site);
void mirror_gather_tick(struct mirror *m, int64_t now_ns);
void mirror_relays_drop(struct mirror *m, uint32_t site);
/* May what is gathered for that hop go now? */
bool mirror_goes(const struct mirror *m, uint32_t peer);
void mirror_pass_mark(struct mirror *m, uint32_t peer, const struct mirror_mark *mark);

#endif
