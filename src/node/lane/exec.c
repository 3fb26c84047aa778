/* Where decisions become effects: feed the sync machine and do what it says, in order. */

#include "node/lane/state.h"
#include "obs/metric.h"
#include "wire/clock.h"

#include <inttypes.h>
#include <stdio.h>

static void node_exec_deadline(struct node_lane *l)
{
    int64_t at = sync_deadline(&l->sync);

    if (at == SYNC_NEVER) {
        loop_timer_stop(&l->deadline);
    } else {
        loop_timer_start(&l->deadline, at);
    }
}

/* A sparsified update goes straight into the sum, unless it counts by its samples. */
static void node_exec_unpack(struct node_lane *l, struct node_chunk *c,
                             const struct table_schema *schema, uint32_t chunk,
                             const struct node_payload *p)
{
    float *sum = table_accum_open(&c->accum, schema, chunk);
    uint32_t over =
        codec_add(p->packed->codec, p->packed->payload, table_chunk_size(schema, chunk), sum);

    obs_counter_add(l->counters.nonfinite[NODE_IN_SUM], over);
    p->session->nonfinite += over;
    table_accum_count(&c->accum, schema, p->weight);
}

static void node_exec_take(struct node_lane *l, const struct sync_action *a, struct node_payload *p)
{
    struct node_chunk *c = l->chunks[a->chunk];
    uint16_t table = table_store_table(l->tables, a->chunk);
    uint32_t chunk = table_store_chunk(l->tables, a->chunk);
    const struct table_schema *schema = table_store_schema(l->tables, table);

    CHECK(p != NULL);
    l->sums_count += c->accum.weight == 0;
    if (p->packed != NULL) {
        node_exec_unpack(l, c, schema, chunk, p);
    } else if (p->rows != NULL) {
        table_accum_add_rows(&c->accum, schema, chunk, p->rows, p->row_count, p->values, p->weight);
    } else {
        table_accum_add(&c->accum, schema, chunk, p->values, p->own, p->weight);
        p->own = NULL;
    }
    obs_counter_add(l->counters.updates, 1);
    if (l->config.witness != NULL && l->config.witness->taken != NULL) {
        l->config.witness->taken(table, chunk, p->session->rank,
                                 net_peer_incarnation(p->session->peer), a->clock, l->config.user);
    }
    node_claim_make(p->session, p->sequence, a->chunk, a->clock, &c->open);
}

static void node_exec_close(struct node_lane *l, const struct sync_action *a)
{
    struct node_chunk *c = l->chunks[a->chunk];
    bool counts = l->central == NULL || node_central_counts(l->central, a->chunk);
    struct list *link;

    node_deliver_close(l, a->chunk, a->clock);
    if (l->central != NULL) {
        node_central_closed(l->central, a->chunk);
    }
    while (counts && (link = list_first(&c->open)) != NULL) {
        list_remove(link);
        list_push_back(&c->closed, link);
        c->closed_version = a->clock;
    }
}

static void node_exec_advance(struct node_lane *l, const struct sync_action *a)
{
    node_lane_trace(l, "round %" PRIu64 " is closed", a->clock);
    if (l->mirror != NULL) {
        node_mirror_advanced(l->mirror, a->clock);
    }
    node_deliver_advance(l);
    if (node_keep_due(l)) {
        node_keep_wanted(l);
    }
}

static void node_exec_expire(struct node_lane *l, const struct sync_action *a)
{
    struct node_session *s = l->by_rank[a->member];

    obs_counter_add(l->counters.expired, 1);
    LOG_WRN("node", "worker %u missed the deadline of clock %" PRIu64, a->member, a->clock);
    node_lane_trace(l, "worker %u missed the deadline of clock %" PRIu64, a->member, a->clock);
    if (s != NULL) {
        struct wire_header about = {.clock = a->clock};

        l->by_rank[a->member] = NULL;
        node_tree_gone(l, a->member);
        s->state = NODE_OUT;
        if (node_deliver_late(s, &about, WIRE_LATE_NOT_MEMBER, a->clock + 1) != OK) {
            net_peer_close(s->peer, "no room to say that it missed the deadline");
        }
    }
    if (l->copies_wait) {
        loop_task_post(&l->drain);
    }
}

static void node_exec_do(struct node_lane *l, const struct sync_action *a, struct node_payload *p,
                         struct sync_action *verdict)
{
    switch (a->type) {
    case SYNC_TAKE:
        node_exec_take(l, a, p);
        *verdict = *a;
        break;
    case SYNC_WAIT:
    case SYNC_DROP:
    case SYNC_REFUSE:
    case SYNC_ANSWER:
        *verdict = *a;
        break;
    case SYNC_ADMIT:
        if (l->by_rank[a->member] != NULL) {
            node_operate_admitted(l->by_rank[a->member], a->clock, l->by_rank[a->member]->resuming);
        }
        break;
    case SYNC_GATHER:
        node_central_gathered(l->central, a->chunk, a->clock);
        break;
    case SYNC_CLOSE:
        node_exec_close(l, a);
        break;
    case SYNC_ADVANCE:
        node_exec_advance(l, a);
        break;
    case SYNC_EXPIRE:
        node_exec_expire(l, a);
        break;
    case SYNC_ACTIONS:
        break;
    }
}

enum err node_exec(struct node_lane *l, struct sync_event *event, struct node_payload *payload,
                   struct sync_action *verdict_out)
{
    struct sync_action verdict = {.type = SYNC_ACTIONS};
    struct sync_update update;
    bool changed = event->type == SYNC_CLOCK; /* Others may have waited for it. */
    enum err rc;

    event->now_ns = loop_now_ns(l->config.loop);
    rc = sync_step(&l->sync, event, &update);
    while (rc == OK) {
        for (uint32_t i = 0; i < update.count; i++) {
            node_exec_do(l, &update.actions[i], payload, &verdict);
        }
        changed = changed || update.count > 1 ||
                  (update.count == 1 && verdict.type != SYNC_WAIT && verdict.type != SYNC_ANSWER);
        if (!update.more) {
            break;
        }
        event->type = SYNC_CONTINUE;
        rc = sync_step(&l->sync, event, &update);
    }
    node_exec_deadline(l);
    if (changed && l->held_frames > 0) {
        loop_task_post(&l->drain);
    }
    if (verdict_out != NULL) {
        *verdict_out = verdict;
    }
    return rc;
}

void node_exec_leave(struct node_lane *l, uint32_t rank)
{
    struct sync_event event = {.type = SYNC_LEAVE, .member = rank};

    l->by_rank[rank] = NULL;
    node_tree_gone(l, rank);
    CHECK(node_exec(l, &event, NULL, NULL) == OK);
    if (l->held_frames > 0 || l->copies_wait) {
        loop_task_post(&l->drain);
    }
    /* While it restores nobody is in, and what is held back may be what workers will send again. */
    if (l->mirror != NULL && l->sync.members_count == 0 && !l->restoring) {
        node_mirror_finished(l->mirror);
    }
    if (l->central != NULL && l->sync.members_count == 0) {
        node_central_finished(l->central);
    }
}
