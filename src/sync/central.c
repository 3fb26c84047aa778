#include "sync/central.h"

#include "base/mem.h"

#include <string.h>

/* Rings of chunks. Each holds a chunk at most once, so that it never has more than there are. */

static void ring_push(const struct central *c, struct central_ring *r, uint32_t chunk)
{
    uint32_t at = r->first + r->count;

    CHECK(r->count < c->chunks_capacity);
    r->at[at < c->chunks_capacity ? at : at - c->chunks_capacity] = chunk;
    r->count++;
}

static uint32_t ring_pop(const struct central *c, struct central_ring *r)
{
    uint32_t chunk = r->at[r->first];

    r->first = r->first + 1 < c->chunks_capacity ? r->first + 1 : 0;
    r->count--;
    return chunk;
}

static void ring_clear(struct central_ring *r)
{
    r->first = 0;
    r->count = 0;
}

static uint32_t *ring_moved(const struct central *c, const struct central_ring *r,
                            uint32_t capacity)
{
    uint32_t *at = mem_calloc((size_t)capacity + 1, sizeof(*at));

    for (uint32_t i = 0; at != NULL && i < r->count; i++) {
        at[i] = r->at[(r->first + i) % c->chunks_capacity];
    }
    return at;
}

static void ring_take(struct central_ring *r, uint32_t *at)
{
    mem_free(r->at);
    r->at = at;
    r->first = 0;
}

static size_t central_at(const struct central *c, uint32_t chunk, uint32_t site)
{
    return (size_t)chunk * c->sites + site;
}

/* Making. */

enum err central_init(struct central *c, uint32_t sites, uint32_t self, bool ordered)
{
    CHECK(sites > 0 && sites <= CENTRAL_SITES_MAX && self < sites);
    *c = (struct central){.sites = sites, .self = self, .ordered = ordered};
    c->since = 1;
    c->until = CENTRAL_EVER;
    c->list = mem_calloc(sites, sizeof(*c->list));
    return c->list == NULL ? ERR_NOMEM : OK;
}

void central_deinit(struct central *c)
{
    for (uint32_t s = 0; c->list != NULL && s < c->sites; s++) {
        mem_free(c->list[s].versions);
        mem_free(c->list[s].queue.at);
    }
    mem_free(c->list);
    mem_free(c->chunks);
    mem_free(c->counted);
    mem_free(c->has);
    mem_free(c->acked);
    mem_free(c->queued);
    mem_free(c->said);
    mem_free(c->sums.at);
    mem_free(c->asks.at);
    *c = (struct central){0};
}

/* Arrays for more chunks. */
struct central_room {
    struct central_chunk *chunks;
    uint64_t *counted;
    uint64_t *has;
    uint64_t *acked;
    uint64_t *queued;
    uint64_t *said;
    uint32_t *rings[CENTRAL_SITES_MAX + 2];
};

static void central_room_free(const struct central *c, struct central_room *room)
{
    mem_free(room->chunks);
    mem_free(room->counted);
    mem_free(room->has);
    mem_free(room->acked);
    mem_free(room->queued);
    mem_free(room->said);
    for (uint32_t i = 0; i < c->sites + 2; i++) {
        mem_free(room->rings[i]);
    }
}

static bool central_room_make(const struct central *c, uint32_t capacity, struct central_room *room)
{
    size_t cells = (size_t)capacity * c->sites;
    bool made;

    *room = (struct central_room){
        .chunks = mem_calloc(capacity, sizeof(*room->chunks)),
        .counted = mem_calloc(cells, sizeof(*room->counted)),
        .has = mem_calloc(cells, sizeof(*room->has)),
        .acked = mem_calloc(cells, sizeof(*room->acked)),
        .queued = mem_calloc(capacity, sizeof(*room->queued)),
        .said = mem_calloc(capacity, sizeof(*room->said)),
    };
    made = room->chunks != NULL && room->counted != NULL && room->has != NULL &&
           room->acked != NULL && room->queued != NULL && room->said != NULL;
    for (uint32_t i = 0; i < c->sites + 2 && made; i++) {
        const struct central_ring *r = i < c->sites    ? &c->list[i].queue
                                       : i == c->sites ? &c->sums
                                                       : &c->asks;

        room->rings[i] = ring_moved(c, r, capacity);
        made = room->rings[i] != NULL;
    }
    return made;
}

enum err central_reserve(struct central *c, uint32_t count)
{
    uint32_t capacity = c->chunks_count + count;
    struct central_room room;

    if (capacity <= c->chunks_capacity) {
        return OK;
    }
    if (!central_room_make(c, capacity, &room)) {
        central_room_free(c, &room);
        return ERR_NOMEM;
    }
    if (c->chunks_count > 0) {
        memcpy(room.chunks, c->chunks, c->chunks_count * sizeof(*room.chunks));
        memcpy(room.counted, c->counted, central_at(c, c->chunks_count, 0) * sizeof(uint64_t));
        memcpy(room.has, c->has, central_at(c, c->chunks_count, 0) * sizeof(uint64_t));
        memcpy(room.acked, c->acked, central_at(c, c->chunks_count, 0) * sizeof(uint64_t));
        memcpy(room.queued, c->queued, c->chunks_count * sizeof(uint64_t));
    }
    mem_free(c->chunks);
    mem_free(c->counted);
    mem_free(c->has);
    mem_free(c->acked);
    mem_free(c->queued);
    mem_free(c->said);
    c->chunks = room.chunks;
    c->counted = room.counted;
    c->has = room.has;
    c->acked = room.acked;
    c->queued = room.queued;
    c->said = room.said;
    for (uint32_t s = 0; s < c->sites; s++) {
        ring_take(&c->list[s].queue, room.rings[s]);
    }
    ring_take(&c->sums, room.rings[c->sites]);
    ring_take(&c->asks, room.rings[c->sites + 1]);
    c->chunks_capacity = capacity;
    return OK;
}

void central_grow(struct central *c, uint32_t count, uint64_t version)
{
    CHECK(c->chunks_count + count <= c->chunks_capacity);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t chunk = c->chunks_count++;

        c->chunks[chunk] = (struct central_chunk){.version = version, .top = version};
        c->queued[chunk] = 0;
        for (uint32_t s = 0; s < c->sites; s++) {
            c->counted[central_at(c, chunk, s)] = version;
            c->has[central_at(c, chunk, s)] = version;
            c->acked[central_at(c, chunk, s)] = version;
        }
    }
    c->sweep = 0;
}

void central_restore(struct central *c, uint32_t chunk, uint64_t version, const uint64_t *counted)
{
    CHECK(chunk < c->chunks_count && c->plan.epoch == 0);
    c->chunks[chunk].version = version;
    memcpy(c->counted + central_at(c, chunk, 0), counted, c->sites * sizeof(*counted));
}

void central_restore_last(struct central *c, uint32_t epoch)
{
    c->last = epoch;
}

/* Plans. */

bool central_adopt(struct central *c, const struct central_plan *plan)
{
    CHECK(plan->centre < c->sites && (plan->active >> plan->centre & 1) != 0);
    if (plan->epoch <= c->plan.epoch) {
        return false;
    }
    c->plan = *plan;
    c->begun = false;
    c->unfit = 0;
    ring_clear(&c->sums);
    ring_clear(&c->asks);
    for (uint32_t s = 0; s < c->sites; s++) {
        c->list[s].stood = false;
        ring_clear(&c->list[s].queue);
    }
    for (uint32_t i = 0; i < c->chunks_count; i++) {
        c->chunks[i].queued = false;
        c->chunks[i].sent = false;
        c->chunks[i].in = 0;
        c->queued[i] = 0;
    }
    c->sweep = c->chunks_count;
    return true;
}

struct central_stand central_stand(struct central *c)
{
    for (uint32_t i = 0; i < c->chunks_count; i++) {
        c->said[i] = c->chunks[i].version | (c->chunks[i].empty ? CENTRAL_VOID : 0);
    }
    return (struct central_stand){.epoch = c->plan.epoch,
                                  .last = c->last,
                                  .since = c->since,
                                  .until = c->until,
                                  .chunks = c->chunks_count,
                                  .versions = c->said};
}

enum err central_stood(struct central *c, uint32_t site, const struct central_stand *stand)
{
    struct central_site *s;
    uint64_t *versions;

    if (site >= c->sites) {
        return ERR_PEER;
    }
    if (!central_is_centre(c) || stand->epoch != c->plan.epoch || c->begun ||
        !central_is_active(c, site) || stand->chunks != c->chunks_count) {
        return ERR_AGAIN;
    }
    for (uint32_t i = 0; i < stand->chunks; i++) {
        if ((stand->versions[i] & ~CENTRAL_VOID) > CENTRAL_ROUND_LAST) {
            return ERR_PEER;
        }
    }
    versions = mem_calloc((size_t)stand->chunks + 1, sizeof(*versions));
    if (versions == NULL) {
        return ERR_NOMEM;
    }
    if (stand->chunks > 0) {
        memcpy(versions, stand->versions, stand->chunks * sizeof(*versions));
    }
    s = &c->list[site];
    mem_free(s->versions);
    s->versions = versions;
    s->versions_count = stand->chunks;
    s->stood = true;
    s->last = stand->last;
    s->since = stand->since;
    s->until = stand->until;
    return OK;
}

/* An active site that has not said how it stands, with all chunks; CENTRAL_SITES_MAX: none. */
static uint32_t central_unsaid(const struct central *c)
{
    for (uint32_t s = 0; s < c->sites; s++) {
        if (central_is_active(c, s) &&
            (!c->list[s].stood || c->list[s].versions_count != c->chunks_count)) {
            return s;
        }
    }
    return CENTRAL_SITES_MAX;
}

/* Has an active site gone by a plan before? */
static bool central_any_began(const struct central *c)
{
    for (uint32_t s = 0; s < c->sites; s++) {
        if (central_is_active(c, s) && c->list[s].last != 0) {
            return true;
        }
    }
    return false;
}

/* Of a chunk the word of those counts who have it and went by the latest plan. One that went by a
 * later plan and has not got it yet means nothing: no round closes before all have it. One that
 * has restarted, and went by no plan since, has what tables start with: that is a word only if all
 * sites start. */
static bool central_word(const struct central *c, uint32_t chunk, uint32_t site, bool lost)
{
    return central_is_active(c, site) &&
           (lost || ((c->list[site].versions[chunk] & CENTRAL_VOID) == 0 &&
                     (c->list[site].last != 0 || !central_any_began(c))));
}

/* The newest version of a chunk that can be believed. If nobody has one it is lost, and the newest
 * of what is there has to do. */
static void central_find_top(struct central *c, uint32_t chunk)
{
    struct central_chunk *k = &c->chunks[chunk];
    uint32_t last = 0;
    bool lost = true;

    for (uint32_t s = 0; s < c->sites; s++) {
        lost = lost && !central_word(c, chunk, s, false);
    }
    for (uint32_t s = 0; s < c->sites; s++) {
        if (central_word(c, chunk, s, lost) && c->list[s].last > last) {
            last = c->list[s].last;
        }
    }
    k->holder = UINT32_MAX;
    for (uint32_t s = 0; s < c->sites; s++) {
        uint64_t version = c->list[s].stood ? c->list[s].versions[chunk] & ~CENTRAL_VOID : 0;

        if (central_word(c, chunk, s, lost) && c->list[s].last == last &&
            (k->holder == UINT32_MAX || version > k->top || (version == k->top && s == c->self))) {
            k->top = version;
            k->holder = s;
        }
    }
    for (uint32_t s = 0; s < c->sites; s++) {
        bool believed =
            s == k->holder || (central_word(c, chunk, s, false) && c->list[s].last == last);

        c->has[central_at(c, chunk, s)] =
            believed ? c->list[s].versions[chunk] & ~CENTRAL_VOID : CENTRAL_NONE;
        c->acked[central_at(c, chunk, s)] = c->has[central_at(c, chunk, s)];
    }
}

/* A site that is not believed may be ahead of what counts: it waits until it no longer is. */
static bool central_ahead(const struct central *c, uint32_t chunk, uint32_t site)
{
    return c->has[central_at(c, chunk, site)] == CENTRAL_NONE &&
           (c->list[site].versions[chunk] & ~CENTRAL_VOID) > c->chunks[chunk].top;
}

static void central_queue(struct central *c, uint32_t chunk)
{
    for (uint32_t s = 0; s < c->sites; s++) {
        if (s != c->self && central_is_active(c, s) &&
            c->has[central_at(c, chunk, s)] != c->chunks[chunk].top &&
            (c->queued[chunk] >> s & 1) == 0 && !central_ahead(c, chunk, s)) {
            c->queued[chunk] |= UINT64_C(1) << s;
            ring_push(c, &c->list[s].queue, chunk);
        }
    }
}

/* The centre's own copy of a chunk is the newest. */
static bool central_here(const struct central *c, uint32_t chunk)
{
    return !c->chunks[chunk].empty && c->chunks[chunk].version == c->chunks[chunk].top;
}

/* The first round that has not begun anywhere. */
static uint64_t central_entry(const struct central *c)
{
    uint64_t top = 0;
    bool begun = false;

    for (uint32_t i = 0; i < c->chunks_count; i++) {
        if (c->chunks[i].top > top) {
            top = c->chunks[i].top;
            begun = false;
        }
        begun = begun || (c->chunks[i].top == top && c->chunks[i].in != 0);
    }
    return top + 1 + begun;
}

/* A site that was to have sums from a later round on has let nobody in yet, and what was later by
 * the plan before may be too late now. But not earlier either, as long as it may have made its sum
 * of a round: who is let in must not add to that. */
static void central_enter(struct central *c, uint32_t site)
{
    struct central_site *s = &c->list[site];
    uint64_t newest = 0;
    bool later = false;

    for (uint32_t i = 0; i < c->chunks_count && s->until == CENTRAL_EVER; i++) {
        uint64_t version = s->versions[i] & ~CENTRAL_VOID;

        newest = version > newest ? version : newest;
        later = later || version + 1 < s->since;
    }
    if (later) {
        uint64_t entry = central_entry(c);
        uint64_t own = s->since < newest + 2 ? s->since : newest + 2;

        s->since = own > entry ? own : entry;
    }
}

bool central_begin(struct central *c)
{
    if (!central_is_centre(c) || c->begun || c->unfit != 0 ||
        central_unsaid(c) != CENTRAL_SITES_MAX) {
        return false;
    }
    for (uint32_t i = 0; i < c->chunks_count; i++) {
        central_find_top(c, i);
        for (uint32_t s = 0; s < c->sites; s++) {
            bool ahead = central_is_active(c, s) && central_ahead(c, i, s);

            c->unfit |= ahead ? UINT64_C(1) << s : 0;
        }
    }
    if (central_is_unfit(c)) {
        return false;
    }
    c->unfit = 0;
    c->begun = true;
    c->alive = true;
    c->last = c->plan.epoch;
    for (uint32_t i = 0; i < c->chunks_count; i++) {
        struct central_chunk *k = &c->chunks[i];

        k->empty = c->has[central_at(c, i, c->self)] == CENTRAL_NONE;
        if (central_here(c, i)) {
            central_queue(c, i);
        } else {
            ring_push(c, &c->asks, i);
        }
    }
    for (uint32_t s = 0; s < c->sites; s++) {
        if (central_is_active(c, s)) {
            central_enter(c, s);
        }
    }
    c->sweep = 0;
    return true;
}

void central_voids(const struct central *c, uint32_t site, uint64_t *bits_out)
{
    for (uint32_t i = 0; i < (c->chunks_count + 63) / 64; i++) {
        bits_out[i] = 0;
    }
    for (uint32_t i = 0; i < c->chunks_count; i++) {
        if (c->has[central_at(c, i, site)] == CENTRAL_NONE) {
            bits_out[i / 64] |= UINT64_C(1) << (i % 64);
        }
    }
}

uint64_t central_since(const struct central *c, uint32_t site)
{
    return c->list[site].since;
}

/* Not the centre: whatever is gathered is to be sent. */
static void central_offer(struct central *c, uint32_t chunk)
{
    struct central_chunk *k = &c->chunks[chunk];

    if (c->begun && !central_is_centre(c) && !k->empty && !k->sent && k->gathered > k->version) {
        k->sent = true;
        k->queued = true;
        ring_push(c, &c->sums, chunk);
    }
}

void central_go(struct central *c, uint32_t epoch, const uint64_t *voids, uint64_t since)
{
    if (epoch != c->plan.epoch || c->begun || central_is_centre(c) ||
        !central_is_active(c, c->self)) {
        return;
    }
    c->begun = true;
    c->alive = true;
    c->last = epoch;
    c->since = since;
    for (uint32_t i = 0; i < c->chunks_count; i++) {
        /* Also of one that was empty: if nobody has it, what the holder has counts. */
        c->chunks[i].empty = (voids[i / 64] >> (i % 64) & 1) != 0;
        central_offer(c, i);
    }
}

/* Rounds of this site. */

void central_gathered(struct central *c, uint32_t chunk, uint64_t round)
{
    CHECK(chunk < c->chunks_count && round == c->chunks[chunk].version + 1);
    c->chunks[chunk].gathered = round;
    central_offer(c, chunk);
}

bool central_next_sum(struct central *c, uint32_t *chunk_out, uint64_t *round_out)
{
    if (!c->begun || c->sums.count == 0) {
        return false;
    }
    *chunk_out = ring_pop(c, &c->sums);
    *round_out = c->chunks[*chunk_out].gathered;
    c->chunks[*chunk_out].queued = false;
    return true;
}

enum central_verdict central_result(const struct central *c, uint32_t epoch, uint32_t chunk,
                                    uint64_t round)
{
    const struct central_chunk *k;

    if (epoch != c->plan.epoch || !c->begun) {
        return CENTRAL_STALE;
    }
    if (chunk >= c->chunks_count || central_is_centre(c)) {
        return CENTRAL_WRONG;
    }
    k = &c->chunks[chunk];
    if (!k->empty && round <= k->version) {
        return CENTRAL_KNOWN;
    }
    return k->empty || round != k->version + 1 ? CENTRAL_WRONG : CENTRAL_TAKE;
}

enum central_verdict central_copy(const struct central *c, uint32_t epoch, uint32_t chunk,
                                  uint64_t version)
{
    const struct central_chunk *k;

    if (epoch != c->plan.epoch || !c->begun) {
        return CENTRAL_STALE;
    }
    if (chunk >= c->chunks_count || version > CENTRAL_ROUND_LAST) {
        return CENTRAL_WRONG;
    }
    k = &c->chunks[chunk];
    if (central_is_centre(c)) {
        return version == k->top && !central_here(c, chunk) ? CENTRAL_TAKE : CENTRAL_KNOWN;
    }
    if (k->empty) {
        return version >= k->version ? CENTRAL_TAKE : CENTRAL_WRONG;
    }
    return version > k->version ? CENTRAL_TAKE : CENTRAL_KNOWN;
}

/* A sum that is to be sent, and need not be any more. */
static void central_unsend(struct central *c, uint32_t chunk)
{
    uint32_t count = c->chunks[chunk].queued ? c->sums.count : 0;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t other = ring_pop(c, &c->sums);

        if (other != chunk) {
            ring_push(c, &c->sums, other);
        }
    }
    c->chunks[chunk].queued = false;
}

/* The chunk has another version now, and .counted is that of it. */
static struct central_own central_move(struct central *c, uint32_t chunk, uint64_t version)
{
    struct central_chunk *k = &c->chunks[chunk];
    uint64_t counted = central_counted(c, chunk, c->self);
    struct central_own own = {.open = CENTRAL_STAYS, .kept = CENTRAL_STAYS};

    if (k->kept != 0 && counted < k->kept) {
        own.kept = CENTRAL_ADD;
        k->kept = 0;
    } else if (k->kept != 0 && k->kept < version) {
        own.kept = CENTRAL_DROP;
        k->kept = 0;
    }
    if (k->gathered != 0 && counted >= k->gathered) {
        own.open = k->gathered < version ? CENTRAL_DROP : CENTRAL_KEEP;
        k->kept = own.open == CENTRAL_KEEP ? k->gathered : k->kept;
    }
    central_unsend(c, chunk);
    k->version = version;
    k->empty = false;
    k->sent = false;
    if (k->gathered != version + 1) {
        k->gathered = 0;
    }
    central_offer(c, chunk); /* A copy of the same version: the round is still the next one. */
    return own;
}

static void central_count(struct central *c, uint32_t chunk, uint64_t round, uint64_t sites)
{
    for (uint32_t s = 0; s < c->sites; s++) {
        if ((sites >> s & 1) != 0) {
            c->counted[central_at(c, chunk, s)] = round;
        }
    }
}

struct central_own central_entered(struct central *c, uint32_t chunk, uint64_t round,
                                   uint64_t sites)
{
    central_count(c, chunk, round, sites);
    return central_move(c, chunk, round);
}

struct central_own central_copied(struct central *c, uint32_t chunk, uint64_t version,
                                  const uint64_t *counted)
{
    struct central_own own;

    memcpy(c->counted + central_at(c, chunk, 0), counted, c->sites * sizeof(*counted));
    own = central_move(c, chunk, version);
    if (central_is_centre(c) && c->begun) {
        c->has[central_at(c, chunk, c->self)] = version;
        central_queue(c, chunk);
    }
    return own;
}

/* Rounds of all sites: at the centre. */

/* Whose sums belong into the chunk's next round. */
static uint64_t central_expected(const struct central *c, uint32_t chunk)
{
    uint64_t round = c->chunks[chunk].top + 1;
    uint64_t expected = 0;

    for (uint32_t s = 0; s < c->sites; s++) {
        const struct central_site *site = &c->list[s];

        if (central_is_active(c, s) && site->since <= round && round <= site->until &&
            !central_ahead(c, chunk, s)) {
            expected |= UINT64_C(1) << s;
        }
    }
    return expected;
}

enum central_verdict central_sum(struct central *c, uint32_t epoch, uint32_t site, uint32_t chunk,
                                 uint64_t round)
{
    struct central_chunk *k;
    uint64_t bit;

    if (epoch != c->plan.epoch || !c->begun || !central_is_centre(c)) {
        return CENTRAL_STALE;
    }
    if (site >= c->sites || chunk >= c->chunks_count || !central_is_active(c, site)) {
        return CENTRAL_WRONG;
    }
    k = &c->chunks[chunk];
    bit = UINT64_C(1) << site;
    if (round <= k->top || (round == k->top + 1 && (k->in & bit) != 0)) {
        return CENTRAL_KNOWN;
    }
    if (round != k->top + 1) {
        return CENTRAL_WRONG;
    }
    if (c->ordered && (central_expected(c, chunk) & (bit - 1) & ~k->in) != 0) {
        return CENTRAL_LATER;
    }
    k->in |= bit;
    c->acked[central_at(c, chunk, site)] = k->top; /* Else it could not have it. */
    return CENTRAL_TAKE;
}

bool central_own(const struct central *c, uint32_t chunk)
{
    const struct central_chunk *k = &c->chunks[chunk];

    return c->begun && central_is_centre(c) && central_here(c, chunk) &&
           k->gathered == k->top + 1 && (k->in >> c->self & 1) == 0;
}

/* All active sites have the newest version, but those who must wait for the next. */
static bool central_level(const struct central *c, uint32_t chunk, bool *awaited_out)
{
    for (uint32_t s = 0; s < c->sites; s++) {
        if (s == c->self || !central_is_active(c, s) ||
            c->acked[central_at(c, chunk, s)] == c->chunks[chunk].top) {
            continue;
        }
        if (!central_ahead(c, chunk, s)) {
            return false;
        }
        *awaited_out = true;
    }
    return true;
}

/* A round in which nobody has anything closes only if somebody waits for it to get a copy. */
static bool central_is_complete(const struct central *c, uint32_t chunk)
{
    const struct central_chunk *k = &c->chunks[chunk];
    bool awaited = false;

    return central_here(c, chunk) && (central_expected(c, chunk) & ~k->in) == 0 &&
           central_level(c, chunk, &awaited) && (awaited || k->in != 0);
}

bool central_complete(struct central *c, uint32_t chunk, uint32_t *chunk_out)
{
    if (!c->begun || !central_is_centre(c)) {
        return false;
    }
    if (chunk != CENTRAL_SWEEP) {
        *chunk_out = chunk;
        return central_is_complete(c, chunk);
    }
    while (c->sweep < c->chunks_count) {
        *chunk_out = c->sweep;
        if (central_is_complete(c, c->sweep)) {
            return true;
        }
        c->sweep++;
    }
    return false;
}

struct central_own central_closed(struct central *c, uint32_t chunk, uint64_t *sites_out)
{
    struct central_chunk *k = &c->chunks[chunk];
    struct central_own own;

    CHECK(central_is_complete(c, chunk));
    *sites_out = k->in;
    k->top++;
    k->in = 0;
    k->holder = c->self;
    c->has[central_at(c, chunk, c->self)] = k->top;
    own = central_entered(c, chunk, k->top, *sites_out);
    central_queue(c, chunk);
    return own;
}

void central_acked(struct central *c, uint32_t epoch, uint32_t site, uint32_t chunk,
                   uint64_t version)
{
    if (epoch == c->plan.epoch && c->begun && central_is_centre(c) && site < c->sites &&
        chunk < c->chunks_count && version == c->chunks[chunk].top) {
        c->acked[central_at(c, chunk, site)] = version;
    }
}

bool central_next_result(struct central *c, uint32_t site, uint32_t *chunk_out, bool *whole_out)
{
    struct central_ring *queue = &c->list[site].queue;

    while (c->begun && central_is_centre(c) && queue->count > 0) {
        uint32_t chunk = ring_pop(c, queue);
        uint64_t *has = &c->has[central_at(c, chunk, site)];
        uint64_t top = c->chunks[chunk].top;

        c->queued[chunk] &= ~(UINT64_C(1) << site);
        if (*has != top) {
            *chunk_out = chunk;
            *whole_out = *has == CENTRAL_NONE || *has + 1 != top;
            *has = top;
            return true;
        }
    }
    return false;
}

bool central_next_ask(struct central *c, uint32_t *site_out, uint32_t *chunk_out)
{
    if (!c->begun || c->asks.count == 0) {
        return false;
    }
    *chunk_out = ring_pop(c, &c->asks);
    *site_out = c->chunks[*chunk_out].holder;
    return true;
}

void central_idle(struct central *c, uint32_t site, uint64_t after)
{
    c->list[site].until = after;
    c->sweep = 0;
}

/* Its sum of a round may be under way when it asks: who is let in must not add to that. */
uint64_t central_busy(struct central *c, uint32_t site)
{
    struct central_site *s = &c->list[site];
    uint64_t since = central_entry(c);

    s->since = s->until != CENTRAL_EVER && s->until >= since ? s->until + 1 : since;
    s->until = CENTRAL_EVER;
    return s->since;
}

void central_set_busy(struct central *c, uint64_t since, uint64_t until)
{
    c->since = since;
    c->until = until;
}

bool central_is_whole(const struct central *c)
{
    if (!c->alive) {
        return false;
    }
    for (uint32_t i = 0; i < c->chunks_count; i++) {
        if (c->chunks[i].empty) {
            return false;
        }
    }
    return true;
}

/* Waiting. */

/* For a plan: the centre for somebody to say how it stands, the others for the centre. */
static uint32_t central_absent(const struct central *c)
{
    if (c->plan.epoch == 0 || !central_is_active(c, c->self)) {
        return CENTRAL_SITES_MAX;
    }
    return central_is_centre(c) ? central_unsaid(c) : c->plan.centre;
}

/* Who is missed in most of the chunks that are open at the centre. */
static enum central_wait central_missed(const struct central *c, uint32_t *site_out)
{
    uint32_t sums[CENTRAL_SITES_MAX] = {0}, taken[CENTRAL_SITES_MAX] = {0};
    uint32_t most = 0;
    enum central_wait wait = CENTRAL_WAIT_NOBODY;

    for (uint32_t i = 0; i < c->chunks_count; i++) {
        uint64_t missing = central_expected(c, i) & ~c->chunks[i].in;

        for (uint32_t s = 0; s < c->sites && c->chunks[i].in != 0; s++) {
            sums[s] += (uint32_t)(missing >> s & 1);
            taken[s] += missing == 0 && s != c->self && central_is_active(c, s) &&
                        c->acked[central_at(c, i, s)] != c->chunks[i].top;
        }
    }
    for (uint32_t s = 0; s < c->sites; s++) {
        if (sums[s] > most || taken[s] > most) {
            most = sums[s] > taken[s] ? sums[s] : taken[s];
            wait = sums[s] >= taken[s] ? CENTRAL_WAIT_SUM : CENTRAL_WAIT_TAKEN;
            *site_out = s;
        }
    }
    return wait;
}

enum central_wait central_waits(const struct central *c, uint32_t *site_out)
{
    bool centre = central_is_centre(c);

    *site_out = CENTRAL_SITES_MAX;
    if (!c->begun) {
        *site_out = central_absent(c);
        return CENTRAL_WAIT_PLAN;
    }
    for (uint32_t i = 0; i < c->chunks_count; i++) {
        if (centre ? !central_here(c, i) : c->chunks[i].empty) {
            *site_out = centre ? c->chunks[i].holder : c->plan.centre;
            return CENTRAL_WAIT_COPY;
        }
    }
    if (centre) {
        return central_missed(c, site_out);
    }
    for (uint32_t i = 0; i < c->chunks_count; i++) {
        if (c->chunks[i].gathered != 0) {
            *site_out = c->plan.centre;
            return CENTRAL_WAIT_RESULT;
        }
    }
    return CENTRAL_WAIT_NOBODY;
}

bool central_is_quiet(const struct central *c)
{
    bool awaited = false;

    if (!c->begun || !central_is_whole(c)) {
        return false;
    }
    for (uint32_t i = 0; i < c->chunks_count; i++) {
        if (c->chunks[i].gathered != 0 ||
            (central_is_centre(c) && (c->chunks[i].in != 0 || !central_here(c, i) ||
                                      !central_level(c, i, &awaited) || awaited))) {
            return false;
        }
    }
    return true;
}

const char *central_broken(const struct central *c)
{
    for (uint32_t i = 0; i < c->chunks_count; i++) {
        const struct central_chunk *k = &c->chunks[i];

        if (k->gathered != 0 && k->gathered != k->version + 1) {
            return "a sum is gathered for another round than the open one";
        }
        if (c->begun && central_is_centre(c) && !k->empty && k->version > k->top) {
            return "the centre has a version that nobody knows of";
        }
        if ((k->in & ~c->plan.active) != 0) {
            return "the sum of a site that is not active is in";
        }
        for (uint32_t s = 0; s < c->sites; s++) {
            if (central_counted(c, i, s) > k->version) {
                return "a sum counts in a round that has not closed";
            }
        }
    }
    return NULL;
}
