/* Selective barriers (G5): elements that are known to be old, until the pieces come that were
 * announced. Readers of just these wait; everybody else goes on.
 *
 * A barrier names elements of one chunk, and what must be contained before they may be read again:
 * a number for one site, or for several if a hub added their pieces up. Barriers of a chunk that
 * wait for the same site become one: their elements together, the larger number.
 *
 * No barrier waits for ever unless its site is waited for anyhow. A barrier that hubs passed on is
 * about the site that made the pieces, as any other, and that site owes them to us by whatever way:
 *
 *   - they are lost on the way, with a hub or its session, or cannot be used as they came: their
 *     site sends them directly, under the same numbers;
 *   - they came as a part of a copy: the numbers of the copy count;
 *   - their site has left us out and keeps them no longer: we take a copy, and what that lacks some
 *     site still keeps;
 *   - their site is left out here: nobody waits for it;
 *   - their site lost them with its memory: its report tells of its next life, and barriers of
 *     the one before are over, also those that hubs bring later;
 *   - their site announced them before they were stored, died, and goes on in the same life without
 *     them: it gets to the same clock again, maybe with fewer pieces, and its mark for that clock
 *     says that there are no more; or it is done.
 *
 * So whoever has moved a chunk, a mark, a life, or who is left out, has to look again. */

#ifndef SYNC_SELECTIVE_H
#define SYNC_SELECTIVE_H

#include "base/list.h"
#include "sync/mirror.h"

struct selective {
    struct list *barriers; /* By chunk. */
    uint32_t chunks_count;
    uint32_t count; /* Barriers in all. */
};

void selective_init(struct selective *s);
void selective_deinit(struct selective *s);
MUST_USE enum err selective_grow(struct selective *s, uint32_t chunks);

/* Readers of the elements of @bitmap (@words of 64 bits) wait for all of @ranges, or for all of
 * their sites up to @clock. Those that @m has are left away; a barrier that has come too late does
 * nothing. @now_ns is kept for those who ask how long. ERR_NOMEM: what there was stays, and only
 * some of @ranges may be waited for. */
MUST_USE enum err selective_raise(struct selective *s, const struct mirror *m, uint32_t chunk,
                                  uint64_t clock, const struct mirror_range *ranges, uint32_t count,
                                  const uint64_t *bitmap, uint32_t words, int64_t now_ns);

/* Would such a barrier do nothing? */
bool selective_is_late(const struct mirror *m, uint32_t chunk, uint64_t clock,
                       const struct mirror_range *ranges, uint32_t count);

/* Pieces of the chunk have come, a mark has moved, or a site is no longer waited for: barriers that
 * are over go. True if some did. */
bool selective_look(struct selective *s, const struct mirror *m, uint32_t chunk);
bool selective_look_all(struct selective *s, const struct mirror *m);

/* May elements [first, first + count) of the chunk be read? If not: for which site one waits, and
 * since when. */
bool selective_may_read(const struct selective *s, uint32_t chunk, uint32_t first, uint32_t count,
                        uint32_t *site_out, int64_t *since_ns_out);

/* Is there any barrier in the chunk? */
static inline bool selective_is_free(const struct selective *s, uint32_t chunk)
{
    return list_empty(&s->barriers[chunk]);
}

#endif
