/* Every barrier under thousands of random schedules. Workers are little machines that keep to the
 * protocol: join, read, push some chunks, say that the clock is over, begin again. Around them
 * there is chaos (joins, leaves, deadlines, new chunks, restarts, duplicates, strangers), then calm
 * (some are dead, the others must get through), then everybody leaves.
 *
 * Two judges look at each event. The model (testing_model.h) knows the exact actions. The witness
 * here knows nothing of how they come about, only what they must mean: each update that a worker
 * has sent is in exactly one closed sum, in time, in order, and nobody waits for ever. */

#include "base/rng.h"
#include "sync/testing_model.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    SCHEDULES = 5000,
    WORKERS_MAX = 5,
    CHUNKS_MAX = 4,
    CLOCKS_MAX = 512,
    CALM_CLOCKS = 3,
    FAR = 3,
    NOBODY = -1,
};

enum phase { PHASE_OUT, PHASE_GATE, PHASE_READ, PHASE_PUSH, PHASE_CLOCK };

struct worker {
    enum phase phase;
    uint32_t place;
    uint32_t rank;
    bool dead;                /* In the calm: it does nothing any more. */
    uint64_t entry;           /* Its first clock in this life. */
    uint64_t clock;           /* The one it is at. */
    uint64_t latest;          /* The largest it was ever at in this life. */
    uint32_t todo;            /* Chunks that it has still to read or to push. */
    uint8_t sent[CLOCKS_MAX]; /* Which chunks belong to a clock: the same again after a restart. */
};

/* What became of an update. */
enum fate { FATE_NONE, FATE_OPEN, FATE_CLOSED };

struct counts {
    uint64_t actions[SYNC_ACTIONS];
    uint64_t reasons[SYNC_REASONS];
    uint64_t events, errors, extras, jumps, grown, restarts, dropped_again, orphans, early, skipped;
};

static struct {
    uint64_t seed;
    struct sync_config config;
    struct sync sync;
    struct model model;
    struct rng rng;
    int64_t now_ns;
    uint32_t chunks;
    uint32_t workers_count;
    uint32_t stride; /* Between places, so that tables must grow. */
    bool calm;
    struct worker workers[WORKERS_MAX];
    uint8_t fates[WORKERS_MAX][CHUNKS_MAX][CLOCKS_MAX];
    uint32_t orphans[CHUNKS_MAX]; /* Open updates of former lives. */
    uint64_t versions[CHUNKS_MAX];
    uint32_t ranks[CHUNKS_MAX]; /* Of the last update in the open sum. */
    uint64_t version;
    struct testing_actions got, expected; /* This and what follows outlives a schedule. */
    struct counts counts;
} t;

static bool one_in(uint32_t n)
{
    return rng_below(&t.rng, n) == 0;
}

static uint32_t all_chunks(void)
{
    return (1u << t.chunks) - 1;
}

static bool is_in(const struct worker *w)
{
    return w->phase > PHASE_GATE;
}

static int worker_at(uint32_t place)
{
    for (uint32_t i = 0; i < t.workers_count; i++) {
        if (t.workers[i].phase != PHASE_OUT && t.workers[i].place == place) {
            return (int)i;
        }
    }
    return NOBODY;
}

/* The workers. */

static void worker_begin(struct worker *w, uint64_t clock)
{
    assert_true(clock < CLOCKS_MAX);
    w->clock = clock;
    if (clock > w->latest) {
        w->latest = clock;
        w->sent[clock] = (uint8_t)(one_in(3) ? all_chunks() : rng_next(&t.rng) & all_chunks());
    }
    w->phase = PHASE_READ;
    w->todo = one_in(3) ? 0 : (uint32_t)rng_next(&t.rng) & all_chunks();
    if (t.config.policy->rounds && clock > t.version + t.config.staleness + FAR) {
        w->todo = all_chunks(); /* Who never reads might run away. */
    }
}

/* Go on to the next phase that has something to do. */
static void worker_move(struct worker *w)
{
    if (w->phase == PHASE_READ && w->todo == 0) {
        w->phase = PHASE_PUSH;
        w->todo = w->sent[w->clock];
    }
    if (w->phase == PHASE_PUSH && w->todo == 0) {
        w->phase = PHASE_CLOCK;
    }
}

/* The witness. */

static void witness_take(const struct sync_action *a)
{
    int who = worker_at(a->member);
    uint8_t *fate;

    assert_true(who != NOBODY && is_in(&t.workers[who]));
    fate = &t.fates[who][a->chunk][a->clock];
    assert_int_equal(*fate, FATE_NONE);
    *fate = FATE_OPEN;
    if (t.config.policy->rounds) {
        assert_true(a->clock > t.versions[a->chunk]);
        assert_true(a->clock <= t.versions[a->chunk] + t.config.staleness + 1);
    }
    if (t.config.fixed_order) {
        assert_true(t.workers[who].rank >= t.ranks[a->chunk]);
        t.ranks[a->chunk] = t.workers[who].rank;
    }
}

/* All that members have sent up to the label must be in it. */
static void witness_close(const struct sync_action *a)
{
    assert_true(a->clock > t.versions[a->chunk]);
    t.counts.jumps += a->clock > t.versions[a->chunk] + 1;
    t.versions[a->chunk] = a->clock;
    t.ranks[a->chunk] = 0;
    t.counts.orphans += t.orphans[a->chunk];
    t.orphans[a->chunk] = 0;
    for (uint32_t i = 0; i < t.workers_count; i++) {
        const struct worker *w = &t.workers[i];
        uint8_t *fates = t.fates[i][a->chunk];

        for (uint64_t k = 1; k <= w->latest; k++) {
            t.counts.extras += fates[k] == FATE_OPEN && k > a->clock;
            fates[k] = fates[k] == FATE_OPEN ? FATE_CLOSED : fates[k];
            if (t.config.policy->rounds && is_in(w) && k >= w->entry && k <= a->clock &&
                (w->sent[k] & 1u << a->chunk) != 0) {
                assert_int_equal(fates[k], FATE_CLOSED);
            }
        }
    }
}

static void witness_advance(const struct sync_action *a)
{
    assert_true(a->clock > t.version);
    t.version = a->clock;
    for (uint32_t c = 0; c < t.chunks && t.config.policy->rounds; c++) {
        assert_true(t.versions[c] >= a->clock);
    }
}

static void witness_expire(const struct sync_action *a)
{
    int who = worker_at(a->member);

    assert_true(who != NOBODY);
    assert_true(t.config.deadline_ns > 0);
    if (t.calm) {
        assert_true(t.workers[who].dead);
    }
    t.workers[who].phase = PHASE_OUT;
}

static void witness_admit(const struct sync_action *a)
{
    int who = worker_at(a->member);
    struct worker *w = &t.workers[who];

    assert_true(who != NOBODY);
    assert_int_equal(w->phase, PHASE_GATE);
    if (w->entry == 0) {
        w->entry = a->clock; /* Else it resumes. */
    }
    worker_begin(w, a->clock);
    worker_move(w);
}

static void witness(const struct sync_action *a)
{
    t.counts.actions[a->type]++;
    t.counts.reasons[a->reason]++;
    switch (a->type) {
    case SYNC_TAKE:
        witness_take(a);
        break;
    case SYNC_CLOSE:
        witness_close(a);
        break;
    case SYNC_ADVANCE:
        witness_advance(a);
        break;
    case SYNC_EXPIRE:
        witness_expire(a);
        break;
    case SYNC_ADMIT:
        witness_admit(a);
        break;
    case SYNC_ANSWER:
        if (t.config.policy->rounds) {
            assert_true(a->clock <= t.versions[a->chunk] + t.config.staleness + 1);
        }
        break;
    default:
        break;
    }
}

/* One event for both; the type of the first action, or SYNC_ACTIONS. */

static void same_actions(void)
{
    assert_int_equal(t.got.count, t.expected.count);
    for (uint32_t i = 0; i < t.got.count; i++) {
        const struct sync_action *a = &t.got.list[i];
        const struct sync_action *b = &t.expected.list[i];

        assert_int_equal(a->type, b->type);
        assert_int_equal(a->reason, b->reason);
        assert_int_equal(a->member, b->member);
        assert_int_equal(a->chunk, b->chunk);
        assert_int_equal(a->clock, b->clock);
    }
}

static enum sync_action_type offer(struct sync_event e)
{
    enum err rc;

    t.now_ns += rng_between(&t.rng, 0, 7);
    e.now_ns = t.now_ns;
    t.counts.events++;
    rc = testing_step(&t.sync, &e, &t.got);
    assert_int_equal(rc, model_step(&t.model, &e, &t.expected));
    if (rc != OK) {
        t.counts.errors++;
        return SYNC_ACTIONS;
    }
    same_actions();
    for (uint32_t i = 0; i < t.got.count; i++) {
        witness(&t.got.list[i]);
    }
    if (t.got.count == 0 || !testing_is_idle(t.got.list[0].type) || t.config.fixed_order) {
        model_compare(&t.model, &t.sync);
    }
    return t.got.count == 0 ? SYNC_ACTIONS : t.got.list[0].type;
}

/* A worker's next event: the first at or behind chunk @from of those that are open to it. False if
 * it has to wait. */
static bool worker_offer(struct worker *w, uint32_t from)
{
    struct sync_event e = {.member = w->place, .clock = w->clock};
    enum sync_action_type answer;

    if (w->phase == PHASE_CLOCK) {
        e.type = SYNC_CLOCK;
        assert_false(testing_is_idle(offer(e)));
        worker_begin(w, w->clock + 1);
        worker_move(w);
        return true;
    }
    e.chunk = from % t.chunks;
    while ((w->todo & 1u << e.chunk) == 0) {
        e.chunk = (e.chunk + 1) % t.chunks;
    }
    e.type = w->phase == PHASE_READ ? SYNC_READ : SYNC_PUSH;
    answer = offer(e);
    if (answer == SYNC_WAIT) {
        return false;
    }
    if (answer == SYNC_DROP) {
        assert_int_equal(t.fates[w - t.workers][e.chunk][e.clock], FATE_CLOSED);
        t.counts.dropped_again++;
    } else {
        assert_int_equal(answer, e.type == SYNC_READ ? SYNC_ANSWER : SYNC_TAKE);
    }
    w->todo &= ~(1u << e.chunk);
    worker_move(w);
    return true;
}

static void worker_join(struct worker *w)
{
    uint32_t who = (uint32_t)(w - t.workers);
    struct sync_event e = {.type = SYNC_JOIN, .rank = w->rank};

    do {
        w->place = (uint32_t)rng_below(&t.rng, WORKERS_MAX + 2) * t.stride;
    } while (worker_at(w->place) != NOBODY);
    for (uint32_t c = 0; c < CHUNKS_MAX; c++) {
        for (uint64_t k = 0; k <= w->latest; k++) {
            t.orphans[c] += t.fates[who][c][k] == FATE_OPEN;
        }
    }
    memset(t.fates[who], 0, sizeof(t.fates[who]));
    w->phase = PHASE_GATE;
    w->entry = 0;
    w->latest = 0;
    e.member = w->place;
    (void)offer(e);
}

static void worker_leave(struct worker *w)
{
    struct sync_event e = {.type = SYNC_LEAVE, .member = w->place};

    w->phase = PHASE_OUT;
    (void)offer(e);
}

/* The chaos. */

static void fire_deadline(void)
{
    int64_t deadline_ns = sync_deadline(&t.sync);

    if (deadline_ns != SYNC_NEVER && one_in(2)) {
        t.now_ns = deadline_ns > t.now_ns ? deadline_ns : t.now_ns;
    }
    t.counts.early += t.now_ns < deadline_ns;
    (void)offer((struct sync_event){.type = SYNC_TIMEOUT});
}

static void grow(void)
{
    uint32_t count = (uint32_t)rng_below(&t.rng, 3);

    if (t.chunks + count > CHUNKS_MAX) {
        return;
    }
    if (one_in(3)) {
        assert_int_equal(sync_reserve(&t.sync, count + (uint32_t)rng_below(&t.rng, 3)), OK);
        model_compare(&t.model, &t.sync);
    }
    assert_int_equal(sync_grow(&t.sync, count), OK);
    model_grow(&t.model, count);
    for (; count > 0; count--) {
        t.versions[t.chunks++] = t.version;
        t.counts.grown++;
    }
    assert_true(sync_invariant(&t.sync));
    model_compare(&t.model, &t.sync);
}

/* What should never count: strangers, duplicates, what is behind a clock, nonsense. */
static void disturb(void)
{
    const struct worker *w = &t.workers[rng_below(&t.rng, t.workers_count)];
    struct sync_event e = {.type = one_in(2) ? SYNC_PUSH : SYNC_CLOCK, .member = w->place};

    if (t.chunks > 0) {
        e.chunk = (uint32_t)rng_below(&t.rng, t.chunks);
    }
    if (is_in(w)) {
        e.clock = rng_below(&t.rng, w->clock);
    } else {
        e.clock = rng_below(&t.rng, t.version + 4);
    }
    if (one_in(4)) {
        e.type = SYNC_READ;
        e.clock = rng_below(&t.rng, t.version + 6);
    } else if (one_in(4) && w->phase != PHASE_OUT) {
        e.type = SYNC_JOIN;
    }
    if (t.chunks == 0 && (e.type == SYNC_PUSH || e.type == SYNC_READ)) {
        return;
    }
    if (e.type == SYNC_PUSH && e.clock == 0) {
        return;
    }
    if (w->phase == PHASE_OUT && worker_at(w->place) != NOBODY) {
        return; /* Somebody else sits there now. */
    }
    (void)offer(e);
}

/* The server dies and comes back with what its closed chunks hold. Some workers stay away. */

struct checkpoint {
    uint64_t versions[CHUNKS_MAX];
    uint64_t contained[WORKERS_MAX][CHUNKS_MAX];
    uint64_t done[WORKERS_MAX];
};

static void checkpoint_take(struct checkpoint *p)
{
    for (uint32_t c = 0; c < t.chunks; c++) {
        p->versions[c] = sync_chunk_version(&t.sync, c);
        for (uint32_t i = 0; i < t.workers_count; i++) {
            p->contained[i][c] =
                is_in(&t.workers[i]) ? sync_contained(&t.sync, c, t.workers[i].place) : 0;
        }
    }
    for (uint32_t i = 0; i < t.workers_count && t.sync.started; i++) {
        const struct worker *w = &t.workers[i];
        uint64_t done = sync_member_clock(&t.sync, w->place);

        /* What is beyond the version is in no checkpoint, unless the worker began there; and that
         * the driver may not know. */
        if (t.config.policy->rounds && done > t.version) {
            done = w->entry - 1 > t.version && one_in(2) ? w->entry - 1 : t.version;
        }
        p->done[i] = done;
    }
}

static void forget_open(void)
{
    for (uint32_t c = 0; c < CHUNKS_MAX; c++) {
        for (uint32_t i = 0; i < t.workers_count; i++) {
            for (uint64_t k = 0; k <= t.workers[i].latest; k++) {
                uint8_t *fate = &t.fates[i][c][k];

                *fate = *fate == FATE_OPEN ? FATE_NONE : *fate;
            }
        }
        t.orphans[c] = 0;
        t.ranks[c] = 0;
    }
}

static void resume_worker(struct worker *w, const struct checkpoint *p)
{
    uint32_t who = (uint32_t)(w - t.workers);
    struct sync_event e = {.type = SYNC_JOIN,
                           .resume = true,
                           .member = w->place,
                           .rank = w->rank,
                           .clock = p->done[who]};

    w->phase = PHASE_GATE;
    (void)offer(e);
    for (uint32_t c = 0; c < t.chunks; c++) {
        sync_restore_member(&t.sync, c, w->place, p->contained[who][c]);
        model_restore_member(&t.model, c, w->place, p->contained[who][c]);
    }
    assert_true(sync_invariant(&t.sync));
}

/* It is asked for clocks before its first: it says that there is nothing. */
static void worker_skip(struct worker *w)
{
    struct sync_event e = {.type = SYNC_CLOCK, .member = w->place, .clock = w->entry - 1};

    if (is_in(w) && w->clock < w->entry) {
        assert_false(testing_is_idle(offer(e)));
        worker_begin(w, w->entry);
        worker_move(w);
        t.counts.skipped++;
    }
}

static void restart(void)
{
    struct checkpoint p;
    struct err_text text;
    bool was_in[WORKERS_MAX];

    checkpoint_take(&p);
    forget_open();
    sync_deinit(&t.sync);
    assert_int_equal(sync_init(&t.sync, &t.config, &text), OK);
    model_init(&t.model, &t.config);
    assert_int_equal(sync_grow(&t.sync, t.chunks), OK);
    model_grow(&t.model, t.chunks);
    if (one_in(2)) {
        sync_restart(&t.sync);
        t.model.started = true;
    }
    for (uint32_t c = 0; c < t.chunks; c++) {
        sync_restore(&t.sync, c, p.versions[c]);
        model_restore(&t.model, c, p.versions[c]);
    }
    if (t.config.policy->rounds && t.chunks > 0) {
        assert_int_equal(sync_version(&t.sync), t.version);
    }
    t.version = sync_version(&t.sync); /* Unknown if no chunk has it. */
    for (uint32_t i = 0; i < t.workers_count; i++) {
        was_in[i] = is_in(&t.workers[i]);
        t.workers[i].phase = PHASE_OUT;
    }
    for (uint32_t i = 0; i < t.workers_count; i++) {
        if (was_in[i] && !one_in(6)) {
            resume_worker(&t.workers[i], &p);
        }
    }
    (void)offer((struct sync_event){.type = SYNC_CONTINUE});
    for (uint32_t i = 0; i < t.workers_count; i++) {
        worker_skip(&t.workers[i]);
    }
    t.counts.restarts++;
}

static void chaos(void)
{
    struct worker *w = &t.workers[rng_below(&t.rng, t.workers_count)];
    uint32_t dice = (uint32_t)rng_below(&t.rng, 100);

    if (dice < 3) {
        fire_deadline();
    } else if (dice < 8) {
        disturb();
    } else if (dice < 10) {
        grow();
    } else if (dice == 10 && one_in(2)) {
        restart();
    } else if (w->phase == PHASE_OUT) {
        if (one_in(3)) {
            worker_join(w);
        }
    } else if (dice < 13) {
        worker_leave(w);
    } else if (is_in(w)) {
        (void)worker_offer(w, (uint32_t)rng_below(&t.rng, CHUNKS_MAX));
    }
}

/* The calm. */

static bool is_finished(const struct worker *w, uint64_t last)
{
    return !is_in(w) || w->dead || w->clock > last;
}

/* One event of each that has something to do; false if all had to wait. */
static bool calm_turn(uint64_t last)
{
    uint32_t from = (uint32_t)rng_below(&t.rng, t.workers_count);
    bool moved = false;

    for (uint32_t i = 0; i < t.workers_count; i++) {
        struct worker *w = &t.workers[(from + i) % t.workers_count];

        for (uint32_t c = 0; c < CHUNKS_MAX && !is_finished(w, last); c++) {
            if (worker_offer(w, from + c)) {
                moved = true;
                break;
            }
        }
    }
    return moved;
}

static bool calm_over(uint64_t last)
{
    bool over = true;

    for (uint32_t i = 0; i < t.workers_count; i++) {
        over = over && is_finished(&t.workers[i], last);
    }
    return over;
}

static void calm_begin(void)
{
    t.calm = true;
    for (uint32_t i = 0; i < t.workers_count; i++) {
        t.workers[i].dead = t.config.deadline_ns > 0 && one_in(4);
        if (!t.sync.started && t.workers[i].phase == PHASE_OUT) {
            worker_join(&t.workers[i]);
        }
    }
}

/* Whoever lives gets through, with the help of the deadline if others do not. */
static void calm(void)
{
    uint64_t last;
    bool alive = false, dead = false;

    calm_begin();
    last = t.model.begun + CALM_CLOCKS;
    while (!calm_over(last)) {
        if (!calm_turn(last)) {
            uint64_t expired = t.counts.actions[SYNC_EXPIRE];

            assert_true(sync_deadline(&t.sync) != SYNC_NEVER);
            t.now_ns = sync_deadline(&t.sync);
            (void)offer((struct sync_event){.type = SYNC_TIMEOUT});
            assert_true(t.counts.actions[SYNC_EXPIRE] > expired);
        }
    }
    for (uint32_t i = 0; i < t.workers_count; i++) {
        alive = alive || (is_in(&t.workers[i]) && !t.workers[i].dead);
        dead = dead || (is_in(&t.workers[i]) && t.workers[i].dead);
    }
    if (alive && !dead) {
        assert_true(t.version >= last);
    }
}

/* All that was ever taken is in a closed sum, and all that a member sent is taken. */
static void check_fates(void)
{
    for (uint32_t i = 0; i < t.workers_count; i++) {
        const struct worker *w = &t.workers[i];

        for (uint64_t k = w->entry; is_in(w) && k < w->clock; k++) {
            for (uint32_t c = 0; c < t.chunks; c++) {
                assert_int_equal(t.fates[i][c][k] != FATE_NONE, (w->sent[k] >> c & 1) != 0);
            }
        }
    }
}

static void finish(void)
{
    check_fates();
    for (uint32_t i = 0; i < t.workers_count; i++) {
        if (t.workers[i].phase != PHASE_OUT) {
            worker_leave(&t.workers[i]);
        }
    }
    for (uint32_t c = 0; c < t.chunks; c++) {
        assert_int_equal(t.orphans[c], 0);
        for (uint32_t i = 0; i < t.workers_count; i++) {
            assert_null(memchr(t.fates[i][c], FATE_OPEN, CLOCKS_MAX));
        }
    }
}

static void begin(const struct sync_config *config, uint64_t seed)
{
    static const uint32_t strides[] = {1, 1, 1, 1, 3, 6};
    struct err_text text;

    memset(&t, 0, offsetof(__typeof__(t), got));
    t.seed = seed;
    rng_init(&t.rng, seed);
    t.config = *config;
    t.config.staleness = config->policy == &sync_ssp ? rng_below(&t.rng, 4) : 0;
    t.config.deadline_ns = one_in(3) ? 0 : rng_between(&t.rng, 20, 400);
    t.workers_count = 1 + (uint32_t)rng_below(&t.rng, WORKERS_MAX);
    t.config.members_min = (uint32_t)rng_below(&t.rng, t.workers_count + 1);
    t.stride = strides[rng_below(&t.rng, sizeof(strides) / sizeof(strides[0]))];
    for (uint32_t i = 0; i < t.workers_count; i++) {
        t.workers[i].rank = (i * 3 + (uint32_t)seed) % WORKERS_MAX;
    }
    assert_int_equal(sync_init(&t.sync, &t.config, &text), OK);
    model_init(&t.model, &t.config);
    grow();
    grow();
}

/* The seed of the schedule that failed, if one does. */
static int report_seed(void **state)
{
    (void)state;
    (void)printf("last seed: %" PRIu64 " (%s)\n", t.seed, t.config.policy->name);
    return 0;
}

/* Nothing is tested by what never happens. */
static void check_counts(const struct sync_policy *policy)
{
    const struct counts *n = &t.counts;

    for (int type = 0; type < SYNC_ACTIONS; type++) {
        bool none =
            type == SYNC_GATHER || (!policy->rounds && (type == SYNC_WAIT || type == SYNC_EXPIRE));

        assert_int_equal(n->actions[type] < SCHEDULES / 5, none);
    }
    assert_true(n->reasons[SYNC_LATE] > SCHEDULES / 5);
    assert_true(n->reasons[SYNC_STRANGER] > SCHEDULES / 5);
    assert_true(n->errors > SCHEDULES / 10);
    assert_true(n->grown > SCHEDULES);
    assert_true(n->restarts > SCHEDULES / 10);
    assert_true(n->early > SCHEDULES / 20 || !policy->rounds);
    assert_true(n->jumps > SCHEDULES / 20 || policy != &sync_ssp);
    assert_true(n->extras > SCHEDULES / 5 || policy != &sync_ssp);
    assert_true(n->dropped_again > SCHEDULES / 20);
    assert_true(n->skipped > SCHEDULES / 100 || !policy->rounds);
    assert_true(n->orphans > SCHEDULES / 20 || !policy->rounds);
}

static void run_schedules(const struct sync_config *config)
{
    uint64_t schedules = getenv("STRAIT_VALGRIND") != NULL ? SCHEDULES / 50 : SCHEDULES;

    memset(&t.counts, 0, sizeof(t.counts));
    for (uint64_t seed = 1; seed <= schedules; seed++) {
        uint64_t steps;

        begin(config, seed);
        steps = 40 + rng_below(&t.rng, 160);
        for (uint64_t i = 0; i < steps; i++) {
            chaos();
        }
        if (t.chunks > 0 || one_in(2)) {
            calm();
        }
        finish();
        sync_deinit(&t.sync);
    }
    if (schedules == SCHEDULES) {
        check_counts(config->policy);
    }
}

static void test_bsp_keeps_its_word_under_random_schedules(void **state)
{
    (void)state;
    run_schedules(&(struct sync_config){.policy = &sync_bsp});
}

static void test_bsp_in_fixed_order_keeps_its_word_under_random_schedules(void **state)
{
    (void)state;
    run_schedules(&(struct sync_config){.policy = &sync_bsp, .fixed_order = true});
}

static void test_ssp_keeps_its_word_under_random_schedules(void **state)
{
    (void)state;
    run_schedules(&(struct sync_config){.policy = &sync_ssp});
}

static void test_tap_keeps_its_word_under_random_schedules(void **state)
{
    (void)state;
    run_schedules(&(struct sync_config){.policy = &sync_tap});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_bsp_keeps_its_word_under_random_schedules, report_seed),
        cmocka_unit_test_teardown(test_bsp_in_fixed_order_keeps_its_word_under_random_schedules,
                                  report_seed),
        cmocka_unit_test_teardown(test_ssp_keeps_its_word_under_random_schedules, report_seed),
        cmocka_unit_test_teardown(test_tap_keeps_its_word_under_random_schedules, report_seed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
