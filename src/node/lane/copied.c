/* With broadcast an update is safe when a worker has the sum it is in: a lane that restarts gets it
 * back from there. But it must know whom to wait for, and all that it has is what the workers that
 * come back know. So a worker's copy makes nothing safe before all other members have heard of that
 * worker: each of them then says who must come. */

#include "node/lane/state.h"

/* Numbers of views go round. */
static bool copied_before(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

/* Have all others heard of it? */
static bool copied_known(const struct node_session *s)
{
    LIST_FOREACH (link, &s->lane->sessions) {
        const struct node_session *t = LIST_ENTRY(link, struct node_session, link);

        if (t != s && t->state == NODE_IN && copied_before(t->view_known, s->view_joined)) {
            return false;
        }
    }
    return true;
}

/* Who had it is gone: the others get the chunk whole, and say so. */
static void copied_again(struct node_lane *l, uint32_t chunk)
{
    LIST_FOREACH (link, &l->sessions) {
        struct node_session *s = LIST_ENTRY(link, struct node_session, link);

        if (s->state == NODE_IN && node_wants(s, table_store_table(l->tables, chunk))) {
            node_deliver_mark(s, chunk, true);
            node_deliver_flush(s);
        }
    }
}

/* A member has heard of more, or has gone: some copies may count now. */
void node_copied_look(struct node_lane *l)
{
    bool wait = false;

    for (uint32_t i = 0; l->copies_wait && i < l->chunks_count; i++) {
        struct node_chunk *c = l->chunks[i];
        const struct node_session *s = c->copied > 0 ? l->by_rank[c->copied_by] : NULL;
        bool in = s != NULL && s->state == NODE_IN && s->view_joined == c->copied_view;

        if (c->copied == 0 || c->copied < c->closed_version) {
            c->copied = 0; /* What came after it goes out too. */
        } else if (!in) {
            c->copied = 0;
            copied_again(l, i);
        } else if (copied_known(s)) {
            c->copied = 0;
            node_claim_settle(&c->closed);
        } else {
            wait = true;
        }
    }
    l->copies_wait = wait;
}

static void copied_chunk(struct node_session *s, const struct wire_header *header)
{
    struct node_lane *l = s->lane;
    uint32_t index = table_store_find(l->tables, header->table, header->chunk);
    struct node_chunk *c = index == TABLE_STORE_NONE ? NULL : l->chunks[index];

    if (c == NULL || header->clock < c->closed_version || s->state != NODE_IN) {
        return;
    }
    if (copied_known(s)) {
        c->copied = 0;
        node_claim_settle(&c->closed);
    } else {
        c->copied = header->clock;
        c->copied_by = s->rank;
        c->copied_view = s->view_joined;
        l->copies_wait = true;
    }
}

void node_copied_parent_gone(struct node_lane *l, uint32_t rank)
{
    for (uint32_t i = 0; i < l->chunks_count && l->ack == NODE_ACK_COPIED; i++) {
        struct node_chunk *c = l->chunks[i];

        if (c->copied == 0 && !list_empty(&c->closed)) {
            c->copied = c->closed_version;
            c->copied_by = rank;
            c->copied_view = 0; /* Of nobody: node_copied_look() sends the chunk to the others. */
            l->copies_wait = true;
        }
    }
}

void node_copied_acked(struct node_session *s, const struct wire_header *header)
{
    if (header->type == WIRE_ADVANCED) {
        if (copied_before(s->view_known, header->epoch)) {
            s->view_known = header->epoch;
        }
        node_copied_look(s->lane);
    } else if ((header->type == WIRE_BROADCAST || header->type == WIRE_SNAPSHOT_CHUNK) &&
               (header->table & WIRE_TABLE_PLANE) == 0) {
        copied_chunk(s, header);
    }
}

void node_copied_joined(struct node_session *s)
{
    s->view_joined = ++s->lane->view;
    s->view_known = s->view_joined - 1;
}

void node_copied_members(const struct node_lane *l, uint64_t *members)
{
    LIST_FOREACH (link, &l->sessions) {
        const struct node_session *s = LIST_ENTRY(link, struct node_session, link);

        if (s->state == NODE_IN) {
            members[s->rank / 64] |= UINT64_C(1) << (s->rank % 64);
        }
    }
}
