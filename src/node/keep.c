/* Checkpoints of a lane: shard after shard, a few chunks per turn of the loop, while training goes
 * on. Each chunk is written as it is at that moment, with its version and whose updates are in it;
 * nothing has to stand still. */

#include "node/lane_state.h"
#include "obs/metric.h"
#include "store/checkpoint.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { KEEP_CHUNKS_PER_TURN = 8, KEEP_DEFAULT = 2 };

static void keep_turn(struct loop_timer *timer, void *user);

void node_keep_init(struct node_lane *l)
{
    list_init(&l->clock_claims);
    list_init(&l->saving_claims);
}

enum err node_keep_open(struct node_lane *l)
{
    return loop_timer_init(&l->save_timer, l->config.loop, keep_turn, l);
}

void node_keep_deinit(struct node_lane *l)
{
    checkpoint_abort(l->writer);
    l->writer = NULL;
    loop_timer_deinit(&l->save_timer);
}

bool node_keep_due(const struct node_lane *l)
{
    uint64_t every = l->config.site.checkpoint_every;

    return l->config.store != NULL && every > 0 && sync_version(&l->sync) >= l->saved_clock + every;
}

static char *keep_describe(struct node_lane *l)
{
    json_t *about = node_site_to_json(&l->config.site);
    char *text;

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

static void keep_finish(struct node_lane *l, enum err rc)
{
    bool again = l->save_again;

    node_mirror_keep_done(l->mirror, rc == OK);
    l->saving = false;
    l->save_again = false;
    if (rc == OK) {
        l->saved_clock = l->save_clock;
        node_claim_settle(&l->saving_claims);
    } else {
        l->save_trusted = l->save_number + 1; /* What has that number may be of an earlier life. */
        obs_counter_add(l->counters.checkpoint_failures, 1);
        LOG_WRN("node", "checkpoint %" PRIu64 " of lane %u failed: %s", l->save_number,
                l->config.number, err_string(rc));
    }
    node_lane_trace(l, "checkpoint %" PRIu64 " of clock %" PRIu64 ": %s", l->save_number,
                    l->save_clock, err_string(rc));
    node_operate_saved(l, rc);
    keep_tell(l, rc);
    if (again) {
        node_keep_start(l);
    }
}

static void keep_committed(enum err rc, void *user)
{
    struct node_lane *l = user;
    uint32_t keep = l->config.site.checkpoint_keep;

    if (rc != OK) {
        keep_finish(l, rc);
        return;
    }
    obs_counter_add(l->counters.checkpoints, 1);
    if (checkpoint_prune_trusting(l->config.store, l->config.site.name, l->save_shard,
                                  keep == 0 ? KEEP_DEFAULT : keep, l->save_trusted) != OK) {
        LOG_WRN("node", "old checkpoints of shard %u could not be removed", l->save_shard);
    }
    l->save_shard += l->config.site.lanes;
    if (l->save_shard >= l->config.site.shards) {
        keep_finish(l, OK);
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
    l->save_trusted = l->save_trusted == 0 ? l->save_number : l->save_trusted;
    l->save_shard = l->config.number;
    l->save_clock = sync_version(&l->sync);
    node_mirror_keep_begin(l->mirror);
    keep_clocks(l);
    rc = keep_begin_shard(l);
    if (rc == OK) {
        loop_timer_start_in(&l->save_timer, 0);
    } else {
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
