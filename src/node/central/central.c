#include "node/central/central.h"

#include "base/hash.h"
#include "base/mem.h"
#include "node/central/state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Making. */

static int central_order(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Number the sites in the order of their names: the same everywhere. */
static uint32_t central_number(struct node_central *r)
{
    const char *names[CENTRAL_SITES_MAX] = {r->lane->config.site.name};
    uint32_t self = 0;

    r->sites = r->between->others_count + 1;
    for (uint32_t i = 1; i < r->sites; i++) {
        names[i] = r->between->others[i - 1].name;
    }
    qsort(names, r->sites, sizeof(names[0]), central_order);
    for (uint32_t i = 0; i < r->sites; i++) {
        r->remote_at[i] = node_remote_named(&r->remotes, names[i]);
        r->ids[i] = r->remote_at[i] == NULL ? r->remotes.id : r->remote_at[i]->id;
        self = r->remote_at[i] == NULL ? i : self;
    }
    return self;
}

uint32_t node_central_index(const struct node_central *r, uint32_t id)
{
    for (uint32_t i = 0; i < r->sites; i++) {
        if (r->ids[i] == id) {
            return i;
        }
    }
    return CENTRAL_SITES_MAX;
}

static const struct node_remote_events central_events;
static void central_tick_due(struct loop_timer *timer, void *user);
static void central_pace_due(struct loop_timer *timer, void *user);
static void central_pump_due(struct loop_task *task, void *user);

static enum err central_build(struct node_central *r, struct err_text *text)
{
    struct node_lane *l = r->lane;
    enum err rc = node_remotes_init(&r->remotes, l, &central_events, r);

    if (rc == OK) {
        rc = node_remotes_fill(&r->remotes, text);
    }
    if (rc == OK) {
        rc = central_init(&r->c, r->between->others_count + 1, central_number(r),
                          l->config.site.sync.fixed_order);
    }
    r->passing = mem_calloc(2 * (size_t)r->sites + 1, sizeof(*r->passing));
    r->scratch = mem_calloc(LIMIT_CHUNK_ELEMENTS, sizeof(float));
    if (rc == OK && (r->passing == NULL || r->scratch == NULL)) {
        rc = ERR_NOMEM;
    }
    for (uint32_t i = 0; i < 2 * r->sites && r->passing != NULL; i++) {
        list_init(&r->passing[i]);
    }
    for (uint32_t i = 0; i < r->sites && rc == OK; i++) {
        buf_pool_raise(l->pool, NODE_FLOW_WINDOW_BYTES_MAX);
        l->coming_bytes += NODE_FLOW_WINDOW_BYTES_MAX;
    }
    if (rc == OK) {
        rc = node_central_plan_init(r);
    }
    if (rc == OK) {
        rc = loop_timer_init(&r->tick, l->config.loop, central_tick_due, r);
    }
    if (rc == OK) {
        rc = loop_timer_init(&r->pace, l->config.loop, central_pace_due, r);
    }
    return rc;
}

enum err node_central_create(struct node_lane *l, struct node_central **out, struct err_text *text)
{
    const struct node_between *b = l->config.between;
    struct node_central *r;
    enum err rc;

    *out = NULL;
    if (b == NULL || b->others_count == 0 || !b->central) {
        return OK;
    }
    rc = node_between_check(b, &l->config.site, text);
    if (rc != OK) {
        return rc;
    }
    r = mem_zalloc(sizeof(*r));
    if (r == NULL) {
        return ERR_NOMEM;
    }
    r->lane = l;
    r->between = b;
    list_init(&r->early);
    loop_task_init(&r->pump, l->config.loop, central_pump_due, r);
    rc = central_build(r, text);
    if (rc != OK) {
        node_central_destroy(r);
        return rc;
    }
    *out = r;
    return OK;
}

static void central_chunk_clear(struct node_central_chunk *k)
{
    table_accum_clear(&k->aside);
    table_accum_clear(&k->kept);
    table_accum_clear(&k->total);
    buf_unref(k->result);
    buf_unref(k->plane);
}

void node_central_destroy(struct node_central *r)
{
    if (r == NULL) {
        return;
    }
    loop_task_cancel(&r->pump);
    loop_timer_deinit(&r->tick);
    loop_timer_deinit(&r->pace);
    node_central_early_drop(r);
    node_central_plan_deinit(r);
    if (r->passing != NULL) {
        node_central_forget(r);
    }
    for (uint32_t i = 0; i < r->chunks_count + r->chunks_ready; i++) {
        central_chunk_clear(&r->chunks[i]);
    }
    mem_free(r->chunks);
    mem_free(r->words);
    mem_free(r->have);
    mem_free(r->scratch);
    mem_free(r->passing);
    central_deinit(&r->c);
    node_remotes_deinit(&r->remotes);
    mem_free(r);
}

struct node_remote_sites *node_central_remotes(struct node_central *r)
{
    return &r->remotes;
}

enum err node_central_room(struct node_central *r, uint32_t count)
{
    uint32_t total = r->chunks_count + count;
    struct node_central_chunk *chunks = mem_calloc((size_t)total + 1, sizeof(*chunks));
    uint64_t *words = mem_calloc((size_t)total + 1, sizeof(*words));
    uint64_t *have = mem_calloc((size_t)total / 64 + 1, sizeof(*have));
    enum err rc =
        chunks == NULL || words == NULL || have == NULL ? ERR_NOMEM : central_reserve(&r->c, count);

    if (rc != OK) {
        mem_free(chunks);
        mem_free(words);
        mem_free(have);
        return rc;
    }
    if (r->chunks != NULL) {
        memcpy(chunks, r->chunks, r->chunks_count * sizeof(*chunks));
        memcpy(have, r->have, ((size_t)r->chunks_count + 63) / 64 * sizeof(*have));
    }
    mem_free(r->chunks);
    mem_free(r->words);
    mem_free(r->have);
    r->chunks = chunks;
    r->words = words;
    r->have = have;
    r->chunks_ready = count;
    return OK;
}

void node_central_grown(struct node_central *r, uint32_t count)
{
    r->chunks_count += count;
    r->chunks_ready = 0;
    central_grow(&r->c, count, sync_version(&r->lane->sync));
    /* What is kept, added up, and sent, beside the lane's own sum. */
    buf_pool_raise(r->lane->pool, (uint64_t)count * 3 * NODE_SUM_BYTES);
    if (r->started) {
        node_handshake_resend(&r->remotes);
        node_central_stand(r);
        node_central_early(r);
    }
}

/* Whose sums are in a chunk that old does not matter: all of them were made by processes that are
 * no more, or are known to those who go on. */
void node_central_restore(struct node_central *r)
{
    uint64_t counted[CENTRAL_SITES_MAX];

    for (uint32_t i = 0; i < r->chunks_count; i++) {
        for (uint32_t s = 0; s < r->sites; s++) {
            counted[s] = r->lane->restored[i].version;
        }
        central_restore(&r->c, i, r->lane->restored[i].version, counted);
    }
}

/* Plans. */

/* A hash of what tables there are: sites with others cannot go together. */
uint64_t node_central_tables(const struct node_central *r)
{
    const struct node_lane *l = r->lane;
    uint64_t hash = 0;

    for (uint16_t id = 0; id < l->next_table; id++) {
        const struct table_schema *s = table_store_schema(l->tables, id);
        const uint64_t one[] = {hash, id, s == NULL ? 0 : hash_text(s->name),
                                s == NULL ? 0 : s->rows, s == NULL ? 0 : s->width};

        hash = hash_bytes(one, sizeof(one));
    }
    return hash;
}

static void central_flows(struct node_central *r)
{
    for (uint32_t i = 0; i < r->sites; i++) {
        const struct node_path *path = &r->plan.paths[central_is_centre(&r->c) ? i : r->c.self];
        uint64_t rate = path->bytes_per_s / r->lane->config.site.lanes;
        uint64_t window = rate == 0 ? NODE_FLOW_WINDOW_BYTES_MAX : rate;

        r->flows[i] = (struct node_flow){0};
        bucket_init(&r->flows[i].bucket, rate);
        window = window < NODE_FLOW_WINDOW_BYTES_MIN ? NODE_FLOW_WINDOW_BYTES_MIN : window;
        r->flows[i].window_bytes =
            window > NODE_FLOW_WINDOW_BYTES_MAX ? NODE_FLOW_WINDOW_BYTES_MAX : window;
    }
}

void node_central_adopted(struct node_central *r, const struct node_plan *plan)
{
    const struct central_plan next = {
        .epoch = plan->epoch, .centre = plan->centre, .active = plan->active};

    if (!central_adopt(&r->c, &next)) {
        return;
    }
    if (plan != &r->plan) {
        r->plan = *plan;
    }
    node_central_forget(r);
    central_flows(r);
    r->asking = false;
    r->moved_ns = node_central_now(r);
    memset(r->used, 0, r->sites * sizeof(*r->used));
    memset(r->broken, 0, r->sites * sizeof(*r->broken));
    for (uint32_t i = 0; i < r->chunks_count; i++) {
        struct node_central_chunk *k = &r->chunks[i];

        table_accum_clear(&k->total);
        buf_unref(k->result);
        k->result = NULL;
        k->result_round = 0;
        buf_unref(k->plane);
        k->plane = NULL;
    }
    node_lane_trace(r->lane, "plan %" PRIu32 ": site %" PRIu32 " is the centre", plan->epoch,
                    plan->centre);
    node_central_stand(r);
}

/* A site that knows nothing yet has the tables that others have: who would make them may be done.
 */
static void central_make_tables(struct node_central *r)
{
    for (uint32_t i = 1; i < r->remotes.count && !r->c.alive; i++) {
        struct node_remote_site *f = &r->remotes.list[i];

        if (f->up && f->said != NULL && !node_handshake_make_tables(f)) {
            node_lane_trace(r->lane, "cannot make the tables of site %s", f->site.name);
        }
    }
}

bool node_central_is_ours(const struct node_central *r)
{
    uint64_t life = r->plan.paths[r->c.self].life;

    return life == 0 || life == links_life(&r->links, r->c.self);
}

void node_central_stand(struct node_central *r)
{
    struct central_stand stand;
    size_t size;

    if (r->c.plan.epoch == 0 || r->c.begun || !central_is_active(&r->c, r->c.self) ||
        !node_central_is_ours(r)) {
        return;
    }
    stand = central_stand(&r->c);
    r->stood_ns = node_central_now(r);
    if (central_is_centre(&r->c)) {
        if (central_stood(&r->c, r->c.self, &stand) == OK) {
            node_central_begin(r);
        }
        return;
    }
    size = node_stand_write(&stand, node_central_tables(r), r->note);
    if (node_central_say_bytes(r, r->c.plan.centre, WIRE_NOTE_STAND, r->note, size) != OK) {
        node_lane_trace(r->lane, "cannot tell the centre yet how it stands");
    }
}

void node_central_begin(struct node_central *r)
{
    if (!central_begin(&r->c)) {
        if (central_is_unfit(&r->c)) {
            links_ask(&r->links);
        }
        return;
    }
    for (uint32_t i = 0; i < r->sites; i++) {
        if (i != r->c.self && central_is_active(&r->c, i)) {
            size_t size;

            central_voids(&r->c, i, r->words);
            size = node_go_write(central_since(&r->c, i), r->words, r->chunks_count, r->note);
            if (node_central_say_bytes(r, i, WIRE_NOTE_GO, r->note, size) != OK) {
                links_ask(&r->links); /* It would wait for ever. */
            }
        }
    }
    central_set_busy(&r->c, central_since(&r->c, r->c.self), r->c.until);
    node_central_went(r);
}

/* A site that begins with what others have does not wait for all of its workers: some of them may
 * be done. */
void node_central_joined(struct node_central *r)
{
    for (uint32_t i = 0; i < r->chunks_count; i++) {
        if (r->c.chunks[i].version > 0) {
            sync_restart(&r->lane->sync);
            r->joined_ns = node_central_now(r);
        }
    }
}

static bool central_has_workers(const struct node_central *r)
{
    LIST_FOREACH (link, &r->lane->sessions) {
        enum node_session_state state = LIST_ENTRY(link, struct node_session, link)->state;

        if (state == NODE_ASKED || state == NODE_IN) {
            return true;
        }
    }
    return r->lane->restoring;
}

/* All workers of a site that has restarted may be done: without a worker after the time that these
 * have to come back, other sites do not wait for its sums until there is one again. */
static void central_look_for_workers(struct node_central *r)
{
    if (r->joined_ns == 0 || r->working || !node_central_began(r) || central_has_workers(r) ||
        node_central_now(r) - r->joined_ns < r->lane->config.restore_ns) {
        return;
    }
    r->joined_ns = 0;
    central_set_busy(&r->c, r->c.since, 0);
    node_central_idle(r, 0);
}

/* Workers may be let in, and what waits may go. */
void node_central_went(struct node_central *r)
{
    struct node_lane *l = r->lane;

    node_lane_trace(l, "plan %" PRIu32 " begins", r->c.plan.epoch);
    r->moved_ns = node_central_now(r);
    links_set_memory(&r->links, true, (uint64_t)node_central_now(r));
    if (r->c.until != CENTRAL_EVER) {
        node_central_idle(r, r->c.until); /* The last one may have left since it stood. */
    }
    node_central_early(r);
    node_central_look_all(r);
    node_central_pump(r);
    if (node_central_began(r)) {
        sync_defer(&l->sync, r->c.since);
        node_central_joined(r);
        node_restore_look(l);
    }
    node_operate_newcomers(l);
}

/* The last round that is needed so that all sums of this site count; zero: none. */
uint64_t node_central_owed(const struct node_central *r)
{
    uint64_t round = 0;

    for (uint32_t i = 0; i < r->chunks_count; i++) {
        if (r->lane->chunks[i]->accum.sum != NULL && r->c.chunks[i].version + 1 > round) {
            round = r->c.chunks[i].version + 1;
        }
    }
    return round;
}

/* Nobody is here to end a clock, and there are sums that have not counted: a round for them. Others
 * wait for every sum up to the round that was named, of chunks that are behind too. */
void node_central_flush(struct node_central *r)
{
    uint64_t round;

    if (!r->carrying || r->asking || !r->c.begun || !central_is_whole(&r->c) ||
        r->lane->sync.members_count > 0 || r->c.until == CENTRAL_EVER) {
        return;
    }
    round = node_central_owed(r);
    if (r->c.until < round) {
        central_set_busy(&r->c, r->c.since, round);
        node_central_idle(r, round);
    }
    r->carrying = round != 0;
    for (uint32_t i = 0; i < r->chunks_count; i++) {
        uint64_t next = r->c.chunks[i].version + 1;

        if (next > r->c.until || next < r->c.since) {
            continue;
        }
        r->carrying = true;
        if (r->c.chunks[i].gathered == 0) {
            node_central_gathered(r, i, next);
        }
    }
}

/* Sessions. */

static void central_remote_up(struct node_remote_site *f, bool anew, void *user)
{
    struct node_central *r = user;

    (void)anew;
    node_central_seen(r, f, true);
    if (r->broken[f->index]) {
        r->broken[f->index] = false;
        links_ask(&r->links); /* What was under way is lost: rounds begin anew. */
    }
    node_central_stand(r);
    node_central_links(r);
    node_central_pump(r);
}

static void central_remote_down(struct node_remote_site *f, void *user)
{
    struct node_central *r = user;

    r->broken[f->index] = r->broken[f->index] || r->used[f->index];
    node_central_seen(r, f, false);
    node_central_links(r);
}

static void central_remote_lost(struct node_remote_site *f, bool out, void *user)
{
    struct node_central *r = user;

    (void)out;
    links_neighbour_reset(&r->links, node_central_index(r, f->id));
}

static void central_remote_known(struct node_remote_site *f, void *user)
{
    (void)f;
    node_central_early(user);
}

static enum err central_remote_frame(struct node_remote_site *f, const struct net_frame *frame,
                                     void *user)
{
    return node_central_take(user, f, frame);
}

static enum err central_remote_control(struct node_remote_site *f, uint16_t operation,
                                       uint32_t call, const json_t *fields, bool in, void *user)
{
    (void)call;
    bool word =
        (operation & ~NODE_ANSWER) == NODE_OP_WORD || (operation & ~NODE_ANSWER) == NODE_OP_CHANGES;

    if (!in && (operation & NODE_ANSWER) != 0 &&
        (word || operation == (NODE_OP_PLAN | NODE_ANSWER))) {
        node_remote_on_restarted(
            f); /* It has got what was for its process before, and refuses that. */
        return OK;
    }
    if (!in || !f->in_agreed) {
        return ERR_PEER;
    }
    if ((operation & NODE_ANSWER) == 0 && word) {
        return node_central_word(user, f, operation, fields);
    }
    return operation == NODE_OP_PLAN ? node_central_plan(user, f, fields) : ERR_PEER;
}

static const struct node_remote_events central_events = {
    .up = central_remote_up,
    .down = central_remote_down,
    .lost = central_remote_lost,
    .known = central_remote_known,
    .frame = central_remote_frame,
    .control = central_remote_control,
};

void node_central_start(struct node_central *r)
{
    r->started = true;
    node_remotes_start(&r->remotes);
    if (r->between->plan.epoch != 0 && node_central_plan_set(r, &r->between->plan) == LINKS_NEW) {
        node_central_adopted(r, &r->between->plan);
    }
    loop_timer_start_in(&r->tick, (int64_t)NODE_CENTRAL_TICK_MS * 1000000);
}

/* Moving. */

void node_central_pump(struct node_central *r)
{
    loop_task_post(&r->pump);
}

void node_central_writable(struct node_central *r)
{
    node_central_pump(r);
}

static void central_pump_due(struct loop_task *task, void *user)
{
    (void)task;
    node_central_flush(user);
    node_central_flow(user);
}

static void central_pace_due(struct loop_timer *timer, void *user)
{
    struct node_central *r = user;

    (void)timer;
    r->pace_ns = 0;
    node_central_flow(r);
}

static void central_tick_due(struct loop_timer *timer, void *user)
{
    struct node_central *r = user;
    int64_t now_ns = node_central_now(r);

    (void)timer;
    for (uint32_t i = 1; i < r->remotes.count; i++) {
        struct node_remote_site *f = &r->remotes.list[i];
        bool seen = node_remote_tick(f, now_ns, (int64_t)NODE_CENTRAL_DOWN_MS * 1000000);

        node_central_seen(r, f, f->up && seen);
    }
    node_central_links(r);
    central_look_for_workers(r);
    node_central_early(r); /* What waited for memory, or room. */
    if (r->close_due) {
        r->close_due = false;
        node_central_look_all(r);
    }
    if (now_ns - r->stood_ns >= (int64_t)NODE_CENTRAL_STAND_MS * 1000000) {
        central_make_tables(r);
        node_central_stand(r);
    }
    node_central_pump(r);
    loop_timer_start_in(&r->tick, (int64_t)NODE_CENTRAL_TICK_MS * 1000000);
}

/* Workers. */

bool node_central_began(const struct node_central *r)
{
    if (r == NULL) {
        return true;
    }
    return central_is_whole(&r->c) && r->c.until == CENTRAL_EVER;
}

/* Whoever is let in from now on begins with that round, in all lanes as soon as can be: a worker
 * goes on when the last one has let it in. */
void node_central_busy(struct node_central *r, uint64_t since)
{
    r->asking = false;
    central_set_busy(&r->c, since, CENTRAL_EVER);
    sync_defer(&r->lane->sync, since);
    node_operate_newcomers(r->lane);
}

void node_central_wanted(struct node_central *r)
{
    if (!r->c.begun || r->c.until == CENTRAL_EVER || r->asking) {
        return;
    }
    if (central_is_centre(&r->c)) {
        node_central_busy(r, central_busy(&r->c, r->c.self));
        node_central_look_all(r);
    } else if (node_central_say(r, r->c.plan.centre, WIRE_NOTE_BUSY, &(struct node_note){0}) ==
               OK) {
        r->asking = true;
    }
}

void node_central_look_for_newcomers(struct node_central *r)
{
    LIST_FOREACH (link, &r->lane->sessions) {
        if (LIST_ENTRY(link, struct node_session, link)->state == NODE_ASKED) {
            node_central_wanted(r);
        }
    }
}

/* Tell the centre; if the plan has not begun, the stand does. */
void node_central_idle(struct node_central *r, uint64_t after)
{
    if (!r->c.begun) {
        return;
    }
    if (central_is_centre(&r->c)) {
        central_idle(&r->c, r->c.self, after);
        node_central_look_all(r);
    } else if (node_central_say(r, r->c.plan.centre, WIRE_NOTE_IDLE,
                                &(struct node_note){.round = after}) != OK) {
        links_ask(&r->links);
    }
}

void node_central_working(struct node_central *r)
{
    r->working = true;
}

void node_central_finished(struct node_central *r)
{
    uint64_t after = r->lane->sync.seen;

    if (r->c.until != CENTRAL_EVER || !r->working) {
        return; /* Those who were to come have not been here yet. */
    }
    r->working = false;
    central_set_busy(&r->c, r->c.since, after);
    node_central_idle(r, after);
    r->carrying = true; /* To be looked at. */
    node_central_pump(r);
}

void node_central_gathered(struct node_central *r, uint32_t chunk, uint64_t round)
{
    central_gathered(&r->c, chunk, round);
    r->moved_ns = node_central_now(r);
    if (central_is_centre(&r->c)) {
        node_central_look(r, chunk);
    }
    node_central_pump(r);
}

void node_central_stats(const struct node_central *r, struct node_central_stats *out)
{
    *out = r->stats;
    out->epoch = r->c.plan.epoch;
    out->centre = r->c.plan.centre;
    out->begun = r->c.begun;
}

const char *node_central_broken(const struct node_central *r)
{
    for (uint32_t i = 0; i < r->chunks_count; i++) {
        if (r->c.chunks[i].version != sync_chunk_version(&r->lane->sync, i)) {
            return "a chunk has another version than its barrier knows";
        }
    }
    return central_broken(&r->c);
}
