/* What all barriers share: members, versions, deadlines, and when a chunk closes. */

#include "sync/sync.h"

#include "base/limits.h"
#include "base/mem.h"

#include <string.h>

static const struct sync_policy *const sync_policies[] = {&sync_bsp, &sync_ssp, &sync_tap};

const struct sync_policy *sync_policy_find(const char *name)
{
    for (size_t i = 0; i < sizeof(sync_policies) / sizeof(sync_policies[0]); i++) {
        if (strcmp(sync_policies[i]->name, name) == 0) {
            return sync_policies[i];
        }
    }
    return NULL;
}

enum err sync_init(struct sync *s, const struct sync_config *config, struct err_text *text)
{
    if (config->policy == &sync_ssp ? config->staleness > SYNC_STALENESS_MAX
                                    : config->staleness != 0) {
        return err_text_set(text, ERR_INVALID, "staleness %llu: %s allows 0 to %d",
                            (unsigned long long)config->staleness, config->policy->name,
                            config->policy == &sync_ssp ? SYNC_STALENESS_MAX : 0);
    }
    if (config->fixed_order && config->policy != &sync_bsp) {
        return err_text_set(text, ERR_INVALID, "a fixed order of addition needs the barrier bsp");
    }
    if (config->outside && config->policy != &sync_bsp) {
        return err_text_set(text, ERR_INVALID, "rounds of several sites need the barrier bsp");
    }
    if (config->deadline_ns < 0 || config->members_min > SYNC_MEMBERS_MAX) {
        return err_text_set(text, ERR_INVALID, "deadline or number of workers out of range");
    }
    *s = (struct sync){.config = *config, .deadline_ns = SYNC_NEVER};
    return OK;
}

void sync_deinit(struct sync *s)
{
    mem_free(s->members);
    mem_free(s->versions);
    mem_free(s->gathered);
    mem_free(s->pushed);
    mem_free(s->contained);
    *s = (struct sync){.deadline_ns = SYNC_NEVER};
}

static size_t sync_at(const struct sync *s, uint32_t chunk, uint32_t member)
{
    return (size_t)chunk * s->members_capacity + member;
}

/* A copy of @from for larger arrays, or NULL. */
static uint64_t *sync_matrix(const struct sync *s, const uint64_t *from, uint32_t chunks,
                             uint32_t members)
{
    uint64_t *to = mem_calloc((size_t)chunks * members + 1, sizeof(*to));

    for (uint32_t c = 0; to != NULL && from != NULL && c < s->chunks_count; c++) {
        memcpy(to + (size_t)c * members, from + sync_at(s, c, 0),
               (size_t)s->members_capacity * sizeof(*to));
    }
    return to;
}

/* Make room for @chunks and @members; nothing has changed on ERR_NOMEM. */
static enum err sync_resize(struct sync *s, uint32_t chunks, uint32_t members)
{
    struct sync_member *list = mem_calloc((size_t)members + 1, sizeof(*list));
    uint64_t *versions = mem_calloc((size_t)chunks + 1, sizeof(*versions));
    uint64_t *gathered = mem_calloc((size_t)chunks + 1, sizeof(*gathered));
    uint64_t *pushed = sync_matrix(s, s->pushed, chunks, members);
    uint64_t *contained = sync_matrix(s, s->contained, chunks, members);

    if (list == NULL || versions == NULL || gathered == NULL || pushed == NULL ||
        contained == NULL) {
        mem_free(list);
        mem_free(versions);
        mem_free(gathered);
        mem_free(pushed);
        mem_free(contained);
        return ERR_NOMEM;
    }
    if (s->members != NULL) {
        memcpy(list, s->members, s->members_capacity * sizeof(*list));
        memcpy(versions, s->versions, s->chunks_count * sizeof(*versions));
        memcpy(gathered, s->gathered, s->chunks_count * sizeof(*gathered));
    }
    mem_free(s->members);
    mem_free(s->versions);
    mem_free(s->gathered);
    mem_free(s->pushed);
    mem_free(s->contained);
    s->members = list;
    s->versions = versions;
    s->gathered = gathered;
    s->pushed = pushed;
    s->contained = contained;
    s->members_capacity = members;
    s->chunks_capacity = chunks;
    return OK;
}

enum err sync_reserve(struct sync *s, uint32_t count)
{
    uint32_t chunks = s->chunks_count + count;

    if (chunks < count) {
        return ERR_TOO_BIG;
    }
    return chunks > s->chunks_capacity ? sync_resize(s, chunks, s->members_capacity) : OK;
}

enum err sync_grow(struct sync *s, uint32_t count)
{
    uint32_t chunks = s->chunks_count + count;
    enum err rc = sync_reserve(s, count);

    CHECK(s->sweep == s->chunks_count);
    if (rc != OK) {
        return rc;
    }
    for (uint32_t c = s->chunks_count; c < chunks; c++) {
        s->versions[c] = s->version;
    }
    s->chunks_count = chunks;
    s->sweep = chunks;
    return OK;
}

/* Close the gap in an array of @all rows of @width, and zero what was behind it. */
static void sync_close_gap(uint64_t *rows, size_t width, uint32_t first, uint32_t count,
                           uint32_t all)
{
    uint32_t rest = all - first - count;

    memmove(rows + first * width, rows + (first + count) * width, rest * width * sizeof(*rows));
    memset(rows + (first + rest) * width, 0, count * width * sizeof(*rows));
}

void sync_shrink(struct sync *s, uint32_t first, uint32_t count)
{
    CHECK(s->sweep == s->chunks_count && first <= s->chunks_count &&
          count <= s->chunks_count - first);
    if (count == 0) {
        return;
    }
    sync_close_gap(s->versions, 1, first, count, s->chunks_count);
    sync_close_gap(s->gathered, 1, first, count, s->chunks_count);
    sync_close_gap(s->pushed, s->members_capacity, first, count, s->chunks_count);
    sync_close_gap(s->contained, s->members_capacity, first, count, s->chunks_count);
    s->chunks_count -= count;
    s->sweep = s->chunks_count;
    s->behind = 0;
}

void sync_restart(struct sync *s)
{
    s->started = true;
}

void sync_defer(struct sync *s, uint64_t clock)
{
    s->seen = clock > s->seen + 1 ? clock - 1 : s->seen;
}

/* Up to which clock something may count where @version is closed, in a chunk or in all. */
static uint64_t sync_allowed(const struct sync *s, uint64_t version)
{
    return s->config.policy->rounds ? version + s->config.staleness + 1
                                    : s->version + LIMIT_TAP_CLOCKS;
}

/* Could a correct member be there? */
static bool sync_is_ahead(const struct sync *s, uint64_t clock, uint64_t version)
{
    return clock > sync_allowed(s, version) + LIMIT_CLOCKS_AHEAD;
}

/* Somebody says that @clock has begun, where @version is closed: believed as far as the barrier
 * allows it. */
static void sync_see(struct sync *s, uint64_t clock, uint64_t version)
{
    uint64_t allowed = sync_allowed(s, version);

    clock = clock < allowed ? clock : allowed;
    s->seen = clock > s->seen ? clock : s->seen;
}

void sync_restore(struct sync *s, uint32_t chunk, uint64_t version)
{
    CHECK(chunk < s->chunks_count && s->members_count == 0);
    s->versions[chunk] = version;
    if (!s->config.policy->rounds) {
        return; /* It counts updates, not clocks. */
    }
    s->version = UINT64_MAX;
    for (uint32_t c = 0; c < s->chunks_count; c++) {
        s->version = s->versions[c] < s->version ? s->versions[c] : s->version;
    }
    s->seen = version > s->seen ? version : s->seen;
}

void sync_restore_clock(struct sync *s, uint64_t clock)
{
    CHECK(s->members_count == 0);
    if (s->chunks_count == 0 || !s->config.policy->rounds) {
        s->version = clock;
        s->seen = clock > s->seen ? clock : s->seen;
    }
}

void sync_restore_member(struct sync *s, uint32_t chunk, uint32_t member, uint64_t clock)
{
    CHECK(chunk < s->chunks_count && sync_is_member(s, member));
    s->pushed[sync_at(s, chunk, member)] = clock;
    s->contained[sync_at(s, chunk, member)] = clock;
    sync_see(s, clock, s->versions[chunk]);
}

bool sync_is_member(const struct sync *s, uint32_t member)
{
    return member < s->members_capacity && s->members[member].present &&
           s->members[member].admitted;
}

bool sync_is_waiting(const struct sync *s, uint32_t member)
{
    return member < s->members_capacity && s->members[member].present &&
           !s->members[member].admitted;
}

uint64_t sync_member_clock(const struct sync *s, uint32_t member)
{
    return sync_is_member(s, member) ? s->members[member].clock : 0;
}

uint64_t sync_contained(const struct sync *s, uint32_t chunk, uint32_t member)
{
    return member < s->members_capacity ? s->contained[sync_at(s, chunk, member)] : 0;
}

/* How far the member is with a chunk: what it sent, or said that it has nothing to send. */
static uint64_t sync_reached(const struct sync *s, uint32_t chunk, uint32_t member)
{
    uint64_t pushed = s->pushed[sync_at(s, chunk, member)];

    return pushed > s->members[member].clock ? pushed : s->members[member].clock;
}

/* The clock of the slowest member, or UINT64_MAX with none. */
static uint64_t sync_clock_min(const struct sync *s)
{
    uint64_t min = UINT64_MAX;

    for (uint32_t m = 0; m < s->members_capacity; m++) {
        if (sync_is_member(s, m) && s->members[m].clock < min) {
            min = s->members[m].clock;
        }
    }
    return min;
}

bool sync_waits_for(const struct sync *s, uint32_t member)
{
    if (!s->config.policy->rounds || !sync_is_member(s, member) || s->seen <= s->version ||
        s->members[member].clock > s->version) {
        return false;
    }
    for (uint32_t c = 0; c < s->chunks_count; c++) {
        if (s->versions[c] == s->version && s->pushed[sync_at(s, c, member)] <= s->version) {
            return true;
        }
    }
    return s->chunks_count == 0;
}

static void sync_emit(struct sync_update *update, struct sync_action action)
{
    CHECK(update->count < SYNC_ACTIONS_MAX);
    update->actions[update->count++] = action;
}

static void sync_say(struct sync_update *update, const struct sync_event *e,
                     enum sync_action_type type, enum sync_reason reason, uint64_t clock)
{
    sync_emit(update, (struct sync_action){.type = type,
                                           .reason = reason,
                                           .member = e->member,
                                           .chunk = e->chunk,
                                           .clock = clock});
}

/* Further ahead than any correct member can be? */
static bool sync_refused_ahead(const struct sync *s, const struct sync_event *e, uint64_t version,
                               struct sync_update *update)
{
    bool ahead = sync_is_ahead(s, e->clock, version);

    if (ahead) {
        sync_say(update, e, SYNC_REFUSE, SYNC_AHEAD, sync_allowed(s, version));
    }
    return ahead;
}

/* The deadline runs from the first contribution to the open round. */
static void sync_arm(struct sync *s, int64_t now_ns)
{
    bool waiting =
        s->config.policy->rounds && s->seen > s->version && s->members_count > 0 && s->started;

    if (s->config.deadline_ns == 0 || !waiting) {
        s->deadline_ns = SYNC_NEVER;
    } else if (s->deadline_ns == SYNC_NEVER) {
        s->deadline_ns = now_ns + s->config.deadline_ns;
    }
}

/* Somebody has begun @clock, and the barrier allows it. */
static void sync_begun(struct sync *s, uint64_t clock, int64_t now_ns)
{
    s->seen = clock > s->seen ? clock : s->seen;
    sync_arm(s, now_ns);
}

/* Up to which round the chunk is complete: the slowest member's. Without members, whatever was
 * begun is complete. */
static uint64_t sync_complete(const struct sync *s, uint32_t chunk)
{
    uint64_t min = UINT64_MAX;

    for (uint32_t m = 0; m < s->members_capacity && min > s->versions[chunk]; m++) {
        if (sync_is_member(s, m)) {
            uint64_t reached = sync_reached(s, chunk, m);

            min = reached < min ? reached : min;
        }
    }
    if (min == UINT64_MAX) {
        return s->started ? s->seen : s->versions[chunk];
    }
    return min;
}

static void sync_close(struct sync *s, uint32_t chunk, uint64_t version, struct sync_update *update)
{
    s->versions[chunk] = version;
    memcpy(s->contained + sync_at(s, chunk, 0), s->pushed + sync_at(s, chunk, 0),
           s->members_capacity * sizeof(*s->pushed));
    sync_emit(update, (struct sync_action){.type = SYNC_CLOSE, .chunk = chunk, .clock = version});
}

/* One round at a time: what follows is not in the sum. */
static void sync_gather(struct sync *s, uint32_t chunk, struct sync_update *update)
{
    if (!sync_gathered(s, chunk)) {
        s->gathered[chunk] = s->versions[chunk] + 1;
        sync_emit(update, (struct sync_action){
                              .type = SYNC_GATHER, .chunk = chunk, .clock = s->gathered[chunk]});
    }
}

/* Close the chunk if its next round is complete, or say so. */
static void sync_try_close(struct sync *s, uint32_t chunk, struct sync_update *update)
{
    uint64_t complete = sync_complete(s, chunk);

    if (complete <= s->versions[chunk]) {
        return;
    }
    if (s->config.outside) {
        sync_gather(s, chunk, update);
    } else {
        sync_close(s, chunk, complete, update);
    }
}

/* The shard's version is that of its oldest chunk; with no chunks, what everybody has finished.
 * The search goes on where it found one last time, so a round costs one walk over all chunks. */
static uint64_t sync_oldest(struct sync *s)
{
    uint64_t oldest = UINT64_MAX;

    if (!s->config.policy->rounds || s->chunks_count == 0) {
        oldest = sync_clock_min(s);
        return oldest == UINT64_MAX || oldest < s->version ? s->version : oldest;
    }
    for (uint32_t i = 0; i < s->chunks_count && oldest > s->version; i++) {
        uint32_t c = s->behind;

        oldest = s->versions[c] < oldest ? s->versions[c] : oldest;
        if (oldest > s->version) {
            s->behind = c + 1 < s->chunks_count ? c + 1 : 0;
        }
    }
    return oldest;
}

/* What members have said counts as far as the barrier now allows. Has anybody moved? */
static bool sync_catch_up(struct sync *s, int64_t now_ns)
{
    uint64_t allowed = sync_allowed(s, s->version);
    bool moved = false;

    for (uint32_t i = 0; i < s->members_capacity; i++) {
        struct sync_member *m = &s->members[i];
        uint64_t clock = m->said < allowed ? m->said : allowed;

        if (sync_is_member(s, i) && clock > m->clock) {
            m->clock = clock;
            sync_begun(s, clock, now_ns);
            moved = true;
        }
    }
    return moved;
}

/* Returns true if chunks are to be looked at once more. */
static bool sync_try_advance(struct sync *s, int64_t now_ns, struct sync_update *update)
{
    uint64_t oldest = sync_oldest(s);

    if (oldest <= s->version) {
        return false;
    }
    s->version = oldest;
    s->seen = oldest > s->seen ? oldest : s->seen;
    s->deadline_ns = SYNC_NEVER;
    sync_arm(s, now_ns);
    sync_emit(update, (struct sync_action){.type = SYNC_ADVANCE, .clock = oldest});
    return sync_catch_up(s, now_ns);
}

/* Look at chunks from the cursor on, as far as the actions fit. */
static void sync_sweep(struct sync *s, int64_t now_ns, struct sync_update *update)
{
    bool again = true;

    while (again && update->count + 1 < SYNC_ACTIONS_MAX) {
        while (s->sweep < s->chunks_count && update->count + 1 < SYNC_ACTIONS_MAX) {
            sync_try_close(s, s->sweep++, update);
        }
        again = s->sweep < s->chunks_count || sync_try_advance(s, now_ns, update);
        if (again && s->sweep == s->chunks_count) {
            s->sweep = s->config.policy->rounds ? 0 : s->chunks_count;
        }
    }
    update->more = again;
}

static void sync_sweep_all(struct sync *s, int64_t now_ns, struct sync_update *update)
{
    s->sweep = s->config.policy->rounds ? 0 : s->chunks_count;
    s->resumed = false;
    sync_sweep(s, now_ns, update);
}

/* Joining and leaving. */

/* The first clock that nobody has begun yet. Without rounds there is nothing to be begun in
 * common, and how far the fastest is says nothing. */
static uint64_t sync_entry(const struct sync *s)
{
    return s->config.policy->rounds && s->seen > s->version ? s->seen + 1 : s->version + 1;
}

/* Up to where updates of whoever had the place before may be in. */
static uint64_t sync_before(const struct sync *s, uint32_t member)
{
    uint64_t first = s->members[member].first;
    uint64_t before = first > 0 ? first - 1 : 0;

    for (uint32_t c = 0; c < s->chunks_count; c++) {
        uint64_t pushed = s->pushed[sync_at(s, c, member)];

        before = pushed > before ? pushed : before;
    }
    return before;
}

static void sync_admit(struct sync *s, uint32_t member, uint64_t done, struct sync_update *update)
{
    struct sync_member *m = &s->members[member];

    if (!s->config.policy->rounds) {
        uint64_t before = sync_before(s, member);

        done = before > done ? before : done;
    }
    m->admitted = true;
    m->first = done + 1;
    m->clock = done;
    m->said = done;
    for (uint32_t c = 0; c < s->chunks_count; c++) {
        s->pushed[sync_at(s, c, member)] = 0;
        s->contained[sync_at(s, c, member)] = 0;
    }
    sync_emit(update,
              (struct sync_action){.type = SYNC_ADMIT, .member = member, .clock = done + 1});
}

/* Let all in who wait, at the same clock. */
static void sync_start(struct sync *s, struct sync_update *update)
{
    uint64_t done = sync_entry(s) - 1;

    s->started = true;
    for (uint32_t m = 0; m < s->members_capacity; m++) {
        if (sync_is_waiting(s, m)) {
            sync_admit(s, m, done, update);
        }
    }
}

/* Back after a restart. Nothing is closed before SYNC_CONTINUE: others may come back, too. Who came
 * before it need not wait any longer. */
static void sync_resume(struct sync *s, const struct sync_event *e, struct sync_update *update)
{
    bool behind = s->config.policy->rounds && e->clock < s->version;
    uint64_t done = behind ? s->version : e->clock;

    sync_see(s, done, s->version);
    s->resumed = true;
    sync_admit(s, e->member, done, update);
    s->members[e->member].first = 1;
    if (!s->started) {
        sync_start(s, update);
    }
}

static enum err sync_join(struct sync *s, const struct sync_event *e, struct sync_update *update)
{
    uint32_t capacity = s->members_capacity == 0 ? 8 : s->members_capacity;

    if (e->resume && sync_refused_ahead(s, e, s->version, update)) {
        return OK;
    }
    while (capacity <= e->member) {
        capacity *= 2;
    }
    if (capacity > s->members_capacity) {
        enum err rc = sync_resize(s, s->chunks_capacity, capacity);

        if (rc != OK) {
            return rc;
        }
    }
    if (s->members[e->member].present) {
        return ERR_PEER;
    }
    s->members[e->member] = (struct sync_member){
        .present = true, .rank = e->rank, .first = s->members[e->member].first};
    s->members_count++;
    if (e->resume) {
        sync_resume(s, e, update);
    } else if (s->started || s->members_count >= s->config.members_min) {
        sync_start(s, update);
    }
    if (!e->resume) {
        /* What others left behind may be complete now. */
        sync_sweep_all(s, e->now_ns, update);
    }
    return OK;
}

static void sync_remove(struct sync *s, uint32_t member)
{
    s->members[member].present = false;
    s->members[member].admitted = false;
    s->members_count--;
}

static void sync_leave(struct sync *s, const struct sync_event *e, struct sync_update *update)
{
    if (e->member < s->members_capacity && s->members[e->member].present) {
        sync_remove(s, e->member);
        sync_arm(s, e->now_ns);
        sync_sweep_all(s, e->now_ns, update);
    }
}

/* Up to which rank those who are not done have missed the deadline. With a fixed order, whoever
 * follows the first of them may have been held back by it, and gets another deadline. */
static uint32_t sync_rank_missed(const struct sync *s)
{
    uint32_t rank = UINT32_MAX;

    for (uint32_t m = 0; s->config.fixed_order && m < s->members_capacity; m++) {
        if (sync_waits_for(s, m) && s->members[m].rank < rank) {
            rank = s->members[m].rank;
        }
    }
    return rank;
}

/* Those who are not done with the round after the shard's version are no longer waited for. */
static void sync_timeout(struct sync *s, const struct sync_event *e, struct sync_update *update)
{
    uint32_t rank = sync_rank_missed(s);

    if (s->deadline_ns == SYNC_NEVER || e->now_ns < s->deadline_ns) {
        return;
    }
    for (uint32_t m = 0; m < s->members_capacity; m++) {
        if (sync_waits_for(s, m) && s->members[m].rank <= rank) {
            sync_remove(s, m);
            sync_emit(update, (struct sync_action){
                                  .type = SYNC_EXPIRE, .member = m, .clock = s->version + 1});
        }
    }
    s->deadline_ns = SYNC_NEVER;
    sync_arm(s, e->now_ns);
    sync_sweep_all(s, e->now_ns, update);
}

/* Updates, clocks and reads. */

/* With a fixed order: is there somebody whose update must be added before? */
static bool sync_must_follow(const struct sync *s, const struct sync_event *e)
{
    for (uint32_t m = 0; s->config.fixed_order && m < s->members_capacity; m++) {
        if (sync_is_member(s, m) && s->members[m].rank < s->members[e->member].rank &&
            sync_reached(s, e->chunk, m) < e->clock) {
            return true;
        }
    }
    return false;
}

static void sync_take(struct sync *s, const struct sync_event *e, struct sync_update *update)
{
    s->pushed[sync_at(s, e->chunk, e->member)] = e->clock;
    sync_say(update, e, SYNC_TAKE, SYNC_REASON_NONE, e->clock);
    sync_begun(s, e->clock, e->now_ns);
    if (!s->config.policy->rounds) {
        sync_close(s, e->chunk, s->versions[e->chunk] + 1, update);
    } else {
        sync_try_close(s, e->chunk, update);
        if (s->versions[e->chunk] > s->version && sync_try_advance(s, e->now_ns, update)) {
            sync_sweep_all(s, e->now_ns, update);
        }
    }
}

uint64_t sync_open_clock(const struct sync *s, uint32_t chunk, uint32_t member)
{
    uint64_t done = 0;

    if (!sync_is_member(s, member)) {
        return sync_entry(s);
    }
    done = s->members[member].said;
    if (s->config.policy->rounds && chunk < s->chunks_count && s->versions[chunk] > done) {
        done = s->versions[chunk];
    }
    return done + 1;
}

static void sync_push(struct sync *s, const struct sync_event *e, struct sync_update *update)
{
    if (!sync_is_member(s, e->member)) {
        sync_say(update, e, SYNC_REFUSE, SYNC_STRANGER, sync_entry(s));
        return;
    }
    if (e->clock >= s->members[e->member].first &&
        e->clock <= s->pushed[sync_at(s, e->chunk, e->member)]) {
        sync_say(update, e, SYNC_DROP, SYNC_REASON_NONE, e->clock);
        return;
    }
    if (e->clock <= s->members[e->member].said) {
        sync_say(update, e, SYNC_REFUSE, SYNC_LATE, sync_open_clock(s, e->chunk, e->member));
        return;
    }
    if (sync_refused_ahead(s, e, s->versions[e->chunk], update)) {
        return;
    }
    if (e->clock > sync_allowed(s, s->versions[e->chunk])) {
        sync_say(update, e, SYNC_WAIT, SYNC_REASON_NONE, e->clock);
        return;
    }
    switch (s->config.policy->push(&s->config, e->clock, s->versions[e->chunk])) {
    case SYNC_TOO_LATE:
        sync_say(update, e, SYNC_REFUSE, SYNC_LATE, sync_open_clock(s, e->chunk, e->member));
        break;
    case SYNC_LATER:
        sync_say(update, e, SYNC_WAIT, SYNC_REASON_NONE, e->clock);
        break;
    case SYNC_NOW:
        if (sync_must_follow(s, e)) {
            sync_begun(s, e->clock, e->now_ns); /* Else a first that is dead is never missed. */
            sync_say(update, e, SYNC_WAIT, SYNC_REASON_NONE, e->clock);
        } else {
            sync_take(s, e, update);
        }
        break;
    }
}

/* Did the member leave a chunk out? If it sent them all, each of them was looked at then. */
static bool sync_skipped(const struct sync *s, uint32_t member)
{
    for (uint32_t c = 0; c < s->chunks_count; c++) {
        if (s->pushed[sync_at(s, c, member)] < s->members[member].clock) {
            return true;
        }
    }
    return false;
}

/* It never has to wait: what is beyond the barrier counts later. */
static void sync_clock(struct sync *s, const struct sync_event *e, struct sync_update *update)
{
    uint64_t min = sync_clock_min(s);
    struct sync_member *m;
    uint64_t before;

    if (!sync_is_member(s, e->member)) {
        sync_say(update, e, SYNC_REFUSE, SYNC_STRANGER, sync_entry(s));
        return;
    }
    m = &s->members[e->member];
    if (e->clock <= m->said) {
        sync_say(update, e, SYNC_DROP, SYNC_REASON_NONE, e->clock);
        return;
    }
    if (sync_refused_ahead(s, e, s->version, update)) {
        return;
    }
    before = m->clock;
    m->said = e->clock;
    (void)sync_catch_up(s, e->now_ns);
    if (sync_clock_min(s) > min || (m->clock > before && sync_skipped(s, e->member))) {
        sync_sweep_all(s, e->now_ns, update);
    }
}

/* All sites are done, or more is known elsewhere than here. What was gathered and does not count
 * stays in the sum, and is gathered again with the next round. */
static void sync_release(struct sync *s, const struct sync_event *e, struct sync_update *update)
{
    bool gathered = sync_gathered(s, e->chunk);

    if (e->clock <= s->versions[e->chunk]) {
        return;
    }
    s->versions[e->chunk] = e->clock;
    if (e->counted && gathered) {
        memcpy(s->contained + sync_at(s, e->chunk, 0), s->pushed + sync_at(s, e->chunk, 0),
               s->members_capacity * sizeof(*s->pushed));
    }
    sync_emit(update,
              (struct sync_action){.type = SYNC_CLOSE, .chunk = e->chunk, .clock = e->clock});
    sync_try_close(s, e->chunk, update);
    if (sync_try_advance(s, e->now_ns, update)) {
        sync_sweep_all(s, e->now_ns, update);
    }
}

static void sync_read(struct sync *s, const struct sync_event *e, struct sync_update *update)
{
    if (!sync_is_member(s, e->member)) {
        sync_say(update, e, SYNC_REFUSE, SYNC_STRANGER, sync_entry(s));
    } else if (sync_refused_ahead(s, e, s->versions[e->chunk], update)) {
        return;
    } else if (s->config.policy->read(&s->config, e->clock, s->versions[e->chunk])) {
        sync_say(update, e, SYNC_ANSWER, SYNC_REASON_NONE, e->clock);
    } else {
        sync_say(update, e, SYNC_WAIT, SYNC_REASON_NONE, e->clock);
    }
}

enum err sync_step(struct sync *s, const struct sync_event *e, struct sync_update *update)
{
    enum err rc = OK;

    update->count = 0;
    update->more = false;
    CHECK(e->type == SYNC_CONTINUE || s->sweep == s->chunks_count);
    if (e->type < SYNC_RELEASE && e->member >= SYNC_MEMBERS_MAX) {
        return ERR_PEER;
    }
    if ((e->type == SYNC_PUSH || e->type == SYNC_READ || e->type == SYNC_RELEASE) &&
        e->chunk >= s->chunks_count) {
        return ERR_PEER;
    }
    if (e->clock > SYNC_CLOCK_LAST || (e->type == SYNC_PUSH && e->clock == 0)) {
        return ERR_PEER;
    }
    switch (e->type) {
    case SYNC_JOIN:
        rc = sync_join(s, e, update);
        break;
    case SYNC_LEAVE:
        sync_leave(s, e, update);
        break;
    case SYNC_PUSH:
        sync_push(s, e, update);
        break;
    case SYNC_CLOCK:
        sync_clock(s, e, update);
        break;
    case SYNC_READ:
        sync_read(s, e, update);
        break;
    case SYNC_RELEASE:
        sync_release(s, e, update);
        break;
    case SYNC_TIMEOUT:
        sync_timeout(s, e, update);
        break;
    case SYNC_CONTINUE:
        if (s->started) {
            sync_start(s, update);
        }
        if (s->resumed) {
            sync_arm(s, e->now_ns);
            sync_sweep_all(s, e->now_ns, update);
        } else {
            sync_sweep(s, e->now_ns, update);
        }
        break;
    case SYNC_EVENTS:
        rc = ERR_PEER;
        break;
    }
    return rc;
}

/* Without rounds every update is closed at once. */
static bool sync_all_closed(const struct sync *s)
{
    size_t cells = (size_t)s->chunks_count * s->members_capacity;

    return cells == 0 || memcmp(s->pushed, s->contained, cells * sizeof(*s->pushed)) == 0;
}

/* Chunks are never behind what everybody has finished, and nobody is further ahead of a chunk than
 * the policy allows (I9). */
bool sync_invariant(const struct sync *s)
{
    uint64_t min = sync_clock_min(s);

    if (!s->config.policy->rounds) {
        return sync_all_closed(s);
    }
    for (uint32_t c = 0; c < s->chunks_count; c++) {
        if (s->versions[c] < s->version) {
            return false;
        }
        if (s->sweep == s->chunks_count && !s->resumed && min != UINT64_MAX &&
            s->versions[c] < min && !sync_gathered(s, c)) {
            return false;
        }
        for (uint32_t m = 0; m < s->members_capacity; m++) {
            uint64_t pushed = s->pushed[sync_at(s, c, m)];

            if (s->contained[sync_at(s, c, m)] > pushed ||
                (sync_is_member(s, m) && pushed > s->versions[c] + s->config.staleness + 1)) {
                return false;
            }
        }
    }
    return true;
}

const char *sync_event_name(enum sync_event_type type)
{
    static const char *const names[SYNC_EVENTS] = {"join", "leave",   "push",    "clock",
                                                   "read", "release", "timeout", "continue"};

    return type < SYNC_EVENTS ? names[type] : "unknown";
}

const char *sync_action_name(enum sync_action_type type)
{
    static const char *const names[SYNC_ACTIONS] = {"admit",   "take",   "wait",   "drop",
                                                    "refuse",  "answer", "gather", "close",
                                                    "advance", "expire"};

    return type < SYNC_ACTIONS ? names[type] : "unknown";
}

const char *sync_reason_name(enum sync_reason reason)
{
    static const char *const names[SYNC_REASONS] = {"none", "late", "not a member", "ahead"};

    return reason < SYNC_REASONS ? names[reason] : "unknown";
}
