/* A naive barrier: it remembers every update that was ever taken and looks through all of them
 * whenever it is asked something. Written from sync.h, to be compared with the real one after every
 * event. */

#ifndef SYNC_TESTING_MODEL_H
#define SYNC_TESTING_MODEL_H

#include "base/limits.h"
#include "sync/testing.h"

enum { MODEL_UPDATES_MAX = 2048, MODEL_CHUNKS_MAX = 8, MODEL_PLACES = 48 };

/* An update in a chunk. */
struct model_update {
    uint32_t life; /* Whose: see below. */
    uint32_t chunk;
    uint64_t clock;
    bool closed;
};

struct model_member {
    bool present;
    bool admitted;
    uint32_t rank;
    uint32_t life; /* Number of this membership, so that a place can be used again. */
    uint64_t first;
    uint64_t done; /* As far as it counts. */
    uint64_t said;
};

struct model {
    bool bsp, tap;
    uint64_t staleness;
    bool ordered;
    int64_t deadline_ns;
    uint32_t gate;

    struct model_member members[MODEL_PLACES];
    struct model_update updates[MODEL_UPDATES_MAX];
    uint32_t updates_count;
    uint32_t lives;
    bool started;
    uint32_t chunks;
    uint64_t versions[MODEL_CHUNKS_MAX];
    uint64_t version;
    uint64_t last[MODEL_PLACES]; /* Of the place's updates, in any life. */
    uint64_t begun;              /* The largest clock of which anything is known. */
    int64_t waits_since_ns;      /* For the round after version; SYNC_NEVER: not begun. */
};

static inline void model_init(struct model *m, const struct sync_config *config)
{
    memset(m, 0, sizeof(*m));
    m->bsp = strcmp(config->policy->name, "bsp") == 0;
    m->tap = strcmp(config->policy->name, "tap") == 0;
    m->staleness = config->staleness;
    m->ordered = config->fixed_order;
    m->deadline_ns = config->deadline_ns;
    m->gate = config->members_min;
    m->waits_since_ns = SYNC_NEVER;
}

static inline bool model_is_member(const struct model *m, uint32_t member)
{
    return m->members[member].present && m->members[member].admitted;
}

/* The last clock of the member's updates in a chunk, or zero; @closed: of those that went out. */
static inline uint64_t model_last(const struct model *m, uint32_t member, uint32_t chunk,
                                  bool closed)
{
    uint64_t last = 0;

    for (uint32_t i = 0; i < m->updates_count; i++) {
        const struct model_update *u = &m->updates[i];

        if (u->life == m->members[member].life && u->chunk == chunk && u->clock > last &&
            (u->closed || !closed)) {
            last = u->clock;
        }
    }
    return last;
}

static inline uint64_t model_reached(const struct model *m, uint32_t member, uint32_t chunk)
{
    uint64_t last = model_last(m, member, chunk, false);

    return last > m->members[member].done ? last : m->members[member].done;
}

/* The least that all members have reached in a chunk, or finished if there is none (@chunk is
 * beyond the last). SYNC_CLOCK_LAST without members. */
static inline uint64_t model_slowest(const struct model *m, uint32_t chunk)
{
    uint64_t slowest = SYNC_CLOCK_LAST;

    for (uint32_t i = 0; i < MODEL_PLACES; i++) {
        if (model_is_member(m, i)) {
            uint64_t at = chunk < m->chunks ? model_reached(m, i, chunk) : m->members[i].done;

            slowest = at < slowest ? at : slowest;
        }
    }
    return slowest;
}

static inline bool model_waits_for(const struct model *m, uint32_t member)
{
    bool waits = m->chunks == 0 && m->members[member].done <= m->version;

    for (uint32_t c = 0; c < m->chunks && model_is_member(m, member); c++) {
        waits =
            waits || (m->versions[c] <= m->version && model_reached(m, member, c) <= m->version);
    }
    return !m->tap && model_is_member(m, member) && m->begun > m->version && waits;
}

static inline bool model_is_waiting(const struct model *m)
{
    bool any = false;

    for (uint32_t i = 0; i < MODEL_PLACES; i++) {
        any = any || m->members[i].present;
    }
    return any && m->started && !m->tap && m->begun > m->version;
}

/* The deadline that the machine should ask for. */
static inline int64_t model_deadline(const struct model *m)
{
    return m->deadline_ns == 0 || m->waits_since_ns == SYNC_NEVER
               ? SYNC_NEVER
               : m->waits_since_ns + m->deadline_ns;
}

static inline void model_watch(struct model *m, int64_t now_ns, bool anew)
{
    if (!model_is_waiting(m)) {
        m->waits_since_ns = SYNC_NEVER;
    } else if (anew || m->waits_since_ns == SYNC_NEVER) {
        m->waits_since_ns = now_ns;
    }
}

static inline void model_say(struct testing_actions *out, struct sync_action action)
{
    assert_true(out->count < TESTING_ACTIONS_MAX);
    out->list[out->count++] = action;
}

static inline void model_close(struct model *m, uint32_t chunk, uint64_t label,
                               struct testing_actions *out)
{
    for (uint32_t i = 0; i < m->updates_count; i++) {
        m->updates[i].closed = m->updates[i].closed || m->updates[i].chunk == chunk;
    }
    m->versions[chunk] = label;
    model_say(out, (struct sync_action){.type = SYNC_CLOSE, .chunk = chunk, .clock = label});
}

/* The round that the whole shard has reached. */
static inline uint64_t model_common(const struct model *m)
{
    uint64_t common = SYNC_CLOCK_LAST;

    if (m->tap || m->chunks == 0) {
        common = model_slowest(m, m->chunks);
        return common == SYNC_CLOCK_LAST ? m->version : common;
    }
    for (uint32_t c = 0; c < m->chunks; c++) {
        common = m->versions[c] < common ? m->versions[c] : common;
    }
    return common;
}

/* Up to where anything may count where @version is closed. */
static inline uint64_t model_allowed(const struct model *m, uint64_t version)
{
    return m->tap ? m->version + LIMIT_TAP_CLOCKS : version + 1 + (m->bsp ? 0 : m->staleness);
}

static inline void model_begin(struct model *m, uint64_t clock)
{
    m->begun = clock > m->begun ? clock : m->begun;
}

/* Words that were too large before. */
static inline bool model_believe(struct model *m)
{
    bool more = false;

    for (uint32_t i = 0; i < MODEL_PLACES; i++) {
        struct model_member *who = &m->members[i];
        uint64_t now = model_allowed(m, m->version);

        now = who->said < now ? who->said : now;
        if (model_is_member(m, i) && now > who->done) {
            who->done = now;
            model_begin(m, now);
            more = true;
        }
    }
    return more;
}

/* The first clock of whoever comes now. */
static inline uint64_t model_entry(const struct model *m)
{
    return (m->tap ? m->version : m->begun) + 1;
}

/* Close all that is complete, wherever it is. */
static inline void model_settle(struct model *m, int64_t now_ns, struct testing_actions *out)
{
    for (uint32_t c = 0; c < m->chunks && !m->tap && m->started; c++) {
        uint64_t slowest = model_slowest(m, c);
        uint64_t label = slowest == SYNC_CLOCK_LAST ? m->begun : slowest;

        if (label > m->versions[c]) {
            model_close(m, c, label, out);
        }
    }
    if (model_common(m) > m->version) {
        m->version = model_common(m);
        m->begun = m->begun > m->version ? m->begun : m->version;
        model_watch(m, now_ns, true);
        model_say(out, (struct sync_action){.type = SYNC_ADVANCE, .clock = m->version});
        if (model_believe(m)) {
            model_watch(m, now_ns, false);
            model_settle(m, now_ns, out);
        }
    }
}

static inline void model_admit(struct model *m, uint32_t member, uint64_t done, bool resume,
                               struct testing_actions *out)
{
    struct model_member *who = &m->members[member];

    who->admitted = true;
    who->life = ++m->lives;
    done = m->tap && m->last[member] > done ? m->last[member] : done;
    m->last[member] = resume ? m->last[member] : done;
    who->first = resume ? 1 : done + 1;
    who->done = done;
    who->said = done;
    model_say(out, (struct sync_action){.type = SYNC_ADMIT, .member = member, .clock = done + 1});
}

static inline enum err model_join(struct model *m, const struct sync_event *e,
                                  struct testing_actions *out)
{
    uint32_t present = 0;

    if (m->members[e->member].present) {
        return ERR_PEER;
    }
    m->members[e->member] = (struct model_member){.present = true, .rank = e->rank};
    for (uint32_t i = 0; i < MODEL_PLACES; i++) {
        present += m->members[i].present;
    }
    if (e->resume) {
        model_admit(m, e->member, m->tap || e->clock > m->version ? e->clock : m->version, true,
                    out);
        model_begin(m, m->members[e->member].done < model_allowed(m, m->version)
                           ? m->members[e->member].done
                           : model_allowed(m, m->version));
    }
    if (e->resume || m->started || present >= m->gate) {
        uint64_t before = model_entry(m) - 1;

        m->started = true;
        for (uint32_t i = 0; i < MODEL_PLACES; i++) {
            if (m->members[i].present && !m->members[i].admitted) {
                model_admit(m, i, before, false, out);
            }
        }
    }
    if (!e->resume) {
        model_settle(m, e->now_ns, out);
    }
    return OK;
}

static inline void model_leave(struct model *m, const struct sync_event *e,
                               struct testing_actions *out)
{
    if (m->members[e->member].present) {
        m->members[e->member] = (struct model_member){0};
        model_watch(m, e->now_ns, false);
        model_settle(m, e->now_ns, out);
    }
}

static inline void model_timeout(struct model *m, const struct sync_event *e,
                                 struct testing_actions *out)
{
    uint32_t rank = UINT32_MAX;
    bool out_now[MODEL_PLACES];

    if (model_deadline(m) == SYNC_NEVER || e->now_ns < model_deadline(m)) {
        return;
    }
    for (uint32_t i = 0; i < MODEL_PLACES; i++) {
        out_now[i] = model_waits_for(m, i);
        rank = out_now[i] && m->members[i].rank < rank ? m->members[i].rank : rank;
    }
    for (uint32_t i = 0; i < MODEL_PLACES; i++) {
        if (out_now[i] && (!m->ordered || m->members[i].rank == rank)) {
            m->members[i] = (struct model_member){0};
            model_say(out, (struct sync_action){
                               .type = SYNC_EXPIRE, .member = i, .clock = m->version + 1});
        }
    }
    model_watch(m, e->now_ns, true);
    model_settle(m, e->now_ns, out);
}

static inline void model_answer(const struct sync_event *e, enum sync_action_type type,
                                enum sync_reason reason, uint64_t clock,
                                struct testing_actions *out)
{
    model_say(out, (struct sync_action){.type = type,
                                        .reason = reason,
                                        .member = e->member,
                                        .chunk = e->chunk,
                                        .clock = clock});
}

/* Refuse a stranger. */
static inline bool model_knows(const struct model *m, const struct sync_event *e,
                               struct testing_actions *out)
{
    if (!model_is_member(m, e->member)) {
        model_answer(e, SYNC_REFUSE, SYNC_STRANGER, model_entry(m), out);
        return false;
    }
    return true;
}

/* Refuse what nobody can have begun. */
static inline bool model_is_possible(const struct model *m, const struct sync_event *e,
                                     uint64_t version, struct testing_actions *out)
{
    if (e->clock > model_allowed(m, version) + LIMIT_CLOCKS_AHEAD) {
        model_answer(e, SYNC_REFUSE, SYNC_AHEAD, model_allowed(m, version), out);
        return false;
    }
    return true;
}

static inline bool model_is_next(const struct model *m, const struct sync_event *e)
{
    for (uint32_t i = 0; i < MODEL_PLACES; i++) {
        if (m->ordered && model_is_member(m, i) &&
            m->members[i].rank < m->members[e->member].rank &&
            model_reached(m, i, e->chunk) < e->clock) {
            return false;
        }
    }
    return true;
}

static inline void model_push(struct model *m, const struct sync_event *e,
                              struct testing_actions *out)
{
    const struct model_member *who = &m->members[e->member];
    uint64_t over = who->said;

    if (!model_knows(m, e, out)) {
        return;
    }
    over = !m->tap && m->versions[e->chunk] > over ? m->versions[e->chunk] : over;
    if (e->clock >= who->first && e->clock <= model_last(m, e->member, e->chunk, false)) {
        model_answer(e, SYNC_DROP, SYNC_REASON_NONE, e->clock, out);
    } else if (e->clock <= over) {
        model_answer(e, SYNC_REFUSE, SYNC_LATE, over + 1, out);
    } else if (!model_is_possible(m, e, m->versions[e->chunk], out)) {
        return;
    } else if (e->clock > model_allowed(m, m->versions[e->chunk])) {
        model_answer(e, SYNC_WAIT, SYNC_REASON_NONE, e->clock, out);
    } else if (!model_is_next(m, e)) {
        model_begin(m, e->clock);
        model_watch(m, e->now_ns, false);
        model_answer(e, SYNC_WAIT, SYNC_REASON_NONE, e->clock, out);
    } else {
        assert_true(m->updates_count < MODEL_UPDATES_MAX);
        m->updates[m->updates_count++] =
            (struct model_update){.life = who->life, .chunk = e->chunk, .clock = e->clock};
        m->last[e->member] = e->clock > m->last[e->member] ? e->clock : m->last[e->member];
        model_answer(e, SYNC_TAKE, SYNC_REASON_NONE, e->clock, out);
        model_begin(m, e->clock);
        model_watch(m, e->now_ns, false);
        if (m->tap) {
            model_close(m, e->chunk, m->versions[e->chunk] + 1, out);
        }
        model_settle(m, e->now_ns, out);
    }
}

static inline void model_clock(struct model *m, const struct sync_event *e,
                               struct testing_actions *out)
{
    if (!model_knows(m, e, out)) {
        return;
    }
    if (e->clock <= m->members[e->member].said) {
        model_answer(e, SYNC_DROP, SYNC_REASON_NONE, e->clock, out);
    } else if (model_is_possible(m, e, m->version, out)) {
        m->members[e->member].said = e->clock;
        (void)model_believe(m);
        model_watch(m, e->now_ns, false);
        model_settle(m, e->now_ns, out);
    }
}

static inline void model_read(struct model *m, const struct sync_event *e,
                              struct testing_actions *out)
{
    if (model_knows(m, e, out) && model_is_possible(m, e, m->versions[e->chunk], out)) {
        bool fresh = m->tap || e->clock <= model_allowed(m, m->versions[e->chunk]);

        model_answer(e, fresh ? SYNC_ANSWER : SYNC_WAIT, SYNC_REASON_NONE, e->clock, out);
    }
}

/* What the machine should do, in order. */
static inline enum err model_step(struct model *m, const struct sync_event *e,
                                  struct testing_actions *out)
{
    out->count = 0;
    switch (e->type) {
    case SYNC_JOIN:
        return model_join(m, e, out);
    case SYNC_LEAVE:
        model_leave(m, e, out);
        break;
    case SYNC_PUSH:
        model_push(m, e, out);
        break;
    case SYNC_CLOCK:
        model_clock(m, e, out);
        break;
    case SYNC_READ:
        model_read(m, e, out);
        break;
    case SYNC_TIMEOUT:
        model_timeout(m, e, out);
        break;
    case SYNC_CONTINUE:
        if (model_slowest(m, m->chunks) != SYNC_CLOCK_LAST) { /* Somebody has come back. */
            model_watch(m, e->now_ns, false);
            model_settle(m, e->now_ns, out);
        }
        break;
    default:
        fail();
    }
    return OK;
}

static inline void model_grow(struct model *m, uint32_t count)
{
    assert_true(m->chunks + count <= MODEL_CHUNKS_MAX);
    for (; count > 0; count--) {
        m->versions[m->chunks++] = m->version;
    }
}

/* After a restart, before anybody has joined. */
static inline void model_restore(struct model *m, uint32_t chunk, uint64_t version)
{
    m->versions[chunk] = version;
    if (!m->tap) {
        m->version = model_common(m);
        m->begun = version > m->begun ? version : m->begun;
    }
}

static inline void model_restore_member(struct model *m, uint32_t chunk, uint32_t member,
                                        uint64_t clock)
{
    if (clock > 0) {
        m->updates[m->updates_count++] = (struct model_update){
            .life = m->members[member].life, .chunk = chunk, .clock = clock, .closed = true};
        m->last[member] = clock > m->last[member] ? clock : m->last[member];
        model_begin(m, clock < model_allowed(m, m->versions[chunk])
                           ? clock
                           : model_allowed(m, m->versions[chunk]));
    }
}

/* Everything that can be asked. */
static inline void model_compare(const struct model *m, const struct sync *s)
{
    assert_int_equal(sync_version(s), m->version);
    assert_true(sync_deadline(s) == model_deadline(m));
    for (uint32_t c = 0; c < m->chunks; c++) {
        assert_int_equal(sync_chunk_version(s, c), m->versions[c]);
    }
    for (uint32_t i = 0; i < MODEL_PLACES; i++) {
        assert_int_equal(sync_is_member(s, i), model_is_member(m, i));
        if (!model_is_member(m, i)) {
            continue;
        }
        assert_int_equal(sync_member_clock(s, i), m->members[i].done);
        assert_int_equal(sync_waits_for(s, i), model_waits_for(m, i));
        for (uint32_t c = 0; c < m->chunks; c++) {
            assert_int_equal(sync_contained(s, c, i), model_last(m, i, c, true));
        }
    }
}

#endif
