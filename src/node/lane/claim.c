/* Claims: which received frames wait for their acknowledgement, and for what. A frame that is not
 * acknowledged is within the sender's window, so its number modulo the window is its place. */

#include "base/mem.h"
#include "node/lane/state.h"

static struct node_claim **node_claim_block(struct node_session *s, uint64_t sequence)
{
    return &s->claims[sequence % LIMIT_WINDOW_FRAMES / NODE_CLAIMS_PER_BLOCK];
}

enum err node_claim_room(struct node_session *s, uint64_t sequence)
{
    struct node_claim **block = node_claim_block(s, sequence);

    if (s->lane->ack != NODE_ACK_TAKEN && *block == NULL) {
        *block = mem_calloc(NODE_CLAIMS_PER_BLOCK, sizeof(**block));
        return *block == NULL ? ERR_NOMEM : OK;
    }
    return OK;
}

void node_claim_acknowledge(struct node_session *s, uint64_t sequence, uint32_t chunk,
                            uint64_t clock)
{
    struct node_lane *l = s->lane;
    const struct node_lane_witness *witness = l->config.witness;

    if (witness != NULL && witness->acknowledged != NULL && chunk != TABLE_STORE_NONE) {
        witness->acknowledged(table_store_table(l->tables, chunk),
                              table_store_chunk(l->tables, chunk), s->rank,
                              net_peer_incarnation(s->peer), clock, l->config.user);
    }
    net_peer_ack(s->peer, sequence);
}

static uint64_t node_claim_bytes(const struct node_lane *l, uint32_t chunk)
{
    return chunk == TABLE_STORE_NONE ? 0 : (uint64_t)table_store_elements(l->tables, chunk) * 4;
}

/* Half of the sender's window waits for a checkpoint. If none is due before it is full, the sender
 * stops, the round is never complete, and none will be due: make one now. */
static void node_claim_relieve(struct node_session *s)
{
    if (s->lane->ack == NODE_ACK_STORED &&
        (s->unacked_frames >= LIMIT_WINDOW_FRAMES / 2 || s->unacked_bytes >= s->window_bytes / 2)) {
        node_keep_wanted(s->lane);
    }
}

void node_claim_make(struct node_session *s, uint64_t sequence, uint32_t chunk, uint64_t clock,
                     struct list *list)
{
    struct node_claim *c;

    if (s->lane->ack == NODE_ACK_TAKEN) {
        node_claim_acknowledge(s, sequence, chunk, clock);
        return;
    }
    CHECK(*node_claim_block(s, sequence) != NULL);
    c = *node_claim_block(s, sequence) + sequence % NODE_CLAIMS_PER_BLOCK;
    CHECK(c->session == NULL);
    *c = (struct node_claim){.session = s, .sequence = sequence, .clock = clock, .chunk = chunk};
    list_push_back(list, &c->link);
    s->unacked_frames++;
    s->unacked_bytes += node_claim_bytes(s->lane, chunk);
    node_claim_relieve(s);
}

void node_claim_settle(struct list *claims)
{
    struct list *link;

    while ((link = list_first(claims)) != NULL) {
        struct node_claim *c = LIST_ENTRY(link, struct node_claim, link);
        struct node_session *s = c->session;

        CHECK(s != NULL);
        list_remove(link);
        c->session = NULL;
        s->unacked_frames--;
        s->unacked_bytes -= node_claim_bytes(s->lane, c->chunk);
        node_claim_acknowledge(s, c->sequence, c->chunk, c->clock);
    }
}

void node_claim_shift(struct node_session *s, uint32_t first, uint32_t count)
{
    for (uint32_t b = 0; b < NODE_CLAIM_BLOCKS; b++) {
        struct node_claim *block = s->claims[b];

        for (uint32_t i = 0; block != NULL && i < NODE_CLAIMS_PER_BLOCK; i++) {
            if (block[i].session != NULL && block[i].chunk != TABLE_STORE_NONE &&
                block[i].chunk >= first) {
                CHECK(block[i].chunk >= first + count);
                block[i].chunk -= count;
            }
        }
    }
}

void node_claim_drop_all(struct node_session *s)
{
    for (uint32_t b = 0; b < NODE_CLAIM_BLOCKS; b++) {
        struct node_claim *block = s->claims[b];

        for (uint32_t i = 0; block != NULL && i < NODE_CLAIMS_PER_BLOCK; i++) {
            if (block[i].session != NULL) {
                list_remove(&block[i].link);
            }
        }
        mem_free(block);
        s->claims[b] = NULL;
    }
    s->unacked_frames = 0;
    s->unacked_bytes = 0;
}
