/* After a restart: what the checkpoint holds, what workers' copies hold, and who was in.
 *
 *     load the newest checkpoint -> wait for the members to come back and say what they have
 *     -> ask for the chunks that some worker has newer -> go on
 *
 * A worker resends what was not acknowledged; that waits in its session until this is over, and the
 * barrier drops what is contained already. Nobody comes back: after a while the lane goes on with
 * what it has. */

#include "base/mem.h"
#include "node/lane/state.h"
#include "wire/clock.h"
#include "wire/pull.h"
#include "wire/snapshot.h"

#include <inttypes.h>
#include <string.h>

enum { RESTORE_LATE_MS = 500 };

static size_t restore_at(uint32_t chunk, uint32_t rank)
{
    return (size_t)chunk * SYNC_MEMBERS_MAX + rank;
}

void node_restore_forget(struct node_lane *l)
{
    loop_timer_deinit(&l->restore_timer);
    for (uint32_t c = 0; c < l->restored_count; c++) {
        buf_unref(l->restored[c].state);
    }
    LIST_FOREACH (link, &l->sessions) {
        struct node_session *s = LIST_ENTRY(link, struct node_session, link);

        mem_free(s->offered);
        s->offered = NULL;
        s->offered_count = 0;
    }
    mem_free(l->restored);
    mem_free(l->contained);
    l->restored = NULL;
    l->contained = NULL;
    l->restored_count = 0;
}

/* Room for what is known of each chunk; tables may be added while restoring. */
enum err node_restore_room(struct node_lane *l)
{
    struct node_restored *restored;
    uint64_t *contained;

    if (l->restored_count == l->chunks_count && l->restored != NULL) {
        return OK;
    }
    restored = mem_calloc((size_t)l->chunks_count + 1, sizeof(*restored));
    contained = mem_calloc(((size_t)l->chunks_count + 1) * SYNC_MEMBERS_MAX, sizeof(*contained));
    if (restored == NULL || contained == NULL) {
        mem_free(restored);
        mem_free(contained);
        return ERR_NOMEM;
    }
    if (l->restored != NULL) {
        memcpy(restored, l->restored, l->restored_count * sizeof(*restored));
        memcpy(contained, l->contained,
               (size_t)l->restored_count * SYNC_MEMBERS_MAX * sizeof(*contained));
    }
    mem_free(l->restored);
    mem_free(l->contained);
    l->restored = restored;
    l->contained = contained;
    l->restored_count = l->chunks_count;
    return OK;
}

/* Waiting. */

/* Does somebody go on where it was? */
static bool restore_any_resumes(const struct node_lane *l)
{
    LIST_FOREACH (link, &l->sessions) {
        if (LIST_ENTRY(link, struct node_session, link)->resuming) {
            return true;
        }
    }
    return false;
}

/* Members of before whose places nobody has taken. */
static uint32_t restore_missing(const struct node_lane *l)
{
    uint32_t missing = 0;

    for (uint32_t r = 0; r < SYNC_MEMBERS_MAX; r++) {
        missing += l->by_rank[r] == NULL &&
                   (l->restored_incarnation[r] != 0 || (l->expected[r / 64] >> (r % 64) & 1) != 0);
    }
    return missing;
}

/* Has no worker asked to join? */
static bool restore_nobody(const struct node_lane *l)
{
    LIST_FOREACH (link, &l->sessions) {
        if (LIST_ENTRY(link, struct node_session, link)->state == NODE_ASKED) {
            return false;
        }
    }
    return true;
}

static void restore_wait(struct node_lane *l, int64_t ns)
{
    l->patience_idle = false;
    l->patience_until_ns = loop_now_ns(l->config.loop) + ns;
    loop_timer_start_in(&l->restore_timer, ns);
}

void node_restore_joined(struct node_lane *l)
{
    if (l->restoring && (l->patience_idle || l->patience_over)) {
        restore_wait(l, l->config.restore_ns);
    }
}

static void restore_timeout(struct loop_timer *timer, void *user)
{
    struct node_lane *l = user;
    int64_t deadline_ns = l->config.site.sync.deadline_ns;

    (void)timer;
    if (loop_now_ns(l->config.loop) - l->patience_until_ns > (int64_t)RESTORE_LATE_MS * 1000000) {
        /* This process was stopped itself: the workers get their time after that. */
        restore_wait(l, l->config.restore_ns);
        return;
    }
    if (restore_nobody(l) && l->remotes == NULL) {
        /* Nobody is kept waiting, and whoever comes may have more than the checkpoint. */
        l->patience_idle = true;
        l->patience_until_ns = 0;
        return;
    }

    if (!l->patience_long && deadline_ns > 0 && l->remotes == NULL && !restore_any_resumes(l) &&
        restore_missing(l) > 0) {
        /* All of them are new, or not there yet: the site was started again as a whole. Nobody is
         * kept waiting who was at work, and the others take as long as programs take to start.
         * Other sites would be kept waiting, and some workers may have finished for good. */
        l->patience_long = true;
        restore_wait(l, deadline_ns);
        return;
    }
    node_lane_trace(l, "goes on with those who came back");
    l->patience_over = true;
    l->patience_until_ns = 0;
    LIST_FOREACH (link, &l->sessions) {
        LIST_ENTRY(link, struct node_session, link)->offers_due = 0;
    }
    node_restore_look(l);
}

/* Newcomers who wait for others to start wait for the restore instead. */
static void restore_postpone(struct node_lane *l)
{
    LIST_FOREACH (link, &l->sessions) {
        struct node_session *s = LIST_ENTRY(link, struct node_session, link);

        if (s->state == NODE_ASKED && !s->resuming) {
            struct sync_event event = {.type = SYNC_LEAVE, .member = s->rank};

            CHECK(node_exec(l, &event, NULL, NULL) == OK);
        }
    }
}

enum err node_restore_begin(struct node_lane *l)
{
    enum err rc = node_restore_room(l);

    if (rc == OK && l->restore_timer.loop == NULL) {
        rc = loop_timer_init(&l->restore_timer, l->config.loop, restore_timeout, l);
    }
    if (rc == OK) {
        restore_postpone(l);
        if (l->config.begun != NULL) {
            atomic_store(l->config.begun, true);
        }
        l->restoring = true;
        memset(l->expected, 0, sizeof(l->expected));
        l->restored_members = l->config.site.sync.members_min > 0
                                  ? l->config.site.sync.members_min
                                  : UINT32_MAX; /* Not known: wait all the time. */
        l->patience_long = false;
        restore_wait(l, l->config.restore_ns);
        node_lane_trace(l, "waits for workers to come back");
        node_lane_say_begun(l);
    }
    return rc;
}

/* New workers alone must not begin anew what others have gone on with. */
void node_restore_expected(struct node_lane *l)
{
    if (l->fresh && !l->restoring && l->ack != NODE_ACK_TAKEN && node_restore_begin(l) != OK) {
        LOG_WRN("node", "lane %u has no memory to wait for its workers", l->config.number);
    }
}

/* What workers have. */

static enum err restore_offer_room(struct node_session *s)
{
    uint64_t *offered;

    if (s->offered_count == s->lane->chunks_count && s->offered != NULL) {
        return OK;
    }
    offered = mem_calloc((size_t)s->lane->chunks_count + 1, sizeof(*offered));
    if (offered == NULL) {
        return ERR_NOMEM;
    }
    if (s->offered != NULL) {
        memcpy(offered, s->offered, s->offered_count * sizeof(*offered));
    }
    mem_free(s->offered);
    s->offered = offered;
    s->offered_count = s->lane->chunks_count;
    return OK;
}

static enum err restore_offer(struct node_session *s, const struct net_frame *frame)
{
    struct node_lane *l = s->lane;
    struct wire_offer offer;
    enum err rc = wire_offer_decode(&frame->header, frame->body, frame->header.body_bytes, &offer);

    if (rc != OK) {
        return ERR_PEER;
    }
    if (!l->restoring || !s->resuming) {
        return OK; /* Too late to matter: it will get what it lacks. */
    }
    rc = node_restore_room(l);
    if (rc == OK) {
        rc = restore_offer_room(s);
    }
    for (uint32_t i = 0; i < offer.count && rc == OK; i++) {
        uint32_t index = table_store_find(l->tables, offer.table, offer.chunk + i);

        if (index != TABLE_STORE_NONE) {
            s->offered[index] = wire_offer_version(&offer, i);
            if (s->offered[index] > l->restored[index].best) {
                l->restored[index].best = s->offered[index];
            }
            s->offers_due -= s->offers_due > 0;
        }
    }
    l->fetching = false; /* It may have newer chunks than who was asked. */
    node_restore_look(l);
    return rc;
}

static bool restore_offers_due(const struct node_lane *l)
{
    LIST_FOREACH (link, &l->sessions) {
        const struct node_session *s = LIST_ENTRY(link, struct node_session, link);

        if (s->resuming && s->offers_due > 0) {
            return true;
        }
    }
    return false;
}

/* Who has the newest of each chunk. */
static void restore_choose(struct node_lane *l)
{
    for (uint32_t c = 0; c < l->restored_count; c++) {
        struct node_restored *r = &l->restored[c];
        struct node_session *from = r->from;
        uint64_t best = from != NULL && r->wanted > 0 ? from->offered[c] : r->version;

        LIST_FOREACH (link, &l->sessions) {
            struct node_session *s = LIST_ENTRY(link, struct node_session, link);

            if (s->resuming && c < s->offered_count && s->offered[c] > best) {
                best = s->offered[c];
                from = s;
            }
        }
        if (from != r->from) {
            buf_unref(r->state);
            r->state = NULL;
            r->from = from;
            r->wanted = 0;
        }
    }
}

/* Ask a worker for the chunks of one table that only it has. */
static enum err restore_ask(struct node_lane *l, struct node_session *s, uint16_t table)
{
    uint32_t chunks[WIRE_PULL_CHUNKS_MAX];
    struct wire_pull pull = {.table = table, .chunks = chunks};
    struct buf *frame;
    uint32_t planes = table_apply_planes(&table_store_schema(l->tables, table)->apply);
    uint32_t index = 0;
    enum err rc = OK;

    while (index < l->restored_count && rc == OK) {
        uint32_t first = index;

        pull.count = 0;
        for (; index < l->restored_count && pull.count < WIRE_PULL_CHUNKS_MAX; index++) {
            if (l->restored[index].from == s && l->restored[index].wanted == 0 &&
                l->restored[index].version < s->offered[index] &&
                table_store_table(l->tables, index) == table) {
                chunks[pull.count++] = table_store_chunk(l->tables, index);
                l->restored[index].wanted = 1 + planes;
            }
        }
        if (pull.count > 0) {
            rc = wire_pull_encode(l->pool, &pull, &frame);
            if (rc == OK) {
                rc = net_peer_send_sealed(s->peer, NET_DATA, frame);
                if (rc != OK) {
                    buf_unref(frame);
                }
            }
        }
        for (uint32_t c = first; c < index && rc != OK; c++) {
            if (l->restored[c].from == s && table_store_table(l->tables, c) == table &&
                l->restored[c].wanted == 1 + planes && l->restored[c].state == NULL) {
                l->restored[c].wanted = 0; /* Not asked after all. */
            }
        }
    }
    return rc;
}

static void restore_fetch(struct node_lane *l)
{
    l->fetching = true;
    l->fetch_due = false;
    restore_choose(l);
    LIST_FOREACH (link, &l->sessions) {
        struct node_session *s = LIST_ENTRY(link, struct node_session, link);

        for (uint16_t t = 0; t < l->next_table && s->resuming; t++) {
            if (table_store_schema(l->tables, t) != NULL && restore_ask(l, s, t) != OK) {
                /* Ending its session instead would lose what only this worker has. */
                l->fetch_due = true;
                loop_timer_start_in(&l->retry, (int64_t)NODE_RETRY_MS * 1000000);
            }
        }
    }
}

/* Values have come, and the state before them if there is one: this is what we have now. */
static void restore_install(struct node_lane *l, uint32_t index,
                            const struct wire_snapshot_chunk *in)
{
    struct node_restored *r = &l->restored[index];
    size_t bytes = table_store_elements(l->tables, index) * sizeof(float);

    if (r->state != NULL) {
        memcpy(table_store_state(l->tables, index), buf_bytes(r->state), bytes);
        buf_unref(r->state);
        r->state = NULL;
    }
    memcpy(table_store_values(l->tables, index), in->chunk.payload, bytes);
    l->chunks[index]->changed = true;
    r->version = in->chunk.clock;
    memset(l->contained + restore_at(index, 0), 0, SYNC_MEMBERS_MAX * sizeof(uint64_t));
    for (uint32_t i = 0; i < in->member_count; i++) {
        struct wire_member m = wire_member(in->members, i);

        if (m.rank < SYNC_MEMBERS_MAX) {
            l->contained[restore_at(index, m.rank)] = m.clock;
        }
    }
}

static enum err restore_snapshot(struct node_session *s, const struct net_frame *frame)
{
    struct node_lane *l = s->lane;
    struct wire_snapshot_chunk in;
    struct node_restored *r;
    uint16_t table;
    uint32_t index;
    enum err rc =
        wire_snapshot_chunk_decode(&frame->header, frame->body, frame->header.body_bytes, &in);

    if (rc != OK) {
        return ERR_PEER;
    }
    table = in.chunk.table & (uint16_t)~WIRE_TABLE_PLANE;
    index = table_store_find(l->tables, table, in.chunk.chunk);
    r = l->restoring && index < l->restored_count ? &l->restored[index] : NULL;
    if (r == NULL || r->from != s || r->wanted == 0) {
        return OK; /* Not asked for any more. */
    }
    if (in.chunk.payload_bytes != table_store_elements(l->tables, index) * 4) {
        return ERR_PEER;
    }
    if (table == in.chunk.table) {
        restore_install(l, index, &in);
    } else if (r->state == NULL && table_store_state(l->tables, index) != NULL) {
        rc = net_frame_keep(frame, l->pool, &r->state);
        if (rc != OK) {
            return rc;
        }
    } else {
        return ERR_PEER;
    }
    r->wanted--;
    node_restore_look(l);
    return OK;
}

enum err node_take_restore(struct node_session *s, const struct net_frame *frame)
{
    if (!node_session_is_worker(s)) {
        return ERR_PEER;
    }
    return frame->header.type == WIRE_OFFER ? restore_offer(s, frame) : restore_snapshot(s, frame);
}

/* Ask others for what somebody who is gone did not bring. */
static bool restore_source_lost(struct node_lane *l)
{
    bool lost = false;

    for (uint32_t c = 0; c < l->restored_count; c++) {
        struct node_restored *r = &l->restored[c];
        bool alive = r->from == NULL || r->wanted == 0;

        LIST_FOREACH (link, &l->sessions) {
            const struct node_session *s = LIST_ENTRY(link, struct node_session, link);

            alive = alive || (s == r->from && s->resuming);
        }
        if (!alive) {
            buf_unref(r->state);
            r->state = NULL;
            r->from = NULL;
            r->wanted = 0;
            lost = true;
        }
    }
    return lost;
}

static bool restore_complete(const struct node_lane *l)
{
    for (uint32_t c = 0; c < l->restored_count; c++) {
        if (l->restored[c].wanted > 0) {
            return false;
        }
    }
    return true;
}

/* Is everybody back whom the checkpoint knows? One who comes as a new process is back too, and has
 * nothing to bring. Copies may be newer than the checkpoint, and the newest may be with somebody
 * who joined after it: for them all must come whom those who are back know of. */
static bool restore_all_back(const struct node_lane *l)
{
    uint32_t missing = restore_missing(l);
    uint32_t here = 0;
    uint32_t resuming = 0;

    for (uint32_t r = 0; r < SYNC_MEMBERS_MAX; r++) {
        const struct node_session *s = l->by_rank[r];

        here += s != NULL;
        resuming += s != NULL && s->resuming;
        if (s != NULL && s->resuming && s->offers_due > 0) {
            return false;
        }
    }
    if (l->patience_over) {
        return true;
    }
    if (missing > 0) {
        return false;
    }
    /* New processes bring nothing: somebody who knows more must come, or the time is over. */
    return (l->roster && l->ack == NODE_ACK_STORED) ||
           (here >= l->restored_members && resuming > 0);
}

void node_restore_holder(struct node_lane *l, uint32_t rank, bool resuming)
{
    uint64_t bit = UINT64_C(1) << (rank % 64);

    if (resuming) {
        l->holders[rank / 64] |= bit;
    } else {
        l->holders[rank / 64] &= ~bit; /* A new process has nothing. */
    }
}

/* Was a newer version of some chunk offered than what is here? */
static bool restore_misses_offers(const struct node_lane *l)
{
    for (uint32_t c = 0; c < l->restored_count; c++) {
        if (l->restored[c].version < l->restored[c].best) {
            return true;
        }
    }
    return false;
}

/* Without a checkpoint the parameters are where the workers are. Those who had come with a copy,
 * and do not answer now, may still live: to go on with nothing, beside other lanes that have
 * theirs, would lose all that this one has acknowledged; to go on with older chunks, some of it. */
static bool restore_copyless(const struct node_lane *l)
{
    bool held = false;
    bool resumes = false;

    if (l->config.site.delivery != NODE_BROADCAST || l->remotes != NULL ||
        l->restored_number != 0) {
        return false;
    }
    for (uint32_t r = 0; r < SYNC_MEMBERS_MAX; r++) {
        const struct node_session *s = l->by_rank[r];

        if (s != NULL && s->resuming) {
            resumes = true;
        } else {
            held = held || (l->holders[r / 64] >> (r % 64) & 1) != 0;
        }
    }
    return held && (!resumes || restore_misses_offers(l));
}

/* Whoever comes back with a copy is asked for it. */
static void restore_wait_for_copies(struct node_lane *l)
{
    l->fetching = false;
    if (!l->copyless) {
        l->copyless = true;
        node_lane_trace(l, "waits for a worker that has a copy");
        LOG_WRN("node",
                "lane %u has no parameters, and the workers that have copies do not answer: it "
                "waits for one of them",
                l->config.number);
    }
}

void node_restore_look(struct node_lane *l)
{
    if (!l->restoring || !node_lane_admits(l) || !node_mirror_began(l->mirror) ||
        !node_central_began(l->central)) {
        return; /* What other servers and sites have comes first. */
    }
    if (restore_source_lost(l) || restore_offers_due(l)) {
        l->fetching = false;
    }
    if (l->fetching ? l->fetch_due : restore_all_back(l)) {
        restore_fetch(l);
    }
    if (!l->fetching || l->fetch_due || !restore_complete(l)) {
        return;
    }
    if (restore_copyless(l)) {
        restore_wait_for_copies(l);
    } else {
        node_restore_end(l);
    }
}

/* Going on. */

static enum err restore_member(struct node_lane *l, struct node_session *s, uint64_t clock)
{
    struct sync_event event = {
        .type = SYNC_JOIN, .member = s->rank, .rank = s->rank, .resume = true, .clock = clock};
    struct sync_action verdict;
    enum err rc = node_exec(l, &event, NULL, &verdict);

    if (rc == OK && verdict.type == SYNC_REFUSE) {
        net_peer_expel(s->peer, NET_EXPEL_AHEAD,
                       "it says that it was further than any worker can have been");
        return OK;
    }
    for (uint32_t c = 0; c < l->restored_count && rc == OK; c++) {
        sync_restore_member(&l->sync, c, s->rank, l->contained[restore_at(c, s->rank)]);
    }
    return rc;
}

/* Up to where all that a worker had is in: with copies its own word, else the checkpoint's. */
static uint64_t restore_clock_of(const struct node_lane *l, const struct node_session *s)
{
    uint64_t clock = l->ack == NODE_ACK_STORED ? l->restored_clock : s->resume_clock;

    return s->resume_entry > clock + 1 ? s->resume_entry - 1 : clock;
}

/* Does its copy have rounds that this lane goes on without? */
static bool restore_is_ahead(const struct node_lane *l, const struct node_session *s)
{
    for (uint32_t c = 0; c < s->offered_count; c++) {
        if (s->offered[c] > l->restored[c].version) {
            return true;
        }
    }
    return false;
}

/* Did the checkpoint, or some copy, know this life of the worker? If there was no checkpoint yet,
 * nothing was acknowledged to anybody: all of it comes again. Nor is there anything to know if the
 * lane has no part of any table. */
static bool restore_known(const struct node_lane *l, const struct node_session *s)
{
    if (restore_is_ahead(l, s)) {
        return false;
    }
    return l->ack != NODE_ACK_STORED || l->restored_number == 0 || l->restored_count == 0 ||
           l->restored_incarnation[s->rank] == net_peer_incarnation(s->peer);
}

/* What the worker's copy lacks. */
static void restore_mark(struct node_session *s)
{
    struct node_lane *l = s->lane;

    node_deliver_all_dirty(s, true);
    for (uint32_t c = 0; c < s->offered_count; c++) {
        /* Of what was in no round it may have something else than the beginning. */
        if (s->offered[c] > 0 && s->offered[c] >= l->restored[c].version) {
            node_deliver_mark(s, c, false);
        }
    }
}

void node_restore_tell(const struct node_lane *l)
{
    const struct node_lane_witness *witness = l->config.witness;

    for (uint32_t c = 0; c < l->chunks_count && witness != NULL && witness->restored != NULL; c++) {
        witness->restored(table_store_table(l->tables, c), table_store_chunk(l->tables, c),
                          c < l->restored_count ? l->restored[c].version : 0,
                          table_store_values(l->tables, c), table_store_elements(l->tables, c),
                          l->config.user);
    }
}

/* May somebody who is not back have had a copy of rounds that this lane goes on without? */
static bool restore_lacks(const struct node_lane *l)
{
    if (l->ack != NODE_ACK_COPIED) {
        return false;
    }
    for (uint32_t r = 0; r < SYNC_MEMBERS_MAX; r++) {
        const struct node_session *s = l->by_rank[r];

        if ((s == NULL || !s->resuming) && (l->expected[r / 64] >> (r % 64) & 1) != 0) {
            return true;
        }
    }
    return restore_misses_offers(l);
}

/* Acknowledged updates are lost. Workers say which, if they come back; the operator hears it in any
 * case. */
static void restore_say_lost(const struct node_lane *l)
{
    uint32_t older = 0;

    for (uint32_t c = 0; c < l->restored_count; c++) {
        older += l->restored[c].version < l->restored[c].best;
    }
    if (older > 0) {
        LOG_WRN("node",
                "lane %u goes on from clock %" PRIu64 " with older values in %u of %u chunks: a "
                "worker offered newer ones and did not send them in time; updates that only these "
                "had are lost",
                l->config.number, l->resumed_clock, older, l->restored_count);
    }
}

static void restore_versions(struct node_lane *l)
{
    for (uint32_t c = 0; c < l->restored_count; c++) {
        sync_restore(&l->sync, c, l->restored[c].version);
        l->chunks[c]->sent_version = l->restored[c].version;
    }
    if (l->restored_number > 0) {
        sync_restore_clock(&l->sync, l->restored_clock);
    }
    node_restore_tell(l); /* Of tables that were in no checkpoint, too: they begin anew. */
    node_lane_trace(l, "goes on from clock %" PRIu64, sync_version(&l->sync));
}

/* Nothing is sent to anybody before all are in: chunks say whose updates they contain. */
void node_restore_end(struct node_lane *l)
{
    struct sync_event go_on = {.type = SYNC_CONTINUE};

    loop_timer_stop(&l->restore_timer);
    l->fresh = false;
    sync_restart(&l->sync);
    restore_versions(l);
    l->resumed_clock =
        l->config.site.sync.policy->rounds ? sync_version(&l->sync) : l->restored_clock;
    l->resumed_less = restore_lacks(l);
    restore_say_lost(l);
    LIST_FOREACH (link, &l->sessions) {
        struct node_session *s = LIST_ENTRY(link, struct node_session, link);

        if (s->state == NODE_ASKED && s->resuming) {
            s->resuming = restore_known(l, s);
            if (s->resuming) {
                restore_mark(s);
                if (restore_member(l, s, restore_clock_of(l, s)) != OK) {
                    net_peer_close(s->peer, "no memory for a member");
                }
            }
        }
    }
    l->restoring = false;
    l->fetching = false;
    l->copyless = false;
    node_restore_forget(l);
    CHECK(node_exec(l, &go_on, NULL, NULL) == OK);
    node_operate_newcomers(l);
    LIST_FOREACH (link, &l->sessions) {
        struct node_session *s = LIST_ENTRY(link, struct node_session, link);

        node_deliver_flush(s);
    }
    node_keep_asked(l);
    loop_task_post(&l->drain);
    if (l->mirror != NULL && l->sync.members_count == 0) {
        node_mirror_finished(l->mirror); /* Nobody came back. */
    }
}
