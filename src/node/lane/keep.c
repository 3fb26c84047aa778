/* Checkpoints of a lane: shard after shard, a few chunks per turn of the loop, while training goes
 * on. Each chunk is written as it is at that moment, with its version and whose updates are in it;
 * nothing has to stand still. */

#include "node/lane/state.h"
#include "obs/metric.h"
#include "store/checkpoint.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEEP_CHUNKS_PER_TURN = 8,
    KEEP_DEFAULT = 2,
    KEEP_PAUSE_MS = 500,       /* After a first failure; twice as long after each further one, */
    KEEP_PAUSE_MAX_MS = 10000, /* up to this. */
};

static void keep_turn(struct loop_timer *timer, void *user);

static void keep_retry(struct loop_timer *timer, void *user)
{
    (void)timer;
    node_keep_start(user);
}

void node_keep_init(struct node_lane *l)
{
    list_init(&l->clock_claims);
    list_init(&l->saving_claims);
}

enum err node_keep_open(struct node_lane *l)
{
    enum err rc = loop_timer_init(&l->save_timer, l->config.loop, keep_turn, l);

    return rc == OK ? loop_timer_init(&l->save_pause, l->config.loop, keep_retry, l) : rc;
}

void node_keep_deinit(struct node_lane *l)
{
    checkpoint_abort(l->writer);
    l->writer = NULL;
    loop_timer_deinit(&l->save_timer);
    loop_timer_deinit(&l->save_pause);
}

void node_keep_wanted(struct node_lane *l)
{
    if (l->save_failures == 0) {
        node_keep_start(l);
    } /* Else when the pause is over. */
}

bool node_keep_due(const struct node_lane *l)
{
    uint64_t every = l->config.site.checkpoint_every;

    return l->config.store != NULL && every > 0 && sync_version(&l->sync) >= l->saved_clock + every;
}

static char *keep_describe(struct node_lane *l)
{
    json_t *about = node_site_to_json(&l->config.site);
    char history[NODE_HISTORY_BYTES];
    char *text;

    node_history_print(l->history, history);
    (void)json_object_set_new(about, "history", json_string(history));
    (void)json_object_set_new(about, "tables", node_operate_tables(l));
    text = json_dumps(about, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(about);
    return text;
}

static enum err keep_begin_shard(struct node_lane *l)
{
    char name[STORE_NAME_BYTES];
    char *describe = keep_describe(l);
    struct checkpoint_head head = {.number = l->save_number,
                                   .shard = l->save_shard,
                                   .shards = l->config.site.shards,
                                   .clock = l->save_clock,
                                   .wall_us = l->config.wall_us == NULL ? 0 : l->config.wall_us(),
                                   .site = l->config.site.name,
                                   .describe = describe};
    enum err rc = ERR_NOMEM;

    if (describe != NULL) {
        checkpoint_name(head.site, head.shard, head.number, name, sizeof(name));
        rc = checkpoint_begin(l->config.store, name, &head, &l->writer);
    }
    free(describe);
    l->save_chunk = 0;
    l->save_count = l->chunks_count; /* A table that is made meanwhile is in the next one. */
    return rc;
}

/* What is in the chunk now is in this checkpoint. */
static void keep_claim(struct node_lane *l, struct list *claims)
{
    struct list *link;

    while (l->ack == NODE_ACK_STORED && (link = list_first(claims)) != NULL) {
        list_remove(link);
        list_push_back(&l->saving_claims, link);
    }
}

static enum err keep_plane(struct node_lane *l, uint32_t chunk, uint16_t plane)
{
    struct checkpoint_member members[SYNC_MEMBERS_MAX + MIRROR_SITES_MAX];
    struct checkpoint_chunk out = {
        .table = table_store_table(l->tables, chunk),
        .plane = plane,
        .chunk = table_store_chunk(l->tables, chunk),
        .version = sync_chunk_version(&l->sync, chunk),
        .count = table_store_elements(l->tables, chunk),
        .members = members,
        .values = plane == 0   ? table_store_values(l->tables, chunk)
                  : plane == 1 ? table_store_state(l->tables, chunk)
                               : node_mirror_held(l->mirror, chunk),
    };

    for (uint32_t r = 0; r < SYNC_MEMBERS_MAX && plane == 0; r++) {
        bool in = sync_is_member(&l->sync, r) && l->by_rank[r] != NULL;
        uint64_t clock = sync_contained(&l->sync, chunk, r);

        if (in || clock > 0) { /* Of those who have left nobody is waited for. */
            members[out.member_count++] = (struct checkpoint_member){
                .rank = r,
                .incarnation = in ? net_peer_incarnation(l->by_rank[r]->peer) : 0,
                .clock = clock};
        }
    }
    if (plane == 0) {
        out.member_count += node_mirror_keep_members(l->mirror, chunk, members + out.member_count);
    }
    return checkpoint_add(l->writer, &out);
}

/* State first: a chunk must not change between its planes, so both are written in one turn. */
static enum err keep_chunk(struct node_lane *l, uint32_t chunk)
{
    enum err rc =
        node_mirror_keep_ready(l->mirror, chunk) ? checkpoint_ready(l->writer) : ERR_AGAIN;

    if (rc == OK && node_mirror_held(l->mirror, chunk) != NULL) {
        rc = keep_plane(l, chunk, 2);
    }
    if (rc == OK && table_store_state(l->tables, chunk) != NULL) {
        rc = keep_plane(l, chunk, 1);
    }
    if (rc == OK) {
        rc = keep_plane(l, chunk, 0);
    }
    if (rc == OK) {
        keep_claim(l, &l->chunks[chunk]->closed);
    }
    return rc;
}

/* Those who asked while this one was being made wait for the next. */
static void keep_tell(struct node_lane *l, enum err rc)
{
    struct node_saving waiting[sizeof(l->save_waiting) / sizeof(l->save_waiting[0])];
    uint32_t count = l->save_waiting_count;

    memcpy(waiting, l->save_waiting, sizeof(waiting));
    l->save_waiting_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (waiting[i].number > l->save_number) {
            l->save_waiting[l->save_waiting_count++] = waiting[i];
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (waiting[i].number <= l->save_number) {
            waiting[i].done(rc, waiting[i].user);
        }
    }
}

/* A checkpoint that failed is tried again by time, not only when a clock closes: with pull delivery
 * workers may have stopped until one is complete, so that no clock closes. */
static void keep_failed(struct node_lane *l, enum err rc)
{
    int64_t now_ns = loop_now_ns(l->config.loop);
    int64_t pause_ms = (int64_t)KEEP_PAUSE_MS << (l->save_failures < 5 ? l->save_failures : 5);

    if (l->save_failures++ == 0) {
        l->save_failing_ns = now_ns;
    }
    store_fault_text(l->config.store, rc, l->save_fault, sizeof(l->save_fault));
    pause_ms = pause_ms < KEEP_PAUSE_MAX_MS ? pause_ms : KEEP_PAUSE_MAX_MS;
    loop_timer_start_in(&l->save_pause, pause_ms * 1000000);
    obs_counter_add(l->counters.checkpoint_failures, 1);
    LOG_WRN(
        "node", "checkpoint %" PRIu64 " of lane %u failed: %s; attempt %u, the next one in %.1f s",
        l->save_number, l->config.number, l->save_fault, l->save_failures, (double)pause_ms / 1000);
}

static void keep_recovered(struct node_lane *l)
{
    if (l->save_failures > 0) {
        LOG_INF("node", "checkpoint %" PRIu64 " of lane %u is complete after %u failures in %.1f s",
                l->save_number, l->config.number, l->save_failures,
                (double)(loop_now_ns(l->config.loop) - l->save_failing_ns) / 1e9);
    }
    l->save_failures = 0;
    loop_timer_stop(&l->save_pause);
}

static void keep_finish(struct node_lane *l, enum err rc)
{
    bool again = l->save_again;

    node_mirror_keep_done(l->mirror, rc == OK);
    l->saving = false;
    l->save_again = false;
    if (rc == OK) {
        l->saved_clock = l->save_clock;
        keep_recovered(l);
        node_claim_settle(&l->saving_claims);
    } else {
        keep_failed(l, rc);
    }
    node_lane_trace(l, "checkpoint %" PRIu64 " of clock %" PRIu64 ": %s", l->save_number,
                    l->save_clock, err_string(rc));
    node_operate_saved(l, rc);
    keep_tell(l, rc);
    if (again && rc == OK) {
        node_keep_start(l);
    }
}

static void keep_prune(struct node_lane *l)
{
    uint64_t numbers[MANIFEST_CHECKPOINTS_MAX];

    for (uint32_t i = 0; i < l->manifest.count; i++) {
        numbers[i] = l->manifest.checkpoints[i].number;
    }
    for (uint32_t s = l->config.number; s < l->config.site.shards; s += l->config.site.lanes) {
        if (checkpoint_prune(l->config.store, l->config.site.name, s, numbers, l->manifest.count) !=
            OK) {
            LOG_WRN("node", "old checkpoints of shard %u could not be removed", s);
        }
    }
}

static void keep_manifest_committed(enum err rc, void *user)
{
    struct node_lane *l = user;

    if (rc == OK) { /* Else what it said before is still true. */
        l->manifest = l->manifest_next;
        obs_counter_add(l->counters.checkpoints, 1);
        keep_prune(l);
    }
    keep_finish(l, rc);
}

/* All shards are written: from here on this is the checkpoint that the lane starts from. */
static void keep_complete(struct node_lane *l)
{
    struct manifest *m = &l->manifest_next;
    uint32_t keep = l->config.site.checkpoint_keep;
    enum err rc;

    keep = keep == 0                         ? KEEP_DEFAULT
           : keep < MANIFEST_CHECKPOINTS_MAX ? keep
                                             : MANIFEST_CHECKPOINTS_MAX;
    *m = l->manifest;
    manifest_push(m, keep, l->save_number, l->save_clock);
    rc = manifest_write(l->config.store, l->config.site.name, m, keep_manifest_committed, l);
    if (rc != OK) {
        keep_finish(l, rc);
    }
}

static void keep_committed(enum err rc, void *user)
{
    struct node_lane *l = user;

    if (rc != OK) {
        keep_finish(l, rc);
        return;
    }
    l->save_shard += l->config.site.lanes;
    if (l->save_shard >= l->config.site.shards) {
        keep_complete(l);
        return;
    }
    rc = keep_begin_shard(l);
    if (rc != OK) {
        keep_finish(l, rc);
        return;
    }
    loop_timer_start_in(&l->save_timer, 0);
}

static void keep_fail(struct node_lane *l, enum err rc)
{
    checkpoint_abort(l->writer);
    l->writer = NULL;
    keep_finish(l, rc);
}

/* A few chunks of the shard under way. */
static void keep_turn(struct loop_timer *timer, void *user)
{
    struct node_lane *l = user;
    uint32_t written = 0;
    enum err rc = OK;

    (void)timer;
    while (l->save_chunk < l->save_count && written < KEEP_CHUNKS_PER_TURN && rc == OK) {
        uint32_t chunk = l->save_chunk;
        uint32_t shard =
            table_chunk_shard(table_store_table(l->tables, chunk),
                              table_store_chunk(l->tables, chunk), l->config.site.shards);

        if (shard == l->save_shard) {
            rc = keep_chunk(l, chunk);
            written++;
        }
        l->save_chunk += rc == OK;
    }
    if (rc == OK && l->save_chunk == l->save_count) {
        struct checkpoint_writer *w = l->writer;

        rc = checkpoint_commit(w, keep_committed, l);
        if (rc == OK) {
            l->writer = NULL;
            return;
        }
    }
    if (rc == OK) {
        loop_timer_start_in(&l->save_timer, 0);
    } else if (rc == ERR_AGAIN) {
        loop_timer_start_in(&l->save_timer, (int64_t)NODE_RETRY_MS * 1000000);
    } else {
        keep_fail(l, rc);
    }
}

/* Ends of clocks that are closed everywhere are contained too. */
static void keep_clocks(struct node_lane *l)
{
    struct list *next;

    for (struct list *link = l->clock_claims.next; link != &l->clock_claims; link = next) {
        struct node_claim *c = LIST_ENTRY(link, struct node_claim, link);

        next = link->next;
        if (c->clock <= l->save_clock) {
            list_remove(link);
            list_push_back(&l->saving_claims, link);
        }
    }
}

static void keep_start_shards(struct node_lane *l)
{
    enum err rc = keep_begin_shard(l);

    if (rc == OK) {
        loop_timer_start_in(&l->save_timer, 0);
    } else {
        keep_finish(l, rc);
    }
}

static void keep_manifest_there(enum err rc, void *user)
{
    struct node_lane *l = user;

    l->manifest_there = rc == OK;
    if (rc == OK) {
        keep_start_shards(l);
    } else {
        keep_finish(l, rc);
    }
}

void node_keep_start(struct node_lane *l)
{
    enum err rc;

    if (l->config.store == NULL || l->restoring || l->fresh) {
        return; /* What a fresh one has is nothing, and would hide that there is nothing. */
    }
    if (l->saving) {
        l->save_again = true;
        return;
    }
    l->saving = true;
    l->save_number++;
    l->save_shard = l->config.number;
    l->save_clock = sync_version(&l->sync);
    node_mirror_keep_begin(l->mirror);
    keep_clocks(l);
    if (l->manifest_there) {
        keep_start_shards(l);
        return;
    }
    /* No shard is written without one, so that none is ever there without one. */
    rc = manifest_write(l->config.store, l->config.site.name, &l->manifest, keep_manifest_there, l);
    if (rc != OK) {
        keep_finish(l, rc);
    }
}

void node_keep_asked(struct node_lane *l)
{
    bool asked = l->save_waiting_count > 0;

    LIST_FOREACH (link, &l->sessions) {
        asked = asked || LIST_ENTRY(link, struct node_session, link)->saves_count > 0;
    }
    if (asked) {
        node_keep_start(l);
    }
}

static void keep_history_committed(enum err rc, void *user)
{
    struct node_lane *l = user;

    l->manifest_there = rc == OK;
    l->saving = false;
    l->history_begun(rc, l->history_user);
}

void node_lane_begin_history(struct node_lane *l, uint64_t history,
                             void (*begun)(enum err rc, void *user), void *user)
{
    enum err rc = OK;

    CHECK(!l->saving && (l->manifest.count == 0 || l->history == history));
    l->manifest_there = l->manifest_there && l->history == history;
    l->history = history;
    l->manifest.history = history;
    l->history_begun = begun;
    l->history_user = user;
    if (l->config.store != NULL && !l->manifest_there) {
        l->saving = true; /* Checkpoints wait for it. */
        rc = manifest_write(l->config.store, l->config.site.name, &l->manifest,
                            keep_history_committed, l);
        if (rc == OK) {
            return;
        }
        l->saving = false;
    }
    begun(rc, user);
}

enum err node_lane_save(struct node_lane *l, void (*done)(enum err rc, void *user), void *user)
{
    if (l->config.store == NULL) {
        return ERR_INVALID;
    }
    if (l->save_waiting_count == sizeof(l->save_waiting) / sizeof(l->save_waiting[0])) {
        return ERR_AGAIN;
    }
    l->save_waiting[l->save_waiting_count++] =
        (struct node_saving){.done = done, .user = user, .number = l->save_number + 1};
    node_keep_start(l);
    return OK;
}
