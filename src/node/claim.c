/* Claims: which received frames wait for their acknowledgement, and for what. A frame that is not
 * acknowledged is within the sender's window, so its number modulo the window is its place. */

#include "base/mem.h"
#include "node/lane_state.h"

static struct node_claim *node_claim_at(struct node_session *s, uint64_t sequence)
{
    return &s->claims[sequence % LIMIT_WINDOW_FRAMES];
}

static void node_claim_acknowledge(struct node_lane *l, struct node_session *s, uint64_t sequence,
                                   uint32_t chunk, uint64_t clock)
{
    const struct node_lane_witness *witness = l->config.witness;

    if (witness != NULL && witness->acknowledged != NULL && chunk != TABLE_STORE_NONE) {
        witness->acknowledged(table_store_table(l->tables, chunk),
                              table_store_chunk(l->tables, chunk), s->rank,
                              net_peer_incarnation(s->peer), clock, l->config.user);
    }
    net_peer_ack(s->peer, sequence);
}

void node_claim_make(struct node_session *s, uint64_t sequence, uint32_t chunk, uint64_t clock,
                     struct list *list)
{
    struct node_claim *c;

    if (s->lane->ack == NODE_ACK_TAKEN || s->claims == NULL) {
        node_claim_acknowledge(s->lane, s, sequence, chunk, clock);
        return;
    }
    c = node_claim_at(s, sequence);
    CHECK(c->session == NULL);
    *c = (struct node_claim){.session = s, .sequence = sequence, .clock = clock, .chunk = chunk};
    list_push_back(list, &c->link);
    s->unacked_frames++;
}

void node_claim_settle(struct node_lane *l, struct list *claims)
{
    struct list *link;

    while ((link = list_first(claims)) != NULL) {
        struct node_claim *c = LIST_ENTRY(link, struct node_claim, link);
        struct node_session *s = c->session;

        list_remove(link);
        c->session = NULL;
        s->unacked_frames--;
        node_claim_acknowledge(l, s, c->sequence, c->chunk, c->clock);
    }
}

void node_claim_drop_all(struct node_session *s)
{
    for (uint32_t i = 0; s->claims != NULL && i < LIMIT_WINDOW_FRAMES; i++) {
        if (s->claims[i].session != NULL) {
            list_remove(&s->claims[i].link);
            s->claims[i].session = NULL;
        }
    }
    s->unacked_frames = 0;
}
