/* What all members of a site must agree on: how it synchronises, how it delivers, how its shards
 * are spread. The operator gives it to the servers; workers get it from the first of them. */

#ifndef NODE_SITE_SITE_H
#define NODE_SITE_SITE_H

#include "base/limits.h"
#include "net/address.h"
#include "node/sparsify/sparsify.h"
#include "sync/sync.h"
#include "table/schema.h"

enum {
    NODE_LANES_MAX = 256,
    NODE_SHARDS_MAX = 4096,
    NODE_JSON_BYTES_MAX = 60 * 1024, /* Of one operation's text. */
    NODE_JOB_BYTES = 4096,           /* Of a job's description, with its end. */
    NODE_TREE_DEGREE_MAX = 64,
    NODE_TREE_DEPTH_MAX = 16,
    NODE_TREE_LEAF_COST_MAX = 1000,
    NODE_TREE_TEXT_BYTES = 64, /* Room for every printed tree. */
};

#define NODE_RANK_ANY UINT32_MAX
#define NODE_RANK_SITES 0x10000u /* In checkpoints: from here on sites, not workers. */

enum node_delivery {
    NODE_PULL,      /* Workers read when the barrier allows it. */
    NODE_BROADCAST, /* Servers send each sum as soon as it is complete (F1). */
};

/* When a run is over, judged by lane 0 from what workers report. */
struct node_goal {
    bool has_objective;
    bool rising; /* A larger objective is better. */
    double objective;
    double accuracy; /* Zero: not a goal. */
};

/* Sums go to a few workers, who pass them on (F7): a tree for each lane. */
struct node_tree {
    uint32_t
        degree; /* The most that anybody sends to; zero: lanes send to all workers themselves. */
    uint32_t depth;  /* The most hops from the lane. */
    float leaf_cost; /* As in plan/tree.h. */
};

struct node_site {
    char name[LIMIT_NAME_BYTES + 1];
    uint32_t shards;
    uint32_t lanes; /* Of all servers together; shard s is on lane s % lanes. */
    enum node_delivery delivery;
    struct node_sparsify_config push;      /* What workers hold back of what they send, ... */
    struct node_sparsify_config broadcast; /* ... and lanes of sums. */
    uint64_t required; /* Bytes per second: below it a link is short, and more is held back (F5). */
    struct node_tree tree;
    struct sync_config sync;
    uint32_t checkpoint_every; /* Clocks; zero: never. */
    uint32_t checkpoint_keep;  /* Whole checkpoints of each shard; zero: two. */
    struct node_goal goal;
    char job[NODE_JOB_BYTES]; /* What workers are to do (run/trainer/work.h); empty: they know. */
};

/* ERR_INVALID with a text that says what does not go together. */
MUST_USE enum err node_site_check(const struct node_site *site, struct err_text *text);

/* Updates count for good only when they are in a checkpoint: pull delivery with checkpoints. */
bool node_site_durable(const struct node_site *site);

/* Trees as "degree=5,depth=3,leaf=0.5"; without a cost of leaves it is zero. ERR_INVALID with a
 * text that says what is allowed. @size is at least NODE_TREE_TEXT_BYTES. */
MUST_USE enum err node_tree_parse(const char *chars, struct node_tree *out, struct err_text *text);
void node_tree_print(const struct node_tree *tree, char *out, size_t size);

const char *node_delivery_name(enum node_delivery delivery);
MUST_USE enum err node_delivery_parse(const char *name, enum node_delivery *out);

#endif
